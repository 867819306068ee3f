"""Time of `coverage` by the number of runs of one condition: `python -m tests.bench coverage [--runs 250,500,…]`.

One XL330 run is simulated; the others are the same run with the noise of an encoder's count. With linear work twice the
runs take twice the time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

from core.bench import Bench
from core.catalogue import load_servo
from core.identification.coverage.report import coverage
from core.recording import Recording
from core.shipped import load_model
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory
from tests.bench.printing import line

RUNS = (250, 500, 1000, 2000)
RATE = 200.0
DURATION = 6.0
BAR = "≤ 20 s for 2,000 runs"


def repetitions(count: int, trajectory: str = "sin_time_square", duration: float = DURATION) -> list[Recording]:
    """So many runs of one condition, which differ by their noise."""
    model, bench = load_model("xl330", "m6"), Bench(mass=0.1, length=0.1)
    settings = model.default_settings()
    motion = simulate_trajectory(model, make_trajectory(trajectory, duration), bench, settings, 1.0 / RATE)
    channels = {
        "time": motion.time,
        "goal_position": motion.goal_position,
        "torque_enable": np.ones(len(motion.time), dtype=np.uint8),
        "position": motion.position,
    }
    first = Recording(id="0001", trajectory=trajectory, bench=bench, settings=settings, channels=channels)
    noise, step = np.random.default_rng(0), load_servo("xl330").encoder_step

    def another(number: int) -> Recording:
        position = np.round((motion.position + step * noise.normal(size=len(motion.position))) / step) * step
        return replace(first, id=f"{number:04d}", channels={**channels, "position": position})

    return [another(number) for number in range(1, count + 1)]


def main() -> None:
    """Print seconds and ratios."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench coverage")
    parser.add_argument("--runs", default=",".join(map(str, RUNS)), metavar="N,…", help="(%(default)s)")
    counts = [int(text) for text in parser.parse_args().runs.split(",")]
    recordings = repetitions(max(counts))
    coverage(recordings[:2])
    before = 0.0
    for count in counts:
        begin = time.perf_counter()
        coverage(recordings[:count])
        took = time.perf_counter() - begin
        line(
            f"coverage of {count} runs of one condition",
            f"{took:.2f} s",
            f"{took / before:.2f} × the last; {BAR}" if before else BAR,
        )
        before = took


if __name__ == "__main__":
    main()
