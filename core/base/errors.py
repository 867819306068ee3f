"""Errors shown to the user: each message states what was attempted, what is wrong, and what to do."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


class ServoBenchError(Exception):
    """Base of all expected errors; the command line prints one as a line and exits with 1.

    Example:
        >>> try:
        ...     sb.load_model("no_such_model.json")
        ... except sb.ServoBenchError:
        ...     print("not found")
        not found
    """


class InputError(ServoBenchError):
    """A file, a folder or an input value cannot be used."""


class ModelError(ServoBenchError):
    """A model cannot be built, read or simulated."""


class IdentificationError(ServoBenchError):
    """Recordings and settings do not allow the requested identification."""


class StoppedEarly(IdentificationError):
    """The user stopped the identification before any part was complete."""


class ExportError(ServoBenchError):
    """A model cannot be written for an engine."""


class NotChecked(ExportError):
    """An export cannot be checked here: its engine is not installed, or no engine runs such files."""


@contextmanager
def reading_json(what: str, refusal: type[ServoBenchError]) -> Generator[None]:
    """Context manager or decorator that turns any error caused by damaged data into one error.

    Args:
        what: Object that is read, e.g. "a fold".
        refusal: Class of the error. Errors of this class pass unchanged, since they name a part of the object.
    """
    try:
        yield
    except refusal:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, ServoBenchError) as error:
        why = error if isinstance(error, ServoBenchError) or type(error) is ValueError else repr(error)
        raise refusal(f"{what} cannot be read: {why}") from None


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path or another text as one printable line."""
    text = os.fspath(path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def newer(what: str) -> str:
    """Return the message for a file from a later version of this program; `what` identifies it, e.g. "format 3"."""
    return f"written by a newer ServoBench ({what}): update ServoBench"
