"""Friction budgets M1–M6 (seed 004, eqs 3, 6–10): parameters and plain formulas; terms are in `core.servo.terms`.

The contact determines how a budget acts. A rigid contact holds the shaft with any torque up to the budget (seed 004,
Algorithm 1). An elastoplastic contact (seed 001) yields before it slips, by a spring and a damper. The budget's parts
are then F_C, F_S, v_S and D of its friction function. It is free of drift and chatter at any time step.

The formulas here are the readable reference, one per equation. The kernel computes M6 only, of which M1–M5 are special
cases (M3 and M4 have K_m = K_e = K_l). Tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.errors import ModelError
from core.servo.parameters import Parameter
from core.servo.terms import BRISTLE, CONTACTS, FRICTION_MODELS, FRICTION_TERMS, NEUTRAL, RICHEST, SPLIT, QuadraticGate

QUADRATIC_GATES = get_args(QuadraticGate)
"""Readings of M6's quadratic term.

"larger_torque" is seed 004 as written: K_e·τ_e² where |τ_m| > |τ_e|, K_m·τ_m² where |τ_m| < |τ_e|. "opposing" is the
same, but only where the two torques oppose each other. The published parameters were fitted with the latter.
"""


def require_friction_model(model: str) -> str:
    """Return the model's name in lower case.

    Raises:
        ModelError: There is no such friction model.
    """
    name = str(model).lower()
    if name not in FRICTION_TERMS:
        raise ModelError(f"no friction model {model!r}; there are {', '.join(FRICTION_MODELS)}")
    return name


def require_contact(contact: str) -> str:
    """Return the contact's name in lower case.

    Raises:
        ModelError: There is no such contact.
    """
    name = str(contact).lower()
    if name not in CONTACTS:
        raise ModelError(f"no contact {contact!r}; there are {', '.join(CONTACTS)}")
    return name


def contact_terms(contact: str) -> tuple[str, ...]:
    """Return the parameters that a contact adds to those of the budget."""
    return () if require_contact(contact) == "rigid" else tuple(BRISTLE)


def friction_parameters(model: str, torque_scale: float, speed_scale: float, contact: str = "rigid") -> list[Parameter]:
    """Return the parameters of a friction model and its contact, with bounds scaled to the servo.

    An elastoplastic contact needs a Stribeck exponent of at least 1 (eq. 14 of seed 001). Its rational function has
    none, so the exponent is frozen at 1.

    Args:
        model: Friction model, "m1" to "m6".
        torque_scale: Stall torque [N·m].
        speed_scale: No-load speed [rad/s].
        contact: Contact, see `core.servo.terms.CONTACTS`.
    """
    names = (*FRICTION_TERMS[require_friction_model(model)], *contact_terms(contact))
    parameters = {name: Parameter.of_term(name, torque_scale, speed_scale) for name in names}
    if "alpha" in parameters and contact != "rigid":
        held = {"value": 1.0, "frozen": True} if contact == "elastoplastic_rational" else {}
        parameters["alpha"] = replace(parameters["alpha"], lower=1.0, **held)
    return list(parameters.values())


def stribeck_share(values: Mapping[str, float], speed: ArrayLike, contact: str = "rigid") -> NDArray[np.float64]:
    """Return the share of the Stribeck terms that is left at a speed.

    It is exp(−s^α) of s = |v|/v_s (seed 004, eq. 6), and 1/(1 + s) with the rational contact (seed 001, eq. 33).

    Args:
        values: Values by parameter name.
        speed: Speed without sign [rad/s].
        contact: Contact, see `core.servo.terms.CONTACTS`.
    """
    s = np.asarray(speed, dtype=np.float64) / values["dtheta_stribeck"]
    return 1.0 / (1.0 + s) if require_contact(contact) == "elastoplastic_rational" else np.exp(-(s ** values["alpha"]))


def steepest_fall(alpha: ArrayLike) -> NDArray[np.float64]:
    """Return the largest slope of 1 − exp(−s^α): 1 at α = 1, infinite below (eqs 14 and 31 of seed 001)."""
    exponent = np.asarray(alpha, dtype=np.float64)
    power = np.maximum(exponent - 1.0, 0.0) / exponent
    return np.where(exponent < 1.0, np.inf, exponent * power**power * np.exp(-power))


def needed_damping(values: Mapping[str, ArrayLike], contact: str, load: float) -> NDArray[np.float64]:
    """Return the smallest bristle damping B [N·m·s/rad] at which friction is continuous at any time step.

    The friction function must not fall more steeply than 1/Z = K·T + B, and B alone guarantees this for every T (seed
    001, eqs 14 and 49). The result is 0 where the function never falls. The inertia of the joint, which adds T/J to the
    kernel's Z, is not known here; see `core.kernel.bristle` for steps that are too long for it.

    Args:
        values: Values by parameter name, which broadcast.
        contact: Contact, see `core.servo.terms.CONTACTS`.
        load: Largest motor and external torque [N·m], at which F_S − F_C is largest.
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
    with np.errstate(invalid="ignore"):  # 0 times an infinite slope
        falling = np.where(breaking > 0.0, breaking * fall / p["dtheta_stribeck"] - p["friction_viscous"], 0.0)
    return np.maximum(falling, 0.0)


def lift_friction(values: Mapping[str, float], source: str, target: str) -> dict[str, float]:
    """Express the friction of a simpler model with the parameters of a richer one.

    Terms that the simpler model lacks are 0. If the source has no Stribeck term, velocity and exponent are left out
    because nothing depends on them.

    Args:
        values: Values by parameter name.
        source: The simpler model.
        target: The richer model.

    Raises:
        ModelError: The target cannot express the source.
    """
    lifted = {name: values[name] for name in FRICTION_TERMS[source] if name in FRICTION_TERMS[target]}
    for shared, split in SPLIT.items():
        if shared in FRICTION_TERMS[source] and shared not in FRICTION_TERMS[target]:
            if split[0] not in FRICTION_TERMS[target]:
                raise ModelError(f"{target} has no load-dependent friction and cannot express {source}")
            lifted |= dict.fromkeys(split, values[shared])
    for name in FRICTION_TERMS[source]:
        if name not in lifted and name not in SPLIT:
            raise ModelError(f"{target} has no {name} and cannot express {source}")
    for name in FRICTION_TERMS[target]:
        if name not in lifted and name in NEUTRAL:
            lifted[name] = 0.0
    return lifted


@dataclass(frozen=True, eq=False)
class BudgetOfLoad:
    """Friction budget at given speeds as a function of the torques, M6 of seed 004 eq. (10).

    It is sliding + |motor·τ_m − external·τ_e| + stribeck·(at_rest + |motor_at_rest·τ_m − external_at_rest·τ_e| + Q),
    where Q is external_quad·τ_e² or motor_quad·τ_m². Arrays have the shape of the speeds.
    """

    sliding: NDArray[np.float64]
    """Load-independent part at the speed [N·m]."""
    motor: float
    external: float
    stribeck: NDArray[np.float64]
    """Share of the Stribeck terms that is left at the speed."""
    at_rest: float
    """Additional Coulomb friction at rest [N·m]."""
    motor_at_rest: float
    external_at_rest: float
    motor_quad: float
    """Quadratic coefficient of the motor torque [1/(N·m)]."""
    external_quad: float
    """Quadratic coefficient of the external torque [1/(N·m)]."""


def budget_of_load(
    model: str, values: Mapping[str, float], velocity: ArrayLike, contact: str = "rigid"
) -> BudgetOfLoad:
    """Return the budget of M1–M6 at speeds [rad/s] as a function of the torques; values by parameter name."""
    p: Mapping[str, float] = {"dtheta_stribeck": 1.0, "alpha": 1.0} | lift_friction(values, model, RICHEST)
    speed = np.abs(np.asarray(velocity, dtype=np.float64))
    return BudgetOfLoad(
        sliding=p["friction_viscous"] * speed + p["friction_base"],
        motor=p["load_friction_motor"],
        external=p["load_friction_external"],
        stribeck=stribeck_share(p, speed, contact),
        at_rest=p["friction_stribeck"],
        motor_at_rest=p["load_friction_motor_stribeck"],
        external_at_rest=p["load_friction_external_stribeck"],
        motor_quad=p["load_friction_motor_quad"],
        external_quad=p["load_friction_external_quad"],
    )


def friction_budget(
    model: str,
    values: Mapping[str, float],
    motor_torque: ArrayLike,
    external_torque: ArrayLike,
    velocity: ArrayLike,
    quadratic_gate: QuadraticGate = "larger_torque",
    contact: str = "rigid",
) -> NDArray[np.float64]:
    """Return the friction budget τ_f^m of M1–M6 [N·m] (seed 004, eqs 3, 6, 7, 8, 9, 10).

    Args:
        model: Friction model, "m1" to "m6".
        values: Values by parameter name.
        motor_torque: Motor torque [N·m], broadcast with the two below.
        external_torque: External torque [N·m].
        velocity: Speed [rad/s].
        quadratic_gate: Reading of the quadratic term, see QUADRATIC_GATES.
        contact: Contact, which determines how the Stribeck terms fall with the speed, see `stribeck_share`.

    Raises:
        ModelError: The model, the gate or the contact is unknown.
    """
    terms = FRICTION_TERMS[require_friction_model(model)]
    if quadratic_gate not in QUADRATIC_GATES:
        raise ModelError(f"no quadratic gate {quadratic_gate!r}; there are {', '.join(QUADRATIC_GATES)}")
    tm = np.asarray(motor_torque, dtype=np.float64)
    te = np.asarray(external_torque, dtype=np.float64)
    speed = np.abs(np.asarray(velocity, dtype=np.float64))
    p = values
    budget = p["friction_viscous"] * speed + p["friction_base"] + 0.0 * (tm + te)
    if "load_friction_base" in terms:
        budget = budget + p["load_friction_base"] * np.abs(tm - te)
    if "load_friction_motor" in terms:
        budget = budget + np.abs(p["load_friction_motor"] * tm - p["load_friction_external"] * te)
    if "friction_stribeck" not in terms:
        return budget
    stribeck = stribeck_share(p, speed, contact)
    at_rest = p["friction_stribeck"] + 0.0 * budget
    if "load_friction_stribeck" in terms:
        at_rest = at_rest + p["load_friction_stribeck"] * np.abs(tm - te)
    if "load_friction_motor_stribeck" in terms:
        at_rest = at_rest + np.abs(p["load_friction_motor_stribeck"] * tm - p["load_friction_external_stribeck"] * te)
    if "load_friction_motor_quad" in terms:
        quadratic = np.where(
            np.abs(tm) > np.abs(te),
            p["load_friction_external_quad"] * te**2,
            np.where(np.abs(tm) < np.abs(te), p["load_friction_motor_quad"] * tm**2, 0.0),
        )
        if quadratic_gate == "opposing":
            quadratic = np.where(tm * te < 0.0, quadratic, 0.0)
        at_rest = at_rest + quadratic
    return budget + stribeck * at_rest
