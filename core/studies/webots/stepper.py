"""A Webots servo with the interface of `core.motion.simulation.Stepper`."""

from __future__ import annotations

import math
from dataclasses import replace

from core.base.errors import ModelError
from core.servo.bench import Bench
from core.studies.webots.chain import Chain
from core.studies.webots.fields import ServoFields, load_of
from core.studies.webots.servo import ServoDevice


class WebotsStepper:
    """Step-by-step simulation of a node on the bench's pendulum.

    A node has no electrical model. Its duty cycle is the used share of maxForce. Its current follows from a torque
    constant if one is given, otherwise it is 0.
    """

    def __init__(
        self,
        fields: ServoFields,
        bench: Bench,
        dt: float,
        *,
        armature: float = 0.0,
        supply_voltage: float = 0.0,
        torque_constant: float | None = None,
        position: float = 0.0,
        velocity: float = 0.0,
    ) -> None:
        """Set up a node, released, at `position` [rad].

        Args:
            fields: Fields of the node.
            bench: The pendulum.
            dt: Duration of a step, `basicTimeStep` [s].
            armature: Inertia of the servo [kg·m²].
            supply_voltage: Nominal supply voltage [V].
            torque_constant: Torque constant [N·m/A]. None: the current is 0.
            position: Start position [rad].
            velocity: Start velocity [rad/s].

        Raises:
            ModelError: Impossible numbers, or a start beyond a stop.
        """
        if not (math.isfinite(dt) and dt > 0.0):
            raise ModelError(f"a time step of {dt} s is not possible")
        if torque_constant is not None and not torque_constant > 0.0:
            raise ModelError(f"a torque constant of {torque_constant} N·m/A is not possible; give one above 0 or None")
        self._fields, self._dt = fields, dt
        self._load = load_of(bench, armature)
        self._nominal_supply, self._torque_constant = supply_voltage, torque_constant
        self.reset(position, velocity)

    def reset(self, position: float = 0.0, velocity: float = 0.0) -> None:
        """Set the state [rad, rad/s] with the motor released."""
        self._servo = ServoDevice(replace(self._fields, position=position))
        self._servo.velocity = velocity
        self._chain = Chain([self._servo], [self._load])
        self._supply = self._nominal_supply

    def step(
        self,
        goal: float,
        torque_enable: float = True,
        *,
        supply_voltage: float | None = None,
        hand_torque: float = 0.0,
        motor_torque: float | None = None,
        torque_share: float = 1.0,
        next_goal: float | None = None,
        next_share: float = 0.0,
    ) -> None:
        """Advance by dt with a held command.

        A node has one control mode at a time: the one that fills more of the step is used.

        Args:
            goal: Goal, clipped to the soft limits [rad].
            torque_enable: Share of maxForce, 0 … 1.
            supply_voltage: Supply voltage, only reported back [V].
            hand_torque: External torque on the shaft [N·m].
            motor_torque: Torque of force control, within maxForce [N·m].
            torque_share: Share of the step with force control.
            next_goal: Goal of the last part of the step [rad]; the node follows the mean.
            next_share: Share of the step with `next_goal`.
        """
        if next_goal is not None:
            goal += next_share * (next_goal - goal)
        servo, most = self._servo, self._fields.max_force
        by_torque = 0.0 if motor_torque is None else torque_share
        by_law = torque_enable * (1.0 - by_torque)
        if motor_torque is None or by_torque < by_law:
            low, high = self._fields.soft_limits
            servo.set_motor_force(most * by_law)
            servo.set_position(min(max(goal, low), high))
        else:
            servo.set_motor_force(most)
            servo.set_force(by_torque * min(max(motor_torque, -most), most))
        self._supply = self._nominal_supply if supply_voltage is None else supply_voltage
        self._chain.step(self._dt, (hand_torque,))

    @property
    def position(self) -> float:
        """Position [rad]."""
        return self._servo.position

    @property
    def velocity(self) -> float:
        """Velocity [rad/s]."""
        return self._servo.velocity

    @property
    def motor_torque(self) -> float:
        """Motor torque during the last step [N·m]."""
        return self._servo.used_force + self._servo.applied_force

    @property
    def current(self) -> float:
        """Motor current during the last step [A]; 0 without a torque constant."""
        return 0.0 if self._torque_constant is None else self.motor_torque / self._torque_constant

    @property
    def duty_cycle(self) -> float:
        """Used share of maxForce during the last step."""
        return self.motor_torque / self._fields.max_force if self._fields.max_force > 0.0 else 0.0

    @property
    def supply_voltage(self) -> float:
        """Supply voltage during the last step [V]."""
        return self._supply
