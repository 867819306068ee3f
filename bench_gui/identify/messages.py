"""What the window and the identification's process say to each other: plain data, cheap to unpickle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.friction import FRICTION_MODELS
from core.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """What a person chose."""

    models: tuple[str, ...] = FRICTION_MODELS
    command_path: bool = True
    validation: str = "25%"
    trials: int | None = None
    """Evaluations per model and repeat; None leaves them to the number of parameters."""
    repeats: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class FitJob:
    """What the process is started with."""

    session: Path
    runs: tuple[str, ...]
    servo: str
    settings: FitSettings
    folder: Path
    """Where the study, the models and the summary go."""


@dataclass(frozen=True)
class FitStarted:
    """The recordings are loaded and divided."""

    train: int
    validation: int


@dataclass(frozen=True)
class FitProgress:
    """What has happened since the last message."""

    model: str
    repeat: int
    points: tuple[tuple[int, float], ...]
    """Evaluations and the best error [rad] after them."""
    candidate: ServoModel | None
    """The best model so far, if it improved."""
    trials: int
    done: float
    remaining: float
    """[s]"""


@dataclass(frozen=True)
class FittedModel:
    """One row of the result; errors in rad."""

    model: ServoModel
    train_mae: float
    validation_mae: float | None
    evaluations: int
    wall_seconds: float
    spread: float | None
    """Largest difference of training errors between repeats."""

    @property
    def at_bound(self) -> tuple[str, ...]:
        """Symbols of the parameters that lie at a bound."""
        return tuple(p.symbol for p in self.model.parameters.values() if p.at_bound)


@dataclass(frozen=True)
class FitResult:
    """The outcome."""

    models: tuple[FittedModel, ...]
    recommended: str
    """Friction model with the lowest error on runs it did not see."""
    stopped: bool
    problem: str = ""
    """Why the files could not be written; empty when they were."""


@dataclass(frozen=True)
class FitFailed:
    """Nothing came of it."""

    message: str


Message = FitStarted | FitProgress | FitResult | FitFailed
