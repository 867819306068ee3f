"""Starts the product's processes as forks of one that has their modules already: in milliseconds instead of seconds.

A process has the environment of its start and its limits in time. Its parent is the server it is forked from, which
ends with the tests and ends it; what is about the end of a program spawns it as ever.
"""

import ctypes
import os
import signal
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import forkserver, popen_forkserver, set_forkserver_preload
from multiprocessing.context import SpawnProcess

from drivers import timing
from drivers.recorder.process import RecorderSetup

PR_SET_PDEATHSIG = 1


def keep_warm(monkeypatch) -> None:
    """Fork what would be spawned from here on."""
    set_forkserver_preload(["tests.warmed"])
    monkeypatch.setattr(SpawnProcess, "_Popen", staticmethod(_start))


def _start(process):
    process._target = partial(_be_spawned, dict(os.environ), os.getpid(), process._target)
    return popen_forkserver.Popen(process)


def _be_spawned(environment, program, target, *arguments, **named):
    os.close(forkserver._forkserver._forkserver_alive_fd)  # the server ends with the tests, not with this process
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    os.environ.clear()
    os.environ.update(environment)
    timing.limits = timing.limits_by_environment()
    with suppress(OSError):  # a program that is over, or leads a session of its own
        os.setpgid(0, os.getpgid(program))
    of_server = [replace(one, program=os.getppid()) if isinstance(one, RecorderSetup) else one for one in arguments]
    target(*of_server, **named)
