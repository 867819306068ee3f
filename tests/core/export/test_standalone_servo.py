"""The stand-alone servo equals the kernel: budgets, bristles, late commands and files, with and without numba."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.export.programs import program
from core.export.servo_file import (
    BRISTLE_NUMBERS,
    COMMAND_NUMBERS,
    LATER_NUMBERS,
    LAWS,
    NUMBERS,
    OPTIONAL_NUMBERS,
    STANDALONE,
    servo_numbers,
)
from core.kernel.mechanics import UNSETTLED, mean_friction, remembered
from core.kernel.step import lag_constants
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.friction import friction_budget
from core.servo.model import build_model, with_contact
from core.servo.shipped import load_model
from core.servo.terms import CONTACTS, FRICTION_MODELS
from tests.core.conftest import LAW_MODELS, catalogue_model

servo = program("servobench_servo")
STATES = 2000
BENCH = Bench(mass=0.5, length=0.15)
ELASTOPLASTIC = ("elastoplastic", "elastoplastic_rational")
others = pytest.mark.exhaustive("the other servos and friction models")
BRISTLED = with_contact(load_model("mx106", "m2"), "elastoplastic")


def rollout(numbers, bench, goals, enable, step):
    """Algorithm 1 of seed 004 around the stand-alone functions, with what takes its lines 4–6 with a bristle."""
    bank = servo.Bank([numbers], step, contacts=servo.CONTACTS)
    bank.reset(np.zeros(1))
    p = bank.rows[0]
    inertia = bench.inertia + p[servo.ARMATURE]
    q = v = deflection = 0.0
    positions = np.empty(len(goals))
    for k in range(len(goals)):
        positions[k] = q
        bank.command(goals[k], enable[k])
        torque = bank.drive([q], [v])[0]
        load = -bench.gravity_torque * np.sin(q)
        free, budget = v + step / inertia * (torque + load), servo.dry_friction(p, torque, load)
        friction, _ = servo.bristle_friction(p, *budget, deflection, free, step / inertia, step)
        deflection = servo.bent(p, deflection, friction, step)
        a = (torque + load + friction) / inertia
        q, v = q + v * step + 0.5 * a * step**2, v + a * step
    return positions


def leapfrog(numbers, bench, offset, goals, enable, step):
    """The kernel's second-order step with a rigid contact around the stand-alone functions."""
    bank = servo.Bank([numbers], step)
    bank.reset(np.zeros(1))
    p, state = bank.rows[0], bank.states[0]
    viscous = p[servo.KV_FRICTION]
    q = v = friction = 0.0
    positions = np.empty(len(goals))
    for k in range(len(goals)):
        positions[k] = q
        q += 0.5 * step * v
        motor, drag = servo.drive(p, state, q, v, goals[k], enable[k], step)
        load = -bench.gravity_torque * np.sin(q + offset)
        inertia = bench.inertia + p[servo.ARMATURE] + 0.5 * step * (drag + viscous)
        gained = 0.5 * step / inertia * (motor + load - friction) if v != 0.0 else 0.0
        mean = motor - drag * gained
        budget = servo.static_friction(p, mean, load, v + gained) + viscous * abs(v)
        budget += servo.remembered(p, state, mean, load, step, 0.5)
        friction = mean_friction(inertia / step * v, motor + load, budget)
        v += step / inertia * (motor + load - friction)
        q += 0.5 * step * v
    return positions


class TestAgainstTheKernel:
    def test_the_file_has_what_the_program_wants(self):
        slots = {
            slot.name.lower()
            for slot in (*NUMBERS, *BRISTLE_NUMBERS, *COMMAND_NUMBERS, *LATER_NUMBERS, *OPTIONAL_NUMBERS)
        }
        assert set(servo.FIELDS) == slots | {"supply_voltage", "law", "contact"}
        assert sorted(servo.LAWS) == sorted(set(LAWS.values()))
        assert tuple(CONTACTS) == servo.CONTACTS

    @pytest.mark.parametrize("friction", FRICTION_MODELS)
    @pytest.mark.parametrize("name", ["mx106", "erob80_100"])
    def test_budgets_are_those_of_the_equations(self, name, friction):
        model = load_model(name, friction)
        p = servo.load_servo(servo_numbers(model, model.default_settings()))
        random = np.random.default_rng(1)
        torque, load = random.normal(0.0, 5.0, (2, STATES))
        velocity = random.normal(0.0, 2.0, STATES)

        expected = friction_budget(friction, model.values, torque, load, velocity, model.quadratic_gate)
        static = [servo.static_friction(p, *state) for state in zip(torque, load, velocity, strict=True)]

        np.testing.assert_allclose(static + p[servo.KV_FRICTION] * np.abs(velocity), expected, rtol=1e-12)

    @pytest.mark.parametrize(
        ("name", "friction", "contact"),
        [
            ("mx106", "m6", "elastoplastic"),
            ("erob80_100", "m4", "elastoplastic_rational"),
            pytest.param("mx106", "m1", "elastoplastic_rational", marks=others),
            pytest.param("erob80_100", "m4", "elastoplastic", marks=others),
        ],
    )
    def test_runs_with_a_bristle_are_those_of_the_kernel(self, name, friction, contact):
        published = load_model(name, friction)
        parameters = published.parameters.with_values({"q_offset": 0.0})
        model = with_contact(replace(published, parameters=parameters, integrator="algorithm1"), contact)
        path, step = make_trajectory("lift_and_drop"), 1e-3

        expected = simulate_trajectory(model, path, BENCH, model.default_settings(), step)
        goals, enable = path.goal(expected.time), path.torque_enable(expected.time).astype(float)
        found = rollout(servo_numbers(model, model.default_settings()), BENCH, goals, enable, step)

        assert np.abs(expected.position).max() > 0.3
        np.testing.assert_allclose(found, expected.position, atol=1e-8)

    def test_a_memory_is_that_of_the_kernel(self):
        """Mean over the step with a lead, otherwise the value at its end; the first step starts settled."""
        model = catalogue_model("mx106", "m6", command_path=("load_memory",), values={"load_memory": 0.05})
        p, step = servo.load_servo(servo_numbers(model, model.default_settings())), 2e-3
        share, mean = lag_constants(0.05, step)
        random = np.random.default_rng(2)
        leading, ending, kernel = np.zeros(len(servo.STATE)), np.zeros(len(servo.STATE)), UNSETTLED
        leading[servo.LOAD_FRICTION] = ending[servo.LOAD_FRICTION] = servo.UNSETTLED
        for torque, external in random.normal(0.0, 3.0, (100, 2)):
            load = servo.dry_friction(p, torque, external)[0] - p[servo.KC]
            acting, kernel = remembered(load, kernel, share, mean)

            of_mean = servo.remembered(p, leading, torque, external, step, 0.5)
            of_end = servo.remembered(p, ending, torque, external, step)

            assert load + of_mean == pytest.approx(acting, rel=1e-12)
            assert load + of_end == pytest.approx(kernel, rel=1e-12)
            assert leading[servo.LOAD_FRICTION] == ending[servo.LOAD_FRICTION] == pytest.approx(kernel, rel=1e-12)

    @pytest.mark.parametrize("law", ["voltage", "current"])
    def test_runs_with_memory_are_those_of_the_kernel(self, law):
        model = catalogue_model(
            friction="m6", command_path=("load_memory",), values={"load_memory": 0.2}, **LAW_MODELS[law]
        )
        path, step = make_trajectory("lift_and_drop"), 1e-3
        expected = simulate_trajectory(model, path, BENCH, model.default_settings(), step)
        goals, enable = path.goal(expected.time), path.torque_enable(expected.time).astype(float)
        numbers = servo_numbers(model, model.default_settings())

        found, at_once = (
            leapfrog({**numbers, "load_memory": time}, BENCH, model.values["q_offset"], goals, enable, step)
            for time in (0.2, 0.0)
        )

        np.testing.assert_allclose(found, expected.position, rtol=0, atol=1e-9)
        assert np.abs(at_once - expected.position).max() > 5e-4

    @pytest.mark.parametrize("direction", [1.0, -1.0])
    def test_friction_stops_a_joint_or_is_the_budget_against_it(self, direction):
        """Algorithm 1 of seed 004, lines 4–6."""
        model = load_model("mx106", "m6")
        p = servo.load_servo(servo_numbers(model, model.default_settings()))
        inertia, step, velocity, torque, load = 0.02, 1e-3, 0.7 * direction, 0.4 * direction, -0.1 * direction
        budget = servo.static_friction(p, torque, load, velocity) + p[servo.KV_FRICTION] * abs(velocity)
        assert inertia / step * abs(velocity) > budget
        assert servo.applied_friction(p, inertia, step, velocity, torque, load) == pytest.approx(-budget * direction)
        assert servo.applied_friction(p, inertia, step, 0.0, 1e-3 * direction, 0.0) == pytest.approx(-1e-3 * direction)


class TestBristle:
    """Seed 001: y = Φ(w) with w = x − Z·y, and e' by eq. (18), of any friction function that is one (eq. 14)."""

    def test_a_program_without_bristles_refuses_one(self):
        numbers = servo_numbers(BRISTLED, BRISTLED.default_settings())

        with pytest.raises(ValueError, match="contact is elastoplastic and only rigid is possible here"):
            servo.Bank([numbers], 1e-3)


class TestCommands:
    @given(st.floats(0.0, 6.0), st.lists(st.floats(-3.0, 3.0), min_size=8, max_size=8))
    def test_a_late_command_is_read_between_steps(self, steps, commands):
        """Against interpolation over the ring laid out in time."""
        for head in range(8):
            ordered = [commands[(head - 7 + k) % 8] for k in range(8)]

            found = servo.late(np.array(commands), head, steps)

            assert found == pytest.approx(np.interp(7.0 - steps, np.arange(8.0), ordered), abs=1e-12)

    def test_the_first_command_counts_for_before(self):
        model = build_model("mx106", "m1", command_path=("command_delay",))
        numbers = servo_numbers(model, model.default_settings()) | {"delay": 0.02}
        bank = servo.Bank([numbers], 1e-3)
        bank.reset(np.array([0.1]))
        bank.command(0.4, 1.0)

        torque = bank.drive([0.1], [0.0])[0]

        p = bank.rows[0]
        duty = min(p[servo.KP] * 0.3, p[servo.LIMIT])
        assert torque == pytest.approx(p[servo.KT] * duty * p[servo.SUPPLY] / p[servo.R])

    def test_numbers_are_named(self):
        numbers = servo_numbers(load_model("mx106", "m6"), load_model("mx106", "m6").default_settings())
        bank = servo.Bank([numbers, numbers], 1e-3)

        bank.numbers["kp"][1] *= 2.0

        assert bank.rows[1, servo.KP] == 2.0 * numbers["kp"]
        assert bank.numbers["armature"][0] == numbers["armature"]


class TestFiles:
    def test_a_rigid_servo_is_a_file_of_version_1(self):
        rigid = servo_numbers(load_model("mx106", "m6"), load_model("mx106", "m6").default_settings())

        assert rigid["version"] == 1
        assert not {"contact", "bristle_stiffness", "bristle_damping"} & set(rigid)
        assert servo_numbers(BRISTLED, BRISTLED.default_settings())["version"] == 2

    @pytest.mark.parametrize("contact", ELASTOPLASTIC)
    @pytest.mark.parametrize("number", ["bristle_stiffness", "bristle_damping"])
    def test_a_bristle_has_a_stiffness_and_a_damping(self, contact, number):
        numbers = servo_numbers(with_contact(load_model("mx106", "m2"), contact), BRISTLED.default_settings())
        servo.load_servo(numbers)
        with pytest.raises(ValueError, match=f"{number} = 0.0: impossible value"):
            servo.load_servo(numbers | {number: 0.0})


def test_without_numba_it_is_the_same(tmp_path):
    """In a process that cannot import numba."""
    model = load_model("mx106", "m6")
    numbers = servo_numbers(model, model.default_settings())
    (tmp_path / "s.json").write_text(json.dumps(numbers))
    program_text = f"""
import sys
sys.modules["numba"] = None
sys.path.insert(0, {str(STANDALONE)!r})
import numpy as np, servobench_servo as s
assert not s.COMPILED
bank = s.Bank([{str(tmp_path / "s.json")!r}], 1e-3)
bank.reset(np.zeros(1))
bank.command(0.3, 1.0)
p = bank.rows[0]
print(repr(float(bank.drive([0.1], [0.7])[0])), repr(float(s.static_friction(p, 1.0, -0.7, 0.3))))
"""
    done = subprocess.run([sys.executable, "-c", program_text], capture_output=True, text=True, check=True)

    bank = servo.Bank([numbers], 1e-3)
    bank.reset(np.zeros(1))
    bank.command(0.3, 1.0)
    torque, budget = map(float, done.stdout.split())
    assert servo.COMPILED
    assert torque == pytest.approx(bank.drive([0.1], [0.7])[0], rel=1e-14)
    assert budget == pytest.approx(servo.static_friction(bank.rows[0], 1.0, -0.7, 0.3), rel=1e-14)
