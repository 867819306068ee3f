"""Motions of a whole robot: the runs of its joints that were recorded together.

Two entries of a run's provenance state this, `core.motion.recording.JOINT` and `MOTION`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.words import counted
from core.identification.runs.conditions import FEWEST_SAMPLES
from core.motion.recording import MOTION, Recording
from core.robot.chain import Chain

ALIKE = 0.4
"""Largest mean difference of the goals of two takes of one motion, as a share of their mean distance from their means.

Two of the 25 motions of an SO-101 differ by 1.0 at least; one of them started a sample later, by 0.32 at most.
"""
POINTS = 500
"""Number of times at which goals are compared."""


@dataclass(frozen=True, eq=False)
class ArmMotion:
    """The runs of all joints in one motion, at common times; divisible into training and held-out motions."""

    id: str
    """Name of the motion."""
    runs: Mapping[str, Recording]
    """Run of each joint."""
    repeats: str = ""
    """Name of an earlier motion with the same goals; empty if there is none."""

    @property
    def time(self) -> Array:
        """Times of the samples [s], (n,)."""
        return next(iter(self.runs.values())).time

    def positions(self, joints: Sequence[str]) -> Array:
        """Return the angles of these joints [rad], (n, joints)."""
        return np.column_stack([self.runs[joint].position for joint in joints])

    def goals(self, joints: Sequence[str]) -> Array:
        """Return the goals of these joints [rad], (n, joints); NaN for a joint that is commanded otherwise."""
        return np.column_stack([self.runs[joint].goal_position for joint in joints])

    @property
    def content_sha256(self) -> str:
        """Name of the motion or of the one that it repeats: takes of one motion are held out together."""
        return self.repeats or self.id

    def conditions(self) -> dict[str, str | float]:
        """Return the conditions that all joints share."""
        first, *others = (run.conditions() for run in self.runs.values())
        return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def motions_of(recordings: Sequence[Recording]) -> tuple[tuple[ArmMotion, ...], list[str]]:
    """Return the motions of these runs, and a sentence on each that is left out.

    Raises:
        InputError: There are no runs of joints, or two of one joint in one motion.
    """
    found: dict[tuple[str, str], dict[str, Recording]] = {}
    for run in (run for run in recordings if run.joint):
        motion = str(run.provenance.get(MOTION, run.trajectory))
        runs = found.setdefault((str(run.provenance.get("source_sha256", "")), motion), {})
        if run.joint in runs:
            raise InputError(
                f"motion {motion} has two runs of {run.joint}: {runs[run.joint].id} and {run.id}; exclude one"
            )
        runs[run.joint] = run
    if not found:
        raise InputError("no run is of a robot's joint; import the motions of a robot with bench import --joints")
    pendulums = sum(not run.joint for run in recordings)
    notes = [f"{counted(pendulums, 'run')} of a pendulum left out"] if pendulums else []
    joints = list(dict.fromkeys(joint for runs in found.values() for joint in runs))
    motions: list[ArmMotion] = []
    for (_, motion), runs in found.items():
        if lacking := [joint for joint in joints if joint not in runs]:
            notes.append(f"motion {motion} has no run of {', '.join(lacking)}: left out")
            continue
        common = reduce(np.intersect1d, (run.time for run in runs.values()))
        if len(common) < max(FEWEST_SAMPLES, 0.5 * max(run.samples for run in runs.values())):
            notes.append(f"motion {motion}: its joints have {counted(len(common), 'time')} in common: left out")
            continue
        motions.append(ArmMotion(motion, {joint: _at_times(runs[joint], common) for joint in joints}))
    if not motions:
        raise InputError(f"no motion has runs of all joints ({', '.join(joints)}) at common times; {'; '.join(notes)}")
    return _with_repeats(motions, notes), notes


def _with_repeats(motions: Sequence[ArmMotion], notes: list[str]) -> tuple[ArmMotion, ...]:
    """Return the motions, later takes with the one that they repeat; adds a sentence on each take to the notes."""
    found: list[ArmMotion] = []
    for motion in motions:
        first = next((other for other in found if not other.repeats and _have_equal_goals(other, motion)), None)
        found.append(motion if first is None or first.id == motion.id else replace(motion, repeats=first.id))
    takes = [motion for motion in found if motion.repeats]
    if takes and len({motion.content_sha256 for motion in found}) == 1:
        notes.append(f"all motions have the goals of {found[0].id}: held-out ones show the error in known motion only")
        return tuple(motions)
    notes += [f"{motion.id} has the goals of {motion.repeats}: they are held out together" for motion in takes]
    return tuple(found)


def _have_equal_goals(one: ArmMotion, other: ArmMotion) -> bool:
    """Return True if all joints have the same goals from the beginning on, in takes of similar duration."""
    durations = [float(np.ptp(motion.time)) for motion in (one, other)]
    if min(durations) < 0.5 * max(durations):
        return False
    times = np.linspace(0.0, min(durations), POINTS)
    a, b = (
        np.array([np.interp(times, motion.time - motion.time[0], goal) for goal in motion.goals([*one.runs]).T])
        for motion in (one, other)
    )
    known = np.isfinite(a + b).all(axis=1)
    a, b = a[known], b[known]
    return bool(a.size and np.abs(a - b).mean() <= ALIKE * np.abs(a - a.mean(axis=1, keepdims=True)).mean())


def meant(joint: str, known: Sequence[str]) -> str:
    """Return a question about the joint that was meant by an unknown name, after a space; empty if none is similar."""
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(joint.lower(), lower, 1)
    return f" (do you mean {lower[near[0]]}?)" if near else ""


def _at_times(run: Recording, common: Array) -> Recording:
    """Return the run at the times of all joints, which differ if one is trimmed or lacks a sample."""
    if run.samples == len(common):
        return run
    there = np.isin(run.time, common)
    return replace(run, channels={name: values[there] for name, values in run.channels.items()})


def known_joints(chain: Chain, motions: Sequence[ArmMotion]) -> tuple[list[str], list[str]]:
    """Return the recorded joints that the robot has, and a sentence on each that only one of both has.

    Raises:
        InputError: The robot has none of them.
    """
    of_file = [joint.name for joint in chain.joints]
    recorded = list(motions[0].runs)
    known = [joint for joint in recorded if joint in of_file]
    if not known:
        raise InputError(
            f"{chain.file} has none of the recorded joints ({', '.join(recorded)}), its hinges are "
            f"{', '.join(of_file)}: give the file of this robot, or import again with --joints OLD=NEW,…"
        )
    notes: list[str] = []
    for joint in recorded:
        if joint not in of_file:
            lacking = f"is not in {chain.file.name}{meant(joint, sorted({*of_file} - {*known}))}"
            what = f"slides in {chain.file.name}" if joint in chain.slides else lacking
            notes.append(f"{joint} {what}: left out, and its motion is not known to the others")
    notes += [f"{chain.file.name} has {what}: the loads leave this out" for what in chain.left_out]
    leaders = chain.leaders(known)
    for joint in (joint for joint in of_file if joint not in recorded):
        state = f"moves with {leaders[joint]}" if joint in leaders else "rests at the file's zero"
        notes.append(f"{joint} is not recorded: it {state}")
    return known, notes
