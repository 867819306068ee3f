"""Sessions: the runs a person recorded or imported, kept in HDF5 so that nothing finished is ever lost.

`Session` is the way in; `import_paths` brings in logs of other tools, `export_*` hands runs out. Nothing
outside this package knows that the files are HDF5.
"""

from sessions.annotations import Annotation
from sessions.errors import EmptyRunError, SessionError, UnreadableError
from sessions.exporters import export_bam, export_csv
from sessions.importers import ImportEvent, import_paths
from sessions.recovery import DamagedPart, RecoveredRun, RecoveryReport
from sessions.selection import (
    LeftOut,
    Selection,
    fit_runs,
    selection_damage,
    selection_note,
    selection_of,
    selection_text,
)
from sessions.single_file import export_single, import_single
from sessions.store import Session
from sessions.summary import RunSummary
from sessions.writer import RunWriter, SessionSink

__all__ = [
    "Annotation",
    "DamagedPart",
    "EmptyRunError",
    "ImportEvent",
    "LeftOut",
    "RecoveredRun",
    "RecoveryReport",
    "RunSummary",
    "RunWriter",
    "Selection",
    "Session",
    "SessionError",
    "SessionSink",
    "UnreadableError",
    "export_bam",
    "export_csv",
    "export_single",
    "fit_runs",
    "import_paths",
    "import_single",
    "selection_damage",
    "selection_note",
    "selection_of",
    "selection_text",
]
