"""The help pages in a window of their own, so that they stay beside the work."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QTextBlock, QTextBlockFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QListWidget, QListWidgetItem, QTextBrowser, QVBoxLayout, QWidget

from bench_gui.icons import icon
from bench_gui.theme import Theme
from bench_gui.widgets.fields import describe, tool

FOLDER = Path(str(files("resources") / "help"))
FIRST = "index"
PICTURE_WIDTH = 620
"""Pictures are shown no wider [px]."""
MARGIN = 18
LINE_HEIGHT = 135.0
"""[%]"""


def pages() -> dict[str, str]:
    """File name without ending → title, the first page first."""
    found = {path.stem: _title(path) for path in sorted(FOLDER.glob("*.md"))}
    return {FIRST: found.pop(FIRST), **found} if FIRST in found else found


def _title(path: Path) -> str:
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return path.stem.replace("_", " ").capitalize()


class _Browser(QTextBrowser):
    """Shows Markdown with pictures that fit."""

    def __init__(self) -> None:
        super().__init__()
        self.setSearchPaths([str(FOLDER)])
        self.setOpenLinks(False)

    def loadResource(self, kind: int, name: QUrl) -> object:
        """Scale pictures to the page."""
        if kind == QTextDocument.ResourceType.ImageResource.value:
            picture = QImage(str(FOLDER / name.path()))
            if picture.width() > PICTURE_WIDTH:
                return picture.scaledToWidth(PICTURE_WIDTH, Qt.TransformationMode.SmoothTransformation)
            return picture
        return super().loadResource(kind, name)


class HelpWindow(QWidget):
    """Non-modal; made when it is first asked for."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle("ServoBench help")
        self.resize(900, 640)
        self._history: list[str] = []
        self._place = -1
        row = QHBoxLayout(self)
        left, right = QVBoxLayout(), QVBoxLayout()
        self.search = describe(QLineEdit(), "Search the help", "Show the pages that hold these words")
        self.search.setPlaceholderText("Search")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._find)
        self.contents = describe(QListWidget(), "Help pages", "Select a page to read it")
        self.contents.currentItemChanged.connect(lambda item, _: item is not None and self._choose(item))
        left.addWidget(self.search)
        left.addWidget(self.contents, 1)
        head = QHBoxLayout()
        self.back_button = tool("Back", "The page read before")
        self.back_button.clicked.connect(lambda: self._step(-1))
        self.forward_button = tool("Forward", "The page read after this one")
        self.forward_button.clicked.connect(lambda: self._step(1))
        head.addWidget(self.back_button)
        head.addWidget(self.forward_button)
        head.addStretch(1)
        right.addLayout(head)
        self.page = _Browser()
        describe(self.page, "Help page", "Text of the page; links lead to others")
        self.page.anchorClicked.connect(self._follow)
        right.addWidget(self.page, 1)
        row.addLayout(left, 2)
        row.addLayout(right, 7)
        self._find("")

    @property
    def current(self) -> str:
        """The page that is shown."""
        return self._history[self._place] if self._history else ""

    def show_page(self, name: str) -> None:
        """Show a page by its file name without ending; the first one when there is none of this name."""
        name = name if (FOLDER / f"{name}.md").is_file() else FIRST
        if name != self.current:
            self._history = [*self._history[: self._place + 1], name]
            self._place = len(self._history) - 1
        self._read()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.back_button.setIcon(icon("back", theme.text, 16))
        self.forward_button.setIcon(icon("forward", theme.text, 16))
        self.page.document().setDefaultStyleSheet(f"a {{ color: {theme.accent}; }}")
        if self._history:
            self._read()

    def _read(self) -> None:
        name = self.current
        document = self.page.document()
        self.page.setMarkdown((FOLDER / f"{name}.md").read_text("utf-8"))
        document.setDocumentMargin(MARGIN)
        _space_out(document)
        self.back_button.setEnabled(self._place > 0)
        self.forward_button.setEnabled(self._place < len(self._history) - 1)
        for place in range(self.contents.count()):
            item = self.contents.item(place)
            if item.data(Qt.ItemDataRole.UserRole) == name:
                self.contents.blockSignals(True)
                self.contents.setCurrentItem(item)
                self.contents.blockSignals(False)

    def _step(self, by: int) -> None:
        self._place = min(max(self._place + by, 0), len(self._history) - 1)
        self._read()

    def _choose(self, item: QListWidgetItem) -> None:
        self.show_page(item.data(Qt.ItemDataRole.UserRole))

    def _follow(self, url: QUrl) -> None:
        if url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)
        elif url.path().endswith(".md"):
            self.show_page(Path(url.path()).stem)

    def _find(self, words: str) -> None:
        self.contents.blockSignals(True)
        self.contents.clear()
        wanted = words.lower().split()
        for name, title in pages().items():
            text = (FOLDER / f"{name}.md").read_text("utf-8").lower() if wanted else ""
            if all(word in text for word in wanted):
                item = QListWidgetItem(title)
                item.setData(Qt.ItemDataRole.UserRole, name)
                self.contents.addItem(item)
        self.contents.blockSignals(False)


def _space_out(document: QTextDocument) -> None:
    """Give lines and paragraphs room; Qt sets Markdown solid."""
    block = document.begin()
    while block.isValid():
        cursor = QTextCursor(block)
        shape = block.blockFormat()
        if not _is_picture(block):
            shape.setLineHeight(LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        if block.textList() is None:
            shape.setBottomMargin(8)
            shape.setTopMargin(10 if shape.headingLevel() else 2)
        cursor.setBlockFormat(shape)
        block = block.next()


def _is_picture(block: QTextBlock) -> bool:
    """Whether a paragraph is an image, whose height is its own."""
    return any(part.fragment().charFormat().isImageFormat() for part in block)  # type: ignore[attr-defined]
