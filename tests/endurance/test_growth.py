"""What is done again and again leaves nothing behind: widgets, Qt objects, threads, handles, kept answers."""

import numpy as np
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from bench_gui.compare.comparison import ErrorBook
from bench_gui.controller import MOST_UNDONE
from bench_gui.session.runs import sketches
from bench_gui.shell.closing import may_close
from bench_gui.state.models import CATALOGUE, ModelEntry
from bench_gui.work import simulations
from core.servo.shipped import load_model
from sessions import Session
from tests.endurance.vitals import objects

TIMES = 3


def close_soon():
    """Close the dialog that is about to be opened, as Esc does."""

    def close():
        dialog = QApplication.activeModalWidget()
        assert dialog is not None
        dialog.close()

    QTimer.singleShot(0, close)


def palette(person):
    close_soon()
    person.window.show_palette()


def parameters(person):
    close_soon()
    person.window.identify.form.ask_parameters()


def question(person):
    close_soon()
    assert not may_close(person.window, ["a recording"])


def dialogs(person):
    questions = person.window.session.questions
    for ask in (questions.ask_tags, questions.ask_reason, questions.ask_trim):
        ask()
        questions.dialog.close()
    person.until(lambda: not person.controller.background.busy)


def test_what_is_opened_and_closed_is_gone(person, many):
    person.open(many)
    library = person.controller.library
    library.select([library.runs[0].id])
    person.window.show_task(3)
    acts = (palette, parameters, question, dialogs)
    for act in acts:
        for _ in range(2):
            act(person)
    before = objects()
    for act in acts:
        for _ in range(TIMES):
            act(person)
        after = objects()
        assert after.widgets == before.widgets, act
        # Python may look at one object of Qt more or less; what leaks leaks each time.
        assert after.wrappers - before.wrappers < TIMES, act
        # Qt's pool keeps a thread more or less, and with it a handle.
        assert after.threads - before.threads < TIMES, act
        assert after.handles - before.handles < TIMES, act
        before = after


def test_connecting_and_disconnecting_gives_everything_back(person):
    def once():
        person.controller.servo.connect_servo()
        person.until(lambda: person.controller.servo.identity is not None)
        person.controller.servo.disconnect_servo()
        person.until(lambda: not person.controller.background.busy)

    once()
    before = objects()
    once()
    after = objects()
    assert (after.threads, after.handles) <= (before.threads, before.handles)
    assert after.wrappers - before.wrappers < 2


def test_edits_are_kept_for_undo_up_to_a_limit(person):
    for number in range(MOST_UNDONE + 20):
        person.controller.setup.edit_bench(f"load {number}", mass=0.5 + 1e-3 * number)
        person.controller.setup.edit_kp(10.0 + number)
    assert person.controller.undo.count() == MOST_UNDONE


def test_stamps_out_of_sight_are_forgotten(person, many, monkeypatch):
    monkeypatch.setattr(sketches, "MOST_KEPT", 12)
    person.window.session.hide()  # the list would ask for those in its sight
    person.open(many)
    stamps, runs = person.window.session.view.sketches, person.controller.library.runs
    seen = [run.id for run in runs]
    for first in range(0, 60, 6):
        stamps.ask(seen[first : first + 6])
        person.until(lambda first=first: stamps.of(seen[first + 5]) is not None)
    assert sum(stamps.of(run) is not None for run in seen) == 12
    assert all(stamps.of(run) is not None for run in seen[54:60])


def test_a_session_that_is_left_holds_none_of_its_runs(person, many, tmp_path):
    """Steps that can be undone there keep hold of it."""
    person.open(many)
    left = person.controller.library.session
    person.open(Session.create(tmp_path / "other").path)
    person.until(lambda: not person.controller.background.busy)
    assert left._index._entries is None
    person.open(many)
    assert len(left.runs()) == len(person.controller.library.runs)


def test_errors_of_models_no_longer_at_hand_are_forgotten():
    book = ErrorBook()
    entries = [ModelEntry(f"m{k}", CATALOGUE, load_model("mx106", "m1")) for k in range(3)]
    for entry in entries:
        book.add(entry, {"0001": 0.01})
    book.keep(entries[1:])
    assert book.of(entries[0]) == {}
    assert book.of(entries[2]) == {"0001": 0.01}


def test_recordings_kept_for_the_next_question_are_limited_by_their_size(many, monkeypatch):
    runs = [run.id for run in Session.open(many).runs()[:10]]
    size = simulations._size(Session.open(many).load(runs[0]))
    monkeypatch.setattr(simulations, "_LOADED", {})
    monkeypatch.setattr(simulations, "MOST_LOADED", 4 * size + size // 2)
    first = simulations._load(many, runs[:6])
    assert [recording.id for recording in first] == runs[:6]
    assert len(simulations._LOADED) <= 5
    again = simulations._load(many, runs[3:8])
    assert [recording.id for recording in again] == runs[3:8]
    assert again[2] is first[5]
    assert sum(map(simulations._size, simulations._LOADED.values())) <= simulations.MOST_LOADED
    assert np.array_equal(again[0].position, first[3].position)
