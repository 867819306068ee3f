"""List of named benches: choose one, save the present one, rename or delete a saved one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDialog, QHBoxLayout, QLineEdit, QPushButton, QWidget

from bench_gui.connect.bench.presets import LONGEST_NAME, Preset, Presets, paper_presets
from bench_gui.state.setup import BenchSetup
from bench_gui.widgets.fields import MARGIN, Section, button, choice, describe, hbox, label, vbox
from core.base.errors import ServoBenchError
from core.base.words import capitalised

PROMPT = "Choose a bench…"
CHANGED = "{} (changed)"


class PresetsBar(Section):
    """The list shows the preset in use, and marks it when the bench has changed since."""

    def __init__(self, setup: BenchSetup, presets: Presets) -> None:
        super().__init__("Preset")
        self._setup, self._presets = setup, presets
        self._chosen = ""
        self.choice: QComboBox = choice("Preset", "Benches by name: your own first, then those of the paper")
        self.choice.activated.connect(lambda _: self._apply())
        self.wide(self.choice)
        buttons = QWidget()
        row = hbox(buttons)
        self.save_button: QPushButton = button(
            "Save…", "Save this bench and its gains under a name", self._ask_save, "small"
        )
        self.rename_button: QPushButton = button("Rename…", "", self._ask_rename, "small")
        self.delete_button: QPushButton = button("Delete", "", self._delete, "small")
        for made in (self.save_button, self.rename_button, self.delete_button):
            row.addWidget(made)
        row.addStretch(1)
        self.wide(buttons)
        self.dialog: NameDialog | None = None
        setup.changed.connect(self._show)
        presets.changed.connect(self._show)
        self._show()

    def _offered(self) -> dict[str, Preset]:
        paper = {preset.name: preset for preset in paper_presets(self._setup.spec)}
        return {**self._presets.own, **{n: p for n, p in paper.items() if n not in self._presets.own}}

    def _show(self) -> None:
        offered, own = self._offered(), self._presets.own
        if self._chosen not in offered:
            self._chosen = ""
        now, servo = self._setup.now, self._setup.spec.name
        as_it_was = bool(self._chosen) and offered[self._chosen].applied(now, servo) == now
        self.choice.clear()
        self.choice.addItem(PROMPT, "")
        for name in offered:
            changed = name == self._chosen and not as_it_was
            self.choice.addItem(CHANGED.format(name) if changed else name, name)
        if own:
            self.choice.insertSeparator(1 + len(own))
        self.choice.setCurrentIndex(max(0, self.choice.findData(self._chosen)))
        saved = self._chosen in own
        for made, act in (
            (self.rename_button, "Rename this bench"),
            (self.delete_button, "Delete this bench"),
        ):
            made.setEnabled(saved)
            made.setToolTip(act if saved else "Only for a bench that you saved: choose one in the list")

    def _apply(self) -> None:
        self._chosen = self.choice.currentData() or ""
        preset = self._offered().get(self._chosen)
        if preset is not None:
            self._setup.edit_all(f"bench {preset.name}", preset.applied(self._setup.now, self._setup.spec.name))
        self._show()

    def _ask_save(self) -> None:
        own = self._chosen if self._chosen in self._presets.own else ""
        bench = self._setup.bench
        proposal = own or f"{self._setup.spec.title}, {bench.mass:g} kg at {bench.length:g} m"
        self._ask("Save the bench", proposal, "Save", self._save)

    def _ask_rename(self) -> None:
        self._ask("Rename the bench", self._chosen, "Rename", self._rename)

    def _ask(self, title: str, name: str, act: str, take: Callable[[str], object]) -> None:
        self.dialog = NameDialog(self, title, name, act, take, self._presets)
        self.dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.dialog.finished.connect(lambda _: setattr(self, "dialog", None))
        self.dialog.open()

    def _save(self, name: str) -> None:
        self._presets.save(Preset.of(name, self._setup))
        self._choose(name)

    def _rename(self, name: str) -> None:
        self._presets.rename(self._chosen, name)
        self._choose(name)

    def _choose(self, name: str) -> None:
        self._chosen = " ".join(name.split())
        self._show()

    def _delete(self) -> None:
        self._presets.delete(self._chosen)


class NameDialog(QDialog):
    """Ask for a name; a problem with it is shown beside the field."""

    def __init__(
        self, parent: QWidget, title: str, name: str, act: str, take: Callable[[str], object], presets: Presets
    ) -> None:
        """Create the dialog.

        Args:
            parent: Window that the dialog belongs to.
            title: Title of the dialog.
            name: Name to start with.
            act: Text of the button.
            take: Receives the name; may raise ServoBenchError.
            presets: Existing presets, for the check of the name.
        """
        super().__init__(parent)
        self.setWindowTitle(title)
        self._take, self._presets, self._act = take, presets, act
        column = vbox(self, spacing=10, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        column.addWidget(label("Name"))
        self.name = describe(QLineEdit(name), "Name of the bench", "Name of the bench in the list")
        self.name.setMaxLength(LONGEST_NAME)
        self.name.setMinimumWidth(320)
        self.name.selectAll()
        self.name.textChanged.connect(lambda _: self._look())
        column.addWidget(self.name)
        self.remark = label("", "muted")
        self.remark.setWordWrap(True)
        column.addWidget(self.remark)
        row = QHBoxLayout()
        row.addStretch(1)
        self.cancel_button: QPushButton = button("Cancel", "Change nothing", self.reject)
        self.accept_button: QPushButton = button(act, f"{act} under this name", self._agree, "primary")
        self.accept_button.setDefault(True)
        row.addWidget(self.cancel_button)
        row.addWidget(self.accept_button)
        column.addLayout(row)
        self._look()

    def _look(self) -> None:
        name = " ".join(self.name.text().split())
        taken = name in self._presets.own
        self.accept_button.setEnabled(bool(name))
        self.remark.setText("A bench of this name exists; saving replaces it." if taken and self._act == "Save" else "")

    def _agree(self) -> None:
        try:
            self._take(self.name.text())
        except ServoBenchError as error:
            text = str(error)
            self.remark.setText(capitalised(text))
            return
        self.accept()
