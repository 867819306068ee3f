"""What a look at a machine found, with the remedy: what `bench doctor` is made of.

A family's package may offer `examine() -> list[MachineCheck]`: whether its buses can be used here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCheck:
    """One thing that was looked at; status is "ok", "note" or "error"."""

    subject: str
    status: str
    text: str
    remedy: str = ""
