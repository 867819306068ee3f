"""From recordings to models, overlays and files, through the window's own widgets."""

import json

import numpy as np
import pytest

from bench_gui.main_window import COMPARE, EXPORT, IDENTIFY
from bench_gui.results import load_latest
from bench_gui.units import DEGREES
from core.catalogue import load_model


def choose(person, *models, trials=96):
    """Set the form to a search that takes a moment."""
    form = person.window.identify.form
    for name, box in form.models.items():
        box.setChecked(name in models)
    form.command_path.setChecked(False)
    form.trials.setValue(trials)


def test_identification_ends_in_a_table(person, session):
    person.open(session)
    person.window.show_task(IDENTIFY)
    choose(person, "m1", "m2")
    with person.qtbot.waitSignal(person.controller.fitting.finished, timeout=120_000):
        person.click(person.window.identify.start_button)
    table = person.window.identify.results
    assert table.rowCount() == 2
    first = [table.data(table.index(0, column)) for column in range(table.columnCount())]
    assert first[0].startswith("M1")
    assert float(first[1]) > 0
    assert table.recommended_row in (0, 1)
    assert person.window.identify.result_view.selectionModel().hasSelection()
    assert person.window.identify.parameters.rowCount() > 3
    assert len(person.window.identify.cost.axes.curves) >= 2
    assert "validation error" in person.window.identify.summary.text()
    (folder,) = (session / "results").iterdir()
    assert {"m1.json", "m2.json", "result.json"} <= {path.name for path in folder.iterdir()}
    rows = json.loads((folder / "result.json").read_text("utf-8"))
    assert [row["model"] for row in rows] == ["m1", "m2"]
    assert [model.friction for model in load_latest(session)] == ["m1", "m2"]


def identified_models(person):
    return [e.model.friction for e in person.controller.shelf.entries if e.origin == "identified"]


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
    with person.qtbot.waitSignal(person.controller.fitting.progressed, timeout=120_000):
        person.click(person.window.identify.start_button)
    assert person.window.status_line.identification.isVisible()
    with person.qtbot.waitSignal(person.controller.fitting.finished, timeout=60_000):
        person.click(person.window.identify.stop_button)
    result = person.controller.fitting.result
    assert result.stopped
    assert [row.model.friction for row in result.models] == ["m6"]
    assert "Stopped early" in person.window.identify.summary.text()
    assert not person.window.status_line.identification.isVisible()


def test_a_rule_that_leaves_nothing_is_said_once(person, session):
    person.open(session)
    person.window.session.select([person.controller.library.runs[0].id])
    person.window.show_task(IDENTIFY)
    choose(person, "m1")
    form = person.window.identify.form
    form.validation.setCurrentIndex(form.validation.findData("25%"))
    with person.qtbot.waitSignal(person.controller.fitting.problem, timeout=120_000):
        person.click(person.window.identify.start_button)
    assert "leaves none" in person.message
    assert person.window.identify.start_button.isEnabled()


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
    table = compared.window.compare.errors
    assert (table.rowCount(), table.columnCount()) == (4, 4)
    mean = [float(table.data(table.index(0, column))) for column in (2, 3)]
    runs = [[float(table.data(table.index(row, column))) for row in (1, 2, 3)] for column in (2, 3)]
    assert mean == pytest.approx([np.mean(values) for values in runs], rel=0.02)
    plots.legend.buttons["identified:m1"].setChecked(False)
    assert not plots.curve("identified:m1").isVisible()
    compared.window.session.select([compared.controller.library.runs[1].id])
    compared.until(lambda: len(comparison.picture.recordings) == 1 and not comparison.waiting)
    assert not plots.curve("identified:m1").isVisible()
    assert table.rowCount() == 2


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
    view.targets[target].setChecked(True)
    view.set_folder(tmp_path / "out")
    with person.qtbot.waitSignal(exporting.exported, timeout=120_000):
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
    with person.qtbot.waitSignal(exporting.problem, timeout=120_000):
        person.click(view.export_button)
    assert "cannot write" in person.message
    assert view.is_empty
