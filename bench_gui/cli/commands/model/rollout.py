"""Simulate a trajectory with a model, starting at rest at angle 0.

Writes the arrays time, goal_position, position, velocity and control. Control is the output of the control law [V or
A], also while torque is disabled.
"""

from __future__ import annotations

import argparse

from bench_gui.cli.arguments import add_bench, add_model, add_simulation, bench_from, model_from, positive_float
from bench_gui.cli.files import write_motion
from bench_gui.cli.terminal import add_json, print_json
from core.base.words import counted

EXAMPLES = """\
examples:
  bench rollout --model mx106:m6 --trajectory sin_sin --mass 1 -o motion.npz"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench rollout`."""
    add_model(parser)
    parser.add_argument(
        "--trajectory",
        required=True,
        metavar="T",
        help="trajectory, e.g. sin_time_square, sin_sin, up_and_down, lift_and_drop",
    )
    parser.add_argument("--duration", type=positive_float, metavar="S", help="duration (default: the trajectory's)")
    parser.add_argument(
        "--dt", type=positive_float, default=0.005, metavar="S", help="sample time (default: %(default)s)"
    )
    add_bench(parser)
    add_simulation(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE.npz", help="file to write")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Simulate the trajectory and write the motion."""
    from core.motion.simulation import simulate_trajectory
    from core.motion.trajectories import make_trajectory
    from core.servo.settings import ServoSettings

    model = model_from(arguments.model, arguments.integrator, arguments.substeps)
    model.require_goal_angles("a trajectory")
    settings = ServoSettings(
        servo=model.servo,
        kp=model.default_settings(arguments.kp).kp,
        ki=arguments.ki,
        kd=arguments.kd,
        supply_voltage=arguments.supply_voltage or model.supply_voltage,
        damping=arguments.damping,
    )
    trajectory = make_trajectory(arguments.trajectory, arguments.duration)
    motion = simulate_trajectory(model, trajectory, bench_from(arguments), settings, arguments.dt)
    path = write_motion(arguments.output, {"": motion})
    summary = {
        "file": str(path),
        "model": model.title,
        "integrator": model.integrator,
        "substeps": model.steps_between(arguments.dt, settings),
        "samples": len(motion.time),
        "control_unit": model.control.control_unit,
    }
    if arguments.json:
        print_json(summary)
    else:
        print(f"{counted(summary['samples'], 'sample')} of {model.title} ({model.integrator}) written to {path}")
