"""Connecting and recording at the simulated servo: two clicks to data, and nothing but a stop away from rest."""

import os
import re
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QApplication, QDialog, QLabel

from bench_gui.controller import Controller
from bench_gui.record.countdown import LONGEST_COUNTDOWN
from bench_gui.record.live import LiveRun
from bench_gui.record.plots import PINNED, STRIPS, LivePlots
from bench_gui.record.queue import RecordQueue
from bench_gui.record.run_list import rows
from bench_gui.record.trajectory_form import TrajectoryForm
from bench_gui.record.view import LIST, RecordView
from bench_gui.session.runs.table import TRAJECTORY
from bench_gui.state.models import CATALOGUE, ModelEntry
from bench_gui.state.servo_link import ServoLink, ServoView
from core.base.units import DEGREES, RADIANS, duration
from core.motion.trajectories import make_trajectory
from core.practice.plan import GridPlan
from core.practice.twin import TwinMotion
from core.servo.shipped import load_model
from drivers.recorder import RunResult
from drivers.recorder.run import LIVE_DTYPE, Phase
from drivers.servo import ServoIdentity, ServoState
from sessions import Session


@pytest.fixture(autouse=True)
def _nobody_is_asked(monkeypatch):
    """Some tests end while a run is on."""
    monkeypatch.setattr("bench_gui.main_window.may_close", lambda *_: True)


@pytest.fixture
def controller(qapp, tmp_path, monkeypatch):
    """The work behind a window, without the window."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    made = Controller("simulated:mx106")
    yield made
    made.close()


def statuses(person):
    return [run.exit_status for run in person.controller.library.runs]


def add(person, name, duration=0.3):
    """Choose a trajectory and add it to the queue."""
    form = person.window.record.form
    form.choice.setCurrentIndex(form.choice.findData(name))
    form.field("duration").setValue(duration)
    person.click(person.window.record.start.add_button)


def waiting(person):
    return [run.trajectory.name for run in person.controller.queue.waiting]


def choose_row(record, title):
    """Choose the row of the list that holds this text."""
    rows = record.runs.list
    (item,) = [rows.item(place) for place in range(rows.count()) if title in rows.item(place).text()]
    rows.setCurrentItem(item)


def shown(record):
    """What the list says, from above."""
    return [record.runs.list.item(place).text() for place in range(record.runs.list.count())]


# Runs.


def test_a_run_appears_in_the_list_and_its_last_samples_are_drawn(person):
    """A process that is held up sends its last samples when the window knows already how the run ended."""
    rows, library = [], person.controller.library
    person.controller.servo.rows.connect(lambda new: rows.extend(new[new["phase"] == Phase.RUN].copy()))
    person.connect()
    person.record()
    person.until(lambda: len(library.runs) == 1 and not person.controller.queue.active)
    run = library.runs[0]
    assert (run.trajectory, run.exit_status) == ("sin_time_square", "success")
    assert 2 <= run.samples <= 120, "a recorder that is held up skips cycles"
    table = person.window.session.model
    assert table.rowCount() == 1
    assert table.data(table.index(0, TRAJECTORY)) == "Accelerated oscillations"
    assert "trajectory: sin_time_square" in table.data(table.index(0, TRAJECTORY), Qt.ItemDataRole.ToolTipRole)
    late = np.array(rows[-1:])
    late["time"] += 1.0
    drawn = person.window.record.plots.curves["position"]
    person.controller.servo.rows.emit(late)
    person.until(lambda: drawn.getData()[0][-1] == late["time"][0])
    person.until(lambda: person.state is ServoState.READY)
    person.click(person.window.status_bar.connect_button)
    assert person.state is ServoState.DISCONNECTED
    assert person.window.status_bar.state.text() == "OFF"


def test_what_is_added_waits_for_record_with_its_own_bench(person):
    """The chosen trajectory can be recorded before what waits, which then goes on waiting."""
    person.connect()
    queue, record, setup = person.controller.queue, person.window.record, person.controller.setup
    assert record.run_button.text().startswith("Record 1 run, ")
    setup.set_kp(8.0)
    add(person, "half_sine")
    assert not record.bench.waiting.isVisible()
    setup.set_kp(32.0)
    setup.set_bench(mass=0.7)
    add(person, "sin_sin")
    assert record.bench.waiting.text() == "1 waiting run keeps 1.71 kg at 0.1 m, kp 8"
    assert record.bench.waiting.isVisible()
    assert not record.bench.weak.isVisible()
    assert waiting(person) == ["half_sine", "sin_sin"]
    assert not queue.active
    assert record.run_button.text() == f"Record 2 runs, {duration(2 * (0.3 + queue.overhead))}"
    assert record.tabs.buttons[LIST].text() == "List (2 waiting)"
    record.form.choice.setCurrentIndex(record.form.choice.findData("steps"))
    record.form.field("duration").setValue(0.3)
    record.start.record_chosen()
    person.until(lambda: statuses(person) == ["success"] and not queue.active)
    assert waiting(person) == ["half_sine", "sin_sin"]
    assert queue.paused
    person.click(record.run_button)
    person.until(lambda: statuses(person) == ["success"] * 3 and not queue.active)
    found = [(run.trajectory, run.kp, run.mass) for run in person.controller.library.runs]
    assert found == [("steps", 32.0, 0.7), ("half_sine", 8.0, 1.71), ("sin_sin", 32.0, 0.7)]
    assert not queue.waiting
    assert not queue.paused


def test_runs_of_another_servo_go_into_a_session_of_their_own(person, session):
    person.open(session)
    person.controller.connecting.choose_servo("simulated:xl330")
    person.connect()
    person.record(0.3)
    person.until(lambda: [run.servo for run in person.controller.library.runs] == ["xl330"])
    assert person.controller.library.path != session


def test_a_paused_list_lets_the_run_that_is_on_end_and_an_abort_keeps_samples(person):
    person.connect()
    record, queue, form = person.window.record, person.controller.queue, person.window.record.form
    add(person, "half_sine", 4.0)
    add(person, "sin_sin")
    form.choice.setCurrentIndex(form.choice.findData("steps"))
    person.click(record.run_button)
    drawn = record.plots.curves["position"]
    person.until(lambda: record.live.count > 10 and len(drawn.getData()[0]) > 10)
    assert person.state is ServoState.ENABLED
    assert person.window.status_bar.state.text() == "MOVING"
    assert record.run_button.text() == "Recording 1 of 2"
    assert not record.run_button.isEnabled()
    person.controller.recording.record_paper_set()
    assert "a run is in progress" in person.message.lower()
    person.click(record.start.pause_button)
    assert record.start.pause_button.text() == "Resume"
    person.until(lambda: statuses(person) == ["success"] and not queue.active)
    assert waiting(person) == ["sin_sin"]
    assert "Paused" in record.start.reason.text()
    # The run stays in sight until another is prepared; a busy machine skips some cycles.
    person.until(lambda: record.page.verdict.isVisible())
    assert re.match(r"Half sines: complete · \d+ cycles? skipped", record.page.verdict.text())
    person.until(lambda: len(drawn.getData()[0]) > 20)
    person.click(record.page.again_button)
    person.until(lambda: queue.running is not None and record.live.count > 10)
    assert queue.running.trajectory.name == "half_sine"
    person.click(record.start.abort_button)
    person.until(lambda: re.match(r"Aborted: Half sines\. · \d+ samples kept · ", record.page.verdict.text()))
    assert person.message == "", "it is said once, below the curves"
    person.until(lambda: statuses(person) == ["success", "abort"] and not queue.active)
    assert person.controller.library.runs[1].samples >= 10
    form.field("duration").setValue(3.0)
    assert not record.page.verdict.isVisible()
    assert drawn.getData()[0] is None or not len(drawn.getData()[0])
    assert record.plots.curves["goal"].getData()[0][-1] == pytest.approx(3.0)


# Stops and failures.


@pytest.mark.parametrize(
    "where", ["dialog", pytest.param("menu", marks=pytest.mark.exhaustive("another thing that can have the focus"))]
)
def test_escape_releases_the_servo_and_holds_what_waits_until_a_person_starts_it(person, where):
    person.controller.servo.stop_lock = 1.0
    person.connect()
    window, record, queue = person.window, person.window.record, person.controller.queue
    window.appearance.choose("dark")  # which does not listen for keys meanwhile
    queue.record([make_trajectory("half_sine", 600.0), make_trajectory("sin_sin", 0.3)])
    person.until(lambda: person.state is ServoState.ENABLED and record.live.count > 10)
    if where == "menu":
        menu = window.menuBar().actions()[0].menu()
        QTimer.singleShot(50, lambda: press(person, QApplication.activePopupWidget()))
        menu.exec(window.mapToGlobal(window.rect().center()))
    else:
        QTimer.singleShot(50, lambda: press(person, QApplication.activeModalWidget()))
        QDialog(window).exec()
    person.until(lambda: person.state is ServoState.FAULT and not person.controller.servo.busy)
    person.until(lambda: person.controller.servo.stop_latency is not None and statuses(person) == ["abort"])
    assert window.status_bar.state.text() == "STOPPED"
    person.click(record.run_button)
    assert "Ready again" in record.start.reason.text()
    assert not queue.active
    # Acknowledging is not starting, and commands are refused for a while.
    person.click(window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    assert not window.status_bar.acknowledge_button.isVisible()
    person.until(lambda: record.run_button.text().startswith("Locked for ") or not person.controller.servo.locked_for)
    person.until(lambda: record.run_button.text().startswith("Record 1 run, "))
    assert not queue.obstacle
    assert (waiting(person), queue.paused, queue.active) == (["sin_sin"], True, False)
    # What did not end well can be recorded again, and waits as well.
    record.tabs.choose(LIST)
    choose_row(record, "aborted")
    person.click(record.runs.again_button)
    assert (waiting(person), queue.active) == (["half_sine", "sin_sin"], False)
    assert not any("aborted" in text for text in shown(record))
    choose_row(record, "Half sines")
    person.click(record.runs.remove_button)
    person.click(record.run_button)
    person.until(lambda: statuses(person) == ["abort", "success"])


def test_the_record_button_is_locked_as_long_as_a_click_is_refused(person):
    person.connect()
    record, servo = person.window.record, person.controller.servo
    servo.view = replace(servo.view, locked_for=0.01)  # although the lock itself has just ended
    record.start.refresh()
    assert person.controller.queue.obstacle == "the emergency stop was pressed; wait 1 s"
    assert record.run_button.text() == "Locked for 1 s"


def press(person, target):
    person.qtbot.keyClick(target, Qt.Key.Key_Escape)


@pytest.mark.usefixtures("impatient")
def test_a_window_that_hangs_loses_the_servo_and_what_waits_is_held_with_the_reason(person):
    person.connect()
    queue, ended = person.controller.queue, []
    queue.ended.connect(ended.append)
    queue.record([make_trajectory("half_sine", 600.0), make_trajectory("sin_sin", 0.3)])
    person.hang()
    person.until(lambda: bool(ended) and queue.paused and not queue.active)
    assert ended[0].exit_status == "fail"
    assert "no sign of life" in ended[0].reason
    # Nothing was wrong with it but a computer that was too busy: it can be made again.
    assert waiting(person) == ["half_sine", "sin_sin"]
    assert queue.place == (1, 2)
    why = "computer was busy or the program hung: the program gave no sign of life"
    person.until(lambda: why in person.window.record.start.reason.text())
    person.until(lambda: person.state is ServoState.FAULT and len(person.controller.library.runs) == 1)
    assert "no sign of life" in person.controller.library.runs[-1].reason


def test_a_run_whose_recorder_dies_is_in_the_session_at_once(person):
    person.connect()
    person.record(0.3)
    verdict = person.window.record.page.verdict
    person.until(lambda: not person.controller.queue.active and "complete" in verdict.text())
    person.record(600.0)
    person.until(lambda: person.window.record.live.count > 200)
    os.kill(person.controller.servo.recorder._child.pid, signal.SIGKILL)
    library, queue = person.controller.library, person.controller.queue
    person.until(lambda: len(library.runs) == 2)
    assert library.runs[-1].samples > 50
    assert library.runs[-1].exit_status != "success"
    assert not queue.active
    assert [ended.trajectory.name for ended, _ in queue.past][-1] == "sin_time_square", "it can be recorded again"
    person.until(lambda: verdict.text().startswith("Failed: "))
    assert verdict.isVisible()
    assert "samples received" in verdict.text(), "not the words of the run before"


# The list.


def test_the_list_is_reordered_by_keys_buttons_and_dragging(person):
    record, queue = person.window.record, person.controller.queue
    record.tabs.choose(LIST)
    for name in ("half_sine", "sin_sin", "steps"):
        add(person, name)
    runs = record.runs
    choose_row(record, "Steps")
    person.qtbot.keyClick(runs.list, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert waiting(person) == ["half_sine", "steps", "sin_sin"]
    assert "Steps" in runs.list.currentItem().text()
    person.click(runs.up_button)
    assert waiting(person) == ["steps", "half_sine", "sin_sin"]
    person.click(runs.down_button)
    assert waiting(person) == ["half_sine", "steps", "sin_sin"]
    # What dropping a row does to the list; the first row is the heading of the load.
    assert runs.list.model().moveRow(QModelIndex(), 3, QModelIndex(), 1)
    assert waiting(person) == ["sin_sin", "half_sine", "steps"]
    choose_row(record, "Half sines")
    person.click(runs.here_button)
    assert waiting(person) == ["half_sine", "steps", "sin_sin"]
    choose_row(record, "Half sines")
    person.qtbot.keyClick(runs.list, Qt.Key.Key_Delete)
    assert waiting(person) == ["steps", "sin_sin"]
    person.click(runs.clear_button)
    assert waiting(person) == []
    assert queue.reason == ""
    # A heading for each change of the load.
    for mass in (0.5, 0.5, 0.7, 0.5):
        person.controller.setup.set_bench(mass=mass, length=0.1)
        add(person, "half_sine")
    headings = [text for text in shown(record) if "kg at" in text]
    assert headings == ["0.5 kg at 0.1 m", "0.7 kg at 0.1 m", "0.5 kg at 0.1 m"]


def test_every_row_of_the_list_says_what_became_of_its_run(controller):
    """Recorded cells of the plan first, then what ended, what is on and what waits."""
    queue, motion, other = controller.queue, make_trajectory("half_sine"), make_trajectory("steps")
    cells = GridPlan(masses=(0.5,), lengths=(0.1, 0.2), kps=(7.0,), trajectories=("sin_sin",)).cells()
    controller.setup.set_bench(mass=0.7, length=0.3)
    controller.setup.set_kp(9.0)
    made = [queue.made(motion) for _ in range(4)]
    ends = (("success", "0004_x", ""), ("abort", "0005_x", ""), ("fail", "0006_x", "too hot"))
    past = [
        (run, RunResult(run=1, exit_status=status, id=name, reason=why))
        for run, (status, name, why) in zip(made, ends, strict=False)
    ]
    again = queue.made(other, cells[1])
    waiting = (queue.made(other), replace(again, replaces="0002_y"))
    planning = SimpleNamespace(done={cells[0]: "0001_y", cells[1]: "0002_y"})
    found = list(rows(SimpleNamespace(past=past, running=made[3], waiting=waiting), planning))
    assert [(row.mark, row.tone, row.text, row.tip) for row in found] == [
        ("✓", "good", "Slow with sub-oscillations, kp 7  ·  0001", "0001_y"),
        ("✓", "good", "Half sines, kp 9  ·  0004", "0004_x"),
        ("✕", "fault", "Half sines, kp 9  ·  aborted", "Aborted: Half sines."),
        ("✕", "fault", "Half sines, kp 9  ·  failed", "Failed: Half sines: too hot"),
        ("▸", "moving", "Half sines, kp 9  ·  recording", "half_sine"),
        ("○", "muted", "Steps, kp 9  ·  waiting", "steps"),
        ("○", "muted", "Steps, kp 7  ·  waiting, replaces 0002", "steps"),
    ]
    assert [row.place for row in found] == [(0.1, 0.5), *[(0.3, 0.7)] * 5, (0.2, 0.5)]
    assert [row.waiting for row in found] == [False] * 5 + [True] * 2


def test_missing_runs_of_the_plan_are_neither_listed_nor_under_way(controller):
    """What remains lasts as long as its motions, what each takes besides, and its countdown."""
    queue, planning = controller.queue, controller.plan
    planning.edit(GridPlan(masses=(0.5,), lengths=(0.1, 0.2, 0.3), kps=(8.0,), duration=3.0), "plan")
    first, second, *others = planning.plan.cells()
    queue.overhead, queue.countdown.seconds = 2.0, 1.5
    assert planning.remaining == pytest.approx(len(planning.plan) * (3.0 + 2.0 + 1.5))
    queue.running = queue.made(planning.plan.trajectory(first), first)
    planning.add([second], planning.plan)
    planning.add([second, first], planning.plan)
    assert [run.cell for run in queue.waiting] == [second], "each once"
    assert planning.missing == tuple(others)
    queue.running = None


def test_only_a_run_that_ended_well_replaces_another(qtbot, controller, session):
    with qtbot.waitSignal(controller.library.opened):
        controller.library.open(session)
    queue, old = controller.queue, controller.library.runs[0].id
    for status in ("abort", "fail", "success"):
        queue.last = replace(queue.made(make_trajectory("sin_sin")), replaces=old)
        queue.ended.emit(RunResult(run=1, exit_status=status, id="0004_sin_sin"))
        qtbot.waitUntil(lambda: not controller.background.busy)
        assert (old in Session.open(session).annotations()) == (status == "success")


@pytest.mark.parametrize(("state", "asked"), [(ServoState.READY, False), (ServoState.DISCONNECTED, True)])
def test_a_person_is_asked_again_what_hangs_on_a_servo_that_was_away(controller, monkeypatch, state, asked):
    monkeypatch.setattr(RecordQueue, "simulated", False)
    monkeypatch.setattr(RecordQueue, "obstacle", "")
    monkeypatch.setattr(ServoLink, "identity", ServoIdentity(model="mx106", title="MX-106"))
    monkeypatch.setattr(controller.library, "sink_for", lambda *_: None)
    queue, plan = controller.queue, controller.plan.plan
    cell = plan.cells()[0]
    hang = f"Hang {cell.mass:g} kg at {cell.length:g} m"
    queue.add([plan.trajectory(cell)], [cell])
    queue.resume()
    assert queue.by_hand == hang
    queue.resume()
    assert queue.active
    queue.abort()
    controller.servo.changed.emit(ServoView(state=state))
    queue.add([plan.trajectory(cell)], [cell])
    queue.resume()
    assert queue.by_hand == (hang if asked else "")
    queue.stop()


# The countdown.


def test_a_countdown_can_be_called_off(person, monkeypatch):
    # It goes on by the queue's clock, which stands still here.
    monkeypatch.setattr("bench_gui.record.countdown.time", SimpleNamespace(monotonic=lambda: 0.0))
    person.connect()
    record, queue = person.window.record, person.controller.queue
    assert record.countdown.value() == 0.0
    record.countdown.setValue(10.0)
    add(person, "half_sine")
    add(person, "sin_sin")
    person.click(record.run_button)
    person.until(lambda: record.page.count.isVisible())
    assert person.state is ServoState.READY
    assert "10" in record.page.count.text()
    assert record.run_button.text() == "Starts in 10 s"
    person.click(record.start.abort_button)
    assert not record.page.count.isVisible()
    assert not queue.active
    # The other one waits, as after any abort.
    assert waiting(person) == ["sin_sin"]
    person.click(record.run_button)
    person.until(lambda: record.page.count.isVisible())
    press(person, person.window)
    assert not queue.active
    assert waiting(person) == ["sin_sin"]
    assert not person.controller.servo.busy
    assert person.controller.library.runs == []


@pytest.fixture
def page(controller, qtbot):
    """The page alone, without a servo."""
    made = RecordView(controller)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_real_servo_is_counted_down_unless_told_otherwise(page, controller, monkeypatch):
    countdown = controller.queue.countdown
    assert countdown.seconds == page.countdown.value() == 0.0
    monkeypatch.setattr(RecordQueue, "simulated", property(lambda self: False))
    controller.servo.configured.emit(None)
    assert countdown.seconds == page.countdown.value() == 3.0
    page.countdown.setValue(5.0)
    assert (countdown.seconds, controller.settings.countdown) == (5.0, 5.0)
    for asked, taken in ((99.0, LONGEST_COUNTDOWN), (-1.0, 0.0)):
        countdown.seconds = asked
        assert countdown.seconds == taken
    monkeypatch.undo()
    assert countdown.seconds == 0.0


# What is shown.


def test_readings_stand_below_their_names(page, controller):
    """Angles in the unit of the window."""
    seen = ServoView(position=0.125, velocity=-2.25, current=0.75, duty_cycle=0.5, supply_voltage=12.0, temperature=40)
    expected = {
        RADIANS: {"Position": "0.125 rad", "Velocity": "−2.25 rad/s", "Current": "0.75 A", "Duty cycle": "50 %"},
        DEGREES: {"Position": "7.2 °", "Velocity": "−129 °/s", "Current": "0.75 A", "Duty cycle": "50 %"},
    }
    labels = {made.accessibleName(): made for made in page.findChildren(QLabel)}
    for unit, texts in expected.items():
        controller.set_angle_unit(unit)
        controller.servo.changed.emit(seen)
        assert {name: labels[name].text() for name in texts} == texts
    controller.servo.changed.emit(ServoView())
    assert {labels[name].text() for name in expected[RADIANS]} == {"–"}


def live_rows(**channels):
    """Rows of a run of 2 s at 100 Hz."""
    rows = np.zeros(201, LIVE_DTYPE)
    rows["time"], rows["phase"] = 0.01 * np.arange(201), Phase.RUN
    for name, values in channels.items():
        rows[name] = values
    return rows


def test_a_verdict_holds_how_the_run_ended_and_what_it_skipped(page, controller):
    queue = controller.queue
    queue.last = queue.made(make_trajectory("half_sine"))
    page.page.run.take(live_rows())
    queue.ended.emit(RunResult(run=1, exit_status="success", id="0001_x", skipped_cycles=7))
    assert page.page.verdict.text() == "Half sines: complete · 7 cycles skipped"
    queue.ended.emit(RunResult(run=1, exit_status="success", id="0001_x", rate=200.0, samples=72, skipped_cycles=328))
    assert page.page.verdict.text() == (
        "Half sines: complete · asked for 200 Hz, got 36; bench doctor says whether the adapter delays answers"
    )
    queue.ended.emit(RunResult(run=1, exit_status="fail", id="0001_x", reason="too hot", skipped_cycles=1))
    assert page.page.verdict.text() == "Failed: Half sines: too hot · 0 samples kept · 1 cycle skipped"


@pytest.fixture
def plots(qtbot):
    made = LivePlots()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.mark.parametrize("unit", [RADIANS, DEGREES], ids=lambda unit: unit.name)
def test_every_pinned_channel_is_drawn_below_the_position_in_its_own_unit(plots, unit):
    assert plots.pinned == PINNED
    for name in STRIPS.keys() - set(PINNED):
        plots.pins.menu().actions()[list(STRIPS).index(name)].trigger()
    assert plots.pinned == tuple(STRIPS)
    values = {name: 10.0 * (place + 1) for place, name in enumerate(("position", *STRIPS))}
    run = LiveRun()
    run.take(live_rows(goal_position=90.0, **values))
    plots.set_unit(unit)
    plots.show_run(run)
    axes = [("Position", "rad"), ("Velocity", "rad/s"), ("Current", "A"), ("Duty cycle", "1"), ("Supply", "V")]
    axes = [(title, symbol.replace("rad", unit.symbol)) for title, symbol in (*axes, ("Temperature", "°C"))]
    visible = [chart for chart in plots.charts if chart.isVisible()]
    assert [chart.left for chart in visible] == axes
    assert [bool(chart.bottom[0]) for chart in visible] == [False] * 5 + [True], "one time axis, at the foot"
    for (name, value), chart in zip(values.items(), visible, strict=True):
        factor = unit.per_radian if name in ("position", "velocity") else 1.0
        np.testing.assert_allclose(plots.curves[name].getData()[1], value * factor)
        (measured,) = [curve for curve in chart.seen() if curve.name == "measured"]
        np.testing.assert_allclose(measured.y, value * factor)


def test_a_servo_without_a_current_shows_its_duty_cycle_there(plots):
    run = LiveRun()
    run.take(live_rows(velocity=1.0, current=np.nan, duty_cycle=0.25))
    plots.show_run(run)
    assert [chart.left for chart in plots.charts[1:]] == [("Velocity", "rad/s"), ("Duty cycle", "1")]
    assert set(plots.curves["current"].getData()[1]) == {0.25}


def test_the_twin_is_drawn_as_far_as_the_run_has_come_between_the_ends_of_its_band(plots):
    time = 0.01 * np.arange(601)
    motion = TwinMotion(time, 0.5 * time, 0.1 + 0.01 * time, 0.1, True)
    plots.show_twin(motion, ModelEntry("m6", CATALOGUE, load_model("mx106", "m6")))
    run = LiveRun()
    run.take(live_rows())
    plots.show_run(run)
    x, y = plots.curves["twin"].getData()
    assert (x[-1], y[-1]) == pytest.approx((2.0, 1.0), abs=0.02)
    x, y = plots.curves["band"].getData()
    assert sorted(y[x == x.max()]) == pytest.approx([0.88, 1.12], abs=0.02), "a filled band, closed at the present"
    assert plots.curves["band"].opts["brush"].color().alphaF() < 0.5
    assert {curve.name for curve in plots.position.seen()} >= {"twin", "measured"}


def test_edits_of_the_trajectory_can_be_undone_and_shown_in_degrees(qtbot):
    undo = QUndoStack()
    form = TrajectoryForm(undo)
    qtbot.addWidget(form)
    form.field("amplitude").setValue(0.7)
    form.field("amplitude").setValue(0.5)
    form.choice.setCurrentIndex(form.choice.findData("steps"))
    assert form.trajectory().name == "steps"
    undo.undo()
    assert form.trajectory().parameters.numbers()["amplitude"] == 0.5
    assert (form.choice.currentData(), form.field("amplitude").value()) == ("sin_time_square", 0.5)
    # The two numbers are one step: they followed each other closely.
    undo.undo()
    assert form.trajectory().parameters.numbers()["amplitude"] == 1.0
    undo.redo()
    form.show_in(DEGREES)
    assert form.field("amplitude").text() == "28.65 °"
    assert form.trajectory().parameters.numbers()["amplitude"] == 0.5
