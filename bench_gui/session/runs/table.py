"""Table model of the session's runs and their annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont

from bench_gui.session.runs.sketches import Sketches
from bench_gui.session.runs.wording import judgement, number_of, story
from bench_gui.state.library import Library
from bench_gui.theme import themes
from bench_gui.widgets.text_table import ROOT, Column, Index, TextTable
from core.base.units import grouped
from core.motion.trajectories import title_of

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary


COLUMNS = (
    Column("Run", "Number of the run; click to sort"),
    Column("Motion", "Measured position over the goal; click to sort"),
    Column("Trajectory", "Commanded trajectory; click to sort"),
    Column("Servo", "Catalogue name of the servo; click to sort"),
    Column("kp", "Position gain; click to sort", number=True),
    Column("Load [kg]", "Mass at the end of the rod; click to sort", number=True),
    Column("Length [m]", "Distance from the shaft to the load; click to sort", number=True),
    Column("Duration [s]", "First to last sample; click to sort", number=True),
    Column("Samples", "Number of samples; click to sort", number=True),
    Column("Status", "Outcome of the run, exclusion from fits, and used part; click to sort"),
    Column("Tags", "Tags, separated by commas; double-click or F2 to edit; click to sort"),
    Column("Note", "Note on the run; double-click or F2 to edit; click to sort"),
)
RUN, MOTION, TRAJECTORY, SERVO, KP, LOAD, LENGTH, DURATION, SAMPLES, STATUS, TAGS, NOTE = range(len(COLUMNS))
SKETCH_ROLE = Qt.ItemDataRole.UserRole
"""Role of the thumbnail, a Sketch or None."""
USED_ROLE = Qt.ItemDataRole.UserRole + 1
"""Role of the begin and end of the used part, as shares of the duration."""
EXCLUDED_ROLE = Qt.ItemDataRole.UserRole + 2


_FIXED = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_EDITABLE = _FIXED | Qt.ItemFlag.ItemIsEditable


class RunTable(TextTable):
    """One row per run; tags and notes can be edited in place.

    Only visible cells of ten thousand runs are formatted, one role at a time; hence the model has no `Cell` objects.
    """

    def __init__(self, library: Library, sketches: Sketches, edit: Callable[[str, int, str], None]) -> None:
        """Create the table; edit: called with run id, column and entered text."""
        super().__init__(COLUMNS)
        self._library = library
        self._sketches = sketches
        self._edit = edit
        self._runs: list[RunSummary] = []
        self._shown: dict[str, Annotation] = {}
        self._places: dict[str, int] = {}
        self._sorted: dict[int, list[Any]] = {}
        sketches.arrived.connect(self._sketched)

    def set_runs(self, runs: list[RunSummary]) -> None:
        """Show these runs; existing rows keep their place."""
        known = len(self._runs)
        if runs[:known] == self._runs:
            if len(runs) > known:
                self.beginInsertRows(ROOT, known, len(runs) - 1)
                self._keep(runs)
                self.endInsertRows()
            return
        self.beginResetModel()
        self._keep(runs)
        self._shown = self._library.annotations
        self.endResetModel()

    def show_annotations(self) -> None:
        """Show the current annotations."""
        before, self._shown = self._shown, self._library.annotations
        self._sorted = {}
        ids = before.keys() | self._shown.keys()
        changed = [self._places[i] for i in ids if before.get(i) != self._shown.get(i) and i in self._places]
        if changed:
            self.dataChanged.emit(self.index(min(changed), 0), self.index(max(changed), len(COLUMNS) - 1))

    def sort_keys(self, column: int) -> list[Any]:
        """Return the sort key of each row for a column."""
        if column not in self._sorted:
            annotation = self._library.annotation
            self._sorted[column] = [_sort_key(run, annotation(run.id), column) for run in self._runs]
        return self._sorted[column]

    def run(self, row: int) -> RunSummary:
        """Return the run in a row."""
        return self._runs[row]

    def run_id(self, row: int) -> str:
        """Return the id of the run in a row."""
        return self._runs[row].id

    def row_of(self, identity: str) -> int:
        """Return the row of a run, −1 if it is not in the table."""
        return self._places.get(identity, -1)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._runs)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the flags of a cell; tags and notes are editable unless the session is read-only."""
        # Painting the header while all rows are selected queries every cell.
        return _EDITABLE if index.column() in (TAGS, NOTE) and not self._library.read_only else _FIXED

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Forward an edited value; the table shows it once it is stored."""
        if role != Qt.ItemDataRole.EditRole or index.column() not in (TAGS, NOTE):
            return False
        self._edit(self.run_id(index.row()), index.column(), str(value))
        return True

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        run, column = self._runs[index.row()], index.column()
        annotation = self._library.annotation(run.id)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return _text(run, annotation, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.columns[column].alignment
        if role == Qt.ItemDataRole.ToolTipRole:
            return story(run, annotation)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(run, annotation, column)
        if role == Qt.ItemDataRole.FontRole:
            return _STRUCK if annotation.excluded and column not in (MOTION, STATUS, TAGS, NOTE) else None
        if role == Qt.ItemDataRole.AccessibleTextRole and column == MOTION:
            return f"Motion of run {number_of(run)}"
        if role == SKETCH_ROLE:
            return self._sketches.of(run.id)
        if role == USED_ROLE:
            return _used_share(run, annotation)
        if role == EXCLUDED_ROLE:
            return annotation.excluded
        return None

    def _keep(self, runs: list[RunSummary]) -> None:
        self._runs, self._sorted = list(runs), {}
        self._places = {run.id: row for row, run in enumerate(runs)}

    def _sketched(self, ids: list[str]) -> None:
        for identity in ids:
            if identity in self._places:
                cell = self.index(self._places[identity], MOTION)
                self.dataChanged.emit(cell, cell, [SKETCH_ROLE])

    def _colour(self, run: RunSummary, annotation: Annotation, column: int) -> QColor | None:
        if annotation.excluded:
            return QColor(themes.current.muted)
        if run.exit_status == "success":
            return None
        return QColor(themes.current.fault if run.exit_status == "fail" else themes.current.moving)


_STRUCK = QFont()
_STRUCK.setStrikeOut(True)


def _text(run: RunSummary, annotation: Annotation, column: int) -> str:
    if column == RUN:
        return number_of(run)
    if column == MOTION:
        return ""
    if column == TRAJECTORY:
        return title_of(run.trajectory)
    if column == SERVO:
        return run.servo
    if column in (KP, LOAD, LENGTH):
        return f"{_number(run, column):g}"
    if column == DURATION:
        return f"{run.duration:.2f}"
    if column == SAMPLES:
        return grouped(run.samples)
    if column == STATUS:
        return judgement(run, annotation)
    return ", ".join(annotation.tags) if column == TAGS else annotation.note


def _number(run: RunSummary, column: int) -> float:
    numbers = {
        KP: run.kp,
        LOAD: run.mass,
        LENGTH: run.length,
        DURATION: run.duration,
        SAMPLES: float(run.samples),
    }
    return numbers[column]


def _sort_key(run: RunSummary, annotation: Annotation, column: int) -> str | float:
    if column in (RUN, MOTION):
        return float(number_of(run))
    if column in (KP, LOAD, LENGTH, DURATION, SAMPLES):
        return _number(run, column)
    return _text(run, annotation, column).casefold()


def _used_share(run: RunSummary, annotation: Annotation) -> tuple[float, float]:
    length = max(run.duration, 1e-9)
    begin = 0.0 if annotation.trim_begin is None else annotation.trim_begin / length
    end = 1.0 if annotation.trim_end is None else annotation.trim_end / length
    return begin, end
