"""Next motions of a robot: the motion of one joint, while the others hold a pose, that narrows its intervals most.

The poses are those within the joints' ranges in which gravity pulls least and most at the joint. The ranges are those
of the recorded motions unless others are given: the robot has been there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.identification.evidence.sensitivity import judge
from core.identification.next.design import best_of
from core.identification.next.proposal import STILL_OPEN, Benefit
from core.motion.recording import LOAD_CHANNELS, Recording
from core.motion.simulation import sampling_interval
from core.robot.chain import Chain
from core.robot.runs import RobotRuns, bench_of
from core.servo.model import ServoModel

DURATION = 10.0
"""Duration of a motion [s]."""
USED = 0.9
"""Share of the joint's range that a motion uses."""
FAST, MOST_TURNS = 0.6, 2.0
"""Largest speed, as a share of the no-load speed, and largest frequency [Hz]."""
SMALL = 0.05
"""Half of a small step [rad]."""
HELD = 1.25
"""Time for which a step is held [s]."""
SMALLEST_RANGE = 0.1
"""Smallest range of a joint in which motions are planned [rad]."""
POSES = 200
"""Number of random poses of the other joints among which two are chosen."""
OTHER_LOAD = 0.01
"""Smallest difference of gravity's torque between two poses, as a share of the stall torque."""
FACTORS = (0.5, 1.0, 2.0)
"""Gains to choose from, over the recorded one."""

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class JointMotion:
    """Planned motion of one joint."""

    joint: str
    kind: str
    """One of the keys of `goals_within`."""
    pose: Mapping[str, float]
    """Angles at which the other joints are held [rad]."""
    gravity: float
    """Largest torque of gravity against the joint within its range [N·m]."""
    run: Recording
    """Commands from rest, with the load of the pose."""

    @property
    def goals(self) -> dict[str, Array]:
        """Goals of all joints [rad], (n,) each."""
        held = {joint: np.full(self.run.samples, angle) for joint, angle in self.pose.items()}
        return {**held, self.joint: self.run.goal_position}

    def to_json(self) -> dict[str, Any]:
        """Return plain data without the samples."""
        return {
            "joint": self.joint,
            "motion": self.kind,
            "kp": self.run.settings.kp,
            "pose": dict(self.pose),
            "gravity": self.gravity,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class NextMotions:
    """Proposed motions of a joint, the best first, each with what it adds to the recorded ones and those before it.

    Example:
        >>> found = sb.propose_motions(sb.robot_runs("arm", "so101.urdf"), "elbow_flex")  # doctest: +SKIP
        >>> found.undetermined, found.left_open  # doctest: +SKIP
    """

    undetermined: tuple[str, ...]
    """Symbols of the parameters that the recorded motions do not determine."""
    proposals: tuple[tuple[JointMotion, Benefit], ...]

    @property
    def left_open(self) -> tuple[str, ...]:
        """Symbols of those that the proposed motions do not narrow either."""
        _, last = self.proposals[-1]
        still = {n.symbol for n in last.narrowings if n.after >= STILL_OPEN * n.widest}
        return tuple(symbol for symbol in self.undetermined if symbol in still)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        rows = [
            {
                **motion.to_json(),
                "nats": benefit.nats,
                "volume_factor": benefit.factor,
                "words": benefit.words,
                "parameters": [each.to_json() for each in benefit.narrowings],
            }
            for motion, benefit in self.proposals
        ]
        return {"undetermined": self.undetermined, "left_open": self.left_open, "proposals": rows}


def next_motions(
    model: ServoModel,
    runs: RobotRuns,
    joint: str,
    count: int = 3,
    ranges: Mapping[str, Range] | None = None,
    threads: int | None = None,
) -> NextMotions:
    """Choose the motions of a joint that would narrow its model's intervals most.

    Args:
        model: Model of the joint's servo.
        runs: The robot's recorded motions.
        joint: The joint.
        count: Number of motions.
        ranges: Ranges of joints [rad]. Default: those of the recorded motions.
        threads: Number of threads. None: all processors.

    Raises:
        InputError: A range is beyond the joint's limits, or too small.
        IdentificationError: Every parameter is frozen, or the model is of another servo.
    """
    planned = planned_motions(model, runs, joint, ranges or {})
    recorded = runs.joints[joint]
    found = best_of(model, recorded, [motion.run for motion in planned], count, threads=threads)
    known = judge(model, model.parameters, recorded, threads=threads)
    return NextMotions(
        undetermined=tuple(p.symbol for p in known.parameters if not p.narrowed),
        proposals=tuple((planned[place], benefit) for place, benefit in found),
    )


def planned_motions(model: ServoModel, runs: RobotRuns, joint: str, ranges: Mapping[str, Range]) -> list[JointMotion]:
    """Return the motions of a joint to choose from; arguments as for `next_motions`."""
    within = _ranges(runs, ranges)
    low, high = within[joint]
    if high - low < SMALLEST_RANGE:
        raise InputError(
            f"{joint} has a range of {high - low:.2g} rad, too small for a motion: give another one, in degrees, "
            f"--range {joint}=LOW:HIGH"
        )
    first = runs.joints[joint][0]
    step = sampling_interval(runs.joints[joint])
    time = np.arange(round(DURATION / step), dtype=np.float64) * step
    motions: list[JointMotion] = []
    for pose, load, gravity in _poses(runs.chain, joint, within, OTHER_LOAD * model.spec.stall_torque):
        held = np.broadcast_to(load, (len(time), len(load)))
        for kind, goal in goals_within(time, low, high, model.spec.no_load_speed).items():
            channels = {
                "time": time,
                "goal_position": goal,
                "torque_enable": np.ones(len(time)),
                "position": np.full(len(time), goal[0]),
                **{channel.name: held[:, k].copy() for k, channel in enumerate(LOAD_CHANNELS)},
            }
            for factor in FACTORS:
                settings = replace(first.settings, kp=factor * first.settings.kp)
                run = replace(first, id="planned", channels=channels, settings=settings, bench=bench_of(held))
                motions.append(JointMotion(joint=joint, kind=kind, pose=pose, gravity=gravity, run=run))
    return motions


def goals_within(time: Array, low: float, high: float, no_load_speed: float) -> dict[str, Array]:
    """Return goals [rad], (n,), from the middle of a range, by kind of motion.

    Args:
        time: Times [s], (n,).
        low: Lower end of the range [rad].
        high: Upper end [rad].
        no_load_speed: No-load speed of the servo [rad/s].
    """
    middle, size = 0.5 * (low + high), 0.5 * USED * (high - low)
    fastest = min(FAST * no_load_speed / (2.0 * math.pi * size), MOST_TURNS)
    slowest = 1.0 / DURATION
    swept = slowest * time + 0.5 * (fastest - slowest) / DURATION * time**2
    side = np.array([0.0, 1.0, -1.0, 1.0, 0.0, -1.0])[(time / HELD).astype(int) % 6]
    return {
        "slow sine": middle + size * np.sin(4.0 * math.pi * slowest * time),
        "fast sine": middle + size * np.sin(2.0 * math.pi * fastest * time),
        "sweep": middle + size * np.sin(2.0 * math.pi * swept),
        "steps": middle + size * side,
        "small steps": middle + min(SMALL, size) * side,
    }


def _ranges(runs: RobotRuns, given: Mapping[str, Range]) -> dict[str, Range]:
    """Return the range of each joint [rad], within its limits."""
    limits = {joint.name: joint for joint in runs.chain.joints}
    recorded = [joint for joint in runs.motions[0].runs if joint in limits]
    if unknown := [joint for joint in given if joint not in recorded]:
        raise InputError(f"no motion has a joint {unknown[0]} of the robot; there are {', '.join(recorded)}")
    found: dict[str, Range] = {}
    for joint in recorded:
        limit = limits[joint]
        if joint in given and not limit.lower <= given[joint][0] < given[joint][1] <= limit.upper:
            ends = " to ".join(f"{math.degrees(end):.4g}" for end in given[joint])
            raise InputError(
                f"the range of {joint}, {ends}°, is not within its limits, {math.degrees(limit.lower):.4g} to "
                f"{math.degrees(limit.upper):.4g}°"
            )
        positions = [motion.runs[joint].position for motion in runs.motions]
        low, high = given.get(joint) or (min(x.min() for x in positions), max(x.max() for x in positions))
        found[joint] = (max(float(low), limit.lower), min(float(high), limit.upper))
    return found


def _poses(
    chain: Chain, joint: str, ranges: Mapping[str, Range], apart: float
) -> list[tuple[dict[str, float], Array, float]]:
    """Return the poses of the others with least and most gravity at a joint, with its load (4,) and gravity's torque.

    One pose if the torques of both differ by less than `apart` [N·m].
    """
    names = list(ranges)
    place = names.index(joint)
    ends = np.array([*ranges.values()])
    poses = np.random.default_rng(0).uniform(ends[:, 0], ends[:, 1], (POSES, len(names)))
    loads = chain.loads(names, np.arange(POSES, dtype=np.float64), poses)[place]
    angles = np.linspace(*ranges[joint], 33)
    pulls = np.abs(np.outer(loads[:, 1], np.sin(angles)) + np.outer(loads[:, 2], np.cos(angles))).max(axis=1)
    loads[:, 3] = 0.0
    chosen = [int(pulls.argmin()), int(pulls.argmax())]
    if pulls[chosen[1]] - pulls[chosen[0]] < apart:
        chosen = chosen[1:]
    return [
        (
            {name: float(angle) for name, angle in zip(names, poses[k], strict=True) if name != joint},
            loads[k],
            float(pulls[k]),
        )
        for k in chosen
    ]


def parse_range(text: str) -> tuple[str, Range]:
    """Parse the range of a joint in degrees, as in `lift=-30:40`.

    Raises:
        InputError: The text is no range.
    """
    joint, _, ends = text.partition("=")
    low, _, high = ends.partition(":")
    try:
        found = math.radians(float(low)), math.radians(float(high))
    except ValueError:
        raise InputError(f"{text!r}: expected a joint and its range in degrees, as in lift=-30:40") from None
    if not joint or not math.isfinite(sum(found)):
        raise InputError(f"{text!r}: expected a joint and its range in degrees, as in lift=-30:40")
    return joint, found
