"""Control laws of the firmware that the plant does not have: limits, profiles, velocity and current control.

The position law itself is the plant's own (`PositionGoal`), at full voltage and without a profile. The laws here
replace it once a register demands more. The plant reads a goal's duty cycle in each of its ticks, and these laws
compute it then: firmware loops of 1 kHz, whatever the emulator is doing meanwhile.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from drivers.servo import PositionGoal
from drivers.simulated.plant import TICK, Plant

VELOCITY_GAIN = 1.0 / 128.0
"""PWM counts per count of velocity error and per unit of Velocity P Gain."""
VELOCITY_INTEGRAL_GAIN = 1.0 / 65536.0
"""PWM counts per millisecond, per count of velocity error and per unit of Velocity I Gain."""
VELOCITY_COUNT = 0.229 * 2.0 * math.pi / 60.0
"""Unit of those counts [rad/s]."""
PWM_COUNTS = 885.0
"""PWM counts at full duty."""


def clamp(value: float, limit: float) -> float:
    """Clamp a value to −limit … limit."""
    return min(max(value, -limit), limit)


class Law(ABC):
    """One loop of the firmware. A `DutyLaw` of the plant."""

    def __init__(self, plant: Plant, duty_limit: float, current_limit: float = math.inf) -> None:
        """Create the loop.

        Args:
            plant: The plant.
            duty_limit: Largest duty cycle, 0 … 1.
            current_limit: Largest current [A].
        """
        self.plant = plant
        self.duty_limit = duty_limit
        self.current_limit = current_limit

    @property
    def duty_cycle(self) -> float:
        """Duty cycle of the next tick, −1 … 1: the law's, within the limits of duty cycle and current."""
        duty = clamp(self._output(), self.duty_limit)
        if math.isfinite(self.current_limit):
            highest, lowest = self._duty_of(self.current_limit), self._duty_of(-self.current_limit)
            duty = clamp(min(max(duty, lowest), highest), self.duty_limit)
        return duty

    def _duty_of(self, current: float) -> float:
        """Return the duty cycle for a current [A] at the present velocity."""
        values = self.plant.model.values
        supply = self.plant.electrics[2]
        return (current * values["R"] + values["kt"] * self.plant.velocity) / max(supply, 1e-3)

    @abstractmethod
    def _output(self) -> float:
        """Return the law's own duty cycle; called once per tick."""


class CurrentLaw(Law):
    """Constant current, as long as the supply can drive it."""

    def __init__(self, plant: Plant, current: float, duty_limit: float = 1.0) -> None:
        """Create the loop.

        Args:
            plant: The plant.
            current: Current [A].
            duty_limit: Largest duty cycle, 0 … 1.
        """
        super().__init__(plant, duty_limit)
        self.current = current

    def _output(self) -> float:
        return self._duty_of(self.current)


class VelocityLaw(Law):
    """PI control of the velocity, as in velocity and wheel mode."""

    def __init__(
        self,
        plant: Plant,
        velocity: float,
        gains: tuple[float, float],
        duty_limit: float,
        acceleration: float = math.inf,
    ) -> None:
        """Create the loop.

        Args:
            plant: The plant.
            velocity: Goal [rad/s].
            gains: Velocity P and I Gain.
            duty_limit: Largest duty cycle, 0 … 1.
            acceleration: Acceleration of the goal [rad/s²].
        """
        super().__init__(plant, duty_limit)
        self.velocity = velocity
        self.gains = gains
        self.acceleration = acceleration
        self.goal_velocity = plant.velocity if math.isfinite(acceleration) else velocity
        self._integral = 0.0

    def _output(self) -> float:
        self.goal_velocity += clamp(self.velocity - self.goal_velocity, self.acceleration * TICK)
        error = (self.goal_velocity - self.plant.velocity) / VELOCITY_COUNT
        proportional, integral = self.gains
        self._integral += error * integral * VELOCITY_INTEGRAL_GAIN / PWM_COUNTS * (TICK / 1e-3)
        self._integral = clamp(self._integral, self.duty_limit)
        return error * proportional * VELOCITY_GAIN / PWM_COUNTS + self._integral


@dataclass
class Profile:
    """A goal under way, within a speed [rad/s] and an acceleration [rad/s²]."""

    position: float
    """[rad]"""
    velocity: float = 0.0
    """[rad/s]"""
    highest_speed: float = math.inf
    highest_acceleration: float = math.inf

    def step(self, goal: float) -> float:
        """Advance by a tick towards a goal [rad] and return the position."""
        way = goal - self.position
        if not math.isfinite(self.highest_speed) and not math.isfinite(self.highest_acceleration):
            self.position, self.velocity = goal, 0.0
            return goal
        # As fast as braking still allows, and no further than the goal.
        braked = math.sqrt(2.0 * self.highest_acceleration * abs(way)) if way else 0.0
        speed = min(self.highest_speed, braked, abs(way) / TICK)
        self.velocity += clamp(math.copysign(speed, way) - self.velocity, self.highest_acceleration * TICK)
        self.position += self.velocity * TICK
        return self.position


class PositionLaw(Law):
    """PID control of the position with the plant's gains, behind a profile and within limits."""

    def __init__(
        self, plant: Plant, goal: float, profile: Profile, duty_limit: float, current_limit: float = math.inf
    ) -> None:
        """Create the loop.

        Args:
            plant: The plant.
            goal: Goal [rad].
            profile: Profile that approaches the goal.
            duty_limit: Largest duty cycle, 0 … 1.
            current_limit: Largest current [A].
        """
        super().__init__(plant, duty_limit, current_limit)
        self.goal = goal
        self.profile = profile
        self._integral = 0.0
        self._error = profile.position - plant.position

    def _output(self) -> float:
        law, settings = self.plant.model.control, self.plant.settings
        error = self.profile.step(self.goal) - self.plant.position
        self._integral += law.error_gain * law.integral_ratio * settings.ki * error * TICK
        self._integral = clamp(self._integral, law.output_limit)
        derivative = law.error_gain * law.derivative_ratio * settings.kd * (error - self._error) / TICK
        self._error = error
        return clamp(law.error_gain * settings.kp * error + self._integral + derivative, law.output_limit)


def approached(
    law: Law | None,
    plant: Plant,
    goal: float,
    duty_limit: float,
    speed: float,
    acceleration: float,
    current_limit: float = math.inf,
) -> PositionGoal | PositionLaw:
    """Return what drives a plant to a goal: its own law, unless a profile or a limit demands one of the firmware's.

    Args:
        law: The firmware's present loop, which goes on if it is one of the position.
        plant: The plant.
        goal: Goal [rad].
        duty_limit: Largest duty cycle, 0 … 1.
        speed: Speed of the profile [rad/s].
        acceleration: Acceleration of the profile [rad/s²].
        current_limit: Largest current [A].
    """
    if duty_limit >= 1.0 and not math.isfinite(min(speed, acceleration, current_limit)):
        return PositionGoal(goal)
    if not isinstance(law, PositionLaw):
        law = PositionLaw(plant, goal, Profile(plant.position, plant.velocity), duty_limit, current_limit)
    law.goal, law.duty_limit, law.current_limit = goal, duty_limit, current_limit
    law.profile.highest_speed, law.profile.highest_acceleration = speed, acceleration
    return law
