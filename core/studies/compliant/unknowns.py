"""The numbers of a compliant actuator that recordings can tell, as one set of parameters, and back.

Three groups: the springs (their own parameters), the link (what its joint loses), and the motors with their position
controllers. All are positive and differ by orders of magnitude, so a search moves their logarithms.

Some numbers never act alone. A BAVS knows only k·a and k·b, an AwAS-II only K_s/r_t²: k and r_t are held where they
are, unless they are freed. Where a spring's deflection ends is held too: no motion answers to it before it is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.errors import IdentificationError, InputError, ModelError
from core.parameters import Parameter, ParameterSet
from core.studies.compliant.files import CompliantUnit

SPRINGS, LINK, MOTOR = "springs", "link", "motor"
GROUPS = (SPRINGS, LINK, MOTOR)
HELD = {"bavs": ("k",), "awas2": ("radius",)}
"""By actuator: one of several springs' numbers that act only together."""
ALWAYS_HELD = ("max_deflection",)
LEAST = 1e-6
"""The lower bound of what may be 0, as a share of the upper one: less is nothing."""

_LINK = (
    ("link_damping", "d", "N·m·s/rad", 10.0, "Viscous, of the link's joint"),
    ("link_friction", "F", "N·m", 5.0, "Dry, of the link's joint"),
)
_MOTOR = (
    ("motor_inertia", "J", "kg·m²", 1.0, "Of a motor at its output"),
    ("motor_damping", "D", "N·m·s/rad", 50.0, "Of a motor"),
    ("motor_friction", "τ_f", "N·m", 10.0, "Dry, of a motor"),
    ("motor_kp", "k_p", "N·m/rad", 1e4, "Gain of a motor's position controller"),
    ("motor_kd", "k_d", "N·m·s/rad", 1e3, "Velocity gain of a motor's position controller"),
)


def unknowns(unit: CompliantUnit, groups: Sequence[str] = (SPRINGS, LINK), freed: Sequence[str] = ()) -> ParameterSet:
    """All numbers of a unit with their bounds; frozen those that are of no group or are held.

    freed: names that are not frozen all the same. Raises IdentificationError for unknown groups or names.
    """
    if not set(groups) <= set(GROUPS):
        raise IdentificationError(f"groups to identify are {', '.join(GROUPS)}, not {', '.join(groups)}")
    name = unit.actuator.name
    held = {*HELD.get(name, ()), *ALWAYS_HELD}
    found = [
        _positive(replace(p, frozen=SPRINGS not in groups or p.name in held))
        for p in unit.actuator.parameters().values()
    ]
    values = _values(unit)
    for group, numbers in ((LINK, _LINK), (MOTOR, _MOTOR)):
        for number, symbol, unit_text, upper, description in numbers:
            found.append(
                _positive(
                    Parameter(
                        name=number,
                        symbol=symbol,
                        unit=unit_text,
                        value=values[number],
                        lower=0.0,
                        upper=upper,
                        frozen=group not in groups,
                        description=description,
                    )
                )
            )
    known = {p.name for p in found}
    for wanted in freed:
        if wanted not in known:
            raise IdentificationError(f"no number {wanted!r} to free; there are {', '.join(sorted(known))}")
    return ParameterSet([replace(p, frozen=False) if p.name in freed else p for p in found])


def unit_with(unit: CompliantUnit, parameters: ParameterSet) -> CompliantUnit:
    """The unit with the values of `unknowns`."""
    of = parameters.numbers()
    own = unit.actuator.parameters()
    try:
        return CompliantUnit(
            actuator=unit.actuator.with_values({name: of[name] for name in own}),
            motor=replace(
                unit.motor, inertia=of["motor_inertia"], damping=of["motor_damping"], friction=of["motor_friction"]
            ),
            pid=replace(unit.pid, kp=of["motor_kp"], kd=of["motor_kd"]),
            link_damping=of["link_damping"],
            link_friction=of["link_friction"],
        )
    except (ModelError, InputError) as error:
        raise IdentificationError(f"compliant actuator: {error}") from None


def _values(unit: CompliantUnit) -> dict[str, float]:
    return {
        "link_damping": unit.link_damping,
        "link_friction": unit.link_friction,
        "motor_inertia": unit.motor.inertia,
        "motor_damping": unit.motor.damping,
        "motor_friction": unit.motor.friction,
        "motor_kp": unit.pid.kp,
        "motor_kd": unit.pid.kd,
    }


def _positive(parameter: Parameter) -> Parameter:
    """With bounds that have logarithms, and a free value within them."""
    lower = max(parameter.lower, LEAST * parameter.upper)
    if parameter.frozen:
        return parameter
    return replace(parameter, lower=lower, value=min(max(parameter.value, lower), parameter.upper))
