"""Parameters: every adjustable number, with its symbol, unit and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.base.errors import InputError, reading_json
from core.base.guards import is_object
from core.base.json_fields import from_plain, plain_fields
from core.servo.terms import TERMS

AT_BOUND_FRACTION = 1e-3
"""A value closer to a bound than this share of the interval counts as being at the bound."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number with symbol, unit and bounds, in SI units and radians."""

    name: str
    symbol: str
    unit: str
    value: float
    lower: float
    upper: float
    frozen: bool = False
    """A frozen parameter keeps its value in a search and is not part of the vector."""
    description: str = ""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise InputError(f"parameter name {self.name!r} is not an identifier")
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower <= self.upper):
            raise InputError(f"parameter {self.name}: bounds [{self.lower}, {self.upper}] are not an interval")
        if not math.isfinite(self.value):
            raise InputError(f"parameter {self.name}: value {self.value} is not a finite number")

    @property
    def at_bound(self) -> bool:
        """True if a free value lies at one of its bounds, a sign that the data do not determine it."""
        margin = AT_BOUND_FRACTION * (self.upper - self.lower)
        # The interval of a limit up to where it has no effect can be so wide that the margin exceeds the lower bound.
        lower = self.lower + (AT_BOUND_FRACTION * self.lower if self.neutral_beyond else margin)
        return not self.frozen and not (lower < self.value < self.upper - margin)

    @property
    def neutral_beyond(self) -> bool:
        """True if the value at which its term has no effect lies beyond its bounds."""
        term = TERMS.get(self.name)
        neutral = None if term is None else term.neutral
        return neutral is not None and not self.lower <= neutral <= self.upper

    @property
    def left_out(self) -> bool:
        """True if its term is held at a value without effect, beyond its bounds."""
        return self.frozen and self.neutral_beyond and self.value == TERMS[self.name].neutral

    @classmethod
    def of_term(
        cls,
        name: str,
        torque_scale: float = 1.0,
        speed_scale: float = 1.0,
        bounds: tuple[float, float, float] | None = None,
    ) -> Parameter:
        """Return a term of `core.servo.terms` at its start value, scaled to a servo.

        Args:
            name: Name of the term.
            torque_scale: Stall torque [N·m].
            speed_scale: No-load speed [rad/s].
            bounds: Start value, lower and upper bound that replace the term's own [SI units].
        """
        term = TERMS[name]
        scale = torque_scale**term.torque_power * speed_scale**term.speed_power
        start, lower, upper = bounds or (scale * term.start, scale * term.lower, scale * term.upper)
        return cls(
            name=name,
            symbol=term.symbol,
            unit=term.unit,
            value=start,
            lower=lower,
            upper=upper,
            frozen=term.frozen,
            description=term.description,
        )

    def with_value(self, value: float) -> Parameter:
        """Return the same parameter at another value."""
        return replace(self, value=float(value))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return plain_fields(self, ("name",))

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Parameter:
        """Read the data of `to_json`.

        Raises:
            InputError: The data do not describe a parameter.
        """
        with reading_json(f"parameter {name!r}", InputError):
            return from_plain(cls, data, name=name)


class ParameterSet(Mapping[str, Parameter]):
    """An ordered, immutable set of parameters; the free ones map to and from a vector."""

    def __init__(self, parameters: Iterator[Parameter] | list[Parameter] | tuple[Parameter, ...] = ()) -> None:
        self._by_name = {parameter.name: parameter for parameter in parameters}

    def __getitem__(self, name: str) -> Parameter:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParameterSet) and list(self.values()) == list(other.values())

    def __hash__(self) -> int:
        return hash(tuple(self.values()))

    def __repr__(self) -> str:
        return f"ParameterSet({', '.join(f'{p.name}={p.value:g} {p.unit}'.strip() for p in self.values())})"

    @property
    def free(self) -> tuple[Parameter, ...]:
        """Parameters that a search may move, in order."""
        return tuple(parameter for parameter in self.values() if not parameter.frozen)

    def vector(self) -> NDArray[np.float64]:
        """Return the values of the free parameters, (n_free,), in SI units."""
        return np.array([parameter.value for parameter in self.free], dtype=np.float64)

    def bounds(self) -> NDArray[np.float64]:
        """Return lower and upper bounds of the free parameters, (n_free, 2)."""
        return np.array([(p.lower, p.upper) for p in self.free], dtype=np.float64).reshape(-1, 2)

    def with_vector(self, vector: ArrayLike) -> ParameterSet:
        """Return the set with other values for its free parameters.

        Raises:
            InputError: `vector` is not (n_free,).
        """
        values = np.asarray(vector, dtype=np.float64)
        names = [parameter.name for parameter in self.free]
        if values.shape != (len(names),):
            raise InputError(
                f"a vector of shape {values.shape} does not fit {len(names)} free parameters: {', '.join(names)}"
            )
        return self.with_values(dict(zip(names, values.tolist(), strict=True)))

    def with_values(self, values: Mapping[str, float]) -> ParameterSet:
        """Return the set with other values for the named parameters.

        Raises:
            InputError: A name is unknown.
        """
        for name in values:
            if name not in self._by_name:
                raise InputError(f"no parameter named {name!r}; there are {', '.join(self._by_name)}")
        return ParameterSet([p.with_value(values.get(p.name, p.value)) for p in self.values()])

    def frozen_at(self, values: Mapping[str, float]) -> ParameterSet:
        """Return the set with the named parameters frozen at `values`."""
        moved = self.with_values(values)
        return ParameterSet([replace(p, frozen=True) if p.name in values else p for p in moved.values()])

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> ParameterSet:
        """Return the set with other bounds for the named parameters; free values outside move to the nearer bound."""
        return ParameterSet(
            [
                replace(p, lower=low, upper=high, value=p.value if p.frozen else min(max(p.value, low), high))
                for p in self.values()
                for low, high in [bounds.get(p.name, (p.lower, p.upper))]
            ]
        )

    def numbers(self) -> dict[str, float]:
        """Return values by name, including those of frozen parameters."""
        return {parameter.name: parameter.value for parameter in self.values()}

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file, in order."""
        return {parameter.name: parameter.to_json() for parameter in self.values()}

    @classmethod
    def from_json(cls, data: object) -> ParameterSet:
        """Read the data of `to_json`.

        Raises:
            InputError: The data do not describe parameters.
        """
        if not is_object(data):
            raise InputError("parameters must be an object that maps names to parameters")
        return cls([Parameter.from_json(name, entry) for name, entry in data.items()])
