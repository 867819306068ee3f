"""Every number of every target by hand, for both control laws, with gains, supply, bench and angles that all differ.

Files are read by loaders of engines where one can be installed, and otherwise by readers of the test's own. A refit is
left out: the written values are the model's own, in the form that the target has a place for.
"""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
import yaml

from core.export import approximation, export_model, exporters
from core.export.drives import carrying
from core.export.files import slug
from core.servo.bench import Bench
from core.servo.terms import COMMAND_PATH_TERMS
from tests.core.conftest import LAW_MODELS, catalogue_model

DEGREES = 180.0 / math.pi
KP, SUPPLY, STEP = 21.0, 13.5, 0.004
DAMPING = {"voltage": 0.05, "current": 0.6}
BENCH = Bench(mass=0.4, length=0.2, arm_mass=0.1, gravity=3.7, angle_offset=0.21)
PENDULUM = {
    "mass": 0.4 + 0.1,
    "moment": (0.4 + 0.1 / 2.0) * 0.2,
    "inertia": (0.4 + 0.1 / 3.0) * 0.2**2,
    "angle": 0.21 + 0.11,
    "gravity": 3.7,
}
VALUES = {
    "kt": 1.7,
    "R": 2.3,
    "armature": 0.013,
    "friction_base": 0.19,
    "friction_viscous": 0.037,
    "q_offset": 0.11,
}
BOTH_WAYS = (-0.9, 0.5)
"""Angles at which gravity turns the pendulum one way and the other [rad]."""
TURNED = {
    "lower": -2.0 * math.pi,
    "upper": 2.0 * math.pi,
    "inertia": PENDULUM["inertia"],
    **{f"gravity at {angle}": -PENDULUM["moment"] * math.sin(angle + PENDULUM["angle"]) for angle in BOTH_WAYS},
}
"""The pendulum as `drakes_pendulum` finds it, in a gravity of 1 m/s²."""
USD = ("Usd", "UsdPhysics")
STALL, EMF = SUPPLY * 1.7 / 2.3, 1.7**2 / 2.3
"""k_t·U/R and k_t²/R"""


def unlike(law):
    """A servo with friction M1 none of whose numbers is 0 or another's."""
    servo = {"voltage": "mx106", "current": "erob80_50"}[law]
    model = catalogue_model(servo, "m1", values=VALUES)
    control = replace(model.control, error_gain=0.31, output_limit={"voltage": 0.77, "current": 2.9}[law], damping=0.01)
    return replace(model, control=control, name="unlike")


def torques(law):
    """Eqs (12, 13) and (14, 15) of seed 004 in N·m: the torque per rad and per rad/s, and its limit."""
    unit = {"voltage": STALL, "current": 1.7}[law]
    limit = {"voltage": 0.77, "current": 2.9}[law]
    return unit * 0.31 * KP, unit * DAMPING[law] * math.sqrt(KP), unit * limit


@pytest.fixture(autouse=True)
def unfitted(monkeypatch):
    """No simulated errors: each form is good enough as it is, and nothing is refitted."""
    approximation._approximate.cache_clear()
    monkeypatch.setattr(approximation, "_errors", lambda runs, model, written, form: np.zeros(len(runs)))
    monkeypatch.setattr(carrying, "WORTH_CARRYING", 1.0)
    monkeypatch.setattr("core.export.exporting.step_notes", lambda *_: [])
    yield
    approximation._approximate.cache_clear()


def exported(target, law, folder, model=None, **options):
    """The folder as a function: the text of the file that ends so."""
    model = model or unlike(law)
    asked = {
        "kp": KP,
        "damping": DAMPING.get(law),
        "supply_voltage": SUPPLY,
        "bench": BENCH,
        "timestep": STEP,
        **options,
    }
    export_model(model, target, folder, name=model.title, **asked)
    return lambda ending: (folder / f"{slug(model.title)}{ending}").read_text("utf-8")


def floats(text):
    return [float(word) for word in text.replace(",", " ").split()]


def pendulum(mass, centre, inertia_about_centre, gravity, armature=0.0):
    """A body that hangs along −z at angle 0, with what is not the bench's taken away."""
    x, y, z = centre
    distance = math.hypot(x, z)
    assert y == 0.0
    return {
        "mass": mass,
        "moment": mass * distance,
        "inertia": inertia_about_centre + mass * distance**2 - armature,
        "angle": math.atan2(x, -z),
        "gravity": gravity,
    }


def inside(element, path):
    return floats(element.find(path).text)


def drakes_pendulum(path):
    """Numbers of a file's joint and pendulum as Drake's parser has them."""
    pytest.importorskip("pydrake", reason="Drake is not installed")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(1e-3)
    Parser(plant).AddModels(str(path))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -1.0])
    plant.Finalize()
    (actuator,) = map(plant.get_joint_actuator, plant.GetJointActuatorIndices())
    joint, context = plant.GetJointByName("servo"), plant.CreateDefaultContext()
    assert joint.revolute_axis().tolist() == [0.0, -1.0, 0.0]
    pulls = {}
    for angle in BOTH_WAYS:
        joint.set_angle(context, angle)
        pulls[f"gravity at {angle}"] = plant.CalcGravityGeneralizedForces(context).item()
    return {
        "damping": joint.default_damping(),
        "effort": actuator.effort_limit(),
        "speed": joint.velocity_upper_limit(),
        "lower": joint.position_lower_limit(),
        "upper": joint.position_upper_limit(),
        "inertia": plant.CalcMassMatrix(context).item(),
        **pulls,
    }


laws = pytest.mark.parametrize("law", ["voltage", "current"])


@laws
def test_usd(law, tmp_path):
    """Per degree what is per radian; PhysX's envelope is gradient g = R/k_t² and v_max = U/k_t for a current law."""
    usd, physics = (pytest.importorskip(f"pxr.{name}", reason="usd-core is not installed") for name in USD)
    exported("usd", law, tmp_path)
    stiffness, velocity_gain, limit = torques(law)
    voltage = law == "voltage"
    drive, envelope = "drive:angular:physics:", "physxDrivePerformanceEnvelope:angular:"
    axis = "physxJointAxis:angular:"
    expected = {
        f"{drive}stiffness": stiffness / DEGREES,
        f"{drive}damping": (velocity_gain + (EMF if voltage else 0.0)) / DEGREES,
        f"{drive}maxForce": limit,
        f"{drive}targetPosition": 0.0,
        f"{envelope}velocityDependentResistance": EMF / DEGREES if voltage else 0.0,
        f"{envelope}speedEffortGradient": 0.0 if voltage else DEGREES / EMF,
        f"{axis}armature": 0.013,
        f"{axis}staticFrictionEffort": 0.19,
        f"{axis}dynamicFrictionEffort": 0.19,
        f"{axis}viscousFrictionCoefficient": 0.037 / DEGREES,
        "newton:armature": 0.013,
        "newton:friction": 0.19,
        "newton:damping": 0.037 / DEGREES,
    }
    if not voltage:
        expected[f"{envelope}maxActuatorVelocity"] = DEGREES * SUPPLY / 1.7
    stage = usd.Stage.Open(str(tmp_path / "unlike.pendulum.usda"))
    joint = stage.GetPrimAtPath("/Pendulum/Joint")
    found = {a.GetName(): a.Get() for a in joint.GetAuthoredAttributes() if a.GetTypeName() == "float"}
    assert found == pytest.approx(expected, rel=1e-6)
    assert physics.DriveAPI(joint, "angular").GetTypeAttr().Get() == "force"

    arm, scene = stage.GetPrimAtPath("/Pendulum/Arm"), physics.Scene(stage.GetPrimAtPath("/PhysicsScene"))
    body = physics.MassAPI(arm)
    inertia = body.GetDiagonalInertiaAttr().Get()
    assert len(set(inertia)) == 1
    centre, gravity = body.GetCenterOfMassAttr().Get(), scene.GetGravityMagnitudeAttr().Get()
    assert pendulum(body.GetMassAttr().Get(), centre, inertia[0], gravity) == pytest.approx(PENDULUM, rel=1e-6)
    assert scene.GetGravityDirectionAttr().Get() == (0.0, 0.0, -1.0)
    # Half a turn about x: the joint's own axis y points along −y of both bodies.
    turning = physics.RevoluteJoint(joint)
    assert turning.GetAxisAttr().Get() == "Y"
    for turn in (turning.GetLocalRot0Attr().Get(), turning.GetLocalRot1Attr().Get()):
        assert (turn.GetReal(), *turn.GetImaginary()) == (0.0, 1.0, 0.0, 0.0)


@laws
def test_urdf(law, tmp_path):
    """A voltage law's back-EMF is damping within the limit; the speed is where the motor has no torque left."""
    parser = pytest.importorskip("urdf_parser_py.urdf", reason="urdf_parser_py is not installed")
    text = exported("urdf", law, tmp_path)
    stiffness, velocity_gain, limit = torques(law)
    damping = velocity_gain + (EMF if law == "voltage" else 0.0)
    no_load = SUPPLY * (0.77 if law == "voltage" else 1.0) / 1.7
    data = json.loads(text(".drive.json"))
    values = {name: entry["value"] for name, entry in data.items() if isinstance(entry, dict)}
    assert values == pytest.approx(
        {
            "stiffness": stiffness,
            "damping": damping,
            "torque_limit": limit,
            "no_load_speed": no_load,
            "friction": 0.19,
            "viscous": 0.037,
            "armature": 0.013,
            "zero_offset": 0.11,
        }
    )
    gains = yaml.safe_load(text(".controller.yaml"))
    assert gains["controller_manager"]["ros__parameters"]["update_rate"] == 250
    found = gains["servo_controller"]["ros__parameters"]["gains"]["servo"]
    assert found == pytest.approx({"p": stiffness, "i": 0.0, "d": damping})

    robot = parser.URDF.from_xml_file(str(tmp_path / "unlike.pendulum.urdf"))
    (joint,), link = robot.joints, robot.link_map["pendulum"]
    end = 2.0 * math.pi
    expected = {"lower": -end, "upper": end, "effort": limit, "velocity": no_load, "damping": 0.037, "friction": 0.19}
    assert vars(joint.limit) | vars(joint.dynamics) == pytest.approx(expected)
    assert joint.axis == [0.0, -1.0, 0.0]
    assert link.visual.origin.xyz == pytest.approx([0.2 * math.sin(0.32), 0.0, -0.2 * math.cos(0.32)])
    inertia = link.inertial.inertia.to_matrix()
    assert inertia == np.diag(np.diag(inertia)).tolist()
    found = pendulum(link.inertial.mass, link.inertial.origin.xyz, inertia[1][1], 3.7)
    assert found == pytest.approx(PENDULUM)

    in_drake = drakes_pendulum(tmp_path / "unlike.pendulum.urdf")
    assert in_drake == pytest.approx({"damping": 0.037, "effort": limit, "speed": no_load, **TURNED})


@laws
def test_sdformat(law, tmp_path):
    """Velocity gain and back-EMF stand in the joint's damping; the limit is even both ways.

    Drake's parser leaves out what is gz-sim's: gravity, step, friction and the plugin.
    """
    text = exported("sdformat", law, tmp_path)
    stiffness, velocity_gain, limit = torques(law)
    damping = 0.037 + velocity_gain + (EMF if law == "voltage" else 0.0)
    world = ET.fromstring(text(".pendulum.sdf")).find("world")
    physics = {child.tag: float(child.text) for child in world.find("physics")}
    assert physics == {"max_step_size": STEP, "real_time_factor": 1.0, "real_time_update_rate": 250.0}
    joint = world.find("model/joint[@type='revolute']")
    dynamics = {e.tag: float(e.text) for e in joint.find("axis/dynamics")}
    assert dynamics == pytest.approx(
        {"damping": damping, "friction": 0.19, "spring_reference": 0.0, "spring_stiffness": 0.0}
    )
    plugin = {e.tag: e.text for e in world.find("model/plugin")}
    assert plugin.pop("joint_name") == joint.get("name")
    assert {name: float(value) for name, value in plugin.items()} == pytest.approx(
        {"p_gain": stiffness, "i_gain": 0.0, "d_gain": 0.0, "cmd_max": limit, "cmd_min": -limit}
    )
    assert floats(world.find("gravity").text) == [0.0, 0.0, -3.7]

    expected = {"damping": damping, "effort": limit, "speed": math.inf, **TURNED, "inertia": TURNED["inertia"] + 0.013}
    assert drakes_pendulum(tmp_path / "unlike.pendulum.sdf") == pytest.approx(expected)


@laws
def test_genesis(law, tmp_path):
    """Its own drive: the back-EMF of a voltage law is damping that goes when the servo is released, and not in kv."""
    text = exported("genesis", law, tmp_path, drive="plain")
    stiffness, velocity_gain, limit = torques(law)
    data = json.loads(text(".genesis.json"))
    assert data.pop("zero_offset") == 0.11
    assert (data.pop("format"), data.pop("version")) == ("servobench-drive", 1)
    assert data == pytest.approx(
        {
            "kp": stiffness,
            "kv": velocity_gain,
            "torque_limit": limit,
            "armature": 0.013,
            "damping": 0.037,
            "driven_damping": EMF if law == "voltage" else 0.0,
            "frictionloss": 0.19,
        }
    )
    assert mjcf_pendulum(text(".genesis.xml")) == pytest.approx(PENDULUM)


@laws
def test_isaaclab(law, tmp_path):
    """τ_stall = U·k_t/R times the largest duty, and the torque limit of a current law is k_t·I_heat."""
    text = exported("isaaclab", law, tmp_path)
    stiffness, velocity_gain, limit = torques(law)
    voltage = law == "voltage"
    data = json.loads(text(".dcmotor.json"))
    assert (data.pop("format"), data.pop("zero_offset")) == ("servobench-dcmotor", 0.11)
    assert data == pytest.approx(
        {
            "stiffness": stiffness,
            "damping": velocity_gain + (EMF if voltage else 0.0),
            "saturation_effort": limit if voltage else STALL,
            "effort_limit": 10.0 * limit if voltage else limit,
            "velocity_limit": (limit if voltage else STALL) / EMF,
            "armature": 0.013,
            "friction": 0.19,
            "dynamic_friction": 0.19,
            "viscous_friction": 0.037,
        }
    )


@laws
def test_drake(law, tmp_path):
    """Drake's own joint holds viscous friction, armature and the torque at rest, a current law's limited by the
    supply, too."""
    text = exported("drake", law, tmp_path)
    root = ET.fromstring(text(".drake.sdf"))
    joint, body = root.find("model/joint"), root.find("model/link/inertial")
    numbers = {name: inside(joint, name)[0] for name in ("axis/dynamics/damping", "axis/limit/effort")}
    numbers |= {child.tag.rpartition("}")[2]: float(child.text) for child in joint if child.tag.startswith("{")}
    stall = min(torques(law)[2], STALL)
    assert numbers == pytest.approx(
        {"axis/dynamics/damping": 0.037, "axis/limit/effort": stall, "rotor_inertia": 0.013, "gear_ratio": 1.0}
    )
    assert inside(joint, "axis/xyz") == [0.0, -1.0, 0.0]
    x, y, z, *turned = inside(body, "pose")
    assert turned == [0.0, 0.0, 0.0]
    found = pendulum(*inside(body, "mass"), (x, y, z), *inside(body, "inertia/iyy"), 3.7)
    assert found == pytest.approx(PENDULUM)


def test_drakes_effort_is_what_the_supply_lets_flow(tmp_path):
    """13.5 V over 2.3 Ω are 5.9 A, less than an I_heat of 40 A."""
    model = unlike("current")
    model = replace(model, control=replace(model.control, output_limit=40.0))
    export_model(model, "drake", tmp_path, name="unlike", supply_voltage=SUPPLY)
    joint = ET.parse(tmp_path / "unlike.drake.sdf").find("model/joint")
    assert inside(joint, "axis/limit/effort") == pytest.approx([STALL])


@laws
def test_webots(law, tmp_path):
    """The solid carries the armature, the controller is told all that turns, and the motor allows ten stall torques."""
    text = exported("webots", law, tmp_path)
    world = text(".pendulum.wbt")

    def of(name):
        return floats(re.search(rf"\b{name}\s+\[?\s*([-+.,\de\s]+)", world)[1])

    inertia = of("inertiaMatrix")
    assert inertia[:3] == [inertia[0]] * 3
    assert inertia[3:] == [0.0] * 3
    found = pendulum(*of("mass"), of("centerOfMass"), inertia[0], *of("gravity"), armature=0.013)
    assert found == pytest.approx(PENDULUM)
    assert of("axis") == [0.0, -1.0, 0.0]
    assert of("basicTimeStep") == [4.0]
    assert of("dampingConstant") == of("staticFriction") == [0.0]
    assert of("maxTorque") == pytest.approx([10.0 * torques(law)[2]])
    told = float(re.search(r'controllerArgs[^\]]*"([\d.e-]+)"\s*\]', world)[1])
    assert told == pytest.approx(PENDULUM["inertia"] + 0.013)


@laws
def test_choreonoid(law, tmp_path):
    """Angles in degrees in the body file, SI units in the friction's."""
    text = exported("choreonoid", law, tmp_path)
    stiffness, velocity_gain, limit = torques(law)
    body, friction = yaml.safe_load(text(".pendulum.body")), yaml.safe_load(text(".friction.yaml"))
    link = body["links"][1]
    speed = DEGREES * SUPPLY * (0.77 if law == "voltage" else 1.0) / 1.7
    assert link["joint_velocity_range"] == pytest.approx([-speed, speed])
    assert link["joint_axis"] == [0.0, -1.0, 0.0]
    assert (link["max_joint_effort"], link["rotor_inertia"]) == (pytest.approx(limit), 0.013)
    found = pendulum(link["mass"], link["center_of_mass"], link["inertia"][4], 3.7)
    assert found == pytest.approx(PENDULUM)
    assert friction["drive"] == pytest.approx(
        {"kp": stiffness, "kd": velocity_gain + (EMF if law == "voltage" else 0.0), "limit": limit}
    )
    numbers = friction["friction"]
    assert {name: numbers[name] for name in ("Ts", "Tc", "Tv", "dt")} == pytest.approx(
        {"Ts": 0.19, "Tc": 0.19, "Tv": 0.037, "dt": STEP}
    )


def mjcf_pendulum(text):
    root = ET.fromstring(text)
    joint, inertial = root.find("worldbody/body/joint"), root.find("worldbody/body/inertial")
    assert floats(joint.get("axis")) == [0.0, -1.0, 0.0]
    option = root.find("option")
    gravity = 3.7 if option is None else -floats(option.get("gravity"))[2]
    assert option is None or float(option.get("timestep")) == STEP
    inertia = floats(inertial.get("diaginertia"))
    assert len(set(inertia)) == 1
    return pendulum(float(inertial.get("mass")), floats(inertial.get("pos")), inertia[0], gravity)


@laws
@pytest.mark.parametrize("syntax", ["3.12", "3.7", "3.1"])
def test_mujoco(law, syntax, tmp_path):
    """Gains in torque (3.12), in volts (3.7), or as two actuators, of which no limit bounds the back-EMF (3.1)."""
    text = exported("mujoco", law, tmp_path, syntax=syntax)
    stiffness, velocity_gain, limit = torques(law)
    voltage = law == "voltage"
    root = ET.fromstring(text(".servo.xml"))
    servo = root.find("default/default")
    joint = {name: servo.find("joint").get(name) for name in ("armature", "damping", "frictionloss")}
    assert joint == {"armature": "0.013", "damping": "0.037", "frictionloss": "0.19"}
    assert mjcf_pendulum(text(".pendulum.xml")) == pytest.approx(PENDULUM)
    if syntax == "3.1":
        motors = [servo.find("general"), *(e.find("general") for e in servo.findall("default"))]
        assert len(motors) == (2 if voltage else 1)
        numbers = [floats(m.get("gainprm")) + floats(m.get("biasprm")) for m in motors]
        assert numbers[0] == pytest.approx([stiffness, 0.0, -stiffness, -velocity_gain])
        assert floats(motors[0].get("forcerange")) == pytest.approx([-limit, limit])
        if voltage:
            assert numbers[1] == pytest.approx([0.0, 0.0, 0.0, -EMF])
            assert motors[1].get("forcelimited") == "false"
        return
    motor = servo.find("dcmotor")
    assert floats(motor.get("motorconst")) == [1.7, 1.7]
    assert floats(motor.get("resistance")) == [2.3]
    volts = 2.3 / 1.7
    if syntax == "3.12":
        gains = [stiffness, velocity_gain + (EMF if voltage else 0.0)]
    else:
        gains = [volts * stiffness, volts * (velocity_gain - (0.0 if voltage else EMF))]
    kp, ki, kd, slew, integral, largest = floats(motor.get("controller"))
    assert [kp, kd] == pytest.approx(gains)
    assert (ki, slew, integral) == (0.0, 0.0, 0.0)
    assert largest == pytest.approx(SUPPLY * (0.77 if voltage else 1.0))
    assert (motor.get("saturation") is None) == voltage
    if not voltage:
        assert floats(motor.get("saturation")) == pytest.approx([limit, 0.0, 0.0])


@pytest.mark.parametrize("syntax", ["3.12", "3.7"])
def test_mujoco_with_an_integral_and_a_command_path(syntax, tmp_path):
    """The integral ends where it alone is the largest duty; a braking of 0.3 is a winding of R/0.3; a delay of 15.3 ms
    needs five samples of 4 ms."""
    path = {"command_delay": 0.0153, "error_gain_ratio": 0.9, "goal_slew": 4.0, "release_braking": 0.3}
    model = catalogue_model("mx106", "m1", command_path=tuple(path), values=VALUES | path)
    control = replace(model.control, error_gain=0.31, integral_ratio=3.0, output_limit=0.77)
    model = replace(model, control=control, name="unlike")
    export_model(
        model, "mujoco", tmp_path, name="unlike", kp=KP, ki=15.0, supply_voltage=SUPPLY, timestep=STEP, syntax=syntax
    )
    servo = ET.parse(tmp_path / "unlike.servo.xml").find("default/default")
    motor, brake = servo.find("dcmotor"), servo.find("default/dcmotor")
    scale, emf = (1.0, EMF) if syntax == "3.12" else (2.3 / 1.7, 0.0)
    kp, ki = 0.31 * 0.9 * KP, 0.31 * 0.9 * 3.0 * 15.0
    assert floats(motor.get("controller")) == pytest.approx(
        [scale * STALL * kp, scale * STALL * ki, scale * emf, 4.0, 0.77 / ki, 0.77 * SUPPLY]
    )
    assert (motor.get("delay"), motor.get("nsample")) == ("0.0153", "154")
    assert floats(brake.get("motorconst") + " " + brake.get("resistance")) == pytest.approx([1.7, 1.7, 2.3 / 0.3])
    assert (motor.get("group"), brake.get("group")) == ("1", "2")


NAMES = {
    "kt": "torque_constant",
    "R": "resistance",
    "dtheta_stribeck": "stribeck_velocity",
    "alpha": "stribeck_exponent",
    "load_friction_motor": "load_motor",
    "load_friction_external": "load_external",
    "load_friction_motor_stribeck": "load_motor_stribeck",
    "load_friction_external_stribeck": "load_external_stribeck",
    "load_friction_motor_quad": "load_motor_quad",
    "load_friction_external_quad": "load_external_quad",
    "command_delay": "delay",
}
"""Numbers of a servo file whose name is not the model's."""
CARRIERS = (
    "mujoco-hook",
    "mujoco-plugin",
    "mjlab",
    "isaaclab",
    "drake",
    "genesis",
    "newton",
    "pybullet",
    "webots",
    "c",
)


@pytest.mark.parametrize("law", LAW_MODELS)
@pytest.mark.parametrize("target", CARRIERS)
def test_the_servos_own_numbers(law, target, tmp_path):
    """Stand-alone programs and firmware compute with the row of the kernel: M6 with all terms, no two numbers alike."""
    limited = law == "limited"
    if limited and not exporters()[target].any_law:
        pytest.skip("the target refuses a current limit")
    path = (*COMMAND_PATH_TERMS, *(("output_offset", "pulse_sag", "load_memory") if limited else ()))
    model = catalogue_model(friction="m6", command_path=path, **LAW_MODELS[law])
    law = model.control.law if limited else law
    values = {
        p.name: p.lower + (0.2 + 0.6 * place / len(model.parameters)) * (p.upper - p.lower)
        for place, p in enumerate(model.parameters.values())
    }
    current = law == "current"
    gains = {"error_gain": 0.31, "integral_ratio": 0.0 if current else 3.0, "derivative_ratio": 0.0}
    control = replace(
        model.control, output_limit=2.9 if current else 0.77, damping=0.01, control_period=0.0043, **gains
    )
    model = replace(model.with_values(values), control=control, name="unlike", quadratic_gate="opposing")
    text = exported(target, law, tmp_path, model, damping=0.6, **({} if current else {"ki": 15.0}))
    gain = 0.31 * values["error_gain_ratio"]
    expected = {
        **{NAMES.get(name, name): value for name, value in values.items()},
        "supply_voltage": SUPPLY,
        "opposing_gate": 1.0,
        "kp": gain * KP,
        "ki": 0.0 if current else gain * 3.0 * 15.0,
        "kd": 0.0,
        "control_period": 0.0043,
        "kv": 0.6 * math.sqrt(KP),
        "output_limit": 2.9 if current else 0.77,
    }
    if limited or target == "c":
        limit = LAW_MODELS["limited"]["current_limit"] if limited else 1e9
        later = {
            "angle_ignored": 0.0,
            "speed_feedback": 0.0,
            "current_limit": limit,
            "output_offset": 0.0,
            "pulse_sag": 0.0,
            "load_memory": 0.0,
        }
        expected = later | expected
    del expected["q_offset"], expected["error_gain_ratio"]
    if law != "coast":
        expected |= {"inductance": 1.0, "pwm_period": 1.0}
    if target == "c":
        found = {n: float(v) for v, n in re.findall(r"SB_C\(([^)]+)\), /\* (\w+) \*/", text(".servo.h"))}
        assert f"SB_{law.upper()}, /* law */" in text(".servo.h")
        del found["bristle_stiffness"], found["bristle_damping"]
        program = text(".pendulum.c")
        defined = {name: float(value) for name, value in re.findall(r"#define ([A-Z_]+) ([\d.e-]+)\n", program)}
        assert {n: defined[n] for n in ("LOAD_INERTIA", "GRAVITY_TORQUE", "ANGLE_OFFSET", "TIMESTEP")} == pytest.approx(
            {
                "LOAD_INERTIA": PENDULUM["inertia"],
                "GRAVITY_TORQUE": PENDULUM["moment"] * 3.7,
                "ANGLE_OFFSET": 0.21 + values["q_offset"],
                "TIMESTEP": STEP,
            }
        )
    elif target == "mujoco-plugin":
        root = ET.fromstring(text(".plugin.xml"))
        config = {entry.get("key"): entry.get("value") for entry in root.iter("config")}
        assert config.pop("law") == law
        found = {name: float(value) for name, value in config.items()}
        joint = {
            name: float(value) for name, value in root.find("default/default/joint").attrib.items() if "sol" not in name
        }
        slope = values["kt"] * (0.6 * math.sqrt(KP) if current else values["kt"] / values["R"])
        assert joint == pytest.approx(
            {
                "armature": values["armature"],
                "damping": 0.5 * (values["friction_viscous"] + slope),
                "frictionloss": values["friction_base"],
            }
        )
    else:
        found = json.loads(text(".servo.json"))
        head = {name: found.pop(name) for name in ("format", "version", "title", "law", "written_kp")}
        assert (found.pop("zero_offset"), found.pop("joint_zero")) == (values["q_offset"], 0.0)
        assert found.pop("contact") == "rigid"
        del found["bristle_stiffness"], found["bristle_damping"]
        version = 8 if limited else 3
        assert head == {
            "format": "servobench-servo",
            "version": version,
            "title": "unlike",
            "law": law,
            "written_kp": KP,
        }
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("target", "ending"),
    [
        ("mujoco-hook", ".hook.xml"),
        ("mujoco-plugin", ".plugin.xml"),
        ("mjlab", ".mjlab.xml"),
        ("genesis", ".genesis.xml"),
        ("pybullet", ".pybullet.urdf"),
    ],
)
def test_the_pendulum_beside_a_program(target, ending, tmp_path):
    text = exported(target, "voltage", tmp_path)(ending)
    if target == "pybullet":
        (joint,), inertial = (
            ET.fromstring(text).findall("joint"),
            ET.fromstring(text).find("link[@name='pendulum']/inertial"),
        )
        assert floats(joint.find("axis").get("xyz")) == [0.0, -1.0, 0.0]
        inertia = float(inertial.find("inertia").get("iyy"))
        mass, centre = float(inertial.find("mass").get("value")), floats(inertial.find("origin").get("xyz"))
        assert pendulum(mass, centre, inertia, 3.7) == pytest.approx(PENDULUM)
    else:
        assert mjcf_pendulum(text) == pytest.approx(PENDULUM)
