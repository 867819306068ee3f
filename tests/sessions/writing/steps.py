"""The steps by which a program changes a disk, as Python announces them (PEP 578): watched, refused, or died at."""

import os
import resource
import signal
import sys
from contextlib import contextmanager

from core.base.atomic import SYNC

CHANGES = ("os.mkdir", "os.rename", SYNC)
"""Steps besides opening a file to write; `os.rename` is announced for `os.replace` too."""
REMOVALS = ("os.remove", "os.rmdir")
LOOKS = ("open", "os.listdir", "os.scandir", "fcntl.flock")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_listeners = []


def _hook(event, arguments):
    for listener in _listeners[1:]:
        listener(event, arguments)


@contextmanager
def heard(listener):
    """Call `listener(event, arguments)` before each step; what it raises, the step raises, and is not taken."""
    if not _listeners:
        _listeners.append(None)
        sys.addaudithook(_hook)  # for as long as the process lives
    _listeners.append(listener)
    try:
        yield listener
    finally:
        _listeners.remove(listener)


def changes(event, arguments):
    """Whether the step adds to a disk or moves something on it."""
    opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
    return event in CHANGES or bool(opens)


class Refusal:
    """Raises an error instead of the step after so many others, once; `everything`: steps that only look count too."""

    def __init__(self, after, error, *, everything=False):
        self.left, self.error, self.everything = after, error, everything
        self.happened = False

    def __call__(self, event, arguments):
        if changes(event, arguments) or (self.everything and event in LOOKS):
            self.left -= 1
            if self.left < 0 and not self.happened:
                self.happened = True
                raise self.error()


@contextmanager
def room_of(size):
    """Let no file grow beyond so many bytes; a write that would stops there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def killed_at(step, work):
    """Run `work` in a child that is killed before its n-th step; return False if it took fewer."""
    left = step

    def die(event, arguments):
        nonlocal left
        if changes(event, arguments) or event in REMOVALS:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def watched():
        with heard(die):
            work()

    status = os.waitpid(forked(watched), 0)[1]
    assert status in (0, signal.SIGKILL)
    return status != 0


def forked(work):
    """Begin `work` in a child, which ends with status 1 if that raises; return its process id."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child
