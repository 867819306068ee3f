"""Identity of a connected servo: facts for the recordings, warnings for the user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from core.servo.catalogue import ServoSpec
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.modes import Motor
from drivers.serial_bus.packets import is_pseudo_terminal
from drivers.serial_bus.preparation import Prepared
from drivers.serial_bus.profile import SerialProfile
from drivers.servo import ServoIdentity

UNSEEN = (
    "this bus is too slow to read the servo back before each goal: what another program on it changes may be "
    "overwritten before it is noticed; set a higher baud rate or a shorter latency of the adapter"
)
SLOW = 100.0
"""Cycle rate below which the user is warned [Hz]."""


def identity_of(
    spec: ServoSpec,
    profile: SerialProfile,
    bus: Bus,
    prepared: Prepared,
    *,
    id: int,
    held: Mapping[str, int],
    delay: float,
    look: float,
    motor: Motor,
    latency: str,
    complaints: Sequence[str],
) -> ServoIdentity:
    """Return the identity of a prepared servo.

    Args:
        spec: Its catalogue entry.
        profile: Its control table and units.
        bus: Its bus.
        prepared: Result of the preparation.
        id: Its ID.
        held: model_number and firmware_version as read.
        delay: Delay of an answer in addition to its time on the wire [s].
        look: Time of the read before each goal that shows another program on the bus [s]; 0 if the bus is too slow.
        motor: Its motor constants.
        latency: Warning about the adapter; empty without one.
        complaints: Hardware errors that it reports.
    """
    rate = cycle_rate(profile, bus, delay + look)
    no_torque = (
        ""
        if profile.torque_mode
        else f"{spec.title} cannot hold a torque, since its output cannot be limited; record motions instead"
    )
    units = {
        "position unit [rad]": profile.position_unit,
        "position centre [counts]": profile.position_centre,
        "velocity unit [rad/s]": profile.velocity_unit,
        "duty cycle unit": profile.duty_unit,
        "voltage unit [V]": profile.voltage_unit,
    }
    if not math.isnan(profile.current_unit):
        units["current unit [A]"] = profile.current_unit
    return ServoIdentity(
        model=spec.name,
        title=spec.title,
        firmware=str(held["firmware_version"]),
        id=str(id),
        position_step=profile.position_unit,
        watchdog=prepared.watchdog * profile.watchdog_unit,
        origin="emulated" if is_pseudo_terminal(bus.path) else "real",
        facts={
            "model number": float(held["model_number"]),
            "port": bus.path,
            "protocol": bus.protocol if isinstance(bus.protocol, str) else float(bus.protocol),
            "baud rate [1/s]": float(bus.baud),
            "delay of an answer [s]": round(delay, 6),
            "highest cycle rate [Hz]": round(rate, 1),
            **units,
            "constant torque by": profile.torque_mode or "nothing",
            "kt [N·m/A]": motor.kt,
            "R [Ω]": motor.resistance,
            **prepared.facts,
        },
        warnings=(
            *_warnings(profile, bus, prepared, rate, latency, complaints),
            *filter(None, ("" if look else UNSEEN, no_torque)),
        ),
        no_torque=no_torque,
    )


def cycle_rate(profile: SerialProfile, bus: Bus, delay: float) -> float:
    """Return how many cycles of a goal and a read fit into a second [Hz]."""
    goal = bus.wire_time(bus.write_length + profile.table["goal_position"].size)
    return 1.0 / (goal + bus.read_wire_time(profile.block_size) + delay)


def _warnings(
    profile: SerialProfile,
    bus: Bus,
    prepared: Prepared,
    rate: float,
    latency: str,
    complaints: Sequence[str],
) -> list[str]:
    warnings = [latency] if latency else []
    warnings += prepared.warnings
    if complaints:
        warnings.append(f"the servo reports {' and '.join(complaints)}; acknowledge the fault")
    if profile.torque_mode in ("pwm", "wheel", "limited"):
        warnings.append(
            "a held torque is computed from the motor's model (kt, R) and the speed, since this servo does not control "
            "its current well enough; it is as accurate as the model"
        )
    if rate < SLOW:
        warnings.append(
            f"at {bus.baud} baud and with this adapter at most {rate:.0f} cycles fit into a second; set a higher baud "
            "rate in the servo with the vendor's program, e.g. 1000000"
        )
    if bus.echoes:
        warnings.append("the adapter echoes what is sent to it (local echo); the echo is ignored")
    return warnings
