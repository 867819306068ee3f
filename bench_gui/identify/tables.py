"""The best parameters against their bounds, and the result model by model."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from bench_gui.icons import swatch
from bench_gui.identify.messages import FittedModel
from bench_gui.theme import Theme
from bench_gui.units import duration, milliradians, significant
from core.friction import FRICTION_TITLES
from core.parameters import Parameter

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
BAR_COLUMN = 3
"""Of the parameters: the place between the bounds."""
MOST_SYMBOLS = 3
"""Named in one cell; the tool tip names them all."""
BOUND_COLUMN = 6
"""Of the result: parameters that lie at a bound."""


class ParameterTable(QAbstractTableModel):
    """Symbol, value, unit, place between the bounds."""

    HEADERS = ("Symbol", "Value", "Unit", "Between its bounds")

    def __init__(self) -> None:
        super().__init__()
        self._parameters: list[Parameter] = []
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def set_parameters(self, parameters: list[Parameter]) -> None:
        """Show these; the same names only change their numbers."""
        if parameters and [p.name for p in parameters] == [p.name for p in self._parameters]:
            self._parameters = parameters
            self.dataChanged.emit(self.index(0, 0), self.index(len(parameters) - 1, len(self.HEADERS) - 1))
            return
        self.beginResetModel()
        self._parameters = parameters
        self.endResetModel()

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of parameters."""
        return 0 if parent.isValid() else len(self._parameters)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.HEADERS[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return int((_RIGHT if section == 1 else _LEFT) | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        p = self._parameters[index.row()]
        column = index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            unit = "" if p.unit == "1" else p.unit
            return (p.symbol, significant(p.value), unit, "")[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int((_RIGHT if column == 1 else _LEFT) | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.ToolTipRole:
            warning = "; lies at a bound: these runs do not determine it" if p.at_bound else ""
            bounds = f"{significant(p.lower)} … {significant(p.upper)} {'' if p.unit == '1' else p.unit}"
            return f"{p.description or p.name}: bounds {bounds}{warning}"
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None and p.at_bound and column <= 1:
            return QColor(self._theme.moving)
        if role == SHARE_ROLE:
            width = p.upper - p.lower
            return ((p.value - p.lower) / width if width > 0 else 0.5, p.at_bound)
        return None


class BarDelegate(QStyledItemDelegate):
    """Draws where a value lies between its bounds."""

    def __init__(self) -> None:
        super().__init__()
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the background as ever, then a track and a mark."""
        super().paint(painter, option, index)
        found = index.data(SHARE_ROLE)
        theme = self._theme
        if found is None or theme is None:
            return
        share, at_bound = found
        area = QRectF(option.rect).adjusted(8, 0, -10, 0)  # type: ignore[attr-defined]
        track = QRectF(area.left(), area.center().y() - 2, area.width(), 4)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.raised))
        painter.drawRoundedRect(track, 2, 2)
        place = area.left() + min(max(share, 0.0), 1.0) * area.width()
        painter.setBrush(QColor(theme.moving if at_bound else theme.accent))
        painter.drawRoundedRect(QRectF(place - 3, area.center().y() - 6, 6, 12), 2, 2)
        painter.restore()


class ResultTable(QAbstractTableModel):
    """One row a friction model."""

    HEADERS = (
        ("Model", "Friction model"),
        ("Training [mrad]", "Mean absolute error on the runs it was fitted to"),
        ("Validation [mrad]", "Mean absolute error on runs it had not seen"),
        ("Spread [mrad]", "Largest difference of training errors between repeats"),
        ("Evaluations", "Simulations of all training runs"),
        ("Time", "Time the search took"),
        ("At a bound", "Parameters these runs do not determine"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[FittedModel, ...] = ()
        self._recommended = ""
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, 0))

    def set_rows(self, rows: tuple[FittedModel, ...], recommended: str) -> None:
        """Show these results."""
        self.beginResetModel()
        self._rows, self._recommended = rows, recommended
        self.endResetModel()

    def row(self, place: int) -> FittedModel:
        """Result in a row."""
        return self._rows[place]

    @property
    def recommended_row(self) -> int:
        """Row of the recommended model, −1 without one."""
        names = [row.model.friction for row in self._rows]
        return names.index(self._recommended) if self._recommended in names else -1

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Number of models."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = _ROOT) -> int:
        """Number of columns."""
        return 0 if parent.isValid() else len(self.HEADERS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Titles of the columns."""
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.HEADERS[section][0]
            if role == Qt.ItemDataRole.ToolTipRole:
                return self.HEADERS[section][1]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return int((_RIGHT if 1 <= section <= 5 else _LEFT) | Qt.AlignmentFlag.AlignVCenter)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row, column, theme = self._rows[index.row()], index.column(), self._theme
        best = row.model.friction == self._recommended
        if role == Qt.ItemDataRole.DisplayRole:
            name = FRICTION_TITLES[row.model.friction]
            return (
                f"{row.model.friction.upper()}  {name}" + ("  ★" if best else ""),
                milliradians(row.train_mae),
                milliradians(row.validation_mae),
                milliradians(row.spread),
                f"{row.evaluations:,}".replace(",", " "),
                duration(row.wall_seconds),
                _shortened(row.at_bound),
            )[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int((_RIGHT if 1 <= column <= 5 else _LEFT) | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and theme is not None:
            return swatch(theme.model(row.model.friction))
        if role == Qt.ItemDataRole.FontRole and best:
            font = QFont()
            font.setPixelSize(12)
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ToolTipRole and column == BOUND_COLUMN and row.at_bound:
            return f"{', '.join(row.at_bound)}: at a bound, these runs do not determine them"
        if role == Qt.ItemDataRole.ForegroundRole and theme is not None and column == BOUND_COLUMN and row.at_bound:
            return QColor(theme.moving)
        return None


def _shortened(symbols: tuple[str, ...]) -> str:
    more = f" +{len(symbols) - MOST_SYMBOLS}" if len(symbols) > MOST_SYMBOLS else ""
    return ", ".join(symbols[:MOST_SYMBOLS]) + more or "none"


class CostHistory:
    """Cost curves: evaluations and the best error after them, a curve for each model and repeat."""

    def __init__(self) -> None:
        self.curves: dict[tuple[str, int], tuple[list[float], list[float]]] = {}

    def add(self, model: str, repeat: int, points: tuple[tuple[int, float], ...]) -> None:
        """Take more of a curve; errors in rad are kept as the logarithm of mrad."""
        x, y = self.curves.setdefault((model, repeat), ([], []))
        for evaluations, error in points:
            if 0.0 < error < 1e3:
                x.append(float(evaluations))
                y.append(math.log10(1e3 * error))


_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
