"""Simulate the recordings of a session with a model, from their recorded commands.

Writes the arrays <run id>/time, <run id>/position etc. of each run.
"""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import add_model, add_recordings, add_simulation, model_from
from bench_gui.cli.files import write_motion
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import add_json, print_json
from core.base.words import counted

EXAMPLES = """\
examples:
  bench simulate example --model xl330:m6 -o motions.npz"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench simulate`."""
    add_recordings(parser)
    add_model(parser)
    add_simulation(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE.npz", help="file to write")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Simulate the runs and write their motions."""
    from core.identification.evaluate import step_warning
    from core.motion.simulation import on_grid, simulate_recording
    from sessions import Session

    model = model_from(arguments.model, arguments.integrator, arguments.substeps)
    recordings, selection = recordings_from(Session.open(arguments.session), arguments)
    motions = {r.id: simulate_recording(model, r, arguments.dt, arguments.supply) for r in recordings}
    measured = {r.id: on_grid(r, arguments.dt)[0].position for r in recordings}
    path = write_motion(arguments.output, motions, measured)
    warning = step_warning(model, recordings, dt=arguments.dt, supply=arguments.supply)
    if arguments.json:
        runs = {"runs": list(motions), "selection": selection.to_json(), "warning": warning}
        print_json({"file": str(path), "model": model.title} | runs)
    else:
        print(f"{counted(len(motions), 'run')} of {model.title} ({model.integrator}) written to {path}")
        if warning:
            print(f"warning: {warning}")
