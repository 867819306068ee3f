# SPDX-License-Identifier: Apache-2.0
"""Servos with friction M1–M6 on the joints of a MuJoCo model.

    from servobench_mujoco import attach

    servos = attach(model, data, {"shoulder": "mx106-m6.servo.json", "elbow": "mx64-m6.servo.json"})
    servos.step([0.5, -0.2])  # goals in rad; the same as servos.update(...) and mujoco.mj_step(model, data)

Before each step the motor torque goes to the joint's motor and the static part of the friction budget into
`dof_frictionloss`. The engine's own solver finds the friction torque, together with contacts and all joints (Duclusaud
et al., section IV-E). Loads are those of the previous step: gravity, Coriolis, springs, applied forces, contacts and
limits, other actuators; not the joint's own motor, damping and friction.

MuJoCo updates positions with the new velocity, so its velocities lag half a step behind its positions. Three measures
make time steps of 5 ms as accurate as 0.5 ms without them: a command acts half a step later, budgets use the velocity
half a step later, and the engine integrates half of the velocity-dependent torque (viscous friction, back-EMF, velocity
gain) implicitly, as `dof_damping`. Read the motor's torque from `servos.motor_torque`: the actuator's force differs
slightly.

An elastoplastic contact (Cisneros et al.) is a spring and a damper before it slips. The engine has no such friction.
This program computes it at the velocity predicted from the joint's own inertia and last load. It passes a torque with
the motor's and a slope as `dof_damping`, from which the engine's solver finds the true velocity with contacts and all
joints together. The deflection then follows from that velocity.

Backlash is a second joint on the same body, `shoulder_backlash` with the same type, axis and position: the servo's own
joint is then the motor's, and the load is at the sum of both angles. Its limits are the teeth. The law sees the load,
back-EMF and friction the motor, and between the teeth the gears carry no load.

Only `update` moves the servos. Anything that steps the model without it (`mujoco.rollout`, MJX, MuJoCo Warp) takes
controls as raw torques, which this program cannot detect. Use the export "mujoco-plugin" for rollouts, "mjlab" for
MuJoCo Warp.

Needs mujoco and numpy; numba makes it some twenty times faster if installed.
"""

# MuJoCo ships no types for its native part.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from servobench_servo import (
    BACKLASH,
    BRISTLE_DAMPING,
    CONTACT,
    DELAY,
    FIELDS,
    KV_FRICTION,
    LOAD_FRICTION,
    RELEASE_DELAY,
    RIGID,
    SLEWED,
    SOURCE,
    STATE,
    STIFFNESS,
    UNSETTLED,
    bent,
    bristle_friction,
    compiled,
    drive,
    dry_friction,
    late,
    load_servo,
    load_zero,
    named,
    remembered,
    static_friction,
)

SOLREF = (1e-5, 1.0)
SOLIMP = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Parameters of the friction constraint: it stops the joint within the step without creep."""
STAGGERED = 0.5
"""Lag of velocities behind positions [steps]."""
SMALLEST_BUDGET = 1e-12
"""Smallest budget [N·m]: at 0 the engine would remove the joint's row from its constraints."""
NEEDED = ("constraint", "frictionloss", "refsafe", "actuation", "eulerdamp", "damper", "passive")
"""Flags of the engine that must stay enabled, if its version has them."""
MEMORY = len(FIELDS)
"""Offset of the state in a joint's row: the servo's numbers, its state, then the joint's memory."""
(
    TORQUE, EXTERNAL, BUDGET, OWN, DAMPING, VELOCITY, DEFLECTION, SLIDING, AT_REST, INERTIA, GEAR, GOAL, ENABLE,
) = range(len(STATE), len(STATE) + 13)  # fmt: skip
"""Offsets of the joint's memory after the servo's state."""
DOF, ADDRESS, MOTOR, ROW, PLAY, PLAY_ADDRESS = range(6)
"""Indices of a joint in the engine's arrays. ROW is its friction row in the previous step's constraints. PLAY is the
degree of freedom of its backlash joint, -1 without one."""
BACKLASH_JOINT = "{}_backlash"
"""Name of the joint between motor and load of a servo with backlash, after the servo's joint."""
TEETH = (1e-5, 2.0)
"""`solref` of its limits: as stiff as the engine allows, and overdamped, since critical damping lets teeth rebound."""


def attach(model: Any, data: Any, joints: Mapping[str, str | Path | Mapping[str, Any]]) -> Servos:
    """Put servos on joints of a MuJoCo model.

    Each joint needs one `<motor joint="…"/>`, and a joint `…_backlash` beside it if its servo has backlash. Armature,
    damping and friction of the joints become the servos'. The model's time step must not change.

    Args:
        model: MuJoCo's `MjModel`.
        data: MuJoCo's `MjData`.
        joints: Servo file, or its content, by name of a hinge or slide joint.

    Raises:
        ValueError: A joint, a file or an option of the model is unsuitable; `update` checks the options again.
    """
    return Servos(model, data, joints)


class Servos:
    """Servos on joints; all arrays in the order of `names`.

    Create one for each MjData. Data that step in parallel must not share an MjModel, because friction is part of it.
    """

    def __init__(self, model: Any, data: Any, joints: Mapping[str, str | Path | Mapping[str, Any]]) -> None:
        self.names = tuple(joints)
        self._model, self._data = model, data
        ids = [_joint(model, name) for name in self.names]
        motors = [_motor(model, i, name) for i, name in zip(ids, self.names, strict=True)]
        self._groups = sum(
            {1 << int(model.actuator_group[motor]) for motor, _ in motors if 0 <= model.actuator_group[motor] < 31}
        )
        self._option, self._step = model.opt, model.opt.timestep
        self._require_options()
        self._dofs = np.array([model.jnt_dofadr[i] for i in ids], dtype=np.int64)
        self._places = np.zeros((len(ids), 6), dtype=np.int64)
        self._places[:, DOF] = self._dofs
        self._places[:, ADDRESS] = [model.jnt_qposadr[i] for i in ids]
        self._places[:, MOTOR] = [motor for motor, _ in motors]
        self._rows = np.zeros((len(ids), MEMORY + ENABLE + 1))
        self._memory = self._rows[:, MEMORY:]
        self._commands = self._memory[:, GOAL:].T
        for row, servo in zip(self._rows, joints.values(), strict=True):
            row[:MEMORY] = load_servo(servo)
        for place, row, joint, name in zip(self._places, self._rows, ids, self.names, strict=True):
            place[PLAY], place[PLAY_ADDRESS] = _put_backlash(model, joint, name, row[BACKLASH])
        self.joint_zero = np.array([load_zero(servo) for servo in joints.values()])
        """Joint angles at which the servos read 0 [rad]; added to goals."""
        step = self._step
        longest = self._rows[:, [DELAY, RELEASE_DELAY]].max(initial=0.0)
        self._past = np.zeros((len(ids), 2, math.ceil(longest / step + STAGGERED) + 2))
        model.dof_armature[self._dofs] = self.numbers["armature"]
        model.dof_damping[self._dofs] = 0.0
        rigid = self.numbers["contact"] == RIGID
        model.dof_frictionloss[self._dofs] = np.where(rigid, self.numbers["friction_base"] + SMALLEST_BUDGET, 0.0)
        model.dof_solref[self._dofs] = SOLREF
        model.dof_solimp[self._dofs] = SOLIMP
        mujoco.mj_setConst(model, mujoco.MjData(model))
        parted = self.numbers["backlash"] > 0.0
        self._memory[:, INERTIA] = np.where(parted, self.numbers["armature"], model.dof_M0[self._dofs])
        self._memory[:, GEAR] = [gear for _, gear in motors]
        self._head = np.zeros(1, dtype=np.int64)
        self._fixed = (
            self._rows, self._places, self._past, self._head, step, data.qpos, data.qvel, data.ctrl,
            model.dof_damping, model.dof_frictionloss, data.qfrc_smooth, data.qfrc_constraint,
        )  # fmt: skip
        self.reset()

    @property
    def numbers(self) -> np.ndarray:
        """Parameters of the servos by name, (joints,): `servos.numbers["kp"][0] = 3.0`."""
        return named(self._rows)

    @property
    def motor_torque(self) -> np.ndarray:
        """Motor torque during the last step, (joints,) [N·m]."""
        return self._memory[:, TORQUE].copy()

    @property
    def external_torque(self) -> np.ndarray:
        """Load used for the friction of the last update, (joints,) [N·m]."""
        return self._memory[:, EXTERNAL].copy()

    @property
    def friction_budget(self) -> np.ndarray:
        """Static part of the friction budget of the last update, (joints,) [N·m]."""
        return self._memory[:, BUDGET].copy()

    @property
    def deflection(self) -> np.ndarray:
        """Deflection of elastoplastic contacts at the last update, (joints,) [rad]; 0 for rigid ones."""
        return self._memory[:, DEFLECTION].copy()

    def reset(self) -> None:
        """Reset the servos after a reset of the data or after moving joints; going back in time also resets them."""
        data, memory = self._data, self._memory
        data.ctrl[self._places[:, MOTOR]] = 0.0
        self._model.dof_damping[self._dofs] = 0.0
        mujoco.mj_forward(self._model, data)
        self._lean()
        memory[:, :INERTIA] = 0.0
        memory[:, LOAD_FRICTION] = UNSETTLED
        memory[:, VELOCITY] = data.qvel[self._dofs]
        memory[:, SLEWED] = data.qpos[self._places[:, ADDRESS]]
        for place, own in zip(self._places, memory, strict=True):
            own[SLEWED] += data.qpos[place[PLAY_ADDRESS]] if place[PLAY] >= 0 else 0.0
        self._fresh = True
        self._time = data.time

    def _lean(self) -> None:
        """Turn motors so that loads with backlash lean on the teeth as their weight does; loads do not move."""
        data = self._data
        for place, row in zip(self._places, self._rows, strict=True):
            if place[PLAY] >= 0:
                side = 0.5 * row[BACKLASH] * (1.0 if data.qfrc_bias[place[PLAY]] < 0.0 else -1.0)
                data.qpos[place[ADDRESS]] += data.qpos[place[PLAY_ADDRESS]] - side
                data.qpos[place[PLAY_ADDRESS]] = side

    def update(self, goals: Any, enable: Any = 1.0) -> None:
        """Prepare the next `mj_step`; call it before every step.

        Args:
            goals: Goals [rad], shape (joints,).
            enable: 1 drives, 0 releases; one number or shape (joints,).

        Raises:
            ValueError: Commands are not finite, a step was taken without `update`, or an option of the model is
                unsuitable.
        """
        data = self._data
        now = data.time
        self._require_options()
        if now < self._time:
            self.reset()
        if now > self._time + 1.5 * self._step:
            raise ValueError(
                f"the simulation went from {self._time:g} s to {now:g} s without `update`: call it before every step; "
                "if this was intended, call `reset` (`mujoco.rollout` needs the export mujoco-plugin)"
            )
        self._time = now
        commands = self._commands
        commands[0] = goals + self.joint_zero
        commands[1] = enable
        if not np.isfinite(commands).all():
            raise ValueError(f"goals and enable must be finite: {commands.tolist()}")
        if self._fresh:
            self._past[:] = commands.T[:, :, None]
            self._fresh = False
        _update(*self._fixed, data.efc_force, data.efc_id, data.ne, data.nf)

    def _require_options(self) -> None:
        """Raise ValueError for options of the model that would change friction or motors of the servos."""
        option = self._option
        if option.timestep != self._step:
            raise ValueError(f"the time step is {option.timestep:g} s, was {self._step:g} s: attach the servos again")
        if option.integrator == _RK4:
            raise ValueError(
                "integrator RK4 does not suit the servos, which set torques once per step; use implicitfast"
            )
        if option.disableflags & _NEEDED:
            off = [name for name, bit in _flags().items() if option.disableflags & bit]
            raise ValueError(f"the servos need flags that the model's option disables: {', '.join(off)}")
        if option.disableactuator & self._groups:
            raise ValueError("`disableactuator` disables a servo's motor; release it with `enable` 0")

    def step(self, goals: Any, enable: Any = 1.0, steps: int = 1) -> None:
        """Update the servos and step the simulation, `steps` times with the same commands."""
        for _ in range(steps):
            self.update(goals, enable)
            mujoco.mj_step(self._model, self._data)


def _flags() -> dict[str, int]:
    """Return the bits of the flags that must stay enabled in this version of the engine, by name."""
    bits = {name: getattr(mujoco.mjtDisableBit, f"mjDSBL_{name.upper()}", None) for name in NEEDED}
    return {name: int(bit) for name, bit in bits.items() if bit is not None}


_NEEDED = sum(_flags().values())
_RK4 = int(mujoco.mjtIntegrator.mjINT_RK4)


def _joint(model: Any, name: str) -> int:
    joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
    if joint < 0:
        raise ValueError(f"the model has no joint {name!r}")
    if int(model.jnt_type[joint]) not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
        raise ValueError(f"joint {name!r} is neither a hinge nor a slide")
    if model.jnt_actfrclimited[joint]:
        raise ValueError(f"joint {name!r} has an actuatorfrcrange; the servo has its own limits")
    return joint


def _put_backlash(model: Any, joint: int, name: str, backlash: float) -> tuple[int, int]:
    """Set up the backlash joint of a servo's joint; return its degree of freedom and address, -1 without one."""
    if backlash == 0.0:
        return -1, -1
    play = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, BACKLASH_JOINT.format(name))
    if play < 0 or model.jnt_bodyid[play] != model.jnt_bodyid[joint]:
        raise ValueError(
            f"the servo of joint {name!r} has backlash: add a second joint, {BACKLASH_JOINT.format(name)!r}, with the "
            "same type, axis and pos to the joint's body"
        )
    model.jnt_limited[play] = 1
    model.jnt_range[play] = -0.5 * backlash, 0.5 * backlash
    model.jnt_solref[play], model.jnt_solimp[play] = TEETH, SOLIMP
    dof = int(model.jnt_dofadr[play])
    model.dof_armature[dof] = model.dof_damping[dof] = model.dof_frictionloss[dof] = 0.0
    return dof, int(model.jnt_qposadr[play])


def _motor(model: Any, joint: int, name: str) -> tuple[int, float]:
    """Return a joint's motor and its torque per unit of control; raise ValueError unless it has one plain motor."""
    of_joint = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)) & (model.actuator_trnid[:, 0] == joint)
    plain = (
        (model.actuator_gaintype == int(mujoco.mjtGain.mjGAIN_FIXED))
        & (model.actuator_biastype == int(mujoco.mjtBias.mjBIAS_NONE))
        & (model.actuator_dyntype == int(mujoco.mjtDyn.mjDYN_NONE))
    )
    found = np.flatnonzero(of_joint & plain)
    if len(found) != 1:
        raise ValueError(f'joint {name!r} has {len(found)} motors; give it one: <motor joint="{name}"/>')
    if model.actuator_ctrllimited[found[0]] or model.actuator_forcelimited[found[0]]:
        raise ValueError(f"the motor of joint {name!r} has a ctrlrange or forcerange; the servo has its own limits")
    gear = float(model.actuator_gear[found[0], 0] * model.actuator_gainprm[found[0], 0])
    if gear == 0.0:
        raise ValueError(f"the motor of joint {name!r} has a gear or gain of 0")
    return int(found[0]), gear


def _make_update(source: int) -> Any:
    def update(
        rows, places, past, heads, step, qpos, qvel, ctrl, damping, frictionloss, smooth, constraint,
        efc_force, efc_id, equalities, frictions,
    ):  # fmt: skip
        if source == 0:  # never; naming it here makes it part of the compiled function's cache key
            return
        head = (heads[0] + 1) % past.shape[2]
        heads[0] = head
        for j in range(rows.shape[0]):
            p, own, place = rows[j], rows[j, MEMORY:], places[j]
            dof = place[DOF]
            past[j, 0, head] = own[GOAL]
            past[j, 1, head] = own[ENABLE]
            velocity = qvel[dof]
            before = own[VELOCITY]
            rate = velocity - before
            row, end = place[ROW], equalities + frictions
            if row < equalities or row >= end or efc_id[row] != dof:
                row = equalities
                while row < end and efc_id[row] != dof:
                    row += 1
                place[ROW] = row
            friction = efc_force[row] if row < end else 0.0
            external = smooth[dof] - own[OWN] + own[DAMPING] * before + constraint[dof] - friction
            position, slide = qpos[place[ADDRESS]], 0.0
            if place[PLAY] >= 0:
                position, slide = position + qpos[place[PLAY_ADDRESS]], -qvel[place[PLAY]]
                # Between the teeth, the gears carry no load.
                external = external if constraint[place[PLAY]] != 0.0 else 0.0
            goal = late(past[j, 0], head, p[DELAY] / step + STAGGERED)
            enable = late(past[j, 1], head, p[RELEASE_DELAY] / step + STAGGERED)
            torque, slope = drive(p, own, position, velocity - slide, goal, enable, step, STAGGERED, slide)
            mean = torque - 0.5 * slope * rate
            excess = remembered(p, own, mean, external, step, STAGGERED)
            budget = static_friction(p, mean, external, velocity + 0.5 * rate) + excess
            explicit, loss = torque, budget + SMALLEST_BUDGET
            if p[CONTACT] == RIGID:
                slope += p[KV_FRICTION]
                explicit -= p[KV_FRICTION] * velocity
            stiffness = slope * step / own[INERTIA]
            implicit = slope * (0.5 if stiffness <= 1.0 else 1.0 - 0.5 / stiffness)
            explicit += implicit * velocity
            if p[CONTACT] != RIGID:
                # The last step's friction at the velocity that resulted from it.
                slid, _ = bristle_friction(p, own[SLIDING], own[AT_REST], own[DEFLECTION], velocity, 0.0, step)
                own[DEFLECTION] = bent(p, own[DEFLECTION], slid, step)
                sliding, at_rest = dry_friction(p, mean, external)
                sliding += excess
                mobility = step / (own[INERTIA] + step * implicit)
                free = velocity + mobility * (torque + external)
                friction, slip = bristle_friction(p, sliding, at_rest, own[DEFLECTION], free, mobility, step)
                falling = p[STIFFNESS] * step + p[BRISTLE_DAMPING]
                if slip != 0.0:
                    falling *= p[KV_FRICTION] / (falling + p[KV_FRICTION])
                # The engine's contact solver ignores damping; a larger slope would make its contact forces wrong.
                falling = min(falling, own[INERTIA] / step)
                explicit += friction + falling * (free + mobility * friction)
                implicit += falling
                own[SLIDING], own[AT_REST] = sliding, at_rest
                loss = 0.0
            own[TORQUE] = torque
            own[EXTERNAL] = external
            own[BUDGET] = budget
            own[OWN] = explicit
            own[DAMPING] = implicit
            own[VELOCITY] = velocity
            ctrl[place[MOTOR]] = explicit / own[GEAR]
            damping[dof] = implicit
            frictionloss[dof] = loss

    return compiled(update)


_update = _make_update(SOURCE)
