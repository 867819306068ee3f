"""Causes of a large error that no parameter can absorb: wrong facts of all runs, and another structure of the servo.

The audit looks for facts that differ between runs. This module looks for what they share: a zero that does not hang
down, goals logged at another time, a wrong unit, the other drive or the other control law. Each cause changes the
recordings or the servo in one way. `likeliest` simulates a model under each of them; `explanation` also fits it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.units import milliradians
from core.identification.coverage.audit import best_fit
from core.identification.coverage.findings import CAUSES, Finding, named_runs
from core.identification.coverage.problem import AS_WRITTEN, Correction, Problem
from core.identification.runs.advice import advice_for
from core.identification.runs.folds import balanced_subset
from core.identification.search.objective import Batch
from core.identification.search.steps import one_blas_thread
from core.motion.recording import Recording
from core.motion.simulation import on_grid, sampling_interval
from core.servo.actuator import DRIVES, FAST_DECAY, SLOW_DECAY, ControlLaw
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import COAST_TERMS, Supply

POOR = 0.1
"""Mean error above which a fact is wrong rather than a parameter [rad]."""

NOTICED, OBVIOUS = 0.02, 0.3
"""A cause is also named for a mean error above NOTICED [rad] of which it leaves at most the share OBVIOUS."""

EXPLAINS = 0.6
"""A cause is named if the runs fit with at most this share of the error."""

PROMISING = 0.8
"""Causes beside the best one are fitted as well if it leaves at most this share of the error."""

MOST_NAMED = 3
"""Number of causes that are named for a model that is not fitted."""

ALIKE = 0.1
"""Largest difference of sampling intervals, as a share, for which a shift by rows is one time."""

APART = 5.0
"""Ratio of a run's error to that of the best run from which its own facts are in question, not those of all runs."""

TURNS = tuple(math.radians(degrees) for degrees in (*range(15, 181, 15), *range(-165, 0, 15)))
"""Angles between the stated zero and the real one [rad]."""

ROWS = (-32, -24, -16, -12, -8, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LONGEST_SHIFT = 0.3
"""Numbers of samples, and the longest time [s], by which goals may be logged early (positive) or late."""

FRICTION = "m4"
DELAY_SPREAD, SHARE_OF_ROW = 0.009, 0.95
"""A servo's delay may exceed that of its shipped M4 by DELAY_SPREAD [s], or be SHARE_OF_ROW of the time between rows.

Without a shipped model, it may be as long as a fit tries.
"""

FACTORS = (0.1, 0.25, 0.5, 0.7, 1.4, 2.0, 4.0, 10.0)
"""Actual over stated value of a header fact; 10 is a decimal sign, 2 and 4 a unit or a forgotten part."""

MOST_MOTION = 24.0
"""Seconds of motion with which causes are compared; more runs are left out, every condition kept."""
STEP = 0.01
"""Smallest sample time of the comparison [s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cause:
    """One change that may explain an error."""

    kind: str
    """One of CAUSES."""
    text: str
    """Change, e.g. "the zero turned by +180°"."""
    remedy: str
    model: ServoModel
    recordings: tuple[Recording, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs and settings with which causes are compared."""

    dt: float | None = None
    supply: Supply = "logged"
    threads: int | None = None

    def error(self, model: ServoModel, recordings: Sequence[Recording], vectors: Array | None = None) -> float:
        """Return the mean absolute error [rad], the smallest of candidates (p, n) if there are any."""
        batch = Batch(model, recordings, dt=self.dt, supply=self.supply, threads=self.threads)
        errors = np.nan_to_num(batch.scores(vectors).mae, nan=np.inf).mean(axis=0)
        return float(np.min(errors))


def compared(recordings: Sequence[Recording], dt: float | None) -> tuple[list[Recording], float]:
    """Return the runs with which causes are compared, and their sample time [s]."""
    finest = min(on_grid(recording, dt)[1] for recording in recordings)
    longest = max(recording.duration for recording in recordings)
    count = max(1, int(MOST_MOTION / longest)) if longest > 0.0 else 1
    return balanced_subset(recordings, min(count, len(recordings))), max(finest, STEP)


def causes(model: ServoModel, recordings: Sequence[Recording]) -> Iterator[list[Cause]]:
    """Yield the causes of each kind."""
    own = all(run.command.kind == model.control.command for run in recordings)
    advice = advice_for(recordings)
    goals = "the goals" if own else f"the measured {model.control.command.replace('_', ' ')}"
    recordings = [run.commanded(model.control.command) for run in recordings]

    def each(kind: str, text: str, remedy: str, change: Callable[[Recording], Recording]) -> Cause:
        return Cause(kind=kind, text=text, remedy=remedy, model=model, recordings=tuple(map(change, recordings)))

    yield [
        each("zero", f"the zero turned by {math.degrees(turn):+.0f}°", f"{advice.zero} {turn:+.2f} rad", turned(turn))
        for turn in TURNS
    ]
    interval = sampling_interval(recordings)
    alike = own and all(math.isclose(sampling_interval([run]), interval, rel_tol=ALIKE) for run in recordings)
    moved = "; import shifts the goals of tables by --goal-shift" if alike else ""
    shifts = [
        each(
            "time",
            f"{goals} {1e3 * abs(rows) * interval:.3g} ms {'earlier' if rows > 0 else 'later'}",
            f"check when {goals.partition(' ')[2]} and positions are read{moved and f'{moved} {-rows}'}",
            shifted(rows),
        )
        for rows in ROWS
        if abs(rows) * interval <= LONGEST_SHIFT
    ]
    if shifts:
        yield shifts
    remedy = f"check the sign of {goals.partition(' ')[2]} and positions, and invert one of them"
    yield [each("sign", f"{goals} inverted", remedy, _inverted)]
    for kind, title, remedy in (
        ("mass", "the load", f"check {advice.masses}"),
        ("kp", "the gain kp", "read the gain back from the servo, and correct kp of these runs"),
        ("supply_voltage", "the supply voltage", "measure the supply at the servo, and correct it"),
    ):
        if kind == "kp" and model.control.command != "position":
            continue
        yield [
            each(kind, f"{factor:g} times {title}", remedy, replace(AS_WRITTEN, **{kind: math.log(factor)}).recording)
            for factor in FACTORS
        ]
    control = model.control
    remedy = f'check law (now "{control.law}") and drive (now "{control.drive}") in the servo file'
    for kind, other in structures(model):
        yield [
            Cause(
                kind=kind,
                text=_structure_text(control, other.control),
                remedy=remedy,
                model=other,
                recordings=tuple(recordings),
            )
        ]


def with_delay(model: ServoModel, interval: float) -> ServoModel:
    """Return the model with a delay of the command that its servo may have, if it has none.

    Args:
        model: The model.
        interval: Time between rows [s].
    """
    if "command_delay" in model.parameters:
        return model
    delay = Parameter.of_term("command_delay")
    longest = delay.upper
    if FRICTION in shipped_models(model.servo):
        longest = load_model(model.servo, FRICTION).values.get("command_delay", delay.value) + DELAY_SPREAD
    longest = max(longest, SHARE_OF_ROW * interval)
    delay = replace(delay, value=0.5 * longest, lower=0.0, upper=longest)
    return model.with_parameters(ParameterSet([*model.parameters.values(), delay]))


def _structure_text(control: ControlLaw, other: ControlLaw) -> str:
    law = "" if other.law == control.law else f"a {other.law} law"
    drive = "" if other.drive == control.drive or other.law == "current" else other.drive
    return " and ".join(filter(None, (law, drive)))


def structures(model: ServoModel) -> list[tuple[str, ServoModel]]:
    """Return the model with the other drive and the other control law, each with the kind of the cause.

    The other law has the same gain and limit for a motor at rest at the nominal supply.
    """
    control = model.control
    if control.command != "position":
        return []
    stall = model.supply_voltage / model.values["R"]
    if control.law == "voltage":
        (other,) = (drive for drive in DRIVES if drive != control.drive)
        current = replace(
            control, law="current", drive=SLOW_DECAY, current_limit=0.0,
            error_gain=control.error_gain * stall, output_limit=control.output_limit * stall,
        )  # fmt: skip
        found = [("drive", replace(control, drive=other, current_limit=0.0)), ("law", current)]
    else:
        voltage = replace(
            control, law="voltage", damping=0.0,
            error_gain=control.error_gain / stall, output_limit=min(1.0, control.output_limit / stall),
        )  # fmt: skip
        found = [("law", replace(voltage, drive=drive)) for drive in DRIVES]
    return [(kind, _controlled(model, law)) for kind, law in found]


def _controlled(model: ServoModel, control: ControlLaw) -> ServoModel:
    known = {name: p for name, p in model.parameters.items() if name not in COAST_TERMS}
    if control.drive == FAST_DECAY:
        known |= {name: model.parameters.get(name) or Parameter.of_term(name) for name in COAST_TERMS}
    return replace(model, control=control, parameters=ParameterSet(list(known.values())))


def standing_apart(
    model: ServoModel, recordings: Sequence[Recording], *, supply: Supply = "logged", threads: int | None = None
) -> Finding | None:
    """Return the likeliest cause of a large error of some runs only; None if there is none.

    A fit to wrong runs fits the right ones badly, too, so known values are tried beside the model's own.

    Args:
        model: Fitted model.
        recordings: Its runs.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
    """
    vectors = np.array([model.parameters.vector(), *_known(model)])
    batch = Batch(model, recordings, supply=supply, threads=threads)
    errors = np.nan_to_num(batch.scores(vectors).mae, nan=math.inf)
    # The values with which most runs fit: the geometric mean hardly depends on how far the others are off.
    place = int(np.argmin(np.log(errors).mean(axis=0)))
    each = errors[:, place].tolist()
    if len(apart(each)) in (0, len(each)):
        return None
    known = replace(model, parameters=model.parameters.with_vector(vectors[place]), provenance={})
    return unexplained(known, recordings, each, supply=supply, threads=threads)


def likeliest(model: ServoModel, recordings: Sequence[Recording], how: Comparison) -> list[tuple[Cause, float]]:
    """Return the best cause of each kind with the model's error under it [rad], the smallest error first."""
    best = [_best_of(same, how, model, None) for same in causes(model, recordings)]
    return sorted(best, key=lambda pair: pair[1])


def _best_of(same: Sequence[Cause], how: Comparison, model: ServoModel, vectors: Array | None) -> tuple[Cause, float]:
    """Return the cause with the smallest error [rad], of candidates (p, n) or the model's own values."""
    errors = [how.error(one.model, one.recordings, _of_free(one.model, model, vectors)) for one in same]
    place = int(np.argmin(errors))
    return same[place], errors[place]


def _of_free(other: ServoModel, model: ServoModel, vectors: Array | None) -> Array | None:
    """Return candidates of a model as candidates of the same one with another structure."""
    if vectors is None or other is model:
        return vectors
    names = [p.name for p in model.parameters.free]
    known = [{n: v for n, v in zip(names, row, strict=True) if n in other.parameters} for row in vectors.tolist()]
    return np.array([other.parameters.with_values(values).vector() for values in known])


@one_blas_thread()
def explanation(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
    kinds: Collection[str] = tuple(CAUSES),
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Finding | None, tuple[str, ...]]:
    """Fit the model under the best cause of each kind.

    Args:
        model: Fitted model.
        recordings: Its runs.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
        kinds: Kinds of causes to try.
        should_stop: Polled between fits.

    Returns:
        The cause with which the runs fit best, if it removes enough of the error, and the kinds that were tried.
    """
    runs, step = compared(recordings, dt)
    how = Comparison(dt=step, supply=supply, threads=threads)
    vectors = np.array([model.parameters.vector(), *_known(model)])

    def fitted(model: ServoModel, runs: Sequence[Recording]) -> float:
        problem = Problem(model, runs, dt=step, supply=supply, threads=threads)
        return float(np.mean([np.abs(residuals).mean() for residuals in best_fit(problem).residuals]))

    error = min(how.error(model, runs), fitted(model, runs))
    best, cause, beside, alone = error, None, [], error
    tried: list[str] = []
    for same in causes(model, runs):
        if same[0].kind not in kinds or should_stop():
            continue
        if same[0].kind == "time":
            # The command's delay takes what is left of a shift, and what it explains alone is no shift.
            free = with_delay(model, sampling_interval(runs))
            same, alone = [replace(one, model=free) for one in same], fitted(free, runs)
        likely, _ = _best_of(same, how, model, vectors)
        found = fitted(likely.model, likely.recordings)
        tried += [likely.kind] if likely.kind not in tried else []
        if found < best and (likely.kind != "time" or found <= EXPLAINS * alone):
            best, cause, beside = found, likely, same
    if cause is None or best > PROMISING * error:
        return None, tuple(tried)
    # The parameters that chose it were those of a wrong fit, so one beside it may be better still.
    place, better = beside.index(cause), True
    while better and not should_stop():
        better = False
        for near in (place - 1, place + 1):
            if 0 <= near < len(beside):
                found = fitted(beside[near].model, beside[near].recordings)
                if found < best:
                    best, cause, better = found, beside[near], True
        place = beside.index(cause)
    if best > min(EXPLAINS * error, POOR):
        return None, tuple(tried)
    text = f"with {cause.text} the same runs fit at {milliradians(best)} mrad instead of {milliradians(error)}"
    return (
        Finding(kind=f"cause_{cause.kind}", severity="warning", text=text, remedy=cause.remedy),
        tuple(tried),
    )


def unexplained(
    model: ServoModel,
    recordings: Sequence[Recording],
    errors: Sequence[float],
    *,
    supply: Supply = "logged",
    threads: int | None = None,
) -> Finding | None:
    """Return the likeliest causes of a large error of a model that fits other runs; None if there are none.

    Args:
        model: The model.
        recordings: The recordings on which it errs.
        errors: Its mean absolute error on each of them [rad].
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.
    """
    every, total = range(len(errors)), len(recordings)
    erring = apart(errors) or every
    if len(erring) < total:
        # Runs that hardly show a fact that all share do not stand apart.
        together = min(NOTICED, OBVIOUS * float(np.mean(errors)))
        runs, step = compared(recordings, None)
        if likeliest(model, runs, Comparison(dt=step, supply=supply, threads=threads))[0][1] <= together:
            erring = every
    recordings = [recordings[place] for place in erring]
    error = float(np.mean([errors[place] for place in erring]))
    elsewhere = model.provenance.get("train_mae")
    if not error > NOTICED or (isinstance(elsewhere, float) and elsewhere > 0.5 * error):
        return None
    ids = tuple(recording.id for recording in recordings) if len(recordings) < total else ()
    where = f" in {named_runs(ids)}" if ids else ""
    runs, step = compared(recordings, None)
    how = Comparison(dt=step, supply=supply, threads=threads)
    named = [(cause, left) for cause, left in likeliest(model, runs, how) if left < error][:MOST_NAMED]
    if error <= POOR:
        if not named or named[0][1] > OBVIOUS * error:
            return None
        cause, left = named[0]
        text = f"with {cause.text} the model errs by {milliradians(left)} mrad instead of {milliradians(error)}{where}"
        return Finding(kind=f"cause_{cause.kind}", severity="warning", runs=ids, text=text, remedy=cause.remedy)
    points = f"the error of {milliradians(error)} mrad{where} points to a wrong fact, not to a wrong parameter"
    if not named:
        text = f"{points}. None of the likely causes explains it alone ({', '.join(CAUSES.values())})"
        remedy = "simulate these runs one by one, and check the facts of each"
        return Finding(kind="cause_", severity="warning", runs=ids, text=text, remedy=remedy)
    listed = "; ".join(f"{cause.text} ({milliradians(left)} mrad)" for cause, left in named)
    sure = named[:1] if named[0][1] <= EXPLAINS * error else named
    remedies = "; or ".join(dict.fromkeys(cause.remedy for cause, _ in sure))
    return Finding(
        kind=f"cause_{named[0][0].kind}",
        severity="warning",
        runs=ids,
        text=f"{points}. The likeliest causes, with the error that each would leave: {listed}",
        remedy=remedies,
    )


def apart(errors: Sequence[float]) -> list[int]:
    """Return the places of runs that err far more than the best one; empty if none or nearly all do."""
    least = max(NOTICED, APART * min(errors))
    return [place for place, error in enumerate(errors) if not error <= least]


def _known(model: ServoModel) -> list[Array]:
    """Return start values of a fit: those of the servo file, and of a shipped model."""
    shipped = shipped_models(model.servo)
    starts = [{p.name: p.value for p in model.spec.parameters(model.friction, model.command_path).values()}]
    if shipped:
        near = model.friction if model.friction in shipped else shipped[-1]
        starts.append({**starts[0], **load_model(model.servo, near).values})
    found: list[Array] = []
    for values in starts:
        within = {p.name: min(max(values[p.name], p.lower), p.upper) for p in model.parameters.free if p.name in values}
        found.append(model.parameters.with_values(within).vector())
    return found


def turned(turn: float) -> Callable[[Recording], Recording]:
    """Return a function that turns the zero of a run by an angle [rad]."""
    return Correction(angle_offset=turn).recording


def shifted(rows: int) -> Callable[[Recording], Recording]:
    """Return a function that moves the goals of a run by a number of samples, earlier if it is positive."""

    def change(recording: Recording) -> Recording:
        goal = np.asarray(recording.goal)
        places = np.clip(np.arange(len(goal)) + rows, 0, len(goal) - 1)
        return replace(recording, channels={**recording.channels, recording.command.channel: goal[places]})

    return change


def _inverted(recording: Recording) -> Recording:
    return replace(recording, channels={**recording.channels, recording.command.channel: -np.asarray(recording.goal)})
