"""A hand on the simulated pendulum: one number in shared memory, the torque it exerts on the shaft."""

from __future__ import annotations

import math
from multiprocessing import get_context

from drivers.errors import CommandError


class SharedHand:
    """Set in one process, felt by the plant in another. Picklable while a process starts."""

    def __init__(self) -> None:
        self._torque = get_context("spawn").RawValue("d", 0.0)

    @property
    def torque(self) -> float:
        """On the shaft, counter-clockwise positive [N·m]."""
        return self._torque.value

    @torque.setter
    def torque(self, value: float) -> None:
        if not math.isfinite(value):
            raise CommandError(f"a hand torque of {value} N·m is not a finite number")
        self._torque.value = value

    def __call__(self, time: float) -> float:
        """Torque now [N·m]; `time` is there so that a function of time can stand in its place."""
        return self._torque.value
