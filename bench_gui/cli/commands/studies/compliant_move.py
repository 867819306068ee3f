"""Command one or several compliant joints in any operation mode (Mengacci et al., section 3.1).

    bench compliant move --mode 5 --first 0.6 --second 0.2
    bench compliant move --mode 6,4 --first 0.5,0.1 --second 0.2,-0.1 --csv motion.csv
    bench compliant move --mode 3 --references commands.csv

The meaning of the first and the second command depends on the mode:

    0  link torque [N·m]              4  torques of motors 1 and 2 [N·m]
    1  link position [rad]            5  positions of motors 1 and 2, controlled [rad]
    2  positions of motors 1 and 2    6  equilibrium and stiffness preset, controlled
    3  equilibrium and stiffness preset

A file of commands has the column time and one column per command, named by the paper's topics: joint_1/reference_1, or
joint_1/equilibrium_position in modes 3 and 6. The part before the slash names the joint.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import comma_list, numbers, positive_float
from bench_gui.cli.compliant_files import (
    ACTUATOR_CHOICES,
    actuator_name,
    add_outputs,
    say_written,
    unit_named,
)
from bench_gui.cli.files import write_outputs
from bench_gui.cli.terminal import print_json, print_table
from core.base.errors import InputError
from core.base.words import counted

if TYPE_CHECKING:
    import numpy as np

    from core.studies.compliant.array import ArrayMotion, JointArray
    from core.studies.compliant.modes import Mode

STEP = 5e-3
"""Time between commands without a file [s]."""
LARGEST_FILE = 1 << 26
"""Largest accepted file of commands [B]."""
UNEVEN = 1e-3
"""Largest deviation of a file's time steps from their mean, as a share of it."""


def modes_of(text: str) -> tuple[int, ...]:
    """Parse comma-separated operation modes 0 to 6."""
    parts = comma_list(text)
    if not parts or any(part not in "0123456" or len(part) != 1 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of operation modes 0 to 6")
    return tuple(int(part) for part in parts)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench compliant move`."""
    parser.add_argument(
        "--mode",
        type=modes_of,
        default=(6,),
        metavar="M,…",
        help="one mode for all joints, or one per joint (default: 6)",
    )
    parser.add_argument(
        "--first", type=numbers, default=(0.8,), metavar="V,…", help="first command of each joint (default: 0.8)"
    )
    parser.add_argument(
        "--second",
        type=numbers,
        metavar="V,…",
        help="second command of each joint (default: the soft preset in modes with one, else 0)",
    )
    parser.add_argument("--references", metavar="CSV", help="commands over time, instead of --first and --second")
    parser.add_argument(
        "--duration", type=positive_float, default=2.0, metavar="S", help="simulated time (default: %(default)g)"
    )
    parser.add_argument(
        "--actuator",
        type=actuator_name,
        default="qbmove",
        metavar="ACTUATOR",
        help=f"actuator of every joint: {', '.join(ACTUATOR_CHOICES)} or a file (default: %(default)s)",
    )
    add_outputs(parser, "commands, links and motors over time")


def run(arguments: argparse.Namespace) -> None:
    """Simulate the joints, print and write the motion."""
    from core.studies.compliant.array import simulate_array

    array, first, second, step = _commands(arguments)
    motion = simulate_array(array, first, second, step)
    rows = [
        {
            "joint": named.name,
            "mode": int(named.mode),
            "topics": list(named.reference_topics),
            "last_position": float(motion.robot_state.position[-1, k]),
            "last_effort": float(motion.robot_state.effort[-1, k]),
            "last_stiffness": float(motion.stiffness[-1, k]),
        }
        for k, named in enumerate(array.joints)
    ]
    files = write_outputs(arguments, _columns(array, motion, first, second), lambda: _figure(array, motion))
    if arguments.json:
        print_json({"joints": rows, "files": files})
        return
    print_table(
        ["joint", "mode", "first command", "second command", "link/rad", "torque/(N·m)", "stiffness/(N·m/rad)"],
        [
            [
                row["joint"],
                row["mode"],
                *(topic.partition("/")[2] for topic in row["topics"]),
                row["last_position"],
                row["last_effort"],
                row["last_stiffness"] if math.isfinite(row["last_stiffness"]) else None,
            ]
            for row in rows
        ],
    )
    say_written(files)


def _commands(arguments: argparse.Namespace) -> tuple[JointArray, np.ndarray, np.ndarray, float]:
    """Return the joints, both commands (n, joints), and the time between commands [s]."""
    import numpy as np

    if arguments.references is not None:
        return _commands_of_file(arguments)
    modes = _modes(arguments.mode, len(arguments.first))
    array = _array(arguments, [f"joint_{k + 1}" for k in range(len(modes))], modes)
    second = arguments.second or tuple(_default(array, k) for k in range(len(modes)))
    second = second * len(modes) if len(second) == 1 else second
    if len(second) != len(modes):
        raise InputError(f"--second: {len(second)} commands for {counted(len(modes), 'joint')}")
    count = round(arguments.duration / STEP) + 1
    return array, np.tile(arguments.first, (count, 1)), np.tile(second, (count, 1)), STEP


def _commands_of_file(arguments: argparse.Namespace) -> tuple[JointArray, np.ndarray, np.ndarray, float]:
    import numpy as np

    path = arguments.references
    columns = _read(Path(path))
    time = columns.pop("time", None)
    names = list(dict.fromkeys(topic.partition("/")[0] for topic in columns))
    if time is None or not names or len(time) < 2:
        raise InputError(f"{path}: expected a column time [s], a column per command, and two or more rows")
    steps = np.diff(time)
    step = float(steps.mean())
    if not step > 0.0 or float(np.abs(steps - step).max()) > UNEVEN * step:
        raise InputError(f"{path}: the times are not evenly spaced; resample the commands first")
    array = _array(arguments, names, _modes(arguments.mode, len(names)))
    first, second = [], []
    for k, named in enumerate(array.joints):
        topics = named.reference_topics
        if topics[0] not in columns:
            raise InputError(f"{path}: {named.name} in mode {int(named.mode)} needs the column {topics[0]}")
        first.append(columns.pop(topics[0]))
        second.append(columns.pop(topics[1], np.full(len(time), _default(array, k))))
    if columns:
        raise InputError(f"{path}: no joint in its mode takes the column {next(iter(columns))}")
    return array, np.column_stack(first), np.column_stack(second), step


def _read(path: Path) -> dict[str, np.ndarray]:
    """Read the columns of a CSV file by name; raise InputError if it is not usable."""
    import numpy as np

    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: larger than {LARGEST_FILE >> 20} MB; give a file of commands")
        heading, *rows = csv.reader(io.StringIO(path.read_text("utf-8-sig")))
        table = np.array([[float(cell) for cell in row] for row in rows if row])
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise InputError(f"{path}: cannot be read as commands: {error}") from None
    names = [name.strip() for name in heading]
    if table.ndim != 2 or table.shape[1] != len(names) or len(set(names)) < len(names):
        raise InputError(f"{path}: every row needs a number in each column, and column names must differ")
    if not np.isfinite(table).all():
        raise InputError(f"{path}: commands must be finite numbers")
    return dict(zip(names, table.T, strict=True))


def _modes(modes: tuple[int, ...], count: int) -> list[Mode]:
    from core.studies.compliant.modes import Mode

    if len(modes) not in (1, count):
        raise InputError(f"--mode: {len(modes)} modes for {counted(count, 'joint')}; give one for all or one for each")
    return [Mode(mode) for mode in (modes * count if len(modes) == 1 else modes)]


def _array(arguments: argparse.Namespace, names: list[str], modes: list[Mode]) -> JointArray:
    from core.studies.compliant.array import JointArray, NamedJoint
    from core.studies.compliant.joint import CompliantJoint

    actuator = unit_named(arguments.actuator).actuator
    joints = [
        NamedJoint(name=name, joint=CompliantJoint(actuator=actuator), mode=mode)
        for name, mode in zip(names, modes, strict=True)
    ]
    return JointArray(name="robot", joints=tuple(joints))


def _default(array: JointArray, place: int) -> float:
    """Return the default second command of a joint: the soft preset in modes with one, else 0."""
    named = array.joints[place]
    return named.joint.actuator.soft_preset if named.mode.takes_preset else 0.0


def _columns(array: JointArray, motion: ArrayMotion, first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
    """Return commands and states as columns, named by the topics of the Gazebo plugin."""
    columns: dict[str, Any] = {"time": motion.time}
    states = {"link": motion.robot_state, "motor_1": motion.motor_1_state, "motor_2": motion.motor_2_state}
    for k, named in enumerate(array.joints):
        topics = named.reference_topics
        columns[topics[0]] = first[:, k]
        if not topics[1].endswith("/disabled"):
            columns[topics[1]] = second[:, k]
        for name, state in states.items():
            columns |= {
                f"{named.name}/{name}_state {what}": getattr(state, what)[:, k]
                for what in ("position", "velocity", "effort")
            }
        columns[f"{named.name}/stiffness"] = motion.stiffness[:, k]
    return columns


def _figure(array: JointArray, motion: ArrayMotion) -> Any:
    from bench_gui.headless.report.figures import new_figure

    figure = new_figure(7.2, 3.2)
    axes = figure.subplots()
    for k, named in enumerate(array.joints):
        axes.plot(motion.time, motion.robot_state.position[:, k], label=f"{named.name}, mode {int(named.mode)}")
    axes.set_xlabel("time / s")
    axes.set_ylabel("link / rad")
    axes.legend(fontsize=8)
    return figure
