"""List of findings in words: errors first, each with its remedy."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from bench_gui.headless.symbols import with_symbols
from bench_gui.theme import themes
from bench_gui.widgets.fields import describe, vbox
from core.base.words import capitalised
from core.identification.coverage.findings import Finding

TONES = {"error": "fault", "warning": "moving", "note": "muted"}
"""Theme colour by severity."""


class FindingList(QScrollArea):
    """Scrollable list of findings."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        describe(self, "Findings", "Problems of the recordings and their remedies")
        body = QWidget()
        column = vbox(body, margins=(2, 6, 8, 2))
        self.text: QLabel = QLabel()
        self.text.setAccessibleName("Findings")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.RichText)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(self.text)
        column.addStretch(1)
        self.setWidget(body)
        self._shown: tuple[tuple[Finding, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())
        themes.changed.connect(self._paint)

    def show_findings(
        self, findings: Sequence[Finding], symbols: Sequence[str] = (), remarks: Sequence[str] = ()
    ) -> None:
        """Show findings.

        Args:
            findings: errors first.
            symbols: words to typeset as symbols.
            remarks: paragraphs before the findings.
        """
        self._shown = (tuple(findings), tuple(symbols), tuple(remarks))
        parts = [_paragraph(html.escape(remark)) for remark in remarks]
        parts += [_paragraph(self._words(finding, symbols)) for finding in findings]
        self.text.setText("".join(parts))

    def _paint(self) -> None:
        self.show_findings(*self._shown)

    def _words(self, finding: Finding, symbols: Sequence[str]) -> str:
        colour = getattr(themes.current, TONES[finding.severity])
        said = [_printed(_sentence(text), symbols) for text in (finding.text, finding.remedy) if text]
        return f'<b style="color:{colour}">{finding.severity.capitalize()}</b>&nbsp; ' + ". ".join(said) + "."


def _printed(text: str, symbols: Sequence[str]) -> str:
    return with_symbols(text, list(symbols)) if symbols else html.escape(text)


def _sentence(text: str) -> str:
    """Capitalise a text unless it begins with a symbol or a number."""
    return capitalised(text) if len(text.partition(" ")[0]) > 2 and "_" not in text[:4] else text


def _paragraph(text: str) -> str:
    return f'<p style="margin:0 0 6px 0">{text}</p>'
