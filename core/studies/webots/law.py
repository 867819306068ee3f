"""One step of a Servo node, as seed 002 has it; plain arithmetic, so that `core.studies.webots.kernel` can compile it.

Everything else steps servos with these functions, compiled or not, and therefore gives the same numbers.
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
    """Velocity Vc that the P-controller asks of the motor (3.42.5); an infinite target asks for `velocity` (3.42.6).

    previous: Vp; velocity: Vd, signed for an infinite target; low, high: soft limits, which the controller does not
    attempt to pass at a velocity either; step: ts [s].
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
    """Velocity at the end of a step and the motor's force during it, from resistance·v = carried + motor + stop.

    The motor reaches the wanted velocity if ±force suffices (3.42.5, third stage); a stop holds the velocity within
    low … high with whatever force that takes (3.42.8), and a motor that it blocks presses with all it has.
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
    """Force of gravity on a load; turns: 1 for a pendulum, 0 for a mass on a slope."""
    return -gravity_torque * math.sin(turns * position + offset)
