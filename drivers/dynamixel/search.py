"""Scan for Dynamixels on a port: every usual baud rate, both protocols."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core.base.errors import ModelError
from drivers.dynamixel.bus import Bus
from drivers.dynamixel.form import BAUD_RATES, HIGHEST_ID, family
from drivers.dynamixel.profile import servo_by_model_number
from drivers.errors import BusError, DriverError, NoAnswer
from drivers.scan import Found, OnStep, ScanStep, ShouldStop
from drivers.serial_port import BaudRateRefused, shorten_latency

PATIENCE_PROMPT = 0.006
PATIENCE_SLOW = 0.02
"""Time allowed for an answer besides its time on the wire [s], with and without a low-latency adapter."""
ATTEMPTS = 1 + HIGHEST_ID + 1
"""Attempts per baud rate: all servos at once, then each ID."""
EACH_ID = 0.003
"""Time per ID [s], since servos answer a ping of all one after the other."""


def scan(values: Mapping[str, str], on_step: OnStep, should_stop: ShouldStop) -> list[Found]:
    """Ping all servos at once with protocol 2, each ID with protocol 1; the form's baud rate comes first.

    Raises:
        BusError: if the port is missing or used by another program.
    """
    defaults = {field.name: field.default for field in family().fields}
    given = {**defaults, **{name: value.strip() for name, value in values.items()}}
    rates = sorted(BAUD_RATES, key=lambda rate: str(rate) != given["baud"])
    found: list[Found] = []
    for place, baud in enumerate(rates):
        tell = _numbered(on_step, place * ATTEMPTS, len(rates) * ATTEMPTS)
        for protocol in (2, 1):
            for servo in _look(given["port"], protocol, baud, tell, should_stop):
                if servo.address not in [known.address for known in found]:
                    found.append(servo)
            if should_stop():
                return found
    return found


def _numbered(on_step: OnStep, before: int, total: int) -> OnStep:
    """Return a callback that reports each attempt with its number."""
    numbers = itertools.count(before + 1)
    return lambda step: on_step(replace(step, number=next(numbers), total=total))


def _look(port: str, protocol: int, baud: int, on_step: OnStep, should_stop: ShouldStop) -> Iterator[Found]:
    where = f"{port}, {baud} baud, protocol {protocol}"
    with Bus(port, protocol, baud) as bus:
        try:
            bus.open()
        except BaudRateRefused as error:
            on_step(ScanStep(where, str(error)))
            return
        bus.patience = PATIENCE_SLOW if shorten_latency(port, bus.serial) else PATIENCE_PROMPT
        look = _look_2 if protocol == 2 else _look_1
        yield from look(bus, where, on_step, should_stop)


def _look_2(bus: Bus, where: str, on_step: OnStep, should_stop: Callable[[], bool]) -> Iterator[Found]:
    seconds = EACH_ID * (HIGHEST_ID + 1) + bus.wire_time(14) + bus.patience
    there = bus.ping_all(should_stop, seconds)
    titles = []
    for id, number in sorted(there.items()):
        servo = _found(bus, id, number)
        titles.append(f"ID {id} {servo.title}")
        yield servo
    on_step(ScanStep(f"{where}, all IDs", ", ".join(titles) or "no answer"))


def _look_1(bus: Bus, where: str, on_step: OnStep, should_stop: Callable[[], bool]) -> Iterator[Found]:
    for id in range(HIGHEST_ID + 1):
        if should_stop():
            return
        try:
            servo = _found(bus, id, bus.ping(id))
        except NoAnswer:
            on_step(ScanStep(f"{where}, ID {id}", "no answer"))
        except BusError as error:
            if not bus.is_open:
                raise
            on_step(ScanStep(f"{where}, ID {id}", str(error)))
        except DriverError as error:
            on_step(ScanStep(f"{where}, ID {id}", str(error)))
        else:
            on_step(ScanStep(f"{where}, ID {id}", servo.title))
            yield servo


def _found(bus: Bus, id: int, number: int) -> Found:
    address = f"dynamixel:{bus.path}:{id}:{bus.protocol}:{bus.baud}"
    try:
        spec = servo_by_model_number(number, bus.protocol)
    except ModelError as error:
        return Found(address, f"unknown Dynamixel, model number {number}", str(error))
    return Found(address, spec.title, f"ID {id}, protocol {bus.protocol}, {bus.baud} baud, model number {number}")
