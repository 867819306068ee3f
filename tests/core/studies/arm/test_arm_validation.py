"""The simulated arm: a rigid-body scene that is the formulas', servos that are the kernel's, and the seed's comparison.

The heavy table over all paths and gains is `tests.bench.arm`.
"""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from core.base.errors import ExportError, InputError, ModelError
from core.export.approximation import in_form
from core.motion.simulation import simulate_recording
from core.practice.diagram import peak_torque
from core.servo.actuator import command_path_parameters
from core.servo.bench import Bench
from core.servo.model import build_model
from core.servo.parameters import ParameterSet
from core.servo.shipped import load_model
from core.studies.arm import validation
from core.studies.arm.kinematics import tip_positions
from core.studies.arm.links import ArmLinks
from core.studies.arm.paths import arm_path
from core.studies.arm.recording import ArmRecording
from core.studies.arm.scene import ARMS, arm_scene, links_of_bodies, published_arm
from core.studies.arm.simulate import COMMAND_STEP, simulate_arm
from core.studies.arm.validation import (
    FITTED_M1,
    arm_candidates,
    arm_servos,
    gains_of,
    motion_error,
    published_models,
    validate_arm,
    validate_recording,
)
from tests.bench.arm import independent_motion
from tests.core.conftest import commands

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")

DYNAMIXEL = ARMS["dynamixel"]
TRUTH = published_models(DYNAMIXEL.servos, "m6")
TILTED = replace(DYNAMIXEL.links, angle_offsets=(0.2, -0.1))


def servos_of(models, gain="high"):
    return arm_servos(models, gains_of(models, gain))


def path_goals(name, seconds, arm=DYNAMIXEL):
    return arm_path(name, arm.links, 4.0, COMMAND_STEP).goals[: round(seconds / COMMAND_STEP)]


def mrad(one, other):
    return 1e3 * float(np.abs(one - other).mean())


class TestScene:
    @pytest.mark.parametrize("links", [DYNAMIXEL.links, TILTED, ARMS["erob"].links], ids=["plain", "tilted", "erob"])
    @pytest.mark.parametrize("q", [(0.0, 0.0), (0.4, 1.3), (-2.0, 0.7), (3.0, -2.5)])
    def test_gravity_inertia_and_the_tip_are_those_of_the_formulas(self, links, q):
        """G = (g₁·sin q₁ + G₂, g₂·sin(q₁ + q₂)); M₁₁ = I₁ + I₂ + 2c·cos q₂, M₁₂ = I₂ + c·cos q₂, M₂₂ = I₂."""
        model = mujoco.MjModel.from_xml_string(arm_scene(links, 1e-3))
        data = mujoco.MjData(model)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        base, (a, b) = links.base, np.cumsum(np.add(q, links.angle_offsets))
        second = base.gravity_2 * np.sin(b)
        assert data.qfrc_bias == pytest.approx([base.gravity_1 * np.sin(a) + second, second], abs=1e-10)
        swing = base.coupling * np.cos(b - a)
        full = np.zeros((2, 2))
        mujoco.mj_fullM(model, data, full)
        own = base.inertia_2
        expected = np.array([[base.inertia_1 + own + 2 * swing, own + swing], [own + swing, own]])
        assert full == pytest.approx(expected, rel=1e-9)
        assert data.site("tip").xpos[[0, 2]] == pytest.approx(tip_positions(links, [q])[0], abs=1e-12)

    @pytest.mark.parametrize("name", ARMS)
    def test_gravity_asks_for_a_share_of_the_servos_torque(self, name):
        base, truth = ARMS[name].links.base, published_models(ARMS[name].servos, "m6")
        for torque, model in zip((base.gravity_1 + base.gravity_2, base.gravity_2), truth, strict=True):
            assert 0.1 < torque / peak_torque(model) < 0.25

    def test_rods_with_point_masses_have_their_textbook_inertias(self):
        links = links_of_bodies((0.2, 0.3), (0.6, 0.3), 0.1, 0.5)
        assert links.inertias == pytest.approx(((0.6 / 3 + 0.1) * 0.04, (0.3 / 3 + 0.5) * 0.09))
        moments = [m * r for m, r in zip(links.masses, links.centres, strict=True)]
        assert moments == pytest.approx([(0.3 + 0.1) * 0.2, (0.15 + 0.5) * 0.3])

    def test_links_of_no_body_are_refused(self):
        impossible = ArmLinks(
            masses=(0.1, 1.0), lengths=(0.2, 0.2), centres=(0.0, 0.19), inertias=(0.5, 0.03), gravity=9.81
        )
        with pytest.raises(InputError, match="physically possible links"):
            arm_scene(impossible, 1e-3)


class TestSimulation:
    @pytest.mark.parametrize(("joint", "friction"), [(0, "m6"), (1, "m4")])
    def test_a_joint_whose_neighbour_does_nothing_is_the_pendulum_of_the_kernel(self, joint, friction):
        """A shoulder that carries a feather; an elbow on a shoulder that friction holds (5.6 N·m)."""
        model = load_model(DYNAMIXEL.servos[joint], friction)
        models = [load_model("erob80_100", "m1"), load_model("mx64", "m1")]
        models[joint] = model
        elbow_mass, tip_mass = ((0.5, 0.0), (0.0, 0.5))[joint]
        links = links_of_bodies((0.2, 0.2), (1e-6, 1e-6), elbow_mass, tip_mass)
        goals = np.zeros((300, 2))
        goals[:, joint] = 0.8 * np.sin(4.0 * COMMAND_STEP * np.arange(300))
        servos = servos_of(tuple(models))
        found = simulate_arm(links, servos, goals).position
        bench = Bench(mass=0.5, length=0.2, gravity=links.gravity)
        run = commands(model, goals[:, joint], step=COMMAND_STEP, bench=bench, settings=servos[joint].settings)
        expected = simulate_recording(replace(model, integrator="algorithm1", substeps=50), run).position
        assert mrad(found[:, joint], expected) < 0.1
        assert np.abs(found[:, 1 - joint]).max() < 1e-4
        assert np.ptp(expected) > 1.0

    def test_both_joints_move_as_equations_of_motion_of_our_own_say(self):
        """The arm of `arm.dynamics`, driven by the same control law, shares nothing with the engine's solver."""
        servos, goals = servos_of(TRUTH), path_goals("square", 1.0)
        motion = simulate_arm(DYNAMIXEL.links, servos, goals)
        expected = independent_motion(DYNAMIXEL.links, servos, goals, 2e-4)
        assert mrad(motion.position, expected) < 0.1
        assert np.ptp(expected, axis=0).min() > 0.5

    def test_a_command_path_belongs_to_its_own_joint(self):
        """With a delay of 20 ms at the elbow, an arm at rest does 20 ms later what it does without."""
        delay = replace(command_path_parameters(("command_delay",), 1.0)[0], value=0.02)
        slow = TRUTH[1].with_parameters(ParameterSet([*TRUTH[1].parameters.values(), delay]))
        goals = np.zeros((24, 2))
        goals[1:, 1] = 0.6
        quick, late = (simulate_arm(DYNAMIXEL.links, servos_of((TRUTH[0], m)), goals) for m in (TRUTH[1], slow))
        assert late.position[4:] == pytest.approx(quick.position[:-4], abs=1e-9)
        assert np.abs(quick.position[-1]).min() > 1e-3

    def test_it_rests_where_it_starts_until_it_is_asked_to_move(self):
        """Hanging down, nothing pulls."""
        motion = simulate_arm(DYNAMIXEL.links, servos_of(TRUTH), np.zeros((40, 2)))
        assert np.abs(motion.position).max() < 1e-9
        assert motion.time[-1] == pytest.approx(39 * COMMAND_STEP)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"goals": np.zeros((4, 3))}, "one column per joint"),
            ({"goals": np.full((4, 2), np.nan)}, "finite"),
            ({"servos": servos_of(TRUTH)[:1]}, "give two"),
            ({"timestep": 0.0015}, "not a multiple"),
            ({"timestep": 0.01}, "not possible"),
        ],
    )
    def test_what_cannot_be_simulated_is_refused(self, change, message):
        asked = {"links": DYNAMIXEL.links, "servos": servos_of(TRUTH), "goals": np.zeros((4, 2))} | change
        with pytest.raises(InputError, match=message):
            simulate_arm(**asked)

    def test_a_simulation_that_leaves_the_numbers_is_no_result(self, monkeypatch, tmp_path):
        """A goal 1e12 rad away; the engine logs such warnings into the folder it is in."""
        monkeypatch.chdir(tmp_path)
        feather = links_of_bodies((0.2, 0.2), (1e-6, 1e-6), 0.0, 0.0)
        wild = replace(TRUTH[0], supply_voltage=1e9)
        servos = servos_of((wild, wild))
        with pytest.raises(ExportError, match="shorter time step"):
            simulate_arm(feather, servos, np.tile([[0.0, 0.0], [1e3, -1e3]], (40, 1)), timestep=5e-3)

    def test_without_mujoco_it_says_how_to_get_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "mujoco", None)
        with pytest.raises(ExportError, match=r"pip install 'servobench\[mujoco\]'"):
            simulate_arm(DYNAMIXEL.links, servos_of(TRUTH), np.zeros((4, 2)))


class TestValidation:
    def test_m1_errs_more_than_twice_as_much_as_m6(self, monkeypatch):
        """Seed 004, section VI-B, on an arm of two MX-64; M6 at the full time step errs by less than 1 mrad.

        The fit of an M1 takes seconds; here its start stands in. `tests.bench.arm` runs it.
        """
        monkeypatch.setattr(
            validation, "approximate", lambda m, bench, _, form: SimpleNamespace(model=in_form(m, bench, form))
        )
        servo = load_model("mx64", "m6")
        fitted = []
        candidates = arm_candidates((servo, servo), ("m1", "m6"), fitted.append)
        assert fitted == [0, 1]
        assert [c.name for c in candidates] == [FITTED_M1, "m1 published", "m6"]
        assert candidates[0].models[0] == candidates[0].models[1]
        assert candidates[2].models == (servo, servo)
        told = []
        found = validate_arm(
            DYNAMIXEL.links, (servo, servo), candidates, ["triangular_wave"], ["low"], 2.0,
            on_progress=lambda share, text: told.append((share, text)),
        )  # fmt: skip
        assert found.ratios(FITTED_M1, "m6").min() > 2.0
        assert found.ratios("m1 published", "m6").min() > 2.0
        assert found.worst("m6") < 1.0
        assert told == [(0.0, "Triangular wave, low")]
        rows = found.rows()
        assert [row["model"] for row in rows] == [c.name for c in candidates]
        (case,) = found.cases
        for row in rows:
            error = case.errors[row["model"]]
            assert (row["path"], row["gain"]) == ("triangular_wave", "low")
            assert (row["shoulder_mrad"], row["elbow_mrad"], row["tip_mm"]) == (*error.joints_mrad, error.tip_mm)
            assert row["mae_mrad"] == error.mae_mrad == pytest.approx(sum(error.joints_mrad) / 2)

    def test_an_error_is_the_mean_over_joints_and_the_tips_distance(self):
        """10 mrad at the shoulder of the stretched arm of 0.4 m move the tip by 4 mm."""
        rest, turned = np.zeros((7, 2)), np.tile([0.01, 0.0], (7, 1))
        found = motion_error(DYNAMIXEL.links, turned, rest)
        assert found.joints_mrad == pytest.approx((10.0, 0.0))
        assert found.mae_mrad == pytest.approx(5.0)
        assert found.tip_mm == pytest.approx(4.0, rel=1e-4)

    def test_low_and_high_gains_are_those_of_table_i(self):
        assert gains_of(TRUTH, "low") == (8.0, 8.0)
        assert gains_of(TRUTH, "high") == (32.0, 32.0)
        erob = published_models(ARMS["erob"].servos, "m6")
        assert gains_of(erob, "low") == (25.0, 25.0)
        assert gains_of(erob, "high") == (100.0, 100.0)
        assert gains_of(TRUTH, "12.5") == (12.5, 12.5)
        for wrong in ("middle", "-1", "nan", "0"):
            with pytest.raises(InputError, match="no gain"):
                gains_of(TRUTH, wrong)

    def test_a_model_that_is_not_shipped_is_not_compared(self):
        own = build_model("sts3215_c044", "m6")
        with pytest.raises(ModelError, match="sts3215_c044"):
            arm_candidates((own, own), ("m4",))

    def test_a_measured_arm_takes_the_truths_place(self):
        """A recording made by M6 is met by M6 and not by M1, whatever grid it was sampled on."""
        goals = path_goals("circle", 1.5)
        motion = simulate_arm(DYNAMIXEL.links, servos_of(TRUTH), goals, timestep=5e-4)
        measured = ArmRecording(id="arm <1>", time=motion.time, position=motion.position, goal=goals)
        m1 = published_models(DYNAMIXEL.servos, "m1")
        candidates = {"m6": servos_of(TRUTH), "m1": servos_of(m1)}
        found = validate_recording(measured, DYNAMIXEL.links, candidates)
        assert found.title == "arm 1"
        assert found.errors["m6"].mae_mrad < 0.05
        assert found.errors["m1"].mae_mrad > 1.0
        every_other = replace(measured, time=motion.time[::2], position=motion.position[::2], goal=goals[::2])
        coarse = validate_recording(every_other, DYNAMIXEL.links, candidates)
        assert coarse.errors["m6"].mae_mrad < 0.5 * coarse.errors["m1"].mae_mrad

    def test_a_recording_without_goals_is_refused(self):
        run = ArmRecording(
            id="torques", time=0.01 * np.arange(9, dtype=np.float64), position=np.zeros((9, 2)), torque=np.zeros((9, 2))
        )
        with pytest.raises(InputError, match="torques has no goals"):
            validate_recording(run, DYNAMIXEL.links, {})

    def test_an_unknown_arm_is_named_with_those_there_are(self):
        with pytest.raises(InputError, match="dynamixel, erob"):
            published_arm("scara")
