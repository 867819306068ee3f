"""One primary button at each moment, and few clicks from the first start to measured and simulated motion."""

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton

from bench_gui import file_dialogs
from bench_gui.app import make_window
from bench_gui.controller import Controller
from bench_gui.shell.tasks import EXPLORE, IDENTIFY, TASKS
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
    """Text of the one blue button in sight, empty without one; those of dialogs are in windows of their own."""
    buttons = [made for made in window.findChildren(QAbstractButton) if made.property("kind") == "primary"]
    blue = [made for made in buttons if made.isVisible() and made.isEnabled() and made.window() is window]
    texts = [made.text() for made in blue]
    assert len(texts) <= 1, texts
    return "".join(texts)


def walk(window, *waiting):
    """The blue button of the start page and of each task.

    None is blue where a person has nothing to press: on pages that are `waiting` for the program, on Export until the
    preview has come, and on Explore's Stiction, whose curves follow each edit.
    """
    window.show_start()
    found = {"Start": primary(window)}
    for number, (name, _, _) in enumerate(TASKS):
        window.show_task(number)
        found[name] = primary(window)
    unseen = [] if window.export.export_button.isEnabled() else ["Export"]
    assert {name for name, text in found.items() if not text} == {"Explore", *waiting, *unseen}
    return found


def test_each_tab_of_explore_has_its_button(person):
    window, explore = person.window, person.window.explore
    window.show_task(EXPLORE)
    assert primary(window) == "", "the curves follow each edit"
    explore.stiction.form.numbers["breakaway_speed"].setValue(0.02)
    assert primary(window) == explore.stiction.mend_button.text() != ""
    for tab, text in ((explore.compliance, "Play the motion"), (explore.learning, "Learn"), (explore.webots, "Fit")):
        explore.show_tab(tab)
        person.until(lambda text=text: primary(window) == text)


def test_each_page_has_one_primary_button_at_each_moment(person, tmp_path):
    window, controller = person.window, person.controller
    queue, library, servo, fitting = controller.queue, controller.library, controller.servo, controller.fitting

    def connect(address):
        controller.connecting.connect_to(address)
        person.until(lambda: person.state is ServoState.READY)

    first = walk(window)
    assert {first[name] for name in ("Bench", "Record", "Place")} == {"Connect"}
    assert first["Start"] == "Open the example"
    assert first["Identify"].startswith("Record four runs")
    with person.qtbot.waitSignal(library.opened):
        library.create(tmp_path / "empty")
    empty = walk(window)
    assert (empty["Start"], empty["Identify"]) == ("Continue", first["Identify"])
    connect(AT_ONCE)
    connected = walk(window)
    assert connected["Bench"] == "Record"
    assert connected["Record"].startswith("Record 1 run, ")
    assert connected["Place"].startswith("Hold ")
    queue.record([make_trajectory("sin_sin", 2.0)])
    person.until(lambda: len(library.runs) == 1 and not queue.active)
    one = walk(window)
    assert (one["Record"], one["Identify"]) == ("Identify 1 run", "Identify from 1 run")
    controller.recording.record_paper_set()
    person.until(lambda: len(library.runs) == 5 and not queue.active)
    several = walk(window)
    assert (several["Record"], several["Identify"]) == ("Identify 5 runs", "Identify from 5 runs")
    assert several["Compare"] == "Identify"

    form, start, card = window.identify.form, window.identify.start, window.identify.answer.card
    few_trials(form)
    form.set_option("trials", 5_000_000)
    window.show_task(IDENTIFY)
    with person.qtbot.waitSignal(fitting.progressed):
        person.click(start.start_button)
    walk(window, "Identify")
    fitting.stop()
    person.until(lambda: fitting.result is not None and not fitting.active)
    assert walk(window)["Identify"] == "Resume"
    window.show_task(IDENTIFY)
    window.session.editing.exclude([library.runs[0].id], "another load")
    assert primary(window) == "Identify again", "to resume would leave the change out"
    assert card.next.text() == "Identify again, because this has changed since the result: Runs."
    few_trials(form)
    person.click(card.step_button)
    person.until(lambda: fitting.result is not None and not fitting.active)
    found = walk(window)
    assert found["Compare"] == "Export"
    assert found["Identify"] == fitting.result.answers["m1"].step.label
    window.show_task(IDENTIFY)
    window.identify.answer.use()
    library.select([library.runs[1].id])
    assert primary(window) == found["Identify"], "to look at a run changes nothing"
    library.select([])
    window.session.editing.include([library.runs[0].id])
    assert walk(window)["Identify"] == "Identify again"

    library._clock.stop()
    library._lock("Read-only: this folder is write-protected")
    assert walk(window, "Place", "Identify")["Record"] == "Identify 5 runs"
    library._lock("")
    connect("simulated:mx106")
    queue.record([make_trajectory("sin_sin", 300.0)])
    person.until(lambda: queue.running is not None and window.record.live.count > 10)
    walk(window, "Record", "Place")
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
    monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([str(file)], ""))
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
