"""Details of one parameter: its intervals, correlated parameters and profile."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton

from bench_gui.headless.symbols import with_symbols
from bench_gui.plots.chart import Chart, pen
from bench_gui.theme import themes
from bench_gui.widgets.fields import button, describe, label, vbox
from core.base.units import significant
from core.identification.choice.rule import listed
from core.identification.evidence.certainty import LIMIT, ParameterCertainty
from core.identification.evidence.model import ParameterEvidence
from core.servo.parameters import Parameter

WIDTH = 292
"""Width of the details [px]."""


class ParameterDetail(QFrame):
    """Hidden until a parameter is shown."""

    def __init__(
        self, freeze: Callable[[str, float], object], ask_bounds: Callable[[], object], close: Callable[[], object]
    ) -> None:
        """Create the details; freeze: called with a name and a value."""
        super().__init__()
        self.setProperty("role", "card")
        self.setFixedWidth(WIDTH)
        self._freeze = freeze
        self._shown: Parameter | None = None
        self.title: QLabel = describe(label("", "empty"), "Parameter", "Symbol and meaning")
        self.text: QLabel = describe(QLabel(), "About the parameter", "Intervals, bounds and correlated parameters")
        for part in (self.title, self.text):
            part.setWordWrap(True)
            part.setTextFormat(Qt.TextFormat.RichText)
        self.profile = Chart("Profile of the parameter", "Deviance", "", bottom="Value")
        self._curve = self.profile.add_curve(1.0, "profile")
        self._limit = self.profile.add_curve(0.0, "95 %")
        self.freeze_button: QPushButton = button(
            "Freeze here", "Keep the parameter at this value in the next identification", self._ask_freeze, "small"
        )
        self.bounds_button: QPushButton = button(
            "Bounds…", "Change the bounds of its search, or freeze it", ask_bounds, "small"
        )
        self.close_button: QPushButton = button("Close", "Close the details of the parameter", close, "small")
        row = QHBoxLayout()
        for part in (self.freeze_button, self.bounds_button, self.close_button):
            row.addWidget(part)
        row.addStretch(1)
        column = vbox(self, spacing=4, margins=(10, 8, 10, 8))
        column.addWidget(self.title)
        column.addWidget(self.text)
        column.addWidget(self.profile, 1)
        column.addStretch(0)
        column.addLayout(row)
        self.hide()
        themes.follow(self._paint)

    def show_parameter(
        self, parameter: Parameter, known: ParameterEvidence | None, certain: ParameterCertainty | None, note: str
    ) -> None:
        """Show a parameter.

        Args:
            parameter: the parameter with its value.
            known: linearised evidence, or None.
            certain: profile and bootstrap, or None.
            note: problem with its value, or empty.
        """
        self._shown = parameter
        unit = "" if parameter.unit == "1" else f" {parameter.unit}"
        self.title.setText(with_symbols(f"{parameter.symbol}  {parameter.description}", [parameter.symbol]))
        lines = [f"<b>{f'{significant(parameter.value)}{unit}' if known is None else known.grade.text}</b>"]
        lines.append(f"Bounds {significant(parameter.lower)} … {significant(parameter.upper)}{unit}")
        if known is not None:
            lines.append(f"Start value {significant(known.initial)}{unit}")
            partners = (
                with_symbols(listed(list(known.traded_with)), list(known.traded_with)) if known.traded_with else ""
            )
            lines.append(f"Correlated with {partners}" if partners else "No correlated parameters")
        if certain is not None and certain.profile is not None:
            lines.append(f"Profile {certain.profile.text}{unit}")
        if certain is not None and certain.spread is not None:
            lines.append(f"Bootstrap {certain.spread.text}{unit}")
        lines += [with_symbols(note)] if note else []
        self.text.setText("<br>".join(lines))
        profile = None if certain is None else certain.profile
        self.profile.setVisible(profile is not None)
        if profile is not None:
            points = [point for point in profile.points if math.isfinite(point.deviance)]
            values = np.array([point.value for point in points])
            self._curve.setData(values, np.array([point.deviance for point in points]))
            self._limit.setData(values[[0, -1]], np.full(2, LIMIT))
            self.profile.fit()
        self.freeze_button.setText(f"Freeze at {significant(parameter.value)}")
        self.show()

    def _paint(self) -> None:
        theme = themes.current
        self._curve.setPen(pen(theme.accent, 2.0))
        self._curve.setSymbol("o")
        self._curve.setSymbolSize(5)
        self._curve.setSymbolBrush(theme.accent)
        self._curve.setSymbolPen(None)
        self._limit.setPen(pen(theme.muted, 1.0, (4.0, 3.0)))

    def _ask_freeze(self) -> None:
        if self._shown is not None:
            self._freeze(self._shown.name, self._shown.value)
