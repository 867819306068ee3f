"""Session panel at the bottom of the window: runs, filter, and buttons for opening and importing."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QFrame, QMenu, QStackedLayout, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.session.dialogs.opening import Opening
from bench_gui.session.dialogs.questions import Questions
from bench_gui.session.dialogs.recovery_dialog import RecoveryDialog
from bench_gui.session.head import SessionHead
from bench_gui.session.runs.cells import split_tags
from bench_gui.session.runs.filter import parse_filter
from bench_gui.session.runs.table import NOTE, TAGS
from bench_gui.session.runs.view import RunView
from bench_gui.state.editing import RunEditing
from bench_gui.widgets.fields import EmptyState, button, vbox
from core.base.units import grouped
from core.base.words import counted

LEAST = 48
"""Minimum height of the table [px]."""
PROGRESS_PERIOD = 200
"""Update period of the number of files read [ms]."""
TABLE, NO_RUNS, NO_MATCH, DROP = range(4)


class SessionPanel(QFrame):
    """Selected runs are compared and identified; without a selection, all that are not excluded."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setObjectName("sessionBar")
        self.setAcceptDrops(True)
        self._controller = controller
        self._library = library = controller.library
        self.editing = RunEditing(library, controller.undo)
        self.opening = Opening(self, library)
        self.questions = Questions(self, controller, self.editing)
        self.head = SessionHead(
            controller,
            self.questions,
            self.include,
            opening=(
                ("Open session…", "Open a session folder", self.opening.ask_open),
                (
                    "Open session file…",
                    "Open a session exported as one .h5 file, read-only",
                    self.opening.ask_open_file,
                ),
                ("New session…", "Create a session in a new folder", self.opening.ask_new),
                ("Open the example", "Eight recordings of a real XL330", library.open_example),
            ),
            importing=(
                (
                    "Import recordings…",
                    "BAM logs (.json), tables (.csv, .npz, .parquet), single runs (.h5)",
                    self.opening.ask_import,
                ),
                (
                    "Import a folder…",
                    "Import all recordings in a folder and its subfolders",
                    self.opening.ask_import_folder,
                ),
            ),
        )
        """Title of the dock with the panel."""
        self.title, self.count = self.head.title, self.head.count
        self.view = RunView(library, self._edited)
        self.table, self.model = self.view, self.view.runs
        self.empty = EmptyState("No runs yet", "")
        clear = button("Clear the filter", "Show all runs", self.clear_filter)
        no_match = EmptyState("No run matches the filter", "", clear)
        drop = EmptyState("Drop here", "Sessions are opened, recordings are imported.")
        column = vbox(self, margins=(12, 2, 12, 8))
        below = QWidget()
        below.setMinimumHeight(LEAST)
        self._stack = QStackedLayout(below)
        self._stack.setContentsMargins(0, 0, 0, 0)
        for page in (self.view, self.empty, no_match, drop):
            self._stack.addWidget(page)
        column.addWidget(below, 1)
        self.view.customContextMenuRequested.connect(self._show_menu)
        self.head.filter.textChanged.connect(self._filter)
        self.view.order.rowsInserted.connect(self._show_page)
        self.view.order.modelReset.connect(self._show_page)
        library.runs_changed.connect(self._show)
        library.locked_changed.connect(self._show)
        library.annotations_changed.connect(self._show_annotations)
        library.selection_changed.connect(self._count)
        library.recovered.connect(lambda found: RecoveryDialog(self, found, self.editing.exclude).show())
        library.table_found.connect(self.questions.ask_columns)
        library.servo_unclear.connect(self.questions.ask_variant)
        self._progress = QTimer(self)
        self._progress.setInterval(PROGRESS_PERIOD)
        self._progress.timeout.connect(self._show_progress)
        self._show()

    # Selection and filter.

    def select(self, ids: list[str]) -> None:
        """Select runs by id."""
        self._library.select(ids)

    def select_shown(self) -> None:
        """Select all runs that match the filter."""
        self.view.selectAll()

    def focus_filter(self) -> None:
        """Put the keyboard focus on the filter."""
        self.head.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.head.filter.selectAll()

    def clear_filter(self) -> None:
        """Show all runs."""
        self.head.filter.clear()

    def include(self) -> None:
        """Include the excluded ones of the selected runs in fits again."""
        self.editing.include(i for i in self._library.selected if self._library.annotation(i).excluded)

    def actions_offered(self) -> list[ActionSpec]:
        """Return the actions of the session and its runs, for menus and command palette."""
        chosen = self._library
        return [
            ActionSpec("&Filter runs", self.focus_filter, "Ctrl+F", "Show only matching runs", self._has_runs),
            ActionSpec(
                "Select all runs &shown", self.select_shown, "", "Select the runs that match the filter", self._has_runs
            ),
            ActionSpec(
                "Select &none",
                lambda: self.select([]),
                tip="Use all complete runs that are not excluded",
                enabled=lambda: bool(chosen.selected),
            ),
            *self._run_actions(),
        ]

    # Drag and drop.

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Show where to drop."""
        if self.opening.can_take(event.mimeData()):
            event.acceptProposedAction()
            self._stack.setCurrentIndex(DROP)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Show the runs again."""
        self._show_page()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open or import the dropped paths."""
        event.acceptProposedAction()
        self._show_page()
        self.opening.take(event.mimeData())

    # Internals.

    def _run_actions(self) -> list[ActionSpec]:
        """Return the actions of the selected runs, also used in the table's context menu."""
        questions = self.questions
        one, some, excluded = self._can_edit_one, self._can_edit, self._can_include
        return [
            ActionSpec("Edit the &note", lambda: self._edit_cell(NOTE), "", "Edit the note of one selected run", one),
            ActionSpec("Set &tags…", questions.ask_tags, "", "Set tags of the selected runs", some),
            ActionSpec(
                "&Exclude from fits…", questions.ask_reason, "", "Exclude the selected runs, with a reason", some
            ),
            ActionSpec("&Include in fits", self.include, "", "Include the selected runs again", excluded),
            ActionSpec("T&rim…", questions.ask_trim, "", "Use only a part of one selected run", one),
        ]

    def _show(self) -> None:
        library = self._library
        self.title.setText(library.title or "No session")
        self.head.set_path(library.path, library.locked)
        self.view.show_runs()
        if library.loading:
            self.empty.title.setText("Opening…")
            self._show_progress()
            self._progress.start()
        else:
            self._progress.stop()
            self.empty.title.setText("No runs yet")
            self.empty.text.setText("Record, import, open the example, or drop recordings or a session here.")
        self._show_page()

    def _show_progress(self) -> None:
        """Show progress; only sessions without an index take long enough."""
        read, total = self._library.progress
        text = f"{grouped(read)} of {grouped(total)} runs read; the next time is faster"
        self.empty.text.setText(text if total else "")
        if total and self._library.runs:
            self.count.setText(f"opening: {read} of {counted(total, 'run')} read")

    def _show_annotations(self) -> None:
        self.view.runs.show_annotations()
        self._count()

    def _show_page(self) -> None:
        filled = TABLE if self.view.order.rowCount() else NO_MATCH
        self._stack.setCurrentIndex(filled if self._library.runs else NO_RUNS)
        self._count()

    def _count(self) -> None:
        library = self._library
        total, shown, chosen = len(library.runs), self.view.order.rowCount(), len(library.selected)
        parts = [] if not library.title else [("" if shown == total else f"{shown} of ") + counted(total, "run")]
        if chosen:
            hidden = sum(self.view.order.row_of(identity) < 0 for identity in library.selected)
            parts.append(f"{chosen} selected" + (f" ({hidden} hidden)" if hidden else ""))
        rows = self.view.runs
        excluded = sum(annotation.excluded and rows.row_of(run) >= 0 for run, annotation in library.annotations.items())
        used = library.for_fit()
        left_out = "" if chosen > 1 else library.left_out(used)
        if left_out:
            parts.append(f"used: {library.selection(used).brief}")
        elif excluded:
            parts.append(f"{excluded} excluded")
        self.count.setToolTip(left_out)
        self.count.setText(", ".join(parts))
        self.head.show_selection(chosen, self._can_edit(), self._can_edit_one(), self._can_include())

    def _filter(self, text: str) -> None:
        wanted = parse_filter(text)
        self.head.say(wanted.problems)
        self.view.set_filter(wanted)
        self._show_page()

    def _edited(self, identity: str, column: int, text: str) -> None:
        if column == TAGS:
            self.editing.set_tags(identity, split_tags(text))
        else:
            self.editing.set_note(identity, text)

    def _edit_cell(self, column: int) -> None:
        row = self.view.order.row_of(self._library.selected[0])
        if row >= 0:
            cell = self.view.order.index(row, column)
            self.view.setCurrentIndex(cell)
            self.view.edit(cell)

    def _has_runs(self) -> bool:
        return bool(self._library.runs)

    def _can_edit(self) -> bool:
        return bool(self._library.selected) and not self._library.read_only

    def _can_edit_one(self) -> bool:
        return len(self._library.selected) == 1 and not self._library.read_only

    def _can_include(self) -> bool:
        return self._can_edit() and any(self._library.annotation(i).excluded for i in self._library.selected)

    def _show_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for spec in self._run_actions():
            action = menu.addAction(spec.text)
            action.setToolTip(spec.tip)
            action.setEnabled(spec.enabled is None or spec.enabled())
            action.triggered.connect(lambda _=False, spec=spec: spec.act())
        menu.addSeparator()
        menu.addAction("Select all runs &shown").triggered.connect(self.select_shown)
        menu.popup(self.view.viewport().mapToGlobal(at))
