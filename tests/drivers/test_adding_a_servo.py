"""The help page "Adding a servo", followed to the letter on a copy of the program, works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "resources" / "help" / "adding.md"

DEVICE = """
import math, os, pty, sys, termios, threading, tty
master, slave = pty.openpty()
tty.setraw(slave)
state = dict(position=0.0, on=0)

def serve():
    rest = b""
    while True:
        rest += os.read(master, 1024)
        *lines, rest = rest.split(b"\\n")
        for line in lines:
            word, *numbers = line.decode().split()
            if word == "P":
                # No more than a servo could turn between two looks of a machine that is busy.
                state.update(position=0.1 * float(numbers[0]), on=1)
            elif word == "T":
                state.update(on=1)
            elif word == "OFF":
                state.update(on=0)
            os.write(master, f"{state['position']} 0 0.1 12 30 {state['on']}\\n".encode())

threading.Thread(target=serve, daemon=True).start()
PORT = os.ttyname(slave)
"""

RECORD = f"""{DEVICE}
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.motion.recording import RunHeader
from core.servo.settings import ServoSettings
from core.motion.trajectories import make_trajectory
from drivers.recorder import Recorder
from drivers.registry import families

if __name__ == "__main__":
    assert "thumb" in [family.name for family in families()]
    spec = load_servo("thumb")
    settings = ServoSettings(servo="thumb", kp=spec.default_kp, supply_voltage=spec.supply_voltage)
    header = RunHeader(trajectory="sin_sin", bench=Bench(mass=0.1, length=0.1), settings=settings, rate=100.0)
    with Recorder("thumb:" + PORT) as recorder:
        recorder.start()
        recorder.record(make_trajectory("sin_sin", 1.0), header)
        result = recorder.wait()
        print(result.exit_status, result.samples > 0, result.reason)
    print("driven", state["on"])
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A copy of the program with what the page says put where the page says."""
    copy = tmp_path_factory.mktemp("program")
    for room in ("core", "drivers", "sessions", "bench_gui"):
        # Compiled kernels come along.
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(ROOT / "resources", copy / "resources", ignore=shutil.ignore_patterns("img", "examples"))
    blocks = re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [(name, own), *blocks] = blocks
    assert (name, own) == ("my.toml", (ROOT / "resources" / "new_servo.toml").read_text("utf-8"))
    assert [name for name, _ in blocks] == [
        "resources/servos/xx999.toml",
        "drivers/thumb/form.py",
        "drivers/thumb/__init__.py",
        "drivers/thumb/servo.py",
    ]
    for name, text in blocks:
        (copy / name).parent.mkdir(exist_ok=True)
        # The machine may be busier than the page allows for.
        (copy / name).write_text(text.replace("timeout=0.02", "timeout=60.0"), "utf-8")
    servo = re.sub(r"\[bus\.dynamixel\].*?(?=\[sources\])", "", blocks[0][1], flags=re.DOTALL)
    (copy / "resources/servos/thumb.toml").write_text(servo.replace('name = "xx999"', 'name = "thumb"'), "utf-8")
    return copy


def run(program, text, *arguments):
    script = program / "script.py"
    script.write_text(text, "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(program), str(ROOT / "tests" / "patience")))}
    ended = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=program, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_model_of_a_known_bus_is_one_file(program):
    text = "from bench_gui.cli import main; main(['models'])"
    assert "Dynamixel XX999" in run(program, text)


def test_a_made_up_model_is_emulated_found_and_driven(program):
    text = """
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.registry import emulator_source
from drivers.registry import open_servo
from drivers.servo import PositionGoal

if __name__ == "__main__":
    emulator = EmulatorProcess(emulator_source("dynamixel:xx999"))
    [address] = emulator.start(timeout=600.0)
    with open_servo(address) as servo:
        print(servo.connect().model)
        servo.command(PositionGoal(0.2))
        print(servo.read().position)
    emulator.close()
"""
    assert run(program, text).startswith("xx999\n")


def test_a_family_is_one_file_and_one_folder(program):
    assert run(program, RECORD) == "success True \ndriven 0\n"
