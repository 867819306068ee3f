"""Recording that would help most, as data and text; `design` computes it.

This module does not load the compiler, so proposals can be sent to the window's process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.words import counted
from core.document.table import Tabular
from core.identification.choice.rule import listed
from core.motion.recording import Recording
from core.motion.trajectories import canonical_name
from core.practice.plan import Cell, GridPlan

SMALL_SHRINKING = 1.2
"""Factor below which an interval does not count as narrower."""

HALVED = 1.7
"""Factor from which an interval counts as halved, and an open parameter as pinned down."""

STILL_OPEN = 0.999
"""Share of the catalogue's half interval from which an interval counts as open."""

MOST_NAMED = 4

INTERVAL = "the interval of"

_SHARES = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth"}


@dataclass(frozen=True, kw_only=True)
class Narrowing:
    """Expected effect of one recording on one parameter's 95 % interval; SI units."""

    name: str
    symbol: str
    unit: str
    widest: float
    """Half of the catalogue's interval: an interval as wide as that is open."""
    before: float
    """Half width without the recording."""
    after: float
    """Half width with the recording."""

    @property
    def factor(self) -> float:
        """Factor by which the interval shrinks, at least 1."""
        return max(1.0, self.before / self.after) if self.after > 0.0 else math.inf

    @property
    def newly_determined(self) -> bool:
        """True if only the catalogue bounds the parameter without the recording, but not with it."""
        return self.before >= STILL_OPEN * self.widest and self.factor >= HALVED

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**self.__dict__, "factor": self.factor}


@dataclass(frozen=True, kw_only=True)
class Benefit:
    """Expected effect of one recording, after those proposed before it."""

    nats: float
    """Expected information gain [nat]: logarithm of the factor by which the joint interval's volume shrinks."""
    narrowings: tuple[Narrowing, ...]
    """Effect on every free parameter, in the model's order."""

    @property
    def factor(self) -> float:
        """Factor by which the volume of the joint 95 % interval shrinks."""
        return math.exp(min(self.nats, 700.0))

    @property
    def foremost(self) -> tuple[Narrowing, ...]:
        """Parameters to name: open ones first, then those whose intervals shrink most; empty if none shrinks."""
        shrunk = [n for n in self.narrowings if n.factor >= SMALL_SHRINKING]
        enough = max((math.sqrt(n.factor) for n in shrunk), default=1.0)
        named = [n for n in shrunk if n.newly_determined or n.factor >= enough]
        return tuple(sorted(named, key=lambda n: (not n.newly_determined, -n.factor))[:MOST_NAMED])

    @property
    def words(self) -> str:
        """Return the benefit as text, e.g. "halves the interval of K_m and k_t"."""
        found = self.foremost
        if not found:
            return "hardly narrows any interval"
        determined = [n for n in self.narrowings if n.newly_determined]
        if len(determined) > MOST_NAMED:
            most = listed([n.symbol for n in found])
            return f"pins down {len(determined)} of {len(self.narrowings)} parameters, open so far, most of all {most}"
        groups: dict[str, list[str]] = {}
        for narrowing in found:
            groups.setdefault(_verb(narrowing), []).append(narrowing.symbol)
        text = "; ".join(verb.format(listed(symbols)) for verb, symbols in groups.items())
        head, interval, tail = text.partition(INTERVAL)
        return head + interval + tail.replace(INTERVAL, "that of")


@dataclass(frozen=True, kw_only=True)
class Proposal(Benefit):
    """Recording to make, and its benefit."""

    cell: Cell

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **self.cell.__dict__,
            "nats": self.nats,
            "volume_factor": self.factor,
            "words": self.words,
            "parameters": [narrowing.to_json() for narrowing in self.narrowings],
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class NextRecordings(Tabular):
    """Proposed recordings, each rated given the ones before it, and the basis of the rating."""

    servo: str
    model: str
    """Title of the model."""
    runs: int
    """Number of existing recordings."""
    objective: str
    plan: GridPlan
    """Possible recordings."""
    proposals: tuple[Proposal, ...]

    def heading(self) -> str:
        """Return the basis of the proposals."""
        return self.basis

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the conditions of each proposal and its effect."""
        cells = [proposal.cell for proposal in self.proposals]
        return {
            "motion": [cell.trajectory for cell in cells],
            "mass [kg]": [cell.mass for cell in cells],
            "length [m]": [cell.length for cell in cells],
            "kp": [cell.kp for cell in cells],
            "shrinks by": [proposal.factor for proposal in self.proposals],
            "determines": [proposal.words for proposal in self.proposals],
        }

    @property
    def basis(self) -> str:
        """Basis of the rating as a sentence."""
        runs = counted(self.runs, "run")
        return f"{self.model} after {runs}; volume of its joint 95 % interval, each line given those above it"

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "servo": self.servo,
            "model": self.model,
            "runs": self.runs,
            "duration": self.plan.duration,
            "objective": self.objective,
            "proposals": [proposal.to_json() for proposal in self.proposals],
        }


def candidate_cells(plan: GridPlan, recordings: Sequence[Recording] = ()) -> tuple[Cell, ...]:
    """Return every combination of a grid's axes once, in the plan's order, without those already recorded."""
    recorded = {
        Cell(run.bench.length, run.bench.mass, run.settings.kp, canonical_name(run.trajectory), 1).condition
        for run in recordings
    }
    return tuple(cell for cell in plan.cells() if cell.repetition == 1 and cell.condition not in recorded)


def _verb(narrowing: Narrowing) -> str:
    if narrowing.newly_determined:
        return "pins down {}, open so far"
    factor = narrowing.factor
    if factor < HALVED:
        return f"narrows {INTERVAL} {{}} by " + ("a sixth" if factor < 1.3 else "a third")
    if factor < 2.5:
        return f"halves {INTERVAL} {{}}"
    nearest = min(_SHARES, key=lambda share: abs(math.log(share / factor)))
    share = _SHARES[nearest] if factor < 14.0 else "less than a tenth"
    return f"cuts {INTERVAL} {{}} to {share}"
