"""An emulated EtherCAT segment: eRob drives behind one end of a virtual cable.

The master opens one end of a veth pair (`veth`), and the segment answers at the other. From the wire inwards:
`emulator` receives frames and `datagrams` passes each through every slave. `esc` is a slave's controller chip with its
`sync_manager`, `fmmu`, `clock` and `sii`, and `states` is its state machine. `mailbox` and `sdo` access the objects of
`dictionary`, `mapping` packs them into process data, `objects` lists those of an eRob and `drive` moves the pendulum.

    with EmulatorProcess(EthercatEmulation(servos=("erob80_50",))) as emulator:
        emulator.addresses  # ("ethercat:ecm0:1",)

Its strictness follows publications of vendors and users of the drive; no device was available.
"""

from drivers.emulators.ethercat.form import family, from_address
from drivers.emulators.ethercat.source import EthercatEmulation

__all__ = ["EthercatEmulation", "family", "from_address"]
