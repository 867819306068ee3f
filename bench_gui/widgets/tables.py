"""Tables with the common look."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPalette, QResizeEvent, QShowEvent, QTextDocument
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QLabel,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from bench_gui.headless.symbols import printed
from bench_gui.widgets.fields import describe, hbox, label, vbox
from bench_gui.widgets.page import Placeholder
from bench_gui.widgets.tabs import Segments
from bench_gui.widgets.text_table import Cell, Column, TextTable

ROW_HEIGHT = 21


class Header(QHeaderView):
    """Header whose titles are elided only while the table has no room for them."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setSectionsClickable(True)
        self.setHighlightSections(False)
        self.setStretchLastSection(True)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.sectionCountChanged.connect(lambda *_: self._widen())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Use the new room."""
        super().resizeEvent(event)
        self._widen()

    def showEvent(self, event: QShowEvent) -> None:
        """Use the room; widths are known once the table is styled."""
        super().showEvent(event)
        self._widen()

    def _widen(self) -> None:
        last = self.logicalIndex(self.count() - 1)
        room = self.viewport().width() - self.length()
        if self.stretchLastSection():
            room += self.sectionSize(last) - self.sectionSizeHint(last)
        for place in range(self.count()):
            missing = self.sectionSizeHint(place) - self.sectionSize(place)
            if 0 < missing <= room and not self.isSectionHidden(place):
                self.resizeSection(place, self.sectionSizeHint(place))
                room -= missing


def plain_table(name: str, tip: str) -> QTableView:
    """Return a table without a grid, with selection of single rows."""
    table = describe(QTableView(), name, tip)
    table.setShowGrid(False)
    table.setAlternatingRowColors(True)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
    table.setHorizontalHeader(Header())
    table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    return table


def fit_columns(view: QTableView, columns: Iterable[int]) -> None:
    """Keep columns of a short table as wide as their titles and contents."""
    for column in columns:
        view.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)


class TablesInTurn(QWidget):
    """Tables that are shown one at a time, with a sentence above each.

    They share one view, because a QTableView consists of nineteen widgets, which all have to be made and styled.
    """

    turned = Signal(int)
    """Number of the table that is shown now."""

    def __init__(self, title: str, parts: Sequence[tuple[str, str, Sequence[Column]]]) -> None:
        """Create the tables.

        Args:
            title: accessible name of them all.
            parts: name, tooltip and columns of each.
        """
        super().__init__()
        self._title, self._parts = title, parts
        self.tables = [TextTable(columns) for _, _, columns in parts]
        self._sentences = [""] * len(parts)
        self.words: QLabel = label("", "muted")
        self.words.setWordWrap(True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.view = plain_table(title, "")
        """View of all tables that have none of their own."""
        self._views: dict[int, QTableView] = {}
        self._stack = QStackedWidget()
        self._stack.addWidget(self.view)
        self.segments = Segments([(name, tip) for name, tip, _ in parts], self._turn)
        self.head = hbox(spacing=8)
        """Row of the segments; callers append to it."""
        self.head.addWidget(self.segments)
        column = vbox(self, spacing=4)
        column.addLayout(self.head)
        column.addWidget(self.words)
        column.addWidget(Placeholder(self._stack), 1)
        self._turn(0)

    def separate(self, place: int) -> QTableView:
        """Return a view for this table only, whose delegates the others shall not have."""
        name, tip, _ = self._parts[place]
        view = self._views[place] = plain_table(f"{self._title}: {name}", tip)
        self._stack.addWidget(view)
        self._turn(self.segments.current)
        return view

    def fill(
        self,
        place: int,
        rows: Sequence[Sequence[Cell | str]],
        columns: Sequence[Column] | None = None,
        words: str = "",
    ) -> None:
        """Show rows in a table, see `TextTable.show`, and a sentence above it."""
        self.tables[place].show(rows, columns)
        self._sentences[place] = words
        if place == self.segments.current:
            self._arrange(place)

    def showEvent(self, event: QShowEvent) -> None:
        """Use the widths of the contents, which are known once the table is styled."""
        super().showEvent(event)
        self._arrange(self.segments.current)

    def _turn(self, place: int) -> None:
        view, (name, tip, _) = self._views.get(place, self.view), self._parts[place]
        if view.model() is not self.tables[place]:
            before = view.selectionModel()
            view.setModel(self.tables[place])
            if before is not None:
                before.deleteLater()
        describe(view, f"{self._title}: {name}", tip)
        self._stack.setCurrentWidget(view)
        self._arrange(place)
        self.turned.emit(place)

    def _arrange(self, place: int) -> None:
        view, table, words = self._views.get(place, self.view), self.tables[place], self._sentences[place]
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self._stack.setVisible(table.rowCount() > 0)
        stretched = view.horizontalHeader().stretchLastSection()
        for column in range(table.columnCount() - stretched):
            view.resizeColumnToContents(column)


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
