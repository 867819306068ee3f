"""What is known of an identified model's values beyond the linearised interval, in numbers and in words.

Data and words only; `profile` and `bootstrap` compute the numbers. Nothing here loads the compiler.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import IdentificationError, reading_json
from core.identification.evidence.model import NORMAL_95, Evidence
from core.identification.result import ModelResult
from core.model import ServoModel
from core.plain import OrInfinite, from_plain, plain_fields
from core.tabular import Tabular
from core.terms import physical_limits

LIMIT = NORMAL_95**2
"""Deviance at the ends of a 95 % interval: χ² with one degree of freedom, 3.84."""
BETTER = 1.0
"""Deviance by which another point must lie lower for the model not to be at the minimum; less is left by kinks."""
DISAGREE = 2.0
"""Bootstrap interval over the linearised one, or over the profile's where that is open, from which runs disagree."""
WIDER = 1.5
"""Profile interval over the linearised one from which the latter is too narrow."""

FLAGGED, ALL = "flagged", "all"


@dataclass(frozen=True, kw_only=True)
class ProfilePoint:
    """A parameter held at a value [its unit], all others polished."""

    value: float
    deviance: OrInfinite
    """Above the optimum's; negative where the runs are followed better."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Profile likelihood of one parameter."""

    name: str
    lower: float | None
    """Ends of the 95 % interval; None where the deviance stays below LIMIT up to the bound."""
    upper: float | None
    points: tuple[ProfilePoint, ...]
    """In ascending order, the optimum among them."""

    @property
    def text(self) -> str:
        """For example "0.32 … 0.37" or "0.32 … open"."""
        low, high = ("open" if end is None else f"{end:.4g}" for end in (self.lower, self.upper))
        return f"{low} … {high}"

    @property
    def better(self) -> ProfilePoint | None:
        """The point that follows the runs best, if that is clearly better than the optimum."""
        lowest = min(self.points, key=lambda point: point.deviance)
        return lowest if lowest.deviance < -BETTER else None


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Bootstrap of one parameter, in its unit."""

    name: str
    standard_error: float
    lower: float
    """Percentiles 2.5 and 97.5 of the draws."""
    upper: float

    @property
    def text(self) -> str:
        """For example "0.32 … 0.37"."""
        return f"{self.lower:.4g} … {self.upper:.4g}"


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
    """Of the linearised interval; infinite where there is none."""
    lowest: float
    """Bounds it was searched between."""
    highest: float
    profile: Profile | None = None
    """None where it was not asked for, or stopped."""
    spread: Spread | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the intervals say together, in words, each with its remedy."""
        return (*self._about_profile(), *self._about_spread())

    def _about_profile(self) -> list[str]:
        if self.profile is None:
            return []
        found: list[str] = []
        lower, upper, better = self.profile.lower, self.profile.upper, self.profile.better
        if better is not None:
            found.append(
                f"not at the minimum, the deviance is {-better.deviance:.2g} less at {better.value:.4g}: "
                "increase the evaluations, or start the search from this value"
            )
        if lower is None and upper is None:
            found.append("open, any value between its bounds will do: freeze one that you know, or record other runs")
        elif lower is None and upper is not None:
            low, _, included = physical_limits(self.name)
            text = f"no more than {upper:.4g}, "
            at_limit = included and self.lowest == low
            found.append(text + ("the runs can do without it" if at_limit else "open below: record runs that need it"))
        elif upper is None and lower is not None:
            found.append(f"no less than {lower:.4g}, open above: record runs that need it")
        elif lower is not None and upper is not None:
            if not math.isfinite(self.half_width):
                found.append("determined within the bounds of the others, though the linearised interval is open")
            elif upper - lower > WIDER * 2.0 * self.half_width:
                found.append("wider than linearised: go by the profile")
        return found

    def _about_spread(self) -> list[str]:
        if self.spread is None:
            return []
        known = self._known_width
        if not math.isfinite(known):
            return ["the bootstrap begins at the fit and says little about what is open"]
        if self.spread.upper - self.spread.lower > DISAGREE * known:
            return [
                f"runs disagree about {self.symbol}: conditions differ; look at the residuals by condition, or hold "
                "conditions out (bench crossvalidate)"
            ]
        return []

    @property
    def _known_width(self) -> float:
        """Of the linearised interval, of the profile's where that is open; infinite where both are."""
        if math.isfinite(self.half_width) or self.profile is None:
            return 2.0 * self.half_width
        lower, upper = self.profile.lower, self.profile.upper
        return math.inf if lower is None or upper is None else upper - lower

    def to_json(self) -> dict[str, Any]:
        """Plain data; null for an open end and an infinite half width."""
        data = plain_fields(self)
        profile, spread = data.pop("profile"), data.pop("spread")
        if profile is not None:
            del profile["name"]
            profile["points"] = [list(point.values()) for point in profile["points"]]
        if spread is not None:
            del spread["name"]
        return {**data, "profile": profile, "bootstrap": spread, "remarks": list(self.remarks)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterCertainty:
        """Inverse of `to_json`."""
        name, profile, spread = str(data["name"]), data["profile"], data["bootstrap"]
        if profile is not None:
            points = [{"value": value, "deviance": deviance} for value, deviance in profile["points"]]
            profile = from_plain(Profile, {**profile, "name": name, "points": points})
        if spread is not None:
            spread = from_plain(Spread, {**spread, "name": name})
        return from_plain(cls, data, profile=profile, spread=spread)


@dataclass(frozen=True, kw_only=True, repr=False)
class Certainty(Tabular):
    """Of one identified model."""

    servo: str
    friction: str
    parameters: tuple[ParameterCertainty, ...]
    """The free ones, in the model's order."""
    runs: tuple[str, ...]
    """Ids of the runs it was fitted to."""
    draws: int
    """Of the bootstrap; 0 where there is none."""
    seed: int
    stopped: bool
    """Whether it was stopped before the end; what was complete is kept."""
    notes: tuple[str, ...] = ()
    """What to know about it as a whole, each with its remedy."""

    def heading(self) -> str:
        """Return the model and what was computed."""
        draws = f"bootstrap of {self.draws} draws" if self.draws else "no bootstrap"
        return f"{self.servo} {self.friction.upper()}, {len(self.runs)} runs, {draws}"

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the interval of each parameter by each method."""
        return {
            "parameter": [p.name for p in self.parameters],
            "value": [p.value for p in self.parameters],
            "± 95 %": [p.half_width for p in self.parameters],
            "profile 95 %": [p.profile and p.profile.text for p in self.parameters],
            "bootstrap 95 %": [p.spread and p.spread.text for p in self.parameters],
            "unit": [p.unit for p in self.parameters],
        }

    def made_of(self, model: ServoModel) -> bool:
        """Whether it is of this model, value by value."""
        mine = {p.name: p.value for p in self.parameters}
        same = (self.servo, self.friction) == (model.servo, model.friction)
        return same and mine == {p.name: p.value for p in model.parameters.free}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return plain_fields(self)

    @classmethod
    @reading_json("the certainty of a model", IdentificationError)
    def from_json(cls, data: Any) -> Certainty:
        """Inverse of `to_json`; raises IdentificationError on anything else."""
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
    """Put together what was found for a model; profiles by parameter name, moved: see `profile.Optimum`."""
    if moved > BETTER:
        notes = (
            *notes,
            f"polishing the model lowers its deviance by {moved:.2g}, so that it is not at the minimum: intervals are "
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
    """Names of the free parameters that are wanted, in the model's order.

    wanted: names, or FLAGGED for those whose linearised interval does not serve (not determined, or at a bound), or
    ALL. Raises IdentificationError for one that the model lacks or holds.
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
