"""Scan for serial servos on a port: every usual baud rate, every protocol."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core.base.errors import ModelError
from drivers.errors import BusError, DriverError, NoAnswer
from drivers.family import Family
from drivers.scan import Found, OnStep, ScanStep, ShouldStop
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.family import SerialFamily
from drivers.serial_bus.profile import profile_of, servos_by_model_number
from drivers.serial_bus.table import Protocol
from drivers.serial_port import BaudRateRefused, shorten_latency

PATIENCE_PROMPT = 0.006
PATIENCE_SLOW = 0.02
"""Time allowed for an answer besides its time on the wire [s], with and without a low-latency adapter."""
BY_LABEL = ", if its label says so"
"""Said of each of several servos that answer alike."""
EACH_ID = 0.003
"""Time per ID [s], since servos answer a ping of all one after the other."""


def scan(
    family: SerialFamily, form: Family, given: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop
) -> list[Found]:
    """Ping all servos at once with protocol 2, each ID with the others; the given baud rate comes first.

    Args:
        family: The family.
        form: Form of its addresses.
        given: Values of the form; missing ones take their defaults.
        on_step: Called after each attempt.
        should_stop: Polled; True ends the scan.

    Raises:
        AddressError: for an unknown field or an invalid value.
        BusError: if the port is missing or used by another program.
    """
    form.address(given)
    values = form.values_of(given)
    rates = sorted(family.baud_rates, key=lambda rate: str(rate) != values["baud"])
    attempts = sum(1 if protocol == 2 else family.highest_id + 1 for protocol in family.protocols)
    found: list[Found] = []
    for place, baud in enumerate(rates):
        tell = _numbered(on_step, place * attempts, len(rates) * attempts)
        for protocol in family.protocols:
            for servo in _look(family, values["port"], protocol, baud, tell, should_stop):
                if servo.address not in [known.address for known in found]:
                    found.append(servo)
            if should_stop():
                return found
    return found


def _numbered(on_step: OnStep, before: int, total: int) -> OnStep:
    """Return a callback that reports each attempt with its number."""
    numbers = itertools.count(before + 1)
    return lambda step: on_step(replace(step, number=next(numbers), total=total))


def _look(
    family: SerialFamily, port: str, protocol: Protocol, baud: int, on_step: OnStep, should_stop: ShouldStop
) -> Iterator[Found]:
    where = f"{port}, {baud} baud" + f", protocol {protocol}" * (len(family.protocols) > 1)
    with Bus(port, protocol, baud) as bus:
        try:
            bus.open()
        except BaudRateRefused as error:
            on_step(ScanStep(where, str(error)))
            return
        bus.patience = PATIENCE_SLOW if shorten_latency(port, bus.serial) else PATIENCE_PROMPT
        look = _look_at_all if protocol == 2 else _look_at_each
        yield from look(family, bus, where, on_step, should_stop)


def _look_at_all(
    family: SerialFamily, bus: Bus, where: str, on_step: OnStep, should_stop: Callable[[], bool]
) -> Iterator[Found]:
    seconds = EACH_ID * (family.highest_id + 1) + bus.wire_time(14) + bus.patience
    there = bus.ping_all(should_stop, seconds)
    titles = []
    for id, number in sorted(there.items()):
        for servo in _found(family, bus, id, number):
            titles.append(f"ID {id} {servo.title}")
            yield servo
    on_step(ScanStep(f"{where}, all IDs", ", ".join(titles) or "no answer"))


def _look_at_each(
    family: SerialFamily, bus: Bus, where: str, on_step: OnStep, should_stop: Callable[[], bool]
) -> Iterator[Found]:
    for id in range(family.highest_id + 1):
        if should_stop():
            return
        try:
            there = _found(family, bus, id, bus.ping(id))
        except NoAnswer:
            on_step(ScanStep(f"{where}, ID {id}", "no answer"))
        except BusError as error:
            if not bus.is_open:
                raise
            on_step(ScanStep(f"{where}, ID {id}", str(error)))
        except DriverError as error:
            on_step(ScanStep(f"{where}, ID {id}", str(error)))
        else:
            on_step(ScanStep(f"{where}, ID {id}", " or ".join(servo.title.removesuffix(BY_LABEL) for servo in there)))
            yield from there


def _found(family: SerialFamily, bus: Bus, id: int, number: int) -> list[Found]:
    """Return the servo, or each that answers like it."""
    address = family.address(bus.path, id, bus.protocol, bus.baud)
    try:
        specs = servos_by_model_number(family, number, bus.protocol)
    except ModelError as error:
        return [Found(address, f"unknown {family.title}, model number {number}", str(error))]
    protocol = f", protocol {bus.protocol}" * (len(family.protocols) > 1)
    facts = f"ID {id}{protocol}, {bus.baud} baud, model number {profile_of(specs[0], family).reported(number)}"
    if len(specs) == 1:
        return [Found(address, specs[0].title, facts)]
    return [Found(f"{address}?servo={spec.name}", f"{spec.title}{BY_LABEL}", facts, True) for spec in specs]
