"""Springs of compliant actuators against seed 003 (eqs 3–6), its toolbox's numbers, and mechanics.

The check values were computed from the equations of the toolbox (NMMI/ROS-Gazebo-compliant-actuators-plugin, 5987fec).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.base.errors import InputError, ModelError
from core.servo.parameters import Parameter, ParameterSet
from core.studies.compliant.compiled import elastic
from core.studies.compliant.elastic import (
    ACTUATORS,
    PIVOT_REACH,
    AwasII,
    Bavs,
    CompliantActuator,
    Coupled,
    ElasticTorque,
    QbMove,
    Sea,
    constants,
)

ALL = [kind() for kind in ACTUATORS.values()]
VARIABLE = [actuator for actuator in ALL if actuator.preset_unit]
by_name = {"ids": lambda actuator: actuator.name}
angle = st.floats(-1.2, 1.2)


@dataclass(frozen=True, kw_only=True)
class Cubic(CompliantActuator):
    """A user's: τ = −c·φ³, in the seed's three functions."""

    name: ClassVar[str] = "cubic"
    title: ClassVar[str] = "Cubic spring"
    motors: ClassVar[int] = 1
    c: float = 30.0

    def parameters(self):
        return ParameterSet([Parameter(name="c", symbol="c", unit="N·m/rad³", value=self.c, lower=0.0, upper=1e4)])

    def references(self, equilibrium, preset):
        return np.asarray(equilibrium, dtype=float), np.zeros_like(equilibrium, dtype=float)

    def elastic_torque(self, q1, q2, q):
        deflection = np.asarray(q, dtype=float) - q1 + 0.0 * np.asarray(q2)
        torque = -self.c * deflection**3
        return ElasticTorque(link=torque, motor_1=-torque, motor_2=0.0 * torque, stiffness=3.0 * self.c * deflection**2)


def second(actuator, fraction):
    """A position of motor 2, of the pivot where that is the adjuster, at a fraction −1 … 1."""
    low, high = actuator.preset_limits()
    return low + 0.45 * (fraction + 1.0) * (high - low) if isinstance(actuator, AwasII) else 1.2 * fraction


@pytest.mark.parametrize(
    ("actuator", "angles", "torque", "stiffness", "digits"),
    [
        (QbMove(), (0.0, 0.0, 0.0), 0.0, 0.0341970, (9, 7)),
        (QbMove(), (0.4, -0.4, 0.1), -0.071403025, 0.897119866, (9, 9)),
        (Bavs(), (0.1, -0.1, 0.05), -0.890591315, 18.923905845, (9, 9)),
        (AwasII(), (0.0, 0.01, 0.1), -1.379648131, 13.612035803, (9, 9)),
        (Sea(), (0.2, 0.0, 0.5), -3.0, 10.0, (9, 9)),
        (Sea(stiffness=200.0), (0.5, 0.0, 0.2), 60.0, 200.0, (9, 9)),
    ],
)
def test_the_toolbox_s_numbers_to_their_printed_digits(actuator, angles, torque, stiffness, digits):
    found = actuator.elastic_torque(*angles)
    assert found.link == pytest.approx(torque, abs=0.5001 * 10.0 ** -digits[0])
    assert found.stiffness == pytest.approx(stiffness, abs=0.5001 * 10.0 ** -digits[1])


def test_defaults_are_the_toolbox_s():
    assert (QbMove().a1, QbMove().k1, QbMove().max_deflection) == (8.9992, 0.0019, 0.8)
    assert (Bavs().a, Bavs().b, Bavs().k, Bavs().k_e, Bavs().max_deflection) == (1.21e-6, 2.38e-6, 1.6e5, 8.71, 0.27)
    assert (AwasII().spring_stiffness, AwasII().lever, AwasII().radius) == (10.0, 0.05, 0.015)
    assert (AwasII().max_deflection, Sea().stiffness, Sea().max_deflection) == (0.3, 10.0, 0.8)


@pytest.mark.parametrize("actuator", ALL, **by_name)
@settings(max_examples=40)
@given(q1=angle, fraction=st.floats(-1.0, 1.0), q=angle)
def test_the_compiled_twin_agrees_to_rounding(actuator, q1, fraction, q):
    q2 = second(actuator, fraction)
    twin = elastic(int(actuator.kind), constants(actuator), q1, q2, q)
    own = actuator.elastic_torque(q1, q2, q)
    scale = abs(own.motor_1) + abs(own.motor_2) + abs(own.stiffness)
    for value, expected in zip(twin, (own.link, own.motor_1, own.motor_2, own.stiffness), strict=True):
        assert value == pytest.approx(float(expected), abs=1e-13 * scale, rel=1e-13)


@pytest.mark.parametrize("actuator", ALL, **by_name)
@settings(max_examples=40)
@example(q1=0.0, fraction=-1.0, q=1.0)
@given(q1=angle, fraction=st.floats(-1.0, 1.0), q=angle)
def test_torques_are_the_negative_gradients_of_the_stored_energy(actuator, q1, fraction, q):
    """Also beyond the deflection's limit, and for the force on AwAS-II's adjuster: no cycle can gain energy."""
    q2, step = second(actuator, fraction), 1e-6
    if isinstance(actuator, AwasII):
        step = 1e-8
        q2 = max(q2, 2.0 * step)  # the energy's slope has a kink where the pivot's travel ends
    found = actuator.elastic_torque(q1, q2, q)
    scale = 1.0 + float(found.stiffness) + abs(float(found.motor_2))
    for place, torque in ((0, found.motor_1), (1, found.motor_2), (2, found.link)):
        up, down = [q1, q2, q], [q1, q2, q]
        h = step if place == 1 else 1e-6
        up[place] += h
        down[place] -= h
        slope = (actuator.stored_energy(*up) - actuator.stored_energy(*down)) / (2.0 * h)
        assert float(torque) == pytest.approx(-float(slope), abs=2e-5 * scale)


@pytest.mark.parametrize("actuator", ALL, **by_name)
@settings(max_examples=40)
@given(equilibrium=angle, share=st.floats(0.0, 0.9), deflection=st.floats(-0.02, 0.02))
def test_stiffness_is_minus_the_slope_of_the_link_s_torque(actuator, equilibrium, share, deflection):
    low, high = actuator.preset_limits()
    q1, q2 = (float(v) for v in actuator.references(equilibrium, low + share * (high - low)))
    q, h = equilibrium + deflection, 1e-6
    slope = (actuator.elastic_torque(q1, q2, q + h).link - actuator.elastic_torque(q1, q2, q - h).link) / (2.0 * h)
    found = float(actuator.elastic_torque(q1, q2, q).stiffness)
    assert found == pytest.approx(-float(slope), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_beyond_the_largest_deflection_the_torque_stays(actuator):
    preset = actuator.preset_limits()[1] / 4.0
    q1, q2 = actuator.references(0.0, preset)
    angles = np.array([1.3, 1.5, 2.0])
    assert np.ptp(actuator.elastic_torque(q1, q2, angles).link) == 0.0
    assert np.ptp(actuator.elastic_torque(q1, q2, -angles).link) == 0.0


@pytest.mark.parametrize("actuator", ALL, **by_name)
@settings(max_examples=40)
@given(equilibrium=angle, share=st.floats(0.05, 0.95))
def test_at_the_equilibrium_the_springs_pull_neither_way(actuator, equilibrium, share):
    """Seed 003, section 2.3: the reference map sets the equilibrium, whatever the preset."""
    low, high = actuator.preset_limits()
    q1, q2 = actuator.references(equilibrium, low + share * (high - low))
    found = actuator.elastic_torque(q1, q2, equilibrium)
    assert float(found.link) == pytest.approx(0.0, abs=1e-12 * (1.0 + float(found.stiffness)))
    assert float(actuator.equilibrium(q1, q2)) == pytest.approx(equilibrium, abs=1e-9)


@pytest.mark.parametrize("actuator", [a for a in ALL if not isinstance(a, AwasII)], **by_name)
@settings(max_examples=40)
@given(q1=angle, q2=angle, q=angle)
def test_springs_push_motors_and_link_apart_alike(actuator, q1, q2, q):
    """Eqs (3) and (6): what the link gets, the motors get with the other sign."""
    found = actuator.elastic_torque(q1, q2, q)
    assert float(found.motor_1 + found.motor_2) == pytest.approx(-float(found.link), abs=1e-12)


@pytest.mark.parametrize("actuator", VARIABLE, **by_name)
def test_the_stiffness_grows_with_the_preset(actuator):
    """Section 4.1: the stiff presets are stiffer than the soft ones; the equilibrium stays."""
    presets = np.linspace(*actuator.preset_limits(), 50)[1:]
    q1, q2 = actuator.references(0.3, presets)
    assert (np.diff(actuator.elastic_torque(q1, q2, 0.3).stiffness) > 0.0).all()
    assert actuator.stiff_preset > actuator.soft_preset > 0.0


def test_the_pivot_of_awas_ii_stops_before_the_lever_s_end():
    actuator = AwasII()
    end = actuator.elastic_torque(0.0, PIVOT_REACH * actuator.lever, 0.05)
    assert actuator.elastic_torque(0.0, actuator.lever, 0.05).link == end.link
    assert np.isfinite(end.link)


def test_a_user_s_actuator_is_three_functions():
    own = Cubic()
    assert float(own.elastic_torque(0.0, 0.0, 0.1).link) == pytest.approx(-0.03)
    assert float(own.equilibrium(0.4, 0.0)) == pytest.approx(0.4, abs=1e-4)
    assert own.with_values({"c": 50.0}).c == 50.0
    assert own.compiled_elastic() is None
    with pytest.raises(ModelError, match="stored_energy"):
        own.stored_energy(0.0, 0.0, 0.1)


def test_a_value_out_of_bounds_is_refused_with_the_bounds():
    with pytest.raises(ModelError, match=r"stiffness = -1 N·m/rad must lie within 0.01 … 2000"):
        Sea(stiffness=-1.0)
    with pytest.raises(ModelError, match="max_deflection"):
        AwasII(max_deflection=1.0)  # beyond 45° AwAS-II has no positive stiffness
    with pytest.raises(InputError, match="no parameter named 'k9'"):
        QbMove().with_values({"k9": 1.0})


def test_coupled_motors_feel_each_other_and_the_link_does_not():
    """Fig. 2C: g(θ₁, θ₂) is added to eq. (5) with opposite signs, so eq. (6) loses it; k_c = 0 is the qbMove."""
    free, coupled = QbMove(), Coupled(coupling=2.0)
    a, b = (each.elastic_torque(0.5, -0.1, 0.2) for each in (free, coupled))

    assert float(b.link) == float(a.link)
    assert float(b.motor_1) == pytest.approx(float(a.motor_1) - 2.0 * 0.6)
    assert float(b.motor_2) == pytest.approx(float(a.motor_2) + 2.0 * 0.6)
    assert coupled.references(0.3, 0.2) == free.references(0.3, 0.2)
