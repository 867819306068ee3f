"""From recordings to models, overlays and files, through the window's own widgets."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox

from bench_gui.cli import main
from bench_gui.headless.place.rests import DOCUMENT
from bench_gui.headless.words import with_symbols
from bench_gui.identify.fit.parameter_dialog import FREE, LOWER, UPPER, VALUE, ParameterDialog
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.shell.tasks import COMPARE, EXPORT, IDENTIFY
from core.bench import Bench
from core.errors import IdentificationError, ServoBenchError
from core.friction import QUADRATIC_GATES
from core.identification.options import CHOICES
from core.identification.result import step_in_words
from core.model import INTEGRATORS
from core.placement import SIDES, PlacedPoint, expected_angles, points_to_json
from core.shipped import load_model
from core.terms import COMMAND_PATH_TERMS
from core.units import DEGREES
from sessions import Annotation, Session
from sessions.results.folder import RECORD, new_result_folder, working_on
from sessions.results.identification import load_latest
from sessions.results.identifying import Watch, run_identification
from sessions.results.record import IdentificationRecord, begin_record, check_resumable, newest_unfinished, read_record

FIRST_SEEN = IDENTIFY


def choose(person, *models, trials=96):
    """Set the form to a search that takes a moment."""
    form = person.window.identify.form
    for name, box in form.models.items():
        box.setChecked(name in models)
    form.fields["command_path"].setCurrentIndex(form.fields["command_path"].findData("off"))
    form.fields["trials"].setValue(trials)


def test_identification_ends_in_a_table(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    choose(person, "m1", "m2")
    with person.qtbot.waitSignal(person.controller.fitting.finished):
        person.click(person.window.identify.start_button)
    table = person.window.identify.answer.ladder
    assert table.rowCount() == 2
    first = [table.data(table.index(0, column)) for column in range(table.columnCount())]
    assert first[0].startswith("M1")
    assert float(first[2]) > 0
    assert float(first[3]) > 0
    assert table.recommended_row in (0, 1)
    assert person.window.identify.answer.view.selectionModel().hasSelection()
    assert person.window.identify.parameters.table.rowCount() > 3
    row = table.row(table.recommended_row)
    assert person.window.identify.search.step_note.text() == step_in_words(row.model, row.train_mae)
    assert len(person.window.identify.search.cost.curves) >= 2
    assert "validation error" in person.window.identify.answer.card.choice.text()
    (folder,) = (session / "results").iterdir()
    assert {"m1.json", "m2.json", "result.json"} <= {path.name for path in folder.iterdir()}
    rows = json.loads((folder / "result.json").read_text("utf-8"))
    assert [row["model"] for row in rows] == ["m1", "m2"]
    assert [model.friction for model in load_latest(session)] == ["m1", "m2"]


def identified_models(person):
    return [e.model.friction for e in person.controller.model_list.entries if e.origin == "identified"]


def test_results_are_there_when_the_session_is_opened_again(person, identified, tmp_path):
    person.open(identified)
    assert identified_models(person) == ["m1", "m2"]
    with person.qtbot.waitSignal(person.controller.library.opened):
        person.controller.library.create(tmp_path / "other")
    assert identified_models(person) == []


def test_stop_keeps_the_best(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    choose(person, "m6", trials=5_000_000)
    with person.qtbot.waitSignal(person.controller.fitting.progressed):
        person.click(person.window.identify.start_button)
    person.until(person.window.status_line.foremost.isVisible)
    with person.qtbot.waitSignal(person.controller.fitting.finished):
        person.click(person.window.identify.stop_button)
    result = person.controller.fitting.result
    assert result.stopped
    assert [row.model.friction for row in result.models] == ["m6"]
    assert "Stopped early" in person.window.identify.answer.card.choice.text()
    person.until(lambda: not person.window.status_line.foremost.isVisible())


def test_a_start_that_is_refused_changes_nothing(person, identified, monkeypatch):
    def refuse(*_):
        raise ServoBenchError("no room on the disk")

    person.open(identified)
    person.window.show_task(IDENTIFY)
    view = person.window.identify
    person.until(lambda: view.answer.ladder.rowCount() == 2)
    choose(person, "m1", trials=33)
    chosen = view.form.settings()
    monkeypatch.setattr(person.controller.fitting, "identify", refuse)
    person.click(view.start_button)
    assert "No room on the disk" in person.message
    assert view.form.settings() == chosen
    assert view.answer.ladder.rowCount() == 2


def test_a_rule_that_leaves_nothing_is_said_before_it_begins(person, session):
    person.open(session)
    person.window.session.select([person.controller.library.runs[0].id])
    person.window.show_task(IDENTIFY)
    choose(person, "m1")
    view = person.window.identify
    assert view.start_button.isEnabled()
    view.form.validation.setCurrentIndex(view.form.validation.findData("25%"))
    assert "leaves none" in view.start.obstacle.text.text()
    assert not view.start_button.isEnabled()
    assert "leaves none" in view.start_button.toolTip()
    person.click(view.start.obstacle.button)
    assert view.form.settings().validation == "none"
    assert not view.start.obstacle.isVisible()
    assert view.start_button.isEnabled()


def test_a_prior_the_steps_and_offsets_of_runs_are_asked_for(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    form, stack = person.window.identify.form, person.controller.undo
    person.click(form.expert_button)
    form.fields["prior"].setValue(10.0)
    assert form.fields["substeps"].text() == "automatic"
    form.fields["substeps"].setValue(4)
    form.fields["run_offsets"].setChecked(True)
    request = form.settings().request(person.controller.library.main_servo())
    assert (request.prior, request.substeps, request.run_offsets) == (pytest.approx(0.01), 4, True)
    for _ in range(3):
        stack.undo()
    assert form.settings() == FitSettings()
    shown = form.fields["prior"].text(), form.fields["substeps"].text(), form.fields["run_offsets"].isChecked()
    assert shown == ("none", "automatic", False)


def test_everything_there_is_can_be_chosen():
    assert CHOICES["integrator"] == INTEGRATORS
    assert CHOICES["quadratic_gate"] == QUADRATIC_GATES


def test_settings_are_edited_with_undo(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    form, stack = person.window.identify.form, person.controller.undo
    before = form.settings()
    assert before == FitSettings()
    person.click(form.expert_button)
    assert form.expert.isVisible()
    form.fields["metric"].setCurrentIndex(form.fields["metric"].findData("rmse"))
    form.fields["dt"].setValue(4.0)
    form.models["m3"].setChecked(False)
    form.set_parameters((("R", 2.5),), (("kt", 0.5, 3.0),))
    chosen = form.settings()
    assert (chosen.metric, chosen.dt, chosen.frozen) == ("rmse", 0.004, (("R", 2.5),))
    assert "m3" not in chosen.models
    assert "1 frozen, 1 with changed bounds" in form.parameters_note.text()
    request = chosen.request("mx106")
    assert request.bounds == (("kt", 0.5, 3.0),)
    assert request.command_path == COMMAND_PATH_TERMS
    person.click(form.defaults_button)
    assert form.settings() == before
    stack.undo()
    assert form.settings() == chosen
    assert form.fields["dt"].value() == 4.0
    for _ in range(4):
        stack.undo()
    assert form.settings() == before
    assert all(box.isChecked() for box in form.models.values())
    person.click(form.quick_button)
    assert [name for name, box in form.models.items() if box.isChecked()] == ["m1", "m4", "m6"]
    assert form.settings().request("mx106").command_path == ()
    person.click(form.full_button)
    assert form.settings() == before


def test_all_frozen_is_said_before_it_begins(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    choose(person, "m1")
    view = person.window.identify
    held = tuple((p.name, p.value) for p in view.form.settings().parameters("mx106").values())
    view.form.set_parameters(held, ())
    assert "Every parameter of M1 is frozen" in view.start.obstacle.text.text()
    assert not view.start_button.isEnabled()
    person.click(view.start.obstacle.button)
    assert view.form.settings() == FitSettings()
    assert view.start_button.isEnabled()


def test_bounds_and_frozen_values_are_chosen_in_a_table(qtbot):
    parameters = FitSettings(models=("m1", "m6")).parameters("mx106")
    dialog = ParameterDialog(parameters, (("R", 2.0),), (("load_friction_base", 0.0, 0.5),))
    qtbot.addWidget(dialog)
    dialog.show()
    table, accept = dialog.table, dialog.box.button(QDialogButtonBox.StandardButton.Ok)
    assert table.rowCount() == len(parameters)
    assert accept.isEnabled()

    def write(name, column, text):
        return table.setData(table.index(table.place(name), column), text, Qt.ItemDataRole.EditRole)

    resistance, torque = table.place("R"), table.place("kt")
    assert table.data(table.index(resistance, FREE), Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Unchecked
    assert table.flags(table.index(resistance, VALUE)) & Qt.ItemFlag.ItemIsEditable
    assert not table.flags(table.index(resistance, LOWER)) & Qt.ItemFlag.ItemIsEditable
    assert table.flags(table.index(torque, LOWER)) & Qt.ItemFlag.ItemIsEditable
    assert write("kt", UPPER, "0,5")
    assert "kt: the lower bound" in dialog.problem.text()
    assert not accept.isEnabled()
    assert not write("kt", LOWER, "much")
    assert write("kt", LOWER, "0.25")
    assert accept.isEnabled()
    unchecked = Qt.CheckState.Unchecked
    assert table.setData(table.index(table.place("armature"), FREE), unchecked, Qt.ItemDataRole.CheckStateRole)
    frozen, bounds = table.chosen()
    assert frozen == (("R", 2.0), ("armature", parameters["armature"].value))
    # What concerns a model that is not checked now is kept for when it is.
    assert bounds == (("load_friction_base", 0.0, 0.5), ("kt", 0.25, 0.5))
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert table.chosen() == ((), ())


def test_the_fit_gives_way_while_the_servo_is_driven(person, session):
    asked = []
    person.controller.computations.set_courteous = asked.append
    person.connect()
    person.record(0.4)
    person.until(lambda: True in asked)
    person.until(lambda: not person.controller.servo.busy and asked[-1] is False)


def test_an_identification_cut_short_is_found_and_ends_as_if_it_had_not_been(person, session, tmp_path):
    """The window's resume and `bench identify --resume` go through one function, to the same bits."""
    request = FitSettings(models=("m1", "m2"), command_path="off", trials=400, validation="none").request("mx106")
    opened = Session.open(session)
    runs = opened.fit_ids()
    recordings = opened.load_for_fit(runs)
    request = replace(request, data_hash=opened.data_hash(runs))
    whole = run_identification(recordings, request, tmp_path / "whole", Watch())
    folder = new_result_folder(session)
    count = itertools.count()
    run_identification(recordings, request, folder, Watch(should_stop=lambda: next(count) > 6))
    # As if the machine had been lost: no ending on record.
    read_record(folder).ended("")
    person.open(session)
    person.window.show_task(IDENTIFY)
    fitting, view = person.controller.fitting, person.window.identify
    person.until(lambda: fitting.unfinished is not None)
    assert "M1 … M2 from 3 runs" in view.start.resume_note.text()
    told = []
    fitting.progressed.connect(told.append)
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.start.resume_button)
    assert told[0].recorded, "what was on record took no time, and says nothing about the rest"
    assert not told[-1].recorded
    found = {row.model.friction: row.model.values for row in fitting.result.models}
    assert found == {r.model.friction: r.model.values for r in whole.identification.results}
    assert read_record(folder).ending == "finished"
    person.until(lambda: not view.start.resume_button.isVisible())
    x, _ = view.search.cost.curves[0].getOriginalDataset()
    assert x[0] < 10, "the curve begins with what was on record"


def test_runs_that_changed_are_not_gone_on_with(person, session):
    opened = Session.open(session)
    runs = opened.fit_ids()
    settings = FitSettings(models=("m1",), command_path="off", trials=5000, validation="none")
    request = replace(settings.request("mx106"), data_hash=opened.data_hash(runs))
    folder = new_result_folder(session)
    count = itertools.count()
    run_identification(opened.load_for_fit(runs), request, folder, Watch(should_stop=lambda: next(count) > 3))
    opened.annotate(runs[0], Annotation(trim_end=1.0))
    person.open(session)
    person.window.show_task(IDENTIFY)
    fitting, view = person.controller.fitting, person.window.identify
    person.until(lambda: fitting.unfinished is not None)
    with person.qtbot.waitSignal(fitting.failed):
        person.click(view.start.resume_button)
    assert "have changed since it was begun" in view.problem.text.text()
    assert not view.problem.button.isVisible()


def test_a_folder_that_is_worked_on_is_left_alone(tmp_path):
    request = FitSettings(models=("m1",)).request("mx106")
    folder = tmp_path / "results" / "one"
    begin_record(folder, ("0001_x",), request)
    assert newest_unfinished(tmp_path / "results").request == request
    with working_on(folder):
        assert newest_unfinished(tmp_path / "results") is None
        with pytest.raises(IdentificationError, match="another process"), working_on(folder):
            pass
    (folder / RECORD).write_text("{")
    assert newest_unfinished(tmp_path / "results") is None


def test_what_can_be_continued_is_the_newest_that_no_later_one_has_finished(tmp_path):
    """By their times, in whatever zone: the first began 20 minutes before the second."""
    request = FitSettings(models=("m1",)).request("mx106")
    begun = {"one": "2026-03-29T03:10:00+02:00", "two": "2026-03-29T01:30:00+00:00"}
    first, second = (
        IdentificationRecord(folder=tmp_path / name, begun=moment, runs=("0001_x",), request=request).ended("stopped")
        for name, moment in begun.items()
    )
    assert newest_unfinished(tmp_path) == second
    second.ended("failed")
    assert newest_unfinished(tmp_path) == first
    second.ended("finished")
    assert newest_unfinished(tmp_path) is None


def test_another_request_is_not_gone_on_with(tmp_path):
    request = FitSettings(models=("m1",)).request("mx106")
    record = begin_record(tmp_path / "one", ("0001_x",), request)
    check_resumable(record, replace(request, threads=1), ("0001_x",))
    with pytest.raises(IdentificationError, match=r"other settings \(seed, bounds\)"):
        check_resumable(record, replace(request, seed=3, bounds=(("R", 1.0, 2.0),)), ("0001_x",))
    with pytest.raises(IdentificationError, match="other runs"):
        check_resumable(record, request, ("0001_x", "0002_y"))
    with pytest.raises(IdentificationError, match="have changed"):
        check_resumable(record, replace(request, data_hash="other"), ("0001_x",))


def test_warnings_print_symbols_and_leave_other_words(qtbot):
    text = with_symbols("record lift_and_drop, for K_m^s, R and k_t & β", ["K_m", "K_m^s", "R", "k_t", "β"])
    assert text == "record lift_and_drop, for K<sub>m</sub><sup>s</sup>, R and k<sub>t</sub> &amp; β"


@pytest.fixture
def compared(person, identified):
    """The window with the two identified models over the measured motion."""
    person.open(identified)
    person.window.show_task(COMPARE)
    comparison = person.controller.comparison
    person.until(lambda: comparison.picture.overlays is not None and not comparison.waiting)
    return person


def test_overlays_of_two_models(compared):
    plots, comparison = compared.window.compare.plots, compared.controller.comparison
    assert set(plots.keys) == {"goal", "measured", "identified:m1", "identified:m2"}
    for key in ("measured", "identified:m1", "identified:m2"):
        x, y = plots.curve(key).getOriginalDataset()
        assert len(x) == len(y) > 1400
        assert np.isfinite(y).sum() > 1400
    plots.legend.buttons["identified:m1"].setChecked(False)
    assert not plots.curve("identified:m1").isVisible()
    compared.window.session.select([compared.controller.library.runs[1].id])
    compared.until(lambda: len(comparison.picture.recordings) == 1 and not comparison.waiting)
    assert not plots.curve("identified:m1").isVisible()


def test_angles_in_degrees_change_the_picture_only(compared):
    plots = compared.window.compare.plots
    radians = plots.curve("measured").getOriginalDataset()[1]
    compared.controller.set_angle_unit(DEGREES)
    np.testing.assert_allclose(plots.curve("measured").getOriginalDataset()[1], np.degrees(radians))


def test_measured_motion_is_seen_without_any_model(person, session):
    person.open(session)
    person.window.show_task(COMPARE)
    for box in person.window.compare.boxes.values():
        box.setChecked(False)
    comparison = person.controller.comparison
    person.until(lambda: len(comparison.picture.recordings) == 3 and comparison.chosen == ())
    assert set(person.window.compare.plots.keys) == {"goal", "measured"}


def test_a_model_file_can_be_compared(person, session, tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(load_model("mx106", "m4").to_json_text(), "utf-8")
    person.open(session)
    person.window.show_task(COMPARE)
    person.controller.open_model(file)
    assert f"file:{file}" in person.window.compare.boxes
    comparison = person.controller.comparison
    person.until(lambda: not comparison.waiting and comparison.picture.overlays is not None)
    assert f"file:{file}" in person.window.compare.plots.keys
    person.controller.open_model(tmp_path / "missing.json")
    assert "missing.json" in person.message


@pytest.mark.parametrize("target", ["json", "bam"])
def test_export_writes_files_and_says_how_good_they_are(person, session, tmp_path, target):
    person.open(session)
    person.window.show_task(EXPORT)
    exporting, view = person.controller.exporting, person.window.export
    assert not view.export_button.isEnabled()
    exporting.learn_targets()
    person.until(lambda: bool(exporting.targets))
    # The simplest model: others are fitted anew for some targets.
    view.model.setCurrentIndex(view.model.findData("catalogue:mx106:m1"))
    view.model.activated.emit(view.model.currentIndex())
    view.choose_target(target)
    view.set_folder(tmp_path / "out")
    with person.qtbot.waitSignal(exporting.exported):
        person.click(view.export_button)
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "README.md" in written
    assert sorted(view.files.item(row).text() for row in range(view.files.count())) == written
    assert view.statement.text()
    assert view.text.toPlainText()


def test_a_folder_that_cannot_be_written_is_said(person, session, tmp_path):
    person.open(session)
    person.window.show_task(EXPORT)
    exporting, view = person.controller.exporting, person.window.export
    exporting.learn_targets()
    person.until(lambda: bool(exporting.targets))
    (tmp_path / "file").write_text("")
    view.set_folder(tmp_path / "file")
    with person.qtbot.waitSignal(exporting.problem):
        person.click(view.export_button)
    assert "cannot write" in person.message
    assert (tmp_path / "file").read_text() == ""


def test_placed_points_join_the_runs(person, session):
    """Offered once there are points of this servo; edits can be undone; what was used is kept with the models."""
    view, placing = person.window.identify, person.controller.placing
    person.window.show_task(IDENTIFY)
    person.open(session)
    assert not view.form.points.isEnabled()
    truth = load_model("mx106", "m6")
    bench = Bench(mass=2.0, length=0.2)
    placed = [
        PlacedPoint(motor_torque=torque, angle=angle, side=side, bench=bench, servo="mx106")
        for torque in (0.6, 1.0)
        for side, angle in zip(SIDES, expected_angles(truth, bench, torque), strict=True)
    ]
    opened = Session.open(session)
    opened.set_document(DOCUMENT, points_to_json(placed))
    person.open(session)
    person.until(lambda: view.form.points.text() == "Use placed points (4)")
    assert placing.points == tuple(placed)
    person.click(view.form.points)
    assert view.form.settings().points
    person.controller.undo.undo()
    assert not view.form.points.isChecked()
    person.controller.undo.redo()
    for name, box in view.form.models.items():
        box.setChecked(name == "m1")
    view.form.fields["command_path"].setCurrentIndex(view.form.fields["command_path"].findData("off"))
    view.form.fields["trials"].setValue(200)
    with person.qtbot.waitSignal(person.controller.fitting.finished):
        person.click(view.start_button)
    result = person.controller.fitting.result
    assert result.request.points == tuple(placed)
    used = result.models[0].model.provenance["placed_points"]
    assert used["count"] == 4
    out = session.parent / "by_command"
    arguments = ["--models", "m1", "--trials", "200", "--validation", view.form.settings().validation]
    arguments += ["--points", "--no-command-path"]
    assert main(["identify", str(session), *arguments, "--quiet", "-o", str(out)]) == 0
    assert (out / "m1.json").read_bytes() == (result.folder / "m1.json").read_bytes()
