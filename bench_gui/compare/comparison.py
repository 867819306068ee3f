"""Which runs and models are compared, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.compare.models import ModelEntry, ModelShelf
from bench_gui.session.library import Library
from bench_gui.work import tasks
from bench_gui.work.background import Background
from bench_gui.work.desk import Desk

if TYPE_CHECKING:
    from core.recording import Recording


@dataclass(eq=False)
class Picture:
    """What there is to see; recordings come first, simulations when they are done."""

    recordings: list[Recording] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    overlays: tasks.Overlays | None = None


class Comparison(QObject):
    """Measured motion from the session, simulated motion from the desk; late answers to old questions are dropped."""

    changed = Signal()
    """The picture is another."""
    choice_changed = Signal()
    """Other models are to be compared."""
    problem = Signal(str)

    def __init__(self, library: Library, shelf: ModelShelf, background: Background, desk: Desk) -> None:
        super().__init__()
        self._library = library
        self._shelf = shelf
        self._background = background
        self._desk = desk
        self._asked = 0
        self.chosen: tuple[str, ...] = ()
        """Keys of the models to compare."""
        self.picture = Picture()
        self.waiting = False
        self._untouched = True
        """Whether nobody has chosen models since the session was opened."""
        library.opened.connect(self._begin_again)

    def choose(self, keys: tuple[str, ...]) -> None:
        """Compare these models."""
        self._untouched = False
        self._compare(keys)

    def enter(self) -> None:
        """The comparison comes into sight: choose models unless a person has, and ask for what is new."""
        asked = self._asked
        if self._untouched:
            self.choose_sensibly()
        if asked == self._asked:
            self.refresh()

    def choose_sensibly(self) -> None:
        """Identified models if there are any, else the simplest and the richest of the catalogue."""
        entries = self._shelf.entries
        identified = [e.key for e in entries if e.origin == "identified"]
        if identified:
            first, best = identified[0], self._shelf.recommended or identified[-1]
            keys = (first, best) if first != best else (first, identified[-1])
        else:
            keys = tuple(e.key for e in entries if e.model.friction in ("m1", "m6") and e.origin == "catalogue")
        self._compare(tuple(dict.fromkeys(keys)))

    def refresh(self) -> None:
        """Ask again for the chosen runs and models."""
        path = self._library.path
        runs = [run.id for run in self._library.chosen()]
        entries = [e for e in self._shelf.entries if e.key in self.chosen]
        self._asked += 1
        asked = self._asked
        if path is None or not runs:
            self.picture, self.waiting = Picture(), False
            self.changed.emit()
            return
        self.waiting = bool(entries)

        def loaded(recordings: list[Recording]) -> None:
            if asked == self._asked:
                overlays = self.picture.overlays if self._same(recordings, entries) else None
                self.picture = Picture(recordings, entries, overlays)
                self.changed.emit()

        def simulated(overlays: tasks.Overlays) -> None:
            if asked == self._asked:
                self.waiting = False
                self.picture = Picture(self.picture.recordings, entries, overlays)
                self.changed.emit()
                for problem in overlays.problems[:1]:
                    self.problem.emit(problem)

        def failed(message: str) -> None:
            if asked == self._asked:
                self.waiting = False
                self.changed.emit()
                self.problem.emit(message)

        self._library.load(runs, loaded, failed)
        if entries:
            models = {e.key: e.model for e in entries}
            self._background.submit(
                "desk", self._desk.call, tasks.overlays, path, runs, models, done=simulated, failed=failed
            )

    def _begin_again(self) -> None:
        self.chosen, self._untouched = (), True

    def _compare(self, keys: tuple[str, ...]) -> None:
        if keys != self.chosen:
            self.chosen = keys
            self.choice_changed.emit()
            self.refresh()

    def _same(self, recordings: list[Recording], entries: list[ModelEntry]) -> bool:
        now, before = [r.id for r in recordings], [r.id for r in self.picture.recordings]
        return now == before and [e.key for e in entries] == [e.key for e in self.picture.models]
