"""Several compliant joints told and read through arrays, as the seed's Plugin Manager node does (section 3.2).

One row of first and one of second references goes to all joints, each in its own operation mode; what comes back is the
state of all links and of all first and second motors, each with the joints' names. Each joint here moves its own link;
links that move each other are those of `core.studies.compliant.arm`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.arrays import Array
from core.errors import ModelError
from core.studies.compliant.joint import CompliantJoint, JointMotion, simulate_joint
from core.studies.compliant.modes import Mode, reference_names


@dataclass(frozen=True, kw_only=True)
class NamedJoint:
    """One joint of a robot."""

    name: str
    joint: CompliantJoint
    mode: Mode = Mode.PID_EQ_PRES

    def __post_init__(self) -> None:
        if not self.name or any(c.isspace() or c in "/<>&\"'" for c in self.name):
            raise ModelError(f"joint name {self.name!r} must be a word without spaces, quotes and slashes")

    @property
    def reference_topics(self) -> tuple[str, str]:
        """Topics of the seed's toolbox below the robot's name; "disabled" is its name for one that is not used."""
        first, second = reference_names(self.mode, self.joint.actuator)
        return f"{self.name}/{first.topic}", f"{self.name}/{second.topic if second is not None else 'disabled'}"


@dataclass(frozen=True, kw_only=True)
class JointArray:
    """The joints of a robot, in the order of the columns of every array."""

    name: str
    """Of the robot"""
    joints: tuple[NamedJoint, ...]

    def __post_init__(self) -> None:
        names = [joint.name for joint in self.joints]
        if not names:
            raise ModelError(f"robot {self.name!r} has no joints; give it one at least")
        if len(set(names)) < len(names):
            raise ModelError(f"robot {self.name!r} has two joints of one name: {', '.join(names)}; name them apart")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the joints."""
        return tuple(joint.name for joint in self.joints)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointStates:
    """States of all joints over time, as ROS's JointState messages hold them; columns are the names."""

    names: tuple[str, ...]
    position: Array
    """(n, joints) rad; [m] for the adjuster of an AwAS-II"""
    velocity: Array
    """(n, joints) rad/s"""
    effort: Array
    """(n, joints) N·m: on a link, or of a motor"""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayMotion:
    """A simulated run of all joints; NaN where a joint's mode has no such thing."""

    time: Array
    """(n,) s"""
    robot_state: JointStates
    """Of the links; effort is the elastic torque, in modes 0 and 1 the commanded one"""
    motor_1_state: JointStates
    motor_2_state: JointStates
    stiffness: Array
    """(n, joints) N·m/rad"""


def simulate_array(
    array: JointArray,
    references_1: ArrayLike,
    references_2: ArrayLike,
    dt: float,
    *,
    external_torque: ArrayLike = 0.0,
    positions: Sequence[float] | None = None,
) -> ArrayMotion:
    """Simulate all joints through references (n, joints) that are held for dt [s] each.

    What a column means is said by its joint's mode, see `reference_names`; references_2 and external_torque [N·m] may
    be one number or one row; positions: of the links at the start [rad], by default as `simulate_joint` says. Raises
    ModelError on references of another width than there are joints.
    """
    count = len(array.joints)
    first = np.asarray(references_1, dtype=np.float64)
    if first.ndim != 2 or first.shape[1] != count:
        raise ModelError(f"robot {array.name!r}: references of shape {first.shape}; there must be {count} columns")
    try:
        second, external = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), first.shape) for v in (references_2, external_torque)
        )
    except ValueError:
        raise ModelError(f"robot {array.name!r}: second references or torques do not fit {first.shape}") from None
    if positions is not None and len(positions) != count:
        raise ModelError(f"robot {array.name!r}: {len(positions)} positions for {count} joints")
    motions = [
        simulate_joint(
            named.joint,
            named.mode,
            first[:, i],
            second[:, i],
            dt,
            external_torque=external[:, i],
            position=None if positions is None else positions[i],
        )
        for i, named in enumerate(array.joints)
    ]

    def states(position: str, velocity: str, effort: str) -> JointStates:
        return JointStates(
            names=array.names,
            position=_columns(motions, position),
            velocity=_columns(motions, velocity),
            effort=_columns(motions, effort),
        )

    return ArrayMotion(
        time=motions[0].time,
        robot_state=states("position", "velocity", "link_torque"),
        motor_1_state=states("motor_1", "motor_1_velocity", "motor_torque_1"),
        motor_2_state=states("motor_2", "motor_2_velocity", "motor_torque_2"),
        stiffness=_columns(motions, "stiffness"),
    )


def _columns(motions: list[JointMotion], name: str) -> Array:
    return np.column_stack([getattr(motion, name) for motion in motions])
