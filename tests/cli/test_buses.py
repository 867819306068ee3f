"""Buses from the command line: an emulated servo in a terminal of its own, found, recorded, told to fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from bench_gui.cli import main
from drivers.dynamixel import form
from sessions import Session

BENCH = [sys.executable, "-c", "import sys; from bench_gui.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def shell():
    """`bench emulate dynamixel:xl330` as somebody's shell runs it, and the address it told."""
    command = [*BENCH, "emulate", "dynamixel:xl330"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    yield process, process.stdout.readline().removeprefix("connect to ").strip()
    process.stdin.close()
    assert process.wait() in (0, -15)
    process.stdout.close()


@pytest.fixture
def terminal(shell):
    """That shell, its servo powered."""
    say(shell[0], "power on")
    return shell


@pytest.fixture(autouse=True)
def one_rate(monkeypatch):
    """Scans try one baud rate instead of all."""
    monkeypatch.setattr("drivers.dynamixel.DYNAMIXEL", replace(form.DYNAMIXEL, baud_rates=(1_000_000,)))


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_an_emulated_servo_is_found_recorded_and_fails_as_told(terminal, tmp_path, bench, fails, example, monkeypatch):
    process, address = terminal
    port = address.split(":")[1]
    [found] = bench("scan", "dynamixel", f"port={port}", "--json").data["found"]
    assert (found["address"], found["title"]) == (address, "Dynamixel XL330-M288")

    session = tmp_path / "session"
    record = ["record", "--servo", address, "--trajectory", "sin_sin", "--duration", "1", "--mass", "0.05",
              "--length", "0.1", "-o", session]  # fmt: skip
    [run] = bench(*record, "--json").data
    assert (run["exit_status"], run["id"]) == ("success", "0001_sin_sin_kp400")
    [recording] = Session.open(session).load_all()
    assert recording.provenance["device"]["model number"] == 1200
    assert "driven=0" in say(process, "state")

    refused = fails("import", example, "-o", session)
    assert "its runs and points are of an emulated xl330, the new ones of a real xl330: use another session" in refused
    refused = fails(*record[:-1], shutil.copytree(example, tmp_path / "lab"))
    assert "its runs and points are of a real xl330, the new ones of an emulated xl330: use another session" in refused
    assert "driven=0" in say(process, "state")

    assert say(process, "nonsense").startswith("console: unknown command 'nonsense'")
    assert say(process, "power off") == "ok"
    # Nobody answers, however long one waits.
    monkeypatch.setenv("SERVOBENCH_PATIENCE", "1")
    assert "no answer to pinging ID 1" in bench(*record, code=1).err


def test_a_scan_that_finds_nothing_says_what_was_tried(terminal, bench):
    process, address = terminal
    say(process, "power off")
    out, err = bench("scan", "dynamixel", f"port={address.split(':')[1]}", "baud=1000000", code=1)
    assert "1000000" in err
    assert "no servo answered" in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["scan", "nothing"], "no family 'nothing'"),
        (["scan", "dynamixel", "port"], "is not NAME=VALUE"),
        (["scan", "dynamixel", "port=/dev/nothing"], "there is no such port"),
        (["emulate", "nothing"], "there is no emulator of 'nothing'"),
        (["emulate", "nothing", "--list"], "there is no emulator of 'nothing'"),
        (["emulate", "dynamixel:nothing"], "nothing"),
        (["emulate", "dynamixel?baud=7"], "baud"),
        (["emulate", "dynamixel?colour=red"], "colour"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, reason, fails):
    assert reason in fails(*arguments)


def test_what_an_emulator_can_be_given_is_listed(bench):
    listed = bench("emulate", "dynamixel", "--list").out
    assert "usb_latency" in listed
    assert "mx106_2" in listed
    fields = bench("emulate", "dynamixel:xl330", "--list", "--json").data
    assert [field["name"] for field in fields] == [line.partition(":")[0] for line in listed.splitlines()]


def test_the_doctor_looks_at_the_buses(capsys):
    main(["doctor", "--json"])
    subjects = {finding["subject"] for finding in json.loads(capsys.readouterr().out)}
    assert {"dynamixel-sdk", "pyserial", "pysoem", "raw network sockets", "network interfaces"} <= subjects
    assert any(subject.startswith("serial port") for subject in subjects)


@pytest.mark.exhaustive("an emulator without a terminal, ended from outside")
def test_without_anything_to_read_an_emulator_goes_on_until_it_is_ended():
    command = [*BENCH, "emulate", "dynamixel:xl330", "--json"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        [address] = json.loads("".join(lines))["addresses"]
        assert os.path.exists(address.split(":")[1])
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
    finally:
        process.terminate()
        status = process.wait()
        process.stdout.close()
    assert status == 0, "ended like Ctrl+C, so that it leaves its bus"
