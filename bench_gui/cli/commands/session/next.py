"""Suggest the recordings that would help most: the conditions of a grid that narrow the model's intervals most."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_recordings, comma_list, model_from, options_from, positive_int, positive_numbers
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.errors import InputError
from core.servo.terms import COMMAND_PATH_TERMS, RICHEST

if TYPE_CHECKING:
    from core.identification.next.proposal import NextRecordings
    from core.motion.recording import Recording
    from core.practice.plan import GridPlan
    from core.servo.model import ServoModel
    from sessions import Selection, Session

QUICK_TRIALS = 150
"""Evaluations per parameter of the fit used without --model; the ranking depends little on the last percent."""

EXAMPLES = """\
examples:
  bench next example --model xl330:m6
  bench next session --masses 0.5,1 --lengths 0.15 --gains 200,400 --count 3"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench next`."""
    add_recordings(parser)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="model identified from the session (default: a quick fit of M6 with command path, or the catalogue's "
        "start values if the session has no runs)",
    )
    parser.add_argument(
        "--servo",
        metavar="SERVO",
        help="catalogue name or servo file (default: servo of the model or of the recordings)",
    )
    parser.add_argument(
        "--count", type=positive_int, default=6, metavar="N", help="number of recordings (default: %(default)s)"
    )
    parser.add_argument(
        "--objective",
        choices=("volume", "widths"),
        default="volume",
        help="minimise the volume of the joint interval, or the widths of the single ones (default: %(default)s)",
    )
    grid = parser.add_argument_group(
        "possible recordings", "Default: the session's plan, or the grid suggested for the servo."
    )
    grid.add_argument("--masses", type=positive_numbers, metavar="KG,…", help="masses of the load")
    grid.add_argument("--lengths", type=positive_numbers, metavar="M,…", help="distances from the shaft to the load")
    grid.add_argument("--gains", type=positive_numbers, metavar="P,…", help="proportional gains in the servo's unit")
    grid.add_argument("--trajectories", type=comma_list, metavar="T,…", help="trajectories, e.g. sin_sin,lift_and_drop")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Choose the recordings and print them."""
    from core.identification.next.design import next_recordings
    from sessions import Session

    session = Session.open(arguments.session)
    recordings, selection = _recordings(arguments, session)
    model = _model(arguments, recordings)
    found = next_recordings(
        model,
        recordings,
        _plan(arguments, session, model),
        count=arguments.count,
        objective=arguments.objective,
        **options_from(arguments),
    )
    if arguments.json:
        print_json(found.to_json() | ({} if selection is None else {"selection": selection.to_json()}))
        return
    _show(arguments, found)


def _recordings(arguments: argparse.Namespace, session: Session) -> tuple[list[Recording], Selection | None]:
    """Load the selected recordings; none for an empty session."""
    if not (arguments.runs or arguments.tag or session.runs() or session.damaged()):
        return [], None
    return recordings_from(session, arguments)


def _model(arguments: argparse.Namespace, recordings: Sequence[Recording]) -> ServoModel:
    from core.identification.identify import IdentificationRequest, Progress, identify
    from core.servo.shipped import catalogue_model

    if arguments.model:
        return model_from(arguments.model)
    if not recordings:
        if not arguments.servo:
            raise InputError(f"{arguments.session}: no runs yet; give --servo or --model")
        return catalogue_model(arguments.servo)
    servo = arguments.servo or recordings[0].settings.servo
    parameters = catalogue_model(servo).parameters.free
    request = IdentificationRequest(
        servo=servo,
        models=(RICHEST,),
        command_path=COMMAND_PATH_TERMS,
        trials=QUICK_TRIALS * len(parameters),
        validation="none",
        **options_from(arguments),
    )
    with ProgressBar(arguments.quiet or arguments.json) as bar:

        def progress(step: Progress) -> None:
            bar.show(step.done, f"{RICHEST.upper()} fitted quickly")

        return identify(request, recordings, on_progress=progress).results[0].model


def _plan(arguments: argparse.Namespace, session: Session, model: ServoModel) -> GridPlan:
    from core.motion.trajectories import canonical_name
    from core.practice.plan import PLAN_DOCUMENT, plan_to_offer

    given = {"masses": arguments.masses, "lengths": arguments.lengths, "kps": arguments.gains}
    if arguments.trajectories:
        given["trajectories"] = tuple(canonical_name(name) for name in arguments.trajectories)
    plan = plan_to_offer(session.document(PLAN_DOCUMENT), model.servo)
    return replace(plan, **{name: value for name, value in given.items() if value})


def _show(arguments: argparse.Namespace, found: NextRecordings) -> None:
    print_table(
        ["trajectory", "mass/kg", "length/m", "gain", "volume", "effect"],
        [
            [p.cell.trajectory, p.cell.mass, p.cell.length, p.cell.kp, f"÷ {p.factor:.2g}", p.words]
            for p in found.proposals
        ],
    )
    print(found.basis)
    best = found.proposals[0].cell
    print(
        f"the first: bench record --trajectory {best.trajectory} --mass {best.mass:g} --length {best.length:g} "
        f"--kp {best.kp:g} -o {quote(str(arguments.session))}"
    )
