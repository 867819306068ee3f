"""A box on the ground that an arm's tip may push (seed 003, section 4.2.3).

The box slides along the ground without tipping; its dry friction holds it until it is pushed by more than μ·m·g. The
tip meets its near face, a stiff spring with a damper that can only push, and slides along the face without friction. Of
the seed are mass, size and friction; stiffness and damping of the face are ours, such that the tip sinks in by
fractions of a millimetre. This module loads no compiler; `core.studies.compliant.arm_compiled` advances the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box in the arm's plane, whose axes x and z start at joint 1; it slides along x."""

    face: float
    """x of its near face at the start [m]; infinite for a box that is nowhere."""
    edge: float
    """z of the lower edge of that face [m]: the ground in a vertical plane, a side's edge in a horizontal one."""
    mass: float = 2.0
    """[kg]"""
    side: float = 0.265
    """Length of its edges [m]"""
    friction: float = 0.23
    """μ between box and ground: wood on cardboard"""
    gravity: float = 9.81
    """That presses it onto the ground [m/s²]"""
    contact_stiffness: float = 1e4
    """Of the face [N/m]"""
    contact_damping: float = 20.0
    """Of the face [N·s/m]"""

    def __post_init__(self) -> None:
        for name in ("mass", "side", "contact_stiffness"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a positive number")
        for name in ("friction", "gravity", "contact_damping"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ModelError(f"box: {name} = {getattr(self, name)!r} must be a number of 0 or more")
        if math.isnan(self.face) or not math.isfinite(self.edge):
            raise ModelError(f"box: a face at x = {self.face!r} m with its edge at z = {self.edge!r} m is nowhere")

    @property
    def holding_force(self) -> float:
        """Push that it withstands, μ·m·g [N]."""
        return self.friction * self.mass * self.gravity


NO_BOX = Box(face=math.inf, edge=0.0)
"""For an arm with nothing to touch."""


def box_constants(box: Box) -> Array:
    """Numbers for `core.studies.compliant.arm_compiled`, (6,): mass, holding force, stiffness, damping, both edges."""
    return np.array(
        [box.mass, box.holding_force, box.contact_stiffness, box.contact_damping, box.edge, box.edge + box.side]
    )
