"""A compliant joint step by step, for a simulated servo and for the user's own control loop."""

from __future__ import annotations

import math

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.studies.compliant.joint import JOINT_OUTPUTS, CompliantJoint, JointKernel, initial_state, safe_substeps
from core.studies.compliant.modes import Mode, commands_of


class CompliantStepper:
    """Step-by-step simulation of a compliant joint, with the interface of `core.motion.simulation.Stepper`.

    The goal is the first reference of the mode: the equilibrium position in modes 3 and 6, the link's position in mode
    1. The preset is fixed. With the torque off, motors and link move freely; ideal motors (modes 2 and 3) stay in
    place.
    """

    def __init__(
        self,
        joint: CompliantJoint,
        dt: float,
        *,
        mode: Mode = Mode.PID_EQ_PRES,
        preset: float = 0.0,
        substeps: int | None = None,
        position: float = 0.0,
        velocity: float = 0.0,
        nominal_supply: float = 12.0,
        torque_constant: float = math.inf,
    ) -> None:
        """Set up a joint with motors at rest.

        Args:
            joint: The joint.
            dt: Duration of a step [s].
            mode: Operation mode whose goal is a position.
            preset: Stiffness preset.
            substeps: Substeps of a step. None: `safe_substeps`.
            position: Start position of the link [rad].
            velocity: Start velocity of the link [rad/s].
            nominal_supply: Supply voltage, only reported back: there is no electrical model [V].
            torque_constant: Torque constant that turns torque into the reported current [N·m/A].

        Raises:
            ModelError: The goal of the mode is not a position.
        """
        if mode in (Mode.LINK_TORQUE, Mode.MOTOR_TORQUES):
            raise ModelError(f"compliant joint: mode {int(mode)} takes torques, not positions; use mode 1, 3 or 6")
        self._joint, self._mode, self._preset = joint, mode, float(preset)
        self._parts = safe_substeps(joint, mode, dt, preset) if substeps is None else substeps
        self._h = dt / self._parts
        self._run = JointKernel(joint, mode)
        self._nominal_supply, self._torque_constant = nominal_supply, torque_constant
        self._limit = sum(motor.max_torque for motor in joint.motors[: joint.actuator.motors])
        self.reset(position, velocity)

    def reset(self, position: float = 0.0, velocity: float = 0.0) -> None:
        """Set the link's state [rad, rad/s], with the motors at rest at its equilibrium."""
        self._commands = self._commands_at(position)
        self._state = initial_state(self._joint, self._mode, self._commands[0], position, velocity)
        self._motor_torque = 0.0
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

        A step that is partly position control, partly torque control uses the one that fills more of it.

        Args:
            goal: Goal [rad].
            torque_enable: Share of the step in which the motors are powered, 0 … 1.
            supply_voltage: Supply voltage, only reported back [V].
            hand_torque: External torque on the link [N·m].
            motor_torque: Torque that replaces position control, on the link in mode 1, otherwise shared equally by the
                motors [N·m].
            torque_share: Share of the step with `motor_torque`.
            next_goal: Goal of the last part of the step [rad]; the joint follows the mean.
            next_share: Share of the step with `next_goal`.

        Raises:
            ModelError: A torque in modes 2 and 3, whose ideal motors take none.
        """
        if next_goal is not None:
            goal += next_share * (next_goal - goal)
        mode, run = self._mode, self._run
        by_torque = 0.0 if motor_torque is None else torque_share
        powered = torque_enable * (1.0 - by_torque)
        if motor_torque is not None and by_torque >= powered:
            powered = by_torque
            if mode in (Mode.SPRING_REFS, Mode.SPRING_EQ_PRES):
                raise ModelError(f"compliant joint: ideal motors of mode {int(mode)} take no torque; use mode 6")
            run = run.by_torque
            share = motor_torque / self._joint.actuator.motors if mode.has_motors else motor_torque
            commands = np.array([[share, share if self._joint.actuator.motors == 2 else self._preset]])
        else:
            if torque_enable or mode.has_motors or mode is Mode.LINK_PID:
                self._commands = self._commands_at(goal)
            commands = self._commands
        external = np.array([hand_torque])
        row = run.advance(self._state, commands, external, self._h, self._parts, powered)[0]
        named = dict(zip(JOINT_OUTPUTS, row.tolist(), strict=True))
        torques = (named["motor_torque_1"], named["motor_torque_2"]) if mode.has_motors else (named["link_torque"],)
        self._motor_torque = sum(torque for torque in torques if not math.isnan(torque))
        self._supply = self._nominal_supply if supply_voltage is None else supply_voltage

    def _commands_at(self, goal: float) -> Array:
        return np.column_stack(commands_of(self._mode, self._joint.actuator, [goal], [self._preset]))

    @property
    def position(self) -> float:
        """Position of the link [rad]."""
        return float(self._state[0, 0])

    @property
    def velocity(self) -> float:
        """Velocity of the link [rad/s]."""
        return float(self._state[0, 1])

    @property
    def motor_positions(self) -> tuple[float, float]:
        """Positions of motor 1, and of motor 2 or the adjuster [rad, rad or m]."""
        return float(self._state[1, 0]), float(self._state[2, 0])

    @property
    def motor_torque(self) -> float:
        """Torque of all motors at the beginning of the last step [N·m]; for ideal motors, spring torque on the link."""
        return self._motor_torque

    @property
    def current(self) -> float:
        """Motor current during the last step [A]."""
        return self._motor_torque / self._torque_constant

    @property
    def duty_cycle(self) -> float:
        """Used share of the motors' torque limit during the last step."""
        return self._motor_torque / self._limit

    @property
    def supply_voltage(self) -> float:
        """Supply voltage during the last step [V]."""
        return self._supply
