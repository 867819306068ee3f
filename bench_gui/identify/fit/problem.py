"""Inline error card with a button that applies the suggested fix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QPushButton

from bench_gui.widgets.fields import button, describe, restyle
from core.base.words import capitalised


@dataclass(frozen=True)
class Way:
    """Suggested fix: text of its button, longer description, and action."""

    text: str
    act: Callable[[], object]
    tip: str


class ProblemCard(QFrame):
    """Hidden until there is a problem; stays until it is solved, replaced or cleared."""

    def __init__(self, direction: QBoxLayout.Direction = QBoxLayout.Direction.LeftToRight) -> None:
        super().__init__()
        self.setObjectName("messageBar")
        row = QBoxLayout(direction, self)
        row.setContentsMargins(10, 5, 8, 5)
        row.setSpacing(8)
        self.text: QLabel = describe(QLabel(), "Problem", "Problem and suggested fix")
        self.text.setWordWrap(True)
        row.addWidget(self.text, 1)
        self.button: QPushButton = button("Change it", "Apply the suggested fix", self._act, "small")
        row.addWidget(self.button)
        self._way: Way | None = None
        self.hide()

    def show_problem(self, text: str, way: Way | None = None, level: str = "error") -> None:
        """Show a problem; way: suggested fix, None if unknown."""
        self.text.setText(capitalised(text))
        self._way = way
        self.button.setVisible(way is not None)
        if way is not None:
            self.button.setText(way.text)
            describe(self.button, way.text, way.tip)
        restyle(self, "level", level)
        self.show()

    def clear(self) -> None:
        """Hide the problem."""
        self._way = None
        self.hide()

    def _act(self) -> None:
        if self._way is not None:
            self._way.act()
