"""The open session in the window: runs, selection, and all changes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from bench_gui.headless.dropped import Dropped, classify
from bench_gui.state.choice import Choice, choice_of
from bench_gui.state.session_contents import EXPORTED, GONE, Contents, locked, read_contents, recovery_of
from bench_gui.state.watching import SessionWatch
from bench_gui.work import simulations
from bench_gui.work.background import Background
from bench_gui.work.compute_process import ComputeProcess, ComputeProcessError
from core.base.errors import StoppedEarly
from core.base.words import counted
from core.motion.recording import Recording, RunHeader, SinkDescription
from sessions import AnotherServoError
from sessions.folders import example_session, new_session_folder
from sessions.results.folder import results_home
from sessions.results.identification import load_latest

if TYPE_CHECKING:
    from core.identification.coverage.findings import Misread
    from sessions import Annotation, RunSummary, Selection, Session
    from sessions.importers import TableImport, UnclearServoError, UnknownTableError

LOOK_PERIOD = 2000
"""Period of looking whether the session can be written: an unplugged drive is not reported as a change [ms]."""
MOST_NAMED = 3
"""Most problems listed in one message."""


class Library(QObject):
    """Access to the open session; files are read and written only in the thread "session"."""

    opened = Signal()
    """Emitted when another session is open."""
    runs_changed = Signal()
    locked_changed = Signal()
    selection_changed = Signal()
    """Emitted when the selection has changed."""
    fit_changed = Signal()
    """Emitted when the selection, or an edit, has changed what `for_fit` returns or the used part of a run."""
    annotations_changed = Signal()
    trimmed = Signal(object)
    """Emitted with the ids of runs whose used part has changed, list[str]."""
    recovered = Signal(object)
    """Emitted with a Recovery if the opened session has remains of a crash."""
    models_found = Signal(object)
    """Emitted with models identified earlier, list[ServoModel]."""
    table_found = Signal(object, object)
    """Emitted with paths to import, list[Path], and the UnknownTableError of a table among them."""
    servo_unclear = Signal(object, object)
    """Emitted with the UnclearServoError of a log, and the function that imports again with a servo's name."""
    imported = Signal()
    """Emitted after recordings were imported."""
    problem = Signal(str)
    notice = Signal(str)

    def __init__(self, background: Background, last: str = "") -> None:
        """Create the library; last: path of the session that was open at the end of last time."""
        super().__init__()
        self._background = background
        self._last = last
        self._last_selected: tuple[str, ...] = ()
        self.reopened = False
        """True if the open session is that of last time."""
        self._session: Session | None = None
        self._watch = SessionWatch()
        self._watch.changed.connect(self._look_at_lock)
        self._watch.changed.connect(self._look_again)
        self._clock = QTimer(self)
        self._clock.timeout.connect(self._look_at_lock)
        self._clock.start(LOOK_PERIOD)
        self._looking = False
        self.title = ""
        self.locked = ""
        """One line that says why nothing can be written into the session; empty if it can."""
        self.runs: list[RunSummary] = []
        self.damaged: Mapping[str, str] = {}
        """Id of each unreadable run → reason."""
        self.annotations: dict[str, Annotation] = {}
        """Annotations by run id; see `annotation`."""
        self._blank: Annotation | None = None
        self._edits = self._asked_at = 0
        self.selected: tuple[str, ...] = ()
        self._chosen: tuple[tuple[object, object, object], Choice] | None = None
        """Cached choice with its inputs, which are replaced and never modified."""
        self.loading = False
        self.doing = ""
        """Short description of the current load."""
        self.progress = (0, 0)
        """Number of files or runs opened or imported so far, and in total."""
        self._given_up = False

    # State.

    @property
    def path(self) -> Path | None:
        """Path of the session; None while none is open."""
        return self._session.path if self._session is not None else None

    @property
    def results_place(self) -> Path | None:
        """Folder for results of this session."""
        return None if self._session is None else results_home(self._session.path)

    @property
    def session(self) -> Session | None:
        """The open session, for `annotate`; use its files only in the thread "session"."""
        return self._session

    @property
    def read_only(self) -> bool:
        """True without a session, and while nothing can be written into it."""
        return self._session is None or bool(self.locked)

    @property
    def obstacle(self) -> str:
        """Reason why nothing can be written into the session, with what to do; empty if it can."""
        if not self.locked:
            return ""
        return f"this session cannot be written ({_lowered(self.locked)}); open or create another one"

    @property
    def results_obstacle(self) -> str:
        """Reason why no result can be written; those of an exported file go elsewhere."""
        return "" if self.locked == EXPORTED else self.obstacle

    def covers(self, problem: str) -> bool:
        """Return True if a problem is that the session's folder is gone, which its panel says."""
        session = self._session
        if session is None or str(session.path) not in problem or GONE in problem:
            return False
        self._lock(locked(session))
        return GONE in self.locked

    def lock_with(self, *parts: QWidget) -> None:
        """Disable widgets while nothing can be written into the session; their tooltips say why."""
        tips = [part.toolTip() for part in parts]

        def show() -> None:
            for part, tip in zip(parts, tips, strict=True):
                part.setEnabled(not self.locked)
                part.setToolTip(f"Not possible: {self.obstacle}" if self.locked else tip)

        self.locked_changed.connect(show)
        show()

    def annotation(self, identity: str) -> Annotation:
        """Return the annotation of a run."""
        found = self.annotations.get(identity) or self._blank
        if found is None:
            from sessions import Annotation

            found = self._blank = Annotation()
        return found

    def known_tags(self) -> list[str]:
        """Return all tags of the session, sorted."""
        return sorted({tag for annotation in self.annotations.values() for tag in annotation.tags}, key=str.casefold)

    def main_servo(self) -> str:
        """Catalogue name of the most frequent servo of `for_fit`, or of the selected runs; empty without runs."""
        return self._choice().servo

    def for_fit(self) -> list[RunSummary]:
        """Return the runs that all tasks use: two or more selected ones, or all successful ones, see `choice_of`."""
        return list(self._choice().for_fit)

    def to_look_at(self) -> list[RunSummary]:
        """Return the only selected run unless it is excluded, or the runs of `for_fit`."""
        alone = [run for run in self.runs if (run.id,) == self.selected and not self.annotation(run.id).excluded]
        return alone or self.for_fit()

    def selection(self, used: Sequence[RunSummary]) -> Selection:
        """Describe which runs of the session are used and which are not."""
        from sessions.selection import selection_of

        return selection_of(used, self.runs, self.damaged, self.annotations)

    def data_hash(self, runs: Sequence[RunSummary]) -> str:
        """Return the hash of the data of runs, see `Session.data_hash`."""
        from sessions.selection import data_hash

        return data_hash(runs, self.annotations)

    def left_out(self, used: Sequence[RunSummary]) -> str:
        """Return a sentence about the unused runs of the session; empty if all are used."""
        if not (self.runs or self.damaged):
            return ""
        selection = self.selection(used)
        return "" if selection.complete else selection.text

    def select(self, ids: Iterable[str]) -> None:
        """Select runs by id; an empty selection stands for all, and so does a single run for a fit."""
        known, before = {run.id for run in self.runs}, self.for_fit()
        selected = tuple(identity for identity in ids if identity in known)
        if selected != self.selected:
            self.selected = selected
            self.selection_changed.emit()
            if self.for_fit() != before:
                self.fit_changed.emit()

    @property
    def lasting_selection(self) -> tuple[str, ...]:
        """The selected runs; those of last time until their session is open again."""
        return self._last_selected if self._last else self.selected

    def select_again(self, ids: tuple[str, ...]) -> None:
        """Select the runs of last time as soon as their session is open again."""
        self._last_selected = ids

    # Changes.

    def open(self, path: Path) -> None:
        """Open a session and recover the remains of a crash."""

        def work() -> Contents:
            from sessions import Session

            session = Session.open(path)
            return read_contents(session, load_latest(results_home(session.path)), self._note_progress)

        self._load(work)

    def open_example(self, name: str = "example") -> None:
        """Open the user's copy of an example session, see `example_session`."""

        def work() -> Contents:
            from sessions import Session

            return read_contents(Session.open(example_session(name=name)))

        self._load(work)

    def close(self) -> None:
        """Close the session; the next run creates a new one."""
        self._session, self.title, self.loading, self._last = None, "", False, ""
        self._lock("")
        self.annotations, self.selected = {}, ()
        self.opened.emit()
        self.models_found.emit([])
        self._take_runs([], {})
        self.annotations_changed.emit()

    def create(self, path: Path) -> None:
        """Create a session in a new or empty folder and open it."""

        def work() -> Contents:
            from sessions import Session

            return read_contents(Session.create(path, path.name))

        self._load(work)

    def take(self, paths: list[Path]) -> None:
        """Open a dropped session or import dropped recordings; other paths are reported."""

        def done(dropped: Dropped) -> None:
            if dropped.refused:
                self.problem.emit(f"not imported: {_first(dropped.refused)}")
            if dropped.opens is not None:
                self.open(dropped.opens)
            elif dropped.imports:
                self.import_files(list(dropped.imports))

        self._background.submit("session", classify, paths, done=done, failed=self.problem.emit)

    def import_files(self, paths: list[Path], tables: TableImport | None = None) -> None:
        """Import recordings into the open session, or into a new one if that has another servo or is read-only.

        tables: meaning of the columns of tables; if it is needed and None, `table_found` is emitted. `servo_unclear` is
            emitted for a log whose servo may be one of several variants.
        """
        current, why_not = self._session, self.locked

        def work() -> tuple[Contents, int, list[str]] | UnknownTableError | UnclearServoError:
            from sessions import AnotherServoError, Session, import_paths
            from sessions.importers import ImportEvent, TableImport, UnclearServoError, UnknownTableError

            passed_over: list[str] = []
            mended: list[str] = []

            def note(event: ImportEvent) -> None:
                self._note_progress(event.done, event.total)
                if event.skipped:
                    passed_over.append(f"{Path(event.file).name}: {event.skipped}")
                if event.damage:
                    passed_over.append(event.damage)
                if event.note:
                    mended.append(f"{Path(event.file).name}: {event.note}")

            target: Any = new_session_folder("imported") if current is None or why_not else current
            try:
                try:
                    added = import_paths(paths, target, note, tables or TableImport(), _misread)
                except AnotherServoError:
                    if target is not current:
                        raise
                    passed_over.clear()
                    mended.clear()
                    target = new_session_folder("imported")
                    added = import_paths(paths, target, note, tables or TableImport(), _misread)
            except (UnknownTableError, UnclearServoError) as error:
                return error
            session = target if isinstance(target, Session) else Session.open(target)
            skipped = [f"skipped {_first(passed_over)}"] if passed_over else []
            return read_contents(session), len(added), [*skipped, *([_first(mended)] if mended else [])]

        def done(found: tuple[Contents, int, list[str]] | UnknownTableError | UnclearServoError) -> None:
            if not isinstance(found, tuple):
                self._ask(found, paths, tables)
                return
            contents, count, said = found
            self._take(contents)
            text = f"{counted(count, 'run')} imported into {self.title}"
            if current is not None and contents.session is not current:
                why = _lowered(why_not) or "a session has one servo"
                text = f"{why}; {counted(count, 'run')} imported into a new session, {self.title}"
            self.imported.emit()
            self.notice.emit("; ".join([text, *said]))

        self._begin("Import")
        self._background.submit("session", work, done=done, failed=self._failed)

    def _ask(
        self, question: UnknownTableError | UnclearServoError, paths: list[Path], tables: TableImport | None
    ) -> None:
        """Ask for what an import needs to know."""
        from sessions.importers import TableImport, UnclearServoError

        self.loading = False
        self.runs_changed.emit()
        if not isinstance(question, UnclearServoError):
            self.table_found.emit(paths, question)
            return
        known = tables or TableImport()

        def again(servo: str) -> None:
            self.import_files(paths, replace(known, facts={**known.facts, "servo": servo}))

        self.servo_unclear.emit(question, again)

    def refresh(self) -> None:
        """Look for new runs."""
        session = self._session
        if session is None:
            return

        def work() -> tuple[list[RunSummary], dict[str, str]]:
            return session.runs(), session.damaged()

        def done(found: tuple[list[RunSummary], dict[str, str]]) -> None:
            if session is self._session:
                decayed = [why for run, why in found[1].items() if run not in self.damaged]
                self._take_runs(*found)
                if decayed:
                    self.problem.emit(_first(decayed))

        self._background.submit("session", work, done=done, failed=self.problem.emit)

    def sink_for(
        self, header: RunHeader, done: Callable[[SinkDescription], None], failed: Callable[[str], None]
    ) -> None:
        """Find the destination of a run: the open session, or a new one if that has another servo.

        Args:
            header: Header of the run, signed by the servo.
            done: Called with the destination.
            failed: Called with a message.
        """
        current = self._session
        if self.locked:
            failed(self.obstacle)
            return

        def fitting() -> Session | None:
            if current is None:
                return None
            try:
                current.require_servo(header)
            except AnotherServoError:
                return None
            return current

        def work() -> tuple[Session, bool, SinkDescription]:
            from sessions import Session

            folder = new_session_folder(header.settings.servo)
            session = fitting() or Session.create(folder, folder.name)
            return session, session is not current, session.sink()

        def finish(found: tuple[Session, bool, SinkDescription]) -> None:
            session, fresh, sink = found
            if fresh:
                self._take(Contents(session, [], {}, [], []))
                if current is not None:
                    self.notice.emit(f"a session has one servo; these runs go into a new session, {self.title}")
            done(sink)

        self._background.submit("session", work, done=finish, failed=failed)

    def load(
        self, ids: list[str], done: Callable[[list[Recording]], None], failed: Callable[[str], None] | None = None
    ) -> None:
        """Load runs of the session."""
        session = self._session
        if session is not None:
            self._background.submit("session", session.load_all, ids, done=done, failed=failed or self.problem.emit)

    def load_used(
        self, ids: list[str], done: Callable[[list[Recording]], None], failed: Callable[[str], None] | None = None
    ) -> None:
        """Load runs of the session, trimmed."""
        session = self._session
        if session is not None:
            self._background.submit("session", session.load_for_fit, ids, done=done, failed=failed or self.problem.emit)

    def inquire(
        self, work: Callable[[Session], Any], done: Callable[[Any], None], failed: Callable[[], None] = lambda: None
    ) -> None:
        """Call work(session) in the session's thread; the answer is ignored if another session is open by then.

        failed: called after the problem is shown, unless another session is open by then.
        """
        session = self._session
        if session is None:
            return

        def answered(answer: Any) -> None:
            if session is self._session:
                done(answer)

        def refused(message: str) -> None:
            self.problem.emit(message)
            if session is self._session:
                failed()

        self._background.submit("session", work, session, done=answered, failed=refused)

    def annotate(self, session: Session, annotations: Mapping[str, Annotation]) -> None:
        """Replace annotations of runs, by id.

        session: the session that was open at the time of the edit; undo may refer to a closed one.
        """
        here = session is self._session
        if here and self.locked:
            self.problem.emit(self.obstacle)
            return
        if here:
            self._edits += 1
            self._show_annotations({**self.annotations, **annotations})
        else:
            self.notice.emit(f"changed in {session.title or session.path.stem}, which is not open")

        def work() -> None:
            session.revise(list(annotations), lambda identity, _: annotations[identity])

        def failed(message: str) -> None:
            self.problem.emit(f"the annotation was not saved: {message}")
            self._reread(session)

        self._background.submit("session", work, failed=failed)

    # Internals.

    def _choice(self) -> Choice:
        """Return the current choice; cached, since every view queries it after each change."""
        of = (self.runs, self.annotations, self.selected)
        if self._chosen is None or any(a is not b for a, b in zip(self._chosen[0], of, strict=True)):
            self._chosen = (of, choice_of(*of))
        return self._chosen[1]

    def _load(self, work: Callable[[], Contents]) -> None:
        self._begin("Opening a session")
        self._background.submit("session", work, done=self._take, failed=self._failed)

    def _note_progress(self, read: int, total: int) -> None:
        """Report progress from the session's thread; raises if the window closes or the user cancels."""
        self.progress = (read, total)
        if self._background.closed or self._given_up:
            raise StoppedEarly("the window is closing" if self._background.closed else "cancelled")

    def give_up(self) -> None:
        """Cancel opening or importing; a cancelled import changes nothing."""
        self._given_up = True

    def _begin(self, doing: str) -> None:
        self.loading, self.doing, self.progress, self._given_up = True, doing, (0, 0), False
        self._asked_at = self._edits
        self.runs_changed.emit()

    def _failed(self, message: str) -> None:
        self.loading = False
        self.runs_changed.emit()
        if not self._given_up:
            self.problem.emit(message)

    def _take(self, contents: Contents) -> None:
        session, runs = contents.session, contents.runs
        another = session is not self._session
        if another and self._session is not None:
            # Undo steps may still refer to the previous session.
            self._background.submit("session", self._session.forget, failed=self.problem.emit)
        overtaken = not another and self._edits != self._asked_at
        self._session, self.loading = session, False
        self._lock(contents.locked)
        self.title = session.title or session.path.stem
        if not overtaken:
            self.annotations = contents.annotations
        if another:
            self._watch.watch(session.path)
            self.reopened = str(session.path) == self._last
            self.selected, self._last = self._last_selected if self.reopened else (), ""
            self.opened.emit()
            self.models_found.emit(contents.models)
        self._take_runs(runs, contents.damaged)
        self.annotations_changed.emit()
        if overtaken:
            # An annotation was changed while the session was being read.
            self._reread(session)
        if another:
            if contents.troubles:
                self.problem.emit(_first(contents.troubles))
            recovery = recovery_of(contents)
            if recovery is not None:
                self.recovered.emit(recovery)

    def _take_runs(self, runs: list[RunSummary], damaged: Mapping[str, str]) -> None:
        self.runs, self.damaged = runs, damaged
        known = {run.id for run in runs}
        kept = tuple(identity for identity in self.selected if identity in known)
        changed = kept != self.selected
        self.selected = kept
        self.runs_changed.emit()
        if changed:
            self.selection_changed.emit()
            self.fit_changed.emit()

    def _look_again(self) -> None:
        """Load runs and annotations that another window or program has added."""
        session = self._session
        if session is None or self.loading:
            return

        def done(found: tuple[list[RunSummary], dict[str, str]]) -> None:
            if session is self._session and (found[0] != self.runs or found[1] != self.damaged):
                self._take_runs(*found)

        self._background.submit(
            "session", lambda: (session.runs(), session.damaged()), done=done, failed=self.problem.emit
        )
        self._reread(session)

    def _look_at_lock(self) -> None:
        """Look whether the session can be written; once it can again, look for what has changed meanwhile."""
        session = self._session
        if session is None or self._looking:
            return

        def done(why: str) -> None:
            self._looking = False
            if session is not self._session or why == self.locked:
                return
            self._lock(why)
            if not why:
                self._watch.watch(session.path)
                self._look_again()

        self._looking = True
        self._background.submit("session", locked, session, done=done, failed=lambda _: done(self.locked))

    def _lock(self, why: str) -> None:
        if why != self.locked:
            self.locked = why
            self.locked_changed.emit()

    def _reread(self, session: Session) -> None:
        asked_at = self._edits

        def done(annotations: dict[str, Annotation]) -> None:
            if session is self._session and asked_at == self._edits and annotations != self.annotations:
                self._show_annotations(annotations)

        # Unreadable annotations show as empty; opening or editing has already reported the reason.
        self._background.submit("session", session.annotations, done=done, failed=lambda _: done({}))

    def _show_annotations(self, annotations: dict[str, Annotation]) -> None:
        before, uses = _uses(self.annotations), _uses(annotations)
        self.annotations = annotations
        self.annotations_changed.emit()
        trimmed = [run.id for run in self.runs if before.get(run.id, _WHOLE)[1:] != uses.get(run.id, _WHOLE)[1:]]
        if trimmed:
            self.trimmed.emit(trimmed)
        if uses != before:
            self.selection_changed.emit()
            self.fit_changed.emit()


_WHOLE: tuple[bool, float | None, float | None] = (False, None, None)


def _uses(annotations: Mapping[str, Annotation]) -> dict[str, tuple[bool, float | None, float | None]]:
    """Return exclusion and trim of the annotated runs."""
    uses = {identity: (a.excluded, a.trim_begin, a.trim_end) for identity, a in annotations.items()}
    return {identity: use for identity, use in uses.items() if use != _WHOLE}


def _lowered(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _misread(recordings: Sequence[Recording], shifts: bool) -> list[Misread]:
    """Return what explains imported runs better than they were read, from a process of its own, as it computes."""
    process = ComputeProcess()
    try:
        found: list[Misread] = process.call(simulations.misread_runs, recordings, shifts)
        return found
    except ComputeProcessError:
        return []
    finally:
        process.close()


def _first(lines: list[str] | tuple[str, ...]) -> str:
    """Return the first few of several lines, and the number of others."""
    more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return "; ".join(lines[:MOST_NAMED]) + more
