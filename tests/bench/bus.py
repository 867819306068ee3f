"""How regular recordings are while the window is busy: `python -m tests.bench.bus`, or as part of `make bench`.

Emulated servos in a process of their own, the real drivers, the window drawing live; once as the recorder asks for it
(real-time scheduling where it is allowed) and once without. Two cores have to carry all of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.bench.printing import line
from tests.bench.window import Bench, until

CASES = (
    ("simulated", "simulated:mx106", (200.0, 500.0, 1000.0)),
    ("Dynamixel", "dynamixel:xl330?baud=1000000", (200.0, 400.0)),
    ("Feetech", "feetech:sts3215", (200.0,)),
    ("EtherCAT", "ethercat:erob80_50", (200.0, 500.0)),
    ("EtherCAT, 1 ms", "ethercat:erob80_50", (1000.0,)),
)
FAST = {"EtherCAT, 1 ms": "&cycle=1"}
"""What is added to the address."""
SECONDS = 6.0
WITHOUT = ("setpriv", "--bounding-set=-sys_nice")
"""Runs a program that may not ask for real-time scheduling."""


def case(name: str, what: str, rates: tuple[float, ...]) -> None:
    """Record at each rate with one servo in a window of this process."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, what if what.startswith("simulated") else "simulated:mx106")
        controller = bench.controller
        if not what.startswith("simulated"):
            controller.connecting.emulation.start(what)
            until(lambda: controller.connecting.emulation.addresses or not controller.connecting.emulation.running)
            controller.connecting.choose_servo(controller.connecting.emulation.addresses[0] + FAST.get(name, ""))
        bench.connect()
        for rate in rates:
            controller.setup.rate = rate
            before = len(controller.library.runs)
            bench.record(SECONDS)
            until(lambda: controller.servo.view.phase.name == "RUN")
            pid = controller.servo.recorder._child.pid
            used, since = processor_time(pid), time.monotonic()
            until(lambda: controller.servo.view.phase.name != "RUN")
            share = (processor_time(pid) - used) / (time.monotonic() - since)
            until(lambda before=before: not controller.queue.active and len(controller.library.runs) > before)
            report(name, rate, controller, share)
        bench.window.leave()


def processor_time(pid: int) -> float:
    """Seconds of processor a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(name: str, rate: float, controller, share: float) -> None:
    """Print the figures of the newest run."""
    from sessions import Session

    library = controller.library
    recording = Session.open(library.path).load(library.runs[-1].id)
    cycles = np.cumsum(recording.channels["skipped_cycles"].astype(int) + 1)
    step = np.diff(recording.time) / np.diff(cycles)
    error = 1e6 * np.abs(step - 1.0 / rate)
    scheduling = "FIFO" if controller.servo.priority.startswith("SCHED_FIFO") else "normal"
    label = f"{name}, {rate:.0f} Hz, {scheduling}"
    line(
        f"{label}: period error p50 / p99 / max",
        f"{np.percentile(error, 50):.0f} / {np.percentile(error, 99):.0f} / {error.max():.0f} µs",
        f"std {1e6 * np.std(step):.0f} µs; {cycles[-1] - len(cycles)} of {cycles[-1]} cycles skipped, "
        f"{int(recording.channels['bus_errors'].sum())} bus errors",
    )
    bar = "≤ 15 %" if rate == 200.0 and name != "simulated" else ""
    line(f"{label}: processor used by the bus process", f"{100 * share:.1f} %", bar)


def main() -> None:
    """Each case in a process of its own, with and without real-time scheduling."""
    if len(sys.argv) > 1:
        case(*next(entry for entry in CASES if entry[0] == sys.argv[1]))
        return
    for prefix in ((), WITHOUT):
        if prefix and (os.geteuid() != 0 or shutil.which(prefix[0]) is None):
            line("without real-time scheduling", "skipped", f"needs root and {prefix[0]}")
            continue
        for name, _, _ in CASES:
            subprocess.run([*prefix, sys.executable, "-m", "tests.bench.bus", name], check=False)


if __name__ == "__main__":
    main()
