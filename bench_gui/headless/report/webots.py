"""Figures of Webots Servos: motion over time, the experiments of the help page, and the errors of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench_gui.headless.palette import BAR_COLOUR, GOAL_COLOUR, MEASURED_COLOUR, MODEL_COLOURS
from bench_gui.headless.report.figures import new_figure
from core.studies.webots.experiments import EXPERIMENTS
from core.studies.webots.loss import ServoLoss
from core.studies.webots.trace import Trace

SOFT_COLOUR, STOP_COLOUR = "#9A5A00", "#B3261E"
"""Colours of soft limits and hard stops."""
FORCE_COLOUR = "#A6438A"
BESIDE = 3
"""Number of servos whose names fit into one line of a legend."""


def experiment_figure(name: str, traces: Sequence[Trace]) -> Figure:
    """Draw an experiment of `core.studies.webots.experiments` by name."""
    return traces_figure(EXPERIMENTS[name][0], traces)


def traces_figure(title: str, traces: Sequence[Trace]) -> Figure:
    """Draw position with target and limits, velocity with Vc, and forces of servos over time."""
    alone = len(traces) == 1
    colours = [MEASURED_COLOUR] if alone else list(MODEL_COLOURS.values())
    figure = new_figure(7.2, 5.2)
    position, velocity, force = axes = figure.subplots(3, 1, sharex=True, height_ratios=(1.6, 1.0, 1.0))
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    for k, trace in enumerate(traces):
        colour = colours[k % len(colours)]
        position.plot(
            trace.time, trace.position, color=colour, linewidth=1.4, label="position" if alone else trace.name
        )
        velocity.plot(trace.time, trace.velocity, color=colour, linewidth=1.2)
        force.plot(trace.time, trace.motor_force, color=colour, linewidth=1.2, label="motor")
    first = traces[0]
    dashed: dict[str, Any] = {"color": GOAL_COLOUR, "linewidth": 0.9, "linestyle": (0, (4, 2))}
    position.plot(first.time, first.target, label="target", **dashed)
    _limits(position, first)
    position.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3 if len(traces) > BESIDE else 5, fontsize=8)
    if alone:
        velocity.plot(first.time, first.wanted_velocity, label="Vc", **dashed)
        velocity.legend(loc="best", fontsize=8)
        if np.isfinite(first.force).any():
            force.plot(first.time, first.force, color=FORCE_COLOUR, linewidth=1.4, label="force control")
            force.legend(loc="best", fontsize=8, ncols=2)
    for each, what in zip(axes, ("position", "velocity", "force"), strict=True):
        each.set_ylabel(f"{'motor force' if each is force else what} / {first.fields.units[what]}", fontsize=9)
    force.set_xlabel("time / s")
    return figure


def loss_figure(found: ServoLoss) -> Figure:
    """Draw errors of the node and of friction models: pale on fitted runs, full on held-out runs."""
    names = ["Webots\nServo", *(row.name.replace(" ", "\n") for row in found.rows)]
    colours = [MEASURED_COLOUR, *(BAR_COLOUR for _ in found.rows)]
    train = 1e3 * np.array([found.train_mae, *(row.train_mae for row in found.rows)])
    held_out = [found.validation_mae, *(row.validation_mae for row in found.rows)]
    figure = new_figure(max(4.5, 1.4 + 0.75 * len(names)), 3.0)
    axes = figure.subplots()
    places = np.arange(len(names))
    both = all(value is not None for value in held_out)
    width = 0.38 if both else 0.6
    shift = width / 2 if both else 0.0
    bars = axes.bar(places - shift, train, width, color=colours, alpha=0.45)
    axes.bar_label(bars, [f"{value:.1f}" for value in train], padding=2, fontsize=7)
    if both:
        judged = 1e3 * np.array(held_out, dtype=float)
        bars = axes.bar(places + shift, judged, width, color=colours)
        axes.bar_label(bars, [f"{value:.1f}" for value in judged], padding=2, fontsize=7)
    axes.set_title(f"{found.title}; pale: fitted runs, full: held-out runs", fontsize=9, loc="left")
    axes.set_xticks(places, names, fontsize=8)
    axes.set_ylabel("mean absolute error / mrad")
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.15)
    return figure


def _limits(axes: Axes, trace: Trace) -> None:
    fields = trace.fields
    for on, values, colour, name in (
        (fields.has_soft_limits, fields.soft_limits, SOFT_COLOUR, "soft limits"),
        (fields.has_stops, fields.stops, STOP_COLOUR, "hard stops"),
    ):
        if on:
            for k, value in enumerate(values):
                axes.axhline(value, color=colour, linewidth=1.0, linestyle=":", label=name if k == 0 else None)
