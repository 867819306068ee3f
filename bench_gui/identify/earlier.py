"""The newest finished identification a session keeps, as its result was shown when it ended."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from bench_gui.identify.messages import FitResult, FittedModel
from bench_gui.identify.record import RECORD, read_record
from bench_gui.results import SUMMARY
from core.errors import ServoBenchError
from core.identification.evidence import Contender, Evidence, choice_in_words, recommended
from core.identification.request import IdentificationRequest
from core.model import ServoModel


def newest_result(results: Path) -> FitResult | None:
    """The result in the newest folder under a results folder that can be read; None when there is none."""
    try:
        folders = sorted((entry for entry in results.iterdir() if (entry / SUMMARY).is_file()), reverse=True)
    except OSError:
        return None
    for folder in folders:
        try:
            return _result(folder)
        except (ServoBenchError, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            continue
    return None


def _result(folder: Path) -> FitResult:
    rows: list[dict[str, Any]] = json.loads((folder / SUMMARY).read_text("utf-8"))
    fitted = tuple(_fitted(folder, row) for row in rows)
    provenance = fitted[0].model.provenance
    held = len(provenance["validation"])
    # Results written by the demo, or by programs of one's own, have no record.
    record = read_record(folder) if (folder / RECORD).exists() else None
    contenders = [Contender(f.model.friction, f.train_mae, f.validation_mae, held) for f in fitted]
    return FitResult(
        models=fitted,
        recommended=recommended(contenders).friction,
        choice=choice_in_words(contenders),
        stopped=record is not None and record.ending != "finished",
        train=tuple(provenance["train"]),
        request=IdentificationRequest(servo=fitted[0].model.servo) if record is None else record.request,
    )


def _fitted(folder: Path, row: dict[str, Any]) -> FittedModel:
    maes = [float(repeat["train_mae"]) for repeat in row["repeats"]]
    seconds = row["wall_seconds"]
    return FittedModel(
        model=ServoModel.read(folder / f"{row['model']}.json"),
        train_mae=float(row["train_mae"]),
        validation_mae=row["validation_mae"],
        validation_rmse=row["validation_rmse"],
        evaluations=int(row["evaluations"]),
        wall_seconds=math.nan if seconds is None else float(seconds),
        spread=max(maes) - min(maes) if len(maes) > 1 else None,
        evidence=Evidence.from_json(row["evidence"]),
    )
