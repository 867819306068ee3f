"""An emulated bus, and what tests do with a servo on it."""

from __future__ import annotations

import re

from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from drivers.emulators.process import EmulatorProcess
from drivers.emulators.serial_bus.source import SerialEmulation
from drivers.reading import Reading
from drivers.registry import resolve
from drivers.serial_bus.servo import SerialServo
from drivers.serial_bus.source import SerialSource
from tests.drivers.dynamixel.virtual import Bus


def emulation(name: str, **options) -> SerialEmulation:
    """One servo on a bus of its own."""
    if "feetech" in load_servo(name).buses:
        return FeetechEmulation(servos=(EmulatedFeetech(servo=name),), **options)
    return DynamixelEmulation(servos=(EmulatedDynamixel(servo=name),), **options)


def source_of(emulator: Bus | EmulatorProcess, index: int = 0) -> SerialSource:
    source = resolve(emulator.addresses[index])
    assert isinstance(source, SerialSource)
    return source


def connected(emulator: Bus, index: int = 0) -> SerialServo:
    servo = source_of(emulator, index).open()
    servo.clock = emulator.clock
    servo.connect()
    return servo


def settings(name: str) -> ServoSettings:
    spec = load_servo(name)
    return ServoSettings(servo=name, kp=spec.default_kp, supply_voltage=spec.supply_voltage)


def truth(emulator: Bus | EmulatorProcess) -> dict[str, float]:
    """What the emulator knows of its servo: driven, position, velocity, current …"""
    return {name: float(value) for name, value in re.findall(r"(\w+)=(\S+)", emulator.say("state"))}


def driven(emulator: Bus | EmulatorProcess) -> bool:
    return bool(truth(emulator)["driven"])


def cycles(servo: SerialServo, goal, count: int, period: float = 0.005) -> Reading:
    """Command and read like the recorder; returns the last reading."""
    for _ in range(count):
        servo.command(goal)
        reading = servo.read()
        servo.clock.wait_until(servo.clock.now() + period, lambda: False)
    return reading
