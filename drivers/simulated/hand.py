"""A hand on the simulated pendulum, in shared memory: a torque on the shaft, and a spring that pulls to an angle.

A mouse moves thirty times a second and jumps. The pendulum moves a thousand times and cannot. The spring therefore
lives with the plant, which requests its torque in every tick: it takes hold at the pendulum's position and pulls no
faster than a hand that guides a load, so that pulling is smooth and stable. The mouse only sets the target.
"""

from __future__ import annotations

import math
from multiprocessing import get_context

from drivers.errors import CommandError

STRENGTH = 20.0
"""Largest torque of a hand [N·m]: an arm pulls 100 N with ease, at 0.2 m from the shaft."""

HAND_SPEED = 1.5
"""Speed of a hand that guides a pendulum [rad/s]: about a quarter turn in a second."""

_TORQUE, _ANGLE, _STIFFNESS, _DAMPING = range(4)


class SharedHand:
    """A hand set in one process and felt by one plant in another. Picklable while a process starts."""

    def __init__(self, strength: float = STRENGTH, speed: float = HAND_SPEED) -> None:
        """Create a hand at rest.

        Args:
            strength: Largest total torque [N·m].
            speed: Speed of the spring's end on its way to its angle [rad/s].
        """
        for name, value in (("strength", strength), ("speed", speed)):
            if not (math.isfinite(value) and value > 0.0):
                raise CommandError(f"a hand's {name} of {value} is not possible; give a finite number above 0")
        self.strength = strength
        self.speed = speed
        self._end = math.nan
        """Angle the spring pulls to now [rad]; NaN while it does not. Known only in the plant's process."""
        self._asked_at = 0.0
        self._values = get_context("spawn").RawArray("d", 4)

    @property
    def torque(self) -> float:
        """Constant torque on the shaft, counter-clockwise positive [N·m]."""
        return self._values[_TORQUE]

    @torque.setter
    def torque(self, value: float) -> None:
        if not math.isfinite(value):
            raise CommandError(f"a hand torque of {value} N·m is not a finite number")
        self._values[_TORQUE] = value

    def pull_to(self, angle: float, stiffness: float, damping: float) -> None:
        """Pull by a spring towards an angle, beginning at the shaft's position.

        A spring that is stiff for its load needs damping: 1.4·√(stiffness·inertia) lets it settle without overshoot.

        Args:
            angle: Angle of the shaft, not wrapped [rad].
            stiffness: Stiffness, at least 0 [N·m/rad].
            damping: Damping, at least 0 [N·m·s/rad].

        Raises:
            CommandError: for a value that is not possible.
        """
        if not math.isfinite(angle):
            raise CommandError(f"a hand cannot pull to an angle of {angle} rad; give a finite one")
        for name, value in (("stiffness", stiffness), ("damping", damping)):
            if not (math.isfinite(value) and value >= 0.0):
                raise CommandError(f"a hand's {name} of {value} is not possible; give a finite number of at least 0")
        values = self._values
        # The stiffness last: a spring that begins to pull then has its angle already.
        values[_ANGLE], values[_DAMPING], values[_STIFFNESS] = angle, damping, stiffness

    def let_go(self) -> None:
        """Stop pulling; the constant torque stays."""
        self._values[_STIFFNESS] = self._values[_DAMPING] = 0.0

    def __call__(self, time: float, position: float, velocity: float) -> float:
        """Return the torque on the shaft [N·m].

        Args:
            time: Time of the plant [s].
            position: Position of the shaft [rad].
            velocity: Velocity of the shaft [rad/s].
        """
        torque, angle, stiffness, damping = self._values
        if time < self._asked_at:
            self._end = math.nan  # another plant
        if stiffness or damping:
            reach = self.speed * max(0.0, time - self._asked_at)
            end = position if math.isnan(self._end) else self._end
            self._end = end + min(max(angle - end, -reach), reach)
            torque += stiffness * (self._end - position) - damping * velocity
        else:
            self._end = math.nan
        self._asked_at = time
        return min(max(torque, -self.strength), self.strength)
