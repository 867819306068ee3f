"""Start of a search other than the catalogue's values: a known model, e.g. of an earlier unit of the same servo.

This module does not load the compiler, so the window can check a start before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.servo.parameters import ParameterSet
from core.servo.terms import COMMAND_PATH, FRICTION, MOTOR_TERMS, NEUTRAL, SPLIT


def started(parameters: ParameterSet, start: Mapping[str, float]) -> ParameterSet:
    """Move free parameters to a start, clipped to their bounds; frozen ones stay.

    The start may be of another friction model: one load coefficient becomes two equal ones, two become their mean. If
    the start contains the friction of a whole model, terms that it lacks are zero. If it contains a motor, command path
    terms that it lacks are neutral. If it contains neither, parameters that it does not name stay.

    Args:
        parameters: Parameters of the model to search.
        start: Values by parameter name [SI units].
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
        # A model without a separate delay for switching the torque delays it like the goal.
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
    """Return the neutral values of those parameters that are among these terms."""
    return {name: NEUTRAL[name] for name in terms if name in parameters and name in NEUTRAL}
