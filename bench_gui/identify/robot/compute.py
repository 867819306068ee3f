"""Identification, evaluation and reports of a robot's joints in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.work.process import Line, Share
from core.base.errors import StoppedEarly
from core.identification.request import IdentificationRequest
from core.motion.recording import READ_CHANNELS
from core.robot.defaults import FIT
from core.servo.terms import COMMAND_PATH_TERMS
from sessions.results.robot import KeptRobot, read_kept_robot, read_robot, shipped_start

if TYPE_CHECKING:
    from core.robot.runs import RobotRuns
    from sessions import Session


@dataclass(frozen=True, kw_only=True)
class RobotJob:
    """Work on the joints of a robot."""

    act: Callable[[RobotJob, Line], Any]
    """One of the functions below."""
    session: Path
    runs: tuple[str, ...]
    robot: Path
    """URDF or MJCF file."""
    joints: tuple[str, ...]
    folder: Path
    """Folder of the result, to be written or read."""
    fit: Mapping[str, Any]
    """Settings that replace those of `FIT`."""


@dataclass(frozen=True, kw_only=True)
class Excited:
    """Message about the motions of the joints, before anything is fitted; see `RobotRuns`."""

    coverage: tuple[tuple[str, ...], ...]
    """Figures of each joint, see `JointCoverage.figures`."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def run(job: RobotJob, line: Line) -> Any:
    """Do a job and return its result."""
    return job.act(job, line)


def check(job: RobotJob, line: Line) -> None:
    """Send what the motions excite."""
    _load(job, line)


def identify(job: RobotJob, line: Line) -> KeptRobot:
    """Identify the joints and return the stored result."""
    from sessions.results.robot import identify_robot

    session, runs = _load(job, line)
    servo = next(iter(runs.joints.values()))[0].settings.servo
    request = IdentificationRequest(
        servo=servo, **{**FIT, **job.fit}, command_path=COMMAND_PATH_TERMS, start=shipped_start(servo)
    )
    identify_robot(
        session,
        runs,
        job.robot,
        request,
        job.folder,
        line.share,
        should_stop=line.stop_asked,
        should_yield=line.courtesy_asked,
    )
    return read_kept_robot(job.folder)


def evaluate_whole(job: RobotJob, line: Line) -> dict[str, float]:
    """Return the mean error of each joint [rad] if the whole robot is simulated at once."""
    from sessions.results.robot import whole_robot_errors

    def on_motion(done: float, motion: str) -> None:
        if line.stop_asked():
            raise StoppedEarly("stopped")
        line.tell(Share(done, f"{motion}, whole robot"))

    _, runs = _load(job, line)
    errors = whole_robot_errors(read_robot(job.folder), runs, job.robot, on_motion)
    return {joint: sum(each.values()) / len(each) for joint, each in errors.items()}


def report(job: RobotJob, line: Line) -> Path:
    """Write the report of each joint of the job into its folder and return the first."""
    from bench_gui.headless.report.of_session import report_of

    _, runs = _load(job, line)
    written: list[Path] = []
    for joint, recordings in runs.joints.items():
        if line.stop_asked():
            raise StoppedEarly("stopped")
        line.tell(Share(len(written) / len(runs.joints), f"report of {joint}"))
        folder = read_robot(job.folder).joints[joint].parent
        written.append(report_of(job.session, folder, folder / "report.html", recordings, job.robot))
    return written[0]


def _load(job: RobotJob, line: Line) -> tuple[Session, RobotRuns]:
    """Return the session and the runs of the joints; send what they excite."""
    from core.robot.chain import Chain
    from core.robot.runs import robot_runs
    from sessions import Session

    session = Session.open(job.session)
    runs = robot_runs(Chain(job.robot), session.load_for_fit(job.runs, READ_CHANNELS), job.joints)
    line.tell(
        Excited(coverage=tuple(each.figures() for each in runs.coverage), notes=runs.notes, warnings=runs.warnings)
    )
    return session, runs
