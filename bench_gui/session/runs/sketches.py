"""The stamps of the runs in sight: made in the session's lane a few at a time, the latest kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.session.runs.sketch import Sketch, sketch
from bench_gui.state.library import Library

if TYPE_CHECKING:
    from sessions import Session

WIDTH = 118
"""Of the column they are drawn in [px]."""
AT_ONCE = 6
"""Runs read in one go, so that whoever else needs the lane waits for moments only."""
MOST_KEPT = 120
"""Stamps kept, the latest asked for; the others are made again when they come into sight."""


class Sketches(QObject):
    """Only runs that were asked for are read; the latest wish counts, what is out of sight again is forgotten."""

    arrived = Signal(object)
    """Ids of the runs there are stamps of now, list[str]."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._known: dict[str, Sketch | None] = {}
        self._wanted: list[str] = []
        self._busy = False
        library.opened.connect(self._forget)

    def of(self, identity: str) -> Sketch | None:
        """The stamp of a run; None if there is none yet, or if the run cannot be read."""
        return self._known.get(identity)

    def ask(self, ids: Iterable[str]) -> None:
        """Make stamps of these runs, in this order, and of none that were asked for before and are not among them."""
        self._wanted = []
        for identity in ids:
            if identity in self._known:
                self._known[identity] = self._known.pop(identity)
            else:
                self._wanted.append(identity)
        self._next()

    def _next(self) -> None:
        if self._busy or not self._wanted:
            return
        now, self._wanted = self._wanted[:AT_ONCE], self._wanted[AT_ONCE:]
        self._busy = True
        self._library.inquire(lambda session: _drawn(session, now), self._take, lambda: self._take({}))

    def _take(self, drawn: dict[str, Sketch | None]) -> None:
        self._busy = False
        self._known.update(drawn)
        for identity in list(self._known)[:-MOST_KEPT]:
            del self._known[identity]
        self.arrived.emit(list(drawn))
        self._wanted = [identity for identity in self._wanted if identity not in self._known]
        self._next()

    def _forget(self) -> None:
        # What is under way is about another session; its answer is dropped by the library.
        self._known, self._wanted, self._busy = {}, [], False


def _drawn(session: Session, ids: list[str]) -> dict[str, Sketch | None]:
    """Stamps by id; None for a run that cannot be read, which is said where the run is used."""
    from core.errors import ServoBenchError

    drawn: dict[str, Sketch | None] = {}
    for identity in ids:
        try:
            drawn[identity] = sketch(session.load(identity), WIDTH)
        except ServoBenchError:
            drawn[identity] = None
    return drawn
