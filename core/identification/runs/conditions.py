"""Suitability of a set of runs: runs that no fit can use, and missing conditions.

A richer model needs richer runs. Another load separates load-dependent friction from Coulomb friction, another gain and
speed separate gain and back-EMF, and releases of the motor show braking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError
from core.base.words import counted
from core.identification.coverage.excitation import AT_LIMIT
from core.identification.request import IdentificationRequest
from core.identification.runs.advice import advice_for
from core.motion.recording import MOTOR_CHANNELS, Recording, require_loads
from core.motion.supply import is_unbuffered
from core.servo.actuator import COMMANDS
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.terms import ANGLE_TERMS, COMMAND_PATH_TERMS

FEWEST_SAMPLES = 20
"""Smallest number of samples of a usable run."""

LONGEST_INTERVAL = 0.5
"""Longest median interval between samples [s]: beyond it no motion of a servo shows, and the time may be in ms."""

IMPOSSIBLE_SPEED = 5.0
"""Speed, in no-load speeds, from which a jump between readings is an error of the reading."""

SLOW = 0.15
"""Share of the no-load speed: slower runs hardly show back-EMF and viscous friction."""
VARIED = 0.05
"""Share of the stall torque over which the load on a joint must range to count as more than one load."""

COARSE = 0.05
"""Mean change of a measured channel from sample to sample, as a share of its mean deviation, that loses motion."""

KNOWN_GAIN, FEWEST_OF_GAIN = 0.005, 50
"""Relative standard error of the gain ratio that a logged duty cycle shows, below which it is known, and the fewest
samples that show it."""

SAME_GAIN, NOMINAL_GAIN = 0.03, 0.02
"""Largest relative distance of the quartiles of the gain ratios of one servo's runs, and the distance from 1 within
which the ratio is 1: a digital control law has no scatter."""

MOST_DUTY = 5.0
"""Logged duty cycle beyond which it is surely in another unit than shares of the supply, and shows no gain."""

ASKED, FEWEST_AT_LIMIT, SAME_LIMIT = 1.1, 20, 0.015
"""Multiple of the largest duty cycle for which the law must ask, the fewest such samples that show a limit of the
output, and the smallest relative distance from the nominal limit that counts."""

FEW_RUNS = 3

IMPORT_AGAIN = "import them again with a column torque_enable, 0 while the motor is released"


class UnusableRuns(IdentificationError):
    """Runs that would spoil any fit."""

    def __init__(self, message: str, runs: Sequence[str]) -> None:
        super().__init__(message)
        self.runs = tuple(runs)
        """Ids of the runs."""

    def __reduce__(self):
        return UnusableRuns, (str(self), self.runs)


class DivergingError(IdentificationError):
    """A simulation diverges on every run, wherever the search starts."""


def suited(request: IdentificationRequest, recordings: Sequence[Recording]) -> IdentificationRequest:
    """Return the request adapted to these recordings.

    Its command is that of the runs, or the measured channel to drive from. A command path without an angle lacks some
    terms. A measured supply voltage includes the sag, so the usual command path then needs no term for it; one that
    alternates shows that nothing buffers the supply, which then sags by the motor's current, not by that of the supply.
    A limit of the output that the logged duty cycle shows joins the usual command path, see `held_terms`.

    Raises:
        UnusableRuns: The runs are commanded in different ways.
    """
    kinds = {request.drive_from} if request.drive_from else {run.command.kind for run in recordings}
    if len(kinds) > 1:
        words = " and by ".join(f"{COMMANDS[kind].words} ({_named_runs(recordings, kind)})" for kind in sorted(kinds))
        raise UnusableRuns(
            f"runs commanded by {words} cannot be fitted together; identify those of one command, with --runs", ()
        )
    request = replace(request, command=kinds.pop()) if kinds else request
    if request.command != "position":
        terms = tuple(term for term in request.command_path if term not in ANGLE_TERMS)
        return replace(request, command_path=terms)
    given = {name for name, *_ in (*request.frozen, *request.bounds)}
    if not _is_usual(request.command_path):
        return request
    shown = tuple(name for name in held_by_duty_cycle(recordings) if name not in request.command_path)
    request = replace(request, command_path=(*request.command_path, *shown))
    pulsed = is_unbuffered(recordings)
    measured = request.supply == "logged" and any("supply_voltage" in run.channels for run in recordings)
    if not (pulsed or measured):
        return request
    kept = [term for term in request.command_path if term != "supply_sag" or term in given]
    return replace(request, command_path=(*kept, "pulse_sag") if pulsed else tuple(kept))


def held_terms(request: IdentificationRequest, recordings: Sequence[Recording]) -> dict[str, float]:
    """Return the terms of the usual command path that a fit holds, since the logged duty cycle shows them, by name.

    A fit of positions hardly separates the gain ratio from k_t and R. What the request holds or bounds stays so.
    """
    given = {name for name, *_ in (*request.frozen, *request.bounds)}
    held = held_by_duty_cycle(recordings) if _is_usual(request.command_path) else {}
    return {name: value for name, value in held.items() if name not in given}


def _is_usual(path: Sequence[str]) -> bool:
    """Return True for the usual command path, with or without the sag of the supply and more terms."""
    return {*COMMAND_PATH_TERMS} - {"supply_sag"} <= {*path}


def held_by_duty_cycle(recordings: Sequence[Recording]) -> dict[str, float]:
    """Return the values of command path terms that the logged duty cycle shows, by name; they are held in a fit."""
    ratio = measured_gain_ratio(recordings)
    if not ratio > 0.0:
        return {}
    limit = _limit_ratio(recordings, ratio)
    return {"error_gain_ratio": ratio} | ({} if limit == 1.0 else {"output_limit_ratio": limit})


def measured_gain_ratio(recordings: Sequence[Recording]) -> float:
    """Return the gain ratio of a servo that the duty cycles of its runs show; NaN if they do not, or disagree."""
    ratios = [*measured_gain_ratios(recordings).values()]
    if not ratios:
        return math.nan
    low, ratio, high = np.percentile(ratios, (25.0, 50.0, 75.0)).tolist()
    if high - low > SAME_GAIN * abs(ratio):
        return math.nan
    return 1.0 if abs(ratio - 1.0) < NOMINAL_GAIN else round(ratio, 3)


def measured_gain_ratios(recordings: Sequence[Recording]) -> dict[str, float]:
    """Return the logged duty cycle over the nominal one, kp × error_gain × error, of each run that shows it, by id."""
    return {run.id: ratio for run in recordings if math.isfinite(ratio := _gain_ratio(run))}


def _limit_ratio(recordings: Sequence[Recording], ratio: float) -> float:
    """Return the actual over the nominal limit of the output, 1 if logged duty cycles show no other.

    Samples at the largest duty cycle of all, where a law with this gain ratio asks for more, show a limit.
    """
    each = [(run, seen) for run in recordings if (seen := _asked_and_measured(run)) is not None]
    largest = max((float(np.abs(duty).max(initial=0.0)) for _, (_, duty) in each), default=0.0)
    at_limit = sum(
        int(np.count_nonzero((ratio * np.abs(asked) > ASKED * largest) & (np.abs(duty) > AT_LIMIT * largest)))
        for _, (asked, duty) in each
    )
    if not largest or at_limit < FEWEST_AT_LIMIT:
        return 1.0
    found = largest / load_servo(each[0][0].settings.servo).control.output_limit
    return 1.0 if abs(found - 1.0) < SAME_LIMIT else round(found, 4)


def _asked_and_measured(run: Recording) -> tuple[Array, Array] | None:
    """Return the duty cycles that a proportional law asks for and the logged ones, while driven; None without these."""
    law, settings, duty = load_servo(run.settings.servo).control, run.settings, run.channels.get("duty_cycle")
    proportional = not (settings.ki * law.integral_ratio or settings.kd * law.derivative_ratio)
    if duty is None or run.command.kind != "position" or law.law != "voltage" or not proportional:
        return None
    driven = run.torque_enable & np.isfinite(duty)
    if np.abs(duty[driven]).max(initial=0.0) > MOST_DUTY:
        return None
    return settings.kp * law.error_gain * (run.goal - run.position)[driven], duty[driven]


def _gain_ratio(run: Recording) -> float:
    """Return the gain ratio of a run; NaN if it is not known.

    A duty cycle of another moment than the position and the goal adds a part proportional to their speeds, an offset of
    the output one in the error's direction. The standard error allows for residuals that are correlated from sample to
    sample, as those of a first-order autoregression.
    """
    seen = _asked_and_measured(run)
    if seen is None or not len(seen[1]):
        return math.nan
    asked, duty = seen
    driven = run.torque_enable & np.isfinite(run.channels["duty_cycle"])
    goal_speed, speed = (np.gradient(values, run.time)[driven] for values in (run.goal, run.position))
    causes: Array = np.column_stack([asked, np.sign(asked), goal_speed, speed])
    limit = min(load_servo(run.settings.servo).control.output_limit, float(np.abs(duty).max()))
    below = (np.abs(duty) < AT_LIMIT * limit) & (duty != 0.0)
    duty, causes = duty[below], causes[below]
    if len(duty) < FEWEST_OF_GAIN or not causes[:, 0].any():
        return math.nan
    found, *_ = np.linalg.lstsq(causes, duty, rcond=None)
    rest = duty - causes @ found
    squares = float(rest @ rest)
    alike = min(max(float(rest[1:] @ rest[:-1]) / squares, 0.0), 0.99) if squares else 0.0
    variance = squares / (len(duty) - len(found)) * float(np.linalg.pinv(causes.T @ causes)[0, 0])
    error = math.sqrt(variance * (1.0 + alike) / (1.0 - alike))
    return float(found[0]) if error < KNOWN_GAIN * abs(float(found[0])) else math.nan


def _named_runs(recordings: Sequence[Recording], kind: str) -> str:
    return ", ".join([run.id for run in recordings if run.command.kind == kind][:3])


def unused_channels(recordings: Sequence[Recording], used: Sequence[str]) -> list[str]:
    """Return the channels measured at the motor that a fit does not use."""
    return [
        name
        for name in MOTOR_CHANNELS
        if name not in used and any(name in (*run.channels, *run.unread) for run in recordings)
    ]


def require_own_motor(recordings: Sequence[Recording]) -> None:
    """Check that no other actuator moved the shaft, since no servo model describes it.

    Raises:
        UnusableRuns: Another actuator moved the shaft; the message names the runs.
    """
    driven = {r.id: r.settings.actuator for r in recordings if r.settings.actuator is not None}
    if not driven:
        return
    run, name = next(iter(driven.items()))
    task = "bench webots fit" if name == "webots" else "bench compliant identify"
    more = f" ({counted(len(driven) - 1, 'more run')} like it)" if len(driven) > 1 else ""
    own = f"not of the {recordings[0].settings.servo}'s own motor"
    raise UnusableRuns(
        f"run {run} is of the actuator {name}, {own}{more}; leave it out, or use {task} for these", list(driven)
    )


def as_own_motor(recording: Recording) -> Recording:
    """Return the run as if the servo's own motor had made it, to compare a servo model with another actuator."""
    return replace(recording, settings=replace(recording.settings, actuator=None, preset=None))


def check_runs(recordings: Sequence[Recording]) -> None:
    """Check that a servo model can be fitted to the runs.

    Raises:
        UnusableRuns: A run is too short, jumps as no servo can, or is of another actuator; the message names the runs.
        InputError: A run is of a robot's joint, without its load.
    """
    require_loads(*recordings)
    require_own_motor(recordings)
    check_motion(recordings)


def check_motion(recordings: Sequence[Recording]) -> None:
    """Check length and speed of the runs.

    Raises:
        UnusableRuns: A run is too short or too coarse, or its position jumps as no servo can; the message names them.
    """
    faults = {recording.id: fault for recording in recordings if (fault := _fault(recording))}
    if not faults:
        return
    first, fault = next(iter(faults.items()))
    more = f" ({counted(len(faults) - 1, 'more run')} like it)" if len(faults) > 1 else ""
    raise UnusableRuns(f"run {first} {fault}{more}; leave it out, or trim it to its good part", list(faults))


def _fault(recording: Recording) -> str:
    if recording.samples < FEWEST_SAMPLES:
        return f"has {counted(recording.samples, 'sample')}, too few to fit to (at least {FEWEST_SAMPLES})"
    interval = float(np.median(np.diff(recording.time)))
    if interval > LONGEST_INTERVAL:
        return (
            f"has one sample every {interval:.3g} s, too coarse for a servo's motion: its time may be in milliseconds"
        )
    spec = load_servo(recording.settings.servo)
    # Sampling times jitter, so no interval counts as shorter than the run's median.
    steps = np.maximum(np.diff(recording.time), interval)
    jumps = np.abs(np.diff(recording.position))
    possible = IMPOSSIBLE_SPEED * spec.no_load_speed * steps + 4.0 * spec.encoder_step
    worst = int(np.argmax(jumps / possible))
    if jumps[worst] > possible[worst]:
        return (
            f"jumps by {jumps[worst]:.3g} rad within {1e3 * steps[worst]:.3g} ms at {recording.time[worst]:.3g} s, "
            "faster than the servo can turn"
        )
    return ""


def missing_conditions(model: ServoModel, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Return the conditions that these runs lack to determine a model, each with a remedy."""
    free = {p.name: p.symbol for p in model.parameters.free}
    advice = advice_for(recordings)
    found: list[str] = []
    if len(recordings) < FEW_RUNS:
        count = counted(len(recordings), "run")
        found.append(f"the fit used only {count}: record {advice.several}")
    by_load = _symbols(free, "load_friction_", "armature")
    if by_load and _one_load(model, recordings):
        found.append(f"every run has the same load: record {advice.loads}, for {by_load}")
    angle = model.control.command == "position"
    if angle and len({r.settings.kp for r in recordings}) == 1 and {"kt", "R"} & set(free):
        by_gain = _symbols(free, "kt", "R", "error_gain_ratio")
        found.append(f"every run has the same gain: record with another kp, for {by_gain}")
    if "release_braking" in free and all(bool(r.torque_enable.all()) for r in recordings):
        remedy = f"no run releases the torque: record {advice.release}"
        found.append(f"{unstated_releases(recordings) or remedy}, for {free['release_braking']}")
    found += _coarse_drive(model, recordings)
    fastest = max(_speed(r) for r in recordings)
    limit = model.spec.no_load_speed
    by_speed = _symbols(free, "friction_viscous", "kt")
    if fastest < SLOW * limit and by_speed:
        found.append(
            f"no run is faster than {fastest:.2g} rad/s, {100 * fastest / limit:.2g} % of the no-load speed: "
            f"record {advice.fast}, for {by_speed}"
        )
    return tuple(found)


def _one_load(model: ServoModel, recordings: Sequence[Recording]) -> bool:
    if not recordings[0].joint:
        return len({(r.bench.inertia, r.bench.gravity_torque) for r in recordings}) == 1
    low, high = np.percentile(np.concatenate([r.external_torque for r in recordings]), [5.0, 95.0])
    return bool(high - low < VARIED * model.spec.stall_torque)


def _coarse_drive(model: ServoModel, recordings: Sequence[Recording]) -> list[str]:
    """Return that a measured channel, which drives the simulation, changes too much between two samples."""
    kind = model.control.command
    driven = [run.commanded(kind).goal for run in recordings if _is_driven_by_measured(kind, run)]
    changes = [float(np.abs(np.diff(x)).mean() / max(np.abs(x - x.mean()).mean(), 1e-9)) for x in driven]
    if not changes or np.mean(changes) < COARSE:
        return []
    name = kind.replace("_", " ")
    return [
        f"the measured {name}, which drives the simulation, changes by {100 * float(np.mean(changes)):.0f} % of its "
        "size from sample to sample, and friction and inertia take what is lost between them: log faster"
        + (", or drive from the duty cycle" if kind == "current" else "")
    ]


def between_samples(model: ServoModel, recordings: Sequence[Recording]) -> list[Recording]:
    """Return runs whose measured channel drives the simulation, with it half a sample blurred; none without such runs.

    What a channel does between two samples is not known, and parameters take the difference.
    """
    kind = model.control.command
    if not any(_is_driven_by_measured(kind, run) for run in recordings):
        return []
    found: list[Recording] = []
    for run in recordings:
        commanded = run.commanded(kind)
        goal = commanded.goal
        blurred = 0.5 * (goal + np.append(goal[1:], goal[-1])) if _is_driven_by_measured(kind, run) else goal
        found.append(replace(commanded, channels={**commanded.channels, commanded.command.channel: blurred}))
    return found


def _is_driven_by_measured(kind: str, run: Recording) -> bool:
    return run.command.kind != kind and kind in MOTOR_CHANNELS and kind in run.channels


def unstated_releases(recordings: Sequence[Recording]) -> str:
    """Say that the table of imported runs of lift_and_drop did not state when the motor was off; empty if all did.

    The importer takes the motor for driven in a table without that column, so that these runs show no release.
    """
    runs = [r for r in recordings if r.trajectory == "lift_and_drop" and r.provenance.get("format") == "table"]
    count = sum(bool(r.torque_enable.all()) for r in runs)
    lack = "lacks" if count == 1 else "lack"
    return (
        f"{counted(count, 'imported run')} of lift_and_drop {lack} the torque's column: {IMPORT_AGAIN}" if count else ""
    )


def _symbols(free: dict[str, str], *prefixes: str) -> str:
    """Return symbols of the free parameters whose names begin with a prefix, e.g. "K_m, K_e"."""
    return ", ".join(symbol for name, symbol in free.items() if name.startswith(prefixes))


def _speed(recording: Recording) -> float:
    """Return the highest speed, ignoring single readings [rad/s]."""
    return float(np.percentile(np.abs(np.gradient(recording.position, recording.time)), 99.0))
