"""Work on a robot's joints in the background, and the result stored in the session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal

from bench_gui.identify.robot.compute import Excited, RobotJob, run
from bench_gui.work.background import Background
from bench_gui.work.computation import Computation, Computations
from bench_gui.work.process import Share
from sessions.results.robot import KeptRobot, newest_robot


class RobotWork(Computation[RobotJob, Share | Excited, Any]):
    """One job at a time; a stopped identification keeps the joints found so far."""

    written = Signal(object)
    """Path of a report."""
    models_found = Signal(object)
    """Emitted with the models of another result, Sequence[ServoModel]."""
    identified = Signal()
    """Emitted after an identification, with its models found."""

    def __init__(self, computations: Computations, background: Background) -> None:
        super().__init__(
            computations,
            "Robot",
            run,
            lost="the process of the joints ended unexpectedly; start it again",
            keeps=True,
            stop_tip="Stop; the joints identified so far are kept",
            missed="an identification of joints; those identified so far are kept",
        )
        self._background = background
        self._session: Path | None = None
        self.excited: Excited | None = None
        """Motions of the open session, once they were examined."""
        self.kept: KeptRobot | None = None
        """Newest stored result of the open session, or None."""
        self.whole: Mapping[str, float] = {}
        """Error of each joint if the whole robot is simulated [rad], by joint."""

    def look_for_earlier(self, session: Path | None, results: Path | None) -> None:
        """Show the newest result stored in a session's results folder, or None."""
        self._session, self.problem = session, ""
        self.excited = None
        self._show(None)
        if results is not None:
            self._background.submit("session", newest_robot, results, done=lambda kept: self._found(session, kept))

    def take(self, message: Share | Excited) -> None:
        """Store what the motions excite, or a progress message."""
        if isinstance(message, Share):
            super().take(message)
        elif self._is_shown:
            self.excited = message
            self.changed.emit()

    def end(self, result: Any) -> None:
        """Show the result if its session is still open."""
        if isinstance(result, Path):
            self.written.emit(result)
        elif isinstance(result, KeptRobot) and self._is_shown:
            self._show(result)
            self.identified.emit()
        elif isinstance(result, dict) and self._is_shown:
            self.whole = result
        super().end(result)

    @property
    def _is_shown(self) -> bool:
        return self.job is not None and self.job.session == self._session

    def _found(self, session: Path | None, kept: KeptRobot | None) -> None:
        if session == self._session and self.kept is None:
            self._show(kept)

    def _show(self, kept: KeptRobot | None) -> None:
        self.kept, self.whole = kept, {}
        self.models_found.emit(() if kept is None else kept.models)
        self.changed.emit()
