"""One cycle of the recorder's loop, and the release that ends everything.

A cycle waits for its deadline, checks whether it has to stop, sends the command, reads one block, delivers the row and
checks the limits. Deadlines are absolute. A cycle that comes too late replaces the last one that is due; the ones
before it are counted as skipped and never repeated. Time is the servo's clock, so that the same loop serves hardware in
real time and the simulated servo as fast as it can be computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from core.base.errors import ServoBenchError
from core.motion.recording import RunHeader, Sample
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import CommandError, DriverError, NoAnswer, NotReady
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.recorder.link import BUSY_REMEDY, Link, RunStopped
from drivers.recorder.run import Phase
from drivers.servo import Command, Release, Servo, ServoState


class Cycle:
    """Performs cycles with a connected servo. The caller owns the servo and closes it."""

    def __init__(self, servo: Servo, link: Link) -> None:
        self.servo = servo
        self.link = link
        self._clock = servo.clock
        self._state = ServoState.DISCONNECTED
        self.run = 0
        self._phase = Phase.IDLE
        self.held_torque = math.nan
        self.moment = self._clock.now()
        self._seen: Reading | None = None
        self.restart(1.0)
        self.tell_state()
        self.written = servo.settings()
        """Settings last read from the servo; None if it cannot report them."""

    def let_go(self, fault: str = "") -> None:
        """Release the servo at once; a fault text keeps it in FAULT until acknowledged."""
        if fault:
            self.servo.fault(fault)
        else:
            self.servo.release()
        self.tell_state()

    def watch(self) -> None:
        """Read the released servo once, for the live rows between runs."""
        self._observe(math.nan)

    def tell_state(self) -> None:
        """Report the servo's state if it changed, and always FAULT, because its release needs a time stamp."""
        state = self.servo.state
        self.link.driven(self.servo.may_be_driven)
        if state is not self._state or state is ServoState.FAULT:
            self._state = state
            self.link.state(state)

    def configure(self, settings: ServoSettings, limits: Limits) -> None:
        """Write gains and limits into the released servo and read the gains back."""
        self.link.quiet_for(timing.limits.configure)
        self.written = None
        try:
            self.servo.configure(settings, limits)
            self.written = self.servo.settings()
        finally:
            self.link.quiet_for(0.0)

    def mount(self, header: RunHeader, limits: Limits) -> None:
        """Set the servo up for a run or a hold, and start counting cycles at its rate."""
        self.link.quiet_for(timing.limits.configure)
        self.servo.mount(header.bench)
        self.configure(header.settings, limits)
        self.restart(header.rate)

    def begin_samples(self) -> int:
        """Start the samples' time and counts with the next cycle, and return its number."""
        self.skipped = self.bus_errors = 0
        self._missed = self._lost = 0
        self._begin_at = self.due
        return self._count

    def make(self, command: Command | None, goal: float = math.nan) -> Reading:
        """Perform one cycle outside a run.

        Args:
            command: Command to send; None leaves the servo as it is.
            goal: Goal shown in the live row [rad].
        """
        self.await_due()
        return self.act(command, goal)

    def await_due(self) -> int:
        """Wait for the next deadline and return the number of the due cycle; late ones are skipped."""
        self._clock.wait_until(self.due, self._interrupted)
        late = self._clock.now() - self.due
        if late > self._period:
            missed = int(late / self._period)
            self._missed += missed
            self.skipped += missed
            self._count += missed
            self.due = self._origin + self._count * self._period
        self._heed()
        if late > timing.limits.stall * self._clock.speed and self.servo.state is ServoState.ENABLED:
            raise RunStopped(
                "fail",
                f"the computer was busy: the recorder stood still for {1e3 * late / self._clock.speed:.0f} ms; "
                f"the servo was released; {BUSY_REMEDY}",
                fault=True,
                busy=True,
            )
        return self._count

    def act(
        self, command: Command | None, goal: float, keep: Callable[[tuple[Any, ...]], None] | None = None
    ) -> Reading:
        """Send the command, read, deliver the row and check the limits."""
        servo, before, since = self.servo, self._seen, self.moment
        was_driven = servo.state is ServoState.ENABLED
        commanded = math.nan
        if command is not None and not (type(command) is Release and servo.state is ServoState.READY):
            if servo.state is ServoState.READY:
                # Observers must know before the first byte that may drive the servo.
                self._state = ServoState.ENABLED
                self.link.driven(True)
                self.link.state(ServoState.ENABLED)
            servo.command(command)
            commanded = self._clock.now()
            self.tell_state()
            self._heed()
        try:
            reading = self._seen = self._observe(goal, commanded, keep)
        except NoAnswer as lost:
            reading = self._bridge(lost)
        self._count += 1
        self.due = self._origin + self._count * self._period
        driven = servo.state is ServoState.ENABLED
        violation = servo.limits.check(reading, driven=driven)
        if violation is None and driven and was_driven and before is not None:
            violation = servo.limits.check_jump(before, reading, self.moment - since)
        if violation is not None:
            raise RunStopped("fail", f"limit tripped: {violation}", fault=True)
        return reading

    def _bridge(self, lost: NoAnswer) -> Reading:
        """Return the last reading in place of a lost answer; raises the error if that reading is too old."""
        if self._seen is None or self._clock.now() - self.moment > timing.limits.blind * self._clock.speed:
            raise lost
        self._lost += 1
        self._missed += 1
        self.skipped += 1
        return self._seen

    def _count_errors(self) -> None:
        """Add the bus errors since the last sample to this one's count."""
        repeats = self.servo.repeats
        self._lost += repeats - self._repeats
        self._repeats = repeats
        self.bus_errors += self._lost

    def _observe(
        self, goal: float, commanded: float = math.nan, keep: Callable[[tuple[Any, ...]], None] | None = None
    ) -> Reading:
        """Read one block and deliver its row, stamped with its time, or the middle of the read if that is unknown.

        Args:
            goal: Goal of the row [rad]; NaN if nothing is commanded.
            commanded: Time of the command on the servo's clock [s]; NaN without one.
            keep: Receives the row of a run.
        """
        clock = self._clock
        before = clock.now()
        reading = self.servo.read()
        after = clock.now()
        self._count_errors()
        moment = self.moment = reading.moment if math.isfinite(reading.moment) else 0.5 * (before + after)
        begin = math.nan if keep is None else self._begin_at
        sample = Sample(
            time=moment - begin,
            # Without a command, the goal is the servo's position, so that every row is finite.
            goal_position=reading.position if math.isnan(goal) else goal,
            torque_enable=self.servo.state is ServoState.ENABLED,
            position=reading.position,
            velocity=reading.velocity,
            current=reading.current,
            duty_cycle=reading.duty_cycle,
            supply_voltage=reading.supply_voltage,
            temperature=reading.temperature,
            read_duration=after - before,
            command_time=commanded - begin,
            skipped_cycles=self._missed,
            bus_errors=self._lost,
        )
        self._missed = self._lost = 0
        self.link.publish((*sample, moment, self.run, self._phase, self.held_torque))
        if keep is not None:
            keep(sample)
        return reading

    def _interrupted(self) -> bool:
        return self.link.pending() is not None

    def _heed(self) -> None:
        stop = self.link.pending()
        if stop is not None:
            raise stop

    def enter(self, phase: Phase) -> None:
        """Begin a phase and publish it."""
        self._phase = phase
        self.link.phase(phase)

    def restart(self, rate: float) -> None:
        """Restart the count of cycles; the first one is due now."""
        self._period = 1.0 / rate
        self._origin = self.due = self._begin_at = self._clock.now()
        self._count = 0
        self._seen = None
        # Cycles without a sample, and failures on the bus: since the last sample, and in total.
        self._missed = self._lost = 0
        self.skipped = self.bus_errors = 0
        self._repeats = self.servo.repeats

    def is_fault(self, error: Exception) -> bool:
        """Return True if an error concerns the servo, which the user must check; False if the request was wrong."""
        if self.servo.state is ServoState.ENABLED:
            return True
        return isinstance(error, DriverError) and not isinstance(error, (CommandError, NotReady))


def describe(error: BaseException) -> str:
    """Return one line about an error; unexpected errors include their type."""
    if isinstance(error, ServoBenchError):
        return str(error)
    return f"{type(error).__name__}: {error}"
