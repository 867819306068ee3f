"""A Feetech servo as a `Servo`: what its firmware does otherwise than a Dynamixel's.

Its EEPROM is written with the lock set, so that a change ends with its power; a position is one within a turn, whose
ends must stay out of reach; an overload cuts its output to a fifth without switching its torque off.
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

PHASE_SET, PHASE_CLEAR = 0b01100, 0b10000
"""Bits of the phase register that must be set, for the unit of speeds and the meaning of speed 0, or not, for positions
of several turns. The facts here hold then."""
PHASE_REVERSED = 0b10000001
"""Bits of the phase register that reverse the drive and the feedback."""
NEAR_THE_END = 0.25 * math.pi
"""A pendulum this near to an end of the turn [rad] reaches it in usual motions."""
RESTARTED = "check that its power supply is strong enough and its plugs are tight, then acknowledge"
CENTRE = "Centre… under Bench, or bench servo centre"
"""Ways to centre a servo."""
CUT_SAMPLES = 10
"""Samples in a row with a far smaller output than the law's that show an overload."""


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
        self._cut = 0

    def _chosen(self, candidates: Sequence[ServoSpec]) -> ServoSpec:
        if self._stated:
            stated = load_servo(self._stated)
            if stated not in candidates:
                answers = " or ".join(spec.title for spec in candidates)
                raise ModelError(f"the servo answers as {answers}, not as {stated.title}; choose what its label says")
            return stated
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
        phase = found["phase"]
        sound = (phase | PHASE_SET) & ~PHASE_CLEAR
        if phase != sound:
            raise DriverError(
                f"ID {self._id}: phase is {phase}, which changes the unit of speeds, the meaning of speed 0, or counts "
                f"several turns; {FEETECH.tool} phase={sound}"
            )
        self._known = False
        super()._prepare()
        facts = {f"{name} found": float(value) for name, value in found.items()}
        self._prepared = replace(self._prepared, facts={**self._prepared.facts, **facts})
        if phase & PHASE_REVERSED:
            warning = f"phase {phase} reverses its direction; the factory's is {phase & ~PHASE_REVERSED}"
            self._prepared = replace(self._prepared, warnings=(*self._prepared.warnings, warning))
        position = self.registers.read_one("present_position")
        rest = math.pi - abs(self.profile.from_counts(self.profile.table["present_position"], position))
        if rest < NEAR_THE_END:
            warning = (
                f"it reports position {position}, {max(rest, 0.0):.2f} rad from the end of its turn, which no motion "
                f"may cross; let the load hang still and centre it: {CENTRE}"
            )
            self._prepared = replace(self._prepared, warnings=(*self._prepared.warnings, warning))

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
        if math.pi - abs(position) < NEAR_THE_END:
            raise DriverError(
                f"the servo is at {position:.2f} rad, near the end of its turn, where positions begin again; let "
                f"the load hang still, and centre it: {CENTRE}"
            )
        super()._enable(goal)

    def _release(self) -> None:
        super()._release()
        # Another program finds its whole output again.
        if (full := self._prepared.caps.get("max_torque")) is not None:
            self.registers.send({"torque_limit": full})

    def _acknowledge(self) -> None:
        # An overload ends with a goal in the other direction; a goal switches torque on, here without any output.
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
        if known and abs(self._counts - before) > self.profile.position_counts / 2:
            raise ServoFault(
                f"the position went from {before} to {self._counts}, across the end of the turn, where it begins "
                f"again; acknowledge, let the load hang still and centre the servo: {CENTRE}"
            )
        return held, reading

    def _check_output(self, reading: Reading) -> None:
        """Raise ServoFault if the output stays at what an overload leaves of it, though the servo reports none."""
        left = 0.01 * self._kept.get("protective_torque", 0)
        wanted = 0.0
        if self._watch is not None and self._mode == "position" and self._written is not None:
            error = self.profile.position_unit * abs(self._watch.newest - self._counts)
            highest = self.profile.duty_unit * self._prepared.caps["max_torque"]
            wanted = min(self.spec.control.error_gain * self._written.kp * error, highest)
        cut = wanted > 2.0 * left and 0.5 * left < abs(reading.duty_cycle) <= left + self.profile.duty_unit
        self._cut = self._cut + 1 if cut else 0
        if self._cut > CUT_SAMPLES:
            raise ServoFault(
                f"an overload has cut the servo's output to {100.0 * left:.0f} %; look for a blocked arm or too "
                "heavy a load, then acknowledge"
            )
