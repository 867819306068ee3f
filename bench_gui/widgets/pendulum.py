"""Drawing of the pendulum: rod, load and angle, to the scale of the bench."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from bench_gui.theme import Theme, themes
from core.base.units import AngleUnit, fixed
from core.servo.bench import Bench

SHAFT = 9.0
MARGIN = 58.0


class PendulumView(QWidget):
    """Draws one bench; angles counter-clockwise from hanging down.

    Subclasses override the place of the shaft, what is drawn below and above the pendulum, and the numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumSize(200, 220)
        self.setAccessibleName("Pendulum")
        self.setToolTip("Pendulum of this bench at the angle that the servo reports")
        self._bench: Bench | None = None
        self._angle = math.nan
        self._unit: AngleUnit | None = None
        self._colour = ""

    def show_bench(self, bench: Bench) -> None:
        """Draw another bench."""
        self._bench = bench
        self.update()

    def show_angle(self, angle: float, unit: AngleUnit, colour: str) -> None:
        """Draw the pendulum at an angle [rad]; NaN: hanging, without a number."""
        changed = not (abs(angle - self._angle) < 1e-4 or (math.isnan(angle) and math.isnan(self._angle)))
        if changed or unit is not self._unit or colour != self._colour:
            self._angle, self._unit, self._colour = angle, unit, colour
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, bench = themes.current, self._bench
        if bench is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        centre, reach = self.geometry_of_rod()
        self._scale(painter, theme, centre, reach)
        angle = 0.0 if math.isnan(self._angle) else self._angle
        end = at(centre, reach, angle)
        painter.setPen(QPen(QColor(theme.muted), 6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(centre, end)
        colour = QColor(self._colour or theme.accent)
        painter.setPen(QPen(QColor(theme.panel), 2))
        painter.setBrush(colour)
        size = 13.0 + 9.0 * min(1.0, (bench.mass / 3.0) ** (1 / 3))
        painter.drawEllipse(end, size, size)
        self._over_mass(painter, theme, end, size)
        painter.setBrush(QColor(theme.raised))
        painter.setPen(QPen(QColor(theme.muted), 2))
        painter.drawEllipse(centre, SHAFT, SHAFT)
        self._numbers(painter, theme, bench)

    def geometry_of_rod(self) -> tuple[QPointF, float]:
        """Place of the shaft and length of the rod in the drawing [px]."""
        centre = QPointF(self.width() / 2, self.height() / 2)
        return centre, min(self.width(), self.height()) / 2 - MARGIN

    def _over_mass(self, painter: QPainter, theme: Theme, end: QPointF, size: float) -> None:
        """Draw what belongs to the mass at `end`, a disc of radius `size` [px]; nothing by default."""

    def _scale(self, painter: QPainter, theme: Theme, centre: QPointF, reach: float) -> None:
        """Draw a ring with ticks every 30° and numbers every 90°."""
        radius = reach + 34
        painter.setBrush(QColor(theme.plot))
        painter.setPen(QPen(QColor(theme.border), 1))
        painter.drawEllipse(centre, radius, radius)
        for k in range(36):
            angle = math.radians(10 * k)
            size = 10 if k % 9 == 0 else 7 if k % 3 == 0 else 4
            painter.setPen(QPen(QColor(theme.muted if k % 3 == 0 else theme.grid), 1.5 if k % 3 == 0 else 1.0))
            painter.drawLine(at(centre, radius - size, angle), at(centre, radius, angle))
        painter.setPen(QColor(theme.muted))
        unit = self._unit
        quarter = 90.0 if unit is None or unit.per_radian > 1.5 else math.pi / 2
        digits = 0 if quarter == 90.0 else 2
        for k, value in ((0, 0.0), (1, quarter), (2, 2 * quarter), (3, -quarter)):
            place = at(centre, radius + (14 if k % 2 == 0 else 20), math.radians(90 * k))
            box = QRectF(place.x() - 26, place.y() - 9, 52, 18)
            text = fixed(value, 0 if value == 0.0 else digits)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{text}°" if digits == 0 else text)

    def _numbers(self, painter: QPainter, theme: Theme, bench: Bench) -> None:
        painter.setPen(QColor(theme.muted))
        lines = [
            f"Gravity torque {bench.gravity_torque:.3f} N·m",
            f"Inertia {bench.inertia:.5f} kg·m²",
        ]
        for place, line in enumerate(lines):
            painter.drawText(QPointF(4, 14 + 18 * place), line)
        if math.isnan(self._angle) or self._unit is None:
            return
        font = QFont(self.font())
        font.setPixelSize(26)
        font.setWeight(QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(QColor(theme.text))
        digits = 1 if self._unit.per_radian > 1.5 else 3
        text = fixed(self._angle * self._unit.per_radian, digits, self._unit.symbol)
        painter.drawText(
            QRectF(0, 2, self.width() - 4, 34), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop, text
        )


def at(centre: QPointF, radius: float, angle: float) -> QPointF:
    """Point at an angle counter-clockwise from hanging down."""
    return QPointF(centre.x() + radius * math.sin(angle), centre.y() + radius * math.cos(angle))
