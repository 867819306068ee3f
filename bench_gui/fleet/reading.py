"""Reading for fleets, outside the window's process: the contents of sessions and of a fleet's folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bench_gui.fleet.summary import (
    FleetSummary,
    Mark,
    ModelSummary,
    ParameterSummary,
    TransferSummary,
    UnitSummary,
)
from bench_gui.headless.dropped import classify
from bench_gui.work.process import Line
from core.base.errors import ServoBenchError
from core.fleet.result import FleetResult, Transfer, assembled
from core.fleet.store import FleetStore
from core.identification.evidence.model import NORMAL_95
from core.servo.shipped import load_model, shipped_models
from sessions.results.identification import save_identification

if TYPE_CHECKING:
    from core.fleet.parameter_spread import ParameterSpread
    from core.fleet.population import Population

Array = NDArray[np.float64]

CONDITIONS = ("mass", "length", "kp", "trajectory", "supply_voltage")
"""Conditions that folds can hold out."""
MOST_ORDERED = 200
"""Maximum number of units for ordering the tree so that similar units are neighbours; it takes a second there."""


@dataclass(frozen=True, kw_only=True)
class LookJob:
    """Request to read sessions."""

    sessions: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class SeenSession:
    """Contents of one session."""

    path: Path
    units: tuple[tuple[str, str, int], ...] = ()
    """Servo, unit and number of runs that a fit would use."""
    conditions: tuple[str, ...] = ()
    """Conditions that have several values in its runs."""
    problem: str = ""
    """Reason why it cannot be used; empty if it can."""
    damage: str = ""
    """Sentence about its unreadable runs."""


@dataclass(frozen=True, kw_only=True)
class ReadJob:
    """Request to read a fleet's folder."""

    folder: Path


def look(job: LookJob, line: Line) -> tuple[SeenSession, ...]:
    """Return the contents of each session."""
    return tuple(_seen(path) for path in job.sessions)


def read(job: ReadJob, line: Line) -> FleetSummary:
    """Return a fleet, as far as it has been computed.

    Raises:
        IdentificationError: The folder holds no fleet.
    """
    return summarise(FleetStore(job.folder).result(), job.folder)


def sessions_under(path: Path) -> list[Path]:
    """Return the folder itself if it is a session, otherwise the sessions in it; empty for none."""
    if not path.is_dir() or (path / "session.json").is_file():
        return [path]
    inside = sorted(entry for entry in path.iterdir() if entry.is_dir() or entry.suffix == ".h5")
    return [entry for entry in inside if classify([entry]).opens is not None]


def unit_model(folder: Path, unit: str, friction: str) -> Path:
    """Return the file of a unit's model; it is written first if some of the unit's fits are still missing.

    Raises:
        ServoBenchError: The model cannot be written.
    """
    store = FleetStore(folder)
    file = store.unit_folder(unit) / f"{friction}.json"
    if not file.exists():
        whole = store.read_plan()
        facts = whole.unit(unit)
        plan = replace(whole, units=(facts,), chains=tuple(chain for chain in whole.chains if chain.unit == unit))
        found = {key: fit for chain in plan.chains for key in chain.keys if (fit := store.get(chain, key)) is not None}
        identification = assembled(plan, found).units[0].identification(plan.request_of(facts))
        save_identification(identification, store.unit_folder(unit))
    return file


def summarise(result: FleetResult, folder: Path) -> FleetSummary:
    """Return the summary of a fleet.

    Args:
        result: The fleet.
        folder: Where it is stored.
    """
    recommended = choice = ""
    problems: list[str] = []
    if any(unit.results for unit in result.units):
        try:
            recommended, choice = result.recommended, result.choice
        except ServoBenchError as error:
            problems.append(str(error))
    units = tuple(
        UnitSummary(
            name=unit.facts.name,
            session=unit.facts.source,
            runs=len(unit.facts.runs),
            tasks=unit.tasks,
            done=unit.done,
            best="" if unit.best is None else unit.best.model.friction,
            problem=result.problems.get(unit.facts.name, ""),
            damage=unit.facts.damage,
        )
        for unit in result.units
    )
    return FleetSummary(
        folder=folder,
        request=result.plan.request,
        units=units,
        models={friction: _model(result, friction) for friction in result.models},
        recommended=recommended,
        choice=choice,
        transfer=None if result.transfer is None else _transfer(result.transfer),
        problems=tuple(problems),
    )


def _seen(path: Path) -> SeenSession:
    from bench_gui.headless.fleet.gather import gather_units
    from sessions import Session

    try:
        session = Session.open(path)
        runs = {run.id: run for run in session.runs()}
        servos = sorted({run.servo for run in runs.values()})
        units = [unit for servo in servos for unit in gather_units([path], servo)]
    except ServoBenchError as error:
        return SeenSession(path=path, problem=str(error))
    if not units:
        return SeenSession(path=path, problem=session.damage() or f"{path.name}: no runs yet; record or import some")
    used = [runs[identity] for unit in units for identity in unit.runs]
    return SeenSession(
        path=path,
        units=tuple((unit.servo, unit.name, len(unit.runs)) for unit in units),
        damage=units[0].damage,
        conditions=tuple(name for name in CONDITIONS if len({getattr(run, name) for run in used}) > 1),
    )


def _model(result: FleetResult, friction: str) -> ModelSummary:
    """Summarise one model over the units, as a population if there are enough of them."""
    from core.fleet.outliers import find_outliers
    from core.fleet.population import population

    there = result.having(friction)
    transfer = result.transfer if result.transfer is not None and result.transfer.friction == friction else None
    found: Population | None = None
    marks: dict[str, tuple[Mark, ...]] = {}
    try:
        found = population(there, friction)
        outliers = find_outliers(found, there, transfer)
        note = outliers.note
        for outlier in outliers.found:
            marks[outlier.unit] = (*marks.get(outlier.unit, ()), Mark(parameter=outlier.what, text=outlier.text))
    except ServoBenchError as error:
        note = str(error)
    results = [unit.results.get(friction) for unit in result.units]
    return ModelSummary(
        friction=friction,
        train=np.array([math.nan if one is None else one.train_mae for one in results]),
        validation=np.array([_number(None if one is None else one.validation_mae) for one in results]),
        parameters=_parameters(result, friction, found),
        marks=marks,
        note=note,
    )


def _parameters(result: FleetResult, friction: str, found: Population | None) -> tuple[ParameterSummary, ...]:
    results = [unit.results.get(friction) for unit in result.units]
    first = next(one for one in results if one is not None)
    catalogue = _catalogue(result.plan.request.fit.servo, friction)
    summaries = []
    for free in first.model.parameters.free:
        own = [None if one is None else one.model.parameters[free.name] for one in results]
        values = [math.nan if p is None or p.left_out else p.value for p in own]
        errors = [math.inf if one is None else one.evidence.of(free.name).standard_error for one in results]
        halves = NORMAL_95 * np.array(errors)
        summaries.append(
            ParameterSummary(
                name=free.name,
                symbol=free.symbol,
                unit=free.unit,
                values=np.array(values),
                half_widths=np.where(np.isfinite(halves), halves, math.inf),
                catalogue=catalogue.get(free.name, math.nan),
                **({} if found is None else _spread(found.of(free.name))),
            )
        )
    return tuple(summaries)


def _spread(spread: ParameterSpread) -> dict[str, Any]:
    from core.fleet.parameter_spread import LOGARITHMIC

    data: dict[str, Any] = {"share": spread.coordinate == LOGARITHMIC, "centre": spread.centre}
    data["centre_half"] = spread.half_width(spread.centre_error)
    if spread.known:
        middle, away = float(spread.to_coordinate(spread.centre)), NORMAL_95 * spread.between
        data |= {
            "between": spread.between,
            "between_interval": spread.between_interval,
            "uncertainty": spread.uncertainty,
            "band": (float(spread.from_coordinate(middle - away)), float(spread.from_coordinate(middle + away))),
            "differs": bool(spread.differs),
        }
    return data


def _catalogue(servo: str, friction: str) -> Mapping[str, float]:
    return load_model(servo, friction).values if friction in shipped_models(servo) else {}


def _transfer(transfer: Transfer) -> TransferSummary:
    return TransferSummary(
        friction=transfer.friction,
        units=transfer.units,
        errors=transfer.errors,
        alike=similar_order(transfer.errors),
    )


def similar_order(errors: Array) -> tuple[int, ...]:
    """Order units so that those whose models work well for each other are neighbours.

    Args:
        errors: (units, units) [rad]; infinite ones count as the largest finite one.

    Returns:
        Indices of the units: the leaves of an average-linkage tree.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    count = len(errors)
    finite = errors[np.isfinite(errors)]
    if count < 3 or not len(finite):
        return tuple(range(count))
    filled = np.log(np.maximum(np.where(np.isfinite(errors), errors, finite.max()), 1e-9))
    # Increase of a model's error on other units, compared with the unit's own model.
    lost = np.maximum(filled - np.diag(filled)[None, :], 0.0)
    distance = 0.5 * (lost + lost.T)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average", optimal_ordering=count <= MOST_ORDERED)
    return tuple(int(place) for place in leaves_list(tree))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
