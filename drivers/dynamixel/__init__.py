"""Dynamixel servos of ROBOTIS: X series, MX with either firmware, XL-320, on a serial bus through dynamixel-sdk.

Address: `dynamixel:PORT:ID[:PROTOCOL[:BAUD]]`, e.g. `dynamixel:/dev/ttyUSB0:1:2:1000000`; the defaults are protocol 2
and 57600 baud. A model is data: its control table is in `resources/control_tables`, the rest in its servo file under
`[bus.dynamixel]`.

`table` and `profile` read that data. `packets` fixes defects of the SDK, `bus` builds transactions from packets,
`registers` names the bytes, `modes` and `samples` interpret them, `preparation` brings a servo into a known state,
`identity` describes it, and `servo` implements the contract. `source`, `form`, `search` and `checks` belong to the
family. `drivers.serial_port` handles the serial ports.
"""

from drivers.dynamixel.checks import examine
from drivers.dynamixel.form import family
from drivers.dynamixel.profile import profile_of
from drivers.dynamixel.search import scan
from drivers.dynamixel.source import DynamixelSource, from_address

__all__ = ["DynamixelSource", "examine", "family", "from_address", "profile_of", "scan"]
