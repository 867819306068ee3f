"""Identify models from a session's recordings; writes one model file each, the result and the Optuna study."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import (
    INTEGRATOR_CHOICES,
    add_contact,
    add_prior,
    add_recordings,
    comma_list,
    friction_models,
    model_from,
    positive_int,
    recordings_from,
)
from bench_gui.cli.terminal import (
    ProgressBar,
    add_json,
    add_progress,
    duration,
    milliradians,
    print_columns,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from pathlib import Path

    from core.identification.result import Identification

MOST_WARNINGS = 3
"""Printed without --all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench identify`."""
    add_recordings(parser)
    parser.add_argument("--servo", metavar="NAME|FILE", help="catalogue name or my.toml; default: the recordings'")
    parser.add_argument(
        "--model", type=friction_models, default="all", metavar="M,…", help="m1 … m6, several with commas, or all (all)"
    )
    parser.add_argument(
        "--command-path",
        action=argparse.BooleanOptionalAction,
        help="identify delay, gain ratio, slew, dead band, lag and torque-off too, or not; default: if it helps",
    )
    parser.add_argument(
        "--terms",
        type=comma_list,
        metavar="TERM,…",
        help="identify these command path terms only, e.g. command_delay,supply_sag",
    )
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="evaluations per model and repeat; default: by parameters"
    )
    parser.add_argument(
        "--repeats",
        type=positive_int,
        default=1,
        metavar="K",
        help="searches per model; how far their training errors spread is printed (%(default)s)",
    )
    add_prior(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="(%(default)s)")
    parser.add_argument(
        "--validation",
        default="25%",
        metavar="V",
        help='held out: a share ("25%%"), a condition ("kp=200"), "none" (%(default)s)',
    )
    parser.add_argument("--metric", choices=("mae", "rmse", "mae_velocity"), default="mae", help="(%(default)s)")
    parser.add_argument(
        "--integrator",
        choices=INTEGRATOR_CHOICES,
        default="leapfrog",
        help="second-order step, the paper's Algorithm 1 or Rhoban/bam's order of update (default: %(default)s)",
    )
    parser.add_argument(
        "--substeps",
        type=positive_int,
        metavar="N",
        help="simulation steps between two samples (default: as many as the fit needs; 1 unless leapfrog)",
    )
    parser.add_argument(
        "--gate",
        choices=("larger_torque", "opposing"),
        default="larger_torque",
        help="reading of M6's quadratic term (%(default)s)",
    )
    add_contact(parser)
    parser.add_argument(
        "--fix", action="append", default=[], metavar="NAME=VALUE", help="hold a parameter at a value; may be repeated"
    )
    parser.add_argument(
        "--bounds",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="search a parameter between these; may be repeated",
    )
    parser.add_argument(
        "--start",
        action="append",
        default=[],
        metavar="MODEL|NAME=VALUE",
        help="search from this model too, e.g. of an earlier unit: a model file, SERVO:VARIANT, or single values",
    )
    parser.add_argument(
        "--points", action="store_true", help="use the session's placed drive/backdrive points as residuals too"
    )
    # Without effect; scripts for earlier versions give it.
    parser.add_argument("--refine", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--run-offsets", action="store_true", help="give each run an angle and a supply voltage of its own"
    )
    parser.add_argument(
        "--paper",
        action="store_true",
        help="as in the paper: three searches of 4000 evaluations, Algorithm 1, a quarter held out, no command path",
    )
    parser.add_argument("--no-polish", action="store_true", help="report the search's end as it is")
    parser.add_argument("--resume", action="store_true", help="go on with the searches on record in RESULT")
    parser.add_argument(
        "--storage",
        default="",
        metavar="URL",
        help="keep the Optuna studies there, e.g. sqlite:///studies.db; default: a journal in RESULT",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="RESULT", help="folder for models, result.json and study.journal"
    )
    parser.add_argument("--all", action="store_true", help="print all warnings, not only the gravest three")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Identify, save and print."""
    from dataclasses import replace
    from pathlib import Path

    from bench_gui.headless.interrupt import Interrupt
    from bench_gui.headless.place.rests import DOCUMENT
    from core.errors import IdentificationError, InputError
    from core.identification.identify import IdentificationRequest, Progress
    from core.identification.request import PAPER_PROTOCOL
    from core.placement import points_from_json
    from core.recording import FIT_CHANNELS
    from core.terms import COMMAND_PATH_TERMS
    from sessions import Session
    from sessions.results.identification import with_crossvalidation
    from sessions.results.identifying import Watch, run_identification

    session = Session.open(arguments.session)
    recordings, selection = recordings_from(session, arguments, FIT_CHANNELS)
    terms = tuple(arguments.terms or (() if arguments.command_path is False else COMMAND_PATH_TERMS))
    if any(term not in COMMAND_PATH_TERMS for term in terms):
        raise IdentificationError(f"command path terms are {', '.join(COMMAND_PATH_TERMS)}")
    if arguments.command_path is False and arguments.terms:
        raise InputError("--terms names command path terms and --no-command-path leaves them out: give either")
    if arguments.command_path and arguments.terms:
        print(f"bench: of the command path only {', '.join(terms)} is identified (--terms)", file=sys.stderr)
    servo = arguments.servo or recordings[0].settings.servo
    request = IdentificationRequest(
        servo=servo,
        models=arguments.model,
        command_path=terms,
        command_path_if_better=arguments.command_path is None and not arguments.terms,
        trials=arguments.trials,
        repeats=arguments.repeats,
        prior=1e-3 * arguments.prior,
        seed=arguments.seed,
        validation=arguments.validation,
        metric=arguments.metric,
        polish=not arguments.no_polish,
        run_offsets=arguments.run_offsets,
        contact=arguments.contact,
        quadratic_gate=arguments.gate,
        integrator=arguments.integrator,
        substeps=arguments.substeps,
        dt=arguments.dt,
        supply=arguments.supply,
        frozen=tuple(_fixed(text) for text in arguments.fix),
        bounds=tuple(_bounds(text) for text in arguments.bounds),
        start=_start(arguments.start, servo),
        threads=arguments.jobs,
        data_hash=session.data_hash(selection.runs),
    )
    if arguments.paper:
        request = replace(request, **PAPER_PROTOCOL)
    if arguments.points:
        placed = [p for p in points_from_json(session.document(DOCUMENT)) if p.servo == request.servo]
        if not placed:
            raise InputError(f"{arguments.session}: no points of {request.servo} were placed there; see bench place")
        request = replace(request, points=tuple(placed))
    # The list of a long session's runs is not needed any more.
    del session
    folder = Path(arguments.output)
    bar = ProgressBar(arguments.quiet or arguments.json)

    def progress(step: Progress) -> None:
        best = step.generation.overall_best_value * 1e3
        trial = f" {step.trial}" if step.trial else ""
        text = f"{step.model.upper()}{trial} {best:.2f} mrad, {step.generation.evaluations} evaluations, "
        bar.show(step.done, text + f"at most {duration(step.remaining)} left (Ctrl+C keeps the best)")

    with Interrupt() as interrupt:
        watch = Watch(progressed=progress, should_stop=lambda: interrupt.asked)
        finding = run_identification(
            recordings,
            request,
            folder,
            watch,
            selection=selection,
            resume=arguments.resume,
            storage=arguments.storage,
        )
    bar.clear()
    if finding.problem:
        raise InputError(finding.problem)
    found = with_crossvalidation(finding.identification, folder)
    by_model = {path.stem: path for path in finding.files}
    if arguments.json:
        print_json([result.to_json(by_model.get(result.model.friction)) for result in found.results])
        return 0
    _print_verdict(found, folder, arguments)
    return 0


def _print_verdict(found: Identification, folder: Path, arguments: argparse.Namespace) -> None:
    """Print errors, choice, values and the gravest warnings: one screen."""
    from shlex import quote

    from core.identification.cautions import cautions
    from core.identification.coverage.findings import named_runs
    from core.identification.result import step_in_words
    from core.units import significant, with_uncertainty

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
                result.wall_seconds,
            ]
            for result in found.results
        ],
    )
    best, held, trained = found.recommended, found.split.validation, found.split.train
    print(step_in_words(best.model, best.train_mae))
    print(found.choice)
    if held:
        print(f"held out: {named_runs(held)} ({len(held)} of {len(held) + len(trained)})")
    if unused := best.model.provenance["unused_channels"]:
        print(f"recorded but not used: {', '.join(unused)} (fits compare positions)")
    print(f"values of {best.model.friction.upper()} with their 95 % intervals, SI units:")
    parameters = best.evidence.parameters
    print_columns([f"{p.symbol} {with_uncertainty(p.value, p.half_width, p.unit)}" for p in parameters if p.determined])
    if open_ones := [f"{p.symbol} {significant(p.value, 2)}" for p in parameters if not p.determined]:
        print(f"not determined by these runs: {', '.join(open_ones)}")
    told = cautions(found)
    shown = told if arguments.all else told[:MOST_WARNINGS]
    for warning in shown:
        print(f"warning: {warning}")
    if len(shown) < len(told):
        print(f"{len(told) - len(shown)} more: --all and bench report show them")
    if arguments.all:
        print(f"torque off: {best.evidence.torque_off(best.model.control).text}")
    studies = f", studies in {arguments.storage}" if arguments.storage else ""
    model = quote(str(folder / f"{best.model.friction}.json"))
    print(f"models are in {folder}{studies}; next: bench export {model} --to mujoco --check -o export")


def _start(texts: list[str], servo: str) -> tuple[tuple[str, float], ...]:
    """Values of models and single ones, later ones over earlier ones; raises for a model of another servo."""
    from pathlib import Path

    from core.catalogue import load_servo
    from core.errors import IdentificationError

    values: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if equals and name.isidentifier() and not Path(text).exists():
            try:
                values[name] = float(value)
            except ValueError:
                raise IdentificationError(f"--start {text}: expected NAME=NUMBER, or a model") from None
            continue
        model = model_from(text)
        if model.servo != load_servo(servo).name:
            raise IdentificationError(
                f"--start {text}: a model of {model.servo}, the recordings are of {servo}; give one of the same servo"
            )
        values |= model.values
    return tuple(values.items())


def _fixed(text: str) -> tuple[str, float]:
    from core.errors import IdentificationError

    name, equals, value = text.partition("=")
    try:
        return name, float(value if equals else "")
    except ValueError:
        raise IdentificationError(f"--fix {text}: expected NAME=NUMBER") from None


def _bounds(text: str) -> tuple[str, float, float]:
    from core.errors import IdentificationError

    name, _, values = text.partition("=")
    low, _, high = values.partition(":")
    try:
        return name, float(low), float(high)
    except ValueError:
        raise IdentificationError(f"--bounds {text}: expected NAME=LOW:HIGH") from None
