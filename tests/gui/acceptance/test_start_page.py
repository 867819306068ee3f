"""The first page: from the first start to identified models in four clicks, with the example in two."""

import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QPushButton

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.headless.places import HOME_VARIABLE
from bench_gui.identify.fit.settings import FitSettings
from bench_gui.settings import NAME
from bench_gui.shell.start_page import LOCKED
from bench_gui.shell.tasks import BENCH, COMPARE, IDENTIFY, RECORD
from bench_gui.state.servo_link import SIMULATED
from drivers.servo import ServoState
from tests.gui.conftest import Person, dispose
from tests.waiting import FAST


class Counting(Person):
    """A person whose clicks are counted."""

    clicks = 0

    def click(self, widget):
        super().click(widget)
        self.clicks += 1

    def press(self, text):
        """Click the button in sight whose text begins with this, once it can be clicked."""

        def found():
            buttons = self.window.findChildren(QPushButton)
            return [made for made in buttons if made.isVisible() and made.isEnabled() and made.text().startswith(text)]

        self.until(lambda: bool(found()))
        self.click(found()[0])

    def wait_for_models(self):
        self.until(lambda: self.controller.fitting.result is not None and not self.controller.fitting.active)
        assert self.window.identify.isVisible()


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
        return Counting(qtbot, window)

    yield begin
    for window in opened:
        window.leave()
        dispose(window, window.controller)


def in_a_hurry(person):
    """Two models and fewer evaluations than a person would leave it at, for a test's sake."""
    form = person.window.identify.form
    form.fields["models"].check(("m1", "m2"))
    form.fields["models"].changed.emit()
    form.fields["trials"].setValue(100)


def test_four_clicks_lead_from_the_first_start_to_identified_models(start):
    person = start(FAST)
    window = person.window
    assert window.start.isVisible()
    assert "SIMULATED" in window.status_bar.servo.text()
    assert not window.start.continue_button.isVisible(), "there is nothing to go on with"
    person.click(window.rail.buttons[IDENTIFY])
    person.press("Record four")
    person.until(lambda: len(person.controller.library.runs) == 4 and not person.controller.queue.active)
    person.click(window.rail.buttons[IDENTIFY])
    in_a_hurry(person)
    person.press("Identify from 4")
    person.wait_for_models()
    assert person.clicks == 4


def test_two_clicks_identify_the_example(start):
    person = start()
    person.click(person.window.start.example_button)
    in_a_hurry(person)
    person.press("Identify from 8")
    person.wait_for_models()
    assert person.clicks == 2


def test_a_simulated_servo_is_connected_by_one_click(start):
    person = start()
    person.click(person.window.start.servo_buttons[SIMULATED])
    person.until(lambda: person.state is ServoState.READY)
    assert person.window.record.isVisible()


def test_the_last_session_goes_on_where_it_was_left(start, identified):
    first = start()
    first.open(identified)
    first.window.show_task(COMPARE)
    first.window.leave()
    person = start()
    page, library = person.window.start, person.controller.library
    assert "identified" in page.name.text()
    library.open(identified)  # as the program does once the window is complete
    person.until(lambda: page.facts.text().startswith("3 runs, M"))
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


def test_a_new_bench_is_begun_with_what_is_usual(start):
    person = start()
    setup = person.controller.setup
    usual = setup.now
    setup.edit_bench("load", mass=0.3, angle_offset=0.1)
    setup.edit_kp(99.0)
    entered = setup.now
    person.click(person.window.start.new_button)
    assert setup.now == usual
    person.controller.undo.undo()
    assert setup.now == entered


@pytest.mark.parametrize("family", ["dynamixel", "ethercat"])
def test_a_real_servo_is_set_up_and_not_connected(start, family):
    person = start()
    person.click(person.window.start.servo_buttons[family])
    person.until(lambda: person.window.bench.isVisible())
    assert person.window.bench.connection.chosen.name == family
    assert person.controller.servo.recorder is None


def test_an_emulated_servo_and_a_scan_are_a_click_away(start):
    person = start()
    person.click(person.window.start.servo_buttons["emulated"])
    assert person.window.bench.emulation_dialog.isVisible()
    person.window.bench.emulation_dialog.close()
    person.window.show_start()
    person.click(person.window.start.servo_buttons["scan"])
    assert person.window.bench.scan_dialog.isVisible()
    assert person.controller.servo.recorder is None
    person.window.bench.scan_dialog.close()


def test_a_connected_servo_is_not_given_up_for_another(start):
    person = start()
    person.connect()
    for made in person.window.start.servo_buttons.values():
        assert not made.isEnabled()
        assert made.toolTip() == LOCKED
    person.controller.servo.disconnect_servo()
    assert person.window.start.servo_buttons["scan"].isEnabled()


def test_the_log_and_the_help_are_there_as_well(start):
    person = start()
    person.window.help.show()
    assert person.window.help.window.current == "index"
    person.window.show_log()
    assert person.window.log.isVisible()
    assert not person.window.start.isVisible()


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


def test_the_example_is_the_first_choice_of_a_newcomer(start):
    assert start().window.start.example_button.property("kind") == "primary"


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
