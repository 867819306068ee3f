"""A fleet in the background: computed in a process of its own, read from its folder, and what sessions hold."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from bench_gui.fleet.messages import FleetJob, FleetStep
from bench_gui.fleet.process import run
from bench_gui.fleet.reading import LookJob, ReadJob, SeenSession, look, read
from bench_gui.fleet.summary import FleetSummary
from bench_gui.work.worker import Worker, Workers


class FleetRunning(QObject):
    """One fleet at a time."""

    changed = Signal()
    """It began, is being stopped, ended, or a folder is being read."""
    progressed = Signal()
    """`latest` is another one."""
    noted = Signal(str)
    """Something happened besides, in words."""
    shown = Signal()
    """`summary` is another one."""
    finished = Signal()
    """It ended by itself or was stopped; `summary` is the last one."""
    looked = Signal(object)
    """What the sessions hold that were asked for last, tuple of SeenSession."""
    problem = Signal(str)

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker(
                "fleet",
                run,
                told=self._take,
                ended=self._conclude,
                failed=self._fail,
                lost="the fleet's process ended unexpectedly; start again, fits that were done are kept",
                keeps=True,
                missed="a fleet; the fits that are done are kept, Start goes on with the rest",
                has_children=True,
            )
        )
        self._reader = workers.add(Worker("fleet reader", read, ended=self._show, failed=self._miss))
        self._looker = workers.add(Worker("fleet sessions", look, ended=self._tell_seen, failed=self._miss))
        self.summary: FleetSummary | None = None
        self.latest: FleetStep | None = None
        self.notes: list[str] = []
        """What happened besides since it began."""
        self.stopped = False
        """Whether it was stopped before its end."""

    @property
    def active(self) -> bool:
        """Whether a fleet is being computed."""
        return self._worker.active

    @property
    def stopping(self) -> bool:
        """Whether it was asked to end early."""
        return self._worker.stopping

    @property
    def reading(self) -> bool:
        """Whether a folder is being read."""
        return self._reader.active

    def start(self, job: FleetJob) -> None:
        """Compute what the job's folder does not hold."""
        if self.active:
            self.problem.emit("a fleet is running; stop it first")
            return
        self._reader.drop()
        self.latest, self.notes, self.stopped = None, [], False
        if self.summary is not None and self.summary.folder != job.folder:
            self.summary = None
            self.shown.emit()
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """End it soon; the fits that are done are kept."""
        if self._worker.stop():
            self.stopped = True
            self.changed.emit()

    def open(self, folder: Path) -> None:
        """Read a fleet's folder."""
        if self.active:
            self.problem.emit("a fleet is running; stop it first")
            return
        self._reader.start(ReadJob(folder=folder))
        self.changed.emit()

    def look(self, sessions: tuple[Path, ...]) -> None:
        """Find out what sessions hold; `looked` follows, once for several questions in a row."""
        self._looker.start(LookJob(sessions=sessions))

    def _take(self, message: FleetStep | FleetSummary) -> None:
        if isinstance(message, FleetSummary):
            self._set(message)
            return
        if message.note:
            self.notes.append(message.note)
            self.noted.emit(message.note)
        self.latest = message
        self.progressed.emit()

    def _conclude(self, summary: FleetSummary) -> None:
        self.stopped = self.stopped and summary.done < summary.tasks
        self._set(summary)
        self.changed.emit()
        self.finished.emit()

    def _fail(self, message: str) -> None:
        self.changed.emit()
        self.problem.emit(message)

    def _show(self, summary: FleetSummary) -> None:
        self.latest, self.notes, self.stopped = None, [], False
        self._set(summary)
        self.changed.emit()

    def _miss(self, message: str) -> None:
        self.changed.emit()
        self.problem.emit(message)

    def _tell_seen(self, seen: tuple[SeenSession, ...]) -> None:
        self.looked.emit(seen)

    def _set(self, summary: FleetSummary) -> None:
        self.summary = summary
        self.shown.emit()
