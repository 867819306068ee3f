"""Rows of the acceptance table that concern sessions and their files."""

import os
import subprocess
import sys

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from bench_gui.session.dialogs.recovery_dialog import REASON, RecoveryDialog
from bench_gui.shell.tasks import BENCH
from sessions import Session, export_bam, export_csv, export_single

FIRST_SEEN = BENCH

RECORDER = """
import sys
from types import SimpleNamespace
import numpy as np
import sessions.writing.writer
from core.bench import Bench
from core.recording import SAMPLE_DTYPE, RunHeader, ServoSettings
from sessions.writing.writer import SessionSink

header = RunHeader(
    trajectory="sin_sin",
    bench=Bench(mass=0.49, length=0.1),
    settings=ServoSettings(servo="xl330", kp=400, supply_voltage=7.4),
    rate=200.0,
)
now = 0.0
sessions.writing.writer.time = SimpleNamespace(monotonic=lambda: now)
run = SessionSink(sys.argv[1]).open(header)
for index in range(10**6):
    row = np.zeros(1, SAMPLE_DTYPE)
    now = row["time"] = 0.005 * index
    row["goal_position"] = index
    row["torque_enable"] = 1
    run.append(row)
    print(index, now, flush=True)
"""
"""A recorder with a clock of its own, on which a busy machine takes no time."""
LOSS = 1.0
"""The most that may be lost [s]."""


@pytest.fixture
def killed(session):
    """A session whose recorder was killed in the middle of a run, and the last sample it had taken."""
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER, str(session / "runs")], env=environment, stdout=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stdout is not None
        for line in recorder.stdout:
            index, time = line.split()
            if float(time) >= 2.0:
                break
        recorder.kill()
        # What it still managed to say counts as well.
        said = [line.split() for line in recorder.stdout if line.endswith("\n")]
    index, time = said[-1] if said else (index, time)
    assert recorder.wait() == -9
    return session, int(index), float(time)


def dialog_of(person, kind):
    person.until(lambda: any(d.isVisible() for d in person.window.findChildren(kind)))
    (dialog,) = [d for d in person.window.findChildren(kind) if d.isVisible()]
    return dialog


def test_crash_recovery(person, killed):
    """Kill −9 loses ≤ 1 s; opening the session recovers; rows are counted."""
    session, index, time = killed
    panel, library = person.window.session, person.controller.library

    library.open(session)
    dialog = dialog_of(person, RecoveryDialog)

    assert not dialog.isModal()
    (recovered,) = [run for run in library.runs if run.exit_status == "crashed"]
    recording = Session.open(session).load(recovered.id)
    assert time - recording.time[-1] <= LOSS
    assert index - recording.goal_position[-1] <= LOSS * 200.0
    assert list(recording.goal_position) == list(range(recording.samples))
    assert dialog.model.rowCount() == 1
    row = [dialog.model.item(0, column).text() for column in range(dialog.model.columnCount())]
    assert row[:4] == ["0004", "sin_sin", f"{recording.duration:.2f}", str(recording.samples)]
    assert row[4].startswith("20")
    assert "0.5 s" in dialog.text.text()

    # It takes part in no fit by itself; excluded, not even when it is selected. The emergency stop stays in reach.
    assert recovered.id not in [run.id for run in library.for_fit()]
    panel.select([recovered.id])
    assert [run.id for run in library.for_fit()] == [recovered.id]
    person.click(dialog.exclude_button)
    assert library.annotation(recovered.id).reason == REASON
    assert library.for_fit() == []
    person.controller.undo.undo()
    assert [run.id for run in library.for_fit()] == [recovered.id]
    assert person.window.findChildren(RecoveryDialog, options=Qt.FindChildOption.FindDirectChildrenOnly) in (
        [],
        [dialog],
    )

    # Opened again there is nothing to recover.
    person.open(session)
    assert not Session.open(session).recovery.messages
    assert not any(d.isVisible() for d in person.window.findChildren(RecoveryDialog))


def test_files(person, session, tmp_path):
    """Recordings and sessions are dropped on the window; what was opened last is offered again."""
    library, panel = person.controller.library, person.window.session
    source = Session.open(session)
    first, second, third = (run.id for run in source.runs())
    (log,) = export_bam(source, [first], tmp_path / "bam")
    (table,) = export_csv(source, [second], tmp_path / "csv")
    single = export_single(source, tmp_path / "exported.h5")

    # With no session open, recordings make a new one.
    drop(person, log)
    person.until(lambda: len(library.runs) == 1)
    made = library.path
    assert library.runs[0].source == log.name
    # Into the open one go CSV, and folders; what it has already is passed over.
    drop(person, table)
    person.until(lambda: len(library.runs) == 2)
    export_bam(source, [third], tmp_path / "bam")
    drop(person, tmp_path / "bam", tmp_path / "csv")
    person.until(lambda: len(library.runs) == 3)
    assert library.path == made
    assert "imported" in person.message
    assert f"same content as run {library.runs[0].id}" in person.message
    # A session, as a folder and as one file, is opened.
    drop(person, session)
    person.until(lambda: library.path == session and not library.loading)
    assert [run.id for run in library.runs] == [first, second, third]
    drop(person, single)
    person.until(lambda: library.path == single and not library.loading)
    assert [run.id for run in library.runs] == [first, second, third]
    assert library.read_only

    # The list of recent sessions, the newest first; what is open is not offered.
    assert person.controller.settings.recent[:3] == [str(single), str(session), str(made)]
    menu = panel.head.recent_button.menu()
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()] == [session.name, made.name]
    menu.actions()[1].trigger()
    person.until(lambda: library.path == made and not library.loading)
    assert len(library.runs) == 3


def drop(person, *paths):
    """Drag files over the list of runs and let go."""
    panel = person.window.session
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    where = panel.rect().center()
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(where, Qt.DropAction.CopyAction, mime, buttons, keys)
    panel.dragEnterEvent(enter)
    assert enter.isAccepted()
    panel.dropEvent(QDropEvent(QPointF(where), Qt.DropAction.CopyAction, mime, buttons, keys))
