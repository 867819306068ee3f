"""The recording plan as a grid: a row for each load and length, a column for each gain, recorded over planned runs."""

from __future__ import annotations

from bench_gui.widgets.text_table import Cell as Shown
from bench_gui.widgets.text_table import Column, Index, TextTable
from core.plan import Cell, PlanStatus

Field = tuple[float, float, float]
"""Length, mass, gain."""


class PlanTable(TextTable):
    """Rows in the order in which they are recorded."""

    def __init__(self) -> None:
        super().__init__(())
        self._fields: list[list[Field]] = []
        self._planned: dict[Field, list[Cell]] = {}

    def show_status(self, status: PlanStatus, running: Cell | None) -> None:
        """Show what is done; the field that is recorded now is marked."""
        kps, cells = status.plan.kps, status.plan.cells()
        places = list(dict.fromkeys(cell.place for cell in cells))
        self._planned = {}
        for cell in cells:
            self._planned.setdefault(_field(cell), []).append(cell)
        self._fields = [[(length, mass, kp) for kp in kps] for length, mass in places]
        marked = None if running is None else _field(running)
        rows = [
            [
                f"{mass:g} kg at {length:g} m",
                *(_shown(self._planned[field], status, field == marked) for field in fields),
            ]
            for (length, mass), fields in zip(places, self._fields, strict=True)
        ]
        self.show(rows, (Column("Load"), *(Column(f"kp {kp:g}", centred=True) for kp in kps)), keys=[status.plan])

    def cells(self, index: Index) -> list[Cell]:
        """The planned runs of a field of the grid; none for the column of loads."""
        if not index.isValid() or index.column() == 0:
            return []
        return self._planned[self._fields[index.row()][index.column() - 1]]


def _shown(cells: list[Cell], status: PlanStatus, running: bool) -> Shown:
    done, total = sum(cell in status.done for cell in cells), len(cells)
    tip = "\n".join(f"{cell.trajectory} {cell.repetition}: {status.done.get(cell, 'missing')}" for cell in cells)
    tone = "moving" if running else "good" if done == total else "text" if done else "muted"
    mark = " ▸" if running else " ✓" if done == total else ""
    return Shown(f"{done}/{total}{mark}", tip, tone, bold=running or done == total)


def _field(cell: Cell) -> Field:
    return cell.length, cell.mass, cell.kp
