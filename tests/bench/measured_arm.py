"""Friction of a measured arm: errors by window length against its own file: `python -m tests.bench.measured_arm`.

Needs the recordings of DFKI's double pendulum in ../shared/data, which are not part of the project. For both designs:
what the file of the links predicts, and M1, M4 and M6 in both joints alone, with the motors, and with motors and
links; on the recordings that were fitted to, and on a quarter held back with all their repetitions.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from core.benchmark import best_time
from core.studies.arm.dynamics import arm_rows
from core.studies.arm.identification import ArmFit, ArmRequest, identify_arm
from core.studies.arm.links import ArmParameters, read_arm_parameters
from core.studies.arm.parameters import NO_FRICTION
from core.studies.arm.recording import ArmRecording, read_arm_csv
from core.studies.arm.windows import cut_windows
from tests.bench.printing import line

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "double_pendulum"
DESIGNS = {"A.0": "identified_design_A.0_model_2.1.yml", "C.0": "identified_design_C.0_model_3.1.yml"}
STAGES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ("m1", "m4", "m6")),
    (("motor",), (NO_FRICTION, "m1", "m4", "m6")),
    (("motor", "links"), (NO_FRICTION, "m1", "m4", "m6")),
)
"""Terms beside friction, and models."""
CANDIDATES = 32


def speed(recordings: list[ArmRecording], source: ArmParameters) -> None:
    """Nanoseconds for one step of one candidate, both joints, M6 in each."""
    windows = cut_windows(recordings, 0.5, 0.002)
    rows = arm_rows(source.links, CANDIDATES)
    windows.residuals(rows)
    steps = windows.steps * len(windows.starts) * CANDIDATES
    line("one step of one candidate", f"{best_time(lambda: windows.residuals(rows), 5) / steps * 1e9:.0f} ns")


def design(name: str, seed: int) -> None:
    """The table of one design."""
    source = read_arm_parameters(DATA / DESIGNS[name])
    recordings = [read_arm_csv(file) for file in sorted(DATA.glob(f"design_{name}__*.csv.gz"))]
    total = sum(recording.duration for recording in recordings)
    print(f"\nDesign {name}: {len(recordings)} recordings, {total:.0f} s, divided by seed {seed}")
    speed(recordings, source)
    before: ArmFit | None = None
    for terms, models in STAGES:
        started = time.perf_counter()
        found = identify_arm(recordings, source, ArmRequest(models=models, terms=terms, seed=seed))
        spent = time.perf_counter() - started
        if before is None:
            before = found.fits[0]
            lengths = "".join(f"{length:>8g}" for length in found.request.windows)
            print(f"held back: {', '.join(found.held_out)}")
            print(f"{'mean absolute error [mrad], windows of [s]':<46}{'fitted to':<4}{lengths}   held back{lengths}")
            print(row("the links' own file", before))
        evaluations = sum(fit.evaluations for fit in found.fits)
        beside = f" + {' + '.join(terms)}" if terms else ""
        for fit in found.fits[1:]:
            print(row(f"{fit.model.upper()}{beside}", fit))
        print(f"    {evaluations} candidates, {spent:.0f} s")
    for fit in found.fits[1:]:
        print(f"  {fit.model}: {', '.join(f'{p.name} {p.value:.4g}' for p in fit.parameters.values())}")
        print(f"      at a bound: {', '.join(fit.at_bounds) or 'none'}")


def row(name: str, fit: ArmFit) -> str:
    """Errors of one model on both sides."""
    sides = [np.array(side) * 1e3 for side in (fit.training, fit.held_out or ())]
    texts = ["".join(f"{error:8.1f}" for error in side) for side in sides]
    return f"{name:<55}{texts[0]}            {texts[1]}"


def main() -> None:
    """Both designs, or why not."""
    if not DATA.is_dir():
        print(f"skipped: no recordings in {DATA}")
        return
    for name, seed in (("A.0", 0), ("C.0", 0), ("C.0", 1)):
        design(name, seed)


if __name__ == "__main__":
    main()
