"""Simulate, identify and export compliant actuators (SEA, AwAS-II, BAVS, qbMove).

The experiments are those of the paper on compliant actuators, each with a soft and a stiff preset. They print their
results; --csv writes the motion over time and --figure draws it. bench compliant TASK --help describes a task.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_task, any_number, not_negative, numbers, positive_float
from bench_gui.cli.commands.studies import compliant_export, compliant_identify, compliant_learn, compliant_move
from bench_gui.cli.compliant_files import (
    actuator_of,
    add_actuator,
    add_outputs,
    drawing,
    pair_of,
    say_written,
)
from bench_gui.cli.files import by_joint, write_outputs
from bench_gui.cli.terminal import print_json, print_table

if TYPE_CHECKING:
    import numpy as np

    from core.studies.compliant.experiments import ArmRun, JointRun

FURTHER_TASKS = (
    ("learn", compliant_learn, "learn the input that makes a soft arm follow a motion (Fig. 15)"),
    ("identify", compliant_identify, "identify springs and motors from recordings"),
    ("export", compliant_export, "export compliant joints to Gazebo"),
    ("move", compliant_move, "command one or several joints in any operation mode"),
)
"""Tasks with their own modules."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench compliant`."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)

    curve = add_task(tasks, "curve", "compute torque and stiffness of an actuator's springs")
    add_actuator(curve, "qbmove")
    curve.add_argument("--presets", type=numbers, metavar="P,…", help="stiffness presets (default: soft and stiff)")
    add_outputs(curve, "torque and stiffness over deflection")
    curve.set_defaults(run_task=_curve)

    step = add_task(tasks, "step", "simulate steps of the equilibrium under gravity, soft and stiff (Fig. 7)")
    add_actuator(step, None)
    step.add_argument("--goal", type=any_number, default=0.8, metavar="RAD", help="step height (default: %(default)s)")
    _add_duration(step, 0.5)
    add_outputs(step, "links over time")
    step.set_defaults(run_task=_step)

    chirp = add_task(tasks, "chirp", "measure the frequency response of one joint, soft and stiff (Fig. 11)")
    add_actuator(chirp, None)
    _add_amplitude(chirp, 0.15)
    chirp.add_argument(
        "--band", type=numbers, default=(0.5, 6.0), metavar="HZ,HZ", help="frequency band (default: 0.5,6)"
    )
    _add_duration(chirp, 40.0)
    add_outputs(chirp, "magnitude and phase over frequency, links over time")
    chirp.set_defaults(run_task=_chirp)

    sine = add_task(tasks, "sine", "move one joint along a sinusoid under gravity, soft and stiff")
    add_actuator(sine, None)
    _add_sinusoid(sine)
    add_outputs(sine, "links over time")
    sine.set_defaults(run_task=_sine)

    arm = add_task(tasks, "arm", "move an arm of two joints, soft and stiff: horizontal step, vertical sinusoid")
    add_actuator(arm, None)
    _add_sinusoid(arm)
    add_outputs(arm, "both joints over time")
    arm.set_defaults(run_task=_arm)

    box = add_task(tasks, "box", "move an arm whose tip hits a box, soft and stiff (Fig. 14)")
    add_actuator(box, None)
    box.add_argument(
        "--mass", type=positive_float, default=2.0, metavar="KG", help="mass of the box (default: %(default)g)"
    )
    box.add_argument(
        "--friction",
        type=not_negative,
        default=0.23,
        metavar="MU",
        help="friction coefficient below the box (default: %(default)g)",
    )
    add_outputs(box, "tip, push and box over time")
    box.set_defaults(run_task=_box)

    for name, module, summary in FURTHER_TASKS:
        further = add_task(tasks, name, summary, description=module.__doc__)
        module.add_arguments(further)
        further.set_defaults(run_task=module.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the task."""
    return int(arguments.run_task(arguments) or 0)


# Arguments.


def _add_sinusoid(parser: argparse.ArgumentParser) -> None:
    _add_amplitude(parser, 0.8)
    parser.add_argument(
        "--rate", type=positive_float, default=0.8, metavar="RAD/S", help="angular frequency (default: %(default)s)"
    )
    _add_duration(parser, 16.0)


def _add_amplitude(parser: argparse.ArgumentParser, default: float) -> None:
    parser.add_argument(
        "--amplitude", type=positive_float, default=default, metavar="RAD", help="amplitude (default: %(default)s)"
    )


def _add_duration(parser: argparse.ArgumentParser, default: float) -> None:
    parser.add_argument(
        "--duration", type=positive_float, default=default, metavar="S", help="simulated time (default: %(default)g)"
    )


# Tasks.


def _curve(arguments: argparse.Namespace) -> None:
    import numpy as np

    actuator = actuator_of(arguments)
    assert actuator is not None
    presets = arguments.presets or tuple(dict.fromkeys((actuator.soft_preset, actuator.stiff_preset)))
    limit = actuator.parameters()["max_deflection"].value
    deflection = np.linspace(-limit, limit, 161)
    found = {p: actuator.elastic_torque(*actuator.references(0.0, p), deflection) for p in presets}
    middle = len(deflection) // 2
    numbers = [
        {
            "preset": preset,
            "stiffness_at_rest": float(torque.stiffness[middle]),
            "rests_at": round(float(actuator.equilibrium(*actuator.references(0.0, preset))), 9),
            "largest_torque": float(np.max(np.abs(torque.link))),
        }
        for preset, torque in found.items()
    ]
    columns = {"deflection": deflection}
    for preset, torque in found.items():
        columns |= {f"torque at {preset:g}": torque.link, f"stiffness at {preset:g}": torque.stiffness}
    files = write_outputs(arguments, columns, lambda: drawing().curve_figure(actuator))
    if arguments.json:
        values = {parameter.name: parameter.value for parameter in actuator.parameters().values()}
        print_json({"actuator": actuator.name, "parameters": values, "presets": numbers, "files": files})
        return
    unit = actuator.preset_unit or "none"
    values = (f"{p.symbol} = {p.value:g} {p.unit}".strip() for p in actuator.parameters().values())
    print(f"{actuator.title}: {', '.join(values)}")
    print_table(
        [f"preset/{unit}", "stiffness/(N·m/rad)", "rests at/rad", f"torque within ±{limit:g} rad/(N·m)"],
        [list(row.values()) for row in numbers],
    )
    say_written(files)


def _step(arguments: argparse.Namespace) -> None:
    from core.studies.compliant.experiments import step_responses

    chosen = actuator_of(arguments)
    runs = step_responses([chosen] if chosen is not None else None, arguments.goal, arguments.duration)
    numbers = [
        {
            "actuator": each.behaviour.actuator.name,
            "behaviour": each.behaviour.title,
            "final_error": each.final_error,
            "overshoot": each.overshoot,
            "settling_time": each.settling_time,
        }
        for each in runs
    ]
    files = write_outputs(arguments, _of_joints(runs), lambda: drawing().step_figure(runs))
    if arguments.json:
        print_json({"goal": arguments.goal, "runs": numbers, "files": files})
        return
    print_table(
        ["actuator", "behaviour", "final error/mrad", "overshoot/mrad", "settled after/s"],
        [
            [each.behaviour.actuator.title, row["behaviour"], 1e3 * row["final_error"], 1e3 * row["overshoot"],
             row["settling_time"]]
            for each, row in zip(runs, numbers, strict=True)
        ],
    )  # fmt: skip
    say_written(files)


def _chirp(arguments: argparse.Namespace) -> None:
    from core.studies.compliant.arm import DATASHEET
    from core.studies.compliant.experiments import frequency_responses

    found = frequency_responses(
        actuator_of(arguments) or DATASHEET, arguments.amplitude, pair_of(arguments.band, "--band"), arguments.duration
    )
    numbers = [
        {
            "behaviour": each.run.behaviour.title,
            "bandwidth": each.bandwidth,
            "first_magnitude": float(each.magnitude[0]),
            "last_magnitude": float(each.magnitude[-1]),
            "frequency": each.frequency.tolist(),
            "magnitude": each.magnitude.tolist(),
            "phase": each.phase.tolist(),
        }
        for each in found
    ]
    columns = {"frequency": found[0].frequency}
    for each in found:
        name = each.run.behaviour.name
        columns |= {f"magnitude, {name}": each.magnitude, f"phase, {name}": each.phase}
    columns |= _of_joints([each.run for each in found])
    files = write_outputs(arguments, columns, lambda: drawing().chirp_figure(found))
    if arguments.json:
        print_json({"responses": numbers, "files": files})
        return
    low, high = (float(found[0].frequency[place]) for place in (0, -1))
    print_table(
        ["behaviour", f"magnitude at {low:.2g} Hz", f"magnitude at {high:.2g} Hz", "bandwidth/Hz"],
        [
            [row["behaviour"], row["first_magnitude"], row["last_magnitude"],
             row["bandwidth"] if math.isfinite(row["bandwidth"]) else f"above {high:.2g}"]
            for row in numbers
        ],
    )  # fmt: skip
    say_written(files)


def _sine(arguments: argparse.Namespace) -> None:
    from core.studies.compliant.arm import DATASHEET
    from core.studies.compliant.experiments import sinusoid_runs

    runs = sinusoid_runs(actuator_of(arguments) or DATASHEET, arguments.amplitude, arguments.rate, arguments.duration)
    numbers = [{"behaviour": each.behaviour.title, "worst_error": each.worst_error} for each in runs]
    files = write_outputs(arguments, _of_joints(runs), lambda: drawing().sine_figure(runs))
    if arguments.json:
        print_json({"runs": numbers, "files": files})
        return
    print_table(
        ["behaviour", "largest error/mrad"], [[row["behaviour"], 1e3 * float(row["worst_error"])] for row in numbers]
    )
    say_written(files)


def _arm(arguments: argparse.Namespace) -> None:
    from core.studies.compliant.experiments import arm_of, arm_sinusoids, arm_steps

    chosen = actuator_of(arguments)
    arm = None if chosen is None else arm_of(chosen)
    steps = arm_steps(arm, arguments.amplitude)
    sinusoids = arm_sinusoids(arm, arguments.amplitude, arguments.rate, arguments.duration)
    numbers = [
        {
            "task": task,
            "behaviour": each.behaviour.title,
            "final_error": each.final_error.tolist(),
            "worst_error": each.worst.tolist(),
            "largest_norm": float(each.error_norm.max()),
            "turns": each.turns.tolist(),
        }
        for task, runs in (("horizontal step", steps), ("vertical sinusoid", sinusoids))
        for each in runs
    ]
    files = write_outputs(
        arguments, _of_arms({"step": steps, "sinusoid": sinusoids}), lambda: drawing().arm_figure(steps, sinusoids)
    )
    if arguments.json:
        print_json({"runs": numbers, "files": files})
        return
    print_table(
        ["horizontal step", *(f"{what} of joint {joint}" for joint in (1, 2) for what in ("end/mrad", "turns"))],
        [
            [
                each.behaviour.title,
                *(v for j in range(2) for v in (1e3 * float(each.final_error[j]), int(each.turns[j]))),
            ]
            for each in steps
        ],
    )
    print()
    print_table(
        ["vertical sinusoid", *(f"largest error of joint {joint}/mrad" for joint in (1, 2))],
        [[each.behaviour.title, *(1e3 * float(error) for error in each.worst)] for each in sinusoids],
    )
    say_written(files)


def _box(arguments: argparse.Namespace) -> None:
    from core.studies.compliant.arm import DATASHEET
    from core.studies.compliant.experiments import box_on_the_way, box_runs

    box = replace(box_on_the_way(), mass=arguments.mass, friction=arguments.friction)
    runs = box_runs(actuator_of(arguments) or DATASHEET, box)
    numbers = [
        {
            "behaviour": each.behaviour.title,
            "pushed": each.pushed,
            "short": each.short,
            "largest_push": float(each.motion.tip_force.max()),
            "last_push": float(each.motion.tip_force[-1]),
        }
        for each in runs
    ]
    columns: dict[str, Any] = {"time": runs[0].motion.time, "way": runs[0].way[:, 0]}
    for each in runs:
        name = each.behaviour.name
        columns |= {
            f"tip_x, {name}": each.tip[:, 0],
            f"tip_z, {name}": each.tip[:, 1],
            f"push, {name}": each.motion.tip_force,
            f"box, {name}": each.motion.box,
        }
    files = write_outputs(arguments, columns, lambda: drawing().box_figure(runs))
    if arguments.json:
        print_json({"holding_force": box.holding_force, "runs": numbers, "files": files})
        return
    print(f"box of {box.mass:g} kg, slides above {box.holding_force:.3g} N")
    print_table(
        ["behaviour", "box moved/mm", "tip short of its goal/mm", "largest push/N", "last push/N"],
        [
            [
                row["behaviour"],
                1e3 * float(row["pushed"]),
                1e3 * float(row["short"]),
                row["largest_push"],
                row["last_push"],
            ]
            for row in numbers
        ],
    )
    say_written(files)


# Tables.


def _of_joints(runs: Sequence[JointRun]) -> dict[str, np.ndarray]:
    columns = {"time": runs[0].motion.time, "wanted": runs[0].wanted}
    for each in runs:
        name = f"{each.behaviour.actuator.name}, {each.behaviour.name}"
        columns |= {
            f"link, {name}": each.motion.position,
            f"link equilibrium, {name}": each.link_equilibrium,
            f"spring torque, {name}": each.motion.link_torque,
        }
    return columns


def _of_arms(tasks: Mapping[str, Sequence[ArmRun]]) -> dict[str, np.ndarray]:
    """Return the columns of both tasks; those of the shorter one end in empty cells."""
    columns: dict[str, Any] = {}
    for task, runs in tasks.items():
        columns |= {
            f"time of the {task}": runs[0].motion.time,
            **by_joint(f"{task}: wanted_", runs[0].motion.equilibrium),
        }
        for each in runs:
            columns |= by_joint(f"{task}: link, {each.behaviour.name}, joint ", each.motion.position)
            columns |= by_joint(f"{task}: link equilibrium, {each.behaviour.name}, joint ", each.link_equilibrium)
            columns[f"{task}: error norm, {each.behaviour.name}"] = each.error_norm
    return columns
