"""Positions of the elbow and tip of a planar arm, and the joint angles for a tip position.

Points are (x, z) in the arm's vertical plane [m]: the shoulder is the origin, x points right and z up, and
counter-clockwise is positive. With both angles 0 the arm hangs down:

    elbow = l₁·(sin q₁, −cos q₁),   tip = elbow + l₂·(sin(q₁ + q₂), −cos(q₁ + q₂)).

A point within reach has two solutions with opposite elbow angles q₂.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import InputError
from core.studies.arm.links import ArmLinks

ROUNDING = 1e-9
"""Tolerance of the reach, as a share of the arm's length: points this far outside count as on its edge."""


def elbow_positions(links: ArmLinks, angles: ArrayLike) -> Array:
    """Return the elbow's positions (n, 2) [m] at joint angles (n, 2) [rad]."""
    return links.lengths[0] * _along(_physical(links, angles)[:, 0])


def tip_positions(links: ArmLinks, angles: ArrayLike) -> Array:
    """Return the tip's positions (n, 2) [m] at joint angles (n, 2) [rad]."""
    return elbow_positions(links, angles) + links.lengths[1] * _along(_physical(links, angles).sum(axis=1))


def joint_angles(links: ArmLinks, points: ArrayLike, bend: float = 1.0) -> Array:
    """Return continuous joint angles (n, 2) [rad] that bring the tip to consecutive points (n, 2) [m].

    `bend` is the sign of the elbow's angle.

    Raises:
        InputError: A point is out of reach, or at the shoulder, where joint 1 could have any angle.
    """
    at = np.asarray(points, dtype=np.float64)
    (l1, l2), tolerance = links.lengths, ROUNDING * sum(links.lengths)
    distance = np.hypot(at[:, 0], at[:, 1])
    fits = (distance >= abs(l1 - l2) - tolerance) & (distance <= l1 + l2 + tolerance) & (distance > tolerance)
    if not fits.all():
        place = int(np.argmin(fits))
        raise InputError(
            f"an arm's tip cannot reach x = {at[place, 0]:.4g} m, z = {at[place, 1]:.4g} m (point {place + 1}), "
            f"{distance[place]:.4g} m from the shoulder: it reaches {abs(l1 - l2):.4g} … {l1 + l2:.4g} m"
        )
    second = np.copysign(np.arccos(np.clip((distance**2 - l1**2 - l2**2) / (2.0 * l1 * l2), -1.0, 1.0)), bend)
    first = np.arctan2(at[:, 0], -at[:, 1]) - np.arctan2(l2 * np.sin(second), l1 + l2 * np.cos(second))
    return np.column_stack([np.unwrap(first), second]) - links.angle_offsets


def _physical(links: ArmLinks, angles: ArrayLike) -> Array:
    """Return angles including the gravity offsets."""
    return np.asarray(angles, dtype=np.float64) + links.angle_offsets


def _along(angle: Array) -> Array:
    return np.column_stack([np.sin(angle), -np.cos(angle)])
