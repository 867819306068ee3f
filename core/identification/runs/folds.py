"""Division of recordings by their conditions: one fold per value, and a smaller selection that keeps every condition.

A random held-out share shows how well a model repeats conditions it has seen. A held-out mass, gain or unit shows how
well it transfers to an unseen one, which is the purpose of a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from core.base.errors import IdentificationError, reading_json
from core.base.guards import is_object
from core.base.json_fields import plain_fields
from core.base.words import counted
from core.identification.runs.grouping import CONDITIONS, Value, group_runs, named
from core.identification.runs.split import without_equals
from core.motion.recording import Recording

UNIT = "unit"
"""Unit of the servo that made a run: a condition that only some recordings state."""

UNIT_KEYS = ("servo_serial", "unit", "session")
"""Provenance entries that identify the unit, the most certain first, if the device reported no serial number."""

TIME = "time"
"""Time of recording: runs without a long pause between them."""

PAUSE = 20.0 * 60.0
"""Shortest such pause [s]."""

FOLD_CONDITIONS = (*CONDITIONS, UNIT, TIME)
"""Conditions that runs can be held out by."""

_ALIASES = {"vin": "supply_voltage", "supply": "supply_voltage"}


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Runs of one value of a condition, held out, and the training runs; ids in the order of the recordings."""

    condition: str
    value: Value
    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def label(self) -> str:
        """Held-out value as displayed text, e.g. "0.535 kg"."""
        return named(self.condition, self.value)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain_fields(self)

    @classmethod
    @reading_json("a fold", IdentificationError)
    def from_json(cls, data: Mapping[str, Any]) -> Fold:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a fold.
        """
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
    """Folds, and the conditions that cannot be held out, with the reason."""

    folds: tuple[Fold, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    """Condition, and the reason why it cannot be held out."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Conditions with folds, in the requested order."""
        return tuple(dict.fromkeys(fold.condition for fold in self.folds))


def folds(recordings: Sequence[Recording], by: Sequence[str]) -> Folds:
    """Return one fold per value of each condition.

    A run with the same content as a held-out one, e.g. a copy declared to be of another unit, is not a training run.

    Args:
        recordings: The recordings.
        by: Conditions, see FOLD_CONDITIONS.

    Raises:
        InputError: A condition does not exist.
        IdentificationError: No condition has two values.
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
    """Return the run ids of each value of a condition, values rising; runs of unknown units or times are left out."""
    if condition == UNIT:
        known = [(unit, recording.id) for recording in recordings if (unit := unit_of(recording))]
        return {unit: tuple(i for other, i in known if other == unit) for unit in sorted({unit for unit, _ in known})}
    if condition == TIME:
        return _runs_by_time(recordings)
    groups = group_runs({recording.id: recording.conditions() for recording in recordings}, (condition,))
    return {group.values[0]: group.runs for group in groups}


def _runs_by_time(recordings: Sequence[Recording]) -> dict[Value, tuple[str, ...]]:
    """Return the run ids of each time of recording, by when its first run began."""
    found: dict[Value, list[str]] = {}
    group, last = list[str](), -math.inf
    for begun, run in sorted((begun, run.id) for run in recordings if math.isfinite(begun := began(run))):
        if begun - last > PAUSE:
            group = found[datetime.fromtimestamp(begun).isoformat(" ", "seconds")] = []
        group.append(run)
        last = begun
    return {value: tuple(runs) for value, runs in found.items()}


def began(recording: Recording) -> float:
    """Return the time at which a run began [s since 1970], NaN if it is unknown."""
    try:
        return datetime.fromisoformat(str(recording.provenance.get("started", ""))).timestamp()
    except (ValueError, OverflowError):
        return math.nan


def unit_of(recording: Recording) -> str:
    """Return the unit of the servo that made a run; empty if its provenance does not state it."""
    return unit_named(recording.provenance)


def unit_named(origin: Mapping[str, Any]) -> str:
    """Return the unit that a provenance states, see `unit_of`.

    The recorder stores the device's report about itself, including its serial number, under "device".
    """
    device = origin.get("device")
    serial = device.get("serial") if is_object(device) else None
    return str(serial or next((origin[key] for key in UNIT_KEYS if origin.get(key)), ""))


def spoken(condition: str) -> str:
    """Return a condition as part of a sentence, e.g. "arm mass"."""
    return {UNIT: "unit", TIME: "time of recording"}.get(condition) or CONDITIONS[condition][0].lower()


def balanced_subset(recordings: Sequence[Recording], count: int | None, seed: int = 0) -> list[Recording]:
    """Return at most `count` recordings that keep every condition in shares as equal as possible, in their order.

    Runs are taken one by one. Each time, it is the run whose trajectory, load, gain, supply and combination of these
    are least represented so far. The seed decides between equals.

    Raises:
        IdentificationError: `count` is below 1.
    """
    if count is None or count >= len(recordings):
        return list(recordings)
    if count < 1:
        raise IdentificationError(f"a sample of {counted(count, 'training run')} is too small; use at least 1")
    conditions = [{**recording.conditions(), UNIT: unit_of(recording)} for recording in recordings]
    return [recordings[place] for place in balanced_places(conditions, count, seed)]


def balanced_places(conditions: Sequence[Mapping[str, Value]], count: int, seed: int = 0) -> list[int]:
    """As `balanced_subset`, from conditions known before reading the runs; returns rising indices."""
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
    if condition == TIME:
        pause = f"a pause of {PAUSE / 60.0:.0f} minutes"
        return f"the runs were recorded without {pause}" if values else "the runs do not state when they were recorded"
    if not values:
        return (
            "the runs do not say which unit they were recorded with: record servos that report a serial number, or "
            "import runs whose provenance names the unit"
        )
    only = named(condition, next(iter(values)))
    return f"every run has {condition} {only}: record with another {condition} to hold one out"


def _ids(data: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(data, (list, tuple)) or not all(isinstance(run, str) for run in data):
        raise ValueError(f"{data!r:.40} is not a list of run ids")
    return tuple(map(str, data))
