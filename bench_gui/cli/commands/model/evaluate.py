"""Evaluate a model on the recordings of a session: position errors by run or by condition, and as a plot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_model, add_recordings, add_simulation, comma_list, model_from, positive_int
from bench_gui.cli.session_runs import recordings_from
from bench_gui.cli.terminal import add_json, print_json, print_table
from core.base.words import counted

if TYPE_CHECKING:
    from core.identification.evaluate import Evaluation
    from core.identification.runs.grouping import Group
    from core.motion.recording import Recording
    from core.servo.model import ServoModel


EXAMPLES = """\
examples:
  bench evaluate example --model xl330:m6
  bench evaluate session --model result/m6.json --by mass,kp --plot errors.svg"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench evaluate`."""
    add_recordings(parser)
    add_model(parser)
    add_simulation(parser)
    parser.add_argument(
        "--by",
        type=comma_list,
        metavar="CONDITION,…",
        help="mean errors by condition: trajectory, mass, length, kp …, or several, such as mass,kp",
    )
    parser.add_argument(
        "--adapt",
        type=positive_int,
        metavar="N",
        help="also adapt the level of friction to the first N runs of each time of recording (with pauses of 20 "
        "minutes between), and evaluate the others with it",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="plot motion and residual, or with --by bars or a heat map (.svg, .png, .pdf, .csv)",
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Evaluate the model and print its errors."""
    from core.base.sealed import EDITED
    from core.identification.coverage.causes import unexplained
    from core.identification.evaluate import evaluate, step_warning
    from core.identification.evidence.adaptation import adapted
    from core.identification.evidence.extrapolation import used_beyond
    from core.identification.runs.grouping import group_runs
    from core.servo.model import EDITED_ENTRY
    from sessions import Session

    model = model_from(arguments.model, arguments.integrator, arguments.substeps)
    recordings, selection = recordings_from(Session.open(arguments.session), arguments)
    conditions = {recording.id: recording.conditions() for recording in recordings}
    groups = group_runs(conditions, arguments.by) if arguments.by else ()
    result = evaluate(model, recordings, dt=arguments.dt, supply=arguments.supply, threads=arguments.threads)
    adaptation = None
    if arguments.adapt is not None:
        how = {"dt": arguments.dt, "supply": arguments.supply, "threads": arguments.threads}
        adaptation = adapted(model, recordings, arguments.adapt, **how)
    edited = f"the model was {EDITED}" if model.provenance.get(EDITED_ENTRY) else ""
    unstable = step_warning(model, recordings, dt=arguments.dt, supply=arguments.supply)
    errors = [run.mae for run in result.runs]
    cause = unexplained(model, recordings, errors, supply=arguments.supply, threads=arguments.threads)
    doubts = (edited, unstable, used_beyond(model, recordings), "" if cause is None else str(cause))
    warning = "; ".join(filter(None, doubts))
    if arguments.plot:
        _plot(arguments, model, recordings, result)
    if arguments.json:
        grouped = _grouped(arguments.by, groups, result) if arguments.by else {}
        more = {} if adaptation is None else {"adapted": adaptation.to_json()}
        print_json(result.to_json() | grouped | {"selection": selection.to_json(), "warning": warning} | more)
        return
    if arguments.by:
        rows = _grouped(arguments.by, groups, result)["groups"]
        print_table(
            [*arguments.by, "runs", "MAE/mrad", "RMSE/mrad"],
            [
                [*(row[name] for name in arguments.by), row["runs"], row["mean_mae"] * 1e3, row["mean_rmse"] * 1e3]
                for row in rows
            ],
        )
    else:
        print_table(
            ["run", "MAE/mrad", "RMSE/mrad", "samples"],
            [[run.id, run.mae * 1e3, run.rmse * 1e3, run.samples] for run in result.runs],
        )
    errors = f"mean MAE {result.mean_mae * 1e3:.2f} mrad, mean RMSE {result.mean_rmse * 1e3:.2f} mrad"
    print(f"{model.title}: {errors}, {selection.brief}")
    if adaptation is not None:
        print(adaptation.text)
    if warning:
        print(f"warning: {warning}")
    if arguments.plot:
        print(f"plot written to {arguments.plot}")


def _grouped(by: list[str], groups: tuple[Group, ...], result: Evaluation) -> dict[str, Any]:
    mae = {run.id: run.mae for run in result.runs}
    rmse = {run.id: run.rmse for run in result.runs}
    rows = [
        {
            **dict(zip(by, group.values, strict=True)),
            "runs": len(group.runs),
            "mean_mae": group.mean(mae),
            "mean_rmse": group.mean(rmse),
        }
        for group in groups
    ]
    return {"by": by, "groups": rows}


def _plot(arguments: argparse.Namespace, model: ServoModel, recordings: list[Recording], result: Evaluation) -> None:
    from bench_gui.headless.comparison_tables import Judged, bar_panel, condition_groups, heat_panel, motion_panels
    from bench_gui.headless.palette import LIGHT
    from bench_gui.render.paper import save_plot
    from core.document.plot import Plot
    from core.identification.runs.grouping import grid_of, heading
    from core.motion.simulation import on_grid, simulate_recording

    by = arguments.by or []
    title = f"{Path(arguments.session).stem}, {counted(len(recordings), 'run')}, {model.title}"
    conditions = {recording.id: recording.conditions() for recording in recordings}
    judged = Judged(model.title, LIGHT.model(model.friction), {run.id: run.mae for run in result.runs})
    if len(by) == 2:
        panels: tuple[Any, ...] = (heat_panel(grid_of(conditions, by[0], by[1]), judged),)
    elif by:
        bottom = ", ".join(heading(name) for name in by)
        panels = (bar_panel(condition_groups(conditions, by), [judged], bottom),)
    else:
        pairs = [
            (on_grid(recording, arguments.dt)[0], simulate_recording(model, recording, arguments.dt, arguments.supply))
            for recording in recordings
        ]
        panels = motion_panels(pairs, judged)
    save_plot(Plot(title, panels), arguments.plot)
