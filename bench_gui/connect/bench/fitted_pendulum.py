"""Drawing of the bench's pendulum: rod length to scale, forbidden angles marked."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from bench_gui.theme import Theme
from bench_gui.widgets.pendulum import MARGIN, PendulumView, at

SIDE = 74.0
"""Margin beside the longest rod, for the scale and its numbers [px]."""
RIM = 34.0
"""Distance from the end of the longest rod to the scale [px]."""
SHORTEST, TYPICAL_LENGTH = 0.45, 0.2
"""Drawn length of a rod of length zero, as a share of the longest; length [m] of a rod that is drawn at 80 %."""
FORBIDDEN = 9.0
"""Width of the band that marks forbidden angles [px]."""


class BenchPendulum(PendulumView):
    """Pendulum view in bench angles: counter-clockwise from the lowest point, as seen by the user."""

    def __init__(self) -> None:
        super().__init__()
        self._limits = (-math.pi, math.pi)

    def show_limits(self, low: float, high: float) -> None:
        """Mark the angles outside these limits [rad]."""
        if (low, high) != self._limits:
            self._limits = (low, high)
            self.update()

    def geometry_of_rod(self) -> tuple[QPointF, float]:
        """Return the drawn position of the shaft and the length of the rod [px]."""
        centre, longest = self._whole()
        length = self._bench.length if self._bench is not None else TYPICAL_LENGTH
        return centre, longest * (1.0 - (1.0 - SHORTEST) * math.exp(-length / TYPICAL_LENGTH))

    def _whole(self) -> tuple[QPointF, float]:
        centre = QPointF(self.width() / 2, self.height() / 2)
        return centre, max(30.0, min(self.width() / 2 - SIDE, self.height() / 2 - MARGIN))

    def _scale(self, painter: QPainter, theme: Theme, centre: QPointF, reach: float) -> None:
        _, longest = self._whole()
        super()._scale(painter, theme, centre, longest)
        low, high = self._limits
        allowed = high - low
        if allowed >= 2.0 * math.pi - 1e-3:
            return
        radius = longest + RIM - FORBIDDEN / 2 - 1.0
        box = QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius)
        pen = QPen(QColor(theme.fault), FORBIDDEN)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        colour = pen.color()
        colour.setAlphaF(0.45)
        pen.setColor(colour)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(pen)
        # Qt counts from three o'clock, counter-clockwise, in sixteenths of a degree.
        painter.drawArc(box, round(16 * (math.degrees(high) - 90.0)), round(16 * math.degrees(2.0 * math.pi - allowed)))
        painter.setPen(QPen(QColor(theme.fault), 2.0))
        for angle in self._limits:
            painter.drawLine(at(centre, longest + RIM - 14.0, angle), at(centre, longest + RIM, angle))
