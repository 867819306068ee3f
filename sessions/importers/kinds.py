"""What a file turns out to be when it is no recording."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import InputError


class NotARecordingError(InputError):
    """A file is sound but of another kind."""


@dataclass(frozen=True)
class RunList:
    """A file that names recordings beside it."""

    names: tuple[str, ...]
