"""Which torques are held, and how often: those that suit the bench until a person chooses others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.headless.place.rests import Target
from bench_gui.state.models import ModelList
from bench_gui.state.setup import BenchSetup
from core.errors import InputError
from core.finite import is_finite
from core.model import ServoModel
from core.placement import SIDES, TorqueSuggestion, suggest_torques


class HoldPlan(QObject):
    """The extremes to seek, torque by torque."""

    changed = Signal()

    def __init__(self, setup: BenchSetup, model_list: ModelList) -> None:
        super().__init__()
        self._setup, self._model_list = setup, model_list
        self.torques: tuple[float, ...] = self.suggestion().torques
        """Motor torques to hold, one after the other [N·m]."""
        self.suggested = True
        """Whether they follow the bench and its model; not once a person chose others."""
        self.repeats = 1

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every extreme of the torques, in the order in which they are sought."""
        return tuple(
            Target(torque, repeat, side)
            for torque in self.torques
            for repeat in range(1, self.repeats + 1)
            for side in SIDES
        )

    @property
    def model(self) -> ServoModel | None:
        """The bench's current model, if it is one of this servo."""
        entry = self._model_list.current
        return entry.model if entry is not None and entry.model.servo == self._setup.spec.name else None

    def state(self) -> dict[str, Any]:
        """What a person chose, as JSON data."""
        return {"torques": [] if self.suggested else list(self.torques), "repeats": self.repeats}

    def restore(self, data: Any) -> None:
        """Take over what `state` returned; raises InputError for what cannot be held."""
        torques, repeats = data["torques"], data["repeats"]
        if not all(is_finite(torque) for torque in torques) or type(repeats) is not int or repeats < 1:
            raise InputError(f"{repeats!r} holds of {torques!r} N·m are not possible")
        self.set_repeats(repeats)
        self.set_torques(torques)

    def suggestion(self) -> TorqueSuggestion:
        """Torques that this bench can balance."""
        return suggest_torques(self.model or self._setup.spec, self._setup.bench)

    def suit(self) -> None:
        """Follow the bench and its model, unless a person chose torques."""
        if self.suggested:
            self.torques = self.suggestion().torques

    def set_torques(self, torques: Sequence[float]) -> None:
        """Hold other torques [N·m]; the present one goes on until the next. Empty: those that suit the bench."""
        self.suggested = not torques
        self.torques = tuple(torques) or self.suggestion().torques
        self.changed.emit()

    def set_repeats(self, repeats: int) -> None:
        """Measure every extreme so often."""
        self.repeats = repeats
        self.changed.emit()
