"""One step of a Servo node by the manual, in plain arithmetic that `core.studies.webots.kernel` can compile.

All other code steps servos with these functions, compiled or not, and therefore gives the same numbers.
"""

from __future__ import annotations

import math

NO_LIMIT = -1.0


def wanted_velocity(
    target: float,
    position: float,
    previous: float,
    control_p: float,
    velocity: float,
    acceleration: float,
    low: float,
    high: float,
    step: float,
) -> float:
    """Return the velocity Vc that the P-controller commands (3.42.5); an infinite target commands `velocity` (3.42.6).

    Args:
        target: Target position.
        position: Current position.
        previous: Vp, the previous Vc.
        control_p: P [1/s].
        velocity: Vd, signed for an infinite target.
        acceleration: Acceleration limit, or NO_LIMIT.
        low: Lower soft limit, which velocity control does not pass either.
        high: Upper soft limit.
        step: ts, the time step [s].
    """
    if math.isinf(target):
        wanted = min(max(velocity, min((low - position) / step, 0.0)), max((high - position) / step, 0.0))
    else:
        fastest = abs(velocity)
        wanted = min(max(control_p * (target - position), -fastest), fastest)
    if acceleration != NO_LIMIT:
        change = acceleration * step
        wanted = previous + min(max(wanted - previous, -change), change)
    return wanted


def reached_velocity(
    resistance: float, carried: float, wanted: float, force: float, low: float, high: float
) -> tuple[float, float]:
    """Return the velocity at the end of a step and the motor's force, from resistance·v = carried + motor + stop.

    The motor reaches the wanted velocity if ±force suffices (3.42.5, third stage). A stop keeps the velocity within
    low … high with any force necessary (3.42.8). A motor blocked by a stop presses with its full force.
    """
    motor = min(max(resistance * wanted - carried, -force), force)
    velocity = (carried + motor) / resistance
    bound = min(max(velocity, low), high)
    if bound != velocity:
        velocity = bound
        if wanted > bound:
            motor = force
        elif wanted < bound:
            motor = -force
    return velocity, motor


def gravity(gravity_torque: float, offset: float, turns: float, position: float) -> float:
    """Return the force of gravity on a load; `turns` is 1 for a pendulum, 0 for a mass on a slope."""
    return -gravity_torque * math.sin(turns * position + offset)
