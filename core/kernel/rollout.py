"""Simulation of one candidate that keeps every sample: for plots, the simulated servo and the digital twin."""

import math
from functools import cache

import numpy as np
from numba import njit

from core.kernel.compilation import compiled, fingerprint, step
from core.kernel.layout import Contact, Law, Load, Slot
from core.kernel.mechanics import UNSETTLED, resting_gap
from core.kernel.step import delayed_command, make_step, step_numbers

OUTPUTS = ("position", "velocity", "motor_torque", "current", "duty_cycle", "supply_voltage", "control")
"""Columns of a rollout: state before step k (rad, rad/s), then the motor in step k (N·m, A, 1, V, V or A)."""

STATE = 14
"""Length of the state; `make_step` lists its numbers."""
SINCE = 10
"""Index in the state of the time since a sampled law acted."""


def initial_state(position: float, velocity: float, row: np.ndarray | None = None) -> np.ndarray:
    """Return the state with this position and velocity and everything else at rest, (STATE,).

    With the row of a candidate on a bench, (ROW,), gravity holds the load against the teeth of the gears.
    """
    state = np.zeros(STATE)
    state[0] = state[2] = position
    state[1] = velocity
    if row is not None:
        weight = -row[Slot.GRAVITY_TORQUE] * math.sin(position + row[Slot.ANGLE_OFFSET])
        state[11] = resting_gap(weight, 0.5 * row[Slot.BACKLASH])
    state[13] = UNSETTLED
    return state


@njit(error_model="numpy")
def _with_load(numbers, row, load):
    """Return the numbers of a step, see `step_numbers`, with another load (len(Load),)."""
    inertia = load[Load.INERTIA] + row[Slot.ARMATURE]
    turned = row[Slot.ANGLE_OFFSET] + load[Load.PHASE]
    changed = (inertia, 1.0 / inertia, load[Load.GRAVITY_TORQUE], turned)
    return numbers[:5] + changed + numbers[9:]


def history_steps(delay: float, h: float) -> int:
    """Return the number of past time steps of the command that a delay [s] needs at time step h [s]."""
    return math.ceil(delay / h)


def rollout_kernel(
    law: Law, contact: Contact = Contact.RIGID, leapfrog: bool = False, play: bool = False, memory: bool = False,
    moving: bool = False,
):  # fmt: skip
    """Return the compiled kernel of one control law, contact and integrator, command path included.

    With `play` it has backlash, with `memory` that of the load, with `moving` a load that differs from step to step, as
    in `population_kernel`.

    The kernel releases the global interpreter lock. It is kernel(row, state, goal, lasts, enable, supply, loads, hand,
    torque, torque_share, first, h, substeps, out). Its arguments are:

    - row: candidate on a bench, (ROW,)
    - state: initial state, replaced by the final one, (STATE,)
    - loads: load of each time step with `moving`, see `Load`; otherwise (0, len(Load))
    - goal, lasts, enable, supply, hand, torque, torque_share: values for each time step, see
      `core.motion.simulation.Commands`, (first + n·substeps,). The first `first` are the past that a delay reaches.
      torque [N·m] replaces the position law for torque_share of the step
    - h: time step [s]
    - out: receives the samples, (n, len(OUTPUTS))
    """
    return _rollout_kernel(law, contact, leapfrog, play, memory, moving)


@cache
def _rollout_kernel(law: Law, contact: Contact, leapfrog: bool, play: bool, memory: bool, moving: bool):
    variant = fingerprint(law, True, contact, leapfrog, play, memory, moving)

    def kernel(row, state, goal, lasts, enable, supply, loads, hand, torque, torque_share, first, h, substeps, out):
        if variant == 0:  # This is never true. It brings `variant` into the closure and thus into the cache's key.
            return
        numbers = step_numbers(row, h, leapfrog)
        whole = math.ceil(row[Slot.DELAY] / h)
        delay_steps = int(whole)
        share = whole - row[Slot.DELAY] / h
        release_whole = math.ceil(row[Slot.RELEASE_DELAY] / h)
        release_steps = int(release_whole)
        release_share = 1.0 - (release_whole - row[Slot.RELEASE_DELAY] / h)
        last = goal.shape[0] - 1
        q, v, slewed, output, integral, error, bus, deflection, friction, held, since, gap, slide, load_friction = (
            state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7], state[8], state[9],
            state[10], state[11], state[12], state[13],
        )  # fmt: skip
        for k in range(out.shape[0]):
            out[k, 0] = q
            out[k, 1] = v
            for sub in range(substeps):
                i = first + k * substeps + sub
                old_goal, next_goal, next_share = delayed_command(goal, lasts, i, 0, last, delay_steps, share)
                newer = min(max(i - release_steps + 1, 0), last)
                older = max(i - release_steps, 0)
                late_enable = enable[older] + (1.0 - release_share) * (enable[newer] - enable[older])
                push = hand[i]
                if moving:
                    numbers = _with_load(numbers, row, loads[i])
                    push += loads[i, Load.TORQUE]
                (
                    q, v, slewed, output, integral, error, bus, deflection, friction, held, since, gap, slide,
                    load_friction, tm, current, duty, volts, control,
                ) = step(
                    q, v, slewed, output, integral, error, bus, deflection, friction, held, since, gap, slide,
                    load_friction,
                    old_goal, next_goal, next_share, late_enable, supply[i], push, torque[i], torque_share[i],
                    *numbers,
                )  # fmt: skip
                if sub == 0:
                    out[k, 2] = tm
                    out[k, 3] = current
                    out[k, 4] = duty
                    out[k, 5] = volts
                    out[k, 6] = control
        state[:] = (
            q, v, slewed, output, integral, error, bus, deflection, friction, held, since, gap, slide, load_friction,
        )  # fmt: skip

    return compiled(kernel, make_step(law, True, contact, leapfrog, play, memory))
