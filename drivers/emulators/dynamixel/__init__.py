"""Dynamixel servos on a pseudo terminal, with protocol 1 and 2, by `drivers.emulators.serial_bus`.

protocol2                         its packets, as `serial_bus.protocol1` those of protocol 1
x_series, joint_series            operating modes, limits and errors of each series
source, form                      the bus's description; its address
"""

from drivers.emulators.dynamixel.form import family, from_address
from drivers.emulators.dynamixel.source import DynamixelEmulation, EmulatedDynamixel

__all__ = ["DynamixelEmulation", "EmulatedDynamixel", "family", "from_address"]
