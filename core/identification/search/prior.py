"""Prior knowledge of a servo as a part of the objective.

Runs that leave a parameter open give no information for other conditions: the value that fits best at a small gain may
be the worst at a large one. A prior penalises the squared distance of each parameter from its start value, the
catalogue's or that of a known unit (maximum a posteriori, ridge regression: Hoerl and Kennard 1970). Values that the
runs determine hardly move; the others stay near the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.base.arrays import Array
from core.identification.request import tunable_parameters
from core.servo.model import ServoModel
from core.servo.parameters import Parameter, ParameterSet


@dataclass(frozen=True)
class Prior:
    """Penalty of values by parameter name; the default has none."""

    weight: float = 0.0
    """Penalty of a parameter that lies one whole catalogue interval away [rad of a run's mean error]."""
    share: float = 0.0
    """Growth of the error's logarithm there."""
    centre: Mapping[str, float] = field(default_factory=dict[str, float])
    """Value of each parameter without penalty [SI units]; parameters that are missing here are never penalised."""
    widths: Mapping[str, float] = field(default_factory=dict[str, float])
    """Catalogue interval of each of these."""

    @classmethod
    def about(cls, model: ServoModel, weight: float, runs: int) -> Prior:
        """Return a prior about a model's free parameters, for a fit to this number of runs.

        Besides the penalty of this weight [rad], it is that of a normal distribution as wide as the catalogue interval,
        if every run counts as one observation of an unknown error: e·exp(d²/2n) has the smallest value where the
        posterior has its largest.
        """
        catalogue = tunable_parameters(model.spec, contact=model.contact)
        known = [p for p in model.parameters.free if not p.neutral_beyond]
        return cls(
            weight,
            0.5 / runs,
            {p.name: p.value for p in known},
            {p.name: catalogue_width(p, catalogue) for p in known},
        )

    def penalised(self, errors: Array, names: Sequence[str], matrix: Array) -> Array:
        """Return the errors (p,) of candidates (p, n) with these column names, and their penalty, (p,) [rad]."""
        distances = np.square(self._distances(names, matrix)).sum(axis=1)
        return errors * np.exp(self.share * distances) + self.weight * distances

    def equations(self, names: Sequence[str], vector: Array, error: float) -> tuple[Array, Array]:
        """Return curvature and slope of the penalty at values (n,), (n,) each per catalogue interval.

        They are those of the logarithm where it has the share only, times the error [rad].
        """
        known = np.array([name in self.centre for name in names], dtype=bool)
        weight = 2.0 * (self.weight + self.share * error)
        return np.where(known, weight, 0.0), weight * self._distances(names, vector[None])[0]

    def _distances(self, names: Sequence[str], matrix: Array) -> Array:
        """Return distances from the centre in catalogue intervals, 0 for parameters without one."""
        centre = np.array([self.centre.get(name, np.nan) for name in names])
        return np.nan_to_num((matrix - centre) / np.array([self.widths.get(name, 1.0) for name in names]))


def catalogue_width(parameter: Parameter, catalogue: ParameterSet) -> float:
    """Return the width of a parameter's bounds in the catalogue, or of its own bounds if it is not there."""
    known = catalogue.get(parameter.name, parameter)
    return max(known.upper - known.lower, 1e-12)
