"""Compare tracking errors with and without feed-forward friction compensation.

The servo is simulated with the model. Its goals are compensated with the same model, and with the best
Coulomb–viscous (M1) approximation of it, which shows the benefit of the richer friction model.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bench_gui.cli.arguments import add_bench, add_several, bench_from, model_from, positive_float
from bench_gui.cli.files import write_table
from bench_gui.cli.terminal import add_json, print_json, print_table

if TYPE_CHECKING:
    from core.practice.feedforward import CompensatedRun


EXAMPLES = """\
examples:
  bench feedforward mx106:m6
  bench feedforward result/m6.json --trajectory sin_sin --mass 1 --csv motions.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench feedforward`."""
    parser.add_argument("model", metavar="MODEL", help="model file, or a shipped model such as mx106:m6")
    add_several(
        parser,
        "--trajectory",
        metavar="T",
        help="trajectories, e.g. sin_sin, up_and_down, half_sine (default: the paper's four)",
    )
    parser.add_argument(
        "--dt", type=positive_float, default=0.005, metavar="S", help="time between commands (default: %(default)s)"
    )
    add_bench(parser)
    parser.add_argument("--csv", metavar="FILE", help="write goals and motions of every run")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Simulate the compensation, print and write the errors."""
    from core.export.approximation import Form, approximate
    from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
    from core.practice.feedforward import compensation_experiment
    from core.servo.settings import ServoSettings

    model, bench = model_from(arguments.model), bench_from(arguments)
    settings = ServoSettings(
        servo=model.servo,
        kp=model.default_settings(arguments.kp).kp,
        ki=arguments.ki,
        kd=arguments.kd,
        supply_voltage=arguments.supply_voltage or model.supply_voltage,
        damping=arguments.damping,
    )
    trajectories = [make_trajectory(name) for name in arguments.trajectory or PAPER_TRAJECTORIES]
    m1 = model.friction == "m1"
    simpler = None if m1 else approximate(model, bench, settings, Form(kept=model.command_path)).model
    runs = {t.name: compensation_experiment(model, bench, settings, t, arguments.dt, simpler) for t in trajectories}
    if arguments.csv:
        _write_csv(arguments.csv, runs)
    if arguments.json:
        print_json(
            {
                "model": model.title,
                "bench": bench.to_json(),
                "settings": settings.to_json(),
                "dt": arguments.dt,
                "trajectories": {name: [_numbers(run) for run in each] for name, each in runs.items()},
            }
        )
        return
    rows = [
        [name, run.title, run.rms_mrad, run.mean_mrad, run.worst_mrad, 100.0 * run.saturated_share]
        for name, each in runs.items()
        for run in each
    ]
    print_table(["trajectory", "compensated", "rms/mrad", "mean/mrad", "worst/mrad", "beyond the servo/%"], rows)
    if arguments.csv:
        print(f"goals and motions written to {arguments.csv}")


def _numbers(run: CompensatedRun) -> dict[str, Any]:
    return {
        "title": run.title,
        "mode": run.mode,
        "friction": run.model.friction,
        "rms_mrad": run.rms_mrad,
        "mean_mrad": run.mean_mrad,
        "worst_mrad": run.worst_mrad,
        "saturated_share": run.saturated_share,
    }


def _write_csv(path: str, runs: dict[str, list[CompensatedRun]]) -> None:
    """Write a line per trajectory and sample: the wanted angle, then goal and position of each run [s, rad]."""
    titles = [run.title for run in next(iter(runs.values()))]
    rows = (
        [name, *sample]
        for name, each in runs.items()
        for sample in zip(
            each[0].motion.time,
            each[0].goal,
            *(column for run in each for column in (run.goal, run.motion.position)),
            strict=True,
        )
    )
    heads = (f"{what}: {title}" for title in titles for what in ("goal", "position"))
    write_table(path, ["trajectory", "time", "wanted", *heads], rows)
