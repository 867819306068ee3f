"""`bench import` of a table of one's own, as a person meets it: the error is a command, the command imports."""

import shlex

import numpy as np


def test_the_command_in_the_error_imports_once_its_capitals_are_replaced(tmp_path, bench, fails):
    time = 0.01 * np.arange(200)
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, amplitude in (("slow_m0.2", 20), ("fast_m0.3", 40)):
        rows = [f"{t};{amplitude * np.sin(t):.4f};{amplitude * np.sin(t - 0.1):.4f}".replace(".", ",") for t in time]
        (logs / f"{name}.csv").write_text("\n".join(["time_s;goal;pos", *rows]))
    lab = str(tmp_path / "lab")
    known = ["--servo", "xl330", "--length", "0.1", "--from-name", "{trajectory}_m{mass}"]
    said = fails("import", logs, "-o", lab, *known)
    words = shlex.split(said.split("say what they mean: ")[1])
    assert {"SESSION", "P"} < set(words)
    assert "--mass" not in words, "file names say it"
    command = [{"SESSION": lab, "P": "400"}.get(word, word) for word in words[1:]]
    assert "2 runs imported" in bench(*command).out

    (logs / "copy_m0.2.csv").write_bytes((logs / "slow_m0.2.csv").read_bytes())
    (logs / "slow_m0.3.csv").write_bytes((logs / "slow_m0.2.csv").read_bytes())
    printed = bench(*command).out
    assert "1 run imported" in printed, "another mass is another condition, another name is not"
    assert "2 files skipped: same content as run 0002_slow_kp400" in printed
    assert len(bench(*command, "--json").data["skipped"]) == 4


def test_what_is_wrong_is_one_line_and_exit_code_1(tmp_path, fails):
    path = tmp_path / "run.csv"
    path.write_text("t,goal,pos\n0,1,2\n")
    for columns in ("time=t,goal=goal,position=angle", "time=t:parsec", "nothing"):
        fails("import", path, "--columns", columns, "--servo", "xl330", "-o", tmp_path / "s")
    assert not (tmp_path / "s").exists()
