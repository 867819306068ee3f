"""Fleet work of the window: computed in a process of its own, read from its folder; sessions are read as well."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal

from bench_gui.fleet.compute import run
from bench_gui.fleet.messages import FleetJob, FleetStep
from bench_gui.fleet.reading import LookJob, ReadJob, SeenSession, look, read
from bench_gui.fleet.summary import FleetSummary
from bench_gui.work.computation import Computation, Computations
from core.base.words import counted


class FleetRunning(Computation[FleetJob, FleetStep, FleetSummary]):
    """One fleet at a time; finished fits are kept when it is stopped."""

    warned = Signal(str)
    """An event that is not an error, as text."""
    shown = Signal()
    """`summary` has changed."""
    refused = Signal(str)
    """Reason why a request cannot be carried out, for the user."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Fleet",
            run,
            lost="the fleet's process ended unexpectedly; start again: finished fits are kept",
            keeps=True,
            stop_tip="Stop soon; finished fits are kept, and Start continues with the rest",
            missed="a fleet; finished fits are kept, Start continues with the rest",
            has_children=True,
        )
        self.reading: Computation[ReadJob, None, FleetSummary] = Computation(computations, "Reading of a fleet", read)
        """Reads a folder."""
        self.reading.finished.connect(self._show)
        self.looking: Computation[LookJob, None, tuple[SeenSession, ...]] = Computation(
            computations, "Sessions for a fleet", look
        )
        """Reads the contents of sessions, once for several requests in a row."""
        for each in (self.reading, self.looking):
            each.changed.connect(self.changed)
            each.failed.connect(self.failed)
        self.summary: FleetSummary | None = None
        self.notes: list[str] = []
        """Events since the start."""

    def start(self, job: FleetJob) -> None:
        """Compute the fits that the job's folder does not hold."""
        if self.active:
            self.refused.emit("a fleet is running; stop it first")
            return
        self.reading.stop()
        self.notes = []
        if self.summary is not None and self.summary.folder != job.folder:
            self._set(None)
        super().start(job)

    def open(self, folder: Path) -> None:
        """Read a fleet's folder."""
        if self.active:
            self.refused.emit("a fleet is running; stop it first")
            return
        self.reading.start(ReadJob(folder=folder))

    def look(self, sessions: tuple[Path, ...]) -> None:
        """Read the contents of sessions."""
        self.looking.start(LookJob(sessions=sessions))

    def take(self, message: FleetStep | FleetSummary) -> None:
        """Keep the latest progress or summary."""
        if isinstance(message, FleetSummary):
            self._set(message)
            return
        if message.note:
            self.notes.append(message.note)
            self.warned.emit(message.note)
        super().take(message)

    @property
    def outcome(self) -> str:
        """Number of finished fits, as text."""
        if self.result is None:
            return super().outcome
        done = f"{self.result.done} of {counted(self.result.tasks, 'fit')}"
        return f"{done}, stopped early" if self.stopped else done

    def end(self, result: FleetSummary) -> None:
        """Keep the result."""
        self.stopped = self.stopped and result.done < result.tasks
        self._set(result)
        super().end(result)

    def _show(self, summary: FleetSummary) -> None:
        self.latest, self.notes, self.stopped = None, [], False
        self._set(summary)
        self.changed.emit()

    def _set(self, summary: FleetSummary | None) -> None:
        self.summary = summary
        self.shown.emit()
