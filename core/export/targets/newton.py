"""Export to Newton: the servo as a drive of its actuators, for every solver of the engine, and a pendulum.

The drive, `core/export/standalone/servobench_newton.py`, approximates only the load of a joint, which solvers do not
report: it derives the load from the joint's motion.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.export.contract import Check, Exporter, ExportResult, ServoOptions, exported, settings_of
from core.export.files import slug
from core.export.notes import bristle_notes, settings_note
from core.export.programs import engine, program, require_unchanged
from core.export.protocol import held_commands, measured, rollout_of_scene, tilted
from core.export.references import GridRun, default_bench
from core.export.servo_file import servo_text, standalone_text
from core.export.targets.mujoco.xml import pendulum_inertial
from core.servo.model import ServoModel
from core.servo.terms import CONTACTS

PROGRAMS = ("servobench_newton.py", "servobench_torch.py")


def write_newton(model: ServoModel, folder: Path, options: ServoOptions) -> ExportResult:
    """Write the programs, the servo's numbers and an example."""
    settings = settings_of(model, options, "newton")
    bench = options.bench or default_bench(model)
    name = slug(model.title)
    servo, example = f"{name}.servo.json", f"{name}.newton.py"
    offset = bench.angle_offset + model.values.get("q_offset", 0.0)
    contents = {
        **{file: standalone_text(file) for file in PROGRAMS},
        servo: servo_text(model, settings),
        example: _example(servo, (*pendulum_inertial(bench), offset), bench.inertia, bench.gravity, options.timestep),
    }
    meanings = {
        PROGRAMS[0]: "drive of Newton's actuators; needs newton 1.6 or later and torch",
        PROGRAMS[1]: "the servo itself, which the drive uses",
        servo: "parameters of this servo",
        example: f"pendulum, {bench.mass:g} kg at {bench.length:g} m, that swings and is released",
    }
    notes = [
        "The drive works with any solver of Newton. It derives the load of a joint from its motion in the previous "
        "step and needs the inertia that turns with the joint for that.",
        settings_note(model, settings),
        "For torque off, set `control.torque_off` to 1, per degree of freedom (Newton 1.8).",
        "Time steps of up to 5 ms. Commands given for a step act half a step later on average, as with a servo that "
        "polls them.",
        "The engine computes in single precision. CUDA graphs and gradients do not pass through the drive.",
        *bristle_notes(model, "a reset of the actuator's state"),
    ]
    return exported(folder, model, "newton", "Newton", contents, meanings, notes, _usage(servo))


def check_newton(model: ServoModel, folder: Path, options: ServoOptions) -> Check:
    """Run the exported servo on a pendulum in Newton, on the CPU."""
    for package, name in (("torch", "PyTorch"), ("newton", "Newton")):
        engine(package, name, "newton torch")
    require_unchanged(folder, PROGRAMS)
    file = f"{slug(model.title)}.servo.json"

    def simulate(conditions: Sequence[tuple[Path, list[GridRun]]], step: float) -> NDArray[np.float64]:
        pendulums = [(place / file, tilted(run, model)) for place, runs in conditions for run in runs]
        return simulate_in_newton(pendulums, step)

    rollout = rollout_of_scene(model, folder, options, write_newton, simulate)
    how = f"run in Newton {version('newton')}, Featherstone's solver on the CPU,"
    return measured(model, options, "newton", how, rollout, engine="Newton")


def simulate_in_newton(runs: Sequence[tuple[Path, GridRun]], step: float) -> NDArray[np.float64]:
    """Run pendulums side by side in Newton; goals are held over a time step.

    Args:
        runs: Servo file and run of each pendulum, all with the same gravity.
        step: Time step [s].

    Returns:
        Positions before each time step [rad], shape (runs, steps).
    """
    newton, wp = (engine(package, "Newton", "newton") for package in ("newton", "warp"))
    wp.config.quiet = True
    drive: Any = program("servobench_newton")
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, -runs[0][1].bench.gravity))
    for servo, run in runs:
        joint = drive.pendulum(builder, *pendulum_inertial(run.bench), run.bench.angle_offset)
        drive.add_servo(builder, joint, servo, run.bench.inertia)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverFeatherstone(model, angular_damping=0.0)
    now, after, control = model.state(), model.state(), model.control()
    (actuator,) = model.actuators
    memory = actuator.state(), actuator.state()
    commands = [held_commands(run, step) for _, run in runs]
    longest = max(len(goal) for goal, _ in commands)
    goals, enables = (
        np.stack([np.pad(run[which], (0, longest - len(run[which])), mode="edge") for run in commands])
        for which in (0, 1)
    )
    positions = np.empty((len(runs), longest))
    for k in range(longest):
        positions[:, k] = now.joint_q.numpy()
        control.joint_target_q.assign(goals[:, k].astype(np.float32))
        control.torque_off.assign((1.0 - enables[:, k]).astype(np.float32))
        control.joint_f.zero_()
        actuator.step(now, control, *memory, dt=step)
        solver.step(now, after, control, None, step)
        now, after = after, now
    return positions


def _example(servo: str, pendulum: tuple[float, ...], inertia: float, gravity: float, timestep: float) -> str:
    numbers = ", ".join(repr(float(value)) for value in pendulum)
    return f"""\
\"\"\"Swing a pendulum with the servo, release it, and print its angle.\"\"\"

from pathlib import Path

import newton
from servobench_newton import add_servo, pendulum

HERE = Path(__file__).parent
DT = {timestep!r}

builder = newton.ModelBuilder(gravity=(0.0, 0.0, {-gravity!r}))
joint = pendulum(builder, {numbers})  # kg, m, kg·m², rad
add_servo(builder, joint, HERE / {json.dumps(servo)}, load_inertia={float(inertia)!r})
model = builder.finalize()
solver = newton.solvers.SolverFeatherstone(model, angular_damping=0.0)
state, after, control = model.state(), model.state(), model.control()
(actuator,) = model.actuators
memory = actuator.state(), actuator.state()
for goal, off in ((0.5, 0.0), (-0.5, 0.0), (0.0, 1.0)):
    control.joint_target_q.fill_(goal)
    control.torque_off.fill_(off)
    for _ in range(round(1.0 / DT)):
        control.joint_f.zero_()
        actuator.step(state, control, *memory, dt=DT)
        solver.step(state, after, control, None, DT)
        state, after = after, state
    print(goal, "released" if off else "driven", state.joint_q)
"""


def _usage(servo: str) -> str:
    return f"""\
Keep the programs and the parameters next to your script. While building the model, for each joint:

```python
from servobench_newton import add_servo

add_servo(builder, joint, "{servo}", load_inertia=0.005)  # kg·m², of your robot
```

Then step `model.actuators` before the solver. Estimate the load's inertia rather too low: a third too much makes a
resting joint oscillate. A robot in USD has the drive as a `NewtonActuator` with `ServoBenchDriveAPI`. Per joint, after
the first step: `actuator.drive.servo.randomize("friction_base", 0.8, 1.2)`.
"""


EXPORTER = Exporter(
    target="newton",
    title="Newton",
    description="Drive with friction M1–M6, control law and command path as identified, for the engine's actuators.",
    options=ServoOptions,
    contacts=tuple(CONTACTS),
    write=write_newton,
    check=check_newton,
    any_law=True,
    load_memory=True,
    engine="Newton",
    package="newton",
    install="newton torch",
)
