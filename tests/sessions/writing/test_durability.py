"""What is written survives a power cut, and whatever stops a step of it leaves all or nothing and one line."""

import errno
import os
import stat
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest

from core.base.atomic import SYNC, sync, write_atomically
from core.base.errors import ServoBenchError
from sessions import Annotation, Session, SessionError, export_bam, export_csv, export_single, import_paths
from sessions.writing.locks import COMMITTED, STAGED
from sessions.writing.part import PART
from tests.sessions.writing.steps import Refusal, heard, killed_at, room_of

SIZES = (0, 60, 2_000, 6_000, 14_000, 1_060_000)
"""Sizes at which files are cut off [bytes]: of documents, runs and what an export reserves."""


def identity_of(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino


class Disk:
    """Watches what is synced before and after each renaming."""

    def __init__(self):
        self.synced: set[tuple[int, int, int]] = set()
        """Device, inode and size at the time of a sync; size 0 for folders."""
        self.unsynced_folders: dict[tuple[int, int], str] = {}
        """Folders in which something was renamed and not synced since."""
        self.faults: list[str] = []
        self.renamed: list[str] = []

    def __call__(self, event, arguments):
        if event == SYNC:
            self.sync(*arguments)
        elif event == "os.rename" and not os.fspath(arguments[1]).endswith(PART):
            self.move(Path(arguments[0]), Path(arguments[1]))
        elif event == "os.remove" and os.fspath(arguments[0]).endswith(PART):
            self.remove_part(os.fspath(arguments[0]))

    def sync(self, descriptor):
        status = os.fstat(descriptor)
        folder = stat.S_ISDIR(status.st_mode)
        self.synced.add((status.st_dev, status.st_ino, 0 if folder else status.st_size))
        if folder:
            self.unsynced_folders.pop((status.st_dev, status.st_ino), None)

    def move(self, source, target):
        self.renamed.append(target.name)
        for path in [source, *(source.iterdir() if source.is_dir() else ())]:
            size = 0 if path.is_dir() else os.stat(path).st_size
            if (*identity_of(path), size) not in self.synced:
                self.faults.append(f"{path.name} is not synced before it becomes {target.name}")
        folder = identity_of(target.parent)
        if self.unsynced_folders.get(folder, "").endswith(COMMITTED):
            self.faults.append(f"{target.name} is moved before its runs are committed on the disk")
        self.unsynced_folders[folder] = target.name

    def remove_part(self, path):
        final = Path(path.removesuffix(PART))
        if not final.exists() or identity_of(final.parent) in self.unsynced_folders:
            self.faults.append(f"{final.name}{PART} goes before the name of its run is on the disk")


@pytest.fixture
def filled(session, recording):
    """A session with two runs, one noted."""
    first, _ = session.add_all([recording(seed=seed, samples=5) for seed in range(2)])
    session.annotate(first, Annotation(note="x"))
    session.runs()
    return session


@pytest.fixture
def actions(filled, header, rows, recording, tmp_path_factory):
    """Everything that writes, by name: it changes the session or makes something at a place."""
    recordings = [recording(seed=seed, samples=5) for seed in (7, 8)]
    source, one = (Session.create(tmp_path_factory.mktemp("source") / "s") for _ in range(2))
    for session, runs in ((source, recordings), (one, recordings[:1])):
        session.annotate(session.add_all(runs)[-1], Annotation(note="imported"))

    def record(_):
        sink = filled.sink().open(header)
        sink.append(rows(5))
        sink.finish("success")

    return {
        "create": lambda place: Session.create(place / "deep"),
        "add": lambda _: filled.add_all(recordings),
        "record": record,
        "document": lambda _: filled.set_document("plan", {"n": 2}),
        "annotate": lambda _: filled.annotate("0002_sin_sin_kp400", Annotation(note="y")),
        "csv": lambda place: export_csv(filled, None, place),
        "bam": lambda place: export_bam(filled, None, place),
        "single": lambda place: export_single(filled, place.with_suffix(".h5")),
        "import": lambda _: import_paths([source.path], filled),
        "import new": lambda place: import_paths([one.path], place / "deep"),
    }


NAMES = ("create", "add", "record", "document", "annotate", "csv", "bam", "single", "import", "import new")


def each_of(*names, **others):
    """Parameters of the actions; those named later go the same way as others, with what they add."""
    return [*names, *(pytest.param(name, marks=pytest.mark.exhaustive(reason)) for name, reason in others.items())]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_the_end(actions, tmp_path, name):
    """Otherwise a power cut leaves an empty file under a good name, or a run without the note that excludes it."""
    with heard(Disk()) as disk:
        actions[name](tmp_path / "new")
    assert disk.renamed
    assert disk.faults == []
    assert disk.unsynced_folders == {}


def test_a_sync_reaches_the_system_which_may_refuse_it():
    with pytest.raises(OSError, match="Invalid argument"):
        sync(Path("/dev/null"))


def leave_behind(session, header, rows):
    """A part whose writer is gone."""
    sink = session.sink().open(header)
    sink.append(rows(5))
    sink.flush()
    sink._part.close()
    sink._lock.release()


def test_a_part_is_removed_after_its_run_is_on_the_disk(session, header, rows):
    leave_behind(session, header, rows)
    with heard(Disk()) as disk:
        assert len(session.recover().runs) == 1
    assert "0001_sin_sin_kp400.h5" in disk.renamed
    assert (disk.faults, disk.unsynced_folders) == ([], {})


def contents(folder):
    """Names and bytes of a folder but for what is a cache or a lock."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "index.json" and ".lock" not in p.name
    }


def leftovers(folder):
    endings = (".tmp", PART, STAGED, COMMITTED, ".lock")
    return [path.name for path in folder.rglob("*") if path.name.endswith(endings)]


def descriptors():
    return len(os.listdir("/dev/fd"))


def as_before(session):
    """Take back what an action added to `filled`."""
    session.set_document("plan", None)
    session.set_document("annotations", {"0001_sin_sin_kp400": {"note": "x"}})
    for path in sorted((session.path / "runs").glob("*.h5"))[2:]:
        path.unlink()


def refusals(*errors, everything=False):
    """Refusals of an action at each of its steps, by these errors in turn; the last one comes too late."""
    for after in range(300):
        refusal = Refusal(after, errors[after % len(errors)], everything=everything)
        yield refusal
        if not refusal.happened:
            return
    raise AssertionError("it never came to an end")


def full():
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only():
    return OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize(
    "name",
    each_of(
        "create", "add", "document", "annotate", "csv", "single", "import new",
        bam="it is written as CSV is", **{"import": "adding runs and noting them"},
    ),
)  # fmt: skip
def test_a_step_that_is_refused_is_one_line_and_leaves_all_or_nothing(filled, actions, tmp_path, name):
    before, opened_before, refused = contents(filled.path), descriptors(), 0
    steps = ((refusal.error().strerror, heard(refusal)) for refusal in refusals(full, read_only))
    sizes = ((os.strerror(errno.EFBIG), room_of(size)) for size in SIZES)
    for number, (reason, way) in enumerate(chain(steps, sizes)):
        place = tmp_path / f"new{number}"
        told = ""
        try:
            with way:
                actions[name](place)
        except ServoBenchError as error:
            told = str(error)
        assert descriptors() == opened_before
        session = Session.open(filled.path)
        assert not session.problems()
        assert leftovers(tmp_path) == [], f"refused at step {number}"
        if told:
            refused += 1
            assert "\n" not in told
            assert reason in told
            now = contents(filled.path)
            if name == "import":
                # A note on a run that was never stored is harmless; a run without its note would not be.
                now["annotations.json"] = before["annotations.json"]
            if name in ("add", "import") and now != before:
                assert len(session.runs()) == 4, f"refused at step {number}"
            else:
                assert now == before, f"refused at step {number}"
            assert not place.with_suffix(".h5").exists()
            assert not place.exists() or (name != "import new" and contents(place) == {})
            if name != "add":
                actions[name](place)
        as_before(filled)
    assert refused >= 3


@pytest.mark.parametrize(
    "name",
    each_of(
        "create", "record", "document", "annotate", "csv",
        add="locks and folders are given back as after a refusal", bam="it is written as CSV is",
        single="its file is removed as after a refusal",
    ),
)  # fmt: skip
def test_an_interrupt_at_any_step_leaves_nothing_held_and_the_next_try_succeeds(filled, actions, tmp_path, name):
    opened_before = descriptors()
    for number, refusal in enumerate(refusals(KeyboardInterrupt, everything=True)):
        with suppress(KeyboardInterrupt), heard(refusal):
            actions[name](tmp_path / f"new{number}")
        assert descriptors() == opened_before, f"interrupted at step {number}"
        session = Session.open(filled.path)
        assert not session.problems()
        assert leftovers(tmp_path) == [], f"interrupted at step {number}"
        if name in ("csv", "bam"):
            assert whole_ones(tmp_path / f"new{number}") in (0, 2), f"interrupted at step {number}"
        actions[name](tmp_path / f"again{number}")
        as_before(filled)


@pytest.mark.parametrize(
    "name",
    each_of(
        "create", "record", "document", "annotate", "import",
        add="an import adds runs", csv="whole files as documents are", bam="whole files as documents are",
        single="a whole file as a run is",
    ),
)  # fmt: skip
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_and_the_next_one_succeeds(
    filled, actions, tmp_path, name
):
    own = filled.data_hash()
    seen = set()
    for step in range(300):
        place = tmp_path / f"new{step}"
        killed = killed_at(step, lambda place=place: actions[name](place))
        session = Session.open(filled.path)
        assert not session.problems()
        ids = [run.id for run in session.runs()]
        added, notes = ids[2:], [annotation.note for annotation in session.annotations().values()]
        assert session.data_hash(ids[:2]) == own
        assert len(added) in {"add": (0, 2), "import": (0, 2), "record": (0, 1)}.get(name, (0,)), f"killed at {step}"
        if name == "import" and added:
            assert notes == ["x", "imported"], f"killed at {step}"
        elif name != "import":
            # Notes are written before the runs they are about appear.
            assert notes in ([["x"], ["x", "y"]] if name == "annotate" else [["x"]])
        assert session.document("plan") in ((None, {"n": 2}) if name == "document" else (None,))
        if name == "record":
            assert not added or session.load(added[0]).samples == 5
        written = whole_ones(place)
        seen.add((len(added), len(notes), session.document("plan") is not None, written))
        if name != "import":
            actions[name](tmp_path / f"again{step}")
        as_before(filled)
        if not killed:
            break
    assert len(seen) > 1


def whole_ones(place):
    """Count what was made at a place; each must be whole."""
    files = [path for path in (place.with_suffix(".h5"), *place.glob("*.csv"), *place.glob("*.json")) if path.exists()]
    for path in files:
        assert len(import_paths([path], path.parent / f"read-{path.name}")) == (2 if path.suffix == ".h5" else 1)
    made = (place / "deep" / "session.json").exists()
    assert not made or Session.open(place / "deep").runs() == []
    return len(files) + made


def test_samples_that_were_flushed_survive_a_refusal_at_any_step(tmp_path, header, rows):
    """The run is sealed, or its part stays and becomes a run on the next opening; the recorder hears of it."""
    for number, refusal in enumerate(refusals(full)):
        session = Session.create(tmp_path / f"s{number}")
        sink = session.sink().open(header)
        sink.append(rows(5))
        sink.flush()
        assert sink.rows_flushed == 5
        told = ""
        try:
            with heard(refusal):
                sink.finish("success")
        except SessionError as error:
            told = str(error)
        [run] = Session.open(session.path).runs()
        assert (run.samples, run.exit_status) == (5, "success")
        assert leftovers(session.path) == []
        if told:
            assert "5 samples stay in" in told
            assert os.strerror(errno.ENOSPC) in told
    assert number > 3


def test_a_write_that_is_refused_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    steps, named = 0, set()
    for way in chain(map(heard, refusals(full)), [room_of(2)]):
        try:
            with way:
                write_atomically(path, b"new")
        except OSError as error:
            named.add(error.filename)
            assert path.read_bytes() == b"old"
            steps += 1
        else:
            assert path.read_bytes() == b"new"
            path.write_bytes(b"old")
        assert os.listdir(tmp_path) == ["file"]
    assert (steps, named) == (4, {str(path)})


def test_a_damaged_document_stays_where_it_is_when_the_new_one_is_refused(filled):
    """It is kept aside once, by the writer that succeeds."""
    path = filled.path / "plan.json"
    path.write_bytes(b"damaged")
    for way in chain(map(heard, refusals(full)), [room_of(20)]):
        try:
            with way:
                filled.set_document("plan", {"n": 1})
        except SessionError:
            assert path.read_bytes() == b"damaged"
            assert not list(filled.path.glob("*.damaged*"))
        else:
            assert filled.document("plan") == {"n": 1}
            [kept] = filled.path.glob("*.damaged*")
            assert kept.read_bytes() == b"damaged"
            kept.rename(path)
