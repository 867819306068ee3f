"""Form of a robot: its file, its joints, and the settings of their fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QSpinBox, QWidget

from bench_gui import file_dialogs
from bench_gui.settings import texts
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.checks_menu import friction_menu
from bench_gui.widgets.fields import FIELD_WIDTH, Section, button, describe, vbox, whole
from core.robot.defaults import FIT, kept_robot

ROBOT_FILES = "Robot (*.urdf *.xml *.mjcf);;All files (*)"
NO_FILE = "Choose…"


class RobotForm(QWidget):
    """Fields of the robot of the open session."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.file: Path | None = None
        """URDF or MJCF file of the robot; None until one is chosen."""
        self._session: Path | None = None
        self._robot: tuple[str, ...] = ("", "")
        """Session, file and unchecked joints of the last robot that was set up."""
        self.joints: dict[str, QCheckBox] = {}
        self.fit = Binding()
        """Settings of the fits."""
        self.file_button: QPushButton = button(NO_FILE, "URDF or MJCF file of the robot", self.ask_file)
        self.file_button.setFixedWidth(FIELD_WIDTH)
        models = friction_menu("Friction models of the joints", "Friction models to fit to each joint", FIT["models"])
        self.models = self.fit.bind("models", models)
        trials = whole(
            "Evaluations for each joint", "Evaluations of the search for each joint and model", FIT["trials"], 1, 10**7
        )
        self.trials: QSpinBox = self.fit.bind("trials", trials)
        self.trials.setSingleStep(500)
        column = vbox(self, spacing=14)
        robot, self._of_joints = Section("Robot"), Section("Joints")
        for text, field in (("File", self.file_button), ("Models", self.models), ("Evaluations", self.trials)):
            robot.row(text, field)
        column.addWidget(robot)
        column.addWidget(self._of_joints)
        self.fit.edited.connect(lambda _: self.changed.emit())

    @property
    def checked(self) -> tuple[str, ...]:
        """Names of the checked joints."""
        return tuple(name for name, box in self.joints.items() if box.isChecked())

    def state(self) -> dict[str, Any]:
        """Return what was chosen as JSON data."""
        return {"fit": self.fit.last, "robot": self._robot}

    def restore(self, data: Any) -> None:
        """Apply what `state` returned, before a session is open.

        Raises:
            LookupError, TypeError, ValueError: The data are not possible.
        """
        session, file, *left_out = texts(data["robot"])
        self.fit.restore(data["fit"])
        self._robot = (session, file, *left_out)

    def offer(self, session: Path | None, joints: Sequence[str]) -> None:
        """Offer the joints of a session; one that was not the last begins with its own file and all joints checked."""
        file, *left_out = self._robot[1:] if self._robot[0] == str(session) else ("",)
        if session != self._session:
            self._session = session
            self.joints = {}
            self.take_file(Path(file) if file else None if session is None else kept_robot(session))
        if list(self.joints) == list(joints):
            return
        self._of_joints.clear()
        self.joints = {}
        for name in joints:
            box = describe(QCheckBox(name), name, f"Identify {name}; if it is left out, it still moves as measured")
            box.setChecked(name not in left_out)
            box.toggled.connect(self._note)
            self.joints[name] = box
            self._of_joints.wide(box)

    def ask_file(self) -> None:
        """Ask for the robot's file."""
        if file := file_dialogs.ask_file(self, "Choose the robot's file", ROBOT_FILES):
            self.take_file(Path(file))

    def take_file(self, file: Path | None) -> None:
        """Use a robot's file, or none."""
        self.file = file
        text = NO_FILE if file is None else file.name
        self.file_button.setText(text)
        self.file_button.setToolTip("Choose the URDF or MJCF file of the robot" if file is None else str(file))
        self._note()

    def _note(self) -> None:
        if self.joints:
            left_out = (name for name, box in self.joints.items() if not box.isChecked())
            self._robot = (str(self._session), str(self.file or ""), *left_out)
        self.changed.emit()
