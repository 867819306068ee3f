"""Pages of the tasks, each created on first use; the others follow in slices once the window is visible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from threading import Thread
from time import perf_counter
from typing import cast

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget
from shiboken6 import isValid

from bench_gui.shell.tasks import TASKS, import_pages
from bench_gui.theme import Theme, dress
from bench_gui.widgets.page import PAUSE, InSteps, LazyPage, TaskPage, draw_in_turn

SLICE = 0.01
"""Duration of one slice of page creation [s]."""


class Pages(QObject):
    """The stack of pages and that of their inspectors, in the order of the rail."""

    made = Signal(int, object)
    """Number of the task and its TaskPage."""
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
            quietly: Returns a context without the window's event filter, which would slow down the styling.
        """
        super().__init__()
        self._make, self._closing, self._quietly = make, closing, quietly
        self._pages: dict[int, TaskPage] = {}
        self._creation = InSteps(self._create)
        self._theme: Theme | None = None
        self._painting = InSteps(self._paint)
        self._unpainted: Iterator[None] = iter(())
        self._painter = QTimer(self)
        self._painter.setInterval(PAUSE)
        self._painter.setSingleShot(True)
        self._painter.timeout.connect(self._paint_next)
        self._making = self._steps()
        self._imports = Thread(target=import_pages, args=(closing,), name="imports", daemon=True)
        self.stack, self.inspectors = QStackedWidget(), QStackedWidget()
        for _ in TASKS:
            self.stack.addWidget(_Holder())
            self.inspectors.addWidget(LazyPage())

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
        self._creation.finish(number)
        return self._pages[number]

    def number(self, page: TaskPage) -> int:
        """Return the task of a page."""
        return next(number for number, made in self._pages.items() if made is page)

    def show(self, number: int) -> TaskPage:
        """Make a page visible."""
        page = self.page(number)
        self._painting.finish(number)
        draw_in_turn(self.inspectors, self.stack)
        self.stack.setCurrentIndex(number)
        self.inspectors.setCurrentIndex(number)
        return page

    def paint(self, theme: Theme, surroundings: Iterator[None]) -> None:
        """Apply a theme step by step; to a page that is not visible, at the latest when it is shown.

        Args:
            theme: Theme to apply.
            surroundings: Steps that apply it to the window around the pages; they come first.
        """
        self._theme, self._painting = theme, InSteps(self._paint)
        first = self.stack.currentIndex()
        pages = sorted(range(len(TASKS)), key=lambda number: number != first)
        self._unpainted = chain(surroundings, chain.from_iterable(map(self._painting.steps, pages)))
        if self._pages:
            self._painter.start()
            return
        for _ in self._unpainted:  # at the start nothing is there yet that would take time
            pass

    def close(self) -> None:
        """Wait for a running import: an interpreter that exits during it crashes."""
        if self._imports.is_alive():
            self._imports.join()

    def make_next(self) -> None:
        """Create the next part of the pages; returning to the event loop in between keeps the window responsive."""
        end = perf_counter() + SLICE
        while not self._closing():
            if next(self._making, True):
                self.completed.emit()
                return
            if perf_counter() > end:
                QTimer.singleShot(PAUSE, self, self.make_next)
                return

    def _paint_next(self) -> None:
        if not self._closing():
            with self._quietly():
                for _ in self._unpainted:
                    self._painter.start()
                    break

    def _paint(self, number: int) -> Iterator[None]:
        assert self._theme is not None
        for stack in (self.stack, self.inspectors):
            part = cast(QWidget, stack.widget(number))
            draw_in_turn(part)
            dress(part, self._theme)
            yield
        if number in self._pages:
            self._pages[number].set_theme(self._theme)
            yield

    def _create(self, number: int) -> Iterator[None]:
        page = self._make(number)
        yield
        cast(_Holder, self.stack.widget(number)).setWidget(page)
        yield
        cast(LazyPage, self.inspectors.widget(number)).put(page.inspector)
        yield
        yield from page.build()
        self._pages[number] = page
        self.made.emit(number, page)
        yield

    def _steps(self) -> Iterator[bool]:
        """Create every page with all of its parts and style them, step by step; yields False after each step."""
        self._imports.start()
        while self._imports.is_alive():
            self._imports.join(SLICE / 2)
            yield False
        for number in range(len(TASKS)):
            for _ in self._creation.steps(number):
                yield False
            page = self._pages[number]
            for _ in page.more():
                yield False
            for part in (page, page.inspector):
                for widget in part.findChildren(QWidget):
                    if isValid(widget):  # the widget may have been deleted since
                        widget.ensurePolished()
                    yield False


class _Holder(QScrollArea):
    """Place of a page; scrolls in a window that is too small for it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
