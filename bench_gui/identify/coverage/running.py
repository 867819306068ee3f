"""Background check of the chosen runs: their coverage and, if requested, their headers.

Both are cancelled silently when other runs are chosen; the new runs are checked instead.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from bench_gui.identify.coverage.compute import AuditFindings, AuditJob, CheckJob, Seen, audit, check
from bench_gui.identify.material import Material
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from core.servo.model import ServoModel

SETTLING = 250
"""Delay before changed runs are checked, because runs are often chosen one after the other [ms]."""


class Checking(QObject):
    """One check at a time, with or without an audit."""

    changed = Signal()
    """Emitted when a check starts, ends or is outdated."""

    def __init__(self, computations: Computations) -> None:
        super().__init__()
        self.coverage: Computation[CheckJob, Share, Seen] = Computation(computations, "Coverage", check)
        self.audit: Computation[AuditJob, None, AuditFindings] = Computation(
            computations, "Headers against motion", audit, missed="a check of headers against motion"
        )
        for each in (self.coverage, self.audit):
            each.changed.connect(self.changed)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLING)
        self._timer.timeout.connect(lambda: self._again and self._again())
        self._again: Callable[[], None] | None = None

    @property
    def checking(self) -> bool:
        """True while runs are checked or about to be checked."""
        return self.coverage.active or self._timer.isActive()

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the runs that are or were checked."""
        return self.coverage.job.material.runs if self.coverage.job is not None else ()

    @property
    def problem(self) -> str:
        """Error message of the last check; empty if it succeeded."""
        return self.coverage.problem or self.audit.problem

    def check(self, material: Material) -> None:
        """Check runs; the previous result is dropped."""
        self.forget()
        self.coverage.start(CheckJob(material=material))

    def audit_headers(self, material: Material, servo: str, model: ServoModel | None) -> None:
        """Check the headers of runs against a model; None for the catalogue's."""
        self.audit.forget()
        self.audit.start(AuditJob(material=material, servo=servo, model=model))

    def supersede(self, again: Callable[[], None]) -> None:
        """Restart a running check by `again` for other runs once the choice has settled."""
        if self.checking or self.audit.active:
            self.stop()
            self._again = again
            self._timer.start()
        self.coverage.supersede()

    def stop(self) -> None:
        """Cancel the running check."""
        self._timer.stop()
        self.coverage.stop()
        self.audit.stop()

    def forget(self) -> None:
        """Drop all results: another session, or another check."""
        self._timer.stop()
        self.coverage.forget()
        self.audit.forget()
