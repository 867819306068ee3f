"""Tables of parameters inside their bounds, and of the figures of each model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bench_gui.identify.fit.messages import FittedModel
from bench_gui.theme import Theme
from bench_gui.widgets.text_table import Cell, Column, DrawnCells, TextTable, muted
from core.base.units import FIGURE_DASH, as_certain, duration, milliradians, significant
from core.identification.evidence.certainty import Certainty, ParameterCertainty
from core.identification.evidence.grade import OPEN, Grade
from core.identification.evidence.model import Evidence, ParameterEvidence
from core.servo.parameters import Parameter
from core.servo.terms import FRICTION_TITLES, name_of

NAME_COLUMN, SYMBOL_COLUMN, VALUE_COLUMN, INTERVAL_COLUMN, UNIT_COLUMN = range(5)
FOREST_COLUMN, START_COLUMN, OTHER_COLUMN, NOTE_COLUMN = range(5, 9)
"""Places of columns in PARAMETER_COLUMNS."""
PARAMETER_COLUMNS = (
    Column("Parameter", "Meaning of the parameter"),
    Column("Symbol", "Symbol used in the papers"),
    Column("Value", "The best value found; ≤ or ≥ where its 95 % interval reaches a bound of the search", number=True),
    Column(
        "± 95 %",
        "Approximate: linearised, with the model error as noise; ∞ where these runs do not determine the value, "
        "– where it is known up to a limit only",
        number=True,
    ),
    Column("Unit", "SI unit; angles are in rad"),
    Column(
        "Inside its bounds",
        "Value and 95 % intervals between the bounds of the search: linearised, profile, bootstrap from top to bottom; "
        "the thin tick marks the start value",
    ),
    Column(
        "Start value",
        "Value that the search began with: from the catalogue or the chosen start model",
        number=True,
    ),
    Column("Compared", "Value of the same model in the compared identification", number=True),
    Column("Notes", "Problems with the value, and how to solve them"),
)
RESULT_COLUMNS = (
    Column("Model", "Friction model; ★ recommended, ● the bench's current model"),
    Column("RMSE [mrad]", "Root mean square error on held-out runs", number=True),
    Column(
        "Δ [mrad]",
        "Error in excess of the recommended model's on held-out runs, or on training runs if none was held out",
        number=True,
    ),
    Column("Repeats [mrad]", "Largest difference between the training errors of repeats", number=True),
    Column("Evaluations", "Number of simulations of all training runs, and their duration", number=True),
)


@dataclass(frozen=True, kw_only=True)
class Forest:
    """A value with its intervals between bounds, all in one unit."""

    lower: float
    upper: float
    value: float
    start: float
    intervals: tuple[tuple[float, float], ...]
    """Intervals from top to bottom."""
    tone: str
    """Theme name of the value's colour."""

    def share(self, value: float) -> float:
        """Place of a value between the bounds, 0 … 1."""
        width = self.upper - self.lower
        return min(max((value - self.lower) / width, 0.0), 1.0) if width > 0 else 0.5


def badge(known: ParameterEvidence | None) -> str:
    """Grade of a parameter in a few words, and the bound at which it lies; empty during a search."""
    if known is None:
        return ""
    bound = f", at its {known.at_bound} bound" if known.at_bound else ""
    return f"{known.grade.note}{bound}"


def grade_tone(grade: Grade) -> str:
    """Name of the theme's colour for a parameter's grade; empty for a value that can be quoted."""
    return "" if grade.determined else "muted" if grade.word == OPEN else "moving"


def parameter_rows(
    parameters: Sequence[Parameter],
    evidence: Evidence | None,
    torque_off: str,
    certainty: Certainty | None = None,
    others: Mapping[str, float] | None = None,
) -> list[list[Cell]]:
    """Build the rows of PARAMETER_COLUMNS.

    Args:
        parameters: of the model.
        evidence: None during a search.
        torque_off: how a released motor behaves; shown beside β.
        certainty: profiles and bootstrap, or None.
        others: values by name to compare with.
    """
    certain = {} if certainty is None else {p.name: p for p in certainty.parameters}
    return [
        _parameter_row(
            p,
            evidence,
            torque_off if p.name == "release_braking" else "",
            certain.get(p.name),
            (others or {}).get(p.name, math.nan),
        )
        for p in parameters
    ]


def _parameter_row(
    p: Parameter, evidence: Evidence | None, released: str, certain: ParameterCertainty | None, other: float
) -> list[Cell]:
    known = None if evidence is None else evidence.of(p.name)
    warning = "" if evidence is None else evidence.about(p.name)
    contradiction = "" if certain is None else certain.contradiction
    interval = initial = FIGURE_DASH
    intervals: list[tuple[float, float]] = []
    figure, tone, half_width = significant(p.value), "", math.nan if known is None else known.half_width
    if known is not None:
        initial = as_certain(known.initial, half_width)
        figure, interval, tone = known.grade.figure, known.grade.width or FIGURE_DASH, grade_tone(known.grade)
        if not known.frozen and known.narrowed:
            intervals.append((p.value - known.half_width, p.value + known.half_width))
    if certain is not None and certain.profile is not None:
        low, high = certain.profile.lower, certain.profile.upper
        intervals.append((p.lower if low is None else low, p.upper if high is None else high))
    if certain is not None and certain.spread is not None:
        intervals.append((certain.spread.lower, certain.spread.upper))
    unit = "" if p.unit == "1" else p.unit
    between = " … ".join(as_certain(end, half_width) for end in (p.lower, p.upper))
    bounds = "frozen" if p.frozen else f"bounds {between} {unit}".rstrip()
    notes = [text for text in (contradiction, released, warning) if text]
    tip = "\n".join((f"{p.description or p.name} ({p.name}): {bounds}", *notes))
    tone = "fault" if contradiction else tone or ("moving" if warning else "")
    forest = Forest(
        lower=p.lower,
        upper=p.upper,
        value=p.value,
        start=math.nan if known is None else known.initial,
        intervals=tuple(intervals),
        tone=tone or "accent",
    )
    cells = [
        Cell(name_of(p.name), tip),
        Cell(p.symbol, tip, tone),
        Cell(figure, tip, tone),
        Cell(interval, tip),
        Cell(unit, tip),
        Cell("", tip, value=None if p.frozen else forest),
        Cell(initial, tip),
        Cell(as_certain(other, half_width), tip),
        Cell(contradiction or released or badge(known), tip, tone or ("" if released else "muted")),
    ]
    return muted(cells) if tone == "muted" else cells


def result_rows(rows: Sequence[FittedModel], recommended: str, current: str) -> list[list[Cell]]:
    """Build the rows of RESULT_COLUMNS; recommended, current: friction models, empty if none of these."""
    best = next((row for row in rows if row.model.friction == recommended), None)
    return [_result_row(row, best, row.model.friction == current) for row in rows]


def marked(row: FittedModel, recommended: bool, current: bool) -> Cell:
    """Name of a model with its marks: ★ recommended, ● the bench's."""
    friction = row.model.friction
    marks = ("  ★" if recommended else "") + ("  ●" if current else "")
    said = [f"{FRICTION_TITLES[friction]} friction"]
    said += ["recommended"] * recommended + ["the bench's current model"] * current
    return Cell(f"{friction.upper()}{marks}", ", ".join(said), bold=recommended, friction=friction)


def _result_row(row: FittedModel, best: FittedModel | None, current: bool) -> list[Cell]:
    lasted = f"  {duration(row.wall_seconds)}" if math.isfinite(row.wall_seconds) else ""
    behind = FIGURE_DASH if best is None else "0" if row is best else _difference(row.error - best.error)
    texts = (
        milliradians(row.validation_rmse),
        behind,
        milliradians(row.spread),
        f"{row.evaluations:,}".replace(",", " ") + lasted,
    )
    return [marked(row, row is best, current), *(Cell(text, bold=row is best) for text in texts)]


def _difference(error: float) -> str:
    """Difference between two errors in mrad with its sign."""
    text = milliradians(abs(error))
    return f"{'−' if error < 0.0 and text != '0.00' else '+'}{text}"


class ParameterTable(TextTable):
    """Parameters, one per row; see PARAMETER_COLUMNS."""

    def __init__(self) -> None:
        super().__init__(PARAMETER_COLUMNS)

    def set_parameters(
        self,
        parameters: Sequence[Parameter],
        evidence: Evidence | None = None,
        torque_off: str = "",
        certainty: Certainty | None = None,
        others: Mapping[str, float] | None = None,
    ) -> None:
        """Show these parameters; see `parameter_rows`."""
        rows = parameter_rows(parameters, evidence, torque_off, certainty, others)
        self.show(rows, keys=[p.name for p in parameters])


class ForestDelegate(DrawnCells):
    """Draws a value with its intervals and start value between its bounds."""

    def draw(self, painter: QPainter, area: QRectF, value: Forest, theme: Theme) -> None:
        """Draw track, intervals, start value and value."""
        forest = value
        middle = area.center().y()

        def place(value: float) -> float:
            return area.left() + forest.share(value) * area.width()

        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawLine(QPointF(area.left(), middle), QPointF(area.right(), middle))
        for end in (area.left(), area.right()):
            painter.drawLine(QPointF(end, middle - 3), QPointF(end, middle + 3))
        if math.isfinite(forest.start):
            painter.setPen(QPen(QColor(theme.muted), 1))
            painter.drawLine(QPointF(place(forest.start), middle - 7), QPointF(place(forest.start), middle + 7))
        colour = QColor(getattr(theme, forest.tone))
        painter.setPen(QPen(colour, 2))
        above = 2.0 * (len(forest.intervals) - 1)
        for number, (low, high) in enumerate(forest.intervals):
            height = middle - above + 4 * number
            painter.drawLine(QPointF(place(low), height), QPointF(place(high), height))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(QPointF(place(forest.value), middle), 4, 4)


class ResultTable(TextTable):
    """Figures of each friction model, one model per row."""

    def __init__(self) -> None:
        super().__init__(RESULT_COLUMNS)

    def set_rows(self, rows: Sequence[FittedModel], recommended: str, current: str) -> None:
        """Show these results; see `result_rows`."""
        self.show(result_rows(rows, recommended, current), keys=[row.model.friction for row in rows])


class CostHistory:
    """Cost curves: best error over evaluations, one curve per model and repeat."""

    def __init__(self) -> None:
        self.curves: dict[tuple[str, int], tuple[list[float], list[float]]] = {}

    def add(self, model: str, repeat: int, points: tuple[tuple[int, float], ...]) -> None:
        """Append points to a curve; errors in rad are stored as the logarithm of mrad."""
        x, y = self.curves.setdefault((model, repeat), ([], []))
        for evaluations, error in points:
            if 0.0 < error < 1e3:
                x.append(float(evaluations))
                y.append(math.log10(1e3 * error))
