"""Which runs and models are compared, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bench_gui.state.library import Library
from bench_gui.state.models import CATALOGUE, IDENTIFIED, ModelEntry, ModelList
from bench_gui.work import tasks
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess
from core.terms import FRICTION_MODELS, RICHEST
from core.words import counted

if TYPE_CHECKING:
    from core.recording import Recording
    from sessions import RunSummary

MOST_DRAWN = 24
"""Overlays show so many runs at once; errors are of all of them."""
MOST_NAMED = 8
"""A title names so many runs; of more it says how many."""
POSITION = "position"
PORTION = 12
"""Runs judged in one go: between two portions others get their turn, and a new choice ends it."""


@dataclass(eq=False)
class Picture:
    """What there is to see; recordings come first, simulations when they are done."""

    recordings: list[Recording] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    overlays: tasks.Overlays | None = None
    first: int = 0
    """Place of the first of them among the chosen runs."""
    total: int = 0
    """How many runs are chosen."""
    channel: str = POSITION
    """Name of the channel that is shown."""


class ErrorBook:
    """Errors found so far, of each model on each run; runs do not change, so an error is found once."""

    def __init__(self) -> None:
        self._found: dict[ModelEntry, dict[str, float]] = {}

    def of(self, entry: ModelEntry) -> Mapping[str, float]:
        """Run id to error [rad]; NaN where the model cannot simulate the run."""
        return self._found.get(entry, {})

    def add(self, entry: ModelEntry, errors: Mapping[str, float]) -> None:
        """Take errors in."""
        self._found.setdefault(entry, {}).update(errors)

    def missing(self, entry: ModelEntry, runs: list[str]) -> list[str]:
        """Which of these runs the model has not been judged on."""
        known = self.of(entry)
        return [run for run in runs if run not in known]

    def forget(self, runs: Iterable[str]) -> None:
        """Runs of which another part is used now have other errors."""
        gone = set(runs)
        self._found = {e: {run: mae for run, mae in m.items() if run not in gone} for e, m in self._found.items()}

    def keep(self, entries: Iterable[ModelEntry]) -> None:
        """Forget every other model: none of them can be compared any more."""
        kept = set(entries)
        self._found = {entry: errors for entry, errors in self._found.items() if entry in kept}

    def clear(self) -> None:
        """Forget everything: another session's runs may have the same ids."""
        self._found = {}


class Comparison(QObject):
    """Measured motion from the session, simulated motion from the compute process.

    Late answers to old questions are dropped. Nothing is asked unless a view does: `draw` for the overlay, `judge` for
    the errors.
    """

    changed = Signal()
    """The picture is another."""
    choice_changed = Signal()
    """Other models are to be compared."""
    errors_changed = Signal()
    """More errors are known."""
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
        self.book = ErrorBook()
        self._untouched = True
        """Whether nobody has chosen models since the session was opened."""
        library.opened.connect(self._begin_again)
        model_list.changed.connect(lambda: self.book.keep(model_list.entries))
        library.trimmed.connect(self._forget_errors)

    # What is compared.

    @property
    def entries(self) -> list[ModelEntry]:
        """The chosen models."""
        return [entry for entry in self._model_list.entries if entry.key in self.chosen]

    @property
    def runs(self) -> list[RunSummary]:
        """The runs that a fit would use, see `sessions.fit_runs`."""
        return self._library.for_fit()

    @property
    def judged(self) -> tuple[int, int]:
        """How many errors of the chosen runs and models are known, and how many there are."""
        runs, entries = [run.id for run in self.runs], self.entries
        missing = sum(len(self.book.missing(entry, runs)) for entry in entries)
        return len(runs) * len(entries) - missing, len(runs) * len(entries)

    def title(self, runs: Sequence[str] | None = None) -> str:
        """Session, runs and models in one line, for exported plots; None: all chosen runs."""
        ids = [run.id for run in self.runs] if runs is None else runs
        which = counted(len(ids), "run")
        if 0 < len(ids) <= MOST_NAMED:
            which = ("run " if len(ids) == 1 else "runs ") + ", ".join(run.split("_")[0] for run in ids)
        models = ", ".join(entry.title for entry in self.entries)
        return ", ".join(part for part in (self._library.title, which if ids else "", models) if part)

    def choose(self, keys: tuple[str, ...]) -> None:
        """Compare these models."""
        self._untouched = False
        self._choose(keys)

    def enter(self) -> None:
        """The comparison comes into sight: choose models unless a person has."""
        if self._untouched:
            self.choose_sensibly()

    def choose_sensibly(self) -> None:
        """Identified models if there are any, else the simplest and the richest of the catalogue."""
        entries = self._model_list.entries
        identified = [e.key for e in entries if e.origin == IDENTIFIED]
        if identified:
            first, best = identified[0], self._model_list.recommended or identified[-1]
            keys = (first, best) if first != best else (first, identified[-1])
        else:
            ends = (FRICTION_MODELS[0], RICHEST)
            keys = tuple(e.key for e in entries if e.model.friction in ends and e.origin == CATALOGUE)
        self._choose(tuple(dict.fromkeys(keys)))

    # What a view asks for.

    def draw(self) -> None:
        """Ask for the motion of the chosen runs and models, as many runs as an overlay shows."""
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
        self.waiting = bool(entries)
        channel = self.channel

        def loaded(recordings: list[Recording]) -> None:
            if asked == self._asked:
                overlays = self.picture.overlays if self._same(recordings, entries) else None
                self.picture = Picture(recordings, entries, overlays, first, len(chosen), channel)
                self.changed.emit()

        def simulated(overlays: tasks.Overlays) -> None:
            if asked == self._asked:
                self.waiting = False
                self.picture = Picture(self.picture.recordings, entries, overlays, first, len(chosen), channel)
                self._note(entries, overlays)
                self.changed.emit()
                for problem in overlays.problems[:1]:
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
                "compute",
                self._compute.call,
                tasks.overlays,
                path,
                runs,
                models,
                channel,
                done=simulated,
                failed=failed,
            )

    def show_channel(self, name: str) -> None:
        """Draw another channel of the same runs."""
        self.channel = name
        self.draw()

    def respond(self, run: str, done: Callable[[tasks.Responses], None], failed: Callable[[str], None]) -> None:
        """Ask for a run's response over frequency, and what the chosen models make of it."""
        path, models = self._library.path, {entry.key: entry.model for entry in self.entries}
        self._background.submit(
            "compute", self._compute.call, tasks.responses, path, run, models, done=done, failed=failed
        )

    def turn(self, pages: int) -> None:
        """Draw later or, for negative pages, earlier runs, MOST_DRAWN a page."""
        last = max(0, len(self.runs) - 1) // MOST_DRAWN * MOST_DRAWN
        self._first = min(max(self._first + pages * MOST_DRAWN, 0), last)
        self.draw()

    def turn_to(self, run: str) -> None:
        """Make the page of runs this one is on the next that is drawn."""
        place = next((i for i, chosen in enumerate(self.runs) if chosen.id == run), 0)
        self._first = place // MOST_DRAWN * MOST_DRAWN

    def judge(self) -> None:
        """Ask for the errors of all chosen runs and models that are not known yet, portion by portion."""
        self._judging += 1
        self._judge_on(self._judging)

    def stop_judging(self) -> None:
        """Nobody looks any more: the portion under way is the last."""
        self._judging += 1

    # Behind the scenes.

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

        def done(errors: tasks.Errors) -> None:
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
            "compute", self._compute.call, tasks.errors, path, wanted, models, done=done, failed=failed
        )

    def _note(self, entries: list[ModelEntry], overlays: tasks.Overlays) -> None:
        """What an overlay says about errors need not be asked again."""
        for entry in entries:
            self.book.add(entry, {run.id: run.mae.get(entry.key, math.nan) for run in overlays.runs})
        self.errors_changed.emit()

    def _begin_again(self) -> None:
        self.chosen, self._untouched = (), True
        self.picture, self.waiting, self._first = Picture(), False, 0
        # Answers that are under way are about the session before.
        self._opened += 1
        self._asked += 1
        self._judging += 1
        self.book.clear()

    def _forget_errors(self, runs: list[str]) -> None:
        # Answers that are under way are about the parts used before.
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
