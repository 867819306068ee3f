"""Stored identifications of a session, read back as `FitResult`s."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench_gui.identify.fit.messages import FitResult
from core.base.errors import ServoBenchError
from sessions.results.folder import result_folders
from sessions.results.identification import load_identification

MOST = 30
"""Number of earlier results offered: reading one takes about 10 ms, and each stays in memory."""


def earlier_results(results: Path, most: int = MOST) -> tuple[FitResult, ...]:
    """Read the results in a results folder, newest first; unreadable ones are skipped."""
    return tuple(islice(_readable(results), most))


def result_in(folder: Path) -> FitResult:
    """Read the result in a folder.

    Raises:
        IdentificationError: if it cannot be read.
    """
    return FitResult.of(load_identification(folder), folder)


def _readable(results: Path) -> Iterator[FitResult]:
    for folder in result_folders(results):
        try:
            yield FitResult.of(load_identification(folder), folder)
        except ServoBenchError:
            continue
