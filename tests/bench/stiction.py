"""Elastoplastic friction: time of each law against the table of its Lambert term: `python -m tests.bench stiction`.

Seed 001, section V-A, fills a table with the term that needs Lambert's W and reports that Stribeck's law then costs as
much as the rational one. Times are of a compiled loop over hypothetical velocities of which nine in ten slip.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit

from core.contact.bristle import Bristle
from core.contact.implicit import implicit_friction
from core.contact.laws import CoulombViscous, Rational, Stribeck
from core.studies.stiction.table import NODES, error_bound, lambert_table, table_offset, tabulated_friction
from tests.bench.printing import line

COUNT, REPEATS = 200_000, 15
LAMBERT = "Stribeck, Lambert's W"
STRIBECK = Stribeck(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5)
BRISTLE = Bristle(stiffness=5000.0, damping=50.0, step=1e-3)


@njit(error_model="numpy")
def direct(law, z, wished):
    """Sum of friction, so that nothing is left out."""
    total = 0.0
    for x in wished:
        total += implicit_friction(law, z, x)
    return total


@njit(error_model="numpy")
def by_table(law, z, table, wished):
    """The same by the table."""
    total, offset = 0.0, table_offset(law, z)
    for x in wished:
        total += tabulated_friction(law, z, offset, table, x)
    return total


def nanoseconds(function, *arguments) -> float:
    """Median time of one evaluation."""
    function(*arguments)
    spent = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        function(*arguments)
        spent.append(time.perf_counter() - begin)
    return 1e9 * float(np.median(spent)) / COUNT


def main() -> None:
    """Print all figures."""
    edge = BRISTLE.Z * STRIBECK.static
    wished = np.random.default_rng(1).uniform(-10.0 * edge, 10.0 * edge, COUNT)
    laws = {
        "Coulomb–viscous": CoulombViscous(coulomb=1.0, viscous=4.5),
        "rational": Rational(static=2.5, coulomb=0.2, breakaway_speed=0.04, viscous=4.5),
        LAMBERT: STRIBECK,
        "Stribeck, α = 1.5, Newton": Stribeck(static=2.5, coulomb=0.2, breakaway_speed=0.05, viscous=4.5, exponent=1.5),
    }
    times = {name: nanoseconds(direct, law.row, BRISTLE.Z, wished) for name, law in laws.items()}
    for name, spent in times.items():
        line(name, f"{spent:.1f} ns")
    table = nanoseconds(by_table, STRIBECK.row, BRISTLE.Z, lambert_table(), wished)
    line(f"Stribeck, table of {NODES} nodes", f"{table:.1f} ns", f"within {error_bound(STRIBECK, BRISTLE):.1g} N·m")
    line("Lambert's W over the table", f"{times[LAMBERT] / table:.1f} ×")
    line("the table over the rational law", f"{table / times['rational']:.1f} ×", "the seed: similar")


if __name__ == "__main__":
    main()
