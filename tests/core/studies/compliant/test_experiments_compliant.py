"""The experiments of seed 003: what it says of each figure in words, as inequalities."""

import math

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.compliant.elastic import SEED_ACTUATORS, QbMove, Sea
from core.studies.compliant.experiments import (
    arm_sinusoids,
    arm_steps,
    behaviours,
    box_runs,
    frequency_responses,
    seed_behaviours,
    sinusoid_runs,
    step_responses,
)
from core.studies.compliant.joint import CompliantLink
from core.studies.compliant.motor import Motor, Pid


@pytest.fixture(scope="module")
def steps():
    """Soft and stiff by actuator."""
    runs = step_responses()
    return {name: [run for run in runs if run.behaviour.actuator.name == name] for name in SEED_ACTUATORS}


@pytest.fixture(scope="module")
def responses():
    return frequency_responses()


def test_an_actuator_without_a_preset_keeps_its_own_stiffness():
    """200 and 400 N·m/rad are the seed's, not those of a series spring of one's own."""
    (own,) = behaviours(Sea(stiffness=50.0))

    assert (own.actuator.stiffness, own.title) == (50.0, "own, 50 N·m/rad")
    (step,) = step_responses([Sea(stiffness=50.0)])
    assert step.behaviour.actuator.stiffness == 50.0


def test_the_link_equilibrium_follows_what_is_asked_for():
    """Fig. 13: the link sags in gravity, its equilibrium tracks the sinusoid as well as the motors do."""
    soft, _ = sinusoid_runs(duration=4.0)

    sag = np.abs(soft.wanted - soft.motion.position).max()
    assert np.abs(soft.wanted - soft.link_equilibrium).max() < 0.5 * sag


def test_behaviours_are_those_of_section_4_1():
    soft_and_stiff = {
        name: [each for each in seed_behaviours() if each.actuator.name == name] for name in SEED_ACTUATORS
    }

    assert [each.actuator.stiffness for each in soft_and_stiff["sea"]] == [200.0, 400.0]
    assert [each.preset for each in soft_and_stiff["awas2"]] == [0.005, 0.04]
    assert [each.preset for each in soft_and_stiff["bavs"]] == [0.001, 0.22]
    assert [each.preset for each in soft_and_stiff["qbmove"]] == [0.2, 0.6]


@pytest.mark.parametrize("name", ["awas2", "qbmove"])
def test_soft_awas_and_qbmove_sag_under_gravity_and_stiff_ones_regulate(steps, name):
    """Fig. 7: the regulation of the 2nd and the 4th is "affected by the gravitational contribution" when soft."""
    soft, stiff = steps[name]

    assert soft.final_error > 0.015
    assert abs(stiff.final_error) < soft.final_error / 10.0
    assert abs(stiff.final_error) < 0.02 * 0.8


@pytest.mark.parametrize("name", list(SEED_ACTUATORS))
def test_a_step_ends_where_springs_and_gravity_balance(steps, name):
    """τ_e(0.8, q) = m·g·l·sin q with 0.2 kg at 0.04 m."""
    for run in steps[name]:
        each, last = run.behaviour, run.motion.position[-1]
        torque = each.actuator.elastic_torque(*each.actuator.references(0.8, each.preset), last).link
        assert float(torque) == pytest.approx(0.2 * 9.80665 * 0.04 * math.sin(last), abs=1e-3)
        assert run.settling_time < 0.3


def test_the_response_of_a_linear_joint_is_its_transfer_function():
    """I·s²·q + d·s·q = k·(θ − q) and J·s²·θ + (D + k_d)·s·θ = k_p·(r − θ) + k·(q − θ), eqs (1), (2), (3) and (11)."""
    link, motor, pid = CompliantLink(inertia=0.1, damping=0.6, friction=0.0), Motor(), Pid()
    for stiffness in (200.0, 400.0):
        (found,) = frequency_responses(Sea(stiffness=stiffness), 0.02, (0.5, 6.0), 60.0, link=link)
        k, s = found.run.behaviour.actuator.stiffness, 2.0j * np.pi * found.frequency
        of_link = k / (link.inertia * s**2 + link.damping * s + k)
        of_motor = motor.inertia * s**2 + (motor.damping + pid.kd) * s + pid.kp + k * (1.0 - of_link)
        expected = of_link * pid.kp / of_motor

        np.testing.assert_allclose(found.magnitude, np.abs(expected), rtol=0.02)
        np.testing.assert_allclose(found.phase, np.unwrap(np.angle(expected)), atol=0.05)


def test_a_chirp_that_never_swings_twice_is_refused():
    with pytest.raises(ModelError, match="too short"):
        frequency_responses(duration=0.6)


def test_steps_of_a_horizontal_arm_are_achieved_and_swing_more_when_stiff():
    """Fig. 12: both achieve the position; simulated, the stiff one "presents high oscillation phenomena"."""
    soft, stiff = arm_steps()

    for run in (soft, stiff):
        np.testing.assert_allclose(run.final_error, 0.0, atol=0.02)
    assert np.all(stiff.turns > soft.turns)


def test_on_a_vertical_arm_the_soft_links_fall_behind_their_equilibrium():
    """Fig. 13: gravity on the springs; the motors follow all the same."""
    soft, stiff = arm_sinusoids()

    assert np.all(soft.worst > 3.0 * stiff.worst)
    for run in (soft, stiff):
        middle = 0.5 * (run.motion.motor_1 + run.motion.motor_2)
        np.testing.assert_allclose(middle, run.motion.equilibrium, atol=0.05)


def test_the_stiff_arm_moves_the_box_and_the_soft_one_stops():
    """Fig. 14."""
    soft, stiff = box_runs()

    assert soft.pushed < 1e-3
    assert soft.motion.tip_force[-1] < soft.box.holding_force
    assert stiff.pushed > 0.03
    assert soft.short > 0.095
    assert stiff.short < 0.5 * soft.short


def test_springs_that_are_too_weak_move_no_box_however_stiff_their_preset():
    """The toolbox's own springs hold 1.3 N·m at 0.6 rad, less than 4.5 N ask for at such an arm."""
    assert all(run.pushed < 1e-3 for run in box_runs(QbMove()))
