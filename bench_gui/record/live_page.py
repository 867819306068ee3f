"""Live tab: plots of the present run, its twin, and how it ended."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from bench_gui.controller import TICK, Controller
from bench_gui.record.live import LiveRun
from bench_gui.record.plots import LivePlots
from bench_gui.record.prompt import CountdownLabel
from bench_gui.record.queue import RecordQueue, ending
from bench_gui.widgets.fields import button, label, tool, vbox
from core.base.words import counted
from core.motion.trajectories import Trajectory
from drivers.recorder import RunResult

TWIN_PERIOD = 6
"""The twin's numbers change once in this many frames; faster changes cannot be read."""


class LivePage(QWidget):
    """Follows every run; the last one stays visible until the user prepares another."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.run = LiveRun()
        self._stale = self._ticks = 0
        self._ended: RunResult | None = None
        column = vbox(self, spacing=4)
        self.plots = LivePlots()
        self.plots.set_unit(self._controller.angle_unit)
        self.freeze = tool(
            "Freeze the plots", "Freeze the plots while recording continues; no samples are lost", "flat"
        )
        self.freeze.setText("Freeze")
        self.freeze.setCheckable(True)
        self.freeze.toggled.connect(self._freeze)
        self.plots.bar.addWidget(self.freeze)
        self.verdict: QLabel = label()
        self.verdict.setWordWrap(True)
        self.verdict.setAccessibleName("How the run ended")
        self.again_button = button(
            "Again", "Record this run once more, with the same load and gain", self.again, "small"
        )
        ended = QHBoxLayout()
        ended.addWidget(self.verdict, 1)
        ended.addWidget(self.again_button)
        self.again_button.hide()
        self.verdict.hide()
        self.twin_text: QLabel = label("", "muted")
        self.twin_text.setAccessibleName("Twin")
        self.twin_words: QLabel = label("", "fault")
        self.twin_words.setWordWrap(True)
        self.twin_words.setAccessibleName("What to check at the bench")
        self.twin_words.hide()
        column.addWidget(self.plots, 1)
        column.addLayout(ended)
        column.addWidget(self.twin_words)
        column.addWidget(self.twin_text)
        self.count = CountdownLabel(self._controller.queue, self.plots)
        self._timer = QTimer(self)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._frame)
        controller.servo.rows.connect(self._take)
        controller.queue.started.connect(self._begin)
        controller.queue.ended.connect(self._conclude)
        controller.twin.appeared.connect(self._show_twin)
        controller.twin.changed.connect(self._note_twin)

    def refresh(self) -> None:
        """Draw all samples received so far."""
        self._stale = self.plots.shown_charts
        self._draw()
        self.show_words()

    def change_unit(self) -> None:
        """Show angles in the user's unit."""
        self.plots.set_unit(self._controller.angle_unit)
        self.refresh()

    def prepare(self, trajectory: Trajectory) -> None:
        """Show a preview of the next run in place of the last one."""
        self.clear()
        self.plots.show_preview(trajectory.preview())

    def again(self) -> None:
        """Record the shown run again; the new run replaces it in its cell of the plan."""
        last = self._controller.queue.last
        if last is not None:
            self._controller.plan.again([(last, last.cell)], now=True)

    def _freeze(self, frozen: bool) -> None:
        self.freeze.setText("Frozen" if frozen else "Freeze")
        self._stale = self.plots.shown_charts
        self._draw()

    def clear(self) -> None:
        """Remove the curves of the last run."""
        self.run.clear()
        self._ended = None
        self.plots.begin_run(self.run)
        self.plots.show_twin(None, None)
        for part in (self.twin_words, self.verdict, self.again_button):
            part.hide()
        self.twin_text.setText("")

    def _begin(self, trajectory: Trajectory) -> None:
        self.prepare(trajectory)
        self._timer.start()

    def _take(self, rows: np.ndarray) -> None:
        if self.run.take(rows):
            self._draw_soon()

    def _draw_soon(self) -> None:
        """Schedule drawing for the next ticks; samples that arrive after the end of the run are drawn as well."""
        self._stale = self.plots.shown_charts
        if not self._timer.isActive():
            self._timer.start()

    def _draw(self) -> None:
        """Draw all samples received so far."""
        if self._stale and self._drawing:
            self._stale = 0
            self.plots.show_run(self.run)
        if not self._controller.queue.active:
            self._timer.stop()

    def _frame(self) -> None:
        """Draw one chart at each tick; the twin's numbers follow between two rounds of charts."""
        self._ticks += 1
        self._timer.setInterval(TICK // self.plots.shown_charts)
        if self._stale and self._drawing:
            if self._ticks % (TWIN_PERIOD * self.plots.shown_charts) == 0:
                self.show_words()
            else:
                self._stale -= 1
                self.plots.show_next(self.run)
        if not self._controller.queue.active:
            self._draw()

    @property
    def _drawing(self) -> bool:
        return self.plots.isVisible() and not self.freeze.isChecked()

    def _show_twin(self) -> None:
        twin = self._controller.twin
        self.plots.show_twin(twin.motion, twin.entry)
        self._draw_soon()
        self.show_words()

    def _note_twin(self) -> None:
        # During a run the words follow the frames; later results of the compute process have no frame to follow.
        if self._controller.queue.running is None:
            self.show_words()

    def _conclude(self, result: RunResult) -> None:
        """Keep the run visible and show how it ended."""
        self._ended = result
        self.show_words()

    def show_words(self) -> None:
        """Show the distance between the run and its twin, and how it ended."""
        if not self.plots.isVisible():
            return
        twin, unit, queue = self._controller.twin, self._controller.angle_unit, self._controller.queue
        result = (self._ended or _lost(queue)) if queue.running is None and self.run.count > 0 else None
        ended = result is not None
        if result is not None:
            lost = result is not self._ended
            kept = f"{counted(self.run.count if lost else result.samples, 'sample')} {'received' if lost else 'kept'}"
            skipped = f"{counted(result.skipped_cycles, 'cycle')} skipped"
            good = result.exit_status == "success"
            counts = (result.shortfall or skipped,) if good else (kept, "" if lost else skipped)
            said = (ending(queue.last, result), *counts, twin.verdict)
            self.verdict.setText(" · ".join(filter(None, said)))
        for part in (self.verdict, self.again_button):
            part.setVisible(ended)
        there = queue.running is not None or self.run.count > 0
        self.twin_text.setText(twin.numbers(unit) if there else "")
        words = twin.words(unit) if there else ""
        self.twin_words.setText(words)
        self.twin_words.setVisible(bool(words))


def _lost(queue: RecordQueue) -> RunResult | None:
    """Return the result of the last run if its recorder ended without reporting one."""
    run, result = queue.past[-1] if queue.past else (None, None)
    return result if result is not None and run is queue.last and not result.run else None
