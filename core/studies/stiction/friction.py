"""Elastoplastic friction for the user's own loop, or for a whole series of velocities."""

# pyright: basic

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ModelError
from core.contact.bristle import Bristle, require_sound
from core.contact.implicit import elastoplastic_step, implicit_friction, kept
from core.contact.laws import FrictionLaw


class ElastoplasticFriction:
    """Algorithm 1 of Cisneros et al.: velocities in, friction torques out; keeps the bristle's deflection.

    Raises ModelError for a law and a bristle that are not sound together, and suggests a change.
    """

    def __init__(self, law: FrictionLaw, bristle: Bristle) -> None:
        require_sound(law, bristle)
        self.law, self.bristle = law, bristle
        self.deflection = 0.0
        """Deflection e [rad]; initially 0, a relaxed bristle."""

    def transformed(self, wished: ArrayLike) -> Array:
        """Return Φ_Z [N·m] at hypothetical velocities v* [rad/s] of any shape, eq. (30); keeps the state."""
        x = _finite(wished, "hypothetical velocities")
        return _over_wished(self.law.row, self.bristle.Z, x.ravel()).reshape(x.shape)

    def step(self, velocity: float) -> float:
        """Return the friction [N·m] over the step that begins with a velocity [rad/s].

        Subtract it from the torque that drives the joint. Raises ModelError for a velocity that is not finite.
        """
        return float(self.run(np.array([velocity]))[0])

    def run(self, velocity: ArrayLike) -> Array:
        """Return the friction [N·m] of consecutive steps that begin with velocities (n,) [rad/s].

        Raises ModelError for velocities that are not finite.
        """
        velocities = _finite(velocity, "velocities")
        torque, self.deflection = _over_time(self.law.row, self.bristle.row, self.deflection, velocities.ravel())
        return torque


def _finite(values: ArrayLike, what: str) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ModelError(f"elastoplastic friction at {what} that are not finite: remove them")
    return found


@kept
def _over_time(law, bristle, deflection, velocity):
    torque = np.empty(len(velocity))
    for k in range(len(velocity)):
        torque[k], deflection = elastoplastic_step(law, bristle, deflection, velocity[k])
    return torque, deflection


@kept
def _over_wished(law, z, wished):
    torque = np.empty(len(wished))
    for k in range(len(wished)):
        torque[k] = implicit_friction(law, z, wished[k])
    return torque
