"""Connecting and recording at the simulated servo: two clicks to data, and nothing but a stop away from rest."""

import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QMessageBox, QPushButton

from drivers.servo import ServoState


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
    assert run.samples >= 100
    table = person.window.session.model
    assert table.rowCount() == 1
    assert table.data(table.index(0, 1)) == "sin_time_square"
    person.until(lambda: person.state is ServoState.READY)


def test_abort_keeps_the_samples(person):
    person.connect()
    person.record(5.0)
    person.until(lambda: person.window.record.live.count >= 40)
    person.click(person.window.record.abort_button)
    person.until(lambda: len(person.controller.library.runs) == 1)
    run = person.controller.library.runs[0]
    assert run.exit_status == "abort"
    assert run.samples >= 40
    assert "ended early" in person.message


def test_the_next_run_waits_until_this_one_is_over(person):
    person.connect()
    person.record(1.0)
    assert not person.window.record.run_button.isEnabled()
    person.controller.queue.record_paper_set()
    assert "a run is on" in person.message.lower()


def test_several_runs_follow_each_other(person, monkeypatch):
    from core.trajectories import make_trajectory

    person.connect()
    person.controller.queue.record([make_trajectory(name, 0.3) for name in ("half_sine", "sin_sin")])
    person.until(lambda: len(person.controller.library.runs) == 2 and not person.controller.queue.active)
    assert [run.trajectory for run in person.controller.library.runs] == ["half_sine", "sin_sin"]


def test_an_empty_task_records_the_four_trajectories_in_one_click(person):
    from bench_gui.main_window import IDENTIFY

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
    person.controller.choose_servo("simulated:xl330")
    person.connect()
    person.record(0.3)
    person.until(lambda: [run.servo for run in person.controller.library.runs] == ["xl330"])
    assert person.controller.library.path != session


def test_escape_releases_the_servo_whatever_has_the_focus(person):
    person.connect()
    window = person.window
    ways = {"window": window, "field": window.record.form.field("duration"), "dialog": QDialog, "message": QMessageBox}
    for where in (*ways, "menu"):
        person.record(20.0)
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
        assert person.controller.servo.stop_latency is not None, where
        assert "emergency stop" in window.status_bar.fault.text()
        assert not window.record.run_button.isEnabled()
        person.click(window.status_bar.acknowledge_button)
        person.until(lambda: person.state is ServoState.READY)
        assert not window.status_bar.acknowledge_button.isVisible()


def press(person, target):
    person.qtbot.keyClick(target, Qt.Key.Key_Escape)


def test_the_stop_button_forgets_the_runs_that_wait(person):
    person.connect()
    person.controller.queue.record_paper_set()
    person.until(lambda: person.window.record.live.count > 10)
    person.click(person.window.status_bar.stop_button)
    person.until(lambda: person.state is ServoState.FAULT and not person.controller.queue.active)
    person.until(lambda: len(person.controller.library.runs) == 1)
    assert person.controller.library.runs[0].exit_status == "abort"


def test_a_window_that_hangs_loses_the_servo(person):
    ended = []
    person.controller.queue.ended.connect(ended.append)
    person.connect()
    person.record(20.0)
    person.until(lambda: person.window.record.live.count > 10)
    # The hanging window is what is tested: nothing may run in its thread meanwhile.
    time.sleep(0.8)
    person.until(lambda: bool(ended))
    assert ended[0].exit_status == "fail"
    assert "no sign of life" in ended[0].reason
    person.until(lambda: person.state is ServoState.FAULT)
    person.until(lambda: len(person.controller.library.runs) == 1)
    assert "no sign of life" in person.controller.library.runs[-1].reason


def test_a_trajectory_beyond_the_limits_cannot_be_run(person):
    from dataclasses import replace

    person.connect()
    recorder = person.controller.servo.recorder
    recorder.limits = replace(recorder.limits, highest_position=0.5)
    person.window.record.form.field("amplitude").setValue(0.9)
    assert not person.window.record.run_button.isEnabled()
    assert "limits" in person.window.record.run_button.toolTip()
    person.window.record.form.field("amplitude").setValue(0.4)
    assert person.window.record.run_button.isEnabled()


def test_disconnecting_gives_the_servo_up(person):
    person.connect()
    person.click(person.window.status_bar.connect_button)
    assert person.state is ServoState.DISCONNECTED
    assert person.window.status_bar.state.text() == "NOT CONNECTED"
    person.connect()
