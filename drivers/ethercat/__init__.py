"""EtherCAT drives of the CiA 402 profile, such as the eRob: a bus thread, a position law and a servo built on both.

Address: `ethercat:INTERFACE:SLAVE[?option=value&…]`, e.g. `ethercat:eth0:1?servo=erob80_100`. Options: `servo` (a
catalogue servo, if several report the same identity), `mode` (cst: the law is computed here; csp: by the drive),
`cycle` [ms], `dc` (preop, safeop, off) and `zero` (encoder counts where the pendulum hangs down). What the driver has
to know about a drive is under [bus.ethercat] in its catalogue file.

    source, form   the address and its form                      profile     the catalogue's table
    servo          the contract `drivers.servo.Servo`            identity    identity and scale of the drive
    drive          commands and answers                          bus         the thread that runs the cycles
    cia402, pdo, law, dc   state machine, bytes, position law, time: pure    master, nic   the library and the wire
    checks         checks that this machine can reach drives
"""

from drivers.ethercat.checks import examine
from drivers.ethercat.form import family, scan
from drivers.ethercat.profile import profile_of
from drivers.ethercat.source import EthercatSource, from_address

__all__ = ["EthercatSource", "examine", "family", "from_address", "profile_of", "scan"]
