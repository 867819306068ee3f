"""Figures for reports and files, drawn by matplotlib without its global state."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench_gui.headless.palette import GOAL_LINE, LIGHT
from core.base.errors import InputError
from core.identification.result import ModelResult
from core.motion.recording import Recording
from core.motion.simulation import on_grid, simulate_recording
from core.practice.diagram import DriveBackdriveDiagram, area_labels, areas, farthest, halves
from core.practice.placement import BACKDRIVE, DRIVE, PlacedPoint
from core.servo.model import ServoModel
from core.servo.terms import Supply

TRUTH_COLOUR = "#555555"
AREA_COLOURS = {"drive": f"{LIGHT.drive}24", "static": "#e6e6e6", "backdrive": f"{LIGHT.backdrive}24"}

matplotlib.rcParams.update(
    {
        "svg.fonttype": "path",
        "svg.hashsalt": "servobench",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e3e3e3",
        "axes.axisbelow": True,
        "font.size": 9.5,
        "legend.frameon": False,
        # Names of runs and trajectories may contain dollar signs.
        "text.parse_math": False,
    }
)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of its file name; raise InputError for an unknown ending."""
    target = Path(path)
    if target.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(f"{target}: unknown format; use .svg, .png or .pdf")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=150, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    return target


def as_svg(figure: Figure) -> str:
    """Return a figure as an SVG element without preamble and metadata; equal figures give equal bytes."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure with constrained layout; width and height in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def error_bars(results: Sequence[ModelResult]) -> Figure:
    """Draw training and held-out errors by model, as in Fig. 5 of seed 004."""
    figure = new_figure(7.2, 2.8)
    axes = figure.subplots()
    positions = np.arange(len(results))
    has_validation = all(r.validation_mae is not None for r in results)
    width = 0.38 if has_validation else 0.6
    shift = width / 2 if has_validation else 0.0
    train = _milliradians([r.train_mae for r in results])
    colours = [LIGHT.model(r.model.friction) for r in results]
    bars = axes.bar(positions - shift, train, width, color=colours, alpha=0.45)
    axes.bar_label(bars, [_number(value) for value in train], padding=2, fontsize=8)
    if has_validation:
        judged = _milliradians([r.validation_mae for r in results])
        bars = axes.bar(positions + shift, judged, width, color=colours)
        axes.bar_label(bars, [_number(value) for value in judged], padding=2, fontsize=8)
        axes.set_title("pale: training runs, full: held-out runs", fontsize=9, loc="left")
    axes.set_xticks(positions, [r.model.friction.upper() for r in results])
    axes.set_ylabel("mean absolute error / mrad")
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.15)
    return figure


def _milliradians(errors: Sequence[float | None]) -> list[float]:
    """Convert errors for bars; a diverging simulation becomes NaN, which has no bar."""
    return [1e3 * error if error is not None and math.isfinite(error) else math.nan for error in errors]


def _number(value: float) -> str:
    return "diverges" if math.isnan(value) else f"{value:.2f}"


def overlay(recording: Recording, models: Mapping[str, ServoModel], supply: Supply = "logged") -> Figure:
    """Draw measured, goal and simulated angle of one run, with the residuals below; the last model is highlighted."""
    figure = new_figure(7.2, 3.9)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    run, _ = on_grid(recording)
    if run.command.kind == "position":
        above.plot(run.time, run.goal_position, linewidth=0.8, label="goal", **GOAL_LINE)
    above.plot(run.time, run.position, color=LIGHT.measured, linewidth=1.4, label="measured")
    for label, model in models.items():
        motion = simulate_recording(model, recording, supply=supply)
        colour = LIGHT.model(model.friction)
        above.plot(motion.time, motion.position, color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=label)
        below.plot(motion.time, (motion.position - run.position) * 1e3, color=colour, linewidth=0.9)
    below.axhline(0.0, color=LIGHT.measured, linewidth=0.6)
    _shade_released(above, run)
    above.set_ylabel("angle / rad")
    below.set_ylabel("error / mrad")
    below.set_xlabel("time / s")
    above.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(models) + 2, fontsize=8)
    return figure


def _shade_released(axes: Axes, run: Recording) -> None:
    off = np.flatnonzero(~run.torque_enable)
    if len(off):
        axes.axvspan(float(run.time[off[0]]), float(run.time[off[-1]]), color="#f4f4f4", zorder=0)
        # The label goes to the end, where the pendulum rests and leaves room.
        axes.text(
            float(run.time[off[-1]]),
            0.96,
            "torque off ",
            transform=axes.get_xaxis_transform(),
            ha="right",
            va="top",
            fontsize=8,
            bbox={"facecolor": "#f4f4f4", "edgecolor": "none", "pad": 1.0},
        )


def diagram_figure(
    diagrams: Mapping[str, DriveBackdriveDiagram],
    truth: DriveBackdriveDiagram | None = None,
    points: Sequence[PlacedPoint] = (),
) -> Figure:
    """Draw drive and backdrive torques of models by label, as in Figs 2–4 of seed 004.

    Velocities after the first are paler. A single model has shaded areas and boundaries in two colours. Several models
    have the friction models as labels, e.g. "M6", and their colours. points: placed by hand.
    """
    figure = new_figure(7.2, 4.2)
    axes = figure.subplots()
    alone = len(diagrams) == 1
    for label, diagram in diagrams.items():
        for kind, boundary in (("drive", diagram.drive), ("backdrive", diagram.backdrive)):
            colour = LIGHT.colour(kind if alone else label.lower())
            for i, velocity in enumerate(diagram.velocity):
                speed = "" if i == 0 and len(diagram.velocity) == 1 else f", {velocity:g} rad/s"
                named = kind + speed if alone else (label + speed if kind == "drive" else None)
                how = {"color": colour, "alpha": 1.0 / (1.0 + 0.8 * i), "linewidth": 1.4, "label": named}
                axes.plot(*halves(diagram.motor_torque, boundary[:, i]), **how)
    first = next(iter(diagrams.values()))
    if alone:
        axes.set_title(next(iter(diagrams)), fontsize=9, loc="left")
        for name, torque, low, high in areas(first):
            axes.fill_between(torque, low, high, color=AREA_COLOURS[name], linewidth=0, zorder=0)
    for name, torque, external in area_labels(max(diagrams.values(), key=farthest)):
        axes.text(torque, external, name, ha="center", va="center", fontsize=8, color=TRUTH_COLOUR)
    if truth is not None:
        for values in (truth.drive[:, 0], truth.backdrive[:, 0]):
            axes.plot(*halves(truth.motor_torque, values), color=TRUTH_COLOUR, linewidth=1.2, linestyle=":")
        axes.plot([], [], color=TRUTH_COLOUR, linewidth=1.2, linestyle=":", label="truth")
    for side, marker, name in ((DRIVE, "v", "placed, lowest"), (BACKDRIVE, "^", "placed, highest")):
        here = [point for point in points if point.side == side]
        if here:
            torque, external = [p.motor_torque for p in here], [p.external_torque for p in here]
            axes.plot(torque, external, marker, color=LIGHT.measured, markersize=5, label=name)
    axes.plot(first.motor_torque, -first.motor_torque, color="#888888", linewidth=0.8, linestyle="--", label="τₑ = −τₘ")
    axes.set_xlabel("motor torque τₘ / N·m")
    axes.set_ylabel("external torque τₑ / N·m")
    axes.legend(fontsize=8)
    return figure
