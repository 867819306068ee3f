"""Where a search may begin besides the catalogue's values: a model that is known, of an earlier unit of the same servo.

Nothing here loads the compiler, so that the window can check a start before anything is begun.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.friction import FRICTION_TERMS
from core.kernel.layout import NO_SLEW
from core.parameters import ParameterSet

NEUTRAL = {
    "command_delay": 0.0,
    "release_delay": 0.0,
    "error_gain_ratio": 1.0,
    "goal_slew": NO_SLEW,
    "dead_band": 0.0,
    "pwm_lag": 0.0,
    "supply_sag": 0.0,
    "release_braking": 0.0,
}
"""Value of each command path term at which it changes nothing, SI units."""

_SPLIT = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
}
"""One coefficient of M3 and M4 and the two it is in M5 and M6."""

_FRICTION = {name for terms in FRICTION_TERMS.values() for name in terms}
_SHAPE = ("dtheta_stribeck", "alpha")
"""Nothing depends on these without friction at rest."""


def started(parameters: ParameterSet, start: Mapping[str, float]) -> ParameterSet:
    """Move free parameters to a start given by name, SI units, clipped to their bounds; frozen ones stay.

    The start may be of another friction model: one coefficient of the load becomes two equal ones, two become their
    mean. Where it holds a whole model's friction, terms it lacks are zero; where it holds a motor, command path terms
    it lacks are neutral. Of a start that holds neither, what it does not name stays.
    """
    known = {name: value for name, value in start.items() if name in parameters}
    for shared, split in _SPLIT.items():
        if shared in start:
            known |= {name: start[shared] for name in split if name in parameters and name not in start}
        elif shared in parameters and all(name in start for name in split):
            known[shared] = 0.5 * (start[split[0]] + start[split[1]])
    if {"friction_base", "friction_viscous"} <= start.keys():
        lacking = _FRICTION - set(_SHAPE)
        known = {**{name: 0.0 for name in lacking if name in parameters}, **known}
    if {"kt", "R", "armature"} <= start.keys():
        # A model without a delay of its own for switching the torque delays it as it does the goal.
        neutral = {**NEUTRAL, "release_delay": start.get("command_delay", NEUTRAL["command_delay"])}
        known = {**{name: value for name, value in neutral.items() if name in parameters}, **known}
    return parameters.with_values(
        {
            name: min(max(value, parameters[name].lower), parameters[name].upper)
            for name, value in known.items()
            if not parameters[name].frozen
        }
    )
