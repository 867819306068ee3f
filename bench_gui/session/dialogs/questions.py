"""Dialogs for annotating the selected runs; answers go to `RunEditing`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from bench_gui.controller import Controller
from bench_gui.session.dialogs.about_runs import ExcludeDialog, RunDialog, TagsDialog, VariantDialog
from bench_gui.session.dialogs.table_dialog import TableDialog
from bench_gui.session.dialogs.trim_dialog import TrimDialog
from bench_gui.state.editing import RunEditing

if TYPE_CHECKING:
    from core.motion.recording import Recording
    from sessions.importers import TableImport, UnclearServoError, UnknownTableError

MOST_TABLES = 50
"""Most kinds of tables whose columns are remembered."""


class Questions:
    """Shows one dialog at a time, about the runs that were selected when it opened."""

    def __init__(self, owner: QWidget, controller: Controller, editing: RunEditing) -> None:
        """Create the questions; owner: a widget of the window with the dialogs."""
        self._owner = owner
        self._controller = controller
        self._library = controller.library
        self._editing = editing
        self.dialog: RunDialog | None = None
        """Open dialog, if any."""
        self._trim: TrimDialog | None = None
        self._asked = 0
        self._library.opened.connect(self._withdraw)

    def ask_tags(self) -> None:
        """Ask for the tags of the selected runs."""
        ids = self._library.selected
        if not ids:
            return
        all_tags = [self._library.annotation(identity).tags for identity in ids]
        common = [tag for tag in all_tags[0] if all(tag in tags for tags in all_tags)]

        def changed(tags: tuple[str, ...]) -> None:
            self._editing.change_tags(ids, tags, [tag for tag in common if tag not in tags])

        self._ask(TagsDialog(self._owner, len(ids), common, self._library.known_tags(), changed))

    def ask_reason(self) -> None:
        """Ask for the reason to exclude the selected runs."""
        ids = self._library.selected
        if not ids:
            return
        known = sorted({annotation.reason for annotation in self._library.annotations.values() if annotation.reason})
        self._ask(ExcludeDialog(self._owner, len(ids), known, lambda reason: self._editing.exclude(ids, reason)))

    def ask_trim(self) -> None:
        """Ask for the part of the selected run to use."""
        runs = [run for run in self._library.runs if run.id in self._library.selected]
        if len(runs) != 1:
            return
        run = runs[0]
        self._withdraw()
        if self._trim is None:
            self._trim = TrimDialog(self._owner)
            self._trim.finished.connect(lambda _: self._answered(self._trim))
        self.dialog = dialog = self._trim
        dialog.ask(
            run,
            self._library.annotation(run.id),
            self._controller.angle_unit,
            lambda begin, end: self._editing.trim(run.id, begin, end),
        )
        asked = self._asked = self._asked + 1

        def loaded(recordings: list[Recording]) -> None:
            if self.dialog is dialog and asked == self._asked:
                dialog.show_recording(recordings[0])

        self._library.load([run.id], loaded)

    def ask_columns(self, paths: list[Path], table: UnknownTableError) -> None:
        """Ask for the meaning of a table's columns, then import the paths; the answer is stored for similar tables."""
        settings, key = self._controller.settings, "\t".join(table.names)

        def answered(tables: TableImport, columns: str) -> None:
            others = {names: text for names, text in settings.tables.items() if names != key}
            settings.set("tables", dict([*others.items(), (key, columns)][-MOST_TABLES:]))
            self._library.import_files(paths, tables)

        columns, servo = settings.tables.get(key, table.guess), self._library.main_servo()
        self._ask(TableDialog(self._owner, paths, table, columns, servo, answered))

    def ask_variant(self, error: UnclearServoError, answered: Callable[[str], object]) -> None:
        """Ask which variant of a servo a log is of; answered: called with its name."""
        self._ask(VariantDialog(self._owner, error.reason, error.servos, answered))

    def _ask(self, dialog: RunDialog) -> None:
        self._withdraw()
        self.dialog = dialog
        dialog.finished.connect(lambda _: self._answered(dialog))
        dialog.show()

    def _answered(self, dialog: RunDialog | None) -> None:
        if self.dialog is dialog:
            self.dialog = None

    def _withdraw(self) -> None:
        """Close the dialog, since another session or question is open."""
        if self.dialog is not None:
            self.dialog.close()
