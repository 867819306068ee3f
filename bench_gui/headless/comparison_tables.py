"""Errors of models on runs as tables, bars and heat maps: plain data for the window and for `bench`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_gui.headless.palette import LIGHT
from bench_gui.plots.styles import GOAL, IDENTIFIED_DASH
from core.base.words import counted
from core.document.plot import Array, BarPanel, BarSeries, CurvePanel, HeatPanel, PlotCurve
from core.identification.runs.grouping import CONDITIONS, Grid, Group, Value, group_runs, heading, named
from core.motion.recording import Recording
from core.servo.model import ServoModel

if TYPE_CHECKING:
    from core.motion.simulation import Motion

MRAD = 1e3
"""Milliradians per radian."""
ERROR = "Mean absolute error [mrad]"
GAP = 0.25
"""Gap between consecutive runs in a plot [s]."""
TRAINING, VALIDATION, OTHERS = "training", "validation", "other runs"


@dataclass(frozen=True)
class Judged:
    """Errors of one model: run id to mean absolute error [rad]."""

    title: str
    colour: str
    errors: Mapping[str, float]
    pale: float = 0.0
    """Share of white in its bars, to distinguish models of one colour."""


def conditions_of(run: Any) -> dict[str, Value]:
    """Return the conditions by which a run can be grouped; run: its summary in the session."""
    return {name: getattr(run, name) for name in CONDITIONS}


def condition_groups(runs: Mapping[str, Mapping[str, Value]], by: Sequence[str]) -> list[tuple[str, Group]]:
    """Group runs by conditions; groups have names such as "0.741 kg, kp 200". Without conditions, return one group."""
    if not by:
        return [("all runs", Group((), tuple(runs)))] if runs else []
    return [
        (", ".join(named(name, value) for name, value in zip(by, group.values, strict=True)), group)
        for group in group_runs(runs, by)
    ]


def split_groups(runs: Sequence[str], models: Sequence[ServoModel]) -> list[tuple[str, Group]]:
    """Split runs into training, held-out and other runs of models; return an empty list if that is unknown.

    models: those of one fit, or of the joints of a robot.
    """
    train, held_out = (
        {run for model in models for run in model.provenance.get(part) or ()} for part in ("train", "validation")
    )
    parts = (
        (TRAINING, [run for run in runs if run in train]),
        (VALIDATION, [run for run in runs if run in held_out]),
        (OTHERS, [run for run in runs if run not in train and run not in held_out]),
    )
    return [(name, Group((), tuple(ids))) for name, ids in parts if ids] if train and held_out else []


def bar_panel(groups: Sequence[tuple[str, Group]], models: Sequence[Judged], bottom: str) -> BarPanel:
    """Return mean errors as bars, models side by side in each group, as in Fig. 5 of seed 004."""
    names = tuple(f"{name}\n{counted(len(group.runs), 'run')}" for name, group in groups)
    return BarPanel(
        left=ERROR,
        bottom=bottom,
        groups=names,
        series=tuple(
            BarSeries(m.title, m.colour, tuple(_mrad(group.mean(m.errors)) for _, group in groups), m.pale)
            for m in models
        ),
    )


def heat_panel(grid: Grid, model: Judged) -> HeatPanel:
    """Return the mean errors of one model over two conditions."""
    row, column = grid.by
    return HeatPanel(
        left=heading(row),
        bottom=heading(column),
        rows=tuple(_short(value) for value in grid.rows),
        columns=tuple(_short(value) for value in grid.columns),
        values=grid.means(model.errors) * MRAD,
        scale=f"{model.title}: mean absolute error [mrad]",
    )


def motion_panels(pairs: Sequence[tuple[Recording, Motion]], model: Judged) -> tuple[CurvePanel, ...]:
    """Return the measured and simulated motion of runs end to end, and the residual.

    pairs: recordings, resampled to the times of their simulated motions.
    """
    begin = 0.0
    times, pieces = [], []
    for run, motion in pairs:
        times += [run.time - run.time[0] + begin, [begin + run.duration + GAP / 2]]
        columns = (run.goal_position, run.position, motion.position, (motion.position - run.position) * MRAD)
        pieces += [np.column_stack(columns), np.full((1, len(columns)), np.nan)]
        begin += run.duration + GAP
    time, values = np.concatenate(times), np.concatenate(pieces)
    goal, measured, simulated, error = values.T
    curves = (
        PlotCurve("goal", time, goal, LIGHT.goal, 1.0, GOAL.dash),
        PlotCurve("measured", time, measured, LIGHT.measured, 2.0),
        PlotCurve(model.title, time, simulated, model.colour, 1.5, IDENTIFIED_DASH),
    )
    return (
        CurvePanel("Position [rad]", "", (0.0, begin), _around(values[:, :3]), curves, height=1.1),
        CurvePanel(
            "Error [mrad]",
            "Time, runs end to end [s]",
            (0.0, begin),
            _around(values[:, 3:]),
            (PlotCurve(model.title, time, error, model.colour),),
            height=0.9,
        ),
    )


def _around(values: Array) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.05 * max(high - low, 1e-9)
    return low - room, high + room


def _mrad(error: float | None) -> float:
    return math.nan if error is None else error * MRAD


def _short(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
