"""Carry the published models over to the second-order step: `python -m tests.bench.carry_over [--write] [SERVO …]`.

Published values belong to the integrator and step they were fitted with and absorb its error. Each `mN-published` of
the catalogue is simulated as published: the four trajectories of seed 004 at three loads and three gains, 36 motions.
Its friction model is then fitted to these motions with the second-order step.

Rhoban/bam's order of update takes all forces half a step ahead. The part of this lead that commands see is a shift in
time, which no parameter holds and which belongs to the integrator: the fit gives commands half a step earlier.

Printed are mean distances from the published motions: after the fit; then also with the lead; of the published values
with the second-order step; after the fit at a load and gain that it has not seen. `--write` replaces the catalogue's
models; their provenance states these distances.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.catalogue import servos
from core.export.references import GridRun, default_bench, grid_runs, held_back_grid
from core.identification.search.objective import Batch
from core.identification.search.polish import polish
from core.identification.search.prior import Prior
from core.identification.search.search import search
from core.model import ServoModel
from core.recording import Recording
from core.shipped import PUBLISHED, load_model, published_originals
from core.simulation import simulate_trajectory
from core.trajectories import make_trajectory
from tests.bench.printing import line

MODELS = Path(__file__).parents[2] / "resources/models"
LOADS, GAINS = (0.5, 1.0, 2.0), (0.5, 1.0, 2.0)
"""Shares of the exporters' default load and of the catalogue's gain."""
STEP = 0.001
"""Simulation step of the carried-over models [s]."""
MOTOR_RANGE = 0.3
"""Torque constant, resistance and armature may move by this share of the published value."""
PRIOR = 0.01
"""Weight of the prior about the published values [rad]: it decides only what the motions leave open."""
BUDGET = 1500
"""Candidates per model; the first 300 find most of it, the others guard against a poor minimum."""


def recorded(model: ServoModel, runs: Sequence[GridRun], lead: float = 0.0) -> list[Recording]:
    """Return a model's motions with its own integrator and step as recordings.

    Goals are held from sample to sample; their commands are stated to come `lead` [s] earlier than they did.
    """
    recordings = []
    for run in runs:
        trajectory = make_trajectory(run.trajectory)
        motion = simulate_trajectory(model, trajectory, run.bench, run.settings, model.dt)
        channels = {
            "time": motion.time,
            "command_time": motion.time - lead,
            "goal_position": motion.goal_position,
            "torque_enable": trajectory.torque_enable(motion.time).astype(np.float64),
            "position": motion.position,
        }
        recordings.append(
            Recording(
                id=run.title, trajectory=run.trajectory, bench=run.bench, settings=run.settings, channels=channels
            )
        )
    return recordings


def distance(model: ServoModel, recordings: Sequence[Recording]) -> float:
    """Mean absolute position difference, averaged over recordings [rad]."""
    return float(Batch(model, recordings).scores().mae.mean())


def carried_over(published: ServoModel) -> ServoModel:
    """Return the second-order model whose motions are closest to the published ones; its provenance says how close."""
    bench, settings = default_bench(published), published.default_settings()
    runs = grid_runs(bench, settings, LOADS, GAINS)
    lead = published.step / 2.0 if published.integrator == "bam" else 0.0
    motions, leading = recorded(published, runs), recorded(published, runs, lead)
    name = published.name.removesuffix(" published")
    unfitted = replace(published, name=name, integrator="leapfrog", dt=STEP, substeps=1)
    values = published.values
    # The angle offset belongs to the bench of the published recordings, not to the servo.
    start = unfitted.parameters.frozen_at({"q_offset": values["q_offset"]}).with_bounds(
        {n: (values[n] * (1.0 - MOTOR_RANGE), values[n] * (1.0 + MOTOR_RANGE)) for n in ("kt", "R", "armature")}
    )
    template = replace(unfitted, parameters=start)
    batch = Batch(template, leading, prior=Prior.about(template, PRIOR))
    best = search(
        lambda candidates: batch.scores(candidates).combined("mae") + batch.prior_costs(candidates),
        start.bounds(),
        [start.vector()],
        BUDGET,
        seed=0,
        refine=lambda vector: polish(batch, vector, rough=True),
    ).best
    fitted = replace(unfitted, parameters=unfitted.parameters.with_values(start.with_vector(best).numbers()))
    carried = {
        "integrator": published.integrator,
        "step": published.step,
        "command_lead": lead,
        "motions": len(motions),
        "distance": distance(fitted, motions),
        "distance_with_lead": distance(fitted, leading),
        "unfitted_distance": distance(unfitted, motions),
        "held_back_distance": distance(fitted, recorded(published, held_back_grid(bench, settings))),
    }
    return replace(fitted, provenance={"source": published.provenance["source"], "carried_over": carried})


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry over the models of some servos, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.carry_over", description=(__doc__ or "").split("`")[0])
    parser.add_argument("servos", nargs="*", metavar="SERVO", help="servos of the catalogue (default: all)")
    parser.add_argument("--write", action="store_true", help="replace the models of the catalogue")
    asked = parser.parse_args(arguments)
    for servo in asked.servos or servos():
        for variant in published_originals(servo):
            published = load_model(servo, variant)
            model = carried_over(published)
            found = model.provenance["carried_over"]
            fitted, leading, plain, held = (
                1e3 * found[key]
                for key in ("distance", "distance_with_lead", "unfitted_distance", "held_back_distance")
            )
            moved = ", ".join(
                f"{n} {100 * (model.values[n] / published.values[n] - 1):+.0f} %" for n in ("kt", "R", "armature")
            )
            line(
                f"{servo}:{model.friction}",
                f"{fitted:.2f} mrad (with lead {leading:.2f}, unfitted {plain:.2f}, held back {held:.2f}); {moved}",
            )
            if asked.write:
                file = MODELS / servo / f"{variant.removesuffix(PUBLISHED)}.json"
                file.write_text(model.to_json_text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
