"""The first page: the example in one click, a servo, another bench, and what was left last time."""

import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.record.view import LIST
from bench_gui.settings import NAME
from bench_gui.shell.start_page import LOCKED
from bench_gui.shell.tasks import BENCH, COMPARE, IDENTIFY, RECORD
from bench_gui.state.servo_link import SIMULATED
from core.motion.trajectories import make_trajectory
from drivers.servo import ServoState
from sessions.folders import HOME_VARIABLE
from tests.gui.conftest import Person, dispose


@pytest.fixture
def start(qtbot, tmp_path, monkeypatch):
    """Returns a function that opens a window at its first page."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    opened = []

    def begin(servo=None):
        window = make_window(Controller(servo), "light", None)
        opened.append(window)
        with qtbot.waitExposed(window):
            window.show()
        return Person(qtbot, window)

    yield begin
    for window in opened:
        window.leave()
        dispose(window, window.controller)


def test_the_example_is_a_newcomer_s_first_choice_and_ready_to_be_identified(start):
    person = start()
    window, page = person.window, person.window.start
    assert page.example_button.property("kind") == "primary"
    assert not page.continue_button.isVisible(), "there is nothing to go on with"
    window.help.show()
    assert window.help.window.current == "index"
    window.show_log()
    assert window.log.isVisible()
    assert not page.isVisible()
    window.show_start()
    person.click(page.example_button)
    person.until(window.identify.start_button.isEnabled)
    assert window.identify.start_button.text() == "Identify from 8 runs"


def test_a_simulated_servo_is_connected_by_one_click_and_not_given_up_for_another(start):
    person = start()
    buttons = person.window.start.servo_buttons
    person.click(buttons[SIMULATED])
    person.until(lambda: person.state is ServoState.READY)
    assert person.window.record.isVisible()
    person.window.show_start()
    assert {(made.isEnabled(), made.toolTip()) for made in buttons.values()} == {(False, LOCKED)}
    person.controller.servo.disconnect_servo()
    assert buttons["scan"].isEnabled()


def test_other_servos_are_set_up_and_not_connected_and_a_new_bench_has_what_is_usual(start):
    person = start()
    window, setup, usual = person.window, person.controller.setup, person.controller.setup.now
    setup.edit_bench("load", mass=0.3, angle_offset=0.1)
    setup.edit_kp(99.0)
    entered, queue = setup.now, person.controller.queue
    queue.add([make_trajectory("sin_sin")])
    person.click(window.start.new_button)
    assert (window.bench.isVisible(), setup.now, queue.waiting) == (True, usual, ())
    person.controller.undo.undo()
    assert setup.now == entered
    for family in ("dynamixel", "ethercat"):
        window.show_start()
        person.click(window.start.servo_buttons[family])
        assert window.bench.isVisible()
        assert window.bench.connection.chosen.name == family
    for name in ("emulated", "scan"):
        window.show_start()
        person.click(window.start.servo_buttons[name])
        dialog = window.bench.emulation_dialog if name == "emulated" else window.bench.scan_dialog
        assert dialog.isVisible()
        dialog.close()
    assert person.controller.servo.recorder is None


def test_an_empty_page_records_the_four_trajectories_in_one_click_and_is_ready_to_identify(start):
    person = start("simulated:mx106?clock=virtual")
    window = person.window
    person.click(window.rail.buttons[IDENTIFY])
    (button,) = [made for made in window.identify.findChildren(QPushButton) if made.text().startswith("Record four")]
    person.click(button)
    person.until(lambda: len(person.controller.library.runs) == 4 and not person.controller.queue.active)
    assert {run.exit_status for run in person.controller.library.runs} == {"success"}
    person.click(window.rail.buttons[IDENTIFY])
    assert window.identify.start_button.text() == "Identify from 4 runs"


def test_the_last_session_goes_on_where_it_was_left(start, identified):
    first = start()
    first.open(identified)
    first.window.show_task(COMPARE)
    first.window.leave()
    person = start()
    page, library = person.window.start, person.controller.library
    assert "identified" in page.name.text()
    library.open(identified)  # as the program does once the window is complete
    person.until(lambda: page.facts.text().startswith("mx106, 3 runs, M"))
    assert page.facts.text().endswith(" mrad")
    person.click(page.continue_button)
    person.until(lambda: person.window.compare.isVisible())
    person.window.show_start()
    assert not any(made.isChecked() for made in person.window.rail.buttons)
    person.click(page.new_button)
    person.until(lambda: person.window.bench.isVisible())
    assert (library.path, library.runs, person.controller.settings.open_session) == (None, [], "")
    person.window.show_start()
    person.click(page.continue_button)
    person.until(lambda: library.path == identified)


def test_waiting_runs_are_counted_after_a_restart(start):
    first = start()
    first.window.record.start.add()
    first.window.leave()
    assert start().window.record.tabs.buttons[LIST].text() == "List (1 waiting)"


def test_the_layout_of_the_tasks_outlives_a_start_that_ends_at_the_first_page(start):
    first = start()
    first.window.show_task(RECORD)
    first.window.work.docks["session"].hide()
    first.window.leave()
    start().window.leave()
    person = start()
    person.window.show_task(BENCH)
    assert person.window.work.docks["inspector"].isVisible()
    assert not person.window.session.isVisible()
    assert person.window.work.docks["inspector"].width() > 200
    person.window.work.reset()
    assert person.window.session.isVisible()


def test_what_was_chosen_in_a_session_is_back_with_it(start, identified, tmp_path):
    def chosen(window):
        library, comparison, form = window.controller.library, window.controller.comparison, window.identify.form
        return [library.selected, [run.id for run in library.for_fit()], comparison.chosen, form.settings()]

    person = start()
    person.open(shutil.copytree(identified, tmp_path / "identified"))
    person.until(lambda: person.controller.fitting.result is not None)
    library, form = person.controller.library, person.window.identify.form
    library.select([library.runs[0].id, library.runs[2].id])
    person.controller.comparison.choose(("identified:m2",))
    form.hold_out(f"trajectory={library.runs[2].trajectory}")
    form.freeze("k_t", 1.5)
    before, changed = chosen(person.window), form.changed_since
    assert {"Hold out", "Frozen"} <= set(changed)
    person.window.leave()

    again = start()
    again.open(Path(again.controller.settings.open_session))
    again.until(lambda: again.controller.fitting.result is not None)
    assert chosen(again.window) == before
    assert again.window.identify.form.changed_since == changed, "newer than the session's result"
    again.open(shutil.copytree(identified, tmp_path / "another"))
    again.until(lambda: again.controller.fitting.result is not None)
    assert again.controller.library.selected == ()
    assert again.window.identify.form.settings().frozen == (), "those of this session's result"


def test_damaged_settings_of_pages_that_are_made_later_are_said(start, tmp_path):
    (tmp_path / "home").mkdir()
    parts = {part: {"settings": {"models": ["m9"]}} for part in ("trajectory", "identification", "curves")}
    (tmp_path / "home" / NAME).write_text(json.dumps({"parts": parts}))
    person = start()
    said = []
    person.controller.journal.said.connect(lambda line: said.append(line.text))
    assert person.window.record.form.state()["name"]
    assert person.window.identify.form.settings() == FitSettings()
    assert person.window.compare.overlay.channel.currentData() == "position"
    assert said == [f"{part.capitalize()} could not be restored" for part in parts]
