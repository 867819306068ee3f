"""Torques to hold and repeats: those that suit the bench, until the user chooses others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.headless.place.rests import Target
from bench_gui.state.models import ModelList
from bench_gui.state.setup import BenchSetup
from core.base.errors import InputError
from core.base.guards import is_array, is_finite
from core.practice.placement import SIDES, TorqueSuggestion, suggest_torques
from core.servo.model import ServoModel

TRAIN = "train"
"""Entry in the provenance of a fitted model: ids of the runs it was fitted to."""


def _is_narrow(model: ServoModel) -> bool:
    """Return True if the model was fitted to one run, which cannot separate friction at rest from other losses."""
    runs = model.provenance.get(TRAIN)
    return is_array(runs) and len(runs) < 2


class HoldPlan(QObject):
    """The extremes to seek, torque by torque."""

    changed = Signal()

    def __init__(self, setup: BenchSetup, model_list: ModelList) -> None:
        super().__init__()
        self._setup, self._model_list = setup, model_list
        self.torques: tuple[float, ...] = self.suggestion().torques
        """Motor torques to hold in turn [N·m]."""
        self.suggested = True
        """True while they follow the bench and its model; False once the user chose others."""
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
        """The bench's current model, if it is of this servo and knows more than a single run."""
        model = self._own
        return None if model is not None and _is_narrow(model) else model

    @property
    def _own(self) -> ServoModel | None:
        entry = self._model_list.current
        return entry.model if entry is not None and entry.model.servo == self._setup.spec.name else None

    def state(self) -> dict[str, Any]:
        """Return the user's choices as JSON data."""
        return {"torques": [] if self.suggested else list(self.torques), "repeats": self.repeats}

    def restore(self, data: Any) -> None:
        """Restore what `state` returned.

        Raises:
            InputError: The torques cannot be held.
        """
        torques, repeats = data["torques"], data["repeats"]
        if not all(is_finite(torque) for torque in torques) or type(repeats) is not int or repeats < 1:
            raise InputError(f"{repeats!r} holds of {torques!r} N·m are not possible")
        self.set_repeats(repeats)
        self.set_torques(torques)

    def suggestion(self) -> TorqueSuggestion:
        """Torques that this bench can balance; those of the catalogue if the model of a fit is no help."""
        bench, own = self._setup.bench, self._own
        usual = suggest_torques(self._setup.spec, bench)
        if own is None:
            return usual
        if _is_narrow(own):
            return replace(usual, reason=f"{usual.reason}; {own.title} is not used, as it was fitted to a single run")
        found = suggest_torques(own, bench)
        if found.torques or TRAIN not in own.provenance:
            return found
        return replace(usual, reason=f"{usual.reason}; {own.title} expects that {found.reason}")

    def suit(self) -> None:
        """Follow the bench and its model, unless the user chose torques."""
        if self.suggested:
            self.torques = self.suggestion().torques

    def set_torques(self, torques: Sequence[float]) -> None:
        """Set the torques [N·m], from the next extreme on; empty for those that suit the bench."""
        self.suggested = not torques
        self.torques = tuple(torques) or self.suggestion().torques
        self.changed.emit()

    def set_repeats(self, repeats: int) -> None:
        """Set the number of measurements of each extreme."""
        self.repeats = repeats
        self.changed.emit()
