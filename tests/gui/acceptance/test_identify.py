"""Acceptance rows of the Identify task: Identify, Result, Failed analysis."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QDesktopServices

from bench_gui import file_dialogs
from bench_gui.cli import main
from bench_gui.identify.tables import INTERVAL_COLUMN, NOTE_COLUMN, START_COLUMN, SYMBOL_COLUMN, UNIT_COLUMN
from bench_gui.shell.tasks import IDENTIFY
from core.servo.shipped import load_model
from sessions import Session

FIRST_SEEN = IDENTIFY


@pytest.fixture
def session(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "recorded")


def at_identify(person, session, *models, trials=200):
    """Open a session in the task, with a search that takes a moment."""
    person.open(session)
    person.window.show_task(IDENTIFY)
    view = person.window.identify
    for name, box in view.form.models.items():
        box.setChecked(name in models)
    view.form.fields["command_path"].setCurrentIndex(view.form.fields["command_path"].findData("off"))
    view.form.fields["trials"].setValue(trials)
    return view


def test_identify(person, session):
    """One click; live cost and overlay; Stop keeps the best."""
    view, fitting = at_identify(person, session, "m1", "m6", trials=20_000), person.controller.fitting
    overlays = []
    fitting.overlaid.connect(overlays.append)
    person.click(view.start_button)
    person.until(lambda: fitting.latest is not None)
    view.tabs.show_part(view.overlay)
    person.until(lambda: view.overlay.shown.friction == "m1")
    judged = view.overlay.shown.runs
    assert view.overlay.shown.run.id == judged[0].id
    assert [run.mae for run in judged] == sorted((run.mae for run in judged), reverse=True)
    for key in ("measured", "simulated", "residual"):
        assert np.isfinite(view.overlay.curves[key].getOriginalDataset()[1]).sum() > 100
    person.until(lambda: len(overlays) >= 3)
    assert overlays[-1].runs[0].mae < overlays[0].runs[0].mae
    assert view.overlay.shown is overlays[-1]
    view.tabs.show_part(view.search)
    person.until(lambda: bool(view.search.cost.curves) and len(view.search.cost.curves[0].getOriginalDataset()[0]) > 3)
    _, y = view.search.cost.curves[0].getOriginalDataset()
    assert (np.diff(y) <= 0).all()
    assert view.answer.card.title.text().startswith("Identifying M")
    assert "best so far" in view.answer.card.title.text()
    person.until(lambda: " s of about " in view.answer.card.choice.text())
    assert not view.answer.card.step_button.isVisible()
    assert view.parameters.table.rowCount() > 3

    searched, best = fitting.latest.model, fitting.latest.points[-1][1]
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.stop_button)
    assert fitting.result.stopped
    found = {row.model.friction: row for row in fitting.result.models}
    assert found[searched].train_mae <= best * (1 + 1e-9)


def test_result(person, session):
    """Value, unit, initial value, interval, warning at a bound, held-out RMSE; the bound excludes the truth."""
    view, fitting = at_identify(person, session, "m1", "m2", trials=600), person.controller.fitting
    truth = load_model("mx106", "m6").values["armature"]
    view.form.set_parameters((), (("armature", 4.0 * truth, 8.0 * truth),))
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.start_button)
    table = view.answer.ladder
    assert table.rowCount() == 2
    # The recommended model is the bench's already; a person picks the other one.
    picked = 1 - table.recommended_row
    view.answer.view.selectRow(picked)
    row = fitting.result.models[picked]
    assert person.controller.model_list.current.model is not row.model
    figures = view.search.results
    assert float(figures.data(figures.index(picked, 1))) == pytest.approx(1e3 * row.validation_rmse, rel=0.01)
    assert row.validation_rmse >= row.validation_mae
    place = [p.name for p in row.model.parameters.values()].index("armature")
    values = view.parameters.table
    assert values.data(values.index(place, SYMBOL_COLUMN)) == "J_m"
    assert values.data(values.index(place, UNIT_COLUMN)) == "kg·m²"
    assert float(values.data(values.index(place, START_COLUMN))) == pytest.approx(4.0 * truth, rel=0.02)
    assert values.data(values.index(place, NOTE_COLUMN)).endswith(", at its lower bound")
    note = values.cell_at(place, NOTE_COLUMN).tip
    assert "lower bound" in note
    assert "check the load" in note
    assert any("lower bound" in text for text in row.evidence.warnings)
    assert "lower bound" in view.evidence.warnings.text.text()
    warnings = person.controller.fitting.result.answers[row.model.friction].warnings
    assert view.evidence.segments.buttons[1].text() == f"Warnings ({len(warnings)})"
    assert table.data(table.index(picked, 4)) == str(len(warnings))
    shown = [values.data(values.index(i, INTERVAL_COLUMN)) for i in range(values.rowCount())]
    for text, parameter in zip(shown, row.evidence.parameters, strict=True):
        assert (text == "∞") == (not parameter.narrowed)
    assert "recommended" in view.answer.card.choice.toolTip()

    view.tabs.show_part(view.overlay)
    person.until(lambda: view.overlay.shown.friction == row.model.friction)
    worst = view.overlay.shown.run.id
    person.until(view.overlay.steps[1].isEnabled)
    person.click(view.overlay.steps[1])
    person.until(lambda: view.overlay.shown.run.id != worst)
    assert view.overlay.shown.run.id == view.overlay.run.currentData() == view.overlay.shown.runs[1].id

    person.click(view.answer.card.use_button)
    assert person.controller.model_list.current.model is row.model
    assert "●" in table.data(table.index(picked, 0))
    assert "●" not in table.data(table.index(table.recommended_row, 0))
    assert view.answer.card.use_button.text() == "In use"
    assert not view.answer.card.use_button.isEnabled()


def test_failed_analysis(person, session):
    """A run whose angle jumps spoils the fit: its curve is seen, and the button excludes it and tries again."""
    opened = Session.open(session)
    good = opened.load(opened.fit_ids()[0])
    position = good.position.copy()
    position[150:] += 2.0 * np.pi
    bad = opened.add(replace(good, channels={**good.channels, "position": position}), "success")
    view, fitting = at_identify(person, session, "m1", trials=64), person.controller.fitting
    assert view.start_button.text() == "Identify from 4 runs"
    with person.qtbot.waitSignal(fitting.failed):
        person.click(view.start_button)
    number = bad.split("_")[0]
    assert f"run {bad} jumps" in view.problem.text.text().lower()
    assert view.tabs.current() is view.overlay
    person.until(lambda: view.overlay.shown.run is not None and view.overlay.shown.run.id == bad)
    assert view.overlay.curves["measured"].getOriginalDataset()[1].max() > 5.0
    person.click(view.overlay.steps[1])
    person.until(lambda: view.overlay.curves["measured"].getOriginalDataset()[1].max() < 5.0)
    assert view.problem.button.text() == f"Exclude run {number} and try again"
    assert view.start.resume_button.isHidden(), "what fails always is not offered again"
    with person.qtbot.waitSignal(fitting.finished):
        person.click(view.problem.button)
    assert person.controller.library.annotation(bad).excluded
    assert "jumps" in person.controller.library.annotation(bad).reason
    assert not view.problem.isVisible()
    assert bad not in fitting.result.train
    assert view.answer.ladder.rowCount() == 1
    person.controller.undo.undo()
    assert not person.controller.library.annotation(bad).excluded


def test_report(person, identified, tmp_path, monkeypatch):
    """One HTML file, which is opened; `bench report` writes the same."""
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    file = tmp_path / "sent" / "report.html"
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(file)], ""))
    person.open(identified)
    person.window.show_task(IDENTIFY)
    view, fitting = person.window.identify, person.controller.fitting
    person.until(lambda: fitting.result is not None)
    person.until(lambda: view.answer.card.report_button.isEnabled())
    person.click(view.answer.card.report_button)
    person.until(lambda: bool(opened))
    assert opened == [str(file)]
    page = file.read_text("utf-8")
    assert fitting.result.recommended.upper() in page
    again = tmp_path / "again.html"
    assert main(["report", str(identified), "-o", str(again)]) == 0
    stamp = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:]+\S*|<dc:date>.*?</dc:date>|(?<=id=\")[^\"]+|(?<=#)[^\")]+")
    assert stamp.sub("", again.read_text("utf-8")) == stamp.sub("", page)
