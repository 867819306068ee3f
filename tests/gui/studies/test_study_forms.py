"""Every field of a study is asked as it was entered, and no study brings the compiler into the window's process."""

import pickle
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest

from bench_gui.controller import Controller
from bench_gui.studies.arm.compute import ArmJob
from bench_gui.studies.arm.form import MEASURED, ArmForm
from bench_gui.studies.compliant.compute import SINE, STEP, ComplianceJob, simulate
from bench_gui.studies.compliant.form import ComplianceForm
from bench_gui.studies.learning import form as learning
from bench_gui.studies.stiction.form import StictionForm
from bench_gui.studies.webots.compute import LossJob
from bench_gui.studies.webots.form import WebotsForm
from core.base.units import DEGREES, RADIANS
from core.contact.laws import Stribeck
from core.servo.bench import Bench
from core.servo.shipped import load_model
from core.studies.compliant.arm import DATASHEET, FLANGE_INERTIA, TWO_JOINTS, CompliantArm
from core.studies.compliant.elastic import QbMove
from core.studies.compliant.joint import CompliantJoint, CompliantLink
from core.studies.compliant.learning import Iteration, LearningLaw, sinusoid
from core.studies.compliant.modes import Mode
from core.studies.stiction.exploring import HOLD, StictionJob
from core.studies.webots.experiments import Scene
from core.studies.webots.fields import ServoFields
from core.studies.webots.servo import FORCE
from tests.gui.test_forms import enter


def enter_all(owner, entered):
    for name, value in entered.items():
        enter(owner, name, value)


def test_a_compliant_joint_is_the_one_that_was_entered(qtbot):
    form = ComplianceForm(RADIANS)
    qtbot.addWidget(form)
    enter_all(form, {"Operation mode": int(Mode.PID_EQ_PRES), "Shape": SINE, "First reference": 0.7})
    enter_all(form, {"Second reference": 0.35, "Speed": 2.5, "Duration": 3.5, "Load": 0.45, "Length": 0.36})
    enter_all(form, {"Gravity": "none", "Damping": 0.075, "Friction": 0.045, "Push": 0.15})
    bench = Bench(mass=0.45, length=0.36, gravity=0.0)
    asked = ComplianceJob(
        joint=CompliantJoint(actuator=QbMove(), link=CompliantLink.of_bench(bench, damping=0.075, friction=0.045)),
        mode=Mode.PID_EQ_PRES, shape=SINE, amplitude=0.7, speed=2.5, second=0.35, push=0.15, duration=3.5,
    )  # fmt: skip
    assert form.job() == asked
    form.set_unit(DEGREES)
    assert form.job() == asked


def test_what_an_arm_learns_is_what_was_entered(qtbot):
    form = learning.LearningForm(RADIANS)
    qtbot.addWidget(form)
    enter_all(form, {"Springs": "datasheet", "Motion": learning.SINE, "Gain": 0.7, "Decay": 5.0, "Tolerance": 0.02})
    enter_all(form, {"Max iterations": 4, "Goal of joint 1": 0.3, "Goal of joint 2": -0.4, "Speed": 0.6})
    enter_all(form, {"Duration": 5.0, "Stiffness preset of joint 1": 0.25, "Stiffness preset of joint 2": 0.45})
    enter_all(form, {"Load": 0.5, "Distance of the load": 0.1, "Gravity": False})
    form.show_in(DEGREES)
    job = form.job()
    assert job.law == LearningLaw(gain=0.7, decay=5.0, tolerance=0.02, iterations=4)
    links = replace(
        TWO_JOINTS,
        masses=(TWO_JOINTS.masses[0], 0.5),
        centres=(TWO_JOINTS.centres[0], 0.1),
        inertias=(TWO_JOINTS.inertias[0], FLANGE_INERTIA + 0.5 * 0.1**2),
        gravity=0.0,
    )
    assert job.arm == CompliantArm(links=links, actuators=(DATASHEET, DATASHEET), presets=(0.25, 0.45))
    np.testing.assert_array_equal(job.reference.angles, sinusoid([0.3, -0.4], 0.6, 5.0).angles)
    assert job.title == "Learning, qbMove, data sheet, sinusoid"


def test_a_contact_is_the_one_that_was_entered(qtbot):
    """The time step in milliseconds."""
    form = StictionForm()
    for part in (form, form.experiment):
        qtbot.addWidget(part)
    enter_all(form, {"Law": "stribeck", "Static friction F_S": 3.1, "Coulomb friction F_C": 0.7})
    enter_all(form, {"Breakaway speed v_S": 0.09, "Viscous friction D": 4.1, "Exponent α": 1.5, "Stiffness K": 6000.0})
    enter_all(form, {"Damping B": 80.0, "Time step T": 2.0, "Inertia M": 0.3})
    form.experiment.setCurrentIndex(form.experiment.findData(HOLD))
    law = Stribeck(static=3.1, coulomb=0.7, breakaway_speed=0.09, viscous=4.1, exponent=1.5)
    assert form.job() == StictionJob(law=law, stiffness=6e3, damping=80.0, step=2e-3, inertia=0.3, experiment=HOLD)


@pytest.fixture
def controller(qapp, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path))
    made = Controller("simulated:mx106")
    yield made
    made.close()


def test_a_webots_node_is_the_one_that_was_entered(qtbot, controller):
    form = WebotsForm(controller.model_list, controller.library, RADIANS)
    qtbot.addWidget(form)
    node = {
        **{"max_velocity": 2.5, "max_force": 1.5, "control_p": 12.0, "acceleration": 35.0, "min_position": -1.1},
        **{"max_position": 1.2, "min_stop": -1.4, "max_stop": 1.5, "spring_constant": 0.2, "damping_constant": 0.03},
    }
    scene = {"target": 0.4, "velocity": 1.75, "force": 0.25, "mass": 0.6, "length": 0.17, "push": 2.2, "step": 0.016}
    assert {field.name for field in fields(ServoFields)} == {*node, "type", "position"}, "where it begins is not asked"
    assert {field.name for field in fields(Scene)} == {*scene, "fields", "mode"}
    for name, value in node.items():
        first, *others = name.split("_")
        enter(form, "".join((first, *map(str.capitalize, others))), value)
    enter_all(form, {"Control mode": FORCE, "Target position": 0.4, "Target velocity": 1.75, "Force": 0.25})
    enter_all(form, {"Load": 0.6, "Length": 0.17, "Push": 2.2, "Time step": 16})
    asked = Scene(fields=ServoFields(**node), mode=FORCE, **scene)
    assert form.scene() == asked
    form.set_unit(DEGREES)
    assert form.scene() == asked
    enter(form, "Fit a node to", "catalogue:xl330:m4")
    model = load_model("xl330", "m4")
    assert form.job() == LossJob(title=model.title, model=model)


def test_an_arm_is_the_one_that_was_entered(qtbot, controller, tmp_path):
    form = ArmForm(controller.model_list)
    qtbot.addWidget(form)
    keys = {"Servo of the shoulder": "catalogue:erob80_100:m5", "Servo of the elbow": "catalogue:mx64:m3"}
    enter_all(form, {"Arm": "erob", **keys, "Lap time": 2.5, "Paths": ("circle",), "Gains": ("high",)})
    for name in ("m1", "m6"):
        enter(form, f"Compare {name.upper()} on the arm", False)
    enter(form, "Compare M2 on the arm", True)
    asked = {
        **{"arm": "erob", "links": None, "frictions": ("m2", "m4"), "paths": ("circle",), "gains": ("high",)},
        **{"period": 2.5, "recording": None, "joints": (load_model("erob80_100", "m5"), load_model("mx64", "m3"))},
    }
    assert {field.name: getattr(form.job(), field.name) for field in fields(ArmJob)} == asked
    form.recording_path = tmp_path / "measured.csv"
    enter_all(form, {"Truth": MEASURED, "Gain kp": 24.0})
    asked |= {"paths": (), "gains": ("24.0",), "recording": tmp_path / "measured.csv"}
    assert {field.name: getattr(form.job(), field.name) for field in fields(ArmJob)} == asked


def test_no_page_and_no_answer_brings_the_compiler_into_the_window_s_process():
    job = ComplianceJob(
        joint=CompliantJoint(), mode=Mode.PID_REFS, shape=STEP, amplitude=0.5, speed=1.0, second=0.3, push=0.0,
        duration=0.5,
    )  # fmt: skip
    zero = np.zeros((2, 2))
    each = Iteration(number=1, equilibrium=zero, link_equilibrium=zero, position=zero, error=zero)
    program = (
        "import pickle, sys\n"
        "import bench_gui.fleet.view\n"
        "from bench_gui.studies.compliant import tab\n"
        "from bench_gui.studies.learning import tab\n"
        "from bench_gui.studies.stiction import tab\n"
        "from bench_gui.studies.webots import tab\n"
        "view, each = pickle.loads(sys.stdin.buffer.read())\n"
        "heavy = ('numba', 'scipy', 'mujoco', 'matplotlib', 'h5py', 'distributed', 'cmaes')\n"
        "print(view.job.title, each.number, [m for m in heavy if m in sys.modules])\n"
    )
    said = pickle.dumps((simulate(job, None), each))
    done = subprocess.run([sys.executable, "-c", program], input=said, capture_output=True, timeout=600, check=True)
    assert done.stdout.decode().strip() == "qbMove Advanced, mode 5: motor positions, controlled 1 []"
