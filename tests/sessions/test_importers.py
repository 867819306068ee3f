"""Logs of other tools become the runs they describe; what cannot be imported is named and leaves no trace."""

import gzip
import hashlib
import json
import os

import h5py
import numpy as np
import pytest

from core.base.errors import InputError, ServoBenchError
from core.motion.recording import Recording
from core.servo.bench import STANDARD_GRAVITY
from core.servo.catalogue import servos
from sessions import Session, SessionError, import_paths, strict_json
from sessions.exporters import export_bam
from sessions.importers import TableImport, UnclearServoError, sources
from sessions.importers.bam_json import read_bam


def imported(path, home):
    return Session.open(home) if import_paths([path], home) else None


@pytest.fixture
def home(tmp_path):
    return tmp_path / "target" / "session"


def only_run(path, home):
    import_paths([path], home)
    [recording] = Session.open(home).load_all()
    return recording


# What a log means


def test_a_raw_log_becomes_a_recording(write_log, home):
    run = only_run(write_log(), home)
    assert run.id == "0001_sin_sin_kp400"
    assert run.trajectory == "sin_sin"
    assert (run.bench.mass, run.bench.length, run.bench.arm_mass) == (0.49, 0.1, 0.0)
    assert run.bench.gravity == STANDARD_GRAVITY
    assert (run.settings.servo, run.settings.kp, run.settings.supply_voltage) == ("xl330", 400.0, 7.4)
    assert list(run.time) == [0.005 * i for i in range(5)]
    assert list(run.position) == [0.1 * i for i in range(5)]
    assert list(run.goal_position) == [0.2 * i for i in range(5)]
    assert run.torque_enable.all()
    assert list(run.channels["velocity"]) == [1.0] * 5
    assert list(run.channels["supply_voltage"]) == [7.4] * 5
    assert list(run.channels["temperature"]) == [30.0] * 5


def test_the_load_of_an_xl330_is_its_pwm_in_twos_complement(write_log, home):
    assert list(only_run(write_log(), home).channels["duty_cycle"]) == [-(i + 1) / 885 for i in range(5)]


def test_the_load_of_other_servos_is_not_taken(write_log, home):
    assert "duty_cycle" not in only_run(write_log(motor="MX106"), home).channels


# The names of Rhoban/bam's actuators and of its recorded logs, and every name the catalogue knows a servo by.
PEERS = {
    "mx64": "mx64",
    "mx106": "mx106",
    "MX-64": "mx64",
    "MX-106": "mx106",
    "xl320": "xl320",
    "XL330": "xl330",
    "XL-330": "xl330",
    "erob80_50": "erob80_50",
    "erob80_100": "erob80_100",
    "sts3215": "sts3215",
    "sts3215_12v": "sts3215",
    "feetech_sts3215": "sts3215",
    "sts3215_7v4": "sts3215_7v4",
    "feetech_sts3215_7_4V": "sts3215_7v4",
    "sts3250": "sts3250",
}
CATALOGUE = {name: spec.name for spec in servos().values() for name in spec.names}


def test_servos_get_the_catalogues_names(log):
    for motor, servo in (PEERS | CATALOGUE).items():
        run = read_bam(json.dumps(log(motor=motor, vin=servos()[servo].supply_voltage)).encode(), "log.json")
        assert run.settings.servo == servo, motor
        assert run.provenance["header"]["motor"] == motor


# The supply that a log states, and the variants of its servo

SEVEN_VOLTS = "sts3215_7v4 or sts3215_c044 or sts3215_c046"
UNCLEAR = [
    ("sts3215", 7.4, "", f"7.4 V is outside the 9 to 13 V of sts3215, but fits {SEVEN_VOLTS}; say which one it is: "
     "--servo sts3215_7v4, or --servo sts3215 if the log is right"),
    ("STS3215_12V", 5.0, "xl330", f"5 V is outside the 9 to 13 V of sts3215, but fits {SEVEN_VOLTS}; say which one it "
     "is: --servo sts3215_7v4, or --servo sts3215 if the log is right"),
    ("sts3215_c046", 12.0, "", "12 V is outside the 4 to 7.8 V of sts3215_c046, but fits sts3215; say which one it is: "
     "--servo sts3215, or --servo sts3215_c046 if the log is right"),
    ("sts3215", 12.1, "sts3215_7v4", "12.1 V is outside the 4 to 7.8 V of sts3215_7v4, but fits sts3215; say which one "
     "it is: --servo sts3215"),
]  # fmt: skip


@pytest.mark.parametrize(("motor", "vin", "said", "line"), UNCLEAR)
def test_a_supply_that_only_variants_run_on_is_asked_about(write_log, home, motor, vin, said, line):
    path = write_log(motor=motor, vin=vin)
    tables = TableImport(facts={"servo": said} if said else {})
    with pytest.raises(UnclearServoError) as caught:
        import_paths([path], home, tables=tables)
    assert str(caught.value) == f"{path}: {line}"
    assert not home.exists()


@pytest.mark.parametrize(
    ("motor", "vin", "said", "servo"),
    [
        ("sts3215", 7.4, "sts3215_7v4", "sts3215_7v4"),
        ("sts3215", 7.4, "STS3215-C044", "sts3215_c044"),
        ("sts3215", 7.4, "sts3215", "sts3215"),  # the 12 V servo did run on 7.4 V
        ("sts3215_7v4", 7.4, "sts3215_c046", "sts3215_c046"),  # a gear that no supply tells
        ("sts3215", 12.1, "", "sts3215"),
        ("sts3215", 12.1, "xl330", "sts3215"),  # the servo of tables beside the log
        ("sts3215", 24.0, "", "sts3215"),  # no variant runs on it
        ("mx106", 5.0, "", "mx106"),  # there is no variant
        ("erob80_50", 5.0, "", "erob80_50"),
    ],
)
def test_the_variant_that_is_said_counts(write_log, home, motor, vin, said, servo):
    tables = TableImport(facts={"servo": said} if said else {})
    import_paths([write_log(motor=motor, vin=vin)], home, tables=tables)
    [run] = Session.open(home).load_all()
    assert (run.settings.servo, run.settings.supply_voltage) == (servo, vin)
    assert run.provenance["header"]["motor"] == motor
    # A log of our own states the servo it was imported as, and is not asked about again.
    [written] = export_bam(Session.open(home), None, home.parent / "out")
    import_paths([written], home.parent / "again")
    assert Session.open(home.parent / "again").load_all()[0].settings.servo == servo


def test_every_servo_with_variants_is_asked_about_on_their_supply(log):
    asked = 0
    for spec in servos().values():
        for other in servos().values():
            content = json.dumps(log(motor=spec.name, vin=other.supply_voltage)).encode()
            if spec.is_variant_of(other) and not spec.runs_on(other.supply_voltage):
                with pytest.raises(UnclearServoError):
                    read_bam(content, "log.json")
                run, asked = read_bam(content, "log.json", other.name), asked + 1
                assert isinstance(run, Recording)
                assert run.settings.servo == other.name
            elif spec.runs_on(other.supply_voltage):
                run = read_bam(content, "log.json")
                assert isinstance(run, Recording)
                assert run.settings.servo == spec.name
    assert asked >= 6


# Conditions under which nothing could have moved as logged


def test_a_supply_in_tenths_of_a_volt_is_refused_for_every_servo(log):
    for spec in servos().values():
        data = log(motor=spec.name, vin=10.0 * spec.supply_voltage)
        with pytest.raises(InputError, match="V cannot be"):
            read_bam(json.dumps(data).encode(), "log.json")


IMPOSSIBLE = [
    ({"vin": 0}, "a supply of 0 V cannot be: xl330 runs on 3.7 to 9.5 V; state that of the run [V]"),
    ({"vin": 7400}, "a supply of 7400 V cannot be: xl330 runs on"),
    ({"vin": None}, "the log does not state its vin"),
    ({"vin": 75}, "a supply of 75 V cannot be: xl330 runs on"),
    ({"mass": 490}, "cannot hold 490 kg at 0.1 m, which pulls with 481 N·m at 90°; state its mass [kg] and its"),
    ({"length": 100}, "cannot hold 0.49 kg at 100 m"),
    ({"gravity_torque": 480}, "which pulls with 480 N·m at 90°"),
    ({"kp": 0.0}, "a gain kp of 0 cannot be: the goal moves while the torque is on; state that of the run"),
    ({"length": 0}, "a load without inertia cannot be: 0.49 kg at 0 m; state its mass [kg] and its distance from"),
    ({"mass": 0, "arm_mass": 0.1, "length": 0}, "a load without inertia cannot be: 0 kg at 0 m; state its mass"),
    ({"inertia_total": 0}, "a load without inertia cannot be: its inertia is stated as 0; state its mass"),
]
REQUIRED = ("vin", "mass", "length", "kp")
NUMBERS = (*REQUIRED, "arm_mass", "ki", "kd", "gravity", "damping", "inertia_total", "gravity_torque")


@pytest.mark.parametrize(("header", "line"), IMPOSSIBLE, ids=str)
def test_a_condition_that_cannot_be_is_refused_in_one_line(write_log, log, home, header, line):
    data = {key: value for key, value in {**log(), **header}.items() if value is not None}
    assert line in refused(write_log(data=data), home)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "1", True])
@pytest.mark.parametrize("field", NUMBERS)
def test_every_number_of_a_log_is_one(write_log, home, field, value):
    line = refused(write_log(**{field: value}), home)
    assert field in line or "is not a JSON number" in line


@pytest.mark.parametrize("field", [field for field in NUMBERS if field not in (*REQUIRED, "inertia_total")])
def test_the_others_may_be_0_without_a_word(write_log, home, field):
    events = []
    import_paths([write_log(**{field: 0})], home, events.append)
    assert not any(event.note or event.skipped for event in events)


def test_a_gain_of_0_is_possible_while_no_goal_acts(write_log, log, home):
    data = log(kp=0)
    for entry in data["entries"]:
        entry["torque_enable"] = False
    assert only_run(write_log(data=data), home).settings.kp == 0.0


def test_a_shaft_without_a_load_is_possible_and_said(write_log, home):
    events = []
    import_paths([write_log(mass=0)], home, events.append)
    assert [event.note for event in events if event.note] == ["there is no load, its mass is 0"]


@pytest.mark.parametrize("motor", ["own-1", "sts", "erob80", "mx28", "xh540", "xl330i", "unitree_go1"])
def test_an_unknown_servo_is_refused_with_the_way_out(write_log, home, motor):
    with pytest.raises(InputError, match=rf"no servo '{motor}'.*bench models --new my.toml"):
        only_run(write_log(motor=motor), home)
    assert not home.exists()


@pytest.mark.parametrize("key", ["arm_mass", "arm-mass"])
def test_the_arms_mass_has_two_spellings(write_log, home, key):
    assert only_run(write_log(**{key: 0.036}), home).bench.arm_mass == 0.036


def test_a_measured_load_replaces_the_point_mass(write_log, home):
    bench = only_run(write_log(inertia_total=0.0067, gravity_torque=0.54), home).bench
    assert (bench.inertia, bench.gravity_torque) == (0.0067, 0.54)


def test_the_papers_words_for_trajectories_are_understood(write_log, home):
    assert only_run(write_log(trajectory="raise_and_lower"), home).trajectory == "up_and_down"


def test_the_rest_of_the_header_stays_in_the_provenance(write_log, home):
    extra = {
        "error_gain": 0.16489,
        "max_pwm": 0.9965,
        "dt": 0.005,
        "repetition": 2,
        "q_offset": 0.1,
        "recorded": "2025-03-17_163547",
    }
    run = only_run(write_log(**extra), home)
    assert {key: run.provenance["header"][key] for key in extra} == extra
    assert run.provenance["source_file"] == "log.json"
    assert run.provenance["source_sha256"] == hashlib.sha256((home.parents[1] / "log.json").read_bytes()).hexdigest()
    assert run.provenance["started"] == "2025-03-17T16:35:47"
    assert run.bench.angle_offset == 0.0


def test_an_exactly_repeated_row_is_dropped_with_a_note(write_log, log, home):
    data = log()
    data["entries"].insert(3, dict(data["entries"][2]))
    run = only_run(write_log(data=data), home)
    assert run.samples == 5
    assert run.provenance["duplicate_rows_dropped"] == 1


def test_values_some_samples_lack_are_missing_there_only(write_log, log, home):
    data = log()
    del data["entries"][2]["speed"]
    data["entries"][4]["temp"] = None
    run = only_run(write_log(data=data), home)
    assert list(np.isnan(run.channels["velocity"])) == [False, False, True, False, False]
    assert list(np.isnan(run.channels["temperature"])) == [False, False, False, False, True]


# Files, folders, lists


def test_a_folder_is_walked_in_order_and_foreign_files_are_reported(write_log, tmp_path, home):
    write_log("in/b.json", kp=2)
    write_log("in/a.json", kp=1)
    write_log("in/deep/c.json", kp=3)
    write_log("in/list.json", data=["a.json"])
    write_log("in/parameters.json", data={"kt": 1.2})
    write_log("in/.hidden.json", data="broken")
    (tmp_path / "in" / "readme.txt").write_text("hello")
    (tmp_path / "in" / "table.csv").write_text("a,b\n1,2\n")
    events = []
    ids = import_paths([tmp_path / "in"], home, events.append)
    assert [identity[-3:] for identity in ids] == ["kp1", "kp2", "kp3"]
    skipped = {os.path.basename(event.file): event.skipped for event in events if event.skipped}
    assert skipped.keys() == {"list.json", "parameters.json", "table.csv"}
    for stage, count in (("read", 6), ("store", 3)):
        told = [(event.done, event.total) for event in events if event.stage == stage]
        assert told == [(done, count) for done in range(1, count + 1)]


def test_a_list_names_files_beside_it_or_below_in_their_order(write_log, home):
    write_log("sub/a.json", kp=7)
    write_log("b.json", kp=5)
    ids = import_paths([write_log("list.json", data=["sub/a.json", "b.json"])], home)
    assert [run.settings.kp for run in Session.open(home).load_all(ids)] == [7, 5]
    assert [identity[:4] for identity in ids] == ["0001", "0002"]


@pytest.mark.parametrize("name", ["../a.json", "/etc/passwd", "sub/../../a.json", "missing.json", "list.json", "a\0"])
def test_a_list_reaches_nothing_else(write_log, home, name):
    write_log("a.json")
    write_log("in/sub/b.json")
    told = refused(write_log("in/list.json", data=[name]), home)
    assert ("in the folder of the list or below it" in told) == (".." in name or name[0] == "/" or "\0" in name)


def test_imports_add_to_a_session_that_exists(write_log, home):
    first = import_paths([write_log("a.json")], home)
    second = import_paths([write_log("b.json", kp=100)], Session.open(home))
    assert first + second == ["0001_sin_sin_kp400", "0002_sin_sin_kp100"]


def test_a_session_is_not_imported_into_itself(session, recording):
    session.add(recording())
    with pytest.raises(InputError, match="into itself"):
        import_paths([session.path], session)


# What is refused: one line, nothing written


def refused(path, home):
    with pytest.raises(ServoBenchError) as caught:
        import_paths([path], home)
    assert "\n" not in str(caught.value)
    assert not home.parent.exists()
    return str(caught.value)


BAD_HEADERS = {
    "negative mass": {"mass": -0.5},
    "text for a number": {"mass": "0.49"},
    "boolean for a number": {"kp": True},
    "list for a number": {"kp": [4]},
    "huge integer": {"kp": 10**400},
    "huge number": {"length": 1e7},
    "no gain": {"kp": None},
    "no servo": {"motor": None},
    "servo is a number": {"motor": 330},
    "path as servo": {"motor": "../xl330"},
    "path as trajectory": {"trajectory": "a/b"},
    "backslash in trajectory": {"trajectory": "a\\b"},
    "lone surrogate": {"trajectory": "\ud800"},
    "lone surrogate in a comment": {"comment": "\ud800"},
    "zero byte": {"trajectory": "a\0b"},
    "two lines": {"trajectory": "a\nb"},
    "deep comment": {"comment": json.loads("[" * 500 + "]" * 500)},
    "endless comment": {"comment": "x" * 100_000},
    "no entries": {"entries": []},
    "one entry": {"entries": [{}]},
    "entries are numbers": {"entries": [1, 2, 3]},
    "entries are text": {"entries": "abc"},
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_a_bad_header_is_refused(write_log, log, home, header):
    data = {key: value for key, value in {**log(), **header}.items() if value is not None}
    refused(write_log(data=data), home)


BAD_SAMPLES = {
    "time goes back": {"timestamp": 0.001},
    "time stands still": {"timestamp": 0.005, "position": 9.0},
    "text": {"position": "1.0"},
    "boolean": {"position": True},
    "nothing": {"goal_position": None},
    "huge": {"goal_position": 2e6},
    "number for a switch": {"torque_enable": 0.5},
    "text for a switch": {"torque_enable": "on"},
    "load beyond 16 bits": {"load": 65536},
    "broken load": {"load": 1.5},
}


@pytest.mark.parametrize("change", BAD_SAMPLES.values(), ids=BAD_SAMPLES.keys())
def test_a_bad_sample_is_named(write_log, log, home, change):
    data = log()
    data["entries"][2].update(change)
    assert "sample 2" in refused(write_log(data=data), home)


BAD_FILES = {
    "empty": b"",
    "blank": b" \n",
    "text": b"hello",
    "cut off": b'{"mass": 0.49, "entries": [{"timest',
    "not UTF-8": b'{"mass": "\xff"}',
    "not a number": b'{"entries": [{"timestamp": NaN}]}',
    "infinite": b'{"entries": [{"timestamp": Infinity}]}',
    "too many digits": b'{"entries": [' + b"9" * 5000 + b"]}",
    "too deep": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "no object": b"7",
    "empty list": b"[]",
    "mixed list": b'["a.json", 7]',
    "cut off gzip": gzip.compress(b'{"entries": []}' * 100)[:40],
    "damaged gzip": b"\x1f\x8b" + bytes(100),
    "HDF5": b"\x89HDF\r\n\x1a\n",
}


@pytest.mark.parametrize("ending", ["json", "json.gz", "csv", "h5"])
def test_a_bad_file_is_refused(tmp_path, home, ending):
    path = tmp_path / f"bad.{ending}"
    for name, content in BAD_FILES.items():
        path.write_bytes(content)
        assert f"bad.{ending}" in refused(path, home), name


def test_files_of_any_size_are_read_and_unfolded_only_so_far(tmp_path, home, monkeypatch):
    monkeypatch.setattr(sources, "MAX_BYTES", 2**20)
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)
    assert "larger than 1 MB" in refused(path, home)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(bytes(2**21)))
    assert "larger than 1 MB" in refused(bomb, home)


def test_more_values_than_memory_can_hold_are_refused(tmp_path, home, monkeypatch):
    monkeypatch.setattr(strict_json, "MAX_CONTAINERS", 1_000)
    path = tmp_path / "many.json"
    path.write_bytes(b"[" + b"[]," * 1_000 + b"[]]")
    assert "too many values" in refused(path, home)


def test_pipes_devices_and_missing_files_are_refused(tmp_path, home):
    os.mkfifo(tmp_path / "pipe.json")
    assert "not a file" in refused(tmp_path / "pipe.json", home)
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    assert "not a file" in refused(tmp_path / "zero.json", home)
    refused(tmp_path / "none.json", home)
    refused(tmp_path / "a\0b.json", home)
    refused(tmp_path / "two\nlines.json", home)
    (tmp_path / "picture.png").touch()
    assert "unknown kind" in refused(tmp_path / "picture.png", home)


def test_one_bad_file_in_a_folder_stops_the_whole_import(write_log, tmp_path, home):
    write_log("in/a.json")
    (tmp_path / "in" / "z.json").write_text('{"entries": [')
    assert "z.json" in refused(tmp_path / "in", home)


def test_a_folder_without_recordings_is_refused(tmp_path, home):
    (tmp_path / "in").mkdir()
    assert "nothing to import" in refused(tmp_path / "in", home)


def test_a_bad_import_leaves_a_session_as_it_was(session, recording, write_log):
    session.add(recording())
    before = sorted(os.listdir(session.path / "runs"))
    with pytest.raises(InputError):
        import_paths([write_log("good.json"), write_log("bad.json", mass=-1)], session)
    assert sorted(os.listdir(session.path / "runs")) == before


def test_nothing_is_imported_into_a_foreign_folder(write_log, tmp_path):
    write_log("home/thesis.json")
    with pytest.raises(SessionError, match="not an empty folder"):
        import_paths([write_log()], tmp_path / "home")
    assert os.listdir(tmp_path / "home") == ["thesis.json"]


def test_a_damaged_run_file_is_refused(session, recording, home):
    path = session.path / "runs" / f"{session.add(recording())}.h5"
    with h5py.File(path, "r+") as file:
        file.attrs["settings"] = json.dumps({"servo": "xl330", "kp": "high", "supply_voltage": 7})
    assert "kp" in refused(path, home)


def test_a_session_that_appears_while_logs_are_read_is_left_alone(write_log, home):
    """Another program made it; it is neither written into nor removed."""
    path = write_log()

    def meanwhile(event):
        if not home.exists():
            Session.create(home, "of another program").set_document("plan", {"runs": []})

    with pytest.raises(SessionError, match="already a session"):
        import_paths([path], home, progress=meanwhile)
    found = Session.open(home)
    assert (found.title, found.runs(), found.document("plan")) == ("of another program", [], {"runs": []})
