"""Laws of friction budgets M1–M6 (Duclusaud et al.) at one moment, which the kernel's contacts are compared with.

A budget is K_v·|v| + F_C + exp(−|v/v_s|^α)·(F_S − F_C), where F_C and F_S depend on the loads. This is the Stribeck
function of Cisneros et al. with D = K_v and v_S = v_s. M1 and M3 have no stiction.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck
from core.servo.friction import friction_budget
from core.servo.terms import FRICTION, QuadraticGate

FAR = 1e12
"""Speed in units of v_s at which no stiction remains for any possible exponent, 0.2 or more."""


def law_of_budget(
    model: str,
    values: Mapping[str, float],
    motor_torque: float,
    external_torque: float,
    *,
    shape: str = "stribeck",
    quadratic_gate: QuadraticGate = "larger_torque",
) -> FrictionLaw:
    """Return the law of a budget M1–M6 at constant torques [N·m].

    F_S is the budget at rest. F_C is the budget far beyond v_s, without its viscous part.
    `shape` is the decay of stiction with speed, "stribeck" or "rational". The latter ignores α.
    """
    growing = [key for key, term in FRICTION.items() if term.speed_power < 0]
    dry = {**values, **dict.fromkeys(growing, 0.0)}
    speed = values.get("dtheta_stribeck", 0.0)
    at_rest, far = friction_budget(
        model, dry, motor_torque, external_torque, np.array([0.0, FAR * speed]), quadratic_gate
    )
    static, coulomb, viscous = float(at_rest), float(far), values["friction_viscous"]
    if model in ("m1", "m3"):
        return CoulombViscous(coulomb=coulomb, viscous=viscous)
    if shape == "rational":
        return Rational(static=static, coulomb=coulomb, breakaway_speed=speed, viscous=viscous)
    return Stribeck(static=static, coulomb=coulomb, breakaway_speed=speed, viscous=viscous, exponent=values["alpha"])
