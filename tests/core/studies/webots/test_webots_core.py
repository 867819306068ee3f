"""Webots Servos beyond their manual: one motion from every way to compute it, and a solver that is exact."""

import inspect
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import InputError, ModelError
from core.motion.simulation import Stepper
from core.servo.bench import Bench
from core.studies.webots.chain import Chain, single
from core.studies.webots.experiments import EXPERIMENTS
from core.studies.webots.fields import LINEAR, Load, ServoFields, load_of
from core.studies.webots.kernel import simulate_node
from core.studies.webots.robot import SimulatedRobot, bench_robot
from core.studies.webots.servo import POSITION, ServoDevice
from core.studies.webots.stepper import WebotsStepper
from core.studies.webots.trace import COLUMNS

STEP = 0.008
BENCH = Bench(mass=0.5, length=0.15, angle_offset=0.1)

nodes = st.builds(
    ServoFields,
    max_velocity=st.floats(0.1, 20.0),
    max_force=st.floats(0.0, 5.0),
    control_p=st.floats(0.1, 60.0),
    acceleration=st.one_of(st.just(-1.0), st.floats(1.0, 500.0)),
    min_position=st.floats(-0.8, 0.0),
    max_position=st.floats(0.0, 0.8),
    min_stop=st.floats(-2.0, -0.8),
    max_stop=st.floats(0.8, 2.0),
    spring_constant=st.floats(0.0, 2.0),
    damping_constant=st.floats(0.0, 0.5),
)


class TestOneMotion:
    @settings(max_examples=30)
    @given(nodes, st.integers(0, 2**31), st.floats(-0.5, 0.5))
    def test_kernel_device_and_stepper_give_the_same_numbers(self, node, seed, push):
        """Not nearly: the same, as they are made of the same functions."""
        randomness = np.random.default_rng(seed)
        goal = np.repeat(randomness.uniform(-1.5, 1.5, 6), 25)
        enable = np.repeat(randomness.random(6) > 0.3, 25)
        whole = simulate_node(node, load_of(BENCH), goal, enable, STEP)

        chain, stepper = single(node, load_of(BENCH)), WebotsStepper(node, BENCH, STEP)
        servo = chain.servos[0]
        low, high = node.soft_limits
        for k in range(len(goal)):
            assert servo.position == whole.position[k] == stepper.position
            assert servo.velocity == whole.velocity[k] == stepper.velocity
            servo.set_motor_force(node.max_force if enable[k] else 0.0)
            servo.set_position(min(max(goal[k], low), high))
            chain.step(STEP)
            stepper.step(goal[k], bool(enable[k]))
            assert servo.used_force == whole.motor_force[k] == stepper.motor_torque
            assert servo.motor_velocity == whole.wanted[k]

    def test_a_slope_pulls_a_slide_the_same_everywhere(self):
        """m·a = −m·g·sin α; the position does not matter."""
        node = ServoFields(type=LINEAR, max_force=0.0, position=0.3)
        load = Load(inertia=2.0, gravity_torque=2.0 * 9.81, offset=math.radians(30.0))
        motion = simulate_node(node, load, np.zeros(100), np.ones(100), STEP)

        np.testing.assert_allclose(np.diff(motion.velocity) / STEP, -9.81 * 0.5, rtol=1e-9)


def assert_solved(chain, before, step):
    """What the velocities of a step must satisfy, from its mechanics alone; gravity and springs are zero."""
    velocity = np.array([servo.velocity for servo in chain.servos])
    beyond = np.cumsum([load.inertia for load in chain.loads][::-1])[::-1]
    mass = np.array([[beyond[max(i, j)] for j in range(len(velocity))] for i in range(len(velocity))])
    damping = np.array([servo.fields.damping_constant for servo in chain.servos])
    momentum = mass @ (velocity - np.array([v for _, v in before])) / step
    force = momentum + damping * velocity
    for i, servo in enumerate(chain.servos):
        wanted, most, used = servo.motor_velocity, servo.available_force, servo.used_force
        stop = force[i] - used
        low, high = ((bound - before[i][0]) / step for bound in servo.fields.stops)
        scale = 1e-7 * (1.0 + np.abs(momentum).max())
        assert abs(used) <= most * (1.0 + 1e-12)
        if velocity[i] < wanted - 1e-7:
            assert used == pytest.approx(most, abs=scale)  # too slow: all it has
        if velocity[i] > wanted + 1e-7:
            assert used == pytest.approx(-most, abs=scale)
        if low + 1e-7 < velocity[i] < high - 1e-7:
            assert abs(stop) < scale  # a stop that is not touched does nothing
        elif velocity[i] <= low + 1e-7:
            assert stop > -scale  # and a touched one only pushes
        else:
            assert stop < scale


class TestSeries:
    @settings(max_examples=60)
    @given(st.integers(2, 4), st.integers(0, 2**31))
    def test_every_motor_and_stop_of_a_series_does_what_it_may(self, count, seed):
        randomness = np.random.default_rng(seed)
        servos = [
            ServoDevice(
                ServoFields(
                    max_force=float(randomness.choice([0.0, 0.05, 1.0, 50.0])),
                    damping_constant=float(randomness.choice([0.0, 0.1])),
                    max_velocity=5.0,
                    min_stop=-0.3,
                    max_stop=0.3,
                ),
                str(i),
            )
            for i in range(count)
        ]
        loads = [Load(inertia=float(10.0 ** randomness.uniform(-5, -1))) for _ in servos]
        chain = Chain(servos, loads)
        for servo in servos:
            servo.set_position(float(randomness.uniform(-1.0, 1.0)))
            servo.velocity = float(randomness.normal())
        for _ in range(10):
            before = [(servo.position, servo.velocity) for servo in servos]
            chain.step(STEP)
            assert_solved(chain, before, STEP)

    def test_a_hanging_series_rests_where_its_springs_hold_it(self):
        """Each spring carries all bodies beyond it: K₂·x₂ = −G₂·sin(x₁ + x₂ + β₂), K₁·x₁ = K₂·x₂ − G₁·sin(x₁ + β₁)."""
        soft = ServoFields(max_force=0.0, spring_constant=1.5, damping_constant=0.2)
        loads = [Load(inertia=0.01, gravity_torque=0.5, offset=0.7), Load(inertia=0.02, gravity_torque=0.9, offset=0.4)]
        chain = Chain([ServoDevice(soft, "a"), ServoDevice(soft, "b")], loads)
        for _ in range(4000):
            chain.step(2e-3)
        first, second = (servo.position for servo in chain.servos)
        outer = -0.9 * math.sin(first + second + 0.4)

        assert 1.5 * second == pytest.approx(outer, abs=1e-6)
        assert 1.5 * first == pytest.approx(outer - 0.5 * math.sin(first + 0.7), abs=1e-6)
        assert abs(second) > 0.05

    def test_axes_of_two_kinds_are_no_series(self):
        with pytest.raises(ModelError, match="all rotational"):
            Chain([ServoDevice(ServoFields()), ServoDevice(ServoFields(type=LINEAR))], [Load(inertia=1.0)] * 2)


class TestStops:
    def test_a_motor_that_a_stop_blocks_presses_with_all_it_has(self):
        """The motor's velocity is not reached, so its force is at its limit; the stop takes it up."""
        chain = single(ServoFields(max_force=3.0, max_stop=0.5), load_of(BENCH))
        servo = chain.servos[0]
        servo.set_position(1.0)
        for _ in range(200):
            chain.step(STEP)

        assert servo.position == 0.5
        assert servo.used_force == 3.0


class TestStepper:
    def test_it_is_called_as_the_simulated_servo_is(self):
        own, others = (inspect.signature(kind.step) for kind in (WebotsStepper, Stepper))
        names = ("position", "velocity", "motor_torque", "current", "duty_cycle", "supply_voltage")

        assert own == others
        assert inspect.signature(WebotsStepper.reset) == inspect.signature(Stepper.reset)
        assert all(isinstance(getattr(WebotsStepper, name), property) for name in names)

    def test_hand_motor_torque_and_release(self):
        """A released pendulum of 0.73 N·m rests at arcsin(0.3/0.73) under a hand's 0.3 N·m, or a motor's."""
        node = ServoFields(max_force=2.0, damping_constant=0.05)
        bench = Bench(mass=0.5, length=0.15)
        hand, motor = (WebotsStepper(node, bench, 0.002, torque_constant=0.5) for _ in range(2))
        for _ in range(6000):
            hand.step(1.0, False, hand_torque=0.3)
            motor.step(1.0, motor_torque=0.3)

        expected = math.asin(0.3 / bench.gravity_torque)
        assert hand.position == pytest.approx(expected, abs=1e-4)
        assert motor.position == pytest.approx(expected, abs=1e-4)
        assert (hand.motor_torque, hand.current) == (0.0, 0.0)
        assert (motor.motor_torque, motor.current) == (0.3, pytest.approx(0.6))
        assert motor.duty_cycle == pytest.approx(0.3 / 2.0)

    def test_reset_forgets(self):
        stepper = WebotsStepper(ServoFields(), BENCH, STEP, supply_voltage=12.0)
        first = []
        for _ in range(2):
            stepper.reset(0.2, 1.0)
            stepper.step(1.0, supply_voltage=11.0)
            first.append((stepper.position, stepper.velocity, stepper.motor_torque, stepper.supply_voltage))
        assert first[0] == first[1]
        stepper.reset()
        assert (stepper.position, stepper.velocity, stepper.supply_voltage) == (0.0, 0.0, 12.0)

    @pytest.mark.parametrize("wrong", [{"dt": 0.0}, {"torque_constant": -1.0}])
    def test_what_is_not_possible(self, wrong):
        with pytest.raises(ModelError, match="not possible"):
            WebotsStepper(ServoFields(), BENCH, **({"dt": STEP} | wrong))


class TestRobot:
    def test_a_nameless_servo_takes_one_name(self):
        robot = bench_robot(ServoFields())
        first = robot.device("hip")

        assert robot.device("hip") is first
        with pytest.raises(InputError, match="no device 'knee'; it has 'hip'"):
            robot.device("knee")

    def test_names_are_of_one_servo_each(self):
        with pytest.raises(InputError, match="need different names"):
            SimulatedRobot([single(ServoFields(), load_of(BENCH), "a") for _ in range(2)])

    def test_a_trace_holds_each_step_from_its_begin(self):
        """x[k + 1] = x[k] + h·v[k + 1]."""
        robot = bench_robot(ServoFields(max_velocity=2.0))
        robot.device("servo").set_position(0.5)
        robot.step(800)
        (trace,) = robot.traces()

        assert len(trace.time) == 100
        np.testing.assert_allclose(trace.time, STEP * np.arange(100))
        np.testing.assert_allclose(np.diff(trace.position), STEP * trace.velocity[1:], atol=1e-12)
        assert trace.fields.type == "rotational"
        assert robot.servos[0].mode == POSITION

    def test_a_trace_holds_targets_and_forces_of_each_mode(self):
        """A motor of 0.9 N·m holds 0.3 rad, then turns on at 0.5 rad/s, then is asked for 0.2 N·m."""
        robot = bench_robot(ServoFields(max_force=2.0, damping_constant=0.1), bench=Bench(mass=0.5, length=0.15))
        servo = robot.device("servo")
        servo.set_motor_force(0.9)
        servo.set_position(0.3)
        robot.step(2000)
        servo.set_position(math.inf)
        servo.set_velocity(0.5)
        robot.step(8)
        servo.set_force(0.2)
        robot.step(8)
        (trace,) = robot.traces()

        held = 0.5 * 9.80665 * 0.15 * math.sin(0.3)
        last = {name: getattr(trace, name)[-3:] for name in COLUMNS}
        np.testing.assert_allclose(last["target"], [0.3, math.nan, math.nan])
        np.testing.assert_allclose(last["wanted_velocity"], [0.0, 0.5, math.nan], atol=1e-6)
        np.testing.assert_allclose(last["force"], [math.nan, math.nan, 0.2])
        np.testing.assert_allclose(last["available_force"], [0.9, 0.9, 0.9])
        assert last["motor_force"][0] == pytest.approx(held, rel=1e-3)
        assert (last["motor_force"][1], last["motor_force"][2]) == (pytest.approx(0.9), 0.0)
        assert (last["position"][0], last["velocity"][0]) == (
            pytest.approx(0.3, abs=1e-3),
            pytest.approx(0.0, abs=1e-3),
        )


class TestExperiments:
    @pytest.mark.parametrize("name", EXPERIMENTS)
    def test_each_shows_what_it_says(self, name):
        traces = EXPERIMENTS[name][1]()
        end = {trace.name: trace.position[-1] for trace in traces}
        if name == "position":
            assert all(value == pytest.approx(1.2, abs=0.01) for value in end.values())
            assert np.abs(np.diff(traces[1].velocity)).max() <= 10.0 * STEP * (1.0 + 1e-9)
            assert np.abs(traces[2].motor_force).max() <= 0.8
        elif name == "modes":
            assert end["servo"] == pytest.approx(0.0, abs=0.01)
            assert np.isfinite(traces[0].force).sum() == 125  # one second of force control
        elif name == "limits":
            assert traces[0].position.max() == 1.2
            assert end["servo"] == pytest.approx(0.8, abs=1e-3)
        elif name == "forces":
            assert abs(end["regular motor"]) < 1e-6
            late = next(trace for trace in traces if trace.name == "spring without friction").position[-150:]
            assert np.abs(late).max() == pytest.approx(0.8, abs=0.01)
        else:
            assert end["motor"] == pytest.approx(0.0, abs=1e-6)
            assert np.abs(traces[1].position).max() > 0.3


def test_the_window_can_simulate_without_the_compiler():
    """numba takes a third of a second to import, and its first run seconds."""
    program = (
        "import sys, core.studies.webots.experiments as e\n"
        "from core.studies.webots import api, stepper\n"
        "e.modes()\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
