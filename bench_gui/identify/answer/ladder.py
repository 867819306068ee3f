"""Ladder of models: one row per model, with its errors drawn to one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bench_gui.identify.fit.messages import FittedModel
from bench_gui.identify.tables import marked
from bench_gui.theme import Theme
from bench_gui.widgets.text_table import Cell, Column, DrawnCells, TextTable
from core.base.units import FIGURE_DASH, milliradians
from core.identification.verdict import Answer

BAR_COLUMN = 1
HELD_OUT, TRAINING, COST = "Held out [mrad]", "Training [mrad]", "Cost [mrad]"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """Errors of one model to draw [rad]; NaN for a missing one."""

    friction: str
    held_out: float
    training: float
    low: float
    """Smallest and largest error of a held-out run."""
    high: float
    scale: float
    """Error at the right end of the scale."""


def _columns(searching: bool) -> tuple[Column, ...]:
    training = (
        Column(COST, "Best value so far of the objective that the search minimises", True)
        if searching
        else Column(TRAINING, "Mean absolute error on the training runs: the dot", True)
    )
    return (
        Column("Model", "Friction model; ★ recommended, ● the bench's current model"),
        Column(
            "▬ held out  ○ training  ★ recommended  ● in use",
            "Bar: mean error on held-out runs. Dot: error on the training runs. Line: from the smallest to the "
            "largest error of a held-out run",
        ),
        Column(HELD_OUT, "Mean absolute error on held-out runs: the bar", True),
        training,
        Column("Warnings", "Number of warnings; see Warnings under Evidence", True),
    )


class Ladder(TextTable):
    """One row per friction model, also during a search."""

    def __init__(self) -> None:
        super().__init__(_columns(False))
        self._models: Sequence[FittedModel] = ()
        self._answers: Mapping[str, Answer] = {}
        self._recommended = self._current = ""

    def set_rows(
        self, rows: Sequence[FittedModel], recommended: str, answers: Mapping[str, Answer] | None = None
    ) -> None:
        """Show these results, the recommended one first: a low window cuts the last rows.

        Args:
            rows: Results in the order of the models.
            recommended: The recommended friction model; empty during a search.
            answers: Answer about each model, by friction model; None during a search.
        """
        self._models = sorted(rows, key=lambda row: row.model.friction != recommended)
        self._recommended, self._answers = recommended, answers or {}
        self._show()

    def set_current(self, friction: str) -> None:
        """Mark the bench's current model; empty if it is none of these."""
        if friction != self._current:
            self._current = friction
            self._show()

    @property
    def current(self) -> str:
        """Friction model marked as the bench's."""
        return self._current

    def row(self, place: int) -> FittedModel:
        """Result in a row."""
        return self._models[place]

    @property
    def recommended_row(self) -> int:
        """Row of the recommended model, −1 if there is none."""
        return self.place_of(self._recommended)

    def place_of(self, friction: str) -> int:
        """Row of a model, −1 if there is none."""
        return next((n for n, row in enumerate(self._models) if row.model.friction == friction), -1)

    def _show(self) -> None:
        errors = [e for row in self._models for e in (row.train_mae, row.validation_mae, *row.held_out)]
        scale = max((e for e in errors if e is not None and math.isfinite(e)), default=1.0)
        rows = [self._cells(row, scale) for row in self._models]
        self.show(rows, _columns(not self._recommended and bool(rows)), [row.model.friction for row in self._models])

    def _cells(self, row: FittedModel, scale: float) -> list[Cell]:
        friction = row.model.friction
        best = friction == self._recommended
        spread = [error for error in row.held_out if math.isfinite(error)]
        rung = Rung(
            friction=friction,
            held_out=math.nan if row.validation_mae is None else row.validation_mae,
            training=row.train_mae,
            low=min(spread, default=math.nan),
            high=max(spread, default=math.nan),
            scale=scale,
        )
        between = f", {milliradians(rung.low)} to {milliradians(rung.high)} from run to run" if len(spread) > 1 else ""
        tip = f"Held out {milliradians(row.validation_mae)} mrad{between}; training {milliradians(row.train_mae)} mrad"
        answer = self._answers.get(friction)
        warnings = () if answer is None else answer.warnings
        badge = FIGURE_DASH if answer is None else str(len(warnings)) if warnings else "none"
        return [
            marked(row, best, friction == self._current),
            Cell("", tip, value=rung),
            Cell(milliradians(row.validation_mae), bold=best),
            Cell(milliradians(row.train_mae), bold=best),
            Cell(badge, "\n".join(f"• {text}" for text in warnings), "moving" if warnings else "muted", bold=best),
        ]


class LadderDelegate(DrawnCells):
    """Draws the bar, dot and line of a row."""

    def draw(self, painter: QPainter, area: QRectF, value: Rung, theme: Theme) -> None:
        """Draw one row's errors."""
        rung = value
        middle = area.center().y()

        def place(error: float) -> float:
            return area.left() + area.width() * min(error / rung.scale, 1.0)

        colour = QColor(theme.model(rung.friction))
        painter.setPen(Qt.PenStyle.NoPen)
        if math.isfinite(rung.held_out):
            painter.setBrush(colour)
            bar = QRectF(area.left(), middle - 5, place(rung.held_out) - area.left(), 10)
            painter.drawRoundedRect(bar, 2, 2)
        if math.isfinite(rung.low) and rung.high > rung.low:
            painter.setPen(QPen(QColor(theme.text), 1))
            low, high = place(rung.low), place(rung.high)
            painter.drawLine(QPointF(low, middle), QPointF(high, middle))
            for end in (low, high):
                painter.drawLine(QPointF(end, middle - 3), QPointF(end, middle + 3))
        if math.isfinite(rung.training):
            painter.setPen(QPen(QColor(theme.text), 1))
            painter.setBrush(QColor(theme.panel))
            painter.drawEllipse(QPointF(place(rung.training), middle), 3.5, 3.5)
