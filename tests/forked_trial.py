"""A file of HDF5 tried in a fork: without the start of an interpreter, which takes a hundred times as long."""

import math
import os
import signal

from sessions.run_file import sandbox

_ENDS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL, signal.SIGALRM)
LONG = 600.0
"""Ends what hangs [s]."""


def tried(path: str, limit: float = LONG) -> int:
    """How a trial of the file ends, by SIGALRM after so long [s]: in place of `sessions.run_file.sandbox._started`."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # Nobody else's handler is to make an ordinary end of it.
    for number in _ENDS:
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(math.ceil(limit))
    os.close(1)
    os.close(2)
    try:
        sandbox.read_through(path)
    finally:
        os._exit(0)
