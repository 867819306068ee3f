"""What the loop is connected to while it drives: who may stop it, and who watches.

`SharedLink` is the recorder's process: stops, heartbeats and live rows go through shared memory. `Unlinked` is a
run in the caller's own process, where the caller's exceptions stop it.
"""

from __future__ import annotations

import math
import os
from typing import Any, Protocol

from drivers.recorder.control import ControlView
from drivers.recorder.ring import RingWriter
from drivers.recorder.run import Phase
from drivers.servo import ServoState

HEARTBEAT_LIMIT = 0.2
"""A driven servo is released when the program gave no sign of life for this long [s]."""

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
        """Whether a person has to acknowledge it before the servo moves again."""
        self.gentle = gentle
        """Whether the servo may be driven back slowly; otherwise it is released at once."""
        self.busy = busy
        """Whether nothing is wrong but that the computer was too busy."""


class Link(Protocol):
    """The loop's view of the world outside it; what is not overridden does nothing."""

    def pending(self) -> RunStopped | None:
        """Return why the run has to stop, or None; called every cycle and every few milliseconds between."""
        return None

    def abort_heeded(self) -> None:
        """Note that every abort so far was heeded; a later one counts again."""

    def quiet_for(self, seconds: float) -> None:
        """Announce that the next sign of life may take this long [s], the servo being released."""

    def state(self, state: ServoState) -> None:
        """Tell the servo's state; called after each change, on a release once the servo has confirmed it."""

    def driven(self, may_be: bool) -> None:
        """Tell whether the motor may be driven; False only once the servo has confirmed that it is off."""

    def phase(self, phase: Phase) -> None:
        """Tell what the loop is doing."""

    def progress(self, done: int, length: int, skipped_cycles: int, bus_errors: int) -> None:
        """Tell how far the run is, in cycles."""

    def held(self, torque: float) -> None:
        """Tell which torque is held [N·m]; NaN: none."""

    def publish(self, row: tuple[Any, ...]) -> None:
        """Hand out a live row of LIVE_DTYPE."""


class Unlinked(Link):
    """Nobody outside: a run in the caller's own process."""


class SharedLink:
    """The recorder's process: looks at the control block, stamps its own heartbeat, feeds the ring."""

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
        """Return why this process has to end, or an empty text."""
        if not self._ending:
            if os.getppid() != self._program:
                self._ending = "the program that ran the bench is gone"
            elif self._control.get("close_requested"):
                self._ending = "the program closed the recorder"
        return self._ending

    def guarded(self) -> bool:
        """Whether the guardian watches by now."""
        return bool(self._control.get("guarding"))

    def stop_requested(self) -> bool:
        """Whether an emergency stop has not been handled yet."""
        return self._control.get("stop_requests") != self._stops_handled

    def stop_handled(self) -> None:
        """Note that the servo was released for every stop requested so far."""
        self._stops_handled = self._control.get("stop_requests")

    def may_acknowledge(self, stops_seen: int) -> bool:
        """Whether the person who acknowledged had seen the last emergency stop."""
        return self._control.get("stop_requests") == stops_seen == self._stops_handled

    def begin_run(self, run: int, aborts_seen: int) -> None:
        """Begin a run that was asked for after `aborts_seen` aborts: a later one counts, an older one does not."""
        self._aborts_handled = aborts_seen
        self._guarded = self._control.get("guarded_at")
        # Whoever sees the new run must not see how far the one before it came.
        self.progress(0, 0, 0, 0)
        self._control.set("run", run)

    def begin_hold(self, aborts_seen: int, ends_seen: int) -> None:
        """Begin a hold that was asked for after so many aborts and ends of holds: only later ones concern it."""
        self._aborts_handled = aborts_seen
        self._ends_handled = ends_seen
        self._guarded = self._control.get("guarded_at")

    def wanted_torque(self) -> float:
        """Torque the program wants held [N·m]; NaN once it wants the hold to end."""
        if self._control.get("hold_ends") != self._ends_handled:
            return math.nan
        return self._control.number("wanted_torque")

    def beat(self) -> None:
        """Give a sign of life to the program."""
        self._control.stamp("recorder_beat")

    def quiet_for(self, seconds: float) -> None:
        """Announce that the next sign of life may take this long [s], the servo being released."""
        # In this order, so that whoever finds the announcement over finds a fresh sign of life.
        self._control.stamp("recorder_beat")
        self._control.announce("quiet_until", seconds)

    def pending(self) -> RunStopped | None:
        """Return the gravest reason to stop: emergency, end of the process, guardian, silent program, abort."""
        self._control.stamp("recorder_beat")
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
        if silence > self.heartbeat_limit:
            return RunStopped(
                "fail",
                f"the computer was busy: the program gave no sign of life for {1e3 * silence:.0f} ms; the servo was "
                f"released; {BUSY_REMEDY}",
                fault=True,
                busy=True,
            )
        aborts = self._control.get("abort_requests")
        if aborts != self._aborts_handled:
            return RunStopped("abort", "aborted", gentle=True)
        return None

    def abort_heeded(self) -> None:
        """Note that every abort so far was heeded."""
        self._aborts_handled = self._control.get("abort_requests")

    def state(self, state: ServoState) -> None:
        """Publish the servo's state, and for the first release after an emergency stop its moment."""
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
        """Publish how far the run is."""
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
