"""The servo as a plugin of MuJoCo: friction M6 inside the engine, whatever keeps, copies or steps its state."""

import copy
import re
import shutil
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from core.base.errors import NotChecked
from core.export import export_model
from core.export.contract import ServoOptions
from core.export.notes import AS_IDENTIFIED
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.export.targets.c_header import COMPILERS
from core.export.targets.mujoco.plugin import PLUGIN, check_plugin, load_plugin, write_plugin
from core.servo.model import build_model
from core.servo.shipped import load_model
from tests.core.export.test_drake_export import INERTIA, LENGTH, MASS, arm_in_mujoco
from tests.core.export.test_mujoco_hook import with_backlash, with_term

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
others = pytest.mark.exhaustive("other servos")
pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="there is no C compiler")


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """The exported pendulum of an MX-106 with friction M6."""
    load_plugin()
    files = write_plugin(load_model("mx106", "m6"), tmp_path_factory.mktemp("plugin"), ServoOptions()).files
    return next(file for file in files if file.name.endswith(".plugin.xml"))


@pytest.mark.parametrize(
    ("servo", "friction"),
    [
        ("mx106", "m6"),
        *(pytest.param(*row, marks=others) for row in (("erob80_50", "m6"), ("sts3215", "m4"))),
    ],
)
def test_the_pendulum_moves_as_the_model(tmp_path, servo, friction):
    """0.06, 0.02 and 0.4 mrad at 1 ms."""
    model = load_model(servo, friction)
    write_plugin(model, tmp_path, ServoOptions())
    found = check_plugin(model, tmp_path, ServoOptions())
    assert found.mean_mrad < 0.6
    assert "run in MuJoCo" in found.how


def test_backlash_is_a_joint_between_motor_and_load(tmp_path):
    """1° on average over all runs: 0.17 mrad; without the joint, 1.9."""
    model = with_backlash(load_model("mx106", "m6"), 1.0)
    result = export_model(model, "mujoco-plugin", tmp_path, timestep=1e-3)
    assert check_plugin(model, tmp_path, ServoOptions()).mean_mrad < 0.3
    assert AS_IDENTIFIED in result.notes
    assert sum("second joint on the same body" in note for note in result.notes) == 1


def test_memory_of_the_load_is_part_of_the_state(tmp_path):
    """0.04 mrad on average over all runs; at once, friction would move it otherwise."""
    model = with_term(load_model("mx106", "m6"), "load_memory", 0.3)
    result = export_model(model, "mujoco-plugin", tmp_path, timestep=1e-3)
    assert check_plugin(model, tmp_path, ServoOptions()).mean_mrad < 0.1
    assert AS_IDENTIFIED in result.notes


def test_an_arm_moves_as_with_the_program_beside_the_engine(scene):
    root = ET.parse(scene).getroot()
    default = ET.tostring(root.find("default"), encoding="unicode")
    joint_class = root.find("default/default").get("class")
    config = "".join(ET.tostring(entry, encoding="unicode") for entry in root.iter("config"))
    inertial = f'<inertial pos="0 0 {-LENGTH / 2}" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
    names = ("shoulder", "elbow")
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.001" gravity="0 0 -9.80665"/>{default}<extension><plugin plugin="{PLUGIN}">'
        + "".join(f'<instance name="{name}">{config}</instance>' for name in names)
        + "</plugin></extension><worldbody>"
        f'<body><joint name="shoulder" class="{joint_class}" axis="0 -1 0"/>{inertial}'
        f'<body pos="0 0 {-LENGTH}"><joint name="elbow" class="{joint_class}" axis="0 -1 0"/>{inertial}</body></body>'
        "</worldbody><actuator>"
        + "".join(f'<plugin joint="{n}" plugin="{PLUGIN}" instance="{n}"/>' * 2 for n in names)
        + "</actuator></mujoco>"
    )

    def command(t):
        return (np.sin(3.0 * t), 0.7 * np.sin(5.0 * t)), (t < 2.0, t < 2.5)

    data, positions = mujoco.MjData(model), np.empty((3000, 2))
    for k in range(len(positions)):
        positions[k] = data.qpos
        goals, enable = command(1e-3 * k)
        data.ctrl[:] = goals[0], enable[0], goals[1], enable[1]
        mujoco.mj_step(model, data)

    servo = load_model("mx106", "m6")
    beside = arm_in_mujoco(mujoco, servo_numbers(servo, servo.default_settings()), command, 1e-3)
    assert np.abs(beside).max() > 0.5
    assert 1e3 * np.abs(positions - beside).mean() < 0.2


def test_rollouts_copies_and_restored_states_go_on_to_the_last_bit(scene):
    rollout = pytest.importorskip("mujoco.rollout").rollout
    model = mujoco.MjModel.from_xml_path(str(scene))
    steps, half = 600, 250
    goals = np.sin(3e-3 * np.arange(steps))
    commands = np.stack([goals, np.arange(steps) < 500], axis=1)

    def go_on(data, first):
        for row in commands[first:]:
            data.ctrl[:] = row
            mujoco.mj_step(model, data)
        return data.qpos[0]

    whole = go_on(mujoco.MjData(model), 0)
    assert abs(whole) > 0.1

    data = mujoco.MjData(model)
    for row in commands[:half]:
        data.ctrl[:] = row
        mujoco.mj_step(model, data)
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    restored = mujoco.MjData(model)
    mujoco.mj_setState(model, restored, state, kind)
    mujoco.mj_forward(model, restored)  # looks, and leaves no trace
    assert go_on(copy.copy(data), half) == whole
    assert go_on(restored, half) == whole
    mujoco.mj_resetData(model, data)
    assert go_on(data, 0) == whole

    first = np.zeros((4, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    many = np.stack([share * commands for share in (0.25, 0.5, 0.75, 1.0)])
    states, _ = rollout(model, [mujoco.MjData(model) for _ in range(2)], first, many)
    assert len({float(position) for position in states[:, -1, 1]}) == 4
    assert states[3, -1, 1] == whole


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('key="law" value="voltage"', 'key="law" value="torque"', "law is none of voltage, current, coast"),
        (r'<config key="kp" value="[^"]*" ?/>', "", "config kp is missing"),
        (r'(key="resistance" value=)"[^"]*"', r'\1"-1"', "config resistance is missing or invalid"),
        (r'frictionloss="[^"]*"', 'frictionloss="0"', "no frictionloss"),
        ('integrator="implicitfast"', 'integrator="RK4"', "RK4 is not supported"),
        ("<option", '<option><flag frictionloss="disable"/></option><option', "frictionloss.* switched off"),
        ('name="servo" joint="servo"', 'name="servo" gear="2" joint="servo"', "gear or a forcerange"),
        (r'(<joint name="servo")', r'\1 actuatorfrcrange="-1 1"', "actuatorfrcrange"),
    ],
)
def test_what_does_not_fit_is_refused(scene, before, after, why):
    text = scene.read_text("utf-8")
    changed = re.sub(before, after, text, count=1)
    assert changed != text
    with pytest.raises(ValueError, match=f"servobench.servo: .*{why}"):
        mujoco.MjModel.from_xml_string(changed)


def test_another_time_step_is_refused(scene):
    model = mujoco.MjModel.from_xml_path(str(scene))
    data = mujoco.MjData(model)
    model.opt.timestep = 0.002
    with pytest.raises(mujoco.FatalError, match="time step was changed"):
        mujoco.mj_step(model, data)


def test_without_a_compiler_the_check_is_left_out(tmp_path, monkeypatch):
    model = build_model("mx106", "m1")
    write_plugin(model, tmp_path, ServoOptions())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotChecked, match="needs a C compiler"):
        check_plugin(model, tmp_path, ServoOptions())


def test_without_a_compiler_the_program_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ValueError, match="needs a C compiler"):
        program("servobench_mujoco_plugin").build(tmp_path)
