"""Typesetting of symbols: "K_c^s" with its subscript and superscript."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QTextDocument
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from bench_gui.headless.symbols import printed


class SymbolDelegate(QStyledItemDelegate):
    """Draws a cell's text with subscripts and superscripts."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw the cell without its text, then the text."""
        shown = QStyleOptionViewItem(option)
        self.initStyleOption(shown, index)
        text = shown.text  # type: ignore[attr-defined]
        shown.text = ""  # type: ignore[attr-defined]
        widget = shown.widget  # type: ignore[attr-defined]
        style = widget.style() if widget is not None else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, widget)
        document = QTextDocument()
        document.setDefaultFont(shown.font)  # type: ignore[attr-defined]
        document.setDocumentMargin(0)
        colour = shown.palette.color(QPalette.ColorRole.Text)  # type: ignore[attr-defined]
        foreground = index.data(Qt.ItemDataRole.ForegroundRole)
        if isinstance(foreground, QColor):
            colour = foreground
        document.setHtml(f'<span style="color:{colour.name()}">{printed(text)}</span>')
        area = QRectF(shown.rect).adjusted(9, 0, -6, 0)  # type: ignore[attr-defined]
        painter.save()
        painter.setClipRect(area)
        painter.translate(QPointF(area.left(), area.center().y() - document.size().height() / 2))
        document.drawContents(painter)
        painter.restore()
