"""Checks that a driven servo keeps every register that matters: torque, mode, goal, gains, limits and ID.

A second program or controller on the bus may change them. A goal may also be lost, because it is sent without an
answer. Each goal overwrites the one before, and in all protocols but 2 it switches torque on again. These registers are
therefore read just before a goal, and the others with the sample after it. What is written within the way of that
answer, some 1 ms, is overwritten before it can be read; it is heard on the line, or noticed at the port.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping
from itertools import chain, cycle

from drivers import timing
from drivers.errors import BusError, NoAnswer, ServoFault
from drivers.serial_bus.modes import GOAL_REGISTERS, goal_values
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.table import ControlTable

PERIOD = 0.05
"""Period in which registers are read back that no goal overwrites [s]."""
LOOK_TIME = 0.007
"""Longest time of a read before each goal [s]; on a slower bus, there is none."""
SAMPLE_TIME = 0.001
"""Longest time that a sample may take in addition on the wire for registers that are only checked [s]."""
MOST_LOST = 10
"""Lost goals in a row after which a servo follows old ones."""
KEPT_GOALS = 32
"""Goals that a servo may still hold if later ones were lost."""
HARMLESS = frozenset({"led", "alarm_led", "lock", "bus_watchdog", "secondary_id"})
"""Registers that do not affect the motion, or have a check of their own."""
REMEDY = "end the other program or unplug the other controller on its bus, then acknowledge"


def kept_registers(table: ControlTable, *, eeprom: bool) -> tuple[str, ...]:
    """Return the registers, kept without power or not, that only this driver may change while it uses a servo."""
    harmless = HARMLESS - {"lock"} if table.protocol == "scs" else HARMLESS
    free = harmless | {*table.reading.values(), *GOAL_REGISTERS.values(), "goal_velocity"} - {"moving_speed"}
    return tuple(
        register.name
        for register in table.registers.values()
        if register.access == "rw" and register.eeprom is eeprom and register.name not in free
    )


def look_before_goals(registers: Registers, goal: str, delay: float) -> tuple[tuple[str, ...], float]:
    """Return the registers to read before each goal, none if the bus is too slow, and the time that takes [s].

    Args:
        registers: The servo's registers.
        goal: Register of the goal.
        delay: Delay of an answer in addition to its time on the wire [s].
    """
    names = (goal,)
    if goal == GOAL_REGISTERS["limited"]:
        names = ("torque_enable", *goal_values("limited", 0, (0, 0)))
    elif registers.table.protocol != 2 and goal == "goal_position":
        names = ("torque_enable", goal)
    time = registers.read_time(*names) + delay
    return (names, time) if time <= LOOK_TIME else ((), 0.0)


class Disturbances:
    """Errors for what another program did, and the time of the last one."""

    def __init__(self) -> None:
        self.last = -math.inf

    def error(self, what: str) -> ServoFault:
        """Return the error for what another program did."""
        self.last = timing.now()
        return ServoFault(f"another program or controller {what}; {REMEDY}")


class ReleasedWatch:
    """Watches the torque of a released servo."""

    def __init__(self, registers: Registers, delay: float) -> None:
        """Begin; delay [s]: of an answer in addition to its time on the wire."""
        self._registers = registers
        fast = registers.read_time("torque_enable") + delay <= LOOK_TIME
        self._period = 0.0 if fast else PERIOD
        self._looked = -math.inf

    def sees_torque(self) -> bool:
        """Return True if the torque is on. Raises NoAnswer or BusError."""
        now = timing.now()
        if now - self._looked < self._period:
            return False
        self._looked = now
        return bool(self._registers.read_one("torque_enable", timing.limits.serial_read))


class Watch:
    """Watches one servo from torque on until its release."""

    def __init__(
        self,
        registers: Registers,
        mode: str,
        goal: int,
        ends: tuple[int, int],
        known: Mapping[str, int],
        delay: float,
        disturbances: Disturbances,
    ) -> None:
        """Begin with a servo whose torque was just switched on.

        Args:
            registers: Its registers.
            mode: Its mode.
            goal: Goal that it was given before its torque was switched on [counts].
            ends: Its lowest and highest position [counts].
            known: Registers and their contents as far as they are known; the others are read here.
            delay: Delay of an answer in addition to its time on the wire [s].
            disturbances: Notes what another program did.

        Raises:
            ServoFault: if the servo does not hold what is known.
        """
        table = registers.table
        registers.bus.others_wrote(registers.id)
        self._registers = registers
        self._disturbances = disturbances
        self._mode, self._ends = mode, ends
        self._goal = GOAL_REGISTERS[mode]
        ours = (*kept_registers(table, eeprom=False), *known)
        volatile = [name for name in dict.fromkeys(ours) if not table[name].eeprom and name != self._goal]
        held = registers.read(*volatile, self._goal, time_allowed=timing.limits.serial_read)
        # Some servos replace the goal by their position when their torque is switched on.
        self._sent: deque[int] = deque([held[self._goal], goal], maxlen=KEPT_GOALS)
        self._ours: dict[str, Collection[int]] = {
            **{name: (value,) for name, value in {**held, **known}.items()},
            "torque_enable": (1,),
            **({table.mode_register: (table.modes[mode],)} if table.mode_register else {}),
            **({"goal_position": ends} if mode == "limited" else {}),
            self._goal: self._sent,
        }
        self._require_ours(held)
        self._look, _ = look_before_goals(registers, self._goal, delay)
        block = tuple(table.reading.values())
        more = registers.read_time(*block, *volatile, self._goal) - registers.read_time(*block)
        self.block = (*volatile, self._goal) if more <= SAMPLE_TIME else (self._goal,) * (mode == "position")
        """Registers that are read with every sample. In position mode, an old answer contains an old goal."""
        seen = {*self._look, *self.block}
        asked_first = filter(None, ("torque_enable", self._goal, table.mode_register))
        first = [name for name in asked_first if name not in seen]
        others = [name for name in self._ours if name not in seen and name not in first]
        self._turn = cycle(chain.from_iterable((*first, name) for name in others))
        self._looked = timing.now()
        self._lost = 0

    def send(self, goal: int) -> None:
        """Read back what another program may have changed, then send a goal.

        Args:
            goal: Goal [counts].

        Raises:
            ServoFault: if another program changed a register.
            BusError: if the bus fails.
        """
        if self._look:
            self._check(*self._look)
        now = timing.now()
        if now - self._looked > PERIOD:
            self._looked = now
            self._check(next(self._turn))
        values = goal_values(self._mode, goal, self._ends)
        self._registers.send(values)
        self._sent.append(values[self._goal])

    @property
    def newest(self) -> int:
        """Goal that was sent last [counts]."""
        return self._sent[-1]

    def confirm(self) -> None:
        """Read back every register.

        Raises:
            ServoFault: if another program changed one.
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
        """
        table = self._registers.table
        for eeprom in (False, True):
            names = [name for name in self._ours if table[name].eeprom is eeprom]
            self._require_ours(self._registers.read(*names, time_allowed=timing.limits.serial_read))

    def is_late(self, held: Mapping[str, int]) -> bool:
        """Return True if a sample's registers lack the newest goal."""
        return self._goal == "goal_position" and held[self._goal] != self._sent[-1]

    def check(self, held: Mapping[str, int]) -> bool:
        """Return True if a sample's registers show that the newest goal was lost.

        Raises:
            ServoFault: for a goal of another program, or if the servo accepts none any more.
        """
        self._require_ours({name: held[name] for name in self.block})
        late = self.is_late(held)
        self._lost = self._lost + 1 if late else 0
        if self._lost > MOST_LOST:
            raise ServoFault(
                f"the servo accepted none of {self._lost} goals, or its answers are old ones; check the cable and the "
                "adapter, then acknowledge"
            )
        return late

    def _check(self, *names: str) -> None:
        try:
            held = self._registers.read(*names, time_allowed=0.0)
        except (NoAnswer, BusError):
            if not self._registers.bus.is_open:
                raise
            # The next sample shows whether the servo is gone.
            self._registers.bus.repeats += 1
            return
        self._require_ours(held)

    def _require_ours(self, held: Mapping[str, int]) -> None:
        if self._registers.error:
            return  # a servo that protects itself says so with the next sample
        for name, value in held.items():
            if value not in self._ours[name]:
                raise self._disturbances.error(f"set {name} to {value} while the servo was driven")
        if self._registers.bus.others_wrote(self._registers.id):
            raise self._disturbances.error("wrote to the bus while the servo was driven")
