"""Laws that follow from friction budgets M1–M6 (seed 004) at one moment: F_S and F_C by the loads of that moment.

A budget is K_v·|v| + F_C + exp(−|v/v_s|^α)·(F_S − F_C), where the loads decide about F_C and F_S: seed 001's Stribeck
function with D = K_v and v_S = v_s. M1 and M3 have no stiction.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck
from core.errors import ModelError
from core.friction import friction_budget, require_friction_model
from core.terms import FRICTION, QuadraticGate

FAR = 1e12
"""Speed over v_s at which nothing of stiction is left for any exponent a model may have, 0.2 or more."""


def law_of_budget(
    model: str,
    values: Mapping[str, float],
    motor_torque: float,
    external_torque: float,
    *,
    shape: str = "stribeck",
    quadratic_gate: QuadraticGate = "larger_torque",
) -> FrictionLaw:
    """The law of a budget M1–M6 while the torques [N·m] are what they are.

    values: by parameter name, as `core.friction.friction_budget`, whose evaluation at rest is F_S and far beyond v_s,
    without its viscous part, F_C. shape: how stiction falls with speed; the rational shape has no exponent and leaves
    α unused. Raises ModelError for unknown names and for numbers that no law can have.
    """
    name = require_friction_model(model)
    growing = [key for key, term in FRICTION.items() if term.speed_power < 0]
    dry = {**values, **dict.fromkeys(growing, 0.0)}
    speed = values.get("dtheta_stribeck", 0.0)
    at_rest, far = friction_budget(
        name, dry, motor_torque, external_torque, np.array([0.0, FAR * speed]), quadratic_gate
    )
    static, coulomb, viscous = float(at_rest), float(far), values["friction_viscous"]
    if name in ("m1", "m3"):
        return CoulombViscous(coulomb=coulomb, viscous=viscous)
    if shape == "rational":
        return Rational(static=static, coulomb=coulomb, breakaway_speed=speed, viscous=viscous)
    if shape != "stribeck":
        raise ModelError(f"no shape {shape!r} of stiction; there are stribeck and rational")
    return Stribeck(static=static, coulomb=coulomb, breakaway_speed=speed, viscous=viscous, exponent=values["alpha"])
