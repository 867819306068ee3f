"""Exit status and the one line of every command that fails, whichever way it fails."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace as Of
from typing import Any

import pytest

from bench_gui.cli import COMMANDS, TRACEBACK_VARIABLE, main
from core.base.errors import InputError, ServoBenchError
from core.base.interrupt import Interrupt
from core.base.words import counted
from drivers.errors import DriverError
from drivers.recorder.planned import RecordedRun
from sessions import Session


@pytest.fixture
def stub(monkeypatch):
    """Replaces a function by one that returns this, or raises it."""

    def put(target: str, result: Any) -> None:
        def replaced(*_: Any, **__: Any) -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        monkeypatch.setattr(target, replaced)

    return put


def test_a_command_that_was_stopped_says_so_whatever_it_made_of_it(fails, monkeypatch, tmp_path) -> None:
    def stopped(*_: Any, **__: Any) -> int:
        with Interrupt() as interrupt:
            signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        return 0

    monkeypatch.setattr("bench_gui.cli.commands.servo.scan.run", stopped)
    line = fails("scan", "dynamixel", code=130)
    assert line == "bench: stopped; completed work is kept"
    # The next one is another.
    monkeypatch.setattr("bench_gui.cli.commands.servo.scan.run", lambda *_: 0)
    assert main(["scan", "dynamixel"]) == 0


def test_whatever_is_raised_is_one_line_and_a_failure(fails, stub, monkeypatch, tmp_path) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    raised = [
        (InputError("two\nlines"), "bench: two lines"),
        (ServoBenchError("plain"), "bench: plain"),
        (KeyboardInterrupt(), "bench: stopped by the user"),
        (OSError(errno.ENOSPC, "No space left on device", "a/b"), "bench: a/b: No space left on device"),
        (OSError(errno.EIO, "Input/output error"), "bench: demo: Input/output error"),
        (PermissionError(errno.EACCES, "Permission denied", "c"), "bench: c: Permission denied"),
        (
            MemoryError(),
            f"bench: internal error in bench demo: MemoryError: (set {TRACEBACK_VARIABLE}=1 for a traceback)",
        ),
        (
            KeyError("x"),
            f"bench: internal error in bench demo: KeyError: 'x' (set {TRACEBACK_VARIABLE}=1 for a traceback)",
        ),
    ]
    for error, line in raised:
        stub("bench_gui.headless.demo.run_demo", error)
        status = 130 if isinstance(error, KeyboardInterrupt) else 1
        assert fails("demo", "-o", tmp_path / "d", code=status) == line
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    with pytest.raises(KeyError):
        main(["demo", "-o", str(tmp_path / "d")])


# Commands that say by their exit status how it went


def ended(status: str, reason: str = "", identity: str = "0001_x") -> RecordedRun:
    return RecordedRun(identity, "sin_sin", status, reason, 10, 0, 0)


@pytest.mark.parametrize("how", ["abort", "fail", "crashed"])
def test_a_recording_of_which_any_run_failed_is_a_failure(capsys, stub, tmp_path, how) -> None:
    good, bad = ended("success"), ended(how, "the bus fell silent", "")
    for runs, code in (([good, good], 0), ([good, bad], 1), ([bad, good], 1), ([bad], 1)):
        stub("drivers.recorder.planned.record_plan", runs)
        assert main(["record", "-o", str(tmp_path)]) == code
        assert main(["record", "--json", "-o", str(tmp_path)]) == code
        lines = capsys.readouterr().out.splitlines()
        told = ["0001_x: success" if run is good else f"sin_sin: {how}, the bus fell silent" for run in runs]
        assert lines[: len(told)] == told
        assert json.loads("\n".join(lines[len(told) :])) == [run.to_json() for run in runs]


@pytest.mark.parametrize(("complete", "code"), [(True, 0), (False, 1)])
def test_a_grid_that_is_not_complete_is_a_failure(capsys, stub, tmp_path, complete, code) -> None:
    stub("drivers.recorder.planned.record_grid", ([ended("success")], Of(done=[1, 2, 3], complete=complete)))
    words = ["record", "--plan", "paper", "--masses", "0.1,0.2", "--lengths", "0.1", "--kps", "5", "--trajectory",
             "sin_sin", "half_sine", "--repetitions", "1", "-o", str(tmp_path)]  # fmt: skip
    assert main(words) == code
    told = capsys.readouterr().out.splitlines()
    assert told[1] == "3 of 4 runs of the plan recorded" + ("" if complete else "; run the command again to continue")
    assert main([*words, "--json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert (data["done"], data["total"], len(data["runs"])) == (3, 4, 1)


def test_the_doctor_fails_for_an_error_only(capsys, stub) -> None:
    fine, odd, bad = (Of(status=s, subject="x", text="t", remedy="r" * (s != "ok")) for s in ("ok", "warning", "error"))
    for findings, code in (([fine], 0), ([fine, odd], 0), ([bad, fine], 1), ([odd, bad], 1)):
        stub("bench_gui.headless.doctor.examine", findings)
        assert main(["doctor"]) == code
        assert main(["doctor", "--json"]) == code
    told = capsys.readouterr().out
    assert "error x: t\n      → r\n" in told


def test_a_search_that_finds_nothing_is_a_failure(fails, capsys, monkeypatch) -> None:
    """And a family that cannot search does not end the search of the others."""
    found = {"dynamixel": [Of(address="dynamixel:1", title="MX-106", detail="firmware 4")]}

    def scan(name: str, values: Any, told: Any, stop: Any) -> list[Any]:
        if name == "ethercat":
            raise DriverError("no rights")
        told(Of(tried="port, ID 1", answer="silence"))
        return found.get(name, [])

    monkeypatch.setattr("drivers.scan.scan", scan)
    assert main(["scan"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split("  ") == ["dynamixel:1", "MX-106", "firmware 4"]
    assert "ethercat: no rights" in shown.err
    assert "port: silence" in shown.err
    assert main(["scan", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (len(data["found"]), data["problems"]) == (1, ["ethercat: no rights"])
    tried = data["tried"]
    assert tried >= 1
    assert main(["scan", "dynamixel"]) == 0
    capsys.readouterr()
    found.clear()
    assert main(["scan"]) == 1
    assert f"no servo answered ({counted(tried, 'attempt')})" in capsys.readouterr().err
    assert main(["scan", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["found"] == []
    assert fails("scan", "ethercat") == "bench: no rights"
    assert "NAME=VALUE" in fails("scan", "dynamixel", "port")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_controller_passes_its_exit_status_on_and_its_error_is_one_line(fails, capsys, stub, more) -> None:
    target = "bench_gui.cli.webots_program.run_in_process"
    for code in (0, 1, 7):
        stub(target, Of(traces=(), code=code, problem=""))
        assert main(["webots", "run", "c.py", *more]) == code
    capsys.readouterr()
    stub(target, Of(traces=(), code=0, problem="ZeroDivisionError: by zero"))
    assert "ended with an error: ZeroDivisionError: by zero" in fails("webots", "run", "c.py", *more)


def test_an_identification_that_could_not_be_kept_is_a_failure(fails, stub, example, tmp_path) -> None:
    stub("sessions.results.identifying.run_identification", Of(problem="r: the disk is full"))
    for more in ([], ["--json"]):
        words = ["identify", example, "-o", tmp_path / "r", *more]
        assert fails(*words) == "bench: r: the disk is full"


# What is not there, and what cannot be written

NOWHERE = {
    "import": ["NONE", "-o", "NEW"],
    "runs": ["NONE"],
    "annotate": ["NONE", "0001_x", "--note", "x"],
    "scan": ["no-such-family"],
    "emulate": ["no-such-bus"],
    "servo": ["info", "no-such-family:1"],
    "record": ["--servo", "simulated:nosuch", "--fast", "-o", "NEW"],
    "next": ["NONE"],
    "place": ["--servo", "simulated:nosuch", "--fast", "-o", "NEW"],
    "coverage": ["NONE"],
    "simulate": ["NONE", "--model", "mx106:m2", "-o", "NEW"],
    "robot": ["identify", "NONE", "-o", "NEW"],
    "rollout": ["--model", "NONE", "--trajectory", "sin_sin", "-o", "NEW"],
    "identify": ["NONE", "-o", "NEW"],
    "crossvalidate": ["NONE"],
    "learn": ["NONE"],
    "fleet": ["NONE", "-o", "NEW"],
    "certainty": ["NONE"],
    "spread": ["NONE"],
    "evaluate": ["NONE", "--model", "mx106:m2"],
    "drive-backdrive": ["--model", "NONE"],
    "export": ["NONE", "--to", "json", "-o", "NEW"],
    "feedforward": ["NONE"],
    "stiction": ["chatter", "--law", "coulomb", "--speed", "1"],
    "webots": ["fit", "NONE"],
    "compliant": ["identify", "NONE"],
    "arm": ["identify", "NONE", "--links", "NONE"],
    "report": ["NONE"],
    "models": ["NONE"],
}
"""What each command is asked that cannot be; the demo's folder and the machine itself are tried elsewhere."""


def test_every_command_is_asked_for_what_is_not_there() -> None:
    assert set(NOWHERE) | {"demo", "benchmark", "doctor"} == set(COMMANDS)


@pytest.mark.parametrize("command", NOWHERE)
def test_what_is_not_there_is_one_line_and_makes_nothing(fails, tmp_path, command) -> None:
    places = {"NONE": str(tmp_path / "none.json"), "NEW": str(tmp_path / "new")}
    fails(command, *(places.get(word, word) for word in NOWHERE[command]))
    assert list(tmp_path.iterdir()) == []


WRITES = {
    "rollout": ["rollout", "--model", "mx106:m1", "--trajectory", "sin_sin", "--duration", "0.1", "-o", "OUT"],
    "simulate": ["simulate", "SESSION", "--runs", "0003_sin_sin_kp100", "--model", "xl330:m1", "-o", "OUT"],
    "export": ["export", "mx106:m1", "--to", "json", "-o", "OUT"],
    "export csv": ["export", "SESSION", "--to", "csv", "-o", "OUT"],
    "export bam": ["export", "SESSION", "--to", "bam", "-o", "OUT"],
    "export h5": ["export", "SESSION", "--to", "h5", "-o", "OUT"],
    "feedforward": ["feedforward", "mx106:m1", "--trajectory", "half_sine", "--csv", "OUT"],
    "stiction": ["stiction", "curves", "--csv", "OUT"],
    "compliant": ["compliant", "step", "--actuator", "sea", "--duration", "0.1", "--csv", "OUT"],
    "figure": ["drive-backdrive", "--model", "mx106:m1", "-o", "OUT.svg"],
    "webots": ["webots", "show", "position", "-o", "OUT"],
    "import": ["import", "SESSION", "-o", "OUT"],
    "record": ["record", "--fast", "--trajectory", "half_sine", "--duration", "0.2", "-o", "OUT"],
    "models": ["models", "--new", "OUT.toml"],
}


@pytest.mark.parametrize("name", WRITES)
def test_what_cannot_be_written_is_one_line_that_names_the_place(fails, example, tmp_path, name) -> None:
    """Below a file there is no folder; nothing is printed as if it had been written."""
    (tmp_path / "file").write_text("kept")
    places = {"SESSION": str(example)}
    words = [places.get(word, word.replace("OUT", str(tmp_path / "file" / "out"))) for word in WRITES[name]]
    assert str(tmp_path / "file") in fails(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


def test_an_import_counts_what_came_in_and_what_was_there(capsys, example, tmp_path) -> None:
    home = tmp_path / "home"
    one = example / "runs" / "0001_lift_and_drop_kp100.h5"
    two = example / "runs" / "0003_sin_sin_kp100.h5"
    three = example / "runs" / "0004_sin_sin_kp400.h5"
    assert main(["import", str(one), "-o", str(home)]) == 0
    assert capsys.readouterr().out == f"1 run imported into {home}, 1 in all\n"
    assert main(["import", str(two), str(three), "-o", str(home)]) == 0
    assert capsys.readouterr().out == f"2 runs imported into {home}, 3 in all\n"
    assert len(Session.open(home).runs()) == 3
    assert main(["import", str(one), "-o", str(home)]) == 0
    said = f"0 runs imported into {home}, 3 in all\nskipped {one}: same content as run 0001_lift_and_drop_kp100\n"
    assert capsys.readouterr().out == said


def test_a_patience_that_is_no_factor_is_one_line() -> None:
    command = [sys.executable, "-c", "from bench_gui.cli import main; raise SystemExit(main())", "models"]
    environment = {**os.environ, "SERVOBENCH_PATIENCE": "ten"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "bench: SERVOBENCH_PATIENCE is a factor of 1 or more, not 'ten'; unset it\n"
