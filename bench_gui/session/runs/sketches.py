"""Thumbnails of visible runs, made in the session's thread one at a time, with a cache of the latest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.session.runs.sketch import Sketch, sketch
from bench_gui.state.library import Library
from core.base.errors import ServoBenchError

if TYPE_CHECKING:
    from sessions import Session

WIDTH = 118
"""Width of the column in which they are drawn [px]."""
MOST_KEPT = 120
"""Size of the cache; other thumbnails are made again when they become visible."""


class Sketches(QObject):
    """Reads only requested runs; a new request replaces the previous one, so that hidden runs are skipped.

    The next run is read once the window has taken the last: reading holds the interpreter's lock, and while the window
    draws something else it waits for one run at most.
    """

    arrived = Signal(object)
    """Ids of the runs with new thumbnails, list[str]."""

    def __init__(self, library: Library) -> None:
        super().__init__()
        self._library = library
        self._known: dict[str, Sketch | None] = {}
        self._wanted: list[str] = []
        self._busy = False
        library.opened.connect(self._forget)

    def of(self, identity: str) -> Sketch | None:
        """Return the thumbnail of a run; None if there is none yet or the run cannot be read."""
        return self._known.get(identity)

    def ask(self, ids: Iterable[str]) -> None:
        """Request thumbnails of these runs, in this order, and cancel earlier requests for others."""
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
        identity = self._wanted.pop(0)
        self._busy = True
        self._library.inquire(lambda session: {identity: _drawn(session, identity)}, self._take, lambda: self._take({}))

    def _take(self, drawn: dict[str, Sketch | None]) -> None:
        self._busy = False
        self._known.update(drawn)
        for identity in list(self._known)[:-MOST_KEPT]:
            del self._known[identity]
        self.arrived.emit(list(drawn))
        self._wanted = [identity for identity in self._wanted if identity not in self._known]
        self._next()

    def _forget(self) -> None:
        # A pending task is about another session; the library drops its answer.
        self._known, self._wanted, self._busy = {}, [], False


def _drawn(session: Session, identity: str) -> Sketch | None:
    """Return a thumbnail; None for an unreadable run, which is reported where the run is used."""
    try:
        return sketch(session.load(identity), WIDTH)
    except ServoBenchError:
        return None
