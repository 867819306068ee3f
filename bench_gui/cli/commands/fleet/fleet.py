"""Identify many units of a servo, on this machine or on a cluster.

Completed fits are kept in the folder of the fleet; running the command again computes only the missing ones.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_options, comma_list, options_from, positive_int, session_place
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, duration, milliradians, print_json, print_table
from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.base.words import counted

if TYPE_CHECKING:
    from core.fleet.plan import FleetPlan, FleetRequest
    from core.fleet.result import FleetResult


EXAMPLES = """\
examples:
  bench fleet unit1 unit2 unit3 -o fleet
  bench fleet --simulated 8 --servo xl330 --models m1,m6 --trials 500 -o fleet
  bench fleet -o fleet"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench fleet`."""
    parser.add_argument(
        "sessions",
        nargs="*",
        metavar="SESSION",
        type=session_place,
        help="one session per unit, or sessions with serial numbers of units; without sessions, show the fleet",
    )
    parser.add_argument(
        "--simulated", type=positive_int, metavar="N", help="create and use sessions of N simulated units of --servo"
    )
    parser.add_argument(
        "--servo", metavar="SERVO", help="catalogue name or servo file (default: the recordings' servo)"
    )
    parser.add_argument(
        "--by",
        type=comma_list,
        default=[],
        metavar="CONDITION,…",
        help="fit to all runs, and score by holding out each value of these conditions, e.g. mass,kp",
    )
    parser.add_argument(
        "--command-path-terms",
        type=comma_list,
        default=[],
        metavar="TERM,…",
        help="command path terms to identify (default: none; try bench identify on one unit first)",
    )
    add_options(parser, "models", "repeats", "validation", "trials", "seed", "contact", "prior")
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="scheduler of a Dask cluster, e.g. tls://10.0.0.5:8786 with TLS configured in Dask (default: processes on "
        "this machine). Anyone who can reach a tcp:// scheduler can run programs on its workers and on this machine; "
        "use one only in a trusted network",
    )
    parser.add_argument(
        "--workers", type=positive_int, metavar="N", help="processes on this machine (default: one per processor)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder of the fleet")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Identify the fleet, or show its state."""
    from bench_gui.headless.fleet.gather import SESSIONS, gather_units, load_unit, simulated_sessions
    from bench_gui.headless.fleet.job import EngineChoice, run_fleet_job
    from core.fleet.driver import FleetProgress, FleetWatch
    from core.fleet.plan import make_plan
    from core.fleet.store import FleetStore

    folder = Path(arguments.output)
    store = FleetStore(folder)
    sessions = [Path(session) for session in arguments.sessions]
    if arguments.simulated:
        if not arguments.servo:
            raise InputError("--simulated needs a servo; add --servo mx106, or another servo of bench models")
        sessions += simulated_sessions(arguments.servo, arguments.simulated, folder / SESSIONS, arguments.seed)
    if not sessions:
        return _tell(store.result(), folder, arguments)
    units = gather_units(sessions, arguments.servo)
    plan = make_plan(_request(arguments, units[0].servo), units, load_unit)
    last: list[FleetProgress] = []
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:

        def progress(step: FleetProgress) -> None:
            last[:] = [step]
            if step.note:
                bar.clear()
                print(step.note, file=sys.stderr)
            bar.show(step.share, f"{step.text} (Ctrl+C keeps what is done)")

        watch = FleetWatch(progressed=progress, should_stop=lambda: interrupt.asked)
        engine = EngineChoice(scheduler=arguments.scheduler, workers=arguments.workers)
        result = run_fleet_job(plan, load_unit, store, engine, watch)
    if not arguments.json:
        _say_effort(plan, last[0], arguments.quiet)
    return _tell(result, folder, arguments, last[0].computed)


def _tell(result: FleetResult, folder: Path, arguments: argparse.Namespace, computed: int = 0) -> None:
    say_damage(arguments, *(unit.facts.damage for unit in result.units))
    _show(result, folder, arguments.json, computed)


def _request(arguments: argparse.Namespace, servo: str) -> FleetRequest:
    from core.fleet.plan import FleetRequest
    from core.identification.request import IdentificationRequest

    return FleetRequest(
        fit=IdentificationRequest(
            servo=servo,
            command_path=tuple(arguments.command_path_terms),
            **options_from(arguments),
        ),
        by=tuple(arguments.by),
    )


def _say_effort(plan: FleetPlan, step: object, quiet: bool) -> None:
    from core.fleet.driver import FleetProgress

    if quiet or not isinstance(step, FleetProgress):
        return
    known = step.done - step.computed
    print(
        f"{counted(plan.tasks, 'fit')} of {counted(len(plan.units), 'unit')}: {counted(step.computed, 'task')} "
        f"computed in {duration(step.seconds)}, {known} already there"
    )


def _show(result: FleetResult, folder: Path, as_json: bool, computed: int = 0) -> None:
    """Print the state of a fleet."""
    if as_json:
        print_json(_as_json(result, folder, computed))
        return
    rows = []
    for unit in result.units:
        best = unit.best
        rows.append(
            [
                unit.facts.name,
                len(unit.facts.runs),
                f"{unit.done}/{unit.tasks}",
                "–" if best is None else best.model.friction.upper(),
                None if best is None else milliradians(best.train_mae),
                None if best is None else milliradians(best.validation_mae),
                None if result.transfer is None else _others(result, unit.facts.name),
            ]
        )
    print_table(["unit", "runs", "fits", "best", "training/mrad", "validation/mrad", "others' models/mrad"], rows)
    for unit, problem in result.problems.items():
        print(f"{unit} cannot be fitted: {problem}")
    if not result.models:
        return
    if not result.complete:
        print("some fits are missing; run the same command again to compute them")
    print(f"All units: {result.choice}")
    if result.transfer is not None:
        own, elsewhere = (1e3 * float(errors.mean()) for errors in (result.transfer.own, result.transfer.elsewhere))
        friction = result.transfer.friction.upper()
        print(f"One unit's {friction} has an error of {own:.2f} mrad there and {elsewhere:.2f} mrad on the others.")
    print(f"models are in {folder / 'units'}")


def _others(result: FleetResult, unit: str) -> str | None:
    transfer = result.transfer
    if transfer is None or unit not in transfer.units:
        return None
    return milliradians(float(transfer.received[transfer.units.index(unit)]))


def _as_json(result: FleetResult, folder: Path, computed: int) -> dict[str, object]:
    return {
        "folder": str(folder),
        "tasks": result.plan.tasks,
        "done": result.done,
        "computed": computed,
        "recommended": result.recommended if result.models else None,
        "units": [
            {
                **unit.facts.to_json(),
                "tasks": unit.tasks,
                "done": unit.done,
                "best": None if unit.best is None else unit.best.model.friction,
                "models": {
                    friction: {
                        "train_mae": found.train_mae,
                        "validation_mae": found.validation_mae,
                        "parameters": found.model.values,
                        "standard_errors": {p.name: p.standard_error for p in found.evidence.parameters},
                    }
                    for friction, found in unit.results.items()
                },
            }
            for unit in result.units
        ],
        "transfer": None if result.transfer is None else result.transfer.to_json(),
        "problems": dict(result.problems),
    }
