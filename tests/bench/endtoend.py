"""From the wire to a model and back: `python -m tests.bench.endtoend`, or as part of `make bench`.

An emulated servo on its bus is scanned for, recorded, placed by hand and identified through the real drivers and
SDKs, as a person would with hardware; then the identified model is asked how far its motion is from the truth the
emulator moves by.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.motion.recording import Recording
from core.motion.simulation import on_grid, simulate_recording, with_integration
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.shipped import nominal_model
from tests.bench.printing import line


@dataclass(frozen=True)
class Case:
    """One emulated servo and how it is recorded."""

    emulator: str
    rate: float
    """[Hz]"""
    bench: Bench
    kps: tuple[float, ...]


CASES = {
    "dynamixel": Case("dynamixel:xl330", 200.0, Bench(mass=0.1, length=0.1), (200.0, 400.0)),
    "dynamixel1": Case("dynamixel:mx106", 200.0, Bench(mass=1.0, length=0.15), (8.0, 32.0)),
    "ethercat": Case("ethercat:erob80_50", 500.0, Bench(mass=8.0, length=0.2), (10.0, 50.0)),
}
TORQUES = 2
"""At which points are placed; each takes a quarter of a minute."""
FINE = 10
"""Parts of a step in which truth and model are simulated for the comparison."""


def truth_error(model: ServoModel, truth: ServoModel, runs: list[Recording], substeps: int) -> float:
    """Mean absolute distance between the rollouts of the two over the commands of runs on their grid [rad]."""
    return float(np.mean([np.abs(rollout(model, run, substeps) - rollout(truth, run, FINE)).mean() for run in runs]))


def rollout(model: ServoModel, run: Recording, substeps: int) -> np.ndarray:
    """Simulated position over a run's commands, (n,) rad."""
    return simulate_recording(with_integration(model, substeps=substeps), run, dt=run.time[1] - run.time[0]).position


def run_case(name: str, folder: str) -> None:
    """Everything with one emulated servo."""
    from bench_gui.headless.place.measuring import PlacementPlan, place_points
    from bench_gui.headless.place.virtual_hand import VirtualHand
    from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
    from core.practice.placement import suggest_torques
    from drivers.emulators.process import EmulatorProcess
    from drivers.emulators.registry import emulator_source
    from drivers.recorder.planned import RecordingPlan, record_plan
    from drivers.registry import ServoAddress
    from drivers.scan import scan
    from sessions import Session

    case = CASES[name]
    with EmulatorProcess(emulator_source(case.emulator)) as emulator:
        [address] = emulator.addresses
        bench = case.bench
        emulator.say(f"load {bench.mass} {bench.length}")
        place = ServoAddress.parse(address)
        found = scan(place.family, {"port": place.parts[0], "interface": place.parts[0]}, lambda step: None, bool)
        line(f"{name}: found by a scan", ", ".join(one.title for one in found))
        for kp in case.kps:
            plan = RecordingPlan(
                servo=address,
                trajectories=tuple(make_trajectory(one) for one in PAPER_TRAJECTORIES),
                bench=bench,
                kp=kp,
                rate=case.rate,
            )
            runs = record_plan(plan, partial(Session.open_or_create, folder), lambda share, text: None)
            line(
                f"{name}: four trajectories, gain {kp:g}",
                ", ".join(run.exit_status for run in runs),
                f"{sum(run.skipped_cycles for run in runs)} of {sum(run.samples for run in runs)} cycles skipped, "
                f"{sum(run.bus_errors for run in runs)} bus errors {''.join(run.reason for run in runs)}",
            )
        servo = Session.open(folder).runs()[0].servo
        torques = suggest_torques(nominal_model(load_servo(servo)), bench).torques[:TORQUES]
        points = place_points(
            PlacementPlan(servo=address, bench=bench, torques=torques, rate=200.0),
            folder,
            lambda step, steady: VirtualHand(emulator.hand, bench, step, steady),
            lambda text: print("   ", text) if ": no " in text else None,
        )
        line(f"{name}: points placed by hand", str(len(points)))
    judge(name, case, Session.open(folder).load_all())


def judge(name: str, case: Case, recordings: list[Recording]) -> None:
    """Identify from the recordings and compare with the truth."""
    from core.identification.identify import IdentificationRequest, identify

    spec = load_servo(recordings[0].settings.servo)
    truth = nominal_model(spec)
    step = f"{1e3 * spec.encoder_step:.3f}"
    runs = [on_grid(recording, 1.0 / case.rate)[0] for recording in recordings if recording.samples > 100]
    substeps = max(1, round(1e3 / case.rate))
    known = np.mean([np.abs(rollout(truth, run, FINE) - run.position).mean() for run in runs])
    line(f"{name}: recorded motion against the truth's own rollout", f"{1e3 * known:.3f} mrad", f"encoder step {step}")
    request = IdentificationRequest(
        servo=spec.name,
        models=("m1", "m4", "m6"),
        command_path=("command_delay",),
        dt=1.0 / case.rate,
        substeps=substeps,
        trials=20000,
        validation="none",
    )
    for result in identify(request, recordings).results:
        line(
            f"{name}: {result.model.friction.upper()} from the truth, over its runs",
            f"{1e3 * truth_error(result.model, truth, runs, substeps):.3f} mrad",
            f"≤ {step} (one encoder step); training error {1e3 * result.train_mae:.3f}",
        )


def main() -> None:
    """Each case in a network of its own."""
    if len(sys.argv) > 2 and sys.argv[1] == "inside":
        with tempfile.TemporaryDirectory() as folder:
            run_case(sys.argv[2], f"{folder}/session")
        return
    for name in sys.argv[1:] or CASES:
        subprocess.run(["unshare", "-Urn", sys.executable, "-m", "tests.bench.endtoend", "inside", name], check=False)


if __name__ == "__main__":
    main()
