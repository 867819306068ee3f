"""A servo that does not read 0 where its shaft does: files say so, and joints of a robot get the servo's goals."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from core.export import export_model
from core.export.files import README
from core.export.programs import program
from core.export.servo_file import servo_numbers
from tests.core.conftest import catalogue_model

OFFSET = 0.15
STEP, STEPS = 1e-3, 400
MODEL = catalogue_model("xl330", "m1", values={"q_offset": OFFSET})
ROBOT = replace(MODEL, parameters=MODEL.parameters.with_values({"q_offset": 0.0}))
"""The same servo on a joint whose angle is the shaft's: a pendulum that hangs down at 0."""


def goal(k):
    return 0.4 * math.sin(4.0 * STEP * k)


def one(folder, ending):
    (found,) = folder.glob(f"*{ending}")
    return found


@pytest.mark.parametrize(
    ("target", "ending", "said"),
    [
        ("mujoco", ".servo.xml", 'ref="-0.15"'),
        ("mujoco-plugin", ".plugin.xml", 'ref="-8.59436693" \\(angle="degree"\\)'),
        ("isaaclab", ".bam.py", "# Where .* at 0.15 rad"),
        ("isaaclab", ".bam.usda", "# Where .* at 0.15 rad"),
        ("isaaclab", ".dcmotor.json", '"zero_offset": 0.15'),
        ("genesis", ".genesis.json", '"zero_offset": 0.15'),
        ("usd", ".servo.usda", "# Where .* at 0.15 rad"),
        ("urdf", ".drive.json", '"zero_offset": {\\s*"value": 0.15'),
        ("urdf", ".controller.yaml", "# Where .* at 0.15 rad"),
        ("choreonoid", ".friction.yaml", "# Where .* at 0.15 rad"),
        ("sdformat", ".pendulum.sdf", "<!-- Where .* at 0.15 rad"),
        ("drake", ".drake.sdf", "<!-- Where .* at 0.15 rad"),
        ("drake", ".servo.json", '"zero_offset": 0.15,\n "joint_zero": 0.0'),
    ],
)
@pytest.mark.usefixtures("hardly_refitted")
def test_what_a_user_copies_holds_the_offset(tmp_path, target, ending, said):
    options = {"drive": "plain"} if target == "genesis" else {}
    for model, expected in ((MODEL, True), (ROBOT, False)):
        folder = tmp_path / str(expected)
        export_model(model, target, folder, **options)
        assert bool(re.search(said, one(folder, ending).read_text("utf-8"))) == expected
        assert ("Zero: where this servo reads 0" in (folder / README).read_text("utf-8")) == expected


def require_same(example, robot):
    """The servo reads on the robot what it reads in the example."""
    np.testing.assert_allclose(np.array(robot) - OFFSET, example, atol=1e-6)
    assert np.ptp(example) > 0.05


def test_a_reference_angle_makes_a_joints_angles_the_servos_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    for name, model in (("example", MODEL), ("robot", ROBOT)):
        export_model(model, "mujoco", tmp_path / name, name="x")
    text = one(tmp_path / "example", ".servo.xml").read_text("utf-8")
    scene = ET.parse(one(tmp_path / "robot", ".pendulum.xml"))
    joint = next(scene.getroot().iter("joint"))
    joint.set("ref", re.search(r'ref="(\S+)" \(angle="radian"\)', text)[1])  # pyright: ignore[reportOptionalSubscript]
    scene.write(tmp_path / "robot" / "with_ref.xml")

    def moved(path):
        model = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(model)
        data.qpos[:] = 0.0
        positions = []
        for k in range(STEPS):
            data.ctrl[:] = goal(k)
            mujoco.mj_step(model, data)
            positions.append(data.qpos[0])
        return positions

    example = moved(one(tmp_path / "example", ".pendulum.xml"))
    np.testing.assert_allclose(moved(tmp_path / "robot" / "with_ref.xml"), example, atol=1e-9)
    assert np.ptp(example) > 0.05


def test_the_drive_for_newton_adds_the_joints_zero():
    newton = pytest.importorskip("newton", reason="newton is not installed")
    pytest.importorskip("torch", reason="PyTorch is not installed")
    drive = program("servobench_newton")
    servo = servo_numbers(MODEL, MODEL.default_settings())

    def moved(zero, hangs_at, start):
        builder = newton.ModelBuilder()
        joint = drive.pendulum(builder, 0.1, 0.1, 1e-4, hangs_at)
        drive.add_servo(builder, joint, servo | {"joint_zero": zero}, load_inertia=1e-3)
        model = builder.finalize(device="cpu")
        solver = newton.solvers.SolverFeatherstone(model, angular_damping=0.0)
        state, after, control = model.state(), model.state(), model.control()
        (actuator,) = model.actuators
        memory = actuator.state(), actuator.state()
        state.joint_q.fill_(start)
        positions = []
        for k in range(STEPS):
            control.joint_target_q.fill_(goal(k))
            control.joint_f.zero_()
            actuator.step(state, control, *memory, dt=STEP)
            solver.step(state, after, control, None, STEP)
            state, after = after, state
            positions.append(float(state.joint_q.numpy()[0]))
        return positions

    require_same(moved(0.0, OFFSET, 0.0), moved(OFFSET, 0.0, OFFSET))
