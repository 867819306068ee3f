"""Judge a model on the recordings of a session: error of the angle, run by run."""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import add_model, add_recordings, add_simulation, model_from, recordings_from
from bench_gui.cli.terminal import add_json, print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench evaluate`."""
    add_recordings(parser)
    add_model(parser)
    add_simulation(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and print."""
    from core.identification.evaluate import evaluate

    model = model_from(arguments.model, arguments.integrator, arguments.substeps)
    recordings, _ = recordings_from(arguments.session, arguments.runs)
    result = evaluate(model, recordings, dt=arguments.dt, supply=arguments.supply, threads=arguments.jobs)
    if arguments.json:
        print_json(result.to_json())
        return 0
    print_table(
        ["run", "MAE/mrad", "RMSE/mrad", "samples"],
        [[run.id, run.mae * 1e3, run.rmse * 1e3, run.samples] for run in result.runs],
    )
    print(f"{model.title}: mean MAE {result.mean_mae * 1e3:.2f} mrad, mean RMSE {result.mean_rmse * 1e3:.2f} mrad")
    return 0
