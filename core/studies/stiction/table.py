"""The look-up table of seed 001, section V-A, for the term of eq. (27) that needs Lambert's W.

The seed fills a table of −(v_S/Z)·W0(ψ₊(x)) over x for one set of parameters. Written with s = v_S·(1 + Z·D) and
u = Z·(F_S − F_C)/s, eq. (25) is ψ₊ = −exp(−1 − q) with

    q = (x − Z·F_S)/s + u − 1 − ln u ≥ 0,

so that the term depends on q alone, and one table of w(t) = W0(−exp(−1 − t²)) over t = √q serves every parameter, also
those that change with the load. The root takes the vertical tangent away: w = −1 + √2·t − (2/3)·t² + …

Between nodes at distance h a straight line is off by at most h²/8·max|w''|, and |w''| ≤ 4/3, its value at t = 0. Past
the last node w is taken for 0, which is off by exp(−1 − t²) there, 1e-18. Friction is off by v_S/Z times that.
"""

# pyright: basic

from __future__ import annotations

import math

import numpy as np
from numba import njit

from core.arrays import Array
from core.contact.bristle import Bristle, require_sound
from core.contact.lambert import lambert_w0
from core.contact.laws import Stribeck
from core.errors import ModelError

LAST = 6.35
"""t of the last node."""
NODES = 2048
STEEPEST_BEND = 4.0 / 3.0
"""max|w''|, at t = 0."""


def error_bound(law: Stribeck, bristle: Bristle, nodes: int = NODES) -> float:
    """How far friction by a table may be from eq. (27) [N·m]; raises ModelError for fewer than 2 nodes."""
    if nodes < 2:
        raise ModelError(f"a table of {nodes} nodes has nothing between them: ask for 2 or more")
    spacing = LAST / (nodes - 1)
    return law.breakaway_speed / bristle.Z * (spacing**2 / 8.0 * STEEPEST_BEND + math.exp(-1.0 - LAST**2))


def lambert_table(nodes: int = NODES) -> Array:
    """w(t) = W0(−exp(−1 − t²)) at t = 0 … LAST, (nodes,)."""
    t = np.linspace(0.0, LAST, nodes)
    return np.array([lambert_w0(x) for x in -np.exp(-1.0 - t * t)])


class TabulatedStribeck:
    """Φ_Z of Stribeck's function with α = 1 by the table. Raises ModelError for another α and what is not sound."""

    def __init__(self, law: Stribeck, bristle: Bristle, nodes: int = NODES) -> None:
        if law.exponent != 1.0:
            raise ModelError(f"the table is of eq. (27), for α = 1, not {law.exponent:g}: set α to 1 or do without it")
        require_sound(law, bristle)
        self.error_bound = error_bound(law, bristle, nodes)
        """[N·m]"""
        self._law, self._z, self._table = law, bristle.Z, lambert_table(nodes)

    def transformed(self, wished: Array) -> Array:
        """Φ_Z [N·m] at hypothetical velocities v* (n,) [rad/s]."""
        return _over_wished(self._law.row, self._z, self._table, np.ascontiguousarray(wished, dtype=np.float64))


@njit(error_model="numpy")
def table_offset(law, z):
    """u − 1 − ln u, which depends on the law and Z alone; infinite without stiction."""
    _, static, coulomb, speed, viscous, _ = law
    u = z * (static - coulomb) / (speed * (1.0 + z * viscous))
    return u - 1.0 - math.log(u) if u > 0.0 else math.inf


@njit(error_model="numpy")
def tabulated_friction(law, z, offset, table, wished):
    """Φ_Z [N·m] as `core.contact.implicit.implicit_friction` of a Stribeck `Row` with α = 1.

    offset: `table_offset` of the law and z; table: `lambert_table`.
    """
    _, static, coulomb, speed, viscous, _ = law
    x = abs(wished)
    if x <= z * static:
        return wished / z
    d = 1.0 + z * viscous
    torque = (coulomb + viscous * x) / d
    place = math.sqrt(max((x - z * static) / (speed * d) + offset, 0.0)) * ((len(table) - 1) / LAST)
    if place < len(table) - 1:
        node = int(place)
        torque -= speed / z * (table[node] + (place - node) * (table[node + 1] - table[node]))
    return math.copysign(torque, wished)


@njit(nogil=True, error_model="numpy")
def _over_wished(law, z, table, wished):
    torque = np.empty(len(wished))
    offset = table_offset(law, z)
    for k in range(len(wished)):
        torque[k] = tabulated_friction(law, z, offset, table, wished[k])
    return torque
