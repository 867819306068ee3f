"""Form of a robot: its file, its joints, and the settings of their fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QSpinBox, QWidget

from bench_gui import file_dialogs
from bench_gui.widgets.checks_menu import ChecksMenu
from bench_gui.widgets.fields import FIELD_WIDTH, Section, button, describe, vbox, whole
from core.robot.defaults import FIT, kept_robot
from core.servo.terms import FRICTION_MODELS, FRICTION_TITLES

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
        self.joints: dict[str, QCheckBox] = {}
        self.file_button: QPushButton = button(NO_FILE, "URDF or MJCF file of the robot", self.ask_file)
        self.file_button.setFixedWidth(FIELD_WIDTH)
        self.models = ChecksMenu(
            "Friction models of the joints",
            "Friction models that are fitted to each joint",
            [(name, name.upper(), f"{name.upper()}  {FRICTION_TITLES[name]}") for name in FRICTION_MODELS],
        )
        self.models.check(FIT["models"])
        self.trials: QSpinBox = whole(
            "Evaluations for each joint", "Evaluations of the search for each joint and model", FIT["trials"], 1, 10**7
        )
        self.trials.setSingleStep(500)
        column = vbox(self, spacing=14)
        robot, self._of_joints = Section("Robot"), Section("Joints")
        for text, field in (("File", self.file_button), ("Models", self.models), ("Evaluations", self.trials)):
            robot.row(text, field)
        column.addWidget(robot)
        column.addWidget(self._of_joints)
        self.models.changed.connect(self.changed)
        self.trials.valueChanged.connect(self.changed)

    @property
    def checked(self) -> tuple[str, ...]:
        """Names of the checked joints."""
        return tuple(name for name, box in self.joints.items() if box.isChecked())

    def fit(self) -> dict[str, Any]:
        """Return the settings of the fits."""
        return {"models": self.models.checked, "trials": self.trials.value()}

    def offer(self, session: Path | None, joints: Sequence[str]) -> None:
        """Offer the joints of a session; another session begins with its own robot's file and all joints checked."""
        if session != self._session:
            self._session = session
            self.joints = {}
            self.take_file(None if session is None else kept_robot(session))
        if list(self.joints) == list(joints):
            return
        left_out = {name for name, box in self.joints.items() if not box.isChecked()}
        self._of_joints.clear()
        self.joints = {}
        for name in joints:
            box = describe(QCheckBox(name), name, f"Identify {name}; if it is left out, it still moves as measured")
            box.setChecked(name not in left_out)
            box.toggled.connect(self.changed)
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
        self.changed.emit()
