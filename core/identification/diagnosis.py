"""Diagnosis of an identification: what its runs show about headers, clocks, residuals and the attainable error.

It is made once, when an identification ends, and stored with the result. Window, report, terminal and notebook
therefore give the same warnings without the recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from core.base.errors import IdentificationError, ServoBenchError
from core.identification.choice.repeatability import repeatability
from core.identification.coverage.audit import audit
from core.identification.coverage.causes import POOR, explanation, standing_apart
from core.identification.coverage.doubts import HeaderDoubt
from core.identification.coverage.findings import CAUSES, Diagnosis, Finding
from core.identification.coverage.report import coverage
from core.identification.evidence.model import STRIBECK
from core.identification.evidence.residuals import diagnose_residuals
from core.identification.result import Identification, ModelResult
from core.identification.verdict import GOOD
from core.motion.recording import Recording
from core.motion.simulation import on_grid

AUDIT_STEP = 0.01
"""Smallest sample time of the header audit [s]: resolves errors of a few per cent, in half the time."""

AUDIT_MOST = 1200.0
"""Seconds of motion times free parameters above which the audit takes too long and is skipped."""

HELD_OUT = ("mass", "kp", "length", "trajectory")
"""Conditions to hold out, the one that changes a servo's load or stiffness most first."""
MOST_VALUES = 20
"""Largest number of values of a condition to hold out."""

SHARED = ("zero", "time")
"""Causes that are tried for every model that leaves something unexplained: a few seconds show them."""

NOISE_ORDER = 6
"""Order of the differences that leave the noise of a smooth motion."""


def diagnosed(
    found: Identification,
    recordings: Sequence[Recording],
    threads: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Identification:
    """Return the identification with its diagnosis.

    Args:
        found: The identification.
        recordings: Its runs, both sides of the split.
        threads: Number of threads. None: all processors.
        should_stop: Polled between the fits that look for a cause.
    """
    best, request = found.recommended.model, found.request
    findings: list[Finding] = []
    tried: tuple[str, ...] = ()
    with _where_possible():
        covered = coverage(recordings, model=best).findings
        # The evidence reports missing conditions, in the same words.
        said = [each for each in covered if each.severity != "note" or each.kind == "held"]
        findings += [finding for finding in said if finding.kind != "conditions"]
    with _where_possible():
        known = {finding.kind for finding in findings}
        doubts = audited(found, recordings, threads)
        findings += [doubt.finding() for doubt in doubts if doubt.fact not in known]
    with _where_possible():
        residuals = diagnose_residuals(best, recordings, dt=request.dt, supply=request.supply, threads=threads)
        findings += residuals.hints
    repeated = math.nan
    with _where_possible():
        rows = repeatability(recordings, request.dt).table()
        repeated = rows[-1].floor if rows else math.nan
    diagnosis = Diagnosis(
        friction=best.friction,
        findings=tuple(findings),
        hold_out=condition_to_hold_out(recordings),
        rounding=best.spec.rounding_error,
        noise=float(np.median([noise_of(recording) for recording in recordings])),
        repeatability=repeated,
    )
    error = max(found.recommended.train_mae, found.recommended.validation_mae or 0.0)
    every = error > POOR or _at_bound(found.recommended)
    if every or error > GOOD * diagnosis.attainable:
        with _where_possible():
            cause = standing_apart(best, recordings, supply=request.supply, threads=threads)
            if cause is None:
                cause, tried = explanation(
                    best,
                    recordings,
                    dt=request.dt,
                    supply=request.supply,
                    threads=threads,
                    kinds=tuple(CAUSES) if every else SHARED,
                    should_stop=should_stop,
                )
            findings += [cause] if cause is not None else []
    return replace(found, diagnosis=replace(diagnosis, findings=tuple(findings), tried=tried))


def _at_bound(result: ModelResult) -> bool:
    """Return True if a value lies at a bound although values beyond it would have a meaning."""
    at_bound = (p for p in result.evidence.parameters if p.at_bound and p.name not in STRIBECK)
    return any(not p.at_limit for p in at_bound)


def audited(
    found: Identification, recordings: Sequence[Recording], threads: int | None = None
) -> tuple[HeaderDoubt, ...]:
    """Return the header facts that the runs of an identification contradict.

    Raises:
        IdentificationError: There is too much motion.
    """
    request, best = found.request, found.recommended.model
    motion = sum(recording.duration for recording in recordings)
    if motion * len(best.parameters.free) > AUDIT_MOST:
        raise IdentificationError(f"it takes too long with {motion:.0f} s of motion")
    finest = min(on_grid(recording, request.dt)[1] for recording in recordings)
    return audit(best, recordings, dt=max(finest, AUDIT_STEP), supply=request.supply, threads=threads)


def condition_to_hold_out(recordings: Sequence[Recording]) -> str:
    """Return the rule that holds out the largest value of the most informative condition; empty if there is none."""
    for name in HELD_OUT:
        values = sorted({recording.conditions()[name] for recording in recordings}, key=lambda v: (str(type(v)), v))
        if 1 < len(values) <= MOST_VALUES:
            return f"{name}={values[-1]}"
    return ""


def noise_of(recording: Recording) -> float:
    """Return the mean absolute noise of a run's readings [rad].

    The sixth difference of a motion that is smooth over seven samples is noise alone; the squares of its weights sum to
    924. A run with fewer samples has NaN.
    """
    if recording.samples <= NOISE_ORDER:
        return math.nan
    differences = np.diff(np.asarray(recording.position, dtype=np.float64), NOISE_ORDER)
    return float(np.abs(differences).mean()) / math.sqrt(math.comb(2 * NOISE_ORDER, NOISE_ORDER))


def _where_possible() -> suppress:
    """Leave out a part that these recordings do not allow."""
    return suppress(ServoBenchError, ArithmeticError, ValueError)
