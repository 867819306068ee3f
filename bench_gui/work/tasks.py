"""What the desk is asked: simulate, judge, export. Calls into `core` and hands plain data back.

Answers hold nothing whose unpickling would load the compiler into the window's process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from core.model import ServoModel
    from core.recording import Recording

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One run simulated by several models, on the grid they were simulated on."""

    id: str
    time: Array
    """(n,) s from the first sample"""
    position: Mapping[str, Array]
    """Model key to (n,) rad."""
    error: Mapping[str, Array]
    """Model key to simulated − measured, (n,) rad."""
    mae: Mapping[str, float]
    """Model key to mean absolute error over the run [rad]."""


@dataclass(frozen=True)
class Overlays:
    """Runs simulated by models, and what could not be."""

    runs: tuple[SimulatedRun, ...]
    mean_mae: Mapping[str, float]
    """Model key to the mean over the runs it could simulate [rad]."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportTarget:
    """One program a model can be written for."""

    target: str
    title: str
    description: str


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    error_mrad: float | None
    texts: Mapping[str, str] = field(default_factory=dict)
    """File name to the beginning of its text."""


PREVIEW_CHARACTERS = 20_000
_LOADED: dict[tuple[str, str], Recording] = {}
_MOST_LOADED = 1000


def warm_up(servo: str) -> None:
    """Load the compiled kernels a servo needs, so that the first overlay does not wait for them."""
    from core.bench import Bench
    from core.catalogue import load_model, shipped_models
    from core.simulation import simulate_trajectory
    from core.trajectories import make_trajectory

    shipped = shipped_models(servo)
    if shipped:
        model = load_model(servo, shipped[-1])
        trajectory = make_trajectory("nothing", 0.05)
        simulate_trajectory(model, trajectory, Bench(mass=0.1, length=0.1), model.default_settings(), 0.005)


def overlays(session: Path, runs: Sequence[str], models: Mapping[str, ServoModel]) -> Overlays:
    """Simulate runs of a session by models, each by those of its own servo."""
    from core.errors import ServoBenchError
    from core.identification.evaluate import evaluate
    from core.simulation import on_grid, simulate_recording

    recordings = _load(session, runs)
    positions: dict[str, dict[str, Array]] = {run: {} for run in runs}
    errors: dict[str, dict[str, Array]] = {run: {} for run in runs}
    maes: dict[str, dict[str, float]] = {run: {} for run in runs}
    means: dict[str, float] = {}
    problems: list[str] = []
    for key, model in models.items():
        fitting = [r for r in recordings if r.settings.servo == model.servo]
        if not fitting:
            problems.append(f"{model.title}: none of these runs is of servo {model.servo}")
            continue
        try:
            verdict = evaluate(model, fitting)
            for recording, score in zip(fitting, verdict.runs, strict=True):
                motion = simulate_recording(model, recording)
                measured = on_grid(recording)[0].position
                positions[recording.id][key] = motion.position
                errors[recording.id][key] = motion.position - measured
                maes[recording.id][key] = score.mae
            means[key] = verdict.mean_mae
        except ServoBenchError as error:
            problems.append(str(error))
    found = tuple(
        SimulatedRun(r.id, on_grid(r)[0].time - r.time[0], positions[r.id], errors[r.id], maes[r.id])
        for r in recordings
    )
    return Overlays(found, means, tuple(problems))


def _load(session: Path, runs: Sequence[str]) -> list[Recording]:
    from sessions import Session

    missing = [run for run in runs if (str(session), run) not in _LOADED]
    if missing:
        if len(_LOADED) > _MOST_LOADED:
            _LOADED.clear()
        opened = Session.open(session)
        for run in runs:
            _LOADED[str(session), run] = opened.load(run)
    return [_LOADED[str(session), run] for run in runs]


def export_targets() -> list[ExportTarget]:
    """Every target there is an exporter for."""
    from core.export import exporters

    return [ExportTarget(e.target, e.title, e.description) for e in exporters().values()]


def export(model: ServoModel, target: str, folder: Path, options: Mapping[str, Any]) -> Exported:
    """Write a model for a target; options the target does not have are left out."""
    import dataclasses

    from core.export import export_model, exporters

    known = {f.name for f in dataclasses.fields(exporters()[target].options)} if target in exporters() else set()
    result = export_model(model, target, folder, **{k: v for k, v in options.items() if k in known})
    texts: dict[str, str] = {}
    for file in result.files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            texts[file.name] = stream.read(PREVIEW_CHARACTERS)
    return Exported(result.files, result.notes, result.error_mrad, texts)
