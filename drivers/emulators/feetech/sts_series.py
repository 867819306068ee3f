"""STS and SMS series: lock of the EEPROM, position within a turn, goal profile, overload (Feetech's memory table).

Not emulated: step mode, dead zones, the minimum startup force and the controller of the current.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from drivers import timing
from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.laws import Law, VelocityLaw, approached, clamp
from drivers.emulators.serial_bus.registers import Refusal
from drivers.simulated.plant import DutyGoal, PlantGoal

POSITION, VELOCITY, PWM = 0, 1, 2
FULL_ANGLE = 16
"""Bit of the phase for a position that counts whole turns."""
CENTRE = 128
"""Value of torque_enable that makes the present position the centre."""
ACCELERATION_COUNTS = 100.0
"""Counts/s² of one unit of the acceleration."""
SPEED_STEP = 50
"""Steps of the reported velocity [counts/s]."""
VELOCITY_GAINS = (100.0, 1920.0)
"""Velocity P and I Gain of the X series, in place of an unknown law."""
DUTY_SIGN = 1024
"""Bit of the goal time, in PWM mode a duty cycle, for one towards larger positions."""
OVERLOAD = "overload"


class StsDevice(Device):
    """STS3215, STS3250 and their like."""

    bus: ClassVar = "feetech"
    bauds: ClassVar = {0: 1_000_000, 1: 500_000, 2: 250_000, 3: 128_000, 4: 115200, 5: 76800, 6: 57600, 7: 38400}
    ranges: ClassVar = {}
    output_limit: ClassVar = "torque_limit"
    """Register that caps its output."""
    time_unit: ClassVar = 0.01
    """Unit of the protection time [s]."""

    def __init__(self, *arguments: Any, drops_locked: bool = False, starts_driven: bool = False) -> None:
        """Create a servo.

        Args:
            arguments: As of `Device`.
            drops_locked: A write to the locked EEPROM has no effect; otherwise one that ends with its power.
            starts_driven: Torque is on after power-up.
        """
        self._drops_locked, self._starts_driven = drops_locked, starts_driven
        self._lasting: dict[str, int] = {}
        """EEPROM that outlasts its power."""
        super().__init__(*arguments)
        self._lasting = {name: self.registers[name] for name in self.registers.eeprom()}

    def address(self, path: str) -> str:
        """Return its address on a port."""
        return f"{super().address(path)}?servo={self.spec.name}"

    @property
    def _mode(self) -> int:
        return self.registers["operating_mode"]

    # Positions within a turn.

    @property
    def position_counts(self) -> int:
        """Present position as in its register."""
        registers = self.registers
        offset = registers["homing_offset"] if self._mode == POSITION else 0
        whole = round(self.mechanism.position / self.position_step) + self.centre - offset
        return whole if registers["phase"] & FULL_ANGLE else whole % 4096

    def _goal(self) -> float:
        """Return the angle at which the present position would be the goal [rad]."""
        registers = self.registers
        lowest, highest = registers["min_position_limit"], registers["max_position_limit"]
        counts = registers["goal_position"]
        if lowest or highest:
            counts = min(max(counts, lowest), highest)
        return self.mechanism.plant.position + (counts - self.position_counts) * self.position_step

    def refresh(self) -> None:
        """Write the servo's measurements into its registers."""
        registers, mechanism = self.registers, self.mechanism
        current, duty, supply = mechanism.electrics
        speed = mechanism.velocity / self.velocity_unit
        registers["present_position"] = self.position_counts
        registers["present_velocity"] = SPEED_STEP * round(speed / SPEED_STEP)
        registers["present_load"] = -round(clamp(duty, 1.0) * self.duty_steps)
        registers["present_voltage"] = round(supply / self.voltage_unit)
        registers["present_temperature"] = round(mechanism.temperature)
        if "present_current" in registers:
            registers["present_current"] = round(abs(current) / self.current_unit)
        registers["status"] = self.error_bits
        registers["moving"] = int(abs(speed) >= SPEED_STEP)

    # Writing.

    @property
    def _locked(self) -> bool:
        return self._drops_locked and self.registers["lock"] == 1

    def _refusal(self, name: str, value: int) -> Refusal | None:
        return None

    def _written(self, name: str, before: int) -> None:
        registers = self.registers
        if registers.table[name].eeprom and not registers["lock"]:
            self._lasting[name] = registers[name]
        if name == "torque_enable":
            if registers[name] == CENTRE:
                registers[name] = before
                self._centre()
            elif registers[name] > 1:
                registers[name] = before
        elif name == "goal_position":
            registers["torque_enable"] = 1

    def _centre(self) -> None:
        offset = self.registers["homing_offset"] + self.position_counts - self.centre
        self.registers["homing_offset"] = (offset + 2048) % 4096 - 2048
        self._lasting["homing_offset"] = self.registers["homing_offset"]

    def _apply(self, before: Mapping[str, int]) -> None:
        if {"p_gain", "i_gain", "d_gain"} & set(before):
            self._configure()
        if not self.driven:
            if "torque_enable" in before:
                self._end()
        elif set(before) & self._driving:
            self._drive()

    _driving = frozenset(("torque_enable", "goal_position", "goal_time", "moving_speed", "goal_acceleration")) | {
        "torque_limit", "max_torque", "operating_mode", "homing_offset", "min_position_limit", "max_position_limit"
    }  # fmt: skip
    """Registers that change the drive of the motor."""

    # Driving.

    def _end(self) -> None:
        self._law = None
        self.mechanism.release()

    def _drive(self) -> None:
        registers, plant = self.registers, self.mechanism.plant
        duty = registers[self.output_limit] / self.duty_steps
        goal: PlantGoal
        if self._mode == PWM:
            magnitude = registers["goal_time"] % DUTY_SIGN / self.duty_steps
            wanted = magnitude if registers["goal_time"] & DUTY_SIGN else -magnitude
            self._end_overload(wanted)
            self._law, goal = None, DutyGoal(clamp(wanted, min(duty, self._left)))
        elif self._mode == VELOCITY:
            speed = registers["moving_speed"] * self.velocity_unit
            self._end_overload(speed)
            self._law = goal = VelocityLaw(plant, speed, VELOCITY_GAINS, min(duty, self._left))
        else:
            goal = self._position_goal(duty)
        self.mechanism.drive(goal)

    def _position_goal(self, duty: float) -> PlantGoal:
        registers, plant = self.registers, self.mechanism.plant
        goal = self._goal()
        self._end_overload(goal - plant.position)
        duty = min(duty, self._left)
        speed = registers["moving_speed"] * self.velocity_unit or math.inf
        if registers["goal_time"]:
            speed = abs(goal - plant.position) / (1e-3 * registers["goal_time"])
        acceleration = registers["goal_acceleration"] * ACCELERATION_COUNTS * self.position_step or math.inf
        found = approached(self._law, plant, goal, duty, abs(speed), acceleration)
        self._law = found if isinstance(found, Law) else None
        return found

    # Errors and starting.

    def factory_reset(self, now: float, keep: tuple[str, ...] = ()) -> None:
        """Reset every register except some to its factory value, for good, and reboot."""
        kept = {name: self._lasting[name] for name in keep}
        self.registers.reset(self._lasting)
        self._widen_voltage_limits()
        self._lasting = {name: self.registers[name] for name in self._lasting} | kept
        self.reboot(now)

    def _end_overload(self, direction: float) -> None:
        """End an overload by a command in the other direction."""
        if direction * self._overloaded < 0.0:
            self._left, self._overloaded = 1.0, 0.0

    def _protect(self) -> None:
        registers = self.registers
        duty, now = self.mechanism.electrics[1], timing.now()
        if not self.driven or abs(duty) < 0.01 * registers["overload_torque"]:
            self._since = now
        if now - self._since > self.time_unit * registers["protection_time"] and self._left == 1.0:
            self._left, self._overloaded = 0.01 * registers["protective_torque"], duty
            self._drive()
        bits = self.error_bits & ~(1 << registers.table.hardware_errors[OVERLOAD])
        if bits & registers["unloading_condition"] and self.driven:
            registers["torque_enable"] = 0
            self._end()

    def _conditions(self) -> set[str]:
        conditions = super()._conditions()
        bit = 1 << self.registers.table.hardware_errors[OVERLOAD]
        if self._left < 1.0 and self.registers["unloading_condition"] & bit:
            conditions.add(OVERLOAD)
        return conditions

    def _factory_values(self, entries: Mapping[str, object]) -> dict[str, int]:
        return super()._factory_values(entries) | {"firmware_version": 3, "firmware_minor": 10}

    def _boot(self, now: float) -> None:
        for name, value in self._lasting.items():
            self.registers[name] = value
        super()._boot(now)

    def _restart(self) -> None:
        self._law: Law | None = None
        self._since = timing.now()
        """Time at which its output was last below the overload torque [s]."""
        self._left, self._overloaded = 1.0, 0.0
        """Share of the output that an overload leaves, and the duty cycle that caused it."""
        self.registers[self.output_limit] = self.registers["max_torque"]
        self.registers["goal_position"] = self.position_counts
        if self._starts_driven:
            self.registers["torque_enable"] = 1
            self._drive()
