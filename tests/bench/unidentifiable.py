"""Recordings that cannot tell a parameter: `python -m tests.bench.unidentifiable [N] [FITS]`.

Random servos as in `tests.bench.design`, the supply's sag measured; readings with half an encoder step of white noise,
rounded. In each case there are changes of parameters that leave the motion as it is, which follow from the equations
of motion (seed 004, eqs 3, 6–10, 12–13; Algorithm 1). With A = k_t/R, B = k_t²/R, J the whole inertia, u·U the voltage:

- released      no run switches the torque off: β and t_r act nowhere.
- motor         M1, M2: J·θ̈ = A·u·U − (B + K_v)·θ̇ − friction(θ̇) + τ_e, so (a·k_t, a·R, K_v − (a − 1)·B) moves alike
                while driven, however many loads; with β in the model released too, as 1 − (1 − β)/a keeps β·B + K_v.
- drive only    the motor lifts and nothing is ever driven back, so that |K_m·τ_m − K_e·τ_e| = K_m·τ_m − K_e·τ_e:
                M5, M6: K_m with A·(1 − K_m) and A·K_m^s kept, whatever the loads; with one load K_e too, by
                s = (1 + K_e')/(1 + K_e) for J, A, K_c, K_v, K_c^s, K_e^s, K_e^q, as θ̈ has τ_e·(1 + K_e)/J;
                M3: K_l with A·(1 − K_l)/J, (1 + K_l)/J, K_c/J and K_v/J kept.
                M4 has the same K_l in (1 + K_l + S·K_l^s)/J, where Stribeck's S takes two values, and is told.
- slow          at one speed v, far below v_s: K_v with K_c + K_v·v kept, (a·k_t, a·R) with K_c + B·v kept, and
                K_c + K_c^s, as Stribeck's S is 1.
- current       law: β acts nowhere at all.

A change counts as proven only where simulations of all runs show it: over all samples Σ(Δθ/σ)² stays below 3.84, so
that no test of 5 % sees it, σ being the reading's. How far a parameter goes so within its bounds is its reach. At the
true values `judge` says "open" (no interval), gives one that holds the reach, or one that is too narrow: a false claim.
Where the motions agree to rounding it must say "open": "motor" is so exact unless a shaft is turned round within one
step, where Algorithm 1 clips the stopping torque by a K_v that the trade has changed. With one load and both directions
of friction nothing is exact for M3 to M6, as τ_e is known; how often their terms are open is told for comparison, with
one load and with two. Reaches below a twentieth of the bounds are left out. FITS of the servos of each case are
identified with a small budget too, where truth inside the interval is told instead.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.bench import Bench
from core.catalogue import load_servo
from core.identification.evidence.model import Evidence
from core.identification.evidence.sensitivity import judge
from core.identification.identify import IdentificationRequest, identify
from core.identification.next.design import commands
from core.model import ServoModel
from core.parameters import ParameterSet
from core.plan import GridPlan
from core.recording import Recording
from core.simulation import simulate_recording
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, make_trajectory
from tests.bench.design import STEP, draw
from tests.bench.intervals import NOISE
from tests.bench.printing import line

SERVOS = 20
FITS = 2
TRIALS = 4000
"""Of a fit."""
UNSEEN = 3.84
"""95 % quantile of χ² with one degree of freedom."""
ROUNDING = 1e-9
"""Of UNSEEN, below which motions are the same."""
LEAST_REACH = 0.05
"""Of the catalogue's interval."""
STEPS = np.concatenate([np.geomspace(1e-3, 1.0, 10), [1.5, 2.0, 3.0]])
"""How far a change is tried."""
SLOW_SPEED = 1e-3
"""Of the no-load speed."""

Values = dict[str, float]
Change = Callable[[Values, float], Values]
"""Values after a change of a size; 0 changes nothing."""


def scaled(values: Values, factor: float, *names: str) -> Values:
    """Some of the values times a factor."""
    return {**values, **{name: factor * values[name] for name in names if name in values}}


def alone(name: str, lower: float, upper: float) -> Change:
    """One parameter that acts nowhere, to its bounds."""

    def change(values: Values, size: float) -> Values:
        end = upper if size > 0.0 else lower
        return {**values, name: values[name] + min(abs(size), 1.0) * (end - values[name])}

    return change


def motor(values: Values, size: float) -> Values:
    """k_t and R against K_v, and β where it is."""
    a, emf = np.exp(size), values["kt"] ** 2 / values["R"]
    changed = scaled(values, a, "kt", "R") | {"friction_viscous": values["friction_viscous"] - (a - 1.0) * emf}
    if "release_braking" in values:
        changed["release_braking"] = 1.0 - (1.0 - values["release_braking"]) / a
    return changed


def stronger(values: Values, factor: float, law: str) -> Values:
    """The motor's torque times a factor, for the same command."""
    return scaled(values, factor, "kt") if law == "current" else scaled(values, 1.0 / factor, "R")


def driven_by_motor(law: str) -> Change:
    """K_m of M5 and M6 where the motor drives."""

    def change(values: Values, size: float) -> Values:
        km = values["load_friction_motor"] + 0.5 * size
        factor = (1.0 - values["load_friction_motor"]) / (1.0 - km) if km < 1.0 else np.inf
        changed = stronger({**values, "load_friction_motor": km}, factor, law)
        changed = scaled(changed, 1.0 / factor, "load_friction_motor_stribeck")
        return scaled(changed, factor**-2.0, "load_friction_motor_quad")

    return change


def driven_by_load(law: str, load_inertia: float) -> Change:
    """K_e of M5 and M6, or K_l of M3, where the motor drives one load."""

    def change(values: Values, size: float) -> Values:
        shared = "load_friction_base" in values
        name = "load_friction_base" if shared else "load_friction_external"
        coefficient = values[name] + 0.5 * size
        s = (1.0 + coefficient) / (1.0 + values[name])
        factor = s * (1.0 - values[name]) / (1.0 - coefficient) if shared and coefficient < 1.0 else s
        changed = scaled(
            values, s, "friction_base", "friction_viscous", "friction_stribeck",
            "load_friction_external_stribeck", "load_friction_external_quad",
        )  # fmt: skip
        changed = stronger(scaled(changed, 1.0 / s, "load_friction_motor_quad"), factor, law)
        armature = s * (values["armature"] + load_inertia) - load_inertia
        return {**changed, name: coefficient, "armature": armature}

    return change


def viscous_at(speed: float, upper: float) -> Change:
    """K_v against K_c at one speed [rad/s]."""

    def change(values: Values, size: float) -> Values:
        more = size * upper
        return {
            **values,
            "friction_viscous": values["friction_viscous"] + more,
            "friction_base": values["friction_base"] - more * speed,
        }

    return change


def motor_at(speed: float) -> Change:
    """k_t and R in proportion at one speed [rad/s]."""

    def change(values: Values, size: float) -> Values:
        a, emf = np.exp(size), values["kt"] ** 2 / values["R"]
        return scaled(values, a, "kt", "R") | {"friction_base": values["friction_base"] - (a - 1.0) * emf * speed}

    return change


def at_rest(values: Values, size: float) -> Values:
    """K_c against K_c^s, where both act in full."""
    more = size * values["friction_stribeck"]
    return {
        **values,
        "friction_base": values["friction_base"] + more,
        "friction_stribeck": values["friction_stribeck"] - more,
    }


@dataclass(frozen=True)
class Reach:
    """How far a parameter goes without being seen."""

    low: float
    high: float
    exact: bool
    """Whether the motion is the same but for rounding."""

    def joined(self, value: float, exact: bool) -> Reach:
        """Up to another value."""
        return Reach(min(self.low, value), max(self.high, value), self.exact or exact)


@dataclass(frozen=True)
class Case:
    """A servo with recordings that leave something open."""

    truth: ServoModel
    recordings: tuple[Recording, ...]
    changes: Mapping[str, tuple[Change, tuple[str, ...]]]
    """Name to a change that shows nowhere, and the parameters it moves that are planted as open."""

    def reach(self) -> dict[str, Reach]:
        """Of the planted parameters that are proven to be open."""
        values = self.truth.values
        found: dict[str, Reach] = {}
        for change, names in self.changes.values():
            for direction in (1.0, -1.0):
                for size in STEPS:
                    changed = change(values, direction * float(size))
                    seen = self._seen(changed) if self._possible(changed) else UNSEEN
                    if seen >= UNSEEN:
                        break
                    for name in names:
                        so_far = found.get(name, Reach(values[name], values[name], False))
                        found[name] = so_far.joined(changed[name], seen < ROUNDING * UNSEEN)
        widths = {p.name: p.upper - p.lower for p in self.truth.parameters.free}
        return {n: r for n, r in found.items() if n in widths and r.high - r.low >= LEAST_REACH * widths[n]}

    def _possible(self, values: Values) -> bool:
        return all(p.lower <= values[p.name] <= p.upper for p in self.truth.parameters.free)

    def _seen(self, values: Values) -> float:
        """Σ(Δθ/σ)² over all samples."""
        changed = self.truth.with_values(values)
        moved = [
            simulate_recording(changed, r).position - simulate_recording(self.truth, r).position
            for r in self.recordings
        ]
        return float(np.square(np.concatenate(moved)).sum()) / reading(self.truth) ** 2


Make = Callable[[int, ServoModel, GridPlan], Case]
"""Number of the servo, the servo and its grid."""


def reading(truth: ServoModel) -> float:
    """Standard deviation of a reading [rad]."""
    return float(load_servo(truth.servo).encoder_step * np.sqrt(NOISE**2 + 1.0 / 12.0))


def record(truth: ServoModel, planned: Sequence[Recording], seed: int) -> tuple[Recording, ...]:
    """What the servo does, as its encoder reads it."""
    step = load_servo(truth.servo).encoder_step
    found = []
    for number, run in enumerate(planned):
        motion = simulate_recording(truth, run)
        noise = np.random.default_rng([19, seed, number]).normal(scale=NOISE, size=run.samples)
        read = step * np.round(motion.position / step + noise)
        read[0] = motion.position[0]
        found.append(replace(run, id=f"{number}", channels={**run.channels, "position": read}))
    return tuple(found)


def moving(name: str, duration: float, goal: Callable[[np.ndarray], np.ndarray]) -> Trajectory:
    """A goal over time [s] that is driven all along."""
    return Trajectory(
        name=name,
        title=name,
        duration=duration,
        parameters=ParameterSet(),
        goal_function=lambda time, _: goal(time),
        enable_function=lambda time, _: np.ones(np.shape(time), dtype=bool),
    )


def planned(
    truth: ServoModel, plan: GridPlan, paths: Sequence[Trajectory], places: Sequence[tuple[float, float]], step: float
) -> list[Recording]:
    """Every trajectory at the lowest and the highest gain, at each place (mass kg, length m)."""
    gains = sorted({plan.kps[0], plan.kps[-1]})
    return [
        commands(path, Bench(mass=mass, length=length), truth.default_settings(kp), step)
        for mass, length in places
        for kp in gains
        for path in paths
    ]


def drawn(wanted: Callable[[ServoModel], bool], count: int) -> list[tuple[int, ServoModel, GridPlan]]:
    """The first servos that are wanted, with their supply measured."""
    found, number = [], 0
    while len(found) < count:
        trial = draw(number)
        truth = trial.truth
        if "supply_sag" in truth.command_path:
            truth = truth.with_parameters(truth.parameters.frozen_at({"supply_sag": 0.0}))
        if wanted(truth):
            found.append((number, truth, trial.plan))
        number += 1
    return found


def _idle(truth: ServoModel, *names: str) -> dict[str, tuple[Change, tuple[str, ...]]]:
    free = [p for p in truth.parameters.free if p.name in names]
    return {p.name: (alone(p.name, p.lower, p.upper), (p.name,)) for p in free}


def _motor(truth: ServoModel) -> dict[str, tuple[Change, tuple[str, ...]]]:
    if truth.control.law == "current" or truth.friction not in ("m1", "m2"):
        return {}
    beta = ("release_braking",) if "release_braking" in truth.values else ()
    return {"motor": (motor, ("kt", "R", "friction_viscous", *beta))}


def never_released(number: int, truth: ServoModel, plan: GridPlan) -> Case:
    """Two loads, every trajectory but the one that switches the torque off."""
    paths = [make_trajectory(name) for name in PAPER_TRAJECTORIES if name != "lift_and_drop"]
    places = [(plan.masses[0], plan.lengths[0]), (plan.masses[-1], plan.lengths[-1])]
    runs = record(truth, planned(truth, plan, paths, places, STEP), number)
    return Case(truth, runs, _idle(truth, "release_braking", "release_delay") | _motor(truth))


def one_load(number: int, truth: ServoModel, plan: GridPlan) -> Case:
    """One load, the paper's trajectories, two gains."""
    paths = [make_trajectory(name) for name in PAPER_TRAJECTORIES]
    runs = record(truth, planned(truth, plan, paths, [(plan.masses[0], plan.lengths[0])], STEP), number)
    current = truth.control.law == "current"
    return Case(truth, runs, _motor(truth) | (_idle(truth, "release_braking") if current else {}))


def drive_only(number: int, truth: ServoModel, plan: GridPlan) -> Case:
    """One load, lifted from hanging down at a speed that only grows."""
    paths = [
        moving(f"lift_{power}", 2.0, lambda time, power=power: 1.4 * (time / 2.0) ** power) for power in (1.5, 2.0, 3.0)
    ]
    place = (plan.masses[0], plan.lengths[0])
    runs = record(truth, planned(truth, plan, paths, [place], STEP), number)
    law = truth.control.law
    changes: dict[str, tuple[Change, tuple[str, ...]]] = {}
    gain = "kt" if law == "current" else "R"
    by_load = driven_by_load(law, Bench(mass=place[0], length=place[1]).inertia)
    if truth.friction == "m3":
        changes["load"] = by_load, ("load_friction_base", gain, "armature", "friction_base")
    if truth.friction in ("m5", "m6"):
        changes["motor's load"] = driven_by_motor(law), ("load_friction_motor", gain)
        changes["load"] = by_load, ("load_friction_external", gain, "armature", "friction_base")
    return Case(truth, runs, changes | _idle(truth, "release_braking", "release_delay"))


def slow(number: int, truth: ServoModel, plan: GridPlan) -> Case:
    """One crawling speed up and down, 20 readings a second."""
    crawling = replace(truth, substeps=10)
    speed = SLOW_SPEED * load_servo(truth.servo).no_load_speed
    paths = [moving("crawl", 60.0, lambda time: speed * (20.0 - np.abs(np.abs(time - 10.0) - 30.0) + 10.0))]
    places = [(plan.masses[0], plan.lengths[0]), (plan.masses[-1], plan.lengths[-1])]
    runs = record(crawling, planned(truth, plan, paths, places, 0.05), number)
    upper = truth.parameters["friction_viscous"].upper
    changes: dict[str, tuple[Change, tuple[str, ...]]] = {
        **_idle(truth, "friction_viscous"),
        "viscous": (viscous_at(speed, upper), ("friction_viscous",)),
    }
    if truth.control.law == "voltage":
        changes["motor"] = motor_at(speed), ("kt", "R")
    if "friction_stribeck" in truth.values:
        changes["at rest"] = at_rest, ("friction_base", "friction_stribeck")
    return Case(crawling, runs, changes)


def verdict(evidence: Evidence, name: str, reach: Reach) -> str:
    """ "open", "wide enough" or "too narrow"."""
    known = evidence.of(name)
    if not known.determined:
        return "open"
    inside = known.value - known.half_width <= reach.low and reach.high <= known.value + known.half_width
    return "wide enough" if inside else "too narrow"


def show(name: str, make: Make, servos: Sequence[tuple[int, ServoModel, GridPlan]], fits: int) -> None:
    """Verdicts of a case over its servos, and of a few fits."""
    verdicts: dict[str, Counter[str]] = {}
    fitted: dict[str, Counter[str]] = {}
    proven = 0
    for place, (number, truth, plan) in enumerate(servos):
        case = make(number, truth, plan)
        reaches = case.reach()
        proven += bool(reaches)
        evidence = judge(case.truth, case.truth.parameters, case.recordings, threads=1)
        for parameter, reach in reaches.items():
            said = verdict(evidence, parameter, reach)
            verdicts.setdefault(parameter, Counter()).update([said] + [f"exactly {said}"] * reach.exact)
            if said == "too narrow" or (reach.exact and said != "open"):
                known = evidence.of(parameter)
                print(
                    f"    {number} {truth.title}: {known.symbol} = {known.value:.3g} ± {known.half_width:.2g}, "
                    f"{reach.low:.3g} … {reach.high:.3g} {'move' if reach.exact else 'seem'} alike",
                    flush=True,
                )
        if place < fits and reaches:
            for parameter, said in fit(case, list(reaches)).items():
                fitted.setdefault(parameter, Counter())[said] += 1
    line(f"{name}: servos in which something is proven open", f"{proven} of {len(servos)}")
    for parameter, counted in sorted(verdicts.items()):
        total = sum(n for said, n in counted.items() if not said.startswith("exactly"))
        exact = sum(n for said, n in counted.items() if said.startswith("exactly"))
        line(
            f"{name}: {parameter} said to be open",
            f"{counted['open']} of {total}",
            f"{counted['exactly open']} of the {exact} exact ones; finite and wide enough {counted['wide enough']}, "
            f"too narrow {counted['too narrow']}",
        )
    for parameter, counted in sorted(fitted.items()):
        line(f"{name}: {parameter} after a fit", ", ".join(f"{said} {n}" for said, n in sorted(counted.items())))


def compare_loads(servos: Sequence[tuple[int, ServoModel, GridPlan]]) -> None:
    """How often terms are open with one load and with two, as many runs of each."""
    paths = [make_trajectory(name) for name in PAPER_TRAJECTORIES]
    opened: dict[str, list[int]] = {}
    for number, truth, plan in servos:
        near, far = (plan.masses[0], plan.lengths[0]), (plan.masses[-1], plan.lengths[-1])
        for place, places in enumerate(([near, near], [near, far])):
            runs = record(truth, planned(truth, plan, paths, places, STEP), number)
            evidence = judge(truth, truth.parameters, runs, threads=1)
            for p in evidence.parameters:
                if p.name in ("kt", "R", "armature", "friction_base") or p.name.startswith("load_friction"):
                    counts = opened.setdefault(p.name, [0, 0, 0])
                    counts[place] += not p.determined
                    counts[2] += place
    for parameter, (one, two, total) in opened.items():
        line(f"M3 to M6, both directions: {parameter} open", f"{one} → {two} of {total}", "one load → two")


def fit(case: Case, names: Sequence[str]) -> dict[str, str]:
    """What a fit says of the planted parameters."""
    truth = case.truth
    request = IdentificationRequest(
        servo=truth.servo,
        models=(truth.friction,),
        command_path=truth.command_path,
        frozen=tuple((p.name, p.value) for p in truth.parameters.values() if p.frozen),
        substeps=truth.substeps,
        validation="none",
        trials=TRIALS,
        threads=1,
    )
    evidence = identify(request, case.recordings).results[0].evidence
    said = {}
    for name in names:
        known = evidence.of(name)
        true = truth.values[name]
        covered = abs(known.value - true) <= known.half_width
        said[name] = "open" if not known.determined else "holds the truth" if covered else "misses the truth"
    return said


def main(count: int = SERVOS, fits: int = FITS) -> None:
    """Every case."""
    directional = ("m3", "m5", "m6")
    cases: tuple[tuple[str, Make, Callable[[ServoModel], bool]], ...] = (
        ("never released", never_released, lambda truth: bool(truth.command_path)),
        ("one load, M1 and M2", one_load, lambda truth: truth.friction in ("m1", "m2") and bool(truth.command_path)),
        ("one load, drive only", drive_only, lambda truth: truth.friction in directional),
        ("slow", slow, lambda truth: True),
    )
    for name, make, wanted in cases:
        show(name, make, drawn(wanted, count), fits)
    compare_loads(drawn(lambda truth: truth.friction not in ("m1", "m2"), count))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
