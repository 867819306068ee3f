"""Findings of `bench doctor` on this machine, each with its remedy.

A family's package may offer `examine() -> list[MachineCheck]`, which checks that its buses can be used here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCheck:
    """Result of one check; status is "ok", "note" or "error"."""

    subject: str
    status: str
    text: str
    remedy: str = ""
