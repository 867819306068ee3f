"""A serial servo as a `Servo`; the differences between series are in tables, not here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median
from typing import Any

from core.base.errors import ModelError
from core.servo.catalogue import ServoSpec
from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import BusError, DriverError, NoAnswer, ServoFault
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.serial_bus.bus import DAMAGE, Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.identity import identity_of
from drivers.serial_bus.modes import FULL_OUTPUT, GOAL_CAPS, UNHURRIED, Motor, goal_counts, goal_values, mode_of
from drivers.serial_bus.preparation import (
    Prepared,
    complaint,
    find,
    gain_registers,
    hardware_errors,
    narrowed,
    prepare,
    present_goal,
    release_all,
    release_all_at_every_rate,
    restart,
    restarts,
    write_gains,
)
from drivers.serial_bus.profile import SerialProfile, profile_of, servos_by_model_number
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.samples import Speedometer, TickCheck
from drivers.serial_bus.table import Protocol
from drivers.serial_bus.watch import PERIOD, Disturbances, ReleasedWatch, Watch, kept_registers, look_before_goals
from drivers.serial_port import shorten_latency
from drivers.servo import RELEASE_ATTEMPTS, PositionGoal, Servo, ServoIdentity, ServoState, TorqueGoal

MEASURED_READS = 16
"""Number of reads that measure the adapter's delay, at most one of which may be damaged."""
GAP = 0.06
"""Time without an answer after which a driven servo is asked whether it still is driven [s]."""
LINGER = 1.0
"""A servo that another program changed is kept released for this long after that before its bus is given back [s]."""
NOTHING_SEEN = Reading(math.nan)


class SerialServo(Servo):
    """One servo on a serial bus of its own."""

    def __init__(self, family: SerialFamily, port: str, id: int, protocol: Protocol, baud: int) -> None:
        super().__init__()
        self.family = family
        self._bus = Bus(port, protocol, baud)
        self._id = id
        self._spec: ServoSpec | None = None
        self._profile: SerialProfile | None = None
        self._registers_: Registers | None = None
        self._motor = Motor(math.nan, math.nan)
        self._prepared = Prepared(position_limits=(0, 0))
        self._delay = math.nan
        self._latency = ""
        self._mode = ""
        self._written: ServoSettings | None = None
        self._seen = NOTHING_SEEN
        self._counts = 0
        self._watch: Watch | None = None
        """Watches from the time the servo confirmed that its torque is on, since it has to stay on."""
        self._kept: dict[str, int] = {}
        """Contents of the EEPROM, as far as only this driver may change them."""
        self._unanswered = 0
        """Attempts to release it in a row that it did not answer."""
        self._disturbances = Disturbances()
        self._released: ReleasedWatch | None = None
        self._answered = -math.inf
        self._ticks = TickCheck()
        self._speed = Speedometer()

    @property
    def spec(self) -> ServoSpec:
        """Catalogue servo that answered; raises NotReady before that."""
        if self._spec is None:
            self._require("look into", ServoState.READY)
        assert self._spec is not None
        return self._spec

    @property
    def profile(self) -> SerialProfile:
        """Its control table and units."""
        assert self._profile is not None
        return self._profile

    @property
    def registers(self) -> Registers:
        """Its registers."""
        assert self._registers_ is not None
        return self._registers_

    # Connecting.

    def _connect(self) -> None:
        bus = self._bus
        bus.open()
        self._latency = shorten_latency(bus.path, bus.serial)
        try:
            candidates = servos_by_model_number(self.family, find(bus, self._id), bus.protocol)
            # Whichever it is, it is not driven from here on.
            Registers(bus, self._id, profile_of(candidates[0], self.family).table).send({"torque_enable": 0})
            self._spec = self._chosen(candidates)
            self._profile = profile_of(self._spec, self.family)
        except ModelError as error:
            raise DriverError(f"{bus.path}, ID {self._id}: {error}") from None
        self._registers_ = Registers(bus, self._id, self._profile.table)
        self._motor = Motor.of(self._spec)
        self.ratings = self.limits = Limits.for_spec(self._spec)
        self._prepare()

    def _chosen(self, candidates: Sequence[ServoSpec]) -> ServoSpec:
        """Return the one of the servos with this model number that it is; raises ModelError."""
        return candidates[0]

    def _prepare(self) -> None:
        """Bring the servo, just found or just restarted, into a known state."""
        self._mode = ""
        self._ticks.forget()
        self._prepared = prepare(self.registers, self.profile)
        self._mode = "position"
        self._kept = self.registers.read(*kept_registers(self.profile.table, eeprom=True))
        self.ratings = narrowed(self.ratings, self.profile, self._prepared)
        self.limits = narrowed(self.limits, self.profile, self._prepared)
        if self._written is not None:
            self._write_gains(self._written)
        self._measure_delay()
        self._released = ReleasedWatch(self.registers, self._delay)

    def _measure_delay(self) -> None:
        """Measure the delay of answers, to wait as long as this adapter needs and not as long as the slowest one."""
        names = tuple(self.profile.table.reading.values())
        wire = self._bus.read_wire_time(self.profile.block_size)
        took, damaged = [], self._bus.damaged
        for _ in range(MEASURED_READS):
            begin = timing.now()
            self.registers.read(*names)
            took.append(timing.now() - begin - wire)
        damaged = self._bus.damaged - damaged
        if damaged > 1:
            raise BusError(
                f"{self._bus.path}: {damaged} of {MEASURED_READS} answers of ID {self._id} arrived damaged; {DAMAGE}"
            )
        self._delay = max(median(took), 0.0)
        limits = timing.limits
        usual = min(2.0 * self._delay + limits.serial_busy, limits.serial_read - wire)
        self._bus.patience = max(limits.serial_shortest_answer, usual)

    def _identify(self) -> ServoIdentity:
        held = self.registers.read("model_number", "firmware_version")
        return identity_of(
            self.spec,
            self.profile,
            self._bus,
            self._prepared,
            id=self._id,
            held=held,
            delay=self._delay,
            look=look_before_goals(self.registers, "goal_position", self._delay)[1],
            motor=self._motor,
            latency=self._latency,
            complaints=hardware_errors(self.registers, self.registers.error),
        )

    # Settings.

    def _configure(self, settings: ServoSettings) -> None:
        self._set_mode("position")
        self._write_gains(settings)
        self._written = settings

    def _write_gains(self, settings: ServoSettings) -> None:
        write_gains(self.registers, settings)
        self._kept |= {
            name: value for name, value in gain_registers(self.registers.table, settings).items() if name in self._kept
        }

    def _set_mode(self, mode: str) -> None:
        """Choose a mode while torque is off. A protocol 2 servo then forgets its gains."""
        if self._mode == mode:
            return
        self._mode = ""
        self.registers.change(self.profile.table.mode_register, self.profile.table.modes[mode])
        self._mode = mode
        if mode == "position" and self._written is not None:
            self._write_gains(self._written)

    def _settings(self) -> ServoSettings | None:
        gains = self.profile.table.gains
        held = self.registers.read(*gains.values())
        nominal = self.spec.supply_voltage if self._written is None else self._written.supply_voltage
        values: dict[str, Any] = {gain: float(held[name]) for gain, name in gains.items()}
        return ServoSettings(servo=self.spec.name, supply_voltage=nominal, **values)

    # Driving.

    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        registers, table = self.registers, self.profile.table
        mode = mode_of(self.profile, goal)
        self._set_mode(mode)
        self._speed.forget()
        if self._prepared.watchdog:
            registers.send({"bus_watchdog": 0})
        self._read()
        caps = {name: self._prepared.caps[cap] for name, cap in FULL_OUTPUT.items() if name in table}
        known = {**self._kept, **caps}
        ends = self._prepared.position_limits
        if mode == "position":
            first = present_goal(self._prepared, self.profile, self._counts)
            known |= {name: 0 for name in UNHURRIED if name in table}
            known |= gain_registers(table, self._written) if self._written is not None else {}
            registers.send({**caps, **{name: 0 for name in UNHURRIED if name in table}, "goal_position": first})
        else:
            first = 0
            registers.send({**caps, **goal_values(mode, first, ends)})
        if self._prepared.watchdog:
            registers.send({"bus_watchdog": self._prepared.watchdog})
        registers.send({"torque_enable": 1})
        self._watch = Watch(registers, mode, first, ends, known, self._delay, self._disturbances)
        self._answered = timing.now()

    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        mode = mode_of(self.profile, goal)
        counts = goal_counts(self.profile, self._motor, goal, self._seen)
        if mode == "position":
            low, high = self._prepared.position_limits
        else:
            high = self._prepared.caps[GOAL_CAPS[mode]]
            low = -high
        assert self._watch is not None
        self._watch.send(min(max(counts, low), high))

    def _confirm(self) -> None:
        if self._watch is not None:
            self._watch.confirm()

    # Reading.

    def _read(self) -> Reading:
        held, reading = self._block()
        if told := complaint(self.registers):
            raise ServoFault(told)
        if self._watch is not None:
            self._check_still_driven()
            self._bus.repeats += self._watch.check(held)
        else:
            assert self._released is not None
            if self._released.sees_torque():
                self._may_be_driven = True
                raise self._disturbances.error("switched torque on while the servo was released")
        self._answered = timing.now()
        return reading

    def _latched(self) -> str:
        self.registers.read_one("torque_enable")
        return complaint(self.registers)

    def _reboot(self) -> None:
        if not restarts(self.profile.table):
            super()._reboot()
        self._mode = ""
        restart(self.registers)
        self._prepare()

    def _block(self) -> tuple[dict[str, int], Reading]:
        """Read one block that is not an old one; return the registers and the reading."""
        table = self.profile.table
        names = table.reading
        held, moment, fresh = self._look()
        if not fresh or (self._watch is not None and self._watch.is_late(held)):
            held, moment, fresh = self._look()
        if not fresh:
            # Its clock jumped: it restarted, or the pause was long.
            self._check_restart()
            self._ticks.forget()
        found = {
            what: self.profile.from_counts(table[name], held[name]) for what, name in names.items() if what != "tick"
        }
        self._counts = held[names["position"]]
        reading = Reading(**found)
        if "velocity" not in names or self._mode == "wheel":
            reading = replace(reading, velocity=self._speed.velocity(moment, reading.position))
        self._seen = reading
        return held, reading

    def _look(self) -> tuple[dict[str, int], float, bool]:
        """Return one block's registers, the middle of the read [s], and True if the servo's clock agrees with it."""
        names = self.profile.table.reading
        asked = timing.now()
        watched = self._watch.block if self._watch is not None else ()
        held = self.registers.read(*watched, *names.values(), time_allowed=timing.limits.serial_read)
        answered = timing.now()
        tick = held.get(names.get("tick", ""), 0)
        # Firmware without the counter always reports 0.
        fresh = not tick or self._ticks.plausible(tick, asked, answered)
        return held, 0.5 * (asked + answered), fresh

    def _check_still_driven(self) -> None:
        """Raise ServoFault if, during a gap, the servo stopped on its own or restarted."""
        if timing.now() - self._answered < GAP:
            return
        self._check_restart()
        if self._prepared.watchdog and self.registers.read_one("bus_watchdog", timing.limits.serial_read) < 0:
            limit = 1e3 * self._prepared.watchdog * self.profile.watchdog_unit
            raise ServoFault(
                f"the servo stopped on its own since it received nothing for {limit:.0f} ms; check the cable and the "
                "computer's load, then acknowledge"
            )

    def _check_restart(self) -> None:
        """Raise ServoFault if a driven servo restarted."""
        if self._watch is not None and not self.registers.read_one("torque_enable", timing.limits.serial_read):
            raise ServoFault(
                "the servo restarted while it was driven; check that its power supply is strong enough and its plugs "
                "are tight, then acknowledge"
            )

    # Letting go.

    def _release(self) -> None:
        self._watch = None
        if not self._bus.is_open:
            self._bus.open()
        registers = self.registers
        try:
            # Where a goal switches torque on, one may still be on its way.
            for _ in range(1 if self.profile.protocol == 2 else 2):
                registers.send({"torque_enable": 0})
                on = registers.read_one("torque_enable", timing.limits.serial_read)
        except NoAnswer:
            # Another program may have changed its ID.
            release_all(self._bus, self.profile.table)
            self._unanswered += 1
            if self._unanswered > RELEASE_ATTEMPTS:
                release_all_at_every_rate(self._bus, self.profile.table, self.family)
            raise
        self._unanswered = 0
        if on:
            raise DriverError("torque stayed on")
        if self._prepared.watchdog:
            registers.send({"bus_watchdog": 0})

    def _acknowledge(self) -> None:
        registers = self.registers
        registers.read_one("torque_enable")
        if hardware_errors(registers, registers.error):
            self._mode = ""
            restart(registers)
        self._prepare()
        registers.read_one("torque_enable")
        complaints = hardware_errors(registers, registers.error)
        if complaints:
            raise ServoFault(
                f"the servo still reports {' and '.join(complaints)}; let it cool down, check its supply, or switch "
                "its power off and on, then acknowledge again"
            )

    @property
    def repeats(self) -> int:
        """See `Servo.repeats`."""
        return self._bus.repeats

    def _close(self) -> None:
        while timing.now() - self._disturbances.last < LINGER:
            timing.sleep(PERIOD)
            with suppress(DriverError):
                self._release()
        self._bus.close()
