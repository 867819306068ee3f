"""Look-up table of Cisneros et al., section V-A, for the term of eq. (27) that needs Lambert's W.

The paper tabulates −(v_S/Z)·W0(ψ₊(x)) over x for one set of parameters. With s = v_S·(1 + Z·D) and
u = Z·(F_S − F_C)/s, eq. (25) becomes ψ₊ = −exp(−1 − q) with

    q = (x − Z·F_S)/s + u − 1 − ln u ≥ 0.

The term depends only on q, so one table of w(t) = W0(−exp(−1 − t²)) over t = √q serves every parameter set, even one
that changes with the load. The root removes the vertical tangent: w = −1 + √2·t − (2/3)·t² + …

Between nodes with spacing h, linear interpolation is off by at most h²/8·max|w''|, and |w''| ≤ 4/3, its value at t = 0.
Beyond the last node w is taken as 0, which is off by exp(−1 − t²), 1e-18 there. The friction error is v_S/Z times that.
"""

# pyright: basic

from __future__ import annotations

import math

import numpy as np
from numba import njit

from core.base.arrays import Array
from core.base.errors import ModelError
from core.contact.bristle import Bristle, require_sound
from core.contact.implicit import kept
from core.contact.lambert import lambert_w0
from core.contact.laws import Stribeck

LAST = 6.35
"""Position t of the last node."""
NODES = 2048
STEEPEST_BEND = 4.0 / 3.0
"""max|w''|, reached at t = 0."""


def error_bound(law: Stribeck, bristle: Bristle, nodes: int = NODES) -> float:
    """Return the error bound of friction by a table [N·m]; raise ModelError for fewer than 2 nodes."""
    if nodes < 2:
        raise ModelError(f"a table of {nodes} nodes cannot be interpolated: use 2 or more")
    spacing = LAST / (nodes - 1)
    return law.breakaway_speed / bristle.Z * (spacing**2 / 8.0 * STEEPEST_BEND + math.exp(-1.0 - LAST**2))


def lambert_table(nodes: int = NODES) -> Array:
    """Return w(t) = W0(−exp(−1 − t²)) at t = 0 … LAST, shape (nodes,)."""
    t = np.linspace(0.0, LAST, nodes)
    return np.array([lambert_w0(x) for x in -np.exp(-1.0 - t * t)])


class TabulatedStribeck:
    """Φ_Z of Stribeck's function with α = 1 by the table. Raises ModelError for another α or an unsound bristle."""

    def __init__(self, law: Stribeck, bristle: Bristle, nodes: int = NODES) -> None:
        if law.exponent != 1.0:
            raise ModelError(f"the table needs α = 1, eq. (27), not {law.exponent:g}: set α to 1 or omit the table")
        require_sound(law, bristle)
        self.error_bound = error_bound(law, bristle, nodes)
        """Error bound of the friction [N·m]."""
        self._law, self._z, self._table = law, bristle.Z, lambert_table(nodes)

    def transformed(self, wished: Array) -> Array:
        """Return Φ_Z [N·m] at hypothetical velocities v* (n,) [rad/s]."""
        return _over_wished(self._law.row, self._z, self._table, np.ascontiguousarray(wished, dtype=np.float64))


@njit(error_model="numpy")
def table_offset(law, z):
    """Return u − 1 − ln u, which depends only on the law and Z; infinite without stiction."""
    _, static, coulomb, speed, viscous, _ = law
    u = z * (static - coulomb) / (speed * (1.0 + z * viscous))
    return u - 1.0 - math.log(u) if u > 0.0 else math.inf


@njit(error_model="numpy")
def tabulated_friction(law, z, offset, table, wished):
    """Return Φ_Z [N·m] as `core.contact.implicit.implicit_friction` does for a Stribeck `Row` with α = 1.

    `offset` is `table_offset` of the law and z; `table` is `lambert_table`.
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


@kept
def _over_wished(law, z, table, wished):
    torque = np.empty(len(wished))
    offset = table_offset(law, z)
    for k in range(len(wished)):
        torque[k] = tabulated_friction(law, z, offset, table, wished[k])
    return torque
