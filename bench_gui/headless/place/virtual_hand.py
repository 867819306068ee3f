"""Virtual hand for the simulated servo: it moves the pendulum, releases it, and bisects towards the edge.

It has only the information of a user: the force of the pendulum through a spring, the angle that the servo reports, and
whether the pendulum stays where it was released. `bench place` uses it with simulated servos; tests compare its results
with the closed form of the boundaries.
"""

from __future__ import annotations

import math
from enum import Enum, auto
from typing import Protocol

from bench_gui.headless.place.rests import Rest, RestFinder, Target
from core.base.errors import ServoBenchError
from core.servo.bench import Bench

STRIDE = math.radians(4.0)
LONGEST_STRIDE = math.radians(10.0)
"""First step outwards [rad]; it doubles, up to the longest, until the pendulum no longer stays."""
SPEED = 0.6
"""Speed limit of the hand [rad/s], which keeps the pendulum from swinging."""
GRIP_TIME = 0.12
"""Time for which the hand holds still before it releases the pendulum [s]."""
STIFFNESS_SHARE = 12.0
"""Stiffness of the hand's spring, as a multiple of the gravity torque [1/rad]."""
DAMPING_RATIO = 0.8
MOST_TRIALS = 40
MOST_VAIN_TRIALS = 8
"""Consecutive trials without progress after which friction allows no finer placement."""
FARTHEST = math.radians(92.0)
"""Largest angle from the lowest position that the hand tries; no point of a diagram lies beyond."""
MOST_CORRECTIONS = 12
"""Number of times the hand increases its lead when friction holds the pendulum back."""
PATIENCE = 20.0
"""Time limit for the pendulum to stand still, after which the hand gives up [s]."""


class Hand(Protocol):
    """Actuation of the simulated pendulum, e.g. drivers.simulated.hand.SharedHand."""

    def pull_to(self, angle: float, stiffness: float, damping: float) -> None:
        """Pull with a spring [rad, N·m/rad, N·m·s/rad]."""
        ...

    def let_go(self) -> None:
        """Release the pendulum."""
        ...


class _Doing(Enum):
    BEGIN = auto()
    PULL = auto()
    WATCH = auto()
    DONE = auto()


class VirtualHand:
    """Finds one extreme after another; call `look` with every sample."""

    def __init__(self, hand: Hand, bench: Bench, position_step: float, time: float) -> None:
        """Create a hand; position_step: resolution of the encoder [rad], time: minimum duration of a rest [s]."""
        self._hand = hand
        self._bench = bench
        self._stiffness = STIFFNESS_SHARE * max(bench.gravity_torque, 1e-3)
        # The hand does not know the servo's own inertia; twice the load's is a good enough guess.
        self._damping = 2.0 * DAMPING_RATIO * math.sqrt(self._stiffness * 2.0 * max(bench.inertia, 1e-6))
        self._finder = RestFinder(position_step, time)
        self._grip = RestFinder(position_step, GRIP_TIME)
        self._fine = max(1e-3, 1.5 * position_step)
        """Distance below which two positions are equal [rad]."""
        self._doing = _Doing.DONE
        self._outwards = 1.0

    def steady(self, torque: float) -> None:
        """Damp the pendulum while the servo builds up another torque."""
        self._hand.pull_to(0.0, 0.0, self._bench.gravity_torque / SPEED)

    def seek(self, target: Target) -> None:
        """Start with another extreme, from the current position."""
        self._outwards = target.outwards
        self._inside = self._outside = math.nan
        self._stride = STRIDE
        self._trials = self._vain = 0
        self.best: Rest | None = None
        self._begin(_Doing.BEGIN)
        self._hand.let_go()

    @property
    def free(self) -> bool:
        """True while the hand does not hold the pendulum."""
        return self._doing is not _Doing.PULL

    @property
    def done(self) -> bool:
        """True once the extreme is found; `best` holds it."""
        return self._doing is _Doing.DONE

    @property
    def fell(self) -> float | None:
        """Nearest angle to `best` at which the pendulum did not stay [rad]; None if it stayed everywhere."""
        return self._outside if math.isfinite(self._outside) else None

    def look(self, time: float, position: float) -> None:
        """Process a sample [s, rad] and act; raise ServoBenchError if the pendulum does not come to rest."""
        if self.done:
            return
        if math.isnan(self._since):
            self._since = time
        if time - self._since > PATIENCE:
            self._hand.let_go()
            raise ServoBenchError(
                f"the pendulum did not come to rest within {PATIENCE:g} s; hold a smaller torque or change the load"
            )
        self._finder.feed(time, position, self.free)
        self._grip.feed(time, position, True)
        if self._doing is _Doing.PULL:
            self._pull(time, position)
        else:
            rest = self._finder.now()
            if rest is not None:
                self._judge(rest)

    def _pull(self, time: float, position: float) -> None:
        wanted = self._goal + self._lead
        if math.isnan(self._pulled_at):
            self._anchor, self._pulled_at = position, time
        step = SPEED * (time - self._pulled_at)
        self._pulled_at = time
        self._anchor += min(max(wanted - self._anchor, -step), step)
        self._hand.pull_to(self._anchor, self._stiffness, self._damping)
        held = self._grip.now()
        if held is None or self._anchor != wanted:
            return
        short = self._goal - held.angle
        if abs(short) > self._fine and self._corrections < MOST_CORRECTIONS:
            # Friction holds the pendulum back, so the hand leads by as much as it lags.
            self._corrections += 1
            self._lead += short
            self._grip.restart()
            return
        self._placed = held.angle
        self._hand.let_go()
        self._begin(_Doing.WATCH)

    def _judge(self, rest: Rest) -> None:
        if self._doing is _Doing.WATCH:
            self._narrow(rest)
        else:
            self._inside, self.best = rest.angle, rest
        self._trials += 1
        found = self._outwards * (self._outside - self._inside) <= 2.0 * self._fine
        vain = self._vain >= MOST_VAIN_TRIALS or self._trials > MOST_TRIALS
        if found or vain or abs(self._inside + self._bench.angle_offset) > FARTHEST:
            self._doing = _Doing.DONE
            return
        # Stride outwards until the pendulum falls once, then bisect between the two edges.
        if math.isnan(self._outside):
            self._goal = self._inside + self._outwards * min(self._stride, LONGEST_STRIDE)
            self._stride *= 2.0
        else:
            self._goal = 0.5 * (self._inside + self._outside)
        self._lead, self._corrections = 0.0, 0
        self._begin(_Doing.PULL)

    def _narrow(self, rest: Rest) -> None:
        """Move one of the two edges if the trial was informative."""
        slid = self._outwards * (self._placed - rest.angle) > self._fine
        self._vain += 1
        if slid and not self._outwards * (self._placed - self._outside) >= 0.0:
            self._outside, self._vain = self._placed, 0
        elif not slid and self._outwards * (rest.angle - self._inside) > 0.0:
            self._inside, self.best, self._vain = rest.angle, rest, 0

    def _begin(self, doing: _Doing) -> None:
        self._doing = doing
        self._since = self._pulled_at = math.nan
        self._finder.restart()
        self._grip.restart()
