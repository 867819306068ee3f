"""Tables of a cross-validation: models by command path, folds, terms, transfer, repetitions. Errors in mrad."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import zip_longest

from bench_gui.identify.crossvalidation.compute import Planned
from bench_gui.widgets.text_table import Cell, Column
from core.base.units import FIGURE_DASH, milliradians, significant
from core.base.words import counted
from core.identification.choice.model_choice import Choice, CrossValidation, Estimate, Variant
from core.identification.choice.transfer import TransferTable
from core.servo.terms import FRICTION_MODELS, FRICTION_TITLES
from sessions.results.crossvalidating import CrossValidated

Row = list[Cell | str]
Table = tuple[tuple[Column, ...], list[Row]]


def by_model(kept: CrossValidated) -> Table:
    """Held-out error with standard error by model and command path, and the difference from the best."""
    found, choice = kept.found, kept.found.choice
    paths = sorted({bool(variant.command_path) for variant in found.variants})
    columns = [Column("Model", "Friction model; ★ recommended: the simplest that is as good as the best")]
    for path in paths:
        title = "With command path" if path else "Without it" if len(paths) > 1 else "Without command path"
        columns.append(Column(f"{title} [mrad]", "Mean absolute error on held-out runs ± standard error", True))
    for path in paths:
        title = "Δ with" if path else "Δ without"
        tip = "Difference from the best model, run by run, ± standard error: more certain than the errors themselves"
        columns.append(Column(f"{title} [mrad]", tip, True))
    rows: list[Row] = []
    for friction in (name for name in FRICTION_MODELS if any(v.friction == name for v in found.variants)):
        own = [[v for v in found.variants if (v.friction, bool(v.command_path)) == (friction, path)] for path in paths]
        # Variants with another contact or more terms have rows of their own below.
        for place, mine in enumerate(zip_longest(*own)):
            star = "  ★" if choice.chosen in mine else ""
            name = friction.upper() if place == 0 else next(variant.name for variant in mine if variant)
            title = f"{FRICTION_TITLES[friction]} friction"
            row: Row = [Cell(f"{name}{star}", title, bold=bool(star), friction=friction)]
            row += [_error(found, variant, choice) for variant in mine]
            row += [_behind(found, variant, choice) for variant in mine]
            rows.append(row)
    return tuple(columns), rows


def by_fold(kept: CrossValidated) -> Table:
    """Held-out error of each variant (rows) on each fold (columns)."""
    found, choice = kept.found, kept.found.choice
    folds = found.folds
    columns = [Column("Held out [mrad]", "Mean absolute error on the held-out runs")]
    columns += [
        Column(fold.label, f"{counted(len(fold.held_out), 'run')} held out, fitted to {_trained(found, place)}", True)
        for place, fold in enumerate(folds)
    ]
    rows: list[Row] = []
    for variant in found.variants:
        chosen = variant == choice.chosen
        errors = [Cell(milliradians(found.fit(variant, fold).mean), bold=chosen) for fold in folds]
        rows.append([Cell(variant.name + ("  ★" if chosen else ""), bold=chosen, friction=variant.friction), *errors])
    return tuple(columns), rows


def so_far(planned: Planned, errors: Mapping[tuple[str, str], float]) -> Table:
    """Table as by `by_fold` during the searches; cells without a result are empty."""
    columns = [Column("Held out [mrad]", "Mean absolute error on the held-out runs")]
    columns += [Column(fold, "Held out in turn", True) for fold in planned.folds]
    rows: list[Row] = []
    for variant in planned.variants:
        found = (errors.get((variant, fold)) for fold in planned.folds)
        rows.append([Cell(variant), *("" if error is None else milliradians(error) for error in found)])
    return tuple(columns), rows


def by_term(kept: CrossValidated) -> Table:
    """Increase of the error without each term."""
    columns = (
        Column("Without", "Term that is left out; the other parameters are identified again"),
        Column("Training [mrad]", "Increase of the error on the training runs", True),
        Column("Held out [mrad]", "Increase of the error on held-out runs ± standard error", True),
    )
    rows: list[Row] = [
        [
            cost.term.title,
            _signed(cost.training),
            _estimate(cost.held_out, "+") if cost.held_out else FIGURE_DASH,
        ]
        for cost in (kept.terms.terms if kept.terms else ())
    ]
    return columns, rows


def by_value(table: TransferTable) -> Table:
    """Errors of fits to one value (rows) on each value (columns); the diagonal is the training error."""
    columns = [Column(f"Fitted to \\ on, {table.condition} [mrad]", "The row's fit, judged on the column's runs")]
    columns += [Column(text, f"Judged on the runs with {text}", True) for text in table.labels]
    rows: list[Row] = []
    for place, (text, errors) in enumerate(zip(table.labels, table.errors, strict=True)):
        cells = [Cell(milliradians(error), bold=place == column) for column, error in enumerate(errors)]
        rows.append([text, *cells])
    return tuple(columns), rows


def by_repetition(kept: CrossValidated) -> Table:
    """Repeatability of each trajectory, and the chosen model's error on the same runs."""
    columns = (
        Column("Repetitions of", "Trajectory"),
        Column("Sets", "Sets of runs with the same commands on the same bench", True),
        Column(
            "Floor [mrad]", "Mean absolute deviation from the median motion; no deterministic model can be better", True
        ),
        Column("Model [mrad]", "Error of the chosen model on the same runs, held out", True),
        Column("Times the floor", "Near 1: the model is complete; far above: something is missing", True),
    )
    rows: list[Row] = [
        [
            Cell(row.trajectory or "all", bold=not row.trajectory),
            str(row.repetitions),
            milliradians(row.floor),
            milliradians(row.error),
            FIGURE_DASH if row.ratio is None else significant(row.ratio, 2),
        ]
        for row in kept.floors
    ]
    return columns, rows


def _error(found: CrossValidation, variant: Variant | None, choice: Choice) -> Cell:
    if variant is None:
        return Cell(FIGURE_DASH, "Not fitted")
    folds = "\n".join(f"{fold.label}: {milliradians(found.fit(variant, fold).mean)} mrad" for fold in found.folds)
    chosen = variant == choice.chosen
    return Cell(_estimate(found.error(variant)) + ("  ★" if chosen else ""), folds, bold=chosen)


def _behind(found: CrossValidation, variant: Variant | None, choice: Choice) -> Cell:
    if variant is None:
        return Cell(FIGURE_DASH, "Not fitted")
    if variant == choice.best:
        return Cell("best")
    as_good = variant in choice.as_good
    tip = (
        "As good as the best: within one standard error, or the best adds something by chance"
        if as_good
        else "Worse than the best by more than one standard error"
    )
    return Cell(f"+{_estimate(found.difference(variant, choice.best))}", tip, tone="good" if as_good else "")


def _estimate(estimate: Estimate, plus: str = "") -> str:
    if not math.isfinite(estimate.mean):
        return FIGURE_DASH
    sign = plus if estimate.mean >= 0.0 else "−"
    return f"{sign}{milliradians(abs(estimate.mean))} ± {milliradians(estimate.standard_error)}"


def _signed(value: float) -> str:
    if not math.isfinite(value):
        return FIGURE_DASH
    return f"{'+' if value >= 0.0 else '−'}{milliradians(abs(value))}"


def _trained(found: CrossValidation, place: int) -> str:
    count = len(found.fit(found.variants[0], found.folds[place]).trained_on)
    return counted(count, "run")
