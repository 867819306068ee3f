"""Emulate a servo on its bus; drivers talk to it as to hardware.

Commands on standard input plant faults and read the state; type help for a list.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from bench_gui.cli.terminal import add_json, print_json
from drivers.errors import CommandError

if TYPE_CHECKING:
    from drivers.emulators.process import Emulator

PROMPT = "> "
CHUNK = 4096


EXAMPLES = """\
examples:
  bench emulate dynamixel:xl330?id=3
  bench emulate dynamixel --list"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench emulate`."""
    parser.add_argument(
        "emulator",
        metavar="BUS[:SERVO][?NAME=VALUE&…]",
        help="bus, servo and settings, e.g. dynamixel, dynamixel:xl330?id=3, ethercat:erob80_50",
    )
    parser.add_argument("--list", action="store_true", help="list the settings of this bus and exit")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Serve until standard input closes, or until the process ends if there is no input."""
    from drivers.emulators.process import interrupt_on_termination
    from drivers.emulators.registry import emulator_family, emulator_source
    from drivers.simulated.hand import SharedHand

    if arguments.list:
        fields = emulator_family(arguments.emulator).fields
        if arguments.json:
            print_json([asdict(field) for field in fields])
            return
        for field in fields:
            given = ", ".join(value for _, value in field.choices) or field.kind
            print(f"{field.name}: {field.tip} ({given}; default {field.default or 'none'} {field.unit})")
        return
    source = emulator_source(arguments.emulator)
    interrupt_on_termination()
    emulator = source.open(SharedHand())
    try:
        if arguments.json:
            print_json({"addresses": list(emulator.addresses)})
        else:
            for address in emulator.addresses:
                print(f"connect to {address}")
        sys.stdout.flush()
        _serve(emulator, arguments.json)
    finally:
        emulator.close()


def _serve(emulator: Emulator, quiet: bool) -> None:
    from drivers.emulators.process import hurry
    from drivers.emulators.process import run as serve

    hurry()
    terminal = sys.stdin.isatty()
    console = _Lines(emulator, terminal and not quiet)
    if not console.ended:
        serve(emulator, sys.stdin.fileno(), console.heed)
    if console.ended and not terminal and not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        # Without input (`< /dev/null &`), the emulator serves until the process is ended.
        with _silence() as nothing:
            serve(emulator, nothing, lambda: True)


@contextmanager
def _silence() -> Iterator[int]:
    """Return a file descriptor that never becomes readable."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


class _Lines:
    """Console on standard input and output."""

    def __init__(self, emulator: Emulator, prompt: bool) -> None:
        self._console = emulator.console
        self._prompt = prompt
        self._rest = b""
        self.ended = False
        if prompt:
            print("type help for a list of commands, Ctrl+D to exit")
            self._ask()

    def heed(self) -> bool:
        """Execute the typed lines; return False at the end of the input."""
        chunk = os.read(sys.stdin.fileno(), CHUNK)
        if not chunk:
            self.ended = True
            return False
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            if text in ("quit", "exit"):
                return False
            self._answer(text)
        return True

    def _answer(self, line: str) -> None:
        try:
            answer = self._console.execute(line)
        except CommandError as error:
            answer = str(error)
        if answer:
            print(answer)
        if self._prompt:
            self._ask()
        sys.stdout.flush()

    def _ask(self) -> None:
        print(PROMPT, end="", flush=True)
