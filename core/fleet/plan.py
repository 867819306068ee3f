"""What a fleet's work consists of: for each unit, fold and repeat a chain of fits, the simpler models first.

Every fit has a key made of all it depends on: the data's hash, the settings, the seed, the fits before it in its chain
and the program's version. What has a key on record needs no computing again, wherever it was computed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from typing import Any

from core.errors import IdentificationError, reading_json
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import folds
from core.identification.runs.split import Split, split_recordings
from core.plain import from_plain, plain_fields
from core.recording import Recording

METHOD = 1
"""Raised when the same request on the same data no longer gives the same numbers."""


@dataclass(frozen=True, kw_only=True)
class FleetRequest:
    """What is asked of a fleet."""

    fit: IdentificationRequest
    """How each unit is fitted: servo, models, repeats, seed, validation rule, bounds …"""
    by: tuple[str, ...] = ()
    """Conditions whose values are held out one after the other, a fold each beside a fit to all runs, see `folds`;
    none: the runs that the rule of `fit` holds out judge the models."""


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """One specimen of a servo, without its recordings."""

    name: str
    """Unique in its fleet and good as the name of a folder."""
    servo: str
    """Catalogue name."""
    source: str
    """Path of the session it was recorded in."""
    runs: tuple[str, ...]
    """Ids of its recordings there."""
    data_hash: str
    selection: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Fate of the session's other runs, plain data; empty where it is not known."""

    def __post_init__(self) -> None:
        if not _are_texts((self.name, self.servo, self.source, self.data_hash, *self.runs)):
            raise IdentificationError("a unit is told by its name, servo, source, runs and the data's hash, all texts")
        if not FOLDER_NAME.fullmatch(self.name):
            raise IdentificationError(f"{self.name!r:.100} cannot be the name of a unit's folder")

    @property
    def damage(self) -> str:
        """Sentence about runs of the session that could not be read; empty without any."""
        return str(self.selection.get("damage", ""))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "runs": list(self.runs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> UnitFacts:
        """Inverse of `to_json`; facts of a later version are left out. Raises KeyError, TypeError."""
        known: dict[str, Any] = {fact.name: data[fact.name] for fact in fields(cls) if fact.name in data}
        known["runs"] = tuple(map(str, data["runs"]))
        return cls(**known)


FOLDER_NAME = re.compile(r"[\w-][\w.-]{0,120}")
KEY = re.compile(r"[0-9a-f]{32}")


def _are_texts(values: Iterable[object]) -> bool:
    """Return False where a file held something else."""
    return all(isinstance(value, str) for value in values)


LoadUnit = Callable[[UnitFacts], Sequence[Recording]]
"""Reads a unit's recordings."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Fits that follow one another: the models of one unit, fold and repeat."""

    unit: str
    split: Split
    repeat: int
    keys: tuple[str, ...]
    """One a model, in the order of the request's."""

    def __post_init__(self) -> None:
        wrong = [key for key in self.keys if not _are_texts((key,)) or not KEY.fullmatch(key)]
        if wrong:
            raise IdentificationError(f"{wrong[0]!r:.100} is no key of a fit")


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """All the work of a fleet."""

    request: FleetRequest
    units: tuple[UnitFacts, ...]
    chains: tuple[Chain, ...]

    def __post_init__(self) -> None:
        names = [unit.name for unit in self.units]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise IdentificationError(f"two units are called {', '.join(twice)}")

    @property
    def tasks(self) -> int:
        """How many fits there are."""
        return sum(len(chain.keys) for chain in self.chains)

    def unit(self, name: str) -> UnitFacts:
        """The unit of this name."""
        return next(unit for unit in self.units if unit.name == name)

    def request_of(self, unit: UnitFacts) -> IdentificationRequest:
        """How this unit is fitted: on one processor, as the units share the others."""
        return replace(self.request.fit, threads=1, data_hash=unit.data_hash)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return plain_fields(self)

    @classmethod
    def from_json(cls, data: Any) -> FleetPlan:
        """Inverse of `to_json`; raises IdentificationError on anything else."""
        with reading_json("the plan of a fleet", IdentificationError):
            plan = from_plain(cls, data)
        if {chain.unit for chain in plan.chains} != {unit.name for unit in plan.units}:
            raise IdentificationError("a fleet has chains of fits for each of its units, and for no others")
        if {len(chain.keys) for chain in plan.chains} != {len(plan.request.fit.models)}:
            raise IdentificationError("each chain of a fleet has one fit a model")
        return plan


def make_plan(request: FleetRequest, units: Sequence[UnitFacts], load: LoadUnit) -> FleetPlan:
    """Divide the work; raises IdentificationError for units of other servos, of one name, or that cannot be divided.

    load is called where folds are asked for, one unit after the other.
    """
    if not units:
        raise IdentificationError("a fleet needs at least one unit")
    others = sorted({unit.servo for unit in units} - {request.fit.servo})
    if others:
        raise IdentificationError(
            f"units of {', '.join(others)} cannot be in a fleet of {request.fit.servo}: give the sessions of one servo"
        )
    chains: list[Chain] = []
    for unit in units:
        recordings = load(unit)
        for split in _splits(request, unit, recordings):
            chains += [_chain(request, unit, split, repeat) for repeat in range(request.fit.repeats)]
    return FleetPlan(request=request, units=tuple(units), chains=tuple(chains))


def _splits(request: FleetRequest, unit: UnitFacts, recordings: Sequence[Recording]) -> list[Split]:
    """The one that gives the unit's models first, then those that only judge them."""
    try:
        if not request.by:
            return [split_recordings(recordings, request.fit.validation, request.fit.seed)]
        held = [
            Split(f"{fold.condition}={fold.value}", fold.train, fold.held_out)
            for fold in folds(recordings, request.by).folds
        ]
        return [split_recordings(recordings, "none"), *held]
    except IdentificationError as error:
        raise type(error)(f"{unit.name}: {error}") from None


def _chain(request: FleetRequest, unit: UnitFacts, split: Split, repeat: int) -> Chain:
    settings = {
        name: value
        for name, value in request.fit.to_json().items()
        # Neither the number of threads nor what is fitted besides changes a result.
        if name not in ("threads", "models", "data_hash", "repeats", "validation")
    }
    basis = {
        "method": METHOD,
        # Without what a checkout adds to tell its commits apart.
        "versions": {
            name: version(name).partition("+")[0] for name in ("servobench", "numpy", "numba", "scipy", "cmaes")
        },
        "settings": settings,
        # A single search goes on where several would confirm each other.
        "single": request.fit.repeats == 1,
        "data": unit.data_hash,
        "runs": list(unit.runs),
        "split": asdict(split),
        "repeat": repeat,
    }
    key = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    keys: list[str] = []
    for friction in request.fit.models:
        key = hashlib.sha256(f"{key} {friction}".encode()).hexdigest()
        keys.append(key[:32])
    return Chain(unit=unit.name, split=split, repeat=repeat, keys=tuple(keys))
