"""Programs that drive an emulated servo, as a terminal runs them, for whoever sends them signals."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

CONTEXT = get_context("spawn")
LOAD = ("--mass", "0.5", "--length", "0.15")
STOPPED = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
ENDED = (signal.SIGQUIT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


def record(address: str, folder: Path) -> None:
    """`bench record`, in a long run."""
    from bench_gui.cli import main

    main(
        ["record", "--servo", address, "--trajectory", "sin_sin", "--duration", "600", *LOAD, "-o", str(folder / "lab")]
    )


def place(address: str, folder: Path) -> None:
    """`bench place`, holding a torque while it waits for a person who says nothing."""
    from bench_gui.cli import main

    silence, _ = os.pipe()
    sys.stdin = os.fdopen(silence)
    main(["place", "--servo", address, "--torques", "0.3", *LOAD, "-o", str(folder / "lab")])


def window(address: str, folder: Path) -> None:
    """The window, in a run that lasts until the slowest of the other programs has begun."""
    from bench_gui import app
    from bench_gui.record import recording
    from core.motion.trajectories import make_trajectory

    recording.paper_set = lambda: [make_trajectory("sin_sin", 600.0)]
    # What it prepares once it is there is of no use here.
    app.Controller.prepare = lambda controller: controller.recording.record_paper_set()
    app.run_window(folder / "lab", address)


PROGRAMS = {program.__name__: program for program in (record, place, window)}


def _in_a_terminal(program: Callable[[str, Path], None], address: str, folder: Path) -> None:
    os.setpgid(0, 0)
    for number in (*STOPPED, *ENDED):
        # Whoever runs this may ignore some, as `nohup` and a shell's background do.
        signal.signal(number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    os.environ["SERVOBENCH_HOME"] = str(folder / "home")
    sys.stdout = sys.stderr = (folder / "told").open("w", encoding="utf-8")
    program(address, folder)


@contextmanager
def running(program: Callable[[str, Path], None], address: str, folder: Path):
    """The process id of the program, and number of its process group; killed in the end."""
    owner = CONTEXT.Process(target=_in_a_terminal, args=(program, address, folder))
    owner.start()
    assert owner.pid is not None
    try:
        yield owner.pid
    finally:
        owner.kill()
        owner.join()
