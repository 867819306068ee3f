"""Domain randomisation: files of a fleet, and the engines they are for.

Isaac Lab is stood in for by functions with the signatures of `isaaclab` 2.3.2 (source/isaaclab/isaaclab/envs/mdp/
events.py); MuJoCo, and mjlab where it is installed, are the engines themselves.
"""

import importlib
import importlib.util
import inspect
import json
import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from core.base.errors import ExportError
from core.export import export_model
from core.export.drives.bam import drive_values, in_bam_drive
from core.export.programs import program
from core.export.servo_file import STANDALONE, servo_numbers
from core.export.targets.isaaclab import dc_motor
from core.fleet.population import population
from core.fleet.randomisation.engines import write_randomisation
from core.fleet.randomisation.files import RandomisationOptions, prepare
from core.fleet.spread import MEAN, Spread, mean_model
from core.servo.parameters import Parameter, ParameterSet
from tests.core.export.conftest import short_refits
from tests.core.fleet.specimens import fleet

SPREADS = {"kt": 0.04, "R": 0.06, "armature": 0.05, "friction_base": 0.15, "friction_viscous": 0.15}
UNITS = 8
OPTIONS = RandomisationOptions(draws=20, seed=1)


def spread_of(friction, count=UNITS, **spreads):
    units = fleet(count, SPREADS | spreads, friction=friction, seed=11)
    found = population(units, friction)
    return Spread(population=found, centre=MEAN, model=mean_model(found, units))


@pytest.fixture(scope="module")
def spread():
    """M1, which MuJoCo and Isaac Lab hold as it is: nothing is approximated."""
    return spread_of("m1")


@pytest.fixture(scope="module")
def written(spread, tmp_path_factory):
    """Folder by target, results by target."""
    folder = tmp_path_factory.mktemp("fleet")
    with short_refits():
        results = write_randomisation(spread, ["mujoco", "isaaclab"], folder, OPTIONS)
        results += write_randomisation(spread_of("m1", 3), ["mjlab"], folder, OPTIONS)
    return folder, {result.target: result for result in results}


def fleet_of(folder, target):
    reading = program("servobench_fleet")
    (file,) = (folder / target).glob("*.fleet.json")
    return reading.read_fleet(file)


def test_draws_are_the_samples_and_units_the_units_to_the_last_bit(spread, written):
    """All numbers of a servo file, so that a specimen is what an export of its model is."""
    found = fleet_of(written[0], "mujoco")
    settings = spread.model.default_settings()
    for row, model in enumerate(spread.samples(20, 1)[:5]):
        expected = servo_numbers(model, settings)
        assert {k: v for k, v in found.servo(row).items() if k != "title"} == {
            k: v for k, v in expected.items() if k != "title"
        }
    table = [[servo_numbers(m, settings)[name] for name in found.names] for m in spread.units()]
    np.testing.assert_array_equal(found.units, table)
    assert set(found.names) == {"torque_constant", "resistance", "armature", "friction_base", "friction_viscous"}
    assert found.unit_names == spread.population.units


def test_a_unit_without_memory_of_the_load_has_one_of_0(spread, monkeypatch):
    parameters = [*spread.model.parameters.values(), Parameter.of_term("load_memory")]
    model = replace(spread.model, parameters=ParameterSet(parameters))
    models = [model.with_values({"load_memory": time}) for time in (0.0, 0.2, 0.4)]
    monkeypatch.setattr(Spread, "units", lambda self: models)
    monkeypatch.setattr(Spread, "samples", lambda self, *_: models)

    found = prepare(replace(spread, model=models[1]), OPTIONS)

    assert found.names == ("load_memory",)
    np.testing.assert_array_equal(found.units[:, 0], [0.0, 0.2, 0.4])
    with pytest.raises(ExportError, match="load_memory has an effect in some units, but not in their centre"):
        prepare(replace(spread, model=models[0]), OPTIONS)


def test_the_motor_of_isaac_lab_is_that_of_its_export(spread, written):
    native = written[1]["isaaclab"].native
    settings = spread.model.default_settings()
    for row, model in zip(native.units, spread.units(), strict=True):
        assert dict(zip(native.names, row, strict=True)) == pytest.approx(dc_motor(model, settings))


def test_a_position_drive_is_found_for_each_unit(written):
    native = written[1]["mjlab"].native
    assert native.names == ("stiffness", "damping", "torque_limit", "friction", "viscous", "armature")
    assert native.units.shape == (3, 6)
    assert np.all(native.units[:, :3] > 0.0)


def test_what_a_specimen_is_in_genesis_and_usd(spread, tmp_path):
    """Attributes of the joint as USD reads them back from the specimen's own export; Genesis' drive likewise."""
    results = {r.target: r for r in write_randomisation(spread, ["genesis", "usd"], tmp_path, OPTIONS)}
    unit = spread.units()[2]
    for target, options, ending in (("genesis", {"drive": "plain"}, "genesis.json"), ("usd", {}, "servo.usda")):
        native = results[target].native
        found = dict(zip(native.names, native.units[2], strict=True))
        export_model(unit, target, tmp_path / "own", **options)
        (own,) = (tmp_path / "own").glob(f"*.{ending}")
        text = own.read_text("utf-8")
        if target == "genesis":
            expected = {name: value for name, value in json.loads(text).items() if name in found}
        else:
            values = {name: float(value) for name, value in re.findall(r"float (\S+) = (\S+)", text)}
            expected = {name: value for name, value in values.items() if value > 0.0}
        assert found == pytest.approx(expected, rel=1e-6)
        assert fleet_of(tmp_path, target).servo(0)["law"] == "voltage"


def test_what_is_not_possible_is_refused(spread, tmp_path):
    with pytest.raises(ExportError, match="available: mujoco, mjlab, isaaclab"):
        write_randomisation(spread, ["unity"], tmp_path)
    with pytest.raises(ExportError, match="at least 2"):
        prepare(spread, RandomisationOptions(draws=1))


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"draws": [[1.0]]},
        {"draws": []},
        {"names": ["nothing"]},
        {"native": {}},
        {"units": [["x"]]},
        {"draws": [[10**400]]},
    ],
    ids=str,
)
def test_what_is_no_fleet_is_refused(written, change):
    (file,) = (written[0] / "mujoco").glob("*.fleet.json")
    data = {**json.loads(file.read_text("utf-8")), **change}
    with pytest.raises(ValueError, match="fleet"):
        program("servobench_fleet").read_fleet(data)


def test_engine_fields_of_a_unit_are_those_of_its_own_export(spread, written, tmp_path):
    """`set_native` on the mean's scene gives the arrays that MuJoCo compiles of the unit's own export."""
    mujoco = pytest.importorskip("mujoco")
    setting, found = program("servobench_mujoco_fleet"), fleet_of(written[0], "mujoco")
    (scene,) = (written[0] / "mujoco").glob("*.pendulum.xml")
    for place in (0, 3):
        export_model(spread.units()[place], "mujoco", tmp_path / str(place), syntax="3.1")
        (expected,) = (tmp_path / str(place)).glob("*.pendulum.xml")
        theirs = mujoco.MjModel.from_xml_path(str(expected))
        ours = mujoco.MjModel.from_xml_path(str(scene))
        setting.set_native(ours, "servo", dict(zip(found.native_names, found.native_units[place], strict=True)))
        for name in (
            "dof_armature", "dof_damping", "dof_frictionloss", "dof_solref", "dof_solimp", "dof_M0",
            "actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_forcelimited",
        ):  # fmt: skip
            own, expected = (getattr(model, name) for model in (ours, theirs))
            if name == "actuator_forcerange":
                own, expected = (
                    model.actuator_forcerange[model.actuator_forcelimited == 1] for model in (ours, theirs)
                )
            np.testing.assert_allclose(own, expected, rtol=1e-12, err_msg=name)


def test_a_plain_position_actuator_takes_the_back_emf_as_damping():
    mujoco = pytest.importorskip("mujoco")
    setting = program("servobench_mujoco_fleet")
    body = '<body><joint name="elbow" axis="0 1 0"/><inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .01"/></body>'
    numbers = {"stiffness": 30.0, "damping": 0.5, "back_emf": 2.0, "torque_limit": 9.0}
    numbers |= {"friction": 0.1, "viscous": 0.05, "armature": 0.02}
    drive = '<position name="elbow" joint="elbow" kp="1"/>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{body}</worldbody><actuator>{drive}</actuator></mujoco>"
    )
    setting.set_native(model, "elbow", numbers)
    assert model.actuator_gainprm[0, 0] == 30.0
    np.testing.assert_array_equal(model.actuator_biasprm[0, :3], [0.0, -30.0, -2.5])
    np.testing.assert_array_equal(model.actuator_forcerange[0], [-9.0, 9.0])
    assert (model.dof_damping[0], model.dof_frictionloss[0], model.dof_armature[0]) == (0.05, 0.1, 0.02)

    bare = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    with pytest.raises(ValueError, match="0 position drives"):
        setting.set_native(bare, "elbow", numbers)
    with pytest.raises(ValueError, match="no joint"):
        setting.set_native(bare, "knee", numbers)


def test_a_specimen_is_whole_in_every_environment(written):
    """Each environment's joint holds one row; others keep theirs; the servo's delays and limits follow."""
    torch = pytest.importorskip("torch")
    found = fleet_of(written[0], "isaaclab")
    servo = program("servobench_torch").TorchServo([found.nominal] * 2, 6, 0.005, dtype=torch.float64)
    before = {name: value.clone() for name, value in servo.numbers.items()}
    servo.become(found.names, found.draws, [1, 4, 5], torch.Generator().manual_seed(0))

    rows = np.stack([servo.numbers[name].numpy() for name in found.names], axis=-1)
    for env in (1, 4, 5):
        for joint in (0, 1):
            assert any(np.array_equal(rows[env, joint], draw) for draw in found.draws)
    assert len({tuple(row) for row in rows[[1, 4, 5]].reshape(6, -1)}) > 1
    for name, value in servo.numbers.items():
        assert torch.equal(value[[0, 2, 3]], before[name][[0, 2, 3]])
        assert name in found.names or torch.equal(value, before[name])
    with pytest.raises(ValueError, match="wings"):
        servo.become(("wings",), [[1.0]])


def randomize_actuator_gains(
    env, env_ids, asset_cfg, stiffness_distribution_params=None, damping_distribution_params=None, operation="abs",
    distribution="uniform",
):  # fmt: skip
    """Of isaaclab.envs.mdp."""


def randomize_joint_parameters(
    env, env_ids, asset_cfg, friction_distribution_params=None, armature_distribution_params=None,
    lower_limit_distribution_params=None, upper_limit_distribution_params=None, operation="abs",
    distribution="uniform",
):  # fmt: skip
    """Of isaaclab.envs.mdp."""


@pytest.fixture
def isaac_events(monkeypatch):
    pytest.importorskip("torch")
    packages = {name: ModuleType(name) for name in ("isaaclab", "isaaclab.envs", "isaaclab.managers")}
    mdp = SimpleNamespace(
        randomize_actuator_gains=randomize_actuator_gains, randomize_joint_parameters=randomize_joint_parameters
    )
    packages["isaaclab.envs"].__dict__.update(mdp=mdp)
    packages["isaaclab.managers"].__dict__.update(EventTermCfg=SimpleNamespace)
    for name, package in packages.items():
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.syspath_prepend(str(STANDALONE))
    return loaded("servobench_isaaclab_fleet")


@pytest.fixture
def mjlab_events(monkeypatch):
    """The program beside stand-ins of what it imports."""
    pytest.importorskip("torch")
    packages = {name: ModuleType(name) for name in ("mjlab", "mjlab.envs", "mjlab.envs.mdp", "mjlab.managers")}
    packages["mjlab.envs.mdp"].__dict__["dr"] = None
    manager = packages["mjlab.managers.event_manager"] = ModuleType("mjlab.managers.event_manager")
    manager.__dict__.update(
        EventTermCfg=SimpleNamespace,
        RecomputeLevel=SimpleNamespace(set_const_0=0),
        requires_model_fields=lambda *fields, recompute: lambda function: function,
    )
    for name, package in packages.items():
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.syspath_prepend(str(STANDALONE))
    return loaded("servobench_mjlab_fleet")


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"{name}_under_test", STANDALONE / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_isaac_lab_is_given_factors_in_its_own_terms(isaac_events, written):
    """The engine's function applies one range to Coulomb and viscous friction, which only factors survive."""
    found = fleet_of(written[0], "isaaclab")
    (file,) = (written[0] / "isaaclab").glob("*.fleet.json")
    gains, joints = isaac_events.range_events(str(file), "robot")
    for term in (gains, joints):
        inspect.signature(term.func).bind(None, None, **term.params)
        assert (term.params["operation"], term.params["distribution"]) == ("scale", "log_uniform")
    low, high = joints.params["friction_distribution_params"]
    np.testing.assert_allclose(
        np.array([low, high]) * found.native_nominal["friction"], found.ranges["friction"], rtol=1e-12
    )
    assert low < 1.0 < high


def test_isaac_lab_gets_each_environments_armature_and_inertia(isaac_events, written):
    torch = pytest.importorskip("torch")
    (file,) = (written[0] / "isaaclab").glob("*.fleet.json")
    found = fleet_of(written[0], "isaaclab")
    servo = program("servobench_torch").TorchServo([found.nominal], 5, 0.005)
    load = 0.01
    actuator = SimpleNamespace(servo=servo, inertia=load + servo.numbers["armature"].clone(), joint_indices=[2])
    calls = []
    robot = SimpleNamespace(
        actuators={"arm": actuator},
        write_joint_armature_to_sim=lambda armature, joint_ids=None, env_ids=None: calls.append(
            (armature, joint_ids, env_ids)
        ),
    )
    env = SimpleNamespace(scene={"robot": robot})
    for chosen in (None, torch.tensor([0, 3]), torch.tensor([3])):
        isaac_events.specimen_per_env(env, chosen, SimpleNamespace(name="robot"), "arm", str(file))
        armature, joints, ids = calls[-1]
        assert joints == [2]
        torch.testing.assert_close(armature, servo.numbers["armature"][ids])
        torch.testing.assert_close(actuator.inertia, load + servo.numbers["armature"])
    assert len(servo.numbers["armature"].unique()) > 1


def test_a_bam_drive_gets_the_numbers_of_the_specimen_s_own_export(spread, written):
    """Isaac Lab is given of a unit what the export of that unit writes for its drive."""
    found = fleet_of(written[0], "isaaclab")
    unit, settings = spread.units()[3], spread.model.default_settings()
    given = program("servobench_fleet").bam_drive(
        {**found.nominal, **dict(zip(found.names, found.units[3], strict=True))}
    )

    expected = drive_values(in_bam_drive(unit)[0], settings, 0.005)
    assert {name: given[name] for name in expected if name in given} == pytest.approx(
        {name: value for name, value in expected.items() if name in given}
    )
    assert {"kt", "resistance", "error_gain", "max_pwm", "friction_base"} <= expected.keys() & given.keys()
    assert given["max_effort"] == pytest.approx(settings.supply_voltage * unit.values["kt"] / unit.values["R"])
    with pytest.raises(ValueError, match="voltage law"):
        program("servobench_fleet").bam_drive({**found.nominal, "law": "current"})


def test_isaac_labs_bam_drive_gets_whole_specimens(isaac_events, written, monkeypatch):
    """Motor and friction go to the drive, armature and viscous friction to the joint, of one row each."""
    torch = pytest.importorskip("torch")
    (file,) = (written[0] / "isaaclab").glob("*.fleet.json")
    found = fleet_of(written[0], "isaaclab")
    calls = {}

    def write(collection, group, component, attr, values, env_ids):
        assert (collection, group, component) == ("groups", "arm", "drive")
        calls[attr] = values, env_ids

    def to_joints(name):
        return lambda *, joint_ids, env_ids, **values: calls.update({name: (values[name], env_ids)})

    monkeypatch.setitem(sys.modules, "isaaclab.actuators", ModuleType("isaaclab.actuators"))
    newton = ModuleType("isaaclab.actuators.newton")
    newton.__dict__["write_group_parameter"] = write
    monkeypatch.setitem(sys.modules, newton.__name__, newton)
    robot = SimpleNamespace(
        actuators="groups",
        write_joint_armature_to_sim_index=to_joints("armature"),
        write_joint_viscous_friction_coefficient_to_sim_index=to_joints("joint_viscous_friction_coeff"),
    )
    env = SimpleNamespace(scene={"robot": robot}, device="cpu", num_envs=5)
    chosen = torch.tensor([0, 3])
    joints = SimpleNamespace(name="robot", joint_ids=[1, 4, 6])
    isaac_events.bam_specimen_per_env(env, chosen, joints, "arm", str(file))

    assert all(values.shape == (2, 3) and ids is chosen for values, ids in calls.values())
    names = {
        "torque_constant": "kt", "resistance": "resistance", "friction_base": "friction_base", "armature": "armature",
        "friction_viscous": "joint_viscous_friction_coeff",
    }  # fmt: skip
    assert set(names) == set(found.names)
    given = np.stack([calls[names[name]][0].numpy().ravel() for name in found.names], axis=1)
    for row in given:
        assert np.isclose(found.draws, row, rtol=1e-6).all(axis=1).any()
    assert len(np.unique(given, axis=0)) > 1


def bam_motor(numbers, supply, back_emf=1.0, gain=1.0):
    """Torque at an error of 0.1 rad and 1 rad/s, and the stall torque, of a voltage-law motor [N·m]."""
    per_volt = numbers["torque_constant"] / numbers["resistance"]
    torque = per_volt * (supply * gain * numbers["kp"] * 0.1 - back_emf * numbers["torque_constant"])
    return torque, per_volt * supply


def test_bams_own_actuator_becomes_the_specimens_motor(mjlab_events, written):
    """By a supply and gains of its nominal motor, worlds move as the specimens' motors do."""
    torch = pytest.importorskip("torch")
    (file,) = (written[0] / "isaaclab").glob("*.fleet.json")
    found = fleet_of(written[0], "isaaclab")
    gains = {}
    actuator = SimpleNamespace(
        vin_tensor=torch.zeros(4, 1),
        set_gains=lambda worlds, kp_scale, kd_scale: gains.update(worlds=worlds, kp=kp_scale, kd=kd_scale),
        target_ids=torch.tensor([0, 1]),
    )
    asset = SimpleNamespace(
        actuators=[SimpleNamespace(), actuator], indexing=SimpleNamespace(joint_v_adr=torch.tensor([2, 0]))
    )
    model = SimpleNamespace(dof_armature=torch.zeros(4, 3))
    env = SimpleNamespace(num_envs=4, device="cpu", scene={"robot": asset}, sim=SimpleNamespace(model=model))
    mjlab_events.bam_specimen_per_world(env, torch.tensor([1, 3]), str(file))

    low, high = mjlab_events.bam_vin_range(str(file))
    assert torch.equal(actuator.vin_tensor[[0, 2]], torch.zeros(2, 1))
    for place, world in enumerate((1, 3)):
        supply = float(actuator.vin_tensor[world, 0])
        assert low - 1e-6 <= supply <= high + 1e-6
        assert model.dof_armature[world, 0] == model.dof_armature[world, 2]
        (row,) = np.flatnonzero(
            np.isclose(found.draws[:, found.names.index("armature")], float(model.dof_armature[world, 0]), rtol=1e-6)
        )
        specimen = found.servo(row)
        expected = bam_motor(specimen, specimen["supply_voltage"])
        given = bam_motor(found.nominal, supply, float(gains["kd"][place, 0]), float(gains["kp"][place, 0]))
        assert given == pytest.approx(expected, rel=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("mjlab") is None, reason="mjlab is not installed")
class TestMjlab:
    """Three pendulums side by side in the engine itself."""

    @pytest.fixture
    def world(self, written):
        mujoco = importlib.import_module("mujoco")
        entities, scenes, sim = (importlib.import_module(f"mjlab.{name}") for name in ("entity", "scene", "sim"))
        actuators, folder = program("servobench_mjlab"), written[0] / "mjlab"
        (pendulum,), (servo,) = folder.glob("*.mjlab.xml"), folder.glob("*.servo.json")
        cfg = actuators.ServoBenchActuatorCfg(target_names_expr=("servo",), servo=str(servo))
        entity = entities.EntityCfg(
            spec_fn=lambda: mujoco.MjSpec.from_file(str(pendulum)),
            articulation=entities.EntityArticulationInfoCfg(actuators=(cfg,)),
        )
        scene = scenes.Scene(scenes.SceneCfg(num_envs=3, entities={"robot": entity}), device="cpu")
        simulation = sim.Simulation(
            3, sim.SimulationCfg(mujoco=sim.MujocoCfg(timestep=5e-3)), spec=scene.spec, device="cpu"
        )
        scene.initialize(simulation.mj_model, simulation.model, simulation.data)
        return SimpleNamespace(num_envs=3, device="cpu", scene=scene, sim=simulation)

    def test_worlds_are_specimens(self, world, written):
        torch = importlib.import_module("torch")
        events = program("servobench_mjlab_fleet")
        (file,) = (written[0] / "mjlab").glob("*.fleet.json")
        world.sim.expand_model_fields(events.specimen_per_world.model_fields)
        actuator = world.scene["robot"].actuators[0]
        other = actuator.inertia[0, 0] - actuator.servo.numbers["armature"][0, 0]
        events.specimen_per_world(world, None, str(file))
        world.sim.recompute_constants(events.specimen_per_world.recompute)
        armature = actuator.servo.numbers["armature"]
        assert len(armature.unique()) > 1
        torch.testing.assert_close(actuator.inertia, other + armature)
        torch.testing.assert_close(world.sim.model.dof_armature[:, actuator.dofs], armature)

        kept = armature[:2].clone()
        events.specimen_per_world(world, torch.tensor([2], dtype=torch.int), str(file))
        torch.testing.assert_close(actuator.servo.numbers["armature"][:2], kept)
        world.scene["robot"].set_joint_position_target(torch.full((3, 1), 0.5))
        for _ in range(200):
            world.scene.write_data_to_sim()
            world.sim.step()
            world.scene.update(5e-3)
        positions = world.scene["robot"].data.joint_pos[:, 0]
        assert torch.all((positions - 0.5).abs() < 0.2)
        assert len(positions.unique()) == 3
