"""The stiction tab's experiment in the background: one at a time, anew when its numbers have settled."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from bench_gui.studies.stiction.work import StictionJob, StictionView, experiment
from bench_gui.work.worker import Worker, Workers

PATIENCE = 600
"""Numbers that have not changed for so long are taken [ms]."""


class StictionSimulating(QObject):
    """Owns what the last experiment showed; it stays in sight while the next one runs."""

    changed = Signal()

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker(
                "stiction",
                experiment,
                ended=self._take,
                failed=self._fail,
                lost="the process of the stiction experiment ended unexpectedly; run it again",
            )
        )
        self._wanted: StictionJob | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PATIENCE)
        self._timer.timeout.connect(self._start)
        self.view: StictionView | None = None
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether one is running or about to."""
        return self._worker.active or self._timer.isActive()

    @property
    def possible(self) -> bool:
        """Whether what was asked for last can be run."""
        return self._wanted is not None

    def ask(self, job: StictionJob | None) -> None:
        """Run it once nobody asks for another; None: nothing can be run."""
        if job is not None and job == self._wanted:
            return
        self._wanted = job
        self._worker.drop()
        self._timer.stop()
        if job is not None:
            self._timer.start()
        self.changed.emit()

    def run(self, job: StictionJob) -> None:
        """Run it now."""
        self._wanted = job
        self._timer.stop()
        self._start()

    def _start(self) -> None:
        assert self._wanted is not None
        self.problem = ""
        self._worker.start(self._wanted)
        self.changed.emit()

    def _take(self, view: StictionView) -> None:
        self.view = view
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
