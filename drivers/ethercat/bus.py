"""The thread that keeps a bus alive: one frame per cycle from SAFEOP until the end, whatever other threads do.

A drive needs its frames also between runs, while settings are written and while a run is stored; otherwise its watchdog
stops it. The frames therefore have their own thread, beside the thread that uses the servo. The two do not disturb each
other: the servo's thread waits on `BusClock` for the cycle that came back, works for some 0.1 ms and waits again, while
this one sleeps. `CyclicDrive` detects a servo's thread that hangs; the drive's own watchdog detects a process that
hangs or is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from drivers import timing
from drivers.errors import BusError, DriverError, ServoFault
from drivers.ethercat.dc import BusClock, PhaseLock
from drivers.ethercat.drive import CyclicDrive
from drivers.ethercat.master import OP, AlState, Master
from drivers.ethercat.pdo import Image
from drivers.priority import raise_priority

FIFO_PRIORITY = 51
"""Priority above that of the recorder's loop: this thread works for a tenth of each cycle."""
WATCH_PERIOD = 0.1
"""Pause between two checks of the slave's own state and its mailbox [s]."""
LATEST = 0.5
"""Delay of a frame, as a share of a cycle, beyond which it is skipped."""
MOST_MESSAGES = 16

T = TypeVar("T")


class Bus:
    """Cycles of one master with one drive."""

    def __init__(
        self, master: Master, drive: CyclicDrive, clock: BusClock, outputs: Image, inputs: Image, *, pulses: bool
    ) -> None:
        """Prepare the cycles.

        Args:
            master: The master.
            drive: The drive.
            clock: Its clock.
            outputs: Layout of the outputs.
            inputs: Layout of the inputs.
            pulses: True if the drive runs by SYNC0, so that frames have to keep in step with it.
        """
        self.lock = PhaseLock(clock.cycle) if pulses else None
        self._looked_at = 0.0
        self._master = master
        self._drive = drive
        self._clock = clock
        self._outputs, self._inputs = outputs, inputs
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ethercat", daemon=True)

    def start(self) -> None:
        """Start the cycles."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while the cycles run."""
        return self._thread.is_alive()

    def stop(self) -> bool:
        """End the cycles; return True if they have ended."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(timing.limits.ethercat_thread_end)
        return not self._thread.is_alive()

    def look(self, limit: float) -> AlState:
        """Read the slave's present state.

        Args:
            limit: Longest wait [s].

        Raises:
            BusError: if there is no answer in time.
        """
        return self._do(self._look, limit)

    def request(self, state: int) -> None:
        """Request another state of the slave.

        Raises:
            BusError: if the bus is not free in time.
        """
        self._do(lambda: self._master.request(state), timing.limits.ethercat_request)

    def empty_mailbox(self) -> None:
        """Read the slave's reports about past errors.

        Raises:
            BusError: if the bus is not free in time.
        """
        self._do(
            lambda: any(not self._master.fetch_emergency() for _ in range(MOST_MESSAGES)),
            timing.limits.ethercat_request,
        )

    def _do(self, job: Callable[[], T], limit: float) -> T:
        """Run a job on the master between two cycles; return its result or raise its error."""
        future: Future[T] = Future()
        self._jobs.put((future, job))
        try:
            return future.result(limit)
        except NotDone:
            raise BusError(f"the bus was not free for {1e3 * limit:.0f} ms; check the processor's load") from None

    def _run(self) -> None:
        raise_priority(FIFO_PRIORITY)
        cycle = self._clock.cycle
        deadline = timing.now() + cycle
        lasting = cycle
        in_place = self.lock is None
        while not self._ending.is_set():
            left = deadline - timing.now()
            if left > 0.0:
                timing.sleep(left)
            late = timing.now() - deadline
            moment = self._clock.begin(deadline, lasting)
            try:
                came = self._exchange()
                self._clock.complete(moment)
                if came and self.lock is not None:
                    bus_time = self._master.bus_time(cycle)
                    if not in_place:
                        deadline += self.lock.first_shift(bus_time, late)
                        in_place = True
                    else:
                        lasting = cycle + self.lock.correction(bus_time, late)
                self._attend(came)
            except Exception as error:  # the thread must continue, or the drive could not be released
                known = error if isinstance(error, DriverError) else BusError(f"{type(error).__name__}: {error}")
                self._drive.fail(known)
                self._clock.complete(moment)
            deadline += lasting
            while timing.now() - deadline > LATEST * cycle:
                deadline += cycle

    def _exchange(self) -> bool:
        """Exchange one frame; return True if it came back from every slave."""
        begun = timing.now()
        sent = self._drive.outputs(begun)
        data = self._master.exchange(self._outputs.pack(sent))
        back = timing.now()
        self._drive.take(None if data is None else self._inputs.unpack(data), 0.5 * (begun + back), sent)
        if self._drive.in_service and self._master.hears_another():
            self._drive.fail(
                ServoFault(
                    "another master sent frames to the drive; end the other program or unplug the other controller, "
                    "then acknowledge"
                )
            )
        return data is not None

    def _attend(self, came: bool) -> None:
        """Perform the checks that are not done every cycle."""
        with suppress(Empty):
            future, job = self._jobs.get_nowait()
            try:
                future.set_result(job())
            except Exception as error:
                future.set_exception(error)
            self._master.forget_frames()
            return
        # On a dead wire a check blocks every other thread for 14 ms; the drive counts lost frames anyway.
        if not came or not self._drive.in_service or timing.now() - self._looked_at < WATCH_PERIOD:
            return
        state = self._look()
        if state.base and (state.base != OP or state.code):
            self._drive.fail(ServoFault(f"the drive left OP: it is in {state}; acknowledge to start it again"))
        self._master.fetch_emergency()
        self._master.forget_frames()

    def _look(self) -> AlState:
        state = self._master.al_state()
        self._looked_at = timing.now()
        return state
