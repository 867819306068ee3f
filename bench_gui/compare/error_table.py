"""Mean absolute error of each model on each run, and on all of them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from bench_gui.compare.comparison import Picture
from bench_gui.icons import swatch
from bench_gui.theme import Theme
from bench_gui.units import FIGURE_DASH, milliradians

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class ErrorTable(QAbstractTableModel):
    """The mean comes first, then one row a run; one column a model."""

    def __init__(self) -> None:
        super().__init__()
        self._picture = Picture()
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, max(0, self.columnCount() - 1))

    def set_picture(self, picture: Picture) -> None:
        """Show these errors."""
        self.beginResetModel()
        self._picture = picture
        self.endResetModel()

    def run_id(self, row: int) -> str:
        """Id of the run in a row, empty for the mean."""
        return "" if row == 0 else self._picture.recordings[row - 1].id

    def rowCount(self, parent: Index = _ROOT) -> int:
        """The mean and the runs."""
        count = len(self._picture.recordings)
        return 0 if parent.isValid() or not count else count + 1

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Run, trajectory and the models."""
        return 0 if parent.isValid() else 2 + len(self._picture.models)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if section < 2 else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if section < 2:
            return ("Run", "Trajectory")[section] if role == Qt.ItemDataRole.DisplayRole else None
        models = self._picture.models
        if section - 2 >= len(models):
            return None
        entry = models[section - 2]
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{entry.title} [mrad]"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"Mean absolute error of {entry.title}"
        if role == Qt.ItemDataRole.DecorationRole and self._theme is not None:
            return swatch(self._theme.model(entry.model.friction))
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row, column = index.row(), index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if column < 2 else Qt.AlignmentFlag.AlignRight
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.FontRole and row == 0:
            font = QFont()
            font.setPixelSize(12)
            font.setBold(True)
            return font
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if column < 2:
            if row == 0:
                return ("Mean", f"{len(self._picture.recordings)} runs")[column]
            recording = self._picture.recordings[row - 1]
            return (recording.id.split("_")[0], f"{recording.trajectory}  kp {recording.settings.kp:g}")[column]
        overlays = self._picture.overlays
        if overlays is None:
            return "…"
        key = self._picture.models[column - 2].key
        if row == 0:
            return milliradians(overlays.mean_mae.get(key))
        run = next((r for r in overlays.runs if r.id == self.run_id(row)), None)
        return milliradians(run.mae.get(key)) if run is not None else FIGURE_DASH
