"""Friction functions Φ against the seed's equations, and the condition that lets a bristle follow them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.base.errors import ModelError
from core.contact.bristle import Bristle, Remedy, examine, require_sound, transformed
from core.contact.laws import CoulombViscous, Rational, Stribeck

FIG3 = Stribeck(static=2.5, coulomb=0.4, breakaway_speed=0.06, viscous=4.5)
FIG7 = Rational(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5)
"""Captions of seed 001's Figs 3 and 7."""
BRISTLE = Bristle(stiffness=5000.0, damping=50.0, step=1e-3)
"""Captions of Figs 4 and 8."""
positive = st.floats(0.05, 10.0)
EXPONENTS = st.floats(1.0, 8.0)


def stribecks(exponents=EXPONENTS):
    return st.builds(
        lambda coulomb, extra, speed, viscous, exponent: Stribeck(
            static=coulomb + extra, coulomb=coulomb, breakaway_speed=speed, viscous=viscous, exponent=exponent
        ),
        positive,
        positive,
        st.floats(0.01, 5.0),
        positive,
        exponents,
    )


def rationals():
    return st.builds(
        lambda coulomb, extra, speed, viscous: Rational(
            static=coulomb + extra, coulomb=coulomb, breakaway_speed=speed, viscous=viscous
        ),
        positive,
        positive,
        st.floats(0.01, 5.0),
        positive,
    )


class TestFunctions:
    def test_coulomb_viscous(self):
        """Eq. (19): F·sgn x + D·x."""
        law = CoulombViscous(coulomb=1.0, viscous=4.5)
        np.testing.assert_allclose(law.friction([-2.0, 0.0, 0.1]), [-10.0, 0.0, 1.45])

    @pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
    def test_stribeck(self, exponent):
        """Eq. (21)."""
        law = replace(FIG3, exponent=exponent)
        v = np.linspace(-1.0, 1.0, 21)
        expected = 2.1 * np.exp(-(np.abs(v / 0.06) ** exponent)) * np.sign(v) + 0.4 * np.sign(v) + 4.5 * v
        np.testing.assert_allclose(law.friction(v), expected, atol=1e-15)

    @settings(max_examples=50)
    @given(rationals(), st.floats(1e-6, 100.0))
    def test_rational(self, law, v):
        """Eq. (33) with the coefficients (38)–(42)."""
        r = (law.static - law.coulomb) / law.breakaway_speed - law.viscous
        gamma, delta = law.viscous, (law.static - law.coulomb) / (r + law.viscous)
        alpha, beta = law.viscous * delta + law.coulomb, law.static * delta
        expected = (gamma * v * v + alpha * v + beta) / (v + delta)

        assert law.friction(v) == pytest.approx(expected, rel=1e-9)
        assert law.friction(-v) == -law.friction(v)

    @pytest.mark.parametrize(
        ("law", "wrong", "complaint"),
        [
            (FIG3, {"static": 0.3}, "raise F_S or lower F_C"),
            (FIG3, {"exponent": 0.0}, "positive α"),
            (FIG3, {"breakaway_speed": 0.0}, "positive v_S"),
            (FIG7, {"viscous": -1.0}, "D = -1 would drive the motion"),
            (FIG7, {"static": math.nan}, "finite"),
            (CoulombViscous(coulomb=1.0, viscous=0.0), {"coulomb": -1.0}, "F = -1 would drive the motion"),
            (BRISTLE, {"damping": 0.0}, "positive B"),
            (BRISTLE, {"step": math.inf}, "positive T"),
        ],
    )
    def test_numbers_that_no_friction_has(self, law, wrong, complaint):
        with pytest.raises(ModelError, match=complaint):
            replace(law, **wrong)


class TestCondition:
    def test_z(self):
        """Eq. (12) with the captions' constants: 1/55."""
        assert pytest.approx(1.0 / 55.0) == BRISTLE.Z

    def test_the_condition_as_printed_is_not_the_exact_one(self):
        """F_S 2.5, F_C 0.2, v_S 0.04, D 4.5: u = 0.9664 ≤ 1 is sound, yet (32) asks for Z ≤ v_S/F_S = 0.016 < 1/55."""
        law = Stribeck(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5)
        u = BRISTLE.Z * law.stiction / (law.breakaway_speed * (1.0 + BRISTLE.Z * law.viscous))

        assert u == pytest.approx(0.9664, abs=5e-5)
        assert examine(law, BRISTLE).sound
        assert law.breakaway_speed / law.static < BRISTLE.Z
        assert not examine(replace(law, breakaway_speed=0.9664 * 0.9999 * 0.04), BRISTLE).sound

    @settings(max_examples=100)
    @given(stribecks() | rationals(), st.floats(0.5, 200.0))
    def test_sound_means_single_valued(self, law, damping):
        """v* rises along the curve of Φ_Z exactly where the verdict is sound; it continues y = x/Z at x = Z·F_S."""
        bristle = Bristle(stiffness=100.0, damping=damping, step=1e-3)
        verdict = examine(law, bristle)
        assume(abs(verdict.descent / verdict.allowed - 1.0) > 1e-2)
        wished, torque = transformed(law, bristle, 4.0 * law.breakaway_speed, 3000)
        half = len(wished) // 2

        assert np.all(np.diff(wished) > 0.0) == verdict.sound
        assert torque[half] == law.static
        assert wished[half] == pytest.approx(bristle.Z * law.static)
        np.testing.assert_array_equal(torque, -torque[::-1])

    @settings(max_examples=100)
    @given(stribecks() | rationals(), st.floats(0.01, 0.9))
    def test_each_remedy_mends_and_hardly_more_than_needed(self, law, share):
        """Obeyed, each alone makes the pair sound; 1 % short of it, it does not."""
        assume(law.descent > 0.1)
        bristle = Bristle(stiffness=0.5 * share * law.descent / 1e-3, damping=0.5 * share * law.descent, step=1e-3)
        verdict = examine(law, bristle)
        assert not verdict.sound
        assert [remedy.symbol for remedy in verdict.remedies] == ["B", "K", "v_S", "F_S − F_C"]
        for remedy in verdict.remedies:
            assert remedy.text in verdict.text
            short = remedy.value * (0.99 if remedy.raised else 1.01)
            assert examine(*obeyed(law, bristle, remedy, remedy.value)).sound
            assert not examine(*obeyed(law, bristle, remedy, short)).sound

    def test_unsound_pairs_are_refused_with_what_to_change(self):
        with pytest.raises(ModelError, match=r"raise B to at least 72\.17 .*v_S to at least 0\.05183"):
            require_sound(replace(FIG3, breakaway_speed=0.025), replace(BRISTLE, stiffness=7333.0, damping=28.69))

    def test_stribeck_below_exponent_one_is_refused(self):
        """Φ falls from F_S with a vertical tangent: no 1/Z is steep enough; without stiction it does not fall."""
        with pytest.raises(ModelError, match="raise α to at least 1, or lower F_S − F_C to at most 0"):
            require_sound(replace(FIG3, exponent=0.9), BRISTLE)
        require_sound(replace(FIG3, exponent=0.9, static=0.4), BRISTLE)

    def test_coulomb_friction_goes_with_any_bristle(self):
        require_sound(CoulombViscous(coulomb=100.0, viscous=0.0), Bristle(stiffness=1e-6, damping=1e-6, step=1e-6))


def obeyed(law, bristle, remedy: Remedy, value):
    """The pair with one parameter changed."""
    if remedy.symbol == "B":
        return law, replace(bristle, damping=value)
    if remedy.symbol == "K":
        return law, replace(bristle, stiffness=value)
    if remedy.symbol == "v_S":
        return replace(law, breakaway_speed=value), bristle
    return replace(law, static=law.coulomb + value), bristle
