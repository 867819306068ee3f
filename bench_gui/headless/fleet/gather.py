"""Grouping of sessions into the units of a fleet."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from core.base.errors import InputError
from core.fleet.plan import UnitFacts
from core.fleet.simulated import simulated_units
from core.identification.runs.folds import unit_named
from core.motion.recording import Recording
from sessions import RunSummary, Session
from sessions.errors import UNUSABLE

SESSIONS = "sessions"
"""Subfolder of a fleet with the sessions of its simulated units."""


def gather_units(paths: Sequence[str | Path], servo: str | None = None) -> tuple[UnitFacts, ...]:
    """Return the units that sessions were recorded with, in their order.

    A session whose runs have no serial number is one unit; otherwise each serial number is one. Only runs that a fit
    would use count.

    Args:
        paths: Sessions.
        servo: Use only runs of this servo.

    Raises:
        SessionError: A path is not a session.
        InputError: There is nothing to fit, no run of a session can be read, or there are runs of several servos.
    """
    found: list[UnitFacts] = []
    for path in dict.fromkeys(Path(path) for path in paths):
        found += _units_of(path, servo)
    servos = sorted({unit.servo for unit in found})
    if len(servos) > 1:
        raise InputError(f"the sessions are of several servos: {', '.join(servos)}; choose one with --servo")
    if not found:
        wanted = f" of {servo}" if servo else ""
        raise InputError(f"no session has runs{wanted} to fit; record or import some")
    names = [unit.name for unit in found]
    return tuple(
        UnitFacts(**{**unit.__dict__, "name": _unique(place, names, unit)}) for place, unit in enumerate(found)
    )


def load_unit(unit: UnitFacts) -> list[Recording]:
    """Load the recordings of a unit, trimmed; raise SessionError if one cannot be read."""
    return _opened(unit.source).load_for_fit(unit.runs)


def simulated_sessions(
    servo: str, count: int, folder: Path, seed: int = 0, *, made: Callable[[int], None] = lambda number: None
) -> list[Path]:
    """Create sessions of simulated units in a folder, to try a fleet without hardware; existing ones are kept.

    made: called after each with the number of sessions so far.

    Raises:
        ModelError: The servo is not in the catalogue.
        SessionError: A session cannot be written.
    """
    paths: list[Path] = []
    for unit in simulated_units(servo, count, seed=seed):
        path = folder / unit.name
        if not path.exists():
            Session.create(path, f"Simulated {servo}, {unit.name}").add_all(unit.recordings)
        paths.append(path)
        made(len(paths))
    return paths


@cache
def _opened(source: str) -> Session:
    return Session.open(source)


def _units_of(path: Path, servo: str | None) -> list[UnitFacts]:
    session = Session.open(path)
    usable = set(session.fit_ids())
    groups: dict[tuple[str, str], list[RunSummary]] = {}
    for run in session.runs():
        if run.id in usable and servo in (None, run.servo):
            with contextlib.suppress(*UNUSABLE):
                unit = unit_named(session.provenance(run.id)) or path.stem
                groups.setdefault((run.servo, unit), []).append(run)
    if not groups and (damage := session.damage()):
        raise InputError(damage)
    return [
        UnitFacts(
            name=_safe(unit),
            servo=kind,
            source=str(path),
            runs=tuple(run.id for run in runs),
            data_hash=session.data_hash([run.id for run in runs]),
            selection=session.selection(runs).to_json(),
        )
        for (kind, unit), runs in groups.items()
    ]


def _safe(name: str) -> str:
    """Return a folder name that is valid on any file system."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "unit"


def _unique(place: int, names: Sequence[str], unit: UnitFacts) -> str:
    """Return the name of a unit, extended by its session and a number if others have the same name."""
    if names.count(unit.name) == 1:
        return unit.name
    same = [other for other in range(len(names)) if names[other] == unit.name]
    return f"{unit.name}_{_safe(Path(unit.source).stem)}_{same.index(place) + 1}"
