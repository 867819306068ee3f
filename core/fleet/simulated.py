"""Simulated specimens of a servo: units that differ like a real batch, and their recordings.

For trying out a fleet without hardware and for tests: the true values of each unit are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.errors import ModelError
from core.export.references import default_bench
from core.motion.recording import Recording
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.shipped import load_model
from core.servo.terms import RICHEST

RATE = 100.0
"""Sampling rate of the recordings [Hz]."""
LOADS = (1.0, 2.0)
"""Factors on the servo's default pendulum mass."""
SPREADS = {"kt": 0.04, "R": 0.06, "armature": 0.05}
"""Standard deviation of a parameter's logarithm over units; FRICTION_SPREAD for all others."""
FRICTION_SPREAD = 0.15
OFFSET_SPREAD = 0.01
"""Standard deviation of the mounting angle over units [rad]."""


@dataclass(frozen=True, eq=False)
class SimulatedUnit:
    """Specimen with its true model and its recordings."""

    name: str
    truth: ServoModel
    recordings: tuple[Recording, ...]


def simulated_units(
    servo: str, count: int, *, seed: int = 0, friction: str = RICHEST, trajectories: Sequence[str] = PAPER_TRAJECTORIES
) -> list[SimulatedUnit]:
    """Simulate specimens of a catalogue servo, each recorded with every trajectory under two loads.

    A unit depends only on its number and the seed, not on `count`. Raises ModelError if the servo has no model.
    """
    if count < 1:
        raise ModelError(f"{count} units are too few; give at least 1")
    usual = replace(load_model(servo, friction), quadratic_gate="larger_torque")
    return [_unit(usual, number, seed, trajectories) for number in range(1, count + 1)]


def _unit(usual: ServoModel, number: int, seed: int, trajectories: Sequence[str]) -> SimulatedUnit:
    random = np.random.default_rng([seed, number])
    values: dict[str, float] = {}
    for parameter in usual.parameters.free:
        if parameter.name == "q_offset":
            values[parameter.name] = parameter.value + OFFSET_SPREAD * random.normal()
            continue
        factor = math.exp(SPREADS.get(parameter.name, FRICTION_SPREAD) * random.normal())
        values[parameter.name] = min(max(factor * parameter.value, parameter.lower), parameter.upper)
    truth = usual.with_values(values)
    name = f"unit-{number:03d}"
    bench = default_bench(usual)
    recordings = [
        _recording(truth, name, trajectory, replace(bench, mass=load * bench.mass), random)
        for load in LOADS
        for trajectory in trajectories
    ]
    numbered = (replace(run, id=f"{place:04d}_{run.trajectory}") for place, run in enumerate(recordings, 1))
    return SimulatedUnit(name, truth, tuple(numbered))


def _recording(truth: ServoModel, unit: str, trajectory: str, bench: Bench, random: np.random.Generator) -> Recording:
    path, settings = make_trajectory(trajectory), truth.default_settings()
    motion = simulate_trajectory(truth, path, bench, settings, 1.0 / RATE)
    step = truth.spec.encoder_step
    noisy = motion.position + 0.3 * step * random.normal(size=len(motion.position))
    return Recording(
        id=trajectory,
        trajectory=trajectory,
        bench=bench,
        settings=settings,
        channels={
            "time": motion.time,
            "goal_position": motion.goal_position,
            "torque_enable": path.torque_enable(motion.time),
            "position": step * np.round(noisy / step),
        },
        provenance={"unit": unit, "simulated": True},
    )
