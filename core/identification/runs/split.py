"""Dividing recordings into those a fit sees and those it is judged on (seed 004, section V-B: 75 % and 25 %)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.errors import IdentificationError
from core.identification.defaults import DEFAULT_RULE
from core.trajectories import canonical_name
from core.words import counted


class SplitError(IdentificationError):
    """A rule that cannot divide these recordings."""


class Divisible(Protocol):
    """A recording, or as much as is known of it before it is read."""

    @property
    def id(self) -> str:
        """Of the run."""
        ...

    @property
    def content_sha256(self) -> str:
        """Equal for runs with the same content; empty where it is not known."""
        ...

    def conditions(self) -> Mapping[str, str | float]:
        """As `Recording.conditions`."""
        ...


@dataclass(frozen=True)
class Split:
    """Recording ids of both sides, in the order the recordings came."""

    rule: str
    train: tuple[str, ...]
    validation: tuple[str, ...]


def split_recordings(recordings: Sequence[Divisible], rule: str = DEFAULT_RULE, seed: int = 0) -> Split:
    """Divide recordings by a rule.

    "none": all are trained on; "25%" (any percentage): a seeded random share is held out; "kp=200", "mass=0.741",
    "trajectory=sin_sin", any of a recording's conditions: the runs that match are held out. Recordings
    with the same content stay on one side. Raises SplitError when a side would be empty or a rule makes no sense.
    """
    ids = [recording.id for recording in recordings]
    text = rule.strip()
    if text in ("none", "0", "0%", ""):
        return Split("none", tuple(ids), ())
    held = _matching(recordings, text) if "=" in text else _share(_groups(recordings), text, seed)
    train = tuple(i for i in ids if i not in held)
    if not train or not held:
        side = "trained" if not train else "validated"
        raise SplitError(
            f"split {rule!r} of {counted(len(ids), 'recording')} leaves none to be {side} on: record more motions, "
            'or hold out "none", and no error on unseen motions is known'
        )
    return Split(text, train, tuple(i for i in ids if i in held))


def equal_runs(recordings: Sequence[Divisible]) -> tuple[tuple[str, ...], ...]:
    """Ids of recordings with the same content, each set of two or more in the order the recordings came."""
    return tuple(tuple(group) for group in _groups(recordings) if len(group) > 1)


def without_equals(recordings: Sequence[Divisible], held: AbstractSet[str]) -> tuple[str, ...]:
    """Ids of the recordings to train on when these are held out: neither they nor any with the same content."""
    out = {run for group in _groups(recordings) if not held.isdisjoint(group) for run in group}
    return tuple(recording.id for recording in recordings if recording.id not in out)


def _groups(recordings: Sequence[Divisible]) -> list[list[str]]:
    """Ids by content, in the order the recordings came; most groups have one member."""
    groups: dict[str, list[str]] = {}
    for recording in recordings:
        groups.setdefault(recording.content_sha256 or recording.id, []).append(recording.id)
    return list(groups.values())


def _share(groups: Sequence[Sequence[str]], text: str, seed: int) -> set[str]:
    try:
        share = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SplitError(f'split {text!r} is neither a share such as "25%", a condition such as "kp=200", nor "none"')
    count = max(1, round(share * sum(map(len, groups))))
    held: set[str] = set()
    order = np.random.default_rng(seed).permutation(len(groups))
    # One group is left to be trained on.
    for place in map(int, order[:-1]):
        if len(held) >= count:
            break
        held.update(groups[place])
    return held


def _matching(recordings: Sequence[Divisible], text: str) -> set[str]:
    name, _, wanted = (part.strip() for part in text.partition("="))
    name = {"vin": "supply_voltage"}.get(name, name)
    held: set[str] = set()
    present: set[str | float] = set()
    for recording in recordings:
        conditions = recording.conditions()
        if name not in conditions:
            raise SplitError(f"no condition {name!r} to split by; there are {', '.join(conditions)}")
        value = conditions[name]
        present.add(value)
        if isinstance(value, str):
            same = canonical_name(wanted) == canonical_name(value)
        else:
            try:
                same = math.isclose(float(wanted), value, rel_tol=1e-6, abs_tol=1e-12)
            except ValueError:
                raise SplitError(f"split {text!r}: {wanted!r} is not a number") from None
        if same:
            held.add(recording.id)
    if not held:
        known = ", ".join(str(value) for value in sorted(present, key=str))
        raise SplitError(f"split {text!r} matches no recording; {name} takes {known}")
    return held
