"""Line above the runs: session, number of runs, filter and buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QMenu, QSizePolicy, QToolButton, QWidget

from bench_gui.controller import Controller
from bench_gui.icons import icon
from bench_gui.session.runs.filter import HINT
from bench_gui.theme import themes
from bench_gui.widgets.fields import ElidedLabel, button, describe, label, tool, vbox
from sessions.folders import as_person_writes

if TYPE_CHECKING:
    from bench_gui.session.dialogs.questions import Questions

FILTER_WIDTH = 210
TITLE_WIDTH = 480
"""Largest width of a title [px]."""


Way = tuple[str, str, Callable[[], object]]
"""Text, tip and function of an action."""


class SessionHead(QWidget):
    """Buttons for runs are visible while runs are selected, all others always."""

    def __init__(
        self,
        controller: Controller,
        questions: Questions,
        include: Callable[[], object],
        opening: Sequence[Way],
        importing: Sequence[Way],
    ) -> None:
        """Create the line.

        Args:
            controller: Controller of the window.
            questions: Dialogs about the selected runs.
            include: Includes the selected runs in fits again.
            opening: Actions of the open button, the first one for a click.
            importing: Actions of the import button, the first one for a click.
        """
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._controller = controller
        self.title = ElidedLabel()
        self.title.setProperty("role", "title")
        self.title.setMaximumWidth(TITLE_WIDTH)
        self.lock: QLabel = describe(QLabel(), "Read-only session", "")
        self.locked = ElidedLabel()
        self.locked.setProperty("role", "changed")
        self.count = label("", "muted")
        self.filter = describe(QLineEdit(), "Filter runs", HINT)
        self.filter.setPlaceholderText("Filter, e.g. kp=16 tag:good")
        self.filter.setClearButtonEnabled(True)
        self.filter.setMaximumWidth(FILTER_WIDTH)
        for clear in self.filter.findChildren(QToolButton):
            describe(clear, "Clear the filter", "Show every run again")
        self.trouble = ElidedLabel()
        self.trouble.setProperty("role", "fault")
        self.trouble.hide()
        column = vbox(self, spacing=2)
        row = QHBoxLayout()
        column.addLayout(row)
        column.addWidget(self.trouble)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.lock)
        row.addWidget(self.title)
        row.addWidget(self.locked)
        row.addWidget(self.count)
        row.addSpacing(4)
        row.addWidget(self.filter, 3)
        row.addStretch(1)
        self.tags_button = button("Tags…", "", questions.ask_tags, "flat")
        self.trim_button = button("Trim…", "", questions.ask_trim, "flat")
        self.exclude_button = button("Exclude…", "", questions.ask_reason, "flat")
        self.include_button = button("Include", "Include the selected runs in fits again", include, "flat")
        self._for_runs = (self.tags_button, self.trim_button, self.exclude_button, self.include_button)
        for made in self._for_runs:
            row.addWidget(made)
        row.addSpacing(8)
        self.recent_button = self._menu_button("Recent", "Recently opened sessions")
        self.recent_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._recent = self.recent_button.menu()
        self._recent.aboutToShow.connect(self._list_recent)
        self.open_button = self._menu_button("Open…", "Open a session folder; more options under the arrow", "open")
        self.import_button = self._menu_button(
            "Import…", "Import recordings into this session; folders under the arrow", "import"
        )
        for made, ways in ((self.open_button, opening), (self.import_button, importing)):
            made.clicked.connect(lambda _=False, act=ways[0][2]: act())
            for way in ways[1:]:
                _add(made.menu(), *way)
        for made in (self.recent_button, self.open_button, self.import_button):
            row.addWidget(made)
        controller.library.lock_with(self.import_button)
        self.show_selection(0, False, False, False)
        themes.follow(self._paint)

    def set_path(self, path: Path | None, locked: str) -> None:
        """Show the location of the session; locked: reason why it is read-only, or empty."""
        self.title.setToolTip(as_person_writes(path) if path is not None else "")
        for part in (self.lock, self.locked):
            part.setVisible(bool(locked))
        self.locked.setText(locked)

    def say(self, problems: tuple[str, ...]) -> None:
        """Show the terms of the filter that are not valid."""
        self.trouble.setText(f"Not applied: {'; '.join(problems)}")
        self.trouble.setVisible(bool(problems))

    def show_selection(self, count: int, edit: bool, edit_one: bool, include: bool) -> None:
        """Show the buttons for the selected runs: edit, edit one, include again."""
        for made in self._for_runs:
            made.setVisible(count > 0)
        self.include_button.setVisible(include)
        self.exclude_button.setVisible(count > 0 and not include)
        why = self._controller.library.obstacle
        for made, possible, tip in (
            (self.tags_button, edit, "Set tags of the selected runs"),
            (self.exclude_button, edit, "Exclude the selected runs from fits"),
            (self.trim_button, edit_one, "Use only a part of the selected run, if one is selected"),
        ):
            made.setEnabled(possible)
            made.setToolTip(f"Not possible: {why}" if why else tip)

    def _paint(self) -> None:
        self.lock.setPixmap(icon("lock", themes.current.muted, 16).pixmap(16, 16))

    def _menu_button(self, text: str, tip: str, symbol: str = "") -> QToolButton:
        made = tool(text.strip("…"), tip, symbol=symbol, size=16)
        made.setText(text)
        made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        made.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        menu = QMenu(made)
        menu.setToolTipsVisible(True)
        made.setMenu(menu)
        return made

    def _list_recent(self) -> None:
        self._recent.clear()
        here = self._controller.library.path
        there = [Path(place) for place in self._controller.settings.recent]
        for path in there:
            if path != here and path.exists():
                _add(self._recent, path.stem, as_person_writes(path), lambda path=path: self._open(path))
        if self._recent.isEmpty():
            self._recent.addAction("None yet").setEnabled(False)

    def _open(self, path: Path) -> None:
        self._controller.library.open(path)


def _add(menu: QMenu, text: str, tip: str, act: Callable[[], object]) -> None:
    action = menu.addAction(text)
    action.setToolTip(tip)
    action.triggered.connect(lambda _=False: act())
