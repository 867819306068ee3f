"""LeRobot data sets (v2.1 and v3.0) as tables: a folder with `meta/info.json` and Parquet parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_array, is_object
from sessions.importers.tables import ParquetTable
from sessions.strict_json import parse_json

INFO = Path("meta/info.json")


def open_dataset(folder: Path) -> ParquetTable:
    """Open a data set; elements of its features have the names that it gives, as in "action.elbow_flex.pos".

    Raises:
        InputError: if the folder holds no such data set.
    """
    info = parse_json((folder / INFO).read_bytes())
    features = info.get("features") if is_object(info) else None
    parts = sorted(folder.glob("data/*/*.parquet"))
    if not is_object(features) or not parts:
        raise InputError("not a LeRobot data set: meta/info.json names no features, or there is no data/*/*.parquet")
    return ParquetTable(parts, {name: _names(feature) for name, feature in features.items()})


def _names(feature: Any) -> list[str]:
    """Return the names of a feature's elements; some data sets group them, as in {"motors": [...]}."""
    names = feature.get("names") if is_object(feature) else None
    if is_object(names):
        names = next(iter(names.values()), None)
    return [str(name) for name in names] if is_array(names) else []
