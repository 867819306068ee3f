"""Figures of compliant actuators: springs, the experiments of seed 003 (Figs 7 and 11 to 14), and learning (Fig. 15).

Soft and stiff presets have the same colours in all figures; references are thin and grey.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench_gui.headless.palette import GOAL_LINE, LIGHT
from bench_gui.headless.report.figures import new_figure
from core.studies.arm.kinematics import elbow_positions
from core.studies.compliant.elastic import CompliantActuator
from core.studies.compliant.experiments import ArmRun, BoxRun, FrequencyResponse, JointRun
from core.studies.compliant.learning import Iteration, Learned

BEHAVIOUR_COLOURS = (LIGHT.model("m1"), LIGHT.model("m4"))
"""Colours of the soft and the stiff preset."""
JOINTS = ("joint 1", "joint 2")
JOINT_COLOURS = (LIGHT.model("m4"), LIGHT.model("m3"))
CURVE_POINTS = 401
PRESETS_SHOWN = 5


def curve_figure(actuator: CompliantActuator) -> Figure:
    """Draw torque over deflection at several presets, and the stiffness at rest over the preset."""
    low, high = actuator.preset_limits()
    reach = 1.25 * actuator.parameters()["max_deflection"].value
    deflection = np.linspace(-reach, reach, CURVE_POINTS)
    figure = new_figure(7.6, 3.2)
    left, right = figure.subplots(1, 2)
    shown = np.linspace(low, high, PRESETS_SHOWN) if high > low else np.zeros(1)
    if high > low:
        shown = np.unique(np.round([*shown[:-1], actuator.soft_preset, actuator.stiff_preset], 12))
    for place, preset in enumerate(shown):
        share = place / max(len(shown) - 1, 1)
        found = actuator.elastic_torque(*actuator.references(0.0, preset), deflection)
        label = f"{preset:.3g} {actuator.preset_unit}" if high > low else actuator.title
        left.plot(deflection, found.link, color=_between(*BEHAVIOUR_COLOURS, share), linewidth=1.3, label=label)
    left.set_xlabel("link − equilibrium / rad")
    left.set_ylabel("torque on the link / N·m")
    left.legend(fontsize=8, title=actuator.preset_name if high > low else None, title_fontsize=8)
    presets = np.linspace(low, high, CURVE_POINTS) if high > low else np.array([0.0, 1.0])
    stiffness = actuator.elastic_torque(*actuator.references(0.0, presets), 0.0).stiffness
    right.plot(presets, stiffness, color=LIGHT.measured, linewidth=1.4)
    right.set_xlabel(f"{actuator.preset_name.lower()} / {actuator.preset_unit}" if high > low else "no preset")
    right.set_ylabel("stiffness at rest / N·m/rad")
    if high > low and float(stiffness.max()) > 30.0 * max(float(stiffness.min()), 1e-12):
        _logarithmic(right)
    return figure


def step_figure(runs: Sequence[JointRun]) -> Figure:
    """Draw steps of each actuator, soft and stiff, as in Fig. 7."""
    titles = list(dict.fromkeys(run.behaviour.actuator.title for run in runs))
    columns = 1 if len(titles) == 1 else 2
    rows = math.ceil(len(titles) / columns)
    figure = new_figure(3.9 * columns, 2.2 * rows + 0.4)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharex=True, sharey=True)).ravel()
    for axes, title in zip(panels, titles, strict=False):
        of_title = [run for run in runs if run.behaviour.actuator.title == title]
        axes.plot(of_title[0].motion.time, of_title[0].wanted, linewidth=0.9, **GOAL_LINE)
        for run, colour, width in zip(of_title, BEHAVIOUR_COLOURS, (1.6, 0.9), strict=False):
            axes.plot(run.motion.time, run.motion.position, color=colour, linewidth=width, label=run.behaviour.title)
        axes.set_title(title, fontsize=9.5, loc="left")
        axes.legend(loc="lower right", fontsize=8)
    for axes in panels[len(titles) :]:
        axes.set_visible(False)
    for axes in panels[max(len(titles) - columns, 0) : len(titles)]:
        axes.set_xlabel("time / s")
    for axes in panels[::columns]:
        axes.set_ylabel("link / rad")
    return figure


def chirp_figure(responses: Sequence[FrequencyResponse]) -> Figure:
    """Draw links and their equilibria over time, soft and stiff, as in Fig. 11, and magnitude and phase."""
    figure = new_figure(7.6, 4.6)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.0, 1.1))
    above = [figure.add_subplot(grid[0, 0])]
    above.append(figure.add_subplot(grid[0, 1], sharey=above[0]))
    magnitude, lag = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for axes, found, colour in zip(above, responses, BEHAVIOUR_COLOURS, strict=False):
        run = found.run
        axes.plot(run.motion.time, run.wanted, linewidth=0.4, label="reference equilibrium", **GOAL_LINE)
        equilibrium, link = run.link_equilibrium, run.motion.position
        axes.plot(run.motion.time, equilibrium, color=LIGHT.measured, linewidth=0.6, label="link equilibrium")
        axes.plot(run.motion.time, link, color=colour, linewidth=0.9, label="link")
        # Room for the legend above the curves, which fill the panel below.
        axes.set_ylim(top=2.2 * float(np.abs(run.wanted).max()))
        axes.legend(loc="upper right", fontsize=7)
        axes.set_title(run.behaviour.title, fontsize=9.5, loc="left")
        axes.set_xlabel("time / s")
        magnitude.plot(found.frequency, found.magnitude, color=colour, linewidth=1.4, label=run.behaviour.title)
        lag.plot(found.frequency, np.degrees(found.phase), color=colour, linewidth=1.4)
        if math.isfinite(found.bandwidth):
            magnitude.axvline(found.bandwidth, color=colour, linewidth=0.8, linestyle=":")
    above[0].set_ylabel("link / rad")
    magnitude.set_ylim(bottom=0.0)
    magnitude.set_ylabel("link over equilibrium")
    magnitude.legend(fontsize=8)
    lag.set_ylabel("phase / °")
    for axes in (magnitude, lag):
        axes.set_xlabel("frequency / Hz")
    return figure


def sine_figure(runs: Sequence[JointRun]) -> Figure:
    """Draw one joint along a sinusoid, soft and stiff, and its error."""
    figure = new_figure(7.2, 3.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
    above.plot(runs[0].motion.time, runs[0].wanted, linewidth=0.9, label="reference equilibrium", **GOAL_LINE)
    for run, colour in zip(runs, BEHAVIOUR_COLOURS, strict=False):
        above.plot(
            run.motion.time, run.link_equilibrium, color=colour, linewidth=0.9, linestyle=":",
            label=f"link equilibrium, {run.behaviour.name}",
        )  # fmt: skip
        above.plot(run.motion.time, run.motion.position, color=colour, linewidth=1.3, label=run.behaviour.title)
        below.plot(run.motion.time, 1e3 * (run.wanted - run.motion.position), color=colour, linewidth=1.0)
    above.set_ylabel("link / rad")
    below.set_ylabel("error / mrad")
    below.set_xlabel("time / s")
    above.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8)
    return figure


def arm_figure(steps: Sequence[ArmRun], sinusoids: Sequence[ArmRun]) -> Figure:
    """Draw both joints of an arm: steps in a horizontal plane (left), sinusoids in a vertical plane (right).

    Dotted lines are the links' equilibria held by the motors, as in Figs 12 and 13.
    """
    figure = new_figure(7.6, 4.2)
    panels = figure.subplots(2, 2, sharex="col", sharey="row")
    for column, (title, runs) in enumerate((("horizontal", steps), ("vertical", sinusoids))):
        for joint in range(2):
            axes = panels[joint, column]
            asked = runs[0].motion
            axes.plot(asked.time, asked.equilibrium[:, joint], linewidth=0.9, label="reference", **GOAL_LINE)
            for run, colour in zip(runs, BEHAVIOUR_COLOURS, strict=False):
                axes.plot(run.motion.time, run.link_equilibrium[:, joint], color=colour, linewidth=0.8, linestyle=":")
                axes.plot(
                    run.motion.time, run.motion.position[:, joint], color=colour, linewidth=1.2,
                    label=run.behaviour.name,
                )  # fmt: skip
            if column == 0:
                axes.set_ylabel(f"{JOINTS[joint]} / rad")
        panels[0, column].set_title(f"{title} plane", fontsize=9.5, loc="left")
        panels[1, column].set_xlabel("time / s")
    panels[0, 0].legend(loc="lower right", fontsize=8)
    return figure


def box_figure(runs: Sequence[BoxRun]) -> Figure:
    """Draw tip and box over time, soft and stiff, and their final positions, as in Fig. 14."""
    figure = new_figure(7.6, 3.9)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1.0))
    way = figure.add_subplot(grid[0, 0])
    force = figure.add_subplot(grid[1, 0], sharex=way)
    plane = figure.add_subplot(grid[:, 1])
    way.plot(runs[0].motion.time, runs[0].way[:, 0], linewidth=0.9, label="tip, reference", **GOAL_LINE)
    for run, colour in zip(runs, BEHAVIOUR_COLOURS, strict=False):
        name = run.behaviour.name
        way.plot(run.motion.time, run.tip[:, 0], color=colour, linewidth=1.4, label=f"tip, {name}")
        way.plot(
            run.motion.time, run.motion.box, color=colour, linewidth=1.0, linestyle=(0, (4, 2)), label=f"box, {name}"
        )
        force.plot(run.motion.time, run.motion.tip_force, color=colour, linewidth=1.0)
        _draw_scene(plane, run, colour)
    holding = runs[0].box.holding_force
    force.axhline(holding, color=LIGHT.goal, linewidth=0.9, linestyle=":")
    force.annotate("box slides", (0.02, holding), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
    way.set_ylabel("x / m")
    way.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=7.5)
    force.set_ylabel("push / N")
    force.set_xlabel("time / s")
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_xlabel("x / m")
    plane.set_ylabel("z / m")
    plane.set_title("arm and box at the end", fontsize=9.5, loc="left")
    return figure


def learning_figure(learned: Learned) -> Figure:
    """Draw the largest error by iteration, and both joints at the first and last iteration, as in Fig. 15."""
    figure = new_figure(7.6, 4.2)
    grid = figure.add_gridspec(2, 2, width_ratios=(0.8, 1.0))
    errors = figure.add_subplot(grid[:, 0])
    numbers = [each.number for each in learned.iterations]
    for joint, colour in enumerate(JOINT_COLOURS):
        errors.plot(
            numbers, [float(each.worst[joint]) for each in learned.iterations], "o-", color=colour, markersize=4,
            linewidth=1.2, label=JOINTS[joint],
        )  # fmt: skip
    norms = [float(each.error_norm.max()) for each in learned.iterations]
    errors.plot(numbers, norms, "s:", color=LIGHT.measured, markersize=3, linewidth=1.0, label="‖q̂ − q‖₂ of both")
    errors.axhline(learned.law.tolerance, color=LIGHT.goal, linewidth=0.9, linestyle=":", label="tolerance")
    _logarithmic(errors)
    errors.set_xticks(_some(numbers))
    errors.set_xlabel("iteration")
    errors.set_ylabel("largest error / rad")
    errors.legend(fontsize=8)
    time = learned.reference.time
    for joint, colour in enumerate(JOINT_COLOURS):
        axes = figure.add_subplot(grid[joint, 1])
        axes.plot(time, learned.reference.angles[:, joint], color=LIGHT.measured, linewidth=1.6, label="reference")
        for each, line in ((learned.iterations[0], ":"), (learned.iterations[-1], "--")):
            _draw_iteration(axes, time, each, joint, colour, line)
        axes.set_ylabel(f"{JOINTS[joint]} / rad")
        if joint == 0:
            axes.tick_params(labelbottom=False)
            axes.legend(fontsize=7.5, loc="upper left")
        else:
            axes.set_xlabel("time / s")
    return figure


def _draw_iteration(axes: Axes, time: Any, each: Iteration, joint: int, colour: str, line: str) -> None:
    axes.plot(time, each.position[:, joint], line, color=colour, linewidth=1.3, label=f"link, iteration {each.number}")
    if line == "--":
        axes.plot(time, each.equilibrium[:, joint], linewidth=0.9, label="input", **GOAL_LINE)
        axes.plot(time, each.link_equilibrium[:, joint], ":", color=LIGHT.goal, linewidth=1.2, label="link equilibrium")


def _draw_scene(plane: Axes, run: BoxRun, colour: str) -> None:
    """Draw arm and box at the end of a run."""
    elbow = elbow_positions(run.arm.links, run.motion.position[-1:])[0]
    points = np.vstack([np.zeros(2), elbow, run.tip[-1]])
    plane.plot(*points.T, "o-", color=colour, linewidth=2.0, markersize=4.5, label=run.behaviour.title)
    box = (float(run.motion.box[-1]), run.box.edge)
    plane.add_patch(
        Rectangle(box, run.box.side, run.box.side, fill=False, edgecolor=colour, linewidth=1.2, linestyle=(0, (4, 2)))
    )
    plane.plot(*run.way.T, linewidth=0.9, **GOAL_LINE)
    plane.plot([box[0], box[0] + run.box.side], [run.box.edge] * 2, alpha=0.0)
    plane.legend(fontsize=8, loc="upper right")


def _logarithmic(axes: Axes) -> None:
    """Make the vertical axis logarithmic with plain numbers, which needs no typesetting of powers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _some(numbers: Sequence[int]) -> list[int]:
    """Return at most a dozen ticks."""
    return list(numbers[:: math.ceil(len(numbers) / 12)])


def _between(one: str, other: str, share: float) -> str:
    """Interpolate two colours "#rrggbb"."""
    parts = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts)
