"""The open session as the window sees it: its runs, which of them are chosen, and everything that changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from bench_gui.places import new_session_folder, results_home
from bench_gui.results import load_latest
from bench_gui.work.background import Background

if TYPE_CHECKING:
    from core.model import ServoModel
    from core.recording import Recording, SinkDescription
    from sessions import RunSummary, Session


class Library(QObject):
    """Files are touched in the lane "session" only; what comes back is summaries and recordings."""

    opened = Signal()
    """Another session is open."""
    runs_changed = Signal()
    selection_changed = Signal()
    models_found = Signal(object)
    """Models identified earlier, list[ServoModel]."""
    problem = Signal(str)
    notice = Signal(str)

    def __init__(self, background: Background) -> None:
        super().__init__()
        self._background = background
        self._session: Session | None = None
        self.title = ""
        self.runs: list[RunSummary] = []
        self.selected: tuple[str, ...] = ()
        self.loading = False

    # What is there.

    @property
    def path(self) -> Path | None:
        """Where the session is; None while there is none."""
        return self._session.path if self._session is not None else None

    @property
    def results_place(self) -> Path | None:
        """The folder under which results of this session are kept."""
        return None if self._session is None else results_home(self._session.path)

    def chosen(self) -> list[RunSummary]:
        """The selected runs, or all when none is selected."""
        wanted = set(self.selected)
        return [run for run in self.runs if not wanted or run.id in wanted]

    def select(self, ids: Iterable[str]) -> None:
        """Choose runs by id; none stands for all."""
        known = {run.id for run in self.runs}
        selected = tuple(identity for identity in ids if identity in known)
        if selected != self.selected:
            self.selected = selected
            self.selection_changed.emit()

    # What changes it.

    def open(self, path: Path) -> None:
        """Open a session, recovering what a crash left behind."""

        def work() -> tuple[Session, list[RunSummary], list[ServoModel]]:
            from sessions import Session

            session = Session.open(path)
            return session, session.runs(), load_latest(results_home(session.path))

        self._load(work)

    def open_example(self) -> None:
        """Open a private copy of the recordings that come with the program."""

        def work() -> tuple[Session, list[RunSummary], list[ServoModel]]:
            from bench_gui.examples import example_session
            from sessions import Session

            session = Session.open(example_session())
            return session, session.runs(), []

        self._load(work)

    def create(self, path: Path) -> None:
        """Create a session in a new or empty folder and open it."""

        def work() -> tuple[Session, list[RunSummary], list[ServoModel]]:
            from sessions import Session

            return Session.create(path, path.name), [], []

        self._load(work)

    def import_files(self, paths: list[Path]) -> None:
        """Import logs of other tools into the open session, or into a new one."""
        current = self._session

        def work() -> tuple[Session, list[RunSummary], int]:
            from sessions import Session, import_paths

            target: Any = current
            if current is None or current.read_only:
                target = new_session_folder("imported")
            added = import_paths(paths, target)
            session = target if isinstance(target, Session) else Session.open(target)
            return session, session.runs(), len(added)

        def done(found: tuple[Session, list[RunSummary], int]) -> None:
            session, runs, count = found
            self._take((session, runs, []))
            self.notice.emit(f"{count} run{'s' if count != 1 else ''} imported into {self.title}")

        self._begin()
        self._background.submit("session", work, done=done, failed=self._failed)

    def refresh(self) -> None:
        """Look for new runs."""
        session = self._session
        if session is None:
            return

        def done(runs: list[RunSummary]) -> None:
            if session is self._session:
                self._take_runs(runs)

        self._background.submit("session", session.runs, done=done, failed=self.problem.emit)

    def sink_for(self, servo: str, done: Callable[[SinkDescription], None], failed: Callable[[str], None]) -> None:
        """Where runs of a servo go: the open session, or a new one if it holds runs of another servo."""
        current, runs = self._session, self.runs

        def work() -> tuple[Session, bool, SinkDescription]:
            from sessions import Session

            foreign = any(run.servo != servo for run in runs)
            fits = current is not None and not current.read_only and not foreign
            folder = new_session_folder(servo)
            session = current if fits and current is not None else Session.create(folder, folder.name)
            return session, session is not current, session.sink()

        def finish(found: tuple[Session, bool, SinkDescription]) -> None:
            session, fresh, sink = found
            if fresh:
                self._take((session, [], []))
                if runs:
                    self.notice.emit(f"a session holds one bench: these runs go into a new one, {self.title}")
            done(sink)

        self._background.submit("session", work, done=finish, failed=failed)

    def load(
        self, ids: list[str], done: Callable[[list[Recording]], None], failed: Callable[[str], None] | None = None
    ) -> None:
        """Read runs from the session."""
        session = self._session
        if session is not None:
            self._background.submit("session", session.load_all, ids, done=done, failed=failed or self.problem.emit)

    # Behind the scenes.

    def _load(self, work: Callable[[], Any]) -> None:
        self._begin()
        self._background.submit("session", work, done=self._take, failed=self._failed)

    def _begin(self) -> None:
        self.loading = True
        self.runs_changed.emit()

    def _failed(self, message: str) -> None:
        self.loading = False
        self.runs_changed.emit()
        self.problem.emit(message)

    def _take(self, found: tuple[Session, list[RunSummary], list[ServoModel]]) -> None:
        session, runs, models = found
        another = session is not self._session
        self._session, self.loading = session, False
        self.title = session.title or session.path.stem
        if another:
            self.selected = ()
            self.opened.emit()
            self.models_found.emit(models)
            for message in session.recovery.messages[:1]:
                self.notice.emit(message)
        self._take_runs(runs)

    def _take_runs(self, runs: list[RunSummary]) -> None:
        self.runs = runs
        known = {run.id for run in runs}
        kept = tuple(identity for identity in self.selected if identity in known)
        changed = kept != self.selected
        self.selected = kept
        self.runs_changed.emit()
        if changed:
            self.selection_changed.emit()
