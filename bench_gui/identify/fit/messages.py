"""What the window and the identification's process say to each other: plain data, cheap to unpickle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench_gui.work.process import Share
from core.identification.evidence.model import Evidence
from core.identification.request import IdentificationRequest
from core.identification.result import Identification
from core.model import ServoModel
from core.units import milliradians
from sessions.results.folder import FOLDER_TIME

Array = NDArray[np.float64]
CostCurve = tuple[str, int, Array, Array]
"""Of one search: friction model, repeat, evaluations (n,), best cost after them (n,) [rad]."""

LEAVE_OUT, SPLIT, DEFAULTS = "leave_out", "split", "defaults"


@dataclass(frozen=True)
class Remedy:
    """What would make a failed identification possible: the control to change, and to what."""

    kind: str
    """LEAVE_OUT runs of the session, divide them by another SPLIT rule, go back to DEFAULTS."""
    runs: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""
    """Why runs are left out."""


@dataclass(frozen=True, kw_only=True)
class FitJob:
    """What the process is started with."""

    session: Path
    runs: tuple[str, ...]
    request: IdentificationRequest
    folder: Path
    """Where the record, the study, the models and the summary go."""
    resume: bool = False


@dataclass(frozen=True)
class FitStarted:
    """The recordings are loaded and divided."""

    train: int
    validation: int


@dataclass(frozen=True, kw_only=True)
class FitProgress(Share):
    """What has happened since the last message."""

    model: str
    trial: str
    """As `Progress.trial`."""
    repeat: int
    points: tuple[tuple[int, float], ...]
    """Evaluations and the best error [rad] after them."""
    candidate: ServoModel | None
    """The best model so far, if it improved."""
    trials: int
    points_error: float | None = None
    """Share of the placed points in the best error [rad]; None without points."""


@dataclass(frozen=True, eq=False)
class OverlayRun:
    """One run under a model; arrays (n,)."""

    id: str
    trajectory: str
    place: str
    """"worst", "median", or empty for one that is only measured."""
    time: Array
    """From the first sample [s]."""
    measured: Array
    """[rad]"""
    simulated: Array | None = None
    """[rad]"""
    mae: float | None = None
    """[rad]"""
    initial: Array | None = None
    """Simulated with the values the search began with [rad]."""


@dataclass(frozen=True, eq=False)
class FitOverlay:
    """Runs under one model."""

    friction: str
    """Empty without a model."""
    runs: tuple[OverlayRun, ...]


@dataclass(frozen=True)
class FittedModel:
    """One row of the result; errors in rad."""

    model: ServoModel
    train_mae: float
    validation_mae: float | None
    validation_rmse: float | None
    evaluations: int
    wall_seconds: float
    spread: float | None
    """Largest difference of training errors between repeats."""
    evidence: Evidence | None = None
    """None while the search is under way."""
    held_out: tuple[float, ...] = ()
    """Mean absolute error of each run that was held out."""

    @property
    def error(self) -> float:
        """On runs it had not seen; on those it was fitted to where none was held out."""
        return self.train_mae if self.validation_mae is None else self.validation_mae

    @property
    def initial(self) -> ServoModel | None:
        """The model with the values the search began with; None while that is not known."""
        if self.evidence is None:
            return None
        began = {p.name: p.initial for p in self.evidence.parameters if not p.frozen}
        return self.model.with_parameters(self.model.parameters.with_values(began))


@dataclass(frozen=True)
class FitResult:
    """The outcome."""

    models: tuple[FittedModel, ...]
    recommended: str
    """Friction model with the lowest error on runs it did not see."""
    choice: str
    """Why, in words."""
    by: str
    """Evidence of the recommendation: CROSS_VALIDATION, VALIDATION or TRAINING of `core…choice.recommendation`."""
    stopped: bool
    train: tuple[str, ...]
    """Runs it was fitted to."""
    request: IdentificationRequest
    folder: Path | None
    """Where its files are; None when they could not be written."""
    problem: str = ""
    """Why the files could not be written; empty when they were."""

    @property
    def best(self) -> FittedModel:
        """The recommended model."""
        return next(row for row in self.models if row.model.friction == self.recommended)

    @property
    def title(self) -> str:
        """When it was begun and what it recommends, e.g. "24 Nov 14:03 · M6 2.62 mrad"."""
        name = "not kept" if self.folder is None else self.folder.name
        try:
            when = f"{datetime.strptime(name[:19], FOLDER_TIME):%d %b %H:%M}"
        except ValueError:
            when = name
        return f"{when} · {self.recommended.upper()} {milliradians(self.best.error)} mrad"

    @classmethod
    def of(cls, found: Identification, folder: Path | None, problem: str = "") -> FitResult:
        """What is shown of an identification."""
        rows = (
            FittedModel(
                model=result.model,
                train_mae=result.train_mae,
                validation_mae=result.validation_mae,
                validation_rmse=result.validation_rmse,
                evaluations=result.evaluations,
                wall_seconds=result.wall_seconds,
                spread=result.spread,
                evidence=result.evidence,
                held_out=tuple(result.held_out.values()),
            )
            for result in found.results
        )
        return cls(
            models=tuple(rows),
            recommended=found.recommended.model.friction,
            choice=found.choice,
            by=found.recommendation.by,
            stopped=found.stopped,
            train=found.split.train,
            request=found.request,
            folder=folder,
            problem=problem,
        )


@dataclass(frozen=True)
class FitFailed:
    """Nothing came of it."""

    message: str
    remedy: Remedy | None = None
