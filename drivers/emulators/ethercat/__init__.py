"""An emulated EtherCAT segment: eRob drives behind one end of a virtual cable.

The master opens one end of a veth pair (`veth`), and the segment answers at the other. From the wire inwards:
`emulator` receives frames and `datagrams` passes each through every slave. `chip` is a slave's controller with its
state machine, `coe` has its objects, their access and their mapping to process data, and `drive` moves the pendulum.

    with EmulatorProcess(EthercatEmulation(servos=("erob80_50",))) as emulator:
        emulator.addresses  # ("ethercat:ecm0:1",)

Its strictness follows publications of vendors and users of the drive; no device was available.
"""

from drivers.emulators.ethercat.form import family, from_address
from drivers.emulators.ethercat.source import EthercatEmulation

__all__ = ["EthercatEmulation", "family", "from_address"]
