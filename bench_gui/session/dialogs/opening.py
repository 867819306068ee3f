"""File dialogs for sessions and recordings, and drops on the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QWidget

from bench_gui import file_dialogs
from bench_gui.headless.dropped import may_take
from bench_gui.state.library import Library

IMPORTABLE = "Recordings (*.json *.json.gz *.csv *.csv.gz *.tsv *.npz *.parquet *.h5);;All files (*)"
SESSION_FILES = "Exported sessions (*.h5);;All files (*)"


class Opening:
    """Opens and creates sessions, and imports recordings."""

    def __init__(self, owner: QWidget, library: Library) -> None:
        """Create the dialogs; owner: widget in whose window they appear."""
        self._owner, self._library = owner, library

    def ask_open(self) -> None:
        """Ask for a session folder and open it."""
        folder = file_dialogs.ask_folder(self._owner, "Open a session folder")
        if folder:
            self._library.open(Path(folder))

    def ask_open_file(self) -> None:
        """Ask for a session exported as one file and open it."""
        file = file_dialogs.ask_file(self._owner, "Open an exported session", SESSION_FILES)
        if file:
            self._library.open(Path(file))

    def ask_new(self) -> None:
        """Ask for a new folder and create a session in it."""
        folder, _ = file_dialogs.ask_new(self._owner, "New session: name its folder")
        if folder:
            self._library.create(Path(folder))

    def ask_import(self) -> None:
        """Ask for recordings and import them."""
        files = file_dialogs.ask_files(self._owner, "Import recordings", IMPORTABLE)
        if files:
            self._library.import_files([Path(file) for file in files])

    def ask_import_folder(self) -> None:
        """Ask for a folder and import every recording in it."""
        folder = file_dialogs.ask_folder(self._owner, "Import a folder of recordings")
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


def _paths(mime: QMimeData) -> list[Path]:
    return [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
