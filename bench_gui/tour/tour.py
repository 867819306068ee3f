"""The tour itself: which step is shown, where its card and outline are, and when it goes on by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from bench_gui.theme import Theme
from bench_gui.tour.card import Outline, TourCard
from bench_gui.tour.steps import STEPS, Step
from bench_gui.tour.whereabouts import place_card, rectangle_in, scroll_to

if TYPE_CHECKING:
    from bench_gui.main_window import MainWindow

FOLLOW = 100
"""Docks, pages and windows move what is outlined; it is looked for so often [ms]."""
AGAIN = "Help › Guided tour repeats this. F1 explains the current page."


class Tour(QObject):
    """Beside the work, never in its way: takes no key, drives no servo, turns no page.

    A step ends when its deed was done, whoever asked for it, or with Next. One that speaks of something that is not
    there, such as a panel a person closed, is passed over.
    """

    def __init__(self, window: MainWindow, steps: Sequence[Step] = STEPS) -> None:
        super().__init__(window)
        self._window, self.steps = window, tuple(steps)
        self.number = -1
        """Of the step that is shown; -1 while the tour is not on."""
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
        """Whether a step is shown."""
        return self.number >= 0

    def begin(self) -> None:
        """Show the first step."""
        self._go(0, 1)

    def onwards(self) -> None:
        """Show the next step; after the last one the tour is over."""
        self._go(self.number + 1, 1)

    def back(self) -> None:
        """Show the step before."""
        self._go(self.number - 1, -1)

    def end(self) -> None:
        """Take the tour away and say where it is found."""
        if self.active:
            self._close()
            self._window.controller.message.emit("info", AGAIN)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self.card.set_theme(theme)
        self.outline.set_theme(theme)

    def target(self) -> QWidget | None:
        """What is outlined now: the step's widget, or the way to it; None while neither is in sight."""
        step, window = self.steps[self.number], self._window
        if step.task is not None and window.stack.currentIndex() != step.task:
            return window.rail.buttons[step.task]
        return next((each for each in step.targets(window) if isValid(each) and each.isVisible()), None)

    def follow(self) -> None:
        """Bring card and outline to where the target is now."""
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
        """Show a step, or the nearest in this direction that has something to show."""
        self._await(None)
        while 0 <= number < len(self.steps):
            self.number = number
            if self.target() is not None:
                self._show()
                return
            number += direction
        if number < 0:
            # Nothing before it is left to show.
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
        """Listen for the deed of this step and no longer for that of another."""
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
