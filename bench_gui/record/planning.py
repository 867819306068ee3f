"""The recording plan of the open session: which grid it is, what of it is done, what is put into the queue next.

The plan is a document of the session. What is done is read from the session's runs each time, so nothing has to be
remembered over lunch, a crash or another window; the queue asks for the load to be changed where a person has to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.record.queue import RecordQueue
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
        self._replaces: dict[int, str] = {}
        self._excluded: frozenset[str] = frozenset()
        self._written: GridPlan | None = None
        self._unsaved = False
        self.plan: GridPlan = suggested_plan(setup.spec)
        self.status: PlanStatus = status(self.plan, ())
        setup.changed.connect(self._suit)
        library.opened.connect(self._open)
        library.runs_changed.connect(self._read)
        queue.changed.connect(self.changed)
        queue.ended.connect(self._replace)

    # What can be asked.

    @property
    def active(self) -> bool:
        """Whether a run of the plan is on or about to begin."""
        queue = self._queue
        if not queue.active:
            return False
        now = queue.running or queue.waiting[0]
        return now.cell is not None

    @property
    def running(self) -> Cell | None:
        """The cell that is recorded now."""
        return self._queue.running.cell if self._queue.running is not None else None

    @property
    def queued(self) -> int:
        """Runs of the plan that wait in the queue."""
        return sum(run.cell is not None for run in self._queue.waiting)

    @property
    def remaining(self) -> float:
        """Time the missing runs take, changes by hand not included [s]."""
        return self.status.remaining(self._queue.overhead + self._queue.countdown.seconds)

    # What a person asks for.

    def edit(self, plan: GridPlan, text: str) -> None:
        """Take another plan, undoably; text: what is undone."""
        change(self._undo, text, self._take_plan, self.plan, plan)

    def start(self, begin: Cell | None = None) -> None:
        """Record what is missing, beginning at a cell; what waits already is not asked for twice."""
        queue = self._queue
        waiting = {run.cell for run in queue.waiting}
        missing = [cell for cell in self.status.pending if cell not in waiting and cell != self.running]
        if begin is not None:
            order = self.plan.cells()
            first = order.index(begin) if begin in order else 0
            rank = {cell: place for place, cell in enumerate((*order[first:], *order[:first]))}
            missing.sort(key=rank.__getitem__)
        if not missing and not self.queued:
            self.problem.emit("every run of the plan is recorded; choose a cell to record it again")
            return
        self._unsaved = True
        queue.add([self.plan.trajectory(cell) for cell in missing], missing)
        self._save()
        if not queue.active:
            queue.resume()

    def add(self, cells: Sequence[Cell], plan: GridPlan) -> None:
        """Put cells of a plan behind what waits, each once, in the plan's order; nothing begins by itself."""
        queue = self._queue
        waiting = {run.cell for run in queue.waiting}
        wanted = {cell for cell in cells if cell not in waiting and cell != self.running}
        fresh = [cell for cell in plan.cells() if cell in wanted]
        queue.add([plan.trajectory(cell) for cell in fresh], fresh)

    def pause(self) -> None:
        """Let the run that is on come to its end and begin no other."""
        self._queue.pause()

    def redo(self, cells: Sequence[Cell]) -> None:
        """Record these cells once more, before anything else; each new run takes the place of the one there is."""
        queue = self._queue
        chosen = [cell for cell in cells if cell in self.status.done]
        queue.add([self.plan.trajectory(cell) for cell in chosen], chosen)
        fresh = queue.waiting[len(queue.waiting) - len(chosen) :]
        for run, cell in zip(fresh, chosen, strict=True):
            self._replaces[run.number] = self.status.done[cell]
        for run in reversed(fresh):
            queue.move(run.number, -len(queue.waiting))
        if chosen and not queue.active:
            queue.resume()

    def forget_queued(self) -> None:
        """Take the plan's runs out of the queue."""
        for run in self._queue.waiting:
            if run.cell is not None:
                self._queue.remove(run.number)

    # Behind the scenes.

    def _take_plan(self, plan: GridPlan) -> None:
        self.plan = plan
        self.forget_queued()
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
            self.forget_queued()
            self._judge()

    def _judge(self) -> None:
        self.status = status(self.plan, self._library.runs, self._servo, self._excluded)
        self.changed.emit()

    def _open(self) -> None:
        """Another session: its plan, or the one that was just started in it."""
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
        old = self._replaces.pop(run.number, "") if run is not None else ""
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
    from dataclasses import replace

    from sessions import Session

    Session.open(path).revise([run], lambda _id, note: replace(note, excluded=True, reason=reason))
