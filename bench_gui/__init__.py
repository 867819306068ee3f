"""Window and command line of ServoBench, one folder per task; no physics, protocol or HDF5 code."""

import sys
from importlib.util import find_spec
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def _is_ours(room: str) -> bool:
    found = find_spec(room)
    places = found.submodule_search_locations if found is not None else None
    return bool(places) and Path(next(iter(places))) == _ROOT / room


if __name__ == "bench_gui" and not all(map(_is_ours, ("core", "drivers", "resources", "sessions"))):
    # A folder of the same name in the working directory or on PYTHONPATH must not replace one of these.
    sys.path.insert(0, str(_ROOT))
