"""Plan of a fleet's work: for each unit, fold and repeat, a chain of fits from simple to rich models.

Every fit has a key made of everything it depends on: hash of the data, settings, seed, earlier fits of its chain and
program version. A fit with a stored key is not computed again, no matter where it was computed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from typing import Any

from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import from_plain, plain_fields
from core.identification.request import IdentificationRequest
from core.identification.runs.folds import folds
from core.identification.runs.split import Split, split_recordings
from core.motion.recording import Recording

METHOD = 1
"""Version of the method; increase it if the same request on the same data gives other numbers."""


@dataclass(frozen=True, kw_only=True)
class FleetRequest:
    """Request for the identification of a fleet."""

    fit: IdentificationRequest
    """Request for each unit: servo, models, repeats, seed, validation rule, bounds …"""
    by: tuple[str, ...] = ()
    """Conditions whose values are held out one after the other, one fold each in addition to a fit to all runs; see
    `folds`. Empty: the runs held out by the rule of `fit` judge the models."""


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """One specimen of a servo, without its recordings."""

    name: str
    """Name, unique in its fleet and valid as a folder name."""
    servo: str
    """Catalogue name."""
    source: str
    """Path of the session."""
    runs: tuple[str, ...]
    """Ids of the unit's runs in the session."""
    data_hash: str
    selection: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Selection of the session's runs as plain data; empty if unknown."""

    def __post_init__(self) -> None:
        if not _are_texts((self.name, self.servo, self.source, self.data_hash, *self.runs)):
            raise IdentificationError("a unit needs a name, servo, source, runs and data hash, all of them texts")
        if not FOLDER_NAME.fullmatch(self.name):
            raise IdentificationError(f"{self.name!r:.100} is not a valid name for a unit's folder")

    @property
    def damage(self) -> str:
        """Statement on unreadable runs of the session; empty without any."""
        return str(self.selection.get("damage", ""))

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "runs": list(self.runs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> UnitFacts:
        """Invert `to_json`; ignore facts of later versions. Raises KeyError or TypeError."""
        known: dict[str, Any] = {fact.name: data[fact.name] for fact in fields(cls) if fact.name in data}
        known["runs"] = tuple(map(str, data["runs"]))
        return cls(**known)


FOLDER_NAME = re.compile(r"[\w-][\w.-]{0,120}")
KEY = re.compile(r"[0-9a-f]{32}")


def _are_texts(values: Iterable[object]) -> bool:
    """True if all values are strings."""
    return all(isinstance(value, str) for value in values)


LoadUnit = Callable[[UnitFacts], Sequence[Recording]]
"""Reads a unit's recordings."""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Consecutive fits: the models of one unit, fold and repeat."""

    unit: str
    split: Split
    repeat: int
    keys: tuple[str, ...]
    """Key of each model's fit, in the order of the request."""

    def __post_init__(self) -> None:
        wrong = [key for key in self.keys if not _are_texts((key,)) or not KEY.fullmatch(key)]
        if wrong:
            raise IdentificationError(f"{wrong[0]!r:.100} is not the key of a fit")


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """All fits of a fleet."""

    request: FleetRequest
    units: tuple[UnitFacts, ...]
    chains: tuple[Chain, ...]

    def __post_init__(self) -> None:
        names = [unit.name for unit in self.units]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise IdentificationError(f"two units are named {', '.join(twice)}; rename one")

    @property
    def tasks(self) -> int:
        """Number of fits."""
        return sum(len(chain.keys) for chain in self.chains)

    def unit(self, name: str) -> UnitFacts:
        """Return the unit with this name."""
        return next(unit for unit in self.units if unit.name == name)

    def request_of(self, unit: UnitFacts) -> IdentificationRequest:
        """Return the request for one unit: single-threaded, because units run in parallel."""
        return replace(self.request.fit, threads=1, data_hash=unit.data_hash)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain_fields(self)

    @classmethod
    def from_json(cls, data: Any) -> FleetPlan:
        """Invert `to_json`; raise IdentificationError for anything else."""
        with reading_json("the plan of a fleet", IdentificationError):
            plan = from_plain(cls, data)
        if {chain.unit for chain in plan.chains} != {unit.name for unit in plan.units}:
            raise IdentificationError("a fleet needs chains of fits for exactly its own units")
        if {len(chain.keys) for chain in plan.chains} != {len(plan.request.fit.models)}:
            raise IdentificationError("each chain of a fleet needs one fit per model")
        return plan


def make_plan(request: FleetRequest, units: Sequence[UnitFacts], load: LoadUnit) -> FleetPlan:
    """Divide the work into chains of fits.

    Args:
        request: The request.
        units: The units.
        load: Reads a unit's recordings; called for one unit after the other.

    Raises:
        IdentificationError: No units, units of another servo, two units with one name, or runs that cannot be split.
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
    """Return the split that gives the unit's models, then the splits that only judge them."""
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
        # Neither the number of threads nor the other fits change a result.
        if name not in ("threads", "models", "data_hash", "repeats", "validation")
    }
    basis = {
        "method": METHOD,
        # Without the local part of the version, which differs between commits of a checkout.
        "versions": {
            name: version(name).partition("+")[0] for name in ("servobench", "numpy", "numba", "scipy", "cmaes")
        },
        "settings": settings,
        # A single search continues longer, because no other search confirms it.
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
