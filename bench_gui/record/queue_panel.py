"""The queue as a person sees it: what is on, what waits, in which order, and why it holds."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QLabel, QListWidget, QListWidgetItem, QPushButton, QWidget

from bench_gui.record.queue import QueuedRun, RecordQueue
from bench_gui.widgets.fields import Section, button, describe, label
from core.words import counted

LIST_HEIGHT = 132
NUMBER = Qt.ItemDataRole.UserRole
MOST_SHOWN = 100
"""Rows; a longer queue says how many more there are."""


class QueueList(QListWidget):
    """Rows that can be dragged; Alt+Up and Alt+Down move the chosen one, Delete removes it."""

    moved = Signal(int, int)
    """Number of a run, places."""
    dropped = Signal()
    deleted = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        describe(
            self, "Queue", "Runs that wait, the next one on top: drag or Alt+Up and Alt+Down to reorder, Del to remove"
        )
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setFixedHeight(LIST_HEIGHT)
        self.model().rowsMoved.connect(lambda *_: self.dropped.emit())

    @property
    def chosen(self) -> int:
        """Number of the chosen run, 0 when none is."""
        item = self.currentItem()
        return 0 if item is None else int(item.data(NUMBER) or 0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move or remove the chosen run."""
        keys = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and event.key() in keys:
            self.moved.emit(self.chosen, keys[Qt.Key(event.key())])
        elif event.key() == Qt.Key.Key_Delete:
            self.deleted.emit(self.chosen)
        else:
            super().keyPressEvent(event)


class QueuePanel(Section):
    """A section of the inspector."""

    def __init__(self, queue: RecordQueue) -> None:
        super().__init__("Queue")
        self._queue = queue
        self._drawn: tuple[tuple[int, str], ...] = ()
        self.reason: QLabel = label("", "muted")
        self.reason.setWordWrap(True)
        self.reason.setAccessibleName("State of the queue")
        self.list = QueueList()
        self.list.moved.connect(self._move)
        self.list.deleted.connect(queue.remove)
        self.list.dropped.connect(self._dropped)
        self.list.currentRowChanged.connect(lambda _: self._enable())
        self.go_button: QPushButton = button("Start", "Record what waits, from the top", self._go, "small")
        self.up_button = _arrow("Up", "↑", "Let the chosen run begin earlier (Alt+Up)", self._up)
        self.down_button = _arrow("Down", "↓", "Let the chosen run begin later (Alt+Down)", self._down)
        self.remove_button: QPushButton = button(
            "Remove", "Take the chosen run out of the queue", self._remove, "small"
        )
        self.clear_button: QPushButton = button(
            "Clear", "Take everything that waits out of the queue", queue.clear, "small"
        )
        buttons = QWidget()
        row = QHBoxLayout(buttons)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for part in (self.go_button, self.up_button, self.down_button, self.remove_button, self.clear_button):
            row.addWidget(part)
        row.addStretch(1)
        self.wide(self.reason)
        self.wide(self.list)
        self.wide(buttons)
        queue.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the queue as it is."""
        queue = self._queue
        waiting = queue.waiting
        there = bool(waiting)
        self.list.setVisible(there)
        for part in (self.up_button, self.down_button, self.remove_button, self.clear_button):
            part.setVisible(there)
        self.go_button.setVisible(there)
        if queue.active and not queue.paused:
            self.go_button.setText("Pause")
            self.go_button.setToolTip("Let the run that is on come to its end and begin no other")
        else:
            self.go_button.setText("Start" if not queue.by_hand else "Continue")
            self.go_button.setToolTip("Record what waits, from the top")
        self.go_button.setAccessibleName(f"{self.go_button.text()} the queue")
        count = f"{counted(len(waiting), 'run')} waiting"
        if not there:
            self.reason.setText("Nothing waits. “Add to queue” collects runs; Start records them in order.")
        elif queue.paused:
            self.reason.setText(f"{count}. {queue.reason}" + ("; Start goes on" if not queue.by_hand else ""))
        else:
            self.reason.setText(count)
        self._fill(waiting)
        self._enable()

    def _fill(self, waiting: tuple[QueuedRun, ...]) -> None:
        rows = tuple((run.number, f"{run.trajectory.title}\n{run.conditions}") for run in waiting[:MOST_SHOWN])
        if len(waiting) > MOST_SHOWN:
            rows = (*rows, (0, f"and {len(waiting) - MOST_SHOWN} more"))
        if rows == self._drawn:
            return
        chosen = self.list.chosen
        self._drawn = rows
        self.list.clear()
        for number, text in rows:
            item = QListWidgetItem(text)
            item.setData(NUMBER, number)
            item.setToolTip(text.replace("\n", ", "))
            self.list.addItem(item)
            if not number:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            elif number == chosen:
                self.list.setCurrentItem(item)
        if self.list.currentItem() is None:
            self.list.scrollToTop()

    def _enable(self) -> None:
        row, last = self.list.currentRow(), self.list.count() - 1
        chosen = self.list.chosen > 0
        self.up_button.setEnabled(chosen and row > 0)
        self.down_button.setEnabled(chosen and row < last)
        self.remove_button.setEnabled(chosen)

    def _go(self) -> None:
        queue = self._queue
        if queue.active and not queue.paused:
            queue.pause()
        else:
            queue.resume()

    def _up(self) -> None:
        self._move(self.list.chosen, -1)

    def _down(self) -> None:
        self._move(self.list.chosen, 1)

    def _move(self, number: int, places: int) -> None:
        self._queue.move(number, places)

    def _remove(self) -> None:
        self._queue.remove(self.list.chosen)

    def _dropped(self) -> None:
        numbers = [int(self.list.item(row).data(NUMBER) or 0) for row in range(self.list.count())]
        self._drawn = ()
        self._queue.reorder(numbers)


def _arrow(name: str, sign: str, tip: str, clicked: Callable[[], object]) -> QPushButton:
    made = button(sign, tip, clicked, "small")
    made.setFixedWidth(30)
    made.setStyleSheet("padding: 1px 0;")
    return describe(made, name, tip)
