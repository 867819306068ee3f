"""The connection of the loop to the outside while it drives: reasons to stop, and observers.

`SharedLink` serves the recorder's process: stops, heartbeats and live rows go through shared memory. `Unlinked` serves
a run in the caller's own process, which exceptions of the caller stop.
"""

from __future__ import annotations

import math
import os
from typing import Any, Protocol

from drivers import timing
from drivers.recorder.control import ControlView
from drivers.recorder.ring import RingWriter
from drivers.recorder.run import Phase
from drivers.recorder.signals import is_stopped
from drivers.servo import ServoState

EMERGENCY = "emergency stop"
BUSY_REMEDY = "close other programs or choose a lower rate, acknowledge and record the run again"


class RunStopped(Exception):
    """Raised inside the loop to end a run early."""

    def __init__(
        self, exit_status: str, reason: str, *, fault: bool = False, gentle: bool = False, busy: bool = False
    ) -> None:
        super().__init__(reason)
        self.exit_status = exit_status
        self.reason = reason
        self.fault = fault
        """True if the user has to acknowledge it before the servo moves again."""
        self.gentle = gentle
        """True if the servo may be driven back slowly; otherwise it is released at once."""
        self.busy = busy
        """True if the only problem is that the computer was too busy."""


class Link(Protocol):
    """The loop's connection to the outside; methods that are not overridden do nothing."""

    def pending(self) -> RunStopped | None:
        """Return the reason why the run has to stop, or None; called every cycle and every few milliseconds between."""
        return None

    def abort_heeded(self) -> None:
        """Note that every abort so far was obeyed; a later one counts again."""

    def quiet_for(self, seconds: float) -> None:
        """Announce that the next sign of life may take this long [s], the servo being released."""

    def state(self, state: ServoState) -> None:
        """Report the servo's state; called after each change, on a release once the servo has confirmed it."""

    def driven(self, may_be: bool) -> None:
        """Report whether the motor may be driven; False only once the servo has confirmed that it is off."""

    def phase(self, phase: Phase) -> None:
        """Report the current phase of the loop."""

    def progress(self, done: int, length: int, skipped_cycles: int, bus_errors: int) -> None:
        """Report the progress of the run, in cycles."""

    def held(self, torque: float) -> None:
        """Report the held torque [N·m]; NaN for none."""

    def publish(self, row: tuple[Any, ...]) -> None:
        """Publish a live row of LIVE_DTYPE."""


class Unlinked(Link):
    """No connection: a run in the caller's own process."""


class SharedLink:
    """Connection of the recorder's process: reads the control block, stamps its own heartbeat, feeds the ring."""

    def __init__(self, control: ControlView, ring: RingWriter, program: int, heartbeat_limit: float) -> None:
        self._control = control
        self._ring = ring
        self._program = program
        self.heartbeat_limit = heartbeat_limit
        self._stops_handled = 0
        self._aborts_handled = 0
        self._ends_handled = 0
        self._guarded = 0
        self._ending = ""

    def end(self, reason: str) -> None:
        """Ask the loop to stop for good; called by a signal handler."""
        self._ending = self._ending or reason

    def ending(self) -> str:
        """Return the reason why this process has to end, or an empty text."""
        if not self._ending:
            if os.getppid() != self._program:
                self._ending = "the program that ran the bench is gone"
            elif self._control.get("close_requested"):
                self._ending = "the program closed the recorder"
        return self._ending

    def guarded(self) -> bool:
        """Return True once the guardian is watching."""
        return bool(self._control.get("guarding"))

    def stop_requested(self) -> bool:
        """Return True while an emergency stop has not been handled yet."""
        return self._control.get("stop_requests") != self._stops_handled

    def stop_handled(self) -> None:
        """Note that the servo was released for every stop requested so far."""
        self._stops_handled = self._control.get("stop_requests")

    def may_acknowledge(self, stops_seen: int) -> bool:
        """Return True if the user who acknowledged had seen the last emergency stop."""
        return self._control.get("stop_requests") == stops_seen == self._stops_handled

    def begin_run(self, run: int, aborts_seen: int) -> None:
        """Begin a run that was requested after `aborts_seen` aborts: a later one counts, an older one does not."""
        self._aborts_handled = aborts_seen
        self._guarded = self._control.get("guarded_at")
        # An observer that sees the new run must not see the progress of the one before.
        self.progress(0, 0, 0, 0)
        self._control.set("run", run)

    def begin_hold(self, aborts_seen: int, ends_seen: int) -> None:
        """Begin a hold that was requested after so many aborts and ends of holds; only later ones count."""
        self._aborts_handled = aborts_seen
        self._ends_handled = ends_seen
        self._guarded = self._control.get("guarded_at")

    def wanted_torque(self) -> float:
        """Return the torque that the program wants held [N·m]; NaN once it wants the hold to end."""
        if self._control.get("hold_ends") != self._ends_handled:
            return math.nan
        return self._control.number("wanted_torque")

    def beat(self) -> None:
        """Give a sign of life to the program."""
        self._control.stamp("recorder_beat")

    def quiet_for(self, seconds: float) -> None:
        """Announce that the next sign of life may take this long [s], the servo being released."""
        # In this order, so that a reader that finds the announcement expired finds a fresh sign of life.
        self._control.stamp("recorder_beat")
        self._control.announce("quiet_until", seconds)

    def pending(self) -> RunStopped | None:
        """Return the most serious reason to stop: emergency, end of the process, guardian, silent program, abort."""
        self._control.stamp("recorder_beat")
        # The order matters: the most serious reason wins, and only a plain abort may return slowly.
        if self.stop_requested():
            return RunStopped("abort", EMERGENCY, fault=True)
        if ending := self.ending():
            return RunStopped("abort", ending)
        if self._control.get("guarded_at") != self._guarded:
            return RunStopped(
                "fail",
                f"the recorder stood still; its guardian switched the motor off; {BUSY_REMEDY}",
                fault=True,
                busy=True,
            )
        silence = self._control.age("beat")
        if silence > timing.limits.program_stopped and is_stopped(self._program) and self.heartbeat_limit < math.inf:
            return RunStopped(
                "fail",
                "the program was stopped, as by Ctrl-Z or a debugger; the servo was released; let the program "
                "continue, acknowledge and record the run again",
                fault=True,
            )
        if silence > self.heartbeat_limit:
            return RunStopped(
                "fail",
                f"the computer was busy or the program hung: the program gave no sign of life for {silence:.1f} s; "
                f"the servo was released; {BUSY_REMEDY}",
                fault=True,
                busy=True,
            )
        aborts = self._control.get("abort_requests")
        if aborts != self._aborts_handled:
            return RunStopped("abort", "aborted", gentle=True)
        return None

    def abort_heeded(self) -> None:
        """Note that every abort so far was obeyed."""
        self._aborts_handled = self._control.get("abort_requests")

    def state(self, state: ServoState) -> None:
        """Publish the servo's state and, for the first release after an emergency stop, its time."""
        self._control.set("servo_state", state)
        asked = self._control.get("stop_requested_at")
        if state is not ServoState.ENABLED and self._control.get("stop_released_at") < asked:
            self._control.stamp("stop_released_at")

    def driven(self, may_be: bool) -> None:
        """Publish whether the motor may be driven."""
        self._control.set("driven", may_be)

    def phase(self, phase: Phase) -> None:
        """Publish the phase."""
        self._control.set("phase", phase)

    def progress(self, done: int, length: int, skipped_cycles: int, bus_errors: int) -> None:
        """Publish the progress of the run."""
        self._control.set("run_length", length)
        self._control.set("run_done", done)
        self._control.set("skipped_cycles", skipped_cycles)
        self._control.set("bus_errors", bus_errors)

    def held(self, torque: float) -> None:
        """Publish the held torque."""
        self._control.set_number("held_torque", torque)

    def publish(self, row: tuple[Any, ...]) -> None:
        """Push a row into the ring."""
        self._ring.push(row)
