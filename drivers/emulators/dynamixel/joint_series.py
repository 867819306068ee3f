"""MX with protocol 1 firmware, and the XL-320: angle limits, moving speed, torque limit (ROBOTIS e-manuals).

Not emulated: multi-turn mode, the resolution divider, reverse and slave mode (drive mode) and the punch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.laws import CurrentLaw, Law, VelocityLaw, approached, clamp
from drivers.emulators.serial_bus.registers import Refusal
from drivers.simulated.plant import DutyGoal, PlantGoal

FULL_TORQUE = 1023
ACCELERATION_UNIT = math.radians(8.583)
"""Unit of the goal acceleration [rad/s²]."""
WHEEL_GAINS = (100.0, 1920.0)
"""Velocity P and I Gain of a wheel mode without registers for them: those of the X series."""
ARRIVED = 4
"""Distance within which a goal counts as reached [counts]."""
GAIN_RANGES = dict.fromkeys(("d_gain", "i_gain", "p_gain"), (0, 254))


class JointDevice(Device):
    """Common behaviour of both."""

    def refresh(self) -> None:
        """Write the servo's measurements into its registers."""
        registers, mechanism = self.registers, self.mechanism
        current, duty, supply = mechanism.electrics
        registers["present_position"] = position = self.position_counts
        registers["present_speed"] = self._speed_counts()
        registers["present_load"] = round(clamp(duty, 1.0) * self.duty_steps)
        registers["present_voltage"] = round(supply / self.voltage_unit)
        registers["present_temperature"] = round(mechanism.temperature)
        registers["moving"] = int(
            self.driven and not self._wheel and abs(registers["goal_position"] - position) > ARRIVED
        )
        if "realtime_tick" in registers:
            registers["realtime_tick"] = self._tick()
        if "current" in registers:
            registers["current"] = round(current / self.current_unit) + round(registers.table.units["current_centre"])
        if "hardware_error_status" in registers:
            registers["hardware_error_status"] = self.error_bits

    def _speed_counts(self) -> int:
        return round(self.mechanism.velocity / self.velocity_unit)

    @property
    @abstractmethod
    def _wheel(self) -> bool:
        """True if it turns endlessly."""

    @property
    def _duty_limit(self) -> float:
        return self.registers["torque_limit"] / FULL_TORQUE

    def _refusal(self, name: str, value: int) -> Refusal | None:
        registers = self.registers
        if name == "goal_position" and not self._wheel:
            if not registers["cw_angle_limit"] <= value <= registers["ccw_angle_limit"]:
                return Refusal.ANGLE_LIMIT
        elif name == "moving_speed" and value < 0 and not self._wheel:
            return Refusal.RANGE
        return None

    def _written(self, name: str, before: int) -> None:
        registers = self.registers
        if name == "torque_enable" and registers[name] and not before:
            # Torque that is switched on holds the servo where it is.
            self._law = None
            registers["goal_position"] = self.position_counts

    def _apply(self, before: Mapping[str, int]) -> None:
        written = set(before)
        if written & set(GAIN_RANGES):
            self._configure()
        if not self.driven:
            if "torque_enable" in written:
                self._law = None
                self.mechanism.release()
        elif "torque_enable" in written or written & self._driving:
            self._drive()

    _driving = frozenset({"goal_position", "moving_speed", "torque_limit", "cw_angle_limit", "ccw_angle_limit"})
    """Registers that change the drive of the motor."""

    def _drive(self) -> None:
        if self.registers["torque_limit"] == 0:
            self._law = None
            self.mechanism.release()
        else:
            self.mechanism.drive(self._wheel_goal() if self._wheel else self._joint_goal())

    @abstractmethod
    def _wheel_goal(self) -> PlantGoal:
        """Return the goal that turns it endlessly."""

    def _joint_goal(self) -> PlantGoal:
        registers, plant = self.registers, self.mechanism.plant
        goal = self._nearest(registers["goal_position"])
        speed = registers["moving_speed"] * self.velocity_unit or math.inf
        acceleration = math.inf
        if "goal_acceleration" in registers:
            acceleration = registers["goal_acceleration"] * ACCELERATION_UNIT or math.inf
        found = approached(self._law, plant, goal, self._duty_limit, speed, acceleration)
        self._law = found if isinstance(found, Law) else None
        return found

    def _nearest(self, counts: int) -> float:
        """Return the position of a count [rad]."""
        return (counts - self.centre) * self.position_step

    def _protect(self) -> None:
        """Set the torque limit to 0 while there is an error of the shutdown register."""
        if self.error_bits & self.registers["shutdown"] and self.registers["torque_limit"]:
            self.registers["torque_limit"] = 0
            if self.driven:
                self._drive()

    def _restart(self) -> None:
        self._law: Law | None = None
        self.registers["torque_limit"] = self.registers["max_torque"]
        self.registers["goal_position"] = self.position_counts


class Mx1Device(JointDevice):
    """MX-64 and MX-106 with protocol 1."""

    bauds: ClassVar = {
        **{value: 2000000 // (value + 1) for value in range(250)},
        250: 2250000,
        251: 2500000,
        252: 3000000,
    }
    ranges: ClassVar = {
        "id": (0, 253),
        "return_delay_time": (0, 254),
        "cw_angle_limit": (0, 4095),
        "ccw_angle_limit": (0, 4095),
        "drive_mode": (0, 0),
        "temperature_limit": (0, 99),
        "min_voltage_limit": (50, 250),
        "max_voltage_limit": (50, 250),
        "max_torque": (0, FULL_TORQUE),
        "status_return_level": (0, 2),
        "resolution_divider": (1, 1),
        "multi_turn_offset": (0, 0),
        "torque_enable": (0, 1),
        "led": (0, 1),
        **GAIN_RANGES,
        "goal_position": (0, 4095),
        "torque_limit": (0, FULL_TORQUE),
        "lock": (0, 1),
        "punch": (0, FULL_TORQUE),
        "torque_control_mode": (0, 1),
        "goal_acceleration": (0, 254),
    }
    _driving = JointDevice._driving | {"torque_control_mode", "goal_torque", "goal_acceleration"}

    @property
    def position_counts(self) -> int:
        """Counts within one turn."""
        return (round(self.mechanism.position / self.position_step) + self.centre) % 4096

    @property
    def _wheel(self) -> bool:
        return self.registers["cw_angle_limit"] == 0 == self.registers["ccw_angle_limit"]

    @property
    def _locked(self) -> bool:
        return self.registers["lock"] == 1

    def _refusal(self, name: str, value: int) -> Refusal | None:
        if name == "lock" and value == 0 and self._locked:
            return Refusal.RANGE  # only switching it off and on unlocks it
        return super()._refusal(name, value)

    def _written(self, name: str, before: int) -> None:
        super()._written(name, before)
        if name == "goal_position":
            # This firmware switches torque on for every goal.
            self.registers["torque_enable"] = 1

    def _drive(self) -> None:
        registers = self.registers
        if registers["torque_control_mode"] and registers["torque_limit"]:
            limit = registers["torque_limit"]
            current = clamp(registers["goal_torque"], limit) * self.current_unit
            self._law = CurrentLaw(self.mechanism.plant, current)
            self.mechanism.drive(self._law)
        else:
            super()._drive()

    def _wheel_goal(self) -> PlantGoal:
        velocity = self.registers["moving_speed"] * self.velocity_unit
        acceleration = self.registers["goal_acceleration"] * ACCELERATION_UNIT or math.inf
        if not isinstance(self._law, VelocityLaw):
            self._law = VelocityLaw(self.mechanism.plant, velocity, WHEEL_GAINS, self._duty_limit, acceleration)
        law = self._law
        law.velocity, law.duty_limit, law.acceleration = velocity, self._duty_limit, acceleration
        return law

    def _nearest(self, counts: int) -> float:
        """Return the position of a count in the servo's present turn [rad]."""
        turn = round(self.mechanism.position / self.position_step) + self.centre
        return (counts - self.centre + turn // 4096 * 4096) * self.position_step


class Xl320Device(JointDevice):
    """XL-320: 1024 counts over 300°."""

    WHEEL = 1

    bauds: ClassVar = {0: 9600, 1: 57600, 2: 115200, 3: 1000000}
    ranges: ClassVar = {
        "id": (0, 252),
        "return_delay_time": (0, 254),
        "cw_angle_limit": (0, 1023),
        "ccw_angle_limit": (0, 1023),
        "control_mode": (1, 2),
        "temperature_limit": (0, 150),
        "min_voltage_limit": (50, 250),
        "max_voltage_limit": (50, 250),
        "max_torque": (0, FULL_TORQUE),
        "status_return_level": (0, 2),
        "shutdown": (0, 7),
        "torque_enable": (0, 1),
        "led": (0, 7),
        **GAIN_RANGES,
        "goal_position": (0, 1023),
        "torque_limit": (0, FULL_TORQUE),
        "punch": (0, FULL_TORQUE),
    }

    @property
    def position_counts(self) -> int:
        """Counts within 300°; beyond them the potentiometer's end."""
        return min(max(round(self.mechanism.position / self.position_step) + self.centre, 0), 1023)

    def _speed_counts(self) -> int:
        """Return the speed; in wheel mode the register holds the share of the full output."""
        if self._wheel:
            return round(clamp(self.mechanism.electrics[1], 1.0) * self.duty_steps)
        return super()._speed_counts()

    @property
    def _wheel(self) -> bool:
        return self.registers["control_mode"] == self.WHEEL

    def _wheel_goal(self) -> PlantGoal:
        self._law = None
        return DutyGoal(clamp(self.registers["moving_speed"] / FULL_TORQUE, self._duty_limit))
