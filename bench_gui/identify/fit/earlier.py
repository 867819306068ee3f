"""Identifications a session keeps, read back: the newest as its result was shown when it ended, what is recommended."""

from __future__ import annotations

from pathlib import Path

from bench_gui.identify.fit.messages import FitResult
from core.errors import ServoBenchError
from sessions.results.folder import result_folders
from sessions.results.identification import load_identification


def newest_result(results: Path) -> FitResult | None:
    """The result in the newest folder under a results folder that can be read; None when there is none."""
    for folder in result_folders(results):
        try:
            return FitResult.of(load_identification(folder), folder)
        except ServoBenchError:
            continue
    return None


def recommendation_in(folder: Path) -> tuple[str, str]:
    """Friction model that is recommended of the result in a folder, and why; raises IdentificationError."""
    found = load_identification(folder)
    return found.recommended.model.friction, found.choice
