"""Certainty of an identified model's values beyond the linearised interval, as numbers and text.

Data and text only; `profile` and `bootstrap` compute the numbers. This module does not load the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import OrInfinite, from_plain, plain_fields
from core.base.units import MOST_DIGITS, fixed, significant
from core.document.table import Tabular
from core.identification.evidence.grade import Grade, grade_of
from core.identification.evidence.model import NORMAL_95, Evidence
from core.identification.result import ModelResult
from core.servo.model import ServoModel
from core.servo.terms import physical_limits

LIMIT = NORMAL_95**2
"""Deviance at the ends of a 95 % interval: χ² with one degree of freedom, 3.84."""
BETTER = 1.0
"""Deviance by which another point must be lower to show that the model is not at the minimum; kinks cause less."""
DISAGREE = 2.0
"""Ratio of the bootstrap interval to the linearised (or, if open, the profile) interval from which runs disagree."""
WIDER = 1.5
"""Ratio of the profile interval to the linearised one from which the latter is too narrow."""

APART = 3.0
"""Ratio of the widths of two intervals of one value from which the methods disagree."""

FLAGGED, ALL = "flagged", "all"


def _interval(lower: float | None, upper: float | None) -> str:
    """Return an interval as text; its ends have two digits of its width, or three if it is open."""
    width = 0.0 if lower is None or upper is None else upper - lower
    digits = 1 - math.floor(math.log10(width)) if width > 0.0 else MOST_DIGITS + 1

    def shown(end: float | None) -> str:
        if end is None:
            return "open"
        if digits <= MOST_DIGITS:
            return fixed(end, max(0, digits))
        return significant(end, 6 if width else 3)

    return f"{shown(lower)} … {shown(upper)}"


@dataclass(frozen=True, kw_only=True)
class ProfilePoint:
    """Parameter held at a value [its unit], with all others polished."""

    value: float
    deviance: OrInfinite
    """Deviance relative to the optimum; negative for a better fit."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Profile likelihood of one parameter."""

    name: str
    lower: float | None
    """Lower end of the 95 % interval; None if the deviance stays below LIMIT up to the bound."""
    upper: float | None
    points: tuple[ProfilePoint, ...]
    """Points in ascending order, including the optimum."""

    @property
    def text(self) -> str:
        """Interval as text, e.g. "0.32 … 0.37" or "0.32 … open"."""
        return _interval(self.lower, self.upper)

    @property
    def better(self) -> ProfilePoint | None:
        """Point with the best fit, if it is clearly better than the optimum."""
        lowest = min(self.points, key=lambda point: point.deviance)
        return lowest if lowest.deviance < -BETTER else None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Bootstrap of one parameter, in its unit."""

    name: str
    standard_error: float
    lower: float
    """2.5th percentile of the draws; `upper` is the 97.5th."""
    upper: float

    @property
    def text(self) -> str:
        """Interval as text, e.g. "0.32 … 0.37"."""
        return _interval(self.lower, self.upper)


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Spread of every free parameter over draws of the runs."""

    draws: int
    seed: int
    spreads: tuple[Spread, ...]


@dataclass(frozen=True, kw_only=True)
class ParameterCertainty:
    """All intervals of one free parameter; SI units."""

    name: str
    symbol: str
    unit: str
    value: float
    half_width: OrInfinite
    """Half width of the linearised interval; infinite if there is none."""
    lowest: float
    """Lower bound of the parameter's search."""
    highest: float
    profile: Profile | None = None
    """Profile; None if it was not requested or was stopped."""
    spread: Spread | None = None

    @property
    def grade(self) -> Grade:
        """Grade of the linearised interval, and the value as text."""
        return grade_of(self.value, self.half_width, self.lowest, self.highest, self.unit)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Conclusions from all intervals, as text, each with its remedy."""
        found = (*self._about_profile(), *self._about_spread(), self._about_methods(), self.contradiction)
        return tuple(filter(None, found))

    @property
    def contradiction(self) -> str:
        """Intervals that exclude the value, as text; empty if there are none."""
        found: list[str] = []
        for name, interval in (("profile", self.profile), ("bootstrap", self.spread)):
            if interval is None:
                continue
            low = -math.inf if interval.lower is None else interval.lower
            high = math.inf if interval.upper is None else interval.upper
            if not low <= self.value <= high:
                found.append(f"outside its own {name} interval {interval.text}")
        return "; ".join(found)

    def _about_profile(self) -> list[str]:
        if self.profile is None:
            return []
        found: list[str] = []
        lower, upper, better = self.profile.lower, self.profile.upper, self.profile.better
        if better is not None:
            found.append(
                f"not at the minimum: the deviance is {-better.deviance:.2g} lower at {better.value:.4g}: "
                "increase the evaluations, or start the search from this value"
            )
        if lower is None and upper is None:
            found.append("open, any value between its bounds is possible: freeze a known one, or record other runs")
        elif lower is None and upper is not None:
            low, _, included = physical_limits(self.name)
            text = f"no more than {upper:.4g}, "
            at_limit = included and self.lowest == low
            absent = "these runs show no such effect"
            found.append(text + (absent if at_limit else "open below: record runs that need it"))
        elif upper is None and lower is not None:
            found.append(f"no less than {lower:.4g}, open above: record runs that need it")
        elif lower is not None and upper is not None:
            if not math.isfinite(self.half_width):
                found.append("determined within the bounds of the others, though the linearised interval is open")
            elif upper - lower > WIDER * 2.0 * self.half_width:
                found.append("wider than the linearised interval: use the profile")
        return found

    def _about_spread(self) -> list[str]:
        if self.spread is None:
            return []
        known = self._known_width
        if not math.isfinite(known):
            return ["the bootstrap starts at the fit and has little meaning for open values"]
        if self.spread.upper - self.spread.lower > DISAGREE * known:
            return [
                f"runs disagree about {self.symbol}: conditions differ; look at the residuals by condition, or hold "
                "conditions out (bench crossvalidate)"
            ]
        return []

    def _about_methods(self) -> str:
        """Return a remark on the two intervals that differ most in width, if they differ too much."""
        widths = {"linearised": 2.0 * self.half_width}
        if self.profile is not None and self.profile.lower is not None and self.profile.upper is not None:
            widths["profile"] = self.profile.upper - self.profile.lower
        if self.spread is not None:
            widths["bootstrap"] = self.spread.upper - self.spread.lower
        finite = {name: width for name, width in widths.items() if math.isfinite(width)}
        if len(finite) < 2:
            return ""
        wide, narrow = max(finite, key=finite.__getitem__), min(finite, key=finite.__getitem__)
        if not finite[wide] > APART * finite[narrow]:
            return ""
        times = significant(finite[wide] / finite[narrow], 2) if finite[narrow] > 0.0 else "∞"
        return f"the {wide} interval is {times} times as wide as the {narrow} one: use the wider"

    @property
    def _known_width(self) -> float:
        """Half width of the linearised interval, of the profile's if that is open; infinite if both are."""
        if math.isfinite(self.half_width) or self.profile is None:
            return 2.0 * self.half_width
        lower, upper = self.profile.lower, self.profile.upper
        return math.inf if lower is None or upper is None else upper - lower

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for an open end and an infinite half width."""
        data = plain_fields(self)
        profile, spread = data.pop("profile"), data.pop("spread")
        if profile is not None:
            del profile["name"]
            profile["points"] = [list(point.values()) for point in profile["points"]]
        if spread is not None:
            del spread["name"]
        grade = self.grade
        known = {"grade": grade.word, "text": grade.text, "remarks": list(self.remarks)}
        return {**data, "profile": profile, "bootstrap": spread, **known}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterCertainty:
        """Read the data of `to_json`."""
        name, profile, spread = str(data["name"]), data["profile"], data["bootstrap"]
        if profile is not None:
            points = [{"value": value, "deviance": deviance} for value, deviance in profile["points"]]
            profile = from_plain(Profile, {**profile, "name": name, "points": points})
        if spread is not None:
            spread = from_plain(Spread, {**spread, "name": name})
        return from_plain(cls, data, profile=profile, spread=spread)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certainty(Tabular):
    """Intervals of one identified model's parameters.

    Example:
        >>> certain = sb.certainty(sb.example(), draws=50)  # doctest: +SKIP
        >>> certain.parameters[0].profile.text  # doctest: +SKIP
    """

    servo: str
    friction: str
    parameters: tuple[ParameterCertainty, ...]
    """Free parameters, in the model's order."""
    runs: tuple[str, ...]
    """Ids of the runs that the model was fitted to."""
    draws: int
    """Number of bootstrap draws; 0 without a bootstrap."""
    seed: int
    stopped: bool
    """True if it was stopped before the end; complete parts are kept."""
    notes: tuple[str, ...] = ()
    """Notes on the whole result, each with its remedy."""

    def heading(self) -> str:
        """Return the model and the kind of intervals."""
        draws = f"bootstrap of {self.draws} draws" if self.draws else "no bootstrap"
        return f"{self.servo} {self.friction.upper()}, {len(self.runs)} runs, {draws}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the interval of each parameter by each method."""
        return {
            "parameter": [p.name for p in self.parameters],
            "value": [p.value for p in self.parameters],
            "grade": [p.grade.word for p in self.parameters],
            "± 95 %": [p.half_width for p in self.parameters],
            "profile 95 %": [p.profile and p.profile.text for p in self.parameters],
            "bootstrap 95 %": [p.spread and p.spread.text for p in self.parameters],
            "unit": [p.unit for p in self.parameters],
        }

    def made_of(self, model: ServoModel) -> bool:
        """Return True if it is for this model, value by value."""
        mine = {p.name: p.value for p in self.parameters}
        same = (self.servo, self.friction) == (model.servo, model.friction)
        return same and mine == {p.name: p.value for p in model.parameters.free}

    def keeping(self, earlier: Certainty) -> Certainty:
        """Return it with profiles of an earlier one that it lacks, and with its bootstrap if that has more draws."""
        fewer = self.draws < earlier.draws
        parameters = tuple(
            replace(mine, profile=mine.profile or theirs.profile, spread=theirs.spread if fewer else mine.spread)
            for mine, theirs in zip(self.parameters, earlier.parameters, strict=True)
        )
        drawn = earlier if fewer else self
        return replace(self, parameters=parameters, draws=drawn.draws, seed=drawn.seed)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain_fields(self)

    @classmethod
    @reading_json("the certainty of a model", IdentificationError)
    def from_json(cls, data: Any) -> Certainty:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a certainty.
        """
        return from_plain(cls, data)


def certainty(
    result: ModelResult,
    runs: Sequence[str],
    profiles: Mapping[str, Profile],
    bootstrapped: Bootstrap | None,
    *,
    moved: float = 0.0,
    stopped: bool = False,
    notes: Sequence[str] = (),
) -> Certainty:
    """Combine the intervals of a model.

    Args:
        result: Identified model with its evidence.
        runs: Ids of the runs that it was fitted to.
        profiles: Profiles by parameter name.
        bootstrapped: Bootstrap, if any.
        moved: Deviance by which polishing lowered the loss, see `profile.Optimum`.
        stopped: True if the computation was stopped.
        notes: Notes on the whole result.
    """
    if moved > BETTER:
        notes = (
            *notes,
            f"polishing the model lowers its deviance by {moved:.2g}, so it is not at the minimum: intervals are "
            "about the values polished here; identify again, with the polish and more evaluations",
        )
    spreads = {} if bootstrapped is None else {spread.name: spread for spread in bootstrapped.spreads}
    return Certainty(
        servo=result.model.servo,
        friction=result.model.friction,
        parameters=tuple(
            ParameterCertainty(
                name=p.name,
                symbol=p.symbol,
                unit=p.unit,
                value=p.value,
                half_width=result.evidence.of(p.name).half_width,
                lowest=p.lower,
                highest=p.upper,
                profile=profiles.get(p.name),
                spread=spreads.get(p.name),
            )
            for p in result.model.parameters.free
        ),
        runs=tuple(runs),
        draws=0 if bootstrapped is None else bootstrapped.draws,
        seed=0 if bootstrapped is None else bootstrapped.seed,
        stopped=stopped,
        notes=tuple(notes),
    )


def parameters_named(evidence: Evidence, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the requested free parameters, in the model's order.

    Args:
        evidence: Evidence for the model.
        wanted: Names, or FLAGGED for those without a good linearised interval, or at a bound, or ALL.

    Raises:
        IdentificationError: The model lacks a parameter, or it is frozen.
    """
    free = [p for p in evidence.parameters if not p.frozen]
    if tuple(wanted) == (ALL,):
        return tuple(p.name for p in free)
    if tuple(wanted) == (FLAGGED,):
        return tuple(p.name for p in free if p.at_bound or not p.determined)
    for name in wanted:
        if name not in {p.name for p in free}:
            held = name in {p.name for p in evidence.parameters}
            why = f"{name} is frozen in this model" if held else f"this model has no parameter {name!r}"
            raise IdentificationError(f"{why}; there are {', '.join(p.name for p in free)}, or {FLAGGED}, or {ALL}")
    return tuple(p.name for p in free if p.name in wanted)
