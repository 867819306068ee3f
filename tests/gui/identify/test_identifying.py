"""From recordings to models and files, through the window's own widgets."""

import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QDialogButtonBox

from bench_gui.cli import main
from bench_gui.controller import Controller
from bench_gui.headless.place.rests import DOCUMENT
from bench_gui.identify.fit.parameter_dialog import FREE, LOWER, UPPER, VALUE, ParameterDialog
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.shell.tasks import EXPORT, IDENTIFY
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoLink, ServoView
from core.base.errors import IdentificationError, ServoBenchError
from core.identification.options import CHOICES
from core.identification.result import step_in_words
from core.practice.placement import SIDES, PlacedPoint, expected_angles, points_to_json
from core.servo.bench import Bench
from core.servo.friction import QUADRATIC_GATES
from core.servo.model import INTEGRATORS
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS
from sessions import Annotation, Session
from sessions.results.folder import RECORD, new_result_folder, working_on
from sessions.results.identification import load_latest
from sessions.results.identifying import Watch, run_identification
from sessions.results.record import IdentificationRecord, begin_record, check_resumable, newest_unfinished, read_record

FIRST_SEEN = IDENTIFY


def choose(person, *models, trials=64):
    """Set the form to a search that takes a moment."""
    form = person.window.identify.form
    for name, box in form.models.items():
        box.setChecked(name in models)
    for name, value in (("command_path", "off"), ("contact", "rigid")):
        form.fields[name].setCurrentIndex(form.fields[name].findData(value))
    form.fields["trials"].setValue(trials)


def identified_models(person):
    return [e.model.friction for e in person.controller.model_list.entries if e.origin == "identified"]


def test_an_identification_ends_in_a_table_and_a_stop_keeps_the_best(person, session, monkeypatch):
    """What was found is there when the session is opened again."""
    person.open(session)
    person.window.show_task(IDENTIFY)
    view, fitting = person.window.identify, person.controller.fitting
    choose(person, "m1", "m2")
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.start_button)
    table = view.answer.ladder
    assert table.rowCount() == 2
    first = [table.data(table.index(0, column)) for column in range(table.columnCount())]
    assert first[0].startswith("M1")
    assert float(first[2]) > 0
    assert float(first[3]) > 0
    assert table.recommended_row in (0, 1)
    assert view.answer.view.selectionModel().hasSelection()
    assert view.parameters.table.rowCount() > 3
    row = table.row(table.recommended_row)
    assert view.search.step_note.text() == step_in_words(row.model, row.train_mae)
    assert len(view.search.cost.curves) >= 2
    assert "validation error" in view.answer.card.choice.toolTip()
    (folder,) = (session / "results").iterdir()
    assert {"m1.json", "m2.json", "result.json"} <= {path.name for path in folder.iterdir()}
    rows = json.loads((folder / "result.json").read_text("utf-8"))
    assert [row["model"] for row in rows] == ["m1", "m2"]
    assert [model.friction for model in load_latest(session)] == ["m1", "m2"]

    with person.qtbot.waitSignal(person.controller.library.opened):
        person.controller.library.create(session.parent / "other")
    assert identified_models(person) == []
    person.open(session)
    assert identified_models(person) == ["m1", "m2"]
    person.until(lambda: table.rowCount() == 2)

    # A start that is refused changes nothing.
    def refuse(*_):
        raise ServoBenchError("no room on the disk")

    choose(person, "m6", trials=5_000_000)
    chosen = view.form.settings()
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "identify", refuse)
        person.click(view.start_button)
    assert "No room on the disk" in person.message
    assert view.form.settings() == chosen
    assert table.rowCount() == 2

    with person.qtbot.waitSignal(fitting.progressed):
        person.click(view.start_button)
    person.until(person.window.status_line.foremost.isVisible)
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.stop_button)
    assert fitting.result.stopped
    assert [row.model.friction for row in fitting.result.models] == ["m6"]
    card = view.answer.card
    assert (card.step_button.text(), card.step_button.isEnabled()) == ("Resume", True)
    assert card.next.text() == "Resume the identification, because the search was stopped before its end."
    person.until(lambda: fitting.unfinished is not None)
    assert not view.start.resume_button.isVisible(), "the card has it"
    person.until(lambda: not person.window.status_line.foremost.isVisible())


def test_what_will_be_used_and_what_is_in_the_way_is_said_before_it_begins(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    view = person.window.identify
    card, start = view.answer.card, view.start
    assert (start.start_button.text(), start.start_button.property("kind")) == ("Identify from 3 runs", "primary")
    assert card.choice.text() == "Fits M1 to M6 to 3 runs; 25 % is held out to judge the models."
    assert not card.step_button.isVisible()
    assert not view.answer.view.isVisible()

    # Every parameter frozen: the button undoes it.
    choose(person, "m1")
    held = tuple((p.name, p.value) for p in view.form.settings().parameters("mx106").values())
    view.form.set_parameters(held, ())
    assert "Every parameter of M1 is frozen" in start.obstacle.text.text()
    assert not view.start_button.isEnabled()
    person.click(start.obstacle.button)
    assert view.form.settings() == FitSettings()
    assert view.start_button.isEnabled()

    # A rule that leaves nothing of one run.
    first, *others = (run.id for run in person.controller.library.runs)
    person.window.session.select([first])
    assert start.start_button.text() == "Identify from 3 runs", "a single run is only looked at"
    person.window.session.select([first, others[0]])
    assert start.start_button.text() == "Identify from 2 selected runs"
    person.window.session.editing.exclude(others, "slipped")
    assert start.start_button.text() == "Identify from 1 selected run"
    assert "none is held out" in card.choice.text()
    view.form.validation.setCurrentIndex(view.form.validation.findData("25%"))
    assert "leaves none" in start.obstacle.text.text()
    assert not view.start_button.isEnabled()
    assert "leaves none" in view.start_button.toolTip()
    person.click(start.obstacle.button)
    assert view.form.settings().validation == "none"
    assert not start.obstacle.isVisible()
    assert view.start_button.isEnabled()


# Settings.


def test_everything_there_is_can_be_chosen():
    assert CHOICES["integrator"] == INTEGRATORS
    assert CHOICES["quadratic_gate"] == QUADRATIC_GATES


def test_settings_are_edited_with_undo(qtbot):
    stack = QUndoStack()
    form = SettingsForm(stack, ModelList())
    qtbot.addWidget(form)
    form.show()
    form.offer([], "mx106")
    before = form.settings()
    assert before == FitSettings()
    form.expert_button.click()
    assert form.expert.isVisible()
    texts = {"prior": "weak", "substeps": "automatic"}
    assert {name: form.fields[name].text() for name in texts} == texts
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
    form.defaults_button.click()
    assert form.settings() == before
    stack.undo()
    assert form.settings() == chosen
    assert form.fields["dt"].value() == 4.0
    for _ in range(4):
        stack.undo()
    assert form.settings() == before
    assert all(box.isChecked() for box in form.models.values())
    form.quick_button.click()
    assert [name for name, box in form.models.items() if box.isChecked()] == ["m1", "m4", "m6"]
    assert form.settings().request("mx106").command_path == ()
    form.full_button.click()
    assert form.settings() == before


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
    assert [table.data(table.index(torque, column)) for column in (LOWER, UPPER)] == ["0.2500", "0.5000"]
    unchecked = Qt.CheckState.Unchecked
    assert table.setData(table.index(table.place("armature"), FREE), unchecked, Qt.ItemDataRole.CheckStateRole)
    frozen, bounds = table.chosen()
    assert frozen == (("R", 2.0), ("armature", parameters["armature"].value))
    # What concerns a model that is not checked now is kept for when it is.
    assert bounds == (("load_friction_base", 0.0, 0.5), ("kt", 0.25, 0.5))
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert table.chosen() == ((), ())


def test_the_fit_gives_way_while_the_servo_is_driven(qapp, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    controller, asked = Controller("simulated:mx106"), []
    controller.computations.set_courteous = asked.append
    for busy in (True, False):
        monkeypatch.setattr(ServoLink, "busy", busy)
        controller.servo.changed.emit(ServoView())
    assert asked == [True, False]
    controller.close()


# Going on with an identification.


def test_an_identification_cut_short_is_found_and_ends_as_if_it_had_not_been(person, session, tmp_path):
    """The window's resume and `bench identify --resume` go through one function, to the same bits."""
    request = FitSettings(models=("m1", "m2"), command_path="off", trials=256, validation="none").request("mx106")
    opened = Session.open(session)
    runs = opened.fit_ids()
    recordings = opened.load_for_fit(runs)
    request = replace(request, data_hash=opened.data_hash(runs))
    whole = run_identification(recordings, request, tmp_path / "whole", Watch())
    folder = new_result_folder(session)
    count = itertools.count()
    run_identification(recordings, request, folder, Watch(should_stop=lambda: next(count) > 3))
    # As if the machine had been lost: no ending on record.
    read_record(folder).ended("")
    fitting, view = person.controller.fitting, person.window.identify
    person.window.show_task(IDENTIFY)

    # Runs that have changed are not gone on with.
    opened.annotate(runs[0], Annotation(trim_end=1.0))
    person.open(session)
    person.until(lambda: fitting.unfinished is not None and fitting.result is not None)
    person.until(lambda: view.answer.card.step_button.text() == "Identify again")
    with person.qtbot.waitSignal(fitting.failed):
        person.click(view.start.resume_button)
    assert "have changed since it was begun" in view.problem.text.text()
    assert not view.problem.button.isVisible()
    assert fitting.result is not None
    assert view.answer.ladder.rowCount() == len(fitting.result.models), "what the stop kept is still shown"

    opened.annotate(runs[0], Annotation())
    read_record(folder).ended("")
    person.open(session)
    person.until(lambda: fitting.unfinished is not None)
    assert "M1 … M2 from 3 runs" in view.start.resume_note.text()
    told = []
    fitting.progressed.connect(told.append)
    person.until(lambda: view.answer.card.step_button.text() == "Resume")
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.answer.card.step_button)
    assert told[0].recorded, "what was on record took no time, and says nothing about the rest"
    assert not told[-1].recorded
    found = {row.model.friction: row.model.values for row in fitting.result.models}
    assert found == {r.model.friction: r.model.values for r in whole.identification.results}
    assert read_record(folder).ending == "finished"
    person.until(lambda: fitting.unfinished is None)
    assert view.answer.card.step_button.text() != "Resume"
    x, _ = view.search.cost.curves[0].getOriginalDataset()
    assert x[0] < 10, "the curve begins with what was on record"


@pytest.mark.parametrize(("path", "shown"), [((), "off"), (COMMAND_PATH_TERMS, "on")])
def test_terms_that_the_runs_chose_are_no_command_path(path, shown):
    request = FitSettings(models=("m3",), command_path=shown).request("mx106")
    request = replace(request, contact="rigid", command_path=(*path, "load_memory"))
    model = SimpleNamespace(model=SimpleNamespace(provenance={"contact_choice": "because"}))
    result = SimpleNamespace(request=request, models=[model], stopped=False, train=("a", "b"), held_out=0)

    assert FitSettings.of(result, FitSettings()).command_path == shown


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


# Placed points, and files.


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
    choose(person, "m1")
    with person.qtbot.waitSignal(person.controller.fitting.finished):
        person.click(view.start_button)
    result = person.controller.fitting.result
    assert result.request.points == tuple(placed)
    used = result.models[0].model.provenance["placed_points"]
    assert used["count"] == 4
    out = session.parent / "by_command"
    arguments = ["--models", "m1", "--trials", "64", "--validation", view.form.settings().validation]
    arguments += ["--points", "--no-command-path", "--contact", "rigid"]
    assert main(["identify", str(session), *arguments, "--quiet", "-o", str(out)]) == 0
    assert (out / "m1.json").read_bytes() == (result.folder / "m1.json").read_bytes()


def test_export_writes_files_and_says_how_good_they_are(person, tmp_path):
    person.window.show_task(EXPORT)
    exporting, view = person.controller.exporting, person.window.export
    assert not view.export_button.isEnabled()
    exporting.learn_targets()
    person.until(lambda: bool(exporting.targets))
    # The simplest model: others are fitted anew for some targets.
    view.model.setCurrentIndex(view.model.findData("catalogue:mx106:m1"))
    view.model.activated.emit(view.model.currentIndex())
    view.choose_target("bam")
    (tmp_path / "file").write_text("")
    view.set_folder(tmp_path / "file")
    person.until(view.export_button.isEnabled)
    with person.qtbot.waitSignal(exporting.problem):
        person.click(view.export_button)
    assert "cannot write" in person.message
    assert (tmp_path / "file").read_text() == ""
    view.set_folder(tmp_path / "out")
    with person.qtbot.waitSignal(exporting.exported):
        person.click(view.export_button)
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert "README.md" in written
    assert sorted(view.files.item(row).text() for row in range(view.files.count())) == written
    assert view.statement.text()
    assert view.text.toPlainText()
