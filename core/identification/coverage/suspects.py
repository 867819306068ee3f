"""Header facts that could be wrong, and in which runs: the questions of an audit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

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
