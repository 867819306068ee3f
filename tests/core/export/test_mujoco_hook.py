"""Friction at run time in MuJoCo: near the converged model, no creep, the right loads on any base, files that run."""

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from core.export import check_export, export_model
from core.export.files import README
from core.export.references import GridRun, converged_positions, default_bench
from core.export.servo_file import servo_numbers
from core.export.targets.mujoco.hook import pendulum_scene
from core.export.targets.mujoco.xml import xml_text
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.friction import friction_budget
from core.servo.model import build_model, with_contact
from core.servo.parameters import Parameter, ParameterSet
from core.servo.shipped import load_model
from core.servo.terms import FRICTION_MODELS

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
attach = importlib.import_module("core.export.programs").program("servobench_mujoco").attach

BENCH = Bench(mass=0.5, length=0.15)
GRAVITY = 9.81
ELASTOPLASTIC = ("elastoplastic", "elastoplastic_rational")
MX106 = servo_numbers(load_model("mx106", "m6"), load_model("mx106", "m6").default_settings())


others = pytest.mark.exhaustive("the other servos, friction models and contacts")
OTHER_BACKLASHES = [("mx106", 0.5), ("mx106", 2.0), ("sts3215", 1.0), ("sts3215", 2.0)]
EXHAUSTIVE_ENGINE = pytest.mark.exhaustive("the engine's other integrators")
OTHERS = (
    *((name, friction, "rigid") for name in ("mx106", "erob80_100") for friction in FRICTION_MODELS),
    *(("mx106", friction, contact) for friction in ("m1", "m6") for contact in ELASTOPLASTIC),
    ("erob80_100", "m4", "elastoplastic_rational"),
)


def scene(model, bench, step):
    root = pendulum_scene("p", model, bench, model.default_settings(), step)
    return mujoco.MjModel.from_xml_string(xml_text(root))


def with_term(model, name, value):
    term = replace(Parameter.of_term(name), value=value)
    others = [p for p in model.parameters.values() if p.name != name]
    return replace(model, parameters=ParameterSet([*others, term]))


def with_backlash(model, degrees):
    return with_term(model, "backlash", np.radians(degrees))


def run(engine, numbers, goals, enable):
    """Positions before each step."""
    data = mujoco.MjData(engine)
    servos = attach(engine, data, {"servo": numbers})
    positions = np.empty(len(goals))
    for k in range(len(goals)):
        positions[k] = data.qpos.sum()
        servos.step(goals[k], enable[k])
    return positions


class TestAccuracy:
    """Issue's bar: at most 1 mrad from the converged motion at 1 ms, 5 mrad at 5 ms, each trajectory."""

    @pytest.mark.parametrize(
        ("name", "friction", "contact"),
        [
            ("mx106", "m6", "rigid"),
            ("erob80_100", "m4", "elastoplastic"),
            *(pytest.param(*row, marks=others) for row in OTHERS),
        ],
    )
    def test_near_the_converged_model(self, name, friction, contact):
        model = with_contact(load_model(name, friction), contact)
        bench = default_bench(model)
        numbers = servo_numbers(model, model.default_settings())
        for trajectory in PAPER_TRAJECTORIES:
            path = make_trajectory(trajectory)
            grid_run = GridRun(trajectory=trajectory, bench=bench, settings=model.default_settings())
            for step, bar in ((1e-3, 1e-3), (5e-3, 5e-3)):
                time = step * np.arange(round(path.duration / step))
                enable = path.torque_enable(time).astype(float)

                found = run(scene(model, bench, step), numbers, path.goal(time + step / 2), enable)

                assert np.abs(found - converged_positions(model, grid_run, step)).mean() < bar

    def moves_as(self, model, without, limit):
        """Compare the hook with a model, within a mean error [rad], and with the same model without its term."""
        bench, numbers = default_bench(model), servo_numbers(model, model.default_settings(), backlash=True)
        for trajectory in ("lift_and_drop", "sin_time_square"):
            path = make_trajectory(trajectory)
            grid_run = GridRun(trajectory=trajectory, bench=bench, settings=model.default_settings())
            time = 1e-3 * np.arange(round(path.duration / 1e-3))
            enable = path.torque_enable(time).astype(float)

            found = run(scene(model, bench, 1e-3), numbers, path.goal(time + 0.5e-3), enable)

            expected = converged_positions(model, grid_run, 1e-3)
            assert np.abs(found - expected).mean() < limit
            assert np.abs(converged_positions(without, grid_run, 1e-3) - expected).mean() > 1e-3

    @pytest.mark.parametrize(
        ("name", "degrees"),
        [("mx106", 1.0), *(pytest.param(*case, marks=others) for case in OTHER_BACKLASHES)],
    )
    def test_backlash(self, name, degrees):
        """At most 1 mrad at 1 ms from a motion that backlash changes by more."""
        model = with_backlash(load_model(name, "m6"), degrees)
        self.moves_as(model, with_backlash(model, 0.0), 1e-3)

    @pytest.mark.parametrize("contact", ["rigid", "elastoplastic_rational"])
    def test_memory_of_the_load(self, contact):
        """At most 0.5 mrad at 1 ms from a motion that memory changes by more."""
        model = with_term(with_contact(load_model("mx106", "m6"), contact), "load_memory", 0.3)
        self.moves_as(model, with_term(model, "load_memory", 0.0), 0.5e-3)

    def test_a_servo_with_backlash_needs_a_joint_for_it(self):
        model = with_backlash(load_model("mx106", "m6"), 1.0)
        numbers = servo_numbers(model, model.default_settings(), backlash=True)
        without = scene(load_model("mx106", "m6"), BENCH, 1e-3)

        with pytest.raises(ValueError, match="add a second joint, 'servo_backlash'"):
            attach(without, mujoco.MjData(without), {"servo": numbers})

    def test_the_whole_command_path(self):
        """Delay, release delay, slew, dead band, lag, sag, braking and integral gain: nearer with shorter steps."""
        terms = {
            "command_delay": 0.0131, "release_delay": 0.0077, "error_gain_ratio": 1.1, "goal_slew": 3.0,
            "dead_band": 0.01, "pwm_lag": 0.004, "supply_sag": 0.5, "release_braking": 0.4,
        }  # fmt: skip
        template = build_model("mx106", "m6", command_path=tuple(terms))
        values = {**load_model("mx106", "m6").values, **terms, "q_offset": 0.0}
        model = replace(template, parameters=template.parameters.with_values(values), substeps=10)
        settings = replace(model.default_settings(), ki=100.0)
        path = make_trajectory("lift_and_drop")
        for step, bar in ((1e-3, 3e-3), (2e-4, 1e-3)):
            expected = simulate_trajectory(model, path, BENCH, settings, step)
            enable = path.torque_enable(expected.time).astype(float)

            found = run(scene(model, BENCH, step), servo_numbers(model, settings), path.goal(expected.time), enable)

            assert np.abs(expected.position).max() > 0.5
            assert np.abs(found - expected.position).mean() < bar

    @pytest.mark.parametrize(
        "integrator",
        ["Euler", *(pytest.param(name, marks=EXHAUSTIVE_ENGINE) for name in ("implicit", "discrete"))],
    )
    def test_other_integrators(self, integrator):
        model = load_model("mx106", "m6")
        path, step = make_trajectory("sin_sin"), 5e-3
        engine = scene(model, BENCH, step)
        engine.opt.integrator = int(getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}"))
        time = step * np.arange(round(path.duration / step))
        grid_run = GridRun(trajectory="sin_sin", bench=BENCH, settings=model.default_settings())

        found = run(engine, MX106, path.goal(time + step / 2), np.ones(len(time)))

        assert np.abs(found - converged_positions(model, grid_run, step)).mean() < 5e-3


class TestHolding:
    """A released joint loaded with 36 % of its friction.

    MuJoCo's constraints give way by the share 1 − d of the load, d being 0.9999 at most (solimp): the joint creeps with
    (1 − d)·h·τ/J, about 0.1 mrad in 10 s at 5 ms. MuJoCo's own friction creeps by 0.15 rad.
    """

    @pytest.mark.parametrize("step", [1e-3, 5e-3])
    def test_no_creep(self, step):
        numbers = MX106 | {name: 0.0 for name in MX106 if name.startswith(("load_", "friction_stribeck"))}
        numbers |= {"friction_base": BENCH.gravity_torque / 0.36}
        engine = scene(load_model("mx106", "m6"), BENCH, step)
        data = mujoco.MjData(engine)
        data.qpos[0] = np.pi / 2
        servos = attach(engine, data, {"servo": numbers})

        for _ in range(round(10.0 / step)):
            servos.step(0.0, 0.0)

        creep = 1e-4 * step * BENCH.gravity_torque / (BENCH.inertia + MX106["armature"])
        assert abs(data.qpos[0] - np.pi / 2) == pytest.approx(10.0 * creep, rel=0.01)
        assert servos.motor_torque[0] == 0.0

    def test_friction_by_its_own_load_holds(self):
        """K_e·|τ_e| beyond |τ_e| locks the joint itself, seed 004, section III-D."""
        numbers = MX106 | {name: 0.0 for name in MX106 if name.startswith(("load_", "friction_"))}
        numbers |= {"load_external_stribeck": 1.05}
        engine = scene(load_model("mx106", "m6"), BENCH, 1e-3)
        data = mujoco.MjData(engine)
        data.qpos[0] = 1.0
        servos = attach(engine, data, {"servo": numbers})

        for _ in range(3000):
            servos.step(0.0, 0.0)

        assert abs(data.qpos[0] - 1.0) < 1e-4


class TestBristle:
    """Elastoplastic contacts (seed 001): what sticks rests where K·e is the load, and moves no further."""

    @pytest.mark.parametrize("contact", ELASTOPLASTIC)
    @pytest.mark.parametrize("step", [1e-3, 5e-3])
    def test_what_sticks_gives_and_then_rests(self, step, contact):
        numbers = _held(contact)
        engine = scene(load_model("mx106", "m6"), BENCH, step)
        data = mujoco.MjData(engine)
        data.qpos[0] = np.pi / 2
        servos = attach(engine, data, {"servo": numbers})

        servos.step(0.0, 0.0, steps=round(1.0 / step))
        settled = data.qpos[0]
        servos.step(0.0, 0.0, steps=round(9.0 / step))

        load = _gravity(engine) * np.sin(settled + _tilt(load_model("mx106", "m6")))
        assert np.pi / 2 - settled == pytest.approx(load / numbers["bristle_stiffness"], rel=1e-3)
        assert servos.deflection[0] == pytest.approx(settled - np.pi / 2, rel=1e-9)
        assert abs(data.qpos[0] - settled) < 1e-12

    def test_joints_rest_together_and_on_a_limit_however_stiff(self):
        """Two links without armature, the upper one on its limit; bristles a thousand times as stiff as usual."""
        numbers = _held("elastoplastic") | {"armature": 1e-9}
        numbers |= {name: 1e3 * numbers[name] for name in ("bristle_stiffness", "bristle_damping")}
        limited = '<joint name="shoulder" axis="0 -1 0" limited="true" range="-57 17"/>'
        engine = mujoco.MjModel.from_xml_string(
            TestJoints.ARM.replace('<joint name="shoulder" axis="0 -1 0"/>', limited).replace("0.002", "0.005")
        )
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"shoulder": numbers, "elbow": numbers})

        servos.step([1.5, -0.4], steps=800)
        settled = data.qpos.copy()
        servos.step([1.5, -0.4], steps=200)

        assert settled[0] > np.radians(17.0)
        assert np.abs(data.qpos - settled).max() < 1e-6

    def test_a_reset_forgets_the_deflection(self):
        engine = scene(load_model("mx106", "m6"), BENCH, 1e-3)
        data = mujoco.MjData(engine)
        data.qpos[0] = 1.0
        servos = attach(engine, data, {"servo": _held("elastoplastic")})
        servos.step(0.0, 0.0, steps=100)
        assert servos.deflection[0] < -1e-3

        servos.reset()

        assert servos.deflection[0] == 0.0

    def test_joints_of_either_contact_share_an_arm(self):
        """The rigid one has its friction in the engine, the other in its motor; both reach where they are sent."""
        engine = mujoco.MjModel.from_xml_string(TestJoints.ARM)
        data = mujoco.MjData(engine)
        bristled = with_contact(load_model("mx106", "m6"), "elastoplastic")
        servos = attach(
            engine, data, {"shoulder": MX106, "elbow": servo_numbers(bristled, bristled.default_settings())}
        )

        servos.step([0.4, -0.6], steps=500)

        np.testing.assert_allclose(data.qpos, [0.4, -0.6], atol=0.12)
        assert engine.dof_frictionloss[0] > 0.0 == engine.dof_frictionloss[1]
        assert servos.deflection[0] == 0.0 != servos.deflection[1]


def _held(contact):
    """A servo whose friction is three times what gravity asks for, with a bristle as the catalogue's."""
    model = with_contact(load_model("mx106", "m6"), contact)
    numbers = servo_numbers(model, model.default_settings())
    numbers |= {name: 0.0 for name in numbers if name.startswith(("load_", "friction_stribeck"))}
    return numbers | {"friction_base": BENCH.gravity_torque / 0.36}


FLOATING = f"""<mujoco><option timestep="0.001" integrator="implicitfast" gravity="0 0 -{GRAVITY}"/>
<worldbody><body name="base" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.05" mass="2" contype="0"
   conaffinity="0"/><body name="ball" pos="0.3 0 0"><joint name="ball" type="ball"/>
  <geom size="0.02" mass="0.1" pos="0 0 -0.1" contype="0" conaffinity="0"/></body>
 <body name="arm"><joint name="servo" axis="0 -1 0" STIFF/>
  <inertial pos="0 0 -0.2" mass="0.5" diaginertia="1e-4 1e-4 1e-4"/></body>
</body></worldbody><actuator><motor joint="servo"/></actuator></mujoco>"""


class TestLoads:
    """Loads in closed form, on a base that floats behind a ball joint: the dof is not the joint's number."""

    def test_springs_and_applied_torques_count(self):
        """−m·g·l·sin(world) − k·q + applied + force·lever, on the base held by nothing."""
        engine = mujoco.MjModel.from_xml_string(FLOATING.replace("STIFF", 'stiffness="1.5"'))
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"servo": MX106})
        dof = engine.joint("servo").dofadr[0]
        data.qfrc_applied[dof] = 0.07
        worst = 0.0
        for k in range(200):
            data.xfrc_applied[engine.body("arm").id, :3] = 0.3, 0.0, 0.0
            angle = data.joint("servo").qpos[0]
            world = angle - _pitch(data)
            servos.step(0.5 * np.sin(0.02 * k))
            expected = -0.5 * GRAVITY * 0.2 * np.sin(world) - 1.5 * angle + 0.07 + 0.3 * 0.2 * np.cos(world)
            worst = max(worst, abs(_load_of_the_last_step(servos) - expected))

        assert worst < 1e-6

    def test_contacts_and_limits_count_friction_does_not(self):
        """An arm that leans on its limit: the limit's torque is −(motor + gravity) and the load −motor."""
        model = load_model("mx106", "m1")
        text = xml_text(pendulum_scene("p", model, BENCH, model.default_settings(), 1e-3))
        text = text.replace('axis="0 -1 0"', 'axis="0 -1 0" range="-1 0.3" limited="true" solreflimit="0.002 1"')
        engine = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"servo": servo_numbers(model, model.default_settings())})

        for _ in range(3000):
            servos.step(1.0)

        assert data.qpos[0] == pytest.approx(0.3, abs=0.02)
        assert servos.motor_torque[0] > 0.5
        limit = data.efc_force[data.efc_type == int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT)].sum()
        expected = -BENCH.gravity_torque * np.sin(data.qpos[0]) - limit
        assert _load_of_the_last_step(servos) == pytest.approx(expected, abs=1e-6)

    def test_the_budget_goes_by_that_load(self):
        model = load_model("mx106", "m6")
        engine = scene(model, BENCH, 1e-3)
        data = mujoco.MjData(engine)
        data.qpos[0] = 0.8
        servos = attach(engine, data, {"servo": MX106})

        servos.update(0.8)

        assert servos.external_torque[0] == pytest.approx(-_gravity(engine) * np.sin(0.8 + _tilt(model)), rel=1e-9)
        expected = friction_budget(
            "m6", model.values, servos.motor_torque, servos.external_torque, 0.0, model.quadratic_gate
        )
        assert servos.friction_budget[0] == pytest.approx(expected[0], rel=1e-12)
        assert engine.dof_frictionloss[0] == pytest.approx(expected[0], abs=1e-9)


def _pitch(data):
    """Of the free base, about y."""
    return 2.0 * np.arctan2(data.qpos[5], data.qpos[3])


def _load_of_the_last_step(servos):
    """Ask for the load without moving the servo: an update on a copy of its memory."""
    kept = servos._rows.copy(), servos._past.copy(), servos._head.copy()
    servos.update(0.0)
    load = servos.external_torque[0]
    servos._rows[:], servos._past[:], servos._head[:] = kept
    return load


def _gravity(engine):
    return -engine.opt.gravity[2] * engine.body("pendulum").mass[0] * np.linalg.norm(engine.body("pendulum").ipos)


def _tilt(model):
    return model.values["q_offset"]


OFF = '<option><flag {}="disable"/></option><worldbody>'


class TestJoints:
    ARM = f"""<mujoco><option timestep="0.002" integrator="implicitfast" gravity="0 0 -{GRAVITY}"/><worldbody>
    <body><joint name="shoulder" axis="0 -1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.4"/>
    <body pos="0 0 -0.2"><joint name="elbow" axis="0 -1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.3"/></body></body></worldbody>
    <actuator><motor joint="elbow" gear="2"/><motor joint="shoulder"/></actuator></mujoco>"""

    def test_each_joint_has_its_servo_whatever_the_order(self):
        mx64 = servo_numbers(load_model("mx64", "m4"), load_model("mx64", "m4").default_settings())
        motions = []
        for joints in ({"shoulder": MX106, "elbow": mx64}, {"elbow": mx64, "shoulder": MX106}):
            engine = mujoco.MjModel.from_xml_string(self.ARM)
            data = mujoco.MjData(engine)
            servos = attach(engine, data, joints)
            goals = {"shoulder": 0.4, "elbow": -0.6}
            for _ in range(500):
                servos.step([goals[name] for name in joints])
            motions.append(data.qpos.copy())
            assert dict(zip(servos.names, servos.numbers["kp"], strict=True)) == {
                "shoulder": MX106["kp"], "elbow": mx64["kp"],
            }  # fmt: skip
        np.testing.assert_array_equal(motions[0], motions[1])
        np.testing.assert_allclose(motions[0], [0.4, -0.6], atol=0.12)

    def test_a_reset_starts_anew(self):
        engine = mujoco.MjModel.from_xml_string(self.ARM)
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"shoulder": MX106, "elbow": MX106})
        motions = []
        for _ in range(2):
            servos.step([0.3, 0.6], steps=200)
            motions.append(data.qpos.copy())
            mujoco.mj_resetData(engine, data)

        np.testing.assert_array_equal(motions[0], motions[1])

    @pytest.mark.parametrize(
        ("joints", "xml", "message"),
        [
            ({"knee": MX106}, ARM, "no joint 'knee'"),
            ({"elbow": MX106}, ARM.replace('<motor joint="elbow" gear="2"/>', ""), "has 0 motors"),
            ({"elbow": MX106}, ARM.replace('<motor joint="elbow"', '<position joint="elbow"'), "has 0 motors"),
            ({"elbow": MX106}, ARM.replace('gear="2"', 'gear="0"'), "gear or gain of 0"),
            ({"elbow": MX106}, ARM.replace('gear="2"', 'ctrlrange="-1 1"'), "its own limits"),
            ({"ball": MX106}, FLOATING.replace("STIFF", ""), "neither a hinge nor a slide"),
            ({"elbow": MX106}, ARM.replace('name="elbow"', 'name="elbow" actuatorfrcrange="-1 1"'), "its own limits"),
            ({"elbow": MX106}, ARM.replace("implicitfast", "RK4"), "RK4 does not suit"),
            ({"elbow": MX106}, ARM.replace("<worldbody>", OFF.format("frictionloss"), 1), "disables: frictionloss"),
            ({"elbow": MX106}, ARM.replace("<worldbody>", OFF.format("refsafe"), 1), "disables: refsafe"),
            ({"elbow": MX106}, ARM.replace("<worldbody>", OFF.format("constraint"), 1), "disables: constraint"),
            ({"elbow": {}}, ARM, "not a servo file"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, joints, xml, message):
        engine = mujoco.MjModel.from_xml_string(xml)

        with pytest.raises(ValueError, match=message):
            attach(engine, mujoco.MjData(engine), joints)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda model, data: setattr(model.opt, "timestep", 0.001), r"time step is 0\.001 s, was 0\.002 s"),
            (lambda model, data: setattr(model.opt, "integrator", mujoco.mjtIntegrator.mjINT_RK4), "RK4"),
            (
                lambda model, data: setattr(model.opt, "disableflags", mujoco.mjtDisableBit.mjDSBL_REFSAFE),
                "disables: refsafe",
            ),
            (lambda model, data: setattr(model.opt, "disableactuator", 1), "disableactuator"),
            (lambda model, data: mujoco.mj_step(model, data, 3), r"from 0 s to 0\.008 s without `update`"),
        ],
    )
    def test_what_no_longer_fits_is_refused_at_the_next_step(self, change, message):
        engine = mujoco.MjModel.from_xml_string(self.ARM)
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"shoulder": MX106, "elbow": MX106})
        servos.step([0.3, 0.3])
        change(engine, data)

        with pytest.raises(ValueError, match=message):
            servos.step([0.3, 0.3])

    def test_a_rollout_on_the_servos_data_is_noticed(self):
        """Its controls are torques, not goals: `mujoco.rollout` does not call the program."""
        rollout = importlib.import_module("mujoco.rollout")
        engine = mujoco.MjModel.from_xml_string(self.ARM)
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"shoulder": MX106, "elbow": MX106})
        state = np.zeros(mujoco.mj_stateSize(engine, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        rollout.rollout(engine, data, state, np.full((1, 10, 2), 0.3))

        with pytest.raises(ValueError, match="mujoco-plugin"):
            servos.step([0.3, 0.3])

    @pytest.mark.parametrize("commands", [([np.nan, 0.0],), ([0.0, np.inf],), ([0.0, 0.0], [1.0, np.nan])])
    def test_commands_that_are_not_finite_are_refused(self, commands):
        engine = mujoco.MjModel.from_xml_string(self.ARM)
        data = mujoco.MjData(engine)
        servos = attach(engine, data, {"shoulder": MX106, "elbow": MX106})

        with pytest.raises(ValueError, match="must be finite"):
            servos.step(*commands)
        servos.step([0.1, 0.1])
        assert np.isfinite(data.qpos).all()


class TestExport:
    @pytest.fixture(scope="class")
    @staticmethod
    def written(tmp_path_factory):
        folder = tmp_path_factory.mktemp("hook")
        model = replace(load_model("mx106", "m6"), name='My <servo> "é"\n../x')
        return model, folder, export_model(model, "mujoco-hook", folder, bench=BENCH)

    def test_the_check_runs_them_and_says_so(self, written):
        model, folder, _ = written

        found = check_export(model, "mujoco-hook", folder, bench=BENCH)

        assert set(found.errors) >= set(PAPER_TRAJECTORIES)
        assert max(found.errors.values()) < 1.0
        text = (folder / README).read_text()
        assert found.statement in text
        check_export(model, "mujoco-hook", folder, bench=BENCH)
        assert (folder / README).read_text() == text

    def test_an_elastoplastic_contact_is_written_and_checked(self, tmp_path):
        model = with_contact(load_model("mx106", "m6"), "elastoplastic")
        notes = export_model(model, "mujoco-hook", tmp_path, bench=BENCH).notes

        found = check_export(model, "mujoco-hook", tmp_path, bench=BENCH)

        assert max(found.errors.values()) < 1.0
        assert sum("`servos.reset()` zeroes it" in note for note in notes) == 1
        assert not any("written as a rigid one" in note for note in notes)

    def test_the_example_runs_beside_its_files(self, written):
        _, folder, _ = written

        done = subprocess.run(
            [sys.executable, str(folder / "my-servo-e-x.example.py")],
            capture_output=True,
            text=True,
            cwd="/",
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        )

        assert done.returncode == 0, done.stderr
        assert done.stdout.count("my-servo-e-x.hook") == 2
        assert json.loads((folder / "my-servo-e-x.servo.json").read_text())["law"] == "voltage"
