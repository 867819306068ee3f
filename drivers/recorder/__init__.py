"""The recorder: a process of its own that owns one servo, drives it along trajectories and hands out samples.

`recorder.Recorder` is what the program holds, with the process as its `child`; `process` is what runs on the other
side; `loop`, made of the cycles of `cycle`, is the one loop that both the process and `inline` use. They share three
things: a `ring` of live samples, a `control` block of flags and heartbeats, and a pipe for requests and events that may
take their time.
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
