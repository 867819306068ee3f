"""Defaults of the identification of a robot's joints, for the command and the window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.servo.terms import RICHEST

KEPT = ("robot.urdf", "robot.xml")
"""Names of a robot's file that is kept with a session."""
FIT: Mapping[str, Any] = {
    "models": (RICHEST,),
    "trials": 2000,
    "prior": 20.0,
    "contact": "elastoplastic_rational",
}
"""Settings of the fit of each joint.

A robot has one gain for each joint, which determines few values. The others stay near the servo's model.
"""


def kept_robot(session: Path) -> Path | None:
    """Return the robot's file in the folder of a session; None if there is none."""
    return next((session / name for name in KEPT if (session / name).exists()), None)
