"""The hand on the drawn pendulum: the mouse pulls a simulated pendulum by a spring, the arrow keys push it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from bench_gui.headless.place.pushes import felt_bench, push_gently
from bench_gui.state.servo_link import ServoLink, ServoView
from core.servo.bench import Bench
from drivers.recorder import Phase
from drivers.servo import ServoState

STIFFNESS_SHARE = 6.0
"""Stiffness of the spring from the cursor to the mass, as a multiple of the gravity torque [1/rad]."""
REACH = 0.3
"""The pull of the cursor stops growing beyond this angle [rad]: 1.8 times the gravity torque."""
PULL_SPEED = 0.4
"""A full pull moves a balanced pendulum at this share of the speed limit that ends a hold."""
DEFAULT_SPEED = 2.5
"""Speed limit of a hold if none is known [rad/s]."""
PUSH_SHARE = 1.5
"""Size of an arrow key's torque, as a multiple of the gravity torque."""


class PendulumHand(QObject):
    """Moves the pendulum of a simulated servo that is at rest or holds a torque."""

    def __init__(self, servo: ServoLink, bench: Callable[[], Bench], gentle: Callable[[], float]) -> None:
        """Prepare the hand.

        Args:
            servo: The servo.
            bench: Returns the bench that the servo carries.
            gentle: Returns the torque of every push while backlash is measured [N·m], otherwise 0.
        """
        super().__init__()
        self._servo, self._bench, self._gentle = servo, bench, gentle
        self.way = 0
        """Direction of a gentle push, −1 or 1; 0 for none."""
        self.pulling = False
        """True while the cursor or a key moves the pendulum."""
        servo.changed.connect(self._look)

    @property
    def drawn(self) -> bool:
        """True if the servo is simulated or emulated: only the drawn pendulum can be pushed."""
        return self._servo.hand is not None

    @property
    def free(self) -> bool:
        """True while the pendulum can be moved."""
        return self._hand() is not None

    def pull_to(self, angle: float) -> None:
        """Pull the pendulum towards an angle [rad]."""
        hand = self._hand()
        position = self._servo.view.position
        if hand is None or not math.isfinite(position):
            return
        # The shortest direction, limited to the reach of an arm.
        away = math.remainder(angle - position, 2.0 * math.pi)
        if self._gentle():
            self.push(1 if away > 0.0 else -1)
            return
        away = min(max(away, -REACH), REACH)
        stiffness = STIFFNESS_SHARE * self._bench().gravity_torque
        limits = self._servo.limits
        fastest = limits.hold_speed if limits is not None else math.inf
        damping = stiffness * REACH / (PULL_SPEED * (fastest if math.isfinite(fastest) else DEFAULT_SPEED))
        self.pulling = True
        hand.pull_to(position + away, stiffness, damping)

    def push(self, direction: int) -> None:
        """Push the pendulum, −1 clockwise, 1 counter-clockwise."""
        hand = self._hand()
        if hand is None:
            return
        self.pulling = True
        if gentle := self._gentle():
            if direction != self.way:
                # Samples up to now were pushed the other way, even if they are read later.
                self._servo.take_rows()
                self.way = direction
            identity = self._servo.identity
            bench = self._bench() if identity is None else felt_bench(self._bench(), identity.model)
            push_gently(hand, direction * gentle, bench, self._servo.view.position)
        else:
            hand.torque = direction * PUSH_SHARE * self._bench().gravity_torque

    def let_go(self) -> None:
        """Release the pendulum."""
        hand = self._servo.hand
        if hand is not None:
            hand.torque = 0.0
            hand.let_go()
        # Samples up to now were taken in the hand, even if they are read later.
        self._servo.take_rows()
        self.pulling, self.way = False, 0

    def _hand(self) -> Any:
        view = self._servo.view
        free = view.state is ServoState.READY or view.phase is Phase.HOLD
        return self._servo.hand if free else None

    def _look(self, view: ServoView) -> None:
        if self.pulling and (not self.free or (self.way and not self._gentle())):
            self.let_go()
        elif self.way:
            self.push(self.way)  # the load has moved, and so has the weight that the hand bears
