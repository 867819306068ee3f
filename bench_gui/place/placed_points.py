"""Placed points of the open session; each change is saved at once and can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.headless.place.rests import DOCUMENT
from bench_gui.state.library import Library
from bench_gui.undo import change
from core.base.errors import ServoBenchError
from core.practice.placement import PlacedPoint, points_from_json, points_to_json

if TYPE_CHECKING:
    from sessions import Session


class PlacedPoints(QObject):
    """Points are read when a session is opened."""

    changed = Signal()
    problem = Signal(str)

    def __init__(self, library: Library, undo: QUndoStack) -> None:
        super().__init__()
        self._library, self._undo = library, undo
        self._session: Session | None = None
        self.points: tuple[PlacedPoint, ...] = ()
        library.opened.connect(self._reload)

    def replace(self, text: str, points: tuple[PlacedPoint, ...]) -> None:
        """Replace the points; `text` describes the undo step, for example "delete the lowest"."""
        session = self._session

        def apply(wanted: tuple[PlacedPoint, ...]) -> None:
            if session is not self._session:
                self.problem.emit("these points belong to a session that is not open; open it to change them")
                return
            self._show(wanted)
            kept = points_to_json(wanted)
            self._library.inquire(lambda some: some.set_document(DOCUMENT, kept), lambda _: None)

        change(self._undo, text, apply, self.points, points)

    def _show(self, points: tuple[PlacedPoint, ...]) -> None:
        self.points = points
        self.changed.emit()

    def _reload(self) -> None:
        self._session = self._library.session
        self._show(())

        def done(data: Any) -> None:
            if self.points:
                return  # points were placed since; the file is older
            try:
                self._show(points_from_json(data))
            except ServoBenchError as error:
                self.problem.emit(f"the session's placed points cannot be read: {error}")

        self._library.inquire(lambda session: session.document(DOCUMENT), done)
