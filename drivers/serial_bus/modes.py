"""Modes of a serial servo: its position law, or a constant motor torque in the way that its model allows.

X and MX (protocol 2) control current. The XL330 measures its current too coarsely and the XL-320 not at all. These get
a duty cycle that follows the speed: duty·U = τ·R/kt + kt·ω, the motor equation of seed 004, eq. (13), solved for the
voltage. MX with protocol 1 firmware have a torque control mode of their own, in units of current. Feetech servos get
that duty cycle as the limit of the output of their position law, whose goal is an end of their range; the mode that
drives a duty cycle itself knows no end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.servo.catalogue import ServoSpec
from core.servo.shipped import nominal_model
from drivers.errors import ServoFault
from drivers.reading import Reading
from drivers.serial_bus.profile import SerialProfile
from drivers.servo import PositionGoal, TorqueGoal

GOAL_REGISTERS = {
    "position": "goal_position",
    "current": "goal_current",
    "pwm": "goal_pwm",
    "goal_torque": "goal_torque",
    "wheel": "moving_speed",
    "limited": "torque_limit",
}
"""Mode to the register for its goals."""
GOAL_CAPS = {
    "current": "current_limit",
    "pwm": "pwm_limit",
    "goal_torque": "max_torque",
    "wheel": "max_torque",
    "limited": "max_torque",
}
"""Mode with a torque goal to the register that caps its goals."""
UNHURRIED = ("moving_speed", "goal_acceleration", "goal_time", "profile_acceleration", "profile_velocity")
"""Registers that shape the way to a goal position; 0 means as fast as the motor can."""
FULL_OUTPUT = {"goal_pwm": "pwm_limit", "torque_limit": "max_torque"}
"""Registers that cap the output of the position law, and the registers that cap them."""


@dataclass(frozen=True)
class Motor:
    """Constants that convert torque into current and voltage."""

    kt: float
    """[N·m/A]"""
    resistance: float
    """[Ω]"""

    @classmethod
    def of(cls, spec: ServoSpec) -> Motor:
        """Return the constants of the best model of a servo in the catalogue."""
        values = nominal_model(spec).values
        return cls(values["kt"], values["R"])

    def current(self, torque: float) -> float:
        """Return the current for a torque [A]."""
        return torque / self.kt

    def duty_cycle(self, torque: float, velocity: float, supply_voltage: float) -> float:
        """Return the duty cycle that gives a motor torque at a velocity, −1 … 1."""
        duty = (torque * self.resistance / self.kt + self.kt * velocity) / supply_voltage
        return min(max(duty, -1.0), 1.0)


def mode_of(profile: SerialProfile, goal: PositionGoal | TorqueGoal) -> str:
    """Return the mode that follows this kind of goal."""
    return "position" if isinstance(goal, PositionGoal) else profile.torque_mode


def goal_counts(profile: SerialProfile, motor: Motor, goal: PositionGoal | TorqueGoal, seen: Reading) -> int:
    """Return the value of a goal in the goal register of its mode.

    Args:
        profile: Control table and units.
        motor: Motor constants.
        goal: The goal.
        seen: The servo's last reading.

    Raises:
        ServoFault: if the supply voltage is needed and the servo reports none.
    """
    mode = mode_of(profile, goal)
    register = profile.table[GOAL_REGISTERS[mode]]
    if isinstance(goal, PositionGoal):
        return profile.to_counts(register, goal.position)
    if mode in ("current", "goal_torque"):
        return round(motor.current(goal.torque) / profile.current_unit)
    if not seen.supply_voltage > 0.0:
        raise ServoFault(f"the servo reports a supply voltage of {seen.supply_voltage:g} V; check its power supply")
    velocity = 0.0 if math.isnan(seen.velocity) else seen.velocity
    return round(motor.duty_cycle(goal.torque, velocity, seen.supply_voltage) / profile.duty_unit)


def goal_values(mode: str, counts: int, ends: tuple[int, int]) -> dict[str, int]:
    """Return the registers that are written for a goal, adjacent ones so that they are one packet.

    Args:
        mode: Mode of the servo.
        counts: Goal as by `goal_counts`; its sign is the direction.
        ends: Lowest and highest position of the servo [counts].
    """
    if mode != "limited":
        return {GOAL_REGISTERS[mode]: counts}
    return {"goal_position": ends[counts > 0], "goal_time": 0, "moving_speed": 0, "torque_limit": abs(counts)}
