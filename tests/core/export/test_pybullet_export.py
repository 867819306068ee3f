"""The export to PyBullet: a program that is Algorithm 1 with friction M6 and the armature Bullet lacks.

Run in PyBullet where it is installed; a two-joint arm is held against the same servos in MuJoCo.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from core.export.contract import ServoOptions
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.export.targets.pybullet import check_pybullet, write_pybullet
from core.servo.shipped import load_model
from tests.core.export.test_drake_export import INERTIA, LENGTH, MASS, arm_in_mujoco

LINK = f"""<inertial><origin xyz="0 0 {-LENGTH / 2}"/><mass value="{MASS}"/>
<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial>"""


@pytest.fixture
def pybullet():
    return pytest.importorskip("pybullet", reason="PyBullet is not installed")


@pytest.mark.parametrize(
    ("servo", "friction"),
    [("mx106", "m6"), pytest.param("erob80_50", "m6", marks=pytest.mark.exhaustive("a servo with the other law"))],
)
def test_the_pendulum_moves_as_the_model(pybullet, tmp_path, servo, friction):
    """0.50 and 0.06 mrad at 5 ms, 0.04 and 0.004 at 1 ms."""
    model = load_model(servo, friction)
    options = ServoOptions(timestep=0.005)
    write_pybullet(model, tmp_path, options)

    found = check_pybullet(model, tmp_path, options)

    assert found.mean_mrad < 0.7
    assert "run in PyBullet" in found.how


@contextmanager
def body(pybullet, text, folder, step=1e-3, **how):
    """A client with gravity and a body."""
    (folder / "robot.urdf").write_text(text)
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setTimeStep(step, physicsClientId=client)
        pybullet.setGravity(0.0, 0.0, -9.80665, physicsClientId=client)
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        yield client, pybullet.loadURDF(str(folder / "robot.urdf"), flags=flags, physicsClientId=client, **how)
    finally:
        pybullet.disconnect(client)


def arm(base_mass=0.0, base_inertia=0.0, kind="continuous"):
    """Two links below a base, each turning about −y; joints have friction and limits of their own, which must go."""
    joints = "".join(
        f'<link name="{child}">{LINK}</link><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0 {-at}"/><axis xyz="0 -1 0"/>'
        '<dynamics damping="9" friction="9"/></joint>'
        for name, parent, child, at in [("shoulder", "base", "upper", 0.0), ("elbow", "upper", "lower", LENGTH)]
    )
    inertia = f'<inertia ixx="{base_inertia}" iyy="{base_inertia}" izz="{base_inertia}" ixy="0" ixz="0" iyz="0"/>'
    own = f'<inertial><mass value="{base_mass}"/>{inertia}</inertial>' if base_mass else ""
    return f'<robot name="arm"><link name="base">{own}</link>{joints}</robot>'


def numbers():
    model = load_model("mx106", "m6")
    return servo_numbers(model, model.default_settings())


def command(t):
    return (np.sin(3.0 * t), 0.7 * np.sin(5.0 * t)), (t < 2.0, t < 2.5)


def moved(pybullet, text, folder, gravity, **how):
    """Positions of the arm's joints, one row before each step."""
    positions = np.empty((3000, 2))
    with body(pybullet, text, folder, **how) as (client, robot):
        pybullet.setGravity(0.0, 0.0, -gravity, physicsClientId=client)
        servos = program("servobench_pybullet").Servos(robot, {"shoulder": numbers(), "elbow": numbers()}, client)
        for k in range(len(positions)):
            positions[k] = [pybullet.getJointState(robot, j, physicsClientId=client)[0] for j in (0, 1)]
            servos.step(*command(k * 1e-3))
    return positions


def test_an_arm_moves_as_with_the_same_servos_in_mujoco(pybullet, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    expected = arm_in_mujoco(mujoco, numbers(), command, 1e-3)
    found = moved(pybullet, arm(), tmp_path, 9.80665, useFixedBase=True)
    assert np.abs(expected).max() > 0.5
    assert 1e3 * np.abs(found - expected).mean() < 0.2


def test_a_floating_base_goes_along(pybullet, tmp_path):
    """In free fall, where the arm turns the base."""
    mujoco = pytest.importorskip("mujoco")
    expected = arm_in_mujoco(mujoco, numbers(), command, 1e-3, base=(0.5, 2e-3))
    fixed = arm_in_mujoco(mujoco, numbers(), command, 1e-3)
    found = moved(pybullet, arm(0.5, 2e-3), tmp_path, 0.0)
    assert 1e3 * np.abs(fixed - expected).mean() > 5.0
    assert 1e3 * np.abs(found - expected).mean() < 0.2


def test_what_does_not_fit_is_refused(pybullet, tmp_path):
    hook = program("servobench_pybullet")
    with body(pybullet, arm(), tmp_path, useFixedBase=True) as (client, robot):
        with pytest.raises(ValueError, match=r"no joint 'knee'; available: shoulder, elbow"):
            hook.Servos(robot, {"knee": numbers()}, client)
        servos = hook.Servos(robot, {"elbow": numbers()}, client)
        with pytest.raises(ValueError, match="is not an angle"):
            servos.step([float("nan")])
        pybullet.setTimeStep(0.002, physicsClientId=client)
        with pytest.raises(ValueError, match=r"time step changed from 0.001 s to 0.002 s"):
            servos.step([0.0])
        pybullet.setPhysicsEngineParameter(numSubSteps=4, physicsClientId=client)
        with pytest.raises(ValueError, match="substeps"):
            hook.Servos(robot, {"elbow": numbers()}, client)
    with (
        body(pybullet, arm(kind="spherical"), tmp_path, useFixedBase=True) as (client, robot),
        pytest.raises(ValueError, match="more than one axis"),
    ):
        hook.Servos(robot, {"elbow": numbers()}, client)
