"""One primary button at each moment, and few clicks from the first start to measured and simulated motion."""

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton, QFileDialog

from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.shell.tasks import IDENTIFY, TASKS
from core.motion.trajectories import make_trajectory
from drivers.servo import ServoState
from sessions.folders import HOME_VARIABLE
from tests.gui.conftest import Person, dispose

AT_ONCE = "simulated:mx106?clock=virtual"
"""Runs take no time."""


class Clicking(Person):
    """Counts clicks."""

    clicks = 0

    def click(self, widget):
        super().click(widget)
        self.clicks += 1


@pytest.fixture
def person(qtbot, tmp_path, monkeypatch):
    """At the start page of a first start."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr("bench_gui.main_window.may_close", lambda *_: True)
    window = make_window(Controller(AT_ONCE), "light", None)
    with qtbot.waitExposed(window):
        window.show()
    yield Clicking(qtbot, window)
    window.leave()
    dispose(window, window.controller)


def primary(window):
    """Text of the one primary button in sight; those of dialogs are in windows of their own."""
    buttons = [made for made in window.findChildren(QAbstractButton) if made.property("kind") == "primary"]
    texts = [made.text() for made in buttons if made.isVisible() and made.window() is window]
    assert len(texts) == 1, texts
    return texts[0]


def walk(window):
    """The primary button of the start page and of each task."""
    window.show_start()
    found = {"Start": primary(window)}
    for number, (name, _, _) in enumerate(TASKS):
        window.show_task(number)
        if name == "Identify":
            continue
        found[name] = primary(window)
    return found


def test_each_page_has_one_primary_button_at_each_moment(person):
    window, controller = person.window, person.controller
    queue, library, servo = controller.queue, controller.library, controller.servo

    def connect(address):
        controller.connecting.connect_to(address)
        person.until(lambda: person.state is ServoState.READY)

    first = walk(window)
    assert {first[name] for name in ("Bench", "Record", "Place")} == {"Connect"}
    assert first["Start"] == "Open the example"
    library.open_example()
    person.until(lambda: len(library.runs) == 8)
    example = walk(window)
    assert (example["Start"], example["Compare"], example["Record"]) == ("Continue", "Identify", "Connect")
    connect(AT_ONCE)
    connected = walk(window)
    assert connected["Bench"] == "Record"
    assert connected["Record"].startswith("Record 1 run, ")
    assert connected["Place"].startswith("Hold ")
    controller.recording.record_paper_set()
    person.until(lambda: len(library.runs) == 4 and not queue.active)
    assert walk(window)["Record"] == "Identify 4 runs"
    window.show_task(IDENTIFY)
    few_trials(window.identify.form)
    person.click(window.identify.start_button)
    walk(window)
    person.until(lambda: controller.fitting.result is not None and not controller.fitting.active)
    assert walk(window)["Compare"] == "Export"
    connect("simulated:mx106")
    queue.record([make_trajectory("sin_sin", 300.0)])
    person.until(lambda: queue.running is not None and window.record.live.count > 10)
    assert walk(window)["Record"] == "Recording"
    controller.escape()
    person.until(lambda: servo.view.stopped)
    stopped = walk(window)
    assert {stopped[name] for name in ("Bench", "Record", "Place")} == {"Ready again"}
    assert stopped["Compare"] in ("Identify", "Export")


def few_trials(form):
    for name, value in {"models": ("m1",), "command_path": "off", "trials": 64}.items():
        form.set_option(name, value)


def identify(person, begin):
    """Click and wait for measured and simulated motion."""
    view, controller = person.window.identify, person.controller
    few_trials(view.form)
    assert begin.isEnabled(), begin.toolTip()
    person.click(begin)
    person.until(lambda: controller.fitting.overlay is not None or controller.fitting.result is not None)
    assert view.overlay.isVisible()
    person.until(lambda: not controller.fitting.active)


def test_the_example_is_two_clicks_away(person):
    window = person.window
    person.click(window.start.example_button)
    person.until(lambda: len(person.controller.library.runs) == 8)
    identify(person, window.identify.start_button)
    assert person.clicks == 2


def test_a_simulated_servo_is_four_clicks_away(person):
    window = person.window
    window.record.form.field("duration").setValue(1.0)
    person.click(window.start.servo_buttons["simulated"])
    person.until(lambda: person.state is ServoState.READY)
    person.click(window.record.run_button)
    person.until(window.record.start.identify_button.isVisible)
    assert window.record.run_button.text().startswith("Record 1 run, "), "to record again is one click, too"
    person.click(window.record.start.identify_button)
    identify(person, window.identify.start_button)
    assert person.clicks == 4


def test_own_tables_are_six_clicks_away(person, tmp_path, monkeypatch):
    """Files are chosen in the system's dialog with two clicks. A person knows the servo, the mass and the length."""
    window, time = person.window, 0.01 * np.arange(200)
    rows = [f"{t:g},{0.7 * np.sin(2 * t):.4f},{0.66 * np.sin(2 * t - 0.1):.4f}" for t in time]
    file = tmp_path / "sin_sin_kp400.csv"
    file.write_text("\n".join(["time,goal,position", *rows]) + "\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(file)], ""))
    person.click(window.start.import_button)
    person.clicks += 2
    person.until(lambda: window.session.questions.dialog is not None)
    dialog = window.session.questions.dialog
    dialog.servo.setCurrentIndex(dialog.servo.findData("xl330"))
    for name, value in {"mass": 0.2, "length": 0.1}.items():
        dialog.facts[name].setValue(value)
    person.click(dialog.import_button)
    person.until(window.identify.isVisible)
    assert window.identify.start.check_button.text() == "Check this 1 run"
    identify(person, window.identify.start_button)
    assert person.clicks <= 6
