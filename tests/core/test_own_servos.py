"""One's own servos: their folder, what is wrong with a file in one line, and files that models carry."""

import json
import os
import pickle

import pytest

from core.base.errors import ModelError
from core.base.sealed import with_seal_line
from core.servo import catalogue
from core.servo.catalogue import (
    LARGEST_SERVO_FILE,
    SERVOS_VARIABLE,
    add_servo,
    broken_servos,
    load_servo,
    new_servo_text,
    own_folder,
    own_servo,
    read_servo_file,
    servos,
)
from core.servo.model import ServoModel, build_model
from core.servo.shipped import nominal_model

TEXT = new_servo_text("hexa")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "servos"))
    return tmp_path / "servos"


def written(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text, "utf-8")


def test_the_template_is_a_servo_with_a_plausible_motor():
    spec = own_servo(new_servo_text())
    assert spec.name == "my_servo"
    kt, resistance = spec.motor["kt"][0], spec.motor["R"][0]
    assert kt * spec.supply_voltage / resistance == pytest.approx(spec.stall_torque)
    assert spec.supply_voltage / kt > spec.no_load_speed
    with_bus = "\n".join(
        line.removeprefix("# ") if "=" in line or "[bus" in line else line for line in TEXT.split("\n")
    )
    assert set(own_servo(with_bus).buses["dynamixel"]) >= {"table", "protocol", "model_numbers", "current_unit"}


ARMATURE = next(line for line in TEXT.splitlines() if line.startswith("armature"))


@pytest.mark.parametrize("ratio", [1.0, 225.0, 353.5])
def test_the_armature_is_the_rotors_inertia_times_the_gear_ratio_squared(ratio):
    """J_m = N²·J_r (Duclusaud et al., section II-A)."""
    gear = f"gear_ratio = {ratio}"
    with_rotor = TEXT.replace(ARMATURE, "rotor_inertia = 1.6e-7")
    for text in (
        TEXT.replace(ARMATURE, f"rotor_inertia = 1.6e-7\n{gear}"),
        with_rotor.replace("\n[motor]", f"{gear}\n\n[motor]"),
    ):
        spec = own_servo(text)
        start, low, high = spec.motor["armature"]
        assert start == pytest.approx(ratio**2 * 1.6e-7)
        assert low < start < high
        assert spec.gear_ratio == ratio


def test_a_gear_ratio_is_a_fact_of_its_own():
    assert own_servo(TEXT).gear_ratio is None
    stated = own_servo(TEXT.replace("\n[motor]", "gear_ratio = 225\n\n[motor]"))
    assert stated.gear_ratio == 225.0
    assert stated.motor == own_servo(TEXT).motor


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("rotor_inertia = 1.6e-7", "[motor] entry 'gear_ratio' is missing"),
        ("gear_ratio = 225", "[motor] entry 'rotor_inertia' is missing"),
        ("rotor_inertia = 1.6e-7\ngear_ratio = 0.0044", "[motor] gear_ratio = 0.0044 must be a number from 1"),
        ("rotor_inertia = -1\ngear_ratio = 225", "[motor] rotor_inertia = -1 must be a number"),
        (f"{ARMATURE}\nrotor_inertia = 1.6e-7\ngear_ratio = 225", "must be left out where rotor_inertia"),
        ("rotor_inertia = 1e-15\ngear_ratio = 1", "kg·m² after multiplication with gear_ratio²"),
    ],
)
def test_a_rotor_that_is_not_one_is_one_line(lines, said):
    with pytest.raises(ModelError) as error:
        own_servo(TEXT.replace(ARMATURE, lines))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("system", "variables", "place"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/servobench/servos"),
        ("linux", {}, "/home/ada/.local/share/servobench/servos"),
        ("darwin", {}, "/home/ada/Library/Application Support/ServoBench/servos"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/ServoBench/servos"),
    ],
)
def test_the_folder_is_where_the_platform_keeps_data(monkeypatch, system, variables, place):
    for name in (SERVOS_VARIABLE, "XDG_DATA_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/ada", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(catalogue.sys, "platform", system)
    assert str(own_folder()) == place


def test_an_added_servo_is_known_at_once_and_a_new_version_replaces_it(folder, caplog):
    with pytest.raises(ModelError, match="no servo 'hexa'"):
        load_servo("hexa")
    add_servo(own_servo(TEXT))
    assert load_servo("HEXA").stall_torque == 3.0
    assert list(servos())[-1] == "hexa"
    assert "kept in" in caplog.messages[-1]

    add_servo(own_servo(TEXT.replace("stall_torque = 3.0", "stall_torque = 4.0")))
    assert load_servo("hexa").stall_torque == 4.0
    assert "replaced the earlier version" in caplog.messages[-1]

    os.unlink(folder / "hexa.toml")
    assert "hexa" not in servos()
    written(folder, "hexa", "not a servo")
    add_servo(own_servo(TEXT))
    assert load_servo("hexa").stall_torque == 3.0
    assert "replaced the earlier version" in caplog.messages[-1]


@pytest.mark.parametrize("other", ["time", "size", "file"])
def test_a_file_is_read_again_when_one_of_its_marks_is_another(folder, other):
    """The time of its last change, its size, or the file itself."""
    path, edited = folder / "hexa.toml", "stall_torque = 12.0" if other == "size" else "stall_torque = 4.0"
    written(folder, "hexa", TEXT)
    assert load_servo("hexa").stall_torque == 3.0
    before = path.stat()
    if other == "file":
        path.rename(folder / "earlier")
    written(folder, "hexa", TEXT.replace("stall_torque = 3.0", edited))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + (10**9 if other == "time" else 0)))
    assert load_servo("hexa").stall_torque == float(edited.split()[-1])


def test_a_broken_file_costs_its_servo_only(folder):
    add_servo(own_servo(TEXT))
    written(folder, "bad", TEXT.replace('"hexa"', '"bad"').replace("stall_torque = 3.0", "stall_torque = -3"))
    written(folder, "other_name", TEXT)
    written(folder, "twin", TEXT.replace('"hexa"', '"twin"').replace("aliases = []", 'aliases = ["hexa"]'))

    assert set(broken_servos()) == {"bad", "other_name", "twin"}
    assert {"hexa", "mx106"} <= set(servos())
    with pytest.raises(
        ModelError, match=r"bad.toml: \[ratings\] stall_torque = -3 must be a number from 1e-09 to 1e\+09"
    ):
        load_servo("bad")
    with pytest.raises(ModelError, match="must match the file name"):
        load_servo("other_name")
    with pytest.raises(ModelError, match="'hexa' is already a name of your servo hexa"):
        load_servo("twin")


WRONG = [
    ("title = ", "titel = ", r"entry 'title' is missing"),
    ("stall_torque = 3.0 ", "", r"\[ratings\] entry 'stall_torque' is missing"),
    ("[motor]", "[engine]", r"entry 'motor' is missing"),
    (
        "stall_torque = 3.0",
        'stall_torque = "strong"',
        r"\[ratings\] stall_torque = 'strong' must be a number from 1e-09",
    ),
    ("error_gain = 0.16", "error_gain = -1", r"\[control\] error_gain = -1 must be a number"),
    ("max_duty = 1.0", "max_duty = 85", r"\[control\] max_duty = 85 must be a number from 1e-09 to 1"),
    ("[9.0, 14.0]", "[14.0, 9.0]", r"\[ratings\] supply_range = \[14.0, 9.0\] must be \[lowest, highest\]"),
    (
        "supply_voltage = 12.0",
        "supply_voltage = 24.0",
        r"\[ratings\] supply_voltage = 24.0 must be within supply_range, 9",
    ),
    ("[1.2, 0.4, 3.6]", "[0.1, 0.4, 3.6]", r"\[motor\] kt = \[0.1, 0.4, 3.6\] must be \[start, lowest, highest\]"),
    ("[1.2, 0.4, 3.6]", "1.2", r"\[motor\] kt = 1.2 must be"),
    ("= 4096", "= 0", r"\[ratings\] encoder_counts_per_turn = 0 must be a whole number from 2"),
    ('drive = "slow decay"', 'drive = "none"', r"\[control\] drive = 'none' must be one of slow decay, fast decay"),
    ('"hexa"', '"my servo"', r"name = 'my servo' must be 1 to 40 of a-z"),
    ('"hexa"', '"mx106"', r"'mx106' is already a name of the shipped servo mx106; choose another"),
    ("aliases = []", 'aliases = ["sts3215_12v"]', r"'sts3215_12v' is already a name of the shipped servo sts3215"),
    ("aliases = []", 'aliases = ["h", "h"]', r"aliases = \['h', 'h'\] must be different"),
    ("aliases = []", 'aliases = "h"', r"aliases = 'h' must be a list"),
    ("integral_ratio", "integral_ration", r"\[control\] unknown entry 'integral_ration'; choose from law, "),
    ("\n[motor]", "gear_ratio = 0.5\n\n[motor]", r"\[ratings\] gear_ratio = 0.5 must be a number from 1"),
    (
        "\n[motor]",
        "gear_ratio = 225\n\n[motor]\ngear_ratio = 225",
        r"\[motor\] unknown entry 'gear_ratio'; choose from kt, R, armature",
    ),
    ("[sources]", "[sources", r"not TOML: "),
    ("position_range = [-3.14159, 3.14159]", "position_range = []", r"\[ratings\] position_range = \[\] must be"),
]


@pytest.mark.parametrize(("old", "new", "line"), WRONG)
def test_what_is_wrong_is_one_line(tmp_path, old, new, line):
    assert old in TEXT
    path = tmp_path / "my.toml"
    path.write_text(TEXT.replace(old, new, 1), "utf-8")
    with pytest.raises(ModelError, match=f"my.toml: {line}") as caught:
        read_servo_file(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(path)) + 300


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda path: None, "does not exist; bench models --new .*my.toml writes a template"),
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: os.mkfifo(path), "is not a file"),
        (lambda path: path.write_bytes(b"\x89PNG\xff\x00"), "not a text file"),
        (
            lambda path: path.write_text(TEXT + "# " + "x" * LARGEST_SERVO_FILE),
            r"too large for a servo file \(over 30 kB\)",
        ),
        (lambda path: path.write_text("a = " + "[" * 20_000), "not TOML"),
    ],
)
def test_what_is_no_servo_file_is_one_line(tmp_path, make, line):
    make(tmp_path / "my.toml")
    with pytest.raises(ModelError, match=f"my.toml: {line}"):
        read_servo_file(tmp_path / "my.toml")


def test_an_unknown_servo_comes_with_close_names_and_the_way_to_an_own_one():
    with pytest.raises(
        ModelError, match=r"no servo 'mx-105'; similar names: mx-106.* bench models --new my.toml, then"
    ):
        load_servo("mx-105")
    with pytest.raises(ModelError, match=r"no servo '☃'; bench models lists them; .* bench models --new my.toml"):
        load_servo("☃")


def test_a_model_of_a_shipped_servo_carries_no_file():
    assert "servo_file" not in build_model("mx106", "m1").to_json()


def test_a_model_makes_its_servo_known_where_it_is_not(folder, monkeypatch, tmp_path):
    add_servo(own_servo(TEXT))
    model = nominal_model(load_servo("hexa"), "m2")
    text = model.to_json_text()
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "elsewhere"))
    assert "hexa" not in servos()

    # A process that was handed the model needs no folder.
    assert pickle.loads(pickle.dumps(model)).spec.stall_torque == 3.0
    assert "hexa" not in servos()

    there = ServoModel.from_json_text(text)
    assert (there, there.to_json_text()) == (model, text)
    assert load_servo("hexa") == model.spec
    assert (tmp_path / "elsewhere" / "hexa.toml").read_text("utf-8") == with_seal_line(TEXT)


def test_a_models_own_facts_win_for_it_and_change_nothing_here():
    add_servo(own_servo(TEXT))
    text = build_model("hexa", "m6").to_json_text()
    add_servo(own_servo(TEXT.replace("stall_torque = 3.0", "stall_torque = 4.0")))
    assert ServoModel.from_json_text(text).spec.stall_torque == 3.0
    assert load_servo("hexa").stall_torque == build_model("hexa", "m6").spec.stall_torque == 4.0


def test_a_model_is_read_where_the_folder_cannot_be_written(tmp_path, monkeypatch, caplog):
    add_servo(own_servo(TEXT))
    text = build_model("hexa", "m1").to_json_text()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "file" / "servos"))
    assert ServoModel.from_json_text(text).spec.stall_torque == 3.0
    assert f"set {SERVOS_VARIABLE} to a writable folder" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("file", "line"),
    [("gibberish", "not TOML"), (new_servo_text("other"), "describes other, not hexa"), (7, "not TOML|missing")],
)
def test_a_model_with_a_wrong_servo_file_is_refused(file, line):
    add_servo(own_servo(TEXT))
    data = json.loads(build_model("hexa", "m1").to_json_text()) | {"servo_file": file}
    with pytest.raises(ModelError, match=f"^model: .*({line})"):
        ServoModel.from_json(data)
    assert list(servos())[-1] == "hexa"
