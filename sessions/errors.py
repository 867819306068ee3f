"""The errors of the session store: one line each, naming the file, what is wrong with it and the remedy."""

from __future__ import annotations

import errno

from core.errors import ServoBenchError, shown


class SessionError(ServoBenchError):
    """A session or a run in it cannot be created, opened, read or written as asked."""


class UnreadableError(SessionError):
    """A file of the store does not hold what it should: damaged or foreign."""


class NewerFormatError(SessionError):
    """A file was written by a newer version of this program."""


UNUSABLE = (UnreadableError, NewerFormatError)
"""Errors of a file's own: trying it again with this program is of no use."""


class EmptyRunError(SessionError):
    """A run ended before its second sample, so there is nothing to keep."""


_REMEDIES = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room, your share of that disk is used up",
    errno.EFBIG: "that disk takes no file so large",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place you may write to, or ask for the right to",
}
"""What helps against what a disk says."""


def cause(error: BaseException) -> str:
    """Return an exception's message as one line short enough to read, with what helps where that is known."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        remedy = _REMEDIES.get(error.errno or 0)
        text = f"{error.strerror}: {remedy}" if remedy else error.strerror
    line = shown(" ".join((text or type(error).__name__).split()))
    return line if len(line) <= 300 else line[:297] + "..."
