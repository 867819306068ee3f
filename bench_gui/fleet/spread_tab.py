"""The fleet as one model with its spread: centres, the error of a single model, files to sample from."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QGridLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from bench_gui import file_dialogs
from bench_gui.controller import Controller
from bench_gui.fleet.summary import FleetSummary, ModelSummary
from bench_gui.headless.comparison_tables import ERROR, MRAD
from bench_gui.headless.fleet.spreading import (
    TITLES,
    JudgedSpread,
    JudgeJob,
    WriteJob,
    WrittenSpread,
    judge,
    write,
)
from bench_gui.plots.bars import BarChart
from bench_gui.theme import themes
from bench_gui.widgets.fields import button, caption_of, describe, hbox, label, vbox, whole
from bench_gui.widgets.start_button import held_by
from bench_gui.widgets.tables import SymbolDelegate, fit_columns, plain_table
from bench_gui.widgets.text_table import Cell, Column, TextTable, muted
from bench_gui.work.computation import Computation
from bench_gui.work.process import Share
from core.base.units import FIGURE_DASH, as_certain
from core.base.words import capitalised, counted
from core.document.plot import BarPanel, BarSeries
from core.document.table import Table
from core.servo.terms import name_of
from sessions.folders import as_person_writes

COLUMNS = (
    Column("Parameter", "Meaning of the parameter"),
    Column("Symbol", "Symbol used in the papers"),
    Column("Centre", "Mean over the units, weighted by their certainty", number=True),
    Column("Unit", ""),
    Column("Between units", "Standard deviation from unit to unit, without the uncertainty of the values", number=True),
    Column("95 % interval", "Interval of this standard deviation, from the number of units", number=True),
    Column("Uncertainty", "Standard error of one unit's value, from its runs", number=True),
    Column("Determined", "Units whose runs determine the value", number=True),
    Column("Catalogue", "Value of the servo's model in the catalogue", number=True),
)
BUTTONS_IN_ROW = 4
MOST_JUDGED = 60
"""Maximum number of units for which the mean model is scored automatically: every model is simulated on all runs."""
BARS, LOW = 260, 190
"""Width of the bars, smallest height of everything below the table [px]."""


class SpreadTab(QWidget):
    """Shows the population at once; scores and writes it in separate processes."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._summary: FleetSummary | None = None
        self._model: ModelSummary | None = None
        self._judged: JudgedSpread | None = None
        self._asked = ("", 0)
        """Model and number of fits that the score was requested for."""
        self._judge: Computation[JudgeJob, None, JudgedSpread] = Computation(
            controller.computations, "Score of the mean model", judge
        )
        self._judge.activity.view = self
        self._judge.finished.connect(self._take_judgement)
        self._judge.failed.connect(self._miss_judgement)
        self._writer: Computation[WriteJob, Share, WrittenSpread] = Computation(
            controller.computations, "Export of the spread", write, missed="the export of a fleet's spread"
        )
        self._writer.activity.view = self
        self._writer.progressed.connect(self._take_step)
        self._writer.finished.connect(self._take_files)
        self._writer.failed.connect(self._fail)
        self.table = TextTable(COLUMNS)
        self.view = plain_table("Spread of each parameter", "Centre and spread of each parameter over the units")
        self.view.setModel(self.table)
        self._symbols = SymbolDelegate()
        self.view.setItemDelegateForColumn(1, self._symbols)
        fit_columns(self.view, range(self.table.columnCount()))
        self.view.horizontalHeader().setStretchLastSection(False)
        self.bars = BarChart()
        self.bars.setToolTip("Mean absolute error over the units' runs, by the origin of the model")
        self.bars.setMaximumWidth(BARS)
        column = vbox(self, spacing=8)
        column.addWidget(self.view, 1)
        below = QWidget()
        below.setMinimumHeight(LOW)
        below.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        row = hbox(below, spacing=14)
        row.addWidget(self.bars, 1)
        row.addLayout(self._words(), 1)
        column.addWidget(below)
        themes.changed.connect(self._show_judgement)

    def _words(self) -> QVBoxLayout:
        column = vbox(spacing=8)
        column.addWidget(label("A SINGLE MODEL FOR ALL UNITS", "heading"))
        self.verdict: QLabel = _paragraph("Error of a single model")
        self.together: QLabel = _paragraph("Parameters that vary together")
        self.judge_button: QPushButton = button(
            "Score on all recordings",
            "Simulate every unit's model and the mean model on every unit's runs; slow for hundreds of units",
            self.ask_judgement,
        )
        column.addWidget(self.verdict)
        column.addWidget(self.together)
        column.addWidget(self.judge_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        head = hbox(spacing=8)
        head.addWidget(label("DOMAIN RANDOMISATION", "heading"))
        head.addStretch(1)
        column.addLayout(head)
        grid = QGridLayout()
        grid.setSpacing(6)
        self.buttons: dict[str, QPushButton] = {}
        for place, (target, title) in enumerate(TITLES.items()):
            what = (
                "Values, spreads, covariance and model as one file"
                if target == "json"
                else f"Servos sampled from the spread, ranges and a script that applies them in {title}"
            )
            made = button(f"{title}…", what, lambda target=target: self.ask_folder(target))
            made.setAccessibleName(f"Export the spread for {title}")
            self.buttons[target] = made
            grid.addWidget(made, *divmod(place, BUTTONS_IN_ROW))
        self.draws: QSpinBox = whole("Samples", "Number of servos to sample", 1000, 2, 100_000)
        self.draws.setSingleStep(100)
        self.draws.setFixedWidth(84)
        head.addWidget(caption_of(self.draws, "Samples"))
        head.addWidget(self.draws)
        column.addLayout(grid)
        self.bar = describe(QProgressBar(), "Progress of the export", "Completed share of the export")
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 1000)
        self.bar.hide()
        column.addWidget(self.bar)
        self.written: QLabel = _paragraph("Written files")
        column.addWidget(self.written)
        return column

    def show_model(self, summary: FleetSummary | None, model: ModelSummary | None) -> None:
        """Show the spread of one model."""
        self._summary, self._model = summary, model
        if self._judged is not None and not self._fits(self._judged):
            self._judged = None
        self.table.show(self._rows())
        self._show_judgement()
        self._enable()

    def enter(self, running: bool) -> None:
        """Score the model when the tab becomes visible, if that is quick and nothing else is running."""
        summary = self._summary
        if summary is None or running or not self._possible or len(summary.units) > MOST_JUDGED:
            return
        if self._judged is None and not self._judge.active and self._asked != self._state:
            self.ask_judgement()

    def ask_judgement(self) -> None:
        """Score the mean model on the units' recordings."""
        summary, model = self._summary, self._model
        if summary is None or model is None or not self._possible:
            return
        self._asked = self._state
        self._judge.start(JudgeJob(folder=summary.folder, friction=model.friction))
        self._show_judgement()
        self._enable()

    def ask_folder(self, target: str) -> None:
        """Ask for a folder, then write the files."""
        if held_by(self):
            return
        folder = file_dialogs.ask_folder(self, f"Write the spread for {TITLES[target]} into a folder")
        if folder:
            self.write(target, Path(folder))

    def write(self, target: str, folder: Path) -> None:
        """Write the spread for a target."""
        summary, model = self._summary, self._model
        if summary is None or model is None or self._writer.active:
            return
        self._writer.start(
            WriteJob(
                folder=summary.folder,
                friction=model.friction,
                target=target,
                output=folder,
                draws=self.draws.value(),
            )
        )
        self.written.setText("")
        self._take_step(Share(0.0, "starting"))
        self._enable()

    def contents(self) -> Table:
        """Return the table for a file."""
        rows = tuple(tuple(cell.text for cell in row) for row in self.table.rows)
        return Table(tuple(column.title for column in COLUMNS), rows)

    # State.

    @property
    def _possible(self) -> bool:
        """True if there are enough units for a population."""
        return self._model is not None and any(p.centre == p.centre for p in self._model.parameters)

    @property
    def _state(self) -> tuple[str, int]:
        assert self._summary is not None
        assert self._model is not None
        return f"{self._summary.folder} {self._model.friction}", self._summary.done

    def _fits(self, judged: JudgedSpread) -> bool:
        summary, model = self._summary, self._model
        return (
            summary is not None
            and model is not None
            and (judged.folder, judged.friction) == (summary.folder, model.friction)
            and self._asked == self._state
        )

    def _rows(self) -> list[list[Cell]]:
        model, angle = self._model, self._controller.angle_unit
        rows = []
        for p in model.parameters if model is not None else ():
            factor, unit = p.shown_in(angle)
            known = p.between == p.between
            low, high = (p.deviation_in_words(end, angle) for end in p.between_interval)
            between = p.deviation_in_words(p.between, angle)
            alike = known and not p.differs
            cells = [
                Cell(name_of(p.name), p.name),
                Cell(p.symbol, p.name),
                Cell(as_certain(factor * p.centre, factor * p.centre_half)),
                Cell(unit),
                Cell(
                    between,
                    "The units do not differ by more than their intervals" if alike else "",
                    tone="muted" if alike else "",
                    bold=known and p.differs,
                ),
                # The unit is written once.
                Cell(f"{low.split(' ')[0]} … {high}" if known else FIGURE_DASH),
                Cell(p.deviation_in_words(p.uncertainty, angle)),
                Cell(f"{int(p.determined.sum())} of {len(p.values)}"),
                Cell(as_certain(factor * p.catalogue, factor * p.centre_half)),
            ]
            rows.append(cells if known else muted(cells))
        return rows

    def _show_judgement(self) -> None:
        judged, theme = self._judged, themes.current
        if self._model is not None and self._model.note:
            text = self._model.note
        elif self._judge.active:
            text = "scoring the mean model on every unit's recordings…"
        elif judged is None:
            text = "the mean model has not been scored on the units' recordings yet"
        else:
            text = judged.text
        self.verdict.setText(f"{capitalised(text)}.".replace("….", "…"))
        together = judged.together if judged is not None else ""
        self.together.setText(f"Correlated over the units: {together}." if together else "")
        self.together.setVisible(bool(together))
        self.bars.setVisible(judged is not None and bool(judged.errors))
        if judged is None or self._model is None or not judged.errors:
            return
        values = tuple(MRAD * error for error in judged.errors.values())
        self.bars.show_panel(
            BarPanel(
                ERROR,
                "",
                tuple(judged.errors),
                (BarSeries(judged.friction.upper(), theme.model(judged.friction), values),),
            )
        )

    def _enable(self) -> None:
        summary = self._summary
        many = summary is not None and len(summary.units) > MOST_JUDGED
        self.judge_button.setVisible(self._possible and self._judged is None and not self._judge.active)
        self.judge_button.setEnabled(self._possible)
        self.judge_button.setText("Score on all recordings (slow)" if many else "Score on all recordings")
        for made in self.buttons.values():
            made.setEnabled(self._possible and not self._writer.active)

    # Results.

    def _take_judgement(self, judged: JudgedSpread) -> None:
        self._judged = judged if self._fits(judged) else None
        self._show_judgement()
        self._enable()

    def _miss_judgement(self, message: str) -> None:
        self._show_judgement()
        self._enable()
        self._controller.journal.say("error", message, task="Fleet")

    def _take_step(self, step: Share) -> None:
        self.bar.show()
        self.bar.setValue(round(1000 * step.done))
        self.written.setText(f"Writing: {step.text}")

    def _take_files(self, written: WrittenSpread) -> None:
        self.bar.hide()
        folder = as_person_writes(written.files[0].parent)
        count = len(written.files)
        text = f"{TITLES[written.target]}: {counted(count, 'file')} in {folder}"
        self.written.setText(f"{text}. Its README.md explains how to use them." if count > 1 else text)
        self.written.setToolTip("\n".join(f"•  {note}" for note in written.notes))
        self._enable()

    def _fail(self, message: str) -> None:
        self.bar.hide()
        self.written.setText("")
        self._controller.journal.say("error", message, task="Fleet")
        self._enable()


def _paragraph(name: str) -> QLabel:
    made = label("", "muted")
    made.setWordWrap(True)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setAccessibleName(name)
    return made
