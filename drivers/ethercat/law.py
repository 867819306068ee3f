"""The position law of a drive that is commanded by torque: the eRob law of seed 004's experiments, computed here.

    amps = k·(goal − θ) − d·θ̇, limited to ±largest current        k = error_gain·kp, d = damping·√kp

The state measured in one frame determines the torque sent in the next one, with the goal known by then: the law as a
whole acts one cycle late. In simulated recordings of an eRob80 1:50 (2 ms, kp 50; sin_sin, lift_and_drop,
sin_time_square) this changed the mean distance to the model's motion from 1.27, 2.64 and 3.65 mrad to 1.42, 2.67 and
4.05 mrad. The delay is not compensated. Extrapolating only the state by one to two cycles makes it worse, up to
2.5 times, since goal and state then have different delays. Extrapolating both by one cycle regains the difference, but
needs goals that change smoothly in every cycle and a velocity without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.servo.actuator import ControlLaw
from core.servo.settings import ServoSettings
from drivers.errors import CommandError


@dataclass(frozen=True)
class PositionLaw:
    """Current for a goal and a state."""

    stiffness: float
    """[A/rad]"""
    damping: float
    """[A·s/rad]"""
    limit: float
    """[A]"""

    @classmethod
    def of(cls, control: ControlLaw, settings: ServoSettings) -> PositionLaw:
        """Return the law with a servo's gains.

        Raises:
            CommandError: for gains that it does not have.
        """
        for name in ("ki", "kd"):
            if getattr(settings, name):
                raise CommandError(
                    f"the position law of this servo has no {name}, {getattr(settings, name):g} was requested; set 0"
                )
        damping = control.damping if settings.damping is None else settings.damping
        for name, value in (("kp", settings.kp), ("damping", damping)):
            if not (math.isfinite(value) and value >= 0.0):
                raise CommandError(f"a position law with {name} = {value} is not possible; give a number of at least 0")
        return cls(control.error_gain * settings.kp, damping * math.sqrt(settings.kp), control.output_limit)

    def amps(self, goal: float, position: float, velocity: float) -> float:
        """Return the current [A] for a goal [rad], a position [rad] and a velocity [rad/s]."""
        wanted = self.stiffness * (goal - position) - self.damping * velocity
        return min(max(wanted, -self.limit), self.limit)
