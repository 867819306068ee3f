"""Form of the arm tab: the arm, its joints, the truth and the models to compare."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QGridLayout, QPushButton, QWidget

from bench_gui import file_dialogs
from bench_gui.icons import line_icon
from bench_gui.plots.styles import Style
from bench_gui.state.models import CATALOGUE, ModelList
from bench_gui.studies.arm.compute import ARM_SERVOS, GAINS, PERIOD, ArmJob
from bench_gui.theme import themes
from bench_gui.widgets.checks_menu import ChecksMenu
from bench_gui.widgets.fields import FIELD_WIDTH, SPACING, Section, button, choice, describe, number, vbox
from core.servo.catalogue import load_servo, servos
from core.servo.model import ServoModel
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import FRICTION_MODELS, FRICTION_TITLES
from core.studies.arm import DEFAULT_MODELS
from core.studies.arm.paths import PATHS

LINKS_FILE = ""
"""Key of the item "links from a file", in place of an arm's name."""
SIMULATED, MEASURED = "simulated", "measured"
WIDE = 196
"""Width of fields with the name of a servo [px]."""
BESIDE_TEXT = 28
"""Width of a button in addition to its text [px]."""
DEFAULT_KP = 16.0
MUJOCO_MISSING = "MuJoCo is not installed: run pip install 'servobench[mujoco]', then restart ServoBench"
LINKS_HELP = (
    'Open a file with lines such as "m1: 0.4", for m [kg], l [m], r [m, to the centre of mass] and '
    "I [kg·m², about the joint] of links 1 and 2"
)


class ArmForm(QWidget):
    """Three sections of fields."""

    changed = Signal()

    def __init__(self, model_list: ModelList) -> None:
        super().__init__()
        self._model_list = model_list
        self.links_path: Path | None = None
        self.recording_path: Path | None = None
        column = vbox(self, spacing=14)
        for section in (self._arm_section(), self._truth_section(), self._models_section()):
            column.addWidget(section)
        model_list.changed.connect(self._offer_joints)
        self._arm_changed()
        self._truth_changed()
        themes.follow(self._paint)

    def _arm_section(self) -> Section:
        section = Section("Arm")
        items: list[tuple[str, object]] = [(_arm_title(arm), arm) for arm in ARM_SERVOS]
        self.arm: QComboBox = choice("Arm", "An arm with servos as in the paper, or links from your own file", items)
        self.arm.addItem("links from a file", LINKS_FILE)
        self.links_button: QPushButton = button("Choose…", LINKS_HELP, self.ask_links)
        tips = ("Model that is simulated as the truth, or the servo of the measured arm",) * 2
        self.joints: list[QComboBox] = [
            choice(f"Servo of the {joint}", tip) for joint, tip in zip(("shoulder", "elbow"), tips, strict=True)
        ]
        for field in (self.arm, self.links_button, *self.joints):
            field.setFixedWidth(WIDE)
        section.row("Links", self.arm)
        self._links_caption = section.row("File", self.links_button)
        for caption, field in zip(("Shoulder", "Elbow"), self.joints, strict=True):
            section.row(caption, field)
            field.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.arm.currentIndexChanged.connect(lambda _: self._arm_changed())
        return section

    def _truth_section(self) -> Section:
        section = Section("Truth")
        self.truth: QComboBox = choice(
            "Truth",
            "Motion that the models are compared with",
            [("simulated", SIMULATED), ("measured", MEASURED)],
        )
        self.truth.setFixedWidth(FIELD_WIDTH)
        self.paths = ChecksMenu(
            "Paths", "Paths that the tip follows", [(name, title.lower(), title) for name, title in PATHS.items()]
        )
        self.gains = ChecksMenu(
            "Gains", "Proportional gains of both servos", [(name, name, text) for name, text in GAINS.items()]
        )
        self.period: QDoubleSpinBox = number(
            "Lap time", "Time of the tip for one lap of a path", "s", PERIOD, 0.5, 60.0, decimals=1, step=0.5
        )
        self.recording_button: QPushButton = button(
            "Choose…",
            "Open a CSV file with the columns time [s], q1, q2, goal1, goal2 [rad]",
            self.ask_recording,
        )
        self.recording_button.setFixedWidth(FIELD_WIDTH)
        self.kp: QDoubleSpinBox = number(
            "Gain kp",
            "Gain of both servos when the arm was recorded",
            "1",
            DEFAULT_KP,
            0.01,
            10_000.0,
            decimals=2,
            step=1.0,
        )
        section.row("Motion", self.truth)
        self._rows: dict[str, list[QWidget]] = {SIMULATED: [], MEASURED: []}
        for kind, caption, field in (
            (SIMULATED, "Paths", self.paths),
            (SIMULATED, "Gains", self.gains),
            (SIMULATED, "Lap time", self.period),
            (MEASURED, "Recording", self.recording_button),
            (MEASURED, "Gain kp", self.kp),
        ):
            self._rows[kind] += [section.row(caption, field), field]
        self.paths.check(tuple(PATHS))
        self.gains.check(tuple(GAINS))
        self.paths.changed.connect(self.changed)
        self.gains.changed.connect(self.changed)
        self.truth.currentIndexChanged.connect(lambda _: self._truth_changed())
        return section

    def _models_section(self) -> Section:
        section = Section("Compared models")
        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(SPACING)
        self.models: dict[str, QCheckBox] = {}
        for place, name in enumerate(FRICTION_MODELS):
            box = QCheckBox(name.upper())
            box.setChecked(name in DEFAULT_MODELS)
            box.setIconSize(QSize(22, 10))
            also = "; fitting one to the truth takes a few seconds a servo" if name == "m1" else ""
            describe(box, f"Compare {name.upper()} on the arm", f"{FRICTION_TITLES[name]} friction{also}")
            box.toggled.connect(lambda _: self.changed.emit())
            grid.addWidget(box, place // 3, place % 3)
            self.models[name] = box
        section.wide(holder)
        return section

    # User actions.

    def ask_links(self) -> None:
        """Ask for a file with links."""
        file = file_dialogs.ask_file(self, "Open links of an arm", "Links (*.yml *.yaml *.txt);;All files (*)")
        if file:
            self.links_path = Path(file)
            _name(self.links_button, self.links_path)
            self.changed.emit()

    def ask_recording(self) -> bool:
        """Ask for the recording of a measured arm and make it the truth. Return True if a file was chosen."""
        file = file_dialogs.ask_file(
            self, "Open a measured arm", "Recordings of an arm (*.csv *.csv.gz *.gz);;All files (*)"
        )
        if file:
            self.recording_path = Path(file)
            _name(self.recording_button, self.recording_path)
            self.truth.setCurrentIndex(self.truth.findData(MEASURED))
            self.changed.emit()
        return bool(file)

    # Current settings.

    @property
    def frictions(self) -> tuple[str, ...]:
        """Names of the selected friction models."""
        return tuple(name for name, box in self.models.items() if box.isChecked())

    @property
    def obstacle(self) -> str:
        """Reason why the comparison cannot run, with the remedy; empty if it can."""
        if find_spec("mujoco") is None:
            return MUJOCO_MISSING
        if self.arm.currentData() == LINKS_FILE and self.links_path is None:
            return "no links are chosen; choose a file under Arm"
        if not self.frictions:
            return "no model is selected; select at least one"
        if self.truth.currentData() == MEASURED:
            return "" if self.recording_path is not None else "no recording is chosen; open a measured arm"
        if not self.paths.checked:
            return "no path is selected; select at least one"
        return "" if self.gains.checked else "no gain is selected; select at least one"

    def job(self) -> ArmJob:
        """Return the comparison to run.

        Raises:
            ModelError: A model of the catalogue cannot be read.
        """
        arm = str(self.arm.currentData())
        shoulder, elbow = (self._model(str(field.currentData())) for field in self.joints)
        measured = self.truth.currentData() == MEASURED
        return ArmJob(
            arm=arm,
            links=self.links_path if arm == LINKS_FILE else None,
            joints=(shoulder, elbow),
            frictions=self.frictions,
            paths=() if measured else self.paths.checked,
            gains=(repr(self.kp.value()),) if measured else self.gains.checked,
            period=self.period.value(),
            recording=self.recording_path if measured else None,
        )

    def _paint(self) -> None:
        for name, box in self.models.items():
            box.setIcon(line_icon(Style(name, 1.5)))

    def _model(self, key: str) -> ServoModel:
        entry = self._model_list.entry(key)
        if entry is not None:
            return entry.model
        _, servo, friction = key.split(":")
        return load_model(servo, friction)

    # Reactions to choices.

    def _arm_changed(self) -> None:
        from_file = self.arm.currentData() == LINKS_FILE
        self._links_caption.setVisible(from_file)
        self.links_button.setVisible(from_file)
        for field in self.joints:
            with QSignalBlocker(field):
                field.clear()
        self._offer_joints()

    def _offer_joints(self) -> None:
        """List models of the arm's own servo, then those of session and files, then the rest of the catalogue."""
        arm = str(self.arm.currentData())
        own = ARM_SERVOS.get(arm, ("mx106", "mx64"))
        others = [e for e in self._model_list.entries if e.origin != CATALOGUE]
        for field, servo in zip(self.joints, own, strict=True):
            before = field.currentData()
            with QSignalBlocker(field):
                field.clear()
                for key, text in _catalogue_items([servo]):
                    field.addItem(text, key)
                for entry in others:
                    field.addItem(f"{entry.model.title} ({entry.origin})", entry.key)
                for key, text in _catalogue_items([name for name in servos() if name != servo]):
                    field.addItem(text, key)
                field.setCurrentIndex(max(0, field.findData(before)))
        self.changed.emit()

    def _truth_changed(self) -> None:
        for kind, widgets in self._rows.items():
            for widget in widgets:
                widget.setVisible(kind == self.truth.currentData())
        self.changed.emit()


def _arm_title(arm: str) -> str:
    """Return both servos without vendor and without repeated words, e.g. "eRob80 1:100, 1:50"."""
    shoulder, elbow = (load_servo(name).title.split() for name in ARM_SERVOS[arm])
    shared = next(i for i, pair in enumerate(zip(shoulder, elbow, strict=False)) if pair[0] != pair[1])
    return f"{' '.join(shoulder[1:])}, {' '.join(elbow[max(shared, 1) :])}"


def _catalogue_items(names: list[str]) -> list[tuple[str, str]]:
    """Return key and text of every shipped model, the richest of each servo first."""
    return [
        (f"{CATALOGUE}:{name}:{friction}", f"{load_servo(name).title} {friction.upper()}")
        for name in names
        for friction in reversed(shipped_models(name))
    ]


def _name(chosen: QPushButton, path: Path) -> None:
    """Show the name of a file on its button."""
    room = chosen.maximumWidth() - BESIDE_TEXT
    chosen.setText(chosen.fontMetrics().elidedText(path.name, Qt.TextElideMode.ElideMiddle, room))
    chosen.setAccessibleDescription(path.name)
