"""What an identification found: plain data, written beside the models and read back without the compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import IdentificationError, InputError
from core.identification.evidence import Contender, Evidence, choice_in_words, recommended
from core.identification.request import IdentificationRequest
from core.identification.split import Split
from core.model import ServoModel
from core.parameters import ParameterSet


@dataclass(frozen=True)
class Repeat:
    """One search of one model. Errors in rad."""

    seed: int
    train_mae: float
    validation_mae: float | None
    validation_rmse: float | None
    evaluations: int
    parameters: ParameterSet


@dataclass(frozen=True)
class ModelResult:
    """What was found for one friction model: the best repeat and their spread. Errors in rad."""

    model: ServoModel
    train_mae: float
    validation_mae: float | None
    validation_rmse: float | None
    """Root mean square over the runs held out."""
    evaluations: int
    wall_seconds: float
    repeats: tuple[Repeat, ...]
    evidence: Evidence

    @property
    def spread(self) -> float | None:
        """Largest difference of training errors between repeats [rad]; None for a single one."""
        maes = [repeat.train_mae for repeat in self.repeats]
        return max(maes) - min(maes) if len(maes) > 1 else None

    def to_json(self, file: Path | None = None) -> dict[str, Any]:
        """Plain data, as `bench identify --json` prints it."""
        return {
            "model": self.model.friction,
            "servo": self.model.servo,
            "train_mae": self.train_mae,
            "validation_mae": self.validation_mae,
            "validation_rmse": self.validation_rmse,
            "evaluations": self.evaluations,
            "wall_seconds": self.wall_seconds,
            "repeats": [
                {
                    "seed": repeat.seed,
                    "train_mae": repeat.train_mae,
                    "validation_mae": repeat.validation_mae,
                    "validation_rmse": repeat.validation_rmse,
                    "evaluations": repeat.evaluations,
                    "parameters": repeat.parameters.numbers(),
                }
                for repeat in self.repeats
            ],
            "parameters": {
                p.name: {
                    "value": p.value,
                    "unit": p.unit,
                    "symbol": p.symbol,
                    "lower": p.lower,
                    "upper": p.upper,
                    "at_bound": p.at_bound,
                    "frozen": p.frozen,
                }
                for p in self.model.parameters.values()
            },
            "evidence": self.evidence.to_json(),
            "warnings": list(self.evidence.warnings),
            "discretisation_error": self.model.provenance.get("discretisation_error"),
            "file": None if file is None else str(file),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], model: ServoModel) -> ModelResult:
        """Inverse of `to_json`, with the model read from its own file; raises IdentificationError on anything else."""
        try:
            seconds = data["wall_seconds"]
            return cls(
                model=model,
                train_mae=float(data["train_mae"]),
                validation_mae=data["validation_mae"],
                validation_rmse=data["validation_rmse"],
                evaluations=int(data["evaluations"]),
                wall_seconds=math.nan if seconds is None else float(seconds),
                repeats=tuple(
                    Repeat(
                        seed=int(repeat["seed"]),
                        train_mae=float(repeat["train_mae"]),
                        validation_mae=repeat["validation_mae"],
                        validation_rmse=repeat.get("validation_rmse"),
                        evaluations=int(repeat["evaluations"]),
                        parameters=model.parameters.with_values(repeat["parameters"]),
                    )
                    for repeat in data["repeats"]
                ),
                evidence=Evidence.from_json(data["evidence"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
            raise IdentificationError(f"the result of a model cannot be read: {error!r}") from None


@dataclass(frozen=True)
class Identification:
    """The outcome: the split and one result per model, in nested order."""

    request: IdentificationRequest
    split: Split
    results: tuple[ModelResult, ...]
    stopped: bool
    """Whether it was stopped before the end; what had been found is kept."""

    @property
    def contenders(self) -> list[Contender]:
        """What the choice between the models rests on."""
        held = len(self.split.validation)
        return [Contender(r.model.friction, r.train_mae, r.validation_mae, held) for r in self.results]

    @property
    def recommended(self) -> ModelResult:
        """The model with the lowest error on recordings it did not see; on its own if there are none."""
        best = recommended(self.contenders).friction
        return next(result for result in self.results if result.model.friction == best)

    @property
    def choice(self) -> str:
        """Which model is recommended, on what evidence, and which simpler ones are as good."""
        return choice_in_words(self.contenders)
