"""The recorder: a separate process that owns one servo, drives it along trajectories and delivers samples.

The program holds a `recorder.Recorder`, whose process is its `child`. `process` runs on the other side. `loop`, made of
the cycles in `cycle`, is the one loop that both the process and `inline` use. Both sides share three things: a `ring`
of live samples, a `control` block of flags and heartbeats, and a pipe for requests and events that are not urgent.
`planned` records several runs one after the other.
"""

from drivers.recorder.inline import InlineHold, record_inline
from drivers.recorder.recorder import Recorder
from drivers.recorder.run import HeldSample, HoldResult, MemorySink, Phase, RunResult

__all__ = [
    "HeldSample",
    "HoldResult",
    "InlineHold",
    "MemorySink",
    "Phase",
    "Recorder",
    "RunResult",
    "record_inline",
]
