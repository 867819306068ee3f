"""A finding: something a person should know about recordings, and what to do about it. Data and words only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.errors import IdentificationError, reading_json
from core.plain import from_plain

Severity = Literal["error", "warning", "note"]
SEVERITIES = get_args(Severity)
"""An error spoils a fit, a warning biases it or leaves something open, a note is worth knowing."""

LISTED = 4
"""So many runs are named in a text; of more, the first ones."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding about some runs."""

    kind: str
    """What was found, for programs: "gap", "sign", "spike" …"""
    severity: Severity
    runs: tuple[str, ...] = ()
    """Ids; empty for the recordings as a whole."""
    text: str
    remedy: str

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise IdentificationError(f"no severity {self.severity!r}; there are {', '.join(SEVERITIES)}")

    def __str__(self) -> str:
        return f"{self.text}: {self.remedy}" if self.remedy else self.text

    @classmethod
    @reading_json("a finding", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """Read `core.plain` data; raises IdentificationError on anything else."""
        return from_plain(cls, data)


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Errors first, then warnings, then notes, each in the order they came."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def named_runs(runs: Sequence[str], total: int = 0) -> str:
    """Runs in a sentence: "run a", "runs a, b", "runs a, b, c, d and 3 more", "all 12 runs"."""
    if total and len(runs) == total and total > 1:
        return f"all {total} runs"
    shown = ", ".join(runs[:LISTED])
    more = f" and {len(runs) - LISTED} more" if len(runs) > LISTED else ""
    return f"run{'s' if len(runs) > 1 else ''} {shown}{more}"
