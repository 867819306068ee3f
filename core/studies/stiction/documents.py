"""Results of stiction as documents, with figures as Figs 3–8, 12 and 13 of seed 001, and the plots to explore it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.arrays import Array
from core.base.units import AngleUnit
from core.contact.bristle import Bristle, examine, transformed
from core.contact.laws import FrictionLaw
from core.document.document import Document
from core.document.plot import DASH_DOTTED, DASHED, DOTTED, CurvePanel, Plot, PlotCurve
from core.document.table import Table
from core.studies.stiction.exploring import PULL, TORQUE, StictionView
from core.studies.stiction.published import LAWS, SEED_RESTS, STEP

if TYPE_CHECKING:
    from core.studies.stiction.experiments import Holding, StepResponse, StickSlip
    from core.studies.stiction.joint import JointMotion

LAW_COLOURS = {"stribeck": "m2", "rational": "m6", "coulomb": "m1"}
FRICTION_COLOURS = {"elastoplastic": "m2", "sign": "m1", "tanh": "m4", "Karnopp": "m6"}
"""Colour of each kind of joint friction."""
LAW_TITLES = {"stribeck": "Stribeck", "rational": "Rational", "coulomb": "Coulomb–viscous"}
WINDOW = 0.04
"""Plotted duration of a chattering velocity [s]."""
PULLED, STICKING = 10.0, (0.3, 0.32)
"""Plotted durations of a pulled joint, and of its velocity before the first slip, when nothing should move [s]."""
REACH = 5.0
"""Range of the curves as a multiple of v_S or Z·F_S, whichever is larger."""
LEAST_REACH = 0.05
"""Smallest range of the curves [rad/s]."""
POINTS = 500


def step_document(found: Mapping[str, StepResponse], settings: dict[str, Any], *, published: bool) -> Document:
    """Return steps to 90° by law. settings: for JSON; published: the constants are the paper's."""
    rows: list[dict[str, Any]] = [
        {
            "law": name,
            "last_deg": math.degrees(response.rest),
            "rest_deg": None if response.stop_time is None else math.degrees(response.rest),
            "published_rest_deg": SEED_RESTS[name] if published else None,
            "stop_time": response.stop_time,
            "held_torque": response.held_torque,
            "slips": len(response.slips),
            "breakaway_torques": list(response.breakaway_torques),
        }
        for name, response in found.items()
    ]
    moving = [row["law"] for row in rows if row["stop_time"] is None]
    integral = settings["integral"]
    if integral:
        headings = ("law", "last angle/°", "slips", "breaks away at/N·m")
        cells = [(r["law"], r["last_deg"], r["slips"], _range(r["breakaway_torques"])) for r in rows]
    else:
        headings = ("law", "last angle/°", "published/°", "rests after/s", "last torque/N·m")
        keys = ("law", "last_deg", "published_rest_deg", "stop_time", "held_torque")
        cells = [tuple(row[key] for key in keys) for row in rows]
    return Document(
        title=f"step from 0° to 90°, {'with' if integral else 'without'} the integral term",
        tables=(Table(headings, cells),),
        sentences=(f"{', '.join(moving)}: still creeping at the end",) if moving and not integral else (),
        data={**settings, "laws": rows},
        columns=_motion_columns({name: response.motion for name, response in found.items()}),
        plot=lambda: _step_plot(found, integral),
    )


def _step_plot(found: Mapping[str, StepResponse], integral: bool) -> Plot:
    """Plot angle and torque with each law; the initial torque of an integral controller is cut off."""
    first = next(iter(found.values()))
    ends, statics = first.motion.time[[0, -1]], sorted({response.law.static for response in found.values()})
    above: list[PlotCurve] = []
    below: list[PlotCurve] = []
    for name, response in found.items():
        motion, title, colour = response.motion, response.law.title, LAW_COLOURS[name]
        above.append(PlotCurve(title, motion.time, np.degrees(motion.position), colour, 2.0))
        below.append(PlotCurve(title, motion.time, motion.torque, colour, 1.5))
    above.append(PlotCurve("goal", ends, np.full(2, math.degrees(first.drive.goal)), "goal", dash=DASHED))
    for static in statics:
        for level, note in ((static, f"F_S {static:g}"), (-static, ""))[: 1 + integral]:
            below.append(PlotCurve("F_S", ends, np.full(2, level), "goal", dash=DOTTED, legend="", note=note))
    reach = 1.4 * statics[-1]
    limits = (-reach, reach) if integral else (0.0, max(reach, 6.0))
    upper = CurvePanel("angle / °", "", None, None, tuple(above))
    return Plot(
        "", (upper, CurvePanel("torque of the drive / N·m", "time / s", None, limits, tuple(below))), shared="x"
    )


def chatter_document(
    found: Sequence[tuple[Holding, JointMotion]], law: FrictionLaw, settings: dict[str, Any]
) -> Document:
    """Return joints at rest under a torque, by kind of friction. settings: of the command, for JSON."""
    rows: list[dict[str, Any]] = [
        {
            "friction": each.friction.name,
            "reversals_per_second": each.reversals,
            "drift": each.drift,
            "ripple": each.ripple,
        }
        for each, _ in found
    ]
    motions = {each.friction.name: motion for each, motion in found}
    cells = [(r["friction"], r["reversals_per_second"], 1e3 * r["drift"], 1e3 * r["ripple"]) for r in rows]
    return Document(
        title=f"joint at rest under {settings['torque']:g} N·m, F_S = {law.static:g} N·m ({law.title})",
        tables=(Table(("friction", "reversals per s", "drift/(mrad/s)", "largest speed/(mrad/s)"), cells),),
        data={**settings, "frictions": rows},
        columns=_motion_columns(motions),
        plot=lambda: _chatter_plot(motions),
    )


def _chatter_plot(motions: Mapping[str, JointMotion]) -> Plot:
    """Plot the velocity in a short window, and the drift."""
    velocities: list[PlotCurve] = []
    drifts: list[PlotCurve] = []
    end = 0.0
    for name, motion in motions.items():
        begin, colour = len(motion.time) // 2, FRICTION_COLOURS[name]
        window = slice(begin, begin + round(WINDOW / motion.step) + 1)
        time = 1e3 * (motion.time[window] - motion.time[begin])
        velocities.append(PlotCurve(name, time, 1e3 * motion.velocity[window], colour, 1.5))
        drifts.append(PlotCurve(name, motion.time, 1e3 * motion.position, colour, 2.0))
        end = math.ceil(motion.time[-1])
    left = CurvePanel("velocity / mrad/s", "time / ms", (0.0, 1e3 * WINDOW), None, tuple(velocities))
    return Plot("", (left, CurvePanel("displacement / mrad", "time / s", (0.0, end), None, tuple(drifts))), columns=2)


def stickslip_document(
    runs: Sequence[tuple[StickSlip, JointMotion]],
    law: FrictionLaw,
    spreads: Mapping[str, float],
    pull: tuple[float, float],
    settings: dict[str, Any],
) -> Document:
    """Return the slips of a joint pulled by a spring, by kind of friction and time step.

    spreads: of the frequency between time steps; pull: stiffness [N·m/rad] and speed [rad/s] of the spring.
    """
    found = [each for each, _ in runs]
    rows: list[dict[str, Any]] = [
        {
            "friction": each.friction.name,
            "step": each.step,
            "frequency": each.frequency,
            "reversals_per_second": each.reversals,
        }
        for each in found
    ]
    motions = {each.friction.name: motion for each, motion in runs if each.step == STEP}
    cells = [(r["friction"], 1e3 * r["step"], r["frequency"], r["reversals_per_second"]) for r in rows]
    return Document(
        title=f"{pull[0]:g} N·m/rad pulled at {pull[1]:g} rad/s ({law.title})",
        tables=(Table(("friction", "time step/ms", "slips per s", "reversals per s"), cells),),
        sentences=tuple(
            f"{name}: slips per second differ by {100.0 * share:.1f} % between the time steps"
            for name, share in spreads.items()
        ),
        data={**settings, "runs": rows, "spread": dict(spreads)},
        columns=_motion_columns(motions),
        plot=lambda: _stickslip_plot(found, motions, pull[1]),
    )


def _stickslip_plot(found: Sequence[StickSlip], motions: Mapping[str, JointMotion], speed: float) -> Plot:
    """Plot the pulled joint over time, its velocity near rest, and its slip frequency by time step."""
    angles: list[PlotCurve] = []
    velocities: list[PlotCurve] = []
    frequencies: list[PlotCurve] = []
    end = 0.0
    for name, motion in motions.items():
        time, colour = motion.time, FRICTION_COLOURS[name]
        shown = time <= PULLED
        angles.append(PlotCurve(name, time[shown], motion.position[shown], colour, 1.5))
        shown = (time >= STICKING[0]) & (time <= STICKING[1])
        velocities.append(PlotCurve(name, 1e3 * time[shown], 1e3 * motion.velocity[shown], colour, 1.5))
        steps, slips = np.array([(each.step, each.frequency) for each in found if each.friction.name == name]).T
        frequencies.append(PlotCurve(name, 1e3 * steps, slips, colour, 2.0, marker="o"))
        end = min(PULLED, float(time[-1]))
    angles.append(PlotCurve("pulled end", np.array([0.0, end]), np.array([0.0, speed * end]), "goal", dash=DASHED))
    limits = (0.0, 1.15 * max((each.frequency for each in found if math.isfinite(each.frequency)), default=1.0))
    return Plot(
        "",
        (
            CurvePanel("angle / rad", "time / s", None, None, tuple(angles)),
            CurvePanel("velocity while it sticks / mrad/s", "time / ms", None, None, tuple(velocities)),
            CurvePanel("slips / 1/s", "time step / ms", None, limits, tuple(frequencies), log_bottom=True),
        ),
        columns=3,
    )


def hold_document(
    found: Mapping[str, tuple[float, float]], motions: Mapping[str, JointMotion], settings: dict[str, Any]
) -> Document:
    """Return displacement and drift [rad] of a held joint by law. motions: of a short hold, by kind of friction."""
    cells = [(name, displacement, change) for name, (displacement, change) in found.items()]
    return Document(
        title=f"joint held under {settings['torque']:g} N·m for {settings['hours']:g} h",
        tables=(Table(("law", "displacement/rad", "change/rad"), cells),),
        data={
            **settings,
            "laws": [dict(zip(("law", "displacement", "change"), cell, strict=True)) for cell in cells],
        },
        columns=_motion_columns(motions),
        plot=lambda: _hold_plot(motions),
    )


def _hold_plot(motions: Mapping[str, JointMotion]) -> Plot:
    """Plot the drift under a torque that friction should hold; both axes are logarithmic."""
    curves: list[PlotCurve] = []
    for name, motion in motions.items():
        moved = 1e3 * np.abs(motion.position[1:])
        title = name if moved[-1] > 0.0 else f"{name}: no drift"
        curves.append(PlotCurve(title, motion.time[1:], moved, FRICTION_COLOURS[name], 2.0))
    log: dict[str, Any] = {"log": True, "log_bottom": True, "height": 0.6}
    return Plot("", (CurvePanel("displacement / mrad", "time / s", None, None, tuple(curves), **log),))


def curves_document(laws: Mapping[str, FrictionLaw], bristle: Bristle, fastest: float) -> Document:
    """Return Φ over the velocity and Φ_Z over the hypothetical one, within ±fastest [rad/s], and their verdicts."""
    verdicts = {name: examine(law, bristle) for name, law in laws.items()}
    columns: dict[str, Array] = {}
    for name, law in laws.items():
        wished, torque = transformed(law, bristle, fastest)
        v = np.linspace(-fastest, fastest, len(wished))
        columns |= {
            f"{name}: v": v,
            f"{name}: friction": law.friction(v),
            f"{name}: v*": wished,
            f"{name}: implicit friction": torque,
        }
    rows = [
        {
            "law": name,
            "sound": verdict.sound,
            "steepest_fall": verdict.descent,
            "one_over_z": verdict.allowed,
            "remedies": [remedy.text for remedy in verdict.remedies],
        }
        for name, verdict in verdicts.items()
    ]
    least = f"a joint on this bristle needs more than {bristle.least_inertia:.4g} kg·m² to come to rest"
    return Document(
        sentences=(*(f"{name}: {verdict.text}" for name, verdict in verdicts.items()), least),
        data={"laws": rows, "least_inertia": bristle.least_inertia},
        columns=columns,
        plot=lambda: _curves_plot(laws, bristle, fastest),
    )


def _curves_plot(laws: Mapping[str, FrictionLaw], bristle: Bristle, fastest: float) -> Plot:
    functions: list[PlotCurve] = []
    implicit: list[PlotCurve] = []
    for name, law in laws.items():
        title, colour = law.title, LAW_COLOURS[name]
        jump = np.array([-law.static, law.static])
        functions.append(PlotCurve(title, *_function(law, fastest, 1000, gap=True), colour, 2.0))
        functions.append(PlotCurve(title, np.zeros(2), jump, colour, dash=DOTTED, legend=""))
        implicit.append(PlotCurve(title, *transformed(law, bristle, fastest), colour, 2.0))
    reach, title = (-fastest, fastest), f"Φ_Z, 1/Z = {1.0 / bristle.Z:g} N·m·s/rad"
    left = CurvePanel("friction / N·m", "velocity v / rad/s", reach, None, tuple(functions), title="Φ")
    right = CurvePanel("", "hypothetical velocity v* / rad/s", reach, None, tuple(implicit), title=title)
    return Plot("", (left, right), columns=2, shared="y")


def friction_plot(kind: str, law: FrictionLaw, bristle: Bristle) -> Plot:
    """Return Φ and Φ_Z of a law beside those of the other published laws, which are thin and dashed.

    If law and bristle do not fit, the curve of Φ_Z visibly folds back.
    """
    speed = getattr(law, "breakaway_speed", 0.0)
    fastest = max(REACH * speed, REACH * bristle.Z * law.static, LEAST_REACH)
    functions: list[PlotCurve] = []
    implicit: list[PlotCurve] = []
    for name, each in {kind: law, **{name: other for name, other in LAWS.items() if name != kind}}.items():
        look: dict[str, Any] = {"width": 2.0, "z": 2.0}
        if name != kind:
            look = {"dash": DASH_DOTTED, "legend": f"{LAW_TITLES[name]}, published", "z": 1.0}
        wished, torque = transformed(each, bristle, fastest, POINTS)
        inside = np.abs(wished) <= fastest
        for curves, (x, y) in (
            (functions, _function(each, fastest, POINTS)),
            (implicit, (wished[inside], torque[inside])),
        ):
            curves.append(PlotCurve(LAW_TITLES[name], x, y, LAW_COLOURS[name], **look))
    return Plot(
        f"Friction and its implicit form, {LAW_TITLES[kind]}",
        (
            CurvePanel("Friction Φ [N·m]", "Velocity v [rad/s]", None, None, tuple(functions)),
            CurvePanel("Implicit friction [N·m]", "Hypothetical velocity v* [rad/s]", None, None, tuple(implicit)),
        ),
        columns=2,
        shared="xy",
    )


def _function(law: FrictionLaw, fastest: float, points: int, *, gap: bool = False) -> tuple[Array, Array]:
    """Return velocities and friction on both sides of rest, with a gap between them or joined.

    Both sides start at static friction, which the law reaches only in the limit v → 0.
    """
    v = np.linspace(0.0, fastest, points)
    torque = law.friction(v)
    torque[0] = law.static
    between = [math.nan] if gap else []
    return np.concatenate([-v[::-1], between, v]), np.concatenate([-torque[::-1], between, torque])


def experiment_plot(view: StictionView, unit: AngleUnit) -> Plot:
    """Return the joint's angle and, beside it, drive torque or joint velocity."""
    factor, torque = unit.per_radian, view.below == TORQUE
    static = view.job.law.static
    both_signs = torque and view.traces[0].below.min() < 0.0
    ends = view.traces[0].time[[0, -1]]
    angles: list[PlotCurve] = []
    below: list[PlotCurve] = []
    if view.goal is not None:
        title = "pulled end" if view.job.experiment == PULL else "goal"
        angles.append(PlotCurve(title, ends, factor * view.goal, "goal", dash=DASHED))
    for sign in ((1.0, -1.0) if both_signs else (1.0,)) if torque else ():
        name, legend = f"{'+' if sign > 0 else '−'} static friction", "± static friction"
        below.append(PlotCurve(name, ends, np.full(2, sign * static), "muted", dash=DOTTED, legend=legend))
    for place, trace in enumerate(view.traces):
        look: dict[str, Any] = {
            "colour": FRICTION_COLOURS[trace.name],
            "width": 1.0 if place else 2.0,
            "dash": {"tanh": DASHED, "Karnopp": DOTTED}.get(trace.name),
            "z": float(len(view.traces) - place),
        }
        title = "sign()" if trace.name == "sign" else trace.name
        angles.append(PlotCurve(title, trace.time, factor * trace.position, **look))
        below.append(PlotCurve(title, trace.time, trace.below if torque else factor * trace.below, **look))
    # Of a torque of both signs, only the range around ±F_S is of interest.
    limits = (-1.4 * static, 1.4 * static) if both_signs else None
    second = "Torque [N·m]" if torque else f"Velocity [{unit.symbol}/s]"
    return Plot(
        view.job.title,
        (
            CurvePanel(f"Angle [{unit.symbol}]", "Time [s]", None, None, tuple(angles)),
            CurvePanel(second, "Time [s]", None, limits, tuple(below)),
        ),
        columns=2,
        shared="x",
    )


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3f} … {max(values):.3f}" if values else "–"


def _motion_columns(motions: Mapping[str, JointMotion]) -> dict[str, Array]:
    """Return the time of the first motion, then position, velocity, torque and friction of each."""
    columns: dict[str, Array] = {}
    for name, motion in motions.items():
        columns.setdefault("time", motion.time)
        columns |= {
            f"{name}: position": motion.position,
            f"{name}: velocity": motion.velocity,
            f"{name}: torque": motion.torque,
            f"{name}: friction": motion.friction,
        }
    return columns
