"""The session browser: finding runs, noting things about them, bringing in more, and never touching a recording."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, QMimeData, Qt, QUrl
from PySide6.QtWidgets import QFileDialog, QTreeView

from bench_gui import file_dialogs
from bench_gui.headless.dropped import classify, may_take
from bench_gui.headless.palette import THEMES, load_theme
from bench_gui.session.runs.cells import TagField
from bench_gui.session.runs.table import NOTE, SKETCH_ROLE, STATUS, TAGS, USED_ROLE
from bench_gui.settings import MOST_RECENT, remember
from bench_gui.shell.tasks import BENCH
from bench_gui.work import simulations
from bench_gui.work.compute_process import ComputeProcess
from core.motion.recording import RunHeader
from core.servo.bench import Bench
from core.servo.shipped import load_model
from drivers.servo import ServoIdentity
from sessions import Annotation, Session, export_bam, export_csv, export_single
from tests.gui.conftest import Person
from tests.gui.session.test_run_words import recording
from tests.gui.shared import shared_window


@pytest.fixture(scope="module")
def open_window(qapp, tmp_path_factory):
    with shared_window(tmp_path_factory.mktemp("home"), BENCH) as window:
        yield window


@pytest.fixture
def person(open_window, qtbot):
    """At a window that others have used, with nothing to undo, to read or to filter."""
    panel, controller = open_window.session, open_window.controller
    controller.undo.clear()
    for notice in list(open_window.messages.notices):
        notice.close_button.click()
    panel.clear_filter()
    panel.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    yield Person(qtbot, open_window)
    if panel.questions.dialog is not None:
        panel.questions.dialog.close()


def test_without_a_session_nothing_can_be_done_with_runs(person):
    """The first of this window."""
    specs = {spec.text.replace("&", ""): spec for spec in panel(person).actions_offered()}
    assert not specs["Filter runs"].enabled()
    assert not specs["Trim…"].enabled()


@pytest.fixture(scope="module")
def made_long(tmp_path_factory):
    session = Session.create(tmp_path_factory.mktemp("sessions") / "long", "long")
    session.add_all([recording(40)] * 60)
    return session.path


@pytest.fixture
def long_session(made_long, tmp_path):
    return shutil.copytree(made_long, tmp_path / "long")


def stamps(person):
    view = person.window.session.view
    rows = range(view.order.rowCount())
    return [row for row in rows if view.order.data(view.order.index(row, 1), SKETCH_ROLE) is not None]


def test_only_runs_in_sight_get_a_stamp(person, long_session, monkeypatch):
    person.open(long_session)
    view = person.window.session.view
    person.until(lambda: bool(stamps(person)))
    person.until(lambda: not person.controller.background.busy)
    in_sight = view.viewport().height() // view.rowHeight(0) + 1
    assert in_sight <= len(stamps(person)) <= in_sight + 1
    view.scrollToBottom()
    person.until(lambda: 59 in stamps(person))
    person.until(lambda: not person.controller.background.busy)
    assert len(stamps(person)) <= 2 * (in_sight + 1)
    # A list that is hidden asks for none, one without height for the runs that would come first.
    asked = []
    monkeypatch.setattr(view.sketches, "ask", lambda ids: asked.append(list(ids)))
    view.scrollToTop()
    person.window.session.hide()
    view._look.timeout.emit()
    assert asked == []
    person.window.session.show()
    person.until(lambda: bool(asked))
    height = view.viewport().height()
    view.viewport().setFixedHeight(0)
    view._look.timeout.emit()
    assert len(asked[-1]) <= 2
    view.viewport().setFixedHeight(height)


def test_stamps_go_on_after_runs_that_could_not_be_read_in_the_colours_of_the_theme(person, session, monkeypatch):
    said = []
    person.controller.library.problem.connect(said.append)

    def broken(self, identity):
        raise RuntimeError("no such thing")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "load", broken)
        person.open(session)
        person.until(lambda: any("no such thing" in text for text in said))
    view = person.window.session.view
    view._look.timeout.emit()
    person.until(lambda: 0 in stamps(person))

    def seen():
        picture = view.viewport().grab(view.visualRect(view.order.index(0, 1))).toImage()
        return {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}

    for theme in (*THEMES, "light"):
        person.window.appearance.choose(theme)
        person.until(lambda theme=theme: closest(seen(), load_theme(theme).measured) < 90)


def closest(seen, wanted):
    def parts(colour):
        return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])

    return min(np.abs(parts(colour) - parts(wanted)).sum() for colour in seen)


# In the window.


def panel(person):
    return person.window.session


def shown(person):
    view = panel(person).view
    return [view.order.run_id(row) for row in range(view.order.rowCount())]


def ids(person):
    return [run.id for run in person.controller.library.runs]


def cell_text(person, identity, column):
    view = panel(person).view
    return view.order.data(view.order.index(view.order.row_of(identity), column))


def on_disk(person):
    person.until(lambda: not person.controller.background.busy)
    return Session.open(person.controller.library.path).annotations()


def files(session):
    return {path.name: path.read_bytes() for path in (session / "runs").glob("*.h5")}


def enter_cell(person, identity, column, text):
    view = panel(person).view
    index = view.order.index(view.order.row_of(identity), column)
    view.scrollTo(index)
    person.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center())
    person.qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center())
    editor = view.indexWidget(index)
    assert editor.accessibleName()
    editor.selectAll()
    person.qtbot.keyClicks(editor, text)
    person.qtbot.keyClick(editor, Qt.Key.Key_Return)
    person.until(lambda: view.indexWidget(index) is None)


def test_the_filter_counts_and_keeps_the_choice(person, session):
    person.open(session)
    first, second, third = ids(person)
    panel(person).select([first, third])
    person.qtbot.keyClicks(panel(person).head.filter, "trajectory:sin")
    assert shown(person) == [first, second]
    assert panel(person).count.text() == "2 of 3 runs, 2 selected (1 hidden)"
    assert person.controller.library.selected == (first, third)
    panel(person).clear_filter()
    assert {i.row() for i in panel(person).view.selectionModel().selectedRows()} == {0, 2}
    person.qtbot.keyClicks(panel(person).head.filter, "kp=1 foo=2")
    assert "no foo" in panel(person).head.trouble.text()
    assert panel(person).head.trouble.isVisible()
    assert shown(person) == []
    panel(person).clear_filter()
    assert not panel(person).head.trouble.isVisible()
    assert panel(person).count.text() == "3 runs, 2 selected"
    person.qtbot.keyClicks(panel(person).head.filter, "sin")
    panel(person).select_shown()
    assert person.controller.library.selected == (first, second)


def test_columns_sort_by_what_they_mean(person, long_session):
    person.open(long_session)
    view = panel(person).view
    view.sortByColumn(0, Qt.SortOrder.DescendingOrder)
    assert shown(person)[0].startswith("0060")
    panel(person).editing.set_note(ids(person)[41], "b")
    panel(person).editing.set_note(ids(person)[57], "A")
    view.sortByColumn(NOTE, Qt.SortOrder.DescendingOrder)
    assert shown(person)[:2] == [ids(person)[41], ids(person)[57]]


def test_another_session_with_the_same_ids_is_shown_as_it_is(person, tmp_path):
    for name, mass in (("one", 0.5), ("two", 0.7)):
        run = replace(recording(40), bench=Bench(mass=mass, length=0.1))
        Session.create(tmp_path / name, name).add(run)
    person.open(tmp_path / "one")
    (identity,) = ids(person)
    panel(person).select([identity])
    person.open(tmp_path / "two")
    assert ids(person) == [identity]
    assert cell_text(person, identity, 5) == "0.7"
    assert person.controller.library.selected == ()
    assert not panel(person).view.selectionModel().hasSelection()


def test_notes_and_tags_are_edited_in_place_and_undone(person, session):
    before = files(session)
    person.open(session)
    first = ids(person)[0]
    enter_cell(person, first, NOTE, "checked the load")
    enter_cell(person, first, TAGS, "good, bench 2")
    assert on_disk(person) == {first: Annotation(note="checked the load", tags=("good", "bench 2"))}
    assert cell_text(person, first, TAGS) == "good, bench 2"
    person.controller.undo.undo()
    assert cell_text(person, first, TAGS) == ""
    assert on_disk(person) == {first: Annotation(note="checked the load")}
    person.controller.undo.undo()
    assert cell_text(person, first, NOTE) == ""
    person.controller.undo.redo()
    assert on_disk(person) == {first: Annotation(note="checked the load")}
    assert files(session) == before


def test_tags_of_several_runs_leave_what_only_some_have(person, session):
    person.open(session)
    first, second, _ = ids(person)
    panel(person).editing.set_tags(first, ("good", "mine"))
    panel(person).editing.set_tags(second, ("good",))
    panel(person).select([first, second])
    person.click(panel(person).head.tags_button)
    dialog = panel(person).questions.dialog
    assert dialog.field.tags == ("good",)
    dialog.field.clear()
    person.qtbot.keyClicks(dialog.field, "new")
    person.qtbot.mouseClick(dialog.findChildren(type(panel(person).head.tags_button))[-1], Qt.MouseButton.LeftButton)
    assert person.controller.undo.undoText() == "tags of 2 runs"
    noted = on_disk(person)
    assert (noted[first].tags, noted[second].tags) == (("mine", "new"), ("new",))


def test_a_tag_being_typed_is_completed(qtbot):
    field = TagField(["reference", "good"])
    qtbot.addWidget(field)
    field.show()
    qtbot.keyClicks(field, "good, ref")
    assert field._completer.currentCompletion() == "reference"
    field._completer.activated.emit("reference")
    assert field.tags == ("good", "reference")


def test_a_run_is_excluded_for_a_reason(person, session):
    before = files(session)
    person.open(session)
    first, *others = ids(person)
    library = person.controller.library
    panel(person).select([first])
    person.click(panel(person).head.exclude_button)
    dialog = panel(person).questions.dialog
    assert not dialog.isModal()
    assert not dialog.exclude_button.isEnabled()
    person.qtbot.keyClicks(dialog.reason, "the load slipped")
    person.click(dialog.exclude_button)
    assert on_disk(person) == {first: Annotation(excluded=True, reason="the load slipped")}
    assert cell_text(person, first, STATUS) == "complete, excluded"
    view = panel(person).view
    index = view.order.index(0, 0)
    assert view.order.data(index, Qt.ItemDataRole.FontRole).strikeOut()
    assert "the load slipped" in view.order.data(index, Qt.ItemDataRole.ToolTipRole)
    # Selected or not, it is neither compared nor fitted.
    for selected in ([first], []):
        panel(person).select(selected)
        assert [run.id for run in person.controller.comparison.runs] == others == [run.id for run in library.for_fit()]
    assert library.left_out(library.for_fit()).startswith(
        f"{len(others)} of {len(library.runs)} runs: 0001 excluded (the load slipped)"
    )
    assert [r.id for r in library.for_fit()] == Session.open(session).fit_ids()
    assert "1 excluded" in panel(person).count.text()
    panel(person).select([first])
    person.click(panel(person).head.include_button)
    assert on_disk(person) == {}
    assert files(session) == before


def test_file_dialogs_begin_beside_the_session_and_hear_esc_while_a_motor_is_on(person, session, monkeypatch):
    shown = []

    def look(dialog):
        files = dialog.findChild(QTreeView, "treeView")
        widths = [files.columnWidth(column) >= files.sizeHintForColumn(column) for column in range(4)]
        own = dialog.testOption(QFileDialog.Option.DontUseNativeDialog)
        shown.append((Path(dialog.directory().absolutePath()), own, all(widths)))
        return 0

    monkeypatch.setattr(QFileDialog, "exec", look)
    person.open(session)
    panel(person).opening.ask_import()
    monkeypatch.setattr(type(person.controller.servo), "released", False)
    panel(person).opening.ask_import()
    assert shown == [(session.parent, own, True) for own in (False, True)]


def test_a_single_selected_run_is_looked_at_and_changes_no_fit(person, session):
    person.open(session)
    library, comparison, heard = person.controller.library, person.controller.comparison, []
    library.fit_changed.connect(lambda: heard.append([run.id for run in library.for_fit()]))
    everything = ids(person)
    panel(person).select(everything[:1])
    assert [run.id for run in library.for_fit()] == everything
    assert [run.id for run in comparison.runs] == everything[:1]
    assert heard == []
    panel(person).select(everything[:2])
    assert heard == [everything[:2]] == [[run.id for run in comparison.runs]]
    panel(person).select(everything[:1])
    assert heard[1:] == [everything]


def test_runs_that_did_not_end_well_are_fitted_only_when_selected(person, tmp_path):
    session = Session.create(tmp_path / "some", "some")
    session.add(recording(40))
    session.add(recording(40), "crashed")
    person.open(session.path)
    library = person.controller.library
    good, crashed = ids(person)
    assert [run.id for run in library.for_fit()] == [good] == session.fit_ids()
    assert library.left_out(library.for_fit()) == "1 of 2 runs: 0002 recovered"
    panel(person).select([crashed])
    assert [run.id for run in library.for_fit()] == [good], "a single run is only looked at"
    panel(person).select([good, crashed])
    assert [run.id for run in library.for_fit()] == [good, crashed] == session.fit_ids([good, crashed])
    panel(person).editing.exclude([good], "slipped")
    panel(person).select([crashed])
    assert [run.id for run in library.for_fit()] == [crashed], "there is no other"


def drawn(dialog):
    x, _ = dialog._measured.getData()
    return () if x is None else x


def test_a_run_is_trimmed_by_lines_and_by_numbers(person, session):
    before = files(session)
    person.open(session)
    first = ids(person)[0]
    panel(person).select([first])
    person.click(panel(person).head.trim_button)
    dialog = panel(person).questions.dialog
    person.until(lambda: len(drawn(dialog)) > 100)
    assert (dialog.begin, dialog.end) == (None, None)
    dialog.region.lines[0].setValue(0.5)
    assert dialog.begin == 0.5
    dialog.last.setValue(2.0)
    assert tuple(dialog.region.getRegion()) == (0.5, 2.0)
    dialog.last.setValue(0.5)
    assert not dialog.trim_button.isEnabled()
    dialog.last.setValue(2.0)
    with person.qtbot.waitSignal(person.controller.library.trimmed) as trimmed:
        person.click(dialog.trim_button)
    assert trimmed.args == [[first]]
    assert on_disk(person) == {first: Annotation(trim_begin=0.5, trim_end=2.0)}
    assert "0.50–2.00 s" in cell_text(person, first, STATUS)
    begin, end = panel(person).view.order.data(panel(person).view.order.index(0, 1), USED_ROLE)
    assert 0.0 < begin < end < 1.0
    used = []
    person.controller.library.load_used([first], used.extend)
    person.until(lambda: bool(used))
    assert used[0].duration == pytest.approx(1.5, abs=0.02)
    # The lines are found again where they were, and can be taken away.
    panel(person).questions.ask_trim()
    again = panel(person).questions.dialog
    assert again.isVisible()
    assert (again.begin, again.end) == (0.5, 2.0)
    person.click(again.reset_button)
    assert (again.begin, again.end) == (None, None)
    person.click(again.trim_button)
    assert on_disk(person) == {}
    assert files(session) == before


def test_the_desk_simulates_the_part_that_is_used(session):
    opened = Session.open(session)
    first = opened.runs()[0].id
    models = {"m1": load_model("mx106", "m1")}
    compute = ComputeProcess()
    try:
        (whole,) = compute.call(simulations.overlays, session, [first], models).runs
        opened.annotate(first, Annotation(trim_begin=0.5, trim_end=2.0))
        (part,) = compute.call(simulations.overlays, session, [first], models).runs
    finally:
        compute.close()
    assert whole.time[-1] == pytest.approx(2.5, abs=0.02)
    assert part.time[-1] == pytest.approx(1.5, abs=0.02)


def test_undo_comes_back_to_the_session_it_is_about(person, session, tmp_path):
    other = shutil.copytree(session, tmp_path / "other")
    person.open(session)
    panel(person).editing.set_note(ids(person)[0], "mine")
    person.open(other)
    person.controller.undo.undo()
    assert on_disk(person) == {}
    assert Session.open(session).annotations() == {}
    assert "which is not open" in person.message


def test_what_cannot_be_noted_is_said_and_not_shown(person, session):
    """Notes that cannot be read do not keep the session closed."""
    person.open(session)
    first = ids(person)[0]
    panel(person).editing.set_tags(first, ("x" * 100,))
    assert "tag" in person.message
    assert cell_text(person, first, TAGS) == ""
    assert person.controller.undo.count() == 0
    (session / "annotations.json").mkdir()
    panel(person).editing.set_note(first, "lost")
    person.until(lambda: "not saved" in person.message and cell_text(person, first, NOTE) == "")
    (session / "annotations.json").rmdir()
    (session / "annotations.json").write_text("{", "utf-8")
    person.open(session)
    person.until(lambda: "annotations.json" in person.message)
    assert len(ids(person)) == 3


def test_an_exported_session_can_be_looked_at_only(person, session, tmp_path):
    Session.open(session).annotate(Session.open(session).runs()[0].id, Annotation(tags=("good",)))
    single = export_single(Session.open(session), tmp_path / "all.h5")
    person.open(single)
    first = ids(person)[0]
    assert cell_text(person, first, TAGS) == "good"
    panel(person).select([first])
    assert not panel(person).head.exclude_button.isEnabled()
    flags = panel(person).view.order.flags(panel(person).view.order.index(0, NOTE))
    assert not flags & Qt.ItemFlag.ItemIsEditable
    assert not any(spec.enabled() for spec in panel(person)._run_actions())


def test_actions_are_possible_when_they_make_sense(person, session):
    specs = {spec.text.replace("&", ""): spec for spec in panel(person).actions_offered()}
    person.open(session)
    assert specs["Filter runs"].enabled()
    assert not specs["Trim…"].enabled()
    specs["Select all runs shown"].act()
    assert specs["Set tags…"].enabled()
    assert not specs["Trim…"].enabled()
    assert not specs["Include in fits"].enabled()
    specs["Select none"].act()
    assert person.controller.library.selected == ()
    panel(person).select(ids(person)[:1])
    specs["Edit the note"].act()
    view = panel(person).view
    assert view.indexWidget(view.order.index(0, NOTE)).accessibleName() == "Note"


def test_a_click_selects_and_a_new_run_does_not_disturb(person, session):
    person.open(session)
    view = panel(person).view
    flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    view.selectionModel().select(view.order.index(1, 0), flags)
    assert person.controller.library.selected == (ids(person)[1],)
    Session.open(session).add(replace(recording(40), provenance={"simulated": True}))
    person.controller.library.refresh()
    person.until(lambda: len(ids(person)) == 4)
    assert person.controller.library.selected == (ids(person)[1],)
    assert [i.row() for i in view.selectionModel().selectedRows()] == [1]


def test_a_run_that_decays_while_the_session_is_open_does_not_go_in_silence(person, session):
    person.open(session)
    lost, *others = ids(person)
    said = []
    person.controller.library.problem.connect(said.append)
    file = session / "runs" / f"{lost}.h5"
    file.write_bytes(file.read_bytes()[:3000])
    person.controller.library.refresh()
    person.until(lambda: ids(person) == others)
    person.controller.library.refresh()
    person.until(lambda: not person.controller.background.busy)
    assert len(said) == 1
    assert f"{lost}.h5: the file is damaged" in said[0]
    assert f"{lost[:4]} damaged" in person.controller.library.left_out(person.controller.library.runs)


# Files from outside.


def test_dropped_things_are_told_apart(session, tmp_path):
    (csv,) = export_csv(Session.open(session), [Session.open(session).runs()[0].id], tmp_path / "csv")
    single = export_single(Session.open(session), tmp_path / "all.h5")
    (run, *_) = sorted((session / "runs").glob("*.h5"))
    picture = tmp_path / "photo.png"
    picture.write_bytes(b"no recording")
    assert classify([session]).opens == session
    assert classify([single]).opens == single
    assert classify([run]).imports == (run,)
    assert classify([csv, csv.parent]).imports == (csv, csv.parent)
    assert classify([csv, session]).imports == (session, csv)
    assert classify([session, single]).imports == (session, single)
    refused = classify([picture, tmp_path / "gone.json", csv])
    assert refused.imports == (csv,)
    assert "photo.png" in refused.refused[0]
    assert "no such file" in refused.refused[1]
    assert may_take([csv])
    assert may_take([session])
    assert not may_take([picture])


def mime(*paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def test_what_cannot_be_taken_is_said(person, session, tmp_path):
    """A file of another kind, a page of the web, and what a folder of recordings holds besides."""
    picture, opening = tmp_path / "photo.png", panel(person).opening
    picture.write_bytes(b"no recording")
    assert not opening.can_take(mime(picture))
    opening.take(mime(picture))
    person.until(lambda: "photo.png" in person.message)
    web = QMimeData()
    web.setUrls([QUrl("https://example.org/log.json")])
    assert not opening.can_take(web)
    opening.take(web)
    assert "this computer" in person.message
    folder = tmp_path / "logs"
    export_bam(Session.open(session), None, folder)
    (folder / "config.json").write_text('{"name": "no recording"}', "utf-8")
    person.open(Session.create(tmp_path / "empty", "empty").path)
    opening.take(mime(folder))
    person.until(lambda: len(ids(person)) == 3)
    assert "3 runs imported" in person.message
    assert "config.json" in person.message


def test_an_import_that_is_given_up_leaves_everything_as_it_was(person, session, tmp_path):
    """From the list of work, which names it and counts its files."""
    folder = tmp_path / "logs"
    export_bam(Session.open(session), None, folder)
    person.open(session)
    before, library, work = ids(person), person.controller.library, person.window.under_way.reading
    library.import_files([folder])
    assert (work.running, work.title) == (True, "Import")
    work.cancel()
    person.until(lambda: not library.loading)
    assert ids(person) == before == [run.id for run in Session.open(session).runs()]
    assert not work.running
    assert person.message == "", "a person gave it up: that is no error"


def test_recent_sessions_are_few_and_there(tmp_path):
    recent = []
    for number in range(MOST_RECENT + 3):
        (tmp_path / str(number)).mkdir()
        recent = remember(recent, tmp_path / str(number))
    assert len(recent) == MOST_RECENT
    assert recent[0] == str(tmp_path / str(MOST_RECENT + 2))
    (tmp_path / str(MOST_RECENT)).rmdir()
    recent = remember(recent, tmp_path / "5")
    assert recent[0] == str(tmp_path / "5")
    assert recent.count(str(tmp_path / "5")) == 1
    assert str(tmp_path / str(MOST_RECENT)) not in recent


def test_runs_and_notes_of_another_program_appear(person, session):
    person.open(session)
    library = person.controller.library
    other = Session.open(session)
    known = {run.id for run in library.runs}
    added = other.add(replace(recording(40), provenance={"simulated": True}))
    person.until(lambda: {run.id for run in library.runs} == known | {added})
    other.revise([added], lambda _, noted: replace(noted, note="from elsewhere"))
    person.until(lambda: library.annotation(added).note == "from elsewhere")
    assert library.path == session


@pytest.fixture
def protected(session):
    """The session, into which nobody may write: for root, whom no permission stops, it is mounted read-only."""
    mount = ("mount", "--bind", session, session), ("mount", "-o", "remount,bind,ro", session)
    if os.geteuid():
        session.chmod(0o555)
    elif any(subprocess.run(command, capture_output=True, check=False).returncode for command in mount):
        pytest.skip("root may write anywhere, and nothing can be mounted here")
    yield session
    if os.geteuid():
        session.chmod(0o755)
    else:
        subprocess.run(["umount", "-l", session], check=True)


def test_a_write_protected_session_shows_a_lock_and_takes_no_runs(person, protected, tmp_path):
    """Said before the first write."""
    person.open(protected)
    lock, library = person.window.session.head.locked, person.controller.library
    assert lock.isVisible()
    assert lock.text() == "Read-only: this folder is write-protected"
    refused = []
    run = recording(40)
    header = RunHeader(trajectory="sin_sin", bench=run.bench, settings=run.settings, rate=200.0)
    library.sink_for(header, lambda _: pytest.fail("it takes runs"), refused.append)
    assert refused == [library.obstacle]
    person.open(shutil.copytree(protected, tmp_path / "copy"))
    assert not lock.isVisible()


def of_origin(origin, samples):
    return replace(recording(samples), provenance={"device": {"origin": origin}})


WAYS_IN = {
    "drop": lambda person, paths: person.controller.library.take(paths),
    "import dialog": lambda person, paths: person.window.session.opening.ask_import(),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_recordings_of_another_servo_go_into_a_new_session_and_of_this_one_into_the_open_one(
    person, tmp_path, monkeypatch, way
):
    library = person.controller.library
    lab, real, same = (Session.create(tmp_path / name, name) for name in ("lab", "real", "same"))
    lab.add(of_origin("emulated", 40))
    real.add_all([of_origin("real", 41), of_origin("real", 42)])
    same.add(of_origin("emulated", 43))
    person.open(lab.path)

    def bring(session):
        files = export_csv(session, None, tmp_path / f"{session.title} files")
        monkeypatch.setattr(file_dialogs, "ask", lambda *_, **__: ([*map(str, files)], ""))
        WAYS_IN[way](person, files)
        person.until(lambda: not library.loading and not person.controller.background.busy)

    bring(same)
    assert library.path == lab.path
    assert [run.kind for run in library.runs] == ["emulated mx106"] * 2
    bring(real)
    person.until(lambda: library.path != lab.path)
    assert [run.kind for run in library.runs] == ["real mx106"] * 2
    assert f"A session has one servo; 2 runs imported into a new session, {library.title}" in person.message
    assert len(Session.open(lab.path).runs()) == 2
    # Both at once fit nowhere: nothing is imported, and the open session stays.
    here = library.path
    mixed = [*(tmp_path / "same files").iterdir(), *(tmp_path / "real files").iterdir()]
    library.import_files(mixed)
    person.until(lambda: "session has one servo, these runs are of a" in person.message)
    assert library.path == here


def test_a_run_of_another_servo_is_recorded_into_a_new_session(person, tmp_path):
    library = person.controller.library
    lab = Session.create(tmp_path / "lab")
    lab.add(of_origin("emulated", 40))
    person.open(lab.path)
    run = recording(40)
    folders = []
    for origin in ("emulated", "real"):
        header = RunHeader(trajectory="sin_sin", bench=run.bench, settings=run.settings, rate=200.0)
        signed = ServoIdentity(model=run.settings.servo, title="", origin=origin).signed(header)
        library.sink_for(signed, lambda sink: folders.append(sink.runs_folder), pytest.fail)
        person.until(lambda origin=origin: len(folders) == 1 + (origin == "real"))
    assert folders[0] == str(lab.path / "runs")
    assert folders[1] == str(library.path / "runs")
    assert "A session has one servo; these runs go into a new session" in person.message
