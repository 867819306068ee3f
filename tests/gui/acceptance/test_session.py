"""Rows of the acceptance table that concern sessions and their files."""

import shutil

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from bench_gui.session.dialogs.recovery_dialog import REASON, RecoveryDialog
from bench_gui.shell.tasks import BENCH
from core.motion.recording import SAMPLE_DTYPE, RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions import Session, export_bam, export_csv, export_single
from tests.gui.test_columns import row_of
from tests.waiting import wait_until

FIRST_SEEN = BENCH


@pytest.fixture
def cut_off(session, tmp_path):
    """A session as it is left when its recorder dies in the middle of a run, and the rows on the disk by then."""
    header = RunHeader(
        trajectory="sin_sin",
        bench=Bench(mass=0.49, length=0.1),
        settings=ServoSettings(servo="mx106", kp=16, supply_voltage=14.8),
        rate=200.0,
        provenance={"servo_address": "simulated:mx106"},
    )
    run = Session.open(session).sink().open(header)
    row = np.zeros(1, SAMPLE_DTYPE)
    row["torque_enable"] = 1

    def append():
        run.append(row)
        row["time"] += 0.005

    wait_until(lambda: run.rows_flushed > 10, each=append)
    left, flushed = shutil.copytree(session, tmp_path / "left"), run.rows_flushed
    run.finish("abort")
    return left, flushed


def dialog_of(person, kind):
    person.until(lambda: any(d.isVisible() for d in person.window.findChildren(kind)))
    (dialog,) = [d for d in person.window.findChildren(kind) if d.isVisible()]
    return dialog


def test_crash_recovery(person, cut_off):
    """Opening a session recovers what was written; rows are counted."""
    session, flushed = cut_off
    panel, library = person.window.session, person.controller.library

    library.open(session)
    dialog = dialog_of(person, RecoveryDialog)

    assert not dialog.isModal()
    (recovered,) = [run for run in library.runs if run.exit_status == "crashed"]
    recording = Session.open(session).load(recovered.id)
    assert recording.samples == flushed
    assert dialog.model.rowCount() == 1
    row = row_of(dialog.model, 0)
    assert row.pop("Until").startswith("20")
    figures = {"Recorded [s]": f"{recording.duration:.2f}", "Samples": str(flushed)}
    assert row == {"Run": "0004", "Trajectory": "sin_sin", **figures}
    assert "0.5 s" in dialog.text.text()

    # It takes part in no fit by itself; excluded, not even when it is selected. The emergency stop stays in reach.
    assert recovered.id not in [run.id for run in library.for_fit()]
    other = library.for_fit()[0].id
    panel.select([other, recovered.id])
    assert [run.id for run in library.for_fit()] == [other, recovered.id]
    person.click(dialog.exclude_button)
    assert library.annotation(recovered.id).reason == REASON
    assert [run.id for run in library.for_fit()] == [other]
    person.controller.undo.undo()
    assert [run.id for run in library.for_fit()] == [other, recovered.id]
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
