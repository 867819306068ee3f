"""Φ_Z and Algorithm 1 of seed 001: check values, the implicit equation for a million sets, sticking, the table."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from core.contact.bristle import Bristle, transformed
from core.contact.implicit import friction_function, implicit_friction
from core.contact.laws import EXPONENTIAL, HYPERBOLIC, CoulombViscous, Rational, Stribeck
from core.errors import ModelError
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
DRAWS = 1_000_000
BAR = 1e-12


@njit(error_model="numpy")
def worst_residual(draws, seed, shape, stiction, exponents):
    """Largest |y − Φ(x − Z·y)| [N·m] over sound sets, and how many of them stuck; y = x/Z has to hold there.

    F_C, F_S − F_C, D in 0 … 10, v_S in 0.01 … 10, α in 1 … 10, 1/Z in 1 … 1e4, x up to Z·F_S + 20 rad/s; every
    fourth Z is on the bound c·(F_S − F_C)/v_S − D = 1/Z.
    """
    np.random.seed(seed)
    worst, stuck, kept = 0.0, 0, 0
    while kept < draws:
        coulomb, viscous = 10.0 * np.random.random(), 10.0 * np.random.random()
        static = coulomb + (10.0 * np.random.random() if stiction else 0.0)
        speed = 10.0 ** (3.0 * np.random.random() - 2.0)
        exponent, steepness = 1.0, 1.0
        if exponents:
            exponent = 1.0 + 9.0 * np.random.random()
            k = 1.0 - 1.0 / exponent
            steepness = exponent * k**k * math.exp(-k)
        descent = steepness * (static - coulomb) / speed - viscous
        allowed = 10.0 ** (4.0 * np.random.random())
        if kept % 4 == 0 and descent > 1.0:
            allowed = descent
        if descent > allowed:
            continue
        kept += 1
        law, z = (shape, static, coulomb, speed, viscous, exponent), 1.0 / allowed
        # From just beside the edge of sticking to far beyond.
        x = z * static + (20.0 * 10.0 ** (-14.0 * np.random.random()) if kept % 8 else -z * static * np.random.random())
        x = math.copysign(x, np.random.random() - 0.5)
        y = implicit_friction(law, z, x)
        slip = x - z * y
        if abs(x) <= z * static:
            stuck += 1
            worst = max(worst, abs(y - x / z))
        elif abs(slip) <= 1e-15 * abs(x):
            # No slip is left of the digits of x: Φ is the interval between its limits.
            worst = max(worst, abs(y) - static)
        else:
            worst = max(worst, abs(y - friction_function(law, slip)))
    return worst, stuck


class TestImplicitFunction:
    @pytest.mark.parametrize(
        ("wished", "expected"),
        [(0.046, 2.2380592386), (0.06, 1.2853237838), (0.1, 0.8586777895), (0.3, 1.4350307220)],
    )
    def test_published_values(self, wished, expected):
        """T(ω*) of the published constants to the printed digits, and odd."""
        friction = ElastoplasticFriction(PUBLISHED, BRISTLE)
        assert friction.transformed([wished, -wished]) == pytest.approx([expected, -expected], abs=5e-11)

    @pytest.mark.parametrize(
        ("shape", "stiction", "exponents"),
        [(EXPONENTIAL, False, False), (EXPONENTIAL, True, False), (EXPONENTIAL, True, True), (HYPERBOLIC, True, False)],
        ids=["coulomb", "stribeck", "any exponent", "rational"],
    )
    def test_it_solves_the_implicit_equation(self, shape, stiction, exponents):
        """Eqs (11), (15), (16) for a million random sound sets of each law: 1e-12 N·m, parameters of order one."""
        worst, stuck = worst_residual(DRAWS, 20231, shape, stiction, exponents)

        assert worst <= BAR
        assert 0.1 * DRAWS < stuck < 0.2 * DRAWS

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
