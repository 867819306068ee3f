"""Acceptance: placing drive/backdrive points by hand."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from bench_gui.place.placing import Stage
from drivers.servo import ServoState
from tests.gui.place.test_placing import hands  # noqa: F401 (a fixture)


@pytest.mark.parametrize("hands", [1], indirect=True)
def test_hand_placing(hands):  # noqa: F811
    """Torque-off confirmed, gauge and target band, a steady angle captured, undone, redone and measured again."""
    page, placing, servo = hands.page, hands.placing, hands.controller.servo
    assert page.state.text() != "MOTOR OFF"
    hands.connect()
    assert servo.view.state is ServoState.READY
    assert page.state.text() == "MOTOR OFF"
    assert "The servo confirmed that its motor is off" in page.instruction.text()

    hands.hold()
    assert page.state.text() == f"HOLDING {placing.target.torque:g} N·m"
    low, high = page.pendulum.expected
    assert 0.0 < low < high

    # Placed and let go, it rests, the gauge fills, the angle is captured.
    hands.drag_to(hands.angle + 0.1)
    hands.until(lambda: len(placing.points) == 1)
    assert page.pendulum.level == 1.0
    point = placing.points[0]
    assert "Captured" in page.note.text()

    hands.click(page.undo_button)
    assert placing.points == ()
    hands.click(page.redo_button)
    assert placing.points == (point,)

    # Measured again, the new rest takes its place, and the search goes on where it was.
    hands.click(page.go_button)
    searched = placing.target
    assert searched.side == "backdrive"
    page.points.setCurrentIndex(page.table.index(0, 1))
    hands.click(page.again_button)
    hands.drag_to(point.angle - 0.05)
    hands.until(lambda: len(placing.points) == 1 and placing.points[0].uid != point.uid)
    assert abs(placing.points[0].angle - (point.angle - 0.05)) < 0.02
    hands.click(page.go_button)
    assert placing.target == searched

    hands.click(page.release_button)
    hands.until(lambda: placing.stage is Stage.IDLE)
    hands.until(lambda: servo.view.state is ServoState.READY)
    assert page.state.text() == "MOTOR OFF"
    assert len(placing.points) == 1
    QTest.keyClick(page.pendulum, Qt.Key.Key_Space)
    assert len(placing.points) == 1
    assert not hands.problems
