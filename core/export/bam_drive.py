"""The BAM drives of Isaac Lab, Newton and mjlab: a servo as the parameters that these engines have for it.

    held, lost = in_bam_drive(model)
    motor_of(held), deployment_of(held, settings, timestep)

Their law is the voltage law. They have friction M1, M2, M5 and M6; M3 and M4 are M5 whose two load coefficients are the
same. Commands are late by whole steps of the physics, rounded up. A goal's velocity limit, dead band, lag, release
braking and release delay have no parameter.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from core.bench import Bench
from core.export.approximation import Form
from core.export.bam_json import as_peer, firmware
from core.export.grid import bench_grid, converged_positions, default_bench, mean_errors, own_motion
from core.export.notes import missing_terms
from core.export.usd import PER_DEGREE, pendulum_text
from core.model import ServoModel, with_contact, without_terms
from core.parameters import Parameter, ParameterSet
from core.recording import ServoSettings
from core.words import counted

KEPT = ("command_delay", "error_gain_ratio", "supply_sag")
"""Command path terms that the drives have."""
TRAINING_STEP = 0.005
"""Step of the physics that trainings use [s]."""
API = "NewtonBamDriveAPI"
LOADS = tuple(f"load_friction_{side}{kind}" for kind in ("", "_stribeck", "_quad") for side in ("motor", "external"))
STRIBECK = ("friction_stribeck", "dtheta_stribeck", "alpha")


def in_bam_drive(model: ServoModel) -> tuple[ServoModel, list[str]]:
    """Return the model as far as a BAM drive can be it, and what that loses, in words."""
    lost = missing_terms(model, Form(friction=model.friction, alpha=model.values.get("alpha", 1.0), kept=KEPT))
    unknown = [name for name in model.command_path if name not in KEPT]
    control = replace(model.control, bridge="brake")
    return replace(without_terms(with_contact(model, "rigid"), unknown), control=control, name=model.title), lost


def motor_of(held: ServoModel) -> dict[str, str | float]:
    """Fields of Isaac Lab's `BamMotorCfg`, SI units; held: of `in_bam_drive`, with the voltage law."""
    values = held.values
    motor: dict[str, str | float] = {
        "model": {"m3": "m5", "m4": "m5"}.get(held.friction, held.friction),
        "kt": values["kt"],
        "resistance": values["R"],
        "error_gain": held.control.error_gain * values.get("error_gain_ratio", 1.0),
        "max_pwm": held.control.output_limit,
        "max_current": 0.0,
        **{name: values[name] for name in ("friction_base", "friction_viscous", *STRIBECK, *LOADS) if name in values},
    }
    for ours, theirs in (("load_friction_base", ""), ("load_friction_stribeck", "_stribeck")):
        if ours in values:
            motor |= {f"load_friction_{side}{theirs}": values[ours] for side in ("motor", "external")}
    return motor


def delay_steps(held: ServoModel, timestep: float) -> int:
    """Delay of commands in steps of the physics, rounded up."""
    return math.ceil(held.values.get("command_delay", 0.0) / timestep - 1e-9)


def deployment_of(held: ServoModel, settings: ServoSettings, timestep: float) -> dict[str, float | tuple[float, float]]:
    """Fields of Isaac Lab's `BamActuatorCfg` besides the motor, SI units; timestep: of the physics [s]."""
    steps, sag = delay_steps(held, timestep), held.values.get("supply_sag", 0.0)
    late = {"min_delay": steps, "max_delay": steps} if steps else {}
    drop = sag / held.values["kt"]
    return {
        "kp_fw": settings.kp,
        "vin": settings.supply_voltage,
        "armature": held.values["armature"],
        **({"vin_drop_gain_range": (drop, drop)} if sag else {}),
        **late,
    }


def as_drive(held: ServoModel, step: float) -> ServoModel:
    """Return `held` as a BAM drive moves it in steps of the physics [s]: delay in whole steps, the engines' order."""
    late = {"command_delay": delay_steps(held, step) * step} if "command_delay" in held.values else {}
    whole = held.with_parameters(ParameterSet([_at(p, late.get(p.name, p.value)) for p in held.parameters.values()]))
    return as_peer(whole, step, "larger_torque")


def _at(parameter: Parameter, value: float) -> Parameter:
    return replace(parameter, value=value, upper=max(parameter.upper, value))


def order_errors(model: ServoModel, theirs: ServoModel, step: float) -> tuple[float, float]:
    """Mean and worst distance of a drive from the identified motion over 16 runs, goals held for a step [mrad]."""
    errors = []
    for run in bench_grid(default_bench(model), model.default_settings()):
        drive, expected = own_motion(theirs, run).position, converged_positions(model, run, step, held=True)
        count = min(len(drive), len(expected))
        errors.append(1e3 * float(np.abs(drive[:count] - expected[:count]).mean()))
    return float(np.mean(errors)), max(errors)


def drive_notes(model: ServoModel, timestep: float) -> list[str]:
    """Sentences on a BAM drive of the model: what it lacks and the cost, its delay, law, order and step."""
    held, lost = in_bam_drive(model)
    notes = [
        f"The BAM drive's law and constants: {firmware(model)}. The values were identified with {model.integration}."
    ]
    if lost:
        runs = bench_grid(default_bench(model), model.default_settings())
        cost = 1e3 * float(mean_errors(runs, model, held).mean())
        notes.append(f"The BAM drive has no place for {', '.join(lost)}: {cost:.2f} mrad, mean of 16 runs.")
    if model.friction in ("m3", "m4"):
        notes.append(
            f"{model.friction.upper()} is written as the drive's M5 with equal load coefficients of both sides."
        )
    if model.quadratic_gate == "opposing" and model.friction == "m6":
        notes.append("The drive counts the quadratic term whatever the torques' signs, this model where they oppose.")
    late = held.values.get("command_delay", 0.0)
    if late:
        steps = delay_steps(held, timestep)
        notes.append(
            f"The delay of {late * 1e3:.3g} ms is {counted(steps, 'step')} of {timestep * 1e3:g} ms, rounded up: "
            "another step of the physics needs another number."
        )
    if held.values.get("supply_sag", 0.0):
        notes.append(
            "Isaac Lab's sag grows with the torque, this model's with torque and duty cycle: it sags too much."
        )
    for step in dict.fromkeys((timestep, TRAINING_STEP)):
        mean, worst = order_errors(model, as_drive(held, step), step)
        notes.append(
            "By these engines' order of update (friction from the torques of the step before, then velocity, then "
            f"position) the BAM drive is {mean:.2f} mrad from the identified model at {step * 1e3:g} ms, mean of 16 "
            f"runs, and {worst:.2f} mrad in the worst, as simulated here with goals held over each step."
        )
    return notes


def isaaclab_text(held: ServoModel, settings: ServoSettings, timestep: float) -> str:
    """A Python module for Isaac Lab: the servo as `BamMotorCfg` and a function that makes a `BamActuatorCfg`."""

    def fields(values: dict) -> str:
        return "".join(f"    {name}={value!r},\n" for name, value in values.items())

    return f"""\
\"\"\"The servo as Isaac Lab's BAM drive: needs Newton 1.6 or later, its MJWarp solver and `use_newton_actuators=True`.

Delays are in steps of the physics, here of {timestep * 1e3:g} ms.
\"\"\"

from isaaclab.actuators import BamActuatorCfg, BamMotorCfg

MOTOR = BamMotorCfg(
{fields(motor_of(held))})
DEPLOYMENT = dict(
{fields(deployment_of(held, settings, timestep))})


def bam_cfg(joint_names_expr: list[str], **changes) -> BamActuatorCfg:
    \"\"\"Configuration of the joints that these patterns name; changes: other fields, e.g. `vin_range`.\"\"\"
    return BamActuatorCfg(joint_names_expr=joint_names_expr, motor=MOTOR, **(DEPLOYMENT | changes))
"""


def drive_values(held: ServoModel, settings: ServoSettings, timestep: float) -> dict[str, float]:
    """Attributes of a prim with `NewtonBamDriveAPI` by their names in snake case, SI units; whole ones are integers."""
    motor, deployment = motor_of(held), deployment_of(held, settings, timestep)
    friction = motor.pop("model")
    del motor["friction_viscous"]
    sag = deployment.pop("vin_drop_gain_range", None)
    del deployment["armature"]
    flags = {
        "stribeck": int(friction != "m1"),
        "load_dependent": int(friction in ("m5", "m6")),
        "quadratic": int(friction == "m6"),
    }
    if flags["stribeck"]:
        motor = {**dict.fromkeys(("friction_stribeck",), 0.0), "dtheta_stribeck": 1.0, "alpha": 1.0, **motor}
    if flags["load_dependent"]:
        motor = {**dict.fromkeys(LOADS[:4], 0.0), **motor}
    return {
        **flags,
        **{name: value for name, value in (*motor.items(), *deployment.items()) if isinstance(value, (int, float))},
        **({"sag_gain": sag[0]} if isinstance(sag, tuple) else {}),
    }


def drive_usda(model: ServoModel, held: ServoModel, bench: Bench, settings: ServoSettings, timestep: float) -> str:
    """The pendulum bench as USD: a joint with armature and viscous friction, and its `NewtonActuator`."""
    applied = 'apiSchemas = ["NewtonJointAPI"]'
    joint = {"armature": held.values["armature"], "damping": held.values["friction_viscous"] * PER_DEGREE}
    attributes = "".join(f"        float newton:{name} = {value:.9g}\n" for name, value in joint.items())
    lines = []
    for name, value in drive_values(held, settings, timestep).items():
        head, *rest = name.split("_")
        camel = head + "".join(word.capitalize() for word in rest)
        kind, text = ("int", str(value)) if isinstance(value, int) else ("float", f"{value:.9g}")
        lines.append(f"        {kind} newton:{camel} = {text}\n")
    actuator = (
        f'    def NewtonActuator "Servo" (\n        prepend apiSchemas = ["{API}"]\n    )\n    {{\n'
        f"        rel newton:targets = </Pendulum/Joint>\n{''.join(lines)}    }}\n"
    )
    return pendulum_text(applied, model, bench, attributes, f"\n{actuator}")
