"""Pictures for reports and files, by matplotlib without its global state."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench_gui.palette import GOAL_COLOUR, MEASURED_COLOUR, MODEL_COLOURS
from core.diagram import DriveBackdriveDiagram
from core.identification.result import ModelResult
from core.model import ServoModel
from core.placement import BACKDRIVE, DRIVE, PlacedPoint
from core.recording import Recording
from core.simulation import on_grid, simulate_recording

TRUTH_COLOUR = "#555555"
STATIC_COLOUR = "#e6e6e6"

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
    }
)


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a picture in the format of its ending; raises InputError for one that is not known."""
    from core.errors import InputError

    target = Path(path)
    if target.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(f"{target}: pictures are written as .svg, .png or .pdf")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=150, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    return target


def as_svg(figure: Figure) -> str:
    """A picture as an SVG element, without XML preamble, the same bytes for the same picture."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def error_bars(results: Sequence[ModelResult]) -> Figure:
    """Training and validation error by model, as Fig. 5 of seed 004."""
    figure = _figure(7.2, 2.8)
    axes = figure.subplots()
    positions = np.arange(len(results))
    judged = [r.validation_mae for r in results]
    has_validation = all(value is not None for value in judged)
    width = 0.38 if has_validation else 0.6
    shift = width / 2 if has_validation else 0.0
    colours = [MODEL_COLOURS[r.model.friction] for r in results]
    train = axes.bar(positions - shift, [r.train_mae * 1e3 for r in results], width, color=colours, alpha=0.45)
    axes.bar_label(train, fmt="%.2f", padding=2, fontsize=8)
    if has_validation:
        bars = axes.bar(positions + shift, [1e3 * (v or 0.0) for v in judged], width, color=colours)
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        axes.set_title("pale: recordings trained on, full: recordings held out", fontsize=9, loc="left")
    axes.set_xticks(positions, [r.model.friction.upper() for r in results])
    axes.set_ylabel("mean absolute error / mrad")
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.15)
    return figure


def overlay(recording: Recording, models: Mapping[str, ServoModel], supply: str = "logged") -> Figure:
    """Measured, goal and simulated angle of one run, with the residuals below."""
    figure = _figure(7.2, 3.9)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    run, _ = on_grid(recording)
    above.plot(run.time, run.goal_position, color=GOAL_COLOUR, linewidth=0.8, label="goal")
    above.plot(run.time, run.position, color=MEASURED_COLOUR, linewidth=1.4, label="measured")
    for label, model in models.items():
        motion = simulate_recording(model, recording, supply=supply)
        colour = MODEL_COLOURS[model.friction]
        above.plot(motion.time, motion.position, color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=label)
        below.plot(motion.time, (motion.position - run.position) * 1e3, color=colour, linewidth=0.9)
    below.axhline(0.0, color=MEASURED_COLOUR, linewidth=0.6)
    _shade_released(above, run)
    above.set_ylabel("angle / rad")
    below.set_ylabel("simulated −\nmeasured / mrad")
    below.set_xlabel("time / s")
    above.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(models) + 2, fontsize=8)
    return figure


def _shade_released(axes: Axes, run: Recording) -> None:
    off = np.flatnonzero(~run.torque_enable)
    if len(off):
        axes.axvspan(float(run.time[off[0]]), float(run.time[off[-1]]), color="#f4f4f4", zorder=0)
        axes.text(float(run.time[off[0]]), 0.02, " torque off", transform=axes.get_xaxis_transform(), fontsize=8)


def diagram_figure(
    diagrams: Mapping[str, tuple[str, DriveBackdriveDiagram]],
    truth: DriveBackdriveDiagram | None = None,
    points: Sequence[PlacedPoint] = (),
) -> Figure:
    """Drive and backdrive torques of models, label → (friction model, diagram), as Figs 2–4 of seed 004.

    Speeds after the first are drawn paler; the static area of a single model is shaded; points were placed by hand.
    """
    figure = _figure(7.2, 4.2)
    axes = figure.subplots()
    for label, (friction, diagram) in diagrams.items():
        colour = MODEL_COLOURS[friction]
        for i, velocity in enumerate(diagram.velocity):
            paler = 1.0 / (1.0 + 0.8 * i)
            name = label if i == 0 and len(diagram.velocity) == 1 else f"{label}, {velocity:g} rad/s"
            axes.plot(diagram.motor_torque, diagram.drive[:, i], color=colour, alpha=paler, linewidth=1.4, label=name)
            axes.plot(diagram.motor_torque, _finite(diagram.backdrive[:, i]), color=colour, alpha=paler, linewidth=1.4)
    if len(diagrams) == 1:
        diagram = next(iter(diagrams.values()))[1]
        lower, upper = _finite(diagram.backdrive[:, 0]), diagram.drive[:, 0]
        axes.fill_between(diagram.motor_torque, lower, upper, color=STATIC_COLOUR, zorder=0, label="static")
    if truth is not None:
        for values in (truth.drive[:, 0], _finite(truth.backdrive[:, 0])):
            axes.plot(truth.motor_torque, values, color=TRUTH_COLOUR, linewidth=1.2, linestyle=":")
        axes.plot([], [], color=TRUTH_COLOUR, linewidth=1.2, linestyle=":", label="truth")
    for side, marker, name in ((DRIVE, "v", "placed, lowest"), (BACKDRIVE, "^", "placed, highest")):
        here = [point for point in points if point.side == side]
        if here:
            torque, external = [p.motor_torque for p in here], [p.external_torque for p in here]
            axes.plot(torque, external, marker, color=MEASURED_COLOUR, markersize=5, label=name)
    first = next(iter(diagrams.values()))[1]
    axes.plot(first.motor_torque, -first.motor_torque, color="#888888", linewidth=0.8, linestyle="--", label="τₑ = −τₘ")
    axes.set_xlabel("motor torque τₘ / N·m")
    axes.set_ylabel("external torque τₑ / N·m")
    axes.legend(fontsize=8)
    return figure


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)
