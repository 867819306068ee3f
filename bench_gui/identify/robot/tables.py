"""Tables of a robot, joints as rows: errors of the models, and what the motions excite. Errors in mrad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench_gui.widgets.text_table import Cell, Column
from core.base.units import FIGURE_DASH, milliradians, typeset
from sessions.results.robot import KeptRobot

MOTIONS = (
    Column("Joint"),
    Column("Range [°]", "Smallest and largest angle"),
    Column("Speed [rad/s]", "99th percentile of the speed in the fastest motion", True),
    Column("Gravity [N·m]", "Smallest and largest torque of gravity"),
    Column("Inertia [kg·m²]", "Smallest and largest inertia"),
    Column("Reversals", "Number of reversals", True),
)
_ERRORS = (
    Column("Joint"),
    Column("Model", "Friction model"),
    Column("Training [mrad]", "Mean absolute error in the motions of the fit", True),
    Column("Held out [mrad]", "Mean absolute error in the held-out motions, the other joints as measured", True),
)
_WHOLE = Column("Whole [mrad]", "The same with all joints simulated at once in MuJoCo", True)
_REST = (
    Column("Determined", "Number of values that the motions determine"),
    Column("Worst motion [mrad]", "Largest mean absolute error in a motion, and that motion"),
)


def by_motion(coverage: Sequence[Sequence[str]]) -> list[list[Cell]]:
    """Return range, speed, load and reversals of each joint; coverage: as in `Excited`."""
    return [[Cell(joint), *(Cell(typeset(text)) for text in figures)] for joint, *figures in coverage]


def by_joint(kept: KeptRobot | None, whole: Mapping[str, float]) -> tuple[tuple[Column, ...], list[list[Cell]]]:
    """Return columns and rows of the errors of each joint.

    Args:
        kept: Result, or None.
        whole: Errors with the whole robot simulated [rad], by joint; empty for a table without them.
    """
    rows: list[list[Cell]] = []
    for row in () if kept is None else kept.rows:
        worst = FIGURE_DASH if row.worst is None else f"{milliradians(row.worst[1])}, {row.worst[0]}"
        tip = "\n".join(f"{name}: {milliradians(each)} mrad" for name, each in row.errors.items())
        rows.append(
            [
                Cell(row.joint),
                Cell(row.friction.upper(), friction=row.friction),
                Cell(milliradians(row.train_mae)),
                Cell(milliradians(row.validation_mae)),
                *([Cell(milliradians(whole.get(row.joint)))] if whole else []),
                Cell(f"{row.determined} of {row.parameters}"),
                Cell(worst, tip),
            ]
        )
    return (*_ERRORS, *([_WHOLE] if whole else []), *_REST), rows
