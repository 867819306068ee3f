"""The tour: shows a step, places its card and outline, and advances when the step is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from bench_gui.tour.card import Outline, TourCard
from bench_gui.tour.steps import STEPS, Step
from bench_gui.tour.whereabouts import place_card, rectangle_in, scroll_to

if TYPE_CHECKING:
    from bench_gui.main_window import MainWindow

FOLLOW = 100
"""Period of following the target, which docks, pages and windows can move [ms]."""
AGAIN = "Help › Guided tour repeats this. F1 explains the current page."


class Tour(QObject):
    """Guided tour that never interferes: it takes no key, moves no servo and changes no page.

    A step ends when its action was done, by any means, or with Next. A step whose target is missing, such as a closed
    panel, is skipped.
    """

    def __init__(self, window: MainWindow, steps: Sequence[Step] = STEPS) -> None:
        super().__init__(window)
        self._window, self.steps = window, tuple(steps)
        self.number = -1
        """Number of the shown step; -1 while the tour is off."""
        self.card = TourCard(window, self.onwards, self.back, self.end)
        self.outline = Outline(window)
        self._awaited: Step | None = None
        self._scrolled_to: QWidget | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(FOLLOW)
        self._timer.timeout.connect(self.follow)
        self.card.hide()

    @property
    def active(self) -> bool:
        """True while a step is shown."""
        return self.number >= 0

    def begin(self) -> None:
        """Show the first step."""
        self._go(0, 1)

    def onwards(self) -> None:
        """Show the next step, or end the tour after the last one."""
        self._go(self.number + 1, 1)

    def back(self) -> None:
        """Show the previous step."""
        self._go(self.number - 1, -1)

    def end(self) -> None:
        """Close the tour and report how to start it again."""
        if self.active:
            self._close()
            self._window.controller.message.emit("info", AGAIN)

    def target(self) -> QWidget | None:
        """Widget to outline: the step's target or the way to it; None while neither is visible."""
        step, window = self.steps[self.number], self._window
        if step.task is not None and window.stack.currentIndex() != step.task:
            return window.rail.buttons[step.task]
        return next((each for each in step.targets(window) if isValid(each) and each.isVisible()), None)

    def follow(self) -> None:
        """Move card and outline to the current place of the target."""
        window = self._window
        target = self.target()
        if target is not None and target is not self._scrolled_to:
            self._scrolled_to = target
            scroll_to(target)
        above = target.window() if target is not None else window
        around = rectangle_in(above, target) if target is not None else QRect()
        self.outline.surround(above, around)
        bar = window.status_bar
        # The card never covers the emergency stop.
        room = window.rect()
        room.setTop(bar.mapTo(window, bar.rect().bottomLeft()).y() + 1)
        place = place_card(room, around if above is window else QRect(), self.card.size())
        if place != self.card.pos():
            self.card.move(place)

    def _go(self, number: int, direction: int) -> None:
        """Show a step, or the nearest in this direction that has a visible target."""
        self._await(None)
        while 0 <= number < len(self.steps):
            self.number = number
            if self.target() is not None:
                self._show()
                return
            number += direction
        if number < 0:
            # No earlier step can be shown.
            self._go(0, 1)
        else:
            self.end()

    def _show(self) -> None:
        self._scrolled_to = None
        self._show_words()
        self._await(self.steps[self.number])
        self.follow()
        self.card.show()
        self.card.raise_()
        self._timer.start()

    def _show_words(self) -> None:
        step = self.steps[self.number]
        self.card.show_step(step.title, step.text, self.number, len(self.steps))

    def _close(self) -> None:
        self._await(None)
        self._timer.stop()
        self.number = -1
        self.card.hide()
        self.outline.hide()

    def _await(self, step: Step | None) -> None:
        """Listen to the signals of this step instead of those of the previous one."""
        if self._awaited is not None:
            for signal in self._awaited.happened(self._window):
                signal.disconnect(self._happened)
        self._awaited = step
        if step is not None:
            for signal in step.happened(self._window):
                signal.connect(self._happened)

    def _happened(self, what: object = None) -> None:
        if self.active and self.steps[self.number].counts(self._window, what):
            self.onwards()
