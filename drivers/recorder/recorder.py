"""The program's side of the recorder.

    recorder = Recorder("simulated:mx106")
    identity = recorder.start()
    recorder.record(trajectory, header, sink)
    result = recorder.wait()          # or beat() and poll() from a timer until a RunFinished comes

The one who holds a recorder must call `beat()` at least every 100 ms while a run is on, from the thread whose life
matters: the window's timer, the command line's loop. There is no hidden thread that would go on for a program that
hangs. When the beats stop the servo is released.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Self

from core.recording import RunHeader, SinkDescription
from core.trajectories import Trajectory
from drivers.errors import DriverError, NotReady, RecorderDied
from drivers.limits import Limits
from drivers.recorder.control import Control
from drivers.recorder.link import HEARTBEAT_LIMIT
from drivers.recorder.loop import RunJob
from drivers.recorder.messages import (
    Acknowledged,
    AcknowledgeRequest,
    Connected,
    ConnectFailed,
    Event,
    Faulted,
    RecordRequest,
    RunFinished,
)
from drivers.recorder.process import CONNECT_LIMIT, ServeJob, serve
from drivers.recorder.ring import Ring, RingReader
from drivers.recorder.run import LIVE_DTYPE, Phase, RunPlan, RunResult
from drivers.registry import ServoSource, resolve
from drivers.servo import ServoIdentity, ServoState

RING_CAPACITY = 32768
"""Live rows kept: half a minute at 1 kHz."""
SILENCE_LIMIT = 0.5
"""A recorder's process without a sign of life for this long [s] counts as dead."""
PATIENCE = 5.0
"""A process asked to end gets this long [s], then a signal, then this long again."""
WAIT_STEP = 0.02
"""[s]"""


@dataclass(frozen=True, kw_only=True)
class RecorderStatus:
    """One look at the recorder."""

    state: ServoState
    phase: Phase
    fault: str
    """Why the state is FAULT, as far as it is known here yet."""
    run: int
    done: int
    """Cycles of the run so far."""
    length: int
    """Cycles of the whole run."""
    skipped_cycles: int
    priority: str
    """How the loop is scheduled, and why not better if so; empty before the servo is connected."""


class Recorder:
    """Owns the process that owns the servo. One thread uses it; `emergency_stop` may be called from any."""

    def __init__(
        self,
        source: str | ServoSource,
        *,
        limits: Limits | None = None,
        heartbeat_limit: float = HEARTBEAT_LIMIT,
    ) -> None:
        """source: an address or a picklable description; limits None: the servo's own.

        heartbeat_limit: the servo is released when `beat` was not called for this long [s]. Raises AddressError.
        """
        self._source = resolve(source)
        self._limits = limits
        self._heartbeat_limit = heartbeat_limit
        self._context = get_context("spawn")
        self._control = Control(self._context)
        self._view = self._control.view()
        self._ring = Ring(self._context, LIVE_DTYPE, RING_CAPACITY)
        self._latest = RingReader(self._ring)
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._identity: ServoIdentity | None = None
        self._priority = ""
        self._fault = ""
        self._dead = ""
        self._runs = 0
        self._busy = False
        self._result: RunResult | None = None

    # Beginning and end.

    def launch(self) -> None:
        """Start the process and return at once; `poll` brings Connected or ConnectFailed. Raises NotReady."""
        if self._process is not None:
            raise NotReady("the recorder was started already; make a new one for another servo")
        here, there = self._context.Pipe()
        job = ServeJob(self._source, self._control, self._ring, os.getpid(), self._heartbeat_limit)
        self.beat()
        self._view.stamp("recorder_beat")
        self._view.announce("quiet_until", CONNECT_LIMIT)
        # A daemon is terminated when the program ends without closing it, and releases the servo on that signal.
        process = self._context.Process(target=serve, args=(job, there), name="recorder", daemon=True)
        process.start()
        there.close()
        self._process, self._pipe = process, here

    def start(self, timeout: float = CONNECT_LIMIT) -> ServoIdentity:
        """Start the process, wait until the servo answered and return who it is. Raises DriverError."""
        self.launch()
        deadline = time.monotonic() + timeout
        while self._identity is None:
            for event in self.poll():
                if isinstance(event, ConnectFailed):
                    self.close()
                    raise DriverError(f"connecting the servo failed: {event.reason}")
            if self._dead:
                self.close()
                raise RecorderDied(self._dead)
            if time.monotonic() > deadline:
                self.close()
                raise RecorderDied(f"the servo was not connected within {timeout:g} s; look at its cable and power")
            self._sleep()
        return self._identity

    def close(self) -> None:
        """Release the servo and end the process. Idempotent, bounded in time."""
        process, pipe = self._process, self._pipe
        if process is None:
            return
        self._view.set("close_requested", 1)
        process.join(PATIENCE)
        for end in (process.terminate, process.kill):
            if process.is_alive():
                end()
                process.join(PATIENCE)
        if pipe is not None:
            pipe.close()
        if not process.is_alive():
            process.close()
        self._process = self._pipe = None
        self._busy = False
        self._dead = self._dead or "the recorder was closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Signs of life and stops.

    def beat(self) -> None:
        """Say that the program is alive. Call it from where the program would hang if it hung."""
        self._view.stamp("beat")

    def emergency_stop(self) -> None:
        """Switch the motor off now. Callable in every state, from any thread; stays in FAULT until acknowledged."""
        self._view.stamp("stop_requested_at")
        self._view.set("stop_requests", self._view.get("stop_requests") + 1)

    def abort(self) -> None:
        """End the run, keep its samples, return slowly; a second abort releases the servo where it is."""
        if self._busy:
            self._view.set("abort_requests", self._view.get("abort_requests") + 1)

    def acknowledge(self) -> None:
        """A person has seen the fault; `poll` brings Acknowledged once the servo is READY. Raises RecorderDied."""
        self._send(AcknowledgeRequest(self._view.get("stop_requests")))

    @property
    def stop_latency(self) -> float | None:
        """From the last emergency stop to the servo's confirmed release [s]; None before that."""
        asked = self._view.get("stop_requested_at")
        released = self._view.get("stop_released_at")
        return 1e-9 * (released - asked) if 0 < asked <= released else None

    # Runs.

    def record(self, trajectory: Trajectory, header: RunHeader, sink: SinkDescription | None = None) -> int:
        """Begin a run at the header's rate and return its number; `poll` brings RunFinished.

        Raises NotReady while a run is on or a fault is not acknowledged, CommandError for a trajectory outside the
        limits, RecorderDied.
        """
        state = self.state
        if self._dead:
            raise RecorderDied(self._dead)
        if self._busy:
            raise NotReady("a run is on; wait for it or abort it")
        if state is not ServoState.READY:
            remedy = "acknowledge it" if state is ServoState.FAULT else "start the recorder first"
            raise NotReady(f"cannot record in state {state.name} ({self._fault or 'no servo'}); {remedy}")
        limits = self.limits
        plan = RunPlan.sample(trajectory, header.rate)
        plan.check(limits)
        run = self._runs + 1
        job = RunJob(run=run, plan=plan, header=header, sink=sink, limits=limits)
        self.beat()
        self._send(RecordRequest(job, self._view.get("abort_requests")))
        self._runs, self._busy, self._result = run, True, None
        return run

    def wait(self, timeout: float | None = None, progress: Callable[[RecorderStatus], None] | None = None) -> RunResult:
        """Wait for the run to end, in the caller's thread, which is what beats meanwhile.

        timeout [s]; progress is called every 20 ms. Raises RecorderDied, and TimeoutError with the run going on.
        """
        if not self._busy and self._result is None:
            raise NotReady("no run was begun; record one first")
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            self.poll()
            if self._result is not None:
                break
            if self._dead:
                raise RecorderDied(self._dead)
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the run did not end within {timeout} s")
            if progress is not None:
                progress(self.status)
            self._sleep()
        return self._result

    def poll(self) -> list[Event]:
        """Return what happened since the last call, without waiting. Does not count as a sign of life."""
        events: list[Event] = []
        pipe = self._pipe
        if pipe is None:
            return events
        # Asked before the pipe is emptied: what a process said before it ended is heard before its end.
        reason = self._death()
        with suppress(EOFError, ConnectionError):
            while pipe.poll():
                event = pipe.recv()
                self._note(event)
                events.append(event)
        if reason and not self._dead:
            self._dead = reason
            self._fault = reason
            self._busy = False
            events.append(Faulted(reason))
        return events

    # What can be seen.

    @property
    def state(self) -> ServoState:
        """The servo's state; FAULT when the recorder's process is gone or silent."""
        if self._process is None:
            return ServoState.DISCONNECTED
        if self._dead or self._death():
            return ServoState.FAULT
        if self.phase in (Phase.STARTING, Phase.CLOSED):
            return ServoState.DISCONNECTED
        return ServoState(self._view.get("servo_state"))

    @property
    def phase(self) -> Phase:
        """What the recorder is doing."""
        return Phase(self._view.get("phase"))

    @property
    def status(self) -> RecorderStatus:
        """State, phase and progress in one look."""
        view = self._view
        return RecorderStatus(
            state=self.state,
            phase=self.phase,
            fault=self._fault,
            run=view.get("run"),
            done=view.get("run_done"),
            length=view.get("run_length"),
            skipped_cycles=view.get("skipped_cycles"),
            priority=self._priority,
        )

    @property
    def identity(self) -> ServoIdentity | None:
        """Who answered; None before."""
        return self._identity

    @property
    def fault(self) -> str:
        """Why the servo is in FAULT; empty otherwise."""
        return self._fault

    @property
    def busy(self) -> bool:
        """Whether a run was begun whose RunFinished `poll` has not brought yet."""
        return self._busy

    @property
    def limits(self) -> Limits:
        """Limits of the next run. Raises NotReady before the servo is connected unless some were given."""
        if self._limits is None:
            raise NotReady("the servo's limits are not known yet; start the recorder first")
        return self._limits

    @limits.setter
    def limits(self, limits: Limits) -> None:
        self._limits = limits

    def latest(self) -> Any:
        """Return the newest live row, one record of LIVE_DTYPE; None before the first."""
        return self._latest.latest()

    def reader(self) -> RingReader:
        """Return a reader of the live rows from now on; make as many as there are plots."""
        return RingReader(self._ring)

    # Behind the scenes.

    def _note(self, event: Event) -> None:
        if isinstance(event, Connected):
            self._identity, self._priority = event.identity, event.priority
            if self._limits is None:
                self._limits = event.limits
        elif isinstance(event, ConnectFailed):
            self._dead = self._fault = event.reason
        elif isinstance(event, RunFinished):
            self._result, self._busy = event.result, False
        elif isinstance(event, Faulted):
            self._fault = event.reason
        elif isinstance(event, Acknowledged):
            self._fault = ""

    def _death(self) -> str:
        """Why the process counts as dead, or an empty text."""
        process = self._process
        if process is None:
            return ""
        if not process.is_alive():
            return (
                f"the recorder's process ended (exit code {process.exitcode}); "
                "make sure the servo is released, then connect again"
            )
        if self._view.age("quiet_until") < 0:
            return ""
        silence = self._view.age("recorder_beat")
        if silence > SILENCE_LIMIT:
            return (
                f"the recorder's process gave no sign of life for {silence:.1f} s; "
                "cut the servo's power supply, then connect again"
            )
        return ""

    def _send(self, request: Any) -> None:
        if self._dead:
            raise RecorderDied(self._dead)
        if self._pipe is None:
            raise NotReady("the recorder is not running; start it first")
        try:
            self._pipe.send(request)
        except ConnectionError:
            self.poll()
            raise RecorderDied(self._dead or "the recorder's process is gone; connect again") from None

    def _sleep(self) -> None:
        self.beat()
        if self._pipe is not None:
            with suppress(EOFError, ConnectionError):
                self._pipe.poll(WAIT_STEP)
