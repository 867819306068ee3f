"""Notices: problems and news with their remedies, shown over the page outside its layout.

notices = Notices(stack)
notices.say("info", "Report written to report.html", path=Path("report.html"))
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from bench_gui.icons import icon
from bench_gui.theme import themes
from bench_gui.widgets.fields import MARGIN, button, hbox, restyle, tool, vbox

WIDTH = 400
"""Width of a notice [px]."""
MOST = 3
"""Largest number of notices; older ones are hidden and remain in the log."""
READ_WITHIN = 8000
"""Time until an info notice is hidden [ms]; warnings and errors stay until they are settled or dismissed."""


class Notice(QFrame):
    """One message with its level: info, warning or error."""

    def __init__(self, level: str, text: str, cause: str, path: Path | None) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.level, self.cause = level, cause
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

    def _paint(self) -> None:
        theme = themes.current
        colour = {"error": theme.fault, "warning": theme.moving}.get(self.level, theme.accent)
        symbol = "warning" if self.level != "info" else "record"
        self.mark.setPixmap(icon(symbol, colour, 16).pixmap(16, 16))


class Notices(QWidget):
    """Stack of notices over a widget, newest at the bottom."""

    def __init__(self, page: QWidget) -> None:
        super().__init__(page)
        self._page = page
        self._column = vbox(self, spacing=6)
        self.notices: list[Notice] = []
        page.installEventFilter(self)
        self.hide()

    @property
    def texts(self) -> list[str]:
        """Texts of the visible notices, newest last."""
        return [notice.text.text() for notice in self.notices]

    def say(self, level: str, text: str, cause: str = "", path: Path | None = None) -> None:
        """Show a message; it replaces an earlier one with the same text or cause."""
        for earlier in [n for n in self.notices if n.text.text() == text or (cause and n.cause == cause)]:
            self._remove(earlier)
        for oldest in self.notices[: -(MOST - 1)]:
            self._remove(oldest)
        notice = Notice(level, text, cause, path)
        notice.close_button.clicked.connect(lambda: self._remove(notice))
        if level == "info":
            QTimer.singleShot(READ_WITHIN, notice, lambda: self._remove(notice))
        self.notices.append(notice)
        self._column.addWidget(notice)
        notice.show()
        self._place()

    def lie_over(self, page: QWidget) -> None:
        """Move over another widget."""
        self._page.removeEventFilter(self)
        self._page = page
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

    def _place(self) -> None:
        self.setVisible(bool(self.notices))
        room = self._page.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        width = min(WIDTH, room.width())
        for notice in self.notices:
            notice.setFixedWidth(width)
            notice.ensurePolished()
        self._column.activate()
        height = self._column.totalHeightForWidth(width) if self.notices else 0
        self.setGeometry(room.right() + 1 - width, room.bottom() + 1 - height, width, height)
        self.raise_()


def _open(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
