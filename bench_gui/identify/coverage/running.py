"""Looking at the chosen runs in the background: what they can tell, and, where it is asked for, whether headers lie.

Both are ended without a word when other runs are chosen: the new ones are looked at instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from bench_gui.identify.coverage.compute import AuditFindings, AuditJob, CheckJob, Seen, audit, check
from bench_gui.identify.material import Material
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share

if TYPE_CHECKING:
    from core.model import ServoModel

SETTLING = 250
"""Runs are often chosen one after the other: so long nothing may change before they are looked at [ms]."""


class Checking(QObject):
    """One check, with or without an audit, at a time."""

    changed = Signal()
    """Something began, ended, or is outdated."""

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
        """Whether runs are looked at, or about to be."""
        return self.coverage.active or self._timer.isActive()

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of what is known, or looked at."""
        return self.coverage.job.material.runs if self.coverage.job is not None else ()

    @property
    def problem(self) -> str:
        """Why the last one failed."""
        return self.coverage.problem or self.audit.problem

    def check(self, material: Material) -> None:
        """Look at runs; what was known is forgotten."""
        self.forget()
        self.coverage.start(CheckJob(material=material))

    def audit_headers(self, material: Material, servo: str, model: ServoModel | None) -> None:
        """Ask a model, None for the catalogue's, whether the headers of runs are true."""
        self.audit.forget()
        self.audit.start(AuditJob(material=material, servo=servo, model=model))

    def supersede(self, again: Callable[[], None]) -> None:
        """Other runs are chosen: do what is under way with those, by `again`, once the choice has settled."""
        if self.checking or self.audit.active:
            self.stop()
            self._again = again
            self._timer.start()
        self.coverage.supersede()

    def stop(self) -> None:
        """Give up what is under way."""
        self._timer.stop()
        self.coverage.stop()
        self.audit.stop()

    def forget(self) -> None:
        """Another session, or another check: nothing is known."""
        self._timer.stop()
        self.coverage.forget()
        self.audit.forget()
