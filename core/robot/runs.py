"""Runs of a robot's joints with their loads, as a fit takes them, and what their motions excite.

While the other joints move as measured, the run of a joint is that of a servo below a known load, and is identified
like one of a pendulum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.identification.coverage.excitation import excitation_of
from core.motion.recording import LOAD_CHANNELS, Recording
from core.robot.chain import Chain
from core.robot.doubts import doubts
from core.robot.motions import ArmMotion, known_joints, meant, motions_of
from core.servo.bench import Bench

MOVED = 0.05
"""Least span of a joint that moves in some motion [rad]: backlash and the sag of its load are smaller."""


@dataclass(frozen=True, kw_only=True)
class JointCoverage:
    """Motion and load of one joint in all motions."""

    joint: str
    lowest: float
    """Smallest angle [rad]."""
    highest: float
    speed: float
    """99th percentile of the speed in the fastest motion [rad/s]."""
    reversals: int
    gravity: tuple[float, float]
    """Smallest and largest torque of gravity against the joint [N·m]."""
    inertia: tuple[float, float]
    """Smallest and largest inertia [kg·m²]."""

    def figures(self) -> tuple[str, ...]:
        """Return joint, range [deg], speed [rad/s], gravity [N·m], inertia [kg·m²] and reversals as text."""
        return (
            self.joint,
            f"{math.degrees(self.lowest):.0f} to {math.degrees(self.highest):.0f}",
            f"{self.speed:.2f}",
            " to ".join(f"{value:.2g}" for value in self.gravity),
            " to ".join(f"{value:.2g}" for value in self.inertia),
            str(self.reversals),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotRuns:
    """Runs of a robot's joints with their loads, ready to be identified.

    Example:
        >>> arm = sb.robot_runs("arm", "so101.urdf")  # doctest: +SKIP
        >>> [each.joint for each in arm.coverage]  # doctest: +SKIP
    """

    chain: Chain
    """The robot."""
    motions: tuple[ArmMotion, ...]
    joints: Mapping[str, tuple[Recording, ...]]
    """Runs with load of each joint, in the order of the motions."""
    coverage: tuple[JointCoverage, ...]
    notes: tuple[str, ...]
    """Sentences on what is left out."""
    warnings: tuple[str, ...]
    """Sentences on data that look mixed up."""


def robot_runs(chain: Chain, recordings: Sequence[Recording], joints: Sequence[str] = ()) -> RobotRuns:
    """Return the runs of a robot's joints with their loads.

    Args:
        chain: The robot.
        recordings: Runs of its joints.
        joints: Joints wanted. Default: all that move.

    Raises:
        InputError: There are no such runs, they are of another robot or in another unit, or no joint moves.
    """
    motions, notes = motions_of(recordings)
    known, of_file = known_joints(chain, motions)
    for joint in joints:
        if joint not in known:
            raise InputError(f"joint {joint}: no run of it{meant(joint, known)}; there are runs of {', '.join(known)}")
    doubtful = doubts(chain, motions, known)
    loaded = with_loads(chain, motions, known)
    still = [joint for joint in known if max(np.ptp(run.position) for run in loaded[joint]) < MOVED]
    wanted = [joint for joint in joints or known if joint not in still]
    if not wanted:
        raise InputError(f"no joint of {', '.join(joints or known)} moves by {MOVED:g} rad in any motion")
    notes += of_file
    notes += [
        f"{joint} moves by less than {MOVED:g} rad in every motion: skipped"
        for joint in joints or still
        if joint in still
    ]
    return RobotRuns(
        chain=chain,
        motions=motions,
        joints={joint: loaded[joint] for joint in wanted},
        coverage=tuple(_coverage(joint, loaded[joint]) for joint in wanted),
        notes=tuple(notes),
        warnings=tuple(doubtful),
    )


def with_loads(chain: Chain, motions: Sequence[ArmMotion], joints: Sequence[str]) -> dict[str, tuple[Recording, ...]]:
    """Return the runs with their loads by joint, in the order of the motions; joints: those of the robot's file."""
    found: dict[str, list[Recording]] = {joint: [] for joint in joints}
    for motion in motions:
        loads = chain.loads(joints, motion.time, motion.positions(joints))
        for joint, load in zip(joints, loads, strict=True):
            run, names = motion.runs[joint], [channel.name for channel in LOAD_CHANNELS]
            channels = {**run.channels, **dict(zip(names, np.ascontiguousarray(load.T), strict=True))}
            found[joint].append(replace(run, channels=channels, bench=bench_of(load)))
    return {joint: tuple(runs) for joint, runs in found.items()}


def bench_of(load: Array) -> Bench:
    """Return a pendulum of the same size as a load (n, 4), for what is estimated without a simulation."""
    return Bench(
        mass=0.0,
        length=0.0,
        measured_inertia=float(np.median(load[:, 0])),
        measured_gravity_torque=float(np.hypot(load[:, 1], load[:, 2]).max()),
    )


def _coverage(joint: str, runs: Sequence[Recording]) -> JointCoverage:
    moved = [excitation_of(run) for run in runs]
    position = np.concatenate([run.position for run in runs])
    load = np.concatenate([run.load for run in runs if run.load is not None])
    gravity = load[:, 1] * np.sin(position) + load[:, 2] * np.cos(position)
    return JointCoverage(
        joint=joint,
        lowest=float(position.min()),
        highest=float(position.max()),
        speed=max(each.speed for each in moved),
        reversals=sum(each.reversals for each in moved),
        gravity=(float(gravity.min()), float(gravity.max())),
        inertia=(float(load[:, 0].min()), float(load[:, 0].max())),
    )
