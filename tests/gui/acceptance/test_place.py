"""Acceptance: placing drive/backdrive points by hand."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from bench_gui.place.placing import Stage
from drivers.servo import ServoState
from tests.gui.mouse import see
from tests.gui.place.test_placing import hands  # noqa: F401 (a fixture)


def stood(clock, positions, time):
    """Whether the pendulum was in one place for so long [s], within the flicker of its encoder."""
    clock, positions = np.array(clock), np.array(positions)
    firsts = np.searchsorted(clock, clock - 0.9 * time)
    return any(np.ptp(positions[first : k + 1]) < 0.01 for k, first in enumerate(firsts) if first)


@pytest.mark.parametrize("hands", [1], indirect=True)
def test_hand_placing(hands):  # noqa: F811
    """Torque-off confirmed, live gauge and target band, steady detection, per-point redo: a noisy angle that a hand
    moves is not captured, a steady one is, undo removes it, redo brings it back, one point is measured again."""
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

    # A hand the program knows nothing of, as at a real servo, moves the pendulum for seconds of the servo's time.
    clock, positions, levels = [], [], []
    servo.rows.connect(lambda rows: clock.extend(rows["clock"]))
    servo.rows.connect(lambda rows: positions.extend(rows["position"]))
    servo.rows.connect(lambda _: levels.append(placing.level))
    hands.until(lambda: bool(clock))
    begin, stiffness = clock[-1], 6.0 * placing.bench.gravity_torque
    # At least so long; on a busy machine, until it was seen to move.
    while clock[-1] - begin < 3.0 or min(levels) > 0.5:
        assert clock[-1] - begin < 300.0
        phase = (clock[-1] - begin) % 1.0
        servo.hand.pull_to(0.1 + 0.8 * min(phase, 1.0 - phase), stiffness, 0.2 * stiffness)
        see(hands.qtbot, servo, 0.05)
        # On a busy machine the hand of this test may stand still for so long, and the pendulum with it.
        assert placing.points == () or stood(clock, positions, placing.steady_time)
    servo.hand.let_go()
    hands.rest()
    while placing.points:
        hands.click(page.undo_button)

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
