"""Export: which model, for which program, into which folder, and how good what was written is."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QFont, QFontDatabase
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
)

from bench_gui.controller import Controller
from bench_gui.icons import icon
from bench_gui.places import as_person_writes
from bench_gui.theme import Theme
from bench_gui.units import significant
from bench_gui.widgets.fields import EmptyState, Section, button, choice, describe, label
from bench_gui.widgets.page import TaskPage
from bench_gui.work.tasks import Exported


class ExportView(TaskPage):
    """Writes one model for one target at a time."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._exported: Exported | None = None
        self._theme: Theme | None = None
        self._picked: str | None = None
        """The model a person chose; the recommended one until then."""
        source = Section("Model")
        self.model: QComboBox = choice("Model", "Which model to export")
        self.model.activated.connect(self._pick)
        source.wide(self.model)
        self.settings.addWidget(source)
        self._targets = Section("Target")
        self._group = QButtonGroup(self)
        self.targets: dict[str, QRadioButton] = {}
        self.settings.addWidget(self._targets)
        place = Section("Folder")
        self.folder: QLabel = label("Not chosen yet", "muted")
        self.folder.setWordWrap(True)
        self.folder.setAccessibleName("Export folder")
        self.folder_button: QPushButton = button("Choose…", "Choose the folder to export into", self.ask_folder)
        place.wide(self.folder)
        place.wide(self.folder_button)
        self.settings.addWidget(place)
        self.settings.addStretch(1)
        self.export_button: QPushButton = button("Export", "Write the model's files", self._export, "primary")
        self.export_button.setMinimumHeight(26)
        self.actions_column.addWidget(self.export_button)
        self._build_picture()
        self.set_empty_state(
            EmptyState(
                "Nothing exported yet",
                "Choose a model, a target and a folder at the right. Every export says in what units it is "
                "and how far its motion is from the identified model's.",
            )
        )
        self.show_empty(True)
        controller.shelf.changed.connect(self._offer)
        controller.exporting.targets_known.connect(self._offer_targets)
        controller.exporting.changed.connect(self._enable)
        controller.exporting.exported.connect(self._show)
        self._offer()
        self._offer_targets()

    def _build_picture(self) -> None:
        self.statement: QLabel = label("", "title")
        self.statement.setWordWrap(True)
        self.notes: QLabel = label("", "muted")
        self.notes.setWordWrap(True)
        head = QHBoxLayout()
        head.addWidget(self.statement, 1)
        self.show_folder: QPushButton = button("Show folder", "Open the folder of the exported files", self._reveal)
        head.addWidget(self.show_folder)
        self.centre.addLayout(head)
        self.centre.addWidget(self.notes)
        row = QHBoxLayout()
        row.setSpacing(10)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(4)
        right.setSpacing(4)
        self.files = describe(QListWidget(), "Written files", "Files that were written; select one to read it")
        self.files.currentTextChanged.connect(self._preview)
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.files.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = describe(QPlainTextEdit(), "File contents", "The beginning of the selected file")
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(12)
        font.setStyleHint(QFont.StyleHint.Monospace)
        self.text.setFont(font)
        left.addWidget(label("WRITTEN FILES", "heading"))
        left.addWidget(self.files, 1)
        right.addWidget(label("CONTENTS", "heading"))
        right.addWidget(self.text, 1)
        row.addLayout(left, 3)
        row.addLayout(right, 7)
        self.centre.addLayout(row, 1)

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        for place in range(self.files.count()):
            self.files.item(place).setIcon(icon("file", theme.muted, 16))

    def ask_folder(self) -> None:
        """Ask for the folder to export into."""
        folder = QFileDialog.getExistingDirectory(self.window(), "Export into a folder")
        if folder:
            self.set_folder(Path(folder))

    def set_folder(self, folder: Path) -> None:
        """Export into this folder."""
        self._controller.exporting.folder = folder
        shown = as_person_writes(folder)
        self.folder.setText(shown if len(shown) < 60 else f"…{shown[-58:]}")
        self.folder.setToolTip(shown)
        self._enable()

    def _offer(self) -> None:
        before = self._picked
        self.model.clear()
        for entry in self._controller.shelf.entries:
            best = "  ★ recommended" if entry.key == self._controller.shelf.recommended else ""
            name = entry.title if entry.origin != "identified" else f"{entry.title} identified"
            self.model.addItem(f"{entry.model.servo}  {name}{best}", entry.key)
        wanted = before if self.model.findData(before) >= 0 else self._controller.shelf.recommended
        self.model.setCurrentIndex(max(0, self.model.findData(wanted)))
        self._enable()

    def _pick(self) -> None:
        self._picked = self.model.currentData()

    def _offer_targets(self) -> None:
        for target in self._controller.exporting.targets:
            if target.target in self.targets:
                continue
            made = describe(QRadioButton(target.title), f"Export to {target.title}", target.description)
            made.setChecked(not self.targets)
            self._group.addButton(made)
            self._targets.wide(made)
            text = label(target.description, "muted")
            text.setWordWrap(True)
            text.setContentsMargins(20, 0, 0, 4)
            self._targets.wide(text)
            self.targets[target.target] = made
        self._enable()

    def _enable(self) -> None:
        exporting = self._controller.exporting
        ready = exporting.folder is not None and bool(self.targets) and self.model.count() > 0
        self.export_button.setEnabled(ready and not exporting.active)
        self.export_button.setText("Exporting…" if exporting.active else "Export")
        self.export_button.setToolTip("Write the model's files" if ready else "Choose a model, a target and a folder")

    def _export(self) -> None:
        target = next((name for name, made in self.targets.items() if made.isChecked()), "")
        self._controller.export(self.model.currentData() or "", target)

    def _show(self, exported: Exported) -> None:
        self._exported = exported
        self.files.clear()
        for file in exported.files:
            self.files.addItem(file.name)
        if self._theme is not None:
            self.set_theme(self._theme)
        if exported.error_mrad is None:
            statement = "Exact: this program reads the file back bit for bit"
        elif exported.error_mrad == 0.0:
            statement = "Exact up to the target's own time step"
        else:
            statement = f"Differs from the identified model by {significant(exported.error_mrad, 3)} mrad on average"
        self.statement.setText(statement)
        self.notes.setText("\n".join(f"•  {note}" for note in exported.notes))
        self.notes.setVisible(bool(exported.notes))
        self.files.setCurrentRow(0)
        self.show_empty(False)

    def _preview(self, name: str) -> None:
        self.text.setPlainText(self._exported.texts.get(name, "") if self._exported is not None else "")

    def _reveal(self) -> None:
        if self._exported is not None and self._exported.files:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._exported.files[0].parent)))
