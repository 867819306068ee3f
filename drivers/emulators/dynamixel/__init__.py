"""Dynamixel servos on a pseudo terminal, with protocol 1 and 2, as strict as the real ones.

    packet, protocol1, protocol2      bytes to instruction packets, their effect, status packets to bytes
    line, wire, faults                the port; rates and times; faults of answers
    registers, device                 a servo's memory; common behaviour of all servos
    x_series, joint_series, laws      operating modes, limits and errors of each series; loops of the firmware
    emulator, source                  the bus with its servos; its description

Only the control tables are shared with the driver.
"""

from drivers.emulators.dynamixel.form import family, from_address
from drivers.emulators.dynamixel.source import DynamixelEmulation, EmulatedDynamixel

__all__ = ["DynamixelEmulation", "EmulatedDynamixel", "family", "from_address"]
