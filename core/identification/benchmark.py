"""Speed of simulation and identification on this machine: the figures of `bench benchmark` and `make bench`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.identification.search.objective import Batch, available_threads
from core.kernel.population import LANES
from core.motion.recording import Recording
from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from core.servo.terms import COMMAND_PATH_TERMS, RICHEST

SERVO = "mx106"


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    name: str
    value: float
    unit: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(self.__dict__)


def sample_recordings(count: int, samples: int = 1200, dt: float = 0.005) -> list[Recording]:
    """Return simulated recordings of the catalogue's M6 under small variations of the paper's conditions."""
    model = load_model(SERVO, RICHEST)
    recordings: list[Recording] = []
    for number in range(count):
        bench = Bench(mass=(0.5, 1.0, 1.5)[number % 3], length=(0.1, 0.15, 0.2)[number // 3 % 3])
        settings = model.default_settings((4.0, 8.0, 16.0, 32.0)[number // 9 % 4])
        trajectory = make_trajectory(PAPER_TRAJECTORIES[number % 4], samples * dt)
        motion = simulate_trajectory(model, trajectory, bench, settings, dt)
        channels = {
            "time": motion.time,
            "goal_position": motion.goal_position,
            "torque_enable": trajectory.torque_enable(motion.time),
            "position": motion.position,
        }
        name = f"{number:04d}"
        recordings.append(
            Recording(id=name, trajectory=trajectory.name, bench=bench, settings=settings, channels=channels)
        )
    return recordings


def random_candidates(model: ServoModel, count: int, seed: int = 0) -> np.ndarray:
    """Return candidates around the model's values, (count, n_free)."""
    bounds = model.parameters.bounds()
    spread = np.random.default_rng(seed).normal(0.0, 0.02, (count, len(bounds))) * np.diff(bounds, axis=1).T
    return np.clip(model.parameters.vector() + spread, bounds[:, 0], bounds[:, 1])


def best_time(action: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest duration of several runs [s]."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def time_compilation() -> float:
    """Return the time until the voltage law's kernel has run once [s]; short if its code is cached."""
    started = time.perf_counter()
    Batch(build_model(SERVO, "m1"), sample_recordings(1, 20), threads=1).scores()
    return time.perf_counter() - started


def run_benchmark() -> list[Figure]:
    """Measure all figures; this takes some seconds."""
    figures = [Figure("first simulation", time_compilation(), "s")]
    recordings = sample_recordings(16)
    for label, terms in (("M6", ()), ("M6 with command path", COMMAND_PATH_TERMS)):
        model = build_model(SERVO, RICHEST, command_path=terms)
        candidates = random_candidates(model, 2 * LANES)
        per_thread: dict[int, float] = {}
        for threads in sorted({1, available_threads()}):
            batch = Batch(model, recordings, threads=threads)
            batch.scores(candidates)
            seconds = best_time(lambda batch=batch, candidates=candidates: batch.scores(candidates))
            per_thread[threads] = seconds / (batch.total_samples * len(candidates)) * 1e9
            figures.append(Figure(f"{label}, {threads} thread(s)", per_thread[threads], "ns/step"))
        if len(per_thread) > 1:
            figures.append(Figure(f"{label}, gain by threads", per_thread[1] / min(per_thread.values()), "×"))
    return figures
