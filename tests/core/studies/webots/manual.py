"""What the cases of the Webots Servo's manual share: a table of named cases, a servo with its load, its motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.studies.webots.chain import Chain, single
from core.studies.webots.fields import Load, ServoFields
from core.studies.webots.servo import ServoDevice

STEP = 0.008
WEIGHTLESS = Load(inertia=0.02)
PENDULUM = Load(inertia=0.02, gravity_torque=0.5)
STRONG = ServoFields(max_force=1e6)


class Table(list[Any]):
    """Cases for `pytest.mark.parametrize`, each a function under the section it is from."""

    def case(self, name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
        """Make a function a case."""

        def keep(function: Callable[[], None]) -> Callable[[], None]:
            self.append(pytest.param(function, id=name))
            return function

        return keep


def servo_of(fields: ServoFields = STRONG, load: Load = WEIGHTLESS) -> tuple[ServoDevice, Chain]:
    """A servo and what steps it."""
    chain = single(fields, load)
    return chain.servos[0], chain


def passed(chain: Chain, steps: int, step: float = STEP, force: float = 0.0) -> np.ndarray:
    """Position, velocity, motor velocity and motor force of the last servo after each step, (n, 4)."""
    rows = []
    for _ in range(steps):
        chain.step(step, [0.0] * (len(chain.servos) - 1) + [force])
        servo = chain.servos[-1]
        rows.append((servo.position, servo.velocity, servo.motor_velocity, servo.used_force))
    return np.array(rows)


def refused(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    """A call must raise an error that says so."""
    with pytest.raises(error, match=match):
        call()
