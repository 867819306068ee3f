"""The next best recordings, computed in the background."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from bench_gui.headless.next_recordings import NextRecordings
from bench_gui.identify.computing import ProposeJob, propose
from bench_gui.work.worker import Worker, Workers


class Proposing(QObject):
    """One choice at a time."""

    changed = Signal()
    """It began, ended, or is outdated."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._worker = workers.add(
            Worker("proposals", propose, ended=self._found, failed=self._fail, missed="a choice of the next recordings")
        )
        self.found: NextRecordings | None = None
        self.outdated = False
        """Whether it is of other runs, or by another model, than there are now."""
        self.problem = ""

    @property
    def active(self) -> bool:
        """Whether it is being computed."""
        return self._worker.active

    def propose(self, job: ProposeJob) -> None:
        """Begin."""
        self.forget()
        self._worker.start(job)
        self.changed.emit()

    def stop(self) -> None:
        """Give it up."""
        self._worker.drop()
        self.changed.emit()

    def supersede(self) -> None:
        """There are other runs, or another model: what is under way is given up, what is known may be old."""
        if self.active:
            self.forget()
        self.outdated = self.found is not None
        self.changed.emit()

    def forget(self) -> None:
        """Nothing is known."""
        self._worker.drop()
        self.found, self.outdated, self.problem = None, False, ""
        self.changed.emit()

    def _found(self, found: NextRecordings) -> None:
        self.found = found
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
