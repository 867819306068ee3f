"""What the window and a fleet's process say to each other besides its summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench_gui.work.process import Share
from core.fleet.plan import FleetRequest
from core.identification.request import IdentificationRequest


@dataclass(frozen=True, kw_only=True)
class FleetJob:
    """What a fleet's process is started with."""

    sessions: tuple[Path, ...]
    """Empty for simulated units."""
    simulated: int
    """How many simulated units to make; 0 for sessions."""
    servo: str
    """Catalogue name; runs of others are left out."""
    fit: IdentificationRequest
    by: tuple[str, ...]
    folder: Path
    scheduler: str = ""
    workers: int | None = None

    @property
    def request(self) -> FleetRequest:
        """As the fleet takes it."""
        return FleetRequest(fit=replace(self.fit, servo=self.servo), by=self.by)


@dataclass(frozen=True, kw_only=True)
class FleetStep(Share):
    """Where a running fleet stands."""

    computed: int = 0
    """Fits of those done, by this run."""
    note: str = ""
    """What happened besides: a worker lost, a unit that cannot be fitted."""
