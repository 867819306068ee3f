"""Whatever a file holds, it is a valid run or refused with one line, and a refusal leaves no trace on the disk."""

import gzip
import json
import tempfile
from pathlib import Path

import h5py
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import ServoBenchError
from sessions import Session, SessionError, export_csv, import_paths
from sessions.errors import UnreadableError
from sessions.header import FACT_NAMES
from sessions.run_file.sandbox import read_values

HEADER = {"mass": 0.49, "length": 0.1, "kp": 400, "vin": 7.4, "motor": "xl330", "trajectory": "sin_sin"}
ENTRIES = [
    {"timestamp": i / 200, "position": 0.1, "goal_position": 0.2, "torque_enable": True, "load": 3, "speed": 0.5}
    for i in range(4)
]
LOG = {**HEADER, "entries": ENTRIES}
TEXT = json.dumps(LOG).encode()

numbers = st.one_of(st.integers(), st.floats(), st.integers(-(10**400), 10**400))
scalars = st.one_of(st.none(), st.booleans(), numbers, st.text(), st.text(st.characters(categories=["Cs", "Cc"])))
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=8
)


def survives(content, name):
    """Import a file of this content and assert that it became a valid run or left no trace."""
    with tempfile.TemporaryDirectory() as folder:
        source, home = Path(folder, name), Path(folder, "new", "session")
        source.write_bytes(content)
        try:
            ids = import_paths([source], home)
        except ServoBenchError as error:
            message = str(error)
            assert message.isprintable()
            assert len(message) < 1000
            assert sorted(path.name for path in Path(folder).iterdir()) == [name]
            return False
        session = Session.open(home)
        assert [run.id for run in session.runs()] == ids
        assert session.problems() == []
        session.load_all()
        return True


@given(content=st.binary(max_size=300), ending=st.sampled_from(["json", "json.gz", "csv", "csv.gz"]))
@settings(max_examples=30)
def test_arbitrary_bytes(content, ending):
    survives(content, f"x.{ending}")


@given(content=st.binary(max_size=200))
@settings(max_examples=15)
def test_arbitrary_bytes_in_gzip(content):
    survives(gzip.compress(content), "x.json.gz")


@given(data=anything)
@settings(max_examples=30)
def test_arbitrary_json(data):
    survives(json.dumps(data).encode(), "x.json")


@given(key=st.sampled_from([*HEADER, "entries", "arm_mass", "inertia_total", "servobench", "comment"]), value=anything)
@settings(max_examples=30)
def test_a_log_with_any_header(key, value):
    survives(json.dumps({**LOG, key: value}).encode(), "x.json")


@given(name=st.sampled_from([*FACT_NAMES, "header", "source_file", "creator"]), value=anything)
@settings(max_examples=15)
def test_a_log_with_any_facts(name, value):
    survives(json.dumps({**LOG, "servobench": {name: value}}).encode(), "x.json")


@given(
    index=st.integers(0, 3),
    key=st.sampled_from([*ENTRIES[0], "temp", "input_volts", "skipped_cycles"]),
    value=st.one_of(anything, st.floats(-10, 10), st.integers(-10, 70_000)),
)
@settings(max_examples=15)
def test_a_log_with_any_sample(index, key, value):
    entries = [dict(entry) for entry in ENTRIES]
    entries[index][key] = value
    survives(json.dumps({**LOG, "entries": entries}).encode(), "x.json")


@given(position=st.integers(0, len(TEXT) - 1), change=st.binary(max_size=4), removed=st.integers(0, 4))
@settings(max_examples=30)
def test_a_log_with_any_bytes_changed(position, change, removed):
    survives(TEXT[:position] + change + TEXT[position + removed :], "x.json")


def test_a_log_cut_off_anywhere():
    for end in (*range(0, len(TEXT) - 1, 90), 1, len(TEXT) - 2, len(TEXT) - 1):
        assert not survives(TEXT[:end], "x.json")
    zipped = gzip.compress(TEXT)
    for share in (0.0, 0.01, 0.1, 0.5, 0.9, 0.99):
        assert not survives(zipped[: int(len(zipped) * share)], "x.json.gz")


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    (folder / "log.json").write_bytes(TEXT)
    import_paths([folder / "log.json"], folder / "session")
    return export_csv(Session.open(folder / "session"), None, folder)[0].read_bytes()


@given(data=st.data())
@settings(max_examples=30)
def test_a_csv_with_any_bytes_changed(csv, data):
    position = data.draw(st.integers(0, len(csv) - 1))
    removed = data.draw(st.integers(0, 4))
    change = data.draw(st.binary(max_size=4) | st.sampled_from([b",", b"\n", b"nan", b"inf", b"1e999", b"-"]))
    survives(csv[:position] + change + csv[position + removed :], "x.csv")


@given(facts=anything)
@settings(max_examples=15)
def test_a_csv_with_any_facts(csv, facts):
    first, second, rest = csv.split(b"\n", 2)
    known = json.loads(second[2:])
    variants = [facts, *({**known, key: facts} for key in ("bench", "settings", "provenance", "trajectory"))]
    for variant in variants:
        survives(b"\n".join([first, b"# " + json.dumps(variant).encode(), rest]), "x.csv")


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("h5")
    (folder / "log.json").write_bytes(TEXT)
    [identity] = import_paths([folder / "log.json"], folder / "session")
    return (folder / "session" / "runs" / f"{identity}.h5").read_bytes()


def test_a_run_file_cut_off_anywhere(run_file):
    for share in (0.0, 0.001, 0.25, 0.75, 0.99):
        assert not survives(run_file[: int(len(run_file) * share)], "x.h5")


@pytest.mark.parametrize("name", ["session.json", "index.json"])
@given(content=st.one_of(st.binary(max_size=100), anything.map(lambda data: json.dumps(data).encode())))
@settings(max_examples=20)
def test_a_session_with_any_bytes_in_its_own_files(run_file, name, content):
    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder, "s"))
        (session.path / "runs" / "0001_sin_sin_kp400.h5").write_bytes(run_file)
        (session.path / name).write_bytes(content)
        if name == "index.json":
            assert len(Session.open(session.path).runs()) == 1
        else:
            with pytest.raises(SessionError, match=r"^[^\n]*session\.json[^\n]*$"):
                Session.open(session.path)


@pytest.mark.parametrize("length", [3_000_000, 49_999_999])
@pytest.mark.parametrize("name", ["channels/position", "provenance"])
def test_a_run_file_that_claims_more_than_it_holds(run_file, tmp_path, name, length):
    """Chunks nobody wrote are zeros: a few hundred bytes claim gigabytes."""
    place = tmp_path / "x.h5"
    place.write_bytes(run_file.partition(b"\nServoBench SHA-256 ")[0])
    with h5py.File(place, "r+") as file:
        del file[name]
        kind = "<f8" if name != "provenance" else "S64"
        file.create_dataset(name, (length,), kind, chunks=(16_384,))
    assert not survives(place.read_bytes(), "x.h5")
    with h5py.File(place) as file, pytest.raises(UnreadableError, match="claims"):
        read_values(file[name], name)


@pytest.mark.parametrize(("shape", "chunks"), [((4,), (2**28,)), ((2_000_000,), (1,))])
def test_a_dataset_in_chunks_that_cost_too_much(tmp_path, shape, chunks):
    """HDF5 unpacks whole chunks, however little of them is used, and looks each one up."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", shape, "<f8", chunks=chunks, maxshape=(None,))
        with pytest.raises(UnreadableError, match="claims"):
            read_values(dataset, "x")


def test_what_another_program_compressed_is_read(run_file, tmp_path):
    place = tmp_path / "x.h5"
    place.write_bytes(run_file.partition(b"\nServoBench SHA-256 ")[0])
    with h5py.File(place, "r+") as file:
        for name, dataset in list(file["channels"].items()):
            values = dataset[()]
            del file["channels"][name]
            file["channels"].create_dataset(name, data=values, compression="gzip")
    assert survives(place.read_bytes(), "x.h5")
