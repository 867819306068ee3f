"""How soon a driven servo is released, whatever happens: `python -m tests.bench.release`, or `make bench WHAT=release`.

The product's own limits in real time, with a servo that obeys at once: what tests stretch for a busy machine's sake.
Times are from the event to the motor being off, as the servo's shared log has them.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context

from drivers.limits import Limits
from drivers.recorder import Recorder
from tests.bench.printing import line
from tests.drivers.fake_servo import GuardedSource
from tests.drivers.recording_program import HEADER, LONG

REPEATS = 10
BEATEN = 1.0
"""How long a servo is driven before something happens [s]."""
PATIENCE = 5.0
"""A servo that is driven after this time stays driven [s]."""
Event = Callable[[Recorder, GuardedSource], None]


def stop(recorder: Recorder, source: GuardedSource) -> None:
    """Press the emergency stop."""
    recorder.emergency_stop()


def fall_silent(recorder: Recorder, source: GuardedSource) -> None:
    """Beat once more."""
    recorder.beat()


def program(source: GuardedSource, held: bool) -> None:
    """Drive a servo and beat, as a process of its own that is stopped."""
    with Recorder(source, limits=Limits(speed=1000.0, torque=2.0)) as recorder:
        begin(recorder, held)
        while True:
            recorder.beat()
            time.sleep(0.01)


def begin(recorder: Recorder, held: bool) -> None:
    """Start a run or a held torque."""
    recorder.start()
    if held:
        recorder.hold(0.1, HEADER)
    else:
        recorder.record(LONG, HEADER)


def kill(recorder: Recorder, source: GuardedSource) -> None:
    """Kill the recorder's process."""
    os.kill(source.log["pid"], signal.SIGKILL)


def suspend(recorder: Recorder, source: GuardedSource) -> None:
    """Stop the recorder's process, as a debugger does."""
    os.kill(source.log["pid"], signal.SIGSTOP)


EVENTS: dict[str, tuple[Event | None, float]] = {
    "emergency stop": (stop, 0.050),
    "program that hangs": (fall_silent, 1.500),
    "program stopped": (None, 0.200),
    "recorder killed": (kill, 0.250),
    "recorder stopped": (suspend, 0.250),
}
"""An event's name to what causes it, None for a process of its own, and the time until the motor has to be off [s]."""
SLACK = 0.010
"""A silent program is noticed by the first look after its time [s]."""


def seconds_to_release(event: Event, held: bool) -> float:
    """From an event in a run or while a torque is held to the motor being off [s]; infinite when it stays on."""
    source = GuardedSource()
    log = source.log
    with Recorder(source, limits=Limits(speed=1000.0, torque=2.0)) as recorder:
        begin(recorder, held)
        driven_since = float("inf")
        while time.perf_counter() - driven_since < BEATEN:
            recorder.beat()
            time.sleep(0.01)
            if log["driven"]:
                driven_since = min(driven_since, time.perf_counter())
        since = time.perf_counter_ns()
        event(recorder, source)
        took = until_off(source, since)
        if event is suspend:
            os.kill(log["pid"], signal.SIGCONT)
    return took


def until_off(source: GuardedSource, since: int) -> float:
    """Wait for the motor to be off; returns the time since a moment [ns] in seconds, infinite when it stays on."""
    while source.log["driven"] and time.perf_counter_ns() - since < 1e9 * PATIENCE:
        time.sleep(0.001)
    return float("inf") if source.log["driven"] else 1e-9 * (source.log["released_at"] - since)


def seconds_to_release_by_a_stopped_program(held: bool) -> float:
    """From a program's SIGSTOP to the motor being off [s]."""
    source = GuardedSource()
    owner = get_context("spawn").Process(target=program, args=(source, held))
    owner.start()
    assert owner.pid is not None
    while not source.log["driven"] and owner.is_alive():
        time.sleep(0.01)
    time.sleep(BEATEN)
    since = time.perf_counter_ns()
    os.kill(owner.pid, signal.SIGSTOP)
    took = until_off(source, since)
    owner.kill()
    owner.join()
    return took


def main() -> int:
    """Print each event's times beside its limit; not 0 when one took longer."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    repeats = parser.parse_args().repeats
    late = 0
    for name, (event, limit) in EVENTS.items():
        for held in (False, True):
            took = [
                seconds_to_release(event, held) if event is not None else seconds_to_release_by_a_stopped_program(held)
                for _ in range(repeats)
            ]
            allowed = limit + SLACK * name.startswith("program")
            late += max(took) > allowed
            line(
                f"{name}, {'torque held' if held else 'in a run'}: motor off, median / longest of {repeats}",
                f"{1e3 * statistics.median(took):.1f} / {1e3 * max(took):.1f} ms",
                f"limit {1e3 * allowed:.0f} ms{', late' if max(took) > allowed else ''}",
            )
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
