"""The export to Drake: a file its parser takes, and a program that is Algorithm 1 with friction M6.

Run in Drake where it is installed; the two-joint arm is held against the same servos in MuJoCo.
"""

import importlib.util
import math

import numpy as np
import pytest

from core.base.errors import ExportError
from core.export.contract import ServoOptions
from core.export.files import slug
from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.export.targets import drake
from core.export.targets.drake import check_drake, write_drake
from core.servo.model import build_model
from core.servo.shipped import load_model
from tests.core.conftest import catalogue_model

others = pytest.mark.exhaustive("a servo with the other law")
needs_drake = pytest.mark.skipif(not importlib.util.find_spec("pydrake"), reason="Drake is not installed")


def export(folder, model, **options):
    write_drake(model, folder, ServoOptions(**options))
    return folder / f"{slug(model.title)}.drake.sdf", folder / f"{slug(model.title)}.servo.json"


@needs_drake
class TestInDrake:
    @pytest.mark.parametrize(("servo", "friction"), [("mx106", "m6"), pytest.param("erob80_50", "m6", marks=others)])
    def test_the_pendulum_moves_as_the_model(self, tmp_path, servo, friction):
        """0.45 mrad for M6 of the MX-106 at 5 ms, 0.05 at 1 ms."""
        model = load_model(servo, friction)
        options = ServoOptions(timestep=0.005)
        write_drake(model, tmp_path, options)

        found = check_drake(model, tmp_path, options)

        assert found.mean_mrad < 0.7
        assert "run in Drake" in found.how
        assert "5 ms" in found.how

    def test_a_file_that_its_parser_does_not_take_is_refused(self, tmp_path):
        model = build_model("mx106", "m1")
        sdf, _ = export(tmp_path, model)
        sdf.write_text(sdf.read_text().replace("damping", "dampening"))
        with pytest.raises(ExportError, match="Drake rejects the export"):
            check_drake(model, tmp_path, ServoOptions())
        (tmp_path / drake.PROGRAMS[0]).write_text("print(1)\n")
        with pytest.raises(ExportError, match="differs from an export of this model with these options"):
            check_drake(model, tmp_path, ServoOptions())

    def test_what_friction_holds_does_not_creep(self, tmp_path):
        """Released at 0.3 rad with a gravity torque below the Coulomb friction."""
        model = catalogue_model("mx106", "m1", values={"friction_base": 0.5, "q_offset": 0.3})
        sdf, servo = export(tmp_path, model)

        position = program("servobench_drake").simulate(sdf, {"servo": servo}, lambda t: (0.0, 0.0), 2.0, 0.005)

        assert np.abs(position).max() < 1e-12

    def test_an_arm_moves_as_with_the_same_servos_in_mujoco(self):
        mujoco = pytest.importorskip("mujoco")
        model = load_model("mx106", "m6")
        servo = servo_numbers(model, model.default_settings())
        step = 1e-3

        def command(t):
            return (math.sin(3.0 * t), 0.7 * math.sin(5.0 * t)), (t < 2.0, t < 2.5)

        in_drake = arm_in_drake(servo, command, step)
        in_mujoco = arm_in_mujoco(mujoco, servo, command, step)

        assert np.abs(in_mujoco).max() > 0.5
        assert 1e3 * np.abs(in_drake - in_mujoco).mean() < 0.2

    def test_other_actuators_keep_their_torques(self, tmp_path):
        hook, plant, builder = arm_plant(1e-3)
        hook.attach(builder, plant, {"elbow": servo_numbers(*_served())})
        servos = next(system for system in builder.GetSystems() if isinstance(system, hook.Servos))
        diagram = builder.Build()
        root = diagram.CreateDefaultContext()
        own = servos.GetMyMutableContextFromRoot(root)
        servos.GetInputPort("goal").FixValue(own, [0.1])
        servos.GetInputPort("others").FixValue(own, [0.25, 0.0])

        actuation = servos.GetOutputPort("actuation").Eval(own)

        assert actuation[0] == 0.25
        assert actuation[1] > 0.0
        names = ("motor_torque", "friction_torque")
        parts = [servos.GetOutputPort(name).Eval(own)[0] for name in names]
        assert sum(parts) == pytest.approx(actuation[1])

    def test_a_clone_moves_alike_and_has_numbers_of_its_own(self):
        hook, plant, builder = arm_plant(1e-3)
        servos = hook.attach(builder, plant, {"elbow": servo_numbers(*_served())})
        builder.ExportInput(servos.GetInputPort("goal"), "goal")
        builder.ExportOutput(servos.GetOutputPort("motor_torque"), "torque")
        diagram = builder.Build()
        clone = diagram.Clone()

        def torque(of):
            context = of.CreateDefaultContext()
            of.GetInputPort("goal").FixValue(context, [0.02])
            return of.GetOutputPort("torque").Eval(context)[0]

        assert torque(clone) == torque(diagram) > 0.0
        copied = next(system for system in clone.GetSystems() if isinstance(system, hook.Servos))
        copied.numbers["kp"] *= 0.5
        assert torque(clone) == pytest.approx(0.5 * torque(diagram), rel=0.02)
        differentiable = diagram.ToAutoDiffXd()
        context = differentiable.CreateDefaultContext()
        differentiable.GetInputPort("goal").FixValue(context, np.array([0.02]))
        with pytest.raises(ValueError, match="compute with floats only"):
            differentiable.GetOutputPort("torque").Eval(context)

    def test_what_does_not_fit_is_refused(self):
        servo = servo_numbers(*_served())
        hook, plant, builder = arm_plant(1e-3)
        with pytest.raises(ValueError, match="no joint 'knee'"):
            hook.attach(builder, plant, {"knee": servo})
        _, continuous, other = arm_plant(0.0)
        with pytest.raises(ValueError, match="no time step"):
            hook.attach(other, continuous, {"elbow": servo})
        hook.attach(builder, plant, {"elbow": servo})
        with pytest.raises(ValueError, match="finalized already"):
            hook.attach(builder, plant, {"shoulder": servo})
        _, geared, other = arm_plant(1e-3, '<drake:controller_gains p="1" d="1"/>')
        with pytest.raises(ValueError, match="controller gains"):
            hook.attach(other, geared, {"elbow": servo})


LENGTH, MASS, INERTIA = 0.12, 0.25, 2e-4


def _served():
    model = build_model("mx106", "m1")
    return model, model.default_settings()


def arm_plant(step, extra=""):
    """Program, plant and builder of an arm with two links, each turning about -y."""
    parsing, framework = (importlib.import_module(f"pydrake.{m}") for m in ("multibody.parsing", "systems.framework"))
    plants = importlib.import_module("pydrake.multibody.plant")
    links = "".join(
        f'<link name="{name}"><pose>0 0 {-LENGTH * i} 0 0 0</pose><inertial><pose>0 0 {-LENGTH / 2} 0 0 0</pose>'
        f"<mass>{MASS}</mass><inertia><ixx>{INERTIA}</ixx><iyy>{INERTIA}</iyy><izz>{INERTIA}</izz></inertia>"
        f'</inertial></link><joint name="{joint}" type="revolute"><parent>{parent}</parent><child>{name}</child>'
        f"<axis><xyz>0 -1 0</xyz><dynamics><damping>9</damping></dynamics></axis>{extra}</joint>"
        for i, (joint, parent, name) in enumerate([("shoulder", "world", "upper"), ("elbow", "upper", "lower")])
    )
    builder = framework.DiagramBuilder()
    plant, _ = plants.AddMultibodyPlantSceneGraph(builder, step)
    sdf = f'<sdf version="1.9" xmlns:drake="http://drake.mit.edu"><model name="arm">{links}</model></sdf>'
    parsing.Parser(plant).AddModelsFromString(sdf, "sdf")
    return program("servobench_drake"), plant, builder


def arm_in_drake(servo, command, step):
    analysis = importlib.import_module("pydrake.systems.analysis")
    hook, plant, builder = arm_plant(step)
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -9.80665])
    servos = hook.attach(builder, plant, {"shoulder": servo, "elbow": servo})
    simulator = analysis.Simulator(builder.Build())
    root = simulator.get_mutable_context()
    own, state = servos.GetMyMutableContextFromRoot(root), plant.GetMyContextFromRoot(root)
    positions = np.empty((3000, 2))
    for k in range(len(positions)):
        positions[k] = plant.GetPositions(state)
        goals, enable = command(k * step)
        servos.GetInputPort("goal").FixValue(own, np.array(goals))
        servos.GetInputPort("enable").FixValue(own, np.array(enable, dtype=float))
        simulator.AdvanceTo((k + 1) * step)
    return positions


def arm_in_mujoco(mujoco, servo, command, step, base=None):
    """base: mass and inertia of what it hangs on, free and without gravity; None: fixed."""
    inertial = f'<inertial pos="0 0 {-LENGTH / 2}" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>'
    held = ""
    if base:
        mass, inertia = base
        held = f'<body><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" gravity="0 0 {0.0 if base else -9.80665}"/><worldbody>{held}<body>'
        f'<joint name="shoulder" axis="0 -1 0"/>{inertial}<body pos="0 0 {-LENGTH}">'
        f'<joint name="elbow" axis="0 -1 0"/>{inertial}</body></body>{"</body>" * bool(base)}</worldbody><actuator>'
        '<motor joint="shoulder"/><motor joint="elbow"/></actuator></mujoco>'
    )
    data = mujoco.MjData(model)
    servos = program("servobench_mujoco").attach(model, data, {"shoulder": servo, "elbow": servo})
    positions = np.empty((3000, 2))
    for k in range(len(positions)):
        positions[k] = data.qpos[-2:]
        servos.step(*command(k * step))
    return positions
