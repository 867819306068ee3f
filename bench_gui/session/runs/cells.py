"""Cells of the run table with more than text: the motion of a run, and tags with completion."""

from __future__ import annotations

from collections.abc import Callable

from pyqtgraph.functions import arrayToQPolygonF
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QCompleter, QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from bench_gui.session.runs.sketch import Points, Sketch
from bench_gui.session.runs.table import EXCLUDED_ROLE, SKETCH_ROLE, USED_ROLE
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe
from bench_gui.widgets.text_table import Index

MARGIN_X, MARGIN_Y = 6, 3
"""Margin of a thumbnail [px]."""
FAINT = 0.4
"""Opacity of parts that are not used in fits."""
TAG_TIP = "Tags, separated by commas; existing ones are suggested"


class MotionCell(QStyledItemDelegate):
    """Draws the thumbnail of a run: thin goal, measured motion, unused parts faint."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        stamp = index.data(SKETCH_ROLE)
        if not isinstance(stamp, Sketch):
            return
        area = QRectF(option.rect).adjusted(MARGIN_X, MARGIN_Y, -MARGIN_X, -MARGIN_Y)
        curves = [
            (QPen(QColor(colour), 1), _placed(points, area))
            for points, colour in ((stamp.goal, themes.current.goal), (stamp.measured, themes.current.measured))
        ]
        begin, end = index.data(USED_ROLE)
        used = QRectF(
            area.left() + begin * area.width(), area.top() - 1, (end - begin) * area.width(), area.height() + 2
        )
        trimmed, excluded = begin > 0.0 or end < 1.0, bool(index.data(EXCLUDED_ROLE))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(FAINT if trimmed or excluded else 1.0)
        _draw(painter, curves)
        if trimmed:
            painter.setOpacity(FAINT if excluded else 1.0)
            painter.setPen(QPen(QColor(themes.current.accent), 1))
            painter.drawLine(used.topLeft(), used.bottomLeft())
            painter.drawLine(used.topRight(), used.bottomRight())
            painter.setClipRect(used)
            _draw(painter, curves)
        painter.restore()


def _draw(painter: QPainter, curves: list[tuple[QPen, QPolygonF]]) -> None:
    for drawn, line in curves:
        painter.setPen(drawn)
        painter.drawPolyline(line)


def _placed(points: Points, area: QRectF) -> QPolygonF:
    return arrayToQPolygonF(area.left() + points[:, 0] * area.width(), area.bottom() - points[:, 1] * area.height())


class TagField(QLineEdit):
    """Field for tags separated by commas, with completion from the session's tags."""

    def __init__(self, known: list[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        describe(self, "Tags", TAG_TIP)
        self._completer = QCompleter(known, self)
        self._completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._completer.setWidget(self)
        self._completer.activated.connect(self._complete)
        self.textEdited.connect(self._offer)

    @property
    def tags(self) -> tuple[str, ...]:
        """Entered tags without duplicates."""
        return split_tags(self.text())

    def _offer(self) -> None:
        typed = self.text()[: self.cursorPosition()].rpartition(",")[2].strip()
        self._completer.setCompletionPrefix(typed)
        if not typed or self._completer.currentCompletion().casefold() == typed.casefold():
            self._hide_offer()
        else:
            self._completer.complete()

    def _hide_offer(self) -> None:
        popup = self._completer.popup()
        if popup is not None:
            popup.hide()

    def _complete(self, tag: str) -> None:
        before, after = self.text()[: self.cursorPosition()], self.text()[self.cursorPosition() :]
        kept = before.rpartition(",")[0]
        begun = f"{kept}, {tag}" if kept else tag
        self.setText(begun + after)
        self.setCursorPosition(len(begun))


def split_tags(text: str) -> tuple[str, ...]:
    """Split a comma-separated text into tags, without duplicates."""
    return tuple(dict.fromkeys(tag for part in text.split(",") if (tag := " ".join(part.split()))))


class TagCell(QStyledItemDelegate):
    """Edits tags with completion."""

    def __init__(self, parent: QWidget, known: Callable[[], list[str]]) -> None:
        super().__init__(parent)
        self._known = known

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """Return a field that completes the session's tags."""
        return TagField(self._known(), parent)


class NoteCell(QStyledItemDelegate):
    """Edits a note."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """Return a field with an accessible name."""
        return describe(QLineEdit(parent), "Note", "Note on the run; Enter saves it")
