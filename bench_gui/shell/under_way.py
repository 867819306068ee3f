"""What is under way, in the line at the foot: how far it is, and what ended last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from bench_gui.controller import Controller
from bench_gui.identify.fit.messages import FitProgress, FitResult
from bench_gui.widgets.status_line import StatusLine
from core.units import duration, milliradians
from core.words import counted
from drivers.recorder import Phase, RunResult

if TYPE_CHECKING:
    from bench_gui.fleet.running import FleetRunning

_PHASES = {Phase.APPROACH: "going to the start", Phase.RUN: "", Phase.RETURN: "going back"}


class UnderWay(QObject):
    """Follows recording, identification and fleet."""

    def __init__(self, controller: Controller, line: StatusLine) -> None:
        super().__init__(line)
        self._controller = controller
        self._line = line
        controller.servo.changed.connect(self._show_recording)
        controller.queue.changed.connect(self._show_recording)
        controller.queue.ended.connect(self._note_run)
        controller.fitting.changed.connect(self._show_fitting)
        controller.fitting.progressed.connect(self._show_fit)
        controller.fitting.finished.connect(self._note_fit)

    def follow_fleet(self, running: FleetRunning) -> None:
        """Show the fleet too; it is there once its page is."""
        running.changed.connect(lambda: self._show_fleet(running))
        running.progressed.connect(lambda _: self._show_fleet(running))
        running.finished.connect(lambda _: self._note_fleet(running))

    def _show_recording(self) -> None:
        queue, view, line = self._controller.queue, self._controller.servo.view, self._line
        if queue.current is None:
            line.recording.hide()
            line.note.show()
            if view.connecting:
                line.note.setText("Connecting; the very first time the simulation is compiled, which takes a minute")
            elif line.note.text().startswith("Connecting"):
                line.note.setText("")
            return
        line.note.hide()
        place, total = queue.place
        which = f" {place} of {total}" if total > 1 else ""
        left = (view.length - view.done) / self._controller.setup.rate if view.length else 0.0
        doing = _PHASES.get(view.phase, "") or (f"{duration(left)} left" if view.phase is Phase.RUN else "")
        text = f"Recording{which}: {queue.current.title}" + (f", {doing}" if doing else "")
        share = view.done / view.length if view.length and view.phase is Phase.RUN else 0.0
        line.recording.show_progress(text, 1.0 if view.phase is Phase.RETURN else share)

    def _note_run(self, result: RunResult) -> None:
        if result.exit_status == "success":
            self._line.note.setText(f"Recorded {result.id}: {result.samples} samples")

    def _show_fitting(self) -> None:
        fitting = self._controller.fitting
        line = self._line.identification
        if not fitting.active:
            line.hide()
        elif fitting.stopping:
            line.show_progress("Stopping, the best is kept…", 1.0)
        elif fitting.latest is None:
            line.show_progress("Starting the identification…", 0.0)
        line.stop_button.setEnabled(fitting.active and not fitting.stopping)

    def _show_fit(self, progress: FitProgress) -> None:
        if self._controller.fitting.stopping or not progress.points:
            return
        best = milliradians(progress.points[-1][1])
        text = f"Identifying {progress.model.upper()}: {best} mrad, at most {duration(progress.remaining)} left"
        self._line.identification.show_progress(text, progress.done)

    def _note_fit(self, result: FitResult) -> None:
        count = len(result.models)
        stopped = ", stopped early" if result.stopped else ""
        self._line.note.setText(f"Identified {counted(count, 'model')}{stopped}")

    def _show_fleet(self, running: FleetRunning) -> None:
        line, step = self._line.fleet, running.latest
        line.stop_button.setEnabled(running.active and not running.stopping)
        if not running.active:
            line.hide()
        elif running.stopping:
            line.show_progress("Stopping the fleet, what is done is kept…", 1.0)
        elif step is None or not step.tasks:
            line.show_progress(f"Fleet: {step.text if step is not None else 'starting'}…", 0.0)
        else:
            left = f"{duration(step.remaining)} left" if step.computed else "starting the workers"
            line.show_progress(f"Fleet: {step.done} of {step.tasks}, {left}", step.done / step.tasks)

    def _note_fleet(self, running: FleetRunning) -> None:
        summary = running.summary
        if summary is not None:
            stopped = ", stopped early" if running.stopped else ""
            self._line.note.setText(f"Fleet: {summary.done} of {counted(summary.tasks, 'fit')}{stopped}")
