"""The best parameters against their bounds, and the result model by model."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from bench_gui.icons import swatch
from bench_gui.identify.fit.messages import FittedModel
from bench_gui.theme import Theme
from core.friction import FRICTION_TITLES
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.parameters import Parameter
from core.units import FIGURE_DASH, duration, milliradians, significant
from core.words import counted

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
SHARE_ROLE = Qt.ItemDataRole.UserRole + 1
VALUE_COLUMN, INTERVAL_COLUMN, INITIAL_COLUMN, UNIT_COLUMN, BAR_COLUMN, NOTE_COLUMN = range(1, 7)
"""Of the parameters."""
SEARCH_COLUMN, WARNING_COLUMN = 6, 7
"""Of the result."""


class ParameterTable(QAbstractTableModel):
    """Symbol, value and its interval, where the search began, unit, place between the bounds, what to know."""

    HEADERS = (
        ("Symbol", "As in the papers"),
        ("Value", "The best value found"),
        ("± 95 %", "Approximate: linearised, with the model's own error as noise; ∞ where these runs leave it open"),
        ("Began at", "Value the search began with: the catalogue's, or that of the start that was chosen"),
        ("Unit", "SI unit; angles are in rad"),
        ("Between its bounds", "Where the value lies between its bounds"),
        ("To know", "What is wrong with the value, and what would help"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._parameters: list[Parameter] = []
        self._evidence: Evidence | None = None
        self._torque_off = ""
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme

    def set_parameters(
        self, parameters: list[Parameter], evidence: Evidence | None = None, torque_off: str = ""
    ) -> None:
        """Show these; the same names only change their numbers.

        evidence: None while the search is under way; torque_off: what a released motor does, said beside β.
        """
        self._evidence, self._torque_off = evidence, torque_off
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
                return self.HEADERS[section][0]
            if role == Qt.ItemDataRole.ToolTipRole:
                return self.HEADERS[section][1]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return int((_RIGHT if VALUE_COLUMN <= section <= INITIAL_COLUMN else _LEFT) | _MIDDLE)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        p, column = self._parameters[index.row()], index.column()
        known = None if self._evidence is None else self._evidence.of(p.name)
        warning = "" if self._evidence is None else self._evidence.about(p.name)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(p, known, warning, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int((_RIGHT if VALUE_COLUMN <= column <= INITIAL_COLUMN else _LEFT) | _MIDDLE)
        if role == Qt.ItemDataRole.ToolTipRole:
            unit = "" if p.unit == "1" else f" {p.unit}"
            bounds = "frozen" if p.frozen else f"bounds {significant(p.lower)} … {significant(p.upper)}{unit}"
            return f"{p.description or p.name}: {bounds}" + (f"; {warning}" if warning else "")
        if role == Qt.ItemDataRole.ForegroundRole and self._theme is not None:
            marked = p.at_bound or bool(warning)
            return QColor(self._theme.moving) if marked and column in (0, VALUE_COLUMN, NOTE_COLUMN) else None
        if role == SHARE_ROLE and column == BAR_COLUMN:
            width = p.upper - p.lower
            return ((p.value - p.lower) / width if width > 0 else 0.5, p.at_bound)
        return None

    def _text(self, p: Parameter, known: ParameterEvidence | None, warning: str, column: int) -> str:
        interval = initial = FIGURE_DASH
        if known is not None:
            initial = significant(known.initial)
            if not known.frozen:
                interval = significant(known.half_width, 2) if known.determined else "∞"
        unit = "" if p.unit == "1" else p.unit
        released = self._torque_off if p.name == "release_braking" else ""
        note = released or ("frozen" if p.frozen else "") or warning
        return (p.symbol, significant(p.value), interval, initial, unit, "", note)[column]


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
        ("Model", "Friction model; ★ recommended, ● the bench's current model"),
        ("Training [mrad]", "Mean absolute error on the runs it was fitted to"),
        ("Held out [mrad]", "Mean absolute error on runs it had not seen"),
        ("RMSE [mrad]", "Root mean square error on runs it had not seen"),
        (
            "Δ [mrad]",
            "Error more than the recommended model's, on runs it had not seen, else on those it was fitted to",
        ),
        ("Spread [mrad]", "Largest difference of training errors between repeats"),
        ("Search", "Simulations of all training runs, and the time they took"),
        ("To know", "How many warnings there are; those of the selected model are in the tab Warnings"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[FittedModel, ...] = ()
        self._recommended = ""
        self._current = ""
        self._theme: Theme | None = None

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self._redraw()

    def set_rows(self, rows: tuple[FittedModel, ...], recommended: str) -> None:
        """Show these results; rows that stay are only changed, so that a selection stays too."""
        if [row.model.friction for row in rows] == [row.model.friction for row in self._rows]:
            self._rows, self._recommended = rows, recommended
            self._redraw()
            return
        self.beginResetModel()
        self._rows, self._recommended = rows, recommended
        self.endResetModel()

    def set_current(self, friction: str) -> None:
        """Mark the bench's current model; empty: it is none of these."""
        if friction != self._current:
            self._current = friction
            self._redraw()

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
                return int((_RIGHT if 1 <= section <= SEARCH_COLUMN else _LEFT) | _MIDDLE)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """One cell."""
        row, column, theme = self._rows[index.row()], index.column(), self._theme
        best = row.model.friction == self._recommended
        warnings = () if row.evidence is None else row.evidence.warnings
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column, best, len(warnings))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int((_RIGHT if 1 <= column <= SEARCH_COLUMN else _LEFT) | _MIDDLE)
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and theme is not None:
            return swatch(theme.model(row.model.friction))
        if role == Qt.ItemDataRole.FontRole and best:
            font = QFont()
            font.setPixelSize(12)
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ToolTipRole and column == 0:
            return f"{FRICTION_TITLES[row.model.friction]} friction"
        if role == Qt.ItemDataRole.ToolTipRole and column == WARNING_COLUMN and warnings:
            return "\n".join(f"• {text}" for text in warnings)
        if role == Qt.ItemDataRole.ForegroundRole and theme is not None and column == WARNING_COLUMN and warnings:
            return QColor(theme.moving)
        return None

    def _text(self, row: FittedModel, column: int, best: bool, warnings: int) -> str:
        marks = ("  ★" if best else "") + ("  ●" if row.model.friction == self._current else "")
        evaluations = f"{row.evaluations:,}".replace(",", " ")
        lasted = f"  {duration(row.wall_seconds)}" if math.isfinite(row.wall_seconds) else ""
        said = counted(warnings, "warning") if warnings else "nothing"
        return (
            f"{row.model.friction.upper()}{marks}",
            milliradians(row.train_mae),
            milliradians(row.validation_mae),
            milliradians(row.validation_rmse),
            self._behind(row),
            milliradians(row.spread),
            evaluations + lasted,
            FIGURE_DASH if row.evidence is None else said,
        )[column]

    def _behind(self, row: FittedModel) -> str:
        place = self.recommended_row
        if place < 0:
            return FIGURE_DASH
        best = self._rows[place]
        if row is best:
            return "0"
        return f"+{milliradians(_error(row) - _error(best))}"

    def _redraw(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(self.HEADERS) - 1))


def _error(row: FittedModel) -> float:
    return row.train_mae if row.validation_mae is None else row.validation_mae


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
_MIDDLE = Qt.AlignmentFlag.AlignVCenter
