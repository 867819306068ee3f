"""Coverage: information in recordings before any fit, as data and as findings in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.base.errors import IdentificationError, reading_json
from core.base.guards import is_object
from core.base.json_fields import from_plain, plain_fields
from core.base.words import counted
from core.document.table import Tabular
from core.identification.choice.repeatability import FloorRow, repeatability
from core.identification.coverage.excitation import Excitation, excitation_of, excitation_of_all
from core.identification.coverage.findings import Finding, Severity, ordered
from core.identification.coverage.grid import ConditionGrid, grid_of_conditions
from core.identification.coverage.outliers import outlier_findings
from core.identification.coverage.plausibility import gain_findings, supply_findings
from core.identification.coverage.repeats import odd_repetitions, rest_angles
from core.identification.coverage.terms import TermVerdict, term_verdicts
from core.identification.coverage.timing import Timing, timing_findings, timing_of
from core.identification.runs.advice import advice_for
from core.identification.runs.conditions import held_by_duty_cycle, missing_conditions, unstated_releases
from core.motion.recording import Recording
from core.servo.actuator import COMMANDS, DEFAULT_PERIOD
from core.servo.model import ServoModel, build_model
from core.servo.terms import COMMAND_PATH_TERMS, RICHEST


@dataclass(frozen=True, kw_only=True, repr=False)
class Coverage(Tabular):
    """Contents of recordings, consequences for a model's terms, and problems.

    Example:
        >>> report = sb.coverage(sb.example())
        >>> len(report.excitation)
        8
    """

    grid: ConditionGrid
    total: Excitation
    """Motion of all runs together."""
    excitation: tuple[Excitation, ...]
    """Motion of each run."""
    terms: tuple[TermVerdict, ...]
    timing: tuple[Timing, ...]
    """Timing of each run."""
    repeatability: tuple[FloorRow, ...]
    """Error that no model can avoid, by trajectory; empty without repetitions."""
    rest_angles: tuple[tuple[str, float], ...]
    """Run id and angle at which its released pendulum came to rest [rad]; friction alone can hold it off hanging down.
    """
    findings: tuple[Finding, ...]
    """Findings, errors first."""

    def heading(self) -> str:
        """Return the number of runs and of findings."""
        return f"{counted(len(self.excitation), 'run')}, {counted(len(self.findings), 'finding')}"

    def columns(self) -> Mapping[str, Sequence[str]]:
        """Return the verdict on each term."""
        return {
            "term": [term.symbol for term in self.terms],
            "verdict": [term.verdict for term in self.terms],
            "why": [term.text for term in self.terms],
        }

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity."""
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def command_lag(self) -> float:
        """Median lag of the motion behind the goal [s]: command, control loop and load together."""
        known = [t.command_lag for t in self.timing if t.command_lag == t.command_lag]
        return float(np.median(known)) if known else float("nan")

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for unknown values."""
        return plain_fields(self)

    @classmethod
    @reading_json("a coverage", IdentificationError)
    def from_json(cls, data: Any) -> Coverage:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a coverage.
        """
        if not is_object(data):
            raise IdentificationError("a coverage must be an object of name to value")
        return from_plain(cls, data)


def _looked_at(run: Recording) -> tuple[Excitation, Timing]:
    return excitation_of(run), timing_of(run)


def coverage(
    recordings: Sequence[Recording],
    *,
    model: ServoModel | None = None,
    threads: int | None = None,
    on_run: Callable[[int], object] = lambda looked_at: None,
) -> Coverage:
    """Analyse recordings before a fit.

    Args:
        recordings: The recordings.
        model: Model whose free parameters are assessed. None: M6 of the recordings' servo with the usual command path.
        threads: Number of runs analysed at once. None: one.
        on_run: Called with the number of runs analysed so far.

    Raises:
        IdentificationError: There are no recordings, they are of several servos, or of another servo than the model.
    """
    if not recordings:
        raise IdentificationError("no recordings to analyse; record or import some")
    servos = sorted({recording.settings.servo for recording in recordings})
    if len(servos) > 1:
        raise IdentificationError(f"these are recordings of {', '.join(servos)}; analyse one servo at a time")
    command = model.control.command if model else recordings[0].command.kind
    mixed = sorted({run.command.kind for run in recordings})
    wanted = model or build_model(servos[0], RICHEST, command_path=COMMAND_PATH_TERMS, command=command)
    if wanted.servo != servos[0]:
        raise IdentificationError(f"these are recordings of {servos[0]}, the model is of {wanted.servo}")
    with ThreadPoolExecutor(threads or 1) as pool:
        # Both parts of one run come in sequence: they share its signals, which are not kept for thousands of runs.
        seen: list[tuple[Excitation, Timing]] = []
        for found in pool.map(_looked_at, recordings):
            seen.append(found)
            on_run(len(seen))
    each, timing = zip(*seen, strict=True)
    total, grid = excitation_of_all(each), grid_of_conditions(recordings)
    # A fit needs no evidence for what the duty cycle shows.
    held = {name: value for name, value in held_by_duty_cycle(recordings).items() if name in wanted.parameters}
    terms = term_verdicts(
        wanted.parameters.frozen_at(held), total, grid, unstated_releases(recordings), command, advice_for(recordings)
    )
    repeated = repeatability(recordings)
    odd = odd_repetitions(repeated, recordings)
    findings = [
        *outlier_findings(recordings),
        *timing_findings(recordings, timing),
        *gain_findings(wanted, recordings),
        *supply_findings(recordings),
        *odd,
    ]
    if len(mixed) > 1:
        findings.append(
            Finding(
                kind="command",
                severity="error",
                text=f"runs commanded by {' and by '.join(COMMANDS[kind].words for kind in mixed)} need a fit each",
                remedy="identify those of one command at a time, with --runs or those selected in the window",
            )
        )
    return Coverage(
        grid=grid,
        total=total,
        excitation=each,
        terms=terms,
        timing=timing,
        repeatability=repeated.table()[:-1],
        rest_angles=tuple(sorted(rest_angles(recordings).items())),
        findings=ordered([*findings, *_missing(wanted, recordings, terms)]),
    )


def _missing(model: ServoModel, recordings: Sequence[Recording], terms: Sequence[TermVerdict]) -> list[Finding]:
    """Return findings about the evidence that the runs lack, and the terms that they do not determine."""
    found: list[Finding] = []
    for text in missing_conditions(model, recordings):
        what, _, remedy = text.partition(": ")
        found.append(Finding(kind="conditions", severity="warning", text=what, remedy=remedy))
    law = replace(model.control, control_period=0.0)
    stated = model.spec.control.control_period or model.control.control_period not in (0.0, DEFAULT_PERIOD)
    assumed = [run for run in recordings if model.control_period(run.settings) and law.period(run.settings)]
    if assumed and not stated and "control_period" not in model.parameters:
        found.append(
            Finding(
                kind="period",
                severity="note",
                text=f"{counted(len(assumed), 'run')} with an integral or derivative gain, which acts once a control "
                f"period; the servo file states none, so {1e3 * DEFAULT_PERIOD:g} ms is taken",
                remedy="state control_period in the servo file, or identify it as a term",
            )
        )
    silent: dict[str, list[str]] = {}
    for term in terms:
        if term.verdict == "none":
            silent.setdefault(term.text, []).append(term.symbol)
    for text, symbols in silent.items():
        what, _, remedy = text.rpartition(": ")
        head = what or text
        found.append(
            Finding(
                kind="term",
                severity="note",
                text=f"the runs do not determine {', '.join(symbols)} ({head})",
                remedy=remedy if what else "record runs that need it, or freeze it",
            )
        )
    return found
