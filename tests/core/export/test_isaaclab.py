"""Export to Isaac Lab: the actuator on stand-ins of the engine's base classes, and the engine's DC motor by its law.

The stand-ins have the signatures and the clipping of `isaaclab` 2.3.2 (source/isaaclab/isaaclab/actuators/
actuator_base.py, actuator_pd.py); Isaac Sim itself cannot run here. The pendulum moves as PhysX moves a joint: the new
velocity first, then the position with it.
"""

import importlib.util
import json
import runpy
import sys
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.export.approximation import Approximation
from core.export.contract import ServoOptions
from core.export.references import GridRun, converged_positions, default_bench
from core.export.servo_file import STANDALONE, servo_numbers
from core.export.targets import isaaclab
from core.export.targets.isaaclab import EXPORTER, NO_LIMIT, PROGRAMS, dc_motor
from core.kernel.layout import Law, Slot
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.simulation import NO_LOAD
from core.motion.trajectories import make_trajectory
from core.servo.model import build_model, with_contact
from core.servo.shipped import load_model
from tests.core.conftest import PENDULUM, catalogue_model

DT = 0.005


@pytest.fixture(scope="module", autouse=True)
def _torch():
    """Import PyTorch only where these tests run: every process of the tests collects this file."""
    global torch
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@dataclass
class BaseCfg:
    class_type: Any = None
    joint_names_expr: list = field(default_factory=list)
    effort_limit: Any = None
    velocity_limit: Any = None
    stiffness: Any = None
    damping: Any = None
    armature: Any = None
    friction: Any = None
    dynamic_friction: Any = None
    viscous_friction: Any = None


@dataclass
class MotorCfg(BaseCfg):
    saturation_effort: Any = None


@dataclass
class MotorCfgOf3(BaseCfg):
    saturation_effort: Any = None
    actuator_effort_limit: Any = None
    actuator_velocity_limit: Any = None


class Base:
    """What an actuator is given and may use of its base class."""

    def __init__(self, cfg, joint_names, joint_ids, num_envs, device, **usd):
        self.cfg, self._joint_names, self._num_envs, self._device = cfg, joint_names, num_envs, device
        self.armature = self._parse_joint_parameter(cfg.armature, usd.get("armature"))
        self.computed_effort = torch.zeros(num_envs, len(joint_names), device=device)
        self.applied_effort = torch.zeros_like(self.computed_effort)

    @property
    def joint_names(self):
        return self._joint_names

    def _parse_joint_parameter(self, cfg_value, default_value):
        value = default_value if cfg_value is None else cfg_value
        if isinstance(value, dict):
            value = torch.tensor([value[name] for name in self._joint_names])
        return torch.zeros(self._num_envs, len(self._joint_names)) + value


@pytest.fixture(scope="module")
def isaac():
    """The exported actuator, imported as a user's copy is, with stand-ins for the engine."""
    packages = {name: ModuleType(name) for name in ("isaaclab", "isaaclab.actuators", "isaaclab.utils")}
    packages["isaaclab.actuators"].__dict__.update(ActuatorBase=Base, ActuatorBaseCfg=BaseCfg, DCMotorCfg=MotorCfg)
    config = packages["isaaclab.utils.configclass"] = ModuleType("isaaclab.utils.configclass")
    config.__dict__.update(configclass=lambda cls: dataclass(_with_factories(cls)))
    spec = importlib.util.spec_from_file_location("servobench_isaaclab", STANDALONE / PROGRAMS[0])
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(STANDALONE))
        for name, package in packages.items():
            patch.setitem(sys.modules, name, package)
        spec.loader.exec_module(module)
        yield module


def _with_factories(cls):
    """`configclass` takes MISSING as "to be given", wherever it stands among the fields."""
    for name in cls.__annotations__:
        if "MISSING" in repr(getattr(cls, name)):
            setattr(cls, name, None)
    return cls


def actuator_of(isaac, model, envs, *, share=1.0, dt=DT, settings=None, bench=PENDULUM):
    numbers = servo_numbers(model, settings or model.default_settings())
    cfg = isaac.servo_cfg({"elbow": numbers}, dt, {"elbow": share * bench.inertia})
    return cfg.class_type(cfg, joint_names=["elbow"], joint_ids=slice(None), num_envs=envs, device="cpu")


class Engine:
    """Pendulums with one joint `elbow`, driven by an actuator; positions and velocities (envs, 1)."""

    def __init__(self, actuator, model, *, dt=DT, bench=PENDULUM):
        self.actuator, self.dt, self.bench = actuator, dt, bench
        self.inertia = bench.inertia + actuator.servo.numbers["armature"]
        self.offset = bench.angle_offset + model.values["q_offset"]
        self.position, self.velocity = torch.zeros(2, actuator._num_envs, len(actuator.joint_names))

    def step(self, goal, enable=None):
        if enable is not None:
            self.actuator.torque_enable[:] = enable
        action = SimpleNamespace(joint_positions=goal, joint_velocities=0.0 * goal, joint_efforts=0.0 * goal)
        action = self.actuator.compute(action, joint_pos=self.position, joint_vel=self.velocity)
        assert action.joint_positions is action.joint_velocities is None
        load = -self.bench.gravity_torque * torch.sin(self.position + self.offset)
        self.velocity = self.velocity + self.dt * (action.joint_efforts + load) / self.inertia
        self.position = self.position + self.dt * self.velocity
        return load

    def run(self, goal, steps):
        """Positions after each step, (steps, envs, 1)."""
        positions = []
        for _ in range(steps):
            self.step(goal)
            positions.append(self.position.clone())
        return torch.stack(positions)


@pytest.mark.parametrize(
    "contact",
    [
        "elastoplastic",
        *(
            pytest.param(name, marks=pytest.mark.exhaustive("the other contacts"))
            for name in ("rigid", "elastoplastic_rational")
        ),
    ],
)
def test_at_five_milliseconds_it_moves_as_the_model_does(isaac, contact):
    """Mean distance from the converged motion under the same held goals; a lead of half a step would be 12 mrad."""
    model = with_contact(load_model("mx106", "m6"), contact)
    bench, settings = default_bench(model), model.default_settings()
    names = ("sin_time_square", "lift_and_drop")
    time = DT * np.arange(1200)
    goals = torch.tensor(np.array([make_trajectory(n).goal(time) for n in names])).float()
    enables = torch.tensor(np.array([make_trajectory(n).torque_enable(time) for n in names])).float()
    engine = Engine(actuator_of(isaac, model, 2, bench=bench), model, bench=bench)
    positions = []
    for k in range(len(time)):
        positions.append(engine.position[:, 0])
        engine.step(goals[:, k : k + 1], enables[:, k : k + 1])

    for name, actual in zip(names, torch.stack(positions, 1).double().numpy(), strict=True):
        run = GridRun(trajectory=name, bench=bench, settings=settings)
        expected = converged_positions(model, run, DT, held=True)
        assert (
            1e3 * np.abs(actual[: len(expected)] - expected).mean()
            < {"sin_time_square": 1.5, "lift_and_drop": 4.0}[name]
        )


def test_the_load_is_the_one_of_the_step_before(isaac):
    model = load_model("mx106", "m6")
    engine = Engine(actuator_of(isaac, model, 3), model)
    goals = torch.tensor([[0.3], [-0.8], [1.4]])
    assert (engine.actuator.armature - model.values["armature"]).abs().max() < 1e-8

    before = engine.step(goals)
    assert (engine.actuator.external_torque == 0.0).all()
    for _ in range(80):
        load = engine.step(goals)
        torch.testing.assert_close(engine.actuator.external_torque, before, rtol=0.0, atol=2e-3)
        before = load


def test_a_reset_environment_starts_anew(isaac):
    model = load_model("mx106", "m6")
    engine = Engine(actuator_of(isaac, model, 2), model)
    goal = torch.full((2, 1), 0.7)
    first = engine.run(goal, 50)

    engine.actuator.reset([1])
    engine.position[1] = engine.velocity[1] = 0.0
    second = engine.run(goal, 50)

    torch.testing.assert_close(second[:, 1], first[:, 1], rtol=0.0, atol=0.0)
    torch.testing.assert_close(second[:, 0], first[-1:, 0].expand(50, 1), rtol=0.0, atol=1e-3)
    engine.actuator.reset(None)
    engine.actuator.reset(slice(None))


def test_two_servos_of_each_of_three_types_in_one_group_move_as_each_alone(isaac):
    models = [load_model(name, "m6") for name in ("mx106", "sts3215", "xl330") for _ in range(2)]
    servos = {
        f"joint{n}": servo_numbers(model, model.default_settings((0.75, 1.5)[n % 2] * model.default_settings().kp))
        for n, model in enumerate(models)
    }

    def positions(names):
        cfg = isaac.servo_cfg({name: servos[name] for name in names}, DT, PENDULUM.inertia)
        actuator = cfg.class_type(cfg, joint_names=names, joint_ids=slice(None), num_envs=1, device="cpu")
        return Engine(actuator, models[0]).run(torch.full((1, len(names)), 0.5), 100)

    alone = torch.cat([positions([name]) for name in servos], dim=-1)
    torch.testing.assert_close(positions(list(servos)), alone, rtol=0.0, atol=2e-4)
    assert alone[20].max() - alone[20].min() > 1e-3


def test_every_joint_has_one_servo(isaac):
    numbers = servo_numbers(load_model("mx106", "m1"), load_model("mx106", "m1").default_settings())
    cfg = isaac.servo_cfg({".*": numbers, "elbow": numbers}, DT, 0.01)
    with pytest.raises(ValueError, match="'elbow': 2 servo patterns match"):
        cfg.class_type(cfg, joint_names=["elbow"], joint_ids=slice(None), num_envs=1, device="cpu", armature=0.0)


def engines_dc_motor(n, error, velocity):
    """Torque of `DCMotor` of isaaclab 2.3.2 with a velocity target of 0 [N·m]."""
    effort = n["stiffness"] * error - n["damping"] * velocity
    corner = n["velocity_limit"] * (1.0 + n["effort_limit"] / n["saturation_effort"])
    slope = np.clip(velocity, -corner, corner) / n["velocity_limit"]
    top = np.minimum(n["saturation_effort"] * (1.0 - slope), n["effort_limit"])
    bottom = np.maximum(n["saturation_effort"] * (-1.0 - slope), -n["effort_limit"])
    return np.clip(effort, bottom, top)


@pytest.mark.parametrize("servo", ["mx106", "xl330", "erob80_100"])
def test_the_engines_dc_motor_is_the_law_of_a_servo_exactly(servo):
    """Motor torque of the kernel for errors of ±2 rad and up to 1.4 times the no-load speed, in all four quadrants."""
    model = load_model(servo, "m1")
    settings = replace(model.default_settings(), kp=model.default_settings().kp * 1.3)
    n = dc_motor(model, settings)
    random = np.random.default_rng(5)
    errors = random.uniform(-2.0, 2.0, 2000)
    velocities = random.uniform(-1.4, 1.4, 2000) * n["velocity_limit"]
    row = model.bound_row(PENDULUM, settings, 1e-3)
    kernel = rollout_kernel(Law[model.control.law.upper()])
    out, zero = np.empty((1, len(OUTPUTS))), np.zeros(1)
    expected = np.empty(2000)
    for i, (error, velocity) in enumerate(zip(errors, velocities, strict=True)):
        supply = np.array([settings.supply_voltage])
        state = initial_state(0.0, velocity)
        kernel(
            row, state, np.array([error]), np.ones(1), np.ones(1), supply, NO_LOAD, zero, zero, zero, 0, 1e-3, 1, out
        )
        expected[i] = out[0, OUTPUTS.index("motor_torque")]

    np.testing.assert_allclose(engines_dc_motor(n, errors, velocities), expected, atol=1e-9 * np.abs(expected).max())
    assert (n["friction"], n["viscous_friction"]) == (row[Slot.FRICTION_BASE], row[Slot.FRICTION_VISCOUS])
    if model.control.law == "voltage":
        assert n["effort_limit"] == NO_LIMIT * n["saturation_effort"]


def test_an_m1_servo_is_written_without_loss_and_read_by_the_programs(isaac, tmp_path, monkeypatch):
    model = load_model("mx106", "m1")

    result = EXPORTER.write(model, tmp_path, ServoOptions(kp=20.0))

    names = {path.name for path in result.files}
    assert {*PROGRAMS, "README.md"} <= names
    assert any("can hold this servo too, friction included" in note for note in result.notes)
    motor = next(path for path in result.files if path.name.endswith(".dcmotor.json"))
    cfg = isaac.plain_cfg(motor, ["elbow"])
    expected = dc_motor(model, model.default_settings(20.0))
    assert {name: getattr(cfg, name) for name in expected} == pytest.approx(expected, rel=1e-12)
    example = next(path for path in result.files if path.name.endswith(".isaaclab.py"))
    monkeypatch.setitem(sys.modules, "servobench_isaaclab", isaac)
    assert runpy.run_path(str(example))["SERVOS"]["arm"].joint_names_expr == ["shoulder", "elbow"]


def test_isaac_lab_3_gets_its_own_names(isaac, tmp_path, monkeypatch):
    monkeypatch.setattr(isaac, "DCMotorCfg", MotorCfgOf3)
    model = load_model("xl330", "m1")
    numbers = dc_motor(model, model.default_settings())
    file = tmp_path / "motor.json"
    file.write_text(json.dumps({"format": "servobench-dcmotor", **numbers}))

    cfg = isaac.plain_cfg(file, ["elbow"])

    assert (cfg.actuator_effort_limit, cfg.actuator_velocity_limit, cfg.effort_limit) == (
        numbers["effort_limit"], numbers["velocity_limit"], None)  # fmt: skip
    file.write_text("{}")
    with pytest.raises(ValueError, match="not the numbers of a DC motor"):
        isaac.plain_cfg(file, ["elbow"])


@pytest.mark.usefixtures("hardly_refitted")
def test_what_the_engines_motor_loses_is_said(tmp_path):
    model = replace(build_model("mx106", "m4", command_path=("pwm_lag",)), name='../"<evil>\n')

    result = EXPORTER.write(model, tmp_path, ServoOptions())

    assert "no pwm lag, friction M4;" in result.notes[-1]
    assert all(path.parent == tmp_path for path in result.files)
    example = next(path for path in result.files if path.name.endswith(".isaaclab.py"))
    compile(example.read_text(), "example", "exec")


def test_the_check_runs_the_exported_servo(tmp_path):
    model = load_model("mx106", "m1")
    # A load that is mounted at another angle pulls at rest, too.
    model = model.with_values({"q_offset": 0.15})
    options = ServoOptions(timestep=DT)
    EXPORTER.write(model, tmp_path, options)
    assert EXPORTER.check

    check = EXPORTER.check(model, tmp_path, options)

    assert set(check.errors) == {"sin_time_square", "sin_sin", "up_and_down", "lift_and_drop"}
    assert 0.0 < check.mean_mrad < 5.0


@pytest.mark.parametrize(
    ("friction", "changes", "lost"),
    [
        ("m1", {}, ""),
        ("m4", {}, "friction M4"),
        ("m1", {"drive": "fast decay"}, "fast decay of the drive"),
        ("m1", {"command_path": ("dead_band",), "values": {"dead_band": 0.01}}, "dead band"),
    ],
)
def test_what_the_dc_motor_lacks_is_said(monkeypatch, friction, changes, lost):
    model = catalogue_model("mx106", friction, **changes)
    nearest = load_model("mx106", "m1")
    found = Approximation(
        model=nearest, refitted=("kt", "R"), errors=np.array([0.002, 0.004]), runs=(), held_back_error=0.0
    )
    monkeypatch.setattr(isaaclab, "approximate", lambda *_: found)
    held, said = isaaclab._plain(model, PENDULUM, model.default_settings())
    kt, resistance = (nearest.values[name] for name in ("kt", "R"))
    assert said == (
        f"The engine's DC motor has no {lost}; refitted to the model's motion: kt = {kt:.6g}, R = {resistance:.6g}. "
        "The check runs the program's servo, not this motor."
        if lost
        else "The engine's DC motor can hold this servo too, friction included."
    )
    assert (held is nearest) == bool(lost)
    assert isaaclab._plain(with_contact(model, "elastoplastic"), PENDULUM, model.default_settings())[0] is nearest
