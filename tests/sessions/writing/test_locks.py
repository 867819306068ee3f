"""A run number has one owner, also in the moments between two system calls."""

import fcntl
import os

import pytest

from sessions.writing.locks import RunLock, claim_numbers
from tests.sessions.writing.steps import heard


@pytest.mark.parametrize("again", [False, True])
def test_a_lock_file_that_was_removed_before_it_was_locked_is_not_held(tmp_path, again):
    path = tmp_path / ".0001.lock"

    def late(event, _):
        # Its owner released it between our opening and locking it, and perhaps another process took it at once.
        if event == "fcntl.flock":
            path.unlink()
            if again:
                path.touch()

    with heard(late):
        assert RunLock.seize(tmp_path, 1) is None
    assert path.exists() is again


def test_a_lock_file_is_removed_while_it_is_locked(tmp_path):
    lock, locked = RunLock.reserve(tmp_path, 1), []

    def watched(event, arguments):
        # Whoever locks the file before it is removed holds a lock that nobody else can see.
        if event == "os.remove":
            descriptor = os.open(arguments[0], os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(arguments[0])
            finally:
                os.close(descriptor)

    with heard(watched):
        lock.release()
    assert len(locked) == 1
    assert RunLock.reserve(tmp_path, 1) is not None


def test_a_number_whose_owner_finished_before_it_was_locked_is_not_taken(tmp_path):
    def finished(event, _):
        if event == "fcntl.flock":
            (tmp_path / "0001_sin_sin_kp8.h5").touch()

    with heard(finished):
        [lock] = claim_numbers(tmp_path, 1)
    assert lock.number == 2
    lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["0001_sin_sin_kp8.h5"]
