"""Export to MuJoCo: the servo as a default class, and a pendulum scene that uses it (`core.export.targets.mujoco.xml`).

Friction M1 is exact. M2–M6 have no counterpart in the engine. The best M1, or the best M2 with exponent 2 as LuGre
friction, is written instead, refitted to the model's own motion (`core.export.approximation`). The
target "mujoco-hook" exports M1–M6 unchanged. Only `core.export.targets.mujoco.check` needs the engine itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.base.errors import ExportError, NotChecked
from core.export.approximation import Approximation, Form, approximate, in_form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import printable, slug
from core.export.notes import fit_notes, lead_note, missing_terms, settings_note
from core.export.programs import mujoco_engine
from core.export.protocol import measured, rollout_of_files
from core.export.references import GridRun, default_bench
from core.export.targets.mujoco.check import scene_of, simulate_in_mujoco
from core.export.targets.mujoco.xml import (
    BRAKE_GROUP,
    DRIVE_GROUP,
    EXPRESSIBLE,
    FINEST_STEP,
    SYNTAXES,
    actuator_classes,
    read_setup,
    scene_element,
    servo_element,
    xml_text,
)
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACTS

FRICTIONS = ("coulomb", "lugre")
VERSIONS = {
    "3.12": "MuJoCo 3.12 and later",
    "3.7": "MuJoCo 3.7 to 3.11, which mjlab 1.6 uses",
    "3.1": "MuJoCo 3.1 and later, and MJX",
}
"""Versions that read each syntax, and only these (`tests/bench/syntaxes.py`)."""
LUGRE_NOTE = (
    "LuGre friction needs time steps of 1 ms or less: at 5 ms its bristles are too stiff for the time step. It yields "
    "by a milliradian before it slides, and stays on when the motor is released."
)


BACKLASH_NOTE = (
    "A second joint for the backlash would not help: MuJoCo's actuators feed back the angle of the joint they drive, "
    "then that of the motor, but the servo measures the load, which would rest beside its goal by half of the "
    "backlash. Export to `mujoco-hook` or `mujoco-plugin` for backlash."
)


@dataclass(frozen=True, kw_only=True)
class MujocoOptions(ServoOptions):
    """Options of the export to MuJoCo."""

    syntax: str = field(default="3.12", metadata={"choices": SYNTAXES})
    """Oldest version of MuJoCo that reads the files; see `VERSIONS`."""
    friction: str = field(default="coulomb", metadata={"choices": FRICTIONS})
    """"coulomb": a constraint, for any time step; "lugre": bristles with the Stribeck effect, for 1 ms and less."""


def write_mujoco(model: ServoModel, folder: Path, options: MujocoOptions) -> ExportResult:
    """Write `<name>.servo.xml` and `<name>.pendulum.xml`; raise ExportError for impossible options."""
    settings = settings_of(model, options, "mujoco")
    _require_possible(options)
    bench = options.bench or default_bench(model)
    missing, approximation, written = _written(model, bench, settings, options)
    name = slug(model.title)
    notes = [
        *_fidelity_notes(model, missing, approximation, options),
        *_command_notes(written, settings, options),
    ]
    servo_file, scene_file = f"{name}.servo.xml", f"{name}.pendulum.xml"
    contents = _contents(model, written, bench, settings, options)
    meanings = {
        servo_file: "default classes of the servo's joint and actuators, for your robot",
        scene_file: f"pendulum, {printable(bench_title(bench))}, ready to run",
    }
    what, usage = VERSIONS[options.syntax], _usage(name, servo_file, written, options.syntax)
    nearest = approximation is not None
    return exported(folder, model, "mujoco", what, contents, meanings, notes, usage, approximated=nearest)


def _written(
    model: ServoModel, bench: Bench, settings: ServoSettings, options: MujocoOptions
) -> tuple[list[str], Approximation | None, ServoModel]:
    """Return the terms MuJoCo lacks, the approximation that replaces them, if any, and the written model."""
    form = Form(
        friction="m2" if options.friction == "lugre" else "m1",
        kept=EXPRESSIBLE[options.syntax],
        plain_drive=options.syntax == "3.1" and model.control.law == "current",
    )
    missing = missing_terms(model, form)
    if form.friction == "m1" and not missing:
        return missing, None, in_form(model, bench, form)
    approximation = approximate(model, bench, settings, form)
    return missing, approximation, approximation.model


def _contents(
    model: ServoModel, written: ServoModel, bench: Bench, settings: ServoSettings, options: MujocoOptions
) -> dict[str, str]:
    """Return the text of the servo's file and of the scene that includes it, by file name."""
    name, timestep, syntax = slug(model.title), options.timestep, options.syntax
    servo = f"{name}.servo.xml"
    return {
        servo: xml_text(servo_element(name, written, settings, timestep, syntax)),
        f"{name}.pendulum.xml": xml_text(scene_element(name, servo, model, written, bench, settings, timestep, syntax)),
    }


def bench_title(bench: Bench) -> str:
    """Describe a pendulum in a README."""
    return f"{bench.mass:g} kg at {bench.length:g} m"


def check_written(model: ServoModel, folder: Path, options: MujocoOptions) -> Check:
    """Run the exported scene in MuJoCo.

    Runs at other loads and gains use the same written servo, without another refit.

    Raises:
        ExportError: MuJoCo rejects the scene.
        NotChecked: MuJoCo is not installed, or the installed version reads another syntax.
    """
    version, syntax = str(mujoco_engine().__version__), options.syntax
    if not loads(syntax, version):
        fitting = next(key for key in SYNTAXES if loads(key, version))
        raise NotChecked(
            f"syntax {syntax} is for {VERSIONS[syntax]}, but {version} is installed here, which reads "
            f"`--set syntax={fitting}`"
        )
    read_setup(scene_of(folder, model))
    settings, bench = settings_of(model, options, "mujoco"), options.bench or default_bench(model)
    written = _written(model, bench, settings, options)[2]

    def write(model: ServoModel, place: Path, asked: MujocoOptions) -> None:
        other = settings_of(model, asked, "mujoco")
        for file, text in _contents(model, written, asked.bench or bench, other, asked).items():
            (place / file).write_text(text, encoding="utf-8")

    def simulate(place: Path, runs: Sequence[GridRun], step: float) -> list[NDArray[np.float64]]:
        delay = model.values.get("command_delay", 0.0)
        return [simulate_in_mujoco(scene_of(place, model), run, step, delay) for run in runs]

    rollout = rollout_of_files(model, folder, options, write, simulate)
    return measured(model, options, "mujoco", f"run in MuJoCo {version}", rollout)


def loads(syntax: str, version: str) -> bool:
    """True if a version of MuJoCo, e.g. "3.11.0", reads files of a syntax."""
    number = tuple(int(part) for part in version.split(".")[:2])
    first = tuple(int(part) for part in syntax.split("."))
    return first <= number and (syntax != "3.7" or number < (3, 12))


def _require_possible(options: MujocoOptions) -> None:
    if options.syntax not in SYNTAXES:
        raise ExportError(f"export to mujoco: no syntax {options.syntax!r}; available: {', '.join(SYNTAXES)}")
    if options.friction not in FRICTIONS:
        raise ExportError(f"export to mujoco: no friction {options.friction!r}; available: {', '.join(FRICTIONS)}")
    if options.syntax == "3.1" and (options.friction == "lugre" or options.ki > 0.0):
        raise ExportError("export to mujoco: LuGre friction and an integral gain need syntax 3.7 or later")


def _fidelity_notes(
    model: ServoModel, missing: list[str], approximation: Approximation | None, options: MujocoOptions
) -> list[str]:
    if approximation is None:
        return []
    lugre = [LUGRE_NOTE] if options.friction == "lugre" else []
    backlash = [BACKLASH_NOTE] if "backlash" in missing else []
    return [*fit_notes(approximation, "MuJoCo", missing), *backlash, *lugre]


def _command_notes(model: ServoModel, settings: ServoSettings, options: MujocoOptions) -> list[str]:
    others = "; ".join(f"`--set syntax={key}` is for {what}" for key, what in VERSIONS.items() if key != options.syntax)
    notes = [
        f"These files are for {VERSIONS[options.syntax]}. {others}.",
        settings_note(model, settings),
        lead_note(options.timestep),
        f"For torque off, disable actuator group {DRIVE_GROUP}: the motor is then an open circuit, without back-EMF.",
        "Friction relies on `solreffriction` and `solimpfriction` of the class and on the engine's `refsafe` flag, "
        "which is on by default; integrator `implicitfast` suits it best.",
    ]
    values = model.values
    if values.get("command_delay", 0.0) > 0.0:
        notes.append(
            f"Commands are delayed by {values['command_delay'] * 1e3:.3g} ms. `nsample` is valid for time steps of "
            f"{min(options.timestep, FINEST_STEP) * 1e3:g} ms and above. At shorter ones the engine loses the delay: "
            "set `nsample` to the delay divided by the time step, rounded up, plus 1. The engine does not delay the "
            "release of the motor: release it later by the delay."
        )
    if "goal_slew" in model.command_path:
        notes.append("The goal velocity limit starts at goal 0, whatever the joint's angle.")
    if values.get("release_braking", 0.0) > 0.0:
        notes.append(
            f"A released motor brakes: enable group {BRAKE_GROUP} whenever group {DRIVE_GROUP} is disabled. Its class "
            "is the servo's with `-brake`."
        )
    return notes


def _usage(name: str, servo_file: str, model: ServoModel, syntax: str) -> str:
    actuators = "\n".join(
        f'  <{element} name="elbow{ending}" class="{name}{ending}" joint="elbow"/>'
        for ending, element in actuator_classes(model, syntax)
    )
    return f"""\
In your robot's MJCF, with the joint and actuators named as you like:

```xml
<include file="{servo_file}"/>
<option integrator="implicitfast" actuatorgroupdisable="{BRAKE_GROUP}"/>
<joint name="elbow" class="{name}" axis="0 0 1"/>
<actuator>
{actuators}
</actuator>
```

The control of the first actuator is the goal in rad. Servos that are released separately each need a `group` of their
own. In Python:

```python
data.ctrl[0] = goal
model.opt.disableactuator = 1 << {BRAKE_GROUP}  # driven
model.opt.disableactuator = 1 << {DRIVE_GROUP}  # released
```
"""


EXPORTER = Exporter(
    target="mujoco",
    title="MuJoCo",
    description="Default class of the servo and pendulum scene; friction M1; for M2–M6 the nearest M1.",
    options=MujocoOptions,
    write=write_mujoco,
    check=check_written,
    contacts=tuple(CONTACTS),
    engine="MuJoCo",
    package="mujoco",
    install="'servobench[mujoco]'",
)
