"""Background run of the stiction experiment, repeated when its settings have changed."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from bench_gui.work.computation import Computation, Computations
from core.studies.stiction.exploring import StictionJob, StictionView, experiment

PATIENCE = 600
"""Time without edits after which the experiment starts [ms]; typing and scrolling do not start runs."""


class StictionExperiment(Computation[StictionJob, None, StictionView]):
    """Stiction experiment in a process of its own; the last result stays visible while the next one runs."""

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
        """Schedule an experiment for when the settings have not changed for `PATIENCE`.

        Args:
            job: Experiment to run; None if the settings cannot be simulated.
        """
        if job is not None and job == self._wanted:
            return
        self._wanted = job
        self.stop()
        if job is not None:
            self._timer.start()
        self.changed.emit()

    def start(self, job: StictionJob) -> None:
        """Run an experiment now."""
        self._wanted = job
        self._timer.stop()
        super().start(job)

    def stop(self) -> None:
        """Cancel the running and the scheduled experiment."""
        self._timer.stop()
        super().stop()
