"""Domain randomisation files for each engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.base.errors import ExportError
from core.export import export_model
from core.export.approximation import Form
from core.export.contract import ExportResult
from core.export.drives.envelope import envelope_drive_of
from core.export.drives.plain import drive_of
from core.export.targets import genesis, usd
from core.export.targets.isaaclab import KEPT, dc_motor
from core.export.targets.mujoco.xml import EXPRESSIBLE, servo_element
from core.fleet.randomisation.files import (
    Engine,
    Native,
    Nearest,
    OnProgress,
    Randomisation,
    RandomisationOptions,
    prepare,
    write_for,
)
from core.fleet.spread import Spread
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings

MUJOCO_SYNTAX = "3.1"
"""Syntax whose actuators keep gains and limits in separate engine arrays, in every version."""


def write_randomisation(
    spread: Spread,
    targets: list[str],
    folder: Path,
    options: RandomisationOptions | None = None,
    on_progress: OnProgress = lambda share, text: None,
    *,
    force: bool = False,
) -> list[Randomisation]:
    """Write a fleet's spread for engines, each into a folder of its name.

    Takes a few seconds for each unit and engine.

    Args:
        spread: The fleet's spread.
        targets: Names of the engines, keys of `ENGINES`.
        folder: Parent folder.
        options: Number of draws, seed, and the options of the ordinary export.
        on_progress: Called with the completed share of one engine's work and a description.
        force: Replace existing files that differ.

    Raises:
        ExportError: Unknown engine, impossible options, or a file that cannot be written or would be lost.
    """
    unknown = [target for target in targets if target not in ENGINES]
    if unknown:
        raise ExportError(f"no randomisation for {', '.join(unknown)}; available: {', '.join(ENGINES)}")
    prepared = prepare(spread, options or RandomisationOptions())
    return [write_for(prepared, ENGINES[target], folder / target, on_progress, force=force) for target in targets]


def _kept(model: ServoModel, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command path terms that both engine and model have, so that equivalent engines share a form."""
    return tuple(name for name in names if name in model.command_path)


def _options(options: RandomisationOptions) -> dict[str, Any]:
    names = ("kp", "ki", "damping", "supply_voltage", "bench", "timestep")
    return {name: getattr(options, name) for name in names}


def general_actuator(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Return the joint and actuator parameters of an export to MuJoCo, read from its MJCF; SI units."""
    form = Form(kept=_kept(model, EXPRESSIBLE[MUJOCO_SYNTAX]), plain_drive=model.control.law == "current")
    written = nearest(model, bench, settings, form)
    root = servo_element("servo", written, settings, model.dt, MUJOCO_SYNTAX)
    joint = next(root.iter("joint"))
    drives = list(root.iter("general"))
    back_emf = [-float(drive.attrib["biasprm"].split()[2]) for drive in drives[1:] if drive.get("group") == "1"]
    return {
        "stiffness": float(drives[0].attrib["gainprm"]),
        "damping": abs(float(drives[0].attrib["biasprm"].split()[2])),
        "back_emf": back_emf[0] if back_emf else 0.0,
        "torque_limit": float(drives[0].attrib["forcerange"].split()[1]),
        "friction": float(joint.attrib["frictionloss"]),
        "viscous": float(joint.attrib["damping"]),
        "armature": float(joint.attrib["armature"]),
    }


def position_drive(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Return the parameters of a position drive with a torque limit; SI units."""
    drive = drive_of(nearest(model, bench, settings, Form(plain_drive=True)), model, settings)
    names = ("stiffness", "damping", "torque_limit", "friction", "viscous", "armature")
    return {name: getattr(drive, name) for name in names}


def motor(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Return the fields of Isaac Lab's DC motor; SI units."""
    return dc_motor(nearest(model, bench, settings, Form(kept=_kept(model, KEPT))), settings)


def drive_in_genesis(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Return the parameters of Genesis' own drive; SI units."""
    if model.control.law == "current":
        drive = drive_of(nearest(model, bench, settings, genesis.PLAIN_FORM), model, settings)
        return genesis.drive_numbers(drive, drive.torque_limit, 0.0)
    servo = envelope_drive_of(nearest(model, bench, settings, genesis.FORM), settings)
    return genesis.drive_numbers(servo, servo.largest_torque, servo.resistance)


def attributes(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Return the attributes of a joint in USD that are not 0, in USD's units."""
    servo = envelope_drive_of(nearest(model, bench, settings, usd.FORM), settings)
    return {name: value for name, value in usd.attributes(servo).items() if value > 0.0}


def _plain(target: str) -> Callable[[ServoModel, Path, RandomisationOptions, bool], list[ExportResult]]:
    """Return the function that writes the ordinary export to a target."""

    def export(model: ServoModel, folder: Path, options: RandomisationOptions, force: bool) -> list[ExportResult]:
        return [export_model(model, target, folder, force=force, **_options(options))]

    return export


def _to_mujoco(model: ServoModel, folder: Path, options: RandomisationOptions, force: bool) -> list[ExportResult]:
    plain = export_model(model, "mujoco", folder, syntax=MUJOCO_SYNTAX, force=force, **_options(options))
    return [plain, *_plain("mujoco-hook")(model, folder, options, force)]


def _mujoco_usage(file: str) -> str:
    return f"""\
Friction at run time with all terms of the model, once per episode:

```python
from servobench_fleet import read_fleet
from servobench_mujoco import attach

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
mujoco.mj_resetData(model, data)
servos = attach(model, data, {{joint: fleet.servo(fleet.pick(random)) for joint in ("shoulder", "elbow")}})
```

Or the engine's own joint and actuator, with the servo's class of the export to MuJoCo or any position actuator:

```python
from servobench_mujoco_fleet import set_native

set_native(model, "elbow", fleet.native(fleet.pick(random)))
```
"""


def _mjlab_usage(file: str) -> str:
    return f"""\
With the actuator of `servobench_mjlab`, instead of the event `friction_per_world`:

```python
from servobench_mjlab_fleet import range_events, specimen_per_world

events = {{"servos": EventTermCfg(func=specimen_per_world, mode="reset", params={{"fleet": {json.dumps(file)}}})}}
```

With Rhoban/bam's own actuator (`bam.mjlab`), motor and armature of a specimen for each world, instead of its `vin`:

```python
from servobench_mjlab_fleet import bam_specimen_per_world, bam_vin_range

actuator = BamActuatorCfg(..., vin_range=bam_vin_range({json.dumps(file)}))
events["servos"] = EventTermCfg(func=bam_specimen_per_world, mode="reset", params={{"fleet": {json.dumps(file)}}})
```

With mjlab's `BuiltinPositionActuatorCfg`, whose values are in the file under `native` → `nominal`:

```python
events = range_events({json.dumps(file)}, SceneEntityCfg("robot", joint_names=("elbow",)))
```
"""


def _isaaclab_usage(file: str) -> str:
    return f"""\
With the actuators of `servobench_isaaclab`:

```python
from servobench_isaaclab_fleet import range_events, specimen_per_env

servos = EventTermCfg(
    func=specimen_per_env,
    mode="reset",
    params={{"asset_cfg": SceneEntityCfg("robot"), "actuators": "arm", "fleet": {json.dumps(file)}}},
)
```

With the engine's own BAM drive (`bam_cfg`), every parameter of a specimen except its delay:

```python
from servobench_isaaclab_fleet import bam_specimen_per_env

servos = EventTermCfg(
    func=bam_specimen_per_env,
    mode="reset",
    params={{
        "asset_cfg": SceneEntityCfg("robot", joint_names=["elbow"]),
        "actuators": "arm",
        "fleet": {json.dumps(file)},
    }},
)
```

With the engine's own DC motor (`plain_cfg`):

```python
gains, joints = range_events({json.dumps(file)}, SceneEntityCfg("robot", joint_names=["elbow"]))
```
"""


def _newton_usage(file: str) -> str:
    return f"""\
Pick a specimen for each joint of each world while building the model; `add_servo` accepts it instead of a servo file:

```python
from servobench_fleet import read_fleet
from servobench_newton import add_servo

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
for joint in joints:
    add_servo(builder, joint, fleet.servo(fleet.pick(random)), load_inertia=0.005)  # kg·m², of your robot
```
"""


def _drake_usage(file: str) -> str:
    return f"""\
Build one diagram per specimen; `attach` accepts a specimen instead of a servo file:

```python
from servobench_drake import attach
from servobench_fleet import read_fleet

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
servos = attach(builder, plant, {{joint: fleet.servo(fleet.pick(random)) for joint in ("shoulder", "elbow")}})
```
"""


def _pybullet_usage(file: str) -> str:
    return f"""\
Once per episode:

```python
from servobench_fleet import read_fleet
from servobench_pybullet import Servos

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
servos = Servos(robot, {{joint: fleet.servo(fleet.pick(random)) for joint in ("shoulder", "elbow")}})
```
"""


def _genesis_usage(file: str) -> str:
    return f"""\
A specimen per joint and environment, with all terms of the model; needs `RigidOptions(batch_dofs_info=True)`:

```python
from servobench_fleet import read_fleet

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
servos.become(fleet.names, fleet.draws)
```

Or the engine's own drive, with one specimen for all environments:

```python
numbers = {{"format": "servobench-drive", "version": 1, **fleet.native(fleet.pick(random))}}
drive = set_drive(scene, robot, {{"elbow": numbers}})
```
"""


def _usd_usage(file: str) -> str:
    return f"""\
`native` holds joint attributes in the units of USD (degrees), for PhysX, Isaac Sim and Newton:

```python
from servobench_fleet import read_fleet

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
joint = stage.GetPrimAtPath("/World/robot/elbow")  # a joint that references the servo
for name, value in fleet.native(fleet.pick(random)).items():
    joint.GetAttribute(name).Set(value)
```

`ranges` holds the range of each attribute, for a randomiser that draws them independently.
"""


_ENGINES = (
    Engine(
        target="mujoco",
        title="MuJoCo",
        programs=("servobench_fleet.py", "servobench_mujoco_fleet.py"),
        export=_to_mujoco,
        native=general_actuator,
        usage=_mujoco_usage,
    ),
    Engine(
        target="mjlab",
        title="mjlab",
        programs=("servobench_fleet.py", "servobench_mjlab_fleet.py"),
        export=_plain("mjlab"),
        native=position_drive,
        usage=_mjlab_usage,
        notes=(
            "`dr.joint_armature` and `specimen_per_world` make the engine recompute its constants: call them once per "
            "episode, not once per step.",
            "Rhoban/bam's actuator has a supply voltage and gains of error and back-EMF for each world. They make its "
            "motor a specimen's, the same for all joints. It cannot randomise friction, which all worlds share; the "
            "actuator of `servobench_mjlab` can. A current limit remains the nominal motor's.",
        ),
    ),
    Engine(
        target="isaaclab",
        title="Isaac Lab",
        programs=("servobench_fleet.py", "servobench_isaaclab_fleet.py"),
        export=_plain("isaaclab"),
        native=motor,
        usage=_isaaclab_usage,
        notes=(
            "`randomize_joint_parameters` draws static, dynamic and viscous friction one after the other from a single "
            "range. It gets scale factors, those of the Coulomb friction. The motor's torque–speed line remains the "
            "nominal one.",
            "The engine's BAM drive accepts every parameter of a specimen for each joint of each environment. It "
            "cannot randomise parameters it lacks. It draws the delay itself from `min_delay` to `max_delay`, in whole "
            "steps for all environments.",
        ),
    ),
    Engine(
        target="newton",
        title="Newton",
        programs=("servobench_fleet.py",),
        export=_plain("newton"),
        native=position_drive,
        usage=_newton_usage,
    ),
    Engine(
        target="drake",
        title="Drake",
        programs=("servobench_fleet.py",),
        export=_plain("drake"),
        native=position_drive,
        usage=_drake_usage,
    ),
    Engine(
        target="pybullet",
        title="PyBullet",
        programs=("servobench_fleet.py",),
        export=_plain("pybullet"),
        native=position_drive,
        usage=_pybullet_usage,
    ),
    Engine(
        target="genesis",
        title="Genesis",
        programs=("servobench_fleet.py",),
        export=_plain("genesis"),
        native=drive_in_genesis,
        usage=_genesis_usage,
    ),
    Engine(
        target="usd",
        title="USD",
        programs=("servobench_fleet.py",),
        export=_plain("usd"),
        native=attributes,
        usage=_usd_usage,
    ),
)
ENGINES = MappingProxyType({engine.target: engine for engine in _ENGINES})
