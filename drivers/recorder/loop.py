"""The recorder's loop, which builds a run or a held torque from cycles.

A run comes to rest at the first goal, follows the plan, then returns to 0 rad slowly and releases the servo. A hold,
for placing the pendulum by hand (seed 004, section II-C), is a motor torque that is reached and left along a ramp,
while the user moves the pendulum. Any other end of either releases the servo first and is reported afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from concurrent.futures import Future, wait
from dataclasses import dataclass

from core.motion.recording import RunHeader, SinkDescription
from drivers import timing
from drivers.errors import CommandError
from drivers.limits import Limits
from drivers.recorder.cycle import Cycle, describe
from drivers.recorder.link import EMERGENCY, RunStopped
from drivers.recorder.run import HeldSample, HoldResult, Phase, RunPlan, RunResult
from drivers.recorder.storage import Sealed, Storage, Submits
from drivers.servo import Command, PositionGoal, Release, ServoState, TorqueGoal

MOVE_SPEED = 1.0
"""Highest speed of the goal on the way to a run's start and back from its end [rad/s]."""
NEAR = 0.02
"""A servo this close to its target is not moved there slowly first [rad]."""
REST_WINDOW = 0.25
REST_BAND = 0.004
"""A servo is at rest when its position stayed within this band [rad], or 2.5 encoder steps, for REST_WINDOW [s]."""
HOLD_RAMP = 0.25
"""Largest change of a held torque in a second, as a share of the servo's torque limit [1/s]. Slow enough that the
pendulum follows without overshoot, fast enough that the user does not have to wait."""

LOWERING = 3.0
"""Time in which a held torque is removed at its end [s], so that the pendulum sinks instead of falling."""
LOWERING_SPEED, LONGEST_LOWERING = 0.3, 10.0
"""While the pendulum sinks faster than this [rad/s], the torque stays, for at most LONGEST_LOWERING [s] in total."""
ATTENDED_MOTION = 0.02
"""A change of position beyond this counts as a movement by the user [rad]."""


@dataclass(frozen=True, kw_only=True)
class RunJob:
    """Everything that a run needs; picklable."""

    run: int
    plan: RunPlan
    header: RunHeader
    sink: SinkDescription | None
    limits: Limits


@dataclass(frozen=True, kw_only=True)
class HoldJob:
    """Everything that a held torque needs; picklable."""

    header: RunHeader
    limits: Limits

    def check(self) -> None:
        """Raise CommandError if there is no torque limit."""
        if not math.isfinite(self.limits.torque):
            raise CommandError("cannot hold a torque without a torque limit; set the limit first")


class Loop:
    """Drives a connected servo through runs and holds, cycle by cycle."""

    def __init__(self, cycle: Cycle, worker: Submits) -> None:
        self._cycle = cycle
        self._servo = cycle.servo
        self._link = cycle.link
        self._worker = worker
        self._band = max(REST_BAND, 2.5 * cycle.servo.identity.position_step)

    def perform(self, job: RunJob) -> RunResult:
        """Perform one run, bring the servo back and return the result. The servo is released in every case.

        Never raises an `Exception`; other exceptions, such as a KeyboardInterrupt in the caller's own process,
        propagate.
        """
        self._cycle.run = job.run
        self._cycle.restart(job.header.rate)
        storage = Storage(job.sink, self._servo.identity.signed(job.header), self._worker)
        status, reason, gentle, fault, busy = "success", "", True, False, False
        try:
            self._prepare(job, storage)
            self._follow(job.plan, storage)
        except RunStopped as stop:
            status, reason, gentle = stop.exit_status, stop.reason, stop.gentle
            fault, busy = stop.fault, stop.busy
        except Exception as error:
            status, reason, gentle, fault = "fail", describe(error), False, self._cycle.is_fault(error)
        except BaseException as error:
            status, reason, gentle = "abort", type(error).__name__, False
            raise
        finally:
            # The servo is released before the file is closed: a disk may take its time.
            if not gentle:
                self._cycle.let_go(reason if fault else "")
            skipped, bus_errors = self._cycle.skipped, self._cycle.bus_errors
            sealed = storage.finish(status, reason)
        if gentle:
            self._link.abort_heeded()
            self._bring_back()
        self._cycle.enter(Phase.IDLE)
        stored, problem = self._await(sealed)
        return RunResult(
            run=job.run,
            exit_status="fail" if problem else status,
            reason="; ".join(part for part in (reason, problem) if part),
            id=stored,
            samples=storage.samples,
            skipped_cycles=skipped,
            bus_errors=bus_errors,
            busy=busy,
            rate=job.header.rate,
        )

    def hold(self, job: HoldJob) -> Generator[HeldSample, float, HoldResult]:
        """Hold a motor torque for the user to work against, and return the result. The servo is released in every case.

        Each value sent in is the torque wanted in the next cycle [N·m], NaN to end; the first cycles hold none.
        Closing the generator releases the servo at once.
        """
        self._cycle.restart(job.header.rate)
        status, reason, fault = "success", "", False
        self._cycle.enter(Phase.HOLD)
        try:
            job.check()
            self._cycle.mount(job.header, job.limits)
            step = HOLD_RAMP * job.limits.torque / job.header.rate
            self._cycle.held_torque = 0.0
            try:
                sample = self._hold_torque(0.0)
                wanted = yield sample
                last, where, since = wanted, sample.reading.position, sample.clock
                while not math.isnan(wanted):
                    sample = self._hold_torque(self._towards(job.limits.clamp_torque(wanted), step))
                    if wanted != last or abs(sample.reading.position - where) > ATTENDED_MOTION:
                        last, where, since = wanted, sample.reading.position, sample.clock
                    elif sample.clock - since > timing.limits.unattended:
                        raise RunStopped(
                            "fail", f"the pendulum was not moved for {timing.limits.unattended:g} s", gentle=True
                        )
                    wanted = yield sample
            except RunStopped as stop:
                if not stop.gentle:
                    raise
                status, reason = stop.exit_status, stop.reason
                self._link.abort_heeded()
            # The pendulum is no longer held by hand: it is lowered, and may still fall.
            step = min(step, abs(self._cycle.held_torque) / (LOWERING * job.header.rate))
            begin, sinking = self._cycle.moment, 0.0
            while self._cycle.held_torque:
                waits = sinking > LOWERING_SPEED and self._cycle.moment - begin < LONGEST_LOWERING
                torque = self._cycle.held_torque if waits else self._towards(0.0, step)
                sinking = abs(self._hold_torque(torque, guided=False).reading.velocity)
            self._servo.confirm()
        except RunStopped as stop:
            status, reason, fault = stop.exit_status, stop.reason, stop.fault
        except Exception as error:
            status, reason, fault = "fail", describe(error), self._cycle.is_fault(error)
        finally:
            self._cycle.let_go(reason if fault else "")
            self._cycle.held_torque = math.nan
            self._link.held(math.nan)
            self._cycle.enter(Phase.IDLE)
        return HoldResult(exit_status=status, reason=reason)

    # Phases.

    def _hold_torque(self, torque: float, guided: bool = True) -> HeldSample:
        """Perform one cycle with a motor torque.

        Args:
            torque: Torque [N·m].
            guided: True while the user guides the pendulum by hand, so that it must be slow.
        """
        self._cycle.await_due()
        self._cycle.held_torque = torque
        self._link.held(torque)
        reading = self._cycle.act(TorqueGoal(torque), math.nan)
        limits = self._servo.limits
        violation = limits.check_hold(reading) if guided else None
        if violation is not None:
            # Gravity turns it against the torque: the fall that a search for the highest rest ends with.
            falls = reading.velocity * torque < 0.0 and limits.check(reading, driven=True) is None
            if falls:
                raise RunStopped("fell", f"the pendulum fell: {violation}")
            raise RunStopped("fail", f"limit tripped: {violation}", fault=True)
        return HeldSample(clock=self._cycle.moment, reading=reading, torque=torque)

    def _towards(self, wanted: float, step: float) -> float:
        """Return the held torque of the next cycle, at most a step [N·m] from that of the last one."""
        return self._cycle.held_torque + min(max(wanted - self._cycle.held_torque, -step), step)

    def _prepare(self, job: RunJob, storage: Storage) -> None:
        """Prepare a run up to its first sample; the store is ready before the servo moves."""
        self._cycle.enter(Phase.APPROACH)
        job.plan.check(job.limits)
        self._cycle.mount(job.header, job.limits)
        while not storage.opened():
            self._cycle.make(None)
        goal = float(job.plan.goal[0])
        if job.plan.torque_enable[0]:
            self._move(goal)
            self._rest(PositionGoal(goal), goal, timing.limits.rest)
        else:
            self._rest(Release(), math.nan, timing.limits.swing)

    def _follow(self, plan: RunPlan, storage: Storage) -> None:
        goals, enables = plan.goal.tolist(), plan.torque_enable.tolist()
        self._cycle.enter(Phase.RUN)
        first = self._cycle.begin_samples()
        length = len(plan)
        while (k := self._cycle.await_due() - first) < length:
            command = PositionGoal(goals[k]) if enables[k] else Release()
            self._cycle.act(command, goals[k], storage.put)
            self._link.progress(k + 1, length, self._cycle.skipped, self._cycle.bus_errors)
        self._servo.confirm()
        # If the end came late, some skipped cycles do not belong to the run.
        self._cycle.skipped -= k - length

    def _bring_back(self) -> None:
        """Wait until the pendulum hangs if released, go slowly to 0 rad, release. Errors here do not spoil the run."""
        self._cycle.enter(Phase.RETURN)
        fault = ""
        try:
            if self._servo.state is not ServoState.ENABLED:
                self._rest(Release(), math.nan, timing.limits.swing)
            if abs(self._cycle.make(None).position) > NEAR:
                self._move(0.0)
                self._cycle.make(PositionGoal(0.0), 0.0)
        except RunStopped as stop:
            fault = stop.reason if stop.fault else ""
        except Exception as error:
            fault = describe(error)
        finally:
            self._cycle.let_go(fault if fault in ("", EMERGENCY) else f"after the run: {fault}")

    def _move(self, target: float) -> None:
        """Drive the goal to `target` [rad] along a smooth curve no faster than MOVE_SPEED."""
        start = self._cycle.make(None).position
        distance = target - start
        if abs(distance) <= NEAR:
            return
        # 3x² − 2x³ is at most 1.5 times as fast as a straight line.
        duration = 1.5 * abs(distance) / MOVE_SPEED
        begin = self._cycle.due
        while (x := (self._cycle.due - begin) / duration) < 1.0:
            goal = start + distance * (3.0 - 2.0 * x) * x * x
            self._cycle.make(PositionGoal(goal), goal)

    def _rest(self, command: Command, goal: float, limit: float) -> None:
        """Repeat a command until the servo is at rest; raises RunStopped if it is not within `limit` [s]."""
        begin = window = self._cycle.due
        lowest, highest = math.inf, -math.inf
        while self._cycle.due - begin <= limit:
            position = self._cycle.make(command, goal).position
            lowest, highest = min(lowest, position), max(highest, position)
            if self._cycle.due - window >= REST_WINDOW:
                if highest - lowest <= self._band:
                    return
                window, lowest, highest = self._cycle.due, math.inf, -math.inf
        raise RunStopped(
            "fail",
            f"the servo did not come to rest within {limit:g} s, its position still varies by "
            f"{highest - lowest:.3f} rad; steady the bench or change the gains",
        )

    def _await(self, sealed: Future[Sealed]) -> Sealed:
        """Wait for the store, the servo being released, and keep giving signs of life."""
        while not sealed.done():
            stop = self._link.pending()
            if stop is not None and stop.reason == EMERGENCY and self._servo.state is not ServoState.FAULT:
                self._cycle.let_go(EMERGENCY)
            wait([sealed], timeout=0.01)
        return sealed.result()
