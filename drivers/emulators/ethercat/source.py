"""An emulated EtherCAT segment as a picklable description."""

from __future__ import annotations

from dataclasses import dataclass

from drivers.emulators.ethercat.emulator import EthercatEmulator
from drivers.emulators.ethercat.segment import Segment
from drivers.emulators.process import Emulator
from drivers.simulated.hand import SharedHand


@dataclass(frozen=True, kw_only=True)
class EthercatEmulation(Segment):
    """Picklable description of an emulated segment."""

    def open(self, hand: SharedHand) -> Emulator:
        """Create missing interfaces and attach the drives; raises BusError with its remedy."""
        return EthercatEmulator(self, hand)
