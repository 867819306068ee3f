"""Checks that a driven servo keeps its torque, mode and goal.

A second program or controller on the bus may change them. A goal may also be lost, because it is sent without an
answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import cycle

from drivers import timing
from drivers.dynamixel.modes import GOAL_REGISTERS
from drivers.dynamixel.registers import Registers
from drivers.errors import BusError, NoAnswer, ServoFault

PERIOD = 0.05
"""Period in which one of the three is read back [s]."""
MOST_LOST = 10
"""Lost goals in a row after which a servo follows old ones."""
KEPT_GOALS = 32
"""Goals that a servo may still hold if later ones were lost."""
REMEDY = "end the other program or unplug the other controller on its bus, then acknowledge"


class Watch:
    """Watches one servo from torque on until its release."""

    def __init__(self, registers: Registers, mode: str) -> None:
        table = registers.table
        self._registers = registers
        self._goal = GOAL_REGISTERS[mode]
        self._sent: deque[int] = deque(maxlen=KEPT_GOALS)
        self._ours: Mapping[str, Collection[int]] = {
            "torque_enable": (1,),
            table.mode_register: (table.modes[mode],),
            self._goal: self._sent,
        }
        self._turn = cycle(self._ours)
        self._looked = timing.now()
        self._lost = 0

    def send(self, goal: int) -> None:
        """Send a goal, and periodically read back the servo's registers before it.

        A value that another program wrote since the last cycle is still there then.

        Args:
            goal: Goal [counts].

        Raises:
            ServoFault: if another program changed a register.
            BusError: if the bus fails.
        """
        now = timing.now()
        if now - self._looked > PERIOD:
            self._looked = now
            name = next(self._turn)
            # A missing answer is detected by the next sample.
            with suppress(NoAnswer, BusError):
                held = self._registers.read_one(name, 0.0)
                if not self._registers.error:  # a servo that protects itself says so with the next sample
                    self._require_ours(name, held)
        self._registers.send({self._goal: goal})
        self._sent.append(goal)

    @property
    def block(self) -> tuple[str, ...]:
        """Registers that are read with every sample: an old answer contains an old goal."""
        return ("goal_position",) if self._goal == "goal_position" and self._sent else ()

    def is_late(self, held: Mapping[str, int]) -> bool:
        """Return True if a sample's registers lack the newest goal."""
        return any(held[name] != self._sent[-1] for name in self.block)

    def check(self, held: Mapping[str, int]) -> bool:
        """Return True if a sample's registers show that the newest goal was lost.

        Raises:
            ServoFault: for a goal of another program, or if the servo accepts none any more.
        """
        for name in self.block:
            self._require_ours(name, held[name])
        late = self.is_late(held)
        self._lost = self._lost + 1 if late else 0
        if self._lost > MOST_LOST:
            raise ServoFault(
                f"the servo accepted none of {self._lost} goals, or its answers are old ones; check the cable and the "
                "adapter, then acknowledge"
            )
        return late

    def _require_ours(self, name: str, held: int) -> None:
        ours = self._ours[name]
        if ours and held not in ours:
            raise ServoFault(f"another program or controller set {name} to {held} while the servo was driven; {REMEDY}")
