"""What the difference between a measured motion and its simulation says about the mounting.

A band around the simulated motion holds what the model is known to get wrong. Motion that leaves it for longer than
OUTSIDE_LIMIT has another reason, and the model itself can say which: it is simulated again with another load, another
gain, another zero, and the one that brings it into the band is named. When several do, all are named; early in a run
they often cannot be told apart. A motion unlike those the model was fitted to is not judged: the model itself may be
wrong there. Free of Qt; `foresee` and `explain` simulate and belong into a process that may load the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.arrays import Array
from core.units import AngleUnit, fixed

if TYPE_CHECKING:
    from core.model import ServoModel
    from core.recording import RunHeader
    from core.trajectories import Trajectory


ERROR_SHARE = 3.0
"""The band is this many times the model's known mean error."""
ASSUMED_ERROR = 0.02
"""Known error of a model that does not say how good it is [rad]: about that of catalogue models on other specimens."""
ENCODER_STEPS = 5.0
NARROWEST = 0.01
"""The band is never narrower than so many encoder steps, nor than this [rad]: play of gears and joints."""
TIMING = 0.01
"""Where the motion is fast the band is wider by what it does in this time [s]: two cycles at 200 Hz."""
OUTSIDE_LIMIT = 0.3
"""Motion outside the band for longer than this [s] is reported."""
CONVINCING = 0.5
"""A cause explains a difference when it leaves at most this share of it."""
AS_GOOD = 1.6
"""Causes whose remainders differ by less than this factor cannot be told apart."""
FACTORS = np.geomspace(0.2, 5.0, 25)
"""Loads and gains that are tried, as factors of what was set."""
OFFSETS = np.linspace(-0.6, 0.6, 25)
"""Zeros that are tried [rad]."""
FINER = 9
LOAD, GAIN, ZERO, DIRECTION, SLIP = "load", "gain", "zero", "direction", "slip"


@dataclass(frozen=True)
class Start:
    """The first measured sample of a run, where its simulation begins."""

    position: float
    """[rad]"""
    velocity: float
    """[rad/s]"""
    supply_voltage: float
    """[V], NaN where the servo does not measure it"""


@dataclass(frozen=True, eq=False)
class TwinMotion:
    """What the model does in the run, all (n,)."""

    time: Array
    """s from the run's first sample"""
    position: Array
    """rad"""
    half_width: Array
    """Of the band around it [rad]."""
    base: float
    """Half width where nothing moves [rad]."""
    known: bool
    """Whether the model says how good it is, or ASSUMED_ERROR stands for it."""
    unknown: str = ""
    """Why the model cannot judge this motion, from the runs it was fitted to; empty where it can."""


@dataclass(frozen=True)
class Cause:
    """One explanation: of what kind, and the value that explains the motion best."""

    kind: str
    value: float
    """Factor for load and gain, rad for the zero, s for the moment of a slip."""
    remainder: float
    """Share of the difference it does not explain."""


def half_width(model: ServoModel, position_step: float, velocity: Array) -> tuple[Array, float, bool]:
    """Band around a simulated motion of this velocity (n,) rad/s: half width (n,), its base [rad], whether known."""
    stated, trained = (_error(model.provenance.get(name)) for name in ("validation_mae", "train_mae"))
    known = stated > 0.0
    # On runs it has not seen a model errs at least as much as on those it was fitted to.
    error = stated if known else max(trained, ASSUMED_ERROR)
    base = max(ERROR_SHARE * error, ENCODER_STEPS * position_step, NARROWEST)
    return base + TIMING * np.abs(velocity), base, known


def _error(stated: object) -> float:
    """Error in a model's provenance [rad], 0 where there is none."""
    return float(stated) if isinstance(stated, (int, float)) and math.isfinite(stated) else 0.0


class Watch:
    """Follows a run beside its twin, sample by sample."""

    def __init__(self, motion: TwinMotion) -> None:
        self._motion = motion
        self._sum = 0.0
        self._inside = 0
        self._outside_since = math.nan
        self.count = 0
        self.alarm_at = math.nan
        """When motion had been outside for too long [s]; NaN while it has not."""

    @property
    def mean(self) -> float:
        """Mean distance from the twin so far [rad]."""
        return self._sum / self.count if self.count else math.nan

    @property
    def share_inside(self) -> float:
        """Share of the samples inside the band, 0 … 1."""
        return self._inside / self.count if self.count else math.nan

    def take(self, time: Array, position: Array) -> None:
        """Judge further samples, both (k,), s and rad."""
        motion = self._motion
        time, position = time[time <= motion.time[-1]], position[time <= motion.time[-1]]
        distance = np.abs(position - np.interp(time, motion.time, motion.position))
        inside = distance <= np.interp(time, motion.time, motion.half_width)
        self.count += len(time)
        self._sum += float(distance.sum())
        self._inside += int(inside.sum())
        for moment, good in zip(time.tolist(), inside.tolist(), strict=True):
            if good:
                self._outside_since = math.nan
            elif math.isnan(self._outside_since):
                self._outside_since = moment
            elif moment - self._outside_since > OUTSIDE_LIMIT and math.isnan(self.alarm_at):
                self.alarm_at = moment


def foresee(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, position_step: float
) -> TwinMotion:
    """Simulate a whole run from its measured start. Raises ServoBenchError."""
    from core.identification.evidence.extrapolation import beyond_reach, peak_speed

    motion = _simulated(model, trajectory, header, start)
    widths, base, known = half_width(model, position_step, motion.velocity)
    released = not bool(trajectory.torque_enable(motion.time).all())
    speed = peak_speed(motion.time, motion.position)
    unknown = beyond_reach(model, header.bench, header.settings.kp, speed, released)
    return TwinMotion(motion.time, motion.position, widths, base, known, unknown)


def explain(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, time: Array, position: Array
) -> tuple[Cause, ...]:
    """What explains a motion so far, time (n,) s and position (n,) rad: the best cause and those as good.

    Empty when nothing explains it. Raises ServoBenchError.
    """
    shown = replace(trajectory, duration=max(float(time[-1]), 2.0 / header.rate))

    def remainder(changed: RunHeader) -> float:
        motion = _simulated(model, shown, changed, start)
        return float(np.abs(position - np.interp(time, motion.time, motion.position)).mean())

    simulated = _simulated(model, shown, header, start)
    twin = np.interp(time, simulated.time, simulated.position)
    difference = position - twin
    whole = float(np.abs(difference).mean())
    if whole == 0.0:
        return ()

    # Heavier loads than the servo can lift are not tried.
    liftable = model.spec.stall_torque / max(header.bench.gravity_torque, 1e-9)
    factors = FACTORS[: max(2, int(np.searchsorted(FACTORS, liftable)))]
    causes = [
        _best(LOAD, lambda v: remainder(_loaded(header, v)), factors, whole),
        _best(GAIN, lambda v: remainder(_tuned(header, v)), FACTORS, whole),
        _best(ZERO, lambda v: remainder(_zeroed(header, v)), OFFSETS, whole),
        _shifted(difference, whole),
        _slipped(time, difference, whole),
        Cause(DIRECTION, -1.0, float(np.abs(position + twin).mean()) / whole),
    ]
    # What is left has to be no more than the model is known to get wrong.
    convincing = min(CONVINCING, half_width(model, 0.0, np.zeros(1))[1] / whole)
    return _as_good_as_the_best([cause for cause in causes if cause.remainder <= convincing])


def _loaded(header: RunHeader, factor: float) -> RunHeader:
    """The header with a load so many times as heavy."""
    bench = header.bench
    measured = {
        name: None if (value := getattr(bench, name)) is None else factor * value
        for name in ("measured_inertia", "measured_gravity_torque")
    }
    return replace(header, bench=replace(bench, mass=factor * bench.mass, **measured))


def _tuned(header: RunHeader, factor: float) -> RunHeader:
    """The header with a gain so many times as high."""
    return replace(header, settings=replace(header.settings, kp=factor * header.settings.kp))


def _zeroed(header: RunHeader, offset: float) -> RunHeader:
    """The header of a servo that reads `offset` [rad] where its pendulum hangs: gravity acts that much earlier."""
    return replace(header, bench=replace(header.bench, angle_offset=header.bench.angle_offset - offset))


def _as_good_as_the_best(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """The best cause of each kind that leaves hardly more than the best of all, best first."""
    causes = sorted(causes, key=lambda c: c.remainder)
    # A slip is a zero that changed: it has to explain clearly more than a zero that was off from the start.
    best = causes[0].remainder if causes else 0.0
    kept: dict[str, Cause] = {}
    for cause in causes:
        if cause.remainder <= AS_GOOD * best + 0.02:
            kept.setdefault(cause.kind, cause)
    if len(kept) > 1:
        kept.pop(SLIP, None)
    return tuple(kept.values())


def in_words(causes: tuple[Cause, ...], header: RunHeader, unit: AngleUnit) -> str:
    """What a person checks, in plain words."""
    if not causes:
        return "Check load mass, length, zero, direction, and that the horn does not slip"
    return "; or ".join(_sentence(cause, header, unit) for cause in causes)


def _sentence(cause: Cause, header: RunHeader, unit: AngleUnit) -> str:
    value, bench, settings = cause.value, header.bench, header.settings
    if cause.kind == LOAD:
        change = "heavier or further out" if value > 1.0 else "lighter or further in"
        return (
            f"the load is {change} than set: the motion fits {value * bench.mass:.3g} kg at {bench.length:g} m, "
            f"the bench says {bench.mass:.3g} kg; check mass and length"
        )
    if cause.kind == GAIN:
        return f"the gain differs: the motion fits kp {value * settings.kp:.3g}, the servo was given kp {settings.kp:g}"
    if cause.kind == ZERO:
        digits = 2 if unit.per_radian < 1.5 else 1
        shown = fixed(value * unit.per_radian, digits)
        return f"the zero is off by {shown}{'' if unit.symbol == '°' else ' '}{unit.symbol}; set it again, hanging"
    if cause.kind == DIRECTION:
        return "the direction is reversed: the servo turns the other way than the model"
    return f"the horn slipped after {fixed(value, 1, 's')}: tighten its screw, then set the zero again"


def _simulated(model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start):
    from core.simulation import simulate_trajectory, with_integration

    step = 1.0 / header.rate
    settings = header.settings
    if math.isfinite(start.supply_voltage) and start.supply_voltage > 0:
        settings = replace(settings, supply_voltage=start.supply_voltage)
    # Never coarser than the model was identified with.
    fine = with_integration(model, None, max(model.substeps, math.ceil(step / model.step - 1e-6)))
    velocity = start.velocity if math.isfinite(start.velocity) else 0.0
    whole = model if model.leapfrog else fine
    return simulate_trajectory(whole, trajectory, header.bench, settings, step, start.position, velocity)


def _best(kind: str, remainder: Callable[[float], float], values: Array, whole: float) -> Cause:
    """The value that leaves least, from a coarse look and a finer one around its best."""
    tried = [remainder(float(value)) for value in values]
    place = int(np.argmin(tried))
    finer = np.linspace(float(values[max(place - 1, 0)]), float(values[min(place + 1, len(values) - 1)]), FINER)
    again = [remainder(float(value)) for value in finer]
    best = int(np.argmin(again))
    value = float(finer[best])
    # A value at the end of those tried is not the best one: the motion has another reason.
    return Cause(kind, value, again[best] / whole if values[0] < value < values[-1] else math.inf)


def _shifted(difference: Array, whole: float) -> Cause:
    """A zero that was moved without the servo knowing: the same offset everywhere."""
    offset = float(np.median(difference))
    return Cause(ZERO, offset, float(np.abs(difference - offset).mean()) / whole)


def _slipped(time: Array, difference: Array, whole: float) -> Cause:
    """A difference that begins with a jump: nothing before it, an offset after it."""
    if len(time) < 8:
        return Cause(SLIP, float(time[0]), math.inf)
    places = np.unique(np.linspace(len(time) // 8, len(time) - len(time) // 8, 40).astype(int))
    left = [
        np.abs(difference[:k]).sum() + np.abs(difference[k:] - np.median(difference[k:])).sum() for k in places
    ]  # fmt: skip
    best = int(np.argmin(left))
    return Cause(SLIP, float(time[places[best]]), float(left[best]) / len(time) / whole)
