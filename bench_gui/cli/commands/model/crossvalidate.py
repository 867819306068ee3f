"""Choose a model by cross-validation: hold out each mass, length, gain and trajectory in turn.

Each model is fitted to the other runs and scored on the held-out runs. --transfer also tests whether a model fitted to
a single condition works for the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_options, add_recordings, comma_list, options_from, positive_int
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, milliradians, print_json, print_table
from core.base.interrupt import Interrupt
from core.base.units import significant
from core.identification.defaults import COMMAND_PATHS, CONDITIONS
from core.servo.terms import COMMAND_PATH_TERMS

if TYPE_CHECKING:
    from core.identification.choice.model_choice import Variant
    from sessions.results.crossvalidating import CrossValidated


EXAMPLES = """\
examples:
  bench crossvalidate session --by mass,kp -o result
  bench crossvalidate session --models m1,m6 --command-path on --transfer
  bench crossvalidate session --by mass,time --models m6 --additions elastoplastic_rational,output_offset"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench crossvalidate`."""
    add_recordings(parser)
    parser.add_argument(
        "--by",
        type=comma_list,
        default=",".join(CONDITIONS),
        metavar="CONDITION,…",
        help="conditions to hold out: mass, length, kp, trajectory, supply, unit, time … (default: %(default)s)",
    )
    parser.add_argument(
        "--command-path",
        choices=tuple(COMMAND_PATHS),
        default="both",
        help="fit models with the command path, without it, or both (default: %(default)s)",
    )
    parser.add_argument(
        "--command-path-terms",
        type=comma_list,
        metavar="TERM,…",
        help="terms of the command path, e.g. command_delay,supply_sag (default: the usual ones)",
    )
    parser.add_argument(
        "--additions",
        type=comma_list,
        default=(),
        metavar="NAME,…",
        help="contacts and terms to compare beside the last model with the command path, each alone, e.g. "
        "elastoplastic_rational,output_offset (default: none)",
    )
    add_options(parser, "models", "trials", "contact", "prior", "seed")
    parser.add_argument(
        "--most-training-runs",
        type=positive_int,
        metavar="N",
        help="fit to at most N runs of each fold, with every condition; the score uses all held-out runs",
    )
    parser.add_argument("--transfer", action="store_true", help="also fit to each single value and score on the others")
    parser.add_argument(
        "--term-costs", action="store_true", help="also refit the chosen model without each of its terms"
    )
    parser.add_argument(
        "-o", "--output", metavar="RESULT", help="folder for the results; results already there are reused"
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Cross-validate, save and print the result."""
    from core.identification.request import IdentificationRequest
    from sessions import Session
    from sessions.results.crossvalidating import CrossValidationWatch, Question, run_crossvalidation
    from sessions.results.folder import CROSSVALIDATION

    session = Session.open(arguments.session)
    recordings, selection = recordings_from(session, arguments)
    request = IdentificationRequest(
        servo=recordings[0].settings.servo,
        command_path=tuple(arguments.command_path_terms or ()),
        **options_from(arguments),
        data_hash=session.data_hash(selection.runs),
    )
    question = Question(
        request=request,
        by=tuple(arguments.by),
        command_path=arguments.command_path,
        additions=tuple(arguments.additions),
        most_training_runs=arguments.most_training_runs,
        transfer=arguments.transfer,
        terms=arguments.term_costs,
    )
    folder = Path(arguments.output) if arguments.output else None
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        made = run_crossvalidation(
            question,
            recordings,
            folder,
            CrossValidationWatch(
                on_progress=lambda share, text: bar.show(share, f"{text} (Ctrl+C keeps what is complete)"),
                on_recorded=lambda share, text: bar.show(share, text, recorded=True),
                should_stop=lambda: interrupt.asked,
            ),
            selection=selection,
        )
    if arguments.json:
        print_json(made.to_json())
    else:
        _print(made)
        if folder is not None:
            print(f"written to {folder / CROSSVALIDATION}")
        chosen = made.found.choice.chosen
        print(f"next: bench identify {arguments.session} {_options(chosen)} --validation none -o RESULT")
        print("(without these options, bench identify chooses by a single split and may choose another model)")


def _options(chosen: Variant) -> str:
    """Return the options with which `bench identify` fits a variant."""
    added = set(chosen.command_path) - set(COMMAND_PATH_TERMS)
    path = "--command-path" if chosen.command_path else "--no-command-path"
    named = f"--command-path-terms {','.join(chosen.command_path)}"
    return f"--models {chosen.friction} {named if added else path} --contact {chosen.contact}"


def _print(kept: CrossValidated) -> None:
    from core.base.json_fields import plain

    found, choice = kept.found, kept.found.choice
    rows: list[list[Any]] = []
    for variant in found.variants:
        error, gap = found.error(variant), found.difference(variant, choice.best)
        row: list[Any] = [variant.name, milliradians(error.mean), milliradians(error.standard_error)]
        row += [milliradians(gap.mean), milliradians(gap.standard_error)]
        rows.append([*row, *(milliradians(found.fit(variant, fold).mean) for fold in found.folds)])
    print_table(
        ["held out, mrad", "mean", "±", "to best", "±", *(fold.label for fold in found.folds)],
        rows,
    )
    print(choice.text)
    for condition, reason in found.skipped:
        print(f"  {condition} was not held out: {reason}")
    if found.stopped:
        print("stopped early; the conditions above are complete")
    for table in kept.transfers:
        print()
        print_table(
            [f"fitted to \\ on, {table.condition}", *table.labels],
            [
                [label, *(milliradians(plain(error)) for error in row)]
                for label, row in zip(table.labels, table.errors, strict=True)
            ],
        )
        print(table.text)
    if kept.terms:
        print()
        print_table(
            ["without", "training/mrad", "held out/mrad", "±"],
            [
                [
                    cost.term.title,
                    milliradians(plain(cost.training)),
                    milliradians(cost.held_out and plain(cost.held_out.mean)),
                    milliradians(cost.held_out and plain(cost.held_out.standard_error)),
                ]
                for cost in kept.terms.terms
            ],
        )
        print(kept.terms.text)
    if kept.floors:
        print()
        print_table(
            ["repetitions of", "sets", "floor/mrad", "model/mrad", "times the floor"],
            [
                [
                    row.trajectory or "all",
                    row.repetitions,
                    milliradians(row.floor),
                    milliradians(row.error),
                    None if row.ratio is None else significant(row.ratio, 2),
                ]
                for row in kept.floors
            ],
        )
    print(kept.floors_text)
