"""Several compliant joints with array inputs and outputs, as in the toolbox's Plugin Manager node (section 3.2).

One row of first and one of second references goes to all joints, each in its own operation mode. The output is the
state of all links and of all first and second motors, with the joints' names. Each joint here moves its own link; see
`core.studies.compliant.arm` for coupled links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ModelError
from core.studies.compliant.joint import CompliantJoint, JointMotion, simulate_joint
from core.studies.compliant.modes import Mode, reference_names


@dataclass(frozen=True, kw_only=True)
class NamedJoint:
    """Named joint of a robot."""

    name: str
    joint: CompliantJoint
    mode: Mode = Mode.PID_EQ_PRES

    def __post_init__(self) -> None:
        if not self.name or any(c.isspace() or c in "/<>&\"'" for c in self.name):
            raise ModelError(f"joint name {self.name!r} must be a word without spaces, quotes and slashes")

    @property
    def reference_topics(self) -> tuple[str, str]:
        """Topics in the toolbox, relative to the robot's name; "disabled" stands for an unused one."""
        first, second = reference_names(self.mode, self.joint.actuator)
        return f"{self.name}/{first.topic}", f"{self.name}/{second.topic if second is not None else 'disabled'}"


@dataclass(frozen=True, kw_only=True)
class JointArray:
    """Joints of a robot, in the order of the columns of every array."""

    name: str
    """Name of the robot."""
    joints: tuple[NamedJoint, ...]

    def __post_init__(self) -> None:
        names = [joint.name for joint in self.joints]
        if not names:
            raise ModelError(f"robot {self.name!r} has no joints; give it at least one")
        if len(set(names)) < len(names):
            raise ModelError(f"robot {self.name!r} has two joints with the same name: {', '.join(names)}; rename one")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(joint.name for joint in self.joints)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointStates:
    """States of all joints over time, like ROS's JointState messages; columns are in the order of `names`."""

    names: tuple[str, ...]
    position: Array
    """Positions [rad], or [m] for the adjuster of an AwAS-II, shape (n, joints)."""
    velocity: Array
    """Velocities [rad/s], shape (n, joints)."""
    effort: Array
    """Torques on a link or of a motor [N·m], shape (n, joints)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayMotion:
    """Simulated run of all joints; NaN for quantities that a joint's mode lacks."""

    time: Array
    """Time [s], shape (n,)."""
    robot_state: JointStates
    """States of the links; effort is the elastic torque, or the commanded one in modes 0 and 1."""
    motor_1_state: JointStates
    motor_2_state: JointStates
    stiffness: Array
    """Stiffness [N·m/rad], shape (n, joints)."""


def simulate_array(
    array: JointArray,
    references_1: ArrayLike,
    references_2: ArrayLike,
    dt: float,
    *,
    external_torque: ArrayLike = 0.0,
    positions: Sequence[float] | None = None,
) -> ArrayMotion:
    """Simulate all joints through references that are held for dt [s] each.

    Args:
        array: The joints.
        references_1: First references, shape (n, joints); their meaning depends on the mode, see `reference_names`.
        references_2: Second references, broadcast to (n, joints).
        dt: Duration of each row [s].
        external_torque: Torques on the links [N·m], broadcast to (n, joints).
        positions: Start positions of the links [rad]. None: see `simulate_joint`.

    Raises:
        ModelError: The shape of the references does not match the number of joints.
    """
    count = len(array.joints)
    first = np.asarray(references_1, dtype=np.float64)
    if first.ndim != 2 or first.shape[1] != count:
        raise ModelError(f"robot {array.name!r}: references of shape {first.shape}; {count} columns are required")
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
