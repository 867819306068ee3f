"""Find units that are unlike the others of their fleet, and suggest a remedy.

A unit may differ by a parameter value, by its own error, or by the error of the others' models on its recordings. It
is judged by its distance from the median in robust standard deviations. The scatter of the fleet is Q_n, which
tolerates up to half of the units as outliers (Rousseeuw and Croux 1993). It is at least a typical standard error, and
more for a unit whose own is larger. The limit is Student's t with LESS of the degrees of freedom of a standard
deviation. In a fleet of sound units, FALSE_ALARMS false alarms are expected over all judgements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from core.base.arrays import Array
from core.base.words import counted
from core.fleet.parameter_spread import FEWEST, LINEAR, ParameterSpread
from core.fleet.population import Population
from core.fleet.result import Transfer, UnitResult

FALSE_ALARMS = 0.2
"""Expected number of false alarms in a fleet of sound units."""
NORMAL = 2.21914
"""Standard deviation of a normal distribution divided by the lower quartile of distances between two draws."""
_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
"""Factors that make Q_n unbiased for few units (Croux and Rousseeuw 1992)."""
LESS = 0.6
"""Share of the degrees of freedom: Q_n is less efficient than a standard deviation, and the tails are heavier."""
WORSE = 1.5
"""Errors below this multiple of the others' median are not reported."""
ALIKE = 0.35
"""Two deviations count as one common factor if their difference is below this share of their size."""
VALUE, FIT, TRANSFER = "value", "fit", "transfer"


@dataclass(frozen=True, kw_only=True)
class Outlier:
    """Property in which one unit is unlike the others."""

    unit: str
    kind: str
    """VALUE, FIT or TRANSFER."""
    what: str
    """Name of the parameter; empty for errors."""
    value: float
    """Value of the unit, in the parameter's unit, or its error [rad]."""
    range: tuple[float, float]
    """Smallest and largest value of the other units."""
    score: float
    """Distance from the others' median in standard deviations."""
    limit: float
    """Distance beyond which a unit is reported."""
    text: str
    """Description with the likely remedy."""


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """Outliers of a fleet, and the number of judgements."""

    found: tuple[Outlier, ...]
    """Outliers, grouped by unit: the most extreme unit first, and each unit's most extreme outlier first."""
    judgements: int
    """Number of judgements, each of one unit by one property."""
    note: str = ""
    """Reason why nothing could be judged, with the remedy; empty if it could."""

    @property
    def units(self) -> tuple[str, ...]:
        """Names of the units that are unlike the others."""
        return tuple(dict.fromkeys(outlier.unit for outlier in self.found))


def find_outliers(population: Population, units: Sequence[UnitResult], transfer: Transfer | None = None) -> Outliers:
    """Judge every unit of a population by its values, its error and the transfer matrix.

    Args:
        population: The population.
        units: Results of its units, for their errors.
        transfer: The transfer matrix, if there is one.
    """
    count = len(population.units)
    if count < FEWEST:
        note = f"{counted(count, 'unit')} only, too few to find outliers; identify at least {FEWEST}"
        return Outliers(found=(), judgements=0, note=note)
    parameters = [p for p in population.parameters if p.known]
    known = {
        unit.facts.name: unit.results[population.friction] for unit in units if unit.facts.name in population.units
    }
    results = [known[name] for name in population.units]
    unseen = [result.validation_mae for result in results if result.validation_mae is not None]
    own = np.array(unseen if len(unseen) == count else [result.train_mae for result in results])
    received = None
    if transfer is not None and set(transfer.units) >= set(population.units) and len(transfer.units) >= FEWEST:
        received = _received(transfer)[[transfer.units.index(name) for name in population.units]]
    judgements = sum(int(p.determined.sum()) for p in parameters) + count * (1 if received is None else 2)
    found = [outlier for p in parameters for outlier in _by_value(population, p, judgements)]
    basis = "on held-out runs" if len(unseen) == count else "on the runs it was fitted to"
    remedy = (
        "probably a bad recording, not a bad servo: check its residuals run by run, its supply voltage and its header, "
        "and record it again"
    )
    found += _by_error(population, own, judgements, FIT, f"its own model is off by {{}} {basis}", remedy)
    if received is not None:
        remedy = "the others' models do not describe it: check mass, length and supply in its header, then the servo"
        found += _by_error(population, received, judgements, TRANSFER, "the others' models are off by {} on it", remedy)
    striking = {unit: max(o.score / o.limit for o in found if o.unit == unit) for unit in {o.unit for o in found}}
    found.sort(key=lambda o: (-striking[o.unit], o.unit, -o.score / o.limit))
    return Outliers(found=tuple(found), judgements=judgements)


def limit(units: int, judgements: int) -> float:
    """Return the limit of the robust distance that gives FALSE_ALARMS false alarms over all judgements."""
    return float(student.isf(0.5 * FALSE_ALARMS / judgements, LESS * (units - 1)))


def robust_scores(seen: Array, errors: Array) -> Array:
    """Return signed distances from the median in robust standard deviations, shape (units,).

    `seen` holds the values, `errors` their standard errors, both (units,).
    """
    middle, usual = np.median(seen), float(np.median(errors**2))
    scale = np.sqrt(max(robust_deviation(seen) ** 2, usual) + np.maximum(errors**2 - usual, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(seen == middle, 0.0, (seen - middle) / scale)


def robust_deviation(seen: Array) -> float:
    """Return Q_n of Rousseeuw and Croux: a quartile of the pairwise distances, scaled to a standard deviation."""
    count = len(seen)
    first, second = np.triu_indices(count, 1)
    half = count // 2 + 1
    distance = np.sort(np.abs(seen[first] - seen[second]))[half * (half - 1) // 2 - 1]
    factor = _OF_FEW.get(count, count / (count + 1.4) if count % 2 else count / (count + 3.8))
    return NORMAL * factor * float(distance)


def _by_value(population: Population, parameter: ParameterSpread, judgements: int) -> list[Outlier]:
    chosen = np.flatnonzero(parameter.determined)
    seen, errors = parameter.coordinates[chosen], parameter.coordinate_errors[chosen]
    scores, bar = robust_scores(seen, errors), limit(len(chosen), judgements)
    found: list[Outlier] = []
    for place, score in zip(chosen, scores, strict=True):
        if abs(score) <= bar:
            continue
        unit, value = population.units[place], float(parameter.values[place])
        others = parameter.values[chosen[chosen != place]]
        span = (float(others.min()), float(others.max()))
        shown = "" if parameter.unit == "1" else f" {parameter.unit}"
        middle = float(np.median(others))
        factor = f", {value / middle:.2g} times their median" if middle > 0.0 and parameter.coordinate != LINEAR else ""
        text = (
            f"{unit}: {parameter.symbol} = {value:.4g}{shown}, the others have {span[0]:.4g} … {span[1]:.4g}{shown}"
            f"{factor}: {_remedy(population, int(place), parameter)}"
        )
        found.append(
            Outlier(
                unit=unit,
                kind=VALUE,
                what=parameter.name,
                value=value,
                range=span,
                score=abs(float(score)),
                limit=bar,
                text=text,
            )
        )
    return found


def _remedy(population: Population, place: int, parameter: ParameterSpread) -> str:
    """Suggest a remedy for a unit with an extreme value."""
    if parameter.name == "q_offset":
        return "its load is mounted at another angle, or its zero differs: set the zero again"
    factor = load_factor(population, place)
    if factor is not None and parameter.name != "kt":
        return (
            f"all its torques seem {factor:.2f} times the others': the load in its header is probably too "
            f"{'large' if factor > 1.0 else 'small'} by this factor; weigh the mass and measure the length"
        )
    if parameter.name in ("kt", "R"):
        return "check the supply voltage in its header, then its winding and cable"
    if parameter.name == "armature":
        return "check mass, arm mass and length in its header, then whether its gearbox is the same as the others'"
    return "check the servo (wear, lubrication, temperature, preload), and record it again to confirm"


def load_factor(population: Population, place: int) -> float | None:
    """Return the factor by which a unit's load seems wrong in its header; None if nothing suggests it.

    If the load's moment m·g·l, and with it the inertia, is too large by a factor, the motion is the same with every
    torque larger by that factor: armature and friction times the factor, the motor's k_t·U/R by 1/R. Armature and R
    reveal it.
    """
    deviations: list[float] = []
    for name, sign in (("armature", 1.0), ("R", -1.0)):
        known = [p for p in population.parameters if p.name == name and p.known and p.determined[place]]
        if not known or known[0].coordinate == LINEAR:
            return None
        seen = known[0].coordinates
        away = float(seen[place] - np.median(seen[known[0].determined]))
        if abs(away) < 2.0 * known[0].coordinate_errors[place]:
            return None
        deviations.append(sign * away)
    first, second = deviations
    if first * second <= 0.0 or abs(first - second) > ALIKE * max(abs(first), abs(second)):
        return None
    return math.exp(0.5 * (first + second))


def _by_error(
    population: Population, errors: Array, judgements: int, kind: str, what: str, remedy: str
) -> list[Outlier]:
    """Return the units whose error [rad] is far above the others'."""
    finite = np.where(np.isfinite(errors), errors, math.pi)
    seen = np.log(np.maximum(finite, 1e-9))
    scores, bar = robust_scores(seen, np.zeros(len(seen))), limit(len(seen), judgements)
    found: list[Outlier] = []
    for place in np.flatnonzero((scores > bar) & (finite > WORSE * np.median(finite))):
        unit, others = population.units[place], np.delete(finite, place)
        span = (float(others.min()), float(others.max()))
        error = what.format(f"{1e3 * finite[place]:.3g} mrad")
        text = f"{unit}: {error}, for the others it is {1e3 * span[0]:.3g} … {1e3 * span[1]:.3g} mrad: {remedy}"
        found.append(
            Outlier(
                unit=unit,
                kind=kind,
                what="",
                value=float(errors[place]),
                range=span,
                score=float(scores[place]),
                limit=bar,
                text=text,
            )
        )
    return found


def _received(transfer: Transfer) -> Array:
    """Return the median error of the others' models on each unit [rad], robust against one bad model."""
    count = len(transfer.units)
    return np.array([np.median(np.delete(transfer.errors[:, k], k)) for k in range(count)])
