"""Quantify the uncertainty of an identified model's values: profile likelihoods, and a bootstrap over runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_options, add_session, any_int, comma_list
from bench_gui.cli.session_runs import say_damage
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.interrupt import Interrupt
from core.identification.defaults import DRAWS, PROFILED
from core.servo.terms import FRICTION_MODELS

if TYPE_CHECKING:
    from core.identification.evidence.certainty import Certainty


EXAMPLES = """\
examples:
  bench certainty session
  bench certainty session --profile kt,R --bootstrap 100"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench certainty`."""
    add_session(parser, "session that was identified")
    parser.add_argument(
        "--result", metavar="ID", help="folder of the identification, or its name in the session (default: the newest)"
    )
    parser.add_argument(
        "--friction-model",
        type=str.lower,
        choices=FRICTION_MODELS,
        metavar="M",
        help="friction model m1 … m6 (default: the recommended one)",
    )
    parser.add_argument(
        "--profile",
        type=comma_list,
        default=PROFILED,
        metavar="NAME,…",
        help='parameters to profile, "all", or "flagged": those that are not good or at a bound (default: %(default)s)',
    )
    parser.add_argument(
        "--bootstrap",
        type=_draws,
        default=DRAWS,
        metavar="N",
        help="number of bootstrap draws, 0 for none (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=any_int, default=0, metavar="S", help="random seed of the draws (default: %(default)s)"
    )
    add_options(parser, "threads")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compute the uncertainties, save and print them."""
    from sessions import selection_damage
    from sessions.results.certifying import CertaintyQuestion, run_certainty
    from sessions.results.folder import CERTAINTY, result_folder
    from sessions.results.identification import load_identification

    session = Path(arguments.session)
    question = CertaintyQuestion(
        session=session,
        folder=result_folder(session, arguments.result),
        friction=arguments.friction_model,
        profiled=tuple(arguments.profile),
        draws=arguments.bootstrap,
        seed=arguments.seed,
        threads=arguments.threads,
    )
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        made = run_certainty(
            question,
            on_progress=lambda share, text: bar.show(share, f"{text} (Ctrl+C keeps what is complete)"),
            should_stop=lambda: interrupt.asked,
        )
    say_damage(arguments, selection_damage(load_identification(question.folder).recommended.model.provenance))
    if arguments.json:
        print_json(made.to_json())
        return
    _print(made)
    print(f"written to {question.folder / CERTAINTY}; bench report shows it")


def _draws(text: str) -> int:
    value = any_int(text)
    if value < 0 or value == 1:
        raise argparse.ArgumentTypeError(f"{text} draws show no spread; give at least 2, or 0 for none")
    return value


def _print(made: Certainty) -> None:
    draws = f"bootstrap, {made.draws} draws" if made.draws else "bootstrap"
    print_table(
        ["parameter", "value", "unit", "± 95 %", "profile 95 %", draws, "remarks"],
        [
            [
                p.name,
                p.grade.figure,
                p.unit,
                p.grade.width,
                p.profile.text if p.profile is not None else None,
                p.spread.text if p.spread is not None else None,
                "; ".join(p.remarks),
            ]
            for p in made.parameters
        ],
    )
    for note in made.notes:
        print(f"  {made.friction.upper()}: {note}")
    if made.stopped:
        print("stopped early; complete results are kept")
