"""Errors of the session store: one line each, with the file, what is wrong with it and the remedy."""

from __future__ import annotations

import errno

from core.base.errors import ServoBenchError, shown


class SessionError(ServoBenchError):
    """A session or one of its runs cannot be created, opened, read or written as requested."""


class UnreadableError(SessionError):
    """A file of the store is damaged or foreign."""


class NewerFormatError(SessionError):
    """A file was written by a newer version of this program."""


class AnotherServoError(SessionError):
    """Runs are of another kind of servo than a session, or of several."""


UNUSABLE = (UnreadableError, NewerFormatError)
"""Errors of the file itself, where another attempt with this program does not help."""


class EmptyRunError(SessionError):
    """A run ended before its second sample, so there is nothing to keep."""


_REMEDIES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space, your quota on that disk is used up",
    errno.EFBIG: "that disk does not support files of this size",
    errno.EROFS: "choose a writable place",
    errno.EACCES: "choose a place that you may write to, or ask for permission",
}
"""Remedy for errors of the disk."""


def cause(error: BaseException) -> str:
    """Return an exception's message as one short line, with a remedy where one is known."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        remedy = _REMEDIES.get(error.errno or 0)
        text = f"{error.strerror}: {remedy}" if remedy else error.strerror
    line = shown(" ".join((text or type(error).__name__).split()))
    return line if len(line) <= 300 else line[:297] + "..."
