"""Trajectories for the bench (seed 004, section V-A): goal position and torque enable over time.

Names are those of Rhoban/bam, which existing recordings use; ALIASES maps the paper's names to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.arrays import Array
from core.base.errors import InputError
from core.servo.parameters import Parameter, ParameterSet

HALF_TURN = math.pi


@dataclass(frozen=True)
class Trajectory:
    """Goal position and torque enable over time.

    Example:
        >>> sb.make_trajectory("sin_sin", duration=4.0).goal([0.0]).shape
        (1,)
    """

    name: str
    title: str
    duration: float
    """Duration [s]."""
    parameters: ParameterSet
    goal_function: Callable[[Array, Mapping[str, float]], Array]
    enable_function: Callable[[Array, Mapping[str, float]], NDArray[np.bool_]]

    def goal(self, time: ArrayLike) -> Array:
        """Return the goal position [rad] at times (n,) [s]; before 0 and after the end, the nearest value."""
        clipped = np.clip(np.asarray(time, dtype=np.float64), 0.0, self.duration)
        return self.goal_function(clipped, self.parameters.numbers())

    def torque_enable(self, time: ArrayLike) -> NDArray[np.bool_]:
        """Return True where the motor is driven, at times (n,) [s]."""
        return self.enable_function(np.asarray(time, dtype=np.float64), self.parameters.numbers())

    def preview(self, rate: float = 1000.0) -> TrajectoryPreview:
        """Return curve and extremes of the goal, sampled at `rate` [Hz]."""
        time = np.arange(round(self.duration * rate) + 1) / rate
        goal = self.goal(time)
        velocity = np.gradient(goal, time)
        return TrajectoryPreview(
            time=time,
            goal=goal,
            lowest=float(goal.min()),
            highest=float(goal.max()),
            peak_velocity=float(np.abs(velocity).max()),
        )


@dataclass(frozen=True, eq=False)
class TrajectoryPreview:
    """Curve and extremes to check before a run: time [s] and goal [rad], (n,); angles [rad]; speed [rad/s]."""

    time: Array
    goal: Array
    lowest: float
    highest: float
    peak_velocity: float


def _length(name: str, symbol: str, unit: str, value: float, upper: float, description: str) -> Parameter:
    return Parameter(name=name, symbol=symbol, unit=unit, value=value, lower=0.0, upper=upper, description=description)


def _angle(name: str, symbol: str, value: float, description: str) -> Parameter:
    return Parameter(
        name=name,
        symbol=symbol,
        unit="rad",
        value=value,
        lower=-HALF_TURN,
        upper=HALF_TURN,
        description=description,
    )


def cubic_hermite(time: Array, knots: list[tuple[float, float]]) -> Array:
    """Interpolate cubically between knots (time [s], value [rad]) with zero slope at each; constant outside."""
    times = np.array([t for t, _ in knots])
    values = np.array([value for _, value in knots])
    segment = np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(knots) - 2)
    x = np.clip((time - times[segment]) / (times[segment + 1] - times[segment]), 0.0, 1.0)
    return values[segment] + (values[segment + 1] - values[segment]) * (3.0 - 2.0 * x) * x * x


def _always(time: Array, p: Mapping[str, float]) -> NDArray[np.bool_]:
    return np.ones(np.shape(time), dtype=bool)


def _sin_time_square(t: Array, p: Mapping[str, float]) -> Array:
    return p["amplitude"] * np.sin(p["acceleration"] * t * t)


def _sin_sin(t: Array, p: Mapping[str, float]) -> Array:
    slow = np.sin(p["slow_frequency"] * t) * p["slow_amplitude"]
    return slow + p["fast_amplitude"] * np.sin(p["fast_frequency"] * t) * np.sin(p["beat_frequency"] * t)


def _up_and_down(t: Array, p: Mapping[str, float]) -> Array:
    knots = [(0.0, 0.0), (p["raise_time"], p["top"]), (p["raise_time"] + p["lower_time"], p["end"])]
    return cubic_hermite(t, knots)


def _lift_and_drop(t: Array, p: Mapping[str, float]) -> Array:
    return cubic_hermite(t, [(0.0, 0.0), (p["lift_time"], p["top"])])


def _lift_enable(t: Array, p: Mapping[str, float]) -> NDArray[np.bool_]:
    return t < p["lift_time"]


def _half_sine(t: Array, p: Mapping[str, float]) -> Array:
    return p["amplitude"] * np.abs(np.sin(math.pi * t / p["period"]))


def _steps(t: Array, p: Mapping[str, float]) -> Array:
    return p["amplitude"] * (np.floor(t / p["hold_time"] + 1e-9) % 2.0)


def _nothing(t: Array, p: Mapping[str, float]) -> Array:
    return np.zeros(np.shape(t))


def _released(t: Array, p: Mapping[str, float]) -> NDArray[np.bool_]:
    return np.zeros(np.shape(t), dtype=bool)


def _chirp(t: Array, p: Mapping[str, float]) -> Array:
    start, end, duration = p["start_frequency"], p["end_frequency"], p["sweep_time"]
    phase = 2.0 * math.pi * (start * t + 0.5 * (end - start) / duration * t * t)
    return p["amplitude"] * np.sin(phase)


_QUARTER = math.pi / 2.0

_LIBRARY: dict[str, Trajectory] = {
    trajectory.name: trajectory
    for trajectory in (
        Trajectory(
            "sin_time_square",
            "Accelerated oscillations",
            6.0,
            ParameterSet(
                [
                    _angle("amplitude", "A", 1.0, "amplitude of the oscillation"),
                    _length("acceleration", "a", "rad/s²", 1.0, 20.0, "phase is a·t²"),
                ]
            ),
            _sin_time_square,
            _always,
        ),
        Trajectory(
            "sin_sin",
            "Slow with sub-oscillations",
            6.0,
            ParameterSet(
                [
                    _angle("slow_amplitude", "A₁", _QUARTER, "amplitude of the slow oscillation"),
                    _length("slow_frequency", "ω₁", "rad/s", 1.0, 50.0, "frequency of the slow oscillation"),
                    _angle("fast_amplitude", "A₂", 0.5, "amplitude of the sub-oscillation"),
                    _length("fast_frequency", "ω₂", "rad/s", 5.0, 50.0, "frequency of the sub-oscillation"),
                    _length("beat_frequency", "ω₃", "rad/s", 2.0, 50.0, "frequency of its envelope"),
                ]
            ),
            _sin_sin,
            _always,
        ),
        Trajectory(
            "up_and_down",
            "Raise and lower slowly",
            6.0,
            ParameterSet(
                [
                    _angle("top", "θ₁", _QUARTER, "highest goal"),
                    _angle("end", "θ₂", 0.8 * _QUARTER, "goal at the end"),
                    _length("raise_time", "t₁", "s", 3.0, 60.0, "duration of the way up"),
                    _length("lower_time", "t₂", "s", 3.0, 60.0, "duration of the way down"),
                ]
            ),
            _up_and_down,
            _always,
        ),
        Trajectory(
            "lift_and_drop",
            "Lift and drop",
            6.0,
            ParameterSet(
                [
                    _angle("top", "θ₁", -_QUARTER, "goal at which the motor is released"),
                    _length("lift_time", "t₁", "s", 2.0, 60.0, "duration of the lift"),
                ]
            ),
            _lift_and_drop,
            _lift_enable,
        ),
        Trajectory(
            "half_sine",
            "Half sines",
            6.0,
            ParameterSet(
                [
                    _angle("amplitude", "A", _QUARTER, "highest goal"),
                    _length("period", "T", "s", 3.0, 60.0, "duration of one half sine"),
                ]
            ),
            _half_sine,
            _always,
        ),
        Trajectory(
            "steps",
            "Steps",
            6.0,
            ParameterSet(
                [
                    _angle("amplitude", "A", 0.6, "height of a step"),
                    _length("hold_time", "T", "s", 1.0, 60.0, "duration of each level"),
                ]
            ),
            _steps,
            _always,
        ),
        Trajectory("nothing", "Nothing (released)", 6.0, ParameterSet(), _nothing, _released),
        Trajectory(
            "chirp",
            "Chirp",
            10.0,
            ParameterSet(
                [
                    _angle("amplitude", "A", 0.3, "amplitude of the oscillation"),
                    _length("start_frequency", "f₁", "Hz", 0.1, 50.0, "frequency at the start"),
                    _length("end_frequency", "f₂", "Hz", 4.0, 50.0, "frequency at the end of the sweep"),
                    _length("sweep_time", "T", "s", 10.0, 600.0, "duration of the sweep"),
                ]
            ),
            _chirp,
            _always,
        ),
    )
}

PAPER_TRAJECTORIES = ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop")
"""The four trajectories of seed 004, section V-A."""

ALIASES = {
    "accelerated_oscillations": "sin_time_square",
    "slow_oscillations": "sin_sin",
    "raise_and_lower": "up_and_down",
}


def trajectory_names() -> tuple[str, ...]:
    """Return the names in the order in which they are listed to the user."""
    return tuple(_LIBRARY)


def canonical_name(name: str) -> str:
    """Resolve an alias; an unknown name is returned as it is, since recordings may have their own."""
    return ALIASES.get(name, name)


def title_of(name: str) -> str:
    """Return the title of a trajectory, or its name if it is unknown."""
    known = _LIBRARY.get(canonical_name(name))
    return name if known is None else known.title


def make_trajectory(name: str, duration: float | None = None, **parameters: float) -> Trajectory:
    """Return a trajectory of the library, with some of its parameters changed.

    Args:
        name: Name or alias, e.g. "sin_sin".
        duration: Duration [s]. Default: the library's.
        parameters: Parameters by name, in SI units.

    Raises:
        InputError: The name is unknown, or a value is out of bounds.

    Example:
        >>> sb.make_trajectory("chirp", end_frequency=2.0).duration
        10.0
    """
    try:
        base = _LIBRARY[canonical_name(name)]
    except KeyError:
        raise InputError(f"no trajectory named {name!r}; there are {', '.join((*_LIBRARY, *ALIASES))}") from None
    length = base.duration if duration is None else float(duration)
    if not (math.isfinite(length) and length > 0):
        raise InputError(f"trajectory {name}: a duration of {length} s is not possible")
    changed = base.parameters.with_values(parameters)
    for parameter in changed.values():
        zero_time = parameter.unit == "s" and parameter.value <= 0
        if not parameter.lower <= parameter.value <= parameter.upper or zero_time:
            raise InputError(
                f"trajectory {name}: {parameter.name} = {parameter.value} {parameter.unit} "
                f"is outside [{parameter.lower}, {parameter.upper}]"
            )
    return replace(base, duration=length, parameters=changed)


def recorded_trajectory(name: str, time: ArrayLike, goal: ArrayLike, torque_enable: ArrayLike) -> Trajectory:
    """Return a trajectory that replays and holds recorded commands, (n,) each: time [s], goal [rad], torque enable."""
    times = np.asarray(time, dtype=np.float64) - np.asarray(time, dtype=np.float64)[0]
    goals = np.asarray(goal, dtype=np.float64)
    enables = np.asarray(torque_enable, dtype=bool)

    def held(t: Array) -> NDArray[np.int64]:
        return np.clip(np.searchsorted(times, t + 1e-9, side="right") - 1, 0, len(times) - 1)

    return Trajectory(
        name,
        f"Recorded: {name}",
        float(times[-1]),
        ParameterSet(),
        lambda t, p: goals[held(t)],
        lambda t, p: enables[held(t)],
    )
