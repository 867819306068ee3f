"""Friction budgets M1–M6 (seed 004, eqs 3, 6–10): parameters, plain formulas, and their place in the kernel's row.

How a budget acts is its contact. A rigid one stops the shaft with whatever it takes up to the budget (seed 004,
Algorithm 1). An elastoplastic one (seed 001) gives before it slips, by a spring and a damper, with the budget's parts
as F_C, F_S, v_S and D of its friction function; it is free of drift and chatter at any step.

The formulas here are the readable reference, one per equation; the kernel computes M6 only, of which M1–M5 are
special points (M3 and M4 have K_m = K_e = K_l). Tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ModelError
from core.kernel.layout import Contact, Slot
from core.parameters import Parameter

FRICTION_MODELS = ("m1", "m2", "m3", "m4", "m5", "m6")

FRICTION_TITLES = {
    "m1": "Coulomb–viscous",
    "m2": "Stribeck",
    "m3": "Load-dependent",
    "m4": "Stribeck load-dependent",
    "m5": "Directional",
    "m6": "Quadratic",
}

CONTACTS = {
    "rigid": Contact.RIGID,
    "elastoplastic": Contact.STRIBECK,
    "elastoplastic_rational": Contact.RATIONAL,
}
CONTACT_TITLES = {
    "rigid": "Rigid",
    "elastoplastic": "Elastoplastic",
    "elastoplastic_rational": "Elastoplastic, rational",
}

QUADRATIC_GATES = ("larger_torque", "opposing")
"""Readings of M6's quadratic term. "larger_torque": seed 004 as written, K_e·τ_e² where |τ_m| > |τ_e|, K_m·τ_m² where
|τ_m| < |τ_e|. "opposing": the same, but only where the two torques oppose, as the published parameters were fitted."""

_BASE = ("friction_base", "friction_viscous")
_STRIBECK = ("friction_stribeck", "dtheta_stribeck", "alpha")
_DIRECTIONAL = ("load_friction_motor", "load_friction_external")
_DIRECTIONAL_STRIBECK = ("load_friction_motor_stribeck", "load_friction_external_stribeck")
_QUADRATIC = ("load_friction_motor_quad", "load_friction_external_quad")

BRISTLE = ("bristle_stiffness", "bristle_damping")
"""Parameters of an elastoplastic contact."""

FRICTION_TERMS: dict[str, tuple[str, ...]] = {
    "m1": _BASE,
    "m2": (*_BASE, *_STRIBECK),
    "m3": (*_BASE, "load_friction_base"),
    "m4": (*_BASE, *_STRIBECK, "load_friction_base", "load_friction_stribeck"),
    "m5": (*_BASE, *_STRIBECK, *_DIRECTIONAL, *_DIRECTIONAL_STRIBECK),
    "m6": (*_BASE, *_STRIBECK, *_DIRECTIONAL, *_DIRECTIONAL_STRIBECK, *_QUADRATIC),
}
"""Parameters of each model, in order; names are those of published parameter files."""


@dataclass(frozen=True)
class _Term:
    symbol: str
    unit: str
    start: float
    upper: float
    """start and upper are in units of the servo's torque scale T and speed scale ω, see `friction_parameters`."""
    torque_power: int
    speed_power: int
    description: str
    slots: tuple[Slot, ...]
    lower: float = 0.0


_TERMS: dict[str, _Term] = {
    "friction_base": _Term("K_c", "N·m", 0.02, 0.3, 1, 0, "Coulomb friction", (Slot.FRICTION_BASE,)),
    "friction_viscous": _Term("K_v", "N·m·s/rad", 0.02, 1.0, 1, -1, "viscous friction", (Slot.FRICTION_VISCOUS,)),
    "friction_stribeck": _Term(
        "K_c^s", "N·m", 0.01, 0.3, 1, 0, "extra Coulomb friction at rest", (Slot.FRICTION_STRIBECK,)
    ),
    "dtheta_stribeck": _Term(
        "v_s", "rad/s", 0.25, 1.0, 0, 1, "Stribeck velocity", (Slot.STRIBECK_VELOCITY,), lower=0.001
    ),
    "alpha": _Term("α", "1", 1.2, 10.0, 0, 0, "Stribeck exponent", (Slot.STRIBECK_EXPONENT,), lower=0.2),
    "load_friction_base": _Term(
        "K_l", "1", 0.05, 1.0, 0, 0, "load-dependent friction", (Slot.LOAD_MOTOR, Slot.LOAD_EXTERNAL)
    ),
    "load_friction_stribeck": _Term(
        "K_l^s",
        "1",
        0.05,
        1.0,
        0,
        0,
        "extra load-dependent friction at rest",
        (Slot.LOAD_MOTOR_STRIBECK, Slot.LOAD_EXTERNAL_STRIBECK),
    ),
    "load_friction_motor": _Term("K_m", "1", 0.05, 1.0, 0, 0, "friction by motor torque", (Slot.LOAD_MOTOR,)),
    "load_friction_external": _Term("K_e", "1", 0.05, 1.0, 0, 0, "friction by external torque", (Slot.LOAD_EXTERNAL,)),
    "load_friction_motor_stribeck": _Term(
        "K_m^s", "1", 0.05, 1.0, 0, 0, "extra friction by motor torque at rest", (Slot.LOAD_MOTOR_STRIBECK,)
    ),
    "load_friction_external_stribeck": _Term(
        "K_e^s",
        "1",
        0.05,
        1.2,
        0,
        0,
        "extra friction by external torque at rest",
        (Slot.LOAD_EXTERNAL_STRIBECK,),
    ),
    "load_friction_motor_quad": _Term(
        "K_m^q", "1/(N·m)", 0.01, 0.3, -1, 0, "quadratic friction by motor torque", (Slot.LOAD_MOTOR_QUAD,)
    ),
    "load_friction_external_quad": _Term(
        "K_e^q",
        "1/(N·m)",
        0.01,
        0.3,
        -1,
        0,
        "quadratic friction by external torque",
        (Slot.LOAD_EXTERNAL_QUAD,),
    ),
    "bristle_stiffness": _Term(
        "K",
        "N·m/rad",
        20.0,
        1000.0,
        1,
        0,
        "stiffness of the contact before it slips",
        (Slot.BRISTLE_STIFFNESS,),
        lower=1.0,
    ),
    "bristle_damping": _Term(
        "B",
        "N·m·s/rad",
        0.5,
        20.0,
        1,
        0,
        "damping of the contact before it slips",
        (Slot.BRISTLE_DAMPING,),
        lower=0.01,
    ),
}


def require_friction_model(model: str) -> str:
    """Return the model's name in lower case; raises ModelError when there is none."""
    name = str(model).lower()
    if name not in FRICTION_TERMS:
        raise ModelError(f"no friction model {model!r}; there are {', '.join(FRICTION_MODELS)}")
    return name


def require_contact(contact: str) -> str:
    """Return the contact's name in lower case; raises ModelError when there is none."""
    name = str(contact).lower()
    if name not in CONTACTS:
        raise ModelError(f"no contact {contact!r}; there are {', '.join(CONTACTS)}")
    return name


def contact_terms(contact: str) -> tuple[str, ...]:
    """Parameters that a contact has beside its budget's."""
    return () if require_contact(contact) == "rigid" else BRISTLE


def friction_parameters(model: str, torque_scale: float, speed_scale: float, contact: str = "rigid") -> list[Parameter]:
    """Parameters of a model and its contact with bounds scaled to the servo.

    torque_scale: stall torque [N·m]; speed_scale: no-load speed [rad/s]. An elastoplastic contact needs a Stribeck
    exponent of at least 1 (eq. 14 of seed 001), and its rational function has none: there it is held at 1.
    """
    parameters = []
    for name in (*FRICTION_TERMS[require_friction_model(model)], *contact_terms(contact)):
        term = _TERMS[name]
        if name == "alpha" and contact != "rigid":
            term = replace(term, lower=1.0)
        scale = torque_scale**term.torque_power * speed_scale**term.speed_power
        parameters.append(
            Parameter(
                name=name,
                symbol=term.symbol,
                unit=term.unit,
                value=term.start * scale,
                lower=term.lower * scale,
                upper=term.upper * scale,
                description=term.description,
            )
        )
    if contact == "elastoplastic_rational":
        parameters = [replace(p, value=1.0, frozen=True) if p.name == "alpha" else p for p in parameters]
    return parameters


def friction_slots(name: str) -> tuple[Slot, ...]:
    """Slots of the kernel's row that a friction parameter fills; empty for any other parameter."""
    term = _TERMS.get(name)
    return term.slots if term else ()


def steepest_fall(alpha: ArrayLike) -> NDArray[np.float64]:
    """Largest slope of 1 − exp(−s^α): 1 at α = 1, infinite below (eqs 14 and 31 of seed 001 for any exponent)."""
    exponent = np.asarray(alpha, dtype=np.float64)
    power = np.maximum(exponent - 1.0, 0.0) / exponent
    return np.where(exponent < 1.0, np.inf, exponent * power**power * np.exp(-power))


def needed_damping(values: Mapping[str, ArrayLike], contact: str, load: float) -> NDArray[np.float64]:
    """Least bristle damping B [N·m·s/rad] at which the friction function is one, at any step (seed 001, eqs 14, 49).

    values by parameter name, which broadcast; load: largest motor and external torque [N·m], at which F_S − F_C is
    largest. The function must not fall more steeply than 1/Z = K·T + B, which B alone grants for every T; 0 where it
    never falls.
    """
    if "dtheta_stribeck" not in values:
        return np.zeros(())
    p = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    nothing = np.zeros(())
    both = p.get("load_friction_motor_stribeck", nothing) + p.get("load_friction_external_stribeck", nothing)
    by_load = np.maximum(2.0 * p.get("load_friction_stribeck", nothing), both)
    quadratic = np.maximum(p.get("load_friction_motor_quad", nothing), p.get("load_friction_external_quad", nothing))
    breaking = p["friction_stribeck"] + by_load * load + quadratic * load**2
    fall = steepest_fall(p["alpha"]) if contact == "elastoplastic" else 1.0
    with np.errstate(invalid="ignore"):  # nothing that falls infinitely steeply
        falling = np.where(breaking > 0.0, breaking * fall / p["dtheta_stribeck"] - p["friction_viscous"], 0.0)
    return np.maximum(falling, 0.0)


def lift_friction(values: Mapping[str, float], source: str, target: str) -> dict[str, float]:
    """Express a simpler model's parameters in a richer one's names: the same friction, nested.

    The terms the simpler model lacks are zero; Stribeck's velocity and exponent are left out when the source has
    none, as nothing depends on them. Raises ModelError when the target cannot express the source.
    """
    lifted = {name: values[name] for name in FRICTION_TERMS[source] if name in FRICTION_TERMS[target]}
    for shared, split in (
        ("load_friction_base", _DIRECTIONAL),
        ("load_friction_stribeck", _DIRECTIONAL_STRIBECK),
    ):
        if shared in FRICTION_TERMS[source] and shared not in FRICTION_TERMS[target]:
            if split[0] not in FRICTION_TERMS[target]:
                raise ModelError(f"{target} has no load-dependent friction and cannot express {source}")
            lifted |= dict.fromkeys(split, values[shared])
    for name in FRICTION_TERMS[source]:
        known = name in lifted or name in ("load_friction_base", "load_friction_stribeck")
        if not known:
            raise ModelError(f"{target} has no {name} and cannot express {source}")
    for name in FRICTION_TERMS[target]:
        if name not in lifted and name not in ("dtheta_stribeck", "alpha"):
            lifted[name] = 0.0
    return lifted


def friction_budget(
    model: str,
    values: Mapping[str, float],
    motor_torque: ArrayLike,
    external_torque: ArrayLike,
    velocity: ArrayLike,
    quadratic_gate: str = "larger_torque",
) -> NDArray[np.float64]:
    """Friction budget τ_f^m [N·m] of M1–M6 (seed 004, eqs 3, 6, 7, 8, 9, 10).

    motor_torque, external_torque [N·m] and velocity [rad/s] broadcast; values by parameter name. Raises ModelError
    for an unknown model or gate.
    """
    name = require_friction_model(model)
    if quadratic_gate not in QUADRATIC_GATES:
        raise ModelError(f"no quadratic gate {quadratic_gate!r}; there are {', '.join(QUADRATIC_GATES)}")
    tm = np.asarray(motor_torque, dtype=np.float64)
    te = np.asarray(external_torque, dtype=np.float64)
    speed = np.abs(np.asarray(velocity, dtype=np.float64))
    p = values
    budget = p["friction_viscous"] * speed + p["friction_base"] + 0.0 * (tm + te)
    if name == "m3":
        return budget + p["load_friction_base"] * np.abs(tm - te)
    if name == "m1":
        return budget
    stribeck = np.exp(-((speed / p["dtheta_stribeck"]) ** p["alpha"]))
    at_rest = p["friction_stribeck"] + 0.0 * budget
    if name == "m4":
        load = np.abs(tm - te)
        budget = budget + p["load_friction_base"] * load
        at_rest = at_rest + p["load_friction_stribeck"] * load
    elif name in ("m5", "m6"):
        budget = budget + np.abs(p["load_friction_motor"] * tm - p["load_friction_external"] * te)
        at_rest = at_rest + np.abs(p["load_friction_motor_stribeck"] * tm - p["load_friction_external_stribeck"] * te)
    if name == "m6":
        quadratic = np.where(
            np.abs(tm) > np.abs(te),
            p["load_friction_external_quad"] * te**2,
            np.where(np.abs(tm) < np.abs(te), p["load_friction_motor_quad"] * tm**2, 0.0),
        )
        if quadratic_gate == "opposing":
            quadratic = np.where(tm * te < 0.0, quadratic, 0.0)
        at_rest = at_rest + quadratic
    return budget + stribeck * at_rest
