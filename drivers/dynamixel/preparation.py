"""Preparation of a servo that answered: a known state, torque off, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from drivers import timing
from drivers.dynamixel.modes import FULL_OUTPUT
from drivers.dynamixel.profile import DynamixelProfile
from drivers.dynamixel.registers import Registers
from drivers.errors import BusError, DriverError, NoAnswer
from drivers.limits import Limits

WATCHDOG = 0.1
"""Time without traffic on the bus after which a driven servo stops [s]: longer than a slow cycle, shorter than a
human reaction."""
ANSWERS_ALL = 2
"""Status return level: every instruction is answered."""
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


def prepare(registers: Registers, profile: DynamixelProfile) -> Prepared:
    """Switch the motor off, make the servo answer every request, choose the position mode, and read its limits.

    EEPROM is written only where its content differs.

    Raises:
        NoAnswer: if the servo does not answer.
        BusError: if the bus fails.
        DriverError: if the servo refuses or its limits leave no angle.
    """
    table = registers.table
    registers.send({"torque_enable": 0})
    _make_answer(registers)
    registers.confirm({"torque_enable": 0})
    warnings: list[str] = []
    facts: dict[str, str | float] = {}
    wanted = {"return_delay_time": 0, "resolution_divider": 1, table.mode_register: table.modes["position"]}
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
    for cap in FULL_OUTPUT.values():
        full = round(1.0 / profile.duty_unit)
        if cap in caps and caps[cap] < full:
            warnings.append(
                f"{cap} is set to {caps[cap]} of {full} in the servo, which cuts its output off where models do not "
                "expect it; set it back with the vendor's program"
            )
    facts |= {f"{name} [counts]": float(value) for name, value in caps.items()}
    facts |= {name: float(registers.read_one(name)) for name in _TOLD if name in table}
    return Prepared(
        facts=facts,
        warnings=tuple(warnings),
        position_limits=_position_limits(registers),
        caps=caps,
        watchdog=watchdog,
    )


def narrowed(limits: Limits, profile: DynamixelProfile, prepared: Prepared) -> Limits:
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
        bits = registers.read_one("hardware_error_status", timing.limits.dynamixel_read)
        if not bits:
            return ["an error it does not name"]
    return [name for name, bit in table.hardware_errors.items() if bits >> bit & 1]


def restart(registers: Registers) -> None:
    """Restart a released servo after its shutdown.

    Raises:
        NoAnswer: if it does not come back.
        BusError: if the bus fails.
    """
    if registers.table.protocol == 1:
        # A shutdown sets this to 0 repeatedly while its cause lasts; there is no restart instruction.
        registers.send({"torque_limit": registers.read_one("max_torque")})
        return
    registers.bus.reboot(registers.id)
    until = timing.now() + timing.limits.dynamixel_restart
    while True:
        timing.sleep(RESTART_PAUSE)
        try:
            registers.bus.ping(registers.id)
            return
        except (NoAnswer, BusError):
            if not registers.bus.is_open or timing.now() > until:
                raise


def _make_answer(registers: Registers) -> None:
    """Make the servo answer every instruction, even if it does not answer reads yet."""
    try:
        if registers.read_one("status_return_level") == ANSWERS_ALL:
            return
    except NoAnswer:
        pass
    registers.send({"status_return_level": ANSWERS_ALL})
    registers.confirm({"status_return_level": ANSWERS_ALL})


def _try_watchdog(registers: Registers, counts: int) -> bool:
    """Return True if the bus watchdog can be set, which old firmware cannot; it is off afterwards and not tripped."""
    registers.send({"bus_watchdog": 0})
    registers.send({"bus_watchdog": counts})
    works = registers.read_one("bus_watchdog") == counts
    registers.send({"bus_watchdog": 0})
    if works:
        registers.confirm({"bus_watchdog": 0})
    return works


def _position_limits(registers: Registers) -> tuple[int, int]:
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
            f"set {low} and {high} with the vendor's program"
        )
    return held[low], held[high]
