"""Layout of the flat vector that a kernel reads: one candidate on one recording.

Friction models M1–M5 are special cases of M6 (seed 004, eqs 3, 6–10), so every candidate has the same length.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Slot(IntEnum):
    """Index of each number in a candidate's row; SI units, angles in rad."""

    TORQUE_CONSTANT = 0  # k_t [N·m/A], motor and reducer together
    RESISTANCE = 1  # R [Ω]
    ARMATURE = 2  # J_m [kg·m²]
    ANGLE_OFFSET = 3  # added to the angle before gravity acts [rad]
    FRICTION_BASE = 4  # K_c [N·m]
    FRICTION_VISCOUS = 5  # K_v [N·m·s/rad]
    LOAD_MOTOR = 6  # K_m
    LOAD_EXTERNAL = 7  # K_e
    FRICTION_STRIBECK = 8  # K_c^s [N·m]
    LOAD_MOTOR_STRIBECK = 9  # K_m^s
    LOAD_EXTERNAL_STRIBECK = 10  # K_e^s
    LOAD_MOTOR_QUAD = 11  # K_m^q [1/(N·m)]
    LOAD_EXTERNAL_QUAD = 12  # K_e^q [1/(N·m)]
    STRIBECK_VELOCITY = 13  # v_s [rad/s]
    STRIBECK_EXPONENT = 14  # α
    DELAY = 15  # delay of the commanded position [s]
    GOAL_SLEW = 16  # velocity limit of the goal [rad/s]
    DEAD_BAND = 17  # half width of the dead band of the position error [rad]
    PWM_LAG = 18  # time constant of duty cycle or current [s]
    SUPPLY_SAG = 19  # resistance of the supply [Ω]
    RELEASE_BRAKING = 20  # 0: open circuit, 1: shorted motor
    INDUCTANCE = 21  # L [H], drive/coast bridges only
    PWM_PERIOD = 22  # period [s], drive/coast bridges only
    KP = 23  # output (duty cycle or, with the current law, A) per rad, or per unit of another command
    KI = 24  # as KP, per second
    KD = 25  # as KP, times seconds, on the error's derivative
    KV = 26  # velocity feedback: duty cycle or A per rad/s
    OUTPUT_LIMIT = 27  # largest duty cycle, or I_heat [A]
    OPPOSING_GATE = 28  # 1: quadratic term only where the torques oppose each other
    VELOCITY_AFTER = 29  # 1: position integrates the updated velocity (integrator "bam")
    VELOCITY_LIMIT = 30  # numerical guard [rad/s]
    INERTIA = 31  # inertia of the load [kg·m²]
    GRAVITY_TORQUE = 32  # gravity torque at a horizontal arm [N·m]
    RELEASE_DELAY = 33  # delay of switching the torque [s]
    BRISTLE_STIFFNESS = 34  # K [N·m/rad], elastoplastic contacts only
    BRISTLE_DAMPING = 35  # B [N·m·s/rad], elastoplastic contacts only
    CONTROL_PERIOD = 36  # time between two actions of the control law [s]; 0: it acts continuously
    ANGLE_IGNORED = 37  # 0: the law compares the command with the angle; 1: it does not
    SPEED_FEEDBACK = 38  # 1: the law compares the command with the speed; 0: it does not
    CURRENT_LIMIT = 39  # largest motor current [A], `Law.LIMITED` only
    OUTPUT_OFFSET = 40  # share of OUTPUT_LIMIT that is added in the direction of the error
    PULSE_SAG = 41  # resistance of the supply that the motor's current passes while the bridge is on [Ω]
    BACKLASH = 42  # way of the motor between its two contacts with the load [rad]
    LOAD_MEMORY = 43  # time constant with which friction by the load follows the load [s]


ROW = len(Slot)


class Setup(IntEnum):
    """Numbers that a recording adds to every candidate: the servo's gains, the bench, the time step.

    A candidate's KP, KI, KD and KV are per unit of the servo's own gains; a setup multiplies them by these gains, and
    the control period by SAMPLED.
    """

    STEP = 0  # time step [s]
    KP = 1
    KI = 2
    KD = 3
    KV = 4  # velocity gain in the law's unit, damping·√kp for the eRob
    INERTIA = 5  # inertia of the load [kg·m²]
    GRAVITY_TORQUE = 6  # gravity torque at a horizontal arm [N·m]
    ANGLE_OFFSET = 7  # angle offset of the bench [rad]
    SAMPLED = 8  # 1 if the law acts once a period with these gains, 0 if continuously


class Load(IntEnum):
    """Numbers of the load on a joint of a robot at one moment: τ_e = torque − gravity torque · sin(θ + phase)."""

    INERTIA = 0  # inertia of all that turns with the joint [kg·m²]
    GRAVITY_TORQUE = 1  # largest gravity torque over all angles of the joint [N·m]
    PHASE = 2  # angle added to the joint's own before gravity acts [rad]
    TORQUE = 3  # torque from the motion of the other joints [N·m]


def bind(row: np.ndarray, setup: np.ndarray) -> np.ndarray:
    """Return the row of a candidate (ROW,) with a bench and a servo's gains, ready for a rollout."""
    bound = row.copy()
    bound[[Slot.KP, Slot.KI, Slot.KD, Slot.KV]] *= setup[[Setup.KP, Setup.KI, Setup.KD, Setup.KV]]
    bound[Slot.CONTROL_PERIOD] *= setup[Setup.SAMPLED]
    bound[Slot.INERTIA] = setup[Setup.INERTIA]
    bound[Slot.GRAVITY_TORQUE] = setup[Setup.GRAVITY_TORQUE]
    bound[Slot.ANGLE_OFFSET] += setup[Setup.ANGLE_OFFSET]
    return bound


NO_SLEW = 1e9
"""Velocity limit of the goal that has no effect [rad/s]."""
OFFSET_WIDTH = math.tau / 4096
"""Error over which the output offset grows from 0 to its value [rad]: a step of a 12-bit encoder, the least it sees."""
NO_CURRENT_LIMIT = 1e9
"""Current limit that has no effect [A]."""


class Law(IntEnum):
    """Control law and bridge: seed 004, eqs 12–13, 14–15, section IV-B's drive/coast remark, eqs 12–13 with a limit."""

    VOLTAGE = 0
    CURRENT = 1
    COAST = 2
    LIMITED = 3


class Contact(IntEnum):
    """Friction at rest: a budget, or the bristle of seed 001 with one of two functions."""

    RIGID = 0
    STRIBECK = 1
    RATIONAL = 2


def empty_rows(count: int) -> np.ndarray:
    """Return rows with every term off, (count, ROW): unit motor, no friction, no command path."""
    import numpy as np

    rows = np.zeros((count, ROW))
    rows[:, Slot.TORQUE_CONSTANT] = 1.0
    rows[:, Slot.RESISTANCE] = 1.0
    rows[:, Slot.STRIBECK_VELOCITY] = 1.0
    rows[:, Slot.STRIBECK_EXPONENT] = 1.0
    rows[:, Slot.GOAL_SLEW] = NO_SLEW
    rows[:, Slot.INDUCTANCE] = 1.0
    rows[:, Slot.PWM_PERIOD] = 1.0
    rows[:, Slot.OUTPUT_LIMIT] = 1.0
    rows[:, Slot.VELOCITY_LIMIT] = 1e4
    rows[:, Slot.BRISTLE_STIFFNESS] = 1.0
    rows[:, Slot.BRISTLE_DAMPING] = 1.0
    rows[:, Slot.CURRENT_LIMIT] = NO_CURRENT_LIMIT
    return rows
