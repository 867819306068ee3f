"""Available models: identified from the session, shipped with ServoBench, or opened from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.plots.styles import CATALOGUE_DASH, FILE_DASH, IDENTIFIED_DASH, Style
from core.base.errors import ServoBenchError
from core.motion.recording import JOINT
from core.servo.model import ServoModel
from core.servo.shipped import load_model, shipped_models

IDENTIFIED, CATALOGUE, FILE = "identified", "catalogue", "file"
DASHES = {IDENTIFIED: IDENTIFIED_DASH, CATALOGUE: CATALOGUE_DASH, FILE: FILE_DASH}


@dataclass(frozen=True, eq=False)
class ModelEntry:
    """Model with its origin."""

    key: str
    origin: str
    model: ServoModel

    @property
    def joint(self) -> str:
        """Joint of a robot that the model is of; empty for a servo on the bench."""
        return str(self.model.provenance.get(JOINT, ""))

    @property
    def title(self) -> str:
        """Short title for tables and legends, e.g. "M6", "M6 catalogue", "elbow: M6"."""
        name = self.model.friction.upper()
        if self.origin == IDENTIFIED:
            return f"{self.joint}: {name}" if self.joint else name
        if self.origin == CATALOGUE:
            return f"{name} catalogue"
        file = Path(self.key)
        # Files of an identification are named after the friction model; the folder distinguishes them.
        return f"{name} {file.parent.name if file.stem == self.model.friction else file.stem}"

    @property
    def style(self) -> Style:
        """Style of its curves: dashes encode the origin, the colour encodes the friction model."""
        return Style(self.model.friction, 1.5, DASHES[self.origin])


class ModelList(QObject):
    """All models that can be compared or exported."""

    changed = Signal()
    current_changed = Signal()
    """Emitted when the bench's model has changed."""
    problem = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._picked = ""
        self._reported = ""
        self._identified: dict[str, ModelEntry] = {}
        self._of_joints: dict[str, ModelEntry] = {}
        self._catalogue: dict[str, ModelEntry] = {}
        self._files: dict[str, ModelEntry] = {}
        self._servo = ""
        self.recommended = ""
        """Key of the identified model with the smallest error on held-out runs."""

    @property
    def entries(self) -> list[ModelEntry]:
        """Identified models first, those of a robot's joints last of them, then files, then the catalogue's."""
        return [*self._identified.values(), *self._of_joints.values(), *self._files.values(), *self._catalogue.values()]

    @property
    def current(self) -> ModelEntry | None:
        """The bench's model: the picked one, or the recommended one, or the catalogue's richest."""
        entries = self.entries
        return (
            self.entry(self._picked)
            or self.entry(self.recommended)
            or next((entry for entry in reversed(entries) if entry.origin == CATALOGUE), None)
        )

    @property
    def picked(self) -> str:
        """Key of the model that the user picked; empty for none."""
        return self._picked

    def set_current(self, key: str) -> None:
        """Pick the bench's model; an empty key selects the recommended one."""
        self._picked = key
        self._tell()

    def entry(self, key: str) -> ModelEntry | None:
        """Return a model by its key."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def set_servo(self, servo: str) -> None:
        """Include the catalogue's models of this servo."""
        if servo == self._servo:
            return
        self._servo = servo
        self._catalogue = {}
        try:
            for friction in shipped_models(servo) if servo else ():
                key = f"{CATALOGUE}:{servo}:{friction}"
                self._catalogue[key] = ModelEntry(key, CATALOGUE, load_model(servo, friction))
        except ServoBenchError as error:
            self.problem.emit(str(error))
        self._tell_all()

    def set_identified(self, models: list[ServoModel], recommended: str = "") -> None:
        """Replace the identified models; recommended: friction model of the best one."""
        self._identified = {}
        for model in models:
            key = f"{IDENTIFIED}:{model.friction}"
            self._identified[key] = ModelEntry(key, IDENTIFIED, model)
        best = f"{IDENTIFIED}:{recommended}"
        self.recommended = best if best in self._identified else next(iter(reversed(self._identified)), "")
        self._tell_all()

    def set_joints(self, models: Sequence[ServoModel]) -> None:
        """Replace the identified models of a robot's joints."""
        if not (models or self._of_joints):
            return
        entries = [ModelEntry(f"{IDENTIFIED}:{m.provenance[JOINT]}:{m.friction}", IDENTIFIED, m) for m in models]
        self._of_joints = {entry.key: entry for entry in entries}
        self._tell_all()

    def open_file(self, path: Path) -> str:
        """Read a model file and return its key, empty if it cannot be read."""
        try:
            model = ServoModel.read(path)
        except ServoBenchError as error:
            self.problem.emit(str(error))
            return ""
        key = f"{FILE}:{path}"
        self._files[key] = ModelEntry(key, FILE, model)
        self._tell_all()
        return key

    def _tell_all(self) -> None:
        self.changed.emit()
        self._tell()

    def _tell(self) -> None:
        current = self.current
        key = f"{current.key}:{id(current.model)}" if current is not None else ""
        if key != self._reported:
            self._reported = key
            self.current_changed.emit()
