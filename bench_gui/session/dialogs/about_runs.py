"""Small questions about runs. None of them is modal: the stop button stays within reach whatever is open."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCompleter, QDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from bench_gui.session.runs.cells import TagField
from bench_gui.widgets.fields import button, describe, label
from core.words import counted

COMMON_REASONS = ("recovered after a crash", "the load slipped", "hit a stop", "wrong load noted", "test run")


class RunDialog(QDialog):
    """A title, what there is to say or enter, and buttons; deleted once it is answered."""

    def __init__(self, parent: QWidget, title: str, text: str) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        self.title = label(title, "title")
        column.addWidget(self.title)
        self.text = label(text, "muted")
        self.text.setWordWrap(True)
        self.text.setMinimumWidth(380)
        column.addWidget(self.text)
        self.body = QVBoxLayout()
        self.body.setSpacing(8)
        column.addLayout(self.body, 1)
        self.buttons = QHBoxLayout()
        self.buttons.addStretch(1)
        column.addLayout(self.buttons)

    def offer(self, text: str, tip: str, act: Callable[[], object], kind: str = "") -> QPushButton:
        """Add a button that does something and closes; the primary one answers Enter too."""

        def clicked() -> None:
            act()
            self.close()

        made = button(text, tip, clicked, kind)
        made.setAutoDefault(kind == "primary")
        made.setDefault(kind == "primary")
        self.buttons.addWidget(made)
        return made


class ExcludeDialog(RunDialog):
    """Why are these runs left out of fits?"""

    def __init__(self, parent: QWidget, count: int, known: Sequence[str], exclude: Callable[[str], object]) -> None:
        """known: reasons given before; exclude: called with the reason."""
        super().__init__(
            parent,
            f"Exclude {counted(count, 'run')} from fits",
            "Nothing is deleted: the recording stays as it is and can be included again.",
        )
        self.reason = describe(QLineEdit(), "Reason", "Why the run is not to be used; kept with the session")
        self.reason.setPlaceholderText("Reason, e.g. the load slipped")
        completer = QCompleter(list(dict.fromkeys((*known, *COMMON_REASONS))), self)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.reason.setCompleter(completer)
        self.body.addWidget(self.reason)
        self.offer("Cancel", "Change nothing", lambda: None)
        self.exclude_button = self.offer(
            "Exclude", "Leave the runs out of fits", lambda: exclude(self.reason.text()), "primary"
        )
        self.reason.textChanged.connect(self._check)
        self._check()

    def _check(self) -> None:
        there = bool(self.reason.text().strip())
        self.exclude_button.setEnabled(there)
        self.exclude_button.setToolTip("Leave the runs out of fits" if there else "Say why first")


class TagsDialog(RunDialog):
    """Tags of one run or of several."""

    def __init__(
        self,
        parent: QWidget,
        count: int,
        common: Sequence[str],
        known: list[str],
        changed: Callable[[tuple[str, ...]], object],
    ) -> None:
        """common: tags all of the runs have; changed: called with what stands for them now."""
        super().__init__(
            parent,
            f"Tags of {counted(count, 'run')}",
            "Separated by commas."
            if count == 1
            else "Tags all of these runs have, separated by commas; tags that only some have are left to them.",
        )
        self.field = TagField(known)
        self.field.setText("".join(f"{tag}, " for tag in common))
        self.field.setPlaceholderText("Tags, e.g. good, bench 2")
        self.body.addWidget(self.field)
        self.offer("Cancel", "Change nothing", lambda: None)
        self.offer("Set tags", "Give the runs these tags", lambda: changed(self.field.tags), "primary")
