"""Remedies in the words of the bench or of a robot: what to record or to check for another load or motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.motion.recording import Recording


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Objects of the verbs "record" and "check" in remedies."""

    several: str
    loads: str
    heavier: str
    """Load that is larger than those of the runs."""
    both_sides: str
    handover: str
    """Motion in which gravity's torque passes zero."""
    fast: str
    turning: str
    slow: str
    release: str
    masses: str
    zero: str
    """Remedy of a zero that is wrong by an angle that follows."""


BENCH = Advice(
    several="the four trajectories at several loads and gains",
    loads="with another mass or length",
    heavier="a heavier load",
    both_sides="sin_sin or sin_time_square",
    handover="motion through hanging down, such as sin_sin and sin_time_square",
    fast="sin_time_square",
    turning="up_and_down and sin_sin",
    slow="up_and_down or steps",
    release="lift_and_drop",
    masses="the unit and the value of mass and length",
    zero="set the zero again so that the load hangs straight down at 0, or correct the angle offset of these runs by",
)
JOINT = Advice(
    several="more motions, at several poses and gains",
    loads="poses in which gravity pulls more or less at this joint",
    heavier="poses in which gravity pulls more at this joint",
    both_sides="poses in which gravity pulls this joint the other way",
    handover="motion through the pose in which gravity does not pull at this joint",
    fast="fast motion of this joint",
    turning="motion of this joint that stops and turns back",
    slow="short steps of this joint",
    release="motion in which this joint's torque is switched off",
    masses="the masses in the robot's file",
    zero="compare the zero of this joint with that of the robot's file: the angles look wrong by",
)


def advice_for(recordings: Sequence[Recording]) -> Advice:
    """Return the words for these runs, which are all of the bench or all of a joint."""
    return JOINT if recordings and recordings[0].joint else BENCH
