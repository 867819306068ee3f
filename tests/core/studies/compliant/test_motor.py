"""The motor of seed 003 (eqs 7–10), its friction (8) and its controller (11), against their closed solutions."""

import math

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.compliant.compiled import ANCHOR, POSITION, VELOCITY, motor_drift, motor_kick, pid_torque
from core.studies.compliant.motor import LINK_PID, Motor, Pid, motor_constants, pid_constants

FREE = Motor(friction=0.0, max_torque=1e9, max_velocity=1e9)


def motor_step(state, command, spring_torque, constants, h):
    """Advance a motor by a kick and a drift (eqs 7–10)."""
    motor_kick(state, command, spring_torque, constants, h)
    motor_drift(state, constants, h)


def turn(motor, torque, duration, h, *, state=None, pid=None):
    """Run a motor at a torque, or with a controller at a reference; the final state."""
    state = np.zeros(4) if state is None else state
    numbers, gains = motor_constants(motor), pid_constants(pid or Pid())
    for _ in range(round(duration / h)):
        motor_step(state, pid_torque(state, torque, gains, h) if pid else torque, 0.0, numbers, h)
    return state


def test_defaults_are_the_toolbox_s():
    assert (Motor().inertia, Motor().damping, Motor().max_torque, Motor().max_velocity) == (0.0233, 0.2698, 6.0, 6.0)
    assert (Motor().friction, Motor().friction_stiffness) == (0.02, 1e3)
    assert vars(Pid()) == {"kp": 125.0, "ki": 0.0, "kd": 4.5}
    assert vars(LINK_PID) == {"kp": 0.8, "ki": 0.0, "kd": 0.2}


def test_at_a_constant_torque_the_velocity_tends_to_torque_over_damping():
    """(7): θ̇ = τ/D·(1 − e^(−D·t/J))."""
    found = turn(FREE, 0.5, 0.3, 1e-4)[VELOCITY]
    assert found == pytest.approx(0.5 / 0.2698 * (1.0 - math.exp(-0.2698 * 0.3 / 0.0233)), rel=1e-6)


def test_the_controlled_motor_is_a_second_order_system():
    """J·θ̈ + (D + k_d)·θ̇ + k_p·θ = k_p·r, over-damped; the error falls with the step."""
    pid = Pid(kp=125.0, kd=4.5)
    root = math.sqrt((pid.kd + FREE.damping) ** 2 - 4.0 * FREE.inertia * pid.kp)
    fast, slow = ((-(pid.kd + FREE.damping) - s * root) / (2.0 * FREE.inertia) for s in (1.0, -1.0))
    t = 0.05
    exact = 0.3 * (1.0 + (slow * math.exp(fast * t) - fast * math.exp(slow * t)) / (fast - slow))
    errors = [abs(turn(FREE, 0.3, t, h, pid=pid)[POSITION] - exact) for h in (1e-4, 5e-5)]
    assert errors[0] < 1.5e-3
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.1)


def test_the_controller_is_equation_11():
    state = np.array([0.1, 2.0, 0.0, 0.0])
    gains = pid_constants(Pid(kp=10.0, ki=5.0, kd=0.3))
    assert pid_torque(state, 0.4, gains, 0.01) == pytest.approx(10.0 * 0.3 + 5.0 * 0.3 * 0.01 - 0.3 * 2.0)
    assert pid_torque(state, 0.4, gains, 0.01) == pytest.approx(10.0 * 0.3 + 5.0 * 0.3 * 0.02 - 0.3 * 2.0)


def test_an_integral_takes_the_motor_to_its_reference_against_friction():
    found = turn(Motor(friction=0.5), 0.2, 4.0, 2e-4, pid=Pid(kp=20.0, ki=60.0, kd=1.0))
    assert found[POSITION] == pytest.approx(0.2, abs=1e-4)


def test_below_the_friction_the_motor_stays():
    """(8): |τ| < τ̂_f winds the play's spring up by τ/K and no further; a sudden one below τ̂_f/2 does not slide."""
    state = turn(Motor(), 0.4 * 0.02, 6.0, 1e-4)
    assert state[POSITION] == pytest.approx(0.4 * 0.02 / 1e3, rel=1e-6)
    assert state[ANCHOR] == 0.0
    before = state.copy()
    turn(Motor(), 0.4 * 0.02, 4.0, 1e-4, state=state)
    assert abs(state[POSITION] - before[POSITION]) < 1e-12


def test_above_the_friction_what_is_left_drives():
    """Sliding friction is τ̂_f: the final velocity is (τ − τ̂_f)/D."""
    assert turn(Motor(), 0.12, 2.0, 1e-4)[VELOCITY] == pytest.approx(0.1 / 0.2698, rel=1e-6)


def test_torque_velocity_and_position_are_limited():
    """The toolbox takes maxVel and never enforces it; here it holds."""
    strong = Motor(max_torque=0.5, friction=0.0)
    assert turn(strong, 1e3, 0.1, 1e-4) == pytest.approx(turn(strong, 0.5, 0.1, 1e-4))
    assert turn(Motor(max_velocity=3.0), 6.0, 1.0, 1e-4)[VELOCITY] == 3.0
    stopped = turn(Motor(max_position=0.7, min_position=-0.2), 6.0, 2.0, 1e-4)
    assert (stopped[POSITION], stopped[VELOCITY]) == (0.7, 0.0)
    back = turn(Motor(max_position=0.7, min_position=-0.2), -6.0, 2.0, 1e-4, state=stopped)
    assert back[POSITION] == -0.2


def test_a_motor_that_cannot_be_is_refused_by_name():
    for wrong in (
        {"inertia": 0.0},
        {"damping": -1.0},
        {"max_torque": 0.0},
        {"friction": math.nan},
        {"max_velocity": 0},
    ):
        with pytest.raises(ModelError, match=next(iter(wrong))):
            Motor(**wrong)
    with pytest.raises(ModelError, match=r"min_position .* below max_position"):
        Motor(min_position=1.0, max_position=0.5)
    with pytest.raises(ModelError, match="kp"):
        Pid(kp=math.inf)
