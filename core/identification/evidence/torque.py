"""Torque that a model lacks along a run.

The shaft is put into its measured state at every sample, and the model moves it one step. The difference from the
measured acceleration is torque that the model lacks. Unlike the position's error, it does not accumulate along the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.identification.coverage.signals import SMOOTHING
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.recording import Recording
from core.motion.simulation import held_commands, on_grid, simulate_recording
from core.motion.smoothing import savitzky_golay
from core.servo.friction import friction_budget
from core.servo.model import ServoModel
from core.servo.terms import Supply

MOVING = 0.04
"""Share of the no-load speed below which stiction hides the torque."""

AFTER_TURN = 0.12
"""Time after a reversal or a breakaway that counts as near [s]."""


@dataclass(frozen=True, eq=False)
class TorqueResidual:
    """Residuals of one run on its grid, all (n,)."""

    time: Array
    """Time since the first sample [s]."""
    position_error: Array
    """Simulated minus measured position [rad]."""
    torque: Array
    """Torque that the model lacks [N·m]."""
    velocity: Array
    """Velocity [rad/s]."""
    external: Array
    """Gravity torque [N·m]."""
    friction: Array
    """Friction budget of the model [N·m]."""
    enable: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    near_turn: NDArray[np.bool_]
    temperature: Array
    """Temperature [°C], NaN if it was not recorded."""

    @property
    def lacking(self) -> Array:
        """Friction that the model lacks, positive against the motion [N·m]."""
        return -self.torque * np.sign(self.velocity)


def torque_residual(
    model: ServoModel, recording: Recording, *, dt: float | None = None, supply: Supply = "logged"
) -> TorqueResidual:
    """Return the residuals of one run; only the shaft is reset, the command path keeps its state along the run."""
    recording = recording.commanded(model.control.command)
    run, step = on_grid(recording, dt)
    measured = np.asarray(run.position, dtype=np.float64)
    simulated = simulate_recording(model, recording, dt, supply).position
    length = min(max(5, 2 * round(0.5 * SMOOTHING / step) + 1), len(measured) - 1 + len(measured) % 2)
    velocity = savitzky_golay(measured, length, 2, derivative=1, step=step)
    acceleration = savitzky_golay(measured, length, 2, derivative=2, step=step)
    n = model.steps_between(step, run.settings)
    h = step / n
    row = model.bound_row(run.bench, run.settings, h)
    given = held_commands(recording, run, step, n, supply, sags=model.sags)
    nothing, out = np.zeros(len(given.goal)), np.empty((1, len(OUTPUTS)))
    kernel = rollout_kernel(*model.kernel_variant, moving=len(given.load) > 0)
    state = initial_state(float(measured[0]), float(velocity[0]), row)
    predicted, motor = np.empty(len(measured)), np.empty(len(measured))
    for k in range(len(measured)):
        state[0], state[1] = measured[k], velocity[k]
        kernel(
            row, state, given.goal, given.lasts, given.enable, given.supply, given.load, nothing, nothing, nothing,
            k * n, h, n, out,
        )  # fmt: skip
        predicted[k], motor[k] = (state[1] - velocity[k]) / step, out[0, 2]
    inertia = (run.bench.inertia if run.load is None else run.load[:, 0]) + model.values["armature"]
    # Both accelerations pass through the same filter.
    missing = inertia * (acceleration - savitzky_golay(predicted, length, 2))
    turned = replace(run, channels={**run.channels, "position": measured + model.values.get("q_offset", 0.0)})
    external = turned.external_torque
    budget = friction_budget(
        model.friction, model.values, motor, external, velocity, model.quadratic_gate, model.contact
    )
    moving = np.abs(velocity) > MOVING * model.spec.no_load_speed
    half = length // 2
    moving[:half] = moving[len(moving) - half :] = False
    temperature = run.channels.get("temperature")
    return TorqueResidual(
        time=run.time - run.time[0],
        position_error=simulated - measured,
        torque=missing,
        velocity=velocity,
        external=external,
        friction=budget,
        enable=run.torque_enable,
        moving=moving,
        near_turn=_near_turn(velocity, step),
        temperature=np.full(run.samples, np.nan) if temperature is None else np.asarray(temperature, dtype=np.float64),
    )


def _near_turn(velocity: Array, step: float) -> NDArray[np.bool_]:
    """Return which samples are less than AFTER_TURN after the velocity crossed zero."""
    turned = np.flatnonzero(np.diff(np.signbit(velocity)))
    near = np.zeros(len(velocity), dtype=bool)
    for place in turned:
        near[place + 1 : place + 1 + round(AFTER_TURN / step)] = True
    return near
