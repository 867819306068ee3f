"""The compared runs and models, and the results of the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.state.library import Library
from bench_gui.state.models import CATALOGUE, IDENTIFIED, ModelEntry, ModelList
from bench_gui.work import simulations
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.base.words import capitalised, counted
from core.motion.recording import Recording
from core.servo.terms import FRICTION_MODELS, RICHEST

if TYPE_CHECKING:
    from sessions import RunSummary

MOST_DRAWN = 12
"""Largest number of runs in an overlay; errors cover all chosen runs."""
MOST_NAMED = 8
"""Largest number of runs named in a title; a longer list becomes a count."""
POSITION = "position"
PORTION = 12
"""Runs judged in one request; between requests other work gets its turn, and a new choice ends the sequence."""


@dataclass(eq=False)
class Picture:
    """Data to draw; recordings come first, simulations when they are ready."""

    recordings: list[Recording] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    overlays: simulations.Overlays | None = None
    first: int = 0
    """Place of the first drawn run among the chosen runs."""
    total: int = 0
    """Number of chosen runs."""
    channel: str = POSITION
    """Name of the shown channel."""


class ErrorBook:
    """Known errors of each model on each run; runs do not change, so an error is computed once."""

    def __init__(self) -> None:
        self._found: dict[ModelEntry, dict[str, float]] = {}

    def of(self, entry: ModelEntry) -> Mapping[str, float]:
        """Error by run id [rad]; NaN if the model cannot simulate the run."""
        return self._found.get(entry, {})

    def add(self, entry: ModelEntry, errors: Mapping[str, float]) -> None:
        """Add errors."""
        self._found.setdefault(entry, {}).update(errors)

    def missing(self, entry: ModelEntry, runs: list[str]) -> list[str]:
        """Return the runs for which the model's error is unknown."""
        known = self.of(entry)
        return [run for run in runs if run not in known]

    def forget(self, runs: Iterable[str]) -> None:
        """Drop the errors of runs whose used part has changed."""
        gone = set(runs)
        self._found = {e: {run: mae for run, mae in m.items() if run not in gone} for e, m in self._found.items()}

    def keep(self, entries: Iterable[ModelEntry]) -> None:
        """Drop all other models, which can no longer be compared."""
        kept = set(entries)
        self._found = {entry: errors for entry, errors in self._found.items() if entry in kept}

    def clear(self) -> None:
        """Drop everything: runs of another session may have the same ids."""
        self._found = {}


class Comparison(QObject):
    """Measured motion from the session, simulated motion from the compute process.

    Late answers to earlier requests are dropped. Views request the work: `draw` for the overlay, `judge` for the
    errors.
    """

    changed = Signal()
    """Emitted when the picture changes."""
    choice_changed = Signal()
    """Emitted when the choice of models changes."""
    errors_changed = Signal()
    """Emitted when more errors are known."""
    problem = Signal(str)

    def __init__(
        self, library: Library, model_list: ModelList, background: Background, compute: ComputeProcess
    ) -> None:
        super().__init__()
        self._library = library
        self._model_list = model_list
        self._background = background
        self._compute = compute
        self._asked = 0
        self._judging = 0
        self._opened = 0
        self._first = 0
        self.chosen: tuple[str, ...] = ()
        """Keys of the models to compare."""
        self.channel = POSITION
        """Name of the recorded channel in the overlay."""
        self.picture = Picture()
        self.waiting = False
        """True while simulations of the picture are awaited."""
        self.book = ErrorBook()
        self._untouched = True
        """True until the user chooses models in this session."""
        library.opened.connect(self._begin_again)
        model_list.changed.connect(lambda: self.book.keep(model_list.entries))
        library.trimmed.connect(self._forget_errors)

    # The choice.

    @property
    def entries(self) -> list[ModelEntry]:
        """The chosen models, those of a robot's joints if there are runs of their joint."""
        joints = {"", *(run.joint for run in self.runs)}
        return [entry for entry in self._model_list.entries if entry.key in self.chosen and entry.joint in joints]

    @property
    def runs(self) -> list[RunSummary]:
        """Runs that a fit would use, or the one that a person looks at."""
        return self._library.to_look_at()

    @property
    def judged(self) -> tuple[int, int]:
        """Number of known errors of the chosen runs and models, and of all of them."""
        runs, entries = [run.id for run in self.runs], self.entries
        missing = sum(len(self.book.missing(entry, runs)) for entry in entries)
        return len(runs) * len(entries) - missing, len(runs) * len(entries)

    @property
    def doing(self) -> str:
        """Current work of the compute process, as a sentence."""
        return f"{capitalised(self._compute.doing or 'simulating the runs')}…"

    def title(self, runs: Sequence[str] | None = None) -> str:
        """Session, runs and models in one line, for exported plots; None: all chosen runs."""
        ids = [run.id for run in self.runs] if runs is None else runs
        which = counted(len(ids), "run")
        if 0 < len(ids) <= MOST_NAMED:
            which = ("run " if len(ids) == 1 else "runs ") + ", ".join(run.split("_")[0] for run in ids)
        models = ", ".join(entry.title for entry in self.entries)
        return ", ".join(part for part in (self._library.title, which if ids else "", models) if part)

    def choose(self, keys: tuple[str, ...]) -> None:
        """Choose the models to compare."""
        self._untouched = False
        self._choose(keys)

    def enter(self) -> None:
        """Prepare for being shown: choose models unless the user has."""
        if self._untouched:
            self.choose_sensibly()

    def choose_again(self, keys: tuple[str, ...]) -> None:
        """Choose the models of last time, if any were chosen."""
        if keys:
            self.choose(keys)

    def choose_sensibly(self) -> None:
        """Choose identified models if there are any, otherwise the simplest and the richest of the catalogue.

        The models of a robot's joints are chosen beside the richest one, which is not of this robot.
        """
        entries = self._model_list.entries
        joints = [e.key for e in entries if e.joint]
        identified = [e.key for e in entries if e.origin == IDENTIFIED and not e.joint]
        if joints:
            keys = (*joints, *(e.key for e in entries if e.model.friction == RICHEST and e.origin == CATALOGUE))
        elif identified:
            first, best = identified[0], self._model_list.recommended or identified[-1]
            keys = (first, best) if first != best else (first, identified[-1])
        else:
            ends = (FRICTION_MODELS[0], RICHEST)
            keys = tuple(e.key for e in entries if e.model.friction in ends and e.origin == CATALOGUE)
        self._choose(tuple(dict.fromkeys(keys)))

    # Requests of views.

    def draw(self) -> None:
        """Request the motion of the chosen runs and models, at most as many runs as an overlay shows."""
        path = self._library.path
        chosen = [run.id for run in self.runs]
        first = self._first = self._first if self._first < len(chosen) else 0
        runs = chosen[first : first + MOST_DRAWN]
        entries = self.entries
        self._asked += 1
        asked = self._asked
        if path is None or not runs:
            self.picture, self.waiting = Picture(), False
            self.changed.emit()
            return
        if not self.picture.recordings:
            self.picture = Picture(total=len(chosen))
            self.changed.emit()
        self.waiting = bool(entries)
        channel = self.channel
        recordings: list[Recording] | None = None
        overlays: simulations.Overlays | None = None

        def show() -> None:
            """Show what has arrived; either may be the first."""
            if recordings is not None:
                last = self.picture.overlays if self._same(recordings, entries) else None
                self.waiting = self.waiting and overlays is None
                self.picture = Picture(recordings, entries, overlays or last, first, len(chosen), channel)
                self.changed.emit()

        def loaded(found: list[Recording]) -> None:
            nonlocal recordings
            if asked == self._asked:
                recordings = found
                show()

        def simulated(found: simulations.Overlays) -> None:
            nonlocal overlays
            if asked == self._asked:
                overlays = found
                self._note(entries, found)
                show()
                for problem in found.problems[:1]:
                    self.problem.emit(problem)

        def failed(message: str) -> None:
            if asked == self._asked:
                self.waiting = False
                self.changed.emit()
                self.problem.emit(message)

        self._library.load_used(runs, loaded, failed)
        if entries:
            models = {e.key: e.model for e in entries}
            self._background.submit(
                "compute", self._compute.call, simulations.overlays, path, runs, models, channel,
                done=simulated, failed=failed,
            )  # fmt: skip

    def show_channel(self, name: str) -> None:
        """Draw another channel of the same runs."""
        self.channel = name
        self.draw()

    def respond(self, run: str, done: Callable[[simulations.Responses], None], failed: Callable[[str], None]) -> None:
        """Request a run's frequency response, measured and simulated by the chosen models."""
        path, models = self._library.path, {entry.key: entry.model for entry in self.entries}
        self._background.submit(
            "compute", self._compute.call, simulations.responses, path, run, models, done=done, failed=failed
        )

    def turn(self, pages: int) -> None:
        """Draw later runs or, for negative pages, earlier ones; a page has MOST_DRAWN runs."""
        last = max(0, len(self.runs) - 1) // MOST_DRAWN * MOST_DRAWN
        self._first = min(max(self._first + pages * MOST_DRAWN, 0), last)
        self.draw()

    def turn_to(self, run: str) -> None:
        """Make the page with this run the next one to draw."""
        place = next((i for i, chosen in enumerate(self.runs) if chosen.id == run), 0)
        self._first = place // MOST_DRAWN * MOST_DRAWN

    def judge(self) -> None:
        """Request all missing errors of the chosen runs and models, portion by portion."""
        self._judging += 1
        self._judge_on(self._judging)

    def stop_judging(self) -> None:
        """Stop after the current portion, because no view shows errors."""
        self._judging += 1

    # Internals.

    def _judge_on(self, judging: int, reported: frozenset[str] = frozenset()) -> None:
        path = self._library.path
        entries, runs = self.entries, [run.id for run in self.runs]
        unknown = {run for entry in entries for run in self.book.missing(entry, runs)}
        todo = [run for run in runs if run in unknown][:PORTION]
        if path is None or not todo:
            return
        wanted = {entry.key: missing for entry in entries if (missing := self.book.missing(entry, todo))}
        models = {entry.key: entry.model for entry in entries if entry.key in wanted}
        opened = self._opened

        def done(errors: simulations.Errors) -> None:
            if opened != self._opened:
                return
            for entry in entries:
                self.book.add(entry, errors.mae.get(entry.key, {}))
            self.errors_changed.emit()
            if judging == self._judging:
                for problem in errors.problems:
                    if problem not in reported:
                        self.problem.emit(problem)
                self._judge_on(judging, reported | set(errors.problems))

        def failed(message: str) -> None:
            if judging == self._judging:
                self.problem.emit(message)

        self._background.submit(
            "compute", self._compute.call, simulations.errors, path, wanted, models, done=done, failed=failed
        )

    def _note(self, entries: list[ModelEntry], overlays: simulations.Overlays) -> None:
        """Store the errors that an overlay contains."""
        for entry in entries:
            self.book.add(entry, {run.id: run.mae.get(entry.key, math.nan) for run in overlays.runs})
        self.errors_changed.emit()

    def _begin_again(self) -> None:
        if not self._library.reopened:
            self.chosen, self._untouched = (), True
        self.picture, self.waiting, self._first = Picture(), False, 0
        # Running requests belong to the previous session.
        self._opened += 1
        self._asked += 1
        self._judging += 1
        self.book.clear()

    def _forget_errors(self, runs: list[str]) -> None:
        # Running requests used the previous parts of the runs.
        self._opened += 1
        self._judging += 1
        self.book.forget(runs)

    def _choose(self, keys: tuple[str, ...]) -> None:
        if keys != self.chosen:
            self.chosen = keys
            self.choice_changed.emit()

    def _same(self, recordings: list[Recording], entries: list[ModelEntry]) -> bool:
        now, before = [r.id for r in recordings], [r.id for r in self.picture.recordings]
        if self.picture.channel != self.channel:
            return False
        return now == before and [e.key for e in entries] == [e.key for e in self.picture.models]
