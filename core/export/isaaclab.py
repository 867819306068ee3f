"""Export to Isaac Lab: the identified servo as an actuator of its own, and the nearest DC motor of the engine.

The actuator (`core/export/standalone/servobench_isaaclab.py`, which explains itself) approximates nothing but what the
engine hides: the load of a joint, which it takes from the joint's motion.

The engine's own `DCMotor` computes τ = clip(kp'·(u − q) − kd'·q̇, τ_stall·(±1 − q̇/ω_max)), and ±τ_limit. With

    voltage law:  kp' = kp·U·k_t/R   kd' = k_t²/R          τ_stall = U·k_t/R·(largest duty)   no τ_limit
    current law:  kp' = k_t·kp       kd' = k_t·damping·√kp  τ_stall = U·k_t/R                  τ_limit = k_t·I_heat

and ω_max = τ_stall·R/k_t² that is the law of seed 004, eqs (12)–(15), exactly, up to ω_max·(1 + τ_limit/τ_stall), where
the engine holds the velocity it clips with. Friction M1 is the joint's in the engine; M2–M6 become the best M1.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from core.bench import Bench
from core.errors import ExportError
from core.export.approximation import Form, approximate, in_form
from core.export.bam_drive import API, drive_notes, drive_usda, in_bam_drive, isaaclab_text
from core.export.contract import Check, Exporter, ExportResult, ServoOptions, settings_of
from core.export.files import readme_section, slug, write_files
from core.export.grid import GridRun, converged_positions, default_bench
from core.export.notes import bristle_notes
from core.export.programs import engine, program, require_unchanged
from core.export.servo_file import servo_text, standalone_text
from core.friction import CONTACT_TITLES, CONTACTS
from core.kernel.layout import Slot
from core.model import ServoModel
from core.recording import ServoSettings
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory

PROGRAMS = ("servobench_isaaclab.py", "servobench_torch.py")
CHECK_STEP = 5e-3
"""Time step of the check [s]: the engine's default."""
KEPT = ("error_gain_ratio",)
"""Command path terms of the engine's own DC motor."""
NO_LIMIT = 10.0
"""Torque limit, in stall torques, of a motor that has none."""


def write_isaaclab(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers, those of a DC motor and an example; raises ExportError."""
    settings = settings_of(model, options, "isaaclab")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, motor, example = f"{name}.servo.json", f"{name}.dcmotor.json", f"{name}.isaaclab.py"
    plain, loss = _plain(model, bench, settings)
    bam, bam_meanings, bam_notes = _bam_files(model, bench, settings, options.timestep)
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        motor: json.dumps({"format": "servobench-dcmotor", **dc_motor(plain, settings)}, indent=1) + "\n",
        example: _example(servo, motor, options.timestep),
        **bam,
    }
    meanings = {
        PROGRAMS[0]: "actuator of Isaac Lab 2.3 and 3.0",
        PROGRAMS[1]: "the servo itself, which the actuator uses; needs torch",
        servo: "numbers of this servo",
        motor: "the nearest DC motor of the engine, with Coulomb–viscous friction",
        example: "configuration of two joints",
        **bam_meanings,
    }
    notes = [
        "The actuator computes friction, control law, motor and command path as identified. The load of a joint is "
        "taken from its motion in the step before, for which it must be told the inertia that turns with the joint.",
        f"Fixed by this export: kp {settings.kp:g}, supply {settings.supply_voltage:g} V.",
        "Torque off is `torque_enable` 0 of the actuator; the engine's own DC motor cannot be released.",
        "The DC motor's numbers suit Isaac Lab 2.2 and later; before, it does not brake above its no-load speed. Joint "
        "friction is a torque in Isaac Sim 5.0 and later, a coefficient before.",
        *bam_notes,
        loss,
        *bristle_notes(model, "a reset of the environment"),
    ]
    readme = readme_section(model, "Isaac Lab", meanings, notes, _usage(servo, motor, options.timestep))
    files = write_files(folder, contents, model, "isaaclab", readme)
    return ExportResult(files=tuple(files), notes=tuple(notes), error_mrad=0.0)


def _bam_files(
    model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float
) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Files of the engine's own BAM drive, their meanings, and what to know of it."""
    if model.control.law != "voltage" or settings.ki > 0.0:
        why = "an integral gain" if settings.ki > 0.0 else "the current law"
        return {}, {}, [f"Isaac Lab's BAM drive does not have {why}: nothing is written for it."]
    name, held = slug(model.title), in_bam_drive(model)[0]
    config, stage = f"{name}.bam.py", f"{name}.bam.usda"
    contents = {
        config: isaaclab_text(held, settings, timestep),
        stage: drive_usda(model, held, bench, settings, timestep),
    }
    meanings = {
        config: "the servo as Isaac Lab's own `BamActuatorCfg` (main, Newton 1.6 and later, MJWarp)",
        stage: f"pendulum whose joint has that drive as USD prims with `{API}`",
    }
    return contents, meanings, drive_notes(model, timestep)


def dc_motor(model: ServoModel, settings: ServoSettings) -> dict[str, float]:
    """Fields of Isaac Lab 2's `DCMotorCfg` that are a model of friction M1, SI units."""
    row = model.bound_row(Bench(mass=0.0, length=0.0), settings, model.dt)
    kt, resistance = row[Slot.TORQUE_CONSTANT], row[Slot.RESISTANCE]
    stall, back_emf = settings.supply_voltage * kt / resistance, kt * kt / resistance
    limit = row[Slot.OUTPUT_LIMIT]
    if model.control.law == "current":
        per_output, damping, stall_torque, torque_limit = kt, kt * row[Slot.KV], stall, kt * limit
    else:
        per_output, damping, stall_torque = stall, stall * row[Slot.KV] + back_emf, stall * limit
        torque_limit = NO_LIMIT * stall_torque
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
    """Run the exported servo on a pendulum that moves as the engine moves joints; raises ExportError."""
    settings = settings_of(model, options, "isaaclab")
    bench = options.bench or default_bench(model)
    require_unchanged(folder, PROGRAMS)
    file = folder / f"{slug(model.title)}.servo.json"
    expected = [
        converged_positions(model, GridRun(trajectory=name, bench=bench, settings=settings), CHECK_STEP)
        for name in PAPER_TRAJECTORIES
    ]
    samples = min(len(run) for run in expected)
    actual = _simulated(file, bench, model.values.get("q_offset", 0.0), samples)
    errors = {
        name: 1e3 * float(np.abs(run[:samples] - positions).mean())
        for name, run, positions in zip(PAPER_TRAJECTORIES, expected, actual, strict=True)
    }
    how = f"the exported servo on a pendulum simulated here as the engine does, with a time step of {CHECK_STEP:g} s"
    return Check(how=how, errors=errors)


def _simulated(file: Path, bench: Bench, offset: float, samples: int) -> np.ndarray:
    """Positions (trajectories, samples) [rad]: new velocity first, then position; friction from the load before."""
    torch = engine("torch", "PyTorch", "torch")
    trajectories = [make_trajectory(name) for name in PAPER_TRAJECTORIES]
    time = CHECK_STEP * np.arange(samples)
    goals = torch.tensor(np.array([t.goal(time) for t in trajectories])).float()[:, :, None]
    enables = torch.tensor(np.array([t.torque_enable(time) for t in trajectories])).float()[:, :, None]
    try:
        servo = program("servobench_torch").TorchServo([file], len(trajectories), CHECK_STEP, contacts=tuple(CONTACTS))
    except ValueError as error:
        raise ExportError(f"check of an export to isaaclab: {error}") from None
    inertia = bench.inertia + servo.numbers["armature"]
    position, velocity, before = torch.zeros(3, len(trajectories), 1)
    positions = np.empty((len(trajectories), samples))
    for k in range(samples):
        positions[:, k] = position[:, 0]
        motor = servo.motor_torque(goals[:, k], position, velocity, enables[:, k])
        friction = servo.applied_friction(inertia, velocity, motor, before)
        before = -bench.gravity_torque * torch.sin(position + bench.angle_offset + offset)
        velocity = velocity + CHECK_STEP * (motor + friction + before) / inertia
        position = position + CHECK_STEP * velocity
    return positions


def _plain(model: ServoModel, bench: Bench, settings: ServoSettings) -> tuple[ServoModel, str]:
    """The model the engine's DC motor can be, and a sentence on what that loses."""
    form = Form(kept=KEPT)
    lost = [name.replace("_", " ") for name in model.command_path if name not in KEPT and model.values[name] > 0.0]
    lost += ["drive/coast bridge"] if model.control.bridge == "coast" else []
    lost += [] if model.contact == "rigid" else [f"{CONTACT_TITLES[model.contact].lower()} contact"]
    if form.holds(model) and not lost:
        return in_form(model, bench, form), "As the engine's DC motor the servo is exact, friction included."
    nearest = approximate(model, bench, settings, form)
    lost += [] if model.friction == "m1" else [f"friction {model.friction.upper()}"]
    changed = ", ".join(f"{name} = {nearest.model.values[name]:.6g}" for name in nearest.refitted) or "nothing"
    return nearest.model, (
        f"The engine's DC motor has no {', '.join(lost)}; refitted to the model's motion: {changed}. It is "
        f"{nearest.mean_mrad:.2f} mrad from the model on average, {nearest.worst_mrad:.2f} mrad in the worst run."
    )


def _example(servo: str, motor: str, timestep: float) -> str:
    return f"""\
\"\"\"Actuators of an arm of two joints for `ArticulationCfg.actuators`.\"\"\"

from pathlib import Path

from servobench_isaaclab import plain_cfg, servo_cfg

HERE = Path(__file__).parent
PHYSICS_DT = {timestep!r}  # that of SimulationCfg

SERVOS = {{
    "arm": servo_cfg(
        {{"shoulder": HERE / {json.dumps(servo)}, "elbow": HERE / {json.dumps(servo)}}},
        physics_dt=PHYSICS_DT,
        load_inertia={{"shoulder": 0.02, "elbow": 0.005}},  # kg·m², of your robot
    )
}}
PLAIN = {{"arm": plain_cfg(HERE / {json.dumps(motor)}, ["shoulder", "elbow"])}}
"""


def _usage(servo: str, motor: str, timestep: float) -> str:
    return f"""\
Keep the files above beside the module of your robot and give its `ArticulationCfg`

```python
from servobench_isaaclab import plain_cfg, servo_cfg

actuators = {{"arm": servo_cfg({{"elbow": "{servo}"}}, physics_dt={timestep:g}, load_inertia={{"elbow": 0.005}})}}
actuators = {{"arm": plain_cfg("{motor}", ["elbow"])}}  # or: the engine's own DC motor
```

Where there is a file `.bam.py`, its `bam_cfg(["elbow"])` is the engine's own BAM drive.

Command joint position targets; leave velocity and effort targets at 0. The load's inertia should rather be too small:
a third too much makes a joint at rest tremble. Per environment:
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
    package="torch",
    install="torch",
)
