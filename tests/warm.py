"""Starts the product's processes as forks of one that has their modules already: in milliseconds instead of seconds.

A process sees what it would have seen if it had been spawned: the environment of its start, and the program as parent.
"""

import os
from functools import partial
from multiprocessing import forkserver, parent_process, popen_forkserver, popen_spawn_posix
from multiprocessing.context import SpawnProcess

SPAWNED = {"SERVOBENCH_TEST_PATIENCE", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"}
"""Variables for which processes are spawned as ever: what they ask for is done as a process starts and ends."""


def keep_warm(monkeypatch) -> None:
    """Fork what would be spawned from here on."""
    forkserver.set_forkserver_preload(["tests.warmed"])
    monkeypatch.setattr(SpawnProcess, "_Popen", staticmethod(_start))


def _start(process):
    if SPAWNED & os.environ.keys():
        return popen_spawn_posix.Popen(process)
    process._target = partial(_be_spawned, dict(os.environ), os.getpid(), process._target)
    return popen_forkserver.Popen(process)


def _be_spawned(environment, program, target, *arguments, **named):
    os.environ.clear()
    os.environ.update(environment)
    server, parent = os.getppid(), parent_process()
    os.getppid = lambda: program if parent.is_alive() else server
    target(*arguments, **named)
