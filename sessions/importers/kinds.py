"""Kinds of files that are not recordings."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.errors import InputError


class NotARecordingError(InputError):
    """The file is sound but of another kind."""


class UnknownTableError(NotARecordingError):
    """The file is a table of another program; the user has to name the meaning of its columns."""

    def __init__(self, message: str, names: tuple[str, ...], rows: list[list[str]], guess: str) -> None:
        """Create the error.

        Args:
            message: Kind of the file, without the remedy, which depends on where it is read.
            names: Names of the columns.
            rows: The first rows, as text.
            guess: Guessed columns, as `--columns` takes them; columns that could not be guessed are missing.
        """
        super().__init__(message)
        self.names = names
        """Names of the columns."""
        self.rows = rows
        """The first rows, as text."""
        self.guess = guess
        """Guessed columns, as `--columns` takes them; columns that could not be guessed are missing."""
        self.rows_option: dict[str, str] = {}
        """`where` or `split_by`, guessed for a table of several servos or episodes."""
        self.pattern = ""
        """Pattern that the names of the tables share, as `--from-name` takes it; empty if they share none."""
        self.servo = ""
        """Servo that their names begin with; empty if there is none."""
        self.servo_by_supply = False
        """True if the table's robot and the supply determine the servo."""


@dataclass(frozen=True)
class RunList:
    """A list of recordings, by their file names relative to the list."""

    names: tuple[str, ...]
