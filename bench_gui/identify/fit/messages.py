"""Messages between the window and the identification process: plain data, cheap to unpickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench_gui.work.process import Share
from core.base.units import milliradians
from core.identification.evidence.model import Evidence
from core.identification.overlay import JudgedRun, RunOverlay
from core.identification.request import IdentificationRequest
from core.identification.result import Identification
from core.identification.verdict import Answer
from core.servo.model import ServoModel
from sessions.results.folder import FOLDER_TIME

Array = NDArray[np.float64]
CostCurve = tuple[str, int, Array, Array]
"""One search: friction model, repeat, evaluations (n,), best cost after them (n,) [rad]."""

LEAVE_OUT, SPLIT, DEFAULTS = "leave_out", "split", "defaults"


@dataclass(frozen=True)
class Remedy:
    """Change that would make a failed identification possible."""

    kind: str
    """LEAVE_OUT: exclude runs; SPLIT: use another split rule; DEFAULTS: restore the default settings."""
    runs: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""
    """Reason why runs are left out."""


@dataclass(frozen=True, kw_only=True)
class FitJob:
    """Input of the identification process."""

    session: Path
    runs: tuple[str, ...]
    request: IdentificationRequest
    folder: Path
    """Folder for the record, the study, the models and the summary."""
    resume: bool = False


@dataclass(frozen=True)
class FitStarted:
    """The recordings are loaded and split."""

    train: int
    validation: int


@dataclass(frozen=True, kw_only=True)
class FitProgress(Share):
    """Progress since the last message."""

    model: str
    trial: str
    """Same as `Progress.trial`."""
    repeat: int
    points: tuple[tuple[int, float], ...]
    """Evaluations and the best error [rad] after them."""
    candidate: ServoModel | None
    """Best model so far, if it improved."""
    trials: int
    points_error: float | None = None
    """Share of the placed points in the best error [rad]; None without points."""


@dataclass(frozen=True, eq=False)
class FitOverlay:
    """Overlay of one run under one model."""

    friction: str = ""
    """Friction model; empty without a model."""
    runs: tuple[JudgedRun, ...] = ()
    """All runs that can be shown, the worst first."""
    run: RunOverlay | None = None
    live: bool = False
    """True if a running search sent it: always its worst run."""


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
    """Largest difference between the training errors of repeats."""
    evidence: Evidence | None = None
    """None during a search."""
    held_out: tuple[float, ...] = ()
    """Mean absolute error of each held-out run."""

    @property
    def error(self) -> float:
        """Error on held-out runs, or on training runs if none was held out."""
        return self.train_mae if self.validation_mae is None else self.validation_mae

    @property
    def initial(self) -> ServoModel | None:
        """Model with the start values of the search; None if unknown."""
        if self.evidence is None:
            return None
        began = {p.name: p.initial for p in self.evidence.parameters if not p.frozen}
        return self.model.with_parameters(self.model.parameters.with_values(began))


@dataclass(frozen=True)
class FitResult:
    """Result of an identification."""

    models: tuple[FittedModel, ...]
    recommended: str
    """Friction model with the lowest error on held-out runs."""
    choice: str
    """Reason for the recommendation, in words."""
    by: str
    """Evidence of the recommendation: CROSS_VALIDATION, VALIDATION or TRAINING of `core…choice.recommendation`."""
    stopped: bool
    train: tuple[str, ...]
    """Training runs."""
    request: IdentificationRequest
    folder: Path | None
    """Folder of the files; None if they could not be written."""
    problem: str = ""
    """Reason why the files could not be written; empty if they were."""
    held_out: int = 0
    """Number of held-out runs."""
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])
    """Answer about each model, by friction model."""

    @property
    def best(self) -> FittedModel:
        """The recommended model's row."""
        return next(row for row in self.models if row.model.friction == self.recommended)

    @property
    def title(self) -> str:
        """Start time and recommendation, e.g. "24 Nov 14:03 · M6 2.62 mrad"."""
        name = "not kept" if self.folder is None else self.folder.name
        try:
            when = f"{datetime.strptime(name[:19], FOLDER_TIME):%d %b %H:%M}"
        except ValueError:
            when = name
        return f"{when} · {self.recommended.upper()} {milliradians(self.best.error)} mrad"

    @classmethod
    def of(cls, found: Identification, folder: Path | None, problem: str = "") -> FitResult:
        """Build the result to show from an identification."""
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
            held_out=len(found.split.validation),
            answers={result.model.friction: found.answer(result.model.friction) for result in found.results},
        )


@dataclass(frozen=True)
class FitFailed:
    """A failed identification."""

    message: str
    remedy: Remedy | None = None
