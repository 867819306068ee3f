"""A Feetech servo as a `Servo`: what its firmware does otherwise than a Dynamixel's.

Its EEPROM is written with the lock set, so that a change ends with its power; a position is one within a turn, or
within the range of a potentiometer, whose ends must stay out of reach; an overload cuts its output to a fifth without
switching its torque off.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec, load_servo
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import DriverError, ServoFault
from drivers.feetech.form import FEETECH
from drivers.reading import Reading
from drivers.serial_bus.modes import goal_values
from drivers.serial_bus.preparation import gain_registers
from drivers.serial_bus.profile import profile_of
from drivers.serial_bus.registers import NotKept, Registers
from drivers.serial_bus.servo import SerialServo
from drivers.servo import PositionGoal, ServoIdentity, TorqueGoal

NEAR_THE_END = 0.25 * math.pi
"""A pendulum this near to an end of the positions [rad] reaches it in usual motions."""
RESTARTED = "check that its power supply is strong enough and its plugs are tight, then acknowledge"
CENTRE = "Centre… under Bench, or bench servo centre"
"""Ways to centre a servo."""
CUT_SAMPLES = 10
"""Samples in a row with a far smaller output than the law's that show an overload."""


def stated_among(name: str, candidates: Sequence[ServoSpec]) -> ServoSpec:
    """Return the catalogue servo that an address states; raises ModelError unless it is one of those that answered."""
    stated = load_servo(name)
    if stated not in candidates:
        answers = " or ".join(spec.title for spec in candidates)
        raise ModelError(f"the servo answers as {answers}, not as {stated.title}; choose what its label says")
    return stated


class FeetechServo(SerialServo):
    """One Feetech servo on a serial bus of its own."""

    def __init__(self, port: str, id: int, baud: int, servo: str = "") -> None:
        """Describe a servo.

        Args:
            port: Path of its port.
            id: ID on its bus.
            baud: Baud rate.
            servo: Its catalogue name; "" if its model number names it.
        """
        super().__init__(FEETECH, port, id, "scs", baud)
        self._stated = servo
        self._known = False
        """True once a position was read since it was connected or restarted."""
        self._share = 0.0
        """Largest share of the law's output that it was seen to give: the catalogue's gain may be an estimate."""
        self._cut = 0

    def _chosen(self, candidates: Sequence[ServoSpec]) -> ServoSpec:
        if self._stated:
            return stated_among(self._stated, candidates)
        if len(candidates) == 1:
            return candidates[0]
        table = profile_of(candidates[0], FEETECH).table
        held = Registers(self._bus, self._id, table).read("max_voltage_limit", "present_voltage")
        limit, supply = (table.units["voltage"] * value for value in held.values())
        raise ModelError(
            "the servo does not report its voltage and gear ratio "
            f"(its supply is {supply:.1f} V, its limit {limit:.1f} V); look at its label and add ?servo= to the "
            f"address: {', '.join(f'{spec.name} ({spec.title})' for spec in candidates)}"
        )

    def _prepare(self) -> None:
        registers = self.registers
        registers.send({"torque_enable": 0})
        # A locked EEPROM takes changes until its power goes.
        registers.send({"lock": 1})
        found = registers.read("phase", *registers.table.gains.values())
        phase, bits = found["phase"], registers.table.phase
        sound = (phase | bits.get("set", 0)) & ~bits.get("clear", 0)
        if phase != sound:
            raise DriverError(
                f"ID {self._id}: phase is {phase}, which changes the unit of speeds, the meaning of speed 0, or counts "
                f"several turns; {FEETECH.tool} phase={sound}"
            )
        self._known = False
        super()._prepare()
        facts = {f"{name} found": float(value) for name, value in found.items()}
        self._prepared = replace(self._prepared, facts={**self._prepared.facts, **facts})
        if turned := phase & bits.get("reversed", 0):
            warning = f"phase {phase} reverses its direction; the factory's is {phase - turned}"
            self._prepared = replace(self._prepared, warnings=(*self._prepared.warnings, warning))
        position = self.registers.read_one("present_position")
        rest = self._to_the_end(position)
        if rest < NEAR_THE_END:
            warning = (
                f"it reports position {position}, {max(rest, 0.0):.2f} rad from the end of its {self._range}, which no "
                f"motion may cross; {self._centred}"
            )
            self._prepared = replace(self._prepared, warnings=(*self._prepared.warnings, warning))

    @property
    def _range(self) -> str:
        """Name of the range of its positions."""
        return "turn" if self._turns else "potentiometer"

    @property
    def _turns(self) -> bool:
        """True if positions begin again at the end of a turn, False if those beyond an end are not known."""
        return self.profile.position_ends[1] + 1 >= self.profile.position_counts

    @property
    def _centred(self) -> str:
        """Way to keep a load away from the ends."""
        if "homing_offset" in self.profile.table:
            return f"let the load hang still and centre it: {CENTRE}"
        return f"mount the load so that it hangs near position {self.profile.position_centre:.0f}"

    def _to_the_end(self, counts: int) -> float:
        """Return the distance of a position [counts] from the nearer end [rad]."""
        low, high = self.profile.position_ends
        return self.profile.position_unit * min(counts - low, high + self._turns - counts)

    def _identify(self) -> ServoIdentity:
        identity = super()._identify()
        return replace(identity, firmware=f"{identity.firmware}.{self.registers.read_one('firmware_minor')}")

    def _write_gains(self, settings: ServoSettings) -> None:
        try:
            super()._write_gains(settings)
        except NotKept:
            # This firmware drops changes of a locked EEPROM.
            self.registers.keep(gain_registers(self.registers.table, settings))
            super()._write_gains(settings)

    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        if not self.registers.read_one("lock", timing.limits.serial_read):
            raise ServoFault(f"the servo restarted after it was connected; {RESTARTED}")
        position = self._read().position
        if self._to_the_end(self._counts) < NEAR_THE_END:
            raise DriverError(
                f"the servo is at {position:.2f} rad, near the end of its {self._range}, beyond which its angle is not "
                f"known; {self._centred}"
            )
        super()._enable(goal)

    def _release(self) -> None:
        super()._release()
        # Another program finds its whole output again.
        full = self._prepared.caps.get("max_torque")
        if full is not None and "torque_limit" in self.profile.table:
            self.registers.send({"torque_limit": full})

    def _acknowledge(self) -> None:
        # An overload ends with a goal in the other direction; a goal switches torque on, here without any output. A
        # servo that cannot be kept from any output must lose its power instead.
        if "torque_limit" in self.profile.table:
            self._may_be_driven = True
            for end in (-1, 1):
                self.registers.send({**goal_values("limited", end, self._prepared.position_limits), "torque_limit": 0})
            self._release()
            self._may_be_driven = False
        super()._acknowledge()

    def _read(self) -> Reading:
        with self._restarts_named():
            reading = super()._read()
        self._check_output(reading)
        return reading

    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        with self._restarts_named():
            super()._command(goal)

    @contextmanager
    def _restarts_named(self) -> Generator[None]:
        """Replace the fault of a driven servo whose lock is off, as it is after a restart."""
        try:
            yield
        except ServoFault:
            if self._watch is not None and not self.registers.read_one("lock", timing.limits.serial_read):
                raise ServoFault(f"the servo restarted while it was driven; {RESTARTED}") from None
            raise

    def _block(self) -> tuple[dict[str, int], Reading]:
        before, known = self._counts, self._known
        self._known = False
        held, reading = super()._block()
        self._known = True
        # It reports a magnitude; most of the time the motor draws it in the direction of its voltage.
        self._seen = reading = replace(reading, current=math.copysign(reading.current, reading.duty_cycle))
        crossed = known and abs(self._counts - before) > self.profile.position_counts / 2
        if crossed or (not self._turns and self._counts in self.profile.position_ends):
            where = f"went from {before} to {self._counts}, across" if crossed else f"is {self._counts}, at"
            raise ServoFault(
                f"the position {where} the end of the {self._range}, beyond which its angle is not known; acknowledge, "
                f"then {self._centred}"
            )
        return held, reading

    def _check_output(self, reading: Reading) -> None:
        """Raise ServoFault if the output stays at what an overload leaves of it, though the servo reports none."""
        left = 0.01 * self._kept.get("protective_torque", 0)
        wanted = 0.0
        if self._watch is not None and self._mode == "position" and self._written is not None:
            error = self.profile.position_unit * abs(self._watch.newest - self._counts)
            highest = self.profile.duty_unit * self._prepared.caps["max_torque"]
            wanted = self.spec.control.error_gain * self._written.kp * error
            if wanted > left:
                self._share = min(max(self._share, abs(reading.duty_cycle) / wanted), 1.0)
            wanted = min(self._share * wanted, highest)
        cut = wanted > 2.0 * left and 0.5 * left < abs(reading.duty_cycle) <= left + self.profile.duty_unit
        self._cut = self._cut + 1 if cut else 0
        if self._cut > CUT_SAMPLES:
            power = "" if "torque_limit" in self.profile.table else "switch its power off and on, "
            raise ServoFault(
                f"an overload has cut the servo's output to {100.0 * left:.0f} %; look for a blocked arm or too "
                f"heavy a load, {power}then acknowledge"
            )
