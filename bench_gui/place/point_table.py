"""Table of placed points: one row per torque and repeat, with its two extremes side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex

from bench_gui.headless.place.rests import Target
from bench_gui.widgets.text_table import Cell, Column, Index, TextTable
from core.base.units import FIGURE_DASH, RADIANS, AngleUnit, fixed
from core.practice.placement import BACKDRIVE, DISAGREEMENT, DRIVE, PlacedPoint, Side, disagreement
from core.servo.model import ServoModel

SOUGHT = "▸"
"""Shown in place of the value that is being sought."""
SIDE_OF_COLUMN: dict[int, Side] = {1: DRIVE, 2: BACKDRIVE}


class PointTable(TextTable):
    """Every extreme of the plan, and further points of the bench."""

    def __init__(self) -> None:
        super().__init__(_columns(RADIANS))
        self._points: dict[tuple[float, int], dict[str, PlacedPoint]] = {}
        """Points of each torque and repeat, by side."""
        self._sought: Target | None = None
        self._unit, self._direction = RADIANS, 1
        self._model: ServoModel | None = None

    def set_points(self, points: Sequence[PlacedPoint], plan: Sequence[Target], model: ServoModel | None) -> None:
        """Show these points and the extremes still to place; points that disagree with the model are marked."""
        self._model = model
        found: dict[tuple[float, int], dict[str, PlacedPoint]] = {(t.torque, t.repeat): {} for t in plan}
        for point in points:
            found.setdefault((point.motor_torque, point.repeat), {})[point.side] = point
        self._points = dict(sorted(found.items()))
        self._show()

    def set_sought(self, target: Target | None) -> None:
        """Emphasise the sought extreme."""
        self._sought = target
        self._show()

    def set_unit(self, unit: AngleUnit, direction: int) -> None:
        """Show angles in a unit; direction: −1 if the pendulum turns clockwise as the servo's angle grows."""
        self._unit, self._direction = unit, direction
        self._show()

    def target(self, index: Index) -> Target | None:
        """Return the extreme in a cell, None if the cell has none."""
        side = SIDE_OF_COLUMN.get(index.column()) if index.isValid() else None
        return None if side is None else Target(*list(self._points)[index.row()], side)

    def cell(self, target: Target) -> Index:
        """Return the cell of an extreme; an invalid index if it is not shown."""
        for number, (torque, repeat) in enumerate(self._points):
            for column, side in SIDE_OF_COLUMN.items():
                if Target(torque, repeat, side) == target:
                    return self.index(number, column)
        return QModelIndex()

    def _show(self) -> None:
        rows = [
            [
                f"{torque:g}" + (f"  #{repeat}" if repeat > 1 else ""),
                *(self._cell(Target(torque, repeat, side), sides.get(side)) for side in SIDE_OF_COLUMN.values()),
                _error(sides),
            ]
            for (torque, repeat), sides in self._points.items()
        ]
        self.show(rows, _columns(self._unit), list(self._points))

    def _cell(self, target: Target, point: PlacedPoint | None) -> Cell:
        sought = target == self._sought
        text, tip = SOUGHT if sought else FIGURE_DASH, ""
        if point is not None:
            angle = self._direction * (point.angle + point.bench.angle_offset)
            text = fixed(angle * self._unit.per_radian, 2 if self._unit.per_radian > 1.5 else 4)
            tip = f"External torque {fixed(point.external_torque, 4, 'N·m')}, placed {point.when}"
            reads = fixed(point.angle * self._unit.per_radian, 2 if self._unit.per_radian > 1.5 else 4)
            tip += f"\nServo reads {reads} {self._unit.symbol}"
            if point.fell is None:
                tip += "\nNo fall was seen beyond it: the boundary may lie further out"
            else:
                tip += f"\nFell from {fixed(1e3 * abs(point.fell - point.angle), 0)} mrad further out"
            if not sought and self._model is not None and (off := disagreement(self._model, point)) > DISAGREEMENT:
                tip += f"\n{fixed(off, 1)} σ from {self._model.title}: measure it again before a fit"
                return Cell(f"{text} !", tip, tone="fault", bold=True)
        return Cell(text, tip, tone="accent" if sought else "", bold=sought)


def _error(sides: dict[str, PlacedPoint]) -> str:
    """Return the error of a row, which is not known of a point beyond which no fall was seen."""
    if any(point.fell is None for point in sides.values()):
        return "n/a"
    return fixed(1e3 * max(point.error for point in sides.values()), 1) if sides else ""


def _columns(unit: AngleUnit) -> tuple[Column, ...]:
    rested = "angle at which the pendulum still rested: the"
    error = "Half the bracket from last rest to first fall, or the spread at rest; the larger of the two sides. "
    error += "n/a: without a fall, the boundary may lie further out"
    return (
        Column("Torque\n[N·m]", "Held motor torque, and number of the repeat", number=True),
        Column(f"Lowest\n[{unit.symbol}]", f"Lowest {rested} drive torque", number=True),
        Column(f"Highest\n[{unit.symbol}]", f"Highest {rested} backdrive torque", number=True),
        Column("Error ±\n[mrad]", error, number=True),
    )
