"""Table cell with wrapped sentences; symbols among the words are typeset as in the papers."""

from __future__ import annotations

import html

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QTextDocument
from PySide6.QtWidgets import QApplication, QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from bench_gui.headless.symbols import with_symbols
from bench_gui.widgets.text_table import Index

LEFT, RIGHT, VERTICAL = 9, 6, 3
"""Margins around the text [px]."""


class WordsDelegate(QStyledItemDelegate):
    """Delegate for one column; the rows grow to the height of its text."""

    def __init__(self, view: QTableView, column: int) -> None:
        super().__init__(view)
        self._view, self._column = view, column
        self.symbols: list[str] = []
        """Words that are typeset as symbols."""
        self._heights: dict[tuple[str, int], int] = {}
        """Height by text and width [px]: laying out text is the costly part."""
        view.setItemDelegateForColumn(column, self)
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        view.horizontalHeader().sectionResized.connect(self._resized)

    def _resized(self, column: int, *_: int) -> None:
        if column == self._column:
            self._view.resizeRowsToContents()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the height of the text at the column's width."""
        width = self._view.columnWidth(self._column)
        place = (str(index.data()), width)
        if place not in self._heights:
            height = self._document(self._shown(option, index), width).size().height()
            self._heights[place] = round(height) + 2 * VERTICAL
        return QSize(width, self._heights[place])

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the cell without its text, then the text."""
        shown = self._shown(option, index)
        document = self._document(shown, shown.rect.width())  # type: ignore[attr-defined]
        shown.text = ""  # type: ignore[attr-defined]
        widget = shown.widget  # type: ignore[attr-defined]
        style = widget.style() if widget is not None else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, widget)
        area = QRectF(shown.rect).adjusted(LEFT, 0, -RIGHT, 0)  # type: ignore[attr-defined]
        painter.save()
        painter.setClipRect(area)
        painter.translate(QPointF(area.left(), area.center().y() - document.size().height() / 2))
        document.drawContents(painter)
        painter.restore()

    def _shown(self, option: QStyleOptionViewItem, index: Index) -> QStyleOptionViewItem:
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        foreground = index.data(Qt.ItemDataRole.ForegroundRole)
        if isinstance(foreground, QColor):
            shown.palette.setColor(QPalette.ColorRole.Text, foreground)  # type: ignore[attr-defined]
        return shown

    def _document(self, shown: QStyleOptionViewItem, width: int) -> QTextDocument:
        document = QTextDocument()
        document.setDefaultFont(shown.font)  # type: ignore[attr-defined]
        document.setDocumentMargin(0)
        document.setTextWidth(width - LEFT - RIGHT)
        colour = shown.palette.color(QPalette.ColorRole.Text)  # type: ignore[attr-defined]
        words = with_symbols(shown.text, self.symbols) if self.symbols else html.escape(shown.text)  # type: ignore[attr-defined]
        document.setHtml(f'<span style="color:{colour.name()}">{words}</span>')
        return document
