"""Figures of friction models on an arm: errors by path and gain, and one case, as in Figs 7 and 1 of seed 004."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench_gui.headless.palette import LIGHT
from bench_gui.headless.report.figures import new_figure
from core.studies.arm.kinematics import elbow_positions, tip_positions
from core.studies.arm.links import ArmLinks
from core.studies.arm.scene import JOINTS
from core.studies.arm.validation import PUBLISHED, ArmCandidate, ArmCase, ArmValidation


def errors_figure(found: ArmValidation) -> Figure:
    """Draw the error of each model in each case, as in Fig. 7 of seed 004.

    Models that are not published are hatched.
    """
    figure = new_figure(max(4.0, 1.5 + 0.95 * len(found.cases)), 3.4)
    axes = figure.subplots()
    places, width = np.arange(len(found.cases)), 0.84 / len(found.candidates)
    for k, candidate in enumerate(found.candidates):
        published = candidate.name == PUBLISHED.format(candidate.friction)
        axes.bar(
            places + (k + 0.5) * width - 0.42,
            [case.errors[candidate.name].mae_mrad for case in found.cases],
            width,
            color=LIGHT.model(candidate.friction),
            hatch="" if published else "////",
            edgecolor="white",
            linewidth=0.0,
            label=candidate.name,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("mean absolute error / mrad")
    axes.set_xticks(places, ["\n".join(case.title.replace(",", "").split()) for case in found.cases], fontsize=8)
    axes.grid(axis="x", visible=False)
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=4, fontsize=8)
    return figure


def case_figure(case: ArmCase, links: ArmLinks, shown: Sequence[ArmCandidate]) -> Figure:
    """Draw the path of the tip, both joint angles over time, and their errors, as in Fig. 1 of seed 004."""
    colours = {candidate.name: LIGHT.model(candidate.friction) for candidate in shown}
    figure = new_figure(7.6, 4.2)
    grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.0), height_ratios=(1.0, 1.0, 0.9))
    plane = figure.add_subplot(grid[:, 0])
    over_time = [figure.add_subplot(grid[row, 1]) for row in range(3)]
    lines: list[tuple[str, str, float, Any]] = [
        ("goal", LIGHT.goal, 0.8, case.goal),
        ("true", LIGHT.measured, 1.6, case.reference),
        *((c.name, colours[c.name], 1.2, case.motions[c.name].position) for c in shown),
    ]
    resting = np.vstack(
        [np.zeros(2), elbow_positions(links, case.reference[:1]), tip_positions(links, case.reference[:1])]
    )
    plane.plot(*resting.T, "o-", color="#b0b0b0", linewidth=3.0, markersize=5.0)
    for label, colour, width, angles in lines:
        dashed = "--" if label == "goal" else "-"
        plane.plot(*tip_positions(links, angles).T, dashed, color=colour, linewidth=width, label=label)
        for joint, axes in enumerate(over_time[:2]):
            axes.plot(case.time, angles[:, joint], dashed, color=colour, linewidth=width)
    for candidate in shown:
        away = np.abs(case.motions[candidate.name].position - case.reference).mean(axis=1)
        over_time[2].plot(case.time, 1e3 * away, color=colours[candidate.name], linewidth=1.2)
    plane.set_aspect("equal", adjustable="datalim")
    plane.set_xlabel("x / m")
    plane.set_ylabel("z / m")
    plane.set_title(case.title, fontsize=9.5, loc="left")
    plane.legend(loc="best", fontsize=8)
    for axes, name in zip(over_time, (*(f"{joint} / rad" for joint in JOINTS), "error / mrad"), strict=True):
        axes.set_ylabel(name, fontsize=8.5)
    for axes in over_time[:2]:
        axes.tick_params(labelbottom=False)
    over_time[2].set_ylim(bottom=0.0)
    over_time[2].set_xlabel("time / s")
    return figure
