"""Which recordings a computation is about, and the model that judges them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.model import ServoModel
    from core.recording import Recording
    from core.terms import Supply


@dataclass(frozen=True, kw_only=True)
class Material:
    """Which recordings, and how they are simulated; see `IdentificationRequest` for dt, supply and threads."""

    session: Path | None
    """None: there are no recordings."""
    runs: tuple[str, ...]
    dt: float | None = None
    supply: Supply = "logged"
    threads: int | None = None

    def load(self) -> list[Recording]:
        """The recordings, each the part that is used."""
        from sessions import Session

        return Session.open(self.session).load_for_fit(self.runs) if self.session and self.runs else []


def judging(model: ServoModel | None, servo: str) -> ServoModel:
    """The model that judges recordings; None for the catalogue's of the servo."""
    from bench_gui.headless.next_recordings import catalogue_model

    return catalogue_model(servo) if model is None else model
