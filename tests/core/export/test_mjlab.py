"""Export to mjlab: the files, and where mjlab is installed the actuator on MuJoCo Warp itself, on the processor."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.export.contract import ServoOptions
from core.export.programs import program
from core.export.references import GridRun, converged_positions, default_bench
from core.export.servo_file import servo_numbers
from core.export.targets.mjlab import EXPORTER, PROGRAMS, simulate_in_mjlab
from core.export.targets.mujoco.xml import pendulum_inertial
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.model import with_contact
from core.servo.shipped import load_model
from tests.core.conftest import PENDULUM

needs_mjlab = pytest.mark.skipif(importlib.util.find_spec("mjlab") is None, reason="mjlab is not installed")
DT = 0.005


def test_the_files_say_what_the_model_says(tmp_path):
    model = load_model("mx106", "m6")

    result = EXPORTER.write(model, tmp_path, ServoOptions(kp=12.0, supply_voltage=11.5))

    files = {path.name.partition(".")[2]: path for path in result.files}
    assert {path.name for path in result.files} >= {*PROGRAMS, "README.md"}
    settings = replace(model.default_settings(12.0), supply_voltage=11.5)
    assert json.loads(files["servo.json"].read_text()) == servo_numbers(model, settings)
    scene = ET.parse(files["mjlab.xml"]).getroot()
    assert scene.find("actuator") is scene.find("option") is scene.find("default") is None
    compile(files["mjlab.py"].read_text(), "example", "exec")
    assert not result.approximated


@needs_mjlab
def test_servos_side_by_side_move_as_their_models_do(tmp_path):
    """Mean distance from the converged motion at 5 ms, each trajectory in a world of its own: under 3 mrad."""
    models = [
        with_contact(load_model(servo, "m6"), contact)
        for servo, *contacts in (("mx106", "rigid", "elastoplastic"), ("erob80_100", "rigid", "elastoplastic_rational"))
        for contact in contacts
    ]
    pendulums = []
    for number, model in enumerate(models):
        EXPORTER.write(model, tmp_path / str(number), ServoOptions())
        pendulums.append([next((tmp_path / str(number)).glob(f"*.{end}")) for end in ("mjlab.xml", "servo.json")])

    found = simulate_in_mjlab(pendulums, [make_trajectory(name) for name in PAPER_TRAJECTORIES], DT, Bench.gravity)

    for model, worlds in zip(models, found, strict=True):
        for name, positions in zip(PAPER_TRAJECTORIES, worlds, strict=True):
            run = GridRun(trajectory=name, bench=default_bench(model), settings=model.default_settings())
            expected = converged_positions(model, run, DT, held=True)
            assert 1e3 * np.abs(positions[: len(expected)] - expected).mean() < 3.0, (model.title, name)


class Worlds:
    """A robot of two servo joints on a fixed or floating base, in mjlab; the first joint only holds a light link."""

    def __init__(self, model, *, floating=False, worlds=2, expand=True):
        import mujoco
        import torch
        from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
        from mjlab.scene import Scene, SceneCfg
        from mjlab.sim import MujocoCfg, Simulation, SimulationCfg

        self.actuators: Any = program("servobench_mjlab")
        mass, distance, inertia = (float(x) for x in pendulum_inertial(PENDULUM))
        self.model = model
        base = '<freejoint/><inertial pos="0 0 0" mass="1e4" diaginertia="1e4 1e4 1e4"/>' if floating else ""
        xml = f"""<mujoco><worldbody><body name="base" gravcomp="1">{base}
          <body name="idle"><joint name="idle" axis="0 -1 0" frictionloss="0.3"/>
            <inertial pos="0 0 -0.01" mass="0.01" diaginertia="1e-3 1e-3 1e-3"/></body>
          <body name="link"><joint name="elbow" axis="0 -1 0"/>
            <inertial pos="0 0 {-distance!r}" mass="{mass!r}" diaginertia="{inertia!r} {inertia!r} {inertia!r}"/></body>
        </body></worldbody></mujoco>"""
        numbers = servo_numbers(model, model.default_settings())
        servo = self.actuators.ServoBenchActuatorCfg(target_names_expr=("elbow",), servo=numbers)
        robot = EntityCfg(
            spec_fn=lambda: mujoco.MjSpec.from_string(xml),
            articulation=EntityArticulationInfoCfg(actuators=(servo,)),
        )
        self.scene = Scene(SceneCfg(num_envs=worlds, entities={"robot": robot}), device="cpu")
        options = SimulationCfg(mujoco=MujocoCfg(timestep=DT))
        self.sim = Simulation(worlds, options, spec=self.scene.spec, device="cpu")
        self.scene.initialize(self.sim.mj_model, self.sim.model, self.sim.data)
        if expand:
            self.sim.expand_model_fields(self.actuators.MODEL_FIELDS)
        self.robot = self.scene["robot"]
        self.servo = self.robot.actuators[0]
        self.torch = torch

    def run(self, goals, steps):
        """Elbow positions after each step, (steps, worlds) rad."""
        positions = []
        for _ in range(steps):
            goal = self.torch.tensor([[0.0, goal] for goal in goals])
            self.robot.set_joint_position_target(goal)
            self.scene.write_data_to_sim()
            self.sim.step()
            self.scene.update(DT)
            positions.append(self.robot.data.joint_pos[:, 1].clone())
        return self.torch.stack(positions)


@needs_mjlab
def test_the_load_on_a_floating_base_is_that_on_a_fixed_one():
    """Friction rows belong to DOFs: with six of a free joint ahead, joint ids point at the wrong ones."""
    model = load_model("mx106", "m6")
    worlds = {floating: Worlds(model, floating=floating) for floating in (False, True)}

    positions = {floating: w.run((0.6, -1.2), 150) for floating, w in worlds.items()}

    worlds[False].torch.testing.assert_close(positions[True], positions[False], rtol=0.0, atol=2e-3)
    for w in worlds.values():
        gravity = -PENDULUM.gravity_torque * np.sin(positions[False][-1].numpy())
        np.testing.assert_allclose(w.servo.external_torque[:, 0], gravity, atol=5e-3)


@needs_mjlab
def test_a_reset_world_starts_anew_and_asking_twice_changes_nothing():
    worlds = Worlds(load_model("mx106", "m6"))
    first = worlds.run((0.7, 0.7), 60)
    worlds.sim.reset(worlds.torch.tensor([1]))
    worlds.robot.reset(worlds.torch.tensor([1]))
    # As environments do after a reset, with targets that are not set yet.
    worlds.scene.write_data_to_sim()
    worlds.sim.forward()

    second = worlds.run((0.7, 0.7), 60)

    worlds.torch.testing.assert_close(second[:, 1], first[:, 1], rtol=0.0, atol=2e-4)
    assert (second[:, 0] - first[-1, 0]).abs().max() < 1e-2


@needs_mjlab
def test_worlds_that_share_their_friction_are_refused():
    with pytest.raises(RuntimeError, match="friction_per_world"):
        Worlds(load_model("mx106", "m1"), expand=False).run((0.0, 0.0), 1)
