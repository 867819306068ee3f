"""Coverage of the chosen runs before a fit: findings in words beside terms, motion, timing and conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSplitter, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.chosen import chosen_count, chosen_material, chosen_runs, latest_model
from bench_gui.identify.coverage.compute import AuditFindings, Seen
from bench_gui.identify.coverage.finding_list import FindingList
from bench_gui.identify.coverage.running import Checking
from bench_gui.identify.evidence_table import TONES
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.words_cell import WordsDelegate
from bench_gui.widgets.fields import button, hbox, label, restyle, vbox
from bench_gui.widgets.tables import SymbolDelegate, TablesInTurn
from bench_gui.widgets.text_table import Cell, Column
from core.base.units import fixed, milliradians
from core.base.words import capitalised, counted
from core.identification.coverage.findings import ordered

HINT = (
    "Check the chosen runs before a fit: which terms they can separate, whether clocks and encoders are sound, which "
    "readings would spoil a fit. This takes a moment."
)
TERMS, MOTION, TIMING, GRID = range(4)
WHY = 2
"""Column of the terms' table that has sentences."""
_TABLES = (
    (
        "Terms",
        "Coverage of each parameter of M6 with command path",
        (
            Column("Term", "Symbol used in the papers"),
            Column("Verdict", "good: the runs contain what it needs; weak: hardly; none: not at all"),
            Column("Why", "What the runs contain, and what to record if that is not enough"),
        ),
    ),
    (
        "Motion",
        "Range and events of the motion of each run",
        (
            Column("Run", "Number and name"),
            Column("Speed [%]", "99th percentile of |velocity| over the no-load speed", True),
            Column("Load [%]", "Gravity's torque over the stall torque", True),
            Column("Reversals", "Changes of direction without a stop", True),
            Column("Breakaways", "Starts of motion from rest", True),
            Column("At limit [%]", "Share of the driven time with the controller's output at its limit", True),
            Column("Released [%]", "Share of the time with the torque off", True),
        ),
    ),
    (
        "Timing",
        "Clock, encoder and lags of each run",
        (
            Column("Run", "Number and name"),
            Column("Period [ms]", "Median time between samples", True),
            Column("Jitter [ms]", "95th percentile of the deviation from the period", True),
            Column("Gaps", "Pauses in the samples", True),
            Column("Lag [ms]", "From goal to motion: command, control loop and load together", True),
            Column("Velocity lag [ms]", "Delay of the reported velocity behind the change of the position", True),
            Column("Count [mrad]", "Smallest observed change of the position: the encoder's resolution", True),
        ),
    ),
    (
        "Conditions",
        "Number of runs of each condition",
        (
            Column("Trajectory", "Name"),
            Column("Load [kg]", "Mass at the end of the rod", True),
            Column("Length [m]", "Shaft to load", True),
            Column("Gain kp", "Position gain in the servo's unit", True),
            Column("Supply [V]", "Supply voltage according to the header", True),
            Column("Runs", "Number of runs of this condition", True),
        ),
    ),
)


class CoveragePanel(QWidget):
    """Requests checks and shows their findings."""

    def __init__(self, controller: Controller, form: SettingsForm, checking: Checking) -> None:
        super().__init__()
        self._controller, self._form, self._checking = controller, form, checking
        self._shown: tuple[Seen | None, AuditFindings | None, bool] = (None, None, True)
        """Results that are shown, and a flag that they need no explanation."""
        column = vbox(self, spacing=6, margins=(0, 6, 0, 0))
        column.addLayout(self._head())
        self.findings = FindingList()
        self._symbols = SymbolDelegate()
        self.tables = TablesInTurn("Coverage", _TABLES)
        self.tables.view.horizontalHeader().setStretchLastSection(False)
        self.tables.head.addStretch(1)
        terms = self.tables.separate(TERMS)
        terms.setItemDelegateForColumn(0, self._symbols)
        self._words = WordsDelegate(terms, WHY)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(10)
        self._splitter.addWidget(self.findings)
        self._splitter.addWidget(self.tables)
        self._splitter.setSizes([360, 520])
        column.addWidget(self._splitter, 1)
        checking.changed.connect(self.refresh)
        controller.library.fit_changed.connect(self._supersede)
        controller.library.runs_changed.connect(self._compare)
        controller.library.opened.connect(checking.forget)
        self.refresh()

    def _head(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.check_button: QPushButton = button(
            "Check coverage", "Check what the chosen runs can determine, and what is wrong with them", self.check
        )
        self.audit_button: QPushButton = button(
            "Check headers against motion",
            "Fit the model again with each load, gain, supply voltage and angle changed; takes minutes for many runs",
            self.audit,
        )
        self.stop_button: QPushButton = button("Stop", "Stop the check", self._checking.stop)
        self.status: QLabel = label("", "muted")
        self.status.setWordWrap(True)
        self.status.setAccessibleName("State of the check")
        for part in (self.check_button, self.audit_button, self.stop_button):
            row.addWidget(part)
        row.addWidget(self.status, 1)
        return row

    # User actions.

    def check(self) -> None:
        """Check the chosen runs."""
        material = chosen_material(self._controller, self._form.settings())
        if material.runs:
            self._checking.check(material)

    def audit(self) -> None:
        """Check the chosen runs and audit their headers."""
        material = chosen_material(self._controller, self._form.settings())
        if not material.runs:
            return
        if self._checking.coverage.result is None or self._checking.coverage.outdated:
            self._checking.check(material)
        self._checking.audit_headers(material, self._controller.library.main_servo(), latest_model(self._controller))

    # Events.

    def _supersede(self) -> None:
        self._checking.supersede(self.audit if self._checking.audit.active else self.check)

    def _compare(self) -> None:
        """Check again if runs were added or removed, which changes the choice if there is no selection."""
        known = self._checking.coverage.result is not None or self._checking.checking
        if known and chosen_runs(self._controller, self._form.settings()) != self._checking.runs:
            self._supersede()
        else:
            self.refresh()

    def refresh(self) -> None:
        """Show the findings and enable what is possible."""
        checking = self._checking
        count = chosen_count(self._controller, self._form.settings())
        busy = checking.checking or checking.audit.active
        self.check_button.setEnabled(count > 0 and not checking.checking)
        self.check_button.setText("Check again" if checking.coverage.result is not None else "Check coverage")
        self.audit_button.setEnabled(count > 0 and not checking.audit.active)
        self.stop_button.setVisible(busy)
        self.status.setText(self._state(count))
        restyle(self.status, "role", "fault" if checking.problem else "muted")
        self.tables.setVisible(checking.coverage.result is not None)
        known = (checking.coverage.result, checking.audit.result, busy or bool(checking.problem))
        if known != self._shown:
            self._shown = known
            self._show(checking.coverage.result)

    def _state(self, count: int) -> str:
        checking = self._checking
        runs = counted(count, "run")
        if checking.problem:
            return capitalised(checking.problem)
        if checking.audit.active:
            return f"Auditing the headers of {runs}; you can keep working…"
        if checking.checking:
            return f"Checking {runs}…"
        if checking.coverage.outdated:
            return "The choice of runs has changed: check again"
        return "" if checking.coverage.result is None else f"{runs} checked"

    def _show(self, seen: Seen | None) -> None:
        audit = self._checking.audit.result
        if seen is None:
            self.findings.show_findings((), remarks=() if self._shown[-1] else (HINT,))
            for place in range(len(_TABLES)):
                self.tables.fill(place, ())
            return
        remarks = [] if audit is None else [f"{_capital(audit.summary)}; asked: {audit.model}."]
        found = ordered([*seen.findings, *(audit.findings if audit is not None else ())])
        if not found:
            remarks.append("No problems found in these recordings.")
        data = seen.data
        floors = [f"{row['trajectory']} {milliradians(row['floor'])} mrad" for row in data["repeatability"]]
        if floors:
            remarks.append(f"Repetitions scatter by {', '.join(floors)}: no model can be more accurate on them.")
        symbols = self._words.symbols = [term["symbol"] for term in data["terms"]]
        self.findings.show_findings(found, symbols, remarks)
        self.tables.fill(
            TERMS, [[t["symbol"], Cell(t["verdict"], tone=TONES[t["verdict"]]), t["text"]] for t in data["terms"]]
        )
        self.tables.fill(MOTION, [_motion(e) for e in data["excitation"]])
        self.tables.fill(TIMING, [_timing(t) for t in data["timing"]])
        self.tables.fill(
            GRID, [[c["trajectory"], *(f"{c[name]:g}" for name in _NUMBERS), str(c["count"])] for c in data["grid"]]
        )


_NUMBERS = ("mass", "length", "kp", "supply_voltage")


def _motion(e: Mapping[str, Any]) -> list[Cell | str]:
    return [
        _short(e["run"]),
        f"{100 * e['speed_share']:.0f}",
        f"{100 * e['load_share']:.0f}",
        str(e["reversals"]),
        str(e["breakaways"]),
        f"{100 * e['saturated_share']:.1f}",
        f"{100 * e['released_share']:.0f}",
    ]


def _timing(t: Mapping[str, Any]) -> list[Cell | str]:
    longest = max((gap["duration"] for gap in t["gaps"]), default=0.0)
    gaps = Cell(str(len(t["gaps"])), f"The longest lasts {1e3 * longest:.0f} ms", "moving") if t["gaps"] else Cell("0")
    return [
        _short(t["run"]),
        _milli(t["step"], 2),
        _milli(t["jitter"], 2),
        gaps,
        _milli(t["command_lag"], 0),
        _milli(t["velocity_lag"], 0),
        _milli(t["encoder_step"], 2),
    ]


def _milli(value: float | None, digits: int) -> Cell:
    return Cell(fixed(math.nan, 0), "Not observed in this run") if value is None else Cell(fixed(1e3 * value, digits))


def _short(run: str) -> Cell:
    number, _, name = run.partition("_")
    return Cell(f"{number} {name}".strip(), run)


def _capital(text: str) -> str:
    return capitalised(text)
