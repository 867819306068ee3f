"""The best parameters against their bounds, and the result model by model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from bench_gui.identify.fit.messages import FittedModel
from bench_gui.theme import Theme
from bench_gui.widgets.text_table import VALUE_ROLE, Cell, Column, Index, TextTable
from core.identification.evidence.model import Evidence
from core.parameters import Parameter
from core.terms import FRICTION_TITLES
from core.units import FIGURE_DASH, duration, milliradians, significant
from core.words import counted

INTERVAL_COLUMN, INITIAL_COLUMN, BAR_COLUMN, NOTE_COLUMN = 2, 3, 5, 6
"""Of the parameters."""
WARNING_COLUMN = 7
"""Of the result."""
PARAMETER_COLUMNS = (
    Column("Symbol", "As in the papers"),
    Column("Value", "The best value found", number=True),
    Column(
        "± 95 %",
        "Approximate: linearised, with the model's own error as noise; ∞ where these runs leave it open",
        number=True,
    ),
    Column(
        "Began at",
        "Value the search began with: the catalogue's, or that of the start that was chosen",
        number=True,
    ),
    Column("Unit", "SI unit; angles are in rad"),
    Column("Between its bounds", "Where the value lies between its bounds"),
    Column("To know", "What is wrong with the value, and what would help"),
)
RESULT_COLUMNS = (
    Column("Model", "Friction model; ★ recommended, ● the bench's current model"),
    Column("Training [mrad]", "Mean absolute error on the runs it was fitted to", number=True),
    Column("Held out [mrad]", "Mean absolute error on runs it had not seen", number=True),
    Column("RMSE [mrad]", "Root mean square error on runs it had not seen", number=True),
    Column(
        "Δ [mrad]",
        "Error more than the recommended model's, on runs it had not seen, else on those it was fitted to",
        number=True,
    ),
    Column("Spread [mrad]", "Largest difference of training errors between repeats", number=True),
    Column("Search", "Simulations of all training runs, and the time they took", number=True),
    Column("To know", "How many warnings there are; those of the selected model are in the tab Warnings"),
)


def parameter_rows(parameters: Sequence[Parameter], evidence: Evidence | None, torque_off: str) -> list[list[Cell]]:
    """Rows of PARAMETER_COLUMNS.

    evidence: None while the search is under way; torque_off: what a released motor does, said beside β.
    """
    return [_parameter_row(p, evidence, torque_off if p.name == "release_braking" else "") for p in parameters]


def _parameter_row(p: Parameter, evidence: Evidence | None, released: str) -> list[Cell]:
    known = None if evidence is None else evidence.of(p.name)
    warning = "" if evidence is None else evidence.about(p.name)
    interval = initial = FIGURE_DASH
    if known is not None:
        initial = significant(known.initial)
        if not known.frozen:
            interval = significant(known.half_width, 2) if known.determined else "∞"
    unit = "" if p.unit == "1" else p.unit
    width = p.upper - p.lower
    share = (p.value - p.lower) / width if width > 0 else 0.5
    bounds = "frozen" if p.frozen else f"bounds {significant(p.lower)} … {significant(p.upper)} {unit}".rstrip()
    tip = f"{p.description or p.name}: {bounds}" + (f"; {warning}" if warning else "")
    tone = "moving" if p.at_bound or warning else ""
    return [
        Cell(p.symbol, tip, tone),
        Cell(significant(p.value), tip, tone),
        Cell(interval, tip),
        Cell(initial, tip),
        Cell(unit, tip),
        Cell("", tip, value=(share, p.at_bound)),
        Cell(released or ("frozen" if p.frozen else "") or warning, tip, tone),
    ]


def result_rows(rows: Sequence[FittedModel], recommended: str, current: str) -> list[list[Cell]]:
    """Rows of RESULT_COLUMNS; recommended, current: friction models, empty for none of these."""
    best = next((row for row in rows if row.model.friction == recommended), None)
    return [_result_row(row, best, row.model.friction == current) for row in rows]


def _result_row(row: FittedModel, best: FittedModel | None, current: bool) -> list[Cell]:
    friction = row.model.friction
    marks = ("  ★" if row is best else "") + ("  ●" if current else "")
    lasted = f"  {duration(row.wall_seconds)}" if math.isfinite(row.wall_seconds) else ""
    behind = FIGURE_DASH if best is None else "0" if row is best else f"+{milliradians(_error(row) - _error(best))}"
    texts = (
        milliradians(row.train_mae),
        milliradians(row.validation_mae),
        milliradians(row.validation_rmse),
        behind,
        milliradians(row.spread),
        f"{row.evaluations:,}".replace(",", " ") + lasted,
    )
    warnings = () if row.evidence is None else row.evidence.warnings
    said = counted(len(warnings), "warning") if warnings else "nothing"
    bold = row is best
    return [
        Cell(f"{friction.upper()}{marks}", f"{FRICTION_TITLES[friction]} friction", bold=bold, friction=friction),
        *(Cell(text, bold=bold) for text in texts),
        Cell(
            FIGURE_DASH if row.evidence is None else said,
            "\n".join(f"• {text}" for text in warnings),
            tone="moving" if warnings else "",
            bold=bold,
        ),
    ]


def _error(row: FittedModel) -> float:
    return row.train_mae if row.validation_mae is None else row.validation_mae


class ParameterTable(TextTable):
    """Symbol, value and its interval, where the search began, unit, place between the bounds, what to know."""

    def __init__(self) -> None:
        super().__init__(PARAMETER_COLUMNS)

    def set_parameters(
        self, parameters: Sequence[Parameter], evidence: Evidence | None = None, torque_off: str = ""
    ) -> None:
        """Show these, see `parameter_rows`."""
        self.show(parameter_rows(parameters, evidence, torque_off), keys=[p.name for p in parameters])


class ResultTable(TextTable):
    """One row a friction model."""

    def __init__(self) -> None:
        super().__init__(RESULT_COLUMNS)
        self._models: Sequence[FittedModel] = ()
        self._recommended = self._current = ""

    def set_rows(self, rows: Sequence[FittedModel], recommended: str) -> None:
        """Show these results."""
        self._models, self._recommended = rows, recommended
        self._show()

    def set_current(self, friction: str) -> None:
        """Mark the bench's current model; empty: it is none of these."""
        if friction != self._current:
            self._current = friction
            self._show()

    def row(self, place: int) -> FittedModel:
        """Result in a row."""
        return self._models[place]

    @property
    def recommended_row(self) -> int:
        """Row of the recommended model, −1 without one."""
        return next((n for n, row in enumerate(self._models) if row.model.friction == self._recommended), -1)

    def _show(self) -> None:
        rows = result_rows(self._models, self._recommended, self._current)
        self.show(rows, keys=[row.model.friction for row in self._models])


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
        found = index.data(VALUE_ROLE)
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
