"""How far an identified model can be trusted: intervals, bounds, what the runs leave open, and why one was chosen.

Data and words only; `sensitivity` computes the numbers. Nothing here loads the compiler, so that results travel to the
window's process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import IdentificationError
from core.friction import FRICTION_MODELS
from core.identification.request import physical_limits

NORMAL_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""

CLOSE = 0.02
"""Models whose errors differ by less than this share are as good as each other."""


@dataclass(frozen=True, kw_only=True)
class ParameterEvidence:
    """One parameter of an identified model; SI units."""

    name: str
    symbol: str
    unit: str
    value: float
    initial: float
    """Where the search began: the catalogue's value."""
    lower: float
    upper: float
    frozen: bool
    at_bound: str
    """"lower", "upper" or empty."""
    standard_error: float
    """Linearised; infinite where these runs do not determine the value, NaN for a frozen one."""
    traded_with: tuple[str, ...] = ()
    """Symbols of the parameters that can make up for a change of this one; empty where it has no effect at all."""

    @property
    def determined(self) -> bool:
        """Whether these runs say more about the value than its catalogue bounds do."""
        return self.frozen or math.isfinite(self.standard_error)

    @property
    def half_width(self) -> float:
        """Of the approximate 95 % interval; infinite where it is not determined, NaN for a frozen one."""
        return NORMAL_95 * self.standard_error

    @property
    def bound_warning(self) -> str:
        """What to know about a value at a bound, with the remedy; empty for one that is not."""
        if not self.at_bound:
            return ""
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.at_limit:
            end = "lowest" if self.at_bound == "lower" else "highest"
            return f"{self.symbol} lies at {self._bound:g}{unit}, the {end} value there is: these runs do without it"
        return (
            f"{self.symbol} lies at its {self.at_bound} bound, {self._bound:.4g}{unit}: "
            "widen the bound if the part can be so, or freeze it at a known value"
        )

    @property
    def at_limit(self) -> bool:
        """Whether it lies at a bound beyond which no value means anything."""
        low, high, included = physical_limits(self.name)
        return bool(self.at_bound) and included and self._bound in (low, high)

    @property
    def _bound(self) -> float:
        return self.lower if self.at_bound == "lower" else self.upper

    def to_json(self) -> dict[str, Any]:
        """Plain data; null for a standard error that is not a number or infinite."""
        data = {**self.__dict__, "traded_with": list(self.traded_with), "determined": self.determined}
        data["standard_error"] = self.standard_error if math.isfinite(self.standard_error) else None
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterEvidence:
        """Inverse of `to_json`."""
        error = data["standard_error"]
        unknown = math.nan if data["frozen"] else math.inf
        return cls(
            **{name: data[name] for name in ("name", "symbol", "unit", "value", "initial", "lower", "upper", "frozen")},
            at_bound=data["at_bound"],
            standard_error=unknown if error is None else float(error),
            traded_with=tuple(data["traded_with"]),
        )


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the training runs say about a model."""

    parameters: tuple[ParameterEvidence, ...]
    conditions: tuple[str, ...]
    """What the runs lack, with the remedy."""
    noise: float
    """Standard deviation of what the model leaves unexplained [rad]."""
    samples: int
    independent: float
    """How many independent samples these are worth: neighbours in time err alike."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Everything to know, each with its remedy: bounds, what is left open, what the runs lack."""
        bounds = tuple(p.bound_warning for p in self.parameters if p.at_bound)
        return (*bounds, *self._open_warnings(), *self.conditions)

    def about(self, name: str) -> str:
        """What to know about one parameter; empty when nothing is wrong with it."""
        parameter = self.of(name)
        if parameter.bound_warning:
            return parameter.bound_warning
        return next((text for names, text in self._open() if name in names), "")

    def _open_warnings(self) -> tuple[str, ...]:
        return tuple(text for _, text in self._open())

    def _open(self) -> list[tuple[set[str], str]]:
        """Parameters that are not determined, those that make up for each other together, and what to know."""
        undetermined = {p.symbol: p for p in self.parameters if not p.determined and not p.at_limit}
        found: list[tuple[set[str], str]] = []
        idle = [symbol for symbol, p in undetermined.items() if not p.traded_with]
        if idle:
            one = len(idle) == 1
            found.append(
                (
                    {undetermined[symbol].name for symbol in idle},
                    f"{_listed(idle)} hardly change{'s' if one else ''} the motion in these runs: record runs that "
                    f"need {'it' if one else 'them'}, or freeze {'it' if one else 'them'}",
                )
            )
        order = [p.symbol for p in self.parameters]
        together = {frozenset((symbol, *p.traded_with)) for symbol, p in undetermined.items() if p.traded_with}
        largest = [group for group in together if not any(group < other for other in together)]
        groups = sorted(
            (sorted(group, key=order.index) for group in largest), key=lambda g: [order.index(s) for s in g]
        )
        for group in groups:
            names = {undetermined[symbol].name for symbol in group if symbol in undetermined}
            found.append(
                (
                    names,
                    f"{_listed(group)} cannot be told apart by these runs, only what they amount to together: freeze "
                    "one that you know, or record other loads and gains",
                )
            )
        return found

    def of(self, name: str) -> ParameterEvidence:
        """Evidence of one parameter."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "conditions": list(self.conditions),
            "noise": self.noise,
            "samples": self.samples,
            "independent": self.independent,
        }

    @classmethod
    def from_json(cls, data: Any) -> Evidence:
        """Inverse of `to_json`; raises IdentificationError on anything else."""
        try:
            return cls(
                parameters=tuple(ParameterEvidence.from_json(entry) for entry in data["parameters"]),
                conditions=tuple(str(text) for text in data["conditions"]),
                noise=float(data["noise"]),
                samples=int(data["samples"]),
                independent=float(data["independent"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise IdentificationError(f"the evidence of a model cannot be read: {error!r}") from None


@dataclass(frozen=True)
class Contender:
    """What the choice between models rests on; errors in rad."""

    friction: str
    train_mae: float
    validation_mae: float | None
    held_out: int = 0
    """Runs the validation error is the mean of."""

    @property
    def error(self) -> float:
        """On runs it did not see; on its own if there are none."""
        return self.train_mae if self.validation_mae is None else self.validation_mae


def recommended(contenders: Sequence[Contender]) -> Contender:
    """The one with the lowest error on runs it did not see, the simplest of equals."""
    return min(contenders, key=lambda c: (c.error, FRICTION_MODELS.index(c.friction)))


def choice_in_words(contenders: Sequence[Contender]) -> str:
    """One or two sentences: which model is recommended, on what evidence, and which simpler ones are as good."""
    best = recommended(contenders)
    name = best.friction.upper()
    held = best.validation_mae is not None
    kind = "validation" if held else "training"
    error = f"{1e3 * best.error:.3g} mrad"
    if len(contenders) == 1:
        text = f"{name}: {kind} error {error}; no other model was identified to compare it with."
    elif held:
        on = f" on {best.held_out} held-out run{'s' if best.held_out != 1 else ''}" if best.held_out else ""
        text = f"{name} is recommended: lowest validation error{on}, {error}."
    else:
        text = f"{name} has the lowest training error, {error}."
    rank = FRICTION_MODELS.index(best.friction)
    close = [c for c in contenders if c is not best and c.error <= best.error * (1.0 + CLOSE)]
    simpler = [c.friction.upper() for c in close if FRICTION_MODELS.index(c.friction) < rank]
    richer = [c.friction.upper() for c in close if FRICTION_MODELS.index(c.friction) > rank]
    percent = f"{100 * CLOSE:g} %"
    if simpler:
        text += f" {_listed(simpler)} {'is' if len(simpler) == 1 else 'are'} simpler and within {percent}."
    if richer:
        text += f" {_listed(richer)} {'comes' if len(richer) == 1 else 'come'} within {percent} with more parameters."
    if not held and len(contenders) > 1:
        text += " No runs were held out, so a richer model cannot do worse: hold some out to choose."
    return text


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
