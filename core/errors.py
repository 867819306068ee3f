"""The errors a person sees: each message says what was being done, what was wrong and the remedy."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


class ServoBenchError(Exception):
    """Root of every error raised on purpose; the command line prints it as one line and exits with 1."""


class InputError(ServoBenchError):
    """A file, a folder or a value from outside cannot be used."""


class ModelError(ServoBenchError):
    """A model cannot be built, read or simulated as asked."""


class IdentificationError(ServoBenchError):
    """Recordings and settings do not allow the identification that was asked for."""


class StoppedEarly(IdentificationError):
    """Somebody stopped it before anything was complete."""


class ExportError(ServoBenchError):
    """A model cannot be written for an engine as asked."""


class NotChecked(ExportError):
    """A sound export cannot be checked here: its engine is not installed, or none runs such files."""


@contextmanager
def reading_json(what: str, refusal: type[ServoBenchError]) -> Generator[None]:
    """Context, or decorator of a function, that makes one error of whatever damaged data raises.

    what: the thing read, e.g. "a fold". Errors of the kind `refusal` pass unchanged, since they name a part of it.
    """
    try:
        yield
    except refusal:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, ServoBenchError) as error:
        why = error if isinstance(error, ServoBenchError) or type(error) is ValueError else repr(error)
        raise refusal(f"{what} cannot be read: {why}") from None


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path or another text as one printable line, whatever it is made of."""
    text = os.fspath(path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def newer(what: str) -> str:
    """Message about a file that a later version of this program wrote; what: by which it is known, e.g. "format 3"."""
    return f"written by a newer ServoBench ({what}): update ServoBench"
