"""Dynamixel servos of ROBOTIS: X series, MX with either firmware, XL-320, on a serial bus through dynamixel-sdk.

Address: `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`, e.g. `dynamixel:/dev/ttyUSB0:1:2:1000000`; protocol 2 and 57600 baud
unless given. A model is data: its control table in `resources/control_tables`, the rest in its servo file under
`[bus.dynamixel]`.

`table` and `profile` read that data. `packets` mends the SDK, `bus` makes transactions of packets, `registers` gives
bytes names, `modes` and `samples` give them meaning, `preparation` brings a servo into a known state, `identity` tells
about it, and `servo` is the contract. `source`, `form`, `search` and `checks` are the family; `adapter` and `opening`
know the serial ports.
"""

from drivers.dynamixel.checks import examine
from drivers.dynamixel.form import family
from drivers.dynamixel.profile import profile_of
from drivers.dynamixel.search import scan
from drivers.dynamixel.source import DynamixelSource, from_address

__all__ = ["DynamixelSource", "examine", "family", "from_address", "profile_of", "scan"]
