"""Worth of friction models on the seed's two arms of servos: `python -m tests.bench.arm [ARM …]`.

Fig. 7 of seed 004 with a simulated truth: the published M6 at a tenth of the time step. One line a path and gain, the
error of each candidate in mrad, both joints; half a minute an arm on one core.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.export.programs import program
from core.export.servo_file import servo_numbers
from core.kernel.layout import Slot
from core.practice.diagram import peak_torque
from core.servo.bench import Bench
from core.studies.arm.dynamics import FRICTION_SLOTS, arm_step
from core.studies.arm.links import ArmLinks
from core.studies.arm.paths import PATHS, arm_path
from core.studies.arm.scene import ARMS, published_arm
from core.studies.arm.simulate import COMMAND_STEP, TIMESTEP, ArmServo, simulate_arm
from core.studies.arm.validation import (
    FINER,
    FITTED_M1,
    GAINS,
    PERIOD,
    TWICE,
    ArmValidation,
    arm_candidates,
    arm_servos,
    gains_of,
    published_models,
    validate_arm,
)
from tests.bench.printing import line

Array = NDArray[np.float64]

TRUTH = "m6"
CASES = 6
"""Of eight, in which the fitted M1 is to be at least twice as far off as M6."""
STEP_BAR = 1.0
"""Error of the truth's own model at the full time step [mrad]."""


def table(name: str) -> ArmValidation:
    """All cases of an arm with the closest and the published models, printed as they are."""
    arm = published_arm(name)
    truth = published_models(arm.servos, TRUTH)
    base = arm.links.base
    shoulder, elbow = (peak_torque(model) for model in truth)
    print(f"\n{arm.title}: gravity at the stretched, horizontal arm {base.gravity_1 + base.gravity_2:.3g} N·m")
    print(f"({(base.gravity_1 + base.gravity_2) / shoulder:.0%} of the shoulder's peak torque), at the elbow")
    print(f"{base.gravity_2:.3g} N·m ({base.gravity_2 / elbow:.0%})")
    began = time.perf_counter()
    candidates = arm_candidates(truth)
    fitted = time.perf_counter()
    found = validate_arm(arm.links, truth, candidates)
    print(f"fitted M1 of two servos {fitted - began:.0f} s, simulations {time.perf_counter() - fitted:.0f} s")
    show(found)
    return found


def show(found: ArmValidation) -> None:
    """A line a case, and their mean."""
    names = [candidate.name for candidate in found.candidates]
    for quantity, of in (("MAE / mrad", lambda e: e.mae_mrad), ("tip / mm", lambda e: e.tip_mm)):
        print(f"{quantity:<24}" + "".join(f"{name:>15}" for name in names))
        for case in found.cases:
            print(f"{case.title:<24}" + "".join(f"{of(case.errors[name]):15.3f}" for name in names))
        means = [np.mean([of(case.errors[name]) for case in found.cases]) for name in names]
        print(f"{'mean':<24}" + "".join(f"{mean:15.3f}" for mean in means), flush=True)


def judge(name: str, found: ArmValidation) -> None:
    """The bars."""
    ratios = found.ratios(FITTED_M1, TRUTH)
    met = int((ratios >= TWICE).sum())
    bar = f"bar: at least {CASES} of {len(ratios)}"
    line(f"{name}: cases in which the fitted M1 errs twice as much as M6", f"{met} of {len(ratios)}", bar)
    line(f"{name}: smallest and largest ratio", f"{ratios.min():.3g} … {ratios.max():.3g}")
    line(f"{name}: M6 at {TIMESTEP * 1e3:g} ms, worst case", f"{found.worst(TRUTH):.4f} mrad", f"bar: < {STEP_BAR}")
    for candidate in found.candidates:
        if candidate.name not in (FITTED_M1, TRUTH):
            relative = found.ratios(FITTED_M1, candidate.name)
            line(f"{name}: fitted M1 over {candidate.name}", f"{relative.min():.2f} … {relative.max():.2f}")


def independent_motion(links: ArmLinks, servos: Sequence[ArmServo], goals: Array, step: float) -> Array:
    """Positions (n, 2) rad at each command by the equations of `core.studies.arm.dynamics` instead of the engine's.

    The control laws are those of `servobench_servo`, at the time itself instead of half a step later; step [s].
    """
    bank = program("servobench_servo").Bank([servo_numbers(s.model, s.settings) for s in servos], step)
    bank.reset(goals[0])
    rows = [s.model.bound_row(Bench(mass=0.0, length=0.0), s.settings, step) for s in servos]
    numbers = [*vars(links.base).values(), *(row[Slot.ARMATURE] for row in rows)]
    for row in rows:
        row[Slot.STRIBECK_VELOCITY] = 1.0 / row[Slot.STRIBECK_VELOCITY]
        numbers += [row[slot] for slot in FRICTION_SLOTS]
    found, state = np.empty_like(goals), (*goals[0], 0.0, 0.0)
    advance: Any = arm_step
    for k, goal in enumerate(goals):
        found[k] = state[:2]
        for _ in range(round(COMMAND_STEP / step)):
            bank.command(goal, 1.0)
            state = advance(*state, step, 1.0 / step, *bank.drive(state[:2], state[2:]), *numbers)
    return found


def corroboration(name: str) -> None:
    """How far the truth is from the same arm by other equations of motion, worst of all cases."""
    arm = published_arm(name)
    truth = published_models(arm.servos, TRUTH)
    worst = 0.0
    for path, gain in itertools.product(PATHS, GAINS):
        goals = arm_path(path, arm.links, PERIOD, COMMAND_STEP).goals
        servos = arm_servos(truth, gains_of(truth, gain))
        fine = simulate_arm(arm.links, servos, goals, timestep=TIMESTEP / FINER).position
        other = independent_motion(arm.links, servos, goals, TIMESTEP / FINER)
        worst = max(worst, 1e3 * float(np.abs(fine - other).mean()))
    line(f"{name}: the truth against equations of motion of our own, worst case", f"{worst:.4f} mrad")


def main(arguments: Sequence[str]) -> None:
    """Print the named arms, or both."""
    for name in arguments or ARMS:
        judge(name, table(name))
        corroboration(name)


if __name__ == "__main__":
    main(sys.argv[1:])
