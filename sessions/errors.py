"""The errors of the session store: one line each, naming the file, what is wrong with it and the remedy."""

from __future__ import annotations

import os

from core.errors import ServoBenchError


class SessionError(ServoBenchError):
    """A session or a run in it cannot be created, opened, read or written as asked."""


class UnreadableError(SessionError):
    """A file of the store does not hold what it should: damaged or foreign."""


class NewerFormatError(SessionError):
    """A file was written by a newer version of this program."""


class EmptyRunError(SessionError):
    """A run ended before its second sample, so there is nothing to keep."""


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path as one printable line, whatever bytes it is made of."""
    text = os.fspath(path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cause(error: BaseException) -> str:
    """Return an exception's message as one line short enough to read."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line = shown(" ".join((text or type(error).__name__).split()))
    return line if len(line) <= 300 else line[:297] + "..."
