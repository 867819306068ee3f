"""Check boxes of the models to compare: identified ones, those from files, and the catalogue's."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget

from bench_gui.compare.comparison import Comparison
from bench_gui.icons import line_icon
from bench_gui.state.models import CATALOGUE, FILE, IDENTIFIED, ModelEntry, ModelList
from bench_gui.theme import themes
from bench_gui.widgets.fields import Section, describe, label, vbox
from core.servo.terms import FRICTION_TITLES

_ORIGINS = ((IDENTIFIED, "Identified"), (FILE, "Opened files"), (CATALOGUE, "Catalogue"))
SPACING = 14
"""Spacing as between the parts of the inspector [px]."""


class ModelChoice(QWidget):
    """Follows the model list; checked models are compared."""

    def __init__(self, model_list: ModelList, comparison: Comparison) -> None:
        super().__init__()
        self._model_list, self._comparison = model_list, comparison
        column = vbox(self, spacing=SPACING)
        self._hint: QLabel = label("Identify models to compare them here.", "muted")
        self._hint.setWordWrap(True)
        column.addWidget(self._hint)
        self._sections = {origin: Section(heading) for origin, heading in _ORIGINS}
        for section in self._sections.values():
            column.addWidget(section)
        column.addWidget(label("★ recommended", "muted"))
        self.boxes: dict[str, QCheckBox] = {}
        """Check box by key of the model."""
        model_list.changed.connect(self._offer)
        comparison.choice_changed.connect(self._mark)
        self._offer()
        themes.changed.connect(self._colour)

    def _offer(self) -> None:
        for section in self._sections.values():
            section.clear()
        self.boxes.clear()
        for entry in self._model_list.entries:
            box = QCheckBox(self._title(entry))
            box.setChecked(entry.key in self._comparison.chosen)
            box.setIconSize(QSize(22, 10))
            of = f" of {entry.joint}" if entry.joint else ""
            describe(box, f"Compare {entry.title}", f"Simulate the chosen runs{of} with {entry.model.title}")
            box.toggled.connect(lambda _: self._choose())
            self._sections[entry.origin].wide(box)
            self.boxes[entry.key] = box
        origins = {entry.origin for entry in self._model_list.entries}
        for origin, section in self._sections.items():
            section.setVisible(origin in origins)
        self._hint.setVisible(IDENTIFIED not in origins)
        self._colour()

    def _title(self, entry: ModelEntry) -> str:
        name = f"{entry.model.friction.upper()}  {FRICTION_TITLES[entry.model.friction]}"
        if entry.joint:
            return entry.title
        if entry.origin == FILE:
            return f"{entry.model.friction.upper()}  {Path(entry.key).name}"
        best = entry.origin == IDENTIFIED and entry.key == self._model_list.recommended
        return f"{name}  ★" if best else name

    def _colour(self) -> None:
        for key, box in self.boxes.items():
            entry = self._model_list.entry(key)
            if entry is not None:
                box.setIcon(line_icon(entry.style))

    def _choose(self) -> None:
        self._comparison.choose(tuple(key for key, box in self.boxes.items() if box.isChecked()))

    def _mark(self) -> None:
        for key, box in self.boxes.items():
            with QSignalBlocker(box):
                box.setChecked(key in self._comparison.chosen)
