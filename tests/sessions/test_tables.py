"""Tables of other programs become recordings by what a person says of their columns, or are refused in one line."""

import io
import math
import shlex
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, ServoBenchError
from core.identification.misread import misread
from core.motion.recording import CHANNELS, COMMAND_CHANNELS
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from sessions import Session, import_paths
from sessions.importers import TableImport, UnknownTableError
from sessions.importers.columns import (
    UNITS,
    Column,
    columns_text,
    guess_columns,
    parse_columns,
)
from sessions.importers.names import FACTS as FACT_GROUPS
from sessions.importers.names import facts_from_name, guess_pattern
from sessions.importers.plausible import check_plausible
from sessions.importers.tables import open_table

FACTS = {"servo": "xl330", "mass": 0.3, "length": 0.1, "kp": 400}
COLUMNS = "time=t,goal=goal:deg,position=pos:deg"
DEGREE = math.pi / 180.0

TIME = 0.01 * np.arange(300)
GOAL = 40.0 * np.sin(2.0 * TIME)
POSITION = 38.0 * np.sin(2.0 * TIME - 0.1)


def text(columns, delimiter=",", comma=False):
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(f"{value:.10g}" for value in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines).replace(".", "," if comma else ".") + "\n"


SOUND = {"t": TIME, "goal": GOAL, "pos": POSITION}


def read(path, columns=COLUMNS, pattern="", **facts):
    """The one recording of a file."""
    request = TableImport(columns=parse_columns(columns), facts={**FACTS, **facts}, name_pattern=pattern)
    home = path.parent / f"session-{path.name}"
    [identity] = import_paths([path], home, tables=request, look=nothing)
    return Session.open(home).load(identity)


@pytest.fixture
def write(tmp_path):
    def written(content, name="run.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def test_a_supply_that_only_variants_run_on_is_noted(write):
    """A table with both servo and supply stated is taken at its word: a 12 V servo does run on 7.4 V."""
    path = write(text(SOUND))
    run = read(path, servo="sts3215", kp=16, supply_voltage=7.4)
    assert (run.settings.servo, run.settings.supply_voltage) == ("sts3215", 7.4)
    doubt = "7.4 V is outside the 9 to 13 V of sts3215, but fits sts3215_7v4 or sts3215_c044 or sts3215_c046"
    assert f"{doubt}: check --servo" in run.provenance["left_out"]
    for servo, supply in (("sts3215", 12.1), ("sts3215", 24.0), ("xl330", 12.0)):
        again = read(write(text(SOUND), f"{servo}{supply}.csv"), servo=servo, kp=16, supply_voltage=supply)
        assert "outside" not in again.provenance.get("left_out", "")


def npz(**columns):
    stream = io.BytesIO()
    np.savez(stream, **columns)
    return stream.getvalue()


# What a table means


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", text(SOUND)),
        ("bom.csv", "\ufeff# a rig of ours\n\n" + text(SOUND).replace("\n", "\r\n")),
        ("european.csv", text(SOUND, ";", comma=True)),
        ("tabs.tsv", text(SOUND, "\t")),
        ("savetxt.csv", "# " + text(SOUND)),
        ("arrays.npz", npz(**SOUND, mass=np.array(3.0))),
    ],
)
def test_every_kind_of_table_means_the_same(write, name, content):
    run = read(write(content, name))
    np.testing.assert_allclose(run.time, TIME, atol=1e-9)
    np.testing.assert_allclose(run.goal_position, GOAL * DEGREE, atol=1e-9)
    np.testing.assert_allclose(run.position, POSITION * DEGREE, atol=1e-9)
    assert run.torque_enable.all()
    assert (run.trajectory, run.settings.servo, run.settings.kp) == (name.split(".")[0], "xl330", 400)
    assert run.settings.supply_voltage == load_servo("xl330").supply_voltage
    assert run.bench.mass == 0.3


def test_parquet_means_the_same(write):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    stamps = (np.datetime64("2026-01-01T10:00:00") + (TIME * 1e9).astype("timedelta64[ns]")).astype("M8[ns]")
    parquet.write_table(pyarrow.table({**SOUND, "t": stamps}), stream)
    run = read(write(stream.getvalue(), "run.parquet"))
    np.testing.assert_allclose(run.time, TIME, atol=1e-8)
    np.testing.assert_allclose(run.position, POSITION * DEGREE)


def test_parquet_without_pyarrow_names_what_to_install(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'servobench\[parquet\]'"):
        read(write(b"PAR1", "run.parquet"))


ONE_IN_SI = {
    "s sec second seconds": ("time", 1.0),
    "ms msec millis": ("time", 0.001),
    "us µs usec micros": ("time", 0.000001),
    "ns nsec nanos": ("time", 0.000000001),
    "rad radian radians": ("position", 1.0),
    "mrad": ("position", 0.001),
    "deg ° degree degrees": ("position", 0.017453292519943295),
    "rev turn turns rot rotations": ("position", 6.283185307179586),
    "counts count ticks tick": ("position", 0.0015339807878856412),
    "counts:1000": ("position", 0.006283185307179587),
    "rad/s": ("velocity", 1.0),
    "deg/s °/s dps": ("velocity", 0.017453292519943295),
    "rev/s turn/s turns/s rot/s": ("velocity", 6.283185307179586),
    "rpm": ("velocity", 0.10471975511965977),
    "a amp amps": ("current", 1.0),
    "ma": ("current", 0.001),
    "v volt volts": ("supply_voltage", 1.0),
    "mv": ("supply_voltage", 0.001),
    "nm n·m": ("goal_torque", 1.0),
    "mnm mn·m": ("goal_torque", 0.001),
    "kgcm kg·cm": ("goal_torque", 0.0980665),
    "1": ("duty_cycle", 1.0),
    "% percent": ("duty_cycle", 0.01),
    "degc °c c celsius": ("temperature", 1.0),
}
"""Spellings of a unit, a channel in it and what one of it is in SI units; counts: an XL-330, 4096 a turn."""


def test_every_unit_is_worth_what_it_is_worth():
    spelled = {word: meaning for words, meaning in ONE_IN_SI.items() for word in words.split()}
    assert set(UNITS) == {word for word in spelled if word != "counts:1000"}
    for word, (channel, worth) in spelled.items():
        assert Column("x", word).factor(channel, load_servo("xl330")) == pytest.approx(worth, rel=1e-12), word


@given(
    angle=st.sampled_from([("mrad", 1e3), ("deg", 57.29577951308232), ("rev", 0.15915494309189535)]),
    clock=st.sampled_from([("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)]),
    since=st.sampled_from([0.0, 1.7e9]),
)
def test_any_unit_and_clock_gives_the_same_run(tmp_path_factory, angle, clock, since):
    (unit, angles), (ticks, times) = angle, clock
    table = {
        "t": (since + TIME) * times,
        "goal": GOAL * DEGREE * angles,
        "pos": POSITION * DEGREE * angles,
    }
    path = tmp_path_factory.mktemp("units") / "run.npz"
    path.write_bytes(npz(**table))
    run = read(path, f"time=t:{ticks},goal_position=goal:{unit},position=pos:{unit}")
    np.testing.assert_allclose(run.time, TIME, atol=1e-6 if since else 1e-12)
    np.testing.assert_allclose(run.position, POSITION * DEGREE, atol=1e-12)


def test_goals_may_be_timed_in_another_unit_than_samples(write):
    table = {**SOUND, "t": 1.7e12 + 1e3 * TIME, "sent": 1.7e9 + TIME - 0.002}
    run = read(write(npz(**table), "run.npz"), COLUMNS.replace("time=t", "time=t:ms,command_time=sent:s"))
    np.testing.assert_allclose(run.time, TIME, atol=1e-6)
    np.testing.assert_allclose(run.command_time, TIME - 0.002, atol=1e-6)


def test_counts_are_the_servos_own_or_those_given(write):
    step = load_servo("xl330").encoder_step
    table = {"t": TIME, "goal": np.round(GOAL * 10), "pos": np.round(POSITION * 10)}
    ticks = "time=t,goal=goal:counts,position=pos:counts"
    np.testing.assert_allclose(read(write(npz(**table), "a.npz"), ticks).position, table["pos"] * step)
    finer = ticks.replace("counts", "ticks:8192")
    np.testing.assert_allclose(read(write(npz(**table), "b.npz"), finer).position, table["pos"] * 2 * math.pi / 8192)


def test_other_channels_come_along_with_their_gaps(write):
    current = np.where(np.arange(300) % 3, 120.0, np.nan)
    table = {**SOUND, "i": current, "u": 7400 + 0 * TIME, "on": TIME > 1.0, "sent": TIME - 0.002}
    run = read(
        write(npz(**table), "run.npz"), COLUMNS + ",current=i:mA,voltage=u:mV,torque_enable=on,command_time=sent"
    )
    np.testing.assert_allclose(run.channels["current"], current / 1e3)
    np.testing.assert_allclose(run.channels["supply_voltage"], 7.4)
    assert run.torque_enable.tolist() == (TIME > 1.0).tolist()
    np.testing.assert_allclose(run.command_time, TIME - 0.002, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "trajectory"), [("run (1).csv", "run _1_"), ("-.csv", "recording"), ("é" * 70, "é" * 64)]
)
def test_any_file_name_will_do(write, name, trajectory):
    assert read(write(text(SOUND), name if name.endswith(".csv") else f"{name}.csv")).trajectory == trajectory


def test_a_file_name_tells_of_its_run(write):
    run = read(write(text(SOUND), "sin_sin_m0.25_l0.12_kp32.csv"), pattern="{trajectory}_m{mass}_l{length}_kp{kp}")
    assert (run.trajectory, run.bench.mass, run.bench.length, run.settings.kp) == ("sin_sin", 0.25, 0.12, 32)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("{trajectory}_kp{kp}", "expected is e.g. sin_sin_kp0.5"),
        ("{weight}", r"\{weight\} is not one of mass"),
        ("{kp}{kp}", r"\{kp\} is given twice"),
    ],
)
def test_a_name_or_pattern_that_does_not_fit_is_refused(pattern, said):
    with pytest.raises(InputError, match=said):
        facts_from_name("run7", pattern)


# Columns as text, and guesses


@given(
    st.dictionaries(
        st.sampled_from(["time", "goal_position", "position", "current"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0", exclude_categories=("Z", "C")), min_size=1),
        min_size=1,
    )
)
def test_columns_come_back_from_their_text(names):
    columns = {channel: Column(name.strip() or "x", "") for channel, name in names.items()}
    back = parse_columns(columns_text(columns))
    assert {channel: column.name for channel, column in back.items()} == {
        channel: column.name for channel, column in columns.items()
    }


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        ("t,goal,pos", "time=t,goal=goal:deg,position=pos:deg"),
        ("time_s,target [deg],angle (deg)", "time=time_s:s,goal=target [deg]:deg,position=angle (deg):deg"),
        ("timestamp,goalPosition,presentPosition", "time=timestamp,goal=goalPosition:deg,position=presentPosition:deg"),
        ("elapsed,cmd,measured", "time=elapsed,goal=cmd:deg,position=measured:deg"),
        ("t,q_des_deg,q_deg", "time=t,goal=q_des_deg:deg,position=q_deg:deg"),
        ("t,u_cmd_mV,angle_deg", "time=t,position=angle_deg:deg,goal_voltage=u_cmd_mV:mV"),
        ("t,goal_1,angle_deg", "time=t,goal=goal_1:deg,position=angle_deg:deg"),
        ("t,torDes,posAct", "time=t,position=posAct:deg,goal_torque=torDes"),
    ],
)
def test_columns_are_guessed_from_names_and_numbers(head, guess):
    table = open_table((head + "\n" + text(SOUND).split("\n", 1)[1]).encode(), ".csv")
    assert columns_text(guess_columns(table)) == guess


@pytest.mark.parametrize(
    ("head", "guess"),
    [
        ("Iq_setpoint,position,Iq_measured", "position=position,current=Iq_measured,goal_current=Iq_setpoint"),
        ("iq_cmd,pos,torque_measured", "position=pos,goal_current=iq_cmd"),
        ("iq_ref,power_measured,pos", "position=pos,goal_current=iq_ref"),
        ("Vq_setpoint,pos,Vq_measured", "position=pos,goal_voltage=Vq_setpoint"),
        ("input_voltage,pos,input_torque", "position=pos,supply_voltage=input_voltage,goal_torque=input_torque"),
        (
            "input_vel,pos_estimate,vel_estimate",
            "position=pos_estimate:turn,velocity=vel_estimate:turn/s,goal_velocity=input_vel:turn/s",
        ),
        ("pwm,pos,temp", "position=pos,temperature=temp,goal_duty_cycle=pwm"),
        ("duty_measured,pos,temp", "position=pos,duty_cycle=duty_measured,temperature=temp"),
        ("duty,pos,goal", "goal=goal,position=pos,duty_cycle=duty"),
    ],
)
def test_drives_words_are_known(head, guess):
    columns = {name: (1.0 + place) * GOAL / 100.0 for place, name in enumerate(head.split(","))}
    found = guess_columns(open_table(text({"t": TIME, **columns}).encode(), ".csv"))
    assert columns_text(found) == f"time=t,{guess}"


@pytest.mark.parametrize(("largest", "unit"), [(0.9, ""), (40.0, ":%"), (20000.0, "")])
def test_only_what_can_be_a_percentage_is_taken_for_one(largest, unit):
    table = {"t": TIME, "pwm": np.round(largest * np.sin(TIME), 3), "pos": POSITION * DEGREE}
    assert columns_text(guess_columns(open_table(text(table).encode(), ".csv"))).endswith(f"goal_duty_cycle=pwm{unit}")


@pytest.mark.parametrize("begins", [0, 250])
def test_the_goal_that_changes_is_taken_however_late(begins):
    table = {"t": TIME, "goal": 0.0 * GOAL, "torque_cmd": GOAL / 100.0 * (TIME[begins] < TIME), "pos": POSITION}
    assert "goal_torque=torque_cmd" in columns_text(guess_columns(open_table(text(table).encode(), ".csv")))


def test_a_position_that_never_changes_is_said(write):
    path = write(text({"t": TIME, "goal": GOAL, "pos": 0.0 * POSITION}))
    assert imported(path, "time=t,goal=goal:deg,position=pos:deg")[1].endswith("the position is the same in all rows")


@pytest.mark.parametrize(
    ("name", "cells", "meant"),
    [
        ("en", "1 1 0", True),
        ("torque_enable", "0 0 0", True),
        ("torqueEnable", "true true false", True),
        ("enabled", "2 1 0", False),
        ("torque", "1 1 0", True),
        ("torque_on", "True True False", True),
        ("motor", "1.0 1.0 0.0", True),
        ("torque", "0 0 0", False),
        ("torque", "0.5 0.25 0", False),
        ("torque_Nm", "1 0.3 0", False),
    ],
)
def test_the_column_that_switches_the_torque_is_known_by_its_name_and_its_values(name, cells, meant):
    rows = [f"{0.01 * k},{k},{k},{cell}" for k, cell in enumerate(cells.split())]
    guess = guess_columns(open_table("\n".join([f"t,goal,pos,{name}", *rows]).encode(), ".csv"))
    assert ("torque_enable" in guess) == meant


def test_a_channels_own_name_is_always_known():
    names = [channel.name for channel in CHANNELS if channel not in COMMAND_CHANNELS]
    table = open_table("\n".join([",".join(reversed(names)), *[",".join("1" * len(names))] * 2]).encode(), ".csv")
    assert {channel: column.name for channel, column in guess_columns(table).items()} == {name: name for name in names}


@pytest.mark.parametrize(
    ("stems", "pattern"),
    [
        ("lift_and_drop_m1_kp32 sin_sin_m0.5_kp8", "{trajectory}_m{mass}_kp{kp}"),
        ("sin_sin_kp400", "{trajectory}_kp{kp}"),
        ("2026-03-17_m0.5_chirp_kp8 2026-03-18_m0.5_sin_sin_kp8", "{}_m{mass}_{trajectory}_kp{kp}"),
        ("sin_sin_m0.5_kp8_rep1 sin_sin_m0.5_kp8_rep2", "{trajectory}_m{mass}_kp{kp}_{}"),
        ("xl330_sin_sin_m0.5_l0.1_kp400 xl330_chirp_m1_l0.1_kp100", "xl330_{trajectory}_m{mass}_l{length}_kp{kp}"),
        ("sts3215_7v4_chirp_mass0.5kg_len0.15m", "sts3215_7v4_{trajectory}_mass{mass}kg_len{length}m"),
        ("vin=12_kp=8-ki=1-kd=2_chirp", "vin={supply_voltage}_kp={kp}-ki={ki}-kd={kd}_{trajectory}"),
        ("kp8 kp16", "kp{kp}"),
        ("slow_m0,5_l0,1 fast_m1,5_l0,15", "{trajectory}_m{mass}_l{length}"),
        # Grams, centimetres and numbers that two words claim are nobody's guess.
        ("slow_m500_l15cm_kp8 fast_m300_l15cm_kp8", "{trajectory}_kp{kp}"),
        ("slow_kp8_kp9", ""),
        ("slow_kp8 fast_kp8_m1.5", ""),
        ("trial_m1 trial_m2", ""),
        ("volt2", ""),
        ("load1 load2", ""),
        ("volt12_kp8", "{trajectory}_kp{kp}"),
        ("volt_12 volt_10", "volt_{supply_voltage}"),
        ("2026-03-17_16h35m47", ""),
        ("log", ""),
    ],
)
def test_the_pattern_that_names_share_is_guessed(stems, pattern):
    assert guess_pattern(stems.split()) == pattern


@pytest.mark.parametrize("fact", [fact for fact, group in FACT_GROUPS.items() if group != "text"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
def test_a_number_that_a_fact_cannot_have_is_refused_even_if_no_table_is_read(fact, value):
    possible = fact == "angle_offset" and value == -1.0
    with nullcontext() if possible else pytest.raises(InputError, match=f"{fact} is .*, outside"):
        TableImport(facts={fact: value})


def test_names_are_not_read_for_what_is_known_otherwise():
    assert guess_pattern(["sin_sin_m500_kp8"], ["trajectory"]) == "sin_sin_m500_kp{kp}"
    assert guess_pattern(["a_m0.5_kp8", "b_m0.6_kp8"], ["mass"]) == "{trajectory}_m{}_kp{kp}"
    assert facts_from_name("a_m0.5kg_kp8", "{trajectory}_m{}_kp{kp}") == {"trajectory": "a", "kp": 8.0}


@given(
    st.lists(st.from_regex(r"\A[a-z{}_.0-9-]{0,8}(_m[0-9]\.[0-9])?(_kp[0-9])?[a-z_{}]{0,3}\Z"), min_size=1, max_size=3)
)
def test_a_guessed_pattern_reads_every_name_that_it_was_guessed_from(stems):
    pattern = guess_pattern(stems)
    for name in stems if pattern else ():
        facts = facts_from_name(name, pattern)
        assert all(f"kp{value:g}" in name for fact, value in facts.items() if fact == "kp")
        assert all(f"m{value}" in name or f"m{value:g}" in name for fact, value in facts.items() if fact == "mass")


def test_units_are_guessed_from_the_size_of_numbers():
    content = text({"t": TIME * 1e3, "goal": np.round(GOAL * 40), "pos": np.round(POSITION * 40), "i": 300 + TIME})
    guess = columns_text(guess_columns(open_table(content.encode(), ".csv")))
    assert guess == "time=t:ms,goal=goal:counts,position=pos:counts,current=i:mA"


def test_the_error_for_an_unknown_table_is_a_command_that_imports_it(write):
    path = write(text({"t_ms": TIME * 1e3, "goal": GOAL, "pos": POSITION, "note": TIME}), "my run.csv")
    with pytest.raises(UnknownTableError) as caught:
        import_paths([path], path.parent / "s", tables=TableImport(facts=FACTS))
    assert "t_ms, goal, pos, note" in str(caught.value)
    words = shlex.split(str(caught.value).split("say what they mean: ")[1])
    assert words[:3] == ["bench", "import", str(path)]
    assert words[words.index("--kp") + 1] == "400"
    np.testing.assert_allclose(read(path, words[words.index("--columns") + 1]).position, POSITION * DEGREE, atol=1e-9)


def test_a_folder_of_unknown_tables_gives_the_command_for_the_folder(write):
    folder = write(text(SOUND)).parent
    with pytest.raises(UnknownTableError, match=f"bench import {folder} --columns"):
        import_paths([folder], folder / "s")


def test_foreign_tables_in_a_folder_do_not_stop_an_import(write, write_log):
    folder = write_log("in/log.json").parent
    for name, content in (
        ("empty.csv", b""),
        ("junk.npz", b"PK"),
        ("a.parquet", b"?"),
        ("t.tsv", text(SOUND).encode()),
    ):
        (folder / name).write_bytes(content)
    events = []
    assert len(import_paths([folder], folder / "s", events.append)) == 1
    assert len([event for event in events if event.skipped]) == 4


# What cannot be

BROKEN = {
    "empty": ("", COLUMNS, "is empty"),
    "header only": ("t,goal,pos\n", COLUMNS, "0 samples below the names"),
    "one column": ("t\n1\n2\n", COLUMNS, "one column only"),
    "ragged rows": ("t,goal,pos\n0,1,2\n0.01,1\n0.02,1,2\n", COLUMNS, "line 3: 2 values below 3 names"),
    "text in a number": ("t,goal,pos\n0,1,2\n1,1,off\n2,1,2\n", COLUMNS, "line 3: 'off' in column pos is not a number"),
    "number among switches": ("t,goal,pos\n0,1,off\n1,1,3\n2,1,2\n", COLUMNS, "line 3: '3' in column pos is not a sw"),
    "gaps": ("t,goal,pos\n0,1,2\n# x\n0.01,1,\n0.02,1,2\n", COLUMNS, "1 of 3 rows have no time or no position"),
    "one sample": ("t,goal,pos\n0,1,2\n", COLUMNS, "1 sample below the names"),
    "infinite": ("t,goal,pos\n0,1,2\n0.01,inf,2\n", COLUMNS, "line 3: goal_position .* is inf"),
    "time goes back": ("t,goal,pos\n0,1,2\n0.02,1,2\n0.01,1,2\n", COLUMNS, "line 4: time goes from 0.020000 to 0.010"),
    "duplicate names": ("t,pos,pos\n0,1,2\n0.01,1,2\n", "time=t,goal=pos,position=pos", "2 columns have the name pos"),
    "wrong delimiter": ("t|goal|pos\n0|1|2\n", COLUMNS, "separated by commas, semicolons or tabs"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256)), COLUMNS, "binary data"),
    "missing column": (text(SOUND), "time=t,goal=goal,position=poss", "no column poss, do you mean pos?"),
    "no position": (text(SOUND), "time=t,goal=goal", "no column is named for position"),
    "no names": ("0,1,2\n0.01,1,2\n", COLUMNS, "the first line holds numbers"),
    "wrong dimension": (text(SOUND), "time=t,goal=goal,position=pos:mA", "position cannot be in mA"),
}


@pytest.mark.parametrize(("content", "columns", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_table_is_refused_with_one_line(write, content, columns, said):
    path = write(content)
    with pytest.raises(InputError, match=said) as caught:
        read(path, columns)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert not (path.parent / "session-run.csv").exists()


@pytest.mark.parametrize("row", [1, 2, 5])
def test_a_bad_value_is_named_by_its_row(write, row):
    table = {name: np.array(values, dtype=float) for name, values in SOUND.items()}
    table["pos"][row - 1] = np.inf
    with pytest.raises(InputError, match=rf"row {row}: position \(column pos\) is inf"):
        read(write(npz(**table), "run.npz"))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("time", "is not CHANNEL=COLUMN"),
        ("angel=pos", "no channel 'angel'; there are time, goal_position"),
        ("time=t,t=t", "time is given twice"),
        ("position=pos:degs", "'pos:degs' ends in an unknown unit"),
        ("goal=u:degs", "units of goal_position are rad, .* rpm, 1, %, V, mV, A, mA, Nm, mNm, kgcm$"),
        ("position=pos:deg:7", "ends in an unknown unit"),
    ],
)
def test_columns_that_cannot_be_read_are_refused(columns, said):
    with pytest.raises(InputError, match=said):
        parse_columns(columns)


IMPOSSIBLE = {
    "degrees": ({}, "time=t,goal=goal,position=pos", {}, "goal=goal:deg,position=pos:deg"),
    "counts": ({"goal": 12}, "time=t,goal=goal,position=pos", {}, "goal=goal:counts,position=pos:counts"),
    "goal in degrees": ({}, "time=t,goal=goal,position=pos:deg", {}, "1.4 rad: goal=goal:deg"),
    "position in degrees": ({}, "time=t,goal=goal:deg,position=pos", {}, "position=pos:deg"),
    "radians as degrees": (
        {"goal": DEGREE},
        "time=t,goal=goal,position=pos:deg",
        {},
        "the position 0.0232 rad; .* position=pos:rad",
    ),
    "milliseconds": ({"t": 1e3}, COLUMNS, {}, "10 s from sample to sample .* time=t:ms"),
    "seconds as microseconds": ({}, "time=t:us,goal=goal:deg,position=pos:deg", {}, "time=t:s"),
    "grams": ({}, COLUMNS, {"mass": 300.0}, "0.52 N·m, cannot hold .* 294 N·m at 90°; in g it would be --mass 0.3"),
    "millimetres": ({}, COLUMNS, {"length": 100.0}, "in mm it would be --length 0.1"),
    "no supply": ({}, COLUMNS, {"supply_voltage": 0.0}, "a supply of 0 V cannot be: xl330 runs on 3.7 to 9.5 V"),
    "no gain": ({}, COLUMNS, {"kp": 0.0}, "a gain kp of 0 cannot be: the goal moves while the torque is on"),
    "no length": ({}, COLUMNS, {"length": 0.0}, "a load without inertia cannot be: .* kg at 0 m"),
    "unknown servo": ({}, COLUMNS, {"servo": "mine"}, "no servo 'mine'; .* --servo my.toml"),
}


@pytest.mark.parametrize(("scale", "columns", "facts", "said"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_a_servo_cannot_do_is_refused_with_what_would_be_possible(write, scale, columns, facts, said):
    factor = {"goal": 1.0, **scale}
    table = {
        "t": TIME * factor.get("t", 1.0),
        "goal": np.round(GOAL * factor["goal"], 4),
        "pos": np.round(POSITION * factor["goal"], 4 if factor["goal"] <= 1 else 0),
    }
    if factor["goal"] > 1:
        table["goal"] = np.round(table["goal"])
    with pytest.raises(ServoBenchError, match=said):
        read(write(text(table)), columns, **facts)


BEYOND = {
    "mNm": ("goal_torque=u", 500.0, r"goal_torque reaches 500 N·m, xl330 has 0.52 N·m; .* 0.5: goal_torque=u:mNm$"),
    "Nm": ("goal_torque=u", 9.0, "reaches 9 N·m, .* in kgcm it would be 0.883: goal_torque=u:kgcm$"),
    "mA": ("goal_current=u", 800.0, "takes 1.47 A at most; in mA it would be 0.8: goal_current=u:mA$"),
    "mV": ("goal_voltage=u", 3000.0, "takes 9.5 V at most; in mV it would be 3: goal_voltage=u:mV$"),
    "kV": ("goal_voltage=u", 9e5, "takes 9.5 V at most; check its unit in --columns, and --servo$"),
    "%": ("goal_duty_cycle=u", 40.0, "reaches 40, xl330 takes 1 at most; in % it would be 0.4: goal_duty_cycle=u:%$"),
    "16 bits": ("goal_duty_cycle=u", 9000.0, r"whose 32767 are 1, is: goal_duty_cycle=u:1\*3.05e-05$"),
    "rpm": ("goal_velocity=u", 50.0, "deg/s .* goal_velocity=u:deg/s; in rpm it would be 5.24: goal_velocity=u:rpm$"),
    "degrees": ("goal_velocity=u:rev/s", 200.0, "reaches 1257 rad/s, .* goal_velocity=u:deg/s; in rpm"),
}


@pytest.mark.parametrize(("column", "largest", "said"), BEYOND.values(), ids=BEYOND)
def test_a_command_beyond_the_servo_is_refused_with_the_unit_that_fits(write, column, largest, said):
    path = write(text({"t": TIME, "u": largest * np.sin(2.0 * TIME), "pos": 0.01 * POSITION}))
    with pytest.raises(InputError, match=said):
        read(path, f"time=t,{column},position=pos")


@pytest.mark.parametrize(
    ("column", "largest"),
    [("velocity=u:rpm", 200), ("duty_cycle=u:%", 100), ("voltage=u", 9.5), ("current=u:mA", 4000), ("torque=u", 1.5)],
)
def test_a_command_of_the_ratings_is_read(write, column, largest):
    path = write(text({"t": TIME, "u": largest * np.sin(2.0 * TIME), "pos": 0.01 * POSITION}))
    assert read(path, f"time=t,goal_{column},position=pos").samples == 300


SPEEDS = {
    "turns": ("turns", "rad", "vel", "torque=u", "is 6.3.? times .* pos in rev it would be 1: position=pos:rev$"),
    "goal too": ("turns", "rad", "vel", "position=u", ": goal=u:rev,position=pos:rev$"),
    "of a stated speed": ("turns", "rad", "vel:rad/s", "torque=u", "6.3.* position=pos:rev$"),
    "turns a second": (
        "rad",
        "turns",
        "vel",
        "torque=u",
        "0.1[56].? times .*with vel in rev/s .* velocity=vel:rev/s$",
    ),
    "both": ("rad", "rad", "vel:rev/s", "voltage=u", "position=pos:rev; .* velocity=vel:rad/s$"),
    "degrees": ("rad", "deg", "vel", "torque=u", "5[78].* times .*: velocity=vel:deg/s$"),
    "alike": ("turns", "turns", "vel", "torque=u", ""),
    "no unit's ratio": ("rad", "gear", "vel", "torque=u", ""),
}


@pytest.mark.parametrize(("angle", "speed", "entry", "goal", "said"), SPEEDS.values(), ids=SPEEDS)
def test_a_speed_that_is_not_the_positions_names_the_unit(write, angle, speed, entry, goal, said):
    scale = {"rad": 1.0, "turns": 0.5 / math.pi, "deg": 1.0 / DEGREE, "gear": 3.0}
    noise = np.random.default_rng(0).normal(0.0, 0.05, 300)
    position, velocity = POSITION * DEGREE, np.gradient(POSITION * DEGREE, TIME) + noise
    table = {"t": TIME, "u": 0.05 * GOAL * DEGREE, "pos": position * scale[angle], "vel": velocity * scale[speed]}
    with pytest.raises(InputError, match=said) if said else nullcontext():
        read(write(text(table)), f"time=t,goal_{goal},position=pos,velocity={entry}")


def test_single_glitches_and_fast_servos_are_no_wrong_unit(write):
    position = POSITION.copy()
    position[::100] += 150.0
    assert read(write(text({**SOUND, "pos": position}))).samples == 300
    swing = 60.0 * np.sin(8.0 * TIME)
    assert read(write(text({**SOUND, "goal": swing, "pos": swing}), "swing.csv")).samples == 300


@pytest.mark.parametrize("share", [0.98, 1.02])
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("load", r"0.52 N·m, cannot hold .* N·m at 90°; check --mass \[kg\], --length \[m\] and --servo$"),
        ("long step", "s from sample to sample is not plausible"),
        ("short step", "s from sample to sample is not plausible"),
        ("turns", "position spans 12.8 rad, 2 turns"),
        ("speed", "position moves at .* rad/s, xl330 without a load at"),
    ],
)
def test_each_bound_of_what_is_plausible_is_where_it_should_be(what, share, said):
    """A stalled servo's torque, 20 µs to 1 s between samples, two turns, 1.5 times the speed without a load."""
    servo, columns = load_servo("xl330"), parse_columns("time=t,goal=goal,position=pos")
    step, end, mass = 0.1, 1.0, 0.3
    if what == "load":
        mass = share * servo.stall_torque / (9.80665 * 0.1)
    elif what == "long step":
        step = share
    elif what == "short step":
        step, end = 20e-6 / share, 1e-5
    elif what == "turns":
        end = share * 4.0 * math.pi
    else:
        step = 2.0 / (share * 1.5 * servo.no_load_speed * 29)
        end = 2.0
    time, way = step * np.arange(30), np.linspace(0.0, end, 30)
    channels = {"time": time, "goal": way, "position": way}
    settings = ServoSettings(servo="xl330", kp=400.0, supply_voltage=5.0)
    with pytest.raises(InputError, match=said) if share > 1.0 else nullcontext():
        check_plausible(channels, columns, Bench(mass=mass, length=0.1), settings, servo)


def test_a_fact_that_nobody_gave_is_asked_for(write):
    path = write(text(SOUND))
    with pytest.raises(InputError, match=r"length is not given: add --length M, or \{length\} to --from-name"):
        import_paths(
            [path],
            path.parent / "s",
            tables=TableImport(columns=parse_columns(COLUMNS), facts={"servo": "xl330", "mass": 1}),
        )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "torque_desired",
            "looks like a torque: write goal_torque=torque_desired or goal=torque_desired:Nm; if it is an",
        ),
        ("iq", "looks like a current: write goal_current=iq or goal=iq:A; if it is an angle, goal=iq:rad$"),
        ("pwm", "looks like a duty cycle: write goal_duty_cycle=pwm or goal=pwm:1; "),
        ("vel_cmd", "looks like a speed: write goal_velocity=vel_cmd or goal=vel_cmd:rad/s; "),
        ("voltage", "looks like a voltage: write goal_voltage=voltage or goal=voltage:V; "),
    ],
)
def test_a_goal_angle_that_is_named_after_another_quantity_is_asked_about(write, name, said):
    path = write(text({"t": TIME, name: GOAL * DEGREE, "pos": POSITION * DEGREE}))
    with pytest.raises(InputError, match=said):
        import_paths(
            [path], path.parent / "s", tables=TableImport(columns=parse_columns(f"time=t,goal={name},position=pos"))
        )
    assert read(path, f"time=t,goal={name}:rad,position=pos").channels["goal_position"].any()


def test_what_is_missing_is_said_one_thing_at_a_time():
    facts = {"servo": "xl330", "length": 0.1}
    answer = TableImport(columns=parse_columns(COLUMNS), facts=facts, name_pattern="m{mass}_kp{kp}")
    assert answer.trouble() == "", "the names of files in a folder are not known yet"
    assert answer.trouble(Path("m1_kp2.csv")) == ""
    assert "does not fit" in answer.trouble(Path("x.csv"))
    assert replace(answer, name_pattern="kp{kp}").trouble() == "missing: mass"
    assert replace(answer, columns=parse_columns("time=t,goal=g")).trouble() == "choose the column of position"
    assert replace(answer, columns=parse_columns("time=t,goal=g,position=g")).trouble() == "column g is chosen twice"


def test_arrays_that_lie_about_their_size_are_refused(write):
    for lie in (b"(9**9,)", b"(99999,", b"(90000,)"):
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(npz(**SOUND))) as old, zipfile.ZipFile(stream, "w") as new:
            for entry in old.infolist():
                new.writestr(
                    entry.filename, old.read(entry).replace(b"(300,), }".ljust(len(lie) + 4), lie + b", }  "[:4])
                )
        with pytest.raises(InputError, match="NPZ"):
            read(write(stream.getvalue(), "run.npz"))
    objects = npz(t=TIME, goal=np.array([{}] * 300, object), pos=POSITION)
    with pytest.raises(InputError, match="no column goal"):
        read(write(objects, "objects.npz"))


# Duplicates


def test_equal_content_is_skipped_and_said(write):
    a, b, c = write(text(SOUND), "a.csv"), write(text(SOUND, ";"), "b.csv"), write(text(SOUND), "c.csv")
    request = TableImport(columns=parse_columns(COLUMNS), facts=FACTS)
    home, events = a.parent / "home", []
    [identity] = import_paths([a, b], home, events.append, request, nothing)
    assert [event.skipped for event in events if event.skipped] == ["same content as a.csv"]
    events.clear()
    assert import_paths([c, a], home, events.append, request, nothing) == []
    assert [event.skipped for event in events if event.skipped] == [f"same content as run {identity}"] * 2
    heavier = TableImport(columns=request.columns, facts={**request.facts, "mass": 0.4})
    assert len(import_paths([c], home, tables=heavier, look=nothing)) == 1


# What is mended with a word


def nothing(runs, shifts):
    """No doubts of tables whose motion is no servo's; they would only take time."""
    return []


def imported(path, columns=COLUMNS, look=nothing, **more):
    """Recordings of a file, and what was said of it."""
    events = []
    request = TableImport(columns=parse_columns(columns), facts=FACTS, **more)
    home = path.parent / "s"
    ids = import_paths([path], home, events.append, request, look)
    return [Session.open(home).load(identity) for identity in ids], "".join(event.note for event in events)


def rows(columns=SOUND):
    return [",".join(f"{value:.10g}" for value in row) for row in zip(*columns.values(), strict=True)]


def csv(lines, head="t,goal,pos"):
    return "\n".join([head, *lines]) + "\n"


def changed(lines, places, change):
    return [change(line) if place in places else line for place, line in enumerate(lines)]


def without_position(line):
    return line.rpartition(",")[0] + ","


MENDED = {
    "repeated rows": (csv([line for line in rows() for _ in range(2)]), [], "300 repeated rows left out"),
    "empty readings": (
        csv(changed(rows(), {5, 9}, without_position)),
        [5, 9],
        "2 rows without a time or position left o",
    ),
    "no number": (csv(changed(rows(), {7}, lambda line: without_position(line) + "NaN")), [7], "1 row without a time"),
    "no first goal": (
        csv(changed(rows(), {0}, lambda line: "0,," + line.split(",")[2])),
        [0],
        "1 row before the first go",
    ),
    "half a last line": (csv([*rows(), "3.0,4"]), [], "half a last line left out"),
    "half a number": (csv([*rows(), "3.0,4,-"])[:-1] + "e", [], "half a last line left out"),
    "units": (csv(["[s],(deg),deg", *rows()]), [], "units read from the file: t in s"),
    "everything": (
        csv(["s,deg,deg", *changed(rows(), {3}, without_position), rows()[-1], "3.0"]),
        [3],
        "units read from the file: t in s; half a last line left out; 1 repeated row and 1 row without "
        "a time or position left out",
    ),
}


@pytest.mark.parametrize(("content", "lost", "said"), MENDED.values(), ids=MENDED)
def test_what_a_log_lacks_is_left_out_and_said(write, content, lost, said):
    [run], note = imported(write(content))
    assert note[: len(said)] == said
    assert bool(note) == bool(said)
    assert run.provenance.get("left_out", "") == note
    there = np.delete(np.arange(len(TIME)), lost)
    np.testing.assert_allclose(run.time, TIME[there], atol=1e-9)
    np.testing.assert_allclose(run.position, POSITION[there] * DEGREE, atol=1e-9)


def test_too_many_lost_readings_are_refused(write):
    with pytest.raises(InputError, match="100 of 300 rows have no time or no position, more than 20%"):
        read(write(csv(changed(rows(), {*range(0, 300, 3)}, without_position))))


def test_dates_are_times(write):
    stamps = [f"2026-01-01T10:0{int(second // 60)}:{second % 60:06.3f}" for second in 58.0 + TIME]
    for zone in ("", "Z", "+02:00"):
        lines = [f"{stamp}{zone},{line.split(',', 1)[1]}" for stamp, line in zip(stamps, rows(), strict=True)]
        np.testing.assert_allclose(read(write(csv(lines), f"run{len(zone)}.csv")).time, TIME, atol=1e-6)
    with pytest.raises(InputError, match="line 3: 'x' in column t is not a date"):
        read(write(csv([f"{stamps[0]},1,2", "x,1,2", f"{stamps[2]},1,2"])))


def test_switches_are_words_too(write):
    lines = [f"{line},{'on' if place < 200 else 'Off'}" for place, line in enumerate(rows())]
    run = read(write(csv(lines, "t,goal,pos,en")), COLUMNS + ",torque_enable=en")
    assert run.torque_enable.sum() == 200


def test_goals_in_rows_of_their_own_hold_until_the_next(write):
    """As PlotJuggler writes topics of different rates."""
    slow = TIME[::5]
    lines = sorted([f"{t - 0.003:.4f},{g:.6f}," for t, g in zip(slow, GOAL[::5], strict=True)], key=float_of) + [
        f"{t:.4f},,{p:.8f}" for t, p in zip(TIME, POSITION, strict=True)
    ]
    [run], note = imported(write(csv(sorted(lines, key=float_of))))
    assert note == "goals and positions are in rows of their own, so each goal holds until the next"
    np.testing.assert_allclose(run.position, POSITION * DEGREE, atol=1e-8)
    np.testing.assert_allclose(run.goal_position, np.repeat(GOAL[::5], 5) * DEGREE, atol=1e-6)
    np.testing.assert_allclose(run.channels["command_time"], np.repeat(slow, 5), atol=1e-9)


def float_of(line):
    return float(line.split(",")[0])


@pytest.mark.parametrize("both", [False, True])
def test_a_wrapped_angle_is_unwrapped(write, both):
    goal, position = GOAL * 5.0, POSITION * 5.0 + 360.0
    wrapped = {"t": TIME, "goal": (goal + 180) % 360 - 180 if both else goal, "pos": position % 360.0}
    [run], note = imported(write(text(wrapped)), "time=t,goal=goal:deg,position=pos:deg", where={})
    assert "of one turn taken out of the position" in note
    assert ("taken out of the goal" in note) == both
    np.testing.assert_allclose(run.position, (position - 360.0) * DEGREE, atol=1e-6)
    np.testing.assert_allclose(run.goal_position, goal * DEGREE, atol=1e-6)


CAUSES = {
    "two rows of one time": (
        changed(rows(), {4}, lambda line: "0.03" + line[line.index(",") :]),
        "t,goal,pos",
        "line 6: this row has the same time as the row before, 0.030000 s, and other values: log a finer time",
    ),
    "two servos": (
        [f"{line},{servo}" for line in rows() for servo in (1, 2)],
        "t,goal,pos,id",
        "rows of several servos or episodes: column id has the values 1, 2; take one with --where 'id=1'",
    ),
    "episodes": (
        [f"{line},{episode}" for episode in range(3) for line in rows()],
        "t,goal,pos,take",
        "line 302: time goes from 2.990000 to 0.000000 s.*column take has the values 0, 1, 2.* --split-by 'take'",
    ),
    "clock set back": (rows()[150:] + rows()[:150], "t,goal,pos", "the clock was set back there, so split the file"),
    "clock set on": (
        rows()[:100] + [f"{float_of(line) + 3600.0}{line[line.index(',') :]}" for line in rows()[100:]],
        "t,goal,pos",
        "line 102: 3600 s pass since the row before, where 0.01 s are usual",
    ),
    "not sorted": (rows()[::-1], "t,goal,pos", "sort the rows by time"),
}


@pytest.mark.parametrize(("lines", "head", "said"), CAUSES.values(), ids=CAUSES)
def test_times_that_cannot_be_are_refused_with_their_cause(write, lines, head, said):
    with pytest.raises(InputError, match=said):
        read(write(csv(lines, head)))


def test_rows_are_chosen_by_the_value_of_a_column_and_split_by_one(write):
    takes = [rows({**SOUND, "pos": (1.0 - 0.1 * take) * POSITION}) for take in range(2)]
    lines = [f"{line},{servo},{take}.0" for take in range(2) for line in takes[take] for servo in ("a", "b")]
    path = write(csv(lines, "t,goal,pos,id,take"))
    runs, _ = imported(path, where={"id": "b"}, split_by="take")
    assert [run.trajectory for run in runs] == ["run-0", "run-1"]
    for take, run in enumerate(runs):
        np.testing.assert_allclose(run.position, (1.0 - 0.1 * take) * POSITION * DEGREE, atol=1e-8)
    path.write_text(path.read_text() + "9.0,1,x,b,1.0\n")
    assert len(imported(path, where={"id": "b"}, split_by="take")[0]) == 0, "the same again, but for half a last line"
    with pytest.raises(InputError, match="no row has id c; there are a, b"):
        imported(path, where={"id": "c"})
    with pytest.raises(InputError, match="there is no column tak, do you mean take"):
        imported(path, split_by="tak")


def test_numbers_may_be_scaled_and_shifted_and_elements_of_lists_are_columns(write):
    path = write(npz(t=TIME, q=np.column_stack([0.0 * GOAL, 90.0 - GOAL]), x=POSITION / 2.0), "run.npz")
    run = read(path, "time=t,goal=q[1]:deg*-1+90,position=x:deg*2")
    np.testing.assert_allclose(run.goal_position, GOAL * DEGREE, atol=1e-9)
    np.testing.assert_allclose(run.position, POSITION * DEGREE, atol=1e-9)


def test_arrays_in_json_are_a_table(write):
    content = __import__("json").dumps({"about": {"fps": 100}, "data": {k: list(v) for k, v in SOUND.items()}})
    run = read(write(content, "run.json"), "time=data.t,goal=data.goal:deg,position=data.pos:deg")
    np.testing.assert_allclose(run.position, POSITION * DEGREE, atol=1e-12)


@pytest.mark.parametrize("digits", [3, 9])
@pytest.mark.parametrize("rows_each", [1, 2, 5, 20])
def test_a_position_that_is_read_less_often_than_it_is_logged_is_no_wrong_unit(write, digits, rows_each):
    """The motion nearly reaches the speed of the servo; digits: as an encoder rounds."""
    time = 0.001 * np.arange(4000)
    position = 1.4 * np.sin(6.0 * time)
    logged = np.round(position, digits)[np.arange(4000) // rows_each * rows_each]
    path = write(text({"t": time, "goal": np.round(1.5 * np.sin(6.0 * time), 6), "pos": logged}))
    [run], note = imported(path, "time=t,goal=goal,position=pos")
    assert note == (
        "" if rows_each == 1 else f"the position is read once in {rows_each} rows only, at {1e3 / rows_each:.0f} Hz"
    )
    assert len(run.time) == 4000


def test_slow_motion_of_a_coarse_encoder_is_read_as_often_as_logged(write):
    time = 0.001 * np.arange(6000)
    logged = np.round(0.3 * np.sin(time) / 0.0015) * 0.0015
    _, note = imported(write(text({"t": time, "goal": logged, "pos": logged})), "time=t,goal=goal,position=pos")
    assert not note


def test_a_goal_that_changes_far_less_often_than_samples_arrive_is_said(write):
    time = 0.005 * np.arange(2000)
    goal, position = np.sin(2.0 * time)[np.arange(2000) // 20 * 20], np.round(0.9 * np.sin(2.0 * time - 0.1), 4)
    read = write(text({"t": time, "goal": goal, "pos": position}))
    _, note = imported(read, "time=t,goal=goal,position=pos", look=misread)
    assert note == ("the goal changes once in 20 rows only, at 10 Hz; if the servo was given finer goals, log those")
    steps = 0.5 * np.sign(np.sin(3.0 * time)) * (1.0 + time)[np.arange(2000) // 200 * 200]
    _, note = imported(
        write(text({"t": time, "goal": steps, "pos": position}), "b.csv"), "time=t,goal=goal,position=pos"
    )
    assert not note


@pytest.mark.parametrize("rows_late", [-2, -1, 1, 2])
def test_goals_logged_early_or_late_are_moved_back(write, rows_late):
    logged = {**SOUND, "goal": np.roll(GOAL, rows_late)}
    [run], _ = imported(write(text(logged)), goal_shift=-rows_late)
    kept = slice(2, -2)
    places = np.searchsorted(TIME, run.time - 1e-6)
    assert "before the first goal" in run.provenance["left_out"] or rows_late > 0
    np.testing.assert_allclose(run.goal_position[kept], GOAL[places][kept] * DEGREE, atol=1e-9)
    np.testing.assert_allclose(run.position[kept], POSITION[places][kept] * DEGREE, atol=1e-9)
    assert len(run.time) == len(TIME) - max(-rows_late, 0)
    with pytest.raises(InputError, match="goals cannot be shifted by 300 of 300 rows"):
        imported(write(text(SOUND), "b.csv"), goal_shift=300)


# What strangers' files held


@pytest.mark.parametrize(
    "name", ["motor_current", "joint_2_pos", "/joint_states/wrist/position", "servo_temp", "phase"]
)
def test_a_column_of_readings_is_no_column_of_servos(write, name):
    jitter = np.random.default_rng(1).integers(0, 4, len(TIME))
    lines = [
        f"{line},{'' if 'wrist' in name and k % 2 else value}"
        for k, (line, value) in enumerate(zip(rows(), jitter, strict=True))
    ]
    path = write(csv(lines, f"t,goal,pos,{name}"))
    [run], note = imported(path)
    assert (len(run.time), note) == (len(TIME), "")
    with pytest.raises(UnknownTableError) as caught:
        import_paths([path], path.parent / "t")
    assert "--where" not in str(caught.value)


@pytest.mark.parametrize("name", ["servoId", "motorID", "dxl", "joint_name"])
@pytest.mark.parametrize("in_turn", [True, False])
def test_rows_of_several_servos_are_never_one_run(write, name, in_turn):
    keys = np.arange(300) % 3 if in_turn else np.arange(300) // 100
    path = write(csv([f"{line},{'abc'[key]}" for line, key in zip(rows(), keys, strict=True)], f"t,goal,pos,{name}"))
    with pytest.raises(InputError, match=f"rows of several servos or episodes: column {name} has the values a, b, c"):
        imported(path)
    with pytest.raises(UnknownTableError, match=f"--where {name}=a" if in_turn else f"--split-by {name}"):
        import_paths([path], path.parent / "t")


def test_keys_are_what_is_written(write):
    takes = [
        f"{line},{key}" for key in ("1_12", "11_2", "3.0", "3") for line in rows({**SOUND, "pos": POSITION * len(key)})
    ]
    runs, _ = imported(write(csv(takes, "t,goal,pos,take")), where={"take": "1_12"})
    assert len(runs[0].time) == 300


def test_a_remedy_keeps_sign_and_zero(write):
    path = write(text({**SOUND, "pos": 90.0 - POSITION}))
    with pytest.raises(InputError, match=r"goal=goal:deg,position=pos:deg\*-1\+90$"):
        imported(path, "time=t,goal=goal:rad,position=pos:rad*-1+90")


def test_an_array_of_another_length_is_named(write):
    path = write(npz(**SOUND, id=np.arange(3)), "run.npz")
    assert len(imported(path)[0][0].time) == 300
    for more in ({"where": {"id": "1"}}, {"split_by": "id"}):
        with pytest.raises(InputError, match="column id has 3 values, the others have 300"):
            imported(path, **more)


def test_every_channel_in_rows_of_its_own_is_held(write):
    lines = [f"{t:.4f},{g:.6f},,," for t, g in zip(TIME - 0.001, GOAL, strict=True)]
    lines += [f"{t:.4f},,{p:.8f},," for t, p in zip(TIME, POSITION, strict=True)]
    lines += [f"{t:.4f},,,0.5," for t in TIME - 0.002] + ["-0.1,,,,1", "1.4995,,,,0"]
    [run], _ = imported(
        write(csv(sorted(lines, key=float_of), "t,goal,pos,i,en")), COLUMNS + ",current=i,torque_enable=en"
    )
    np.testing.assert_allclose(run.channels["current"], 0.5)
    assert run.torque_enable.sum() == 150


def test_a_switch_that_comes_late_is_named(write):
    lines = [f"{line},{'' if place < 50 else 1}" for place, line in enumerate(rows())]
    _, note = imported(write(csv(lines, "t,goal,pos,en")), COLUMNS + ",torque_enable=en")
    assert note == "50 rows before the first switch of the torque left out"
    with pytest.raises(InputError, match="the column of torque_enable has no value"):
        imported(write(csv([f"{line}," for line in rows()], "t,goal,pos,en"), "b.csv"), COLUMNS + ",torque_enable=en")


def test_json_of_records_dates_and_switches(write):
    records = [
        {"t": f"2026-01-01T10:00:0{t:.3f}", "goal": g, "pos": p, "en": "on"}
        for t, g, p in zip(TIME, GOAL, POSITION, strict=True)
    ]
    content = __import__("json").dumps({"lut": [1.0] * 500, "log": records})
    columns = "time=log.t,goal=log.goal:deg,position=log.pos:deg,torque_enable=log.en"
    run = read(write(content, "run.json"), columns)
    np.testing.assert_allclose(run.time, TIME, atol=1e-6)
    assert run.torque_enable.all()


def test_a_hundred_episodes_are_split(write):
    lines = [f"{line},{take}" for take in range(100) for line in rows({k: v[:20] for k, v in SOUND.items()})]
    with pytest.raises(InputError, match="--split-by 'ep'"):
        imported(write(csv(lines, "t,goal,pos,ep")))


def test_an_episode_whose_rows_are_no_run_is_left_out_and_said(write):
    takes = [[f"{line},{take}" for line in rows({**SOUND, "pos": (1.0 - 0.1 * take) * POSITION})] for take in range(3)]
    takes[1].insert(5, takes[1][3])
    lines = [line for take in takes for line in take]
    runs, note = imported(write(csv(lines, "t,goal,pos,take")), split_by="take")
    assert [run.trajectory for run in runs] == ["run-0", "run-2"]
    assert note.startswith("left out take 1: line 307: time goes from 0.040000 to 0.030000 s")
    with pytest.raises(InputError, match="take 1: line 7: time goes from"):
        imported(write(csv(takes[1], "t,goal,pos,take"), "b.csv"), split_by="take")


def test_rows_without_anything_are_no_repeats(write):
    blank = [*rows()[:100], *[",,"] * 400, *rows()[100:]]
    assert imported(write(csv(blank)))[1] == "400 empty rows left out"


@pytest.mark.parametrize("form", ["10:00:{:06.3f}", "01.12.2026 10:00:{:06.3f}", "1.2.2026 23:59:{:06.3f}"])
def test_times_of_day_and_days_first_are_times(write, form):
    lines = [f"{form.format(t)},{line.split(',', 1)[1]}" for t, line in zip(TIME, rows(), strict=True)]
    np.testing.assert_allclose(read(write(csv(lines))).time, TIME, atol=1e-6)


def test_a_clock_in_nanoseconds_is_named(write):
    stamps = (1767225600 * 10**9 + np.round(TIME * 1e9).astype(np.int64)).tolist()
    lines = [f"{stamp},{line.split(',', 1)[1]}" for stamp, line in zip(stamps, rows(), strict=True)]
    with pytest.raises(InputError, match=r"in ns it would be 0\.01 s: time=t:ns"):
        imported(write(csv(lines)))
