"""The digital twin: the bench's current model, simulated beside the real motion during a run.

At the first sample of a run the compute process simulates all of it, from the real start position; after that the
window only compares. While motion is outside the band, the compute process explains it again and again: the longer the
run, the better it can separate the causes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Signal

from bench_gui.record.live import LiveRun
from bench_gui.record.queue import QueuedRun, RecordQueue
from bench_gui.state.models import ModelEntry, ModelList
from bench_gui.state.servo_link import ServoLink
from bench_gui.work import simulations
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.base.units import DEGREES, AngleUnit, fixed, milliradians
from core.practice.twin import Cause, Start, TwinMotion, Watch, in_words

AGAIN = 1.0
"""A motion that left the band is explained again after this much more of it [s]."""
_COLUMNS = ("time", "position", "velocity", "supply_voltage")


class Twin(QObject):
    """Follows every run of the queue and holds the results to show."""

    changed = Signal()
    """The numbers or the words have changed; at most as often as samples arrive."""
    appeared = Signal()
    """The simulated motion of the run is available."""
    alarmed = Signal(str)
    """The run has left the band for too long; once a run, with a message."""

    def __init__(
        self,
        queue: RecordQueue,
        servo: ServoLink,
        model_list: ModelList,
        background: Background,
        compute: ComputeProcess,
    ) -> None:
        super().__init__()
        self._queue = queue
        self._servo = servo
        self._model_list = model_list
        self._background = background
        self._compute = compute
        self._run: QueuedRun | None = None
        self._samples = LiveRun(_COLUMNS)
        self._seen = 0
        self._start: Start | None = None
        self._explained_at = -math.inf
        self._explaining = False
        self.entry: ModelEntry | None = None
        """The simulated model."""
        self.motion: TwinMotion | None = None
        self.watch: Watch | None = None
        self.causes: tuple[Cause, ...] | None = None
        """Explanation of the motion outside the band; None while there is nothing to explain."""
        self.absence = ""
        """Reason why there is no twin, as text for the user."""
        queue.started.connect(lambda _: self._begin())
        queue.ended.connect(lambda _: self._conclude())
        servo.rows.connect(self._take)

    @property
    def alarm(self) -> bool:
        """True if the motion left the band for too long, and the model's evidence covers such motion."""
        known = self.motion is not None and not self.motion.unknown
        return known and self.watch is not None and not math.isnan(self.watch.alarm_at)

    def numbers(self, unit: AngleUnit) -> str:
        """Difference between motion and twin, in one line."""
        if self.motion is None or self.watch is None or not self.watch.count:
            return self.absence
        watch, base = self.watch, self.motion.base * unit.per_radian
        title = self.entry.title if self.entry is not None else ""
        share = fixed(100.0 * watch.share_inside, 0, "%")
        gap = "" if unit.symbol == "°" else " "
        width = f"{fixed(base, 3 if unit.per_radian < 1.5 else 1)}{gap}{unit.symbol}"
        assumed = "" if self.motion.known else " (assumed)"
        if self.motion.unknown:
            return f"Twin {title}: {milliradians(watch.mean)} mrad mean. No verdict: {self.motion.unknown}"
        return f"Twin {title}: {milliradians(watch.mean)} mrad mean, {share} in the band of ± {width}{assumed}"

    @property
    def verdict(self) -> str:
        """Difference between run and twin, in a few words; empty without a twin."""
        if self.motion is None or self.watch is None or not self.watch.count:
            return ""
        mean = f"twin {milliradians(self.watch.mean)} mrad"
        if self.motion.unknown:
            return f"{mean}, no verdict"
        return f"{mean}, {'left' if self.alarm else 'within'} its band"

    def words(self, unit: AngleUnit) -> str:
        """Things to check at the bench; empty while the motion is in the band."""
        if not self.alarm or self._run is None:
            return ""
        if self.causes is None:
            return "The motion is outside the model's band"
        return f"The motion does not match the model: {in_words(self.causes, self._run.header, unit)}"

    def _begin(self) -> None:
        run = self._queue.running
        self._run, self._start = run, None
        self._samples.clear()
        self._seen = 0
        self._explained_at, self._explaining = -math.inf, False
        self.motion = self.watch = self.causes = None
        self.entry = self._model_list.current
        self.absence = ""
        if run is not None and self.entry is None:
            self.absence = "No twin: there is no model of this servo yet"
        elif run is not None and self.entry is not None and self.entry.model.servo != run.header.settings.servo:
            self.absence = f"No twin: the current model is of {self.entry.model.servo}"
            self.entry = None
        elif run is not None and (identity := self._servo.identity) is not None and identity.actuator is not None:
            self.absence = "No twin: another actuator moves the shaft, and servo models do not describe it"
            self.entry = None
        self.appeared.emit()
        self.changed.emit()

    def _take(self, rows: Any) -> None:
        run, entry = self._run, self.entry
        if run is None or entry is None or not self._samples.take(rows):
            return
        if self._start is None:
            position, velocity, supply = (float(self._samples.column(name)[0]) for name in _COLUMNS[1:])
            self._start = Start(position, velocity, supply)
            identity = self._servo.identity
            step = identity.position_step if identity is not None else 0.0
            self._ask(
                simulations.foresee,
                (entry.model, run.trajectory, run.header, self._start, step),
                partial(self._arrived, run),
            )
        self._compare()

    def _arrived(self, run: QueuedRun, motion: TwinMotion) -> None:
        if run is not self._run:
            return
        self.motion, self.watch = motion, Watch(motion)
        self.appeared.emit()
        self._compare()

    def _compare(self) -> None:
        if self.watch is None or self._seen == self._samples.count:
            return
        time, position = self._samples.column("time"), self._samples.column("position")
        self.watch.take(time[self._seen :], position[self._seen :])
        self._seen = self._samples.count
        if self.alarm and not self._explaining and time[-1] >= self._explained_at + AGAIN:
            self._explain()
        self.changed.emit()

    def _explain(self) -> None:
        run, entry, start = self._run, self.entry, self._start
        if run is None or entry is None or start is None:
            return
        time, position = self._samples.column("time").copy(), self._samples.column("position").copy()
        self._explaining, self._explained_at = True, float(time[-1])
        arguments = (entry.model, run.trajectory, run.header, start, time, position)
        self._ask(simulations.explain, arguments, partial(self._explained, run))

    def _explained(self, run: QueuedRun, causes: tuple[Cause, ...]) -> None:
        if run is not self._run:
            return
        first = self.causes is None
        self.causes, self._explaining = causes, False
        if first:
            self.alarmed.emit(in_words(causes, run.header, DEGREES))
        self.changed.emit()

    def _conclude(self) -> None:
        """Explain the motion of the whole run, which separates the causes best."""
        if self.alarm and not self._explaining:
            self._explain()

    def _ask(self, task: Any, arguments: tuple[Any, ...], done: Any) -> None:
        run = self._run

        def failed(message: str) -> None:
            if run is self._run:
                self.absence, self._explaining = f"No twin: {message}", False
                self.changed.emit()

        self._background.submit("compute", self._compute.call, task, *arguments, done=done, failed=failed)
