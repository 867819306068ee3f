"""Identifications a session keeps, read back as their results were shown when they ended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench_gui.identify.fit.messages import FitResult
from core.errors import ServoBenchError
from sessions.results.folder import result_folders
from sessions.results.identification import load_identification

MOST = 30
"""Earlier results offered: reading one takes some 10 ms, and each stays in memory."""


def earlier_results(results: Path, most: int = MOST) -> tuple[FitResult, ...]:
    """Results under a results folder that can be read, the newest first."""
    return tuple(islice(_readable(results), most))


def recommendation_in(folder: Path) -> tuple[str, str, str]:
    """Recommended friction model of the result in a folder, why, and by what evidence; raises IdentificationError."""
    found = FitResult.of(load_identification(folder), folder)
    return found.recommended, found.choice, found.by


def _readable(results: Path) -> Iterator[FitResult]:
    for folder in result_folders(results):
        try:
            yield FitResult.of(load_identification(folder), folder)
        except ServoBenchError:
            continue
