"""The small JSON files of a session and of a person's own settings."""

from __future__ import annotations

import json
from pathlib import Path

from bench_gui import settings as window_settings
from bench_gui.connect.bench import presets
from core.base.errors import InputError
from core.practice.placement import points_from_json, points_to_json
from core.practice.plan import GridPlan, status
from sessions.annotations import annotations_from, revised
from sessions.documents import decoded, encoded
from sessions.index import RunIndex
from sessions.opening import folder_facts
from tests.fuzz.mutation import changed_json
from tests.fuzz.parser import Parser, from_file, scratch


def _session(data: bytes) -> None:
    from_file("session.json", lambda path: folder_facts(path.parent))(data)


def _index(data: bytes) -> None:
    """An index is a cache: a bad one is as good as none."""
    session = scratch() / "indexed"
    (session / "runs").mkdir(parents=True, exist_ok=True)
    (session / "index.json").write_bytes(data)
    assert RunIndex(session).listing().runs == ()


def _document(name: str, data: bytes) -> object:
    place = Path(f"{name}.json")
    found = decoded(data, name, place)
    assert decoded(encoded(name, found, place), name, place) == found
    return found


def _annotations(data: bytes) -> None:
    found = _document("annotations", data)
    noted = annotations_from(found)
    assert annotations_from(revised(found, noted, lambda _, note: note)) == noted


def _points(data: bytes) -> None:
    points = points_from_json(_document("placed_points", data))
    json.dumps(points_to_json(points), allow_nan=False)
    assert all(abs(point.elevation) < float("inf") for point in points)


def _plan(data: bytes) -> None:
    try:
        plan = GridPlan.from_json_text(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("no text") from None
    status(plan, ())
    assert GridPlan.from_json(json.loads(json.dumps(plan.to_json(), allow_nan=False))) == plan


def _presets(path: Path) -> None:
    try:
        for preset in presets._read(path).values():
            preset.to_json()
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"put aside: {error}") from None


def _settings(path: Path) -> None:
    values, _ = window_settings.load(path)
    for name, fits in window_settings._FITS.items():
        assert fits(getattr(values, name))


PARSERS = (
    Parser(name="session_json", parse=_session, mutate=changed_json, longest=2048),
    Parser(name="index_json", parse=_index, mutate=changed_json, longest=4096),
    Parser(name="annotations", parse=_annotations, mutate=changed_json, longest=4096),
    Parser(name="placed_points", parse=_points, mutate=changed_json, longest=4096),
    Parser(name="plan", parse=_plan, mutate=changed_json, longest=2048),
    Parser(name="presets", parse=from_file("benches.json", _presets), mutate=changed_json, longest=4096),
    Parser(name="settings", parse=from_file("settings.json", _settings), mutate=changed_json, longest=2048),
)
