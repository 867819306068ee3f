"""Show a connected servo, clear its latched error, restart it, or change its registers. The motor stays off.

A servo that protected itself from overload, heat or a wrong supply voltage keeps its error until it is cleared, and
records nothing before. Remove the cause first.

Registers are those of servos on a serial bus. A change is shown and confirmed before it is written, and stays in the
servo without power. `centre` makes the present position of a Feetech servo the centre of its turn.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_gui.cli.terminal import add_json, print_json, print_table
from core.base.errors import InputError
from core.base.numbers import parse_whole
from drivers.errors import ServoFault

if TYPE_CHECKING:
    from drivers.servo import Servo

ACTIONS = {
    "info": "show what the servo reports, with its error",
    "clear": "clear the servo's error",
    "reboot": "restart the servo, with or without an error",
    "registers": "list the servo's registers",
    "set": "change registers, NAME=VALUE or as in a calibration",
    "centre": "make the present position the centre",
}

EXAMPLES = """\
examples:
  bench servo info dynamixel:/dev/ttyUSB0:1:2:1000000
  bench servo clear dynamixel:/dev/ttyUSB0:1:2:1000000
  bench servo reboot ethercat:eth0:1
  bench servo set feetech:/dev/ttyACM0:1 p_gain=16 return_delay_time=0
  bench servo set feetech:/dev/ttyACM0:3 --calibration so101.json:elbow_flex
  bench servo centre feetech:/dev/ttyACM0:1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `bench servo`."""
    parser.add_argument(
        "action", choices=ACTIONS, help="; ".join(f"{name}: {summary}" for name, summary in ACTIONS.items())
    )
    parser.add_argument("servo", metavar="ADDRESS", help="address of the servo, as `bench scan` lists it")
    parser.add_argument("changes", metavar="NAME=VALUE", nargs="*", help="registers to set, with their new contents")
    parser.add_argument(
        "--calibration",
        metavar="FILE:MOTOR",
        help="set homing offset and position limits as in LeRobot's calibration of a robot",
    )
    parser.add_argument("--yes", action="store_true", help="write without asking")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Perform the action and print the servo's state; return 1 if it has an error afterwards."""
    from drivers.registry import open_servo

    if arguments.action in ("registers", "set", "centre"):
        return _of_registers(arguments)
    if arguments.changes or arguments.calibration:
        raise InputError(f"{arguments.action} takes no registers; they are changed by: bench servo set")
    with open_servo(arguments.servo) as servo:
        servo.connect()
        before = servo.fault_reason
        if arguments.action == "clear":
            servo.acknowledge()
        elif arguments.action == "reboot":
            servo.reboot()
        facts = _facts(servo)
    after = facts["error"]
    if arguments.json:
        print_json(facts)
    elif arguments.action == "info":
        print_table(["fact", "value"], [[name, str(value)] for name, value in facts.items() if name != "warnings"])
        for warning in facts["warnings"]:
            print(f"note: {warning}")
    elif after:
        raise ServoFault(after)
    elif arguments.action == "clear" and not before:
        print(f"{facts['title']}: there was no error to clear")
    else:
        done = "cleared" if arguments.action == "clear" else "restarted"
        print(f"{facts['title']}: {done}" + (f"; before, {before.partition(';')[0]}" if before else ""))
    return 1 if after else 0


def _of_registers(arguments: argparse.Namespace) -> int:
    """Show or change registers; return 1 if the person does not agree to the changes."""
    from drivers.feetech.centre import centre, centring
    from drivers.registry import resolve
    from drivers.serial_bus.source import SerialSource

    wanted = _wanted(arguments)
    source = resolve(arguments.servo)
    if not isinstance(source, SerialSource):
        raise InputError(f"{arguments.servo}: only servos on a serial bus have registers that can be set here")
    if wanted.get("id", 0) > source.family.highest_id:
        raise InputError(f"id: {wanted['id']} is not possible; the highest is {source.family.highest_id}")
    with source.registers() as registers:
        if arguments.calibration and wanted.pop("id") != registers.id:
            raise InputError(f"{arguments.calibration} is another servo's calibration: its ID is not {registers.id}")
        if arguments.action == "registers":
            table = registers.table
            held = {name: registers.read_one(name) for name in table.registers}
            rows = [
                [str(table[name].address), name, str(value), "without power" if table[name].eeprom else ""]
                for name, value in held.items()
            ]
            print_json(held) if arguments.json else print_table(["address", "register", "content", "kept"], rows)
            return 0
        centres = arguments.action == "centre"
        changes = centring(registers) if centres else registers.differing(wanted)
        if not changes:
            print("the servo holds all of these already")
            return 0
        print_table(["register", "now", "then"], [[name, str(old), str(new)] for name, (old, new) in changes.items()])
        if not (arguments.yes or _agreed()):
            print("nothing was written")
            return 1
        centre(registers, changes) if centres else registers.keep({name: new for name, (_, new) in changes.items()})
    print("written, and read back")
    return 0


def _wanted(arguments: argparse.Namespace) -> dict[str, int]:
    """Return the registers to set."""
    from sessions.importers.datasets import calibrated_registers

    wanted: dict[str, int] = {}
    if arguments.calibration:
        path, _, motor = arguments.calibration.rpartition(":")
        if not path:
            raise InputError("--calibration is FILE:MOTOR, e.g. so101.json:elbow_flex")
        wanted |= calibrated_registers(Path(path), motor)
    for change in arguments.changes:
        name, _, value = change.partition("=")
        if name in wanted:
            raise InputError(f"{name} is given twice; give it once")
        try:
            wanted[name] = parse_whole(value)
        except ValueError as error:
            raise InputError(f"{change!r} is not NAME=VALUE: {error}") from None
    if bool(wanted) != (arguments.action == "set"):
        raise InputError(
            f"{arguments.action} takes no registers" if wanted else "state what to set: NAME=VALUE, or --calibration"
        )
    return wanted


def _agreed() -> bool:
    """Ask whether to write; raises InputError without an answer."""
    print("write this into the servo? [y/N] ", end="", flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise InputError("there was no answer; add --yes to write without asking")
    return answer.strip().lower() in ("y", "yes")


def _facts(servo: Servo) -> dict[str, Any]:
    identity = servo.identity
    reading, error = None, servo.fault_reason
    try:
        reading = servo.read()
    except ServoFault as fault:
        error = error or str(fault)
    facts: dict[str, Any] = {
        "servo": identity.model,
        "title": identity.title,
        "firmware": identity.firmware,
        "serial": identity.serial,
        "id": identity.id,
        "state": servo.state.name,
        "error": error,
    }
    for name in ("position", "supply_voltage", "temperature"):
        value = math.nan if reading is None else getattr(reading, name)
        facts[name] = None if math.isnan(value) else round(value, 4)
    return facts | dict(identity.facts) | {"warnings": list(identity.warnings)}
