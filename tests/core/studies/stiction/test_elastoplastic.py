"""Φ_Z and Algorithm 1 of seed 001: check values, the implicit equation, sticking, the table."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.base.errors import ModelError
from core.contact.bristle import Bristle, transformed
from core.contact.implicit import friction_function, implicit_friction
from core.contact.laws import EXPONENTIAL, HYPERBOLIC, CoulombViscous, Rational, Stribeck
from core.studies.stiction.friction import ElastoplasticFriction
from core.studies.stiction.table import NODES, TabulatedStribeck, error_bound

PUBLISHED = Stribeck(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5)
"""Constants of the public code that cites seed 001 (romunro/mc_mujoco)."""
FIG3 = Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=4.5)
FIG7 = Rational(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5)
COULOMB = CoulombViscous(coulomb=1.0, viscous=4.5)
LAWS = [PUBLISHED, FIG3, FIG7, COULOMB, replace(FIG3, exponent=2.0), replace(FIG3, exponent=1.3)]
BRISTLE = Bristle(stiffness=5000.0, damping=50.0, step=1e-3)
Z = 1.0 / 55.0


class TestImplicitFunction:
    @pytest.mark.parametrize(
        ("wished", "expected"),
        [(0.046, 2.2380592386), (0.06, 1.2853237838), (0.1, 0.8586777895), (0.3, 1.4350307220)],
    )
    def test_published_values(self, wished, expected):
        """T(ω*) of the published constants to the printed digits, and odd."""
        friction = ElastoplasticFriction(PUBLISHED, BRISTLE)
        assert friction.transformed([wished, -wished]) == pytest.approx([expected, -expected], abs=5e-11)

    @settings(max_examples=200)
    @given(
        st.sampled_from([(EXPONENTIAL, False), (EXPONENTIAL, True), (HYPERBOLIC, True)]),
        st.floats(0.0, 10.0),
        st.floats(0.0, 10.0),
        st.floats(0.0, 10.0),
        st.floats(0.01, 10.0),
        st.floats(1.0, 10.0),
        st.floats(0.0, 4.0),
        st.sampled_from([-0.999, -0.3, 0.0, 1e-14, 1e-9, 1e-4, 0.1, 3.0, 20.0]),
        st.sampled_from([-1.0, 1.0]),
    )
    def test_it_solves_the_implicit_equation(self, law, coulomb, extra, viscous, speed, alpha, size, beyond, side):
        """Eqs (11), (15), (16): |y − Φ(x − Z·y)| ≤ 1e-12 N·m of sound sets, y = x/Z up to the edge of sticking."""
        shape, stiction = law
        static = coulomb + extra * stiction
        alpha = alpha if shape == EXPONENTIAL else 1.0
        k = 1.0 - 1.0 / alpha
        steepness = alpha * k**k * math.exp(-k) if alpha > 1.0 else 1.0
        numbers, z = (shape, static, coulomb, speed, viscous, alpha), 10.0**-size
        assume(steepness * (static - coulomb) / speed - viscous <= 1.0 / z)
        x = side * (z * static * (1.0 + beyond) if beyond < 0.0 else z * static + beyond)

        y = implicit_friction(numbers, z, x)

        slip = x - z * y
        if abs(x) <= z * static:
            assert y == pytest.approx(x / z, abs=1e-12)
        elif abs(slip) <= 1e-15 * abs(x):
            # No slip is left of the digits of x: Φ is the interval between its limits.
            assert abs(y) <= static + 1e-12
        else:
            assert y == pytest.approx(friction_function(numbers, slip), abs=1e-12, rel=1e-12)

    def test_coulomb_in_closed_form(self):
        """Eq. (20)."""
        x = np.linspace(-1.0, 1.0, 2001)
        expected = np.where(np.abs(x) > Z, (np.sign(x) + 4.5 * x) / (1.0 + 4.5 * Z), x / Z)
        np.testing.assert_allclose(ElastoplasticFriction(COULOMB, BRISTLE).transformed(x), expected, rtol=1e-14)

    def test_rational_in_closed_form(self):
        """Eq. (44) with (46)–(48) for x > 0; for x < 0 (45) with its sign mended, (b + √(b² − 4ac))/(2a)."""
        law, x = FIG7, np.linspace(1.001 * Z * 2.5, 3.0, 500)
        alpha, beta, delta = law.viscous * 0.04 + law.coulomb, law.static * 0.04, 0.04
        a = law.viscous * Z**2 + Z
        b = -(x + delta + 2.0 * law.viscous * Z * x + alpha * Z)
        c = law.viscous * x**2 + alpha * x + beta
        root = np.sqrt(b * b - 4.0 * a * c)
        friction = ElastoplasticFriction(law, BRISTLE)

        np.testing.assert_allclose(friction.transformed(x), (-b - root) / (2.0 * a), rtol=1e-11)
        np.testing.assert_allclose(friction.transformed(-x), (b + root) / (2.0 * a), rtol=1e-11)

    @pytest.mark.parametrize("law", LAWS, ids=str)
    def test_it_runs_through_the_curve(self, law):
        """`transformed` draws the same Φ_Z by the slip velocity, without solving anything."""
        wished, torque = transformed(law, BRISTLE, 2.0)
        np.testing.assert_allclose(ElastoplasticFriction(law, BRISTLE).transformed(wished), torque, atol=1e-9)

    def test_exponents_meet_in_one(self):
        """Newton at α = 1 ± 1e-9 agrees with the closed form at α = 1."""
        x = np.linspace(0.0, 1.0, 501)
        expected = ElastoplasticFriction(FIG3, BRISTLE).transformed(x)
        near = ElastoplasticFriction(replace(FIG3, exponent=1.0 + 1e-9), BRISTLE).transformed(x)
        np.testing.assert_allclose(near, expected, atol=1e-7)


class TestAlgorithm:
    @pytest.mark.parametrize("law", LAWS, ids=str)
    def test_a_step(self, law):
        """Eqs (13), (17), (18) one after the other; a record is many steps."""
        friction = ElastoplasticFriction(law, BRISTLE)
        velocity = 0.3 * np.sin(np.linspace(0.0, 12.0, 300))
        deflection, found = 0.0, []
        for u in velocity:
            torque = float(friction.transformed(u + Z * 5000.0 * deflection))
            deflection = Z * (50.0 * deflection + torque * 1e-3)
            found.append(torque)
            assert friction.step(u) == pytest.approx(torque, rel=1e-12, abs=1e-12)
            assert friction.deflection == pytest.approx(deflection, rel=1e-12, abs=1e-15)

        np.testing.assert_allclose(ElastoplasticFriction(law, BRISTLE).run(velocity), found, rtol=1e-10, atol=1e-12)

    def test_velocities_that_are_no_numbers(self):
        with pytest.raises(ModelError, match="remove them"):
            ElastoplasticFriction(FIG3, BRISTLE).step(math.nan)
        with pytest.raises(ModelError, match="raise B"):
            ElastoplasticFriction(replace(FIG3, breakaway_speed=0.02), BRISTLE)


class TestTable:
    @pytest.mark.parametrize("nodes", [64, NODES])
    @pytest.mark.parametrize("law", [PUBLISHED, FIG3, replace(FIG3, breakaway_speed=1.0), replace(FIG3, static=0.4)])
    def test_it_is_within_its_bound(self, law, nodes):
        """h²/8·max|w''|·v_S/Z, which is nearly reached; sticking is exact."""
        table = TabulatedStribeck(law, BRISTLE, nodes)
        x = np.concatenate([np.linspace(-0.3, 0.3, 20001), Z * law.static + np.logspace(-12, 1, 20001)])
        error = np.abs(table.transformed(x) - ElastoplasticFriction(law, BRISTLE).transformed(x))

        assert error.max() <= table.error_bound + 1e-14
        assert error[np.abs(x) <= Z * law.static].max() == 0.0
        if law is PUBLISHED:
            assert error.max() > 0.3 * table.error_bound

    def test_what_it_costs_in_precision(self):
        """2048 nodes: a few µN·m of 2.5 N·m; twice the nodes, a quarter of that."""
        assert error_bound(PUBLISHED, BRISTLE) < 5e-6
        assert error_bound(PUBLISHED, BRISTLE, 2 * NODES) == pytest.approx(
            error_bound(PUBLISHED, BRISTLE) / 4, rel=2e-3
        )

    def test_other_exponents_have_no_table(self):
        with pytest.raises(ModelError, match="set α to 1"):
            TabulatedStribeck(replace(FIG3, exponent=2.0), BRISTLE)
        with pytest.raises(ModelError, match="2 or more"):
            TabulatedStribeck(FIG3, BRISTLE, 1)
