"""File dialogs: the desktop's own if it has one; each begins where the last one ended, at first beside the session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QHeaderView, QTreeView, QWidget

from sessions.folders import home

Mode = QFileDialog.FileMode
SIZE = 860, 520
"""Size of Qt's own dialog, in which its columns are readable [px]."""


class _Present:
    """Place of the next dialog, and state of the motor."""

    def __init__(self) -> None:
        self.begin: Path | None = None
        """Folder in which the next dialog begins."""
        self.driven: Callable[[], bool] = lambda: False
        """Return True while a motor may be on: Esc in a dialog of the desktop, another program, would not stop it."""


PRESENT = _Present()


def ask_file(parent: QWidget, title: str, filters: str) -> str:
    """Ask for a file; empty if none was chosen."""
    return _first(ask(parent, title, Mode.ExistingFile, filters=filters)[0])


def ask_files(parent: QWidget, title: str, filters: str) -> list[str]:
    """Ask for files."""
    return ask(parent, title, Mode.ExistingFiles, filters=filters)[0]


def ask_folder(parent: QWidget, title: str, begin: Path | None = None) -> str:
    """Ask for a folder, inside `begin` if given; empty if none was chosen."""
    return _first(ask(parent, title, Mode.Directory, begin=begin)[0])


def ask_new(
    parent: QWidget, title: str, suggestion: str = "", filters: str = "", begin: Path | None = None
) -> tuple[str, str]:
    """Ask for the name of a new file or folder; return it, empty if none was given, and the chosen filter."""
    found, chosen = ask(parent, title, Mode.AnyFile, filters=filters, begin=begin, suggestion=suggestion)
    return _first(found), chosen


def ask(
    parent: QWidget, title: str, mode: Mode, *, filters: str = "", begin: Path | None = None, suggestion: str = ""
) -> tuple[list[str], str]:
    """Show a dialog until it is closed; return what was chosen, and the filter."""
    dialog = QFileDialog(parent, title, str(begin or PRESENT.begin or home()))
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog, on=PRESENT.driven())
    dialog.setOption(QFileDialog.Option.ShowDirsOnly, on=mode is Mode.Directory)
    dialog.setFileMode(mode)
    if mode is Mode.AnyFile:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    if filters:
        dialog.setNameFilter(filters)
    if suggestion:
        dialog.selectFile(suggestion)
    files = dialog.findChild(QTreeView, "treeView")  # Qt's own dialog has one
    if isinstance(files, QTreeView):
        dialog.resize(*SIZE)
        header = files.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    found = dialog.selectedFiles() if dialog.exec() else []
    chosen = dialog.selectedNameFilter()
    dialog.deleteLater()
    if found:
        PRESENT.begin = Path(found[0]).parent
    return found, chosen


def _first(found: list[str]) -> str:
    return found[0] if found else ""
