"""Which model to use, and whether it transfers: fit with one mass, gain … held out after the other, judge on it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_recordings, comma_list, friction_models, positive_int, runs_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, milliradians, print_json, print_table

if TYPE_CHECKING:
    from core.identification.model_choice import CrossValidation
    from core.identification.repeatability import Repeatability
    from core.identification.terms import TermCosts
    from core.identification.transfer import TransferTable

SUMMARY = "crossvalidation.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench crossvalidate`."""
    add_recordings(parser)
    parser.add_argument(
        "--by",
        type=comma_list,
        default="mass,length,kp,trajectory",
        metavar="CONDITION,…",
        help="what to hold out, one value after the other: mass, length, kp, trajectory, supply, unit … (%(default)s)",
    )
    parser.add_argument(
        "--model", type=friction_models, default="all", metavar="M,…", help="m1 … m6, several with commas, or all (all)"
    )
    parser.add_argument(
        "--command-path", choices=("both", "on", "off"), default="both", help="with it, without, or both (%(default)s)"
    )
    parser.add_argument(
        "--path-terms",
        type=comma_list,
        metavar="TERM,…",
        help="the command path's terms, e.g. command_delay,supply_sag; default: the usual ones",
    )
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="evaluations per model and fold; default: by parameters"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="(%(default)s)")
    parser.add_argument(
        "--most-training-runs",
        type=positive_int,
        metavar="N",
        help="fit to at most N runs of each fold, every condition kept; judged on all that are held out",
    )
    parser.add_argument("--transfer", action="store_true", help="also fit to each single value and judge on the others")
    parser.add_argument("--terms", action="store_true", help="also leave out each term of the chosen model")
    parser.add_argument(
        "-o", "--output", metavar="RESULT", help=f"folder for {SUMMARY} and the studies; what is there is not redone"
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Cross-validate, save and print."""
    from bench_gui.interrupt import Interrupt
    from core.errors import IdentificationError
    from core.identification.crossvalidation import all_variants, cross_validate
    from core.identification.repeatability import repeatability
    from core.identification.request import IdentificationRequest
    from core.identification.terms import term_costs
    from core.identification.transfer import transfer_table
    from sessions import Session

    session = Session.open(arguments.session)
    runs = runs_from(session, arguments.runs, arguments.tag)
    recordings = session.load_for_fit(runs)
    request = IdentificationRequest(
        servo=recordings[0].settings.servo,
        models=arguments.model,
        command_path=tuple(arguments.path_terms or ()),
        trials=arguments.trials,
        seed=arguments.seed,
        dt=arguments.dt,
        supply=arguments.supply,
        threads=arguments.jobs,
        data_hash=session.data_hash(runs),
    )
    wanted = {"both": (False, True), "on": (True,), "off": (False,)}[arguments.command_path]
    variants = [v for v in all_variants(request, arguments.model) if bool(v.command_path) in wanted]
    folder = Path(arguments.output) if arguments.output else None
    bar = ProgressBar(arguments.quiet or arguments.json)
    transfers: list[TransferTable] = []
    terms = None
    with Interrupt() as interrupt:
        found = cross_validate(
            request,
            recordings,
            arguments.by,
            variants=variants,
            folder=folder,
            most_training_runs=arguments.most_training_runs,
            should_stop=lambda: interrupt.asked,
            on_progress=lambda at: bar.show(
                at.done,
                f"without {at.fold.label} ({at.number} of {at.folds}), {at.step.model.upper()} "
                f"{1e3 * at.step.generation.overall_best_value:.2f} mrad (Ctrl+C keeps complete folds)",
            ),
        )
        chosen = found.choice.chosen
        for condition in dict.fromkeys(fold.condition for fold in found.folds) if arguments.transfer else ():
            try:
                table = transfer_table(
                    request,
                    recordings,
                    condition,
                    chosen,
                    most_training_runs=arguments.most_training_runs,
                    should_stop=lambda: interrupt.asked,
                    on_progress=lambda label, done: bar.show(done, f"transfer: fitted to {label}"),
                )
            except IdentificationError:
                # What was cross-validated before an interrupt is kept.
                if not interrupt.asked:
                    raise
                break
            transfers.append(table)
        if arguments.terms and not interrupt.asked:
            fit = found.fit(chosen, found.folds[0])
            terms = term_costs(
                fit.model,
                request,
                [recording for recording in recordings if recording.id in set(fit.trained_on)],
                [recording for recording in recordings if recording.id in set(fit.fold.held_out)],
                should_stop=lambda: interrupt.asked,
                on_progress=lambda term, done: bar.show(done, f"without {term.title}"),
            )
    bar.clear()
    repeated = repeatability(recordings, arguments.dt)
    data = {
        **found.to_json(),
        "transfer": [table.to_json() for table in transfers],
        "terms": None if terms is None else terms.to_json(),
        "repeatability": [row.to_json() for row in repeated.table(found.errors(chosen))],
    }
    if folder is not None:
        _save(folder, data)
    if arguments.json:
        print_json(data)
    else:
        _print(found, transfers, terms, repeated)
        if folder is not None:
            print(f"written to {folder / SUMMARY}")
    return 0


def _print(
    found: CrossValidation, transfers: list[TransferTable], terms: TermCosts | None, repeated: Repeatability
) -> None:
    rows: list[list[Any]] = []
    for variant in found.variants:
        error, gap = found.error(variant), found.difference(variant, found.choice.best)
        row: list[Any] = [variant.name, milliradians(error.mean), milliradians(error.standard_error)]
        row += [milliradians(gap.mean), milliradians(gap.standard_error)]
        rows.append([*row, *(milliradians(found.fit(variant, fold).mean) for fold in found.folds)])
    print_table(
        ["held out, mrad", "mean", "±", "to best", "±", *(fold.label for fold in found.folds)],
        rows,
    )
    print(found.choice.text)
    for condition, reason in found.skipped:
        print(f"  {condition} was not held out: {reason}")
    if found.stopped:
        print("stopped before the end; the conditions above were complete")
    for table in transfers:
        print()
        print_table(
            [f"fitted to \\ on, {table.condition}", *table.labels],
            [
                [label, *(milliradians(float(error)) for error in row)]
                for label, row in zip(table.labels, table.errors, strict=True)
            ],
        )
        print(table.text)
    if terms is not None:
        print()
        print_table(
            ["without", "training/mrad", "held out/mrad", "±"],
            [
                [
                    cost.term.title,
                    milliradians(cost.training),
                    None if cost.held_out is None else milliradians(cost.held_out.mean),
                    None if cost.held_out is None else milliradians(cost.held_out.standard_error),
                ]
                for cost in terms.terms
            ],
        )
        print(terms.text)
    errors = found.errors(found.choice.chosen)
    if repeated.sets:
        print()
        print_table(
            ["repetitions of", "sets", "floor/mrad", "model/mrad", "times the floor"],
            [
                [row.trajectory or "all", row.repetitions, milliradians(row.floor), milliradians(row.error), row.ratio]
                for row in repeated.table(errors)
            ],
        )
    print(repeated.text(errors))


def _save(folder: Path, data: dict[str, Any]) -> None:
    import json

    from core.atomic import write_atomically

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / SUMMARY, (text + "\n").encode())
