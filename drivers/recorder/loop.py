"""The recorder's loop: one cycle, and the phases of a run made of cycles.

A cycle waits for its deadline, asks whether it has to stop, sends the command, reads one block, hands the row out
and checks the limits. Deadlines are absolute; a cycle that comes too late takes the place of the last one that is
due, and the ones before it are counted as skipped, never made up for. Time is the servo's clock, so that the same
loop serves hardware and the simulated servo as fast as it can be computed.

A run: come to rest at the first goal, follow the plan, then return to 0 rad slowly and let go. Whatever ends it
otherwise releases the servo first and is told afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from core.errors import ServoBenchError
from core.recording import RunHeader, SinkDescription
from drivers.errors import CommandError, DriverError, NotReady
from drivers.limits import Limits
from drivers.recorder.link import EMERGENCY, Link, RunStopped
from drivers.recorder.run import Phase, RunPlan, RunResult
from drivers.recorder.storage import Sealed, Storage, Submits
from drivers.servo import Command, PositionGoal, Reading, Release, Servo, ServoState

MOVE_SPEED = 1.0
"""Highest speed of the goal on the way to a run's start and back from its end [rad/s]."""
NEAR = 0.02
"""A servo this close to where it shall go is not moved there slowly first [rad]."""
REST_WINDOW = 0.25
REST_BAND = 0.004
"""A servo rests when its position stayed within this band [rad], or 2.5 encoder steps, for REST_WINDOW [s]."""
REST_LIMIT = 5.0
"""A driven servo that does not rest after this time [s] will not."""
HANG_LIMIT = 20.0
"""A released pendulum may swing this long [s]."""
CONFIGURE_LIMIT = 10.0
"""Writing a released servo's settings, or rebooting it out of a fault, may take this long [s]."""
STALL_LIMIT = 0.2
"""A driven servo that was not looked at for this long [s] is released."""


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """Everything a run needs; picklable."""

    run: int
    plan: RunPlan
    header: RunHeader
    sink: SinkDescription | None
    limits: Limits


class Loop:
    """Drives a connected servo through runs. The caller owns the servo and closes it."""

    def __init__(self, servo: Servo, link: Link, worker: Submits) -> None:
        self._servo = servo
        self._link = link
        self._worker = worker
        self._clock = servo.clock
        self._state = ServoState.DISCONNECTED
        self._band = max(REST_BAND, 2.5 * servo.identify().position_step)
        self._run = 0
        self._phase = Phase.IDLE
        self._restart(1.0)
        self.tell_state()

    def perform(self, job: RunJob) -> RunResult:
        """Make one run and bring the servo back; returns how it went. The servo is released in every case.

        Nothing is raised but what is no Exception (a KeyboardInterrupt in the caller's own process).
        """
        self._run = job.run
        self._restart(job.header.rate)
        storage = Storage(job.sink, job.header, self._worker)
        status, reason, gentle, fault = "success", "", True, False
        try:
            self._prepare(job, storage)
            self._follow(job.plan, storage)
        except RunStopped as stop:
            status, reason, gentle, fault = stop.exit_status, stop.reason, stop.gentle, stop.fault
        except Exception as error:
            status, reason, gentle, fault = "fail", describe(error), False, self._is_fault(error)
        except BaseException as error:
            status, reason, gentle = "abort", type(error).__name__, False
            raise
        finally:
            if not gentle:
                self.let_go(reason if fault else "")
            skipped = self._skipped
            sealed = storage.finish(status, reason)
        if gentle:
            self._link.abort_heeded()
            self._bring_back()
        self._enter(Phase.IDLE)
        stored, problem = self._await(sealed)
        return RunResult(
            run=job.run,
            exit_status="fail" if problem else status,
            reason="; ".join(part for part in (reason, problem) if part),
            id=stored,
            samples=storage.samples,
            skipped_cycles=skipped,
        )

    def let_go(self, fault: str = "") -> None:
        """Release the servo at once; a fault text keeps it in FAULT until acknowledged."""
        if fault:
            self._servo.fault(fault)
        else:
            self._servo.release()
        self.tell_state()

    def watch(self) -> None:
        """Read the released servo once, for the live rows between runs."""
        self._observe(math.nan)

    def tell_state(self) -> None:
        """Tell the servo's state if it is another one than told last, or FAULT, whose release is worth a stamp."""
        state = self._servo.state
        if state is not self._state or state is ServoState.FAULT:
            self._state = state
            self._link.state(state)

    # Phases.

    def _prepare(self, job: RunJob, storage: Storage) -> None:
        """Everything up to the run's first sample; the store stands ready before the servo moves."""
        self._enter(Phase.APPROACH)
        job.plan.check(job.limits)
        self._link.quiet_for(CONFIGURE_LIMIT)
        self._servo.mount(job.header.bench)
        self._servo.configure(job.header.settings, job.limits)
        self._link.quiet_for(0.0)
        self._restart(job.header.rate)
        while not storage.opened():
            self._cycle(None)
        goal = float(job.plan.goal[0])
        if job.plan.torque_enable[0]:
            self._move(goal)
            self._rest(PositionGoal(goal), goal, REST_LIMIT)
        else:
            self._rest(Release(), math.nan, HANG_LIMIT)

    def _follow(self, plan: RunPlan, storage: Storage) -> None:
        goals, enables = plan.goal.tolist(), plan.torque_enable.tolist()
        self._enter(Phase.RUN)
        self._skipped = 0
        self._missed = 0
        self._begin_at = self._due
        first = self._count
        length = len(plan)
        while (k := self._await_due() - first) < length:
            command = PositionGoal(goals[k]) if enables[k] else Release()
            self._act(command, goals[k], storage.put)
            self._link.progress(k + 1, length, self._skipped)

    def _bring_back(self) -> None:
        """Hang out if released, go slowly to 0 rad, release. What goes wrong here does not spoil the run."""
        self._enter(Phase.RETURN)
        fault = ""
        try:
            if self._servo.state is not ServoState.ENABLED:
                self._rest(Release(), math.nan, HANG_LIMIT)
            if abs(self._cycle(None).position) > NEAR:
                self._move(0.0)
                self._cycle(PositionGoal(0.0), 0.0)
        except RunStopped as stop:
            fault = stop.reason if stop.fault else ""
        except Exception as error:
            fault = describe(error)
        finally:
            self.let_go(f"after the run: {fault}" if fault else "")

    def _move(self, target: float) -> None:
        """Drive the goal to target [rad] along a smooth curve no faster than MOVE_SPEED."""
        start = self._cycle(None).position
        distance = target - start
        if abs(distance) <= NEAR:
            return
        # 3x² − 2x³ is at most 1.5 times as fast as a straight line.
        duration = 1.5 * abs(distance) / MOVE_SPEED
        begin = self._due
        while (x := (self._due - begin) / duration) < 1.0:
            goal = start + distance * (3.0 - 2.0 * x) * x * x
            self._cycle(PositionGoal(goal), goal)

    def _rest(self, command: Command, goal: float, limit: float) -> None:
        """Hold a command until the servo rests; RunStopped when it does not within limit [s]."""
        begin = window = self._due
        lowest, highest = math.inf, -math.inf
        while self._due - begin <= limit:
            position = self._cycle(command, goal).position
            lowest, highest = min(lowest, position), max(highest, position)
            if self._due - window >= REST_WINDOW:
                if highest - lowest <= self._band:
                    return
                window, lowest, highest = self._due, math.inf, -math.inf
        raise RunStopped(
            "fail",
            f"the servo did not come to rest within {limit:g} s, its position still varies by "
            f"{highest - lowest:.3f} rad; steady the bench or change the gains",
        )

    # One cycle.

    def _cycle(self, command: Command | None, goal: float = math.nan) -> Reading:
        """One cycle outside a run; command None leaves the servo as it is, goal is what the live row shows [rad]."""
        self._await_due()
        return self._act(command, goal)

    def _await_due(self) -> int:
        """Wait for the next deadline and return the number of the cycle that is due, late ones skipped."""
        self._clock.wait_until(self._due, self._interrupted)
        late = self._clock.now() - self._due
        if late > self._period:
            missed = int(late / self._period)
            self._missed += missed
            self._skipped += missed
            self._count += missed
            self._due = self._origin + self._count * self._period
        self._heed()
        if late > STALL_LIMIT and self._servo.state is ServoState.ENABLED:
            raise RunStopped(
                "fail",
                f"the recorder stood still for {1e3 * late:.0f} ms; the servo was released",
                fault=True,
            )
        return self._count

    def _act(
        self, command: Command | None, goal: float, keep: Callable[[tuple[Any, ...]], None] | None = None
    ) -> Reading:
        """Command, read, hand out, check."""
        servo = self._servo
        if command is not None and not (type(command) is Release and servo.state is ServoState.READY):
            servo.command(command)
            if servo.state is not self._state:
                self.tell_state()
            self._heed()
        reading = self._observe(goal, keep)
        self._count += 1
        self._due = self._origin + self._count * self._period
        violation = servo.limits.check(reading, driven=servo.state is ServoState.ENABLED)
        if violation is not None:
            raise RunStopped("fail", f"limit tripped: {violation}", fault=True)
        return reading

    def _observe(self, goal: float, keep: Callable[[tuple[Any, ...]], None] | None = None) -> Reading:
        """Read one block and hand out its row, stamped with the middle of the read."""
        clock = self._clock
        before = clock.now()
        reading = self._servo.read()
        after = clock.now()
        moment = 0.5 * (before + after)
        sample = (
            math.nan if keep is None else moment - self._begin_at,
            # Where nothing is commanded the goal is where the servo is, so that every row is a finite one.
            reading.position if math.isnan(goal) else goal,
            self._servo.state is ServoState.ENABLED,
            reading.position,
            reading.velocity,
            reading.current,
            reading.duty_cycle,
            reading.supply_voltage,
            reading.temperature,
            after - before,
            self._missed,
        )
        self._missed = 0
        self._link.publish((*sample, moment, self._run, self._phase))
        if keep is not None:
            keep(sample)
        return reading

    def _interrupted(self) -> bool:
        return self._link.pending() is not None

    def _heed(self) -> None:
        stop = self._link.pending()
        if stop is not None:
            raise stop

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._link.phase(phase)

    def _restart(self, rate: float) -> None:
        """Begin counting cycles anew, the first one due now."""
        self._period = 1.0 / rate
        self._origin = self._due = self._begin_at = self._clock.now()
        self._count = 0
        self._missed = 0
        self._skipped = 0

    def _await(self, sealed: Future[Sealed]) -> Sealed:
        """Wait for the store, the servo being released, and go on giving signs of life."""
        while not sealed.done():
            stop = self._link.pending()
            if stop is not None and stop.reason == EMERGENCY and self._servo.state is not ServoState.FAULT:
                self.let_go(EMERGENCY)
            wait([sealed], timeout=0.01)
        return sealed.result()

    def _is_fault(self, error: Exception) -> bool:
        """Whether an error concerns the servo, so that a person has to look at it, or only what was asked."""
        if self._servo.state is ServoState.ENABLED:
            return True
        return isinstance(error, DriverError) and not isinstance(error, (CommandError, NotReady))


def describe(error: BaseException) -> str:
    """One line about an error; those not raised on purpose name their type."""
    if isinstance(error, ServoBenchError):
        return str(error)
    return f"{type(error).__name__}: {error}"
