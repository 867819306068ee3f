"""Ways to bring in runs: dialogs that ask for sessions and recordings, and what is dropped on the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QFileDialog, QWidget

from bench_gui.headless.dropped import may_take
from bench_gui.headless.places import as_person_writes
from bench_gui.session.dialogs.recovery_dialog import UnfinishedDialog
from bench_gui.state.contents import unfinished_runs
from bench_gui.state.library import Library
from bench_gui.work.background import Background

IMPORTABLE = "Recordings (*.json *.json.gz *.csv *.csv.gz *.tsv *.npz *.parquet *.h5);;All files (*)"
SESSION_FILES = "Exported sessions (*.h5);;All files (*)"


class Opening:
    """Opens, creates and imports into the library."""

    def __init__(self, owner: QWidget, library: Library, background: Background) -> None:
        """owner: widget in whose window dialogs appear."""
        self._owner, self._library, self._background = owner, library, background

    def ask_open(self) -> None:
        """Ask for a session folder and open it."""
        folder = QFileDialog.getExistingDirectory(self._owner.window(), "Open a session folder")
        if folder:
            self._library.open(Path(folder))

    def ask_open_file(self) -> None:
        """Ask for a session exported as one file and open it."""
        file, _ = QFileDialog.getOpenFileName(self._owner.window(), "Open an exported session", "", SESSION_FILES)
        if file:
            self._library.open(Path(file))

    def ask_new(self) -> None:
        """Ask for a new folder and create a session in it."""
        folder, _ = QFileDialog.getSaveFileName(self._owner.window(), "New session: name its folder")
        if folder:
            self._library.create(Path(folder))

    def ask_import(self) -> None:
        """Ask for recordings and import them."""
        files, _ = QFileDialog.getOpenFileNames(self._owner.window(), "Import recordings", "", IMPORTABLE)
        if files:
            self._library.import_files([Path(file) for file in files])

    def ask_import_folder(self) -> None:
        """Ask for a folder and import every recording in it."""
        folder = QFileDialog.getExistingDirectory(self._owner.window(), "Import a folder of recordings")
        if folder:
            self._library.import_files([Path(folder)])

    def can_take(self, mime: QMimeData) -> bool:
        """Return True if something dragged over the window could be opened or imported."""
        return may_take(_paths(mime))

    def take(self, mime: QMimeData) -> None:
        """Open or import what was dropped."""
        paths = _paths(mime)
        if paths:
            self._library.take(paths)
        else:
            self._library.problem.emit("only files and folders of this computer can be dropped here")

    def offer_unfinished(self, session: Path) -> None:
        """At the start of the window: offer a session that holds runs which were begun and never finished."""

        def found(count: int) -> None:
            if count and self._library.path != session:
                name = as_person_writes(session)
                UnfinishedDialog(self._owner.window(), name, count, lambda: self._library.open(session)).show()

        self._background.submit("session", unfinished_runs, session, done=found)


def _paths(mime: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
