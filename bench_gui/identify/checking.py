"""Looking at the chosen runs in the background: what they can tell, and, where it is asked for, whether headers lie.

A check and an audit are processes of their own, ended without a word when other runs are chosen: the new ones are
looked at instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from bench_gui.identify.computing import AuditFindings, AuditJob, CheckJob, Material, Seen, audit, check
from bench_gui.work.worker import Worker, Workers

if TYPE_CHECKING:
    from core.model import ServoModel

SETTLING = 250
"""Runs are often chosen one after the other: so long nothing may change before they are looked at [ms]."""


class Checking(QObject):
    """One check, with or without an audit, at a time."""

    changed = Signal()
    """Something began, ended, or is outdated."""

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._check = workers.add(Worker("check", check, ended=self._seen, failed=self._fail))
        self._audit = workers.add(
            Worker("audit", audit, ended=self._audited, failed=self._fail, missed="a check of headers against motion")
        )
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLING)
        self._timer.timeout.connect(self._again)
        self._repeat: Callable[[], None] | None = None
        self.runs: tuple[str, ...] = ()
        """Ids of what is known, or looked at."""
        self.coverage: Seen | None = None
        self.audit: AuditFindings | None = None
        self.outdated = False
        """Whether what is known is of other runs than are chosen now."""
        self.problem = ""

    @property
    def checking(self) -> bool:
        """Whether runs are looked at, or about to be."""
        return self._check.active or self._timer.isActive()

    @property
    def auditing(self) -> bool:
        """Whether headers are audited."""
        return self._audit.active

    def check(self, material: Material) -> None:
        """Look at runs; what was known is forgotten."""
        self.forget()
        self.runs = material.runs
        self._check.start(CheckJob(material=material))
        self.changed.emit()

    def audit_headers(self, material: Material, servo: str, model: ServoModel | None) -> None:
        """Ask a model, None for the catalogue's, whether the headers of runs are true."""
        self.audit, self.problem = None, ""
        self._audit.start(AuditJob(material=material, servo=servo, model=model))
        self.changed.emit()

    def supersede(self, again: Callable[[], None]) -> None:
        """Other runs are chosen: do what is under way with those, by `again`, once the choice has settled."""
        if self.checking or self.auditing:
            self._check.drop()
            self._audit.drop()
            self._repeat = again
            self._timer.start()
        self.outdated = self.coverage is not None
        self.changed.emit()

    def stop(self) -> None:
        """Give up what is under way."""
        self._timer.stop()
        self._check.drop()
        self._audit.drop()
        self.changed.emit()

    def forget(self) -> None:
        """Another session, or another check: nothing is known."""
        self.stop()
        self.coverage, self.audit, self.outdated, self.problem = None, None, False, ""
        self.changed.emit()

    def _again(self) -> None:
        if self._repeat is not None:
            self._repeat()

    def _seen(self, coverage: Seen) -> None:
        self.coverage = coverage
        self.changed.emit()

    def _audited(self, found: AuditFindings) -> None:
        self.audit = found
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self.problem = message
        self.changed.emit()
