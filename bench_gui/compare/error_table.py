"""Table of each model's mean absolute error by run or by condition, with the mean of all runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench_gui.compare.comparison import ErrorBook
from bench_gui.headless.comparison_tables import MRAD, condition_groups, conditions_of
from bench_gui.state.models import ModelEntry
from bench_gui.widgets.text_table import ROOT, Cell, Column, Index, TextTable
from core.base.units import FIGURE_DASH, milliradians
from core.base.words import counted
from core.document.table import Table
from core.identification.runs.grouping import Group
from core.motion.trajectories import title_of

if TYPE_CHECKING:
    from sessions import RunSummary

RUNS: tuple[str, ...] = ()
"""Grouping with one row per run."""
PENDING = "…"


class ErrorTable(TextTable):
    """Mean first, then one row per run or group; one column per model. Cells are made when they are visible."""

    def __init__(self, book: ErrorBook) -> None:
        super().__init__(())
        self._book = book
        self._entries: list[ModelEntry] = []
        self._by = RUNS
        self._groups: list[tuple[tuple[str, str], Group]] = []

    def show_runs(self, runs: Sequence[RunSummary], entries: Sequence[ModelEntry], by: tuple[str, ...]) -> None:
        """Show errors.

        Args:
            runs: rows or their members.
            entries: models, one per column.
            by: conditions that the runs of a row share; RUNS for one row per run.
        """
        self.beginResetModel()
        self._entries, self._by = list(entries), by
        if by:
            conditions = {run.id: conditions_of(run) for run in runs}
            self._groups = [((name, _runs(group)), group) for name, group in condition_groups(conditions, by)]
        else:
            self._groups = [
                ((run.id.split("_")[0], f"{run.trajectory}  {run.joint or f'kp {run.kp:g}'}"), Group((), (run.id,)))
                for run in runs
            ]
        if self._groups:
            everything = Group((), tuple(run.id for run in runs))
            self._groups.insert(0, (("Mean", _runs(everything)), everything))
        self.columns = (
            *map(Column, ("Condition", "Runs") if by else ("Run", "Trajectory")),
            *(
                Column(
                    entry.title,
                    f"Mean absolute error of {entry.title}; the lowest of a row is green",
                    number=True,
                    friction=entry.model.friction,
                )
                for entry in entries
            ),
        )
        self.endResetModel()

    def refresh(self) -> None:
        """Show errors that have become known."""
        if self._groups and self._entries:
            self.dataChanged.emit(self.index(0, 2), self.index(len(self._groups) - 1, self.columnCount() - 1))

    def run_id(self, row: int) -> str:
        """Id of the run in a row, empty for a row of several runs."""
        runs = self._groups[row][1].runs
        return runs[0] if not self._by and row > 0 else ""

    def contents(self) -> Table:
        """The whole table as numbers in mrad."""
        first = ("Runs", "Number") if self._by else ("Run", "Trajectory")
        rows: list[tuple[str | float, ...]] = []
        for (name, second), group in self._groups:
            errors = [group.mean(self._book.of(entry)) for entry in self._entries]
            rows.append((name, second, *(math.nan if error is None else error * MRAD for error in errors)))
        return Table((*first, *(f"{entry.title} [mrad]" for entry in self._entries)), tuple(rows))

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._groups)

    def cell_at(self, row: int, column: int) -> Cell:
        """Return one cell: a run or group, or a model's error."""
        names, group = self._groups[row]
        if column == 1 and self.run_id(row):
            # Exported tables keep the trajectory's name.
            name, gap, rest = names[column].partition("  ")
            return Cell(f"{title_of(name)}{gap}{rest}", names[column])
        if column < 2:
            return Cell(names[column], bold=row == 0)
        entry = self._entries[column - 2]
        mean = group.mean(self._book.of(entry))
        text = FIGURE_DASH if mean is None else milliradians(mean)
        if self._book.missing(entry, list(group.runs)):
            text = PENDING
        return Cell(text, tone="good" if self._is_best(group, column - 2) else "", bold=row == 0)

    def _is_best(self, group: Group, place: int) -> bool:
        errors = [group.mean(self._book.of(entry)) for entry in self._entries]
        known = {entry: error for entry, error in zip(self._entries, errors, strict=True) if error is not None}
        # Models of different joints are not judged by the same runs.
        of_one = len({entry.joint for entry in known} - {""}) < 2
        return of_one and len(known) > 1 and errors[place] == min(known.values())


def _runs(group: Group) -> str:
    return counted(len(group.runs), "run")
