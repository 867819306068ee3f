"""Messages between the program and the recorder's process through their pipe. All are frozen and picklable.

Nothing urgent goes this way: stops and heartbeats are in the control block. Events are sent only while the servo is
released, so that a program that does not read them cannot block a driven one.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.servo.settings import ServoSettings
from drivers.limits import Limits
from drivers.recorder.loop import HoldJob, RunJob
from drivers.recorder.run import RunResult
from drivers.servo import ServoIdentity


@dataclass(frozen=True)
class RecordRequest:
    """Perform a run."""

    job: RunJob
    aborts_seen: int
    """Aborts requested before this run; only later ones apply to it."""


@dataclass(frozen=True)
class HoldRequest:
    """Hold the torque given in the control block."""

    job: HoldJob
    aborts_seen: int
    ends_seen: int
    """Ends of holds requested before this one."""


@dataclass(frozen=True)
class ConfigureRequest:
    """Write settings and limits into the released servo."""

    settings: ServoSettings
    limits: Limits


@dataclass(frozen=True)
class AcknowledgeRequest:
    """The user has seen the fault."""

    stops_seen: int
    """Emergency stops requested so far; a later one is not acknowledged by this."""


Request = RecordRequest | HoldRequest | ConfigureRequest | AcknowledgeRequest


@dataclass(frozen=True)
class Announced:
    """Connecting takes long for this reason, e.g. since a simulation is compiled."""

    text: str


@dataclass(frozen=True)
class Connected:
    """The servo answered."""

    identity: ServoIdentity
    limits: Limits
    priority: str
    """Scheduling of the loop, with the reason if it is not the best."""
    settings: ServoSettings | None
    """Settings read from the servo; None if it cannot report them."""
    ratings: Limits
    """Bounds of the limits, which may be narrower but never wider."""
    fault: str = ""
    """Error that the servo has had since before; empty without one."""


@dataclass(frozen=True)
class ConnectFailed:
    """The servo could not be connected; the recorder's process has ended."""

    reason: str


@dataclass(frozen=True)
class RunFinished:
    """A run is over and sealed."""

    result: RunResult
    settings: ServoSettings | None
    """Settings read back from the servo before the run; None if it cannot report them."""


@dataclass(frozen=True)
class HoldEnded:
    """A held torque has ended and the servo is released."""

    exit_status: str
    """"success" if it was ended on purpose, "abort", "fail", or "fell" if the pendulum fell against the torque."""
    reason: str
    settings: ServoSettings | None = None
    """Settings read back from the servo before the hold; None if it cannot report them."""


@dataclass(frozen=True)
class Configured:
    """The servo has new settings and limits."""

    settings: ServoSettings | None
    """Settings read back from the servo; None if it cannot report them."""
    limits: Limits


@dataclass(frozen=True)
class ConfigureFailed:
    """Settings or limits were refused; the servo's values are unknown until they are written again."""

    reason: str


@dataclass(frozen=True)
class Faulted:
    """The servo is in FAULT and released, or the recorder's process is gone."""

    reason: str


@dataclass(frozen=True)
class Acknowledged:
    """The servo is READY again."""


Event = (
    Announced
    | Connected
    | ConnectFailed
    | RunFinished
    | HoldEnded
    | Configured
    | ConfigureFailed
    | Faulted
    | Acknowledged
)
