"""What is written survives a power cut, and a disk that refuses any one step leaves all or nothing and one line."""

import errno
import io
import os
import stat
from pathlib import Path

import pytest

from core.atomic import write_atomically
from core.errors import ServoBenchError
from sessions import Annotation, Session, SessionError, export_bam, export_csv, export_single, import_paths
from sessions.writing.locks import COMMITTED
from sessions.writing.part import PART


def identity_of(path):
    status = os.stat(path)
    return status.st_dev, status.st_ino


class Disk:
    """Watches what is synced before and after each renaming."""

    def __init__(self, monkeypatch):
        self.synced: set[tuple[int, int, int]] = set()
        """Device, inode and size at the time of a sync; size 0 for folders."""
        self.unsynced_folders: dict[tuple[int, int], str] = {}
        """Folders in which something was renamed and not synced since."""
        self.faults: list[str] = []
        self.renamed: list[str] = []
        self._real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink")}
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "replace", lambda source, target: self.move("replace", source, target))
        monkeypatch.setattr(os, "rename", lambda source, target: self.move("rename", source, target))
        monkeypatch.setattr(os, "unlink", self.unlink)

    def fsync(self, descriptor):
        self._real["fsync"](descriptor)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self.synced.add((status.st_dev, status.st_ino, 0))
            self.unsynced_folders.pop((status.st_dev, status.st_ino), None)
        else:
            self.synced.add((status.st_dev, status.st_ino, status.st_size))

    def move(self, call, source, target):
        if not str(target).endswith(PART):
            name = Path(target).name
            self.renamed.append(name)
            inside = [Path(source), *(Path(source).iterdir() if os.path.isdir(source) else ())]
            for path in inside:
                size = 0 if path.is_dir() else os.stat(path).st_size
                if (*identity_of(path), size) not in self.synced:
                    self.faults.append(f"{path.name} is not synced before it becomes {name}")
            folder = identity_of(Path(target).parent)
            if self.unsynced_folders.get(folder, "").endswith(COMMITTED):
                self.faults.append(f"{name} is moved before its runs are committed on the disk")
            self.unsynced_folders[folder] = name
        self._real[call](source, target)

    def unlink(self, path, **options):
        if str(path).endswith(PART):
            final = Path(str(path).removesuffix(PART))
            if final.exists() and identity_of(final.parent) in self.unsynced_folders:
                self.faults.append(f"{Path(path).name} goes before the name of its run is on the disk")
        self._real["unlink"](path, **options)


@pytest.fixture
def filled(session, recording):
    """A session with two runs, one noted."""
    first, _ = session.add_all([recording(seed=seed, samples=5) for seed in range(2)])
    session.annotate(first, Annotation(note="x"))
    session.runs()
    return session


def record(session, header, rows):
    sink = session.sink().open(header)
    sink.append(rows(5))
    return sink.finish("success")


def leave_behind(session, header, rows):
    """A part whose writer is gone."""
    sink = session.sink().open(header)
    sink.append(rows(5))
    sink.flush()
    sink._part.close()
    sink._lock.release()


ACTIONS = {
    "create": lambda s, _h, _r, _c, place: Session.create(place),
    "add": lambda s, _h, _r, recordings, _p: s.add_all(recordings),
    "record": lambda s, header, rows, _c, _p: record(s, header, rows),
    "document": lambda s, _h, _r, _c, _p: s.set_document("plan", {"n": 2}),
    "annotate": lambda s, _h, _r, _c, _p: s.annotate("0002_sin_sin_kp400", Annotation(note="y")),
    "csv": lambda s, _h, _r, _c, place: export_csv(s, None, place),
    "bam": lambda s, _h, _r, _c, place: export_bam(s, None, place),
    "single": lambda s, _h, _r, _c, place: export_single(s, place.with_suffix(".h5")),
    "import": lambda s, _h, _r, _c, place: import_paths([s.path / "runs" / "0001_sin_sin_kp400.h5"], place),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_the_end(
    filled, header, rows, recording, tmp_path, monkeypatch, name
):
    """Otherwise a power cut leaves an empty file under a good name, or a run without the note that excludes it."""
    recordings = [recording(seed=seed, samples=5) for seed in (7, 8)]
    disk = Disk(monkeypatch)
    ACTIONS[name](filled, header, rows, recordings, tmp_path / "new")
    assert disk.renamed
    assert disk.faults == []
    assert disk.unsynced_folders == {}


def test_a_part_is_removed_after_its_run_is_on_the_disk(session, header, rows, monkeypatch):
    leave_behind(session, header, rows)
    disk = Disk(monkeypatch)
    assert len(session.recover().runs) == 1
    assert "0001_sin_sin_kp400.h5" in disk.renamed
    assert (disk.faults, disk.unsynced_folders) == ([], {})


class Refusal:
    """The n-th step that writes is refused; a refused write brings half of its bytes to the disk first."""

    STEPS = ("fsync", "replace", "rename", "mkdir", "posix_fallocate")

    def __init__(self, patch, after, number):
        self.left = after
        self.happened = False
        self._number = number
        for name in self.STEPS:
            patch.setattr(os, name, self._counted(getattr(os, name)))
        opened, descriptor = io.open, os.open

        def file(path, mode="r", *rest, **options):
            if not set(mode) & set("wxa+"):
                return opened(path, mode, *rest, **options)
            self.step()
            return _Writing(opened(path, mode, *rest, **options), self)

        def low(path, flags, *rest, **options):
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.step()
            return descriptor(path, flags, *rest, **options)

        patch.setattr(io, "open", file)
        patch.setattr(os, "open", low)

    def step(self, before=lambda: None):
        self.left -= 1
        if self.left < 0 and not self.happened:
            self.happened = True
            before()
            raise OSError(self._number, os.strerror(self._number))

    def _counted(self, original):
        def call(*arguments, **options):
            self.step()
            return original(*arguments, **options)

        return call


class _Writing:
    def __init__(self, file, refusal):
        self._file, self._refusal = file, refusal

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def write(self, data):
        self._refusal.step(lambda: self._file.write(data[: len(data) // 2]))
        return self._file.write(data)


def contents(folder):
    """Names and bytes of a folder but for what is a cache or a lock."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "index.json" and ".lock" not in p.name
    }


def leftovers(folder):
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if name.endswith((".tmp", ".new", ".staged", COMMITTED, ".lock"))]


@pytest.mark.parametrize("name", [name for name in ACTIONS if name != "record"])
def test_a_step_that_is_refused_is_one_line_and_leaves_all_or_nothing(
    filled, header, rows, recording, tmp_path, monkeypatch, name
):
    recordings = [recording(seed=seed, samples=5) for seed in (7, 8)]
    before, refused = contents(filled.path), 0
    for after in range(200):
        place, number = tmp_path / f"new{after}", (errno.ENOSPC, errno.EROFS)[after % 2]
        with monkeypatch.context() as patch:
            refusal = Refusal(patch, after, number)
            told = ""
            try:
                ACTIONS[name](filled, header, rows, recordings, place)
            except ServoBenchError as error:
                told = str(error)
        ended = not told
        if told:
            refused += 1
            assert "\n" not in told
            assert os.strerror(number) in told
        opened = Session.open(filled.path)
        assert not opened.problems()
        assert leftovers(tmp_path) == [], f"refused at step {after}"
        if ended:
            filled.set_document("plan", None)
            filled.annotate("0002_sin_sin_kp400", Annotation())
            for run in opened.runs()[2:]:
                (filled.path / "runs" / f"{run.id}.h5").unlink()
            if not refusal.happened:
                break
            continue
        now = contents(filled.path)
        if name == "add" and now != before:
            assert len(opened.runs()) == 4, f"refused at step {after}"
            for run in opened.runs()[2:]:
                (filled.path / "runs" / f"{run.id}.h5").unlink()
            now = contents(filled.path)
        assert now == before, f"refused at step {after}"
        assert not place.with_suffix(".h5").exists()
        if place.exists() and name in ("csv", "bam"):
            assert list(place.iterdir()) == []
    else:
        raise AssertionError("it never came to an end")
    assert refused >= 3


@pytest.mark.parametrize("after", range(10))
def test_samples_that_were_flushed_survive_a_refusal_at_any_step(session, header, rows, monkeypatch, after):
    """The run is sealed, or its part stays and becomes a run on the next opening; the recorder hears of it."""
    with monkeypatch.context() as patch:
        refusal = Refusal(patch, 1000, errno.ENOSPC)
        sink = session.sink().open(header)
        sink.append(rows(5))
        sink.flush()
        assert sink.rows_flushed == 5
        refusal.left = after
        try:
            sink.finish("success")
            told = ""
        except SessionError as error:
            told = str(error)
    [run] = Session.open(session.path).runs()
    assert run.samples == 5
    assert leftovers(session.path) == []
    assert list(session.path.rglob(f"*{PART}")) == []
    assert run.exit_status == "success"
    if refusal.happened and told:
        assert "5 samples stay in" in told
        assert os.strerror(errno.ENOSPC) in told


def test_a_write_that_is_refused_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    steps = 0
    for after in range(20):
        with monkeypatch.context() as patch:
            refusal = Refusal(patch, after, errno.EIO)
            try:
                write_atomically(path, b"new")
            except OSError:
                assert path.read_bytes() == b"old"
                steps += 1
        assert os.listdir(tmp_path) == ["file"]
        if not refusal.happened:
            break
    assert path.read_bytes() == b"new"
    assert steps == 4


def test_a_damaged_document_stays_where_it_is_when_the_new_one_is_refused(filled, monkeypatch):
    """It is kept aside once, by the writer that succeeds."""
    path = filled.path / "plan.json"
    path.write_bytes(b"damaged")
    for after in range(40):
        with monkeypatch.context() as patch:
            Refusal(patch, after, errno.ENOSPC)
            try:
                filled.set_document("plan", {"n": 1})
            except SessionError:
                assert path.read_bytes() == b"damaged", f"refused at step {after}"
                assert not list(filled.path.glob("*.damaged*")), f"refused at step {after}"
                continue
        break
    assert after > 3
    assert filled.document("plan") == {"n": 1}
    assert [kept.read_bytes() for kept in filled.path.glob("*.damaged*")] == [b"damaged"]
