"""Domain randomisation engine by engine: MuJoCo, mjlab, Isaac Lab."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.bench import Bench
from core.errors import ExportError
from core.export import export_model
from core.export.approximation import Form
from core.export.contract import ExportResult
from core.export.drive import drive_of
from core.export.isaaclab import KEPT, dc_motor
from core.export.mujoco_xml import EXPRESSIBLE, servo_element
from core.export.randomisation import (
    Engine,
    Native,
    Nearest,
    Randomisation,
    RandomisationOptions,
    Told,
    prepare,
    write_for,
)
from core.fleet.spread import Spread
from core.model import ServoModel
from core.recording import ServoSettings

MUJOCO_SYNTAX = "3.1"
"""Its actuators have gains and limits of their own in the engine's arrays, whatever the version."""


def write_randomisation(
    spread: Spread,
    targets: list[str],
    folder: Path,
    options: RandomisationOptions | None = None,
    told: Told = lambda share, text: None,
    *,
    force: bool = False,
) -> list[Randomisation]:
    """Write a fleet's spread for engines, each into a folder of its name; raises ExportError.

    force: replace existing files that differ.

    A few seconds for each unit and engine, which `told` reports as a share of one engine's work and words.
    """
    unknown = [target for target in targets if target not in ENGINES]
    if unknown:
        raise ExportError(f"no randomisation for {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    prepared = prepare(spread, options or RandomisationOptions())
    return [write_for(prepared, ENGINES[target], folder / target, told, force=force) for target in targets]


def _kept(model: ServoModel, names: tuple[str, ...]) -> tuple[str, ...]:
    """Terms of the command path that an engine has and the model, so that engines without difference share a form."""
    return tuple(name for name in names if name in model.command_path)


def _options(options: RandomisationOptions) -> dict[str, Any]:
    names = ("kp", "ki", "damping", "supply_voltage", "bench", "timestep")
    return {name: getattr(options, name) for name in names}


def general_actuator(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Numbers of the joint and the actuators that an export to MuJoCo writes, read off what it writes; SI units."""
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
    """Numbers of a position drive with everything within its torque limit, SI units."""
    drive = drive_of(nearest(model, bench, settings, Form(plain_drive=True)), model, settings)
    names = ("stiffness", "damping", "torque_limit", "friction", "viscous", "armature")
    return {name: getattr(drive, name) for name in names}


def motor(model: ServoModel, bench: Bench, settings: ServoSettings, nearest: Nearest) -> Native:
    """Fields of Isaac Lab's DC motor, SI units."""
    return dc_motor(nearest(model, bench, settings, Form(kept=_kept(model, KEPT))), settings)


def _to_mujoco(model: ServoModel, folder: Path, options: RandomisationOptions, force: bool) -> list[ExportResult]:
    plain = export_model(model, "mujoco", folder, syntax=MUJOCO_SYNTAX, force=force, **_options(options))
    return [plain, export_model(model, "mujoco-hook", folder, force=force, **_options(options))]


def _to_mjlab(model: ServoModel, folder: Path, options: RandomisationOptions, force: bool) -> list[ExportResult]:
    return [export_model(model, "mjlab", folder, force=force, **_options(options))]


def _to_isaaclab(model: ServoModel, folder: Path, options: RandomisationOptions, force: bool) -> list[ExportResult]:
    return [export_model(model, "isaaclab", folder, force=force, **_options(options))]


def _mujoco_usage(file: str) -> str:
    return f"""\
Friction at run time, all terms of the model; once an episode:

```python
from servobench_fleet import read_fleet
from servobench_mujoco import attach

fleet, random = read_fleet({json.dumps(file)}), np.random.default_rng(0)
mujoco.mj_resetData(model, data)
servos = attach(model, data, {{joint: fleet.servo(fleet.pick(random)) for joint in ("shoulder", "elbow")}})
```

Or the engine's own joint and actuator, with the servo's class from the export to MuJoCo or any position actuator:

```python
from servobench_mujoco_fleet import set_native

set_native(model, "elbow", fleet.native(fleet.pick(random)))
```
"""


def _mjlab_usage(file: str) -> str:
    return f"""\
With the actuator of `servobench_mjlab`, in place of the event `friction_per_world`:

```python
from servobench_mjlab_fleet import range_events, specimen_per_world

events = {{"servos": EventTermCfg(func=specimen_per_world, mode="reset", params={{"fleet": {json.dumps(file)}}})}}
```

With mjlab's `BuiltinPositionActuatorCfg`, whose numbers are `native` → `nominal` of the file:

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

With the engine's own DC motor (`plain_cfg`):

```python
gains, joints = range_events({json.dumps(file)}, SceneEntityCfg("robot", joint_names=["elbow"]))
```
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
        export=_to_mjlab,
        native=position_drive,
        usage=_mjlab_usage,
        notes=(
            "`dr.joint_armature` and `specimen_per_world` have the engine compute its constants anew: once an episode, "
            "not once a step.",
        ),
    ),
    Engine(
        target="isaaclab",
        title="Isaac Lab",
        programs=("servobench_fleet.py", "servobench_isaaclab_fleet.py"),
        export=_to_isaaclab,
        native=motor,
        usage=_isaaclab_usage,
        notes=(
            "`randomize_joint_parameters` draws static, dynamic and viscous friction one after the other from one "
            "range: it is given factors, those of the Coulomb friction. The motor's torque–speed line stays the "
            "nominal one.",
        ),
    ),
)
ENGINES = MappingProxyType({engine.target: engine for engine in _ENGINES})
