"""X series and MX with protocol 2 firmware: operating modes, limits, bus watchdog, shutdown (ROBOTIS e-manuals).

Torque that is switched on drives to the present goals: an old position, or the full current left by a change of mode.

Not emulated, and refused when written: time-based profiles, torque on by goal update and slave mode (drive mode),
another protocol (protocol type). Indirect addresses do not exist, a secondary ID is ignored, and overload is never
detected, only set (`fault`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from drivers import timing
from drivers.emulators.serial_bus.device import RPM, Device
from drivers.emulators.serial_bus.laws import CurrentLaw, PositionLaw, VelocityLaw, approached
from drivers.emulators.serial_bus.registers import Refusal
from drivers.servo import PositionGoal
from drivers.simulated.plant import DutyGoal, PlantGoal

CURRENT, VELOCITY, POSITION, EXTENDED, CURRENT_BASED, PWM = 0, 1, 3, 4, 5, 16
POSITION_MODES = (POSITION, EXTENDED, CURRENT_BASED)
ACCELERATION_UNIT = 214.577 * RPM / 60.0
"""Unit of the profile acceleration [rad/s²]: 214.577 rev/min²."""
TURNS = 1048575
"""Largest goal with several turns."""
FIRST_X = 1000
"""Lowest model number of the X series."""
TRIPPED = -1
"""Content of the bus watchdog's register once it has tripped."""
WATCHDOG_UNIT = 0.02
"""[s]"""
GOALS = ("goal_pwm", "goal_current", "goal_velocity", "goal_position")
GAINS = (
    "velocity_i_gain",
    "velocity_p_gain",
    "position_d_gain",
    "position_i_gain",
    "position_p_gain",
    "feedforward_2nd_gain",
    "feedforward_1st_gain",
)
CLEAR_SPEED = 0.05
"""Multi-turn information is cleared only if the servo is slower than this [rad/s]."""


class XDevice(Device):
    """A servo with the X series' control table."""

    bauds: ClassVar = {0: 9600, 1: 57600, 2: 115200, 3: 1000000, 4: 2000000, 5: 3000000, 6: 4000000, 7: 4500000}
    ranges: ClassVar = {
        "id": (0, 252),
        "return_delay_time": (0, 254),
        "drive_mode": (0, 1),
        "operating_mode": (0, 16),
        "protocol_type": (2, 2),
        "homing_offset": (-1044479, 1044479),
        "moving_threshold": (0, 1023),
        "temperature_limit": (0, 100),
        "pwm_limit": (0, 885),
        "velocity_limit": (0, 2047),
        "max_position_limit": (0, 4095),
        "min_position_limit": (0, 4095),
        "torque_enable": (0, 1),
        "led": (0, 1),
        "status_return_level": (0, 2),
        **dict.fromkeys(GAINS, (0, 16383)),
        "bus_watchdog": (0, 127),
        "goal_pwm": (-885, 885),
        "goal_position": (-TURNS, TURNS),
        "profile_acceleration": (0, 32767),
        "profile_velocity": (0, 32767),
    }

    @property
    def position_counts(self) -> int:
        """Present position as in its register."""
        return self._single(self.mechanism.position) + self._turns * self._counts + self.registers["homing_offset"]

    @property
    def reads_fast(self) -> bool:
        """True if it takes part in fast reads; MX servos never do."""
        return self.spec.model_number >= FIRST_X

    @property
    def troubled(self) -> bool:
        """True if its hardware error status reports an error."""
        return self.alert or self.registers["hardware_error_status"] != 0

    def supervise(self, now: float) -> None:
        """Advance to the current time; trip the bus watchdog when it is due."""
        super().supervise(now)
        interval = self.registers["bus_watchdog"] * WATCHDOG_UNIT * timing.limits.emulated_watchdogs
        if self.powered and self.driven and interval > 0.0 and now - self._heard > interval:
            self._trip()

    def clear_turns(self) -> bool:
        """Clear whole turns; return False while it moves."""
        if abs(self.mechanism.velocity) > CLEAR_SPEED:
            return False
        self._forget_turns()
        if self.driven and self.registers["operating_mode"] in POSITION_MODES:
            self.registers["goal_position"] = self.position_counts
            self._drive(fresh=True)
        return True

    def refresh(self) -> None:
        """Write the servo's measurements into its registers."""
        registers, mechanism = self.registers, self.mechanism
        current, duty, supply = mechanism.electrics
        speed = mechanism.velocity * self._direction / self.velocity_unit
        registers["realtime_tick"] = self._tick()
        registers["moving"] = int(abs(speed) > registers["moving_threshold"])
        registers["present_pwm"] = round(duty * self._direction * self.duty_steps)
        if not math.isnan(self.current_unit):
            registers["present_current"] = round(current * self._direction / self.current_unit)
        registers["present_velocity"] = round(speed)
        registers["present_position"] = self.position_counts
        registers["present_input_voltage"] = round(supply / self.voltage_unit)
        registers["present_temperature"] = round(mechanism.temperature)
        way = self._law.profile if isinstance(self._law, PositionLaw) else None
        registers["position_trajectory"] = registers["goal_position"] if way is None else self._to_counts(way.position)
        registers["velocity_trajectory"] = (
            0 if way is None else round(way.velocity * self._direction / self.velocity_unit)
        )

    # Positions: counts grow counter-clockwise, in reverse mode clockwise.

    @property
    def _direction(self) -> int:
        return -1 if self.registers["drive_mode"] & 1 else 1

    @property
    def _counts(self) -> int:
        return round(self.registers.table.units["position_counts"])

    def _single(self, position: float) -> int:
        return round(position / self.position_step) * self._direction + self.centre

    def _to_counts(self, position: float) -> int:
        return self._single(position) + self._turns * self._counts + self.registers["homing_offset"]

    def _to_position(self, counts: int) -> float:
        whole = counts - self.registers["homing_offset"] - self._turns * self._counts - self.centre
        return whole * self.position_step * self._direction

    def _forget_turns(self) -> None:
        self._turns = -math.floor(self._single(self.mechanism.position) / self._counts)

    # Writing.

    def _refusal(self, name: str, value: int) -> Refusal | None:
        registers = self.registers
        if name in GOALS and registers["bus_watchdog"] == TRIPPED:
            return Refusal.RANGE
        if name == "bus_watchdog" and value and registers[name] == TRIPPED:
            return Refusal.RANGE
        if name == "operating_mode" and value not in (CURRENT, VELOCITY, *POSITION_MODES, PWM):
            return Refusal.RANGE
        if name == "current_limit" and value > registers.initial(name):
            return Refusal.RANGE
        limits = {
            "goal_pwm": "pwm_limit",
            "goal_current": "current_limit",
            "goal_velocity": "velocity_limit",
        }
        if name in limits and abs(value) > registers[limits[name]]:
            return Refusal.LIMIT
        if name == "goal_position" and registers["operating_mode"] == POSITION:
            lowest, highest = registers["min_position_limit"], registers["max_position_limit"]
            if not lowest <= value <= highest:
                return Refusal.LIMIT
        return None

    def _written(self, name: str, before: int) -> None:
        registers = self.registers
        if name == "operating_mode" and registers[name] != before:
            registers.reset((*GAINS, "profile_acceleration", "profile_velocity"))
            if registers[name] == POSITION:
                self._forget_turns()
            self._reset_goals()
        elif name == "torque_enable" and registers[name] and not before:
            if self._shut_down:
                registers[name] = 0
            elif registers["operating_mode"] == POSITION:
                self._forget_turns()
        elif name in GOALS:
            # After the watchdog was cleared, too, the servo stays where it is until it gets a new goal.
            self._stopped = False

    def _apply(self, before: Mapping[str, int]) -> None:
        written = set(before)
        if written & {"operating_mode", *GAINS}:
            self._configure()
        if before.get("torque_enable", self.driven) != self.driven:
            self._law = None
            if self.driven:
                self._drive(fresh=True)
            else:
                self.mechanism.release()
        elif self.driven and written & {*GOALS, *GAINS, "profile_velocity", "profile_acceleration"}:
            self._drive(fresh=False)

    # Driving.

    def _drive(self, *, fresh: bool) -> None:
        """Drive according to the mode and its goals; with `fresh`, the former law is dropped."""
        registers = self.registers
        mode, plant = registers["operating_mode"], self.mechanism.plant
        duty = registers["goal_pwm"] / self.duty_steps
        goal: PlantGoal
        if self._stopped:
            goal = self._standstill()
        elif mode == PWM:
            self._law = None
            goal = DutyGoal(duty * self._direction)
        elif mode == CURRENT:
            limit = registers["pwm_limit"] / self.duty_steps
            self._law = CurrentLaw(plant, registers["goal_current"] * self.current_unit * self._direction, limit)
            goal = self._law
        elif mode == VELOCITY:
            goal = self._velocity_goal(abs(duty), fresh)
        else:
            goal = self._position_goal(abs(duty), fresh)
        self.mechanism.drive(goal)

    def _velocity_goal(self, duty: float, fresh: bool) -> PlantGoal:
        registers = self.registers
        velocity = registers["goal_velocity"] * self.velocity_unit * self._direction
        gains = float(registers["velocity_p_gain"]), float(registers["velocity_i_gain"])
        acceleration = registers["profile_acceleration"] * ACCELERATION_UNIT or math.inf
        if fresh or not isinstance(self._law, VelocityLaw):
            self._law = VelocityLaw(self.mechanism.plant, velocity, gains, duty, acceleration)
        law = self._law
        law.velocity, law.gains, law.duty_limit, law.acceleration = velocity, gains, duty, acceleration
        return law

    def _position_goal(self, duty: float, fresh: bool) -> PlantGoal:
        registers, plant = self.registers, self.mechanism.plant
        goal = self._to_position(registers["goal_position"])
        speed = registers["profile_velocity"] * self.velocity_unit or math.inf
        acceleration = registers["profile_acceleration"] * ACCELERATION_UNIT or math.inf
        current = math.inf
        if registers["operating_mode"] == CURRENT_BASED:
            current = abs(registers["goal_current"]) * self.current_unit
        found = approached(None if fresh else self._law, plant, goal, duty, speed, acceleration, current)
        self._law = None if isinstance(found, PositionGoal) else found
        return found

    def _trip(self) -> None:
        self.watchdog_trips += 1
        self.registers["bus_watchdog"] = TRIPPED
        self._stopped = True
        self._drive(fresh=True)

    def _standstill(self) -> PlantGoal:
        """Return the goal of a servo that its bus watchdog stopped.

        The manual says that the servo stops, not that torque goes off. A position mode holds the present position and a
        velocity mode the velocity 0; current and PWM mode drive with zero.
        """
        self._law = None
        registers, plant = self.registers, self.mechanism.plant
        mode = registers["operating_mode"]
        if mode in POSITION_MODES:
            return PositionGoal(plant.position)
        if mode == VELOCITY:
            gains = float(registers["velocity_p_gain"]), float(registers["velocity_i_gain"])
            return VelocityLaw(plant, 0.0, gains, 1.0)
        return DutyGoal(0.0) if mode == PWM else CurrentLaw(plant, 0.0)

    # Errors and starting.

    def _protect(self) -> None:
        """Latch errors until the servo restarts; those of the shutdown register switch torque off until then."""
        bits = self.error_bits
        if not bits:
            return
        self.registers["hardware_error_status"] |= bits
        if bits & self.registers["shutdown"] and not self._shut_down:
            self._shut_down = True
            self.registers["torque_enable"] = 0
            self._law = None
            self.mechanism.release()

    def _reset_goals(self) -> None:
        """Reset the goals as a change of mode does: to their limits, which current and PWM mode then drive with."""
        registers = self.registers
        registers["goal_pwm"] = registers["pwm_limit"]
        registers["goal_current"] = registers["current_limit"]
        registers["goal_velocity"] = 0
        registers["goal_position"] = self.position_counts

    def _restart(self) -> None:
        self._law: CurrentLaw | VelocityLaw | PositionLaw | None = None
        self._shut_down = False
        self._stopped = False
        self._turns = 0
        self._forget_turns()
        self._reset_goals()
