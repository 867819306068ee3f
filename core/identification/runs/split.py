"""Division of recordings into training runs and held-out runs (seed 004, section V-B: 75 % and 25 %)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.base.errors import IdentificationError
from core.base.numbers import parse_number
from core.base.words import counted
from core.identification.defaults import DEFAULT_RULE
from core.motion.trajectories import canonical_name


class SplitError(IdentificationError):
    """A rule cannot divide these recordings."""


class Divisible(Protocol):
    """Recording, or the part of it that is known before reading it."""

    @property
    def id(self) -> str:
        """Id of the run."""
        ...

    @property
    def content_sha256(self) -> str:
        """Hash that is equal for runs with the same content; empty if unknown."""
        ...

    def conditions(self) -> Mapping[str, str | float]:
        """Conditions, as for `Recording.conditions`."""
        ...


@dataclass(frozen=True)
class Split:
    """Recording ids of both sides, in the order of the recordings."""

    rule: str
    train: tuple[str, ...]
    validation: tuple[str, ...]


def split_recordings(recordings: Sequence[Divisible], rule: str = DEFAULT_RULE, seed: int = 0) -> Split:
    """Divide recordings by a rule.

    Recordings with the same content stay on one side.

    Args:
        recordings: The recordings.
        rule: "none" trains on all. A percentage, e.g. "25%", holds out a random share. A condition, e.g. "kp=200",
            "mass=0.741" or "trajectory=sin_sin;triangle", holds out the runs that match one of its values.
        seed: Random seed of the share.

    Raises:
        SplitError: A side would be empty, or the rule is not valid.
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
            'or hold out "none", which leaves the error on unseen motion unknown'
        )
    return Split(text, train, tuple(i for i in ids if i in held))


def equal_runs(recordings: Sequence[Divisible]) -> tuple[tuple[str, ...], ...]:
    """Return sets of two or more ids of recordings with the same content, in the order of the recordings."""
    return tuple(tuple(group) for group in _groups(recordings) if len(group) > 1)


def without_equals(recordings: Sequence[Divisible], held: AbstractSet[str]) -> tuple[str, ...]:
    """Return ids of the training runs if these are held out: neither they nor runs with the same content."""
    out = {run for group in _groups(recordings) if not held.isdisjoint(group) for run in group}
    return tuple(recording.id for recording in recordings if recording.id not in out)


def _groups(recordings: Sequence[Divisible]) -> list[list[str]]:
    """Return ids by content, in the order of the recordings; most groups have one member."""
    groups: dict[str, list[str]] = {}
    for recording in recordings:
        groups.setdefault(recording.content_sha256 or recording.id, []).append(recording.id)
    return list(groups.values())


def _share(groups: Sequence[Sequence[str]], text: str, seed: int) -> set[str]:
    try:
        share = parse_number(text[:-1]) / 100.0 if text.endswith("%") else parse_number(text)
    except ValueError:
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SplitError(f'split {text!r} is neither a share such as "25%", a condition such as "kp=200", nor "none"')
    count = max(1, round(share * sum(map(len, groups))))
    held: set[str] = set()
    order = np.random.default_rng(seed).permutation(len(groups))
    # One group is left for training.
    for place in map(int, order[:-1]):
        if len(held) >= count:
            break
        held.update(groups[place])
    return held


def _matching(recordings: Sequence[Divisible], text: str) -> set[str]:
    name, _, values = text.partition("=")
    return {run for wanted in values.split(";") for run in _equal(recordings, name.strip(), wanted.strip(), text)}


def _equal(recordings: Sequence[Divisible], name: str, wanted: str, text: str) -> set[str]:
    """Return the ids of the recordings of which a condition has this value; text: the rule, for messages."""
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
                same = math.isclose(parse_number(wanted), value, rel_tol=1e-6, abs_tol=1e-12)
            except ValueError:
                raise SplitError(f"split {text!r}: {wanted!r} is not a number") from None
        if same:
            held.add(recording.id)
    if not held:
        known = ", ".join(str(value) for value in sorted(present, key=str))
        raise SplitError(f"split {text!r} matches no recording; {name} takes {known}")
    return held
