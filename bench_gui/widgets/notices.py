"""Notices: problems and news with their remedies, shown over the page where they arose, outside its layout.

notices = Notices(stack)
notices.say("info", "Report written to report.html", path=Path("report.html"), task="Identify")
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from bench_gui.icons import icon
from bench_gui.theme import themes
from bench_gui.widgets.fields import MARGIN, button, hbox, restyle, tool, vbox

WIDTH = 400
"""Width of a notice [px]."""
MOST = 3
"""Largest number of notices on a page; older ones are removed and remain in the log."""
READ_WITHIN = 8000
"""Time until a notice that was seen is removed [ms]; problems with a cause stay until it is settled."""


class Notice(QFrame):
    """One message with its level: info, warning or error."""

    def __init__(self, level: str, text: str, cause: str, path: Path | None, task: str) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.level, self.cause, self.task = level, cause, task
        self.timer = QTimer(self)
        self.timer.setSingleShot(True)
        self.timer.setInterval(READ_WITHIN)
        restyle(self, "level", level)
        row = hbox(self, spacing=8, margins=(10, 6, 6, 6))
        self.mark = QLabel()
        self.text = QLabel(text)
        self.text.setWordWrap(True)
        self.text.setAccessibleName("Message")
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.close_button = tool("Dismiss message", "Hide this message; the log keeps it", symbol="close", size=14)
        row.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        if path is not None:
            self.open_button = button("Open", f"Open {path}", lambda: _open(path), "small")
            row.addWidget(self.open_button)
        row.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        themes.follow(self._paint)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin the time to read it; a page that is shown again does not prolong it."""
        super().showEvent(event)
        if not self.timer.isActive() and (self.level == "info" or not self.cause):
            self.timer.start()

    def _paint(self) -> None:
        theme = themes.current
        colour = {"error": theme.fault, "warning": theme.moving}.get(self.level, theme.accent)
        symbol = "warning" if self.level != "info" else "record"
        self.mark.setPixmap(icon(symbol, colour, 16).pixmap(16, 16))


class Notices(QWidget):
    """Stack of notices over a page, newest at the bottom; those of other pages wait until they are shown."""

    def __init__(self, page: QWidget, task: str = "") -> None:
        """Create the stack over the first page; task: its task, empty for the start page."""
        super().__init__(page)
        self._page, self._task = page, task
        self._column = vbox(self, spacing=6)
        self.notices: list[Notice] = []
        page.installEventFilter(self)
        self.hide()

    @property
    def texts(self) -> list[str]:
        """Texts of the visible notices, newest last."""
        return [notice.text.text() for notice in self._here]

    def say(self, level: str, text: str, cause: str = "", path: Path | None = None, task: str = "") -> None:
        """Show a message on the page of a task, or on the present one; it replaces one with the same text or cause."""
        task = task or self._task
        for earlier in [n for n in self.notices if n.text.text() == text or (cause and n.cause == cause)]:
            self._remove(earlier)
        for oldest in [n for n in self.notices if n.task == task][: -(MOST - 1)]:
            self._remove(oldest)
        notice = Notice(level, text, cause, path, task)
        notice.close_button.clicked.connect(lambda: self._remove(notice))
        notice.timer.timeout.connect(lambda: self._remove(notice))
        self.notices.append(notice)
        self._column.addWidget(notice)
        self._place()

    def lie_over(self, page: QWidget, task: str = "") -> None:
        """Move over another page and show its notices."""
        self._page.removeEventFilter(self)
        self._page, self._task = page, task
        page.installEventFilter(self)
        self.setParent(page)
        self._place()

    def settle(self, cause: str) -> None:
        """Hide the notices about a cause that no longer exists."""
        for notice in [n for n in self.notices if n.cause == cause]:
            self._remove(notice)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the page's size and stay above the shown page."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest) and self.notices:
            self._place()
        return False

    def _remove(self, notice: Notice) -> None:
        if notice in self.notices:
            self.notices.remove(notice)
            self._column.removeWidget(notice)
            notice.hide()
            notice.deleteLater()
            self._place()

    @property
    def _here(self) -> list[Notice]:
        return [notice for notice in self.notices if notice.task == self._task]

    def _place(self) -> None:
        here = self._here
        self.setVisible(bool(here))
        room = self._page.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        width = min(WIDTH, room.width())
        for notice in self.notices:
            notice.setVisible(notice in here)
            notice.setFixedWidth(width)
            notice.ensurePolished()
        self._column.activate()
        height = self._column.totalHeightForWidth(width) if here else 0
        self.setGeometry(room.right() + 1 - width, room.bottom() + 1 - height, width, height)
        self.raise_()


def _open(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
