"""The recording plan of the open session: which grid it is, what of it is done, what is put into the list next.

The plan is a document of the session. What is done is read from the session's runs each time, so nothing has to be
remembered over lunch, a crash or another window; the list asks for the load to be changed where a person has to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.record.queue import QueuedRun, RecordQueue
from bench_gui.state.library import Library
from bench_gui.state.setup import BenchSetup
from bench_gui.undo import change
from bench_gui.work.background import Background
from core.errors import ServoBenchError
from core.plan import Cell, GridPlan, PlanStatus, status, suggested_plan

if TYPE_CHECKING:
    from drivers.recorder import RunResult

DOCUMENT = "plan"


@dataclass(frozen=True)
class _StoredPlan:
    """What a session's documents say."""

    path: Path
    plan: GridPlan | None
    excluded: frozenset[str]
    writable: bool
    problem: str = ""


class Planning(QObject):
    """Owns the plan; views show `plan` and `status` and ask for what is done with them."""

    changed = Signal()
    """The plan, or what of it is done, is another."""
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

    # What can be asked.

    @property
    def done(self) -> Mapping[Cell, str]:
        """Recorded cells with the id of their run, once the plan is this session's; until then it is a proposal."""
        return self.status.done if self._written is not None else {}

    @property
    def missing(self) -> tuple[Cell, ...]:
        """Cells that are neither recorded nor in the list."""
        return tuple(self._fresh(self.status.pending))

    @property
    def remaining(self) -> float:
        """Time the missing runs take, changes by hand not included [s]."""
        return self.status.remaining(self._queue.overhead + self._queue.countdown.seconds)

    def restore(self, data: Any) -> None:
        """Take over the plan that was there last; a session's own comes before it. Raises InputError."""
        self.plan = GridPlan.from_json(data)
        self._judge()

    # What a person asks for.

    def edit(self, plan: GridPlan, text: str) -> None:
        """Take another plan, undoably; text: what is undone."""
        change(self._undo, text, self._take_plan, self.plan, plan)

    def add_missing(self) -> None:
        """Put what is missing into the list; the plan becomes the session's."""
        self._unsaved = True
        self.add(self.missing, self.plan)
        self._save()

    def add(self, cells: Sequence[Cell], plan: GridPlan) -> None:
        """Put cells of a plan behind what waits, each once, in the plan's order; nothing begins by itself."""
        wanted = set(self._fresh(cells))
        fresh = [cell for cell in plan.cells() if cell in wanted]
        self._queue.add([plan.trajectory(cell) for cell in fresh], fresh)

    def again(self, chosen: Sequence[tuple[QueuedRun | None, Cell | None]], now: bool = False) -> None:
        """Put ended runs with their cells before what waits; each takes the place of the one recorded in its cell.

        A run is None for a cell recorded earlier; now: record them, and hold what waited.
        """
        queue = self._queue
        runs: list[QueuedRun] = []
        for run, cell in chosen:
            if run is None and cell is not None:
                run = queue.made(self.plan.trajectory(cell), cell)
            if run is not None:
                runs.append(replace(run, replaces=self.status.done.get(cell, "") if cell is not None else ""))
        queue.again(runs, now)

    # Behind the scenes.

    def _fresh(self, cells: Sequence[Cell]) -> list[Cell]:
        """Cells that are not in the list yet."""
        listed = {run.cell for run in (*self._queue.waiting, self._queue.running) if run is not None}
        return [cell for cell in cells if cell not in listed]

    def _forget_queued(self) -> None:
        """Take the plan's runs out of the list."""
        self._queue.keep([run.number for run in self._queue.waiting if run.cell is None])

    def _take_plan(self, plan: GridPlan) -> None:
        self.plan = plan
        self._forget_queued()
        # A session that holds a plan follows its edits; one that holds none gets it when it is started.
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
        """Another session: its plan, or the one that was just started in it."""
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
    """Read a session's plan and which of its runs are excluded; a damaged document is said and passed over."""
    from sessions import Session

    session = Session.open(path)
    plan, excluded, problem = None, frozenset(), ""
    try:
        data: Any = session.document(DOCUMENT)
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
        session.set_document(DOCUMENT, data)


def _exclude(path: Path, run: str, reason: str) -> None:
    from sessions import Session

    Session.open(path).revise([run], lambda _id, note: replace(note, excluded=True, reason=reason))
