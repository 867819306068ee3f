"""A newcomer's first hour, in under a minute: nothing but widgets a person sees, at a servo that lives fast.

The only thing taken from inside is the file system, to see what was written at the end.
"""

import math
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QPushButton,
    QToolButton,
    QWidget,
)

from bench_gui.app import PREPARE_AFTER, make_window
from bench_gui.controller import Controller
from bench_gui.headless.place.rests import DOCUMENT
from core.model import ServoModel
from core.placement import SIDES, points_from_json
from core.shipped import load_model
from sessions import Session
from tests.gui.conftest import dispose
from tests.gui.mouse import drag_pendulum
from tests.waiting import FAST, wait_until

MOUSE = 0.02
"""A pendulum that slips back by more than this was beyond the edge [rad]."""
STRIDE = 0.2
"""How far a newcomer pulls it at once [rad]."""


class Newcomer:
    """Sees names and texts, has a mouse and a keyboard."""

    def __init__(self, qtbot, window):
        self.qtbot, self.window = qtbot, window
        self.dialogs = []
        self.troubles = []
        window.controller.journal.said.connect(lambda said: said.level != "info" and self.troubles.append(said.text))

    def seen(self, kind, name, within=None):
        """The widget that is in sight under a name or a text."""
        for widget in (within or self.window).findChildren(kind):
            text = widget.text().replace("&", "") if isinstance(widget, (QAbstractButton, QLabel)) else ""
            if widget.isVisible() and any(called.startswith(name) for called in (widget.accessibleName(), text)):
                return widget
        return None

    def find(self, kind, name):
        self.until(lambda: self.seen(kind, name) is not None, name)
        return self.seen(kind, name)

    def click(self, name, kind=QAbstractButton):
        """Press a button once it is there and lets itself be pressed."""
        made = self.find(kind, name)
        self.until(lambda: made.isEnabled(), f"{name} to be enabled: {made.toolTip()}")
        self.qtbot.mouseClick(made, Qt.MouseButton.LeftButton)

    def choose(self, name, text):
        """Type the beginning of a choice into its field."""
        box = self.find(QComboBox, name)
        self.until(lambda: box.findText(text) >= 0, f"{text} to be offered")
        box.setFocus()
        QTest.keyClicks(box, text)
        self.until(lambda: box.currentText() == text, f"{text} to be chosen")

    def until(self, condition, what):
        wait_until(condition, lambda: self.qtbot.wait(50), lambda: f"{what}; the window says {self.says()!r}")

    def says(self):
        """Every text in sight."""
        return " | ".join(w.text() for w in self.window.findChildren(QLabel) if w.isVisible() and w.text())

    def reads(self, name):
        return self.find(QLabel, name).text()

    def answer(self, act):
        """What to do in the next dialog; its title is noted."""

        def look():
            dialog = QApplication.activeModalWidget()
            if isinstance(dialog, QDialog):
                timer.stop()
                self.dialogs.append(dialog.windowTitle())
                act(dialog)

        timer = QTimer(self.window)
        timer.timeout.connect(look)
        timer.start(20)

    # The pendulum under the mouse.

    @property
    def pendulum(self):
        return self.find(QWidget, "Pendulum to move by hand")

    @property
    def angle(self):
        """Of the drawn pendulum, as the eye sees it [rad]."""
        (centre, _), mass = self.pendulum.geometry_of_rod(), self.pendulum.mass
        return math.atan2(mass.x() - centre.x(), mass.y() - centre.y())

    def drag(self, angle):
        """Pull the drawn mass to an angle, let go when it gets there, and return where that was."""
        return drag_pendulum(
            self.qtbot, self.window.controller.servo, self.pendulum, lambda: self.angle, angle, STRIDE, 0.5
        )

    def rest(self):
        self.until(lambda: self.pendulum.level >= 1.0, "the pendulum to rest")

    def find_edge(self, outwards):
        """Where the pendulum just still rests: pull outwards until it slips back."""
        self.rest()
        for _ in range(12):
            placed = self.drag(self.angle + STRIDE * outwards)
            self.rest()
            if outwards * (placed - self.angle) > MOUSE:
                return


@pytest.fixture
def newcomer(qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    window = make_window(Controller(FAST), "light")
    window.show()
    QTimer.singleShot(PREPARE_AFTER, window.controller.prepare)
    yield Newcomer(qtbot, window)
    window.leave()
    dispose(window, window.controller)


def test_newcomer(newcomer, tmp_path):
    """Connect, record four trajectories, place three torques by hand, identify, compare, export."""
    person = newcomer
    person.click("Connect")
    person.until(lambda: "READY" in person.says(), "the servo to be ready")
    # The limit while a torque is held is for hands; this mouse moves in jerks, at several times a hand's speed.
    recorder = person.window.controller.servo.recorder
    recorder.limits = replace(recorder.limits, hold_speed=20.0)

    person.click("Identify", QToolButton)
    person.click("Record four trajectories", QPushButton)
    person.until(lambda: "Lift and drop: complete" in person.says(), "four runs")

    person.click("Place", QToolButton)
    for _ in range(3):
        person.click("Hold", QPushButton) if person.seen(QPushButton, "Hold ") else None
        for outwards, after in ((-1, ("Next: the",)), (1, ("Next: ", "Finish"))):
            person.until(lambda: "Move the pendulum" in person.says(), "a torque to be held")
            person.find_edge(outwards)
            person.click(next(text for text in after if person.seen(QPushButton, text)), QPushButton)
    person.click("Release", QPushButton)
    person.until(lambda: "MOTOR OFF" in person.says(), "the motor to be off")
    person.click("Disconnect")

    person.click("Identify", QToolButton)
    for name in ("M2", "M3", "M4", "M5"):
        # In a hurry: the simplest and the richest model will do.
        person.click(name, QCheckBox)
    # Set from inside: a newcomer does not know of it, and this servo is found with less.
    person.window.identify.form.fields["trials"].setValue(400)
    person.click("Identify from 4 runs", QPushButton)
    person.until(lambda: "recommended" in person.says(), "the result")

    person.click("Compare", QToolButton)
    person.find(QAbstractButton, "measured")
    person.click("Errors")
    person.until(lambda: "MEAN ABSOLUTE ERRORS" in person.says(), "the errors")
    person.click("Diagram")
    person.find(QAbstractButton, "placed")

    person.click("Export", QToolButton)
    person.choose("Target", "ServoBench model")

    def choose(dialog):
        line = dialog.findChild(QLineEdit)
        line.setText(str(tmp_path / "robot"))
        QTest.keyClick(line, Qt.Key.Key_Return)

    (tmp_path / "robot").mkdir()
    person.answer(choose)
    person.click("Choose", QPushButton)
    person.click("Export", QPushButton)
    person.until(lambda: "WRITTEN FILES" in person.says(), "the files")

    assert person.dialogs == ["Export into a folder"]
    assert not person.troubles, "nothing went wrong on the way"
    session = Session.open(next(path for path in (tmp_path / "home").iterdir() if (path / "session.json").exists()))
    assert [run.exit_status for run in session.runs()] == ["success"] * 4
    points = points_from_json(session.document(DOCUMENT))
    assert len({point.motor_torque for point in points}) == 3
    assert [sum(point.side == side for point in points) for side in SIDES] == [3, 3]
    (file,) = (tmp_path / "robot").glob("*.json")
    found, truth = ServoModel.read(file), load_model("mx106", "m6")
    assert found.values["kt"] == pytest.approx(truth.values["kt"], rel=0.15)
