"""Runs leave for other tools without losing a bit and come back the same."""

import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.errors import InputError, ServoBenchError
from core.motion.recording import RECORDED_CHANNELS, Recording
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from sessions import Session, SessionError, export_bam, export_csv, import_paths
from sessions.exporters import bam_text, csv_text
from sessions.importers.bam_json import read_bam
from sessions.importers.own_csv import read_csv

EXPORTERS = {"csv": export_csv, "bam": export_bam}


@pytest.mark.parametrize("export", EXPORTERS.values(), ids=EXPORTERS.keys())
def test_runs_come_back_the_same(session, recording, same, tmp_path, export):
    bench = Bench(mass=0.5, length=0.1, gravity=9.81, measured_inertia=0.0067, measured_gravity_torque=0.54)
    law = ServoSettings(servo="xl330", kp=90, ki=1, kd=0.1, supply_voltage=48, damping=0.2)
    session.add_all([recording(), recording(bench=bench, settings=law, seed=1), recording(samples=2, seed=2)])
    files = export(session, None, tmp_path / "out")
    again = Session.open(tmp_path / "again") if import_paths(files, tmp_path / "again") else None
    for original, back in zip(session.load_all(), again.load_all(), strict=True):
        same(original, back)
        assert back.provenance["operator"] == "Ada"
        assert back.provenance["exit_status"] == "success"
        assert back.provenance["uid"] == original.provenance["uid"]
    assert again.data_hash() == session.data_hash()


@pytest.mark.parametrize("export", EXPORTERS.values(), ids=EXPORTERS.keys())
def test_no_file_is_replaced(session, recording, tmp_path, export):
    session.add(recording())
    export(session, None, tmp_path / "out")
    with pytest.raises(SessionError, match="exists"):
        export(session, None, tmp_path / "out")
    (tmp_path / "file").touch()
    with pytest.raises(SessionError, match="cannot be exported"):
        export(session, None, tmp_path / "file")
    assert len(os.listdir(tmp_path / "out")) == 1


values = st.floats(-1e6, 1e6, allow_subnormal=True)
maybe = values | st.just(float("nan"))


@st.composite
def recordings(draw):
    """Any run the importers' bounds allow."""
    count = draw(st.integers(2, 5))
    time = sorted(draw(st.lists(values, min_size=count, max_size=count, unique=True)))
    channels = {"time": np.array(time) + 0.0}
    for channel in RECORDED_CHANNELS[1:]:
        kind = np.dtype(channel.kind).kind
        required = channel.name in ("goal_position", "position")
        items = st.integers(0, 1) if kind == "u" else values if required else maybe
        # Zeros without a sign, which counts of a duty cycle do not have.
        column = np.array(draw(st.lists(items, min_size=count, max_size=count)), channel.kind) + 0
        if required or kind == "u" or not np.all(np.isnan(column)):
            channels[channel.name] = column
    positive = st.floats(0, 1e6)
    try:
        return Recording(
            id="x",
            trajectory=draw(st.sampled_from(["sin_sin", "my own-1.5"])),
            bench=Bench(mass=draw(positive), length=draw(positive), measured_inertia=draw(st.none() | positive)),
            settings=ServoSettings(
                servo=draw(st.sampled_from(["xl330", "mx106"])), kp=draw(positive), supply_voltage=draw(positive)
            ),
            channels=channels,
        )
    except ServoBenchError:
        return draw(st.nothing())


@given(original=recordings())
@settings(max_examples=60)
def test_any_run_survives_both_formats(same, original):
    same(original, read_csv(csv_text(original).encode(), "x.csv"))
    same(original, read_bam(bam_text(original).encode(), "x.json"))


BAMS_NAMES = {
    "timestamp": "time",
    "goal_position": "goal_position",
    "torque_enable": "torque_enable",
    "position": "position",
    "speed": "velocity",
    "current": "current",
    "input_volts": "supply_voltage",
    "duty_cycle": "duty_cycle",
    "temp": "temperature",
    "read_duration": "read_duration",
    "command_time": "command_time",
    "skipped_cycles": "skipped_cycles",
    "bus_errors": "bus_errors",
}
HEADS = (
    "time [s],goal_position [rad],torque_enable [1],position [rad],velocity [rad/s],current [A],duty_cycle [1],"
    "supply_voltage [V],temperature [degC],read_duration [s],command_time [s],skipped_cycles [1],bus_errors [1]"
)


def test_every_channel_leaves_under_its_own_name(recording):
    """All channels unlike each other, on a servo whose load is no duty cycle: nothing can take another's place."""
    channels = {
        channel.name: np.array([k, k + 1], channel.kind) if channel.name != "torque_enable" else np.array([0, 1], "u1")
        for k, channel in enumerate(RECORDED_CHANNELS, start=2)
    }
    run = recording(channels=channels, settings=ServoSettings(servo="mx106", kp=8, supply_voltage=12.0))
    rows = json.loads(bam_text(run))["entries"]
    assert rows == [{theirs: channels[ours][row] for theirs, ours in BAMS_NAMES.items()} for row in range(2)]
    _, facts, heads, *lines = csv_text(run).splitlines()
    assert heads == HEADS
    names = [head.split()[0] for head in heads.split(",")]
    assert [[float(cell) for cell in line.split(",")] for line in lines] == [
        [channels[name][row] for name in names] for row in range(2)
    ]
    assert json.loads(facts[2:])["settings"]["supply_voltage"] == 12.0


def test_a_column_that_is_there_twice_is_named(recording):
    text = csv_text(recording()).replace("velocity [rad/s]", "position [rad]")
    with pytest.raises(InputError, match=r"line 3: the column 'position \[rad\]' is there twice"):
        read_csv(text.encode(), "x.csv")


@pytest.mark.parametrize("cell", ["1_0", "x", "", "1e7", "inf", "-inf"])
def test_a_cell_that_is_no_number_is_named_by_its_line(recording, cell):
    lines = csv_text(recording()).splitlines(keepends=True)
    lines[5] = ",".join([cell, *lines[5].split(",")[1:]])
    with pytest.raises(InputError, match=r"line 6: .* is not a valid time"):
        read_csv("".join(lines).encode(), "x.csv")


def test_a_csv_that_ends_within_a_row_or_its_last_number_is_refused(recording):
    text = csv_text(recording())
    for cut in (text.rstrip("\n"), text[:-2], text[: text.rindex(",")]):
        with pytest.raises(InputError, match="may be truncated"):
            read_csv(cut.encode(), "x.csv")


def test_every_condition_leaves_for_bam_under_its_own_name(recording):
    bench = Bench(mass=0.3, length=0.2, arm_mass=0.04, gravity=9.7, angle_offset=0.05, measured_inertia=0.006,
                  measured_gravity_torque=0.7)  # fmt: skip
    law = ServoSettings(servo="erob80_50", kp=90, ki=1.5, kd=0.25, supply_voltage=48, damping=0.125)
    data = json.loads(bam_text(recording(bench=bench, settings=law)))
    assert {key: value for key, value in data.items() if key not in ("entries", "servobench")} == {
        "mass": 0.3, "length": 0.2, "arm_mass": 0.04, "gravity": 9.7, "angle_offset": 0.05, "inertia_total": 0.006,
        "gravity_torque": 0.7, "kp": 90, "ki": 1.5, "kd": 0.25, "damping": 0.125, "vin": 48, "motor": "erob80_50",
        "trajectory": "sin_sin",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tick", "load"), [(32767, 32767), (32768, None), (-32767, 32769), (-32768, None), (-1, 65535), (0.5, None)]
)
def test_a_duty_cycle_leaves_for_bam_as_a_register_only_where_that_can_hold_it(recording, tick, load):
    run = recording(samples=2)
    run = recording(samples=2, channels={**run.channels, "duty_cycle": np.array([0.0, tick / 885.0])})
    log = bam_text(run)
    assert json.loads(log)["entries"][1].get("load") == load
    np.testing.assert_array_equal(read_bam(log.encode(), "x.json").channels["duty_cycle"], run.channels["duty_cycle"])


def test_a_register_is_below_0_from_32768_on(log):
    data = log(samples=2)
    for entry, load in zip(data["entries"], (32767, 32768), strict=True):
        entry["load"] = load
    duty = read_bam(json.dumps(data).encode(), "x.json").channels["duty_cycle"]
    assert list(duty) == [32767 / 885, -32768 / 885]
