"""The program's side of the recorder.

    recorder = Recorder("simulated:mx106")
    identity = recorder.start()
    recorder.record(trajectory, header, sink)
    result = recorder.wait()          # or beat() and poll() from a timer until RunFinished
    recorder.hold(0.4, header)        # a motor torque to work against by hand, until end_hold()

The owner of a recorder must call `beat()` at least every 0.5 s during a run or a hold, from the thread that has to be
alive: the main loop on the command line, the timer of the window. There is no hidden thread that would keep beating for
a program that hangs. When the beats stop, the servo is released: after 0.2 s if the process is stopped, after 1.5 s if
the program hangs, at once if it is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from core.base.announcements import announce
from core.motion.recording import RunHeader, SinkDescription
from core.motion.trajectories import Trajectory
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import CommandError, DriverError, MotorOn, NotReady, RecorderDied
from drivers.limits import Limits
from drivers.recorder.child import MAY_BE_ON, Child
from drivers.recorder.loop import HoldJob, RunJob
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
from drivers.recorder.ring import RingReader
from drivers.recorder.run import Phase, RunPlan, RunResult, check_rate
from drivers.registry import ServoSource, resolve
from drivers.servo import CUT_THE_SUPPLY, ServoIdentity, ServoState

WAIT_STEP = 0.02
"""[s]"""
STOP_LOCK = 5.0
"""Time after an emergency stop during which everything that may drive is refused [s]: long enough to look first."""


class Activity(Enum):
    """Requests that are not finished yet."""

    NONE = ""
    RUN = "a run is on; wait for it or abort it"
    HOLD = "a torque is being held; end that first"
    CONFIGURE = "settings are being written; wait a moment"


@dataclass(frozen=True, kw_only=True)
class RecorderStatus:
    """Snapshot of the recorder."""

    state: ServoState
    phase: Phase
    fault: str
    """Reason for the state FAULT, as far as it is already known here."""
    run: int
    done: int
    """Cycles of the run so far."""
    length: int
    """Cycles of the whole run."""
    skipped_cycles: int
    """Cycles of the run without a sample so far."""
    bus_errors: int
    priority: str
    """Scheduling of the loop, with the reason if it is not the best; empty before the servo is connected."""
    held_torque: float
    """Torque held now [N·m], on its way to the wanted one; NaN if none is held."""


class Recorder:
    """Owns the process that owns the servo. One thread uses it; `emergency_stop` may be called from any."""

    def __init__(
        self,
        source: str | ServoSource,
        *,
        limits: Limits | None = None,
        heartbeat_limit: float | None = None,
        stop_lock: float = STOP_LOCK,
    ) -> None:
        """Prepare the recorder without starting its process.

        Args:
            source: An address or a picklable description.
            limits: Limits of the first run; None for the servo's own.
            heartbeat_limit: The servo is released when `beat` was not called for this long [s]; None for the usual.
            stop_lock: After an emergency stop, everything that may drive is refused for this long [s].

        Raises:
            AddressError: for an invalid address.
        """
        self._limits = limits
        self._stop_lock = stop_lock
        self._child = Child(resolve(source), heartbeat_limit or timing.limits.program_silence)
        self._view = self._child.view
        self._latest = RingReader(self._child.ring)
        self._identity: ServoIdentity | None = None
        self._priority = ""
        self._fault = ""
        self._dead = ""
        self._runs = 0
        self._written: ServoSettings | None = None
        self._ratings: Limits | None = None
        self._doing = Activity.NONE
        self._result: RunResult | None = None
        self._early: list[Event] = []
        """Events that were received before `poll` was called for them."""

    # Start and end.

    def launch(self) -> None:
        """Start the process and return at once; `poll` returns Connected or ConnectFailed later.

        Raises:
            NotReady: if the process was started already.
        """
        if self._child.launched:
            raise NotReady("the recorder was started already; make a new one for another servo")
        self._child.launch()

    def start(self, timeout: float | None = None) -> ServoIdentity:
        """Start the process, wait until the servo has answered, and return its identity.

        Args:
            timeout: Longest wait [s]; None for the usual time.

        Raises:
            NotReady: if the process was started already.
            RecorderDied: if the process died or the time ran out.
            DriverError: if the servo could not be connected.
        """
        self.launch()
        timeout = timing.limits.connect if timeout is None else timeout
        deadline = timing.now() + timeout
        while self._identity is None:
            for event in self.poll():
                if isinstance(event, ConnectFailed):
                    self.close()
                    raise DriverError(f"connecting the servo failed: {event.reason}")
            if self._dead:
                self.close()
                raise RecorderDied(self._dead)
            if timing.now() > deadline:
                self.close()
                raise RecorderDied(f"the servo was not connected within {timeout:g} s; check its cable and power")
            self._sleep()
        return self._identity

    def close(self) -> None:
        """Release the servo and end the process. Idempotent, bounded in time.

        Raises:
            MotorOn: if it was not confirmed that the motor is off; the guardian keeps trying.
        """
        if not self._child.launched:
            return
        released = self._child.close()
        self._doing = Activity.NONE
        self._dead = self._dead or "the recorder was closed"
        if not released:
            order = "" if self._fault.startswith(CUT_THE_SUPPLY) else MAY_BE_ON
            raise MotorOn("; ".join(filter(None, (order, self._fault))))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Signs of life and stops.

    def beat(self) -> None:
        """Signal that the program is alive. Call it from the thread that would hang if the program hung."""
        self._view.stamp("beat")

    def emergency_stop(self) -> None:
        """Switch the motor off now. Callable in every state, from any thread; stays in FAULT until acknowledged.

        Even after that, everything that may drive is refused until `locked_for` is over.
        """
        self._view.stamp("stop_requested_at")
        self._view.set("stop_requests", self._view.get("stop_requests") + 1)

    def abort(self) -> None:
        """End the run, keep its samples, return slowly; a second abort releases the servo where it is.

        A held torque is removed along its ramp, by a second abort at once.
        """
        if self._doing in (Activity.RUN, Activity.HOLD):
            self._view.set("abort_requests", self._view.get("abort_requests") + 1)

    def acknowledge(self) -> None:
        """Report that the user has seen the fault; `poll` returns Acknowledged once the servo is READY.

        Raises:
            RecorderDied: if the process is gone.
        """
        self._send(AcknowledgeRequest(self._view.get("stop_requests")))

    @property
    def stop_latency(self) -> float | None:
        """Time from the last emergency stop to the servo's confirmed release [s]; None before that."""
        asked = self._view.get("stop_requested_at")
        released = self._view.get("stop_released_at")
        return 1e-9 * (released - asked) if 0 < asked <= released else None

    @property
    def locked_for(self) -> float:
        """Time for which runs, holds and settings are still refused after an emergency stop [s]; 0 if they are not."""
        if not self._view.get("stop_requested_at"):
            return 0.0
        return max(0.0, self._stop_lock - self._view.age("stop_requested_at"))

    # Runs.

    def record(self, trajectory: Trajectory, header: RunHeader, sink: SinkDescription | None = None) -> int:
        """Begin a run at the header's rate; `poll` returns RunFinished when it has ended.

        Args:
            trajectory: Goals of the run.
            header: Bench, settings and rate.
            sink: Where the samples go; None discards them.

        Returns:
            The number of the run.

        Raises:
            NotReady: while another request is active, a fault is not acknowledged, or an emergency stop is fresh.
            CommandError: for a trajectory outside the limits or an invalid rate.
            RecorderDied: if the process is gone.
        """
        self._require_ready("record")
        limits = self.limits
        check_rate(header.rate, self._watchdog)
        plan = RunPlan.sample(trajectory, header.rate)
        plan.check(limits)
        run = self._runs + 1
        job = RunJob(run=run, plan=plan, header=header, sink=sink, limits=limits)
        self.beat()
        self._send(RecordRequest(job, self._view.get("abort_requests")))
        self._runs, self._doing, self._result = run, Activity.RUN, None
        return run

    def wait(self, timeout: float | None = None, progress: Callable[[RecorderStatus], None] | None = None) -> RunResult:
        """Wait for the run to end, in the caller's thread, which beats meanwhile.

        Args:
            timeout: Longest wait [s]; None for no limit.
            progress: Called with the status every 20 ms.

        Raises:
            RecorderDied: if the process is gone.
            TimeoutError: if the time ran out; the run continues.
            NotReady: if no run was begun.
        """
        if self._doing is not Activity.RUN and self._result is None:
            raise NotReady("no run was begun; record one first")
        deadline = None if timeout is None else timing.now() + timeout
        while self._result is None:
            self.poll()
            if self._result is not None:
                break
            if self._dead:
                raise RecorderDied(self._dead)
            if deadline is not None and timing.now() > deadline:
                raise TimeoutError(f"the run did not end within {timeout} s")
            if progress is not None:
                progress(self.status)
            self._sleep()
        return self._result

    # Held torques and settings.

    def hold(self, torque: float, header: RunHeader) -> None:
        """Begin to hold a motor torque for the user to work against; `poll` returns HoldEnded when it has ended.

        The torque is reached along a ramp and clamped to the limits. Nothing is stored.

        Args:
            torque: Torque [N·m].
            header: Bench, settings and rate.

        Raises:
            NotReady: as for `record`.
            CommandError: for a torque that is not finite, limits without one, or a servo that cannot hold a torque.
            RecorderDied: if the process is gone.
        """
        self._require_ready("hold a torque")
        if self._identity is not None:
            self._identity.require_torque()
        check_rate(header.rate, self._watchdog)
        job = HoldJob(header=header, limits=self.limits)
        job.check()
        self._want_torque(torque)
        self.beat()
        self._send(HoldRequest(job, self._view.get("abort_requests"), self._view.get("hold_ends")))
        self._doing = Activity.HOLD

    def set_torque(self, torque: float) -> None:
        """Change to another held torque along the ramp.

        Args:
            torque: Torque [N·m].

        Raises:
            NotReady: if no torque is being held.
            CommandError: for a torque that is not finite.
            RecorderDied: if the process is gone.
        """
        if self._dead:
            raise RecorderDied(self._dead)
        if self._doing is not Activity.HOLD:
            raise NotReady("no torque is being held; begin to hold one first")
        self._want_torque(torque)

    def end_hold(self) -> None:
        """Remove the held torque along its ramp, then release; `poll` returns HoldEnded when it has ended."""
        if self._doing is Activity.HOLD:
            self._view.set("hold_ends", self._view.get("hold_ends") + 1)

    def configure(self, settings: ServoSettings, limits: Limits) -> None:
        """Write settings and limits into the released servo; `poll` returns Configured or ConfigureFailed later.

        Raises:
            NotReady: as for `record`.
            CommandError: for limits wider than the servo's ratings.
            RecorderDied: if the process is gone.
        """
        self._require_ready("change settings")
        if self._ratings is not None:
            limits.require_within(self._ratings)
        self._send(ConfigureRequest(settings, limits))
        self._doing = Activity.CONFIGURE

    def poll(self) -> list[Event]:
        """Return the events since the last call, without waiting. Does not count as a sign of life."""
        # Checked before the pipe is emptied: the last messages of a process are reported before its end.
        reason = self._child.death()
        events = self._child.receive()
        for event in events:
            self._note(event)
        early, self._early = self._early, []
        events = early + events
        if reason and not self._dead:
            if self._child.unguarded:
                self.emergency_stop()
            self._dead = reason
            self._fault = reason
            doing, self._doing = self._doing, Activity.NONE
            if doing is Activity.HOLD:
                events.append(HoldEnded("fail", reason))
            elif doing is Activity.CONFIGURE:
                events.append(ConfigureFailed(reason))
            events.append(Faulted(reason))
        return events

    # Observation.

    @property
    def state(self) -> ServoState:
        """State of the servo; FAULT if the recorder's process is gone or silent."""
        if not self._child.launched:
            return ServoState.DISCONNECTED
        if self._dead or self._child.death():
            return ServoState.FAULT
        if self.phase in (Phase.STARTING, Phase.CLOSED):
            return ServoState.DISCONNECTED
        return ServoState(self._view.get("servo_state"))

    @property
    def phase(self) -> Phase:
        """Current phase of the recorder."""
        return Phase(self._view.get("phase"))

    @property
    def status(self) -> RecorderStatus:
        """State, phase and progress in one snapshot."""
        view = self._view
        return RecorderStatus(
            state=self.state,
            phase=self.phase,
            fault=self._fault,
            run=view.get("run"),
            done=view.get("run_done"),
            length=view.get("run_length"),
            skipped_cycles=view.get("skipped_cycles"),
            bus_errors=view.get("bus_errors"),
            priority=self._priority,
            held_torque=view.number("held_torque") if self.phase is Phase.HOLD else math.nan,
        )

    @property
    def released(self) -> bool:
        """True if the motor is off beyond doubt: confirmed by a living recorder that has no other request."""
        return (
            self._identity is not None
            and not self.busy
            and not self._dead
            and not self._child.death()
            and not self._view.may_be_driven
            and self.phase is Phase.IDLE
            and self.state is not ServoState.ENABLED
        )

    @property
    def identity(self) -> ServoIdentity | None:
        """Identity of the servo; None before it is connected."""
        return self._identity

    @property
    def fault(self) -> str:
        """Reason for the state FAULT; empty otherwise."""
        return self._fault

    @property
    def busy(self) -> bool:
        """True while a run, a hold or a change of settings has begun whose end `poll` has not returned yet."""
        return self._doing is not Activity.NONE

    @property
    def holding(self) -> bool:
        """True while a hold has begun whose HoldEnded `poll` has not returned yet."""
        return self._doing is Activity.HOLD

    @property
    def written(self) -> ServoSettings | None:
        """Settings last read back from the servo; None before that, or if it cannot report them."""
        return self._written

    @property
    def ratings(self) -> Limits | None:
        """The manufacturer's limits: `limits` may be narrower, never wider; None before the servo is connected."""
        return self._ratings

    @property
    def limits(self) -> Limits:
        """Limits of the next run.

        Raises:
            NotReady: if none were given and the servo is not connected yet.
        """
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
        """Return a new reader of the live rows from now on, e.g. one per plot."""
        return RingReader(self._child.ring)

    # Internals.

    def _note(self, event: Event) -> None:
        if isinstance(event, Announced):
            announce(event.text)
        elif isinstance(event, Connected):
            self._identity, self._priority = event.identity, event.priority
            self._written, self._ratings, self._fault = event.settings, event.ratings, event.fault
            if self._limits is None:
                self._limits = event.limits
        elif isinstance(event, ConnectFailed):
            self._dead = self._fault = event.reason
        elif isinstance(event, RunFinished):
            self._result, self._written, self._doing = event.result, event.settings, Activity.NONE
        elif isinstance(event, HoldEnded):
            self._written, self._doing = event.settings, Activity.NONE
        elif isinstance(event, Configured):
            self._written, self._limits, self._doing = event.settings, event.limits, Activity.NONE
        elif isinstance(event, ConfigureFailed):
            self._written, self._doing = None, Activity.NONE
        elif isinstance(event, Faulted):
            self._fault = event.reason
        elif isinstance(event, Acknowledged):
            self._fault = ""

    @property
    def _watchdog(self) -> float:
        return self._identity.watchdog if self._identity is not None else 0.0

    def _require_ready(self, act: str) -> None:
        """Raise unless something that may drive the servo may begin now."""
        state = self.state
        if self._dead:
            raise RecorderDied(self._dead)
        if self._doing is not Activity.NONE:
            raise NotReady(f"cannot {act}: {self._doing.value}")
        if state is ServoState.FAULT:
            raise NotReady(
                f"cannot {act} in state FAULT ({self._reason()}); "
                "acknowledge it, on the command line with bench servo clear ADDRESS"
            )
        if state is not ServoState.READY:
            raise NotReady(f"cannot {act} in state {state.name}; start the recorder first")
        if (locked := self.locked_for) > 0.0:
            raise NotReady(f"cannot {act} yet: the emergency stop was pressed; wait another {locked:.1f} s")

    def _reason(self) -> str:
        """Return the reason for the state FAULT, which the recorder reports shortly after the state."""
        deadline = timing.now() + timing.limits.recorder_silence
        while not self._fault and timing.now() < deadline:
            self._child.wait(WAIT_STEP)
            self._early = self.poll()
        return self._fault or "its reason is not known yet"

    def _want_torque(self, torque: float) -> None:
        if not math.isfinite(torque):
            raise CommandError(f"a torque of {torque} N·m cannot be held; give a finite one")
        self._view.set_number("wanted_torque", self.limits.clamp_torque(torque))

    def _send(self, request: Request) -> None:
        if self._dead:
            raise RecorderDied(self._dead)
        if not self._child.launched:
            raise NotReady("the recorder is not running; start it first")
        try:
            self._child.send(request)
        except ConnectionError:
            self.poll()
            raise RecorderDied(self._dead or "the recorder's process is gone; connect again") from None

    def _sleep(self) -> None:
        self.beat()
        self._child.wait(WAIT_STEP)
