"""A run number has one owner, also in the moments between two system calls."""

import fcntl
import os
from pathlib import Path

import pytest

from sessions.writing.locks import RunLock


@pytest.mark.parametrize("anew", [False, True])
def test_a_lock_file_that_was_removed_before_it_was_locked_is_not_held(tmp_path, monkeypatch, anew):
    path, flock = tmp_path / ".0001.lock", fcntl.flock

    def late(descriptor, how):
        # Its owner released it between our opening and locking it, and perhaps another process took it at once.
        path.unlink()
        if anew:
            path.touch()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)

    assert RunLock.seize(tmp_path, 1) is None
    assert path.exists() is anew


def test_a_lock_file_is_removed_while_it_is_locked(tmp_path, monkeypatch):
    lock, unlink, free = RunLock.reserve(tmp_path, 1), Path.unlink, []

    def watched(path, missing_ok=False):
        # Whoever locks the file before it is removed holds a lock that nobody else can see.
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free.append(path)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", watched)
    lock.release()

    assert free == []
    assert RunLock.reserve(tmp_path, 1) is not None
