"""Runs that differ from their repetitions, and angles at which released pendulums come to rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.identification.choice.repeatability import Repeatability, Repetitions
from core.identification.coverage.findings import Finding
from core.motion.recording import Recording
from core.servo.catalogue import load_servo

UNLIKE = 3.0
"""A run differs from its repetitions if the difference is this multiple of the usual one of its trajectory …"""

COUNTS = 4.0
"""… and this many encoder counts."""

SETTLED = 0.3
"""A released pendulum that has not moved for this long has come to rest [s]."""


def odd_repetitions(repeated: Repeatability, recordings: Sequence[Recording]) -> list[Finding]:
    """Return runs that differ from their repetitions by more than is usual for their trajectory."""
    count = {run.id: load_servo(run.settings.servo).encoder_step for run in recordings}
    by_trajectory: dict[str, list[float]] = {}
    for found in repeated.sets:
        by_trajectory.setdefault(found.trajectory, []).extend(distance for _, _, distance in found.distances)
    usually = {trajectory: _usual(distances) for trajectory, distances in by_trajectory.items()}
    odd: list[Finding] = []
    for found in repeated.sets:
        usual = usually[found.trajectory]
        most = UNLIKE * max(usual, 0.5 * COUNTS * count[found.runs[0]])
        if len(found.runs) > 2:
            # The nearest repetition decides: a run is not responsible for an odd one among the others.
            nearest = dict.fromkeys(found.runs, np.inf)
            for *pair, distance in found.distances:
                for run in pair:
                    nearest[run] = min(nearest[run], distance)
            odd += [_unlike(run, distance, usual) for run, distance in nearest.items() if distance > most]
        elif len(by_trajectory[found.trajectory]) >= 3 and found.difference > most:
            odd.append(_one_of_two(found, usual))
    return odd


def _usual(distances: Sequence[float]) -> float:
    """Return the lower quartile of the differences, since one odd run of three spoils two pairs of three."""
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


def _one_of_two(found: Repetitions, usual: float) -> Finding:
    one, other = found.runs
    return Finding(
        kind="repetition",
        severity="warning",
        runs=found.runs,
        text=f"runs {one} and {other} have the same header and differ by {1e3 * found.difference:.0f} mrad, "
        f"where {1e3 * usual:.1f} mrad is usual",
        remedy="look at both, correct the header of the odd one or leave it out",
    )


def rest_angles(recordings: Sequence[Recording]) -> dict[str, float]:
    """Return where released pendulums came to rest [rad] by run id, relative to the header's lowest point."""
    found: dict[str, float] = {}
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
