"""A session that can no longer be written: the result that is shown stays readable, and one sentence says why."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from bench_gui.shell.tasks import IDENTIFY

FIRST_SEEN = IDENTIFY


@contextmanager
def deleted(path):
    """Delete a session's folder."""
    shutil.rmtree(path)
    yield


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


@pytest.mark.parametrize("lost", [deleted, read_only])
def test_a_result_stays_readable_in_a_session_that_cannot_be_written(person, identified, tmp_path, lost):
    path = shutil.copytree(identified, tmp_path / "copy")
    person.open(path)
    fitting, page = person.controller.fitting, person.window.identify
    person.until(lambda: fitting.result is not None)
    shown = fitting.result
    headline = page.answer.card.title.text()
    page.form.set_option("trials", 123)
    with lost(path):
        page.start.start_button.click()
        person.until(lambda: not fitting.active)
        assert fitting.result is shown
        assert page.answer.ladder.rowCount() == len(shown.models)
        assert page.answer.card.title.text() == headline
        assert page.problem.isVisible()
        assert str(path) in fitting.problem
        assert fitting.problem.endswith("No new result was saved; the one below is the earlier one.")
        assert page.form.settings().trials == 123, "what was typed for the search that failed"
        listed = [entry for entry in person.controller.model_list.entries if entry.origin == "identified"]
        assert [entry.model for entry in listed] == [row.model for row in shown.models]
        person.window.grab().save(str(tmp_path / "window.png"))


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
