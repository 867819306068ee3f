"""Starts the product's processes as forks of one that has their modules already: in milliseconds instead of seconds.

A process sees what it would have seen if it had been spawned: the environment of its start, and the program as parent.
"""

import os
from contextlib import suppress
from functools import cache, partial
from multiprocessing import forkserver, parent_process, popen_forkserver, popen_spawn_posix
from multiprocessing.context import SpawnProcess
from unittest import mock

MEASURED = frozenset({"COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"})
PATIENCE = "SERVOBENCH_TEST_PATIENCE"


def keep_warm(monkeypatch, loaded: str = "tests.warmed", spawned: frozenset[str] = MEASURED | {PATIENCE}) -> None:
    """Fork what would be spawned from here on, from a process that has loaded this module.

    spawned: variables for which processes are spawned as ever: what they ask for is done as a process starts and ends.
    """
    monkeypatch.setattr(SpawnProcess, "_Popen", staticmethod(partial(_start, loaded, spawned)))


@cache
def _server(loaded: str, patience: str | None) -> forkserver.ForkServer:
    """Limits are scaled once, by the patience it is started with, as modules are loaded."""
    server = forkserver.ForkServer()
    server.set_forkserver_preload([loaded])
    return server


def _start(loaded, spawned, process):
    if spawned & os.environ.keys():
        return popen_spawn_posix.Popen(process)
    process._target = partial(_be_spawned, dict(os.environ), os.getpid(), process._target)
    connect = _server(loaded, os.environ.get(PATIENCE)).connect_to_new_process
    with mock.patch.object(forkserver, "connect_to_new_process", connect):
        return popen_forkserver.Popen(process)


def _be_spawned(environment, program, target, *arguments, **named):
    os.environ.clear()
    os.environ.update(environment)
    server, parent = os.getppid(), parent_process()
    assert parent is not None
    os.getppid = lambda: program if parent.is_alive() else server
    with suppress(OSError):  # a program that is over, or leads a session of its own
        os.setpgid(0, os.getpgid(program))
    target(*arguments, **named)
