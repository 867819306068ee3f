"""A servo of one's own on the command line: from a template to a model that is used on another machine."""

import pytest

from core.base.errors import ModelError
from core.servo.catalogue import SERVOS_VARIABLE, load_servo, servos
from core.servo.model import ServoModel
from sessions import Session, export_bam, export_csv, import_paths


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "here"))
    return tmp_path / "here"


def recorded(bench, session, *more):
    bench(
        "record", "--fast", "--trajectory", "sin_sin", "--duration", "2", "--mass", "0.2", "--length", "0.1",
        "-o", session, *more,
    )  # fmt: skip
    return Session.open(session)


def test_the_template_names_the_next_commands_and_overwrites_nothing(bench, fails, tmp_path):
    told = bench("models", "--new", "hexa.toml").out
    assert "bench models hexa.toml" in told
    assert "bench record --servo simulated:hexa --fast -o trial" in told
    (tmp_path / "hexa.toml").write_text((tmp_path / "hexa.toml").read_text("utf-8") + "# mine\n", "utf-8")
    assert "already exists" in fails("models", "--new", "hexa.toml")
    assert (tmp_path / "hexa.toml").read_text("utf-8").endswith("# mine\n")
    assert "a servo file ends in .toml; try hexa.toml" in fails("models", "--new", "hexa.json")
    assert "name = 'Hexa 1' must be" in fails("models", "--new", "Hexa 1.toml")

    assert "My servo M6, start values" in bench("models", "hexa.toml").out
    listed = {entry["servo"]: entry["own"] for entry in bench("models", "--json").data}
    assert listed["hexa"]
    assert not listed["mx106"]


@pytest.mark.parametrize(
    "command",
    [
        ("record", "--servo", "simulated:bad.toml?seed=2", "-o", "x"),
        ("place", "--servo", "simulated:bad.toml", "--torques", "1", "-o", "x"),
        ("identify", "x", "--servo", "bad.toml", "-o", "y"),
        ("next", "x", "--servo", "bad.toml"),
        ("fleet", "x", "--servo", "bad.toml", "-o", "y"),
        ("emulate", "dynamixel:bad.toml?id=3"),
        ("rollout", "--model", "bad.toml:m2", "--trajectory", "sin_sin", "-o", "x.npz"),
        ("models", "bad.toml"),
    ],
)
def test_a_broken_file_is_one_line_wherever_a_servo_is_named(bench, fails, tmp_path, folder, command):
    bench("models", "--new", "bad.toml")
    text = (tmp_path / "bad.toml").read_text("utf-8")
    (tmp_path / "bad.toml").write_text(text.replace("stall_torque = 3.0", "stall_torque = 0"), "utf-8")
    assert "bad.toml: [ratings] stall_torque = 0 must be a number from 1e-09" in fails(*command)
    assert not folder.exists()


def test_a_servo_on_an_unknown_bus_is_not_added(bench, fails, tmp_path, folder):
    bench("models", "--new", "hexa.toml")
    with (tmp_path / "hexa.toml").open("a", encoding="utf-8") as file:
        file.write("\n[bus.pigeon]\nspeed = 1\n")
    for command in (
        ("models", "hexa.toml"),
        ("rollout", "--model", "hexa.toml:m2", "--trajectory", "steps", "-o", "x"),
    ):
        assert "hexa: [bus.pigeon] is not a known bus; there are dynamixel, ethercat" in fails(*command)
    assert not folder.exists()


def test_a_broken_file_in_the_folder_is_listed_and_harms_nothing(bench, fails, folder):
    folder.mkdir()
    (folder / "junk.toml").write_bytes(b"\xff\x00")
    assert "not usable: " in bench("models").out
    told = [f for f in bench("doctor", "--json").data if f["subject"] == "own servos"]
    assert str(folder) in told[0]["text"]
    assert "junk.toml: not a text file" in told[1]["text"]
    assert "junk.toml: not a text file" in fails("record", "--servo", "simulated:junk", "-o", "x")
    bench("rollout", "--model", "mx106:m1", "--trajectory", "sin_sin", "-o", "x.npz")


def test_runs_and_models_take_their_servo_to_another_machine(bench, tmp_path, monkeypatch):
    bench("models", "--new", "hexa.toml")
    session = recorded(bench, tmp_path / "lab", "--servo", f"simulated:{tmp_path / 'hexa.toml'}?seed=3")
    [recording] = session.load_all()
    assert recording.settings.servo == "hexa"
    logs = [*export_csv(session, None, tmp_path / "csv"), *export_bam(session, None, tmp_path / "bam")]

    for number, use in enumerate((session.path, *logs)):
        monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / f"machine{number}"))
        with pytest.raises(ModelError, match="no servo 'hexa'"):
            load_servo("hexa")
        import_paths([use], tmp_path / f"lab{number}")
        assert load_servo("hexa").title == "My servo"

    # Nothing but the session is there.
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "machine"))
    bench("identify", "lab", "--models", "m1", "--validation", "none", "--trials", "40", "-o", "result")
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path / "next"))
    bench("rollout", "--model", "result/m1.json", "--trajectory", "sin_sin", "-o", "x.npz")
    assert "hexa" in servos()
    assert ServoModel.read("result/m1.json").servo_file == (tmp_path / "hexa.toml").read_text("utf-8")
