"""Computations behind a report; a part that cannot be computed carries the reason as a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from bench_gui.headless.report.traces import SearchTrace, read_traces
from core.base.errors import IdentificationError, ServoBenchError
from core.identification.choice.repeatability import Repeatability, repeatability
from core.identification.coverage.doubts import HeaderDoubt
from core.identification.coverage.report import Coverage, coverage
from core.identification.diagnosis import audited
from core.identification.evaluate import RunScore, evaluate
from core.identification.evidence.certainty import Certainty
from core.identification.evidence.correlation import Correlations, correlations
from core.identification.evidence.residuals import ResidualDiagnosis, diagnose_residuals
from core.identification.evidence.sensitivity import sensitivity
from core.identification.result import Identification
from core.motion.recording import Recording
from core.practice.placement import PlacedPoint
from core.servo.model import ServoModel
from sessions.results.certifying import read_certainty
from sessions.results.crossvalidating import CrossValidated, read_crossvalidation
from sessions.results.folder import CROSSVALIDATION

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ReportContents:
    """Input of a report."""

    title: str
    found: Identification
    recordings: Sequence[Recording]
    truth: ServoModel | None = None
    """True model of simulated recordings, if known."""
    points: Sequence[PlacedPoint] = ()
    """Drive/backdrive points placed by hand."""
    folder: Path | None = None
    """Folder of the result; files beside it are shown too."""
    command: str = ""
    """Command line that reproduces the report."""
    identified_by: str = ""
    """Command line that reproduces the identification, if `command` reproduces only the report."""
    run_hashes: Mapping[str, str] = field(default_factory=dict)
    """Run id → SHA-256 of its data."""
    remarks: Sequence[str] = ()
    """Further warnings."""


@dataclass(frozen=True)
class Part(Generic[T]):
    """Computed value, or the reason why there is none."""

    value: T | None
    reason: str = ""
    """Reason as a sentence; empty if there is a value."""


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Results of examining the recordings and the files beside a result."""

    contents: ReportContents
    scores: Mapping[str, tuple[RunScore, ...]]
    """Friction model → error of every run."""
    coverage: Part[Coverage]
    doubts: Part[tuple[HeaderDoubt, ...]]
    traces: Part[tuple[SearchTrace, ...]]
    correlations: Part[Correlations]
    residuals: Part[ResidualDiagnosis]
    repeats: Part[Repeatability]
    crossvalidation: Part[CrossValidated]
    certainty: Part[Certainty]

    @property
    def errors(self) -> dict[str, float]:
        """Mean absolute error of the recommended model by run id [rad]; infinite if its simulation diverges."""
        return {
            run.id: run.mae if math.isfinite(run.mae) else math.inf
            for run in self.scores[self.contents.found.recommended.model.friction]
        }


def examine(contents: ReportContents) -> Examination:
    """Examine a result; raise IdentificationError only if the recordings are of another servo than the models."""
    found, recordings = contents.found, contents.recordings
    best, dt, supply = found.recommended.model, found.request.dt, found.request.supply
    trained = [recording for recording in recordings if recording.id in found.split.train]
    return Examination(
        contents=contents,
        scores={r.model.friction: evaluate(r.model, recordings, dt=dt, supply=supply).runs for r in found.results},
        coverage=_part("The recordings were not examined", lambda: coverage(recordings, model=best)),
        doubts=_part("The headers were not audited", lambda: audited(found, recordings)),
        traces=_part("The search is not shown", lambda: read_traces(contents.folder)),
        correlations=_part(
            "The correlations were not computed", lambda: correlations(sensitivity(best, trained, dt=dt, supply=supply))
        ),
        residuals=_part(
            "The residuals were not diagnosed", lambda: diagnose_residuals(best, recordings, dt=dt, supply=supply)
        ),
        repeats=_part("Repetitions were not compared", lambda: repeatability(recordings, dt)),
        crossvalidation=_part("The models were not cross-validated", lambda: _crossvalidation(contents.folder)),
        certainty=_part("Profiles and a bootstrap were not computed", lambda: read_certainty(contents.folder, best)),
    )


def _part(otherwise: str, compute: Callable[[], T]) -> Part[T]:
    try:
        return Part(compute())
    except (ServoBenchError, ArithmeticError, ValueError) as error:
        return Part(None, f"{otherwise}: {error}.")


def _crossvalidation(folder: Path | None) -> CrossValidated:
    if folder is None or not (folder / CROSSVALIDATION).is_file():
        raise IdentificationError(f"there is no {CROSSVALIDATION} beside the result")
    return read_crossvalidation(folder)
