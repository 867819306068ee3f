"""Preparation of a servo that answered: a known state, torque off, and its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import BusError, CommandError, DriverError, NoAnswer
from drivers.limits import Limits
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.modes import FULL_OUTPUT
from drivers.serial_bus.profile import SerialProfile
from drivers.serial_bus.registers import Registers
from drivers.serial_bus.table import ControlTable, load_table
from drivers.serial_port import BaudRateRefused

WATCHDOG = 0.1
"""Time without traffic on the bus after which a driven servo stops [s]: longer than a slow cycle, shorter than a
human reaction."""
RESTART_PAUSE = 0.1
"""Pause between two checks that it is back [s]."""
_TOLD = (
    "drive_mode",
    "homing_offset",
    "multi_turn_offset",
    "temperature_limit",
    "min_voltage_limit",
    "max_voltage_limit",
    "velocity_limit",
    "shutdown",
    "punch",
    "pwm_slope",
    *("min_position_limit", "max_position_limit", "velocity_p_gain", "firmware_minor", "phase", "unloading_condition"),
    *("minimum_startup_force", "cw_dead_zone", "ccw_dead_zone", "protection_current", "protective_torque"),
    *("protection_time", "overload_torque"),
    "overcurrent_time",
)
"""Registers that are left as they are and reported."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Result of preparing a servo."""

    facts: Mapping[str, str | float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    position_limits: tuple[int, int]
    """[counts]"""
    caps: Mapping[str, int] = field(default_factory=dict)
    """Register that caps the output, to its content [counts]."""
    watchdog: int = 0
    """Value that arms the bus watchdog [counts]; 0 if there is none."""


def prepare(registers: Registers, profile: SerialProfile) -> Prepared:
    """Switch the motor off, make the servo answer every request, choose the position mode, and read its limits.

    EEPROM is written only where its content differs.

    Raises:
        NoAnswer: if the servo does not answer.
        BusError: if the bus fails.
        DriverError: if the servo refuses or its limits leave no angle.
    """
    table = registers.table
    registers.send({"torque_enable": 0})
    make_answer(registers, profile.family.answers_all)
    registers.confirm({"torque_enable": 0})
    warnings: list[str] = []
    facts: dict[str, str | float] = {}
    wanted = {"return_delay_time": 0, "resolution_divider": 1, "angular_resolution": 1}
    wanted[table.mode_register] = table.modes["position"]
    if "ccw_angle_limit" in table:
        held = registers.read("cw_angle_limit", "ccw_angle_limit")
        if held["cw_angle_limit"] == held["ccw_angle_limit"]:
            # Both 0 is wheel mode, both at the highest is multi-turn mode.
            wanted |= {name: table[name].initial or 0 for name in held}
    for name, value in wanted.items():
        if name in table and registers.change(name, value):
            facts[f"{name} set to"] = float(value)
    watchdog = round(WATCHDOG / profile.watchdog_unit) if profile.watchdog_unit else 0
    if watchdog and not _try_watchdog(registers, watchdog):
        watchdog = 0
    if not watchdog:
        warnings.append(
            "this servo has no bus watchdog: if the computer or the cable fails while it is driven, it keeps its last "
            "goal; keep the switch of its power supply within reach"
        )
    caps = {name: registers.read_one(name) for name in ("pwm_limit", "current_limit", "max_torque") if name in table}
    for name in (name for name, value in caps.items() if not value):
        raise DriverError(f"ID {registers.id}: {name} is 0 in the servo, so that it cannot move; {profile.family.tool}")
    for cap in FULL_OUTPUT.values():
        full = round(1.0 / profile.duty_unit)
        if cap in caps and caps[cap] < full:
            warnings.append(
                f"{cap} is set to {caps[cap]} of {full} in the servo, which cuts its output off where models do not "
                f"expect it; set it back with {profile.family.tool}"
            )
    facts |= {f"{name} [counts]": float(value) for name, value in caps.items()}
    facts |= {name: float(registers.read_one(name)) for name in _TOLD if name in table}
    return Prepared(
        facts=facts,
        warnings=tuple(warnings),
        position_limits=_position_limits(registers, profile.family.tool),
        caps=caps,
        watchdog=watchdog,
    )


def narrowed(limits: Limits, profile: SerialProfile, prepared: Prepared) -> Limits:
    """Return limits without the angles that the servo's own position limits exclude."""
    register = profile.table["goal_position"]
    low, high = (profile.from_counts(register, counts) for counts in prepared.position_limits)
    # Half a turn above the centre is one count more than exists; that does not make a limit narrower.
    slack = 1.5 * profile.position_unit
    if low > limits.lowest_position + slack:
        limits = replace(limits, lowest_position=low)
    if high < limits.highest_position - slack:
        limits = replace(limits, highest_position=high)
    return limits


def hardware_errors(registers: Registers, error: int) -> list[str]:
    """Return the servo's hardware errors for an answer's error byte; in protocol 2 the details are read."""
    table = registers.table
    bits = error
    if table.protocol == 2:
        if not error & 0x80:
            return []
        bits = registers.read_one("hardware_error_status", timing.limits.serial_read)
        if not bits:
            return ["an error it does not name"]
    return [name for name, bit in table.hardware_errors.items() if bits >> bit & 1]


def find(bus: Bus, id: int) -> int:
    """Return the model number of the servo with an ID.

    Raises:
        NoAnswer: if there is none.
        BusError: if the bus fails.
    """
    until = timing.now() + timing.limits.serial_found
    while True:
        try:
            return bus.ping(id)
        except (NoAnswer, BusError):
            if not bus.is_open or timing.now() > until:
                raise
        if bus.protocol == 1:
            # It may be set to answer pings only, which in this protocol do not name the model. All of these servos
            # have the register at the same address.
            level = load_table("mx1")["status_return_level"]
            bus.send(id, level.address, level.encode(2))


def gain_registers(table: ControlTable, settings: ServoSettings) -> dict[str, int]:
    """Return the registers of the gains and their contents for these settings; raises CommandError."""
    wanted = {"kp": settings.kp, "ki": settings.ki, "kd": settings.kd}
    for gain, value in wanted.items():
        if not math.isfinite(value):
            raise CommandError(f"{gain} = {value} is not a number; enter a finite one")
    return {table.gains[gain]: round(value) for gain, value in wanted.items()}


def write_gains(registers: Registers, settings: ServoSettings) -> None:
    """Write the gains of the position law.

    Raises:
        CommandError: for one that is not finite or does not fit.
        NoAnswer: if the servo does not answer.
        BusError: if the bus fails.
        DriverError: if the servo refuses or does not keep one.
    """
    gains = gain_registers(registers.table, settings)
    for name, value in gains.items():
        registers.write(name, value)
    for name in ("feedforward_1st_gain", "feedforward_2nd_gain"):
        if name in registers.table:
            registers.change(name, 0)
    registers.confirm(gains)


def present_goal(prepared: Prepared, profile: SerialProfile, counts: int) -> int:
    """Return the goal that keeps the shaft where it is; a servo turned by hand counts on beyond a turn.

    Raises:
        DriverError: if it is outside the position limits of the servo.
    """
    low, high = prepared.position_limits
    within = counts if low <= counts <= high else counts % round(profile.position_counts)
    if not low <= within <= high:
        position = profile.from_counts(profile.table["goal_position"], counts)
        raise DriverError(
            f"the servo is at {position:.3f} rad, beyond the position limits set in it; "
            "move the pendulum inside them by hand"
        )
    return within


def complaint(registers: Registers) -> str:
    """Return the hardware errors that the last answer reports, with the remedy; empty without one."""
    errors = hardware_errors(registers, registers.error)
    if not errors:
        return ""
    return (
        f"the servo reports {' and '.join(errors)}; look for a blocked or overloaded arm, heat and the supply voltage, "
        f"then acknowledge{', which restarts it' if restarts(registers.table) else ''}"
    )


def release_all(bus: Bus, table: ControlTable) -> None:
    """Switch the torque of every servo on a bus off, without a confirmation.

    For a servo that may be driven and no longer answers: another program may have changed its ID.

    Raises:
        BusError: if the bus fails.
    """
    torque = table["torque_enable"]
    bus.send_to_all(torque.address, torque.encode(0))


def release_all_at_every_rate(bus: Bus, table: ControlTable, family: SerialFamily) -> None:
    """Do the same at every usual baud rate, which takes some 0.1 s: another program may have changed it, too.

    The bus is closed afterwards.

    Raises:
        BusError: if the bus fails.
    """
    bus.close()
    for baud in family.baud_rates:
        with Bus(bus.path, bus.protocol, baud) as other, suppress(BaudRateRefused):
            other.open(exclusive=False)
            release_all(other, table)


def restarts(table: ControlTable) -> bool:
    """Return True if a servo can be restarted by a command."""
    return table.protocol == 2


def restart(registers: Registers) -> None:
    """Restart a released servo after its shutdown.

    Raises:
        NoAnswer: if it does not come back.
        BusError: if the bus fails.
    """
    if not restarts(registers.table):
        # A shutdown sets this to 0 repeatedly while its cause lasts; there is no restart instruction.
        if "torque_limit" in registers.table:
            registers.send({"torque_limit": registers.read_one("max_torque")})
        return
    registers.bus.reboot(registers.id)
    until = timing.now() + timing.limits.serial_restart
    while True:
        timing.sleep(RESTART_PAUSE)
        try:
            registers.bus.ping(registers.id)
            return
        except (NoAnswer, BusError):
            if not registers.bus.is_open or timing.now() > until:
                raise


def make_answer(registers: Registers, level: int) -> None:
    """Make the servo answer every instruction, even if it does not answer reads yet."""
    try:
        if registers.read_one("status_return_level") == level:
            return
    except NoAnswer:
        pass
    registers.send({"status_return_level": level})
    registers.confirm({"status_return_level": level})


def _try_watchdog(registers: Registers, counts: int) -> bool:
    """Return True if the bus watchdog can be set, which old firmware cannot; it is off afterwards and not tripped."""
    registers.send({"bus_watchdog": 0})
    registers.send({"bus_watchdog": counts})
    works = registers.read_one("bus_watchdog") == counts
    registers.send({"bus_watchdog": 0})
    if works:
        registers.confirm({"bus_watchdog": 0})
    return works


def _position_limits(registers: Registers, tool: str) -> tuple[int, int]:
    table = registers.table
    low, high = (
        ("min_position_limit", "max_position_limit")
        if "min_position_limit" in table
        else ("cw_angle_limit", "ccw_angle_limit")
    )
    held = registers.read(low, high)
    if held[low] >= held[high]:
        raise DriverError(
            f"ID {registers.id}: the position limits in the servo, {held[low]} to {held[high]}, leave nothing; "
            f"set {low} and {high} with {tool}"
        )
    return held[low], held[high]
