"""Export to Isaac Lab: the identified servo as its own actuator, and the nearest DC motor of the engine.

The actuator, `core/export/standalone/servobench_isaaclab.py`, approximates only the load of a joint, which the engine
does not report: it derives the load from the joint's motion.

The engine's own `DCMotor` computes τ = clip(kp'·(u − q) − kd'·q̇, τ_stall·(±1 − q̇/ω_max)), and ±τ_limit. With

    voltage law:  kp' = kp·U·k_t/R   kd' = k_t²/R          τ_stall = U·k_t/R·(largest duty)   no τ_limit, or k_t·I_max
    current law:  kp' = k_t·kp       kd' = k_t·damping·√kp  τ_stall = U·k_t/R                  τ_limit = k_t·I_heat

and ω_max = τ_stall·R/k_t², this is exactly the law of Duclusaud et al., eqs (12)–(15), up to
ω_max·(1 + τ_limit/τ_stall), above which the engine clips with a constant velocity. Friction M1 is the engine's own
joint friction; M2–M6 become the best M1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.base.errors import ExportError
from core.export.approximation import Form, approximate, in_form
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.drives.bam import API, drive_notes, drive_usda, in_bam_drive, in_drive, isaaclab_text
from core.export.drives.reference import STEP
from core.export.files import slug
from core.export.notes import bristle_notes, lost_terms, settings_note, zero_number
from core.export.programs import engine, program, require_unchanged
from core.export.protocol import held_commands, measured, tilted
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_numbers, servo_text, standalone_text
from core.kernel.layout import Slot
from core.servo.actuator import FAST_DECAY
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import CONTACT_TITLES, CONTACTS

PROGRAMS = ("servobench_isaaclab.py", "servobench_torch.py")
KEPT = ("error_gain_ratio",)
"""Command path terms of the engine's own DC motor."""
NO_LIMIT = 10.0
"""Torque limit of a motor without one, as a multiple of the stall torque."""
_DC_MOTOR_NOTE = (
    "The DC motor's parameters are for Isaac Lab 2.2 and later; earlier versions do not brake above the no-load speed. "
    "Joint friction is a torque in Isaac Sim 5.0 and later, a coefficient before."
)


def write_isaaclab(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the parameters of the servo and of a DC motor, and an example."""
    settings = settings_of(model, options, "isaaclab")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, motor, example = f"{name}.servo.json", f"{name}.dcmotor.json", f"{name}.isaaclab.py"
    of_angles = model.control.command == "position"
    motors: dict[str, str] = {}
    bam: dict[str, str] = {}
    bam_meanings: dict[str, str] = {}
    drives = ["The engine's own DC motor and BAM drive take angles: nothing is written for them."]
    if of_angles:
        plain, loss = _plain(model, bench, settings)
        numbers = {"format": "servobench-dcmotor", **dc_motor(plain, settings), **zero_number(model)}
        motors[motor] = json.dumps(numbers, indent=1) + "\n"
        bam, bam_meanings, drives = _bam_files(model, bench, settings, options.timestep)
        drives = [_DC_MOTOR_NOTE, *drives, loss]
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        **motors,
        example: _example(servo, motor if of_angles else "", options.timestep),
        **bam,
    }
    meanings = {
        PROGRAMS[0]: "actuator of Isaac Lab 2.3 and 3.0",
        PROGRAMS[1]: "the servo itself, which the actuator uses; needs torch",
        servo: "parameters of this servo",
        **dict.fromkeys(motors, "the engine's nearest DC motor, with Coulomb–viscous friction"),
        example: "configuration of two joints",
        **bam_meanings,
    }
    notes = [
        "The actuator derives the load of a joint from its motion in the previous step and needs the inertia that "
        "turns with the joint for that.",
        (
            f"Fixed by this export: kp {settings.kp:g}, supply {settings.supply_voltage:g} V."
            if of_angles
            else settings_note(model, settings)
        ),
        "Use physics time steps of up to 5 ms. The actuator applies goals half a step late, because the engine updates "
        "positions with the new velocity. The engine's own DC motor leads by half a step.",
        "For torque off, set the actuator's `torque_enable` to 0; the engine's own DC motor cannot be released.",
        *drives,
        *bristle_notes(model, "a reset of the environment"),
    ]
    return exported(
        folder,
        model,
        "isaaclab",
        "Isaac Lab",
        contents,
        meanings,
        notes,
        _usage(servo, motor if of_angles else "", options.timestep),
    )


def _bam_files(
    model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return the files of the engine's own BAM drive, their meanings and notes."""
    limited = "a current limit" if model.control.current_limit else ""
    why = "an integral gain" if settings.ki > 0.0 else "the current law" if model.control.law == "current" else limited
    if why:
        return {}, {}, [f"Isaac Lab's BAM drive does not have {why}: nothing is written for it."]
    name, found = slug(model.title), in_drive(model, bench, settings)
    carried = f"{name}.bam-{STEP * 1e3:g}ms"
    written = {f"{name}.bam": (in_bam_drive(model)[0], timestep, "")}
    if found.carried is not None:
        own = f": values carried over to its update order and time steps of {STEP * 1e3:g} ms; use them nowhere else"
        written[carried] = (found.carried.model, STEP, own)
    contents: dict[str, str] = {}
    meanings: dict[str, str] = {}
    for file, (held, step, own) in written.items():
        contents |= {
            f"{file}.py": isaaclab_text(held, settings, step),
            f"{file}.usda": drive_usda(model, held, bench, settings, step),
        }
        meanings |= {
            f"{file}.py": f"the servo as Isaac Lab's own `BamActuatorCfg` (main, Newton 1.6 and later, MJWarp){own}",
            f"{file}.usda": f"pendulum whose joint has that drive as USD prims with `{API}`{own}",
        }
    return contents, meanings, drive_notes(model, bench, settings, timestep, found, f"{carried}.py")


def dc_motor(model: ServoModel, settings: ServoSettings) -> dict[str, float]:
    """Return the fields of Isaac Lab 2's `DCMotorCfg` for a model with friction M1; SI units."""
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, model.dt)
    kt, resistance = row[Slot.TORQUE_CONSTANT], row[Slot.RESISTANCE]
    stall, back_emf = settings.supply_voltage * kt / resistance, kt * kt / resistance
    limit = row[Slot.OUTPUT_LIMIT]
    if model.control.law == "current":
        per_output, damping, stall_torque, torque_limit = kt, kt * row[Slot.KV], stall, kt * limit
    else:
        per_output, damping, stall_torque = stall, stall * row[Slot.KV] + back_emf, stall * limit
        torque_limit = min(NO_LIMIT * stall_torque, kt * row[Slot.CURRENT_LIMIT])
    numbers = {
        "stiffness": per_output * row[Slot.KP],
        "damping": damping,
        "saturation_effort": stall_torque,
        "effort_limit": torque_limit,
        "velocity_limit": stall_torque / back_emf,
        "armature": row[Slot.ARMATURE],
        "friction": row[Slot.FRICTION_BASE],
        "dynamic_friction": row[Slot.FRICTION_BASE],
        "viscous_friction": row[Slot.FRICTION_VISCOUS],
    }
    return {name: float(value) for name, value in numbers.items()}


def check_isaaclab(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported servo on a pendulum that follows the engine's update order."""
    engine("torch", "PyTorch", "torch")
    require_unchanged(folder, PROGRAMS)
    file, how = folder / f"{slug(model.title)}.servo.json", "moved here as the engine moves joints"

    def rollout(runs: Sequence[GridRun], step: float) -> np.ndarray:
        return _simulated(file, model, [tilted(run, model) for run in runs], step)

    return measured(model, options, "isaaclab", f"the exported servo on a pendulum {how}", rollout)


def _simulated(servo: Path, model: ServoModel, runs: Sequence[GridRun], step: float) -> np.ndarray:
    """Return positions (runs, steps) [rad]: new velocity, then position; friction from the previous load."""
    torch = engine("torch", "PyTorch", "torch")
    commands = [held_commands(run, step) for run in runs]
    samples = min(len(goal) for goal, _ in commands)

    def column(values: Iterable[float]) -> Any:
        return torch.tensor(list(values), dtype=torch.float)[:, None]

    goals, enables = (
        torch.tensor(np.array([command[k][:samples] for command in commands])).float()[:, :, None] for k in (0, 1)
    )
    module = program("servobench_torch")
    try:
        servos = module.TorchServo([servo], len(runs), step, lead=module.STAGGERED, contacts=tuple(CONTACTS))
    except ValueError as error:
        raise ExportError(f"check of an export to isaaclab: {error}") from None
    for gain in ("kp", "kv"):
        own = [servo_numbers(model, run.settings)[gain] for run in runs]
        servos.numbers[gain] *= column(value / own[0] if own[0] else 1.0 for value in own)
    inertia = column(run.bench.inertia for run in runs) + servos.numbers["armature"]
    gravity, offset = (column(getattr(run.bench, name) for run in runs) for name in ("gravity_torque", "angle_offset"))
    position, velocity, earlier, load = torch.zeros(4, len(runs), 1)
    positions = np.empty((len(runs), samples))
    for k in range(samples):
        positions[:, k] = position[:, 0]
        motor = servos.staggered_torque(goals[:, k], position, velocity, earlier, inertia, enables[:, k])
        friction = servos.applied_friction(inertia, velocity, motor, load)
        earlier, load = velocity, -gravity * torch.sin(position + offset)
        velocity = velocity + step * (motor + friction + load) / inertia
        position = position + step * velocity
    return positions


def _plain(model: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[ServoModel, str]:
    """Return the model that the engine's DC motor can represent, and a note on the loss."""
    form = Form(kept=KEPT)
    lost = lost_terms(model, KEPT)
    lost += ["fast decay of the drive"] if model.control.drive == FAST_DECAY else []
    lost += [] if model.contact == "rigid" else [f"{CONTACT_TITLES[model.contact].lower()} contact"]
    if form.holds(model) and not lost:
        return in_form(model, bench, form), "The engine's DC motor can hold this servo too, friction included."
    nearest = approximate(model, bench, settings, form)
    lost += [] if model.friction == "m1" else [f"friction {model.friction.upper()}"]
    changed = ", ".join(f"{name} = {nearest.model.values[name]:.6g}" for name in nearest.refitted) or "nothing"
    return nearest.model, (
        f"The engine's DC motor has no {', '.join(lost)}; refitted to the model's motion: {changed}. The "
        "check runs the program's servo, not this motor."
    )


def _example(servo: str, motor: str, timestep: float) -> str:
    imports = "plain_cfg, servo_cfg" if motor else "servo_cfg"
    plain = f'PLAIN = {{"arm": plain_cfg(HERE / {json.dumps(motor)}, ["shoulder", "elbow"])}}\n' if motor else ""
    return f"""\
\"\"\"Actuators of a two-joint arm for `ArticulationCfg.actuators`.\"\"\"

from pathlib import Path

from servobench_isaaclab import {imports}

HERE = Path(__file__).parent
PHYSICS_DT = {timestep!r}  # as in SimulationCfg

SERVOS = {{
    "arm": servo_cfg(
        {{"shoulder": HERE / {json.dumps(servo)}, "elbow": HERE / {json.dumps(servo)}}},
        physics_dt=PHYSICS_DT,
        load_inertia={{"shoulder": 0.02, "elbow": 0.005}},  # kg·m², of your robot
    )
}}
{plain}"""


def _usage(servo: str, motor: str, timestep: float) -> str:
    imports = "plain_cfg, servo_cfg" if motor else "servo_cfg"
    plain = (
        f'actuators = {{"arm": plain_cfg("{motor}", ["elbow"])}}  # or: the engine\'s own DC motor\n' if motor else ""
    )
    bam = (
        """\
If the export wrote a file `.bam.py`, its `bam_cfg(["elbow"])` is the engine's own BAM drive. With time steps of 5 ms,
use `.bam-5ms.py` if it exists.

Command joint position targets; leave"""
        if motor
        else "Commands are the joint position targets; leave"
    )
    return f"""\
Keep the files above next to the module of your robot and set in its `ArticulationCfg`:

```python
from servobench_isaaclab import {imports}

actuators = {{"arm": servo_cfg({{"elbow": "{servo}"}}, physics_dt={timestep:g}, load_inertia={{"elbow": 0.005}})}}
{plain}```

{bam} velocity and effort targets at 0. Estimate the load's inertia rather too low: a
third too much makes a resting joint oscillate. Per environment:
`robot.actuators["arm"].servo.randomize("friction_base", 0.8, 1.2, env_ids)`,
`robot.actuators["arm"].torque_enable[env_ids] = 0.0`.
"""


EXPORTER = Exporter(
    target="isaaclab",
    title="Isaac Lab",
    description="Actuator with friction M1–M6, control law and command path as identified, and the nearest DC motor.",
    options=ServoOptions,
    contacts=tuple(CONTACTS),
    write=write_isaaclab,
    check=check_isaaclab,
    any_law=True,
    load_memory=True,
    package="torch",
    install="torch",
)
