"""The recorder's process: connects the servo, watches it between runs, performs runs, and never leaves it driven.

It ends on request (by the pipe, or by any signal that would end or stop it) and when the program is gone. However it
ends, the servo is released first. Signal handlers only set a flag, which the loop checks every few milliseconds.
"""

from __future__ import annotations

import atexit
import gc
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection

from core.base.announcements import listen
from drivers import timing
from drivers.errors import NoAnswer
from drivers.priority import raise_priority
from drivers.recorder.control import Control
from drivers.recorder.cycle import Cycle, describe
from drivers.recorder.link import EMERGENCY, SharedLink
from drivers.recorder.loop import HoldJob, Loop
from drivers.recorder.messages import (
    Acknowledged,
    AcknowledgeRequest,
    Announced,
    Configured,
    ConfigureFailed,
    ConfigureRequest,
    Connected,
    ConnectFailed,
    Event,
    Faulted,
    HoldEnded,
    HoldRequest,
    RecordRequest,
    Request,
    RunFinished,
)
from drivers.recorder.ring import Ring, RingWriter
from drivers.recorder.run import HoldResult, Phase
from drivers.recorder.signals import answer_signals
from drivers.recorder.storage import Immediately
from drivers.registry import BlindlyReleased, ServoSource
from drivers.servo import Servo, ServoState

FIFO_PRIORITY = 50
WATCH_PERIOD = 0.02
"""Pause between two reads of a released servo [s]."""
INSIST_PERIOD = 0.5
"""Pause between two attempts to switch off a motor that may still be on [s]."""
SILENT_READS = 3
"""Unanswered reads in a row after which a released servo is in FAULT."""
_NAMES: dict[int, str] = {number: number.name for number in signal.Signals}


@dataclass(frozen=True)
class RecorderSetup:
    """Arguments of the recorder's process."""

    source: ServoSource
    control: Control
    ring: Ring
    program: int
    """Process id of the program."""
    heartbeat_limit: float
    """[s]"""


def serve(job: RecorderSetup, pipe: Connection) -> None:
    """Run the recorder's process until it has to end."""
    link = SharedLink(job.control.view(), RingWriter(job.ring), job.program, job.heartbeat_limit)
    answer_signals(lambda number, frame: link.end(_NAMES.get(number, f"signal {number}")))
    link.phase(Phase.STARTING)
    link.beat()
    link.quiet_for(timing.limits.connect)
    servo: Servo | None = None
    listen(lambda text: _tell(pipe, Announced(text)))
    try:
        servo = job.source.open()
        atexit.register(servo.close)
        identity = servo.connect()
        while isinstance(job.source, BlindlyReleased) and not link.guarded() and not link.ending():
            # Nothing is driven before the guardian watches this process.
            timing.sleep(WATCH_PERIOD)
        if servo.clock.virtual:
            # Nothing real moves and nothing waits: no priority, no thread, no heartbeat that could be missed.
            link.heartbeat_limit = math.inf
            priority, worker = "virtual clock", Immediately()
        else:
            # A simulated servo may be late; it takes no processor from what the person does beside it.
            priority = raise_priority(FIFO_PRIORITY) if servo.hazardous else "normal priority: nothing real moves"
            worker = ThreadPoolExecutor(1, "store")
        gc.freeze()
        gc.disable()
        listen(None)
        cycle = Cycle(servo, link)
        link.quiet_for(0.0)
        link.phase(Phase.IDLE)
        pipe.send(Connected(identity, servo.limits, priority, cycle.written, servo.ratings, servo.fault_reason))
    except Exception as error:
        if servo is not None:
            servo.close()
        link.phase(Phase.CLOSED)
        _tell(pipe, ConnectFailed(describe(error)))
        return
    try:
        Service(cycle, link, Loop(cycle, worker), pipe).run()
    finally:
        if not servo.release():
            _tell(pipe, Faulted(servo.fault_reason))
        servo.close()
        link.state(servo.state)
        link.driven(servo.may_be_driven)
        link.phase(Phase.CLOSED)


class Service:
    """Answers requests and watches the released servo between runs."""

    def __init__(self, cycle: Cycle, link: SharedLink, loop: Loop, pipe: Connection) -> None:
        self._cycle = cycle
        self._servo = cycle.servo
        self._link = link
        self._loop = loop
        self._pipe = pipe
        self._silent_reads = 0
        self._reported_fault = ""
        self._insisted_at = 0.0

    def run(self) -> None:
        """Serve until this process has to end or the program closes the pipe."""
        while not self._link.ending():
            self._link.beat()
            if self._link.stop_requested():
                self._stop()
            try:
                if self._pipe.poll(WATCH_PERIOD):
                    self._answer(self._pipe.recv())
                elif not self._servo.clock.virtual:
                    self._watch()
            except (EOFError, ConnectionError):
                return
            self._tell_fault()

    def _answer(self, request: Request) -> None:
        if isinstance(request, RecordRequest):
            self._link.begin_run(request.job.run, request.aborts_seen)
            result = self._loop.perform(request.job)
            self._tidy()
            self._pipe.send(RunFinished(result, self._cycle.written))
        elif isinstance(request, HoldRequest):
            self._link.begin_hold(request.aborts_seen, request.ends_seen)
            held = self._hold(request.job)
            self._tidy()
            self._pipe.send(HoldEnded(held.exit_status, held.reason, self._cycle.written))
        elif isinstance(request, ConfigureRequest):
            self._configure(request)
        elif isinstance(request, AcknowledgeRequest):
            self._acknowledge(request.stops_seen)

    def _hold(self, job: HoldJob) -> HoldResult:
        holding = self._loop.hold(job)
        try:
            next(holding)
            while True:
                holding.send(self._link.wanted_torque())
        except StopIteration as end:
            return end.value

    def _tidy(self) -> None:
        """Clean up after a run or a hold, before its end is reported."""
        if self._link.stop_requested():
            self._stop()
        gc.collect()
        self._tell_fault()

    def _configure(self, request: ConfigureRequest) -> None:
        try:
            self._cycle.configure(request.settings, request.limits)
        except Exception as error:
            self._pipe.send(ConfigureFailed(describe(error)))
        else:
            self._pipe.send(Configured(self._cycle.written, request.limits))

    def _stop(self) -> None:
        """Release for an emergency stop, whatever state the servo is in."""
        if self._servo.state is ServoState.FAULT:
            self._cycle.let_go(self._servo.fault_reason)
        else:
            self._cycle.let_go(EMERGENCY)
        self._link.stop_handled()

    def _acknowledge(self, stops_seen: int) -> None:
        if self._link.stop_requested():
            # It may be the one the user saw: requested after this process checked last.
            self._stop()
        # A fault that persists is reported again; otherwise the user would see no reaction.
        self._reported_fault = ""
        if not self._link.may_acknowledge(stops_seen):
            return
        self._link.quiet_for(timing.limits.configure)
        try:
            self._servo.acknowledge()
        except Exception as error:
            self._servo.fault(describe(error))
        self._link.quiet_for(0.0)
        self._cycle.tell_state()
        if self._servo.state is ServoState.READY:
            self._silent_reads = 0
            self._pipe.send(Acknowledged())

    def _insist(self) -> None:
        """Repeat a release that was not confirmed: a servo whose cable is plugged in again may still be driven."""
        now = timing.now()
        if self._servo.may_be_driven and now - self._insisted_at > INSIST_PERIOD:
            self._insisted_at = now
            self._link.quiet_for(timing.limits.configure)
            self._servo.release()
            self._cycle.tell_state()
            self._link.quiet_for(0.0)

    def _watch(self) -> None:
        self._insist()
        try:
            self._cycle.watch()
            self._silent_reads = 0
        except Exception as error:
            self._silent_reads += 1
            patient = isinstance(error, NoAnswer) and self._silent_reads < SILENT_READS
            if self._servo.state is not ServoState.FAULT and not patient:
                self._cycle.let_go(describe(error))

    def _tell_fault(self) -> None:
        reason = self._servo.fault_reason
        if reason and reason != self._reported_fault:
            self._reported_fault = reason
            self._pipe.send(Faulted(reason))


def _tell(pipe: Connection, event: Event) -> None:
    """Send an event to a program that may be gone."""
    try:
        pipe.send(event)
    except (OSError, EOFError):
        return
