"""Process of the user's Webots controller: `bench webots run` starts it and receives the motion of the servos."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import InputError, ServoBenchError

if TYPE_CHECKING:
    from core.studies.webots.robot import MountedServo
    from core.studies.webots.trace import Trace


@dataclass(frozen=True, kw_only=True)
class ProgramJob:
    """A controller program and the simulated servos it runs on."""

    program: Path
    arguments: tuple[str, ...]
    servos: tuple[MountedServo, ...]
    basic_time_step: int
    """Time step of the world [ms]."""
    duration: float
    """Simulated time [s]."""


@dataclass(frozen=True, kw_only=True)
class ProgramEnd:
    """Outcome of a controller program."""

    traces: tuple[Trace, ...]
    code: int
    """The program's exit code."""
    problem: str = ""
    """Exception of the program, in one line; empty if there was none."""


def run_in_process(job: ProgramJob) -> ProgramEnd:
    """Run a program in its own process and wait; raise InputError if the process dies without a result."""
    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(job, there), name="controller")
    process.start()
    there.close()
    try:
        end: ProgramEnd = here.recv()
    except EOFError:
        process.join()
        raise InputError(
            f"{job.program}: the controller's process died without a result (exit code {process.exitcode})"
        ) from None
    finally:
        if process.is_alive():
            process.join(1.0)
            process.terminate()
        here.close()
    return end


def _serve(job: ProgramJob, pipe: Connection) -> None:
    from core.studies.webots.controller import run_program
    from core.studies.webots.robot import robot_of

    robot = robot_of(job.servos, basic_time_step=job.basic_time_step, duration=job.duration)
    code, problem = 1, ""
    try:
        code = run_program(job.program, robot, job.arguments)
    except ServoBenchError as error:
        problem = str(error)
    except BaseException as error:
        traceback.print_exc()
        problem = f"{type(error).__name__}: {error}"
    sys.stdout.flush()
    pipe.send(ProgramEnd(traces=tuple(robot.traces()), code=code, problem=problem))
    pipe.close()
