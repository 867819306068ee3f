"""The session's runs as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from bench_gui.theme import Theme

if TYPE_CHECKING:
    from sessions import RunSummary

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()

COLUMNS = (
    ("Run", "Name of the run"),
    ("Trajectory", "What the servo was asked to do"),
    ("Servo", "Catalogue name of the servo"),
    ("kp", "Position gain"),
    ("Load [kg]", "Mass at the end of the rod"),
    ("Length [m]", "Shaft to load"),
    ("Duration [s]", "First to last sample"),
    ("Samples", "Number of samples"),
    ("Status", "How the run ended"),
)
WORDS = {"success": "complete", "abort": "aborted", "fail": "failed", "crashed": "recovered"}


class RunTable(QAbstractTableModel):
    """One row a run."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[RunSummary] = []
        self._theme: Theme | None = None

    def set_runs(self, runs: list[RunSummary]) -> None:
        """Show these runs; rows that stay keep their place."""
        old = [run.id for run in self._runs]
        new = [run.id for run in runs]
        if new[: len(old)] == old:
            if len(new) > len(old):
                self.beginInsertRows(_ROOT, len(old), len(new) - 1)
                self._runs = list(runs)
                self.endInsertRows()
            return
        self.beginResetModel()
        self._runs = list(runs)
        self.endResetModel()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def run_id(self, row: int) -> str:
        """Id of the run in a row."""
        return self._runs[row].id

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of runs."""
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return COLUMNS[section][0]
            if role == Qt.ItemDataRole.ToolTipRole:
                return COLUMNS[section][1]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        run = self._runs[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return _texts(run)[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            source = f", imported from {run.source}" if run.source else ""
            return f"{run.id}{source}" + (f": {run.reason}" if run.reason else "")
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None and run.exit_status != "success":
            return QColor(self._theme.fault if run.exit_status == "fail" else self._theme.moving)
        return None


def _texts(run: RunSummary) -> tuple[str, ...]:
    number = run.id.split("_")[0]
    return (
        number,
        run.trajectory,
        run.servo,
        f"{run.kp:g}",
        f"{run.mass:g}",
        f"{run.length:g}",
        f"{run.duration:.2f}",
        f"{run.samples:,}".replace(",", " "),
        WORDS.get(run.exit_status, run.exit_status),
    )


def _alignment(column: int) -> int:
    side = Qt.AlignmentFlag.AlignRight if 3 <= column <= 7 else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)
