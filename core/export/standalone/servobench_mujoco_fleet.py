# SPDX-License-Identifier: Apache-2.0
"""Domain randomisation in MuJoCo: a new specimen of a fleet of servos for each episode.

    fleet = read_fleet("mx106.fleet.json")
    servos = attach(model, data, {"elbow": fleet.servo(fleet.pick(random))})     # friction at run time, M1–M6
    set_native(model, "elbow", fleet.native(fleet.pick(random)))                 # or: the engine's own joint

`attach` is from servobench_mujoco. `set_native` writes the specimen's nearest Coulomb–viscous servo into the engine's
own fields. Call it between episodes, before the data are reset.

    dof_armature, dof_damping, dof_frictionloss      armature, viscous, friction
    actuator_gainprm[0] = −actuator_biasprm[1]       stiffness
    −actuator_biasprm[2]                             damping of the drive, within its torque limit
    actuator_forcerange                              ±torque_limit
    −actuator_biasprm[2] of the actuator `…-emf`     back_emf, unlimited

Without an actuator named like the drive plus `-emf`, the back-EMF is part of the drive's damping. Needs mujoco and
numpy.
"""

# MuJoCo ships no types for its native part.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

SOLREF = (1e-5, 1.0)
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Parameters of the friction constraint: it stops the joint within the step without creep."""


def set_native(model: Any, joint: str, numbers: Mapping[str, float]) -> None:
    """Turn a hinge with a position drive (`position`, or `general` with affine bias) into another specimen.

    Args:
        model: MuJoCo's `MjModel`.
        joint: Name of the joint.
        numbers: Result of `Fleet.native`, SI units.

    Raises:
        ValueError: The model has no such joint, or the joint has no single position drive.
    """
    place = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    if place < 0:
        raise ValueError(f"the model has no joint {joint!r}")
    drives = _drives(model, place)
    emf = {i for i in drives if _name(model, i).endswith("-emf")}
    if len(drives) - len(emf) != 1:
        raise ValueError(f"joint {joint!r} has {len(drives) - len(emf)} position drives; give it one")
    drive = next(i for i in drives if i not in emf)
    dof = model.jnt_dofadr[place]
    model.dof_armature[dof] = numbers["armature"]
    model.dof_damping[dof] = numbers["viscous"]
    model.dof_frictionloss[dof] = numbers["friction"]
    model.dof_solref[dof], model.dof_solimp[dof] = SOLREF, SOLIMP
    inside = numbers["damping"] if emf else numbers["damping"] + numbers["back_emf"]
    model.actuator_gainprm[drive, 0] = numbers["stiffness"]
    model.actuator_biasprm[drive, :3] = 0.0, -numbers["stiffness"], -inside
    model.actuator_forcelimited[drive] = 1
    model.actuator_forcerange[drive] = -numbers["torque_limit"], numbers["torque_limit"]
    for i in emf:
        model.actuator_biasprm[i, :3] = 0.0, 0.0, -numbers["back_emf"]
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _drives(model: Any, joint: int) -> list[int]:
    """Return the actuators with affine bias on a joint, except those that brake a released motor."""
    on_joint = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)) & (model.actuator_trnid[:, 0] == joint)
    affine = model.actuator_biastype == int(mujoco.mjtBias.mjBIAS_AFFINE)
    return [int(i) for i in np.flatnonzero(on_joint & affine) if not _name(model, int(i)).endswith("-brake")]


def _name(model: Any, actuator: int) -> str:
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, actuator) or ""
