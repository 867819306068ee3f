"""A run or a held torque in the caller's own process, by the same loop that the recorder's process uses.

For the simulated servo only: `bench demo`, tests and scripts, where a run on the virtual clock takes a fraction of a
second. A servo that can move something real needs a process that survives errors of the program.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

from core.motion.recording import RunHeader, SinkDescription
from core.motion.trajectories import Trajectory
from drivers.errors import CommandError, DriverError, NotReady
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import Unlinked
from drivers.recorder.loop import HoldJob, Loop, RunJob
from drivers.recorder.run import HeldSample, HoldResult, RunPlan, RunResult, check_rate
from drivers.recorder.storage import Immediately
from drivers.servo import Servo


def record_inline(
    servo: Servo,
    trajectory: Trajectory,
    header: RunHeader,
    sink: SinkDescription | None = None,
    rate: float | None = None,
    virtual: bool = True,
) -> RunResult:
    """Perform one run with a connected simulated servo.

    Args:
        servo: The servo.
        trajectory: Goals of the run.
        header: Bench, settings and rate.
        sink: Where the samples go; None discards them.
        rate: Cycle rate [Hz]; None for the header's.
        virtual: Clock that the caller expects. A servo on the other clock is refused, so that a demonstration cannot
            take hours unexpectedly.

    Raises:
        NotReady: for a servo that can move something real or runs on the other clock.
        CommandError: for a trajectory outside the limits.
    """
    _require_harmless(servo, virtual)
    if rate is not None:
        header = replace(header, rate=rate)
    plan = RunPlan.sample(trajectory, header.rate)
    plan.check(servo.limits)
    loop = Loop(Cycle(servo, Unlinked()), Immediately())
    return loop.perform(RunJob(run=1, plan=plan, header=header, sink=sink, limits=servo.limits))


class InlineHold:
    """A torque held by a connected simulated servo, cycle by cycle.

    Leaving the block removes the torque along its ramp and releases the servo; an exception releases it at once.

    Example:
        with InlineHold(servo, header) as hold:
            while not steady:
                sample = hold.step(0.4)
    """

    def __init__(self, servo: Servo, header: RunHeader, virtual: bool = True) -> None:
        """Begin the hold.

        Args:
            servo: The servo.
            header: Bench, settings and rate.
            virtual: Clock that the caller expects.

        Raises:
            NotReady: for a servo that can move something real or runs on the other clock.
            CommandError: for an invalid rate or a servo without a torque limit.
        """
        _require_harmless(servo, virtual)
        check_rate(header.rate)
        job = HoldJob(header=header, limits=servo.limits)
        job.check()
        self._holding = Loop(Cycle(servo, Unlinked()), Immediately()).hold(job)
        self._begun = False
        self.result: HoldResult | None = None
        """The way the hold ended; None while it continues."""

    def step(self, torque: float) -> HeldSample:
        """Perform one cycle on the way to a torque, or holding it, and return the reading.

        The first step has a cycle without torque before it.

        Args:
            torque: Wanted torque [N·m].

        Raises:
            CommandError: for a torque that is not finite.
            DriverError: with the reason, once the hold has ended.
        """
        if not math.isfinite(torque):
            raise CommandError(f"a torque of {torque} N·m cannot be held; give a finite one")
        try:
            if not self._begun:
                self._begun = True
                next(self._holding)
            return self._holding.send(torque)
        except StopIteration as end:
            result = self.result = self.result or end.value or HoldResult(exit_status="abort", reason="interrupted")
        raise DriverError(f"the torque is no longer held: {result.reason or 'the hold was ended'}")

    def end(self) -> HoldResult:
        """Remove the torque along its ramp and release the servo; idempotent."""
        if self.result is None:
            try:
                if self._begun:
                    self._holding.send(math.nan)
            except StopIteration as end:
                self.result = end.value
        self._holding.close()
        self.result = self.result or HoldResult(exit_status="success")
        return self.result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is None:
            self.end()
        else:
            self._holding.close()


def _require_harmless(servo: Servo, virtual: bool) -> None:
    if servo.hazardous:
        raise NotReady("this servo can move something real; drive it through a Recorder")
    if servo.clock.virtual is not virtual:
        wanted, found = ("virtual", "real") if virtual else ("real", "virtual")
        raise NotReady(
            f"the servo runs on the {found} clock, but the {wanted} one was requested; open it with ?clock={wanted}"
        )
