"""Report of an existing identification, stored in a session or written by `bench identify`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench_gui.headless.place.rests import DOCUMENT
from bench_gui.headless.report.commands import identify_command
from bench_gui.headless.report.report import write_report
from bench_gui.headless.report.sections import ReportContents
from core.base.errors import IdentificationError, ServoBenchError
from core.base.json_fields import plain
from core.identification.diagnosis import diagnosed
from core.motion.recording import Recording
from core.practice.placement import PlacedPoint, points_from_json
from sessions import Session
from sessions.results.folder import DIAGNOSIS, write_file
from sessions.results.identification import load_identification


def report_of(
    session: Path, folder: Path, path: Path, loaded: Sequence[Recording] = (), robot: Path | None = None
) -> Path:
    """Write the report of an identification and return its path.

    Args:
        session: Session with the runs of the identification.
        folder: Folder of the identification.
        path: File to write.
        loaded: Runs of a robot's joint with their loads, which replace those of the session.
        robot: File of the robot.

    Raises:
        IdentificationError: The folder has no identification, or a run of the fit is missing.
    """
    opened = Session.open(session)
    found = load_identification(folder)
    used = {*found.split.train, *found.split.validation}
    runs = [run.id for run in opened.runs() if run.id in used]
    if lost := opened.missing(sorted(used)):
        raise IdentificationError(f"{lost[0]}; the report needs the runs of the fit")
    recordings = [run for run in loaded if run.id in used] if loaded else opened.load_for_fit(runs)
    if len(recordings) < len(used):
        raise IdentificationError(f"{folder}: motions of the fit are left out; the report needs all of them")
    joint = None if robot is None else (robot, recordings[0].joint)
    of_joint = f" of {joint[1]}" if joint else ""
    every = loaded or set(opened.fit_ids()) == used
    if found.diagnosis is None:
        found = diagnosed(found, recordings)
        # The window then shows the same warnings, unless the folder is read-only.
        with suppress(IdentificationError):
            write_file(folder, DIAGNOSIS, plain(found.diagnosis))
    remarks: list[str] = []
    points: tuple[PlacedPoint, ...] = ()
    try:
        points = points_from_json(opened.document(DOCUMENT))
    except ServoBenchError as error:
        remarks.append(f"The points placed by hand are missing: {error}")
    if found.request.data_hash and opened.data_hash(runs) != found.request.data_hash:
        remarks.append("The runs have changed since the fit (trimmed, replaced, or with other settings).")
    return write_report(
        path,
        ReportContents(
            title=f"{found.results[0].model.servo}{of_joint} from {opened.title or session.stem}",
            found=found,
            recordings=recordings,
            points=points,
            folder=folder,
            identified_by=identify_command(session, found.request, None if every else runs, joint=joint),
            run_hashes={run: opened.data_hash([run]) for run in runs},
            command=f"bench report {shlex.quote(str(session))} {shlex.quote(str(folder))}"
            if robot is None
            else f"bench robot report {shlex.quote(str(folder.parent))} {shlex.quote(str(session))}",
            remarks=remarks,
        ),
    )
