"""Whether compliant actuators' 95 % intervals cover the truth: `python -m tests.bench.compliant_intervals [TRIALS]`.

Each trial plants an actuator with random springs, losses and motors, records it on the simulated servo (two presets and
two loads, fast swings and a drop with the torque off) and identifies it from the toolbox's numbers: every other one
with known motors, the others with everything free. Printed are the share of determined numbers whose interval holds
the true value, and how close to the truth's own error each fit came.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace

import numpy as np

from core.motion.recording import Recording, RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.parameters import ParameterSet
from core.servo.shipped import load_model
from core.studies.compliant.elastic import AwasII, Bavs, QbMove, Sea
from core.studies.compliant.files import CompliantUnit
from core.studies.compliant.identification import CompliantIdentification, CompliantRequest, identify_compliant
from core.studies.compliant.runs import GROUPS, LINK, SPRINGS, CompliantRuns, unit_with, unknowns
from drivers.clock import VirtualClock
from drivers.recorder import MemorySink, record_inline
from drivers.simulated import CompliantPlant, SimulatedServo

TRIALS = 30
SERVO = "mx106"
RATE = 100.0
"""[Hz]"""
BENCHES = (Bench(mass=0.2, length=0.1), Bench(mass=0.4, length=0.1))
TRAJECTORIES = (make_trajectory("sin_time_square", 3.0), make_trajectory("lift_and_drop", 3.0, lift_time=1.5))
KINDS = (
    (QbMove(k1=0.0227, a1=6.7328, k2=0.0316, a2=5.2), (0.1, 0.4)),
    (Sea(stiffness=24.0), (None,)),
    (AwasII(spring_stiffness=14.0, lever=0.06), (0.004, 0.012)),
    (Bavs(a=2e-6, b=3e-6, k_e=7.0), (0.01, 0.2)),
)
"""Springs that are varied, and the presets they are recorded at."""
FACTOR = 1.4
"""Numbers are planted between their own divided and multiplied by this."""


def planted(number: int) -> tuple[CompliantUnit, tuple[float | None, ...]]:
    """A trial's actuator and presets."""
    actuator, presets = KINDS[number // 2 % len(KINDS)]
    unit = CompliantUnit(actuator=actuator)
    draw = np.random.default_rng([17, number])
    parameters = unknowns(unit, GROUPS)
    values = {p.name: p.value * FACTOR ** draw.uniform(-1.0, 1.0) for p in parameters.free}
    return unit_with(
        unit, ParameterSet([replace(p, value=values.get(p.name, p.value)) for p in parameters.values()])
    ), (presets)


def record(unit: CompliantUnit, presets: tuple[float | None, ...], seed: int) -> list[Recording]:
    """Runs of every preset, load and trajectory."""
    runs = []
    for preset in presets:
        for bench in BENCHES:
            for trajectory in TRAJECTORIES:
                plant = CompliantPlant(unit=unit, preset=preset)
                servo = SimulatedServo(SERVO, clock=VirtualClock(), actuator=plant, seed=1000 * seed + len(runs))
                servo.connect()
                settings = replace(
                    load_model(SERVO, "m6").default_settings(), actuator=unit.actuator.name, preset=preset
                )
                header = RunHeader(trajectory=trajectory.name, bench=bench, settings=settings, rate=RATE)
                sink = MemorySink()
                result = record_inline(servo, trajectory, header, sink)
                if result.exit_status != "success":
                    raise RuntimeError(result.reason)
                channels = {name: sink.rows[name].copy() for name in sink.rows.dtype.names or ()}
                runs.append(
                    Recording(
                        id=f"{len(runs)}",
                        trajectory=trajectory.name,
                        bench=bench,
                        settings=settings,
                        channels=channels,
                    )
                )
    return runs


def fit(unit: CompliantUnit, runs: list[Recording], *, motors_known: bool) -> CompliantIdentification:
    """Identify an actuator from the toolbox's numbers."""
    start = CompliantUnit(actuator=type(unit.actuator)())
    if motors_known:
        start = replace(start, motor=unit.motor, pid=unit.pid)
    groups = (SPRINGS, LINK) if motors_known else GROUPS
    return identify_compliant(runs, CompliantRequest(start=start, groups=groups, validation="none", threads=1))


def main(trials: int = TRIALS, first: int = 0) -> None:
    """Print the coverage."""
    inside = judged = free = 0
    for number in range(first, first + trials):
        began = time.monotonic()
        unit, presets = planted(number)
        runs = record(unit, presets, number)
        found = fit(unit, runs, motors_known=number % 2 == 0)
        truth = unknowns(unit, GROUPS).numbers()
        certain = [p for p in found.evidence.parameters if p.determined and not p.frozen]
        off = {p.symbol: (p.value - truth[p.name]) / max(p.half_width, 1e-300) for p in certain}
        free += sum(not p.frozen for p in found.evidence.parameters)
        judged += len(off)
        inside += sum(abs(z) <= 1.0 for z in off.values())
        own = CompliantRuns(runs, unit, threads=1)
        error = float(own.finer_for(unit).errors(unit).mean())
        print(
            f"{number:3d} {unit.actuator.name:7s} {found.train_mae / error:6.3f} of the truth's error "
            f"({1e3 * error:.3f} mrad), {time.monotonic() - began:.0f} s; errors in half widths: "
            f"{', '.join(f'{name} {z:+.2f}' for name, z in off.items())}; relative half widths up to "
            f"{max((p.half_width / p.value for p in certain), default=math.nan):.3f}",
            flush=True,
        )
    print(
        f"{inside} of {judged} determined numbers ({free} free) inside: {100.0 * inside / max(judged, 1):.1f} %, ",
        end="",
    )
    print("bar 90 to 99 %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
