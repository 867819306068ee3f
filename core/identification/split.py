"""Dividing recordings into those a fit sees and those it is judged on (seed 004, section V-B: 75 % and 25 %)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.errors import IdentificationError
from core.trajectories import canonical_name

DEFAULT_RULE = "25%"


class SplitError(IdentificationError):
    """A rule that cannot divide these recordings."""


class Divisible(Protocol):
    """A recording, or as much as is known of it before it is read."""

    @property
    def id(self) -> str:
        """Of the run."""
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
    "trajectory=sin_sin", any of a recording's conditions: the runs that match are held out. Raises
    SplitError when a side would be empty or a rule makes no sense.
    """
    ids = [recording.id for recording in recordings]
    text = rule.strip()
    if text in ("none", "0", "0%", ""):
        return Split("none", tuple(ids), ())
    held = _matching(recordings, text) if "=" in text else _share(ids, text, seed)
    train = tuple(i for i in ids if i not in held)
    if not train or not held:
        side = "trained" if not train else "validated"
        raise SplitError(f"split {rule!r} of {len(ids)} recordings leaves none to be {side} on")
    return Split(text, train, tuple(i for i in ids if i in held))


def _share(ids: list[str], text: str, seed: int) -> set[str]:
    try:
        share = float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SplitError(f'split {text!r} is neither a share such as "25%", a condition such as "kp=200", nor "none"')
    count = min(max(1, round(share * len(ids))), len(ids) - 1)
    order = np.random.default_rng(seed).permutation(len(ids))
    return {ids[i] for i in order[:count]}


def _matching(recordings: Sequence[Divisible], text: str) -> set[str]:
    name, _, wanted = (part.strip() for part in text.partition("="))
    name = {"vin": "supply_voltage"}.get(name, name)
    held = set()
    present = set()
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
