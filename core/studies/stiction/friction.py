"""Elastoplastic friction for a person's own loop, or over a whole record of velocities."""

# pyright: basic

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from core.arrays import Array
from core.contact.bristle import Bristle, require_sound
from core.contact.implicit import elastoplastic_step, implicit_friction
from core.contact.laws import FrictionLaw
from core.errors import ModelError


class ElastoplasticFriction:
    """Algorithm 1 of seed 001: velocities in, friction torques out, the bristle's deflection in between.

    Raises ModelError for a law and a bristle that do not go together, with what to change.
    """

    def __init__(self, law: FrictionLaw, bristle: Bristle) -> None:
        require_sound(law, bristle)
        self.law, self.bristle = law, bristle
        self.deflection = 0.0
        """e [rad]; 0 at first, as where the bristle is relaxed."""

    def transformed(self, wished: ArrayLike) -> Array:
        """Φ_Z [N·m] at hypothetical velocities v* [rad/s] of any shape, eq. (30); changes nothing."""
        x = _finite(wished, "hypothetical velocities")
        return _over_wished(self.law.row, self.bristle.Z, x.ravel()).reshape(x.shape)

    def step(self, velocity: float) -> float:
        """Friction [N·m] over the step that begins with a velocity [rad/s]; subtract it from what drives the joint.

        Raises ModelError for a velocity that is not finite.
        """
        return float(self.run(np.array([velocity]))[0])

    def run(self, velocity: ArrayLike) -> Array:
        """Friction [N·m] of steps that begin with velocities (n,) [rad/s], one after the other.

        Raises ModelError for velocities that are not finite.
        """
        velocities = _finite(velocity, "velocities")
        torque, self.deflection = _over_time(self.law.row, self.bristle.row, self.deflection, velocities.ravel())
        return torque


def _finite(values: ArrayLike, what: str) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ModelError(f"elastoplastic friction at {what} that are not finite: leave them out")
    return found


@njit(nogil=True, error_model="numpy")
def _over_time(law, bristle, deflection, velocity):
    torque = np.empty(len(velocity))
    for k in range(len(velocity)):
        torque[k], deflection = elastoplastic_step(law, bristle, deflection, velocity[k])
    return torque, deflection


@njit(nogil=True, error_model="numpy")
def _over_wished(law, z, wished):
    torque = np.empty(len(wished))
    for k in range(len(wished)):
        torque[k] = implicit_friction(law, z, wished[k])
    return torque
