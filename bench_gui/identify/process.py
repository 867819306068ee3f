"""The identification's own process: searches at low priority and tells the window how far it is."""

from __future__ import annotations

import signal
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from bench_gui.identify.messages import FitFailed, FitJob, FitProgress, FitResult, FitStarted, FittedModel, Message
from bench_gui.work.background import in_words
from bench_gui.work.desk import lower_priority

NICENESS = 10
TELL_PERIOD = 0.1
"""Between two messages about the same search [s]."""


def run(job: FitJob, pipe: Connection, stop: Event) -> None:
    """Identify and tell the result; stop is the window's wish to end early."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(NICENESS)
    try:
        pipe.send(_identify(job, pipe, stop))
    except (BrokenPipeError, ConnectionError):
        return
    except Exception as error:
        pipe.send(FitFailed(in_words(error)))


def _identify(job: FitJob, pipe: Connection, stop: Event) -> Message:
    from bench_gui.results import save_identification
    from core.errors import ServoBenchError
    from core.identification.identify import DEFAULT_COMMAND_PATH, IdentificationRequest, identify
    from core.identification.split import split_recordings
    from sessions import Session

    settings = job.settings
    session = Session.open(job.session)
    recordings = session.load_all(job.runs)
    request = IdentificationRequest(
        servo=job.servo,
        models=settings.models,
        command_path=DEFAULT_COMMAND_PATH if settings.command_path else (),
        trials=settings.trials,
        repeats=settings.repeats,
        seed=settings.seed,
        validation=settings.validation,
        data_hash=session.data_hash(job.runs),
    )
    split = split_recordings(recordings, request.validation, request.seed)
    pipe.send(FitStarted(len(split.train), len(split.validation)))
    job.folder.mkdir(parents=True, exist_ok=True)
    found = identify(request, recordings, folder=job.folder, on_progress=_Teller(pipe).take, should_stop=stop.is_set)
    problem = ""
    try:
        save_identification(found, job.folder)
    except ServoBenchError as error:
        problem = str(error)
    rows = []
    for result in found.results:
        maes = [repeat.train_mae for repeat in result.repeats]
        rows.append(
            FittedModel(
                result.model,
                result.train_mae,
                result.validation_mae,
                result.evaluations,
                result.wall_seconds,
                max(maes) - min(maes) if len(maes) > 1 else None,
            )
        )
    return FitResult(tuple(rows), found.recommended.model.friction, found.stopped, problem)


class _Teller:
    """Gathers generations and sends them a few times a second."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._search = ("", -1)
        self._points: list[tuple[int, float]] = []
        self._candidate = None
        self._next = 0.0

    def take(self, progress) -> None:
        """Note a core.identification.identify.Progress."""
        search = (progress.model, progress.repeat)
        if search != self._search:
            self._search, self._points, self._candidate, self._next = search, [], None, 0.0
        generation = progress.generation
        self._points.append((generation.evaluations, generation.overall_best_value))
        self._candidate = progress.candidate or self._candidate
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TELL_PERIOD
            points, candidate = tuple(self._points), self._candidate
            self._points, self._candidate = [], None
            self._pipe.send(
                FitProgress(
                    progress.model,
                    progress.repeat,
                    points,
                    candidate,
                    progress.trials,
                    progress.done,
                    progress.remaining,
                )
            )
