"""Traces of servos, step by step."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.arrays import Array
from core.studies.webots.fields import ServoFields
from core.studies.webots.servo import FORCE, VELOCITY, ServoDevice


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """One servo over time; sample k is the state before step k and the forces during it. All arrays have shape (n,).

    Units are rad and N·m for a rotational servo, m and N for a linear one.
    """

    name: str
    fields: ServoFields
    time: Array
    """Time [s]."""
    target: Array
    """Target of position control; NaN in the other modes."""
    position: Array
    velocity: Array
    wanted_velocity: Array
    """Vc; NaN in force control."""
    motor_force: Array
    """Force used by the motor."""
    force: Array
    """Force of force control; NaN in the other modes."""
    available_force: Array
    """Force available to the motor or to force control."""


COLUMNS = tuple(Trace.__annotations__)[2:]
"""Names of the arrays of a trace."""


class TraceLog:
    """Recorder of servos; call `begin` before and `end` after each of their steps."""

    def __init__(self, servos: Sequence[ServoDevice]) -> None:
        self._servos = tuple(servos)
        self._rows = [array("d") for _ in servos]
        self._before: list[tuple[float, float, float]] = []

    def begin(self, now: float) -> None:
        """Record the state before a step that begins at `now` [s]."""
        self._before = [(now, servo.position, servo.velocity) for servo in self._servos]

    def end(self) -> None:
        """Record the forces during the step."""
        for servo, rows, (now, position, velocity) in zip(self._servos, self._rows, self._before, strict=True):
            forced = servo.mode == FORCE
            target = math.nan if forced or servo.mode == VELOCITY else servo.target
            wanted, force = (math.nan, servo.applied_force) if forced else (servo.motor_velocity, math.nan)
            rows.extend((now, target, position, velocity, wanted, servo.used_force, force, servo.motor_force))

    def traces(self) -> list[Trace]:
        """Return one trace per servo."""
        found: list[Trace] = []
        for servo, rows in zip(self._servos, self._rows, strict=True):
            table = np.array(rows).reshape(-1, len(COLUMNS))
            columns = {name: table[:, place].copy() for place, name in enumerate(COLUMNS)}
            found.append(Trace(name=servo.name, fields=servo.fields, **columns))
        return found
