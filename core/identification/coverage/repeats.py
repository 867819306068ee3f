"""Runs of the same condition: how well they repeat, and those that do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.catalogue import load_servo
from core.identification.coverage.findings import Finding
from core.identification.coverage.grid import condition_of
from core.recording import Recording

Array = NDArray[np.float64]

SAME_GOAL = 0.02
"""Runs whose goals differ by more on average are not repetitions of each other [rad]."""

UNLIKE = 3.0
"""A run is unlike its repetitions when it differs so many times as much as runs of its trajectory usually do …"""

COUNTS = 4.0
"""… and by so many encoder counts."""

REST_DIFFERS = 0.05
"""Released pendulums that come to rest so far apart, friction's share taken off, hang differently [rad]."""

SETTLED = 0.3
"""A released pendulum that has not moved for so long has come to rest [s]."""


@dataclass(frozen=True, kw_only=True)
class Repeatability:
    """How well the runs of a trajectory repeat: no deterministic model can be better."""

    trajectory: str
    floor: float
    """Median over pairs of half their mean distance [rad]: what a model between them would be off by."""
    pairs: int


def repeats_of(recordings: Sequence[Recording]) -> tuple[tuple[Repeatability, ...], list[Finding]]:
    """Floors by trajectory, and the runs that differ from their repetitions."""
    groups: dict[tuple, list[Recording]] = {}
    for recording in recordings:
        groups.setdefault(condition_of(recording), []).append(recording)
    distances: dict[str, list[float]] = {}
    by_run: dict[str, list[float]] = {}
    trajectory = {run.id: run.trajectory for run in recordings}
    for group in groups.values():
        for one, other in combinations(group, 2):
            distance = _distance(one, other)
            if not math.isnan(distance):
                distances.setdefault(one.trajectory, []).append(distance)
                for run in (one, other):
                    by_run.setdefault(run.id, []).append(distance)
    floors = tuple(
        Repeatability(trajectory=name, floor=0.5 * float(np.median(values)), pairs=len(values))
        for name, values in sorted(distances.items())
    )
    count = {run.id: load_servo(run.settings.servo).encoder_step for run in recordings}
    found = []
    for run, values in by_run.items():
        usual = _usual(distances[trajectory[run]])
        # The nearest repetition decides: a run is not to blame for one that is odd.
        nearest = min(values)
        if len(values) >= 2 and nearest > UNLIKE * max(usual, 0.5 * COUNTS * count[run]):
            found.append(_unlike(run, nearest, usual))
    return floors, found + _pair_findings(groups, distances)


def _pair_findings(groups: Mapping[tuple, list[Recording]], distances: Mapping[str, list[float]]) -> list[Finding]:
    """Two runs of a condition that differ more than others of their trajectory: one of them, nobody knows which."""
    found = []
    for group in groups.values():
        if len(group) != 2 or len(distances.get(group[0].trajectory, ())) < 3:
            continue
        usual = _usual(distances[group[0].trajectory])
        least = COUNTS * load_servo(group[0].settings.servo).encoder_step
        distance = _distance(*group)
        if distance > UNLIKE * max(usual, 0.5 * least):
            found.append(
                Finding(
                    kind="repetition",
                    severity="warning",
                    runs=tuple(run.id for run in group),
                    text=f"runs {group[0].id} and {group[1].id} have the same header and differ by "
                    f"{1e3 * distance:.0f} mrad, where {1e3 * usual:.1f} mrad is usual",
                    remedy="look at both, correct the header of the odd one or leave it out",
                )
            )
    return found


def _usual(distances: Sequence[float]) -> float:
    """Of runs that repeat: the lower quartile, as one odd run of three spoils two pairs of three."""
    return float(np.quantile(distances, 0.25, method="lower"))


def _unlike(run: str, distance: float, usual: float) -> Finding:
    return Finding(
        kind="repetition",
        severity="warning",
        runs=(run,),
        text=f"run {run} differs from runs with the same header by {1e3 * distance:.0f} mrad, "
        f"where {1e3 * usual:.1f} mrad is usual",
        remedy="check its header (load, gain, supply) and whether something slipped or touched; else leave it out",
    )


def _distance(one: Recording, other: Recording) -> float:
    """Mean distance of two runs' positions [rad]; NaN when their goals are not the same."""
    end = min(one.duration, other.duration)
    step = float(np.median(np.diff(one.time)))
    time = np.arange(0.0, end, step)

    def at(run: Recording, values: Array) -> Array:
        return np.interp(time, run.time - run.time[0], values)

    driven = (at(one, one.torque_enable.astype(float)) > 0.5) | (at(other, other.torque_enable.astype(float)) > 0.5)
    apart = np.abs(at(one, one.goal_position) - at(other, other.goal_position))
    if driven.any() and float(apart[driven].mean()) > SAME_GOAL:
        return math.nan
    return float(np.abs(at(one, one.position) - at(other, other.position)).mean())


def rest_angles(recordings: Sequence[Recording]) -> dict[str, float]:
    """Where released pendulums came to rest, run id to rad, hanging down by what the header says."""
    found = {}
    for run in recordings:
        if run.torque_enable[-1]:
            continue
        last = run.time > run.time[-1] - SETTLED
        released = ~run.torque_enable
        step = load_servo(run.settings.servo).encoder_step
        still = last.sum() > 5 and released[last].all() and float(np.ptp(run.position[last])) <= 2.0 * step
        swung = float(np.ptp(run.position[released])) > 0.5
        if still and swung:
            found[run.id] = float(np.mean(run.position[last])) + run.bench.angle_offset
    return found
