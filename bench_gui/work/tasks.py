"""Tasks of the compute process: simulate, judge, export. Calls into `core` and hands plain data back.

Answers hold nothing whose unpickling would load the compiler into the window's process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bench_gui.identify.fit.messages import CostCurve, FitOverlay
    from core.model import ServoModel
    from core.mounting import Cause, Start, TwinMotion
    from core.recording import Recording, RunHeader
    from core.terms import Supply
    from core.trajectories import Trajectory

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
class Errors:
    """How far models are from runs, without any motion."""

    mae: Mapping[str, Mapping[str, float]]
    """Model key to run id to mean absolute error [rad]; NaN where a model could not simulate a run."""
    problems: tuple[str, ...] = ()


_LOADED: dict[tuple[str, str, float | None, float | None], Recording] = {}
"""By session, run and the part of it that is used; the latest asked for are the last."""
MOST_LOADED = 64_000_000
"""Recordings are kept for the next question up to this size of their samples [bytes]."""


def warm_up(servo: str) -> None:
    """Load the compiled kernels a servo needs, so that the first overlay does not wait for them."""
    from core.bench import Bench
    from core.shipped import load_model, shipped_models
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
        fitting = [r for r in recordings if _is_of(r, model)]
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


def errors(session: Path, runs: Mapping[str, Sequence[str]], models: Mapping[str, ServoModel]) -> Errors:
    """Judge models, by key, each on its own runs of a session; numbers only, so that long sessions stay light."""
    from core.errors import ServoBenchError
    from core.identification.evaluate import evaluate

    found: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for key, model in models.items():
        found[key] = dict.fromkeys(runs[key], math.nan)
        try:
            fitting = [r for r in _load(session, runs[key]) if _is_of(r, model)]
            if fitting:
                found[key].update({score.id: score.mae for score in evaluate(model, fitting).runs})
            else:
                problems.append(f"{model.title}: none of these runs is of servo {model.servo}")
        except ServoBenchError as error:
            problems.append(str(error))
    return Errors(found, tuple(problems))


def _is_of(recording: Recording, model: ServoModel) -> bool:
    """Whether the model's servo made a recording with its own motor."""
    return recording.settings.servo == model.servo and recording.settings.actuator is None


def _load(session: Path, runs: Sequence[str]) -> list[Recording]:
    from sessions import Session

    opened = Session.open(session)
    annotations = opened.annotations()
    keys = {}
    for run in runs:
        part = (annotations[run].trim_begin, annotations[run].trim_end) if run in annotations else (None, None)
        keys[run] = (str(session), run, *part)
    missing = [run for run in runs if keys[run] not in _LOADED]
    fresh = dict(zip(missing, opened.load_for_fit(missing), strict=True))
    recordings = [fresh[run] if run in fresh else _LOADED.pop(keys[run]) for run in runs]
    _LOADED.update(zip(keys.values(), recordings, strict=True))
    size = sum(map(_size, _LOADED.values()))
    for key in list(_LOADED):
        if size <= MOST_LOADED:
            break
        size -= _size(_LOADED.pop(key))
    return recordings


def _size(recording: Recording) -> int:
    return sum(values.nbytes for values in recording.channels.values())


def foresee(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, position_step: float
) -> TwinMotion:
    """Simulate a run that has begun, for its twin."""
    from core import mounting

    return mounting.foresee(model, trajectory, header, start, position_step)


def explain(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, time: Array, position: Array
) -> tuple[Cause, ...]:
    """Say what explains a motion that left its twin's band."""
    from core import mounting

    return mounting.explain(model, trajectory, header, start, time, position)


def fitted_overlay(
    session: Path,
    runs: Sequence[str],
    model: ServoModel,
    initial: ServoModel | None,
    dt: float | None,
    supply: Supply,
) -> FitOverlay:
    """Simulate runs as a fit did, and pick the worst and the median one.

    initial: the model the search began with, simulated on the same runs; None leaves it out.
    """
    from bench_gui.identify.fit.messages import FitOverlay, OverlayRun
    from core.identification.overlay import worst_and_median
    from core.simulation import simulate_recording
    from sessions import Session

    recordings = {recording.id: recording for recording in Session.open(session).load_for_fit(runs)}
    found = worst_and_median(model, list(recordings.values()), dt=dt, supply=supply)

    def began(run: str) -> Array | None:
        return None if initial is None else simulate_recording(initial, recordings[run], dt, supply).position

    return FitOverlay(model.friction, tuple(OverlayRun(**run.__dict__, initial=began(run.id)) for run in found))


def course_of_search(folder: Path) -> tuple[CostCurve, ...]:
    """Read the searches of a result from the journal beside it; raises IdentificationError where there is none."""
    from bench_gui.headless.report.traces import read_traces

    traces = read_traces(folder)
    return tuple((trace.friction, trace.repeat, trace.evaluations, trace.best) for trace in traces)
