"""Acceptance of the Fleet task: as a person uses it, with processes of its own behind the window."""

import json
import shutil

import pytest

from bench_gui.fleet.view import PARAMETERS, SPREAD, TRANSFER, UNITS
from bench_gui.shell.tasks import COMPARE, FLEET
from core.base.units import DEGREES, RADIANS
from core.fleet.driver import FleetWatch, run_fleet
from core.fleet.local import PlainLoop
from core.fleet.plan import FleetRequest, make_plan
from core.fleet.store import FleetStore
from core.identification.request import IdentificationRequest
from sessions import Session
from tests.core.fleet import small
from tests.gui.test_window import check_names

FIRST_SEEN = FLEET

COUNT = 3
REPEATS = 2
TRIALS = 100
FITS = 2 * COUNT * REPEATS
"""So many that a person can stop amid them."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Sessions of a unit each, of the runs under one load."""
    folder = tmp_path_factory.mktemp("lab")
    for unit in small.units(COUNT):
        Session.create(folder / unit.name, unit.name).add_all(unit.recordings[: len(small.TRAJECTORIES)])
    return folder


@pytest.fixture(scope="module")
def finished(lab, tmp_path_factory):
    """The fleet of these sessions, identified without the window."""
    from bench_gui.headless.fleet.gather import gather_units, load_unit
    from tests.gui.fleet.test_fleet import opened

    folder = tmp_path_factory.mktemp("finished")
    fit = IdentificationRequest(servo="mx106", models=("m1", "m2"), trials=TRIALS, repeats=REPEATS)
    plan = make_plan(FleetRequest(fit=fit), gather_units(sorted(lab.iterdir())), load_unit)
    result = run_fleet(plan, FleetStore(folder), lambda: opened(PlainLoop(load_unit)), FleetWatch())
    assert result.complete
    return folder


@pytest.fixture
def view(person):
    person.window.show_task(FLEET)
    return person.window.fleet


def open_fleet(person, view, folder):
    view.open_fleet(folder)
    person.until(lambda: view.running.summary is not None and not view.form.sessions.unseen)


def test_a_fleet_is_computed_stopped_and_gone_on_with(person, view, lab, finished, tmp_path):
    running, line = view.running, person.window.status_line.foremost
    assert view.is_empty
    assert view.try_button.isVisible()
    assert not view.start_button.isEnabled()
    assert "add some" in view.start_button.toolTip()
    view.form.sessions.add([lab])
    view.form.models.check(("m1", "m2"))
    view.form.path.setChecked(False)
    view.form.trials.setValue(TRIALS)
    view.form.repeats.setValue(REPEATS)
    view.form.workers.setValue(1)
    folder = tmp_path / "fleet"
    view.form.set_folder(folder)
    person.until(lambda: view.start_button.isEnabled())
    person.click(view.start_button)
    person.until(line.isVisible)
    assert any(words.startswith("a fleet") for words in person.controller.busy())
    assert not view.form.isEnabled()
    person.until(lambda: running.latest is not None and running.latest.done > 0)
    person.click(line.stop_button)
    person.until(lambda: not running.active)
    assert view.units.table.rowCount() == COUNT
    done = running.summary.done
    assert 0 < done < running.summary.tasks == FITS
    assert "Start continues" in view.note.text()
    person.until(lambda: not line.isVisible())
    assert not person.controller.busy()
    # The other fits of the same settings are there already, whoever computed them: nothing is left to compute.
    shutil.copytree(finished / "units", folder / "units", dirs_exist_ok=True)
    shutil.copy(finished / "transfer.json", folder)
    person.click(view.start_button)
    person.until(lambda: not running.active)
    assert running.latest.computed == 0
    assert running.summary.done == running.summary.tasks
    assert running.summary.transfer is not None
    # The window lists it only if it took a second.
    assert running.activity.in_words == f"Fleet: {FITS} of {FITS} fits"


def test_a_finished_fleet_is_looked_at_from_all_sides(person, view, lab, finished, tmp_path):
    window, controller = person.window, person.controller
    open_fleet(person, view, finished)
    assert view.form.obstacle == ""
    assert view.form.job().folder == finished
    assert view.model.currentText() == f"{view.running.summary.recommended.upper()} ★"
    view.units.select("unit-002")
    view.tabs.choose(PARAMETERS)
    strips = view.parameters.shown
    assert len(strips) == len(view.shown_model.parameters)
    assert {strip.chart.left[1] for strip in strips} >= {"rad"}
    controller.set_angle_unit(DEGREES)
    assert {strip.chart.left[1] for strip in strips} >= {"°"}
    controller.set_angle_unit(RADIANS)
    strips[0].chosen.emit("unit-003")
    assert view.units.selected == "unit-003"
    view.tabs.choose(TRANSFER)
    assert view.transfer.unit(view.transfer.cell[0]) == "unit-003", "what is chosen is chosen in every tab"
    for size in ((1180, 640), (1920, 1080)):
        window.resize(*size)
        person.qtbot.wait(1)
        assert (window.width(), window.height()) == size
    check_names(window)
    view.tabs.choose(SPREAD)
    assert view.spread.table.rowCount() == len(view.shown_model.parameters)
    assert view.spread.judge_button.isVisible() or view.spread._judge.active
    person.until(lambda: "on average over the units" in view.spread.verdict.text())
    window.resize(1180, 640)
    # Each word of the buttons can be read beside the bars.
    person.until(lambda: all(b.width() >= b.sizeHint().width() for b in view.spread.buttons.values()))
    view.spread.write("json", tmp_path)
    person.until(lambda: view.spread.written.text().startswith("JSON: 1 file"))
    data = json.loads((tmp_path / "spread.json").read_text())
    assert data["population"]["units"] == ["unit-001", "unit-002", "unit-003"]
    # A unit in Compare, with its session and its model.
    view.tabs.choose(UNITS)
    view.units.select("unit-002")
    person.click(view.units.open_button)
    person.until(lambda: controller.library.path == lab / "unit-002" and len(controller.comparison.chosen) > 0)
    best = view.friction
    file = finished / "units" / "unit-002" / f"{best}.json"
    person.until(lambda: f"file:{file}" in controller.comparison.chosen)
    entry = controller.model_list.entry(f"file:{file}")
    assert entry.title == f"{best.upper()} unit-002"
    person.until(lambda: person.window.stack.currentIndex() == COMPARE)

    window.show_task(window.pages.index(window.fleet))
    view.open_fleet(lab)
    person.until(lambda: "no fleet" in person.message)
    assert view.running.summary.folder == finished, "what is no fleet changes nothing"
