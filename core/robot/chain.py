"""Kinematic chain of a robot from its URDF or MJCF file, and the load on each joint while the others move as measured.

The torque that moves joint j of a chain is row j of M(q)·q̈ + c(q, q̇) + g(q) (Featherstone 2008, eq. 1.1). While the
other joints move as measured, three parts of it remain for the joint's own motion:

- M_jj, the inertia of all that turns with the joint. It depends only on the joints beyond it.
- g_j, the torque of gravity. All that turns with the joint turns rigidly about its axis, so as a function of its own
  angle g_j is exactly A·sin(q_j) + B·cos(q_j).
- the rest, from the velocities and accelerations of the other joints.

A joint that is coupled to another one (mimic) and is not measured moves with it. Then q = z + R·q_m with the measured
joints q_m, and these parts are those of Rᵀ·M·R, Rᵀ·c and Rᵀ·g. A·sin(q_j) + B·cos(q_j) then agrees with gravity in
value and slope at the measured angle, and is exact for ratios of ±1.

Friction, armature, springs, actuators and contacts of the file do not count: the servo's model has them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.export.programs import mujoco_engine
from core.motion.smoothing import savitzky_golay
from core.robot.couplings import followers, linear_couplings

SMOOTHING = 0.1
"""Length of the parabolas that give velocities and accelerations [s], at least 5 samples.

Longer ones flatten the start of a step: at 0.25 s, true models of five planted servos erred by up to 0.4 mrad more. At
50 Hz and 4096 counts, accelerations then err by 0.5 rad/s², a torque of 8 mN·m on an arm such as the SO-101.
"""
TURN = 0.01
"""Turn of a joint [rad] from which A and B follow; exact at any size but for coupled joints."""
NOT_DYNAMIC = ("visual", "collision", "transmission", "gazebo")
"""Elements of a URDF that its dynamics does not need, and whose meshes may be missing."""
NO_MASS = 1e-12
"""Mass [kg] and inertia [kg·m²] of links that move and have none in the file, which MuJoCo refuses."""
DUMMY_MASS = 1e-6
"""Mass up to which a link counts as one without [kg]: files give 1e-9 to links that only mark a place."""


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A hinge of a robot."""

    name: str
    lower: float
    """Smallest angle [rad], −inf without a limit."""
    upper: float
    """Largest angle [rad], inf without a limit."""


class Chain:
    """A robot with a fixed base."""

    def __init__(self, file: Path | str) -> None:
        """Read a URDF or MJCF file.

        Raises:
            InputError: The file cannot be read, has a free base or no hinge with a name.
            ExportError: MuJoCo is not installed.
        """
        self._mujoco: Any = mujoco_engine()
        self.file = Path(file)
        self._model = model = read_robot(file).compile()
        kinds = self._mujoco.mjtJoint
        if kinds.mjJNT_FREE in model.jnt_type.tolist():
            raise InputError(f"{self.file}: its base is free; only robots with a fixed base are supported")
        names = [model.joint(k).name for k in range(model.njnt)]
        every = np.flatnonzero(model.jnt_type == kinds.mjJNT_HINGE).tolist()
        hinges = [k for k in every if names[k]]
        if not hinges:
            raise InputError(f"{self.file}: the robot has no hinge{' with a name' if every else ''}")
        massless = self._massless()
        sprung = bool(model.jnt_stiffness.any())
        for name in ("dof_armature", "dof_damping", "dof_frictionloss", "jnt_stiffness"):
            getattr(model, name)[:] = 0.0
        off = self._mujoco.mjtDisableBit
        model.opt.disableflags = off.mjDSBL_CONSTRAINT | off.mjDSBL_ACTUATION
        self._data = self._mujoco.MjData(model)
        self._address = {model.joint(k).name: (int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])) for k in hinges}
        self.joints = tuple(self._joint(k) for k in hinges)
        sliding, coupled = np.flatnonzero(model.jnt_type == kinds.mjJNT_SLIDE).tolist(), linear_couplings(model)
        self.slides = tuple(names[k] for k in sliding)
        """Names of the sliding joints."""
        self.left_out = [
            what
            for what, there in {
                "couplings other than linear ones of two joints": model.eq_active0.sum() > len(coupled),
                "springs of joints": sprung,
                "sliding joints": bool({*sliding} - {*model.eq_obj1id[coupled].tolist()}),
                "hinges without a name": len(hinges) < len(every),
                f"no mass for {', '.join(massless)}": bool(massless),
            }.items()
            if there
        ]
        """Features of the file that the loads leave out."""

    def _massless(self) -> list[str]:
        """Return the links that move and have no mass of their own or of what is fixed to them."""
        model = self._model
        mass = np.bincount(model.body_weldid, model.body_mass, model.nbody)
        moving = [k for k in range(1, model.nbody) if model.body_jntnum[k]]
        massless = [model.body(k).name or f"body {k}" for k in moving if mass[k] <= DUMMY_MASS]
        if len(massless) == len(moving):
            raise InputError(f"{self.file}: no link that moves has a mass ({', '.join(massless)}), so no load is known")
        return massless

    def _joint(self, k: int) -> Joint:
        model = self._model
        lower, upper = model.jnt_range[k] if model.jnt_limited[k] else (-np.inf, np.inf)
        return Joint(name=model.joint(k).name, lower=float(lower), upper=float(upper))

    def leaders(self, names: Sequence[str]) -> dict[str, str]:
        """Return the joint of `names` with which each coupled joint moves, by the coupled joint's name."""
        coupled = followers(self._model, names)
        return {
            self._model.joint(joint).name: names[int(np.flatnonzero(ratios)[0])]
            for joint, ratios in zip(coupled.joints, coupled.ratios, strict=True)
            if ratios.any()
        }

    def loads(self, names: Sequence[str], time: Array, positions: Array) -> Array:
        """Return the load on each joint, (joints, n, 4): the columns of `core.motion.recording.LOAD_CHANNELS`.

        Args:
            names: Joints that moved; the others move with them if they are coupled, or rest at the file's zero.
            time: Times [s], (n,).
            positions: Angles [rad], (n, joints).

        Raises:
            InputError: The robot has no such joint.
        """
        if unknown := [name for name in names if name not in self._address]:
            known = ", ".join(self._address)
            raise InputError(f"{self.file}: no joint {unknown[0]!r}; its hinges are {known}")
        velocities, accelerations = derivatives(time, positions)
        mujoco, model, data = self._mujoco, self._model, self._data
        coupled = followers(model, names)
        joints = [*(model.joint(name).id for name in names), *coupled.joints]
        places, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        zeros, ratios = np.append(np.zeros(len(names)), coupled.zeros), np.vstack([np.eye(len(names)), coupled.ratios])
        column, found = np.empty(model.nv), np.empty((len(names), len(time), 4))

        def torque(position: Array, velocity: Array | float = 0.0, acceleration: Array | float = 0.0) -> Array:
            data.qpos[places] = zeros + ratios @ position
            data.qvel[dofs], data.qacc[dofs] = velocity, acceleration
            mujoco.mj_inverse(model, data)
            return data.qfrc_inverse[dofs] @ ratios

        data.qpos[:], data.qvel[:], data.qacc[:] = model.qpos0, 0.0, 0.0
        for k, (q, v, a) in enumerate(zip(positions, velocities, accelerations, strict=True)):
            whole = torque(q, ratios @ v, ratios @ a)
            inertia = np.empty(len(names))
            for j, moved in enumerate(ratios.T):
                vector = np.zeros(model.nv)
                vector[dofs] = moved
                mujoco.mj_mulM(model, data, column, vector)
                inertia[j] = vector @ column
            weight = torque(q)
            turned = np.array([torque(q + TURN * one)[j] for j, one in enumerate(np.eye(len(names)))])
            slope = (turned - weight * np.cos(TURN)) / np.sin(TURN)
            sine, cosine = np.sin(q), np.cos(q)
            found[:, k, 0] = inertia
            found[:, k, 1] = weight * sine + slope * cosine
            found[:, k, 2] = weight * cosine - slope * sine
            found[:, k, 3] = inertia * a + weight - whole
        return found


def read_robot(file: Path | str) -> Any:
    """Read a URDF or MJCF file that compiles, as MuJoCo's `MjSpec`; a URDF without its meshes.

    Raises:
        InputError: The file cannot be read.
        ExportError: MuJoCo is not installed.
    """
    mujoco: Any = mujoco_engine()
    root = _root(Path(file))
    try:
        if root.tag == "robot":
            for link in [root, *root.iter("link")]:
                for child in [each for each in link if each.tag in NOT_DYNAMIC]:
                    link.remove(child)
            spec = mujoco.MjSpec.from_string(ET.tostring(root, "unicode"))
        else:
            spec = mujoco.MjSpec.from_file(str(file))
            # Written elsewhere, the robot still finds its meshes.
            folder = Path(file).resolve().parent
            spec.meshdir, spec.texturedir = str(folder / spec.meshdir), str(folder / spec.texturedir)
        compiler = spec.compiler
        compiler.boundmass = compiler.boundmass or NO_MASS
        compiler.boundinertia = compiler.boundinertia or NO_MASS
        spec.compile()
    except ValueError as error:
        place = "<robot><mujoco>" if root.tag == "robot" else "<mujoco>"
        evened = f'correct it, or let MuJoCo even it out: {place}<compiler balanceinertia="true"/>'
        lines = str(error).replace("use 'balanceinertia' to fix", evened).splitlines()
        words = "; ".join(line for line in lines if line)
        raise InputError(f"{file}: no robot that MuJoCo can read ({words})") from None
    return spec


def _root(file: Path) -> ET.Element:
    """Return the root of a URDF or MJCF file; raises InputError for another file."""
    text = b""
    try:
        root = ET.fromstring(text := file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, ET.ParseError) as error:
        if b"<xacro:" in text:
            raise _xacro(file) from None
        raise InputError(f"{file}: cannot be read ({error if text.strip() else 'it is empty'})") from None
    if any("xacro}" in each.tag or "${" in "".join(each.attrib.values()) for each in root.iter()):
        raise _xacro(file)
    tag = root.tag.rpartition("}")[2]
    if tag not in ("robot", "mujoco"):
        raise InputError(f"{file}: neither a URDF, which begins with <robot>, nor an MJCF, with <mujoco>, but <{tag}>")
    for kind in ("joint", "link") if tag == "robot" else ():
        names = Counter(each.get("name") for each in root.findall(kind))
        if twice := [str(name) for name, count in names.items() if count > 1]:
            raise InputError(f"{file}: it has more than one {kind} {twice[0]!r}; rename all but one")
    return root


def _xacro(file: Path) -> InputError:
    return InputError(f"{file} is a xacro file: run xacro {quote(str(file))} -o robot.urdf, and give robot.urdf")


def derivatives(time: Array, positions: Array) -> tuple[Array, Array]:
    """Return velocities [rad/s] and accelerations [rad/s²], (n, joints) each, from positions [rad] by parabolas."""
    grid = np.linspace(time[0], time[-1], len(time))
    step = float(grid[1] - grid[0])
    length = max(5, 2 * round(0.5 * SMOOTHING / step) + 1)
    length = min(length, len(time) - 1 + len(time) % 2)

    def of(order: int) -> Array:
        smooth = [
            np.interp(time, grid, savitzky_golay(np.interp(grid, time, column), length, 2, derivative=order, step=step))
            for column in positions.T
        ]
        return np.column_stack(smooth)

    return of(1), of(2)
