"""Placement of the card: far from the widget that the step asks the user to touch."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QScrollArea, QWidget

GAP = 14
"""Distance of the card from the edges [px]."""


def place_card(room: QRect, target: QRect, size: QSize) -> QPoint:
    """Place a card of this size in the corner of `room` that covers least of the target and is farthest from it.

    Without a target, an empty rectangle, the card goes to the lower right corner.
    """
    inner = room.adjusted(GAP, GAP, -GAP, -GAP)
    corners = [
        QPoint(inner.right() - size.width() + 1, inner.bottom() - size.height() + 1),
        QPoint(inner.left(), inner.bottom() - size.height() + 1),
        QPoint(inner.right() - size.width() + 1, inner.top()),
        inner.topLeft(),
    ]
    if target.isEmpty():
        return _within(inner, corners[0], size)

    def distance(place: QPoint) -> int:
        apart = QRect(place, size).center() - target.center()
        return QPoint.dotProduct(apart, apart)

    places = [_within(inner, place, size) for place in corners]
    return min(places, key=lambda place: (_covered(QRect(place, size), target), -distance(place)))


def rectangle_in(window: QWidget, target: QWidget) -> QRect:
    """Visible part of a widget in the window's coordinates; empty if it is hidden."""
    seen = target.visibleRegion().boundingRect()
    return QRect(target.mapTo(window, seen.topLeft()), seen.size()) if not seen.isEmpty() else QRect()


def scroll_to(target: QWidget) -> None:
    """Scroll the enclosing areas until the target is visible."""
    above = target.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(target)
        above = above.parentWidget()


def _within(room: QRect, place: QPoint, size: QSize) -> QPoint:
    right, bottom = room.right() - size.width() + 1, room.bottom() - size.height() + 1
    return QPoint(max(room.left(), min(place.x(), right)), max(room.top(), min(place.y(), bottom)))


def _covered(card: QRect, target: QRect) -> int:
    both = card.intersected(target)
    return max(both.width(), 0) * max(both.height(), 0)
