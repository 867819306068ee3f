"""The pages of the tasks, each made when it is first needed; the others follow one by one once the window is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QStackedWidget

from bench_gui.shell.tasks import TASKS
from bench_gui.widgets.page import LazyPage, TaskPage


class Pages(QObject):
    """The stack of the pages and that of their inspectors, in the order of the rail."""

    made = Signal(int, object)
    """Number and TaskPage."""
    completed = Signal()
    """Every page is there."""

    def __init__(self, make: Callable[[int], TaskPage], closing: Callable[[], bool]) -> None:
        """closing: asked before a page is made ahead of need."""
        super().__init__()
        self._make, self._closing = make, closing
        self._pages: dict[int, TaskPage] = {}
        self.stack, self.inspectors = QStackedWidget(), QStackedWidget()
        for _ in TASKS:
            self.stack.addWidget(_Holder())
            self.inspectors.addWidget(LazyPage())

    @property
    def there(self) -> list[TaskPage]:
        """Those made so far."""
        return list(self._pages.values())

    @property
    def current(self) -> TaskPage:
        """The page in sight."""
        return self.page(self.stack.currentIndex())

    def page(self, number: int) -> TaskPage:
        """The page of a task."""
        if number not in self._pages:
            page = self._pages[number] = self._make(number)
            cast(_Holder, self.stack.widget(number)).setWidget(page)
            cast(LazyPage, self.inspectors.widget(number)).put(page.inspector)
            self.made.emit(number, page)
        return self._pages[number]

    def number(self, page: TaskPage) -> int:
        """The task of a page."""
        return next(number for number, made in self._pages.items() if made is page)

    def show(self, number: int) -> TaskPage:
        """Bring a page into sight."""
        page = self.page(number)
        self.stack.setCurrentIndex(number)
        self.inspectors.setCurrentIndex(number)
        return page

    def make_next(self) -> None:
        """Make one more page; a turn of the event loop between two keeps the window alive."""
        missing = [number for number in range(len(TASKS)) if number not in self._pages]
        if self._closing():
            return
        if missing:
            self.page(missing[0])
            QTimer.singleShot(0, self, self.make_next)
        else:
            self.completed.emit()


class _Holder(QScrollArea):
    """Where a page will be; it scrolls in a window that is too small for the page."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
