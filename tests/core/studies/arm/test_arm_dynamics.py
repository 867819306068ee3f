"""Motion of an arm against theory: energy, a rigid-body engine, the kernel of one servo, stiction, and delays.

Two links of 0.3 m; joint angles 0 hang down. Windows begin at given states with given torques.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.kernel.layout import Law, Slot, empty_rows
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.simulation import NO_LOAD
from core.studies.arm.dynamics import ARM_AT, arm_rows, simulate_windows, stopping_friction
from core.studies.arm.links import ArmLinks

LINKS = ArmLinks(
    masses=(0.6, 0.5), lengths=(0.3, 0.3), centres=(0.2, 0.15), inertias=(0.03, 0.016), armatures=(0.004, 0.003)
)
DT = 0.002
STIFF = 1e6  # an armature this large [kg·m²] holds its joint


def run(row, state, torque, *, substeps=1, every=1, dt=DT):
    """One window over all torques (n, 2): positions (n // every + 1, 2)."""
    return simulate_windows(
        np.atleast_2d(row),
        np.asarray(torque, dtype=float),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([state], dtype=float),
        len(torque),
        dt,
        substeps=substeps,
        every=every,
    )[0, :, :, 0]


def with_friction(row, joint, **values):
    changed = row.copy()
    for name, value in values.items():
        changed[..., ARM_AT[f"{name}_of_{joint}"]] = value
    return changed


def energy(q, v):
    """Kinetic and potential [J]: ½·q̇ᵀM(q)q̇ − g₁·cos q₁ − g₂·cos(q₁ + q₂)."""
    base = LINKS.base
    swing = base.coupling * np.cos(q[:, 1])
    m11 = base.inertia_1 + base.inertia_2 + 2 * swing + LINKS.armatures[0]
    m12 = base.inertia_2 + swing
    m22 = base.inertia_2 + LINKS.armatures[1]
    kinetic = 0.5 * m11 * v[:, 0] ** 2 + m12 * v[:, 0] * v[:, 1] + 0.5 * m22 * v[:, 1] ** 2
    return kinetic - base.gravity_1 * np.cos(q[:, 0]) - base.gravity_2 * np.cos(q[:, 0] + q[:, 1])


def test_without_friction_energy_is_kept_to_second_order():
    steps = 1000

    def drift(substeps):
        q = run(arm_rows(LINKS), [1.2, 0.7, 0.0, 0.0], np.zeros((steps, 2)), substeps=substeps)
        v = (q[2:] - q[:-2]) / (2 * DT)
        # Central differences are of second order too; where the arm rests at the start they are no part of it.
        return energy(q[1:-1], v)

    # Against a run so fine that only the differences' own error is left, halving the step quarters what remains.
    reference = drift(32)
    coarse, fine = (np.abs(drift(substeps) - reference).max() for substeps in (1, 2))
    assert 3.5 < coarse / fine < 4.5
    start = energy(np.array([[1.2, 0.7]]), np.zeros((1, 2)))[0]
    assert np.abs(reference - start).max() < 2e-3 * abs(start)
    assert coarse < 1e-3 * abs(start)


@pytest.mark.parametrize("joint", [1, 2])
def test_each_joint_alone_is_the_servo_on_a_pendulum(joint):
    # The other joint is held by its inertia. The kernel of one servo (M6, torque mode) is of first order: an eighth
    # of its step is an eighth of its distance to the arm.
    friction = {
        "friction_base": 0.05, "friction_viscous": 0.02, "friction_stribeck": 0.04, "stribeck_velocity": 0.8,
        "stribeck_exponent": 1.3, "load_motor": 0.05, "load_external": 0.08, "load_motor_stribeck": 0.03,
        "load_external_stribeck": 0.04, "load_motor_quad": 0.02, "load_external_quad": 0.01,
    }  # fmt: skip
    other = 3 - joint
    row = with_friction(arm_rows(LINKS), joint, **friction)
    row = with_friction(row, other, armature=STIFF)
    base = LINKS.base
    # Joint 1 carries both links, elbow straight; joint 2 its own link, with link 1 hanging down.
    inertia = base.inertia_1 + base.inertia_2 + 2 * base.coupling if joint == 1 else base.inertia_2
    gravity = base.gravity_1 + base.gravity_2 if joint == 1 else base.gravity_2
    servo = empty_rows(1)[0]
    for name, value in friction.items():
        servo[Slot[name.upper()]] = value
    servo[Slot.ARMATURE] = LINKS.armatures[joint - 1]
    servo[Slot.INERTIA], servo[Slot.GRAVITY_TORQUE] = inertia, gravity
    steps = 500
    torque = np.zeros((steps, 2))
    torque[:, joint - 1] = 0.4 * np.sin(2 * np.pi * np.arange(steps) / 250)
    state = np.zeros(4)
    state[joint - 1] = 0.6
    arm = run(row, state, torque, substeps=64)[:-1, joint - 1]

    def pendulum(substeps):
        n, h = steps * substeps, DT / substeps
        out = np.empty((steps, len(OUTPUTS)))
        nothing = np.zeros(n)
        supply, mode = np.full(n, 1e6), np.ones(n)
        held = np.repeat(torque[:, joint - 1], substeps)
        kernel = rollout_kernel(Law.CURRENT)
        kernel(
            servo,
            initial_state(0.6, 0.0),
            nothing,
            mode,
            mode,
            supply,
            NO_LOAD,
            nothing,
            held,
            mode,
            0,
            h,
            substeps,
            out,
        )
        return out[:, 0]

    coarse, fine = (np.abs(pendulum(substeps) - arm).max() for substeps in (16, 128))
    assert fine < 5e-5
    assert 6.0 < coarse / fine < 10.0


def test_stiction_holds_both_joints_without_creep():
    # Gravity at rest pulls less than the budgets: g₁·sin q₁ + g₂·sin(q₁ + q₂) < K_c.
    row = with_friction(with_friction(arm_rows(LINKS), 1, friction_base=3.0), 2, friction_base=1.0)
    q = run(row, [0.4, 0.2, 0.0, 0.0], np.zeros((5000, 2)))
    assert np.all(q == [0.4, 0.2])


def test_a_joint_breaks_away_where_the_torque_exceeds_its_budget():
    row = with_friction(with_friction(arm_rows(LINKS), 1, friction_base=3.0), 2, friction_base=0.5)
    for torque, moves in ((0.49, False), (0.51, True)):
        q = run(row, np.zeros(4), np.tile([0.0, torque], (10, 1)))
        assert (q[-1, 1] != 0.0) == moves


def test_a_delay_moves_the_command_and_nothing_else():
    torque = np.zeros((400, 2))
    torque[50:] = (0.5, -0.2)
    late = arm_rows(LINKS)
    late[:, ARM_AT["delay"]] = 3 * DT
    assert run(late, np.zeros(4), torque)[3:] == pytest.approx(
        run(arm_rows(LINKS), np.zeros(4), torque)[:-3], abs=1e-12
    )


def test_candidates_and_windows_do_not_know_of_each_other():
    rng = np.random.default_rng(0)
    rows = arm_rows(LINKS, 11)
    rows[:, ARM_AT["friction_base_of_1"]] = np.linspace(0.0, 0.3, 11)
    torque = rng.normal(size=(300, 2))
    starts = np.array([0, 100, 200])
    states = rng.normal(size=(3, 4))
    together = simulate_windows(rows, torque, np.zeros(3, dtype=np.int64), starts, states, 100, DT, every=10)
    assert together.shape == (3, 11, 2, 11)
    for window, start in enumerate(starts):
        alone = run(rows[7], states[window], torque[start : start + 100], every=10)
        assert np.array_equal(together[window, :, :, 7], alone)


torques = st.floats(-3.0, 3.0)
budgets = st.floats(0.0, 2.0)


@given(
    w1=torques, w2=torques, b1=budgets, b2=budgets, m11=st.floats(0.5, 2.0), m22=st.floats(0.1, 0.5),
    share=st.floats(-0.95, 0.95),
)  # fmt: skip
def test_friction_stops_a_joint_or_opposes_it_with_all_it_has(w1, w2, b1, b2, m11, m22, share):
    # Karush–Kuhn–Tucker of the nearest point in a box: with a = M⁻¹·(w − f), what is left of the motion,
    # a_i = 0, or f_i = b_i·sign(a_i).
    m12 = share * np.sqrt(m11 * m22)
    friction = np.array(stopping_friction(w1, w2, b1, b2, m11, m12, m22))
    left = np.linalg.solve(np.array([[m11, m12], [m12, m22]]), np.array([w1, w2]) - friction)
    for a, f, b in zip(left, friction, (b1, b2), strict=True):
        assert abs(f) <= b + 1e-12
        assert abs(a) < 1e-9 or f == pytest.approx(np.copysign(b, a), abs=1e-9)
