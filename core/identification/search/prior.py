"""What is known of a servo before it is recorded, as a part of what a fit makes small.

Runs that leave a parameter open say nothing about runs under other conditions: what follows the ones at a small gain
best may follow those at a large one worst. A prior costs a parameter that moves away from where its search begins, the
catalogue's value or that of a known unit, the square of its distance (maximum a posteriori, ridge regression: Hoerl
and Kennard 1970). What runs determine moves little; what they leave open stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import Array
from core.identification.request import tunable_parameters
from core.model import ServoModel
from core.parameters import Parameter, ParameterSet


@dataclass(frozen=True)
class Prior:
    """A cost of values, by parameter name; the usual one costs nothing."""

    weight: float = 0.0
    """Cost of a parameter that lies a whole catalogue interval away [rad of a run's mean error]."""
    centre: Mapping[str, float] = field(default_factory=dict[str, float])
    """Value of each parameter that costs nothing, SI units; others cost nothing wherever they lie."""
    widths: Mapping[str, float] = field(default_factory=dict[str, float])
    """Catalogue interval of each of these."""

    @classmethod
    def about(cls, model: ServoModel, weight: float) -> Prior:
        """About a model's free parameters."""
        catalogue = tunable_parameters(model.spec, contact=model.contact)
        return cls(
            weight,
            {p.name: p.value for p in model.parameters.free},
            {p.name: catalogue_width(p, catalogue) for p in model.parameters.free},
        )

    def costs(self, names: Sequence[str], matrix: Array) -> Array:
        """Of candidates (p, n) by the names of their columns, (p,) [rad]."""
        if not self.weight:
            return np.zeros(len(matrix))
        return self.weight * np.square(self._distances(names, matrix)).sum(axis=1)

    def equations(self, names: Sequence[str], vector: Array) -> tuple[Array, Array]:
        """Curvature of the costs and their slope at values (n,), each (n,) per catalogue interval."""
        known = np.array([name in self.centre for name in names], dtype=bool)
        return np.where(known, 2.0 * self.weight, 0.0), 2.0 * self.weight * self._distances(names, vector[None])[0]

    def _distances(self, names: Sequence[str], matrix: Array) -> Array:
        """From the centre in catalogue intervals, 0 for parameters without one."""
        centre = np.array([self.centre.get(name, np.nan) for name in names])
        return np.nan_to_num((matrix - centre) / np.array([self.widths.get(name, 1.0) for name in names]))


def catalogue_width(parameter: Parameter, catalogue: ParameterSet) -> float:
    """Of a parameter's bounds in the catalogue, of its own where that does not have it."""
    known = catalogue.get(parameter.name, parameter)
    return max(known.upper - known.lower, 1e-12)
