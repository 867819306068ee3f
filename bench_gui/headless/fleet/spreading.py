"""A fleet as one model with a spread: evaluated on the units' recordings, and written for simulators.

Results contain nothing whose unpickling would load the compiler or scipy into the window's process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.work.process import Line, Share
from core.base.atomic import write_atomically
from core.base.errors import ExportError, ServoBenchError

if TYPE_CHECKING:
    from core.fleet.randomisation.files import Randomisation, RandomisationOptions
    from core.fleet.result import FleetResult
    from core.fleet.spread import Spread

JSON = "json"
FILE = "spread.json"
TITLES = {
    "mujoco": "MuJoCo",
    "mjlab": "mjlab",
    "isaaclab": "Isaac Lab",
    "drake": "Drake",
    "newton": "Newton",
    "pybullet": "PyBullet",
    "genesis": "Genesis",
    "usd": "USD",
    JSON: "JSON",
}
STRONG = 0.5
"""Smallest correlation that is mentioned."""
MOST_PAIRS = 3
SHORT = 10
"""Number of letters of a unit's name below a bar, from its end."""


@dataclass(frozen=True, kw_only=True)
class JudgeJob:
    """Evaluation of a fleet's mean model on the units' recordings."""

    folder: Path
    friction: str


@dataclass(frozen=True, kw_only=True)
class JudgedSpread:
    """Errors of a single model for all units."""

    folder: Path
    friction: str
    text: str
    errors: Mapping[str, float]
    """Model → mean absolute error over the units [rad]; empty if the recordings cannot be read."""
    together: str
    """Sentence part on parameters that vary together; empty if none do."""


@dataclass(frozen=True, kw_only=True)
class WriteJob:
    """Export of a fleet's spread to a target of TITLES."""

    folder: Path
    friction: str
    target: str
    output: Path
    draws: int
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class WrittenSpread:
    """Written files, and how well they describe the fleet."""

    target: str
    files: tuple[Path, ...]
    notes: tuple[str, ...]


def judge(job: JudgeJob, line: Line) -> JudgedSpread:
    """Evaluate the spread of a fleet; raise ServoBenchError if there are too few units."""
    from core.fleet.store import FleetStore

    spread, trouble = judged_spread(FleetStore(job.folder).result(), job.friction)
    errors = spread.errors
    found: dict[str, float] = {}
    if errors is not None:
        # The comparison with the medoid excludes the medoid's own runs, as the text does.
        rest = [unit != errors.medoid for unit in errors.units]
        found = {
            "unit's\nown": float(errors.own.mean()),
            "mean\nmodel": float(errors.mean[rest].mean()),
            f"that of\n{errors.medoid[-SHORT:]}": float(errors.medoid_errors[rest].mean()),
            "other\nunits'": float(errors.others.mean()),
        }
    strong = [pair for pair in spread.population.strongest if abs(pair[2]) >= STRONG][:MOST_PAIRS]
    return JudgedSpread(
        folder=job.folder,
        friction=job.friction,
        text=trouble or (errors.text if errors is not None else ""),
        errors={name: value for name, value in found.items() if math.isfinite(value)},
        together=", ".join(f"{one} and {other} {value:+.2f}".replace("-", "−") for one, other, value in strong),
    )


def write(job: WriteJob, line: Line) -> WrittenSpread:
    """Write the spread of a fleet; raise ServoBenchError if that fails."""
    from core.fleet.randomisation.files import RandomisationOptions
    from core.fleet.store import FleetStore

    line.tell(Share(0.0, "evaluating the mean model on the recordings"))
    spread, trouble = judged_spread(FleetStore(job.folder).result(), job.friction)
    options = RandomisationOptions(draws=job.draws, seed=job.seed)
    files, written = write_spread(
        spread, [job.target], job.output, options, lambda share, text: line.tell(Share(share, text))
    )
    notes = [note for result in written for note in result.notes]
    return WrittenSpread(
        target=job.target,
        files=(*files, *(path for result in written for path in result.files)),
        notes=tuple([trouble] * bool(trouble) + notes),
    )


def judged_spread(result: FleetResult, friction: str) -> tuple[Spread, str]:
    """Return the spread, evaluated on the units' recordings, and the reason if they cannot be read."""
    from bench_gui.headless.fleet.gather import load_unit
    from core.fleet.spread import fleet_spread

    unjudged = fleet_spread(result, friction)
    try:
        return fleet_spread(result, friction, load_unit), ""
    except ServoBenchError as error:
        return unjudged, f"the mean model was not evaluated; the units' recordings cannot be read: {error}"


def write_spread(
    spread: Spread,
    targets: Sequence[str],
    folder: Path,
    options: RandomisationOptions,
    on_progress: Callable[[float, str], None] = lambda share, text: None,
    *,
    force: bool = False,
) -> tuple[list[Path], list[Randomisation]]:
    """Write a spread for targets of TITLES: FILE for JSON, and a folder per simulator.

    force: overwrite existing files that differ.

    Raises:
        ExportError: A file cannot be written, or differs and force is not set.
    """
    from core.export.files import require_kept
    from core.fleet.randomisation.engines import write_randomisation

    files: list[Path] = []
    if JSON in targets:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            data = spread.to_json_text().encode()
            if not force:
                require_kept(folder / FILE, data)
            write_atomically(folder / FILE, data)
        except OSError as error:
            raise ExportError(f"{folder}: cannot write: {error.strerror or error}") from None
        files.append(folder / FILE)
    engines = [target for target in targets if target != JSON]
    return files, write_randomisation(spread, engines, folder, options, on_progress, force=force) if engines else []
