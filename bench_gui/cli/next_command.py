"""Say which recordings would help most: the cells of a grid that narrow the model's intervals furthest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_recordings, comma_list, model_from, positive_int, runs_from
from bench_gui.cli.record_command import numbers
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, duration, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.identification.proposal import Proposal
    from core.model import ServoModel
    from core.plan import GridPlan
    from core.recording import Recording
    from sessions import Session

QUICK_TRIALS = 150
"""Evaluations per parameter of the fit that stands in for a model; what helps depends little on the last percent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench next`."""
    add_recordings(parser)
    parser.add_argument(
        "--model",
        metavar="FILE|SERVO:VARIANT",
        help="identified from the session; default: M6 with command path, fitted quickly, or at the catalogue's start "
        "values in a session without runs",
    )
    parser.add_argument("--servo", metavar="NAME", help="catalogue name; default: the model's or the recordings'")
    parser.add_argument("--count", type=positive_int, default=6, metavar="N", help="recordings to name (%(default)s)")
    parser.add_argument(
        "--objective",
        choices=("volume", "widths"),
        default="volume",
        help="what is made small: the joint interval, or the single ones (%(default)s)",
    )
    grid = parser.add_argument_group(
        "what can be recorded", "Default: the session's plan, else the grid suggested for the servo."
    )
    grid.add_argument("--masses", type=numbers, metavar="KG,…", help="loads")
    grid.add_argument("--lengths", type=numbers, metavar="M,…", help="shaft to load")
    grid.add_argument("--gains", type=numbers, metavar="P,…", help="proportional gains in the servo's unit")
    grid.add_argument("--trajectories", type=comma_list, metavar="T,…", help="names, e.g. sin_sin,lift_and_drop")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Choose and print."""
    from core.identification.design import candidate_cells, next_best
    from sessions import Session

    session = Session.open(arguments.session)
    recordings = _recordings(arguments, session)
    model = _model(arguments, recordings)
    plan = _plan(arguments, session, model)
    proposals = next_best(
        model,
        recordings,
        candidate_cells(plan, recordings),
        arguments.count,
        objective=arguments.objective,
        duration=plan.duration,
        dt=arguments.dt,
        supply=arguments.supply,
        threads=arguments.jobs,
    )
    if arguments.json:
        print_json(
            {
                "servo": model.servo,
                "model": model.title,
                "runs": len(recordings),
                "duration": plan.duration,
                "objective": arguments.objective,
                "proposals": [proposal.to_json() for proposal in proposals],
            }
        )
        return 0
    _show(arguments, model, len(recordings), proposals)
    return 0


def _recordings(arguments: argparse.Namespace, session: Session) -> list[Recording]:
    """Those that --runs and --tag choose; none for a session that has none yet."""
    if not (arguments.runs or arguments.tag or session.runs()):
        return []
    return session.load_for_fit(runs_from(session, arguments.runs, arguments.tag))


def _model(arguments: argparse.Namespace, recordings: Sequence[Recording]) -> ServoModel:
    from core.errors import InputError
    from core.identification.identify import IdentificationRequest, Progress, identify
    from core.identification.request import DEFAULT_COMMAND_PATH
    from core.model import build_model

    if arguments.model:
        return model_from(arguments.model)
    if not recordings:
        if not arguments.servo:
            raise InputError(f"{arguments.session}: no runs yet; name the servo with --servo, or a model with --model")
        return build_model(arguments.servo, "m6", command_path=DEFAULT_COMMAND_PATH)
    servo = arguments.servo or recordings[0].settings.servo
    parameters = build_model(servo, "m6", command_path=DEFAULT_COMMAND_PATH).parameters.free
    request = IdentificationRequest(
        servo=servo,
        models=("m6",),
        command_path=DEFAULT_COMMAND_PATH,
        trials=QUICK_TRIALS * len(parameters),
        validation="none",
        dt=arguments.dt,
        supply=arguments.supply,
        threads=arguments.jobs,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)

    def progress(step: Progress) -> None:
        bar.show(step.done, f"M6 fitted quickly, at most {duration(step.remaining)} left")

    model = identify(request, recordings, on_progress=progress).results[0].model
    bar.clear()
    return model


def _plan(arguments: argparse.Namespace, session: Session, model: ServoModel) -> GridPlan:
    from dataclasses import replace

    from bench_gui.recording import PLAN_DOCUMENT
    from core.catalogue import load_servo
    from core.plan import GridPlan, suggested_plan
    from core.trajectories import canonical_name

    kept = session.document(PLAN_DOCUMENT)
    plan = suggested_plan(load_servo(model.servo)) if kept is None else GridPlan.from_json(kept)
    given = {"masses": arguments.masses, "lengths": arguments.lengths, "kps": arguments.gains}
    if arguments.trajectories:
        given["trajectories"] = tuple(canonical_name(name) for name in arguments.trajectories)
    return replace(plan, **{name: value for name, value in given.items() if value})


def _show(arguments: argparse.Namespace, model: ServoModel, known: int, proposals: Sequence[Proposal]) -> None:
    from shlex import quote

    print_table(
        ["trajectory", "mass/kg", "length/m", "gain", "volume", "what it tells"],
        [[p.cell.trajectory, p.cell.mass, p.cell.length, p.cell.kp, f"÷ {p.factor:.2g}", p.words] for p in proposals],
    )
    runs = f"{known} run{'s' if known != 1 else ''}"
    print(f"{model.title} after {runs}; volume of its joint 95 % interval, each line on top of those above it")
    best = proposals[0].cell
    print(
        f"the first: bench record --trajectory {best.trajectory} --mass {best.mass:g} --length {best.length:g} "
        f"--kp {best.kp:g} -o {quote(str(arguments.session))}"
    )
