"""Algorithm 1 with M6 and the voltage law, vectorised over recordings with NumPy: what a careful user would write.

The yardstick for the kernel: the same physics, one candidate over all recordings at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rollout(
    values: dict[str, float],
    goal: Array,
    enable: Array,
    gain: Array,
    supply: float,
    max_duty: float,
    load_inertia: Array,
    gravity_torque: Array,
    dt: float,
) -> Array:
    """Positions (n_recordings, n_samples) [rad]; goal, enable (n_recordings, n_samples); the rest (n_recordings,)."""
    p = values
    runs, samples = goal.shape
    position = np.empty((runs, samples))
    q = np.zeros(runs)
    v = np.zeros(runs)
    inertia = load_inertia + p["armature"]
    drive = p["kt"] / p["R"]
    for k in range(samples):
        position[:, k] = q
        duty = np.clip(gain * (goal[:, k] - q), -max_duty, max_duty)
        tm = enable[:, k] * drive * (supply * duty - p["kt"] * v)
        te = -gravity_torque * np.sin(q + p["q_offset"])
        speed = np.abs(v)
        stribeck = np.exp(-((speed / p["dtheta_stribeck"]) ** p["alpha"]))
        quadratic = np.where(
            np.abs(tm) > np.abs(te),
            p["load_friction_external_quad"] * te**2,
            p["load_friction_motor_quad"] * tm**2,
        )
        budget = (
            p["friction_viscous"] * speed
            + p["friction_base"]
            + np.abs(p["load_friction_motor"] * tm - p["load_friction_external"] * te)
            + stribeck
            * (
                p["friction_stribeck"]
                + np.abs(p["load_friction_motor_stribeck"] * tm - p["load_friction_external_stribeck"] * te)
                + quadratic
            )
        )
        friction = np.clip(-(inertia / dt * v + tm + te), -budget, budget)
        a = (tm + te + friction) / inertia
        q = q + v * dt + 0.5 * a * dt * dt
        v = v + a * dt
    return position
