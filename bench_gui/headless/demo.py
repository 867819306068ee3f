"""Demo: the whole workflow on a simulated servo, as a first try and as a test in CI."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench_gui.headless.report import ReportContents, write_report
from core.base.errors import InputError
from core.export import export_model
from core.identification.diagnosis import diagnosed
from core.identification.identify import IdentificationRequest, Progress, identify
from core.identification.result import Identification
from core.motion.recording import Recording
from core.motion.simulation import simulate_recording, with_integration
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from core.servo.bench import Bench
from core.servo.shipped import load_model
from core.servo.terms import RICHEST
from drivers.recorder.planned import RecordingPlan, record_plan
from sessions import Session
from sessions.results.identification import save_identification

SERVO = "mx106"


@dataclass(frozen=True)
class DemoRow:
    """Errors of one model against the recordings and against the true motion [mrad]."""

    model: str
    train_mrad: float
    validation_mrad: float
    truth_mrad: float


@dataclass(frozen=True)
class DemoOutcome:
    """Results of the demo and their files."""

    rows: tuple[DemoRow, ...]
    recommended: str
    choice: str
    """Recommended model, with the reason."""
    report: Path
    seconds: float
    files: tuple[Path, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "models": [dict(row.__dict__) for row in self.rows],
            "recommended": self.recommended,
            "choice": self.choice,
            "report": str(self.report),
            "seconds": self.seconds,
            "files": [str(file) for file in self.files],
        }


def run_demo(output: str | Path, *, fast: bool, seed: int, show: Callable[[float, str], None]) -> DemoOutcome:
    """Record a small grid with a simulated MX-106, identify M1–M6, export the best and write the report.

    Args:
        output: Folder for session, models, exports and report; must not hold a demo yet.
        fast: Use fewer conditions and fewer evaluations.
        seed: Random seed.
        show: Called with the completed share, 0 … 1, and a text.

    Raises:
        ServoBenchError: The folder already holds a demo, or a step failed.
    """
    started = time.monotonic()
    folder = Path(output)
    session_path = folder / "session"
    if session_path.exists():
        raise InputError(f"{folder} already holds a demo; choose another folder")
    _record(session_path, fast, seed, show)
    session = Session.open(session_path)
    recordings = session.load_all()
    request = IdentificationRequest(
        servo=SERVO,
        seed=seed,
        trials=3000 if fast else 6000,
        data_hash=session.data_hash(),
    )

    def progress(step: Progress) -> None:
        best = step.generation.overall_best_value * 1e3
        show(0.1 + 0.75 * step.done, f"identifying {step.model.upper()}: {best:.2f} mrad")

    results = folder / "results"
    found = diagnosed(identify(request, recordings, folder=results, on_progress=progress), recordings)
    files = save_identification(found, results)
    show(0.88, "exporting")
    best = found.recommended.model
    for target in ("json", "bam", "mujoco", "mujoco-hook"):
        files += export_model(best, target, folder / "export" / target).files
    show(0.93, "report")
    report = write_report(
        folder / "report.html",
        ReportContents(
            title="Demo: simulated Dynamixel MX-106",
            found=found,
            recordings=recordings,
            truth=load_model(SERVO, RICHEST),
            folder=results,
            command="bench demo" + (" --fast" if fast else "") + f" --seed {seed} -o DIR",
        ),
    )
    show(1.0, "done")
    return DemoOutcome(
        rows=tuple(_rows(found, recordings)),
        recommended=best.friction,
        choice=found.choice,
        report=report,
        seconds=time.monotonic() - started,
        files=tuple(files),
    )


def _record(session: Path, fast: bool, seed: int, show: Callable[[float, str], None]) -> None:
    """Record the grid into a new session, which is the first tenth of the progress."""
    conditions = _conditions(fast)
    for number, (mass, length, kp) in enumerate(conditions):
        base = 0.1 * number / len(conditions)
        plan = RecordingPlan(
            servo=f"simulated:{SERVO}?seed={seed}",
            trajectories=tuple(make_trajectory(name) for name in PAPER_TRAJECTORIES),
            bench=Bench(mass=mass, length=length),
            kp=kp,
            fast=True,
        )
        record_plan(
            plan,
            partial(Session.open_or_create, session),
            lambda share, text, base=base: show(base + 0.1 * share / len(conditions), f"recording: {text}"),
        )


def _conditions(fast: bool) -> list[tuple[float, float, float]]:
    """Return masses [kg] × lengths [m] × gains, a small version of Table I of seed 004."""
    if fast:
        return [(0.5, 0.15, 8.0), (1.0, 0.15, 16.0)]
    return [(mass, length, kp) for mass, length in ((0.5, 0.1), (1.0, 0.15), (1.5, 0.2)) for kp in (8.0, 32.0)]


def _rows(found: Identification, recordings: list[Recording]) -> list[DemoRow]:
    truth = load_model(SERVO, RICHEST)
    fine = {r.id: simulate_recording(with_integration(truth, substeps=10), r) for r in recordings}
    rows = []
    for result in found.results:
        distance = [
            float(abs(simulate_recording(result.model, r).position - fine[r.id].position).mean()) for r in recordings
        ]
        rows.append(
            DemoRow(
                model=result.model.friction,
                train_mrad=result.train_mae * 1e3,
                validation_mrad=(result.validation_mae or result.train_mae) * 1e3,
                truth_mrad=1e3 * sum(distance) / len(distance),
            )
        )
    return rows
