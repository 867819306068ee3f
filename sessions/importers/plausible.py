"""Plausibility checks that find values in the wrong unit before anything is stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.motion.refresh import rows_a_reading
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from core.servo.settings import ServoSettings
from sessions.importers.columns import SI_UNITS, Column, goal_of, units_of
from sessions.importers.rows import GOAL

MOST_OF_NO_LOAD = 1.5
"""Multiple of the no-load speed; a falling load may drive the servo a little faster than that speed."""
SUSTAINED = 95.0
"""Percentile of the speeds that is checked, so that a glitch of the encoder does not count as a wrong unit."""
SMOOTHED = 5
"""Samples over which positions are averaged before their speed is computed."""
MOST_TURNS = 2.0
"""Largest span of the position that follows a goal angle: a pendulum on a bench does not wind up further."""
ALIKE = 5.0
"""Largest ratio of the spans of goal and position in a suggested unit."""
MOST_OF_RATING, MOST_OF_SUPPLY = 3.0, 1.5
"""Multiples of ratings a commanded speed, current or torque, a load, and a commanded voltage may reach; many are rough.
"""
LEAST_OF_LIMIT = 1e-3
"""Smallest share of that limit that the right unit may give."""
PER_COUNT = 3.05e-5
"""Duty cycle of one count of 16 bits."""
ALIGNED = 0.97
"""Least correlation between the position and the integral of the measured speed."""
MOST_APART = 0.1
"""Largest relative difference between their ratio and that of two units."""
FAR_FROM_SUPPLY = 5.0
"""Factor beyond the range of a servo's supply at which a voltage is none, or in another unit, such as 0.1 V."""
LONGEST_STEP, SHORTEST_STEP = 1.0, 20e-6
"""Range of the median time between samples [s]."""

_TIME_UNITS = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "s": 1.0}
_ANGLE_UNITS = {"deg": math.pi / 180.0, "counts": math.nan, "rev": 2.0 * math.pi, "rad": 1.0}
"""Units tried as the right one, in this order. The size of a count is the servo's."""


def check_conditions(bench: Bench, settings: ServoSettings, servo: ServoSpec, goals: NDArray[Any]) -> list[str]:
    """Check the stated conditions of a run, and return phrases on those that are possible but unusual.

    Args:
        bench: The bench.
        settings: Settings of the servo.
        servo: The servo.
        goals: Goal angles while the torque is on; empty if the servo is commanded otherwise.

    Raises:
        InputError: for a condition under which nothing could have moved as recorded.
    """
    low, high = servo.supply_range
    volts = settings.supply_voltage
    if not low / FAR_FROM_SUPPLY <= volts <= FAR_FROM_SUPPLY * high:
        raise InputError(
            f"a supply of {volts:g} V cannot be: {servo.name} runs on {low:g} to {high:g} V; state that of the run [V]"
        )
    if goals.size and np.ptp(goals) and not settings.kp:
        raise InputError("a gain kp of 0 cannot be: the goal moves while the torque is on; state that of the run")
    if bench.gravity_torque > MOST_OF_RATING * servo.stall_torque:
        raise InputError(f"{servo.too_weak(bench)}; state its mass [kg] and its distance from the shaft [m]")
    if bench.inertia:
        return []
    if bench.measured_inertia is None and not (bench.mass or bench.arm_mass):
        return ["there is no load, its mass is 0"]
    load = (
        f"{bench.mass:g} kg at {bench.length:g} m" if bench.measured_inertia is None else "its inertia is stated as 0"
    )
    raise InputError(
        f"a load without inertia cannot be: {load}; state its mass [kg] and its distance from the shaft [m]"
    )


def check_plausible(
    channels: Mapping[str, NDArray[Any]],
    columns: Mapping[str, Column],
    bench: Bench,
    settings: ServoSettings,
    servo: ServoSpec,
) -> list[str]:
    """Check that a servo and its pendulum can have these values, and return the phrases of `check_conditions`.

    Args:
        channels: Samples by channel, in SI units.
        columns: Columns they came from, named in suggestions.
        bench: The bench.
        settings: Settings of the servo.
        servo: The servo.

    Raises:
        InputError: naming the implausible value and the option that would make it plausible.
    """
    _check_load(bench, servo)
    _check_steps(channels["time"], columns, servo)
    if "goal_position" in columns:
        _check_goal(channels[GOAL], channels["position"], columns, servo)
    else:
        _check_command(float(np.abs(channels[GOAL]).max()), columns, servo)
    if "velocity" in channels:
        _check_velocity(channels["time"], channels["position"], channels["velocity"], columns, servo)
    _check_motion(channels["time"], channels["position"], columns, servo)
    goals = channels[GOAL] if "goal_position" in columns else np.empty(0)
    if goals.size and "torque_enable" in channels:
        goals = goals[channels["torque_enable"] > 0]
    return check_conditions(bench, settings, servo, goals)


def _check_load(bench: Bench, servo: ServoSpec) -> None:
    weak = servo.too_weak(bench)
    if not weak:
        return
    tries = (
        ("mass", bench.mass / 1e3, "g"),
        ("length", bench.length / 1e3, "mm"),
        ("length", bench.length / 1e2, "cm"),
    )
    hints = [
        f"; in {unit} it would be --{fact} {value:g}"
        for fact, value, unit in tries
        if getattr(bench, fact) >= 2.0 and not servo.too_weak(_with(bench, fact, value))
    ]
    raise InputError(weak + (hints[0] if hints else "; check --mass [kg], --length [m] and --servo"))


def _with(bench: Bench, fact: str, value: float) -> Bench:
    return Bench(**{**bench.to_json(), fact: value})


def _check_steps(time: NDArray[Any], columns: Mapping[str, Column], servo: ServoSpec) -> None:
    step = float(np.median(np.diff(time)))
    if SHORTEST_STEP <= step < LONGEST_STEP:
        return
    now = columns["time"].factor("time", servo)
    fits = {unit: step / now * factor for unit, factor in _TIME_UNITS.items() if 2e-4 <= step / now * factor < 0.2}
    raise InputError(
        f"time: {step:.3g} s from sample to sample is not plausible"
        + "".join(
            f"; in {unit} it would be {value:.3g} s: {columns['time'].entry('time', unit)}"
            for unit, value in fits.items()
        )
    )


def _check_goal(goal: NDArray[Any], position: NDArray[Any], columns: Mapping[str, Column], servo: ServoSpec) -> None:
    """Check the goal: in degrees beside a position in rad it is 57 times too large."""
    spans = {"goal_position": float(np.ptp(goal)), "position": float(np.ptp(position))}
    large, small = sorted(spans, key=lambda channel: -spans[channel])
    if spans[small] == 0.0 or spans[large] / spans[small] < 10.0:
        return
    # A ratio near 57.3 is the signature of degrees beside radians; other ratios count only for impossible spans.
    alike = 0.8 < spans[large] / spans[small] / math.degrees(1.0) < 1.25
    if not alike and spans[large] <= 7.0:
        return
    seen = f"the goal spans {spans['goal_position']:.3g} rad, the position {spans['position']:.3g} rad"
    tries = [
        (round(abs(math.log(value / spans[other])), 2), -value, channel, unit)
        for channel, other in ((large, small), (small, large))
        for unit, value in _in_units(spans[channel], columns[channel], channel, servo).items()
        if value <= 7.0
    ]
    apart, value, channel, unit = min(tries, default=(math.inf, 0.0, large, ""))
    if apart > math.log(ALIKE):
        raise InputError(f"{seen}; check the units of both in --columns")
    name = columns[channel].name
    raise InputError(
        f"{seen}; with {name} in {unit} it would be {-value:.3g} rad: {columns[channel].entry(channel, unit)}"
    )


def _check_command(largest: float, columns: Mapping[str, Column], servo: ServoSpec) -> None:
    """Check that a servo can be given a command other than an angle as large as this."""
    channel, supply = goal_of(columns), servo.supply_range[1]
    limit, rating = {
        "goal_velocity": (
            MOST_OF_RATING * servo.no_load_speed,
            f"turns at {servo.no_load_speed:g} rad/s without a load",
        ),
        "goal_duty_cycle": (1.05, "takes 1 at most"),
        "goal_voltage": (MOST_OF_SUPPLY * supply, f"takes {supply:g} V at most"),
        "goal_current": (
            MOST_OF_RATING * max(servo.max_current, supply / servo.motor["R"][0]),
            f"takes {servo.max_current:g} A at most",
        ),
        "goal_torque": (MOST_OF_RATING * servo.stall_torque, f"has {servo.stall_torque:g} N·m"),
    }[channel]
    if largest <= limit:
        return
    column = columns[channel]
    scales = {unit: replace(column, unit=unit).factor(channel, servo) for unit in units_of(channel)}
    fits = {
        column.entry(channel, unit): f"in {unit} it would be {value:.3g}"
        for unit, factor in scales.items()
        if LEAST_OF_LIMIT * limit < (value := largest / column.factor(channel, servo) * factor) <= limit
    }
    if channel == "goal_duty_cycle" and not fits:
        counts = replace(column, unit="1", scale=PER_COUNT)
        fits[counts.entry(channel)] = "the factor of counts of 16 bits, whose 32767 are 1, is"
    unit = "" if channel == "goal_duty_cycle" else f" {SI_UNITS[channel]}"
    raise InputError(
        f"{channel} reaches {largest:.4g}{unit}, {servo.name} {rating}"
        + (
            "".join(f"; {words}: {entry}" for entry, words in fits.items())
            or "; check its unit in --columns, and --servo"
        )
    )


def _check_velocity(
    time: NDArray[Any], position: NDArray[Any], velocity: NDArray[Any], columns: Mapping[str, Column], servo: ServoSpec
) -> None:
    """Check that the measured speed is the position's: turns taken for radians are 2π too slow."""
    there = np.isfinite(velocity)
    if np.sum(there) < max(SMOOTHED * SMOOTHED, len(time) / 2):
        return
    time, position, velocity = time[there], position[there], velocity[there]
    way = np.append(0.0, np.cumsum(np.diff(time) * (velocity[1:] + velocity[:-1]) / 2.0))
    # An offset of the speed makes its integral drift.
    way, position = (values - np.polyval(np.polyfit(time, values, 1), time) for values in (way, position))
    if not np.std(way) or not np.std(position) or abs(np.corrcoef(way, position)[0, 1]) < ALIGNED:
        return
    ratio = float(np.std(way) / np.std(position))
    if abs(ratio - 1.0) < MOST_APART:
        return
    sure, unsure = list[str](), list[str]()
    for channel in sorted(("position", "velocity"), key=lambda channel: columns[channel].unit != ""):
        column, wanted = columns[channel], ratio if channel == "position" else 1.0 / ratio
        now = column.factor(channel, servo)
        for unit in units_of(channel):
            if abs(replace(column, unit=unit).factor(channel, servo) / now / wanted - 1.0) < MOST_APART:
                goal = columns.get("goal_position", column) if channel == "position" else column
                entries = [goal.entry("goal_position", unit)] if goal != column and goal.unit == column.unit else []
                fits = sure if column.unit and column.unit in column.name else unsure
                entries.append(column.entry(channel, unit))
                fits.append(f"; with {column.name} in {unit} it would be 1: {','.join(entries)}")
    if sure or unsure:
        raise InputError(f"the velocity is {ratio:.3g} times that of the position{''.join(unsure or sure)}")


def _check_motion(time: NDArray[Any], position: NDArray[Any], columns: Mapping[str, Column], servo: ServoSpec) -> None:
    limit = MOST_OF_NO_LOAD * servo.no_load_speed
    fresh = slice(None) if rows_a_reading(position) == 1 else np.flatnonzero(np.diff(position, prepend=np.nan))
    speed, span = _sustained_speed(time[fresh], position[fresh]), float(np.ptp(position))
    turns = MOST_TURNS if "goal_position" in columns else math.inf
    if speed <= limit and span <= 2.0 * math.pi * turns:
        return
    seen = (
        f"position moves at {speed:.3g} rad/s, {servo.name} without a load at {servo.no_load_speed:.3g} rad/s"
        if speed > limit
        else f"position spans {span:.3g} rad, {span / 2.0 / math.pi:.0f} turns"
    )
    rating = f"; or raise no_load_speed in the file of {servo.name}" if servo.file and speed > limit else ""
    column = columns["position"]
    # Whole numbers that span more than 360 are more likely counts than degrees.
    whole = np.array_equal(np.round(position), position) and span > 360.0
    for unit, value in _in_units(speed, column, "position", servo, counts_first=whole).items():
        turned = span * value / speed if speed else span
        if value <= limit and 0.02 < turned <= 2.0 * math.pi * MOST_TURNS:
            both = "goal_position" in columns and columns["goal_position"].unit == column.unit
            goal = f"{columns['goal_position'].entry('goal_position', unit)}," if both else ""
            raise InputError(
                f"{seen}; in {unit} it would be {value:.3g} rad/s over {turned:.3g} rad: "
                f"{goal}{column.entry('position', unit)}{rating}"
            )
    raise InputError(f"{seen}; check the units of time and position in --columns, and --servo{rating}")


def _sustained_speed(time: NDArray[Any], position: NDArray[Any]) -> float:
    if len(time) <= SMOOTHED:
        return 0.0
    kernel = np.full(SMOOTHED, 1.0 / SMOOTHED)
    smooth = np.convolve(position, kernel, "valid")
    moments = np.convolve(time, kernel, "valid")
    return float(np.percentile(np.abs(np.diff(smooth) / np.diff(moments)), SUSTAINED))


def _in_units(
    value: float, column: Column, channel: str, servo: ServoSpec, counts_first: bool = False
) -> dict[str, float]:
    """Return the value in rad that other units of its column would give, by unit."""
    now = column.factor(channel, servo)
    units = {unit: servo.encoder_step if math.isnan(factor) else factor for unit, factor in _ANGLE_UNITS.items()}
    order = sorted(units, key=lambda unit: unit != "counts") if counts_first else list(units)
    return {unit: value / now * units[unit] for unit in order if not math.isclose(units[unit], now)}
