"""The recording plan of the open session: its grid, its recorded runs, and the runs added to the list next.

The plan is a document of the session. Progress is read from the session's runs each time, so it survives a break, a
crash or a change of window. The list asks the user to change the load where the plan needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.record.queue import QueuedRun, RecordQueue
from bench_gui.state.library import Library
from bench_gui.state.setup import BenchSetup
from bench_gui.undo import change
from bench_gui.work.background import Background
from core.base.errors import ServoBenchError
from core.practice.plan import PLAN_DOCUMENT, Cell, GridPlan, PlanStatus, status, suggested_plan
from drivers.recorder import RunResult


@dataclass(frozen=True)
class _StoredPlan:
    """Plan and exclusions in a session's documents."""

    path: Path
    plan: GridPlan | None
    excluded: frozenset[str]
    writable: bool
    problem: str = ""


class Planning(QObject):
    """Owns the plan; views show `plan` and `status` and request changes."""

    changed = Signal()
    """The plan or its progress has changed."""
    problem = Signal(str)

    def __init__(
        self, queue: RecordQueue, setup: BenchSetup, library: Library, background: Background, undo: QUndoStack
    ) -> None:
        super().__init__()
        self._queue = queue
        self._setup = setup
        self._library = library
        self._background = background
        self._undo = undo
        self._servo = setup.spec.name
        self._excluded: frozenset[str] = frozenset()
        self._written: GridPlan | None = None
        self._unsaved = False
        self._path: Path | None = None
        self.plan: GridPlan = suggested_plan(setup.spec)
        self.status: PlanStatus = status(self.plan, ())
        setup.changed.connect(self._suit)
        library.opened.connect(self._open)
        library.runs_changed.connect(self._read)
        queue.changed.connect(self.changed)
        queue.ended.connect(self._replace)

    # Queries.

    @property
    def done(self) -> Mapping[Cell, str]:
        """Ids of the runs of recorded cells, once the session holds the plan; until then it is a proposal."""
        return self.status.done if self._written is not None else {}

    @property
    def missing(self) -> tuple[Cell, ...]:
        """Cells that are neither recorded nor in the list."""
        return tuple(self._fresh(self.status.pending))

    @property
    def remaining(self) -> float:
        """Duration of the missing runs, changes by hand not included [s]."""
        return self.status.remaining(self._queue.overhead + self._queue.countdown.seconds)

    def restore(self, data: Any) -> None:
        """Restore the last plan; a session's own plan has priority.

        Raises:
            InputError: The data is not a plan.
        """
        self.plan = GridPlan.from_json(data)
        self._judge()

    # Requests.

    def edit(self, plan: GridPlan, text: str) -> None:
        """Replace the plan, undoably; `text` describes the undo step."""
        change(self._undo, text, self._take_plan, self.plan, plan)

    def add_missing(self) -> None:
        """Add the missing runs to the list; the plan is then stored in the session."""
        self._unsaved = True
        self.add(self.missing, self.plan)
        self._save()

    def add(self, cells: Sequence[Cell], plan: GridPlan) -> None:
        """Append cells of a plan to the list, each once, in the plan's order; recording does not start."""
        wanted = set(self._fresh(cells))
        fresh = [cell for cell in plan.cells() if cell in wanted]
        self._queue.add([plan.trajectory(cell) for cell in fresh], fresh)

    def again(self, chosen: Sequence[tuple[QueuedRun | None, Cell | None]], now: bool = False) -> None:
        """Put ended runs with their cells at the front of the list; each replaces the run recorded in its cell.

        Args:
            chosen: Pairs of run and cell; the run is None for a cell recorded earlier.
            now: Record them at once, and hold the runs that were waiting.
        """
        queue = self._queue
        runs: list[QueuedRun] = []
        for run, cell in chosen:
            if run is None and cell is not None:
                run = queue.made(self.plan.trajectory(cell), cell)
            if run is not None:
                runs.append(replace(run, replaces=self.status.done.get(cell, "") if cell is not None else ""))
        queue.again(runs, now)

    # Internal.

    def _fresh(self, cells: Sequence[Cell]) -> list[Cell]:
        """Cells that are not in the list yet."""
        listed = {run.cell for run in (*self._queue.waiting, self._queue.running) if run is not None}
        return [cell for cell in cells if cell not in listed]

    def _forget_queued(self) -> None:
        """Remove the plan's runs from the list."""
        self._queue.keep([run.number for run in self._queue.waiting if run.cell is None])

    def _take_plan(self, plan: GridPlan) -> None:
        self.plan = plan
        self._forget_queued()
        # A session with a plan follows its edits; one without a plan gets it when the plan is started.
        if self._written is not None:
            self._unsaved = True
            self._save()
        self._judge()

    def _suit(self) -> None:
        spec = self._setup.spec
        if spec.name != self._servo:
            self._servo = spec.name
            if self._written is None:
                self.plan = suggested_plan(spec)
            self._forget_queued()
            self._judge()

    def _judge(self) -> None:
        self.status = status(self.plan, self._library.runs, self._servo, self._excluded)
        self.changed.emit()

    def _open(self) -> None:
        """Load the plan of another session, or keep the one just started in it."""
        if self._library.path != self._path:
            self._path = self._library.path
            self._queue.past.clear()
        self._written, self._excluded = None, frozenset()
        if self._unsaved:
            self._save()
        self._read()

    def _read(self) -> None:
        path = self._library.path
        if path is None:
            self._judge()
            return

        def done(stored: _StoredPlan) -> None:
            if stored.path != self._library.path:
                return
            self._excluded = stored.excluded
            if stored.plan is not None and stored.plan != self._written and not self._unsaved:
                self._written = self.plan = stored.plan
            if stored.problem:
                self.problem.emit(stored.problem)
            self._judge()

        self._background.submit("session", _stored_plan, path, done=done, failed=self.problem.emit)

    def _save(self) -> None:
        path, plan = self._library.path, self.plan
        if path is None or not self._unsaved:
            return
        self._unsaved, self._written = False, plan
        self._background.submit("session", _write, path, plan.to_json(), failed=self.problem.emit)

    def _replace(self, result: RunResult) -> None:
        run = self._queue.last
        old = run.replaces if run is not None else ""
        path = self._library.path
        if old and path is not None and result.exit_status == "success" and result.id:
            reason = f"recorded again as {result.id}"
            self._background.submit(
                "session", _exclude, path, old, reason, done=lambda _: self._read(), failed=self.problem.emit
            )


def _stored_plan(path: Path) -> _StoredPlan:
    """Read a session's plan and its excluded runs; a damaged document is reported and skipped."""
    from sessions import Session

    session = Session.open(path)
    plan, excluded, problem = None, frozenset(), ""
    try:
        data: Any = session.document(PLAN_DOCUMENT)
        plan = None if data is None else GridPlan.from_json(data)
    except ServoBenchError as error:
        problem = str(error)
    try:
        excluded = frozenset(run for run, note in session.annotations().items() if note.excluded)
    except ServoBenchError as error:
        problem = problem or str(error)
    return _StoredPlan(path, plan, excluded, not session.read_only, problem)


def _write(path: Path, data: dict[str, Any]) -> None:
    from sessions import Session

    session = Session.open(path)
    if not session.read_only:
        session.set_document(PLAN_DOCUMENT, data)


def _exclude(path: Path, run: str, reason: str) -> None:
    from sessions import Session

    Session.open(path).revise([run], lambda _id, note: replace(note, excluded=True, reason=reason))
