"""Messages between the window and a fleet's process, apart from its summary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench_gui.work.process import Share
from core.fleet.plan import FleetRequest
from core.identification.request import IdentificationRequest


@dataclass(frozen=True, kw_only=True)
class FleetJob:
    """Request that a fleet's process is started with."""

    sessions: tuple[Path, ...]
    """Empty for simulated units."""
    simulated: int
    """Number of simulated units; 0 for sessions."""
    servo: str
    """Catalogue name; runs of other servos are ignored."""
    fit: IdentificationRequest
    by: tuple[str, ...]
    folder: Path
    scheduler: str = ""
    workers: int | None = None

    @property
    def request(self) -> FleetRequest:
        """Return the request for the fleet computation."""
        return FleetRequest(fit=replace(self.fit, servo=self.servo), by=self.by)


@dataclass(frozen=True, kw_only=True)
class FleetStep(Share):
    """Progress of a running fleet."""

    computed: int = 0
    """Fits computed by this run."""
    note: str = ""
    """Other event: a lost worker, a unit that cannot be fitted."""
