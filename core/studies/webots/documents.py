"""Results of Webots Servos as documents: motion over time, errors of a fitted node, and the plot of a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.arrays import Array
from core.base.units import AngleUnit
from core.document.document import Document
from core.document.plot import BarPanel, BarSeries, CurvePanel, Plot, PlotCurve
from core.document.table import Table
from core.servo.terms import FRICTION_MODELS
from core.studies.webots.experiments import Shown
from core.studies.webots.fields import ServoFields, seed_name
from core.studies.webots.trace import Trace

if TYPE_CHECKING:
    from core.studies.webots.loss import ServoLoss

DASH, DOTS = (5.0, 3.0), (1.5, 2.5)


def summary(trace: Trace) -> dict[str, Any]:
    """Summarise the motion of a servo, in rad and N·m or in m and N."""
    used = np.abs(np.where(np.isfinite(trace.force), trace.force, trace.motor_force))
    some = len(trace.time) > 0
    return {
        "servo": trace.name or "(not asked for)",
        "steps": len(trace.time),
        "lowest": float(trace.position.min()) if some else None,
        "highest": float(trace.position.max()) if some else None,
        "last": float(trace.position[-1]) if some else None,
        "position_unit": trace.fields.units["position"],
        "largest_force": float(used.max()) if some else None,
        "force_unit": trace.fields.units["force"],
    }


def motion_document(
    traces: Sequence[Trace], data: Mapping[str, Any], title: str = "", notes: Sequence[str] | None = None
) -> Document:
    """Return motions of servos. data: for JSON, in front of the summaries; notes: printed below them."""
    rows = [summary(trace) for trace in traces]
    headings = ("servo", "steps", "lowest", "highest", "last", "unit", "largest force", "unit")
    return Document(
        title=title,
        tables=(Table(headings, [list(row.values()) for row in rows]),),
        sentences=tuple(notes or ()),
        data={**data, "servos": rows} | ({} if notes is None else {"notes": notes}),
        plot=lambda: motion_plot(title, traces),
    )


def motion_plot(title: str, traces: Sequence[Trace]) -> Plot:
    """Plot position with target and limits, velocity with Vc, and forces of servos over time."""
    first, alone = traces[0], len(traces) == 1
    time, units = first.time, first.fields.units
    controlled = alone and bool(np.isfinite(first.force).any())
    position: list[PlotCurve] = []
    velocity: list[PlotCurve] = []
    force: list[PlotCurve] = []
    for trace, colour in zip(traces, ("measured",) if alone else cycle(FRICTION_MODELS)):  # noqa: B905
        name = "position" if alone else trace.name
        position.append(PlotCurve(name, trace.time, trace.position, colour, 2.0))
        velocity.append(PlotCurve("velocity", trace.time, trace.velocity, colour, 1.5, legend=""))
        legend = "motor" if controlled else ""
        force.append(PlotCurve("motor", trace.time, trace.motor_force, colour, 1.5, legend=legend))
    position.append(PlotCurve("target", time, first.target, "goal", 1.2, DASH))
    for name, values, colour in _limits(first.fields, "hard stops"):
        position += [PlotCurve(name, time[[0, -1]], np.full(2, value), colour, 1.3, DOTS) for value in values]
    if alone:
        velocity.append(PlotCurve("Vc", time, first.wanted_velocity, "goal", 1.2, DASH))
    if controlled:
        force.append(PlotCurve("force control", time, first.force, "m6", 2.0))
    return Plot(
        title,
        (
            CurvePanel(f"position / {units['position']}", "", None, None, tuple(position), height=1.1),
            CurvePanel(f"velocity / {units['velocity']}", "", None, None, tuple(velocity), height=0.7),
            CurvePanel(f"motor force / {units['force']}", "time / s", None, None, tuple(force), height=0.7),
        ),
        shared="x",
    )


def loss_document(found: ServoLoss, data: Mapping[str, Any]) -> Document:
    """Return the fields of a fitted node and its errors beside those of friction models. data: for JSON."""
    numbers = [
        (seed_name(n.name), n.value, n.unit, *(n.interval if n.determined else (None, None)), n.remark)
        for n in found.numbers
    ]
    errors = [
        ("Webots Servo", _mrad(found.train_mae), _mrad(found.validation_mae), None),
        *((row.name, _mrad(row.train_mae), _mrad(row.validation_mae), 1e3 * found.lost(row)) for row in found.rows),
    ]
    return Document(
        title=f"Webots Servo fitted to {found.title}; controlP at gain {found.kp:g}",
        tables=(
            Table(("field", "value", "unit", "95 % from", "to", "remark"), numbers),
            Table(("model", "fitted runs/mrad", "held out/mrad", "lost by the node/mrad"), errors),
        ),
        data=data,
        plot=lambda: _loss_plot(found),
    )


def _loss_plot(found: ServoLoss) -> Plot:
    """Plot errors of the node and of friction models: pale on fitted runs, full on held-out runs."""
    names = ("Webots\nServo", *(row.name.replace(" ", "\n") for row in found.rows))
    colours = ("measured", *(row.friction for row in found.rows))
    train = tuple(1e3 * error for error in (found.train_mae, *(row.train_mae for row in found.rows)))
    series = [BarSeries("", "drive", train, pale=0.55, colours=colours)]
    held_out = [_mrad(error) for error in (found.validation_mae, *(row.validation_mae for row in found.rows))]
    judged = tuple(error for error in held_out if error is not None)
    if len(judged) == len(names):
        series.append(BarSeries("", "drive", judged, colours=colours))
    title = f"{found.title}; pale: fitted runs, full: held-out runs"
    return Plot(title, (BarPanel("mean absolute error / mrad", "", names, tuple(series), digits=1),))


def scene_plot(shown: Shown, unit: AngleUnit) -> Plot:
    """Plot position with target and limits, velocity with Vc, and the forces on the joint."""
    trace, factor = shown.trace, unit.per_radian
    time = trace.time
    position = [PlotCurve("position", time, trace.position * factor, "measured", 1.8, legend="servo", z=4.0)]
    if np.isfinite(trace.target).any():
        position.append(PlotCurve("target", time, trace.target * factor, "goal", 1.2, DASH, z=3.0))
    for name, values, colour in _limits(shown.scene.fields, "stops"):
        for side, value in zip(("lower", "upper"), values, strict=True):
            line = np.full(len(time), value * factor)
            position.append(PlotCurve(f"{side} {name[:-1]}", time, line, colour, 1.4, DOTS, legend=name, z=2.0))
    velocity = (
        PlotCurve("velocity", time, trace.velocity * factor, "measured", 1.8, legend="servo", z=4.0),
        PlotCurve("Vc", time, trace.wanted_velocity * factor, "goal", 1.2, DASH, legend="target", z=5.0),
    )
    forces: tuple[tuple[str, Array, str], ...] = (
        ("motor", trace.motor_force, "m4"),
        ("force control", trace.force, "m6"),
        ("spring", shown.spring, "m3"),
        ("damper", shown.damper, "m2"),
        ("push", shown.push, "m1"),
    )
    force = (
        PlotCurve(name, time, values, colour, 1.4, z=3.0)
        for name, values, colour in forces
        if np.isfinite(values).any() and (name == "motor" or np.nan_to_num(values).any())
    )
    return Plot(
        "Webots Servo",
        (
            CurvePanel(f"Position [{unit.symbol}]", "", None, None, tuple(position)),
            CurvePanel(f"Velocity [{unit.symbol}/s]", "", None, None, velocity),
            CurvePanel("Force [N·m]", "Time [s]", None, None, tuple(force)),
        ),
        shared="x",
    )


def _limits(fields: ServoFields, stops: str) -> list[tuple[str, tuple[float, float], str]]:
    """Return name, values and colour of the limits that a node has."""
    soft = [("soft limits", fields.soft_limits, "moving")] if fields.has_soft_limits else []
    return [*soft, *([(stops, fields.stops, "fault")] if fields.has_stops else [])]


def _mrad(error: float | None) -> float | None:
    return None if error is None else 1e3 * error
