"""Planted faults: simulated sessions with one thing wrong, and whether the program names it.

`python -m tests.bench.planted [clean|faults] [servos]` prints for each fault, on servos with random numbers, how
often it was named, then how often a session without a fault was accused.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.identification.coverage.audit import audit
from core.identification.coverage.doubts import HeaderDoubt
from core.identification.coverage.findings import Finding
from core.identification.coverage.report import coverage
from core.identification.evidence.residuals import diagnose_residuals
from core.identification.identify import IdentificationRequest, identify
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.motion.recording import Recording
from core.motion.simulation import NO_LOAD
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel, build_model
from core.servo.shipped import load_model
from tests.bench.printing import line

RATE = 200.0
FINER = 5
"""The truth moves in steps so many times finer than samples, so that no fit is exact."""

TRAJECTORIES = ("sin_time_square", "lift_and_drop", "sin_sin")
PATH = ("command_delay", "error_gain_ratio", "release_braking")


@dataclass(frozen=True)
class Rig:
    """What a servo's session is recorded with."""

    masses: tuple[float, float]
    length: float
    kps: tuple[float, float]
    supply: float
    low_supply: float
    """What is really there where `supply` is written and wrong [V]."""


RIGS = {
    "mx106": Rig((1.0, 2.0), 0.15, (8.0, 32.0), 15.0, 12.0),
    "xl330": Rig((0.15, 0.3), 0.10, (200.0, 400.0), 7.5, 6.0),
    "sts3215": Rig((0.5, 1.0), 0.12, (8.0, 24.0), 12.1, 9.68),
}


@dataclass(frozen=True)
class Run:
    """What really happens in one run: its header is filled in by these unless a fault changes it."""

    trajectory: str
    mass: float
    kp: float
    supply: float
    offset: float = 0.0
    slip: float = 0.0
    """Added to the offset from half time on [rad]."""


def servo(name: str, seed: int, friction: str = "m4") -> ServoModel:
    """A servo near the shipped one: k_t ±4 %, R ±8 %, armature ±10 %, friction ±20 %, gain ±2 % (one sigma)."""
    random = np.random.default_rng([seed, 7])
    known = load_model(name, friction).values
    model = build_model(name, friction, command_path=PATH, dt=1.0 / RATE, substeps=FINER)
    spread = {"kt": 0.04, "R": 0.08, "armature": 0.1}
    values = {}
    for p in model.parameters.values():
        if p.name in PATH or p.name == "q_offset":
            continue
        values[p.name] = known[p.name] * math.exp(spread.get(p.name, 0.2) * random.normal())
    values |= {
        "q_offset": 0.02 * random.normal(),
        "command_delay": random.uniform(0.004, 0.02),
        "error_gain_ratio": math.exp(0.02 * random.normal()),
        "release_braking": random.uniform(0.0, 0.6),
    }
    return model.with_values(values)


def plan(name: str, trajectories: Sequence[str] = TRAJECTORIES) -> list[Run]:
    """Two masses × two gains × the trajectories."""
    rig = RIGS[name]
    return [Run(t, mass, kp, rig.supply) for mass in rig.masses for kp in rig.kps for t in trajectories]


def record(model: ServoModel, run: Run, name: str, seed: int) -> Recording:
    """A run with noise of a third of a count, quantised as the encoder does; no channel but the needed ones."""
    path = make_trajectory(run.trajectory)
    rig = RIGS[model.servo]
    bench = Bench(mass=run.mass, length=rig.length)
    settings = replace(model.default_settings(run.kp), supply_voltage=run.supply)
    count = round(path.duration * RATE)
    time = np.arange(count) / RATE
    goal, enable = path.goal(time), path.torque_enable(time).astype(float)
    n, h = model.substeps, 1.0 / RATE / model.substeps
    out, state = np.empty((count, len(OUTPUTS))), initial_state(0.0, 0.0)
    kernel, nothing = rollout_kernel(*model.kernel_variant), np.zeros(count * n)
    half = count // 2 if run.slip else count
    for first, last, offset in ((0, half, run.offset), (half, count, run.offset + run.slip)):
        if last > first:
            past = first * n
            told = (goal, np.ones(count), enable, np.full(count, run.supply))
            commands = [np.repeat(values[:last], n) for values in told]
            row = model.bound_row(replace(bench, angle_offset=offset), settings, h)
            kernel(row, state, *commands, NO_LOAD, *(nothing[: last * n],) * 3, past, h, n, out[first:last])
    step = load_servo(model.servo).encoder_step
    noise = 0.3 * step * np.random.default_rng([seed, 11]).normal(size=count)
    position = step * np.round((out[:, 0] + noise) / step)
    channels = {"time": time, "goal_position": goal, "torque_enable": enable, "position": position}
    return Recording(id=name, trajectory=run.trajectory, bench=bench, settings=settings, channels=channels)


def session(model: ServoModel, runs: Sequence[Run], seed: int = 0) -> list[Recording]:
    """All runs, ids in the order of recording."""
    return [record(model, run, f"{i:04d}_{run.trajectory}", 100 * seed + i) for i, run in enumerate(runs, 1)]


@dataclass(frozen=True)
class Fault:
    """Something wrong in a session, and what has to be said about it."""

    name: str
    recordings: list[Recording]
    kinds: tuple[str, ...]
    """Kinds of findings, or facts of doubts, any of which names it."""
    runs: tuple[str, ...]
    """Ids of the runs that are wrong."""


FAULTS = (
    "mass", "slip_swing", "slip_driven", "offset_run", "offset_from", "gap", "sign_run", "sign_all",
    "kp_group", "kp_half_group", "kp_all", "kp_half_all", "supply_group", "supply_all",
)  # fmt: skip


def plant(fault: str, model: ServoModel, seed: int = 0) -> Fault:
    """A session with one fault: reality differs from the headers, or the samples are spoilt."""
    name = model.servo
    rig, planned = RIGS[name], plan(name)
    heavy = [i for i, run in enumerate(planned) if run.mass == rig.masses[1]]
    low = [i for i, run in enumerate(planned) if run.kp == rig.kps[0]]
    high = [i for i, run in enumerate(planned) if run.kp == rig.kps[1]]
    every = list(range(len(planned)))
    changes: dict[str, tuple[list[int], dict[str, float], tuple[str, ...]]] = {
        "mass": (heavy, {"mass": 1.1 * rig.masses[1]}, ("mass",)),
        "slip_swing": ([4], {"slip": 0.1}, ("angle_offset",)),
        "slip_driven": ([8], {"slip": 0.1}, ("angle_offset",)),
        "offset_run": ([7], {"offset": 0.1}, ("angle_offset",)),
        "offset_from": (every[7:], {"offset": 0.1}, ("angle_offset",)),
        "kp_group": (low, {"kp": 1.25 * rig.kps[0]}, ("kp",)),
        "kp_half_group": (high, {"kp": 0.5 * rig.kps[1]}, ("kp",)),
        "kp_all": (every, {"kp": 1.25}, ("kp",)),
        "kp_half_all": (every, {"kp": 2.0}, ("kp",)),
        "supply_group": (heavy, {"supply": rig.low_supply}, ("supply_voltage",)),
        "supply_all": (every, {"supply": rig.low_supply}, ("supply_voltage",)),
        "gap": ([5], {}, ("gap",)),
        "sign_run": ([5], {}, ("sign",)),
        "sign_all": (every, {}, ("sign",)),
    }
    places, change, kinds = changes[fault]
    real = list(planned)
    for i in places:
        factor = fault in ("kp_all", "kp_half_all")
        real[i] = replace(real[i], **({"kp": real[i].kp * change["kp"]} if factor else change))
    found = [_headed(r, run) for r, run in zip(session(model, real, seed), planned, strict=True)]
    for i in places:
        if fault == "gap":
            found[i] = without(found[i], 2.0, 0.04)
        elif fault.startswith("sign"):
            found[i] = negated(found[i])
    return Fault(fault, found, kinds, tuple(found[i].id for i in places))


def _headed(recording: Recording, run: Run) -> Recording:
    """A recording whose header says what was planned."""
    settings = replace(recording.settings, kp=run.kp, supply_voltage=run.supply)
    return replace(recording, bench=replace(recording.bench, mass=run.mass), settings=settings)


def without(recording: Recording, begin: float, duration: float) -> Recording:
    """A recording that lost its samples between two moments [s]."""
    since = recording.time - recording.time[0]
    kept = (since < begin) | (since >= begin + duration)
    return replace(recording, channels={name: values[kept] for name, values in recording.channels.items()})


def negated(recording: Recording) -> Recording:
    """A recording whose position has the wrong sign."""
    return replace(recording, channels={**recording.channels, "position": -recording.position})


def quick_fit(recordings: Sequence[Recording], friction: str = "m4", trials: int = 6000) -> ServoModel:
    """A fit to these recordings, faults and all, with a small budget."""
    request = IdentificationRequest(
        servo=recordings[0].settings.servo,
        models=(friction,),
        command_path=PATH,
        validation="none",
        trials=trials,
        threads=1,
    )
    return identify(request, recordings).results[0].model


@dataclass(frozen=True)
class Said:
    """What was said about a session before and after a quick fit; notes are left out."""

    findings: tuple[Finding, ...]
    doubts: tuple[HeaderDoubt, ...]

    @property
    def quiet(self) -> bool:
        """Whether nothing was said."""
        return not self.findings and not self.doubts

    def names(self, fault: Fault) -> bool:
        """Whether a fault was named with a run that has it."""
        found = any(f.kind in fault.kinds and set(fault.runs) & set(f.runs) for f in self.findings)
        return found or any(d.names(kind, run) for d in self.doubts for kind in fault.kinds for run in fault.runs)

    def first(self, fault: Fault) -> bool:
        """Whether what was said first is this fault in exactly these runs."""
        found = any(f.kind in fault.kinds and set(fault.runs) == set(f.runs) for f in self.findings)
        first = self.doubts[:1]
        return found or any(d.fact in fault.kinds and set(d.runs) == set(fault.runs) for d in first)


def ask(recordings: Sequence[Recording], model: ServoModel | None = None) -> Said:
    """Coverage, then an audit with a model fitted to the same recordings where they can be fitted."""
    seen = coverage(recordings)
    findings = tuple(f for f in seen.findings if f.severity != "note")
    spoilt = any(f.severity == "error" for f in findings)
    doubts = () if spoilt and model is None else audit(model or quick_fit(recordings), recordings, threads=1)
    return Said(findings, doubts)


def show_faults(servos: int) -> None:
    """Every fault on random servos of each kind: how often it was named, and how often first of all."""
    for name in RIGS:
        for fault_name in FAULTS:
            said = []
            for seed in range(servos):
                fault = plant(fault_name, servo(name, seed), seed)
                said.append((fault, ask(fault.recordings)))
            named = sum(s.names(fault) for fault, s in said)
            first = sum(s.first(fault) for fault, s in said)
            line(f"{name}: {fault_name} named, and first with exactly its runs", f"{named}/{servos} {first}/{servos}")
            for seed, (fault, s) in enumerate(said):
                if not s.names(fault):
                    print(f"    servo {seed}: {[str(x) for x in (*s.findings, *s.doubts)]}", flush=True)


def show_clean(servos: int) -> None:
    """Sound sessions of random servos: how often something was said, with a model that can and one that cannot fit."""
    for name in RIGS:
        for friction in ("m4", "m1"):
            loud = 0
            for seed in range(100, 100 + servos):
                recordings = session(servo(name, seed), plan(name), seed)
                model = quick_fit(recordings, friction)
                said = ask(recordings, model)
                hints = diagnose_residuals(model, recordings, threads=1).hints
                if not said.quiet:
                    loud += 1
                    print(f"    servo {seed}: {[str(x) for x in (*said.findings, *said.doubts)]}", flush=True)
                if hints and friction == "m4":
                    print(f"    servo {seed} hints: {[str(x) for x in hints]}", flush=True)
            line(f"{name}: sound sessions accused, fitted with {friction.upper()}", f"{loud}/{servos}", "0")


def main() -> None:
    """Run what is asked for."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else "all"
    servos = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if wanted in ("all", "faults"):
        show_faults(servos)
    if wanted in ("all", "clean"):
        show_clean(servos)


if __name__ == "__main__":
    main()
