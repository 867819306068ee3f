"""Warnings about a model, one paragraph each, with typeset symbols and a link that carries out the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from bench_gui.headless.symbols import with_symbols
from bench_gui.identify.fit.messages import FittedModel
from bench_gui.widgets.fields import describe, label, vbox
from core.base.units import milliradians
from core.base.words import capitalised
from core.identification.cautions import step_of
from core.identification.coverage.findings import Finding
from core.identification.verdict import Step

NO_MODEL = "No model is selected: identify first."
NOTHING = "No warnings: these runs determine every value, and none lies at a bound."


class WarningList(QScrollArea):
    """Scrollable list of warnings."""

    step_wanted = Signal(str, str)
    """Emitted when a remedy shall be carried out, with its action and subject."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[Step] = []
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        body = QWidget()
        column = vbox(body, spacing=6, margins=(2, 6, 8, 2))
        self.text: QLabel = describe(QLabel(), "Warnings", "Warnings about the selected model, and their remedies")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )  # fmt: skip
        self.text.linkActivated.connect(self._take_step)
        self.basis: QLabel = label("", "muted")
        self.basis.setWordWrap(True)
        column.addWidget(self.text)
        column.addWidget(self.basis)
        column.addStretch(1)
        self.setWidget(body)
        self.show_warnings((), None)

    def show_warnings(self, warnings: Sequence[Finding], row: FittedModel | None, torque_off: str = "") -> None:
        """Show the warnings about a model.

        Args:
            warnings: about the selected model.
            row: the selected model, or None.
            torque_off: how a released motor behaves.
        """
        evidence = None if row is None else row.evidence
        if row is None or evidence is None:
            self.text.setText(NO_MODEL)
            self.basis.setText("")
            return
        symbols = [parameter.symbol for parameter in evidence.parameters]
        self._steps = [step_of(warning, row.model) for warning in warnings]
        said = [with_symbols(text, symbols) for text in map(capitalised, map(str, warnings))]
        said = [
            f'{text} <a href="{place}">{step.label}</a>' if step.action else text
            for place, (text, step) in enumerate(zip(said, self._steps, strict=True))
        ]
        self.text.setText("".join(f'<p style="margin:0 0 5px 0">•&nbsp; {text}</p>' for text in said) or NOTHING)
        self.basis.setText(
            (f"Torque off: {torque_off}. " if torque_off else "")
            + "Intervals are approximate: linearised at the values found, with a noise of "
            f"{milliradians(evidence.noise)} mrad (what the model leaves unexplained) and "
            f"{evidence.independent:.0f} independent samples of {evidence.samples}, because "
            "neighbouring samples are correlated."
        )

    def _take_step(self, place: str) -> None:
        step = self._steps[int(place)]
        self.step_wanted.emit(step.action, step.subject)
