"""An emulated bus, and what tests do with a servo on it."""

from __future__ import annotations

import re
import time

from core.catalogue import load_servo
from core.recording import ServoSettings
from drivers.dynamixel.servo import DynamixelServo
from drivers.dynamixel.source import DynamixelSource
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.process import EmulatorProcess
from drivers.errors import NoAnswer
from drivers.registry import resolve
from drivers.servo import Reading

PATIENCE = 10
NOISE = 5.0
"""How much longer than required a shared machine may take."""


def emulation(name: str, **options) -> DynamixelEmulation:
    """One servo on a bus of its own."""
    return DynamixelEmulation(servos=(EmulatedDynamixel(servo=name),), **options)


def source_of(emulator: EmulatorProcess, index: int = 0) -> DynamixelSource:
    source = resolve(emulator.addresses[index])
    assert isinstance(source, DynamixelSource)
    return source


def connected(emulator: EmulatorProcess, index: int = 0) -> DynamixelServo:
    servo = source_of(emulator, index).open()
    servo.connect()
    return servo


def settings(name: str) -> ServoSettings:
    spec = load_servo(name)
    return ServoSettings(servo=name, kp=spec.default_kp, supply_voltage=spec.supply_voltage)


def truth(emulator: EmulatorProcess) -> dict[str, float]:
    """What the emulator knows of its servo: driven, position, velocity, current …"""
    return {name: float(value) for name, value in re.findall(r"(\w+)=(\S+)", emulator.say("state"))}


def driven(emulator: EmulatorProcess) -> bool:
    return bool(truth(emulator)["driven"])


def look(servo: DynamixelServo) -> Reading:
    """Read once; an answer may stay away, since the emulator shares its machine with others."""
    for _ in range(PATIENCE):
        try:
            return servo.read()
        except NoAnswer:
            continue
    return servo.read()


def cycles(servo: DynamixelServo, goal, count: int, period: float = 0.005):
    """Command and read like the recorder; returns the last reading.

    A few answers may stay away: the emulator shares its machine with others.
    """
    silent = 0
    for _ in range(count):
        servo.command(goal)
        try:
            reading = servo.read()
        except NoAnswer:
            silent += 1
            if silent > PATIENCE:
                raise
        time.sleep(period)
    return reading
