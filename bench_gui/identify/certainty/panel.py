"""Certainty panel: starts and stops profiles and bootstrap and shows the intervals they give."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QSpinBox, QWidget

from bench_gui.controller import Controller
from bench_gui.identify.certainty.compute import CertaintyJob
from bench_gui.identify.certainty.running import Certifying
from bench_gui.identify.fit.settings_form import SettingsForm
from bench_gui.identify.tables import grade_tone
from bench_gui.widgets.binding import Binding
from bench_gui.widgets.fields import FIELD_WIDTH, allow, button, caption_of, choice, describe, hbox, label, vbox, whole
from bench_gui.widgets.page import Placeholder
from bench_gui.widgets.start_button import StartButton, held_by
from bench_gui.widgets.tables import SymbolDelegate, fit_columns, plain_table
from bench_gui.widgets.text_table import Cell, Column, TextTable, muted
from bench_gui.work.progress_row import ProgressRow
from core.base.units import FIGURE_DASH
from core.base.words import capitalised, counted
from core.identification.defaults import DRAWS
from core.identification.evidence.certainty import ALL, FLAGGED, Certainty, ParameterCertainty, parameters_named
from core.servo.terms import name_of
from sessions.results.certifying import CertaintyQuestion

MOST_DRAWS = 1000
DRAWS_WIDTH = 72
"""[px]"""
EMPTY = (
    "How certain is each value of the recommended model? A profile moves one parameter from its value and refits all "
    "others; a bootstrap resamples the runs and refines the model on each draw. Both take seconds to "
    "minutes, are stored with the models and appear in the report."
)
_PROFILED = {"flagged": FLAGGED, "all": ALL}
_COLUMNS = (
    Column("Parameter", "Meaning of the parameter"),
    Column("Symbol", "Symbol used in the papers"),
    Column("Value", "Identified value", True),
    Column("Unit"),
    Column("± 95 %", "Half width of the linearised interval; ∞ if the value is not determined", True),
    Column("Profile 95 %", "All other parameters are fitted again; open: up to the bound", True),
    Column("Bootstrap 95 %", "From fits to resampled runs", True),
    Column("Remarks", "Conclusion from the intervals"),
)


class CertaintyPanel(QWidget):
    """Starts profiles and bootstrap and shows their results."""

    def __init__(self, controller: Controller, form: SettingsForm, certifying: Certifying) -> None:
        super().__init__()
        self._controller, self._form, self._certifying = controller, form, certifying
        self._shown: Certainty | None = None
        column = vbox(self, spacing=6, margins=(0, 6, 0, 0))
        column.addLayout(self._head())
        self.progress = ProgressRow("certainty", "Share of the work that is done")
        column.addLayout(self.progress)
        self.table = TextTable(_COLUMNS)
        self.view = plain_table("Certainty", "Intervals of each parameter; the tooltip of a remark shows its full text")
        self.view.setModel(self.table)
        fit_columns(self.view, range(len(_COLUMNS) - 1))
        self._symbols = SymbolDelegate()
        self.view.setItemDelegateForColumn(1, self._symbols)
        self.view.setWordWrap(False)
        column.addWidget(Placeholder(self.view), 1)
        self.notes: QLabel = label("", "muted")
        self.notes.setWordWrap(True)
        describe(self.notes, "Notes on the certainty", "Remarks about all parameters")
        column.addWidget(self.notes)
        controller.identifying.changed.connect(self.refresh)
        certifying.progressed.connect(lambda _: self._show_progress())
        fitting = controller.fitting
        fitting.changed.connect(self._look)
        controller.library.locked_changed.connect(self.refresh)
        fitting.recalled.connect(lambda _: self._look())
        fitting.judged.connect(lambda _: self._look())
        controller.settings.keep("certainty", lambda: self._asked.last, self._asked.restore, self._asked.edited)
        self._asked.edited.connect(lambda _: self.refresh())
        self._look()

    def _head(self) -> QHBoxLayout:
        row = hbox(spacing=8)
        self.start_button = StartButton("Profile and bootstrap", "", self.start, self, self._form, kind="")
        self.stop_button: QPushButton = button(
            "Stop", "Stop; complete profiles and draws are kept", self._certifying.stop
        )
        self._asked = Binding()
        profiled = choice(
            "Parameters to profile",
            "Flagged: not good by the linearised interval, or at a bound",
            list(_PROFILED.items()),
        )
        self.profiled: QComboBox = self._asked.bind("profiled", profiled)
        self.profiled.setFixedWidth(FIELD_WIDTH)
        draws = whole(
            "Draws of the bootstrap", "Number of times the runs are resampled; at least 2", DRAWS, 0, MOST_DRAWS, "none"
        )
        self.draws: QSpinBox = self._asked.bind("draws", draws)
        self.draws.setFixedWidth(DRAWS_WIDTH)
        row.addWidget(self.start_button)
        row.addWidget(self.stop_button)
        row.addSpacing(8)
        for text, field in (("Profile", self.profiled), ("Draws", self.draws)):
            row.addWidget(caption_of(field, text))
            row.addWidget(field)
        row.addStretch(1)
        return row

    # User actions.

    def start(self) -> None:
        """Profile and bootstrap the recommended model of the shown identification."""
        session, fitted = self._controller.library.path, self._controller.fitting.result
        if held_by(self, self._form) or session is None or fitted is None or fitted.folder is None:
            return
        question = CertaintyQuestion(
            session=session,
            folder=fitted.folder,
            friction=fitted.recommended,
            profiled=(str(self.profiled.currentData()),),
            draws=self.draws.value(),
            threads=self._form.settings().threads,
        )
        self._certifying.start(CertaintyJob(question=question))

    # Events.

    def _look(self) -> None:
        self._certifying.look_at(self._controller.fitting.result)
        self.refresh()

    def refresh(self) -> None:
        """Show the results and enable what is possible."""
        running = self._certifying
        why = self._obstacle()
        for field in (self.profiled, self.draws):
            field.setEnabled(not running.active)
        allow(self.start_button, why, "Find out how far each value could be moved; replaces the stored result")
        self.stop_button.setEnabled(running.active and not running.stopping)
        self.stop_button.setText("Stopping…" if running.stopping else "Stop")
        if running.kept is not self._shown:
            self._shown = running.kept
            self.table.show([_row(p) for p in running.kept.parameters] if running.kept is not None else ())
            self.notes.setText("" if running.kept is None else "\n".join(map(_sentence, running.kept.notes)))
        self.view.setVisible(running.kept is not None)
        self.notes.setVisible(bool(self.notes.text()))
        self._show_progress()

    def _obstacle(self) -> str:
        """Reason why it cannot be started; empty if it can."""
        fitting, draws = self._controller.fitting, self.draws.value()
        best = self._certifying.recommended
        if self._certifying.active:
            return "it is already running"
        if waits := self._controller.identifying.beside(self._certifying):
            return waits
        if obstacle := self._controller.library.results_obstacle:
            return obstacle
        if fitting.result is None or best is None or best.evidence is None:
            return "no identification is shown; identify first"
        if fitting.result.folder is None:
            return "the identification could not be stored; make the session's folder writable and identify again"
        if draws == 1:
            return "one draw shows no spread; give at least 2, or none"
        if draws and len(fitting.result.train) < 2:
            return "the fit has one run only, and a bootstrap draws runs; set the draws to none, or record more"
        if not draws and not parameters_named(best.evidence, (str(self.profiled.currentData()),)):
            return "no parameter is flagged and there are no draws; profile all, or give at least 2 draws"
        return ""

    def _show_progress(self) -> None:
        kept, why = self._certifying.kept, self._obstacle()
        known = EMPTY if kept is None else _made(kept)
        known += f" Not possible now: {why}." if why else ""
        self.progress.show(self._certifying, known, starting="Loading the program and the recordings…")


def _row(p: ParameterCertainty) -> list[Cell]:
    grade = p.grade
    tone = "fault" if p.contradiction else grade_tone(grade)
    cells = [
        Cell(name_of(p.name), p.name),
        Cell(p.symbol, p.name, tone),
        Cell(grade.figure, tone=tone),
        Cell("" if p.unit == "1" else p.unit),
        Cell(grade.width),
        Cell(FIGURE_DASH, "Not profiled") if p.profile is None else Cell(p.profile.text),
        Cell(FIGURE_DASH, "No bootstrap") if p.spread is None else Cell(p.spread.text),
        Cell("; ".join(p.remarks), "\n".join(p.remarks), tone),
    ]
    return muted(cells) if tone == "muted" else cells


def _made(found: Certainty) -> str:
    """Basis of the intervals: noise, samples and draws."""
    runs, profiles = len(found.runs), sum(p.profile is not None for p in found.parameters)
    made = f"{found.friction.upper()}, {counted(runs, 'run')}: "
    made += f"{counted(profiles, 'profile')}, "
    made += f"{found.draws} draws." if found.draws else "no bootstrap."
    stopped = " Stopped before the end; complete profiles and draws are kept." if found.stopped else ""
    return made + stopped


def _sentence(text: str) -> str:
    return f"{capitalised(text)}."
