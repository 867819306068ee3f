"""An emulated EtherCAT segment as a picklable description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from drivers.emulators.ethercat.segment import Segment

if TYPE_CHECKING:
    from drivers.emulators.process import Emulator
    from drivers.simulated.hand import SharedHand


@dataclass(frozen=True, kw_only=True)
class EthercatEmulation(Segment):
    """Picklable description of an emulated segment."""

    def open(self, hand: SharedHand) -> Emulator:
        """Create missing interfaces and attach the drives; raises BusError with its remedy."""
        from drivers.emulators.ethercat.emulator import EthercatEmulator

        return EthercatEmulator(self, hand)
