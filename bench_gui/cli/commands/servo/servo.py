"""Show a connected servo, clear the error that it has latched, or restart it. The motor stays off.

A servo that protected itself from overload, heat or a wrong supply voltage keeps its error until it is cleared, and
records nothing before. Remove the cause first.
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from bench_gui.cli.terminal import add_json, print_json, print_table
from drivers.errors import ServoFault

if TYPE_CHECKING:
    from drivers.servo import Servo

ACTIONS = {
    "info": "show what the servo reports, with its error",
    "clear": "clear the servo's error",
    "reboot": "restart the servo, with or without an error",
}

EXAMPLES = """\
examples:
  bench servo info dynamixel:/dev/ttyUSB0:1:2:1000000
  bench servo clear dynamixel:/dev/ttyUSB0:1:2:1000000
  bench servo reboot ethercat:eth0:1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench servo`."""
    parser.add_argument(
        "action", choices=ACTIONS, help="; ".join(f"{name}: {summary}" for name, summary in ACTIONS.items())
    )
    parser.add_argument("servo", metavar="ADDRESS", help="address of the servo, as `bench scan` lists it")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Perform the action and print the servo's state; return 1 if it has an error afterwards."""
    from drivers.registry import open_servo

    with open_servo(arguments.servo) as servo:
        servo.connect()
        before = servo.fault_reason
        if arguments.action == "clear":
            servo.acknowledge()
        elif arguments.action == "reboot":
            servo.reboot()
        facts = _facts(servo)
        after = servo.fault_reason
    if arguments.json:
        print_json(facts)
    elif arguments.action == "info":
        print_table(["fact", "value"], [[name, str(value)] for name, value in facts.items() if name != "warnings"])
        for warning in facts["warnings"]:
            print(f"note: {warning}")
    elif arguments.action == "clear" and not before:
        print(f"{facts['title']}: there was no error to clear")
    else:
        done = "cleared" if arguments.action == "clear" else "restarted"
        print(f"{facts['title']}: {done}" + (f"; before, {before.partition(';')[0]}" if before else ""))
    return 1 if after else 0


def _facts(servo: Servo) -> dict[str, Any]:
    identity = servo.identity
    facts: dict[str, Any] = {
        "servo": identity.model,
        "title": identity.title,
        "firmware": identity.firmware,
        "serial": identity.serial,
        "id": identity.id,
        "state": servo.state.name,
        "error": servo.fault_reason,
    }
    try:
        reading = servo.read()
    except ServoFault:  # its error, which is in the facts
        reading = None
    for name in ("position", "supply_voltage", "temperature"):
        value = math.nan if reading is None else getattr(reading, name)
        facts[name] = None if math.isnan(value) else round(value, 4)
    return facts | dict(identity.facts) | {"warnings": list(identity.warnings)}
