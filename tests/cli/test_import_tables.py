"""`bench import` of a table of one's own, as a person meets it: the error is a command, the command imports."""

import json
import shlex

import numpy as np

from bench_gui.cli import main


def test_the_command_in_the_error_imports_once_its_capitals_are_replaced(tmp_path, capsys):
    time = 0.01 * np.arange(200)
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, amplitude in (("slow_m0.2", 20), ("fast_m0.3", 40)):
        rows = [f"{t};{amplitude * np.sin(t):.4f};{amplitude * np.sin(t - 0.1):.4f}".replace(".", ",") for t in time]
        (logs / f"{name}.csv").write_text("\n".join(["time_s;goal;pos", *rows]))
    lab = str(tmp_path / "lab")
    known = ["--servo", "xl330", "--length", "0.1", "--from-name", "{trajectory}_m{mass}"]
    assert main(["import", str(logs), "-o", lab, *known]) == 1
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    words = shlex.split(said.split("say what they mean: ")[1])
    assert {"SESSION", "P"} < set(words)
    assert "--mass" not in words, "file names say it"
    command = [{"SESSION": lab, "P": "400"}.get(word, word) for word in words[1:]]
    assert main(command) == 0
    assert "2 runs imported" in capsys.readouterr().out

    (logs / "copy_m0.2.csv").write_bytes((logs / "slow_m0.2.csv").read_bytes())
    (logs / "slow_m0.3.csv").write_bytes((logs / "slow_m0.2.csv").read_bytes())
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "1 run imported" in printed, "another mass is another condition, another name is not"
    assert "2 files skipped: same content as run 0002_slow_kp400" in printed
    assert main([*command, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["skipped"]) == 4


def test_what_is_wrong_is_one_line_and_exit_code_1(tmp_path, capsys):
    path = tmp_path / "run.csv"
    path.write_text("t,goal,pos\n0,1,2\n")
    for columns in ("time=t,goal=goal,position=angle", "time=t:parsec", "nothing"):
        assert main(["import", str(path), "--columns", columns, "--servo", "xl330", "-o", str(tmp_path / "s")]) == 1
        assert capsys.readouterr().err.strip().count("\n") == 0
    assert not (tmp_path / "s").exists()
