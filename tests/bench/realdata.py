"""Accuracy on real recordings, in training and on conditions not seen: `python -m tests.bench.realdata`.

Needs the recordings in ../shared/data, which are not part of the project; what is absent is skipped with a reason.
Sections can be chosen: `python -m tests.bench.realdata training xl330`. Takes a quarter of an hour on one core.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from core.identification.choice.crossvalidation import CrossValidationProgress, all_variants, cross_validate
from core.identification.choice.model_choice import CrossValidation, Variant, in_milliradians
from core.identification.choice.repeatability import repeatability
from core.identification.evaluate import evaluate
from core.identification.identify import IdentificationRequest, identify
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import COMMAND_PATH_TERMS
from sessions.importers.bam_json import read_bam
from tests.bench.printing import line

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"

CV_TRIALS = 6000
CV_RUNS = 60
"""Evaluations and training runs of each fit of the cross-validation."""

PRIOR = 0.01
"""[rad]"""


@cache
def recordings(folder: str) -> dict[str, Recording]:
    """Recordings by file name; empty when they are not here."""
    files = sorted((DATA / folder).glob("*.json.gz"))
    return {file.name: read_bam(gzip.decompress(file.read_bytes()), file.name) for file in files}  # type: ignore[misc]


def sts3215() -> tuple[list[Recording], list[Recording]]:
    """The 80 of small.json, and all 296."""
    every = recordings("sts3215")
    listed = DATA / "sts3215" / "small.json"
    small = json.loads(listed.read_text()) if listed.exists() else []
    return [every[name] for name in small if name in every], list(every.values())


def fit(
    servo: str, runs: Sequence[Recording], variant: Variant, jobs: int | None, seed: int = 0, **options: object
) -> ServoModel:
    """One identification with the default budget; prints what it took."""
    request = IdentificationRequest(
        servo=servo,
        models=(variant.friction,),
        command_path=variant.command_path,
        validation="none",
        threads=jobs,
        seed=seed,
        **options,  # type: ignore[arg-type]
    )
    started = time.perf_counter()
    result = identify(request, runs).results[0]
    spent = f"{result.evaluations} evaluations, {time.perf_counter() - started:.0f} s"
    line(f"  {variant.name}, seed {seed}", spent)
    return result.model


def mrad(model: ServoModel, runs: Sequence[Recording], jobs: int | None) -> float:
    """Mean absolute error [mrad]."""
    return 1e3 * evaluate(model, runs, threads=jobs).mean_mae


def training(jobs: int | None) -> None:
    """Fits to the 80 runs of small.json."""
    small, every = sts3215()
    known = {run.id for run in small}
    unseen = [run for run in every if run.id not in known]
    m6, m1 = (Variant(friction=name, command_path=COMMAND_PATH_TERMS) for name in ("m6", "m1"))
    for variant, bar in ((m6, "≤ 11.5"), (m1, "≤ 17")):
        for seed in (0, 1) if variant != m1 else (0,):
            model = fit("sts3215", small, variant, jobs, seed)
            line("    training MAE", f"{mrad(model, small, jobs):.2f} mrad", bar)
            line("    on the 216 others", f"{mrad(model, unseen, jobs):.2f} mrad")


def crossvalidation(jobs: int | None, models: Sequence[str]) -> None:
    """One mass or gain of the 296 held out, judged on every held-out run."""
    _, every = sts3215()
    request = IdentificationRequest(servo="sts3215", command_path=COMMAND_PATH_TERMS, trials=CV_TRIALS, threads=jobs)
    variants = [v for v in all_variants(request, every, models) if v.command_path]
    started = time.perf_counter()
    found = cross_validate(
        request,
        every,
        ("mass", "kp"),
        variants=variants,
        most_training_runs=CV_RUNS,
        on_progress=told(),
    )
    line(f"cross-validation, {len(found.folds)} folds", f"{time.perf_counter() - started:.0f} s")
    print_crossvalidation(found, {"M6 + command path": "≤ 13", "M1 + command path": "≤ 17"})
    best = found.choice.chosen
    print(repeatability(every).text(found.errors(best)))
    for row in repeatability(every).table(found.errors(best)):
        times = f"{row.ratio:.2g} times the floor" if row.ratio else ""
        line(
            f"  floor, {row.trajectory or 'all'}",
            f"{1e3 * row.floor:.2f} mrad",
            f"{best.name} {1e3 * (row.error or 0):.2f}, {times}",
        )


def told() -> Callable[[CrossValidationProgress], None]:
    """Prints each fold as it begins."""
    labels: list[str] = []

    def progress(step: CrossValidationProgress) -> None:
        if step.fold.label not in labels:
            labels.append(step.fold.label)
            print(f"    fitting without {step.fold.label}, {step.number} of {step.folds}", flush=True)

    return progress


def print_crossvalidation(found: CrossValidation, bars: dict[str, str]) -> None:
    """The means, each fold, and the choice."""
    for variant in found.variants:
        line(f"  {variant.name}", f"{in_milliradians(found.error(variant))} mrad", bars.get(variant.name, ""))
        rows = [(fold.label, found.fit(variant, fold)) for fold in found.folds]
        print("      " + ", ".join(f"{label} {1e3 * f.mean:.1f} (fit {1e3 * f.train_mae:.1f})" for label, f in rows))
    print(found.choice.text)


def xl330(jobs: int | None) -> None:
    """Eight runs at two gains."""
    runs = list(recordings("xl330").values())
    if not runs:
        line("XL330 recordings", "not here", "they are in ../shared/data/xl330")
        return
    plain, path = (Variant(friction="m6", command_path=terms) for terms in ((), COMMAND_PATH_TERMS))
    plain_error = 0.0
    for prior in (0.0, PRIOR):
        for seed in (0, 1):
            model = fit("xl330", runs, path, jobs, seed, prior=prior)
            line(f"    training MAE, prior {1e3 * prior:g} mrad", f"{mrad(model, runs, jobs):.2f} mrad", "≤ 19")
        found = cross_validate(
            IdentificationRequest(servo="xl330", prior=prior, threads=jobs), runs, ("kp",), variants=(plain, path)
        )
        print_crossvalidation(found, {})
        plain_error = plain_error or found.error(plain).mean
        ratio = found.error(path).mean / plain_error
        line(f"  one gain held out, prior {1e3 * prior:g} mrad, over plain M6 without prior", f"{ratio:.2f}", "≤ 0.75")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sections that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=[], help="training, xl330, crossvalidation")
    parser.add_argument("--models", default="m1,m4,m6", help="friction models of the cross-validation (%(default)s)")
    parser.add_argument("--jobs", type=int, help="threads")
    chosen = parser.parse_args(arguments)
    wanted = chosen.sections or ["training", "xl330", "crossvalidation"]
    if "xl330" in wanted:
        xl330(chosen.jobs)
    small, every = sts3215()
    if not small or not every:
        line("STS3215 recordings", "not here", "they are in ../shared/data/sts3215")
        return
    if "training" in wanted:
        training(chosen.jobs)
    if "crossvalidation" in wanted:
        crossvalidation(chosen.jobs, tuple(chosen.models.split(",")))


if __name__ == "__main__":
    main()
