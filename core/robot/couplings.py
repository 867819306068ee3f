"""Joints that move with others: `<mimic>` of a URDF, and equalities of two joints of an MJCF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.export.programs import mujoco_engine


@dataclass(frozen=True, kw_only=True, eq=False)
class Followers:
    """Joints that move with others by linear couplings. Their positions are `zeros + ratios @ q`."""

    joints: tuple[int, ...]
    """Their ids in MuJoCo's model."""
    zeros: Array
    """Their positions while the others are at 0 [rad or m], (followers,)."""
    ratios: Array
    """(followers, joints); zero for a follower of a joint that does not move."""


def followers(model: Any, names: Sequence[str]) -> Followers:
    """Return the joints that are coupled to others and do not move on their own.

    Args:
        model: The robot as MuJoCo's `MjModel`.
        names: Joints that move on their own.
    """
    place = {model.joint(name).id: k for k, name in enumerate(names)}
    rest = model.qpos0[model.jnt_qposadr]
    found: dict[int, tuple[float, Array]] = {}
    for k in linear_couplings(model):
        follower, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        shift, ratio = map(float, model.eq_data[k, :2])
        if follower in place and leader >= 0 and leader not in place and ratio:
            follower, leader, shift, ratio = leader, follower, -shift / ratio, 1.0 / ratio
        if follower in place:
            continue
        ratios = np.zeros(len(names))
        if leader in place:
            ratios[place[leader]] = ratio
            shift -= ratio * rest[leader]
        found[follower] = rest[follower] + shift, ratios
    return Followers(
        joints=tuple(found),
        zeros=np.array([zero for zero, _ in found.values()]),
        ratios=np.array([ratios for _, ratios in found.values()]).reshape(len(found), len(names)),
    )


def linear_couplings(model: Any) -> list[int]:
    """Return the ids of the equalities that make a joint a linear function of another one, or fix it."""
    of_joints = model.eq_type == mujoco_engine().mjtEq.mjEQ_JOINT
    return np.flatnonzero(of_joints & model.eq_active0.astype(bool) & ~model.eq_data[:, 2:5].any(axis=1)).tolist()
