"""Where the card goes: beside what it speaks of, over nothing that matters more."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtWidgets import QScrollArea, QWidget

GAP = 14
"""Between the card and what it speaks of, and to the edges [px]."""


def place_card(room: QRect, target: QRect, size: QSize) -> QPoint:
    """Where a card of this size goes within `room`: at a side of the target where it fits, else where it covers least.

    A target that is not there is an empty rectangle; the card then goes to the lower right corner.
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
    middle = target.center() - QPoint(size.width() // 2, size.height() // 2)
    beside = [
        QPoint(target.right() + 1 + GAP, middle.y()),
        QPoint(target.left() - GAP - size.width(), middle.y()),
        QPoint(middle.x(), target.bottom() + 1 + GAP),
        QPoint(middle.x(), target.top() - GAP - size.height()),
    ]
    places = [_within(inner, place, size) for place in (*beside, *corners)]
    return min(places, key=lambda place: _covered(QRect(place, size), target))


def rectangle_in(window: QWidget, target: QWidget) -> QRect:
    """What is to be seen of a widget, in the window's coordinates; empty where nothing is."""
    seen = target.visibleRegion().boundingRect()
    return QRect(target.mapTo(window, seen.topLeft()), seen.size()) if not seen.isEmpty() else QRect()


def scroll_to(target: QWidget) -> None:
    """Scroll what is below a fold into sight."""
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
