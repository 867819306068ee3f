"""Recordings that a computation uses, and the model that judges them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.shipped import catalogue_model
from core.servo.terms import Supply


@dataclass(frozen=True, kw_only=True)
class Material:
    """Selection of recordings and their simulation settings; see `IdentificationRequest` for dt, supply and threads."""

    session: Path | None
    """None if there are no recordings."""
    runs: tuple[str, ...]
    dt: float | None = None
    supply: Supply = "logged"
    threads: int | None = None

    def load(self) -> list[Recording]:
        """Load the recordings, each cut to its used part."""
        from sessions import Session

        return Session.open(self.session).load_for_fit(self.runs) if self.session and self.runs else []


def judging(model: ServoModel | None, servo: str) -> ServoModel:
    """Return the model that judges recordings; `None` stands for the servo's catalogue model."""
    return catalogue_model(servo) if model is None else model
