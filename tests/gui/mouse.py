"""What a person does with the mouse."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest


def drag_pendulum(qtbot, pendulum, angle, goal, precision):
    """Drag the drawn mass until it is at an angle [rad], as far as the eye can tell, let go, and return where it was.

    angle: says where it is now.
    """
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(pendulum, button, keys, pendulum.mass.toPoint())
    lead = 0.0
    for _ in range(80):
        QTest.mouseMove(pendulum, pendulum.point_at(goal + lead, 1.1).toPoint())
        qtbot.wait(25)
        short = goal - angle()
        if abs(short) < 0.3 * precision:
            break
        # Friction keeps the mass behind the cursor: pull further.
        lead = min(max(lead + 0.3 * short, -0.3), 0.3)
    placed = angle()
    QTest.mouseRelease(pendulum, button, keys, pendulum.mass.toPoint())
    return placed
