"""Help window: a separate window that stays open during work."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QFont,
    QImage,
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QListWidget, QListWidgetItem, QTextBrowser, QVBoxLayout, QWidget

from bench_gui.help.pages import COOKBOOK, FIRST, followed, page_file, pages, place_name
from bench_gui.icons import ThemeIcon
from bench_gui.theme import dress, themes
from bench_gui.widgets.fields import describe, tool

PICTURE_WIDTH = 620
"""Largest width of pictures [px]."""
MARGIN = 18
LINE_HEIGHT = 135.0
"""Line height [%]."""


class _Browser(QTextBrowser):
    """Shows Markdown and scales pictures to the page."""

    def __init__(self) -> None:
        super().__init__()
        self.setOpenLinks(False)

    def loadResource(self, kind: int, name: QUrl) -> object:
        """Scale pictures to the page."""
        if kind == QTextDocument.ResourceType.ImageResource.value:
            picture = QImage(str(Path(self.searchPaths()[0]) / name.path()))
            if picture.width() > PICTURE_WIDTH:
                return picture.scaledToWidth(PICTURE_WIDTH, Qt.TransformationMode.SmoothTransformation)
            return picture
        return super().loadResource(kind, name)


class HelpWindow(QWidget):
    """Non-modal window, made on first use."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle("ServoBench help")
        self.resize(900, 640)
        self._history: list[str] = []
        self._place = -1
        self._wanted = ""
        row = QHBoxLayout(self)
        left, right = QVBoxLayout(), QVBoxLayout()
        self.search = describe(QLineEdit(), "Search the help", "Show the pages that contain these words")
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._find)
        self.contents = describe(QListWidget(), "Help pages", "Select a page to read it")
        self.contents.currentItemChanged.connect(lambda item, _: item is not None and self._choose(item))
        self.contents.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        left.addWidget(self.search)
        left.addWidget(self.contents, 1)
        head = QHBoxLayout()
        self.back_button = tool("Back", "Previous page")
        self.back_button.clicked.connect(lambda: self._step(-1))
        ThemeIcon(self.back_button, "back", "text", 16)
        self.forward_button = tool("Forward", "Next page")
        self.forward_button.clicked.connect(lambda: self._step(1))
        ThemeIcon(self.forward_button, "forward", "text", 16)
        head.addWidget(self.back_button)
        head.addWidget(self.forward_button)
        head.addStretch(1)
        right.addLayout(head)
        self.page = _Browser()
        describe(self.page, "Help page", "Text of the page with links to other pages")
        self.page.anchorClicked.connect(self._follow)
        right.addWidget(self.page, 1)
        row.addLayout(left, 2)
        row.addLayout(right, 7)
        self._find("")
        themes.follow(self._paint)

    @property
    def current(self) -> str:
        """Name of the shown page."""
        return self._history[self._place] if self._history else ""

    def show_page(self, topic: str) -> None:
        """Show a page by name, or a place in it, "page#place"; the first page for an unknown name."""
        name, _, self._wanted = topic.partition("#")
        name = name if name in pages() else FIRST
        if name != self.current:
            self._history = [*self._history[: self._place + 1], name]
            self._place = len(self._history) - 1
        self._read()

    def _paint(self) -> None:
        dress(self)
        self.page.document().setDefaultStyleSheet(f"a {{ color: {themes.current.accent}; }}")
        if self._history:
            self._read()

    def _read(self) -> None:
        name = self.current
        document = self.page.document()
        self.page.setSearchPaths([str(page_file(name).parent)])
        self.page.setMarkdown(page_file(name).read_text("utf-8"))
        document.setDocumentMargin(MARGIN)
        _space_out(document)
        # The position of a line is known once the page has its width.
        QTimer.singleShot(0, self, self._scroll)
        self.back_button.setEnabled(self._place > 0)
        self.forward_button.setEnabled(self._place < len(self._history) - 1)
        for place in range(self.contents.count()):
            item = self.contents.item(place)
            if item.data(Qt.ItemDataRole.UserRole) == name:
                with QSignalBlocker(self.contents):
                    self.contents.setCurrentItem(item)

    def _scroll(self) -> None:
        """Scroll the wanted place to the top."""
        block = _place_in(self.page.document(), self._wanted) if self._wanted else None
        if block is not None:
            top = self.page.document().documentLayout().blockBoundingRect(block).top()
            self.page.verticalScrollBar().setValue(round(top) - MARGIN // 2)

    def _step(self, by: int) -> None:
        self._wanted = ""
        self._place = min(max(self._place + by, 0), len(self._history) - 1)
        self._read()

    def _choose(self, item: QListWidgetItem) -> None:
        self.show_page(item.data(Qt.ItemDataRole.UserRole))

    def _follow(self, url: QUrl) -> None:
        if url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)
        elif url.path().endswith(".md") or url.hasFragment():
            self.show_page(f"{followed(self.current, url.path())}#{url.fragment()}")

    def _find(self, words: str) -> None:
        with QSignalBlocker(self.contents):
            self.contents.clear()
            wanted = words.lower().split()
            for name, title in pages().items():
                text = page_file(name).read_text("utf-8").lower() if wanted else ""
                if all(word in text for word in wanted):
                    item = QListWidgetItem(f"Recipe: {title}" if name.startswith(COOKBOOK) else title)
                    item.setData(Qt.ItemDataRole.UserRole, name)
                    item.setToolTip(title)
                    self.contents.addItem(item)


def _place_in(document: QTextDocument, wanted: str) -> QTextBlock | None:
    """Return the heading of this name, or the paragraph that starts with it in bold."""
    block = document.begin()
    while block.isValid():
        parts = [part.fragment() for part in block]  # type: ignore[attr-defined]
        bold = parts[0].text() if parts and parts[0].charFormat().fontWeight() > QFont.Weight.Medium else ""
        if place_name(block.text() if block.blockFormat().headingLevel() else bold) == wanted:
            return block
        block = block.next()
    return None


def _space_out(document: QTextDocument) -> None:
    """Add space between lines and paragraphs; Qt sets Markdown without any."""
    block = document.begin()
    while block.isValid():
        cursor = QTextCursor(block)
        shape = block.blockFormat()
        if not _is_picture(block):
            shape.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        language = _language(block)
        if language is not None:
            # Each line of code is a paragraph of its own.
            last = _language(block.next()) != language
            shape.setLeftMargin(MARGIN)
            shape.setBottomMargin(12 if last else 0)
        elif block.textList() is not None:
            shape.setBottomMargin(0 if block.next().textList() is not None else 8)
        else:
            shape.setBottomMargin(8)
            shape.setTopMargin(10 if shape.headingLevel() else 2)
        cursor.setBlockFormat(shape)
        block = block.next()


def _language(block: QTextBlock) -> str | None:
    """Language of a fenced block; None for other text."""
    shape = block.blockFormat()
    fenced = shape.hasProperty(QTextFormat.Property.BlockCodeFence.value)
    return shape.stringProperty(QTextFormat.Property.BlockCodeLanguage.value) if fenced else None


def _is_picture(block: QTextBlock) -> bool:
    """True if a paragraph is an image, which needs no line height."""
    return any(part.fragment().charFormat().isImageFormat() for part in block)  # type: ignore[attr-defined]
