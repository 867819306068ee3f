"""What the program and the recorder's process say to each other through their pipe. All frozen, all picklable.

Nothing urgent goes this way: stops and heartbeats are in the control block. Events are sent only while the servo is
released, so that a program that does not listen cannot hold up a driven one.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.recording import ServoSettings
from drivers.limits import Limits
from drivers.recorder.loop import HoldJob, RunJob
from drivers.recorder.run import RunResult
from drivers.servo import ServoIdentity


@dataclass(frozen=True)
class RecordRequest:
    """Make a run."""

    job: RunJob
    aborts_seen: int
    """Aborts asked for before this run; only later ones concern it."""


@dataclass(frozen=True)
class HoldRequest:
    """Hold a torque; which one is in the control block."""

    job: HoldJob
    aborts_seen: int
    ends_seen: int
    """Ends of holds asked for before this one."""


@dataclass(frozen=True)
class ConfigureRequest:
    """Write settings and limits into the released servo."""

    settings: ServoSettings
    limits: Limits


@dataclass(frozen=True)
class AcknowledgeRequest:
    """A person has seen the fault."""

    stops_seen: int
    """Emergency stops asked for so far; a later one is not acknowledged by this."""


Request = RecordRequest | HoldRequest | ConfigureRequest | AcknowledgeRequest


@dataclass(frozen=True)
class Connected:
    """The servo answered."""

    identity: ServoIdentity
    limits: Limits
    priority: str
    """How the loop is scheduled, and why not better if so."""
    settings: ServoSettings | None
    """As read from the servo; None when it cannot say."""
    ratings: Limits
    """Limits may be narrower than these, never wider."""


@dataclass(frozen=True)
class ConnectFailed:
    """The servo could not be connected; the recorder's process has ended."""

    reason: str


@dataclass(frozen=True)
class RunFinished:
    """A run is over and sealed."""

    result: RunResult
    settings: ServoSettings | None
    """As read back from the servo before the run; None when it cannot say."""


@dataclass(frozen=True)
class HoldEnded:
    """A held torque is over, the servo released."""

    exit_status: str
    """"success" when it was ended on purpose, "abort" or "fail"."""
    reason: str
    settings: ServoSettings | None = None
    """As read back from the servo before the hold; None when it cannot say."""


@dataclass(frozen=True)
class Configured:
    """The servo has other settings and limits."""

    settings: ServoSettings | None
    """As read back from the servo; None when it cannot say."""
    limits: Limits


@dataclass(frozen=True)
class ConfigureFailed:
    """Settings or limits were not taken; what the servo has is unknown until they are written again."""

    reason: str


@dataclass(frozen=True)
class Faulted:
    """The servo is in FAULT and released, or the recorder's process is gone."""

    reason: str


@dataclass(frozen=True)
class Acknowledged:
    """The servo is READY again."""


Event = Connected | ConnectFailed | RunFinished | HoldEnded | Configured | ConfigureFailed | Faulted | Acknowledged
