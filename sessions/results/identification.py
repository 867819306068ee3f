"""Files of identified models: one per model, and `result.json` about all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.atomic import sweep, write_atomically
from core.base.errors import IdentificationError, InputError, ServoBenchError
from core.base.sealed import sealed_text, warn_once
from core.servo.terms import FRICTION_MODELS
from sessions.results.folder import (
    CROSSVALIDATION,
    DIAGNOSIS,
    FOLDER,
    RECORD,
    RESULT,
    read_file,
    result_folders,
    write_file,
)

if TYPE_CHECKING:
    from core.identification.coverage.findings import Diagnosis
    from core.identification.result import Identification
    from core.servo.model import ServoModel


def save_identification(identification: Identification, folder: Path) -> list[Path]:
    """Write `<model>.json` for each model, `result.json` with the result of all, and the diagnosis if there is one.

    Each file is written atomically; one with the same content already stays.

    Returns:
        The paths, the summary last.

    Raises:
        InputError: if the folder cannot be written.
    """
    files: list[Path] = []
    rows: list[dict[str, Any]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for result in identification.results:
            file = folder / f"{result.model.friction}.json"
            _write(file, result.model.to_json_text())
            files.append(file)
            rows.append(identification.row(result.model.friction, file))
        if identification.diagnosis is not None:
            write_file(folder, DIAGNOSIS, identification.diagnosis.to_json())
        else:
            (folder / DIAGNOSIS).unlink(missing_ok=True)  # of the same search before it was resumed
        summary = folder / RESULT
        _write(summary, sealed_text(rows, allow_nan=True))
    except OSError as error:
        raise InputError(
            f"{error.filename or folder}: the results cannot be written ({error.strerror or error}); "
            "choose another folder"
        ) from None
    return [*files, summary]


def _write(file: Path, text: str) -> None:
    content = text.encode()
    if not (file.is_file() and file.read_bytes() == content):
        write_atomically(file, content)


def load_identification(folder: Path) -> Identification:
    """Read an identification written by `save_identification`, and its record if there is one.

    Results of the demo, or of the user's own programs, have no record; the request is then taken from their models as
    far as possible. A cross-validation in the folder decides between the models, see `with_crossvalidation`.

    Raises:
        IdentificationError: if the folder holds no result or an invalid one.
    """
    from core.identification.request import IdentificationRequest
    from core.identification.result import Identification, ModelResult
    from core.identification.runs.split import Split
    from core.servo.model import ServoModel
    from sessions.results.record import read_record

    sweep(folder)
    try:
        rows: Any = read_file(folder, RESULT)
        results = tuple(ModelResult.from_json(row, ServoModel.read(folder / f"{row['model']}.json")) for row in rows)
        origin = results[0].model.provenance
        split = Split(str(origin["split"]), tuple(origin["train"]), tuple(origin["validation"]))
        record = read_record(folder) if (folder / RECORD).exists() else None
        if record is not None:
            model = results[-1].model
            request = replace(record.request.settled(model.command_path), contact=model.contact)
        else:
            request = IdentificationRequest(
                servo=results[0].model.servo,
                command_path=results[-1].model.command_path,
                models=tuple(result.model.friction for result in results),
                repeats=len(results[0].repeats),
                seed=origin["seed"],
                metric=origin["metric"],
                contact=results[0].model.contact,
                integrator=results[0].model.integrator,
                supply=origin["supply"],
                validation=split.rule,
                data_hash=origin["data_hash"],
            )
    except OSError as error:
        raise IdentificationError(f"{folder}: no result of an identification ({error.strerror or error})") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ServoBenchError) as error:
        raise IdentificationError(f"{folder}: no result of an identification: {error}") from None
    stopped = record is not None and record.ending != "finished"
    found = Identification(request, split, results, stopped=stopped, diagnosis=_diagnosis(folder))
    return with_crossvalidation(found, folder)


def _diagnosis(folder: Path) -> Diagnosis | None:
    """Return the diagnosis in a folder; None if there is no usable one."""
    from core.identification.coverage.findings import Diagnosis

    try:
        return Diagnosis.from_json(read_file(folder, DIAGNOSIS))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, IdentificationError) as error:
        warn_once(f"{folder / DIAGNOSIS}: the diagnosis is left out: {error}")
        return None


def with_crossvalidation(found: Identification, folder: Path) -> Identification:
    """Return the identification judged by the cross-validation in a folder; unchanged if none is usable."""
    from core.identification.choice.model_choice import CrossValidation

    try:
        return found.judged_by(CrossValidation.from_json(read_file(folder, CROSSVALIDATION)))
    except FileNotFoundError:
        return found
    except (OSError, ValueError, RecursionError, IdentificationError) as error:
        # The report gives the reason as well.
        warn_once(f"{folder / CROSSVALIDATION}: the models are not judged by it: {error}")
        return found


def load_latest(session: Path) -> list[ServoModel]:
    """Return the models of a session's newest identification; empty if none is readable."""
    from core.servo.model import ServoModel

    for folder in result_folders(session / FOLDER):
        models: list[ServoModel] = []
        for file in (folder / f"{name}.json" for name in FRICTION_MODELS):
            if file.exists():
                try:
                    models.append(ServoModel.read(file))
                except ServoBenchError as error:
                    warn_once(f"{error}; this model is left out")
        if models:
            return models
    return []
