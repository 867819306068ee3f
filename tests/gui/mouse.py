"""What a person does with the mouse."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest


def drag_pendulum(qtbot, servo, pendulum, angle, goal, precision, step):
    """Drag the drawn mass until it is at an angle [rad], as far as the eye can tell, let go, return where it was.

    servo: the window's ServoLink; angle: says where it is now; step: from one move of the mouse to the next, by the
    servo's clock [s], so that the mass has time to follow and to be seen.
    """
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(pendulum, button, keys, pendulum.mass.toPoint())
    lead = 0.0
    for _ in range(80):
        QTest.mouseMove(pendulum, pendulum.point_at(goal + lead, 1.1).toPoint())
        see(qtbot, servo, step)
        short = goal - angle()
        if abs(short) < 0.3 * precision:
            break
        # Friction keeps the mass behind the cursor: pull further.
        lead = min(max(lead + 0.3 * short, -0.3), 0.3)
    # Only what stands in the hand is let go where it is seen.
    QTest.mouseMove(pendulum, pendulum.point_at(angle(), 1.1).toPoint())
    see(qtbot, servo, step)
    placed = angle()
    QTest.mouseRelease(pendulum, button, keys, pendulum.mass.toPoint())
    return placed


def see(qtbot, servo, seconds):
    """Wait until the window has seen so much of the servo's time from now on."""
    end, seen = servo.recorder.latest()["clock"] + seconds, []
    listening = servo.rows.connect(lambda rows: seen.append(rows["clock"][-1]))
    qtbot.waitUntil(lambda: bool(seen) and seen[-1] >= end)
    servo.rows.disconnect(listening)
