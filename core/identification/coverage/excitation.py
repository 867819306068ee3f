"""Motion of a run: speeds, loads, reversals, breakaways, saturation, release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.identification.coverage.signals import Signals, signals_of, spans
from core.motion.recording import Recording
from core.servo.catalogue import load_servo

REST = 0.01
"""Share of the no-load speed below which a servo is at rest."""

SLOW = 0.1
"""Share of the no-load speed below which friction falls with speed (Stribeck)."""

REST_TIME = 0.05
"""Time for which a servo must be at rest before a breakaway counts [s]."""

REVERSAL_TIME = 0.1
"""Longest time between motion in both directions that counts as a reversal; a longer one is a stop [s]."""

SMALL_ERROR = 0.03
"""Errors at rest below this show a dead band [rad]."""

AT_LIMIT = 0.999

HANDED = 0.003
"""Share of the stall torque that must pass through the gears both ways: less is within the noise of accelerations."""


@dataclass(frozen=True, kw_only=True)
class Excitation:
    """Motion of one run, or of all together."""

    run: str
    """Id of the run; empty for all together."""
    duration: float
    """Duration [s]."""
    speed: float
    """99th percentile of |velocity| [rad/s]."""
    speed_share: float
    """The same as a share of the no-load speed."""
    load_low: float
    load_high: float
    """5th (`load_low`) and 95th percentile of the gravity torque [N·m]."""
    load_share: float
    """Largest of them as a share of the stall torque."""
    reversals: int
    breakaways: int
    slow_share: float
    """Share of the time in motion that is slower than SLOW no-load speeds."""
    saturated_share: float
    """Share of the driven time with the control law's output at its limit."""
    goal_speed_share: float
    """99th percentile of the goal's speed as a share of the no-load speed, or of another command's range per second."""
    resting_errors: int
    """Number of stops with torque on, separated by a breakaway, whose error was below SMALL_ERROR."""
    released_share: float
    """Share of the time with torque off."""
    releases: int
    """Number of phases with torque off in which the servo moved."""
    handovers: int = 0
    """Number of times that the torque through the gears changed its sign."""


def excitation_of(recording: Recording) -> Excitation:
    """Return the motion of one run."""
    s = signals_of(recording)
    spec = load_servo(recording.settings.servo)
    bench = recording.bench
    resting = np.abs(s.velocity) < REST * spec.no_load_speed
    moving = ~resting
    speed = float(np.percentile(np.abs(s.velocity), 99.0))
    load = -bench.gravity_torque * np.sin(s.position + bench.angle_offset)
    if recording.load is not None:
        load = np.interp(s.time, recording.time - recording.time[0], recording.external_torque)
    low, high = np.percentile(load, [5.0, 95.0]).tolist()
    slow = moving & (np.abs(s.velocity) < SLOW * spec.no_load_speed)
    driven = int(s.enable.sum())
    stops = _stops(resting, s.step)
    angle = recording.command.kind == "position"
    errors = [abs(float(np.mean((s.goal - s.position)[a:b]))) for a, b in stops if s.enable[a:b].all() and angle]
    goal_speed = float(np.percentile(np.abs(np.diff(s.goal) / s.step), 99.0)) if len(s.goal) > 1 else 0.0
    # An output or a speed is fast if it changes by all that it has been within a second.
    fast = spec.no_load_speed if angle else max(float(np.ptp(s.goal)), 1e-9)
    return Excitation(
        run=recording.id,
        duration=recording.duration,
        speed=speed,
        speed_share=speed / spec.no_load_speed,
        load_low=low,
        load_high=high,
        load_share=max(abs(low), abs(high)) / spec.stall_torque,
        reversals=_reversals(s, resting),
        breakaways=sum(1 for _, end in stops if end < len(resting)),
        slow_share=float(slow.sum()) / max(int(moving.sum()), 1),
        saturated_share=float((saturated(recording, s) & s.enable).sum()) / driven if driven else 0.0,
        goal_speed_share=goal_speed / fast,
        resting_errors=sum(error < SMALL_ERROR for error in errors),
        released_share=1.0 - driven / len(s.enable),
        releases=_releases(s, moving),
        handovers=_handovers(bench.inertia * s.acceleration - load, HANDED * spec.stall_torque),
    )


def excitation_of_all(each: Sequence[Excitation]) -> Excitation:
    """Combine all runs: extremes of ranges, sums of counts, means of shares weighted by duration."""
    total = sum(e.duration for e in each)

    def mean(name: str) -> float:
        return sum(getattr(e, name) * e.duration for e in each) / total if total > 0 else 0.0

    return Excitation(
        run="",
        duration=total,
        speed=max(e.speed for e in each),
        speed_share=max(e.speed_share for e in each),
        load_low=min(e.load_low for e in each),
        load_high=max(e.load_high for e in each),
        load_share=max(e.load_share for e in each),
        reversals=sum(e.reversals for e in each),
        breakaways=sum(e.breakaways for e in each),
        slow_share=mean("slow_share"),
        saturated_share=mean("saturated_share"),
        goal_speed_share=max(e.goal_speed_share for e in each),
        resting_errors=sum(e.resting_errors for e in each),
        released_share=mean("released_share"),
        releases=sum(e.releases for e in each),
        handovers=sum(e.handovers for e in each),
    )


def saturated(recording: Recording, s: Signals) -> NDArray[np.bool_]:
    """Return where the law's proportional part demands the full output, (n,); delay and speed loop are unknown here."""
    spec, settings, kind = load_servo(recording.settings.servo), recording.settings, recording.command.kind
    law = spec.commanded_by(kind)
    if kind == "velocity":
        return np.zeros(len(s.goal), bool)
    if kind != "position":
        per_unit = law.error_gain / (settings.supply_voltage if kind == "voltage" else 1.0)
        return np.abs(per_unit * s.goal) >= AT_LIMIT * law.output_limit
    asked = law.error_gain * settings.kp * (s.goal - s.position)
    if law.damping:
        damping = law.damping if settings.damping is None else settings.damping
        asked = asked - damping * math.sqrt(settings.kp) * s.velocity
    return np.abs(asked) >= AT_LIMIT * law.output_limit


def _stops(resting: NDArray[np.bool_], step: float) -> list[tuple[int, int]]:
    return [(a, b) for a, b in spans(resting) if (b - a) * step >= REST_TIME]


def _reversals(s: Signals, resting: NDArray[np.bool_]) -> int:
    """Return the number of changes of direction without a stop in between."""
    moving = np.flatnonzero(~resting)
    if len(moving) < 2:
        return 0
    turned = np.sign(s.velocity[moving[1:]]) != np.sign(s.velocity[moving[:-1]])
    return int((turned & (np.diff(moving) * s.step < REVERSAL_TIME)).sum())


def _handovers(passed: Array, least: float) -> int:
    """Return how often the torque through the gears [N·m], (n,), went from beyond `least` one way to it the other."""
    sides = np.sign(passed[np.abs(passed) > least])
    return int(np.count_nonzero(np.diff(sides)))


def _releases(s: Signals, moving: NDArray[np.bool_]) -> int:
    return sum(1 for a, b in spans(~s.enable) if float(moving[a:b].sum()) * s.step >= REST_TIME)
