"""A run in the caller's own process, by the same loop the recorder's process uses.

For the simulated servo only: `bench demo`, tests and scripts, where a run on the virtual clock takes a fraction of a
second. A servo that can move something real needs a process that outlives the program's mistakes.
"""

from __future__ import annotations

from dataclasses import replace

from core.recording import RunHeader, SinkDescription
from core.trajectories import Trajectory
from drivers.errors import NotReady
from drivers.recorder.link import Unlinked
from drivers.recorder.loop import Loop, RunJob
from drivers.recorder.run import RunPlan, RunResult
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
    """Make one run with a connected simulated servo and return how it went.

    rate [Hz], None for the header's. virtual says which clock the caller counts on; a servo on the other one is
    refused, so that a demonstration cannot take hours unawares. Raises NotReady for a servo that can move something
    real, CommandError for a trajectory outside the limits.
    """
    if servo.hazardous:
        raise NotReady("this servo can move something real; drive it through a Recorder")
    if servo.clock.virtual is not virtual:
        wanted, found = ("virtual", "real") if virtual else ("real", "virtual")
        raise NotReady(
            f"the servo lives on the {found} clock, the {wanted} one was asked for; open it with ?clock={wanted}"
        )
    if rate is not None:
        header = replace(header, rate=rate)
    plan = RunPlan.sample(trajectory, header.rate)
    plan.check(servo.limits)
    loop = Loop(servo, Unlinked(), Immediately())
    return loop.perform(RunJob(run=1, plan=plan, header=header, sink=sink, limits=servo.limits))
