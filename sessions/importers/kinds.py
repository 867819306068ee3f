"""What a file turns out to be when it is no recording."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import InputError


class NotARecordingError(InputError):
    """A file is sound but of another kind."""


class UnknownTableError(NotARecordingError):
    """A table of another program: somebody has to say what its columns mean."""

    def __init__(self, message: str, names: tuple[str, ...], rows: list[list[str]], guess: str) -> None:
        """message: what the file is, without the remedy, which depends on where it is read."""
        super().__init__(message)
        self.names = names
        """Names of the columns."""
        self.rows = rows
        """The first ones, as texts."""
        self.guess = guess
        """Guessed columns, as `--columns` takes them; lacks what could not be guessed."""


@dataclass(frozen=True)
class RunList:
    """A file that names recordings beside it."""

    names: tuple[str, ...]
