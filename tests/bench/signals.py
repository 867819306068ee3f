"""Which signals leave a motor driven: `python -m tests.bench.signals`, or `make bench WHAT=signals`.

Every signal of a terminal or another program, to each process or to all of a terminal's, while `bench record`,
`bench place` and the window drive an emulated MX-106, which has no watchdog, with the product's own limits.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.bench.printing import line
from tests.drivers.faults.programs import ENDED, PROGRAMS, STOPPED, running
from tests.drivers.faults.rig import Rig, rig_with
from tests.waiting import wait_until

SERVO = "dynamixel:mx106"
LIMIT = 1.0
"""The motor is off this long after a signal that ends or stops the last process in charge [s]."""
WITHOUT_ANSWER = (signal.SIGKILL, signal.SIGSTOP)
SIGNALS = (*STOPPED, *ENDED, *WITHOUT_ANSWER)
TARGETS = ("program", "group", "recorder", "guardian")


def family(process: int) -> Iterator[int]:
    """The process and all that descend from it."""
    yield process
    with suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text("utf-8").split():
            yield from family(int(child))


def holders(process: int, port: str) -> tuple[int, int]:
    """The recorder, which has the port open, and the guardian of a program; both lead sessions of their own."""
    leaders = [pid for pid in family(process) if pid != process and os.getsid(pid) == pid]
    open_in = {pid: {os.path.realpath(file) for file in Path(f"/proc/{pid}/fd").iterdir()} for pid in leaders}
    [recorder] = [pid for pid in leaders if os.path.realpath(port) in open_in[pid]]
    [guardian] = [pid for pid in leaders if pid != recorder]
    return recorder, guardian


def goes_on(process: int) -> bool:
    """Whether a process is neither stopped nor over."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in "TtZX"
    except OSError:
        return False


def seconds_to_release(made: Rig) -> float:
    """Until the emulator's motor is off; infinite when it is not within a few seconds."""
    begin = time.perf_counter()
    while (took := time.perf_counter() - begin) < 5.0 * LIMIT:
        if not made.driven():
            return took
    return float("inf")


def case(program: str, number: signal.Signals, target: str) -> tuple[float, bool]:
    """From a signal to the motor being off [s], and whether program and recorder go on, in charge of the servo."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = stack.enter_context(rig_with(SERVO, folder))
        owner = stack.enter_context(running(PROGRAMS[program], made.address, folder))
        wait_until(made.driven)
        time.sleep(0.5)  # well into the run or the hold
        recorder, guardian = holders(owner, str(folder / "port"))
        if target == "group":
            os.killpg(owner, number)
        else:
            os.kill({"program": owner, "recorder": recorder, "guardian": guardian}[target], number)
        took = seconds_to_release(made)
        in_charge = goes_on(owner) and goes_on(recorder)
        for stopped in (recorder, guardian):
            with suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGCONT)
        return took, in_charge


def main() -> int:
    """Print the time of each case; not 0 when a motor stayed on with nobody in charge."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--program", choices=list(PROGRAMS), action="append")
    parser.add_argument("--target", choices=TARGETS, action="append")
    chosen = parser.parse_args()
    late = cases = 0
    for program in chosen.program or PROGRAMS:
        for target in chosen.target or TARGETS:
            for number in SIGNALS:
                took, in_charge = case(program, number, target)
                cases += 1
                bad = took > LIMIT and not in_charge
                late += bad
                text = f"{1e3 * took:.0f} ms" if took <= LIMIT else "goes on" if in_charge else "DRIVEN"
                line(f"{program}: {number.name} to the {target}, motor off after", text, "late" if bad else "")
    line("cases in which a motor was driven with nobody in charge", f"{late} of {cases}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
