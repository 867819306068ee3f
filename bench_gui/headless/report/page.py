"""Variables of the template: rows, sentences and figures of an examination."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from bench_gui.headless.palette import LIGHT
from bench_gui.headless.report.charts import correlation_figure, friction_residuals, position_residuals, search_figure
from bench_gui.headless.report.figures import as_svg, diagram_figure, error_bars, overlay
from bench_gui.headless.report.parameters import parameter_rows
from bench_gui.headless.report.profiles import certainty_rows, profile_figure
from bench_gui.headless.report.sections import Examination
from core.base.words import counted
from core.identification.result import step_in_words
from core.identification.runs.grouping import group_runs, named
from core.practice.diagram import drive_backdrive_diagram, reachable_torque
from core.servo.terms import FRICTION_TITLES
from sessions import selection_damage, selection_text

GROUPED_BY = ("trajectory", "mass", "length", "kp", "supply_voltage")

MOST_LISTED = 20
"""Most runs listed under provenance; the table of runs has all."""

MOST_WARNINGS = 3
"""Most warnings shown outside the fold."""

MOST_PAIRS = 12
"""Most correlated pairs that are listed."""


def page_of(seen: Examination) -> dict[str, Any]:
    """Return the variables of the template."""
    contents, found = seen.contents, seen.contents.found
    best = found.recommended
    coverage = seen.coverage.value
    answer = found.answer()
    warnings = answer.warnings
    return {
        "title": contents.title,
        "generated": f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}",
        "version": version("servobench"),
        "contents": contents,
        "seen": seen,
        "found": found,
        "best": best,
        "servo": best.model.spec,
        "titles": FRICTION_TITLES,
        "colour": LIGHT.model,
        "seconds": sum(recording.duration for recording in contents.recordings),
        "floor": _floor(seen),
        "step": step_in_words(best.model, best.train_mae),
        "verdict": answer.verdict,
        "next_step": answer.next_step,
        "warnings": warnings[:MOST_WARNINGS],
        "more_warnings": warnings[MOST_WARNINGS:],
        "provenance": _provenance(seen),
        "grid": _grid(seen),
        "notes": coverage.of("note") if coverage is not None else (),
        "floor_rows": seen.repeats.value.table(seen.errors) if seen.repeats.value is not None else (),
        "models": [_model_row(seen, result.model.friction) for result in found.results],
        "error_bars": as_svg(error_bars(found.results)),
        "search": as_svg(search_figure(seen.traces.value, best.model.friction)) if seen.traces.value else "",
        "polished": _polished(seen),
        "parameters": parameter_rows(best, contents.truth),
        "torque_off": best.evidence.torque_off(best.model.control).text,
        "has_truth": contents.truth is not None,
        **_certainty(seen),
        **_correlations(seen),
        "overlays": _overlays(seen),
        "conditions": _by_condition(seen),
        "residuals": _residuals(seen),
        "diagram": as_svg(_diagram(seen)),
        "runs": _runs(seen),
        "selection": selection_text(best.model.provenance),
        "damage": selection_damage(best.model.provenance),
    }


def _floor(seen: Examination) -> float | None:
    """Return the repeatability floor of all repetitions together [rad]."""
    rows = seen.repeats.value.table() if seen.repeats.value is not None else ()
    return rows[-1].floor if rows else None


def _provenance(seen: Examination) -> list[tuple[str, str]]:
    found = seen.contents.found
    request, split, model = found.request, found.split, found.recommended.model
    origin = model.provenance
    rows = [
        ("servo", f"{model.spec.title} ({model.servo})"),
        ("data hash", origin.get("data_hash") or "unknown"),
        ("split", f"{split.rule}: {counted(len(split.train), 'training run')}, {len(split.validation)} held out"),
        ("training runs", _listed(split.train)),
        ("held-out runs", _listed(split.validation) or "none"),
        ("seed", f"{request.seed}, {counted(request.repeats, 'search', 'searches')} per model"),
        ("metric", request.metric),
        ("integrator", model.integration),
        ("supply", request.supply),
        ("recorded but not used", ", ".join(origin.get("unused_channels", ())) or "nothing"),
        ("contact", model.contact),
        ("quadratic term", model.quadratic_gate),
        ("command path", ", ".join(request.command_path) or "none"),
        ("start values", "a known model and the catalogue's values" if request.start else "the catalogue's values"),
    ]
    if request.points:
        error = origin.get("placed_points", {}).get("mean_error")
        rows.append(
            ("placed points in the fit", f"{len(request.points)}" + (f", {1e3 * error:.2f} mrad" if error else ""))
        )
    versions = origin.get("versions", {})
    return [*rows, ("versions", ", ".join(f"{name} {value}" for name, value in versions.items()) or "unknown")]


def _listed(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= MOST_LISTED else f"{len(runs)} runs, see the table of runs"


def _grid(seen: Examination) -> dict[str, Any] | None:
    """Return runs by load, gain and supply (rows) and trajectory (columns)."""
    if seen.coverage.value is None:
        return None
    grid = seen.coverage.value.grid
    counts: dict[str, dict[str, int]] = {}
    for cell in grid.cells:
        load = f"{cell.mass:g} kg at {cell.length:g} m" if cell.mass or cell.length else "joint of a robot"
        label = f"{load}, kp {cell.kp:g}, {cell.supply_voltage:g} V"
        counts.setdefault(label, {})[cell.trajectory] = cell.count
    return {"trajectories": grid.trajectories, "rows": counts, "filled": len(grid.cells), "possible": grid.possible}


def _model_row(seen: Examination, friction: str) -> dict[str, Any]:
    result = next(r for r in seen.contents.found.results if r.model.friction == friction)
    return {
        "result": result,
        "worst": max((run.mae for run in seen.scores[friction]), key=_or_infinite),
        "free": len(result.model.parameters.free),
        "bound": ", ".join(p.symbol for p in result.model.parameters.values() if p.at_bound),
    }


def _or_infinite(error: float) -> float:
    return error if math.isfinite(error) else math.inf


def _polished(seen: Examination) -> bool:
    """Return whether the model differs from the best of the search."""
    found = seen.contents.found
    if found.request.metric != "mae" or found.request.points:
        return False
    best = found.recommended
    ends = [trace.best[-1] for trace in seen.traces.value or () if trace.friction == best.model.friction]
    return bool(ends) and not math.isclose(min(ends), best.train_mae, rel_tol=1e-3)


def _certainty(seen: Examination) -> dict[str, Any]:
    found = seen.certainty.value
    figure = None if found is None else profile_figure(found)
    return {
        "intervals": () if found is None else certainty_rows(found),
        "profiles": "" if figure is None else as_svg(figure),
    }


def _correlations(seen: Examination) -> dict[str, Any]:
    found = seen.correlations.value
    pairs = found.pairs if found is not None else ()
    return {
        "heat_map": as_svg(correlation_figure(found)) if found is not None else "",
        "pairs": pairs[:MOST_PAIRS],
        "more_pairs": max(0, len(pairs) - MOST_PAIRS),
    }


def _overlays(seen: Examination) -> list[dict[str, Any]]:
    """Return the median, worst and best run of the recommended model, or fewer if there are fewer runs."""
    found = seen.contents.found
    by_id = {recording.id: recording for recording in seen.contents.recordings}
    errors = seen.errors
    ranked = sorted(errors, key=errors.__getitem__)
    shown: dict[str, str] = {}
    for name, run in (("worst", ranked[-1]), ("median", ranked[(len(ranked) - 1) // 2]), ("best", ranked[0])):
        shown.setdefault(run, name)
    models = {r.model.friction.upper(): r.model for r in found.results if r in (found.results[0], found.recommended)}
    order = ("median", "worst", "best")
    return [
        {
            "name": name,
            "error": errors[run],
            "recording": by_id[run],
            "held_out": run in found.split.validation,
            "picture": as_svg(overlay(by_id[run], models, found.request.supply)),
        }
        for run, name in sorted(shown.items(), key=lambda item: order.index(item[1]))
    ]


def _by_condition(seen: Examination) -> list[dict[str, Any]]:
    """Return mean errors [rad] of each model: all runs, training and held-out runs, and each varied condition."""
    split = seen.contents.found.split
    conditions = {recording.id: recording.conditions() for recording in seen.contents.recordings}
    groups: list[tuple[str, Sequence[str]]] = [("all runs", tuple(conditions))]
    if split.validation:
        groups += [("training runs", split.train), ("held-out runs", split.validation)]
    for condition in GROUPED_BY:
        found = group_runs(conditions, [condition])
        if len(found) > 1 or condition == "trajectory":
            groups += [(named(condition, group.values[0]), group.runs) for group in found]
    errors = {friction: {run.id: run.mae for run in runs} for friction, runs in seen.scores.items()}
    rows = [
        {"label": label, "runs": len(runs), "errors": {f: _mean(known, runs) for f, known in errors.items()}}
        for label, runs in groups
    ]
    largest = max((e for row in rows for e in row["errors"].values() if math.isfinite(e)), default=0.0)
    for row in rows:
        row["shares"] = {
            f: 100.0 * min(e / largest, 1.0) if largest > 0 and math.isfinite(e) else 100.0
            for f, e in row["errors"].items()
        }
    return rows


def _mean(errors: Mapping[str, float], runs: Sequence[str]) -> float:
    return float(np.mean([errors[run] for run in runs if run in errors] or [math.nan]))


def _residuals(seen: Examination) -> dict[str, Any] | None:
    found = seen.residuals.value
    if found is None:
        return None
    return {
        "found": found,
        "friction": as_svg(friction_residuals(found.bins))
        if any(not math.isnan(b.friction_mean) for b in found.bins)
        else "",
        "position": as_svg(position_residuals(found.bins)),
    }


def _diagram(seen: Examination) -> Figure:
    found, truth, points = seen.contents.found, seen.contents.truth, seen.contents.points
    # Placed points set the range of the figure; without them it covers the whole range of the motor.
    ends = [1.5 * p.motor_torque for p in points] or [reachable_torque(found.recommended.model)]
    torques = np.unique(np.append(np.linspace(min(0.0, *ends), max(0.0, *ends), 121), 0.0))
    shown = (found.results[0], found.recommended)
    diagrams = {r.model.friction.upper(): drive_backdrive_diagram(r.model, torques) for r in shown}
    return diagram_figure(diagrams, None if truth is None else drive_backdrive_diagram(truth, torques), points)


def _runs(seen: Examination) -> list[dict[str, Any]]:
    """Return a row per run: conditions, timing, excitation, error, hash."""
    contents, errors = seen.contents, seen.errors
    coverage = seen.coverage.value
    timing = {t.run: t for t in coverage.timing} if coverage is not None else {}
    excitation = {e.run: e for e in coverage.excitation} if coverage is not None else {}
    return [
        {
            "recording": recording,
            "held_out": recording.id in contents.found.split.validation,
            "timing": timing.get(recording.id),
            "excitation": excitation.get(recording.id),
            "error": errors[recording.id],
            "hash": contents.run_hashes.get(recording.id, "")[:12],
        }
        for recording in contents.recordings
    ]
