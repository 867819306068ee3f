"""A compliant joint in operation modes 0–6 with each actuator: equilibrium, stiffness, energy (seed 003, section 3.1).

Energy is counted from outside: what a hand puts in is Σ τ_ext·Δq exactly, since torques are held over a sample.
"""

from dataclasses import dataclass, replace
from importlib.resources import files
from typing import ClassVar

import numpy as np
import pytest
from numba import njit

from core.base.errors import ModelError
from core.servo.bench import Bench
from core.servo.parameters import Parameter, ParameterSet
from core.studies.compliant import elastic as elastic_module
from core.studies.compliant import joint as joint_module
from core.studies.compliant.array import JointArray, NamedJoint, simulate_array
from core.studies.compliant.compiled import elastic
from core.studies.compliant.elastic import ACTUATORS, AwasII, Kind, QbMove, Sea
from core.studies.compliant.joint import (
    SEED_BENCH,
    STEP_SHARE,
    CompliantJoint,
    CompliantLink,
    equilibrium_of,
    safe_step,
    safe_substeps,
    simulate_joint,
)
from core.studies.compliant.modes import Mode, reference_names
from core.studies.compliant.motor import Motor, Pid
from core.studies.compliant.stepper import CompliantStepper
from tests.core.studies.compliant.test_elastic import Cubic

ALL = [kind() for kind in ACTUATORS.values()]
by_name = {"ids": lambda actuator: actuator.name}
by_mode = {"ids": lambda mode: mode.name.lower()}
HEAVY = Bench(mass=0.3, length=0.15)
DT = 1e-3
LOOSE = {"friction": 0.0}
SMOOTH = Motor(friction=0.0, max_torque=1e6, max_velocity=1e6)


def joint_of(actuator, bench=HEAVY, *, link=None, motor=None, **parts):
    return CompliantJoint(
        actuator=actuator,
        link=replace(CompliantLink.of_bench(bench), **(link or {})),
        motors=(motor or Motor(),) * 2,
        **parts,
    )


def references(mode, actuator, equilibrium=0.3):
    """References that hold the same equilibrium at the seed's stiff preset in every mode that holds one."""
    preset = 0.5 * actuator.stiff_preset
    if mode.takes_preset:
        return equilibrium, preset
    if mode in (Mode.SPRING_REFS, Mode.PID_REFS):
        return tuple(float(v) for v in actuator.references(equilibrium, preset))
    if mode is Mode.MOTOR_TORQUES:
        return 0.0, preset if actuator.motors == 1 else 0.0
    return (equilibrium, 0.0) if mode is Mode.LINK_PID else (0.0, 0.0)


def energy(joint, mode, motion):
    """Of link, springs, motors and, as the controllers' are springs with the reference at the end, of those, (n,) J."""
    link = joint.link
    total = 0.5 * link.inertia * motion.velocity**2
    total = total - link.gravity_torque * np.cos(motion.position + link.angle_offset)
    if mode is Mode.LINK_PID:
        total = total + 0.5 * joint.link_pid.kp * (motion.reference_1 - motion.position) ** 2
    if not mode.has_springs:
        return total
    total = total + joint.actuator.stored_energy(motion.motor_1, motion.motor_2, motion.position)
    if not mode.has_motors:
        return total
    goals = [motion.reference_1, motion.reference_2]
    if mode is Mode.PID_EQ_PRES:
        goals = joint.actuator.references(*goals)
    moving = ((motion.motor_1, motion.motor_1_velocity), (motion.motor_2, motion.motor_2_velocity))
    for i, (at, velocity) in enumerate(moving[: joint.actuator.motors]):
        total = total + 0.5 * joint.motors[i].inertia * velocity**2
        if mode is not Mode.MOTOR_TORQUES:
            total = total + 0.5 * joint.pids[i].kp * (goals[i] - at) ** 2
    return total


def gained(joint, mode, motion):
    """Energy beyond what the hand has put in since the start, (n,) J."""
    hand = np.concatenate([[0.0], np.cumsum(motion.external_torque[:-1] * np.diff(motion.position))])
    total = energy(joint, mode, motion)
    return total - total[0] - hand


def push(duration, torque, *, begin=0.1):
    """A hand that pushes one way, then twice as long the other, and lets go, (n,) N·m."""
    time = np.arange(round(duration / DT)) * DT
    return torque * (
        ((time >= begin) & (time < begin + 0.3)) * 1.0 - 0.7 * ((time >= begin + 0.3) & (time < begin + 0.9))
    )


def held(motion, last=200):
    return float(np.mean(motion.position[-last:]))


# Equilibrium.


@pytest.mark.parametrize("mode", [m for m in Mode if m.has_springs and m is not Mode.MOTOR_TORQUES], **by_mode)
@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_springs_hold_the_link_where_they_balance_gravity(actuator, mode):
    """τ_e = G·sin q at rest, within the link's friction; motors give way by τ/k_p at most."""
    joint = joint_of(actuator)
    first, second = references(mode, actuator)
    motion = simulate_joint(joint, mode, np.full(5000, first), second, DT)
    pull = joint.link.gravity_torque * np.sin(motion.position[-1])
    assert abs(motion.velocity[-1]) < 1e-9
    assert abs(motion.link_torque[-1] - pull) <= joint.link.friction * 1.01
    goal = actuator.references(0.3, 0.5 * actuator.stiff_preset)
    allowed = 0.0 if not mode.has_motors else (abs(motion.spring_torque_1[-1]) + 0.021) / joint.pids[0].kp
    assert abs(motion.motor_1[-1] - goal[0]) <= allowed
    if actuator.motors == 2 and mode.has_motors:
        allowed = (abs(motion.spring_torque_2[-1]) + 0.021) / joint.pids[1].kp
    assert abs(motion.motor_2[-1] - goal[1]) <= allowed


@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_mode_0_puts_its_torque_on_the_link(actuator):
    """Rigid: at rest G·sin q = τ, whatever the actuator; no springs, no motors."""
    joint = joint_of(actuator)
    motion = simulate_joint(joint, Mode.LINK_TORQUE, np.full(8000, 0.2), 0.0, DT)
    assert joint.link.gravity_torque * np.sin(motion.position[-1]) == pytest.approx(0.2, abs=joint.link.friction)
    assert np.isnan(motion.motor_1).all()
    assert np.isnan(motion.stiffness).all()


@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_mode_1_controls_the_link_itself(actuator):
    """At rest k_p·(r − q) = G·sin q within the friction (11)."""
    joint = joint_of(actuator)
    motion = simulate_joint(joint, Mode.LINK_PID, np.full(8000, 0.5), 0.0, DT)
    balance = 0.8 * (0.5 - motion.position[-1]) - joint.link.gravity_torque * np.sin(motion.position[-1])
    assert abs(balance) <= joint.link.friction * 1.01


@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_mode_4_motors_turn_by_their_torques(actuator):
    """Without gravity a torque on the motors ends as a steady turn of motors and link together: τ = (Σ D + d)·ω."""
    joint = joint_of(actuator, Bench(mass=0.3, length=0.15, gravity=0.0), link=LOOSE, motor=SMOOTH)
    first, second = (0.2, 0.2) if actuator.motors == 2 else (0.4, 0.5 * actuator.stiff_preset)
    motion = simulate_joint(joint, Mode.MOTOR_TORQUES, np.full(4000, first), second, DT)
    speed = 0.4 / (actuator.motors * Motor().damping + joint.link.damping)
    assert motion.velocity[-1] == pytest.approx(speed, rel=1e-3)
    assert motion.motor_1_velocity[-1] == pytest.approx(speed, rel=1e-3)


# Stiffness.


@pytest.mark.parametrize("mode", [m for m in Mode if m.has_springs and m is not Mode.MOTOR_TORQUES], **by_mode)
@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_a_small_push_turns_the_link_by_torque_over_stiffness(actuator, mode):
    """Springs of ideal motors: σ. Controlled motors give way too: each spring k_i in series with its k_p.

    The stiffness of one spring of a pair is found by turning its motor alone, from where the motors have settled.
    """
    joint = joint_of(actuator, Bench(mass=0.3, length=0.15, gravity=0.0), link=LOOSE, motor=SMOOTH)
    first, second = references(mode, actuator)
    settled = simulate_joint(joint, mode, np.full(4000, first), second, DT)
    q1, q2, q = settled.motor_1[-1], settled.motor_2[-1], settled.position[-1]
    total = float(actuator.elastic_torque(q1, q2, q).stiffness)
    h = 1e-6
    one = float(actuator.elastic_torque(q1 + h, q2, q).link - actuator.elastic_torque(q1 - h, q2, q).link) / (2.0 * h)
    parts = (one, total - one)[: actuator.motors]
    expected = total if not mode.has_motors else sum(1.0 / (1.0 / k + 1.0 / 125.0) for k in parts)
    torque = 1e-3 * expected
    pushed = simulate_joint(joint, mode, np.full(4000, first), second, DT, external_torque=torque)
    assert (held(pushed) - held(settled)) * expected == pytest.approx(torque, rel=2e-3)


@pytest.mark.parametrize("stiffness", [200.0, 400.0])
def test_a_series_elastic_link_swings_at_the_root_of_k_over_i(stiffness):
    """Section 4.1's SEA with its motor held: ω = √(k/I)."""
    link = CompliantLink(inertia=SEED_BENCH.inertia, damping=0.0, friction=0.0)
    joint = CompliantJoint(actuator=Sea(stiffness=stiffness), link=link)
    dt = 2e-5
    motion = simulate_joint(joint, Mode.SPRING_REFS, np.zeros(20000), 0.0, dt, position=0.01)
    crossings = np.flatnonzero(np.diff(np.sign(motion.position)) != 0)
    found = np.pi * (len(crossings) - 1) / (motion.time[crossings[-1]] - motion.time[crossings[0]])
    assert found == pytest.approx(np.sqrt(stiffness / link.inertia), rel=2e-3)


# Energy.


@pytest.mark.parametrize("mode", Mode, **by_mode)
@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_no_energy_is_created_while_a_hand_pushes_and_lets_go(actuator, mode):
    """At every moment what there is, is at most what there was and what the hand has put in."""
    joint = joint_of(actuator)
    first, second = references(mode, actuator)
    motion = simulate_joint(joint, mode, np.full(2500, first), second, DT, external_torque=push(2.5, 0.4))
    found = gained(joint, mode, motion)
    turned_over = np.ptp(energy(joint, mode, motion))
    assert turned_over > 1e-3
    assert found.max() <= 1e-9 * turned_over
    assert found[-1] < 0.0


# Steps.


def test_with_controlled_motors_the_error_falls_with_the_step():
    joint = joint_of(QbMove(), link=LOOSE)
    goal = np.full(300, 0.4)

    def ends(parts):
        return simulate_joint(joint, Mode.PID_EQ_PRES, goal, 0.4, DT, position=0.0, substeps=parts).position

    exact = ends(1024)
    coarse, fine = (np.abs(ends(parts) - exact).max() for parts in (8, 16))
    assert coarse / fine == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize("mode", [Mode.SPRING_EQ_PRES, Mode.PID_EQ_PRES], **by_mode)
@pytest.mark.parametrize("actuator", ALL, **by_name)
def test_the_step_chosen_is_close_to_one_ten_times_finer(actuator, mode):
    joint = joint_of(actuator)
    goal, preset = np.full(1000, 0.3), 0.5 * actuator.stiff_preset
    parts = safe_substeps(joint, mode, DT, preset)
    assert DT / parts <= safe_step(joint, mode, preset)
    motions = [
        simulate_joint(joint, mode, goal, preset, DT, position=0.2, substeps=n).position for n in (parts, 10 * parts)
    ]
    assert np.abs(motions[0] - motions[1]).max() < 1e-3


def test_a_spring_without_a_limit_is_looked_at_up_to_one_radian():
    """σ = c·3·φ² at 1 rad; a user's spring that grows for ever must not ask for an endless number of steps."""
    link = CompliantLink(inertia=1e-3)
    found = safe_step(CompliantJoint(actuator=Cubic(c=30.0), link=link), Mode.SPRING_REFS)
    assert found == pytest.approx(STEP_SHARE / np.sqrt(90.0 / 1e-3))


def test_a_stiffer_spring_asks_for_a_shorter_step():
    link = CompliantLink(inertia=1e-3, gravity_torque=0.0)
    soft, stiff = (safe_step(CompliantJoint(actuator=Sea(stiffness=k), link=link), Mode.SPRING_REFS) for k in (90, 360))
    assert soft == pytest.approx(STEP_SHARE / np.sqrt(90 / 1e-3))
    assert stiff == pytest.approx(0.5 * soft)


# References, users' actuators, the stepper, errors.


def test_references_are_the_seed_s():
    """Section 3.2's list of references by mode."""
    pair = {m: [r.title if r else None for r in reference_names(m, QbMove())] for m in Mode}
    assert pair[Mode.LINK_TORQUE] == ["Link torque", None]
    assert pair[Mode.LINK_PID] == ["Link position", None]
    assert pair[Mode.SPRING_REFS] == pair[Mode.PID_REFS] == ["Motor 1 position", "Motor 2 position"]
    assert pair[Mode.SPRING_EQ_PRES] == pair[Mode.PID_EQ_PRES] == ["Equilibrium", "Stiffness preset"]
    assert pair[Mode.MOTOR_TORQUES] == ["Motor 1 torque", "Motor 2 torque"]
    assert [r.unit if r else None for r in reference_names(Mode.PID_REFS, AwasII())] == ["rad", "m"]
    assert reference_names(Mode.PID_EQ_PRES, Sea())[1] is None


@dataclass(frozen=True, kw_only=True)
class Interpreted(QbMove):
    """A user's without a compiled twin."""

    name: ClassVar[str] = "own"
    kind: ClassVar[Kind] = Kind.OWN


@njit
def _own_springs(kind, p, q1, q2, q):
    return elastic(3, p, q1, q2, q)


@dataclass(frozen=True, kw_only=True)
class Compiled(Interpreted):
    """A user's with a compiled function of its own."""

    def compiled_elastic(self):
        return _own_springs


@pytest.mark.parametrize("mode", [Mode.SPRING_EQ_PRES, Mode.PID_EQ_PRES], **by_mode)
@pytest.mark.parametrize("own", [Interpreted(), Compiled()], ids=["interpreted", "compiled"])
def test_a_user_s_springs_move_as_the_same_ones_of_the_seed(own, mode):
    goal = 0.4 * np.sin(np.arange(30) * 0.2)
    expected, found = (
        simulate_joint(joint_of(actuator), mode, goal, 0.3, 5e-3, substeps=20) for actuator in (QbMove(), own)
    )
    assert found.position == pytest.approx(expected.position, abs=1e-12)
    assert found.motor_torque_1 == pytest.approx(expected.motor_torque_1, abs=1e-9, nan_ok=True)
    assert equilibrium_of(own, found) == pytest.approx(0.5 * (found.motor_1 + found.motor_2), abs=1e-9)


@pytest.mark.parametrize("mode", [Mode.LINK_PID, Mode.SPRING_EQ_PRES, Mode.PID_EQ_PRES], **by_mode)
def test_step_by_step_is_the_same_motion(mode):
    joint = joint_of(QbMove())
    goal = 0.4 * np.sin(np.arange(80) * 0.1)
    whole = simulate_joint(joint, mode, goal, 0.3, 5e-3, position=0.0, external_torque=0.05)
    stepper = CompliantStepper(joint, 5e-3, mode=mode, preset=0.3)
    for k, at in enumerate(goal):
        assert stepper.position == pytest.approx(whole.position[k], abs=1e-12)
        stepper.step(at, hand_torque=0.05)


def test_with_the_torque_off_link_and_motors_fall_back():
    stepper = CompliantStepper(joint_of(QbMove()), 5e-3, preset=0.3, position=1.0)
    for _ in range(100):
        stepper.step(1.0)
    assert stepper.position > 0.6
    assert stepper.motor_torque > 0.0
    for _ in range(1200):
        stepper.step(1.0, False)
    assert abs(stepper.position) < 0.2
    assert (stepper.motor_torque, stepper.current, stepper.duty_cycle) == (0.0, 0.0, 0.0)
    stepper.reset(0.5)
    assert (stepper.position, stepper.velocity, stepper.supply_voltage) == (0.5, 0.0, 12.0)


def test_a_controller_that_is_off_does_not_wind_up():
    joint = joint_of(QbMove(), pids=(Pid(ki=50.0),) * 2)
    waited, fresh = (CompliantStepper(joint, 5e-3, preset=0.3, position=0.0) for _ in range(2))
    for _ in range(200):
        waited.step(0.5, False)
    assert abs(waited.position) < 1e-9
    for _ in range(40):
        waited.step(0.5)
        fresh.step(0.5)
    assert waited.position == pytest.approx(fresh.position, abs=1e-4)


def test_a_motor_torque_replaces_the_position_law():
    stepper = CompliantStepper(joint_of(QbMove()), 5e-3, preset=0.3, torque_constant=0.5)
    for _ in range(100):
        stepper.step(0.0, motor_torque=0.3, supply_voltage=11.0)
    assert stepper.velocity != 0.0
    assert stepper.motor_torque == pytest.approx(0.3)
    assert stepper.current == pytest.approx(0.6)
    assert stepper.duty_cycle == pytest.approx(0.3 / 12.0)
    assert stepper.supply_voltage == 11.0


def test_what_cannot_be_simulated_is_said():
    joint = joint_of(QbMove())
    with pytest.raises(ModelError, match="mode 4 takes torques"):
        CompliantStepper(joint, 1e-3, mode=Mode.MOTOR_TORQUES)
    with pytest.raises(ModelError, match="ideal motors of mode 3 take no torque"):
        CompliantStepper(joint, 1e-3, mode=Mode.SPRING_EQ_PRES).step(0.0, motor_torque=0.1)
    with pytest.raises(ModelError, match="reference 2 is not a finite number"):
        simulate_joint(joint, Mode.PID_EQ_PRES, np.zeros(3), np.nan, 1e-3)
    with pytest.raises(ModelError, match=r"shape \(\)"):
        simulate_joint(joint, Mode.PID_EQ_PRES, 0.0, 0.0, 1e-3)
    with pytest.raises(ModelError, match="inertia of 0"):
        CompliantLink.of_bench(Bench(mass=0.0, length=0.1))
    stiff = joint_of(Sea(), link_pid=Pid(kp=1.0, kd=50.0))
    with pytest.raises(ModelError, match="use more substeps"):
        simulate_joint(stiff, Mode.LINK_PID, np.full(4000, 0.3), 0.0, 0.02, substeps=1)


def test_the_example_of_the_help_page_works_in_every_mode():
    """The page's own code, run as it stands; its actuator in a joint, an array and step by step."""
    page = (files("resources") / "help" / "compliance_use.md").read_text("utf-8")
    code = page.split("## An actuator of your own")[1].split("```python\n")[1].split("```")[0]
    names = {**vars(elastic_module), **vars(joint_module), "Parameter": Parameter, "ParameterSet": ParameterSet}
    exec(code, names | (space := {"ClassVar": ClassVar, "Bench": Bench, "Mode": Mode, "np": np}), space)
    own = space["joint"]
    balance = own.link.gravity_torque * np.sin(space["motion"].position[-1]) - space["motion"].link_torque[-1]
    assert abs(balance) <= own.link.friction * 1.01
    for mode in Mode:
        motion = simulate_joint(own, mode, np.full(20, 0.02), 0.0, 2e-3)
        assert np.isfinite(motion.position).all()
    array = JointArray(name="two", joints=(NamedJoint(name="a", joint=own), NamedJoint(name="b", joint=own)))
    both = simulate_array(array, np.full((20, 2), 0.3), 0.0, 2e-3).robot_state.position
    assert np.array_equal(both[:, 0], both[:, 1])
    stepper = CompliantStepper(own, 2e-3, position=0.3)
    for k in range(20):
        assert stepper.position == pytest.approx(both[k, 0], abs=1e-12)
        stepper.step(0.3)
