"""Export to mjlab and MuJoCo Warp: the identified servo as an actuator for thousands of worlds at once.

Nothing is approximated. The actuator, `core/export/standalone/servobench_mjlab.py`, computes law, motor and command
path in PyTorch and sets the engine's own joint friction before each step.

The export also writes parameters for Rhoban/bam's own actuator, with the error caused by it and its time step
(`core.export.drives.reference`).
"""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import ExportError
from core.base.words import counted
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.drives.reference import STEP, as_reference_drive, refusal
from core.export.files import slug
from core.export.notes import bristle_notes, settings_note
from core.export.programs import engine, program, require_unchanged
from core.export.protocol import measured, rollout_of_scene
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.xml import pendulum_element, xml_text
from core.motion.trajectories import Trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel, model_to_bam
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

PROGRAMS = ("servobench_mjlab.py", "servobench_torch.py")


def write_mjlab(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers, a pendulum and an example."""
    settings = settings_of(model, options, "mjlab")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, pendulum, example = f"{name}.servo.json", f"{name}.mjlab.xml", f"{name}.mjlab.py"
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        pendulum: xml_text(pendulum_entity(name, model, bench, settings, options.timestep)),
        example: _example(servo, pendulum, options.timestep),
    }
    bam, bam_meanings, bam_notes, bam_usage = _for_bam(name, model, bench, settings)
    contents |= bam
    meanings = {
        PROGRAMS[0]: "actuator of mjlab 1.6 on mujoco_warp 3.11",
        PROGRAMS[1]: "the servo itself, which the actuator uses; needs torch",
        servo: "parameters of this servo",
        pendulum: "pendulum without an actuator, as an entity of mjlab",
        example: "runs four pendulums side by side",
        **bam_meanings,
    }
    notes = [
        "The engine computes in single precision, and friction uses the load of the previous step.",
        f"{settings_note(model, settings)} At run time they are in `actuator.servo.numbers`.",
        "Each world needs its own joint friction: add the event `friction_per_world` as below.",
        "Use physics time steps of up to 5 ms.",
        "Commands given for a step act half a step later on average, as with a servo that polls them.",
        "For torque off, set the actuator's `torque_enable` to 0. Velocity and effort targets are ignored.",
        *bristle_notes(model, "a reset of the environment"),
        *bam_notes,
    ]
    return exported(
        folder, model, "mjlab", "mjlab and MuJoCo Warp", contents, meanings, notes, _usage(servo) + bam_usage
    )


def _for_bam(
    name: str, model: ServoModel, bench: Bench, settings: ServoSettings
) -> tuple[dict[str, str], dict[str, str], list[str], str]:
    """Return the parameter files for Rhoban/bam's actuator, their meanings, notes and usage."""
    if model.control.command != "position":
        return {}, {}, [], ""
    why_not = refusal(model)
    if why_not:
        return {}, {}, [f"Rhoban/bam's actuator for mjlab (`bam.mjlab`) cannot represent this servo: {why_not}."], ""
    found = as_reference_drive(model, bench, settings)
    step = f"{STEP * 1e3:g} ms"
    file, carried_file = f"{name}.mjlab-bam.json", f"{name}.mjlab-bam-{STEP * 1e3:g}ms.json"
    plain = {file: _bam_text(found.plain.model)}
    meanings = {file: "the identified values for Rhoban/bam's actuator"}
    notes: list[str] = []
    if found.carried is not None:
        plain[carried_file] = _bam_text(found.carried.model)
        meanings[carried_file] = f"values carried over to its update order at {step}; use them nowhere else"
    lost = f" It cannot represent {', '.join(found.lost)}." if found.lost else ""
    notes.append(
        f"Rhoban/bam's own actuator for mjlab (`bam.mjlab`) was simulated here in its update order with time steps of "
        f"{step}. Its error against the identified model over the runs of a check is "
        f"{found.statement(carried_file)}.{lost} It cannot be released."
    )
    delay = model.values.get("command_delay", 0.0)
    if delay > 0.0:
        notes.append(
            f"Its delay is {counted(found.delay_steps, 'step')}, {delay * 1e3:.3g} ms rounded up at {step}. It does "
            "not read the delay from its file."
        )
    late = found.delay_steps
    delays = f"\n    delay_min_lag={late},\n    delay_max_lag={late}," if late else ""
    usage = f"""
Rhoban/bam's own actuator instead of the above, with time steps of {step} and MuJoCo's integrator `euler`
(`pip install "better-actuator-models[mjlab]"`, release 1.0.2, for Python 3.12 and mjlab 1.3):

```python
from bam.mjlab import BamActuatorCfg, bam_init

actuator = BamActuatorCfg(
    target_names_expr=("elbow",),
    json_path="{file if found.carried is None else carried_file}",
    kp_fw={found.gain:.6g},
    vin={settings.supply_voltage:g},{delays}
)
events = {{"friction": EventTermCfg(func=bam_init, mode="startup")}}
```
"""
    return plain, meanings, notes, usage


def _bam_text(model: ServoModel) -> str:
    """Return the file of Rhoban/bam; the gain ratio is part of `kp_fw` instead."""
    flat = model_to_bam(model)
    flat.pop("error_gain_ratio", None)
    return json.dumps(flat, indent=4) + "\n"


def pendulum_entity(name: str, model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> ET.Element:
    """Return the pendulum bench as an mjlab entity: without actuators and simulation options."""
    root = pendulum_element(name, model, bench, settings, timestep)
    for option in root.findall("option"):
        root.remove(option)
    for joint in root.iter("joint"):
        joint.attrib.pop("class", None)
    return root


def check_mjlab(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported pendulum with the exported servo in mjlab."""
    engine("mjlab", "mjlab", "mjlab")
    require_unchanged(folder, PROGRAMS)
    name = slug(model.title)

    def write(model: ServoModel, place: Path, options: ServoOptions) -> None:
        settings, bench = settings_of(model, options, "mjlab"), options.bench or default_bench(model)
        scene = pendulum_entity(name, model, bench, settings, options.timestep)
        (place / f"{name}.mjlab.xml").write_text(xml_text(scene), encoding="utf-8")
        (place / f"{name}.servo.json").write_text(servo_text(model, settings), encoding="utf-8")

    def simulate(conditions: Sequence[tuple[Path, list[GridRun]]], step: float) -> Array:
        pendulums = [(place / f"{name}.mjlab.xml", place / f"{name}.servo.json") for place, _ in conditions]
        runs = conditions[0][1]
        trajectories = [run.path for run in runs]
        return np.concatenate(simulate_in_mjlab(pendulums, trajectories, step, runs[0].bench.gravity))

    rollout = rollout_of_scene(model, folder, options, write, simulate)
    return measured(model, options, "mjlab", f"run in mjlab {version('mjlab')}", rollout)


def simulate_in_mjlab(
    pendulums: Sequence[tuple[Path, Path]], trajectories: Sequence[Trajectory], timestep: float, gravity: float
) -> Array:
    """Run exported pendulums in mjlab; all pendulums on one trajectory share a world.

    Args:
        pendulums: Exported scene and servo file of each pendulum.
        trajectories: Trajectories, one world each.
        timestep: Time step [s].
        gravity: Gravity [m/s²].

    Returns:
        Positions before each time step [rad], shape (pendulums, trajectories, steps).
    """
    mujoco, torch = (importlib.import_module(name) for name in ("mujoco", "torch"))
    entities, scenes, sim = (importlib.import_module(f"mjlab.{name}") for name in ("entity", "scene", "sim"))
    actuators: Any = program("servobench_mjlab")

    def side_by_side() -> Any:
        spec = mujoco.MjSpec()
        for number, (pendulum, _) in enumerate(pendulums):
            spec.attach(mujoco.MjSpec.from_file(str(pendulum)), frame=spec.worldbody.add_frame(), prefix=f"{number}-")
        return spec

    try:
        servos = {f"{number}-servo": str(servo) for number, (_, servo) in enumerate(pendulums)}
        actuator = actuators.ServoBenchActuatorCfg(target_names_expr=tuple(servos), servo=servos)
        entity = entities.EntityCfg(
            spec_fn=side_by_side,
            articulation=entities.EntityArticulationInfoCfg(actuators=(actuator,)),
        )
        worlds = len(trajectories)
        scene = scenes.Scene(scenes.SceneCfg(num_envs=worlds, entities={"pendulum": entity}), device="cpu")
        physics = sim.MujocoCfg(timestep=timestep, gravity=(0.0, 0.0, -gravity))
        simulation = sim.Simulation(worlds, sim.SimulationCfg(mujoco=physics), spec=scene.spec, device="cpu")
        scene.initialize(simulation.mj_model, simulation.model, simulation.data)
    except ValueError as error:
        raise ExportError(f"{pendulums[0][0]}: mjlab rejects it: {error}") from None
    simulation.expand_model_fields(actuators.MODEL_FIELDS)
    robot = scene["pendulum"]
    time = timestep * np.arange(round(max(t.duration for t in trajectories) / timestep))
    goals = torch.tensor(np.array([t.goal(time) for t in trajectories])).float()
    enables = torch.tensor(np.array([t.torque_enable(time) for t in trajectories])).float()
    positions = np.empty((len(pendulums), *goals.shape))
    for k in range(len(time)):
        positions[:, :, k] = robot.data.joint_pos.T
        robot.set_joint_position_target(goals[:, k : k + 1].expand(-1, len(pendulums)))
        robot.actuators[0].torque_enable[:] = enables[:, k : k + 1]
        scene.write_data_to_sim()
        simulation.step()
        scene.update(timestep)
    return positions


def _example(servo: str, pendulum: str, timestep: float) -> str:
    return f"""\
\"\"\"Four pendulums side by side, each with its own goal. In an environment, mjlab does most of this itself.\"\"\"

from pathlib import Path

import mujoco
import torch
from mjlab.entity import EntityArticulationInfoCfg, EntityCfg
from mjlab.scene import Scene, SceneCfg
from mjlab.sim import MujocoCfg, Simulation, SimulationCfg
from servobench_mjlab import MODEL_FIELDS, ServoBenchActuatorCfg

HERE = Path(__file__).parent
PENDULUM = HERE / {json.dumps(pendulum)}
SERVO = HERE / {json.dumps(servo)}
DT = {timestep!r}
DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"

servo = ServoBenchActuatorCfg(target_names_expr=("servo",), servo=SERVO)
robot = EntityCfg(
    spec_fn=lambda: mujoco.MjSpec.from_file(str(PENDULUM)),
    articulation=EntityArticulationInfoCfg(actuators=(servo,)),
)
scene = Scene(SceneCfg(num_envs=4, entities={{"robot": robot}}), device=DEVICE)
sim = Simulation(4, SimulationCfg(mujoco=MujocoCfg(timestep=DT)), spec=scene.spec, device=DEVICE)
scene.initialize(sim.mj_model, sim.model, sim.data)
sim.expand_model_fields(MODEL_FIELDS)

scene["robot"].set_joint_position_target(torch.tensor([[0.0], [0.3], [0.6], [0.9]], device=DEVICE))
for _ in range(round(1.0 / DT)):
    scene.write_data_to_sim()
    sim.step()
    scene.update(DT)
print(scene["robot"].data.joint_pos[:, 0])
"""


def _usage(servo: str) -> str:
    return f"""\
Keep the programs and the parameters next to the module of your robot. In the configuration of the robot and of the
environment:

```python
from servobench_mjlab import ServoBenchActuatorCfg, friction_per_world

articulation = EntityArticulationInfoCfg(
    actuators=(ServoBenchActuatorCfg(target_names_expr=("elbow",), servo="{servo}"),)
)
events = {{"friction": EventTermCfg(func=friction_per_world, mode="startup")}}
```

For several servos in one group, use `servo={{"shoulder": "…", "elbow": "…"}}` with patterns of joint names. Per world:
`actuator.servo.randomize("friction_base", 0.8, 1.2, env_ids)`, `actuator.torque_enable[env_ids] = 0.0`. An actuator
advances in `scene.update`, which environments call after every step of the simulation.
"""


EXPORTER = Exporter(
    target="mjlab",
    title="MuJoCo Warp / mjlab",
    description="Actuator with friction M1–M6, control law and command path as identified, for batched simulation.",
    options=ServoOptions,
    contacts=tuple(CONTACTS),
    write=write_mjlab,
    check=check_mjlab,
    any_law=True,
    load_memory=True,
    engine="mjlab",
    package="mjlab",
    install="mjlab",
)
