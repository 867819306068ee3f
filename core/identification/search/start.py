"""Where a search may begin besides the catalogue's values: a model that is known, of an earlier unit of the same servo.

Nothing here loads the compiler, so that the window can check a start before anything is begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.parameters import ParameterSet
from core.terms import COMMAND_PATH, FRICTION, MOTOR_TERMS, NEUTRAL, SPLIT


def started(parameters: ParameterSet, start: Mapping[str, float]) -> ParameterSet:
    """Move free parameters to a start given by name, SI units, clipped to their bounds; frozen ones stay.

    The start may be of another friction model: one coefficient of the load becomes two equal ones, two become their
    mean. Where it holds a whole model's friction, terms it lacks are zero; where it holds a motor, command path terms
    it lacks are neutral. Of a start that holds neither, what it does not name stays.
    """
    known = {name: value for name, value in start.items() if name in parameters}
    for shared, split in SPLIT.items():
        if shared in start:
            known |= {name: start[shared] for name in split if name in parameters and name not in start}
        elif shared in parameters and all(name in start for name in split):
            known[shared] = 0.5 * (start[split[0]] + start[split[1]])
    if {"friction_base", "friction_viscous"} <= start.keys():
        known = _neutral(FRICTION, parameters) | known
    if set(MOTOR_TERMS) <= start.keys():
        # A model without a delay of its own for switching the torque delays it as it does the goal.
        late = {"release_delay": start.get("command_delay", 0.0)} if "release_delay" in parameters else {}
        known = _neutral(COMMAND_PATH, parameters) | late | known
    return parameters.with_values(
        {
            name: min(max(value, parameters[name].lower), parameters[name].upper)
            for name, value in known.items()
            if not parameters[name].frozen
        }
    )


def _neutral(terms: Iterable[str], parameters: ParameterSet) -> dict[str, float]:
    """Values of the parameters among these terms at which they change nothing."""
    return {name: NEUTRAL[name] for name in terms if name in parameters and name in NEUTRAL}
