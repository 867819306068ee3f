"""The BAM drives of Isaac Lab, Newton and mjlab: a servo as these engines' parameters.

    held, lost = in_bam_drive(model)
    motor_of(held), deployment_of(held, settings, timestep)

Their law is the voltage law. They have friction M1, M2, M5 and M6; M3 and M4 are written as M5 with two equal load
coefficients. Commands are delayed by whole time steps of the physics, rounded up. The drives have no goal velocity
limit, dead band, lag, release braking or release delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from core.base.words import counted
from core.export.approximation import Form
from core.export.drives.carrying import Carried, mean_magnitudes
from core.export.drives.reference import STEP, Limits, delay_steps, engine_errors, in_engine_order
from core.export.notes import missing_terms, zero_comment
from core.export.protocol import checked_runs
from core.export.targets.bam_json import firmware
from core.export.targets.usd import PER_DEGREE, pendulum_text
from core.servo.actuator import SLOW_DECAY
from core.servo.bench import Bench
from core.servo.model import ServoModel, with_contact, without_terms
from core.servo.settings import ServoSettings

KEPT = ("command_delay", "error_gain_ratio", "output_limit_ratio", "supply_sag", "pulse_sag")
"""Command path terms that the drives have."""
API = "NewtonBamDriveAPI"
LOADS = tuple(f"load_friction_{side}{kind}" for kind in ("", "_stribeck", "_quad") for side in ("motor", "external"))
STRIBECK = ("friction_stribeck", "dtheta_stribeck", "alpha")


def in_bam_drive(model: ServoModel) -> tuple[ServoModel, list[str]]:
    """Return the part of the model that a BAM drive can hold, and the lost parts in words."""
    kept = (*KEPT, "backlash")  # `drive_notes` says how
    lost = missing_terms(model, Form(friction=model.friction, alpha=model.values.get("alpha", 1.0), kept=kept))
    unknown = [name for name in model.command_path if name not in KEPT]
    control = replace(model.control, drive=SLOW_DECAY)
    return replace(without_terms(with_contact(model, "rigid"), unknown), control=control, name=model.title), lost


def motor_of(held: ServoModel) -> dict[str, str | float]:
    """Return the fields of Isaac Lab's `BamMotorCfg` in SI units; `held` comes from `in_bam_drive`."""
    values = held.values
    motor: dict[str, str | float] = {
        "model": {"m3": "m5", "m4": "m5"}.get(held.friction, held.friction),
        "kt": values["kt"],
        "resistance": values["R"],
        "error_gain": held.control.error_gain * values.get("error_gain_ratio", 1.0),
        "max_pwm": held.output_limit,
        "max_current": 0.0,
        **{name: values[name] for name in ("friction_base", "friction_viscous", *STRIBECK, *LOADS) if name in values},
    }
    for ours, theirs in (("load_friction_base", ""), ("load_friction_stribeck", "_stribeck")):
        if ours in values:
            motor |= {f"load_friction_{side}{theirs}": values[ours] for side in ("motor", "external")}
    return motor


def _sag_gain(held: ServoModel) -> float:
    """Return the drop of the supply voltage per motor torque [V/(N·m)]."""
    return (held.values.get("supply_sag", 0.0) + held.values.get("pulse_sag", 0.0)) / held.values["kt"]


def deployment_of(held: ServoModel, settings: ServoSettings, timestep: float) -> dict[str, float | tuple[float, float]]:
    """Return the other fields of Isaac Lab's `BamActuatorCfg` in SI units; `timestep` is the physics' [s]."""
    steps, drop = delay_steps(held, timestep), _sag_gain(held)
    late = {"min_delay": steps, "max_delay": steps} if steps else {}
    return {
        "kp_fw": settings.kp,
        "vin": settings.supply_voltage,
        "armature": held.values["armature"],
        **({"vin_drop_gain_range": (drop, drop)} if drop else {}),
        **late,
    }


def drive_notes(
    model: ServoModel, bench: Bench, settings: ServoSettings, timestep: float, found: Carried, carried_file: str
) -> list[str]:
    """Notes on a BAM drive of the model: missing parts and their cost, delay, law, update order and time step.

    Args:
        model: The identified model.
        bench: Pendulum of the comparison.
        settings: Settings of the servo.
        timestep: Time step of the physics [s].
        found: Result of `in_drive`.
        carried_file: Name of the file of the carried-over values, if there are any.
    """
    held, lost = in_bam_drive(model)
    notes = [
        f"The BAM drive's law and constants: {firmware(model)}. The values were identified with {model.integration}."
    ]
    if lost:
        notes.append(f"The BAM drive cannot represent {', '.join(lost)}.")
    if model.values.get("backlash"):
        half = 0.5 * model.values["backlash"]
        notes.append(
            "Isaac Lab's drive reads backlash from a second hinge. For this servo, give the link of each joint a hinge "
            f"`passive_<joint>_backlash` on the same axis with a range of ±{half:.4g} rad and little armature, and "
            'pass `backlash_joint_template="passive_{}_backlash"`. The files have no such hinge.'
        )
    if model.friction in ("m3", "m4"):
        notes.append(
            f"{model.friction.upper()} is written as the drive's M5 with equal load coefficients on both sides."
        )
    if model.quadratic_gate == "opposing" and "load_friction_motor_quad" in model.parameters:
        notes.append("The drive always counts the quadratic term, this model only where the torques oppose.")
    late = held.values.get("command_delay", 0.0)
    if late:
        steps = delay_steps(held, timestep)
        notes.append(
            f"The delay of {late * 1e3:.3g} ms is {counted(steps, 'step')} of {timestep * 1e3:g} ms, rounded up. "
            "Change it if the time step of the physics changes."
        )
    if held.values.get("supply_sag", 0.0):
        notes.append(
            "Isaac Lab's supply sag grows with torque, this model's with torque and duty cycle: it sags too much."
        )
    notes.append(
        "In these engines' update order (friction from the torques of the previous step, then velocity, then "
        "position), simulated here with goals held over each step, the BAM drive's distance from the identified model "
        f"at {STEP * 1e3:g} ms over the runs of a check is {found.statement(carried_file)}."
    )
    if timestep != STEP:
        checked = list(checked_runs(bench, settings).values())
        errors = 1e3 * mean_magnitudes(engine_errors(model, checked, timestep, _limits(held))(held))
        notes.append(
            f"At {timestep * 1e3:g} ms the BAM drive is {errors.mean():.2f} mrad away on average and "
            f"{errors.max():.2f} mrad in the worst run, with the identified values."
        )
    return notes


def in_drive(model: ServoModel, bench: Bench, settings: ServoSettings) -> Carried:
    """Compare the engines' drive at `STEP` with the model's own motion."""
    held = in_bam_drive(model)[0]
    return in_engine_order(model, held, bench, settings, STEP, _limits(held))


def _limits(held: ServoModel) -> Limits:
    return Limits(duty=held.output_limit, sag=_sag_gain(held))


def isaaclab_text(held: ServoModel, settings: ServoSettings, timestep: float) -> str:
    """Return a Python module for Isaac Lab: a `BamMotorCfg` and a function that makes a `BamActuatorCfg`."""

    def fields(values: Mapping[str, object]) -> str:
        return "".join(f"    {name}={value!r},\n" for name, value in values.items())

    return f"""\
\"\"\"The servo as Isaac Lab's BAM drive. Needs Newton 1.6 or later, its MJWarp solver and `use_newton_actuators=True`.

Delays are in time steps of the physics, here {timestep * 1e3:g} ms.
\"\"\"

from isaaclab.actuators import BamActuatorCfg, BamMotorCfg

{zero_comment(held, "# ", "Add this to goals to get joint angles.")}MOTOR = BamMotorCfg(
{fields(motor_of(held))})
DEPLOYMENT = dict(
{fields(deployment_of(held, settings, timestep))})


def bam_cfg(joint_names_expr: list[str], **changes) -> BamActuatorCfg:
    \"\"\"Configure the joints matched by these patterns; `changes` overrides fields, e.g. `vin_range`.\"\"\"
    return BamActuatorCfg(joint_names_expr=joint_names_expr, motor=MOTOR, **(DEPLOYMENT | changes))
"""


def drive_values(held: ServoModel, settings: ServoSettings, timestep: float) -> dict[str, float]:
    """Return the attributes of a `NewtonBamDriveAPI` prim by snake-case name, SI units; flags and counts are ints."""
    motor, deployment = motor_of(held), deployment_of(held, settings, timestep)
    friction = motor.pop("model")
    del motor["friction_viscous"]
    sag = deployment.pop("vin_drop_gain_range", None)
    del deployment["armature"]
    flags = {
        "stribeck": int(friction != "m1"),
        "load_dependent": int("load_friction_motor" in motor),
        "quadratic": int("load_friction_motor_quad" in motor),
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
    """Return the pendulum bench as USD: a joint with armature and viscous friction, and its `NewtonActuator`."""
    applied = 'apiSchemas = ["NewtonJointAPI"]'
    joint = {"armature": held.values["armature"], "damping": held.values["friction_viscous"] * PER_DEGREE}
    attributes = "".join(f"        float newton:{name} = {value:.9g}\n" for name, value in joint.items())
    lines: list[str] = []
    for name, value in drive_values(held, settings, timestep).items():
        head, *rest = name.split("_")
        camel = head + "".join(word.capitalize() for word in rest)
        kind, text = ("int", str(value)) if isinstance(value, int) else ("float", f"{value:.9g}")
        lines.append(f"        {kind} newton:{camel} = {text}\n")
    actuator = (
        f'    def NewtonActuator "Servo" (\n        prepend apiSchemas = ["{API}"]\n    )\n    {{\n'
        f"{zero_comment(held, '        # ')}"
        f"        rel newton:targets = </Pendulum/Joint>\n{''.join(lines)}    }}\n"
    )
    return pendulum_text(applied, model, bench, attributes, f"\n{actuator}")
