"""A session of any length is listed, filtered and sampled without its samples being read; counted, not timed."""

import json
from collections import Counter

import pytest
from PySide6.QtCore import Qt

from bench_gui.cli import main
from bench_gui.state.choice import choice_of
from core.base.errors import IdentificationError
from core.identification.runs.folds import balanced_subset
from sessions import Session, index
from sessions.sampling import sample_of
from tests.endurance.conftest import MANY
from tests.endurance.long import KINDS


@pytest.fixture
def reads(monkeypatch):
    """Counts files read for a list, and runs read whole."""
    counted = Counter()
    read, load = index._read, Session.load

    def counting_read(path):
        counted["listed"] += 1
        return read(path)

    def counting_load(self, run):
        counted["loaded"] += 1
        return load(self, run)

    monkeypatch.setattr(index, "_read", counting_read)
    monkeypatch.setattr(Session, "load", counting_load)
    return counted


def test_the_runs_made_for_it_are_as_valid_as_recorded_ones(many):
    session = Session.open(many)
    assert session.problems() == []
    runs = session.runs()
    assert len(runs) == MANY
    assert len({run.content_sha256 for run in runs}) == KINDS
    assert session.load(runs[-1].id).id == runs[-1].id


def test_with_an_index_no_file_is_opened_for_the_list_or_the_hash(many, reads):
    session = Session.open(many)
    assert len(session.runs()) == MANY
    session.runs()
    assert len(session.data_hash()) == 64
    assert not reads


def test_reading_without_an_index_is_told_run_by_run(many, tmp_path, reads):
    folder = copy_without_index(many, tmp_path)
    told = []
    Session.open(folder).runs(lambda read, total: told.append((read, total)))
    assert told == [(k + 1, MANY) for k in range(MANY)]
    assert reads["listed"] == MANY


def test_what_was_read_before_it_was_given_up_need_not_be_read_again(many, tmp_path, reads):
    folder = copy_without_index(many, tmp_path)

    def give_up(read, total):
        if read == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Session.open(folder).runs(give_up)
    assert len(Session.open(folder).runs()) == MANY
    assert reads["listed"] == MANY + 1  # the run at which it was given up


def copy_without_index(path, tmp_path):
    import shutil

    return shutil.copytree(path, tmp_path / "copy", ignore=shutil.ignore_patterns(index.INDEX_NAME))


def test_a_sample_keeps_every_condition_and_reads_nothing(many, reads):
    runs = Session.open(many).runs()
    sample = sample_of(runs, KINDS)
    assert not reads["loaded"]
    for name in ("trajectory", "mass", "kp"):
        shares = Counter(getattr(run, name) for run in sample)
        assert set(shares) == {getattr(run, name) for run in runs}
        # Equal, as far as equal shares of every combination allow.
        assert max(shares.values()) - min(shares.values()) <= 2, name
    places = [runs.index(run) for run in sample]
    assert places == sorted(places)


def test_a_sample_is_the_same_each_time_and_another_by_another_seed(many):
    runs = Session.open(many).runs()
    assert sample_of(runs, 20) == sample_of(runs, 20)
    assert sample_of(runs, 20) != sample_of(runs, 20, seed=1)
    assert sample_of(runs, None) == sample_of(runs, MANY) == runs
    with pytest.raises(IdentificationError, match="at least 1"):
        sample_of(runs, 0)


def test_a_sample_of_summaries_is_that_of_their_recordings(many):
    session = Session.open(many)
    runs = session.runs()[:40]
    recordings = session.load_all(run.id for run in runs)
    assert [r.id for r in balanced_subset(recordings, 12)] == [run.id for run in sample_of(runs, 12)]


def test_identify_reads_the_sample_only(many, tmp_path, reads, capsys):
    arguments = ["identify", str(many), "--sample", "5", "--models", "m1", "--trials", "12", "--validation", "none"]
    assert main([*arguments, "--no-polish", "--json", "-o", str(tmp_path / "result")]) == 0
    assert reads["loaded"] == 5
    record = json.loads((tmp_path / "result" / "identification.json").read_text())
    chosen = [run.id for run in sample_of(Session.open(many).runs(), 5)]
    assert record["runs"] == chosen
    assert record["request"]["data_hash"] == Session.open(many).data_hash(chosen)


def test_the_window_identifies_from_a_sample(person, many, monkeypatch):
    person.open(many)
    person.window.show_task(3)
    form = person.window.identify.form
    form.fields["sample"].setValue(7)
    asked = []
    monkeypatch.setattr(person.controller.fitting, "identify", lambda *arguments: asked.append(arguments[2]))
    person.controller.identifying.identify(form.settings())
    assert asked == [tuple(run.id for run in sample_of(person.controller.library.for_fit(), 7))]


def test_a_filter_changes_the_table_once_however_many_stretches_of_runs_go(person, many):
    person.open(many)
    order, panel = person.window.session.view.order, person.window.session
    told = Counter()
    order.modelReset.connect(lambda: told.update(["reset"]))
    order.rowsRemoved.connect(lambda *_: told.update(["removed"]))
    order.rowsInserted.connect(lambda *_: told.update(["inserted"]))
    wanted = [run.id for run in person.controller.library.runs if run.mass == 0.75]
    panel.head.filter.setText("mass=0.75")
    assert [order.run_id(row) for row in range(order.rowCount())] == wanted
    panel.head.filter.setText("")
    assert order.rowCount() == MANY
    assert told == {"reset": 2}


def test_sorting_keeps_equal_runs_in_order_and_the_choice(person, many):
    person.open(many)
    library, view = person.controller.library, person.window.session.view
    library.select([library.runs[3].id, library.runs[50].id])
    chosen = library.selected
    view.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    gains = {run.id: run.kp for run in library.runs}
    rows = [view.order.run_id(row) for row in range(MANY)]
    assert rows == sorted(sorted(rows), key=lambda run: -gains[run])
    assert library.selected == chosen
    assert sorted(view._selected_rows()) == sorted(view.order.row_of(run) for run in chosen)


def test_what_follows_from_the_choice_is_found_once(person, many, monkeypatch):
    person.open(many)
    library = person.controller.library
    made = []
    monkeypatch.setattr("bench_gui.state.library.choice_of", lambda *of: made.append(of) or choice_of(*of))
    library.select([run.id for run in library.runs[:2]])
    for _ in range(5):
        assert library.for_fit() == library.runs[:2]
    assert len(made) == 1
    assert library.main_servo() == "mx106"
