"""Figures of stiction: curves and steps as in Figs 3–8, 12 and 13 of seed 001, and other friction models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench_gui.headless.symbols import mathtext
from bench_gui.studies.stiction.colours import FRICTION_COLOURS, LAW_MODELS

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from core.contact.bristle import Bristle
    from core.contact.laws import FrictionLaw
    from core.studies.stiction.experiments import Holding, StepResponse, StickSlip
    from core.studies.stiction.joint import JointMotion

WINDOW = 0.04
"""Plotted duration of a chattering velocity [s]."""


def curves_figure(laws: Mapping[str, FrictionLaw], bristle: Bristle, fastest: float) -> Figure:
    """Draw Φ over the velocity and Φ_Z over the hypothetical velocity, both within ±fastest [rad/s]."""
    import numpy as np

    from bench_gui.headless.palette import MODEL_COLOURS
    from bench_gui.headless.report.figures import new_figure
    from core.contact.bristle import transformed

    figure = new_figure(7.6, 3.1)
    left, right = figure.subplots(1, 2, sharey=True)
    # Φ jumps at rest, so there is a point on each side.
    v = np.concatenate([np.linspace(-fastest, 0.0, 1000), [np.nan], np.linspace(0.0, fastest, 1000)])
    for name, law in laws.items():
        colour = MODEL_COLOURS[LAW_MODELS[name]]
        torque = law.friction(v)
        torque[[999, 1001]] = -law.static, law.static
        left.plot(v, torque, color=colour, linewidth=1.5, label=law.title)
        left.plot([0.0, 0.0], [-law.static, law.static], color=colour, linewidth=0.8, linestyle=":")
        wished, transformed_torque = transformed(law, bristle, fastest)
        right.plot(wished, transformed_torque, color=colour, linewidth=1.5, label=law.title)
    left.set_xlabel("velocity v / rad/s")
    right.set_xlabel("hypothetical velocity v* / rad/s")
    left.set_ylabel("friction / N·m")
    left.set_title("Φ", fontsize=9.5, loc="left")
    right.set_title(f"{mathtext('Φ_Z')}, 1/Z = {1.0 / bristle.Z:g} N·m·s/rad", fontsize=9.5, loc="left")
    for axes in (left, right):
        axes.set_xlim(-fastest, fastest)
    left.legend(fontsize=8)
    return figure


def step_figure(found: Mapping[str, StepResponse]) -> Figure:
    """Draw angle and torque of a step with each law, as in Figs 12 and 13; the initial torque is cut off."""
    import numpy as np

    from bench_gui.headless.palette import GOAL_COLOUR, MODEL_COLOURS
    from bench_gui.headless.report.figures import new_figure

    figure = new_figure(7.2, 4.2)
    above, below = figure.subplots(2, 1, sharex=True)
    statics = sorted({response.law.static for response in found.values()})
    for name, response in found.items():
        colour, motion = MODEL_COLOURS[LAW_MODELS[name]], response.motion
        above.plot(motion.time, np.degrees(motion.position), color=colour, linewidth=1.4, label=response.law.title)
        below.plot(motion.time, motion.torque, color=colour, linewidth=1.2)
    first = next(iter(found.values()))
    above.axhline(np.degrees(first.drive.goal), color=GOAL_COLOUR, linewidth=0.8, linestyle="--", label="goal")
    for static in statics:
        for level in (static, -static) if first.drive.integral else (static,):
            below.axhline(level, color=GOAL_COLOUR, linewidth=0.8, linestyle=":")
        below.text(
            1.01,
            static,
            f"{mathtext('F_S')} {static:g}",
            transform=below.get_yaxis_transform(),
            va="center",
            fontsize=8,
        )
    reach = 1.4 * statics[-1]
    below.set_ylim(-reach if first.drive.integral else 0.0, max(reach, 0.0 if first.drive.integral else 6.0))
    above.set_ylabel("angle / °")
    below.set_ylabel("torque of the drive / N·m")
    below.set_xlabel("time / s")
    above.legend(loc="lower right", ncols=4, fontsize=8)
    return figure


def chatter_figure(found: Sequence[tuple[Holding, JointMotion]]) -> Figure:
    """Draw the velocity of a joint at rest in a short window, and its drift, for each friction model."""
    import numpy as np

    from bench_gui.headless.palette import MODEL_COLOURS
    from bench_gui.headless.report.figures import new_figure

    figure = new_figure(7.6, 2.9)
    left, right = figure.subplots(1, 2)
    for holding, motion in found:
        name = holding.friction.name
        colour = MODEL_COLOURS[FRICTION_COLOURS[name]]
        begin = len(motion.time) // 2
        window = slice(begin, begin + round(WINDOW / motion.step) + 1)
        left.plot(
            1e3 * (motion.time[window] - motion.time[begin]),
            1e3 * motion.velocity[window],
            color=colour,
            linewidth=1.2,
            label=name,
        )
        right.plot(motion.time, 1e3 * motion.position, color=colour, linewidth=1.4, label=name)
    left.set_xlabel("time / ms")
    left.set_ylabel("velocity / mrad/s")
    right.set_xlabel("time / s")
    right.set_ylabel("displacement / mrad")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.margins(x=0.0)
    left.set_xlim(0.0, 1e3 * WINDOW)
    right.set_xlim(0.0, float(np.ceil(found[0][1].time[-1])))
    return figure


def hold_figure(motions: Mapping[str, JointMotion]) -> Figure:
    """Draw the drift of a joint under a torque that friction should hold; both axes are logarithmic."""
    import numpy as np

    from bench_gui.headless.palette import MODEL_COLOURS
    from bench_gui.headless.report.figures import new_figure

    figure = new_figure(7.2, 2.8)
    axes = figure.subplots()
    for name, motion in motions.items():
        colour = MODEL_COLOURS[FRICTION_COLOURS[name]]
        moved = 1e3 * np.abs(motion.position[1:])
        label = name if moved[-1] > 0.0 else f"{name}: no drift"
        axes.loglog(motion.time[1:], moved, color=colour, linewidth=1.5, label=label)
    _plain_numbers(axes.xaxis)
    _plain_numbers(axes.yaxis)
    axes.set_xlabel("time / s")
    axes.set_ylabel("displacement / mrad")
    axes.legend(fontsize=8)
    return figure


def stickslip_figure(found: Sequence[StickSlip], motions: Mapping[str, JointMotion], pull_speed: float) -> Figure:
    """Draw the pulled joint over time, its velocity near rest, and its slip frequency by time step."""
    from bench_gui.headless.palette import GOAL_COLOUR, MODEL_COLOURS
    from bench_gui.headless.report.figures import new_figure

    figure = new_figure(7.6, 3.0)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1.0, 1.0))
    for name, motion in motions.items():
        colour = MODEL_COLOURS[FRICTION_COLOURS[name]]
        shown = motion.time <= 10.0
        left.plot(motion.time[shown], motion.position[shown], color=colour, linewidth=1.2, label=name)
        # Before the first slip nothing should move.
        shown = (motion.time >= 0.3) & (motion.time <= 0.32)
        middle.plot(1e3 * motion.time[shown], 1e3 * motion.velocity[shown], color=colour, linewidth=1.0)
    first = next(iter(motions.values()))
    ends = [0.0, min(10.0, float(first.time[-1]))]
    left.plot(
        ends, [pull_speed * t for t in ends], color=GOAL_COLOUR, linewidth=0.8, linestyle="--", label="pulled end"
    )
    for name in dict.fromkeys(each.friction.name for each in found):
        mine = [each for each in found if each.friction.name == name]
        colour = MODEL_COLOURS[FRICTION_COLOURS[name]]
        right.semilogx([1e3 * each.step for each in mine], [each.frequency for each in mine], "o-", color=colour)
    left.set_xlabel("time / s")
    left.set_ylabel("angle / rad")
    middle.set_xlabel("time / ms")
    middle.set_ylabel("velocity while it sticks / mrad/s")
    _plain_numbers(right.xaxis)
    right.set_xlabel("time step / ms")
    right.set_ylabel("slips / 1/s")
    right.set_ylim(0.0, 1.15 * right.dataLim.ymax)
    left.legend(fontsize=8)
    return figure


def _plain_numbers(axis: Axis) -> None:
    """Label decades as 0.1, 1, 10 …, since powers would be typeset as formulas."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
