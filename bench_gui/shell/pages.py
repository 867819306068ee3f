"""Pages of the tasks, each created on first use; the others follow one by one once the window is visible."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Thread

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QStackedWidget

from bench_gui.shell.tasks import TASKS, import_pages
from bench_gui.theme import dress
from bench_gui.widgets.page import Placeholder, TaskPage

PAUSE = 10
"""Time for user input between the creation of two pages [ms]."""


class Pages(QObject):
    """The stack of pages and that of their inspectors, in the order of the rail."""

    completed = Signal()
    """All pages have been created."""

    def __init__(
        self,
        make: Callable[[int], TaskPage],
        closing: Callable[[], bool],
        quietly: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Create the stacks.

        Args:
            make: Returns the page of a task.
            closing: Returns True while the window closes; then no further page is created.
            quietly: Returns a context without the window's event filter, which would slow down creation and styling.
        """
        super().__init__()
        self._make, self._closing, self._quietly = make, closing, quietly
        self._pages: dict[int, TaskPage] = {}
        self._imports = Thread(target=import_pages, args=(closing,), name="imports", daemon=True)
        self.stack, self.inspectors = QStackedWidget(), QStackedWidget()
        self._places = [(_Holder(), Placeholder()) for _ in TASKS]
        for holder, inspector in self._places:
            self.stack.addWidget(holder)
            self.inspectors.addWidget(inspector)

    @property
    def there(self) -> list[TaskPage]:
        """Pages created so far."""
        return list(self._pages.values())

    @property
    def current(self) -> TaskPage:
        """The visible page."""
        return self.page(self.stack.currentIndex())

    def page(self, number: int) -> TaskPage:
        """Return the page of a task."""
        if number not in self._pages:
            with self._quietly():
                page = self._pages[number] = self._make(number)
                self._dress(number)
                holder, inspector = self._places[number]
                holder.setWidget(page)
                inspector.put(page.inspector)
        return self._pages[number]

    def number(self, page: TaskPage) -> int:
        """Return the task of a page."""
        return next(number for number, made in self._pages.items() if made is page)

    def show(self, number: int) -> TaskPage:
        """Make a page visible."""
        page = self.page(number)
        with self._quietly():
            self._dress(number)
        self.stack.setCurrentIndex(number)
        self.inspectors.setCurrentIndex(number)
        return page

    def dress(self) -> None:
        """Style the visible page in the theme; every other page is styled when it is shown."""
        self._dress(self.stack.currentIndex())

    def close(self) -> None:
        """Wait for a running import: an interpreter that exits during it crashes."""
        if self._imports.is_alive():
            self._imports.join()

    def make_next(self) -> None:
        """Create one page, and the others in later events, so that the window stays responsive."""
        if self._closing():
            return
        if self._imports.ident is None:
            self._imports.start()
        missing = [number for number in range(len(TASKS)) if number not in self._pages]
        if not missing:
            self.completed.emit()
            return
        if not self._imports.is_alive():
            self.page(missing[0])
        QTimer.singleShot(PAUSE, self, self.make_next)

    def _dress(self, number: int) -> None:
        for part in self._places[number]:
            dress(part)


class _Holder(QScrollArea):
    """Place of a page; scrolls in a window that is too small for it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
