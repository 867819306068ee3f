"""Servos planted in an assembled arm: errors and intervals that the program finds, and what a joint's load costs.

`python -m tests.bench.robot [cost|planted] [motions]`. The arm is the shipped SO-101. Its servos are M4 with a command
path, near the shipped model; MuJoCo moves all five at once. Motions have the noise and the steps of an encoder.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from core.identification.evidence.model import NORMAL_95
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.objective import Batch
from core.motion.recording import JOINT, LOAD_CHANNELS, MOTION, Recording
from core.robot.arm import JointServo, simulate_robot
from core.robot.chain import Chain
from core.robot.runs import robot_runs
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model
from tests.bench.printing import line

SERVO = "sts3215"
SETTINGS = ServoSettings(servo=SERVO, kp=16.0, supply_voltage=12.1)
ROBOT = Path(str(files("resources") / "examples" / "so101" / "robot.urdf"))
NAMES = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")
NOISE = 3e-4
"""Standard deviation of the noise of a reading, before it is rounded to the encoder's step [rad]."""
DURATION, STEP = 16.0, 0.02
MOTIONS = 12
FINE = 0.0005
"""Time step of the truth [s]: at 1 ms, an error of MuJoCo of up to 1.6 mrad would count as that of the program."""
MAE_BAR, INSIDE_BAR, COST_BAR = 2.0, 0.9, 2.0


def planted_servo(seed: int) -> ServoModel:
    """The shipped M4, each value 10 % off (one sigma) and its zero 10 mrad."""
    random, known = np.random.default_rng([seed, 3]), load_model(SERVO, "m4")
    moved = {p.name: p.value * float(np.exp(random.normal(0.0, 0.1))) for p in known.parameters.free}
    inside = {p.name: float(np.clip(moved[p.name], p.lower, p.upper)) for p in known.parameters.free}
    return known.with_values({**inside, "q_offset": float(random.normal(0.0, 0.01))})


def goals(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and goals (n, joints) [rad]: poses that are held, then swings of all joints."""
    random, at = np.random.default_rng([seed, 5]), np.arange(0.0, DURATION, STEP)
    poses = random.uniform(-0.7, 0.7, (3, len(NAMES)))[np.minimum(at // 2.0, 2).astype(int)]
    swings = 0.6 * np.sin(np.outer(at, random.uniform(1.0, 6.0, len(NAMES))) + random.uniform(0.0, 6.0, len(NAMES)))
    return at, np.where(at[:, None] < 6.0, poses, swings)


def planted_runs(servos: dict[str, JointServo], count: int) -> list[Recording]:
    """Runs of all joints in `count` motions."""
    runs: list[Recording] = []
    for seed in range(count):
        at, goal = goals(seed)
        moved = simulate_robot(ROBOT, servos, NAMES, at, goal, np.tile(goal[:1], (len(at), 1)), timestep=FINE)
        step = load_model(SERVO, "m4").spec.encoder_step
        read = step * np.round((moved + np.random.default_rng([seed, 9]).normal(0.0, NOISE, moved.shape)) / step)
        for place, name in enumerate(NAMES):
            channels: dict[str, Any] = {"time": at, "goal_position": goal[:, place], "position": read[:, place]}
            channels["torque_enable"] = np.ones(len(at), np.uint8)
            origin = {JOINT: name, MOTION: f"motion{seed}", "source_sha256": f"{seed}"}
            known = {"trajectory": f"motion{seed}", "bench": Bench(mass=0.0, length=0.0), "settings": SETTINGS}
            runs.append(Recording(id=f"{seed}-{name}", channels=channels, provenance=origin, **known))
    return runs


def planted(count: int) -> None:
    """Identify each planted servo without a prior, and compare its values and motions with the truth."""
    servos = {name: JointServo(model=planted_servo(k), settings=SETTINGS) for k, name in enumerate(NAMES)}
    found = robot_runs(Chain(ROBOT), planted_runs(servos, count))
    inside: list[bool] = []
    for name, runs in found.joints.items():
        request = IdentificationRequest(
            servo=SERVO, models=("m4",), command_path=servos[name].model.command_path, contact="rigid", substeps=4,
            start=tuple(load_model(SERVO, "m6").values.items()), trials=2000, threads=1,
        )  # fmt: skip
        (best,) = identify(request, runs).results
        line(f"{name}: error on held-out motions", f"{1e3 * (best.validation_mae or 0.0):.2f} mrad", f"≤ {MAE_BAR:g}")
        truth = servos[name].model.values
        known = [p for p in best.evidence.parameters if p.narrowed and not p.frozen]
        here = [abs(p.value - truth[p.name]) <= NORMAL_95 * p.standard_error for p in known]
        line(f"{name}: narrowed values whose 95 % interval has the truth", f"{sum(here)} of {len(here)}")
        inside += here
    line("all joints", f"{sum(inside) / len(inside):.0%}", f"≥ {INSIDE_BAR:.0%}")


def cost() -> None:
    """Score 60 s of a joint, and of six, and of a pendulum with as many samples, in pairs."""
    at = np.arange(0.0, 60.0, STEP)
    load = (0.01 + 0.003 * np.sin(at), 0.4 + 0.1 * np.cos(at), 0.1 * np.sin(2.0 * at), 0.05 * np.sin(3.0 * at))
    named = dict(zip((channel.name for channel in LOAD_CHANNELS), load, strict=True))
    for friction in ("m1", "m6"):
        model = replace(load_model(SERVO, friction), substeps=4)
        for joints in (1, 6):
            runs = [
                Recording(
                    id=f"{k}", trajectory="t", bench=Bench(mass=0.3, length=0.12), settings=SETTINGS,
                    channels={
                        "time": at, "goal_position": 0.6 * np.sin((1.0 + 0.3 * k) * at),
                        "torque_enable": np.ones(len(at), np.uint8), "position": 0.6 * np.sin((1.0 + 0.3 * k) * at),
                    },
                )
                for k in range(joints)
            ]  # fmt: skip
            loaded = [replace(run, channels={**run.channels, **named}, provenance={JOINT: "a"}) for run in runs]
            batches = [Batch(model, each, threads=1) for each in (runs, loaded)]
            rows = np.repeat(model.parameters.vector()[None], 16, axis=0)
            taken = [[_seconds(batch, rows) for batch in batches] for _ in range(16)][1:]
            ratio = statistics.median(joint / pendulum for pendulum, joint in taken)
            line(f"{friction}: 60 s of {joints} over a pendulum's", f"{ratio:.2f}", f"≤ {COST_BAR:g}")


def _seconds(batch: Batch, rows: np.ndarray) -> float:
    begun = time.perf_counter()
    batch.scores(rows)
    return time.perf_counter() - begun


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    what = arguments[0] if arguments else ""
    if what in ("", "cost"):
        cost()
    if what in ("", "planted"):
        planted(int(arguments[1]) if len(arguments) > 1 else MOTIONS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
