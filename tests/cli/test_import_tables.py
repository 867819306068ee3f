"""`bench import` of a table of one's own, as a person meets it: the error is a command, the command imports."""

import json
import shlex

import numpy as np
import pytest

from sessions import Session

TIME = 0.01 * np.arange(200)
KNOWN = ("--servo", "mx106", "--length", "0.15")


def log(path, amplitude, delimiter=","):
    """Write a log with a column for each channel that people have, the last half second released."""
    rows = [
        (t, amplitude * np.sin(t), amplitude * np.sin(t - 0.1), 1000 * amplitude, float(t < 1.5), "fine") for t in TIME
    ]
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row] for row in rows]
    if delimiter == ";":
        cells = [[cell.replace(".", ",") for cell in row] for row in cells]
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "\n".join(delimiter.join(row) for row in [["t", "goal", "pos", "current_mA", "torque", "note"], *cells])
    )
    return path


def proposed(said):
    """The words of the command in an error, after "bench"."""
    return shlex.split(said.split("say what they mean: ")[1])[1:]


def evidence(session):
    return sorted(run.content_sha256 for run in Session.open(session).runs())


@pytest.mark.parametrize("given", ["folder", "files", "many files"])
def test_the_command_in_the_error_imports_as_it_is_printed(tmp_path, bench, fails, given):
    """Every column with a known meaning and every condition in the names, compared with an import typed in full."""
    masses = (0.5, 1.0) if given != "many files" else tuple(0.1 * k for k in range(1, 11))
    files = [
        log(tmp_path / "my logs" / f"{motion}_m{mass:g}_kp{kp}.csv", 0.2 * mass)
        for mass in masses
        for motion, kp in (("sin_sin", 8), ("lift_and_drop", 32))
    ]
    paths = [tmp_path / "my logs"] if given == "folder" else files
    session = tmp_path / "the session"
    command = proposed(fails("import", *paths, "-o", session, *KNOWN))
    assert f"{len(files)} runs imported" in bench(*command).out
    full = ["--columns", "time=t,goal=goal,position=pos,current=current_mA:mA,torque_enable=torque"]
    bench("import", *paths, "-o", tmp_path / "b", *KNOWN, *full, "--from-name", "{trajectory}_m{mass}_kp{kp}")
    assert evidence(session) == evidence(tmp_path / "b")
    assert not Session.open(session).load_all()[0].torque_enable.all()
    assert len(command) < 25, "many files of one folder are named by the folder"


def test_what_nothing_states_is_in_capitals(tmp_path, bench, fails):
    folder = log(tmp_path / "logs" / "slow_m0.2.csv", 0.2, ";").parent
    log(folder / "fast_m0.3.csv", 0.4, ";")
    lab = tmp_path / "lab"
    words = proposed(fails("import", folder, "-o", lab, "--servo", "xl330", "--length", "0.1"))
    assert [word for word in words if word.isupper()] == ["P"]
    assert words[words.index("--from-name") + 1] == "{trajectory}_m{mass}"
    command = ["400" if word == "P" else word for word in words]
    assert "2 runs imported" in bench(*command).out

    (folder / "copy_m0.2.csv").write_bytes((folder / "slow_m0.2.csv").read_bytes())
    (folder / "slow_m0.3.csv").write_bytes((folder / "slow_m0.2.csv").read_bytes())
    printed = bench(*command).out
    assert "1 run imported" in printed, "another mass is another condition, another name is not"
    assert "2 files skipped: same content as run 0002_slow_kp400" in printed
    assert len(bench(*command, "--json").data["skipped"]) == 4


def test_options_stand_against_the_names_and_odd_names_are_quoted(tmp_path, bench, fails, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log(tmp_path / "-it's_m0.5_kp8.csv", 0.2)
    words = proposed(
        fails("import", "./-it's_m0.5_kp8.csv", "-o", "./-lab", *KNOWN, "--mass", "0.7", "--angle-offset=-0.1")
    )
    assert "1 run imported" in bench(*words).out
    [run] = Session.open(tmp_path / "-lab").load_all()
    assert (run.bench.mass, run.bench.angle_offset, run.settings.kp) == (0.7, -0.1, 8.0)


def test_what_is_wrong_is_one_line_and_exit_code_1(tmp_path, fails):
    path = tmp_path / "run.csv"
    path.write_text("t,goal,pos\n0,1,2\n")
    for columns in ("time=t,goal=goal,position=angle", "time=t:parsec", "nothing"):
        fails("import", path, "--columns", columns, "--servo", "xl330", "-o", tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_log_of_an_unclear_variant_is_one_line_and_the_option_settles_it(tmp_path, bench, fails):
    entries = [{"timestamp": t, "goal_position": 0.0, "position": 0.1 * t, "torque_enable": True} for t in TIME]
    facts = {"mass": 0.2, "length": 0.1, "kp": 16, "vin": 7.4, "motor": "sts3215", "trajectory": "sin_sin"}
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**facts, "entries": entries}))
    said = fails("import", path, "-o", tmp_path / "s")
    option = shlex.split(said.split("say which one it is: ")[1].split(",")[0])
    bench("import", path, "-o", tmp_path / "s", *option)
    [run] = Session.open(tmp_path / "s").runs()
    assert run.servo == "sts3215_7v4"
