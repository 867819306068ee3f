"""Every field, column and channel, each with a value of its own, comes back from every place it is written to."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from core.base.errors import IdentificationError
from core.identification.request import IdentificationRequest
from core.motion.recording import RECORDED_CHANNELS, REQUIRED_CHANNELS, SAMPLE_DTYPE
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions import Session, export_single, import_paths
from sessions.errors import EmptyRunError
from sessions.header import RunFacts
from sessions.importers import TableImport
from sessions.importers.columns import parse_columns
from sessions.importers.names import FACTS
from sessions.results.folder import RECORD, read_file, write_file
from sessions.results.record import ENDINGS, IdentificationRecord, read_record
from sessions.run_file.schema import opened, read_facts
from sessions.run_file.summary import RunSummary
from sessions.writing.part import PART, Part, read_part
from sessions.writing.sealing import seal

CONDITIONS = Bench(
    mass=0.31, length=0.12, arm_mass=0.043, gravity=9.74, angle_offset=0.055, measured_inertia=0.0066,
    measured_gravity_torque=0.37,
)  # fmt: skip
LAW = ServoSettings(
    servo="erob80_50", kp=91.0, ki=1.2, kd=0.13, supply_voltage=47.5, damping=0.24, actuator="qb_move", preset=0.35
)
WHOLE = RunFacts(
    id="0007_lift_and_drop_kp91",
    trajectory="lift_and_drop",
    bench=CONDITIONS,
    settings=LAW,
    provenance={"operator": "Ada", "source_file": "log.json", "joint": "elbow", "servo_address": "simulated:erob80_50"},
    uid="3b0d1c0e-8a7b-4d7e-9c57-3f6f0a5d2c11",
    started="2026-03-01T10:00:00.250+01:00",
    finished="2026-03-01T10:00:07.125+01:00",
    exit_status="abort",
    reason="the cable came off",
    git_revision="4f2a9c",
    rate=187.5,
    rows_dropped=3,
)


@pytest.fixture
def table():
    """Eight rows of samples, every channel unlike the others."""
    rows = np.zeros(8, SAMPLE_DTYPE)
    for place, channel in enumerate(RECORDED_CHANNELS, start=1):
        steps = np.arange(8) / 64
        rows[channel.name] = np.arange(8) + 10 * place if channel.kind == "u4" else place + steps * place
    rows["torque_enable"] = [1, 1, 1, 0, 0, 1, 0, 1]
    return rows


def written(session, table):
    seal(session.path / "runs" / f"{WHOLE.id}.h5", WHOLE, table)
    return session


def assert_same_facts(found, expected=WHOLE):
    for field in fields(RunFacts):
        assert getattr(found, field.name) == getattr(expected, field.name), field.name


def test_no_value_here_stands_for_two_fields_or_for_none():
    given = [*vars(CONDITIONS).values(), *vars(LAW).values(), *(v for k, v in vars(WHOLE).items() if k != "provenance")]
    plain = [value for value in given if not isinstance(value, (Bench, ServoSettings))]
    assert len(set(plain)) == len(plain)
    assert all(plain)


def test_every_fact_of_a_run_comes_back_from_its_file_and_from_an_exported_one(session, table, tmp_path):
    sealed = replace(WHOLE, rows_dropped=0)  # counted when the run is sealed
    path = session.path / "runs" / f"{WHOLE.id}.h5"
    written(session, table)
    with opened(path) as file:
        assert_same_facts(read_facts(file), sealed)
    with Session.open(export_single(session, tmp_path / "all.h5")).run_group(WHOLE.id) as group:
        assert_same_facts(read_facts(group), sealed)


def test_every_fact_of_a_run_comes_back_from_its_part(tmp_path, table):
    begun = replace(WHOLE, exit_status="", reason="", finished="")
    part = Part(tmp_path / f"{WHOLE.id}.h5{PART}", begun)
    part.append(table[:3])
    part.append(table[3:])
    assert_same_facts(read_part(tmp_path / f"{WHOLE.id}.h5{PART}")[0], begun)
    part.finish(WHOLE.exit_status, WHOLE.reason, WHOLE.finished)
    facts, rows = read_part(tmp_path / f"{WHOLE.id}.h5{PART}")
    assert_same_facts(facts)
    assert rows.tobytes() == table.tobytes()


def test_every_fact_of_a_run_stays_with_its_copy_in_another_session(session, table, tmp_path):
    run = written(session, table).load(WHOLE.id)
    other = Session.create(tmp_path / "other")
    with other.run_group(other.add(run)) as group:
        kept = read_facts(group)
    with session.run_group(WHOLE.id) as group:
        original = read_facts(group)
    assert_same_facts(replace(kept, id=original.id, provenance={**kept.provenance, "creator": ""}),
                      replace(original, provenance={**original.provenance, "creator": ""}))  # fmt: skip


def test_a_summary_has_every_fact_in_its_place_and_the_index_keeps_it(session, table):
    [run] = written(session, table).runs()
    same = ("id", "trajectory", "reason", "started", "finished", "exit_status", "rate", "uid")
    expected = {
        **{name: getattr(WHOLE, name) for name in same},
        **{name: getattr(CONDITIONS, name) for name in ("mass", "length", "arm_mass")},
        **{name: getattr(LAW, name) for name in ("kp", "ki", "kd", "supply_voltage", "servo")},
        "duration": 7 / 64,
        "samples": 8,
        "source": "log.json",
        "joint": "elbow",
        "file": f"runs/{WHOLE.id}.h5",
        "kind": "simulated erob80_50 (actuator qb_move)",
    }
    assert {name: getattr(run, name) for name in expected} == expected
    assert {field.name for field in fields(RunSummary)} - set(expected) == {"sha256", "content_sha256"}
    assert RunSummary.from_json(json.loads(json.dumps(run.to_json()))) == run
    assert run.simulated
    assert (session.path / "index.json").exists()
    assert Session.open(session.path).runs() == [run]
    assert {title: values[0] for title, values in session.columns().items()} == {
        "run": WHOLE.id, "motion": "lift_and_drop", "mass [kg]": 0.31, "length [m]": 0.12, "kp": 91.0,
        "duration [s]": 7 / 64, "status": "aborted",
    }  # fmt: skip


def test_a_gap_in_each_channel_stays_where_it_is_and_one_in_a_required_channel_costs_the_row(session, header, table):
    floats = [channel.name for channel in RECORDED_CHANNELS if channel.kind not in ("u1", "u4")]
    optional = [name for name in floats if name not in REQUIRED_CHANNELS]
    required = [name for name in floats if name in REQUIRED_CHANNELS]
    for row, name in enumerate(optional):
        table[name][row] = np.nan
    rows = np.concatenate([table, table[-1:].repeat(len(required))])
    for row, name in enumerate(required, start=len(table)):
        rows["time"][row] += row
        rows[name][row] = np.nan
    sink = session.sink().open(header)
    sink.append(rows)
    run = session.load(sink.finish("success"))
    assert run.provenance["rows_dropped"] == len(required)
    for channel in RECORDED_CHANNELS:
        assert run.channels[channel.name].tobytes() == table[channel.name].tobytes(), channel.name


def test_a_channel_without_any_value_is_left_out_and_counts_of_zero_are_kept(session, header, table):
    for channel in RECORDED_CHANNELS[4:]:
        table[channel.name] = np.nan if channel.kind not in ("u1", "u4") else 0
    sink = session.sink().open(header)
    sink.append(table)
    kept = session.load(sink.finish("success")).channels
    assert list(kept) == [*REQUIRED_CHANNELS, "skipped_cycles", "bus_errors"]


@pytest.mark.parametrize("count", [0, 1])
def test_a_run_of_fewer_than_two_samples_is_no_run_and_the_next_one_takes_its_number(session, header, rows, count):
    sink = session.sink().open(header)
    sink.append(rows(count))
    with pytest.raises(EmptyRunError, match=f"{count} usable sample"):
        sink.finish("abort")
    assert list((session.path / "runs").iterdir()) == []
    again = session.sink().open(header)
    again.append(rows(2))
    assert again.finish("success").startswith("0001")
    assert session.runs()[0].samples == 2


def test_every_fact_given_for_a_table_has_its_place_also_when_a_file_name_tells_it(tmp_path):
    given = {
        "mass": 0.31, "length": 0.12, "arm_mass": 0.043, "angle_offset": 0.055, "kp": 91.0, "ki": 1.2, "kd": 0.13,
        "supply_voltage": 11.5, "damping": 0.24, "servo": "xl330", "trajectory": "chirp",
    }  # fmt: skip
    assert given.keys() == FACTS.keys()
    named = "_".join(f"{fact.replace('_', '')}{value}" for fact, value in given.items())
    time = 0.01 * np.arange(50)
    lines = "".join(f"{t:.2f},{np.sin(t):.4f},{np.sin(t):.4f}\n" for t in time)
    columns = parse_columns("time=t,goal=g:rad,position=p:rad")
    pattern = "_".join(f"{fact.replace('_', '')}{{{fact}}}" for fact in given)
    for number, (name, request) in enumerate(
        (
            ("run", TableImport(columns=columns, facts=given)),
            (named, TableImport(columns=columns, name_pattern=pattern)),
        )
    ):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"t,g,p\n{lines}")
        home = tmp_path / f"home{number}"
        [identity] = import_paths([path], home, tables=request)
        run = Session.open(home).load(identity)
        found = {**vars(run.bench), **vars(run.settings), "trajectory": run.trajectory}
        assert {fact: found[fact] for fact in given} == given


def test_a_record_of_an_identification_comes_back_and_says_what_it_is(tmp_path):
    request = IdentificationRequest(servo="mx106", models=("m1", "m2", "m4"))
    runs = ("0001_a", "0003_b")
    record = IdentificationRecord(folder=tmp_path, begun="2025-11-21T14:03:00+01:00", runs=runs, request=request)
    assert record.in_words() == "M1 … M4 from 2 runs, begun 21 Nov 14:03"
    assert replace(record, request=replace(request, models=("m3",)), runs=runs[:1]).in_words() == (
        "M3 from 1 run, begun 21 Nov 14:03"
    )
    for ending in ENDINGS:
        assert record.ended(ending) == read_record(tmp_path) == replace(record, ending=ending)
    data = read_file(tmp_path, RECORD)
    for change, said in (
        ({"format": "other"}, "unknown format"),
        ({"ending": "lost"}, "unknown format"),
        ({"version": 2, "ending": "lost"}, "format 2"),
    ):
        write_file(tmp_path, RECORD, {**data, **change})
        with pytest.raises(IdentificationError, match=f"not a record of an identification: .*{said}"):
            read_record(tmp_path)
