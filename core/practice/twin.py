"""Possible mounting errors behind the difference between a measured motion and its simulation.

A band around the simulated motion covers the known error of the model. Motion that leaves it for longer than
OUTSIDE_LIMIT has another cause. To find it, the run is simulated again with other loads, gains and zeros. The change
that brings the motion into the band is reported. If several do, all are reported; early in a run they often cannot be
distinguished. Motion unlike that which the model was fitted to is not assessed, since the model itself may be wrong
there. `foresee` and `explain` simulate: run them in a process that may load the compiler. This module does not need Qt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.units import AngleUnit, fixed
from core.motion.recording import RunHeader
from core.motion.trajectories import Trajectory
from core.practice.reach import beyond_reach, peak_speed
from core.servo.model import ServoModel

ERROR_SHARE = 3.0
"""Half width of the band, as a multiple of the model's known mean error."""
ASSUMED_ERROR = 0.02
"""Error assumed for a model that states none [rad]: about that of catalogue models on other units."""
ENCODER_STEPS = 5.0
NARROWEST = 0.01
"""Smallest half width of the band in encoder steps, and in rad: play of gears and joints."""
TIMING = 0.01
"""Widens the band where the motion is fast, by its change in this time [s]: two cycles at 200 Hz."""
OUTSIDE_LIMIT = 0.3
"""Motion outside the band for longer than this is reported [s]."""
CONVINCING = 0.5
"""A cause explains a difference if it leaves at most this share of it."""
AS_GOOD = 1.6
"""Causes whose remainders differ by less than this factor cannot be distinguished."""
FACTORS = np.geomspace(0.2, 5.0, 25)
"""Loads and gains to try, as factors of the values that were set."""
OFFSETS = np.linspace(-0.6, 0.6, 25)
"""Zeros to try [rad]."""
FINER = 9
LOAD, GAIN, ZERO, DIRECTION, SLIP = "load", "gain", "zero", "direction", "slip"


@dataclass(frozen=True)
class Start:
    """The first measured sample of a run, where its simulation begins."""

    position: float
    """Position [rad]."""
    velocity: float
    """Velocity [rad/s]."""
    supply_voltage: float
    """Supply voltage [V]; NaN if the servo does not measure it."""


@dataclass(frozen=True, eq=False)
class TwinMotion:
    """Simulated motion of a run, all (n,)."""

    time: Array
    """Time from the run's first sample [s]."""
    position: Array
    """Position [rad]."""
    half_width: Array
    """Half width of the band [rad]."""
    base: float
    """Half width at standstill [rad]."""
    known: bool
    """True if the model states its error, False if ASSUMED_ERROR stands for it."""
    unknown: str = ""
    """Reason why the model cannot assess this motion, from the runs it was fitted to; empty if it can."""


@dataclass(frozen=True)
class Cause:
    """One explanation: its kind, and the value that explains the motion best."""

    kind: str
    value: float
    """Factor (load, gain), angle (zero) [rad] or time of a slip [s]."""
    remainder: float
    """Share of the difference that it does not explain."""


def half_width(model: ServoModel, position_step: float, velocity: Array) -> tuple[Array, float, bool]:
    """Return the band around a simulated motion of this velocity [rad/s], (n,).

    Returns:
        Half width (n,) and half width at standstill [rad], and True if the model states its error.
    """
    stated, trained = (_error(model.provenance.get(name)) for name in ("validation_mae", "train_mae"))
    known = stated > 0.0
    # On runs it has not seen, a model's error is at least that on the runs it was fitted to.
    error = stated if known else max(trained, ASSUMED_ERROR)
    base = max(ERROR_SHARE * error, ENCODER_STEPS * position_step, NARROWEST)
    return base + TIMING * np.abs(velocity), base, known


def _error(stated: object) -> float:
    """Return an error stated in a model's provenance [rad], 0 if there is none."""
    return float(stated) if isinstance(stated, (int, float)) and math.isfinite(stated) else 0.0


class Watch:
    """Compare a run with its digital twin, sample by sample."""

    def __init__(self, motion: TwinMotion) -> None:
        self._motion = motion
        self._sum = 0.0
        self._inside = 0
        self._outside_since = math.nan
        self.count = 0
        self.alarm_at = math.nan
        """Time at which the motion had been outside the band for too long [s]; NaN if it has not."""

    @property
    def mean(self) -> float:
        """Mean distance from the twin so far [rad]."""
        return self._sum / self.count if self.count else math.nan

    @property
    def share_inside(self) -> float:
        """Share of the samples inside the band, 0 to 1."""
        return self._inside / self.count if self.count else math.nan

    def take(self, time: Array, position: Array) -> None:
        """Compare further samples: time [s] and position [rad], (k,) each."""
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
    """Simulate a whole run from its measured start.

    Raises:
        ServoBenchError: The model cannot simulate the run.
    """
    motion = _simulated(model, trajectory, header, start)
    widths, base, known = half_width(model, position_step, motion.velocity)
    released = not bool(trajectory.torque_enable(motion.time).all())
    speed = peak_speed(motion.time, motion.position)
    unknown = beyond_reach(model, header.bench, header.settings.kp, speed, released)
    return TwinMotion(motion.time, motion.position, widths, base, known, unknown)


def explain(
    model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start, time: Array, position: Array
) -> tuple[Cause, ...]:
    """Return the causes that explain a motion so far: the best one and those that are as good.

    Args:
        model: The model.
        trajectory: Trajectory of the run.
        header: Facts about the run.
        start: First measured sample.
        time: Time [s], (n,).
        position: Measured position [rad], (n,).

    Returns:
        Causes, best first; empty if none explains the motion.

    Raises:
        ServoBenchError: The model cannot simulate the run.
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

    # Loads that the servo cannot lift are not tried.
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
    # The remainder must not exceed the known error of the model.
    convincing = min(CONVINCING, half_width(model, 0.0, np.zeros(1))[1] / whole)
    return _as_good_as_the_best([cause for cause in causes if cause.remainder <= convincing])


def _loaded(header: RunHeader, factor: float) -> RunHeader:
    """Return the header with the load multiplied by a factor."""
    bench = header.bench
    measured = {
        name: None if (value := getattr(bench, name)) is None else factor * value
        for name in ("measured_inertia", "measured_gravity_torque")
    }
    return replace(header, bench=replace(bench, mass=factor * bench.mass, **measured))


def _tuned(header: RunHeader, factor: float) -> RunHeader:
    """Return the header with the gain multiplied by a factor."""
    return replace(header, settings=replace(header.settings, kp=factor * header.settings.kp))


def _zeroed(header: RunHeader, offset: float) -> RunHeader:
    """Return the header of a servo that reads `offset` [rad] when the pendulum hangs; gravity acts from there."""
    return replace(header, bench=replace(header.bench, angle_offset=header.bench.angle_offset - offset))


def _as_good_as_the_best(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the best cause of each kind whose remainder is close to the smallest, best first."""
    causes = sorted(causes, key=lambda c: c.remainder)
    # A slip is a zero that changed. It must explain clearly more than a zero that was wrong from the start.
    best = causes[0].remainder if causes else 0.0
    kept: dict[str, Cause] = {}
    for cause in causes:
        if cause.remainder <= AS_GOOD * best + 0.02:
            kept.setdefault(cause.kind, cause)
    if len(kept) > 1:
        kept.pop(SLIP, None)
    return tuple(kept.values())


def in_words(causes: tuple[Cause, ...], header: RunHeader, unit: AngleUnit) -> str:
    """Return what the user should check, as text."""
    if not causes:
        return "Check load mass, length, zero, direction, and that the horn does not slip"
    return "; or ".join(_sentence(cause, header, unit) for cause in causes)


def _sentence(cause: Cause, header: RunHeader, unit: AngleUnit) -> str:
    value, bench, settings = cause.value, header.bench, header.settings
    if cause.kind == LOAD:
        change = "heavier or further out" if value > 1.0 else "lighter or further in"
        return (
            f"the load is {change} than set: the motion fits {value * bench.mass:.3g} kg at {bench.length:g} m, "
            f"but the bench has {bench.mass:.3g} kg; check mass and length"
        )
    if cause.kind == GAIN:
        return f"the gain differs: the motion fits kp {value * settings.kp:.3g}, but the servo has kp {settings.kp:g}"
    if cause.kind == ZERO:
        digits = 2 if unit.per_radian < 1.5 else 1
        shown = fixed(value * unit.per_radian, digits)
        return f"the zero is off by {shown}{'' if unit.symbol == '°' else ' '}{unit.symbol}; set it again while hanging"
    if cause.kind == DIRECTION:
        return "the direction is reversed: the servo turns opposite to the model"
    return f"the horn slipped after {fixed(value, 1, 's')}: tighten its screw, then set the zero again"


def _simulated(model: ServoModel, trajectory: Trajectory, header: RunHeader, start: Start):
    from core.motion.simulation import simulate_trajectory, with_integration

    step = 1.0 / header.rate
    settings = header.settings
    if math.isfinite(start.supply_voltage) and start.supply_voltage > 0:
        settings = replace(settings, supply_voltage=start.supply_voltage)
    # The time step is never longer than the one the model was identified with.
    fine = with_integration(model, None, max(model.substeps, math.ceil(step / model.step - 1e-6)))
    velocity = start.velocity if math.isfinite(start.velocity) else 0.0
    whole = model if model.leapfrog else fine
    return simulate_trajectory(whole, trajectory, header.bench, settings, step, start.position, velocity)


def _best(kind: str, remainder: Callable[[float], float], values: Array, whole: float) -> Cause:
    """Return the value with the smallest remainder: a coarse search, then a finer one around its best."""
    tried = [remainder(float(value)) for value in values]
    place = int(np.argmin(tried))
    finer = np.linspace(float(values[max(place - 1, 0)]), float(values[min(place + 1, len(values) - 1)]), FINER)
    again = [remainder(float(value)) for value in finer]
    best = int(np.argmin(again))
    value = float(finer[best])
    # A best value at the end of the range is no explanation: the motion has another cause.
    return Cause(kind, value, again[best] / whole if values[0] < value < values[-1] else math.inf)


def _shifted(difference: Array, whole: float) -> Cause:
    """Return a zero that moved without the servo noticing: the same offset everywhere."""
    offset = float(np.median(difference))
    return Cause(ZERO, offset, float(np.abs(difference - offset).mean()) / whole)


def _slipped(time: Array, difference: Array, whole: float) -> Cause:
    """Return a difference that begins with a jump: none before it, an offset after it."""
    if len(time) < 8:
        return Cause(SLIP, float(time[0]), math.inf)
    places = np.unique(np.linspace(len(time) // 8, len(time) - len(time) // 8, 40).astype(int))
    left = [
        np.abs(difference[:k]).sum() + np.abs(difference[k:] - np.median(difference[k:])).sum() for k in places
    ]  # fmt: skip
    best = int(np.argmin(left))
    return Cause(SLIP, float(time[places[best]]), float(left[best]) / len(time) / whole)
