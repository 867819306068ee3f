"""List of runs: recorded, failed, in progress and waiting, under a heading for each change of load."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QItemSelectionModel, QSignalBlocker, Qt
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QPushButton, QWidget

from bench_gui.record.planning import Planning
from bench_gui.record.queue import QueuedRun, RecordQueue, ending
from bench_gui.theme import themes
from bench_gui.widgets.fields import EmptyState, button, describe, hbox, vbox
from core.base.words import counted
from core.motion.trajectories import title_of
from core.practice.plan import Cell

MOST_SHOWN = 200
"""Maximum of recorded rows and of waiting rows; a longer list states how many more there are."""
ROW = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Row:
    """One run of the list."""

    mark: str
    tone: str
    """Name of its colour in the theme."""
    text: str
    tip: str
    place: tuple[float, float]
    """Length [m] and mass [kg]."""
    run: QueuedRun | None = None
    """None for a cell that was recorded before."""
    cell: Cell | None = None
    waiting: bool = False


def rows(queue: RecordQueue, planning: Planning) -> Iterator[Row]:
    """Yield every run of the list: recorded cells of the plan, other ended runs, the present run, waiting runs."""
    again = {run.cell for run in queue.waiting if run.replaces}
    for cell, identity in planning.done.items():
        if cell not in again:
            title = f"{title_of(cell.trajectory)}, kp {cell.kp:g}"
            yield Row("✓", "good", f"{title}  ·  {_short(identity)}", identity, cell.place, None, cell)
    for run, result in queue.past:
        good = result.exit_status == "success"
        if not (good and run.cell in planning.done):
            mark, tone = ("✓", "good") if good else ("✕", "fault")
            outcome = _short(result.id) if good else "aborted" if result.exit_status == "abort" else "failed"
            tip = result.id if good else ending(run, result)
            yield Row(mark, tone, f"{_title(run)}  ·  {outcome}", tip, run.place, run, run.cell)
    if queue.running is not None:
        run = queue.running
        yield Row("▸", "moving", f"{_title(run)}  ·  recording", run.trajectory.name, run.place, run, run.cell)
    for run in queue.waiting:
        text = f"{_title(run)}  ·  waiting" + (f", replaces {_short(run.replaces)}" if run.replaces else "")
        yield Row("○", "muted", text, run.trajectory.name, run.place, run, run.cell, True)


def _short(identity: str) -> str:
    """Return the number of a run, from its id."""
    return identity.partition("_")[0]


def _title(run: QueuedRun) -> str:
    return f"{run.trajectory.title}, kp {run.header.settings.kp:g}"


class RunListWidget(QListWidget):
    """Waiting rows can be dragged. Alt+Up and Alt+Down move the chosen one; Delete removes it."""

    def __init__(self, move: Callable[[int], None], remove: Callable[[], None], dropped: Callable[[], None]) -> None:
        super().__init__()
        self._move, self._remove = move, remove
        tip = "Runs in order. Drag, or press Alt+Up and Alt+Down, to reorder waiting runs; Del removes them"
        describe(self, "Runs", tip)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.model().rowsMoved.connect(lambda *_: dropped())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move or remove the chosen run."""
        places = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and places:
            self._move(places)
        elif event.key() == Qt.Key.Key_Delete:
            self._remove()
        else:
            super().keyPressEvent(event)


class RunList(QWidget):
    """The list, with the actions for its rows."""

    def __init__(self, queue: RecordQueue, planning: Planning) -> None:
        super().__init__()
        self._queue, self._planning = queue, planning
        self._drawn: list[Row] = []
        column = vbox(self, spacing=6)
        self.list = RunListWidget(self.move_chosen, self._remove, self._dropped)
        self.list.itemSelectionChanged.connect(self._enable)
        self.empty = EmptyState(
            "No runs yet",
            "Add the chosen trajectory, the paper’s four, or the runs of the plan above.",
        )
        column.addWidget(self.list, 1)
        column.addWidget(self.empty, 1)
        self.again_button = _quiet(
            "Record again", "Record the chosen runs before the waiting ones; each new run replaces the old one",
            self._again,
        )  # fmt: skip
        tip = "Start with the chosen run; the runs before it move to the end"
        self.here_button = _quiet("Start here", tip, self._begin_here)
        self.up_button = _quiet("↑", "Record the chosen run earlier (Alt+Up)", lambda: self.move_chosen(-1), "Up")
        self.down_button = _quiet("↓", "Record the chosen run later (Alt+Down)", lambda: self.move_chosen(1), "Down")
        self.remove_button = _quiet("Remove", "Remove the chosen runs from the list (Del)", self._remove)
        self.clear_button = _quiet("Clear", "Remove all waiting runs from the list", lambda: queue.keep(()))
        row = hbox(spacing=4)
        for part in (self.again_button, self.here_button, self.up_button, self.down_button):
            row.addWidget(part)
        row.addStretch(1)
        for part in (self.remove_button, self.clear_button):
            row.addWidget(part)
        column.addLayout(row)
        planning.changed.connect(self.refresh)
        self.refresh()
        themes.changed.connect(self._paint)

    def showEvent(self, event) -> None:
        """Catch up with changes made while the list was hidden."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        """Show the present list, if it is visible."""
        if not self.isVisible():
            return
        found = list(rows(self._queue, self._planning))
        if found != self._drawn:
            self._fill(found)
        self.list.setVisible(bool(found))
        self.empty.setVisible(not found)
        self._enable()

    @property
    def chosen(self) -> list[Row]:
        """The chosen rows, from the top."""
        found = [item.data(ROW) for item in self.list.selectedItems()]
        return [row for row in self._drawn if row in found]

    def _paint(self) -> None:
        self._drawn = []
        self.refresh()

    def _fill(self, found: list[Row]) -> None:
        chosen = [row.run.number for row in self.chosen if row.run is not None]
        bar = self.list.verticalScrollBar()
        scrolled = bar.value()
        first = not self._drawn
        self._drawn = found
        with QSignalBlocker(self.list):
            self.list.clear()
            past, waiting = [r for r in found if not r.waiting], [r for r in found if r.waiting]
            hidden = len(past) - MOST_SHOWN
            if hidden > 0:
                self._head(f"{counted(hidden, 'earlier run')}")
            shown = [*past[-MOST_SHOWN:], *waiting[:MOST_SHOWN]]
            for number, row in enumerate(shown):
                if number == 0 or row.place != shown[number - 1].place:
                    self._head(f"{row.place[1]:g} kg at {row.place[0]:g} m")
                item = QListWidgetItem(f"{row.mark}  {row.text}")
                item.setData(ROW, row)
                item.setToolTip(row.tip)
                item.setForeground(QColor(getattr(themes.current, row.tone)))
                if not row.waiting:
                    item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
                self.list.addItem(item)
                if row.run is not None and row.run.number in chosen:
                    self.list.setCurrentItem(item, QItemSelectionModel.SelectionFlag.Select)
            if len(waiting) > MOST_SHOWN:
                self._head(f"and {len(waiting) - MOST_SHOWN} more")
        bar.setValue(scrolled)
        if first:
            self._show_next()

    def _head(self, text: str) -> None:
        item = QListWidgetItem(text)
        font = item.font()
        font.setBold(True)
        item.setFont(font)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        item.setForeground(QColor(themes.current.text))
        self.list.addItem(item)

    def _show_next(self) -> None:
        """Scroll to the next run."""
        for number in range(self.list.count()):
            row = self.list.item(number).data(ROW)
            if row is not None and (row.waiting or row.mark == "▸"):
                self.list.scrollToItem(self.list.item(number), QAbstractItemView.ScrollHint.PositionAtCenter)
                return

    def _enable(self) -> None:
        chosen, queue = self.chosen, self._queue
        waiting = [row for row in chosen if row.waiting]
        self.again_button.setEnabled(any(not row.waiting and row.mark != "▸" for row in chosen))
        self.here_button.setEnabled(len(waiting) == 1)
        for part in (self.up_button, self.down_button):
            part.setEnabled(len(waiting) == 1)
        self.remove_button.setEnabled(bool(waiting))
        self.clear_button.setEnabled(bool(queue.waiting))

    # Actions on rows.

    @property
    def _numbers(self) -> list[int]:
        return [run.number for run in self._queue.waiting]

    def _again(self) -> None:
        chosen = [row for row in self.chosen if not row.waiting and row.mark != "▸"]
        self._planning.again([(row.run, row.cell) for row in chosen])

    def _begin_here(self) -> None:
        numbers = self._numbers
        first = numbers.index(self._chosen_numbers()[0])
        self._queue.keep([*numbers[first:], *numbers[:first]])

    def _chosen_numbers(self) -> list[int]:
        return [row.run.number for row in self.chosen if row.waiting and row.run is not None]

    def move_chosen(self, places: int) -> None:
        """Move the chosen run so many places later, or earlier if negative."""
        numbers, chosen = self._numbers, self._chosen_numbers()
        if len(chosen) == 1:
            here = numbers.index(chosen[0])
            numbers.insert(min(max(here + places, 0), len(numbers) - 1), numbers.pop(here))
            self._queue.keep(numbers)

    def _remove(self) -> None:
        gone = self._chosen_numbers()
        self._queue.keep([number for number in self._numbers if number not in gone])

    def _dropped(self) -> None:
        found = [self.list.item(place).data(ROW) for place in range(self.list.count())]
        order = [row.run.number for row in found if row is not None and row.waiting]
        self._drawn = []
        self._queue.keep([*order, *(number for number in self._numbers if number not in order)])


def _quiet(text: str, tip: str, act: Callable[[], object], name: str = "") -> QPushButton:
    made = button(text, tip, act, "small")
    return describe(made, name or text, tip)
