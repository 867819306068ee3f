"""The process of a person's own Webots controller: `bench webots run` starts it, and hears what the servos did."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.studies.webots.robot import MountedServo
    from core.studies.webots.trace import Trace


@dataclass(frozen=True, kw_only=True)
class ProgramJob:
    """What is run on what."""

    program: Path
    arguments: tuple[str, ...]
    servos: tuple[MountedServo, ...]
    basic_time_step: int
    """[ms]"""
    duration: float
    """[s]"""


@dataclass(frozen=True, kw_only=True)
class ProgramEnd:
    """What came of it."""

    traces: tuple[Trace, ...]
    code: int
    """The program's exit code."""
    problem: str = ""
    """What the program raised, in one line."""


def run_in_process(job: ProgramJob) -> ProgramEnd:
    """Run a program in a process of its own and wait; raises InputError when that ends without a word."""
    from core.errors import InputError

    context = get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(job, there), name="controller")
    process.start()
    there.close()
    try:
        end: ProgramEnd = here.recv()
    except EOFError:
        process.join()
        raise InputError(f"{job.program}: its process ended without a word (exit code {process.exitcode})") from None
    finally:
        if process.is_alive():
            process.join(1.0)
            process.terminate()
        here.close()
    return end


def _serve(job: ProgramJob, pipe: Connection) -> None:
    from core.errors import ServoBenchError
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
