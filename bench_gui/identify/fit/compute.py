"""Work of the identification process: search and report the progress to the window."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bench_gui.identify.fit.messages import (
    DEFAULTS,
    LEAVE_OUT,
    SPLIT,
    FitJob,
    FitOverlay,
    FitProgress,
    FitResult,
    FitStarted,
    Remedy,
)
from bench_gui.work.process import Line, Share
from core.base.errors import ServoBenchError
from core.base.units import milliradians
from core.identification.overlay import overlay, worst_first
from core.identification.runs.conditions import DivergingError, UnusableRuns
from core.identification.runs.split import Split, SplitError
from core.identification.search.placed import PlacedResiduals
from core.motion.recording import READ_CHANNELS, Recording
from core.servo.model import ServoModel
from sessions.results.record import read_record

if TYPE_CHECKING:
    from core.identification.identify import Progress

TELL_PERIOD = 0.1
"""Time between two messages about the same search [s]."""
OVERLAY_PERIOD = 0.5
"""Shortest time between two overlays [s]."""
OVERLAY_SHARE = 0.1
"""Largest share of the time that overlays take."""


def run(job: FitJob, line: Line) -> FitResult:
    """Identify; if that fails, a remedy is sent before the error is raised."""
    try:
        return _identify(job, line)
    except ServoBenchError as error:
        remedy = remedy_for(error, job)
        if remedy is not None:
            line.tell(remedy)
        raise


def remedy_for(error: Exception, job: FitJob) -> Remedy | None:
    """Change that would make a failed identification possible; None if unknown."""
    if isinstance(error, UnusableRuns):
        if len(error.runs) < len(job.runs) and not job.resume:
            return Remedy(LEAVE_OUT, runs=error.runs, reason=str(error).split(";")[0])
    elif isinstance(error, SplitError):
        return Remedy(SPLIT, rule="25%" if len(job.runs) > 1 else "none")
    elif isinstance(error, DivergingError):
        return Remedy(DEFAULTS)
    return None


def _identify(job: FitJob, line: Line) -> FitResult:
    from sessions import Session
    from sessions.results.identifying import Watch, load_again, run_identification

    session = Session.open(job.session)
    if job.resume:
        recordings = load_again(read_record(job.folder), session)
    else:
        recordings = session.load_for_fit(job.runs, READ_CHANNELS)
    request = replace(job.request, data_hash=session.data_hash([recording.id for recording in recordings]))
    teller = _Teller(line, job)
    watch = Watch(
        loaded=teller.begin,
        progressed=teller.take,
        recalled=lambda progress: teller.take(progress, recorded=True),
        staged=lambda done, text: line.tell(Share(done, text)),
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    finding = run_identification(
        recordings, request, job.folder, watch, selection=session.selection(recordings), resume=job.resume
    )
    return FitResult.of(finding.identification, job.folder if finding.files else None, finding.problem)


class _Teller:
    """Sends progress a few times a second, and less often an overlay of the worst run."""

    def __init__(self, line: Line, job: FitJob) -> None:
        self._line = line
        self._job = job
        self._train: list[Recording] = []
        self._search = ("", "", -1)
        self._points: list[tuple[int, float]] = []
        self._candidate: ServoModel | None = None
        self._points_error: float | None = None
        self._unseen: ServoModel | None = None
        """Best candidate not shown by an overlay yet."""
        self._recorded = False
        """True if a generation since the last message was of an earlier search."""
        self._next = self._next_overlay = 0.0

    def begin(self, recordings: Sequence[Recording], split: Split) -> None:
        """Report that the recordings are loaded and split."""
        train = set(split.train)
        self._train = [recording for recording in recordings if recording.id in train]
        self._line.tell(FitStarted(len(split.train), len(split.validation)))

    def take(self, progress: Progress, recorded: bool = False) -> None:
        """Note a generation; recorded: it is from an earlier search."""
        self._recorded = self._recorded or recorded
        search = (progress.model, progress.trial, progress.repeat)
        if search != self._search:
            self._search, self._points, self._candidate, self._next = search, [], None, 0.0
            self._points_error = None
        generation = progress.generation
        self._points.append((generation.evaluations, generation.overall_best_value))
        self._candidate = progress.candidate or self._candidate
        self._unseen = progress.candidate or self._unseen
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + TELL_PERIOD
        points, candidate = tuple(self._points), self._candidate
        self._points, self._candidate = [], None
        if candidate is not None:
            self._points_error = self._error_of_points(candidate)
        self._line.tell(
            FitProgress(
                done=progress.done,
                text=f"{progress.model.upper()} {progress.trial}".rstrip() + f": {milliradians(points[-1][1])} mrad",
                recorded=self._recorded,
                model=progress.model,
                trial=progress.trial,
                repeat=progress.repeat,
                points=points,
                candidate=candidate,
                trials=progress.trials,
                points_error=self._points_error,
            )
        )
        self._recorded = False
        if now >= self._next_overlay and self._unseen is not None:
            self._overlay(self._unseen)
            self._unseen = None

    def _error_of_points(self, model: ServoModel) -> float | None:
        """Mean error of the placed points under a model [rad]; None without points."""
        points = self._job.request.points
        return float(abs(PlacedResiduals(points).of(model)).mean()) if points else None

    def _overlay(self, model: ServoModel) -> None:
        begun = time.monotonic()
        request = self._job.request
        runs = worst_first(model, self._train, dt=request.dt, supply=request.supply)
        worst = next(recording for recording in self._train if recording.id == runs[0].id)
        drawn = overlay(model, worst, dt=request.dt, supply=request.supply)
        self._line.tell(FitOverlay(model.friction, runs, drawn, live=True))
        now = time.monotonic()
        # The first overlay also loads the kernel, so its duration predicts nothing.
        waited = (now - begun) / OVERLAY_SHARE if self._next_overlay else 0.0
        self._next_overlay = now + max(OVERLAY_PERIOD, waited)
