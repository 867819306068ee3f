"""Next steps: at most three steps, each with its button."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from bench_gui.headless.symbols import with_symbols
from bench_gui.identify.answer.steps import Step
from bench_gui.widgets.fields import button, describe, label
from core.base.words import counted

NARROWEST, LOWEST = 214, 186
"""Smallest size: two steps are visible without scrolling [px]."""
NOTHING = "No open doubts about this result: use the model, or export it."


class NextPanel(QFrame):
    """Card with the next steps; scrolls when the text is long."""

    def __init__(self, acts: Mapping[str, Callable[[Any], object]], show_warnings: Callable[[], object]) -> None:
        """Create the panel.

        Args:
            acts: functions by kind of step; called with the step's value.
            show_warnings: called by the warnings button.
        """
        super().__init__()
        self.setProperty("role", "card")
        self.setMinimumSize(NARROWEST, LOWEST)
        self._acts = acts
        self._steps: tuple[Step, ...] = ()
        self.buttons: list[QPushButton] = []
        """Buttons of the shown steps that have one."""
        self.texts: list[QLabel] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 6, 6)
        column.setSpacing(4)
        column.addWidget(label("WHAT TO DO NEXT", "heading"))
        scroll = describe(QScrollArea(), "What to do next", "The most useful steps, most important first")
        scroll.setWidgetResizable(True)
        scroll.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(0, 2, 8, 2)
        self._column.setSpacing(4)
        self._column.addStretch(1)
        scroll.setWidget(body)
        body.setAutoFillBackground(False)
        scroll.viewport().setAutoFillBackground(False)
        column.addWidget(scroll, 1)
        self.warnings_button: QPushButton = button(
            "All warnings", "Show all warnings about the selected model", show_warnings, "flat"
        )
        column.addWidget(self.warnings_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.show_steps((), 0)

    def show_steps(self, steps: Sequence[Step], warnings: int) -> None:
        """Show these steps; warnings: number of warnings about the selected model."""
        self.warnings_button.setText(f"All {counted(warnings, 'warning')}" if warnings > 1 else "Show the warning")
        self.warnings_button.setVisible(warnings > 0)
        steps = tuple(steps)
        if steps == self._steps and self.texts:
            return
        self._steps = steps
        for gone in (*self.texts, *self.buttons):
            self._column.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        self.buttons, self.texts = [], []
        for step in steps:
            text = QLabel(with_symbols(step.text))
            text.setToolTip(step.more or step.text)
            text.setTextFormat(Qt.TextFormat.RichText)
            self._append(text)
            if step.kind:
                act = button(step.button, step.tip, partial(self._acts[step.kind], step.value), "small")
                act.setMinimumWidth(1)  # a long text must not widen the card
                self.buttons.append(act)
                self._column.insertWidget(self._column.count() - 1, act, 0, Qt.AlignmentFlag.AlignLeft)
        if not steps:
            self._append(label(NOTHING, "muted"))

    def _append(self, text: QLabel) -> None:
        text.setWordWrap(True)
        self.texts.append(text)
        self._column.insertWidget(self._column.count() - 1, text)
