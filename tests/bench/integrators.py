"""What a step of each integrator costs on the paper's trajectories: `python -m tests.bench.integrators`.

The shipped M6 models swing 0.5 kg at 0.15 m; goals are commanded every 5 ms and held. Printed is the mean distance
from the second-order motion in steps of 25 µs, for steps of 5, 2.5 and 1 ms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.motion.simulation import simulate_trajectory
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.model import INTEGRATORS
from core.servo.shipped import load_model
from tests.bench.printing import line

SERVOS = ("mx106", "xl330", "erob80_100", "sts3215")
TRAJECTORIES = ("sin_time_square", "sin_sin", "lift_and_drop")
BENCH = Bench(mass=0.5, length=0.15)
SAMPLE = 0.005
"""Between commands [s]."""
PARTS = (1, 2, 5)
CONVERGED = 200


def main() -> None:
    """Print one line for each servo and integrator."""
    for servo in SERVOS:
        model = replace(load_model(servo, "m6"), dt=SAMPLE)

        def positions(name: str, integrator: str, parts: int, model=model) -> np.ndarray:
            stepped = replace(model, integrator=integrator, substeps=parts)
            trajectory = make_trajectory(name)
            return simulate_trajectory(stepped, trajectory, BENCH, model.default_settings(), SAMPLE).position

        for integrator in INTEGRATORS:
            found = []
            for name in TRAJECTORIES:
                exact = positions(name, "leapfrog", CONVERGED)
                costs = [np.abs(positions(name, integrator, parts) - exact).mean() for parts in PARTS]
                found.append(f"{name} " + " / ".join(f"{1e3 * cost:.2g}" for cost in costs))
            line(f"{servo}:m6, {integrator}, 5 / 2.5 / 1 ms [mrad]", "; ".join(found))


if __name__ == "__main__":
    main()
