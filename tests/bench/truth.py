"""How well the true model reproduces what the simulated servo records: `python -m tests.bench.truth [RUNS] [REAL]`.

RUNS recordings each of five servos on the virtual clock, REAL in real time (default 20 and 2): random loads and gains,
200 Hz. Printed is the mean distance of the true model's motion from the recorded positions, beside what the encoder's
rounding alone leaves, a quarter of its step, and 0.05 mrad more.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from core.motion.recording import Recording, RunHeader
from core.motion.simulation import simulate_recording
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
from core.servo.shipped import load_model
from drivers.clock import Clock, RealClock, VirtualClock
from drivers.recorder import MemorySink, record_inline
from drivers.simulated import SimulatedServo
from drivers.simulated.servo import starting_bench
from tests.bench.printing import line

SERVOS = ("mx106", "mx64", "xl330", "sts3215", "erob80_50")
TRAJECTORIES = ("sin_time_square", "sin_sin", "up_and_down", "lift_and_drop")
RATE = 200.0
"""[Hz]"""
DURATION = {True: 6.0, False: 3.0}
"""Of a run [s], by whether its clock is virtual."""
STEP = 1e-3
"""Of the model's simulation, twice the plant's [s]."""
ALLOWED = 5e-5
"""Beyond the encoder's rounding, on average [rad]."""


def error(name: str, number: int, clock: Clock) -> float:
    """Mean absolute distance of the true model from one recording [rad]."""
    draw = np.random.default_rng([19, number])
    model = replace(load_model(name, "m6"), integrator="leapfrog", dt=STEP, substeps=1)
    servo = SimulatedServo(name, model=model, clock=clock, seed=number)
    servo.connect()
    trajectory = make_trajectory(TRAJECTORIES[number % len(TRAJECTORIES)], DURATION[clock.virtual])
    bench = starting_bench(servo.spec)
    bench = replace(bench, mass=bench.mass * draw.uniform(0.3, 1.2))
    settings = model.default_settings()
    settings = replace(settings, kp=settings.kp * draw.uniform(0.3, 1.0))
    header = RunHeader(trajectory=trajectory.name, bench=bench, settings=settings, rate=RATE)
    sink = MemorySink()
    result = record_inline(servo, trajectory, header, sink, virtual=clock.virtual)
    if result.exit_status != "success":
        raise RuntimeError(f"{name}, run {number}: {result.reason}")
    channels = {column: sink.rows[column].copy() for column in sink.rows.dtype.names or ()}
    run = Recording(id=f"{number}", trajectory=trajectory.name, bench=bench, settings=settings, channels=channels)
    motion = simulate_recording(model, run)
    return float(np.abs(np.interp(run.time, motion.time, motion.position) - run.position).mean())


def main(virtual: int = 20, real: int = 2) -> None:
    """Print the figures of each servo and clock."""
    for name in SERVOS:
        rounding = 0.25 * load_servo(name).encoder_step
        for title, count, clock in (("virtual", virtual, VirtualClock), ("real time", real, RealClock)):
            errors = np.array([error(name, number, clock()) for number in range(count)])
            if count:
                line(
                    f"{name}, {count} runs, {title}",
                    f"{1e3 * errors.mean():.3f} mrad",
                    f"at most {1e3 * (rounding + ALLOWED):.3f}; worst run {1e3 * errors.max():.3f}",
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
