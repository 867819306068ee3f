"""The experiment of the stiction tab in the background, run again when its numbers have settled."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from bench_gui.studies.stiction.compute import StictionJob, StictionView, experiment
from bench_gui.work.computation import Computation, Computations

PATIENCE = 600
"""Numbers that have not changed for so long are taken [ms]."""


class StictionExperiment(Computation[StictionJob, None, StictionView]):
    """Runs experiments; the last result stays visible while the next one runs."""

    def __init__(self, computations: Computations) -> None:
        super().__init__(
            computations,
            "Stiction experiment",
            experiment,
            lost="the process of the stiction experiment ended unexpectedly; run it again",
        )
        self._wanted: StictionJob | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PATIENCE)
        self._timer.timeout.connect(lambda: self._wanted and self.start(self._wanted))

    @property
    def active(self) -> bool:
        """True while an experiment is running or scheduled."""
        return super().active or self._timer.isActive()

    @property
    def possible(self) -> bool:
        """True if the last settings can be simulated."""
        return self._wanted is not None

    def ask(self, job: StictionJob | None) -> None:
        """Run the experiment once the settings are stable; None: nothing to run."""
        if job is not None and job == self._wanted:
            return
        self._wanted = job
        self.stop()
        if job is not None:
            self._timer.start()
        self.changed.emit()

    def start(self, job: StictionJob) -> None:
        """Run it now."""
        self._wanted = job
        self._timer.stop()
        super().start(job)

    def stop(self) -> None:
        """Run none."""
        self._timer.stop()
        super().stop()
