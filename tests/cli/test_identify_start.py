"""`bench identify --start`: an earlier unit's model, single values, and what is refused; what the text says of β."""

from __future__ import annotations

import pytest

from core.servo.shipped import load_model
from sessions.results.record import read_record

RUN = "0003_sin_sin_kp100"
SMALL = ("--models", "m1", "--trials", "16", "--validation", "none", "--no-polish", "--threads", "1")


@pytest.fixture
def identify(bench, example, tmp_path):
    """Identifies one run into the folder r."""

    def run(*words: object, code: int = 0):
        return bench("identify", example, "--runs", RUN, *SMALL, *words, "-o", tmp_path / "r", code=code)

    return run


def test_a_model_and_single_values(identify, tmp_path) -> None:
    """Later ones count; the start is on record, and one of another model is lifted."""
    known = load_model("xl330", "m6")
    file = tmp_path / "unit=1.json"
    file.write_text(known.to_json_text())
    (row,) = identify("--start", file, "--start", "R=3.5", "--json").data
    assert row["evidence"]["parameters"][1]["initial"] == 3.5
    start = dict(read_record(tmp_path / "r").request.start)
    assert start == {**known.values, "R": 3.5}
    initial = {p["name"]: p["initial"] for p in row["evidence"]["parameters"]}
    assert initial["friction_base"] == known.values["friction_base"]


def test_a_shipped_model(identify, tmp_path) -> None:
    said = identify("--start", "xl330:m1", "--command-path-terms", "release_braking", "--all").out
    assert "torque off: not determined: record a torque-off phase" in said
    assert dict(read_record(tmp_path / "r").request.start) == load_model("xl330", "m1").values


def test_a_model_of_a_variant_is_scaled_and_said_in_one_line(bench, tmp_path) -> None:
    servo = ("--servo", "simulated:sts3215_c046", "--mass", 0.3, "--length", 0.1)
    bench("record", *servo, "--trajectory", "sin_sin", "--fast", "-o", tmp_path / "lab")
    said = bench("identify", tmp_path / "lab", *SMALL, "--start", "sts3215_7v4:m1", "-o", tmp_path / "r")
    [line] = [line for line in said.err.splitlines() if "--start" in line]
    assert line == (
        "bench: --start sts3215_7v4:m1: a model of the variant sts3215_7v4, 1:345, "
        "scaled to the gear ratio of sts3215_c046, 1:147"
    )
    start, known = dict(read_record(tmp_path / "r").request.start), load_model("sts3215_7v4", "m1").values
    assert start["kt"] == pytest.approx(147 / 345 * known["kt"])
    assert start["armature"] == pytest.approx((147 / 345) ** 2 * known["armature"])


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("mx106:m1", "a model of mx106, the recordings are of xl330; give one of the same servo"),
        ("gamma=1", "no parameter 'gamma'"),
        ("R=many", "expected NAME=NUMBER, or a model"),
        ("nowhere.json", "cannot be read"),
    ],
)
def test_a_start_that_cannot_be_leaves_no_folder(identify, tmp_path, start, message) -> None:
    assert message in identify("--start", start, code=1).err
    assert not (tmp_path / "r").exists()


def test_without_the_term_the_text_says_what_is_assumed(identify) -> None:
    assert "torque off: assumed open (β = 0)" in identify("--no-command-path", "--all").out
