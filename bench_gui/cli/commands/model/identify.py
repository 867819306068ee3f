"""Identify friction and motor models from the recordings of a session.

Writes one file per model, the result and the Optuna study to RESULT.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import (
    OPTIONS,
    RECORDING_OPTIONS,
    add_options,
    add_recordings,
    comma_list,
    model_from,
    options_from,
)
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import (
    ProgressBar,
    add_json,
    add_progress,
    milliradians,
    print_columns,
    print_json,
    print_table,
)
from core.base.errors import IdentificationError, InputError
from core.base.interrupt import Interrupt
from core.base.numbers import parse_number
from core.servo.terms import COMMAND_PATH, COMMAND_PATH_TERMS, name_of

if TYPE_CHECKING:
    from core.identification.request import IdentificationRequest
    from core.identification.result import Identification
    from sessions import Session

MOST_WARNINGS = 3
"""Most warnings printed without --all."""

EXAMPLES = """\
examples:
  bench identify example --trials 500 -o result
  bench identify session --models m1,m4,m6 --validation kp=200 -o result
  bench identify session --start mx106:m6 --prior 20 -o result"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench identify`."""
    add_recordings(parser)
    add_fit(parser)
    parser.add_argument("--points", action="store_true", help="also fit to the session's placed drive/backdrive points")
    parser.add_argument(
        "--paper",
        action="store_true",
        help="settings of the paper: three searches of 4000 evaluations, Algorithm 1, 25%% held out, no command path",
    )
    parser.add_argument("--resume", action="store_true", help="continue the searches stored in RESULT")
    parser.add_argument(
        "--storage",
        default="",
        metavar="URL",
        help="storage of the Optuna studies, e.g. sqlite:///studies.db (default: a journal in RESULT)",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="RESULT", help="folder for models, result.json and study.journal"
    )
    parser.add_argument("--all", action="store_true", help="print all warnings (default: the three most serious)")
    add_json(parser)
    add_progress(parser)


def add_fit(parser: argparse.ArgumentParser, **defaults: Any) -> None:
    """Add the settings of a fit, see `request_from`; defaults: as for `add_options`."""
    parser.add_argument(
        "--servo", metavar="SERVO", help="catalogue name or servo file (default: the recordings' servo)"
    )
    parser.add_argument(
        "--command-path",
        action=argparse.BooleanOptionalAction,
        help="also identify the command path: delay, gain ratio, slew, dead band, lag, torque-off (default: if useful)",
    )
    parser.add_argument(
        "--command-path-terms",
        type=comma_list,
        metavar="TERM,…",
        help="identify only these command path terms, e.g. command_delay,supply_sag",
    )
    add_options(parser, *(name for name in OPTIONS if name not in RECORDING_OPTIONS), **defaults)


def run(arguments: argparse.Namespace) -> None:
    """Identify the models, save and print the result."""
    from core.identification.identify import Progress
    from core.motion.recording import READ_CHANNELS
    from sessions import Session
    from sessions.results.identification import with_crossvalidation
    from sessions.results.identifying import Watch, run_identification

    session = Session.open(arguments.session)
    recordings, selection = recordings_from(session, arguments, READ_CHANNELS)
    request = _request(arguments, session, recordings[0].settings.servo, selection.runs)
    # Free the list of runs, which is large for long sessions.
    del session
    folder = Path(arguments.output)
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:

        def progress(step: Progress, recorded: bool = False) -> None:
            best = step.generation.overall_best_value * 1e3
            trial = f" {step.trial}" if step.trial else ""
            text = f"{step.model.upper()}{trial} {best:.2f} mrad, {step.generation.evaluations} evaluations"
            bar.show(step.done, f"{text} (Ctrl+C keeps the best)", recorded)

        watch = Watch(
            progressed=progress,
            recalled=partial(progress, recorded=True),
            staged=bar.show,
            should_stop=lambda: interrupt.asked,
        )
        finding = run_identification(
            recordings,
            request,
            folder,
            watch,
            selection=selection,
            resume=arguments.resume,
            storage=arguments.storage,
        )
    if finding.problem:
        raise InputError(finding.problem)
    found = with_crossvalidation(finding.identification, folder)
    by_model = {path.stem: path for path in finding.files}
    if arguments.json:
        names = [result.model.friction for result in found.results]
        print_json([found.row(name, by_model.get(name)) for name in names])
        return
    _print_verdict(found, folder, arguments)


def _request(arguments: argparse.Namespace, session: Session, servo: str, runs: Sequence[str]) -> IdentificationRequest:
    """Return the request; servo: that of the recordings, unless --servo names another."""
    from bench_gui.headless.place.rests import DOCUMENT
    from core.identification.request import PAPER_PROTOCOL
    from core.practice.placement import points_from_json

    request = request_from(arguments, servo, session.data_hash(runs))
    if arguments.paper:
        request = replace(request, **PAPER_PROTOCOL)
    if arguments.points:
        placed = [p for p in points_from_json(session.document(DOCUMENT)) if p.servo == request.servo]
        if not placed:
            raise InputError(f"{arguments.session}: no placed points of {request.servo}; place some with bench place")
        request = replace(request, points=tuple(placed))
    return request


def request_from(arguments: argparse.Namespace, servo: str, data_hash: str) -> IdentificationRequest:
    """Return the request of the settings of `add_fit`.

    Args:
        arguments: The parsed arguments.
        servo: Servo of the recordings, unless --servo names another.
        data_hash: Hash of the recordings.
    """
    from core.identification.request import IdentificationRequest

    named = arguments.command_path_terms
    terms = tuple(named or (() if arguments.command_path is False else COMMAND_PATH_TERMS))
    if any(term not in COMMAND_PATH for term in terms):
        raise IdentificationError(f"command path terms are {', '.join(COMMAND_PATH)}")
    if arguments.command_path is False and named:
        raise InputError("--command-path-terms and --no-command-path exclude each other; give one of them")
    if arguments.command_path and named:
        print(f"bench: only these command path terms are identified: {', '.join(terms)}", file=sys.stderr)
    servo = arguments.servo or servo
    return IdentificationRequest(
        servo=servo,
        command_path=terms,
        command_path_if_better=arguments.command_path is None and not named,
        **options_from(arguments, start=_start(arguments.start, servo)),
        data_hash=data_hash,
    )


def _print_verdict(found: Identification, folder: Path, arguments: argparse.Namespace) -> None:
    """Print errors, choice, values and the most serious warnings on one screen."""
    from core.identification.coverage.findings import named_runs
    from core.identification.result import step_in_words

    spread = ["spread/mrad"] if found.request.repeats > 1 else []
    print_table(
        ["model", "training/mrad", "held out/mrad", *spread, "evaluations", "time/s"],
        [
            [
                result.model.friction.upper(),
                milliradians(result.train_mae),
                milliradians(result.validation_mae),
                *([milliradians(result.spread)] if spread else []),
                result.evaluations,
                round(result.wall_seconds, 1),
            ]
            for result in found.results
        ],
    )
    best, held_out, trained = found.recommended, found.split.validation, found.split.train
    print(step_in_words(best.model, best.train_mae))
    print(found.choice)
    if held_out:
        print(f"held out: {named_runs(held_out)} ({len(held_out)} of {len(held_out) + len(trained)})")
    if unused := best.model.provenance["unused_channels"]:
        print(f"recorded but not used: {', '.join(unused)} (fits compare positions)")
    print(f"values of {best.model.friction.upper()} with their 95 % intervals, SI units:")
    parameters = best.evidence.parameters
    print_columns([f"{name_of(p.name)} {p.symbol} {p.grade.text}" for p in parameters if p.narrowed])
    if open_ones := [f"{name_of(p.name)} {p.symbol} {p.grade.figure}" for p in parameters if not p.narrowed]:
        print(f"not determined by these runs: {', '.join(open_ones)}")
    answer = found.answer()
    print(" ".join(filter(None, (f"{answer.verdict.headline}:", answer.verdict.quality, answer.verdict.evidence))))
    warnings = answer.warnings
    shown = warnings if arguments.all else warnings[:MOST_WARNINGS]
    for warning in shown:
        print(f"{warning.severity}: {warning}")
    if len(shown) < len(warnings):
        print(f"{len(warnings) - len(shown)} more: --all and bench report show them")
    if arguments.all:
        print(f"torque off: {best.evidence.torque_off(best.model.control).text}")
    print(f"next: {answer.next_step}")
    studies = f", studies in {arguments.storage}" if arguments.storage else ""
    model = quote(str(folder / f"{best.model.friction}.json"))
    print(f"models are in {folder}{studies}; to export one: bench export {model} --to mujoco --check -o export")


def _start(texts: list[str], servo: str) -> tuple[tuple[str, float], ...]:
    """Collect start values of models and single parameters; later ones override earlier ones."""
    from core.identification.search.start import start_values

    values: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.isidentifier() and not Path(text).exists():
            try:
                values[name] = parse_number(value)
            except ValueError:
                raise IdentificationError(f"--start {text}: expected NAME=NUMBER, or a model") from None
            continue
        try:
            known, note = start_values(model_from(text), servo)
        except IdentificationError as error:
            raise IdentificationError(f"--start {text}: {error}") from None
        if note:
            print(f"bench: --start {text}: {note}", file=sys.stderr)
        values |= known
    return tuple(values.items())
