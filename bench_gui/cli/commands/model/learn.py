"""Train nets on a session and compare them with an identified model on held-out conditions.

For each mass, gain or other condition, the physics model is fitted to the other runs. An actuator net (histories of
error and velocity to torque) and a residual net (a factor on the model's friction) are trained on the same runs,
through simulated motion. All three are scored on the held-out runs.

With -o, nets trained on all runs are written for Isaac Lab and mjlab. Needs PyTorch: pip install 'servobench[learn]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.cli.arguments import add_options, add_recordings, comma_list, model_from, options_from, positive_int
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import ProgressBar, add_json, add_progress, print_json, print_table
from core.base.interrupt import Interrupt

if TYPE_CHECKING:
    from core.learn.learning import Learned


EXAMPLES = """\
examples:
  bench learn session
  bench learn session --model result/m6.json --by kp -o nets"""
BY = "mass,kp"
"""Conditions that are held out by default: those that a simulation changes most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench learn`."""
    add_recordings(parser)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="identified model with a rigid contact, the base of the residual net (default: M6 with the command path)",
    )
    parser.add_argument(
        "--by",
        type=comma_list,
        default=BY,
        metavar="CONDITION,…",
        help="conditions to hold out: mass, length, kp, trajectory, supply, unit … (default: %(default)s)",
    )
    add_options(parser, "trials", "seed")
    parser.add_argument(
        "--iterations", type=positive_int, metavar="N", help="gradient steps of each net (default: about two minutes)"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the errors as bars (.svg, .png, .pdf, .csv)")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="folder for nets trained on all runs")
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> None:
    """Train, compare, write and print."""
    from core.learn.learning import learn, require_torch

    require_torch()
    from core.identification.request import IdentificationRequest
    from core.learn.export import write_nets
    from sessions import Session

    session = Session.open(arguments.session)
    recordings, selection = recordings_from(session, arguments)
    request = IdentificationRequest(
        servo=recordings[0].settings.servo,
        models=("m6",),
        **options_from(arguments),
        data_hash=session.data_hash(selection.runs),
    )
    folder = arguments.output
    with Interrupt() as interrupt, ProgressBar(arguments.quiet or arguments.json) as bar:
        learned = learn(
            request,
            recordings,
            tuple(arguments.by),
            model=model_from(arguments.model) if arguments.model else None,
            iterations=arguments.iterations,
            folder=folder and folder / "search",
            final=folder is not None,
            on_progress=lambda share, text: bar.show(share, f"{text} (Ctrl+C keeps what is complete)"),
            should_stop=lambda: interrupt.asked,
        )
    files = write_nets(learned, recordings, folder) if learned.nets else []
    if arguments.plot:
        from bench_gui.render.paper import save_plot

        save_plot(learned.document().plot(), arguments.plot)
        files.append(arguments.plot)
    if arguments.json:
        print_json(learned.to_json() | {"selection": selection.to_json(), "files": [str(file) for file in files]})
        return
    _print(learned)
    for file in files:
        print(f"written to {file}")


def _print(learned: Learned) -> None:
    document = learned.document()
    for table in document.tables:
        print_table(table.headings, table.rows)
    for sentence in document.sentences:
        print(sentence)
    if learned.stopped:
        print("stopped early; the conditions above are complete")
