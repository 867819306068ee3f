"""A Webots servo in a simulated servo's place: the same calls as `core.simulation.Stepper`."""

from __future__ import annotations

import math
from dataclasses import replace

from core.bench import Bench
from core.errors import ModelError
from core.studies.webots.chain import Chain
from core.studies.webots.fields import ServoFields, load_of
from core.studies.webots.servo import ServoDevice


class WebotsStepper:
    """Simulation step by step of a node on the bench's pendulum.

    A node knows no electricity: its duty cycle is the share of maxForce that it uses, and its current follows from a
    torque constant if one is given, else it is 0.
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
        """dt: time one step advances, `basicTimeStep` [s]; armature [kg·m²]; supply_voltage: nominal [V].

        torque_constant [N·m/A]; starts at `position` [rad], released, and raises ModelError where a stop forbids that.
        """
        if not (math.isfinite(dt) and dt > 0.0):
            raise ModelError(f"a step of {dt} s is not possible")
        if torque_constant is not None and not torque_constant > 0.0:
            raise ModelError(f"a torque constant of {torque_constant} N·m/A is not possible; give more than 0 or None")
        self._fields, self._dt = fields, dt
        self._load = load_of(bench, armature)
        self._nominal_supply, self._torque_constant = supply_voltage, torque_constant
        self.reset(position, velocity)

    def reset(self, position: float = 0.0, velocity: float = 0.0) -> None:
        """Go to a state [rad, rad/s] with the motor released."""
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

        goal [rad], clipped to the soft limits; torque_enable: share of maxForce, 0 … 1; supply_voltage [V] is only
        repeated; hand_torque on the shaft [N·m]; motor_torque: force control with so much [N·m], within maxForce, for
        torque_share of the step. A node knows one control at a time: the one that fills more of the step gets it.
        next_goal [rad] replaces the goal for the last next_share of the step; the node follows their mean.
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
        """[rad]"""
        return self._servo.position

    @property
    def velocity(self) -> float:
        """[rad/s]"""
        return self._servo.velocity

    @property
    def motor_torque(self) -> float:
        """During the last step [N·m]"""
        return self._servo.used_force + self._servo.applied_force

    @property
    def current(self) -> float:
        """During the last step [A]; 0 without a torque constant"""
        return 0.0 if self._torque_constant is None else self.motor_torque / self._torque_constant

    @property
    def duty_cycle(self) -> float:
        """Share of maxForce that was used during the last step"""
        return self.motor_torque / self._fields.max_force if self._fields.max_force > 0.0 else 0.0

    @property
    def supply_voltage(self) -> float:
        """During the last step [V]"""
        return self._supply
