"""Search for servos on a bus and list the attempts; Ctrl+C ends the search and keeps the servos found."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from bench_gui.cli.terminal import add_json, add_progress, print_json, print_table
from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.base.words import counted
from drivers.errors import DriverError

if TYPE_CHECKING:
    from drivers.scan import Found, ScanStep


EXAMPLES = """\
examples:
  bench scan
  bench scan dynamixel port=/dev/ttyUSB0"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench scan`."""
    parser.add_argument("family", metavar="FAMILY", nargs="?", help="bus family, e.g. dynamixel (default: all)")
    parser.add_argument(
        "values", metavar="NAME=VALUE", nargs="*", help="settings of the bus, e.g. port=/dev/ttyUSB0 or interface=eth0"
    )
    add_json(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search and list the servos that answered; return 1 if none did."""
    from drivers.registry import families
    from drivers.scan import scan

    real = [family.name for family in families() if family.can_scan and family.name != "simulated"]
    values = _values(arguments.values)
    found: list[Found] = []
    problems: list[str] = []
    tried = _Tried(arguments.quiet or arguments.json)
    with Interrupt() as interrupt:
        for name in [arguments.family] if arguments.family else real:
            if interrupt.asked:
                break
            try:
                found += scan(name, values, tried.note, lambda: interrupt.asked)
            except DriverError as error:
                if arguments.family:
                    raise
                problems.append(f"{name}: {error}")
    tried.end()
    if arguments.json:
        print_json({"found": [dict(one.__dict__) for one in found], "tried": tried.count, "problems": problems})
        return 0 if found else 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if found:
        print_table(["address", "servo", ""], [[one.address, one.title, one.detail] for one in found])
        return 0
    print(
        f"no servo answered ({counted(tried.count, 'attempt')}); check power, cable and ID, or run `bench doctor`; "
        "`bench emulate dynamixel` emulates a servo",
        file=sys.stderr,
    )
    return 1


class _Tried:
    """Log of attempts; consecutive ones that differ only in their last word and had the same answer share a line."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._where = self._answer = ""
        self._alike = 0
        self.count = 0

    def note(self, step: ScanStep) -> None:
        """Add an attempt."""
        self.count += 1
        where = step.tried.rpartition(", ")[0] or step.tried
        if (where, step.answer) != (self._where, self._answer):
            self.end()
        self._where, self._answer = where, step.answer
        self._alike += 1

    def end(self) -> None:
        """Print the pending line."""
        if self._alike and not self._quiet:
            times = f" ({self._alike} times)" if self._alike > 1 else ""
            print(f"{self._where}: {self._answer}{times}", file=sys.stderr, flush=True)
        self._alike = 0


def _values(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, sign, value in pairs:
        if not (name and sign and value):
            raise InputError(f"{name or value!r} is not NAME=VALUE, e.g. port=/dev/ttyUSB0")
    return {name: value for name, _, value in pairs}
