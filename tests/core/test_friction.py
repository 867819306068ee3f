"""Friction budgets M1–M6: each formula by hand, the kernel against the formulas, and the nesting of the models.

Hand numbers use values that make each equation of seed 004 a sum one can check: at the Stribeck velocity the
exponential is 1/e whatever its exponent, at rest it is 1.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.kernel.layout import Slot
from core.kernel.mechanics import friction_budget as kernel_budget
from core.servo.friction import (
    QUADRATIC_GATES,
    budget_of_load,
    friction_budget,
    friction_parameters,
    lift_friction,
    require_friction_model,
)
from core.servo.terms import FRICTION_MODELS, FRICTION_TERMS, TERMS
from tests.core.conftest import catalogue_model

VALUES = {
    "friction_base": 0.3,
    "friction_viscous": 0.05,
    "friction_stribeck": 0.2,
    "dtheta_stribeck": 0.5,
    "alpha": 1.7,
    "load_friction_base": 0.1,
    "load_friction_stribeck": 0.04,
    "load_friction_motor": 0.1,
    "load_friction_external": 0.3,
    "load_friction_motor_stribeck": 0.02,
    "load_friction_external_stribeck": 0.08,
    "load_friction_motor_quad": 0.01,
    "load_friction_external_quad": 0.03,
}
TM, TE, SPEED = 3.0, -2.0, 0.5
"""Motor drives against the load, at the Stribeck velocity."""
S = math.exp(-1.0)

HAND = {
    # K_v·0.5 + K_c, eq. (3)
    "m1": 0.025 + 0.3,
    # + s·K_c^s, eq. (6)
    "m2": 0.025 + 0.3 + S * 0.2,
    # + K_l·|3 + 2|, eq. (7)
    "m3": 0.025 + 0.3 + 0.1 * 5,
    # + s·(K_c^s + K_l^s·5), eq. (8)
    "m4": 0.025 + 0.3 + 0.1 * 5 + S * (0.2 + 0.04 * 5),
    # |0.1·3 + 0.3·2| and |0.02·3 + 0.08·2|, eq. (9)
    "m5": 0.025 + 0.3 + 0.9 + S * (0.2 + 0.22),
    # + s·K_e^q·τ_e² as |τ_m| > |τ_e|, eq. (10)
    "m6": 0.025 + 0.3 + 0.9 + S * (0.2 + 0.22 + 0.03 * 4),
}


def kernel_budget_of(model, motor_torque, external_torque, velocity):
    """The kernel's budget with a model's parameters in their slots."""
    row = model.rows()[0]
    (kc, kv, km, ke, kcs, kms, kes, kmq, keq, vs, alpha) = row[Slot.FRICTION_BASE : Slot.STRIBECK_EXPONENT + 1]
    gate = row[Slot.OPPOSING_GATE]
    return kernel_budget(
        velocity, motor_torque, external_torque, kc, kv, km, ke, kcs, kms, kes, kmq, keq, 1.0 / vs, alpha, gate
    )


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_budget_by_hand(model):
    assert friction_budget(model, VALUES, TM, TE, SPEED) == pytest.approx(HAND[model], rel=1e-14)
    assert friction_budget(model, VALUES, TM, TE, -SPEED) == pytest.approx(HAND[model], rel=1e-14)


@pytest.mark.parametrize(
    ("motor", "external", "quadratic", "opposing"),
    [
        (3.0, -2.0, 0.03 * 4, 0.03 * 4),  # driving: K_e^q·τ_e²
        (2.0, -3.0, 0.01 * 4, 0.01 * 4),  # backdriving: K_m^q·τ_m²
        (3.0, 2.0, 0.03 * 4, 0.0),  # both the same way: only the seed's reading counts it
        (2.0, 3.0, 0.01 * 4, 0.0),
        (2.0, -2.0, 0.0, 0.0),  # eq. (10) leaves the diagonal out
        (0.0, -2.0, 0.0, 0.0),
    ],
)
def test_quadratic_term_in_both_readings(motor, external, quadratic, opposing):
    without = friction_budget("m5", VALUES, motor, external, 0.0)

    assert friction_budget("m6", VALUES, motor, external, 0.0) - without == pytest.approx(quadratic)
    gated = friction_budget("m6", VALUES, motor, external, 0.0, "opposing")
    assert gated - without == pytest.approx(opposing)


def test_the_rational_contact_has_another_share_of_the_stribeck_terms():
    """1/(1 + s) of s = |v|/v_s (Cisneros et al., eq. 33), for both forms of the budget."""
    at_rest, fast = (friction_budget("m4", VALUES | {"friction_viscous": 0.0}, TM, TE, v) for v in (0.0, 1e12))
    expected = fast + (at_rest - fast) / (1.0 + SPEED / VALUES["dtheta_stribeck"])
    values = VALUES | {"friction_viscous": 0.0}
    for speed in (SPEED, -SPEED):
        rational = friction_budget("m4", values, TM, TE, speed, contact="elastoplastic_rational")
        assert rational == pytest.approx(expected, rel=1e-12)
        elastic = friction_budget("m4", values, TM, TE, speed, contact="elastoplastic")
        assert elastic == friction_budget("m4", values, TM, TE, speed)
    share = budget_of_load("m4", values, SPEED, "elastoplastic_rational").stribeck
    assert share == pytest.approx(1.0 / (1.0 + SPEED / VALUES["dtheta_stribeck"]))


def test_unknown_names_are_refused():
    with pytest.raises(ModelError, match="m1, m2"):
        require_friction_model("m7")
    with pytest.raises(ModelError, match="larger_torque"):
        friction_budget("m6", VALUES, 0.0, 0.0, 0.0, "sideways")
    assert require_friction_model("M4") == "m4"


@pytest.mark.parametrize("gate", QUADRATIC_GATES)
@pytest.mark.parametrize("friction", FRICTION_MODELS)
def test_kernel_agrees_with_the_formulas(friction, gate, random):
    """500 states and 5 candidates a model, to 1e-12 of the largest torque involved."""
    base = catalogue_model("mx106", friction, quadratic_gate=gate)
    low, high = base.parameters.bounds().T
    motor, external = random.normal(0.0, 4.0, (2, 500))
    velocity = random.normal(0.0, 1.0, 500) * 10.0 ** random.uniform(-4, 1, 500)
    velocity[:20], external[20:40], motor[40:60] = 0.0, motor[20:40], 0.0
    external[60:80] = -motor[60:80]
    for _ in range(5):
        model = base.with_vector(random.uniform(low, high))
        expected = friction_budget(friction, model.values, motor, external, velocity, gate)
        states = zip(motor, external, velocity, strict=True)
        actual = np.array([kernel_budget_of(model, tm, te, v) for tm, te, v in states])
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


NESTED = [
    ("m1", "m2"),
    ("m1", "m3"),
    ("m2", "m4"),
    ("m3", "m4"),
    ("m4", "m5"),
    ("m5", "m6"),
    ("m1", "m6"),
]


@pytest.mark.parametrize(("simple", "rich"), NESTED)
def test_a_simpler_model_is_a_point_of_a_richer_one(simple, rich, random):
    """The lifted parameters give the same budget to the last bit of a sum in another order."""
    motor, external, velocity = random.normal(0.0, 3.0, (3, 200))
    values = {name: VALUES[name] for name in FRICTION_TERMS[simple]}

    lifted = {"dtheta_stribeck": 1.0, "alpha": 1.0} | lift_friction(values, simple, rich)

    assert set(lifted) >= set(FRICTION_TERMS[rich])
    np.testing.assert_allclose(
        friction_budget(rich, lifted, motor, external, velocity),
        friction_budget(simple, values, motor, external, velocity),
        rtol=1e-14,
    )


def test_lifting_to_itself_changes_nothing_and_down_is_refused():
    assert lift_friction(VALUES, "m5", "m5") == {name: VALUES[name] for name in FRICTION_TERMS["m5"]}
    for rich, simple in (("m2", "m1"), ("m4", "m2"), ("m5", "m4"), ("m2", "m3"), ("m3", "m2")):
        with pytest.raises(ModelError):
            lift_friction(VALUES, rich, simple)


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_bounds_scale_with_the_servo(model):
    small = {p.name: p for p in friction_parameters(model, 1.0, 1.0)}
    large = {p.name: p for p in friction_parameters(model, 8.0, 4.0)}
    factor = {"N·m": 8.0, "N·m·s/rad": 2.0, "rad/s": 4.0, "1": 1.0, "1/(N·m)": 1.0 / 8.0}
    for name, parameter in small.items():
        scaled = large[name]
        expected = replace(
            parameter,
            value=parameter.value * factor[parameter.unit],
            lower=parameter.lower * factor[parameter.unit],
            upper=parameter.upper * factor[parameter.unit],
        )
        assert scaled == expected
        assert scaled.lower < scaled.value < scaled.upper
        assert TERMS[name].slots


def test_one_coefficient_of_the_load_fills_both_slots():
    assert TERMS["load_friction_base"].slots == (Slot.LOAD_MOTOR, Slot.LOAD_EXTERNAL)
