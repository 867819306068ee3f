"""An identification in words before its result: plan, objective, progress."""

from __future__ import annotations

from collections.abc import Sequence

from bench_gui.identify.fit.messages import FitProgress, FittedModel
from bench_gui.identify.fit.settings import FitSettings
from core.base.units import milliradians
from core.base.words import counted
from core.identification.options import options_of
from core.identification.request import IdentificationRequest
from core.motion.trajectories import title_of
from core.servo.terms import FRICTION_MODELS


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


def search_in_words(progress: FitProgress, best: Sequence[FittedModel], time: str) -> tuple[str, str]:
    """Headline and sentence about a running search.

    Args:
        progress: Progress of the search.
        best: The best model so far of each friction model.
        time: Time spent of the time expected.
    """
    title = f"Identifying {progress.model.upper()} {progress.trial}".rstrip()
    if best:
        first = min(best, key=lambda row: row.train_mae)
        title += f" · best so far {first.model.friction.upper()}, cost {milliradians(first.train_mae)} mrad"
    evaluations = progress.points[-1][0]
    return title, timed(f"{progress.model.upper()}: {cost(progress)} after {evaluations} evaluations", time)


def timed(text: str, time: str) -> str:
    """Text about a search behind the time that it has taken and will take."""
    return f"{time}. {text}" if time else text
