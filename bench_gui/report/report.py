"""What the report says, and its page."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from bench_gui.report.figures import as_svg, diagram_figure, error_bars, overlay
from core.atomic import write_atomically
from core.diagram import drive_backdrive_diagram, peak_torque
from core.friction import FRICTION_TITLES
from core.identification.evaluate import RunScore, evaluate
from core.identification.result import Identification, ModelResult
from core.model import ServoModel
from core.placement import PlacedPoint
from core.recording import Recording


@dataclass(frozen=True, kw_only=True)
class ReportContents:
    """What a report is made from."""

    title: str
    found: Identification
    recordings: Sequence[Recording]
    truth: ServoModel | None = None
    """The model behind simulated recordings, where it is known."""
    points: Sequence[PlacedPoint] = ()
    """Drive/backdrive points placed by hand."""
    command: str = ""
    """Command line that repeats it."""
    remarks: Sequence[str] = ()
    """What else a reader should know before trusting the numbers."""


def write_report(path: Path, contents: ReportContents) -> Path:
    """Write the report as one HTML file that needs nothing else; replaced as a whole."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bench_gui.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["digits"] = lambda value: "–" if value is None else f"{value:.4g}"
    environment.filters["interval"] = lambda v: "–" if math.isnan(v) else "∞" if math.isinf(v) else f"{v:.2g}"
    environment.filters["mrad"] = lambda value: "–" if value is None else f"{value * 1e3:.2f}"
    text = environment.get_template("report.html.j2").render(**_page(contents))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())
    return path


def _page(contents: ReportContents) -> dict[str, Any]:
    found = contents.found
    best = found.recommended
    supply = found.request.supply
    scores = {
        result.model.friction: evaluate(result.model, contents.recordings, dt=found.request.dt, supply=supply).runs
        for result in found.results
    }
    by_id = {recording.id: recording for recording in contents.recordings}
    ranked = sorted(scores[best.model.friction], key=lambda run: run.mae)
    shown = {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1]}
    compared = {r.model.friction.upper(): r.model for r in found.results if r in (found.results[0], best)}
    return {
        "title": contents.title,
        "generated": datetime.now().astimezone().isoformat(timespec="seconds"),
        "version": version("servobench"),
        "command": contents.command,
        "found": found,
        "best": best,
        "models": [_model_row(result, scores[result.model.friction]) for result in found.results],
        "titles": FRICTION_TITLES,
        "recordings": len(contents.recordings),
        "seconds": sum(recording.duration for recording in contents.recordings),
        "error_bars": as_svg(error_bars(found.results)),
        "overlays": [
            {
                "name": name,
                "run": run,
                "recording": by_id[run.id],
                "held_out": run.id in found.split.validation,
                "picture": as_svg(overlay(by_id[run.id], compared, supply)),
            }
            for name, run in shown.items()
        ],
        "diagram": as_svg(_diagram(found, contents)),
        "points": len(contents.points),
        "conditions": _by_condition(scores, by_id),
        "warnings": [*contents.remarks, *_warnings(found)],
        "evidence": {p.name: p for p in best.evidence.parameters},
        "truth": contents.truth.values if contents.truth is not None else {},
    }


def _model_row(result: ModelResult, runs: Sequence[RunScore]) -> dict[str, Any]:
    return {
        "result": result,
        "worst": max(run.mae for run in runs),
        "bound": [p.name for p in result.model.parameters.values() if p.at_bound],
    }


def _diagram(found: Identification, contents: ReportContents) -> Any:
    truth, points = contents.truth, contents.points
    # What was placed by hand fills the picture; without it the whole range of the motor does.
    largest = 1.5 * max(abs(p.motor_torque) for p in points) if points else peak_torque(found.recommended.model)
    torques = np.linspace(0.0, largest, 121)
    shown = (found.results[0], found.recommended)
    diagrams = {r.model.friction.upper(): (r.model.friction, drive_backdrive_diagram(r.model, torques)) for r in shown}
    return diagram_figure(diagrams, None if truth is None else drive_backdrive_diagram(truth, torques), points)


def _by_condition(scores: dict[str, tuple[RunScore, ...]], by_id: dict[str, Recording]) -> dict[str, Any]:
    """Mean error [rad] of each model by trajectory and by gain."""
    groups: dict[tuple[int, float, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for friction, runs in scores.items():
        for run in runs:
            recording = by_id[run.id]
            bench, kp = recording.bench, recording.settings.kp
            for key in (
                (0, 0.0, recording.trajectory),
                (1, kp, f"gain {kp:g}"),
                (2, bench.gravity_torque, f"{bench.mass:g} kg at {bench.length:g} m"),
            ):
                groups[key][friction].append(run.mae)
    rows = {
        label: [float(np.mean(groups[kind, size, label][friction])) for friction in scores]
        for kind, size, label in sorted(groups)
    }
    return {"models": list(scores), "rows": rows}


def _warnings(found: Identification) -> list[str]:
    """What a reader should know before trusting the numbers."""
    warnings = []
    best = found.recommended
    warnings += [f"{best.model.friction.upper()}: {text}" for text in best.evidence.warnings]
    if not found.split.validation:
        warnings.append("No recording was held out: the error on motion the fit has not seen is not known.")
    step_error = float(best.model.provenance["discretisation_error"])
    if step_error > 0.2 * best.train_mae:
        warnings.append(
            f"The time step itself costs {step_error * 1e3:.2f} mrad against one ten times finer; "
            "identify with more substeps before using the model in another engine."
        )
    if found.stopped:
        warnings.append("The identification was stopped before its end.")
    return warnings
