"""Tasks of the compute process: simulate, evaluate, export.

Results are plain data, so that unpickling them does not load the compiler into the window's process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bench_gui.identify.fit.messages import CostCurve, FitOverlay
from core.base.announcements import announce
from core.base.errors import InputError, ServoBenchError
from core.base.words import counted
from core.identification.coverage.findings import Misread
from core.identification.overlay import JudgedRun, overlay, worst_first
from core.motion.frequency import (
    NO_ANGLE,
    NO_BAND,
    TOO_SHORT,
    FrequencyResponse,
    amplitude_density,
    driven_stretch,
    frequency_response,
)
from core.motion.recording import JOINT, Recording, RunHeader
from core.motion.trajectories import Trajectory, make_trajectory
from core.practice import twin
from core.practice.twin import Cause, Start, TwinMotion
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import Supply

if TYPE_CHECKING:
    from core.robot.chain import Chain
    from core.robot.motions import ArmMotion
    from sessions import Session

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One run simulated by several models, at common times."""

    id: str
    time: Array
    """Time from the first sample [s], (n,)."""
    position: dict[str, Array]
    """Model key → position [rad], (n,)."""
    shown: dict[str, Array]
    """Model key → requested channel, (n,); empty if simulations do not have it."""
    error: dict[str, Array]
    """Model key → simulated − measured of that channel, (n,)."""
    mae: dict[str, float]
    """Model key → mean absolute position error of the run [rad]."""


@dataclass(frozen=True)
class Overlays:
    """Simulated runs, and the problems."""

    runs: tuple[SimulatedRun, ...]
    mean_mae: Mapping[str, float]
    """Model key → mean error over its simulated runs [rad]."""
    problems: tuple[str, ...] = ()
    spectrum: Mapping[str, tuple[Array, Array]] = field(default_factory=dict[str, tuple[Array, Array]])
    """Model key → frequency [Hz] and amplitude density of its error [unit of the channel/√Hz], both (m,)."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Frequency response of a run from goal to position, measured and simulated."""

    measured: FrequencyResponse | None
    """Measured response; None if there is none, see `reason`."""
    simulated: Mapping[str, FrequencyResponse]
    """Simulated responses by model key."""
    reason: str = ""


@dataclass(frozen=True)
class Errors:
    """Errors of models on runs, without motions."""

    mae: Mapping[str, Mapping[str, float]]
    """Model key → run id → mean absolute error [rad]; NaN if the simulation failed."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Arm:
    """A robot and its motions in a session."""

    chain: Chain
    motions: tuple[ArmMotion, ...]
    joints: tuple[str, ...]
    """Recorded joints that the robot has."""


_LOADED: dict[tuple[str, str, float | None, float | None], Recording] = {}
"""Cached recordings by session, run and used part; the latest requested ones are last."""
MOST_LOADED = 64_000_000
"""Size of the cache of recordings [bytes of samples]."""

MOST_MOTIONS = 64
"""Number of motions of a robot whose loads are cached: 60 s of six joints at 50 Hz take 1 MB."""
FEWEST_DRIVEN = 64
"""Fewest samples with the motor on for a frequency response."""


def warm_up(servo: str) -> None:
    """Load the compiled kernels of a servo, so that the first overlay does not wait for them."""
    announce("loading the program")
    from core.motion.simulation import simulate_trajectory

    shipped = shipped_models(servo)
    if shipped:
        model = load_model(servo, shipped[-1])
        trajectory = make_trajectory("nothing", 0.05)
        simulate_trajectory(model, trajectory, Bench(mass=0.1, length=0.1), model.default_settings(), 0.005)


def misread_runs(recordings: Sequence[Recording], shifts: bool) -> list[Misread]:
    """Return what explains imported runs better than they were read."""
    from core.identification.misread import misread

    return misread(recordings, shifts)


def overlays(
    session: Path, runs: Sequence[str], models: Mapping[str, ServoModel], channel: str = "position"
) -> Overlays:
    """Simulate runs of a session with the models of their servo; channel: the displayed one."""
    from core.identification.evaluate import evaluate, step_warning
    from core.motion.simulation import on_grid, simulate_recording

    recordings = _load(session, runs)
    found = {r.id: SimulatedRun(r.id, on_grid(r)[0].time - r.time[0], {}, {}, {}, {}) for r in recordings}
    means: dict[str, float] = {}
    spectrum: dict[str, tuple[Array, Array]] = {}
    problems: list[str] = []
    for key, model in models.items():
        try:
            fitting = _fitting(recordings, model)
            for place, recording in enumerate(fitting, start=1):
                announce(f"simulating {_one_of(place, fitting)} with {model.friction.upper()}")
                motion, run = simulate_recording(model, recording), found[recording.id]
                run.position[key], run.mae[key] = motion.position, evaluate(model, [recording]).mean_mae
                shown = getattr(motion, channel, None)
                if shown is not None:
                    run.shown[key] = shown
                    measured = on_grid(recording)[0].channels.get(channel)
                    if measured is not None:
                        run.error[key] = shown - measured
            announce(f"checking the errors of {model.friction.upper()}")
            means[key] = float(np.mean([found[recording.id].mae[key] for recording in fitting]))
            warning = step_warning(model, fitting)
            if warning:
                problems.append(f"{model.title}: {warning}")
            known = [run for run in found.values() if np.isfinite(run.error.get(key, math.nan)).all()]
            if known:
                spectrum[key] = amplitude_density([r.error[key] for r in known], [r.time[1] for r in known])
        except ServoBenchError as error:
            problems.append(str(error))
    return Overlays(tuple(found.values()), means, tuple(problems), spectrum)


def responses(session: Path, run: str, models: Mapping[str, ServoModel]) -> Responses:
    """Compare the frequency response of a run with models."""
    from core.motion.simulation import on_grid, simulate_recording

    recording = _load(session, [run])[0]
    grid, step = on_grid(recording)
    driven = driven_stretch(grid.torque_enable)
    if driven.stop - driven.start < FEWEST_DRIVEN:
        return Responses(None, {}, TOO_SHORT)
    if grid.command.kind != "position":
        return Responses(None, {}, NO_ANGLE)
    goal = grid.goal_position[driven]
    measured = frequency_response(goal, grid.position[driven], step)
    if measured is None:
        return Responses(None, {}, NO_BAND)
    simulated = {
        key: frequency_response(goal, simulate_recording(model, recording).position[driven], step)
        for key, model in models.items()
        if _is_of(recording, model)
    }
    return Responses(measured, {key: response for key, response in simulated.items() if response is not None})


def errors(session: Path, runs: Mapping[str, Sequence[str]], models: Mapping[str, ServoModel]) -> Errors:
    """Return errors of models, by key, each on its own runs; no motions, which would be large for long sessions."""
    from core.identification.evaluate import evaluate

    found: dict[str, dict[str, float]] = {}
    problems: list[str] = []
    for key, model in models.items():
        found[key] = dict.fromkeys(runs[key], math.nan)
        try:
            fitting = _fitting(_load(session, runs[key]), model)
            found[key].update({score.id: score.mae for score in evaluate(model, fitting).runs})
        except ServoBenchError as error:
            problems.append(str(error))
    return Errors(found, tuple(dict.fromkeys(problems)))


def _is_of(recording: Recording, model: ServoModel) -> bool:
    """Return whether a recording was made by the model's servo with its own motor, and as its joint below its load."""
    loaded = recording.load is not None and model.provenance.get(JOINT, recording.joint) == recording.joint
    own = recording.settings.servo == model.servo and recording.settings.actuator is None
    return own and (loaded if recording.joint else JOINT not in model.provenance)


def _fitting(recordings: Sequence[Recording], model: ServoModel) -> list[Recording]:
    """Return the recordings of a model's servo; raise InputError if there are none."""
    fitting = [recording for recording in recordings if _is_of(recording, model)]
    if not fitting:
        joint = model.provenance.get(JOINT)
        of = f"servo {model.servo}" if joint is None else f"joint {joint}"
        known = " with a known load" if any(run.joint for run in recordings) else ""
        raise InputError(f"{model.title}: none of these runs is of {of}{known}")
    return fitting


def _load(session: Path, runs: Sequence[str]) -> list[Recording]:
    from sessions import Session

    opened = Session.open(session)
    annotations = opened.annotations()
    keys = {}
    for run in runs:
        part = (annotations[run].trim_begin, annotations[run].trim_end) if run in annotations else (None, None)
        keys[run] = (str(session), run, *part)
    recordings: list[Recording] = []
    for place, run in enumerate(runs, start=1):
        announce(f"reading {_one_of(place, runs)}")
        recordings.append(_LOADED.pop(keys[run], None) or opened.load_for_fit([run])[0])
    _LOADED.update(zip(keys.values(), recordings, strict=True))
    size = sum(map(_size, _LOADED.values()))
    for key in list(_LOADED):
        if size <= MOST_LOADED:
            break
        size -= _size(_LOADED.pop(key))
    return _with_loads(opened, recordings) if any(recording.joint for recording in recordings) else recordings


def _with_loads(session: Session, recordings: Sequence[Recording]) -> list[Recording]:
    """Return the runs of joints with their loads; a run without one stays as it is.

    A run has none if another joint has no run in its motion, or if the robot's file lacks its joint.
    """
    from sessions.results.robot import robot_file

    robot = robot_file(session.path)
    uses = {name: (a.excluded, a.trim_begin, a.trim_end) for name, a in session.annotations().items()}
    arm = _arm(session.path, tuple(session.fit_ids()), tuple(uses.items()), robot, robot.stat().st_mtime_ns)
    loaded: dict[str, Recording] = {}
    for recording in recordings:
        motion = next((each for each in arm.motions if recording.id in {run.id for run in each.runs.values()}), None)
        if motion is not None and recording.id not in loaded:
            announce(f"computing the loads of {motion.id}")
            loaded.update(_loads_of(arm, motion))
    return [loaded.get(recording.id, recording) for recording in recordings]


@lru_cache(maxsize=1)
def _arm(session: Path, runs: tuple[str, ...], uses: object, robot: Path, changed: int) -> _Arm:
    """Return a robot and its motions; uses, changed: used parts of the runs and time of the file, for the cache."""
    from core.robot.chain import Chain
    from core.robot.motions import known_joints, motions_of
    from sessions import Session

    announce("reading the motions of the robot")
    chain = Chain(robot)
    motions, _ = motions_of(Session.open(session).load_for_fit(runs))
    return _Arm(chain, motions, tuple(known_joints(chain, motions)[0]))


@lru_cache(maxsize=MOST_MOTIONS)
def _loads_of(arm: _Arm, motion: ArmMotion) -> dict[str, Recording]:
    """Return the runs of a motion with their loads, by id."""
    from core.robot.runs import with_loads

    return {run.id: run for (run,) in with_loads(arm.chain, [motion], arm.joints).values()}


def _one_of(place: int, runs: Sequence[object]) -> str:
    return f"run {place} of {len(runs)}" if len(runs) > 1 else "the run"


def _size(recording: Recording) -> int:
    return sum(values.nbytes for values in recording.channels.values())


def foresee(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, position_step: float
) -> TwinMotion:
    """Simulate a run that is being recorded, for its live twin."""
    return twin.foresee(model, trajectory, header, start, position_step)


def explain(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, time: Array, position: Array
) -> tuple[Cause, ...]:
    """Explain a motion that left the band of its twin."""
    return twin.explain(model, trajectory, header, start, time, position)


def fitted_overlay(
    session: Path,
    runs: Sequence[str],
    model: ServoModel,
    initial: ServoModel | None,
    dt: float | None,
    supply: Supply,
    judged: tuple[JudgedRun, ...],
    chosen: str,
) -> FitOverlay:
    """Simulate one run as in a fit: the chosen one, or the worst of them if none is chosen.

    initial: model at the start of the search, simulated on the same run; None: not shown.
    judged: the runs' errors under this model, if they are known.
    """
    if not judged:
        recordings = _load(session, runs)
        announce(f"simulating {counted(len(runs), 'run')} with {model.friction.upper()}")
        judged = worst_first(model, recordings, dt=dt, supply=supply)
    (run,) = _load(session, [chosen if chosen in runs else judged[0].id])
    return FitOverlay(model.friction, judged, overlay(model, run, initial, dt=dt, supply=supply))


def course_of_search(folder: Path) -> tuple[CostCurve, ...]:
    """Read the searches of a result from its journal; raise IdentificationError if there is none."""
    from bench_gui.headless.report.traces import read_traces

    traces = read_traces(folder)
    return tuple((trace.friction, trace.repeat, trace.evaluations, trace.best) for trace in traces)
