"""What is wrong, in its place, with a button that changes what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QBoxLayout, QFrame, QLabel, QPushButton

from bench_gui.widgets.fields import button, describe, restyle
from core.words import capitalised


@dataclass(frozen=True)
class Way:
    """A way out: what the button says, what it does, and what it will do in more words."""

    text: str
    act: Callable[[], object]
    tip: str


class ProblemCard(QFrame):
    """Hidden until there is a problem; stays until it is solved, another one comes, or it is cleared."""

    def __init__(self, direction: QBoxLayout.Direction = QBoxLayout.Direction.LeftToRight) -> None:
        super().__init__()
        self.setObjectName("messageBar")
        row = QBoxLayout(direction, self)
        row.setContentsMargins(10, 5, 8, 5)
        row.setSpacing(8)
        self.text: QLabel = describe(QLabel(), "Problem", "What is wrong and what would help")
        self.text.setWordWrap(True)
        row.addWidget(self.text, 1)
        self.button: QPushButton = button("Change it", "Change what is wrong", self._act, "small")
        row.addWidget(self.button)
        self._way: Way | None = None
        self.hide()

    def show_problem(self, text: str, way: Way | None = None, level: str = "error") -> None:
        """Say what is wrong; way: what would help, None if that is not known."""
        self.text.setText(capitalised(text))
        self._way = way
        self.button.setVisible(way is not None)
        if way is not None:
            self.button.setText(way.text)
            describe(self.button, way.text, way.tip)
        restyle(self, "level", level)
        self.show()

    def clear(self) -> None:
        """There is no problem."""
        self._way = None
        self.hide()

    def _act(self) -> None:
        if self._way is not None:
            self._way.act()
