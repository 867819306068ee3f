"""Editing of annotations: each change is one undo step, stored beside the recordings, which never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from PySide6.QtGui import QUndoStack

from bench_gui import undo
from bench_gui.state.library import Library
from core.base.errors import InputError
from core.base.words import counted
from sessions import Annotation


class RunEditing:
    """Changes annotations of the open session; errors are emitted by the library's `problem`."""

    def __init__(self, library: Library, stack: QUndoStack) -> None:
        self._library = library
        self._stack = stack

    def set_note(self, identity: str, text: str) -> None:
        """Set the note of a run."""
        self._change("note", [identity], lambda annotation: replace(annotation, note=text.strip()), f"note:{identity}")

    def set_tags(self, identity: str, tags: tuple[str, ...]) -> None:
        """Replace the tags of a run."""
        self._change("tags", [identity], lambda annotation: replace(annotation, tags=tags))

    def change_tags(self, ids: Iterable[str], added: Iterable[str], removed: Iterable[str]) -> None:
        """Add and remove tags of runs; other tags stay."""
        more, less = tuple(added), set(removed)

        def changed(annotation: Annotation) -> Annotation:
            kept = [tag for tag in annotation.tags if tag not in less]
            return replace(annotation, tags=tuple(dict.fromkeys((*kept, *more))))

        self._change("tags", ids, changed)

    def exclude(self, ids: Iterable[str], reason: str) -> None:
        """Exclude runs from fits, with a reason."""
        self._change("exclude", ids, lambda annotation: replace(annotation, excluded=True, reason=reason.strip()))

    def include(self, ids: Iterable[str]) -> None:
        """Include excluded runs again."""
        self._change("include", ids, lambda annotation: replace(annotation, excluded=False, reason=""))

    def trim(self, identity: str, begin: float | None, end: float | None) -> None:
        """Use only a part of a run [s from its first sample]; None leaves that side untrimmed."""
        self._change("trim", [identity], lambda annotation: replace(annotation, trim_begin=begin, trim_end=end))

    def _change(
        self, what: str, ids: Iterable[str], changed: Callable[[Annotation], Annotation], key: str = ""
    ) -> None:
        library = self._library
        session = library.session
        chosen = list(ids)
        if session is None or not chosen:
            return
        if library.read_only:
            library.problem.emit(f"{library.locked}; import these runs into another session to change them")
            return
        old = {identity: library.annotation(identity) for identity in chosen}
        try:
            new = {identity: changed(annotation) for identity, annotation in old.items()}
        except InputError as error:
            library.problem.emit(str(error))
            return
        text = f"{what} of {counted(len(chosen), 'run')}"
        undo.change(self._stack, text, partial(library.annotate, session), old, new, key)
