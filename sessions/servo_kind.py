"""The kind of servo that a run is of, and the rule that a session holds runs and placed points of one kind only.

Whatever adds runs to a session goes through `require_one_kind`: the recorder (`SessionSink.open`), and imports, copies
and the library (`Session.adding`). A fit over two kinds describes neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from core.base.guards import is_object
from core.servo.settings import ServoSettings
from sessions.errors import AnotherServoError, shown

REAL, EMULATED, SIMULATED = "real", "emulated", "simulated"

_TRUTH = {"model": "m6", "contact": "rigid"}
"""Options of a simulated servo's address that make it another servo, and their defaults."""
_EMULATED_PORTS = re.compile(r"(?:dynamixel|feetech):(/dev/pts/|/dev/ttys\d|.*/servobench-servo-\d+:)")
"""Addresses of emulated servos, for runs of versions that did not note it."""


def kind_of(settings: ServoSettings, provenance: Mapping[str, Any]) -> str:
    """Return the kind of servo of a run, such as "real xl330" or "simulated mx106 (model m1)".

    It consists of the origin (REAL, EMULATED or SIMULATED), the catalogue name and, in brackets, what makes it another
    servo: an actuator in place of its own motor, and the true model of a simulated one. Imported logs count as real
    unless they say otherwise. Gains, supply and load are conditions, which may differ within a session.
    """
    address = str(provenance.get("servo_address", ""))
    device = provenance.get("device")
    origin = device.get("origin") if is_object(device) else None
    marks: list[str] = []
    if origin == SIMULATED or provenance.get("simulated") is True or re.match(r"simulated([:?]|$)", address):
        origin = SIMULATED
        options = dict(parse_qsl(address.partition("?")[2]))
        marks = [
            f"{name} {shown(options[name])}" for name, usual in _TRUTH.items() if options.get(name, usual) != usual
        ]
    elif origin == EMULATED or _EMULATED_PORTS.match(address):
        origin = EMULATED
    else:
        origin = REAL
    if settings.actuator is not None:
        marks = [f"actuator {settings.actuator}"]
    return f"{origin} {settings.servo}" + (f" ({', '.join(marks)})" if marks else "")


def origin_of(kind: str) -> str:
    """Return the origin in a text of `kind_of`."""
    return kind.partition(" ")[0]


def require_one_kind(session: Path, present: Iterable[str], added: Mapping[str, str]) -> None:
    """Refuse runs of several kinds of servo in one session.

    Args:
        session: Path of the session.
        present: Kinds of its runs, see `kind_of`.
        added: Kinds of the runs to add, and the name of one run of each.

    Raises:
        AnotherServoError: if there would be more than one kind.
    """
    there = sorted(set(present))
    if len(added) > 1:
        named = " and ".join(f"{_a(kind)} ({shown(name)})" for kind, name in added.items())
        raise AnotherServoError(f"a session has one servo, these runs are of {named}; add each servo's to its own")
    if added and there and there != list(added):
        raise AnotherServoError(
            f"{shown(session)}: a session has one servo; its runs and points are of {' and '.join(map(_a, there))}, "
            f"the new ones of {_a(next(iter(added)))}: use another session for them"
        )


def _a(kind: str) -> str:
    return f"an {kind}" if kind.startswith(EMULATED) else f"a {kind}"
