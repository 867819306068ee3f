"""Facts of a header that can be wrong, and a doubt about one, as data and text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import OrUnknown, from_plain, plain_fields
from core.identification.coverage.findings import Finding, named_runs
from core.identification.runs.grouping import named
from core.motion.recording import Recording

FACTS = ("mass", "kp", "supply_voltage", "angle_offset")
"""Header facts that can be wrong: the first three as the logarithm of a factor, the offset in rad."""

SLIP_TIMES = 9
"""Number of times in a run at which the load may have slipped."""


@dataclass(frozen=True)
class Fact:
    """One header fact of some runs, by index; `begin` [s] since a run's first sample if it changes."""

    name: str
    runs: tuple[int, ...]
    begin: float = 0.0


@dataclass(frozen=True)
class Suspect:
    """Fact of some runs that may be wrong."""

    fact: Fact
    where: str
    """Runs as text, e.g. "the runs with 0.5 kg"."""
    rank: int
    """0 a condition, 1 one run, 2 all runs before or after one, 3 part of a run; the lower, the simpler."""


def suspects(recordings: Sequence[Recording]) -> list[Suspect]:
    """Return every suspect; groups of the same runs are included once."""
    found: dict[Hashable, Suspect] = {}
    total = len(recordings)

    def add(names: Sequence[str], runs: Sequence[int], where: str, rank: int) -> None:
        for name in names:
            # The parameters absorb an error of all runs, except for a gain that saturates.
            if len(runs) < total or name == "kp":
                found.setdefault((name, tuple(runs)), Suspect(Fact(name, tuple(runs)), where, rank))

    add(("kp",), range(total), "all runs", 0)
    for conditions, names in (
        (("mass", "length", "arm_mass"), FACTS),
        (("kp",), ("kp", "supply_voltage")),
        (("supply_voltage",), ("supply_voltage", "kp")),
    ):
        for where, runs in _by(recordings, conditions).items():
            add(names, runs, where, 0)
    for i in range(total):
        add(FACTS, (i,), f"run {recordings[i].id}", 1)
    for i in range(2, total - 1):
        add(FACTS, range(i, total), f"the runs from {recordings[i].id} on", 2)
        add(FACTS, range(i), f"the runs before {recordings[i].id}", 2)
    for i, recording in enumerate(recordings):
        for begin in np.linspace(0.0, recording.duration, SLIP_TIMES + 2)[1:-1].tolist():
            found["slip", i, begin] = Suspect(
                Fact("angle_offset", (i,), begin), f"run {recording.id} from {begin:.2g} s on", 3
            )
    return list(found.values())


def _by(recordings: Sequence[Recording], conditions: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the runs that share these conditions, by text."""
    groups: dict[str, list[int]] = {}
    varied = [c for c in conditions if len({r.conditions()[c] for r in recordings}) > 1] or conditions[:1]
    for i, recording in enumerate(recordings):
        values = " and ".join(named(c, recording.conditions()[c]) for c in varied)
        groups.setdefault(f"the runs with {values}", []).append(i)
    return groups


TITLES = {
    "mass": "load",
    "kp": "gain kp",
    "supply_voltage": "supply voltage",
    "angle_offset": "angle of the load",
    "sign": "sign of the position",
}

GROUPS = (0, 2)
"""Ranks of suspects that are a part of the session rather than one run."""

REMEDIES = {
    "mass": "weigh the load, measure the arm, correct mass and length of these runs",
    "kp": "read the gain back from the servo, correct kp of these runs",
    "supply_voltage": "measure the supply at the servo, correct the voltage of these runs or log it",
    "angle_offset": "tighten the horn's screw, set the zero again; record the run again or trim it",
    "sign": "invert the sign of the position (or of the goal) of these runs",
}
OF_A_JOINT = {
    "mass": "check the masses in the robot's file, and what the robot carried",
    "angle_offset": "tighten the horn's screw, set the zero of this joint again; record the motion again or trim it",
}
"""Remedies that differ for a joint of a robot."""


def remedy_of(fact: str, recordings: Sequence[Recording]) -> str:
    """Return the remedy of a wrong fact of runs, which are all of the bench or all of a joint."""
    return (OF_A_JOINT.get(fact) if recordings[0].joint else None) or REMEDIES[fact]


@dataclass(frozen=True, kw_only=True)
class HeaderDoubt:
    """A header fact that the recordings contradict."""

    fact: str
    """"mass", "kp", "supply_voltage", "angle_offset" or "sign"."""
    runs: tuple[str, ...]
    """Ids of the runs whose header is in doubt."""
    factor: float
    """Likely value over stated one; for an offset, the angle to add [rad]; −1 for a sign."""
    begin: float = 0.0
    """Time of a change within the run [s]; 0 for the whole run."""
    share: OrUnknown
    """Share of the error that the correction removes, 0 to 1; NaN if it was found in another way."""
    alternatives: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other facts, with their runs, that explain the error as well."""
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text}: {self.remedy}"

    def names(self, fact: str, run: str) -> bool:
        """Return True if this fact of this run is in doubt, also as an alternative."""
        return any(f == fact and run in runs for f, runs in ((self.fact, self.runs), *self.alternatives))

    def finding(self) -> Finding:
        """Return the doubt for a list of findings."""
        severity = "error" if self.fact == "sign" else "warning"
        return Finding(
            kind=f"header_{self.fact}", severity=severity, runs=self.runs, text=self.text, remedy=self.remedy
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for a share that is not a number."""
        others = [{"fact": fact, "runs": list(runs)} for fact, runs in self.alternatives]
        return {**plain_fields(self), "alternatives": others}

    @classmethod
    @reading_json("a doubt about a header", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> HeaderDoubt:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a doubt.
        """
        others = tuple((other["fact"], tuple(other["runs"])) for other in data["alternatives"])
        return from_plain(cls, data, alternatives=others)


def doubt_of(
    suspect: Suspect,
    value: float,
    share: float,
    others: Sequence[tuple[Suspect, float]],
    recordings: Sequence[Recording],
) -> HeaderDoubt:
    """Return the doubt about a suspect, with its text.

    Args:
        suspect: Fact of some runs.
        value: Its correction: logarithm of a factor, or rad.
        share: Share of the error that it explains.
        others: Other suspects that are as likely, with their corrections.
        recordings: The recordings.
    """
    fact = suspect.fact
    ids = tuple(recordings[i].id for i in fact.runs)
    text = f"{suspect.where}: {_should(suspect, value, recordings)}; that explains {100 * share:.0f} % of the error"
    if others:
        like = [f"{other.where}: {_should(other, v, recordings)}" for other, v in others[:2]]
        text += f" (as likely: {'; or '.join(like)})"
    alternatives = [(o.fact.name, tuple(recordings[i].id for i in o.fact.runs)) for o, _ in others]
    rest = (fact.name, tuple(run.id for i, run in enumerate(recordings) if i not in fact.runs))
    if suspect.rank in GROUPS and rest[1] and rest not in alternatives:
        # The parameters absorb a change of all runs, so one group and the rest cannot be distinguished.
        alternatives.append(rest)
        text += "; it may equally be all other runs, in the opposite direction"
    kinds = dict.fromkeys((fact.name, *(other.fact.name for other, _ in others[:2])))
    return HeaderDoubt(
        fact=fact.name,
        runs=ids,
        factor=value if fact.name == "angle_offset" else math.exp(value),
        begin=fact.begin,
        share=share,
        alternatives=tuple(alternatives),
        text=text,
        remedy="; or ".join(remedy_of(kind, recordings) for kind in kinds),
    )


def sign_doubt(swapped: Sequence[Recording], total: int) -> HeaderDoubt:
    """Return the doubt about runs that move away from their goal."""
    ids = tuple(run.id for run in swapped)
    verb = "moves" if len(ids) == 1 else "move"
    return HeaderDoubt(
        fact="sign",
        runs=ids,
        factor=-1.0,
        share=math.nan,
        text=f"{named_runs(ids, total)} {verb} against the goal: the sign of position or goal is swapped",
        remedy=REMEDIES["sign"],
    )


def _should(suspect: Suspect, value: float, recordings: Sequence[Recording]) -> str:
    """Return the likely value as text, e.g. "kp should be about 20 instead of 16"."""
    fact = suspect.fact
    title = TITLES[fact.name]
    if fact.name == "angle_offset":
        change = "slips by" if fact.begin > 0.0 else "lies off by"
        return f"{title} {change} {value:+.2g} rad"
    written = {_written(fact.name, recordings[i]) for i in fact.runs}
    if len(written) == 1 and (value_written := written.pop()):
        unit = {"mass": " kg", "supply_voltage": " V"}.get(fact.name, "")
        return f"{title} should be about {value_written * math.exp(value):.3g}{unit} instead of {value_written:g}{unit}"
    return f"{title} should be about {math.exp(value):.2g} times the stated value"


def _written(fact: str, recording: Recording) -> float:
    if fact == "mass":
        return recording.bench.mass
    return recording.settings.kp if fact == "kp" else recording.settings.supply_voltage
