"""What an identification leaves in its folder and reads again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from core.base.errors import IdentificationError
from core.fleet.plan import FleetPlan
from core.fleet.result import Transfer, assembled
from core.fleet.spread import Spread
from core.identification.coverage.report import Coverage
from core.identification.request import search_template
from core.servo.model import ServoModel
from sessions.results.certifying import read_certainty
from sessions.results.crossvalidating import read_crossvalidation
from sessions.results.folder import RECORD
from sessions.results.identification import load_identification
from sessions.results.record import check_resumable, read_record
from tests.fuzz.mutation import changed_json
from tests.fuzz.parser import SEEDS, Parser, from_file, scratch


@cache
def _folder() -> Path:
    """A result's folder with models in it."""
    folder = scratch() / "result"
    folder.mkdir(exist_ok=True)
    for name in ("m1", "m2"):
        (folder / f"{name}.json").write_bytes((SEEDS / "model_ours" / name).read_bytes())
    return folder


def _record(data: bytes) -> None:
    folder = scratch() / "record"
    folder.mkdir(exist_ok=True)
    (folder / RECORD).write_bytes(data)
    record = read_record(folder)
    json.dumps(record.request.to_json(), allow_nan=False)
    check_resumable(record, record.request, record.runs)
    for friction in record.request.models:
        search_template(record.request, friction)


def _result(data: bytes) -> None:
    folder = _folder()
    (folder / "result.json").write_bytes(data)
    found = load_identification(folder)
    assert found.results
    for result in found.results:
        result.to_json()
        json.dumps(result.evidence.to_json())


def _certainty(data: bytes) -> None:
    folder = _folder()
    (folder / "certainty.json").write_bytes(data)
    read_certainty(folder, ServoModel.read(folder / "m2.json")).to_json()


def _coverage(data: bytes) -> None:
    Coverage.from_json(_json(data)).to_json()


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise IdentificationError("no JSON") from None


def _fleet_plan(data: bytes) -> None:
    plan = FleetPlan.from_json(_json(data))
    json.dumps(plan.to_json(), allow_nan=False)
    assert not assembled(plan, {}).done


def _fleet_transfer(data: bytes) -> None:
    transfer = Transfer.from_json(_json(data))
    assert len(transfer.received) == len(transfer.units)
    json.dumps(transfer.to_json(), allow_nan=False)


def _fleet_spread(data: bytes) -> None:
    spread = Spread.from_json(_json(data))
    json.dumps(spread.to_json())
    assert len(spread.samples(3)) == 3


def _crossvalidation(path: Path) -> None:
    kept = read_crossvalidation(path.parent)
    json.dumps(kept.to_json(), allow_nan=False)


PARSERS = (
    Parser(name="record", parse=_record, mutate=changed_json, longest=4096),
    Parser(name="result", parse=_result, mutate=changed_json, longest=16_384),
    Parser(name="certainty", parse=_certainty, mutate=changed_json, longest=8192),
    Parser(name="coverage", parse=_coverage, mutate=changed_json, longest=16_384),
    Parser(
        name="crossvalidation",
        parse=from_file("crossvalidation.json", _crossvalidation),
        mutate=changed_json,
        longest=32_768,
    ),
    Parser(name="fleet_plan", parse=_fleet_plan, mutate=changed_json, longest=8192),
    Parser(name="fleet_transfer", parse=_fleet_transfer, mutate=changed_json, longest=2048),
    Parser(name="fleet_spread", parse=_fleet_spread, mutate=changed_json, longest=65_536),
)
