"""Rail of tasks at the left side, in the order of work; every task is always accessible."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QButtonGroup, QFrame, QSizePolicy, QToolButton

from bench_gui.icons import ThemeIcon
from bench_gui.widgets.fields import describe, vbox

WIDTH = 76
ICON = 22
LEAST = 38
"""Smallest height of a button in a low window [px]."""


class Rail(QFrame):
    """One button per task."""

    def __init__(self, tasks: list[tuple[str, str, str]], chosen: Callable[[int], object]) -> None:
        """Create the rail; tasks: name, icon and purpose of each; chosen: called with the number of a task."""
        super().__init__()
        self.setObjectName("rail")
        self.setFixedWidth(WIDTH)
        column = vbox(self, spacing=0, margins=(0, 2, 0, 2))
        self._group = QButtonGroup(self)
        self.buttons: list[QToolButton] = []
        for number, (name, symbol, purpose) in enumerate(tasks):
            made = QToolButton()
            made.setText(name)
            ThemeIcon(made, symbol, size=ICON, active="accent")
            made.setCheckable(True)
            made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextUnderIcon)
            made.setIconSize(QSize(ICON, ICON))
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
            made.setMinimumHeight(LEAST)
            describe(made, name, f"{purpose} (Ctrl+{number + 1})")
            self._group.addButton(made, number)
            self.buttons.append(made)
            column.addWidget(made)
        column.addStretch(1)
        self._group.idClicked.connect(chosen)

    def show_task(self, number: int | None) -> None:
        """Mark the visible task, or none."""
        self._group.setExclusive(number is not None)
        for place, made in enumerate(self.buttons):
            made.setChecked(place == number)
