"""A cross-validation as it is read back from its file, for the window, the report and the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_gui.identify.crossvalidation import SUMMARY, newest_crossvalidation
from core.errors import IdentificationError
from core.identification.grouping import named
from core.identification.model_choice import CrossValidation
from core.sealed import parse_sealed


@dataclass(frozen=True, kw_only=True)
class KeptTransfer:
    """Errors of models fitted to one value of a condition [rad], row fitted to, column judged on."""

    condition: str
    labels: tuple[str, ...]
    errors: tuple[tuple[float, ...], ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class KeptTerm:
    """What leaving out a term costs [rad]; NaN where it was not judged on held-out runs."""

    title: str
    training: float
    held_out: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class KeptFloor:
    """Repeatability of a trajectory, or of all (empty), and the chosen model's error on the same runs [rad]."""

    trajectory: str
    sets: int
    floor: float
    error: float
    ratio: float


@dataclass(frozen=True, kw_only=True)
class KeptResult:
    """Everything one file says."""

    folder: Path | None
    """None where nothing was kept."""
    found: CrossValidation
    transfers: tuple[KeptTransfer, ...]
    terms: tuple[KeptTerm, ...]
    terms_text: str
    floors: tuple[KeptFloor, ...]
    floors_text: str

    @property
    def runs(self) -> frozenset[str]:
        """Ids of the runs it was made of."""
        return frozenset(run for fit in self.found.fits for run in (*fit.errors, *fit.trained_on))

    @classmethod
    def from_json(cls, data: Any, folder: Path | None) -> KeptResult:
        """What `CrossValidated.to_json` made; raises IdentificationError on anything else."""
        try:
            terms = data.get("terms") or {}
            return cls(
                folder=folder,
                found=CrossValidation.from_json(data),
                transfers=tuple(_transfer(table) for table in data.get("transfer", ())),
                terms=tuple(_term(cost) for cost in terms.get("terms", ())),
                terms_text=str(terms.get("text", "")),
                floors=tuple(_floor(row) for row in data.get("repeatability", ())),
                floors_text=str(data.get("repeatability_text", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IdentificationError(
                f"no cross-validation ({type(error).__name__}): cross-validate these runs again"
            ) from None


def read_crossvalidation(folder: Path) -> KeptResult:
    """Read what a folder keeps; raises IdentificationError."""
    place = folder / SUMMARY
    try:
        return KeptResult.from_json(parse_sealed(place.read_text("utf-8")), folder)
    except OSError as error:
        raise IdentificationError(f"{place}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise IdentificationError(f"{place}: no cross-validation ({error}): cross-validate these runs again") from None
    except IdentificationError as error:
        raise IdentificationError(f"{place}: {error}") from None


def newest_kept(results: Path) -> KeptResult | None:
    """The one a session keeps that was written last; None when there is none. Raises IdentificationError."""
    folder = newest_crossvalidation(results)
    return None if folder is None else read_crossvalidation(folder)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _transfer(data: Mapping[str, Any]) -> KeptTransfer:
    condition = str(data["condition"])
    return KeptTransfer(
        condition=condition,
        labels=tuple(named(condition, value) for value in data["values"]),
        errors=tuple(tuple(_number(error) for error in row) for row in data["errors"]),
        text=str(data["text"]),
    )


def _term(data: Mapping[str, Any]) -> KeptTerm:
    held = data["held_out"] or {"mean": None, "standard_error": None}
    return KeptTerm(
        title=str(data["title"]),
        training=_number(data["training"]),
        held_out=_number(held["mean"]),
        standard_error=_number(held["standard_error"]),
    )


def _floor(data: Mapping[str, Any]) -> KeptFloor:
    return KeptFloor(
        trajectory=str(data["trajectory"]),
        sets=int(data["repetitions"]),
        floor=_number(data["floor"]),
        error=_number(data["error"]),
        ratio=_number(data["ratio"]),
    )
