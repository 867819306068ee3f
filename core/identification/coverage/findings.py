"""Finding: a fact about recordings or a result that the user should know, and what to do. Data and text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import OrUnknown, from_plain, plain_fields
from core.base.units import milliradians
from core.base.words import counted

Severity = Literal["error", "warning", "note"]
SEVERITIES = get_args(Severity)
"""An error spoils a fit, a warning biases it or leaves something open, a note is good to know."""

RESUME, IDENTIFY, SEARCH, FREEZE, BOUNDS, POINTS = "resume", "identify", "search", "freeze", "bounds", "points"
HOLD_OUT, CROSS_VALIDATE, RECORD, EXPORT = "hold out", "cross-validate", "record", "export"
"""Actions that the program can take for the user, see `Finding.action`."""

CAUSES = {
    "zero": "another zero",
    "time": "shifted goals",
    "sign": "inverted goals",
    "mass": "another load",
    "kp": "another gain",
    "supply_voltage": "another supply",
    "drive": "the other drive",
    "law": "the other law",
}
"""Causes outside a model's parameters, by kind; see `coverage.causes`."""

LISTED = 4
"""Number of runs that a text names; of more, it names the first ones."""

AGAIN = "import again with it, into another session"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding about some runs."""

    kind: str
    """Kind of finding, for programs: "gap", "sign", "spike" …"""
    severity: Severity
    runs: tuple[str, ...] = ()
    """Ids of the runs; empty for the recordings as a whole."""
    text: str
    remedy: str
    action: str = ""
    """Action that carries out the remedy (RESUME …); empty for a remedy that only a person can carry out."""
    subject: str = ""
    """Argument of the action: "kp=400" to hold out, "R=3.2" to freeze, a number of evaluations or of runs."""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise IdentificationError(f"no severity {self.severity!r}; there are {', '.join(SEVERITIES)}")

    def __str__(self) -> str:
        return f"{self.text}: {self.remedy}" if self.remedy else self.text

    @classmethod
    @reading_json("a finding", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """Read `core.base.json_fields` data.

        Raises:
            IdentificationError: The data do not describe a finding.
        """
        return from_plain(cls, data)


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Findings of the runs of an identification about its result, see `core.identification.diagnosis`."""

    friction: str
    """Recommended model, with which the runs were compared."""
    findings: tuple[Finding, ...]
    hold_out: str
    """Rule of the condition to hold out next, e.g. "kp=400"; empty if the runs differ in none."""
    rounding: float
    """Mean error due to the rounding of the encoder [rad]."""
    noise: OrUnknown
    """Mean error due to the noise of the readings, rounding included [rad]."""
    repeatability: OrUnknown
    """Mean difference of repetitions from their median [rad]; NaN without repetitions."""
    tried: tuple[str, ...] = ()
    """Kinds of causes outside the model's parameters (CAUSES) with which the runs were fitted."""

    @property
    def cause(self) -> Finding | None:
        """Cause outside the model's parameters with which the runs fit much better, or None."""
        return next((finding for finding in self.findings if finding.kind.startswith("cause_")), None)

    @property
    def attainable(self) -> float:
        """Error that remains with a perfect model [rad]: the largest of rounding, noise and repeatability."""
        return max(value for value in (self.rounding, self.noise, self.repeatability) if value == value)

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for unknown values."""
        return plain_fields(self)

    @classmethod
    @reading_json("the diagnosis of a result", IdentificationError)
    def from_json(cls, data: Any) -> Diagnosis:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a diagnosis.
        """
        return from_plain(cls, data)


@dataclass(frozen=True, kw_only=True)
class Misread:
    """Zero or shift of goals that explains more than the runs as they were read. Errors in rad."""

    places: tuple[int, ...]
    """Places of the runs, which were logged alike."""
    rows: int = 0
    """Rows by which their goals must be moved, later if positive."""
    angle_offset: float | None = None
    """Offset at which 0 hangs down [rad]."""
    rest: float = 0.0
    """Angle of released loads at rest [rad]; 0 if none came to rest."""
    before: float
    after: float

    @property
    def moved(self) -> str:
        """Phrase on an import that shifted the goals, e.g. "goals moved 2 rows earlier: the error falls …"."""
        return f"{self._shift}: {self._gain}"

    @property
    def warning(self) -> str:
        """Sentence for runs that were imported as they are, with the option that changes it."""
        if self.angle_offset is None:
            late = ", unless the servo itself answers that late" if self.rows > 0 else ""
            return f"with the {self._shift}, --goal-shift {self.rows}, {self._gain}{late}; {AGAIN}"
        seen = f"a released load rests {self.rest:.2f} rad from 0, so " if self.rest else ""
        return f"{seen}0 does not hang down: with --angle-offset {self.angle_offset:.4f} {self._gain}; {AGAIN}"

    @property
    def _shift(self) -> str:
        return f"goals moved {counted(abs(self.rows), 'row')} {'later' if self.rows > 0 else 'earlier'}"

    @property
    def _gain(self) -> str:
        return f"the error of a quick fit falls from {milliradians(self.before)} to {milliradians(self.after)} mrad"


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Sort errors first, then warnings, then notes, each in the given order."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def named_runs(runs: Sequence[str], total: int = 0) -> str:
    """Return runs as part of a sentence: "run a", "runs a, b", "runs a, b, c, d and 3 more", "all 12 runs"."""
    if total and len(runs) == total and total > 1:
        return f"all {total} runs"
    shown = ", ".join(runs[:LISTED])
    more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
    return f"run{'s' if len(runs) > 1 else ''} {shown}{more}"
