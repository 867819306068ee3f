"""What the program and the recorder's process say to each other through their pipe. All frozen, all picklable.

Nothing urgent goes this way: stops and heartbeats are in the control block. Events are sent only while the servo is
released, so that a program that does not listen cannot hold up a driven one.
"""

from __future__ import annotations

from dataclasses import dataclass

from drivers.limits import Limits
from drivers.recorder.loop import RunJob
from drivers.recorder.run import RunResult
from drivers.servo import ServoIdentity


@dataclass(frozen=True)
class RecordRequest:
    """Make a run."""

    job: RunJob
    aborts_seen: int
    """Aborts asked for before this run; only later ones concern it."""


@dataclass(frozen=True)
class AcknowledgeRequest:
    """A person has seen the fault."""

    stops_seen: int
    """Emergency stops asked for so far; a later one is not acknowledged by this."""


Request = RecordRequest | AcknowledgeRequest


@dataclass(frozen=True)
class Connected:
    """The servo answered."""

    identity: ServoIdentity
    limits: Limits
    priority: str
    """How the loop is scheduled, and why not better if so."""


@dataclass(frozen=True)
class ConnectFailed:
    """The servo could not be connected; the recorder's process has ended."""

    reason: str


@dataclass(frozen=True)
class RunFinished:
    """A run is over and sealed."""

    result: RunResult


@dataclass(frozen=True)
class Faulted:
    """The servo is in FAULT and released, or the recorder's process is gone."""

    reason: str


@dataclass(frozen=True)
class Acknowledged:
    """The servo is READY again."""


Event = Connected | ConnectFailed | RunFinished | Faulted | Acknowledged
