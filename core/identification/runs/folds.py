"""Dividing recordings by their conditions: one fold per value, and a smaller selection that keeps every condition.

A random share held out says how well a model repeats conditions it has seen. A mass, gain or unit held out whole says
how well it transfers to one it has not, which is what a simulation is for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import IdentificationError, reading_json
from core.finite import is_object
from core.identification.runs.grouping import CONDITIONS, Value, group_runs, named
from core.identification.runs.split import without_equals
from core.plain import plain_fields
from core.recording import Recording
from core.words import counted

UNIT = "unit"
"""Which specimen of a servo a run was recorded with: a condition only some recordings tell."""

UNIT_KEYS = ("servo_serial", "unit", "session")
"""Entries of a recording's provenance that tell the unit, the surest first, where the device told no serial number."""

FOLD_CONDITIONS = (*CONDITIONS, UNIT)
"""What runs can be held out by."""

_ALIASES = {"vin": "supply_voltage", "supply": "supply_voltage"}


@dataclass(frozen=True, kw_only=True)
class Fold:
    """The runs of one value of a condition held out, the others trained on; ids in the order the recordings came."""

    condition: str
    value: Value
    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is held out, as a person reads it, e.g. "0.535 kg"."""
        return named(self.condition, self.value)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return plain_fields(self)

    @classmethod
    @reading_json("a fold", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> Fold:
        """Inverse of `to_json`; raises IdentificationError on anything else."""
        value = data["value"]
        if data["condition"] not in FOLD_CONDITIONS:
            raise ValueError(f"no condition {data['condition']!r}")
        return cls(
            condition=data["condition"],
            value=value if isinstance(value, str) else float(value),
            train=_ids(data["train"]),
            held_out=_ids(data["held_out"]),
        )


@dataclass(frozen=True, kw_only=True)
class Folds:
    """What can be held out, and the conditions that cannot with the reason."""

    folds: tuple[Fold, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """Condition and why nothing can be held out by it."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions with folds, in the order they were asked for."""
        return tuple(dict.fromkeys(fold.condition for fold in self.folds))


def folds(recordings: Sequence[Recording], by: Sequence[str]) -> Folds:
    """One fold per value of each condition in `by`, see FOLD_CONDITIONS.

    A run with the same content as one held out, e.g. a copy said to be of another unit, is not trained on. Raises
    InputError for a condition that does not exist, IdentificationError when no condition takes two values.
    """
    found: list[Fold] = []
    skipped: list[tuple[str, str]] = []
    for condition in dict.fromkeys(_ALIASES.get(name, name) for name in by):
        values = runs_by_value(recordings, condition)
        if len(values) < 2:
            skipped.append((condition, _why_skipped(condition, values)))
            continue
        for value, held in values.items():
            train = without_equals(recordings, set(held))
            found.append(Fold(condition=condition, value=value, train=train, held_out=held))
    if not found:
        reasons = "; ".join(reason for _, reason in skipped) or "no condition was named"
        raise IdentificationError(f"nothing can be held out: {reasons}")
    return Folds(folds=tuple(found), skipped=tuple(skipped))


def runs_by_value(recordings: Sequence[Recording], condition: str) -> dict[Value, tuple[str, ...]]:
    """Ids of the runs with each value of a condition, values rising; runs that do not tell their unit are left out."""
    if condition == UNIT:
        known = [(unit, recording.id) for recording in recordings if (unit := unit_of(recording))]
        return {unit: tuple(i for other, i in known if other == unit) for unit in sorted({unit for unit, _ in known})}
    groups = group_runs({recording.id: recording.conditions() for recording in recordings}, (condition,))
    return {group.values[0]: group.runs for group in groups}


def unit_of(recording: Recording) -> str:
    """The specimen of the servo a run was recorded with; empty where its provenance does not tell."""
    return unit_named(recording.provenance)


def unit_named(origin: Mapping[str, Any]) -> str:
    """As `unit_of`, from a provenance alone.

    The recorder keeps what the device said about itself, its serial number included, under "device".
    """
    device = origin.get("device")
    serial = device.get("serial") if is_object(device) else None
    return str(serial or next((origin[key] for key in UNIT_KEYS if origin.get(key)), ""))


def spoken(condition: str) -> str:
    """A condition in a sentence, e.g. "arm mass"."""
    return condition if condition == UNIT else CONDITIONS[condition][0].lower()


def balanced_subset(recordings: Sequence[Recording], count: int | None, seed: int = 0) -> list[Recording]:
    """At most `count` recordings that keep every condition in as equal shares as possible, in their order.

    One after the other, the run is taken whose trajectory, load, gain, supply and whole combination of these are least
    present so far; the seed decides between equals. Raises IdentificationError for a count below 1.
    """
    if count is None or count >= len(recordings):
        return list(recordings)
    if count < 1:
        raise IdentificationError(f"a sample of {counted(count, 'training run')} is too small; give at least 1")
    conditions = [{**recording.conditions(), UNIT: unit_of(recording)} for recording in recordings]
    return [recordings[place] for place in balanced_places(conditions, count, seed)]


def balanced_places(conditions: Sequence[Mapping[str, Value]], count: int, seed: int = 0) -> list[int]:
    """As `balanced_subset`, from what is known of the runs before they are read: places of those taken, rising."""
    keys = [[*each.items(), tuple(value for name, value in each.items() if name != UNIT)] for each in conditions]
    names = {key: place for place, key in enumerate(dict.fromkeys(key for row in keys for key in row))}
    places = np.array([[names[key] for key in row] for row in keys])
    seen = np.zeros(len(names))
    chance = np.random.default_rng([seed, len(conditions)]).random(len(conditions))
    taken: list[int] = []
    for _ in range(min(count, len(conditions))):
        presence = seen[places].sum(axis=1) + 0.5 * chance
        presence[taken] = np.inf
        taken.append(int(presence.argmin()))
        seen[places[taken[-1]]] += 1
    return sorted(taken)


def _why_skipped(condition: str, values: dict[Value, tuple[str, ...]]) -> str:
    if not values:
        return (
            "the runs do not say which unit they were recorded with: record servos that tell a serial number, or "
            "import runs whose provenance names the unit"
        )
    only = named(condition, next(iter(values)))
    return f"every run has {condition} {only}: record with another {condition} to hold one out"


def _ids(data: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(data, (list, tuple)) or not all(isinstance(run, str) for run in data):
        raise ValueError(f"{data!r:.40} is not a list of run ids")
    return tuple(map(str, data))
