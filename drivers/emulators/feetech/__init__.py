"""Feetech servos on a pseudo terminal, by `drivers.emulators.serial_bus`.

protocol                          their packets
sts_series                        the STS and SMS series: lock, turns, profile, overload
scs_series                        the SCS series: a potentiometer, big endian
source, form                      the bus's description; its address
"""

from drivers.emulators.feetech.form import family, from_address
from drivers.emulators.feetech.source import EmulatedFeetech, FeetechEmulation

__all__ = ["EmulatedFeetech", "FeetechEmulation", "family", "from_address"]
