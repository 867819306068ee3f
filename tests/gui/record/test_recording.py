"""Connecting and recording at the simulated servo: two clicks to data, and nothing but a stop away from rest."""

import math
import os
import re
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton

from bench_gui.controller import Controller
from bench_gui.record.plots import STRIPS
from bench_gui.record.queue import RecordQueue
from bench_gui.record.view import LIST
from bench_gui.session.runs.table import TRAJECTORY
from bench_gui.state.servo_link import ServoLink, ServoView
from core.trajectories import make_trajectory
from core.units import DEGREES
from drivers.recorder import RunResult
from drivers.recorder.run import Phase
from drivers.servo import ServoState
from sessions import Session


@pytest.fixture(autouse=True)
def _nobody_is_asked(monkeypatch):
    """Some tests end while a run is on."""
    monkeypatch.setattr("bench_gui.main_window.may_close", lambda *_: True)


def test_data_in_two_clicks(person):
    person.connect()
    person.click(person.window.record.run_button)
    live = person.window.record.live
    person.until(lambda: live.count >= 20)
    assert person.state is ServoState.ENABLED
    assert person.window.status_bar.state.text() == "MOVING"
    drawn = person.window.record.plots.curves["position"]
    person.until(lambda: len(drawn.getData()[0]) >= 20)


def test_a_run_appears_in_the_list(person):
    person.connect()
    person.record()
    person.until(lambda: len(person.controller.library.runs) == 1)
    run = person.controller.library.runs[0]
    assert (run.trajectory, run.exit_status) == ("sin_time_square", "success")
    assert 2 <= run.samples <= 120, "a recorder that is held up skips cycles"
    table = person.window.session.model
    assert table.rowCount() == 1
    assert table.data(table.index(0, TRAJECTORY)) == "Accelerated oscillations"
    assert "trajectory: sin_time_square" in table.data(table.index(0, TRAJECTORY), Qt.ItemDataRole.ToolTipRole)
    person.until(lambda: person.state is ServoState.READY)


def test_samples_that_arrive_after_the_end_are_drawn(person):
    """A process that is held up sends its last ones when the window knows already how the run ended."""
    rows = []
    person.controller.servo.rows.connect(lambda new: rows.extend(new[new["phase"] == Phase.RUN].copy()))
    person.connect()
    person.record()
    person.until(lambda: len(person.controller.library.runs) == 1 and not person.controller.queue.active)
    late = np.array(rows[-1:])
    late["time"] += 1.0
    drawn = person.window.record.plots.curves["position"]
    person.controller.servo.rows.emit(late)
    person.until(lambda: drawn.getData()[0][-1] == late["time"][0])


def test_abort_keeps_the_samples(person):
    person.connect()
    person.record(600.0)
    person.until(lambda: person.window.record.live.count >= 40)
    person.click(person.window.record.start.abort_button)
    person.until(lambda: "Aborted: Accelerated oscillations. Its" in person.message)
    person.until(lambda: len(person.controller.library.runs) == 1)
    run = person.controller.library.runs[0]
    assert run.exit_status == "abort"
    assert run.samples >= 40


def test_the_next_run_waits_until_this_one_is_over(person):
    person.connect()
    person.record(1.0)
    assert not person.window.record.run_button.isEnabled()
    person.controller.recording.record_paper_set()
    assert "a run is in progress" in person.message.lower()


def test_several_runs_follow_each_other(person):
    person.connect()
    person.controller.queue.record([make_trajectory(name, 0.3) for name in ("half_sine", "sin_sin")])
    person.until(lambda: len(person.controller.library.runs) == 2 and not person.controller.queue.active)
    assert [run.trajectory for run in person.controller.library.runs] == ["half_sine", "sin_sin"]


def test_an_empty_task_records_the_four_trajectories_in_one_click(person):
    from bench_gui.shell.tasks import IDENTIFY

    person.window.show_task(IDENTIFY)
    offered = [b for b in person.window.identify.findChildren(QPushButton) if b.text().startswith("Record four")]
    person.click(offered[0])
    person.until(lambda: person.window.record.live.count > 10)
    assert person.controller.queue.place == (1, 4)
    assert person.window.record.isVisible()
    person.click(person.window.status_bar.stop_button)
    person.until(lambda: not person.controller.servo.busy)


def test_runs_of_another_servo_go_into_a_session_of_their_own(person, session):
    person.open(session)
    person.controller.connecting.choose_servo("simulated:xl330")
    person.connect()
    person.record(0.3)
    person.until(lambda: [run.servo for run in person.controller.library.runs] == ["xl330"])
    assert person.controller.library.path != session


def test_escape_releases_the_servo_whatever_has_the_focus(person):
    person.controller.servo.stop_lock = 0.0  # five stops in a row, each with a new run
    person.connect()
    window = person.window
    window.appearance.choose("dark")  # which does not listen for keys meanwhile
    ways = {"window": window, "field": window.record.form.field("duration"), "dialog": QDialog, "message": QMessageBox}
    for where in (*ways, "menu"):
        person.record(600.0)
        person.until(lambda: person.state is ServoState.ENABLED and window.record.live.count > 10)
        if where == "menu":
            menu = window.menuBar().actions()[0].menu()
            QTimer.singleShot(50, lambda: press(person, QApplication.activePopupWidget()))
            menu.exec(window.mapToGlobal(window.rect().center()))
        elif where in ("dialog", "message"):
            QTimer.singleShot(50, lambda: press(person, QApplication.activeModalWidget()))
            ways[where](window).exec()
        else:
            press(person, ways[where])
        person.until(lambda: person.state is ServoState.FAULT and not person.controller.servo.busy)
        person.until(lambda: person.controller.servo.stop_latency is not None)
        assert window.status_bar.state.text() == "STOPPED"
        person.click(window.record.run_button)
        assert "Ready again" in window.record.start.reason.text()
        assert not person.controller.queue.active
        person.click(window.status_bar.acknowledge_button)
        person.until(lambda: person.state is ServoState.READY)
        assert not window.status_bar.acknowledge_button.isVisible()


def press(person, target):
    person.qtbot.keyClick(target, Qt.Key.Key_Escape)


def test_an_emergency_stop_holds_the_runs_that_wait_until_a_person_starts_them(person):
    person.controller.servo.stop_lock = 0.0
    person.connect()
    queue = person.controller.queue
    queue.record([make_trajectory("half_sine", 600.0), make_trajectory("sin_sin", 0.3)])
    person.until(lambda: person.window.record.live.count > 10)
    person.click(person.window.status_bar.stop_button)
    person.until(lambda: person.state is ServoState.FAULT and not queue.active)
    person.until(lambda: len(person.controller.library.runs) == 1)
    assert person.controller.library.runs[0].exit_status == "abort"
    assert [run.trajectory.name for run in queue.waiting] == ["sin_sin"]
    assert queue.paused
    # Acknowledging is not starting.
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    assert queue.paused
    assert not queue.active
    person.click(person.window.record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 2)
    assert person.controller.library.runs[1].exit_status == "success"


@pytest.mark.usefixtures("impatient")
def test_a_window_that_hangs_loses_the_servo(person):
    ended = []
    person.controller.queue.ended.connect(ended.append)
    person.connect()
    person.record(600.0)
    person.hang()
    person.until(lambda: bool(ended))
    assert ended[0].exit_status == "fail"
    assert "no sign of life" in ended[0].reason
    person.until(lambda: person.state is ServoState.FAULT)
    person.until(lambda: len(person.controller.library.runs) == 1)
    assert "no sign of life" in person.controller.library.runs[-1].reason


def test_a_trajectory_beyond_the_limits_cannot_be_run(person):
    person.connect()
    recorder = person.controller.servo.recorder
    recorder.limits = replace(recorder.limits, highest_position=0.5)
    record = person.window.record
    record.form.field("amplitude").setValue(0.9)
    person.click(record.run_button)
    assert "above the servo's angle limits" in record.start.reason.text()
    assert not person.controller.queue.active
    record.form.field("amplitude").setValue(0.4)
    person.click(record.run_button)
    person.until(lambda: person.controller.queue.running is not None)


def test_disconnecting_gives_the_servo_up(person):
    person.connect()
    person.click(person.window.status_bar.connect_button)
    assert person.state is ServoState.DISCONNECTED
    assert person.window.status_bar.state.text() == "OFF"
    person.connect()


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


def test_what_is_added_waits_for_record(person):
    person.connect()
    queue, record = person.controller.queue, person.window.record
    assert record.run_button.text().startswith("Record 1 run, ")
    add(person, "half_sine")
    add(person, "sin_sin")
    assert waiting(person) == ["half_sine", "sin_sin"]
    assert not queue.active
    assert record.run_button.text().startswith("Record 2 runs, ")
    assert record.tabs.tabText(LIST) == "List (2 waiting)"
    person.click(record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 2)
    person.until(lambda: not queue.active)
    assert not queue.waiting
    assert not queue.paused


def test_the_list_is_reordered_by_keys_buttons_and_dragging(person):
    person.connect()
    record, queue = person.window.record, person.controller.queue
    record.tabs.setCurrentIndex(LIST)
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


def test_the_list_has_a_heading_for_each_change_of_the_load(person):
    person.connect()
    record, setup = person.window.record, person.controller.setup
    record.tabs.setCurrentIndex(LIST)
    for mass in (0.5, 0.5, 0.7, 0.5):
        setup.set_bench(mass=mass, length=0.1)
        add(person, "half_sine")
    headings = [text for text in shown(record) if "kg at" in text]
    assert headings == ["0.5 kg at 0.1 m", "0.7 kg at 0.1 m", "0.5 kg at 0.1 m"]


def test_a_paused_list_lets_the_run_that_is_on_end(person):
    person.connect()
    add(person, "half_sine", 5.0)
    add(person, "sin_sin")
    queue, record = person.controller.queue, person.window.record
    person.click(record.run_button)
    person.until(lambda: record.live.count > 10)
    assert record.run_button.text() == "Recording 1 of 2"
    person.click(record.start.pause_button)
    assert record.start.pause_button.text() == "Resume"
    person.until(lambda: not queue.active)
    person.until(lambda: [run.exit_status for run in person.controller.library.runs] == ["success"])
    assert waiting(person) == ["sin_sin"]
    assert "Paused" in record.start.reason.text()


def test_the_finished_run_stays_with_its_verdict_until_the_form_is_edited(person):
    person.connect()
    record, queue = person.window.record, person.controller.queue
    add(person, "half_sine", 0.5)
    form = record.form
    form.choice.setCurrentIndex(form.choice.findData("steps"))
    person.click(record.run_button)
    person.until(lambda: len(person.controller.library.runs) == 1 and not queue.active)
    person.until(lambda: record.page.verdict.isVisible())
    # A busy machine skips some.
    assert re.match(r"Half sines: complete · \d+ cycles? skipped", record.page.verdict.text())
    curve = record.plots.curves["position"]
    person.until(lambda: len(curve.getData()[0]) > 20)
    person.click(record.page.again_button)
    person.until(lambda: len(person.controller.library.runs) == 2 and not queue.active)
    assert [run.trajectory for run in person.controller.library.runs] == ["half_sine"] * 2
    form.field("duration").setValue(3.0)
    assert not record.page.verdict.isVisible()
    assert curve.getData()[0] is None or not len(curve.getData()[0])
    assert record.plots.curves["goal"].getData()[0][-1] == pytest.approx(3.0)


def test_a_run_that_did_not_end_well_is_listed_and_recorded_again(person):
    person.connect()
    record, queue = person.window.record, person.controller.queue
    record.tabs.setCurrentIndex(LIST)
    add(person, "sin_sin", 600.0)
    person.click(record.run_button)
    person.until(lambda: record.live.count > 10)
    assert any("▸" in text and "recording" in text for text in shown(record))
    person.click(record.start.abort_button)
    person.until(lambda: not queue.active and person.state is ServoState.READY)
    choose_row(record, "aborted")
    person.click(record.runs.again_button)
    assert waiting(person) == ["sin_sin"]
    assert not any("aborted" in text for text in shown(record))
    assert not queue.active, "nothing begins by itself"


def test_a_run_whose_recorder_dies_is_in_the_session_at_once(person):
    person.connect()
    person.record(600.0)
    person.until(lambda: person.window.record.live.count > 300)
    os.kill(person.controller.servo.recorder._child.pid, signal.SIGKILL)
    library, queue = person.controller.library, person.controller.queue
    person.until(lambda: len(library.runs) == 1)
    assert library.runs[0].samples > 100
    assert library.runs[0].exit_status != "success"
    assert not queue.active
    assert [ended.trajectory.name for ended, _ in queue.past] == ["sin_time_square"], "it can be recorded again"


@pytest.mark.parametrize(("status", "replaced"), [("success", True), ("abort", False), ("fail", False)])
def test_only_a_run_that_ended_well_replaces_another(qtbot, session, tmp_path, monkeypatch, status, replaced):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    controller = Controller("simulated:mx106")
    with qtbot.waitSignal(controller.library.opened):
        controller.library.open(session)
    queue, old = controller.queue, controller.library.runs[0].id
    queue.last = replace(queue.made(make_trajectory("sin_sin")), replaces=old)
    queue.ended.emit(RunResult(run=1, exit_status=status, id="0004_sin_sin"))
    qtbot.waitUntil(lambda: not controller.background.busy)
    assert (old in Session.open(session).annotations()) == replaced
    controller.close()


@pytest.mark.parametrize(("state", "asked"), [(ServoState.READY, False), (ServoState.DISCONNECTED, True)])
def test_a_person_is_asked_again_what_hangs_on_a_servo_that_was_away(tmp_path, monkeypatch, qapp, state, asked):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(RecordQueue, "simulated", False)
    monkeypatch.setattr(RecordQueue, "obstacle", "")
    monkeypatch.setattr(ServoLink, "identity", SimpleNamespace(model="mx106", title="MX-106"))
    controller = Controller("simulated:mx106")
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
    controller.close()


def test_the_button_counts_the_lock_after_a_stop(person):
    person.connect()
    person.controller.recording.emergency_stop()
    person.until(lambda: person.state is ServoState.FAULT)
    person.click(person.window.status_bar.acknowledge_button)
    person.until(lambda: person.state is ServoState.READY)
    button = person.window.record.run_button
    person.until(lambda: button.text().startswith("Locked for ") or person.controller.servo.locked_for == 0.0)
    person.until(lambda: button.text().startswith("Record 1 run, "))


def test_run_goes_before_what_waits_and_leaves_it_waiting(person):
    person.connect()
    add(person, "sin_sin")
    form = person.window.record.form
    form.choice.setCurrentIndex(form.choice.findData("half_sine"))
    form.field("duration").setValue(0.3)
    person.window.record.start.record_chosen()
    person.until(lambda: [run.trajectory for run in person.controller.library.runs] == ["half_sine"])
    person.until(lambda: not person.controller.queue.active)
    assert waiting(person) == ["sin_sin"]
    assert person.controller.queue.paused


def test_a_run_keeps_the_bench_it_was_added_with(person):
    person.connect()
    setup = person.controller.setup
    setup.set_kp(8.0)
    add(person, "half_sine")
    setup.set_kp(32.0)
    setup.set_bench(mass=0.7)
    add(person, "half_sine")
    person.controller.queue.resume()
    person.until(lambda: len(person.controller.library.runs) == 2)
    first, second = person.controller.library.runs
    assert (first.kp, second.kp) == (8.0, 32.0)
    assert (first.mass, second.mass) == (1.71, 0.7)


@pytest.mark.usefixtures("impatient")
def test_a_run_that_fails_holds_the_queue_with_its_reason(person):
    person.connect()
    queue = person.controller.queue
    queue.record([make_trajectory("half_sine", 600.0), make_trajectory("sin_sin", 0.3)])
    person.hang()
    person.until(lambda: queue.paused and not queue.active)
    # Nothing was wrong with it but a computer that was too busy: it can be made again.
    assert waiting(person) == ["half_sine", "sin_sin"]
    assert queue.place == (1, 2)
    person.until(
        lambda: "computer was busy: the program gave no sign of life" in person.window.record.start.reason.text()
    )


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


def test_a_real_servo_is_counted_down_unless_told_otherwise(person, monkeypatch):
    queue = person.controller.queue
    assert queue.countdown.seconds == 0.0
    monkeypatch.setattr(type(queue), "simulated", property(lambda self: False))
    assert queue.countdown.seconds == 3.0
    person.connect()
    assert person.window.record.countdown.value() == 3.0
    person.window.record.countdown.setValue(5.0)
    assert person.controller.settings.countdown == 5.0


def test_edits_of_the_trajectory_can_be_undone(person):
    form, undo = person.window.record.form, person.controller.undo
    form.field("amplitude").setValue(0.7)
    form.field("amplitude").setValue(0.8)
    form.choice.setCurrentIndex(form.choice.findData("steps"))
    assert form.trajectory().name == "steps"
    undo.undo()
    assert form.trajectory().parameters.numbers()["amplitude"] == 0.8
    assert form.choice.currentData() == "sin_time_square"
    assert form.field("amplitude").value() == 0.8
    # The two numbers are one step: they followed each other closely.
    undo.undo()
    assert form.trajectory().parameters.numbers()["amplitude"] == 1.0
    undo.redo()
    assert form.field("amplitude").value() == 0.8


def test_degrees_change_what_is_shown_and_nothing_else(person):
    form = person.window.record.form
    form.field("amplitude").setValue(0.5)
    before = form.trajectory().parameters.numbers()
    person.controller.set_angle_unit(DEGREES)
    assert form.field("amplitude").text() == "28.65 °"
    assert "°" in form.facts.text()
    assert form.trajectory().parameters.numbers() == before
    form.field("amplitude").setValue(45.0)
    assert form.trajectory().parameters.numbers()["amplitude"] == pytest.approx(math.pi / 4)


def test_channels_are_pinned_below_the_position(person):
    person.connect()
    plots = person.window.record.plots
    assert plots.pinned == ("velocity", "current")
    for name in ("supply_voltage", "temperature"):
        plots.pins.menu().actions()[list(STRIPS).index(name)].trigger()
    assert plots.pinned == ("velocity", "current", "supply_voltage", "temperature")
    person.record(1.0)
    person.until(lambda: len(plots.curves["temperature"].getData()[0]) > 20)
    supply = plots.curves["supply_voltage"].getData()[1]
    assert 14.0 < supply.min() <= supply.max() < 16.0
    visible = [chart for chart in plots.charts if chart.isVisible()]
    assert [chart.left for chart in visible[-2:]] == [("Supply", "V"), ("Temperature", "°C")]
    assert visible[-1].bottom[0].startswith("Time")
