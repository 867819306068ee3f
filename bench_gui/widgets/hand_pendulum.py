"""Pendulum that is moved by hand: large numbers, a gauge for rest, and a spring to pull it.

With a simulated servo the user drags the drawn pendulum or pushes it with the arrow keys; with a real one the drawing
follows the pendulum at the bench. The shaft is drawn high because nothing is placed above the horizontal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QFont, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPen

from bench_gui.theme import Theme
from bench_gui.widgets.pendulum import PendulumView, at
from core.base.units import AngleUnit, fixed
from core.servo.bench import Bench

SHAFT_HEIGHT = 0.34
"""Distance of the shaft from the top edge, as a share of the height."""
RIM, SIDE = 28.0, 42.0
"""Margins for the scale's numbers below and beside it [px]."""
SWEEP = 100
"""Largest angle of the scale on both sides [°]."""
GAUGE_GAP, GAUGE_WIDTH = 5.5, 5.0
ZONE, SCALE = 39.0, 48.0
"""Distance of the rest zones and the scale from the rod's end [px]."""
COILS, COIL = 9, 6.0
Range = tuple[float, float]
NO_RANGE = (math.nan, math.nan)


class HandPendulum(PendulumView):
    """Shows the found and expected angles at which the pendulum rests; takes the mouse and the arrow keys."""

    pulled = Signal(float)
    """Angle towards which the mouse pulls [rad]."""
    pushed = Signal(int)
    """Direction in which an arrow key pushes, −1 clockwise, 1 counter-clockwise."""
    let_go = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Pendulum to move by hand")
        self._found = self._expected = NO_RANGE
        self._brackets: Sequence[Range] = ()
        self._level = 0.0
        self._torque = math.nan
        self._grip: QPointF | None = None
        self._key = 0
        self._can_pull = False
        self.set_hand(False)

    def set_hand(self, there: bool) -> None:
        """Set whether this pendulum can be moved from here."""
        if there == self._can_pull and self.toolTip():
            return
        self._can_pull = there
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if there else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor if there else Qt.CursorShape.ArrowCursor)
        self.setToolTip(
            "Drag the pendulum with the mouse or push it with the arrow keys; release it to see if it stays"
            if there
            else "Pendulum at the angle that the servo reports; move a real one by hand at the bench"
        )
        if not there:
            self._release()

    def show_ranges(self, found: Range, expected: Range, brackets: Sequence[Range] = ()) -> None:
        """Mark the angles between which the pendulum rests.

        Args:
            found: angles found by placing [rad]; NaN for unknown.
            expected: angles expected by the model [rad]; NaN for unknown.
            brackets: intervals from the last rest to the first fall beyond [rad].
        """
        if (found, expected, brackets) != (self._found, self._expected, self._brackets):
            self._found, self._expected, self._brackets = found, expected, brackets
            self.update()

    def show_torque(self, torque: float) -> None:
        """Show the external torque [N·m]; NaN for unknown."""
        self._torque = torque

    def show_gauge(self, level: float) -> None:
        """Show the steadiness, 0 … 1; 1 is at rest."""
        if level != self._level:
            self._level = level
            self.update()

    def show_angle(self, angle: float, unit: AngleUnit, colour: str) -> None:
        """Draw the pendulum at an angle [rad]; a held spring keeps pulling."""
        super().show_angle(angle, unit, colour)
        if self._grip is not None:
            self.pulled.emit(self._cursor_angle(self._grip))
            self.update()

    @property
    def expected(self) -> Range:
        """Angles between which the model expects the pendulum to rest [rad]: the target band."""
        return self._expected

    @property
    def level(self) -> float:
        """Level of the gauge, 0 … 1."""
        return self._level

    @property
    def mass(self) -> QPointF:
        """Place of the mass in the drawing."""
        return at(*self.geometry_of_rod(), 0.0 if math.isnan(self._angle) else self._angle)

    def point_at(self, angle: float, lengths: float = 1.0) -> QPointF:
        """Place in the drawing at an angle [rad] and a number of rod lengths from the shaft."""
        centre, reach = self.geometry_of_rod()
        return at(centre, lengths * reach, angle)

    def geometry_of_rod(self) -> tuple[QPointF, float]:
        """Place of the shaft and length of the rod in the drawing [px]."""
        centre = QPointF(self.width() / 2, SHAFT_HEIGHT * self.height())
        below = (1.0 - SHAFT_HEIGHT) * self.height() - RIM
        return centre, max(40.0, min(self.width() / 2 - SIDE, below) - SCALE)

    # Mouse and keys.

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Grab the spring."""
        if self._can_pull and event.button() is Qt.MouseButton.LeftButton:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self._pull(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pull the spring."""
        if self._grip is not None:
            self._pull(event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Release the spring."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._release()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Push with the arrow keys."""
        direction = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if not direction or not self._can_pull:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            self._key = event.key()
            self.pushed.emit(direction)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Stop pushing."""
        if event.key() != self._key:
            super().keyReleaseEvent(event)
        elif not event.isAutoRepeat():
            self._release()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Losing focus releases the pendulum."""
        self._release()
        super().focusOutEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        """Hiding releases the pendulum."""
        self._release()
        super().hideEvent(event)

    def _pull(self, cursor: QPointF) -> None:
        self._grip = cursor
        self.pulled.emit(self._cursor_angle(cursor))
        self.update()

    def _release(self) -> None:
        held = self._grip is not None or self._key
        self._grip, self._key = None, 0
        if held:
            if self._can_pull:
                self.setCursor(Qt.CursorShape.OpenHandCursor)
            self.let_go.emit()
            self.update()

    def _cursor_angle(self, cursor: QPointF) -> float:
        centre, _ = self.geometry_of_rod()
        return math.atan2(cursor.x() - centre.x(), cursor.y() - centre.y())

    # Drawing.

    def _scale(self, painter: QPainter, theme: Theme, centre: QPointF, reach: float) -> None:
        """Draw an arc with ticks every 10° and numbers every 30°, and the rest zones along it."""
        radius, zone = reach + SCALE, reach + ZONE
        painter.setBrush(Qt.BrushStyle.NoBrush)
        self._arc(painter, centre, zone, self._expected, QPen(QColor(theme.accent_soft), 14.0))
        self._arc(painter, centre, zone, self._found, QPen(QColor(theme.measured), 5.0))
        for bracket in self._brackets:
            self._arc(painter, centre, zone, bracket, QPen(QColor(theme.moving), 9.0))
        for angle in self._found:
            if math.isfinite(angle):
                painter.setPen(QPen(QColor(theme.measured), 2.5))
                painter.drawLine(at(centre, zone - 8.0, angle), at(centre, zone + 8.0, angle))
        unit, degrees = self._unit, self._unit is None or self._unit.per_radian > 1.5
        for tick in range(-SWEEP, SWEEP + 1, 10):
            angle = math.radians(tick)
            named = tick % 30 == 0
            painter.setPen(QPen(QColor(theme.muted if named else theme.grid), 1.5 if named else 1.0))
            painter.drawLine(at(centre, radius - (8 if named else 4), angle), at(centre, radius, angle))
            if named and abs(tick) <= 90:
                place = at(centre, radius + (15 if abs(tick) < 60 else 22), angle)
                text = fixed(tick if degrees or unit is None else angle, 0 if degrees or tick == 0 else 2)
                painter.setPen(QColor(theme.muted))
                box = QRectF(place.x() - 26, place.y() - 9, 52, 18)
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{text}°" if degrees else text)

    def _arc(self, painter: QPainter, centre: QPointF, radius: float, span: Range, drawn: QPen) -> None:
        low, high = span
        if not (math.isfinite(low) and math.isfinite(high)):
            return
        drawn.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(drawn)
        # Qt measures angles from three o'clock, counter-clockwise, in sixteenths of a degree.
        begin = round(16 * (math.degrees(low) - 90.0))
        painter.drawArc(
            QRectF(centre.x() - radius, centre.y() - radius, 2 * radius, 2 * radius),
            begin,
            round(16 * math.degrees(high - low)),
        )

    def _over_mass(self, painter: QPainter, theme: Theme, end: QPointF, size: float) -> None:
        radius = size + GAUGE_GAP
        box = QRectF(end.x() - radius, end.y() - radius, 2 * radius, 2 * radius)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.border), GAUGE_WIDTH))
        painter.drawEllipse(box)
        if self._level > 0.0:
            colour = QColor(theme.good if self._level >= 1.0 else theme.moving)
            painter.setPen(QPen(colour, GAUGE_WIDTH, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
            painter.drawArc(box, 90 * 16, -round(360 * 16 * self._level))
        if self._grip is not None:
            self._spring(painter, theme, end, self._grip)

    def _spring(self, painter: QPainter, theme: Theme, mass: QPointF, cursor: QPointF) -> None:
        along = cursor - mass
        length = math.hypot(along.x(), along.y())
        painter.setPen(QPen(QColor(theme.text), 1.6))
        painter.setBrush(QColor(theme.text))
        if length > 1.0:
            across = QPointF(-along.y(), along.x()) / length * COIL
            points = [mass]
            for k in range(1, COILS):
                points.append(mass + along * (k / COILS) + across * (1 if k % 2 else -1))
            points.append(cursor)
            painter.drawPolyline(points)
        painter.drawEllipse(cursor, 4.0, 4.0)

    def _numbers(self, painter: QPainter, theme: Theme, bench: Bench) -> None:
        """Draw angle and external torque, readable from two metres."""
        if math.isnan(self._angle) or self._unit is None:
            return
        digits = 1 if self._unit.per_radian > 1.5 else 3
        fine = 3 if bench.gravity_torque < 2.0 else 2
        size = min(max(self.width() // 15, 16), 52)
        # Adding 0 turns a negative zero into zero.
        angle, torque = round(self._angle * self._unit.per_radian, digits) + 0.0, round(self._torque, fine) + 0.0
        shown = (
            ("Pendulum", fixed(angle, digits, self._unit.symbol), Qt.AlignmentFlag.AlignLeft),
            ("External torque", fixed(torque, fine, "N·m"), Qt.AlignmentFlag.AlignRight),
        )
        for title, text, side in shown:
            painter.setFont(self.font())
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(2, 0, self.width() - 4, 16), side | Qt.AlignmentFlag.AlignTop, title)
            font = QFont(self.font())
            font.setPixelSize(size)
            font.setWeight(QFont.Weight.DemiBold)
            painter.setFont(font)
            painter.setPen(QColor(theme.text))
            painter.drawText(QRectF(2, 15, self.width() - 4, 1.4 * size), side | Qt.AlignmentFlag.AlignTop, text)
