"""Start of a search other than the catalogue's values: a known model, e.g. of an earlier unit of the same servo.

This module does not load the compiler, so the window can check a start before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from core.base.errors import IdentificationError
from core.servo.catalogue import load_servo
from core.servo.parameters import ParameterSet
from core.servo.terms import COMMAND_PATH, FRICTION, MOTOR_TERMS, NEUTRAL, SPLIT, TERMS

if TYPE_CHECKING:
    from core.servo.model import ServoModel


def start_values(model: ServoModel, servo: str) -> tuple[dict[str, float], str]:
    """Return the values of a known model as a start for a servo, and a note on their origin; empty without one.

    A variant for another voltage has another winding. Ratings are too rough to scale kt and R by: of the STS3215, they
    give 1.4 times the kt at 12 V by torque and current, and 1.8 times by voltage and speed. These values start from the
    servo's own file, and all others carry over.

    Args:
        model: Model of the servo, or of another variant of it with a known gear ratio.
        servo: Name of the servo in the catalogue.

    Raises:
        IdentificationError: The model is of another servo.
    """
    known, wanted = model.spec, load_servo(servo)
    if known.name == wanted.name:
        return model.values, ""
    if not (known.is_variant_of(wanted) and known.gear_ratio and wanted.gear_ratio):
        raise IdentificationError(
            f"a model of {known.name}, the recordings are of {wanted.name}; give one of the same servo"
        )
    note = f"a model of the variant {known.name}, 1:{known.gear_ratio:g}, "
    if known.gear_ratio == wanted.gear_ratio:
        note += f"carried over to {wanted.name}, which has the same gear ratio"
    else:
        note += f"scaled to the gear ratio of {wanted.name}, 1:{wanted.gear_ratio:g}"
    values = of_variant(model.values, wanted.gear_ratio / known.gear_ratio)
    if known.is_wound_like(wanted):
        return values, note
    parameters = wanted.parameters(model.friction)
    own = {name: parameters[name].value for name in parameters if TERMS[name].winding and name in values}
    return values | own, f"{note}; {' and '.join(own)} start from its own file: it is wound for another voltage"


def of_variant(values: Mapping[str, float], ratio: float) -> dict[str, float]:
    """Return the values that the same motor has at the output of another gear.

    At the output, a torque of the motor's side grows with N and an angle or a speed shrinks with 1/N: k_t and Coulomb
    friction follow N, the Stribeck velocity 1/N. Inertia, viscous friction, and stiffness and damping of the contact
    are a torque over a motion and follow N². Load-dependent friction is a share of the torque and keeps its value, so
    its quadratic coefficient, a share per torque, follows 1/N. This takes friction for that of the motor's side, where
    the stages turn fastest. Electrical values, the mounting, and everything that the firmware does with the encoder on
    the output shaft do not depend on N.

    Args:
        values: Values by parameter name [SI units].
        ratio: Gear ratio of the wanted variant over that of the known one.
    """
    return {name: value * ratio ** TERMS[name].gear_power for name, value in values.items()}


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
