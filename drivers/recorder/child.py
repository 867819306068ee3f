"""The recorder's process and its guardian, seen from the program: start, messages, detection of death, end."""

from __future__ import annotations

import os
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from drivers import timing
from drivers.recorder.control import Control
from drivers.recorder.guardian import GuardianSetup, guard
from drivers.recorder.messages import Event, Request
from drivers.recorder.process import RecorderSetup, serve
from drivers.recorder.ring import Ring
from drivers.recorder.run import LIVE_DTYPE, Phase
from drivers.registry import BlindlyReleased, ServoSource
from drivers.servo import CUT_THE_SUPPLY

RING_CAPACITY = 32768
"""Number of live rows kept: half a minute at 1 kHz."""
MAY_BE_ON = f"{CUT_THE_SUPPLY}: the motor may still be on"


class Child:
    """The process, the pipe to it and the memory shared with it."""

    def __init__(self, source: ServoSource, heartbeat_limit: float) -> None:
        self._source = source
        self._heartbeat_limit = heartbeat_limit
        self._context = get_context("spawn")
        self._control = Control(self._context)
        self.view = self._control.view()
        self.ring = Ring(self._context, LIVE_DTYPE, RING_CAPACITY)
        self._process: SpawnProcess | None = None
        self._guardian: SpawnProcess | None = None
        self._pipe: Connection | None = None

    @property
    def launched(self) -> bool:
        """True if it was started and not closed yet."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """Process id; None while it is not launched."""
        return self._process.pid if self._process is not None else None

    def launch(self) -> None:
        """Start the process and return at once."""
        here, there = self._context.Pipe()
        job = RecorderSetup(self._source, self._control, self.ring, os.getpid(), self._heartbeat_limit)
        self.view.stamp("beat")
        self.view.stamp("recorder_beat")
        self.view.announce("quiet_until", timing.limits.connect)
        # A daemon is terminated if the program ends without closing it, and releases the servo on that signal.
        process = self._context.Process(target=serve, args=(job, there), name="recorder", daemon=True)
        process.start()
        there.close()
        self._process, self._pipe = process, here
        if isinstance(self._source, BlindlyReleased):
            assert process.pid is not None
            guarding = GuardianSetup(self._source, self._control, process.pid)
            guardian = self._context.Process(target=guard, args=(guarding,), name="guardian", daemon=True)
            try:
                guardian.start()
            except BaseException:
                # The servo is not driven without its guardian; no process is left to hold its bus.
                self.close()
                raise
            self._guardian = guardian

    def send(self, request: Request) -> None:
        """Send a request.

        Raises:
            ConnectionError: if the process cannot take it.
        """
        if self._pipe is None:
            raise ConnectionError
        self._pipe.send(request)

    def receive(self) -> list[Event]:
        """Return the events since the last call, without waiting."""
        events: list[Event] = []
        with suppress(EOFError, ConnectionError):
            while self._pipe is not None and self._pipe.poll():
                events.append(self._pipe.recv())
        return events

    def wait(self, seconds: float) -> None:
        """Wait for an event, at most this long [s]."""
        with suppress(EOFError, ConnectionError):
            if self._pipe is not None:
                self._pipe.poll(seconds)

    @property
    def unguarded(self) -> bool:
        """True if the guardian ended before the recorder."""
        process, guardian = self._process, self._guardian
        if process is None or guardian is None or self.view.get("phase") == Phase.CLOSED:
            return False
        # In this order: a guardian ends soon after its recorder.
        return not guardian.is_alive() and process.is_alive()

    def death(self) -> str:
        """Return the reason why the process counts as dead, or an empty text."""
        process = self._process
        if process is None:
            return ""
        unguarded = self.unguarded
        if not process.is_alive():
            if self._guardian is not None:
                self._guardian.join(timing.limits.recorder_silence)
            ended = f"the recorder's process ended (exit code {process.exitcode})"
            if self.view.may_be_driven:
                return f"{MAY_BE_ON}; {ended}; connect again afterwards"
            released = "its guardian switched the motor off" if self.view.get("driven") else "the motor was off"
            return f"{ended}; {released}; connect again"
        if unguarded:
            return "the process that guards the servo is gone; connect again"
        if self.view.age("quiet_until") < 0:
            return ""
        silence = self.view.age("recorder_beat")
        if silence > timing.limits.recorder_silence:
            return f"{MAY_BE_ON}; no sign of life from the recorder for {silence:.1f} s; connect again afterwards"
        return ""

    def close(self) -> bool:
        """Ask the process to end, which releases the servo, then force it. Idempotent, bounded in time.

        Returns:
            False if the motor of a servo that has a guardian may still be on.
        """
        process, pipe, guardian = self._process, self._pipe, self._guardian
        if process is None:
            return True
        self.view.set("close_requested", 1)
        process.join(timing.limits.recorder_end)
        for end in (process.terminate, process.kill):
            if process.is_alive():
                end()
                process.join(timing.limits.recorder_end)
        if pipe is not None:
            pipe.close()
        if not process.is_alive():
            process.close()
        if guardian is not None:
            # The guardian ends after the recorder, once it has released a servo left driven, or continues alone.
            guardian.join(timing.limits.recorder_end)
            if guardian.is_alive():
                guardian.kill()
                guardian.join()
            guardian.close()
        self._process = self._guardian = self._pipe = None
        return guardian is None or not self.view.may_be_driven
