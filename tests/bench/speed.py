"""Speed of kernel, search and command line, and errors on recordings: `python -m tests.bench.speed`.

Part of `make bench`. Ratios are what counts; machines differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from core.identification.benchmark import best_time, random_candidates, sample_recordings
from core.identification.identify import IdentificationRequest, identify
from core.identification.search.objective import Batch, available_threads
from core.kernel.population import LANES
from core.servo.model import build_model
from core.servo.terms import COMMAND_PATH_TERMS, CONTACTS
from tests.bench.printing import line

SHARED = Path(__file__).resolve().parents[3] / "shared"


def per_step(batch: Batch, candidates: np.ndarray) -> float:
    """Nanoseconds of one time step of one candidate, wall."""
    return best_time(lambda: batch.scores(candidates), 9) / (batch.total_steps * len(candidates)) * 1e9


def step_line(label: str, batch: Batch, limit: str = "") -> None:
    """Print the cost of a time step, and of a second of simulated motion with as many as this model needs."""
    model = batch.model
    cost = per_step(batch, random_candidates(model, 4 * LANES))
    steps = batch.total_steps / batch.total_samples
    second = cost * batch.total_steps / (batch.total_samples * batch.steps[0])
    size = f"{1e3 * batch.steps[0] / steps:.3g} ms, {model.integrator}"
    line(f"{label}, one thread", f"{cost:.1f} ns/step ({size}), {1e-3 * second:.1f} µs per simulated second", limit)


def speed() -> None:
    """The kernel, threads, and linearity."""
    model = build_model("mx106", "m6")
    recordings = sample_recordings(16)
    candidates = random_candidates(model, 4 * LANES)
    single = Batch(model, recordings, threads=1)
    started = time.perf_counter()
    single.scores(candidates)
    line("first call of the kernel", f"{time.perf_counter() - started:.2f} s", "cached after the first time")

    for law, servo, gains in (
        ("voltage law", "mx106", {}), ("coasting bridge", "sts3215", {}), ("current law", "erob80_100", {"kp": 50.0}),
    ):  # fmt: skip
        runs = [replace(r, settings=replace(r.settings, servo=servo, **gains)) for r in recordings]
        for path, named in (((), ""), (COMMAND_PATH_TERMS, " with command path")):
            for contact in CONTACTS if servo == "mx106" else ("rigid",):
                kind = build_model(servo, "m6", command_path=path, contact=contact)
                step_line(f"M6{named}, {law}, {contact}", Batch(kind, runs, threads=1))
    first = build_model("mx106", "m6", integrator="algorithm1")
    step_line("M6, voltage law, Algorithm 1", Batch(first, recordings, threads=1))
    if available_threads() > 1:
        ratios = []
        both = Batch(model, sample_recordings(64), threads=2)
        one = Batch(model, sample_recordings(64), threads=1)
        for _ in range(5):
            ratios.append(per_step(one, candidates) / per_step(both, candidates))
        line(
            "two threads against one",
            f"{max(ratios):.2f} ×",
            "≥ 1.8 (best of 5 pairs; other programs share the machine)",
        )
    few, many = (Batch(model, sample_recordings(16, samples), threads=1) for samples in (600, 4800))
    line("8 × the samples cost", f"{best_ratio(few, many, candidates, candidates):.2f} ×", "8")
    line(
        "8 × the candidates cost",
        f"{best_ratio(single, single, candidates[:LANES], np.tile(candidates, (2, 1))):.2f} ×",
        "8",
    )


def best_ratio(few: Batch, many: Batch, fewer: np.ndarray, more: np.ndarray) -> float:
    """Cost of the larger over the smaller."""
    return best_time(lambda: many.scores(more), 9) / best_time(lambda: few.scores(fewer), 9)


def identification_speed() -> None:
    """M6 on 80 recordings, 4,000 evaluations."""
    recordings = sample_recordings(80)
    for label, terms in (("M6", ()), ("M6 with command path", COMMAND_PATH_TERMS)):
        request = IdentificationRequest(
            servo="mx106", models=("m6",), command_path=terms, trials=4000, validation="none"
        )
        started = time.perf_counter()
        identify(request, recordings)
        line(f"identify {label}, 80 × 6 s, 4,000 evaluations", f"{time.perf_counter() - started:.1f} s", "≤ 10")


def command_line() -> None:
    """The start of `bench --help`, and of the library beyond that of Python."""

    def started(*command: str) -> float:
        return best_time(lambda: subprocess.run(command, check=True, capture_output=True), 5)

    line("bench --help", f"{started(str(Path(sys.executable).with_name('bench')), '--help'):.2f} s", "≤ 0.4")
    imported = started(sys.executable, "-c", "import servobench") - started(sys.executable, "-c", "")
    line("import servobench", f"{imported:.3f} s", "≤ 0.15")


def real_data(folder: Path) -> None:
    """Real recordings, through the command line as a user would."""
    session = folder / "sts"
    bench = str(Path(sys.executable).with_name("bench"))
    small = SHARED / "data" / "sts3215" / "small.json"
    if not small.exists():
        line("STS3215 recordings", "not here", "they are not part of the project")
        return
    subprocess.run([bench, "import", str(small), "-o", str(session), "--quiet"], check=True, capture_output=True)

    def run(*options: str) -> list[dict]:
        target = folder / f"r{len(list(folder.iterdir()))}"
        command = [bench, "identify", str(session), "--command-path", "--validation", "none", "--json", *options]
        done = subprocess.run([*command, "-o", str(target)], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    errors = []
    for seed in range(3):
        result = run("--models", "m6", "--seed", str(seed))[0]
        errors.append(result["train_mae"] * 1e3)
        line(f"STS3215, M6 + command path, seed {seed}", f"{errors[-1]:.2f} mrad", "≤ 12.5")
    line("spread of the seeds", f"{100 * (max(errors) / min(errors) - 1):.1f} %", "≤ 3")
    chain = [result["train_mae"] * 1e3 for result in run("--models", "all")]
    line("STS3215, M1 … M6", " ".join(f"{error:.2f}" for error in chain), "monotone along the nesting")


def main() -> None:
    """Print everything."""
    import tempfile

    speed()
    identification_speed()
    command_line()
    with tempfile.TemporaryDirectory() as folder:
        real_data(Path(folder))


if __name__ == "__main__":
    main()
