"""The answer in words: headline, strength of evidence, objective of the search."""

from __future__ import annotations

from collections.abc import Sequence

from bench_gui.identify.fit.messages import FitProgress, FitResult, FittedModel
from bench_gui.identify.fit.settings import FitSettings
from core.identification.choice.recommendation import CROSS_VALIDATION
from core.identification.choice.words import FEW_RUNS
from core.identification.options import options_of
from core.identification.request import IdentificationRequest
from core.terms import FRICTION_MODELS
from core.trajectories import title_of
from core.units import milliradians
from core.words import counted

FAR = 3.0
"""Placed points with more than this many times the error of the runs contradict them."""


def headline(row: FittedModel) -> str:
    """Model and error, e.g. "M6 · 2.62 mrad on held-out runs"."""
    on = "the runs it was fitted to" if row.validation_mae is None else "held-out runs"
    return f"{row.model.friction.upper()} · {milliradians(row.error)} mrad on {on}"


def is_weak(result: FitResult) -> bool:
    """True if too few runs were held out to trust the choice between models."""
    return result.by != CROSS_VALIDATION and len(result.best.held_out) < FEW_RUNS


def strength(result: FitResult) -> str:
    """Strength of the evidence, e.g. "Weak evidence: 1 held-out run."."""
    held_out = len(result.best.held_out)
    if result.by == CROSS_VALIDATION:
        return "Strong evidence: cross-validated on held-out conditions."
    if not held_out:
        return "No independent evidence: no run was held out."
    return f"{'Weak' if is_weak(result) else 'Good'} evidence: {counted(held_out, 'held-out run')}."


def points_apart(row: FittedModel) -> str:
    """Sentence about placed points whose error is far larger than that of the runs; empty if they agree."""
    points = row.model.provenance.get("placed_points")
    if not points or points["mean_error"] <= FAR * row.train_mae:
        return ""
    return (
        f"The {points['count']} placed points are off by {milliradians(points['mean_error'])} mrad, the runs by "
        f"{milliradians(row.train_mae)} mrad: measure the points again, or fit without them."
    )


def plan_in_words(settings: FitSettings, chosen: int, total: int) -> str:
    """Sentence about an identification before its start: models, runs, and what is held out."""
    models = [name.upper() for name in settings.models]
    every = settings.models == FRICTION_MODELS
    named = f"{models[0]} to {models[-1]}" if every else ", ".join(models) or "no model"
    runs = counted(chosen, "run") if chosen == total else f"{chosen} of {counted(total, 'run')}"
    rule = settings.validation
    condition, _, value = rule.partition("=")
    held_out = f"{condition} = {title_of(value)}" if value else rule.replace("%", " %")
    held = "none is held out" if rule == "none" else f"{held_out} is held out"
    return f"Fits {named} to {runs}; {held} to judge the models."


def objective(request: IdentificationRequest) -> str:
    """Objective of a search, e.g. "mean |error| of the runs + mean error of the placed points"."""
    _, metric = options_of(IdentificationRequest)["metric"]
    parts = [f"{(metric.choices or {})[request.metric]} of the runs"]
    parts += ["mean error of the placed points"] if request.points else []
    parts += ["prior"] if request.prior else []
    return " + ".join(parts)


def cost(progress: FitProgress) -> str:
    """Best cost so far, split into runs and placed points if any, "cost 36.6 mrad (runs 3.2, points 33.4)"."""
    best, points = progress.points[-1][1], progress.points_error
    split = "" if points is None else f" (runs {milliradians(best - points)}, points {milliradians(points)})"
    return f"cost {milliradians(best)} mrad{split}"


def search_in_words(progress: FitProgress, best: Sequence[FittedModel]) -> tuple[str, str]:
    """Headline and sentence about a running search; best: the best model so far of each friction model."""
    title = f"Identifying {progress.model.upper()} {progress.trial}".rstrip()
    if best:
        first = min(best, key=lambda row: row.train_mae)
        title += f" · best so far {first.model.friction.upper()}, cost {milliradians(first.train_mae)} mrad"
    return title, (
        f"{progress.model.upper()}: {cost(progress)} after {progress.points[-1][0]} evaluations; "
        f"{100 * progress.done:.0f} % done"
    )
