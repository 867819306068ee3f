"""Sessions: recorded and imported runs, stored in HDF5 so that no finished run is ever lost.

`Session` is the entry point; `import_paths` imports logs of other tools, and `export_*` writes runs for them. No module
outside this package knows that the files are HDF5. Names are imported on first use, so that code which only looks at
results does not wait for HDF5.
"""

# A strict check takes names that are only re-exported for unused ones.
# pyright: basic

from importlib import import_module
from typing import TYPE_CHECKING, Any

# ruff: noqa: F401 (imported for type checkers; at run time names come from _MODULES)
if TYPE_CHECKING:
    from sessions.annotations import Annotation
    from sessions.errors import AnotherServoError, SessionError, UnreadableError
    from sessions.exporters import export_bam, export_csv
    from sessions.importers import import_paths
    from sessions.run_file.summary import RunSummary
    from sessions.selection import Selection, fit_runs, selection_damage, selection_note, selection_text
    from sessions.single_file import export_single, import_single
    from sessions.store import Session

_MODULES = {
    "Annotation": "annotations",
    "AnotherServoError": "errors",
    "RunSummary": "run_file.summary",
    "Selection": "selection",
    "Session": "store",
    "SessionError": "errors",
    "UnreadableError": "errors",
    "export_bam": "exporters",
    "export_csv": "exporters",
    "export_single": "single_file",
    "fit_runs": "selection",
    "import_paths": "importers",
    "import_single": "single_file",
    "selection_damage": "selection",
    "selection_note": "selection",
    "selection_text": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
