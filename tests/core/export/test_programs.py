"""Stand-alone programs against the kernel where limits act: both ends of the range, both directions, torque on and off.

Programs that compute friction themselves follow a servo that a hand pushes about; programs inside an engine turn a
flywheel that nothing slows down, so that each step's motor torque is known to rounding.
"""

import json
import math
import shutil

import numpy as np
import pytest

from core.base.errors import ExportError
from core.export import apart, export_model
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.export.targets.mujoco.plugin import load_plugin
from core.kernel.layout import Slot
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.simulation import NO_LOAD
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import with_contact
from tests.core.conftest import LAW_MODELS
from tests.core.export.pushed import PATH, STEP, STEPS, law_model, low_supply, pushed

FLYWHEEL = Bench(mass=1.0, length=0.1, measured_inertia=1e8, measured_gravity_torque=0.0)
WITHIN_A_STEP = {name: value for name, value in PATH.items() if name not in ("goal_slew", "pwm_lag")}
"""Terms whose value in a step does not depend on where in the step it is taken."""
TURNS = 240


def in_numpy(run, numbers, lead=0.0):
    """Motor torque and friction of each step [N·m]."""
    servo = program("servobench_servo")
    bank = servo.Bank([numbers], STEP, lead, servo.CONTACTS)
    bank.reset(np.zeros(1))
    bristle = np.zeros(3)
    found, external = np.empty((STEPS, 2)), run.external(run.position[:-1])
    for k in range(STEPS):
        bank.command(run.goal[k], run.enable[k])
        motor = bank.drive(run.position[k : k + 1], run.velocity[k : k + 1])[0]
        # A program with a lead knows no load in its first step.
        known = k > 0 or not lead
        p, state = bank.rows[0], bank.states[0]
        excess = servo.remembered(p, state, motor, external[k], STEP, lead) if known else 0.0
        if p[servo.CONTACT] == servo.RIGID:
            friction = servo.applied_friction(p, run.inertia, STEP, run.velocity[k], motor, external[k], excess)
        else:
            dry = servo.dry_friction(p, motor, external[k]) + np.array([excess, 0.0])
            friction = bent_further(p, bristle, dry, run.velocity[k], motor + external[k], STEP / run.inertia)
        found[k] = motor, friction
    return found.T


def bent_further(p, bristle, dry, velocity, torque, mobility):
    """Friction of a bristle, with the dry friction of the last step and the deflection before it, which it updates."""
    servo = program("servobench_servo")
    slid, _ = servo.bristle_friction(p, *bristle, velocity, 0.0, STEP)
    bristle[:] = *dry, servo.bent(p, bristle[2], slid, STEP)
    return servo.bristle_friction(p, *bristle, velocity + mobility * torque, mobility, STEP)[0]


def in_torch(run, numbers, lead=0.0):
    """The same as a batch of one."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    hook = program("servobench_torch")
    servo = hook.TorchServo([numbers], 1, STEP, lead=lead, contacts=hook.CONTACTS, dtype=torch.float64)
    found, external = np.empty((STEPS, 2)), run.external(run.position[:-1])
    for k in range(STEPS):
        goal, position, velocity, on, load = (
            torch.full((1, 1), float(values[k]), dtype=torch.float64)
            for values in (run.goal, run.position, run.velocity, run.enable, external)
        )
        motor = servo.motor_torque(goal, position, velocity, on)
        found[k] = motor.item(), servo.applied_friction(run.inertia, velocity, motor, load).item()
    return found.T


@pytest.mark.parametrize("law", LAW_MODELS)
@pytest.mark.parametrize("simulate", [in_numpy, in_torch])
def test_a_pushed_servo_has_the_kernels_torques(simulate, law):
    """Algorithm 1, lines 1 and 4–6: J·(v' − v)/h is motor, load and friction."""
    run = pushed(law)

    motor, friction = simulate(run, servo_numbers(run.model, run.settings))

    scale = np.abs(run.motor_torque).max()
    np.testing.assert_allclose(motor, run.motor_torque, atol=1e-9 * scale)
    total = run.inertia * np.diff(run.velocity) / STEP
    np.testing.assert_allclose(motor + run.external(run.position[:-1]) + friction, total, atol=1e-6 * scale)
    run.require_both_ends()


@pytest.mark.parametrize("law", LAW_MODELS)
def test_both_programs_lead_alike(law):
    """With commands half a step later, the limited goal, the integral and the lagging output act with their means."""
    run = pushed(law)
    numbers = servo_numbers(run.model, run.settings)

    (of_numpy, _), (of_torch, _) = (simulate(run, numbers, 0.5) for simulate in (in_numpy, in_torch))

    scale = np.abs(run.motor_torque).max()
    np.testing.assert_allclose(of_numpy, of_torch, atol=1e-9 * scale)
    assert np.abs(of_numpy - run.motor_torque).max() > 1e-3 * scale


@pytest.mark.parametrize("lead", [0.0, 0.5])
@pytest.mark.parametrize("contact", ["rigid", "elastoplastic_rational"])
def test_both_programs_remember_alike(contact, lead):
    """The load changes within the time constant; friction that follows it at once differs."""
    run = pushed("voltage")
    numbers = servo_numbers(with_contact(run.model, contact), run.settings) | {"version": 8, "load_memory": 0.05}

    of_numpy, of_torch = (simulate(run, numbers, lead)[1] for simulate in (in_numpy, in_torch))

    scale = np.abs(run.motor_torque).max()
    np.testing.assert_allclose(of_numpy, of_torch, atol=1e-9 * scale)
    at_once = in_numpy(run, numbers | {"load_memory": 0.0}, lead)[1]
    assert np.abs(of_numpy - at_once).max() > 1e-2 * scale


@pytest.mark.parametrize("reading", ["servobench_servo", "servobench_torch"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not a servo file"),
        ({"version": 9}, "not a servo file|version 9"),
        ({"version": 4, "contact": "rigid", "control_period": 0.0}, "angle_ignored = None"),
        ({"version": 5, "contact": "rigid", "control_period": 0.0, "angle_ignored": 0.0}, "speed_feedback = None"),
        ({"version": 3, "contact": "rigid", "control_period": -1.0}, "control_period = -1.0"),
        ({"law": "hydraulic"}, "no control law 'hydraulic'"),
        ({"kp": None}, "kp = None"),
        ({"kp": math.nan}, "kp = nan"),
        ({"kp": 10**400}, "kp = 1000"),
        ({"friction_base": -1.0}, "friction_base = -1.0"),
        ({"friction_base": "0.1"}, "friction_base = '0.1'"),
        ({"resistance": 0.0}, r"resistance( = 0\.0| must be positive)"),
        ({"version": 2, "contact": "sticky"}, "no contact 'sticky'"),
        ({"version": 2, "contact": "elastoplastic"}, "bristle_stiffness = None"),
        (
            {"version": 2, "contact": "elastoplastic", "bristle_stiffness": 1.0, "bristle_damping": 0.0},
            r"bristle_damping( = 0\.0| must be positive)",
        ),
        ({"joint_zero": "up"}, "joint_zero = 'up' is not an angle"),
        ({"joint_zero": math.nan}, "joint_zero = nan is not an angle"),
    ],
)
def test_what_is_no_servo_is_refused(reading, change, message, tmp_path):
    hook = program(reading)
    model = law_model("voltage", "m1")
    (tmp_path / "x.json").write_text(json.dumps(servo_numbers(model, model.default_settings()) | change))
    (tmp_path / "broken.json").write_text("{")

    def read(name):
        if reading == "servobench_torch":
            hook.read_servo(tmp_path / name)
        else:
            hook.load_servo(tmp_path / name), hook.load_zero(tmp_path / name)

    with pytest.raises(ValueError, match=message):
        read("x.json")
    for name in ("broken.json", "missing.json"):
        with pytest.raises(ValueError, match=name):
            read(name)


def one(folder, ending):
    (found,) = folder.glob(f"*{ending}")
    return found


def in_mujoco(folder, servo, goals, enable, speed):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    model = mujoco.MjModel.from_xml_path(str(one(folder, ".hook.xml")))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = servo["joint_zero"], speed
    servos = program("servobench_mujoco").attach(model, data, {"servo": servo})
    for goal, on in zip(goals, enable, strict=True):
        servos.step(goal, on)
        yield servos.motor_torque[0]


def in_the_plugin(folder, _, goals, enable, speed):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    load_plugin()
    model = mujoco.MjModel.from_xml_path(str(one(folder, ".plugin.xml")))
    data = mujoco.MjData(model)
    data.qvel[:] = speed
    for commands in zip(goals, enable, strict=True):
        data.ctrl[:] = commands
        mujoco.mj_step(model, data)
        yield data.actuator_force[0] + data.qfrc_passive[0]


def in_pybullet(folder, servo, goals, enable, speed):
    pybullet = pytest.importorskip("pybullet", reason="PyBullet is not installed")
    client = pybullet.connect(pybullet.DIRECT)
    try:
        pybullet.setTimeStep(STEP, physicsClientId=client)
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE
        urdf = str(one(folder, ".urdf"))
        body = pybullet.loadURDF(urdf, useFixedBase=True, flags=flags, physicsClientId=client)
        pybullet.resetJointState(body, 0, servo["joint_zero"], speed, physicsClientId=client)
        servos = program("servobench_pybullet").Servos(body, {"servo": servo}, client)
        for goal, on in zip(goals, enable, strict=True):
            servos.step(goal, on)
            assert servos.friction_torque == pytest.approx(-np.sign(speed) * servo["friction_base"], rel=1e-5)
            yield servos.motor_torque[0]
    finally:
        pybullet.disconnect(client)


def in_drake(folder, servo, goals, enable, speed):
    pytest.importorskip("pydrake", reason="Drake is not installed")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, STEP)
    Parser(plant).AddModels(str(one(folder, ".drake.sdf")))
    servos = program("servobench_drake").attach(builder, plant, {"servo": servo})
    simulator = Simulator(builder.Build())
    root = simulator.get_mutable_context()
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(root), [servo["joint_zero"], speed])
    own = servos.GetMyMutableContextFromRoot(root)
    for k, (goal, on) in enumerate(zip(goals, enable, strict=True)):
        servos.GetInputPort("goal").FixValue(own, [goal])
        servos.GetInputPort("enable").FixValue(own, [on])
        friction = servos.GetOutputPort("friction_torque").Eval(own)
        assert friction == pytest.approx(-np.sign(speed) * servo["friction_base"], rel=1e-5)
        yield servos.GetOutputPort("motor_torque").Eval(own)[0]
        simulator.AdvanceTo((k + 1) * STEP)


def in_webots(_, servo, goals, enable, speed):
    joint = program("servobench_webots").JointServo(servo, STEP, FLYWHEEL.inertia)
    for k, (goal, on) in enumerate(zip(goals, enable, strict=True)):
        joint.torque(servo["joint_zero"] + STEP * k * speed, goal, on)
        yield joint.motor_torque


def in_isaac_lab(_, servo, goals, enable, speed):
    """What the programs for Isaac Lab, mjlab, Newton and Genesis compute with."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    hook = program("servobench_torch")
    batch = hook.TorchServo([servo], 1, STEP, lead=hook.STAGGERED, dtype=torch.float64)
    one_by_one = torch.ones(1, 1, dtype=torch.float64)
    v = speed * one_by_one
    for k, (goal, on) in enumerate(zip(goals, enable, strict=True)):
        yield batch.staggered_torque(
            goal * one_by_one, servo["joint_zero"] + STEP * k * v, v, v, FLYWHEEL.inertia, on * one_by_one
        ).item()


ENGINES = {
    "mujoco-hook": in_mujoco,
    "mujoco-plugin": in_the_plugin,
    "pybullet": in_pybullet,
    "drake": in_drake,
    "webots": in_webots,
    "isaaclab": in_isaac_lab,
}


@pytest.mark.usefixtures("hardly_refitted")
@pytest.mark.parametrize("law", LAW_MODELS)
@pytest.mark.parametrize("target", ENGINES)
def test_a_servo_on_a_flywheel_has_the_kernels_torques(tmp_path, target, law):
    """Turned either way at a constant speed, once on a joint that is at 0.15 rad where the servo reads 0.

    Commands act half a step later than in the kernel.
    """
    leapfrog = target == "mujoco-plugin"
    model = law_model(law, "m1", WITHIN_A_STEP, integrator="leapfrog" if leapfrog else "algorithm1")
    model = model.with_values({"friction_viscous": 0.0})
    settings = low_supply(model)
    export_model(model, target, tmp_path, bench=FLYWHEEL, timestep=STEP, supply_voltage=settings.supply_voltage)
    numbers = {} if leapfrog else json.loads(one(tmp_path, ".servo.json").read_text("utf-8"))
    row = model.bound_row(FLYWHEEL, settings, STEP)
    row[[Slot.DELAY, Slot.RELEASE_DELAY]] += 0.5 * STEP
    random = np.random.default_rng(5)
    away = np.repeat(random.uniform(-2.0, 2.0, TURNS // 20), 20)
    enable = np.repeat([1.0, 0.0, 1.0, 1.0], TURNS // 4)
    ones, nothing, out = np.ones(TURNS), np.zeros(TURNS), np.empty((TURNS, len(OUTPUTS)))
    kernel = rollout_kernel(model.control.kernel_law, model.kernel_contact, leapfrog)
    for share, zero in ((-0.4, 0.0), (0.7, 0.0 if leapfrog else 0.15)):
        speed = share * settings.supply_voltage / model.values["kt"]
        goals = STEP * speed * np.arange(TURNS) + away
        state = initial_state(-0.5 * STEP * speed if leapfrog else 0.0, speed)
        kernel(
            row, state, goals, ones, enable, settings.supply_voltage * ones, NO_LOAD, nothing, nothing,
            nothing, 0, STEP, 1, out,
        )  # fmt: skip
        expected = out[:, OUTPUTS.index("motor_torque")]

        found = np.array(list(ENGINES[target](tmp_path, {**numbers, "joint_zero": zero}, goals, enable, speed)))

        # A program that only sees positions knows no velocity in its first step, nor the sag of the supply after it.
        np.testing.assert_allclose(found[10:], expected[10:], atol=1e-5 * np.abs(expected).max())
        assert np.ptp(expected) > np.abs(expected).max()


def test_a_program_gets_commands_and_gives_angles(tmp_path, monkeypatch):
    """Its commands are goal and enable at each step of the longest trajectory; its last error is told."""
    monkeypatch.setattr(apart, "STANDALONE", tmp_path)
    scene = tmp_path / "a scene.xml"
    names = ("lift_and_drop", "chirp")

    def ran(text):
        (tmp_path / "program.py").write_text(f"import shutil, sys\n{text}\n")
        return apart.positions_apart("program.py", [scene], names, 0.005, "An engine")

    paths = [make_trajectory(name) for name in names]
    time = 0.005 * np.arange(round(max(path.duration for path in paths) / 0.005))
    found = ran("assert sys.argv[1].endswith('a scene.xml') and sys.argv[3] == '0.005'; shutil.copy(*sys.argv[2::2])")
    assert found.shape == (2, len(time), 2)
    for run, path in zip(found, paths, strict=True):
        np.testing.assert_array_equal(run, np.transpose([path.goal(time), path.torque_enable(time)]))
    for text, reason in (
        ("print('KeyError: first'); sys.exit('Traceback\\nValueError: the last\\nmore')", "ValueError: the last"),
        ("print('one'); print('two')", "two"),
        ("", "no error message"),
    ):
        with pytest.raises(ExportError) as told:
            ran(text)
        assert str(told.value) == f"{scene}: An engine failed to run it: {reason}"
