"""A servo on a pendulum bench, simulated independently of the kernel: known truth for tests and benchmarks.

It shares the equations of seed 004 with `core.kernel`, and neither code nor integrator. Motion is a chain of phases.
While the shaft slides, friction opposes it with its whole budget and the midpoint rule integrates
J·θ̈ = τ_m + τ_e − sign(θ̇)·τ_f^m (eq. 1). A step that would reverse the motion ends where the shaft stops. There it
stays as long as friction withstands τ_m + τ_e, and starts to slide otherwise. Goals are held between samples, so what
makes a resting shaft move acts at a sample, and no event needs to be searched for.

The control law is evaluated at every stage: a P controller in continuous time. A released motor is an open circuit.

    planned = commands(make_trajectory("sin_sin"), Bench(mass=0.5, length=0.13), PLANTED["m2"].settings(3.0), 0.01)
    recording = with_noise(PLANTED["m2"].recorded(planned), seed=0)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from core.motion.recording import Recording
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings

Array = NDArray[np.float64]

STEP = 50e-6
"""Longest step [s]; half of it moves the planted servos by less than 0.001 mrad on average."""

NOISE = 1.5e-3
"""Standard deviation of a reading [rad]: the mean error of a perfect model is √(2/π) of it, 1.197 mrad."""


class _Numbers(NamedTuple):
    """What a run depends on besides its commands, SI units."""

    gain: float
    """Duty cycle per rad."""
    limit: float
    current_limit: float
    supply: float
    kt: float
    resistance: float
    inertia: float
    gravity_torque: float
    kc: float
    kv: float
    km: float
    ke: float
    kcs: float
    kms: float
    kes: float
    kmq: float
    keq: float
    vs: float
    alpha: float


@njit(cache=True)
def _torques(n, goal, driven, q, v):
    """Motor torque of the voltage law (eqs 12, 13), its current limited, and gravity's [N·m]."""
    duty = min(max(n.gain * (goal - q), -n.limit), n.limit)
    current = min(max((duty * n.supply - n.kt * v) / n.resistance, -n.current_limit), n.current_limit)
    return n.kt * current if driven else 0.0, -n.gravity_torque * math.sin(q)


@njit(cache=True)
def _budget(n, motor, load, v):
    """Friction budget of M6 [N·m] (eq. 10), of which the other models are special cases."""
    quadratic = 0.0
    if abs(motor) > abs(load):
        quadratic = n.keq * load**2
    elif abs(motor) < abs(load):
        quadratic = n.kmq * motor**2
    at_rest = n.kcs + abs(n.kms * motor - n.kes * load) + quadratic
    sliding = n.kv * abs(v) + n.kc + abs(n.km * motor - n.ke * load)
    return sliding + math.exp(-((abs(v) / n.vs) ** n.alpha)) * at_rest


@njit(cache=True)
def _acceleration(n, goal, driven, q, v, direction):
    """θ̈ of a shaft that slides in this direction [rad/s²]."""
    motor, load = _torques(n, goal, driven, q, v)
    return (motor + load - direction * _budget(n, motor, load, v)) / n.inertia


@njit(cache=True)
def _advance(n, goal, driven, q, v, h):
    """Position and velocity after h [s]."""
    while h > 0.0:
        direction = math.copysign(1.0, v)
        if v == 0.0:
            motor, load = _torques(n, goal, driven, q, 0.0)
            if abs(motor + load) <= _budget(n, motor, load, 0.0):
                return q, 0.0
            direction = math.copysign(1.0, motor + load)
        middle = v + 0.5 * h * _acceleration(n, goal, driven, q, v, direction)
        new_v = v + h * _acceleration(n, goal, driven, q + 0.5 * h * v, middle, direction)
        if new_v * direction >= 0.0:
            return q + h * middle, new_v
        if v == 0.0:
            return q, 0.0
        until_stop = h * v / (v - new_v)
        q, v, h = q + 0.5 * v * until_stop, 0.0, h - until_stop
    return q, v


@njit(cache=True)
def _positions(n, goal, enable, q, sample, parts):
    """Position at each sample from rest at q, (samples,) rad; every sample is advanced in so many parts."""
    positions = np.empty(len(goal))
    v = 0.0
    for k in range(len(goal)):
        positions[k] = q
        for _ in range(parts):
            q, v = _advance(n, goal[k], enable[k], q, v, sample / parts)
    return positions


@dataclass(frozen=True)
class IndependentServo:
    """A servo with known values that is recorded under the name of a catalogue servo, whose firmware it runs."""

    servo: str
    """Catalogue name: error gain, output limit and supply are this servo's."""
    friction: str
    """Friction model that the values belong to."""
    values: Mapping[str, float]
    """Parameters by the names of published files, SI units; terms that are left out are 0."""
    current_limit: float = math.inf
    """Largest motor current that its firmware allows [A]."""

    def settings(self, gain: float) -> ServoSettings:
        """Settings with this gain of the position error [1/rad], at the nominal supply."""
        spec = load_servo(self.servo)
        return ServoSettings(servo=spec.name, kp=gain / spec.control.error_gain, supply_voltage=spec.supply_voltage)

    def recorded(self, planned: Recording, step: float = STEP) -> Recording:
        """Return a planned run with the motion that its commands cause, from rest at its first position, without noise.

        step: longest step of the integration [s]. Samples must be regular.
        """
        sample = planned.duration / (planned.samples - 1)
        positions = _positions(
            self._numbers(planned),
            planned.goal_position.astype(np.float64),
            planned.torque_enable,
            float(planned.position[0]),
            sample,
            math.ceil(sample / step - 1e-9),
        )
        return replace(planned, channels={**planned.channels, "position": positions})

    def _numbers(self, run: Recording) -> _Numbers:
        control, values = load_servo(self.servo).control, self.values

        def term(name: str, shared: str = "") -> float:
            """M3 and M4 have one load-dependent term for both torques (eqs 7, 8)."""
            return values.get(name, values.get(shared, 0.0))

        return _Numbers(
            gain=control.error_gain * run.settings.kp,
            limit=control.output_limit,
            current_limit=self.current_limit,
            supply=run.settings.supply_voltage,
            kt=values["kt"],
            resistance=values["R"],
            inertia=run.bench.mass * run.bench.length**2 + values["armature"],
            gravity_torque=run.bench.mass * run.bench.gravity * run.bench.length,
            kc=term("friction_base"),
            kv=term("friction_viscous"),
            km=term("load_friction_motor", "load_friction_base"),
            ke=term("load_friction_external", "load_friction_base"),
            kcs=term("friction_stribeck"),
            kms=term("load_friction_motor_stribeck", "load_friction_stribeck"),
            kes=term("load_friction_external_stribeck", "load_friction_stribeck"),
            kmq=term("load_friction_motor_quad"),
            keq=term("load_friction_external_quad"),
            vs=values.get("dtheta_stribeck", 1.0),
            alpha=values.get("alpha", 1.0),
        )


def with_noise(recording: Recording, seed: int | Sequence[int]) -> Recording:
    """Return a recording with Gaussian noise of NOISE on every position, the first one included."""
    noise = NOISE * np.random.default_rng(seed).normal(size=recording.samples)
    return replace(recording, channels={**recording.channels, "position": recording.position + noise})


_SMALL = {"kt": 1.1, "R": 2.6, "armature": 0.008, "friction_base": 0.09, "friction_viscous": 0.03}
_STRIBECK = {"friction_stribeck": 0.07, "dtheta_stribeck": 0.3, "alpha": 1.0}
_LARGE = {
    **{"kt": 2.0, "R": 2.3, "armature": 0.022, "friction_base": 0.06, "friction_viscous": 0.03},
    **{"friction_stribeck": 0.05, "dtheta_stribeck": 0.5, "alpha": 1.2},
    **{"load_friction_motor": 0.06, "load_friction_external": 0.1},
    **{"load_friction_motor_stribeck": 0.04, "load_friction_external_stribeck": 0.06},
}

PLANTED = {
    "m1": IndependentServo("mx64_2", "m1", _SMALL),
    "m2": IndependentServo("mx64_2", "m2", {**_SMALL, **_STRIBECK}),
    "m3": IndependentServo("mx64_2", "m3", {**_SMALL, "load_friction_base": 0.08}),
    "m4": IndependentServo(
        "mx64_2", "m4", {**_SMALL, **_STRIBECK, "load_friction_base": 0.08, "load_friction_stribeck": 0.05}
    ),
    "m5": IndependentServo("mx106", "m5", _LARGE),
    "m6": IndependentServo(
        "mx106", "m6", {**_LARGE, "load_friction_motor_quad": 0.01, "load_friction_external_quad": 0.02}
    ),
}
"""A servo for each friction model, its values well within the bounds of the catalogue servo it poses as."""
