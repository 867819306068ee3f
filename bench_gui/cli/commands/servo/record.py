"""Record trajectories with a servo into a session.

The torque is switched off after every run and on Ctrl+C. With --plan, the missing recordings of a grid are made; the
command asks for each change of the bench.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_bench, add_several, bench_from, positive_float, positive_int, positive_numbers
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json
from core.base.errors import InputError
from core.base.words import counted

if TYPE_CHECKING:
    from core.practice.plan import GridPlan
    from drivers.recorder.planned import RecordedRun

PAPER = "paper"
GRID_OPTIONS = ("masses", "lengths", "kps", "repetitions")


EXAMPLES = """\
examples:
  bench record --servo simulated:xl330 --fast -o session
  bench record --trajectory sin_sin,lift_and_drop --mass 0.5 --length 0.15 --kp 16 -o session
  bench record --plan paper --repetitions 2 -o session"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench record`."""
    parser.add_argument(
        "--servo",
        default="simulated:mx106",
        metavar="ADDRESS",
        help="address of the servo, e.g. simulated:xl330 or simulated:my.toml (default: %(default)s)",
    )
    add_several(
        parser,
        "--trajectory",
        default=["paper"],
        metavar="T",
        help="trajectories (default: paper, the paper's four)",
    )
    parser.add_argument(
        "--duration", type=positive_float, metavar="S", help="duration of each run (default: the trajectory's)"
    )
    parser.add_argument(
        "--rate",
        type=positive_float,
        metavar="HZ",
        help="sample rate (default: 200, or a rate that fits the servo's bus cycle)",
    )
    add_bench(parser)
    grid = parser.add_argument_group(
        "grid of conditions",
        "Record what the session is missing. The command asks for each change of the bench; run it again to continue.",
    )
    grid.add_argument(
        "--plan",
        metavar="paper|FILE",
        help='plan written by the window, or "paper" for Table I of the paper, scaled to the servo',
    )
    grid.add_argument(
        "--masses", type=positive_numbers, metavar="KG,…", help="masses of the load, instead of the plan's"
    )
    grid.add_argument(
        "--lengths",
        type=positive_numbers,
        metavar="M,…",
        help="distances from the shaft to the load, instead of the plan's",
    )
    grid.add_argument("--kps", type=positive_numbers, metavar="P,…", help="proportional gains, instead of the plan's")
    grid.add_argument("--repetitions", type=positive_int, metavar="N", help="recordings of each condition")
    parser.add_argument("--fast", action="store_true", help="run a simulated servo faster than real time")
    parser.add_argument("-o", "--output", required=True, metavar="SESSION", help="session folder, created if needed")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Record the runs and list them."""
    from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
    from drivers.recorder.planned import RecordingPlan, record_grid, record_plan
    from sessions import Session

    names = PAPER_TRAJECTORIES if arguments.trajectory == [PAPER] else arguments.trajectory
    plan = RecordingPlan(
        servo=arguments.servo,
        trajectories=tuple(make_trajectory(name, arguments.duration) for name in names),
        bench=bench_from(arguments),
        kp=arguments.kp,
        ki=arguments.ki,
        kd=arguments.kd,
        supply_voltage=arguments.supply_voltage,
        damping=arguments.damping,
        rate=arguments.rate,
        fast=arguments.fast,
    )
    open_session = partial(Session.open_or_create, arguments.output)
    grid = _grid(arguments)
    if grid is None:
        with ProgressBar(arguments.quiet or arguments.json) as bar:
            results = record_plan(plan, open_session, bar.show)
        if arguments.json:
            print_json([result.to_json() for result in results])
        else:
            _list(results)
        return 0 if all(result.exit_status == "success" for result in results) else 1
    with ProgressBar(arguments.quiet or arguments.json) as bar:
        results, state = record_grid(grid, plan, open_session, bar.show, lambda change: _ask(bar, change))
    done, total = len(state.done), len(grid)
    if arguments.json:
        print_json({"runs": [result.to_json() for result in results], "done": done, "total": total})
    else:
        _list(results)
        then = "" if state.complete else "; run the command again to continue"
        print(f"{done} of {counted(total, 'run')} of the plan recorded{then}")
    return 0 if state.complete else 1


def _list(results: list[RecordedRun]) -> None:
    for result in results:
        name = result.id or result.trajectory
        print(f"{name}: {result.exit_status}" + (f", {result.reason}" if result.reason else ""))


def _grid(arguments: argparse.Namespace) -> GridPlan | None:
    """Return the requested grid, None without --plan; raise InputError if it is not usable."""
    from core.practice.plan import GridPlan, suggested_plan
    from core.servo.catalogue import load_servo
    from drivers.recorder.planned import identity_at
    from drivers.registry import ServoAddress

    given = {name: value for name in GRID_OPTIONS if (value := getattr(arguments, name)) is not None}
    if arguments.plan is None:
        if given:
            raise InputError(f"--{next(iter(given))} changes a grid; add --plan")
        return None
    if arguments.plan == PAPER:
        grid = suggested_plan(load_servo(identity_at(ServoAddress.parse(arguments.servo)).model))
    else:
        try:
            grid = GridPlan.from_json_text(Path(arguments.plan).read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise InputError(f"{arguments.plan}: cannot be read as a recording plan: {reason}") from None
    if arguments.trajectory != [PAPER]:
        given["trajectories"] = tuple(arguments.trajectory)
    if arguments.duration is not None:
        given["duration"] = arguments.duration
    return replace(grid, **given, **({"title": "", "source": ""} if given else {}))


def _ask(bar: ProgressBar, change: str) -> bool:
    """Ask the user to change the bench and wait for Enter; return False at the end of the input."""
    bar.clear()
    print(f"{change}, then press Enter (Ctrl+D stops here): ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        print(file=sys.stderr)
    return bool(line)
