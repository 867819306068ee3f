"""A session that can no longer be written: the result that is shown stays readable, and one sentence says why."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from bench_gui.shell.tasks import COMPARE, IDENTIFY, PLACE
from core.motion.trajectories import make_trajectory
from drivers.servo import ServoState

FIRST_SEEN = IDENTIFY


@contextmanager
def gone(path):
    """Take a session's folder away, as an unplugged drive does."""
    away = path.rename(path.with_name("away"))
    yield
    away.rename(path)


@contextmanager
def read_only(path):
    """Protect a session's folder: for root, whom no permission stops, it is mounted read-only."""
    if os.geteuid():
        path.chmod(0o555)
        yield
        path.chmod(0o755)
        return
    mount = ("mount", "--bind", path, path), ("mount", "-o", "remount,bind,ro", path)
    if any(subprocess.run(command, capture_output=True, check=False).returncode for command in mount):
        pytest.skip("root may write anywhere, and nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize(("lost", "said"), [(gone, "Folder is gone: "), (read_only, "Read-only: ")])
def test_a_session_that_cannot_be_written_says_so_and_what_is_shown_stays(person, identified, tmp_path, lost, said):
    path = shutil.copytree(identified, tmp_path / "copy")
    window, library, fitting = person.window, person.controller.library, person.controller.fitting
    journal = person.controller.journal
    library._clock.setInterval(20)
    person.connect()
    person.open(path)
    page, head = window.identify, window.session.head
    person.until(lambda: fitting.result is not None)
    shown, headline = fitting.result, page.answer.card.title.text()
    window.show_task(PLACE)
    run = library.runs[0].id
    library.select([run])
    window.session.editing.set_note(run, "seen")
    writing = (
        page.start_button, page.answer.card.step_button, window.record.run_button, window.place.go_button,
        head.import_button, head.tags_button, head.exclude_button, head.trim_button,
    )  # fmt: skip
    assert all(button.isEnabled() for button in writing)
    with lost(path):
        person.until(lambda: library.locked.startswith(said))
        assert (head.locked.text(), head.locked.isVisible()) == (library.locked, True)
        for button in writing:
            assert not button.isEnabled(), button.text()
            assert library.obstacle[1:] in button.toolTip(), button.text()
        assert not window.record.form.isEnabled()
        window.show_task(IDENTIFY)
        window.show_task(COMPARE)
        library.refresh()
        library.load([run], lambda _: None)
        person.until(lambda: lost is read_only or any("copy: there is no" in e.text for e in journal.entries))
        assert library.locked not in person.message
        assert str(path) not in person.message
        person.controller.undo.undo()
        assert library.annotation(run).note == "seen"
        assert "this session cannot be written" in person.message.lower()
        assert fitting.result is shown
        assert page.answer.ladder.rowCount() == len(shown.models)
        assert page.answer.card.title.text() == headline
    person.until(lambda: not library.locked)
    assert not head.locked.isVisible()
    assert all(button.isEnabled() for button in writing), [b.toolTip() for b in writing if not b.isEnabled()]
    with person.qtbot.waitSignal(library.annotations_changed):
        window.session.editing.set_note(run, "back again")


def test_a_failure_in_another_session_does_not_bring_the_result_along(person, identified, session, tmp_path):
    path = shutil.copytree(identified, tmp_path / "copy")
    person.open(path)
    fitting, page = person.controller.fitting, person.window.identify
    person.until(lambda: fitting.result is not None)
    page.start.start_button.click()
    assert fitting.active
    person.open(session)
    fitting.fail("lost")
    assert fitting.result is None
    assert fitting.problem == "lost"
    fitting.stop()
    person.until(lambda: not fitting.active)


def test_a_run_whose_folder_vanishes_ends_with_the_motor_off_and_the_next_one_waits(person, session):
    window, library, queue = person.window, person.controller.library, person.controller.queue
    person.connect()
    person.open(session)
    queue.record([make_trajectory("sin_sin", 1.0)])
    person.until(lambda: window.record.live.count > 10)
    queue.add([make_trajectory("sin_sin", 0.5)])
    shutil.rmtree(session)
    person.until(lambda: library.locked.startswith("Folder is gone: ") and queue.running is None)
    assert person.state is ServoState.READY, "the motor is off"
    assert len(queue.waiting) == 1
    assert person.message == ""
    assert not window.record.run_button.isEnabled()
    library.create(session.with_name("other"))
    person.until(window.record.run_button.isEnabled)
    queue.resume()
    person.until(lambda: len(library.runs) == 1 and not queue.active)
