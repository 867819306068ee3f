"""Export page: choose a model and a program, and preview the files and their error before writing."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QFont, QFontDatabase
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
)

from bench_gui import file_dialogs
from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.export.options_form import OptionsForm
from bench_gui.headless.exporting import Exported
from bench_gui.icons import icon
from bench_gui.state.models import ModelEntry
from bench_gui.theme import themes
from bench_gui.widgets.fields import EmptyState, Section, button, choice, describe, hbox, label
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.units import readable
from core.base.words import capitalised
from sessions.folders import as_person_writes, home

PREVIEW_AFTER = 300
"""Choices that follow each other faster than this share one preview [ms]."""
EXPORTS = "exports"
"""Folder beside the session in which each export gets a folder of its own."""
NOT_CHECKED = "Not checked yet"


class ExportView(TaskPage):
    """Writes one model for one target at a time."""

    help_page = "export"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._shown: Exported | None = None
        self._picked: str | None = None
        """The user's choice of model; None: the bench's model."""
        self._begun = ("", "")
        self._previewed: tuple[Any, str, dict[str, Any]] | None = None
        """The choice whose preview is shown or being prepared."""
        self._own_folder = False
        """True once the user has named a folder."""
        self._build_settings()
        self._build_picture()
        self.set_empty_state(
            EmptyState("No model to export", "Identify a model, or open a model file: File, Open model file…")
        )
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PREVIEW_AFTER)
        self._timer.timeout.connect(self._preview)
        exporting = controller.exporting
        controller.model_list.changed.connect(self._offer)
        controller.model_list.current_changed.connect(self._offer)
        controller.setup.changed.connect(self._changed)
        controller.library.opened.connect(self._place)
        exporting.targets_known.connect(self._offer_targets)
        exporting.changed.connect(self._enable)
        exporting.previewed.connect(self._show_preview)
        exporting.preview_failed.connect(self._clear)
        exporting.exported.connect(self._show_export)
        exporting.checked.connect(self._show_check)
        self._offer()
        self._offer_targets()
        themes.changed.connect(self._paint)

    def actions_offered(self) -> list[ActionSpec]:
        return [
            ActionSpec("Choose the export folder…", self.ask_folder),
            ActionSpec("Export the model", self._export, enabled=self.export_button.isEnabled),
            ActionSpec("Check the export in its engine", self._check, enabled=self.check_button.isEnabled),
        ]

    def _build_settings(self) -> None:
        source = Section("Model")
        self.model: QComboBox = choice("Model", "Model to export")
        self.model.activated.connect(self._pick)
        source.wide(self.model)
        self.whole_robot: QLabel = label("", "muted")
        self.whole_robot.setWordWrap(True)
        self.whole_robot.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        source.wide(self.whole_robot)
        self.settings.addWidget(source)
        self._targets = Section("Target")
        self.target: QComboBox = choice("Target", "Program to export for")
        self.target.setPlaceholderText("Reading the list…")
        self.target.currentIndexChanged.connect(self._choose_target)
        self._targets.wide(self.target)
        self.settings.addWidget(self._targets)
        self.form = OptionsForm(self._controller.setup)
        self.form.changed.connect(self._changed)
        self.settings.addWidget(self.form)
        place = Section("Folder")
        self.folder = describe(QLineEdit(), "Export folder", "Folder to export into; made if it does not exist")
        self.folder.editingFinished.connect(self._take_folder)
        self.folder_button: QPushButton = button("Choose…", "Choose the folder to export into", self.ask_folder)
        place.wide(self.folder)
        place.wide(self.folder_button)
        self.force = QCheckBox("Replace existing files")
        describe(self.force, "Replace existing files", "Replace files in the folder that differ from the export")
        place.wide(self.force)
        self.settings.addWidget(place)
        self.settings.addStretch(1)
        self.export_button = StartButton("Export", "Write the files", self._export, self.form)
        self.export_button.setMinimumHeight(26)
        self.check_button = StartButton(
            "Check", "Simulate the four trajectories with the exported files", self._check, self.form, kind=""
        )
        self.actions_column.addWidget(self.check_button)
        self.actions_column.addWidget(self.export_button)

    def _build_picture(self) -> None:
        self.statement: QLabel = label("", "title")
        self.statement.setWordWrap(True)
        self.error, self.lost, self.notes = (label("", role) for role in ("", "", "muted"))
        for each in (self.error, self.lost, self.notes):
            each.setWordWrap(True)
            each.setTextFormat(Qt.TextFormat.MarkdownText)
        self.more: QPushButton = button("More", "Show or hide the rest of what the README says", self._fold, "flat")
        self.more.setCheckable(True)
        head = QHBoxLayout()
        head.addWidget(self.statement, 1)
        self.show_folder: QPushButton = button("Show folder", "Open the folder of the exported files", self._reveal)
        self.show_folder.hide()
        head.addWidget(self.show_folder)
        self.centre.addLayout(head)
        self.centre.addWidget(self.error)
        self.centre.addWidget(self.lost)
        self.centre.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)
        self.centre.addWidget(self.notes)
        row = hbox(spacing=10)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(4)
        right.setSpacing(4)
        self.files = describe(QListWidget(), "Files", "Files of the export; select one to view it")
        self.files.currentTextChanged.connect(self._read)
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.files.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = describe(QPlainTextEdit(), "File contents", "The beginning of the selected file")
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(12)
        font.setStyleHint(QFont.StyleHint.Monospace)
        self.text.setFont(font)
        self.files_title = label("FILES TO WRITE", "heading")
        left.addWidget(self.files_title)
        left.addWidget(self.files, 1)
        right.addWidget(label("CONTENTS", "heading"))
        right.addWidget(self.text, 1)
        row.addLayout(left, 3)
        row.addLayout(right, 7)
        self.centre.addLayout(row, 1)

    def entered(self) -> None:
        """Preview the choices made while the page was hidden."""
        if self._previewed is None:
            self._timer.start()

    def ask_folder(self) -> None:
        """Ask for the folder to export into."""
        begin = next(each for each in (self._exports, *self._exports.parents) if each.is_dir())
        folder = file_dialogs.ask_folder(self, "Export into a folder", begin)
        if folder:
            self.set_folder(Path(folder))

    def set_folder(self, folder: Path) -> None:
        """Set the folder to export into; it is made by the export."""
        self._own_folder = True
        self._use_folder(folder)

    def _take_folder(self) -> None:
        """Take the folder that was typed, beside the default one if it is relative; if there is none, the default."""
        text = self.folder.text().strip()
        if self.folder.isModified() and text:
            self.set_folder(self._exports / Path(text).expanduser())
        elif self.folder.isModified():
            self._own_folder = False
            self._place()

    @property
    def _exports(self) -> Path:
        path = self._controller.library.path
        return (home() if path is None else path.parent) / EXPORTS

    def _place(self) -> None:
        """Export beside the open session, unless the user has named a folder."""
        if not self._own_folder and self._shown is not None:
            self._use_folder(self._exports / self._shown.name)

    def _use_folder(self, folder: Path) -> None:
        self._controller.exporting.set_folder(folder)
        self.folder.setText(as_person_writes(folder))
        self.folder.setToolTip(f"{folder}; made if it does not exist")
        self.show_folder.hide()
        self._enable()

    # Choices.

    def _paint(self) -> None:
        for place in range(self.files.count()):
            self.files.item(place).setIcon(icon("file", themes.current.muted, 16))

    @property
    def _entry(self) -> ModelEntry | None:
        return self._controller.model_list.entry(self.model.currentData() or "")

    @property
    def _target(self) -> str:
        return self.target.currentData() or ""

    def choose_target(self, name: str) -> None:
        """Choose a target by its name on the command line."""
        self.target.setCurrentIndex(self.target.findData(name))

    def _offer(self) -> None:
        model_list = self._controller.model_list
        current = model_list.current.key if model_list.current is not None else ""
        self.model.clear()
        for entry in model_list.entries:
            recommended = "  ★ recommended" if entry.key == model_list.recommended else ""
            mark = "  ● in use" if entry.key == current else recommended
            name = entry.title if entry.origin != "identified" else f"{entry.title} identified"
            self.model.addItem(f"{entry.model.servo}  {name}{mark}", entry.key)
        wanted = self._picked if self._picked and self.model.findData(self._picked) >= 0 else current
        self.model.setCurrentIndex(max(0, self.model.findData(wanted)))
        self.show_empty(self.model.count() == 0)
        self._begin_options()
        self._changed()

    def _pick(self) -> None:
        self._picked = self.model.currentData()
        self._begin_options()
        self._changed()

    def _offer_targets(self) -> None:
        with QSignalBlocker(self.target):
            for name, target in self._controller.exporting.targets.items():
                if self.target.findData(name) < 0:
                    self.target.addItem(target.title, name)
            if self.target.currentIndex() < 0 < self.target.count():
                self.target.setCurrentIndex(0)
        self.target.setMaxVisibleItems(20)
        self._choose_target()

    def _choose_target(self) -> None:
        target = self._controller.exporting.targets.get(self._target)
        self.form.suit(target.options if target is not None else (), target.choices if target is not None else {})
        self._changed()

    def _begin_options(self) -> None:
        """Start from the bench's gain for a model of its servo, from the recorded one for a joint, else the model's."""
        entry, setup, robot = self._entry, self._controller.setup, self._controller.identifying.robot.kept
        of_joint = robot is not None and entry is not None and bool(entry.joint)
        self.whole_robot.setVisible(of_joint)
        if entry is None:
            return
        own = entry.model.servo == setup.spec.name and not of_joint
        begun = (entry.model.servo, entry.joint or ("bench" if own else "model"))
        settings = entry.model.default_settings()
        if robot is not None and of_joint:
            settings = robot.known.settings[entry.joint]
            whole = f"bench robot export {quote(str(robot.folder))} --to TARGET -o FOLDER"
            self.whole_robot.setText(f"One joint of a robot. To export the whole robot: {whole}")
        if begun != self._begun:
            self._begun = begun
            self.form.begin(setup.kp if own else settings.kp, settings.supply_voltage)

    def _changed(self) -> None:
        """Clear the page if another export was chosen, and prepare its preview."""
        if self._previewed is None or self._chosen() != self._previewed:
            self._previewed = None
            self._clear("Preparing the preview…")
            if self.isVisible():
                self._timer.start()

    # Actions.

    def _chosen(self) -> tuple[Any, str, dict[str, Any]] | None:
        entry, target = self._entry, self._target
        return (entry.model, target, self.form.options()) if entry is not None and target else None

    def _preview(self) -> None:
        chosen = self._chosen()
        if chosen is not None and self.isVisible():
            self._previewed = chosen
            self._controller.exporting.preview(*chosen)

    def _export(self) -> None:
        self._take_folder()
        chosen = None if held_by(self.form) else self._chosen()
        if chosen is not None:
            self._controller.exporting.export(*chosen, force=self.force.isChecked())

    def _check(self) -> None:
        chosen = None if held_by(self.form) else self._chosen()
        if chosen is not None:
            self._controller.exporting.check(*chosen)

    def _enable(self) -> None:
        exporting = self._controller.exporting
        target = exporting.targets.get(self._target)
        what = target is not None and self.model.count() > 0
        idle = not (exporting.active or exporting.checking)
        ready = self._shown is not None
        self.export_button.setEnabled(ready and idle)
        self.export_button.setText("Exporting…" if exporting.active else "Export")
        self.export_button.setToolTip("Write the files" if ready else "The preview of these files must be there first")
        engine = target.engine if target is not None else ""
        there = target is not None and target.engine_there
        self.check_button.setVisible(target is not None)
        self.check_button.setEnabled(what and there and idle)
        self.check_button.setText("Checking…" if exporting.checking else f"Check in {engine}" if engine else "Check")
        self.check_button.setToolTip(
            f"{engine} is not installed here: pip install {target.install}"
            if target is not None and not there
            else f"Simulate the four trajectories{' in ' + engine if engine else ''}, compare with the model's motion"
        )

    # Results.

    def _clear(self, why: str) -> None:
        """Show why there are no files."""
        self._shown = None
        self.files.clear()
        self.text.clear()
        for part in (self.error, self.lost, self.more, self.notes, self.show_folder):
            part.hide()
        self.statement.setText(capitalised(why))
        self._enable()

    def _fold(self) -> None:
        self.more.setText("Less" if self.more.isChecked() else "More")
        self.notes.setVisible(self.more.isChecked())

    def _show_preview(self, exported: Exported) -> None:
        """Show a preview, unless another one is about to be asked for."""
        if self._previewed is not None:
            self._show(exported)

    def _show_export(self, exported: Exported) -> None:
        job = self._controller.exporting.writer.job
        if job is not None and job.choice == self._chosen():
            self._show(exported)
            self.files_title.setText("WRITTEN FILES")
            self.show_folder.show()

    def _show_check(self) -> None:
        """Show the check of the chosen files, or that there is none, and the notes."""
        chosen = self._chosen()
        if self._shown is None or chosen is None:
            return
        found = self._controller.exporting.check_of(*chosen)
        lost, *others = self._shown.notes
        if found is None:
            target = self._controller.exporting.targets[self._target]
            how = f"*{f'Check in {target.engine}' if target.engine else 'Check'}* compares its motion with the model's"
            self.error.setText(f"{NOT_CHECKED}: {how if target.engine_there else self.check_button.toolTip()}.")
        else:
            self.error.setText(f"{capitalised(found.figure)}.")
            others = [found.statement, *others]
        self.lost.setText(readable(lost))
        self.notes.setText("\n".join(f"- {readable(note)}" for note in others))

    def _show(self, exported: Exported) -> None:
        chosen = self.files.currentItem().text() if self.files.currentItem() is not None else ""
        self._shown = exported
        self.statement.setText(self._controller.exporting.targets[self._target].description)
        self.files_title.setText("FILES TO WRITE")
        for part in (self.error, self.lost, self.more):
            part.show()
        self._fold()
        self._place()
        self._enable()
        with QSignalBlocker(self.files):
            self.files.clear()
            for file in exported.files:
                self.files.addItem(file.name)
        self._paint()
        self._show_check()
        names = [file.name for file in exported.files]
        self.files.setCurrentRow(names.index(chosen) if chosen in names else 0)

    def _read(self, name: str) -> None:
        self.text.setPlainText(self._shown.texts.get(name, "") if self._shown is not None else "")

    def _reveal(self) -> None:
        if self._shown is not None and self._shown.files:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._shown.files[0].parent)))
