"""What an emulated EtherCAT segment consists of, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError

if TYPE_CHECKING:
    from core.bench import Bench
    from core.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class Segment:
    """eRob drives in a row at one end of a virtual cable, whose other end a master opens."""

    interface: str = "ecs0"
    """Network interface the drives hang on."""
    master_interface: str = "ecm0"
    """The other end. Both are made if they do not exist, and removed at the end then."""
    servos: tuple[str, ...] = ("erob80_50",)
    """Catalogue names in the order of the cable."""
    strict: bool = True
    """Whether to insist on what an eRob insists on: DC mode, process data of an even length."""
    bench: Bench | None = None
    """What hangs on each drive; None is one easy to lift."""
    model: ServoModel | None = None
    """The truth of the first drive; None is the best the catalogue knows."""
    drift: float = 0.0
    """How much faster than the machine's clock the drives' crystals run, e.g. 20e-6."""
    sync_limit: int | None = None
    """Periods of SYNC0 without process data that an enabled drive takes for a lost master (fault 0xA000); 0: none,
    None: the emulated drive's own."""

    def __post_init__(self) -> None:
        if not self.servos:
            raise InputError("EtherCAT emulation: no drive; name at least one servo of the catalogue")
        if not -1e-3 <= self.drift <= 1e-3:
            raise InputError(f"EtherCAT emulation: a drift of {self.drift} is not possible; give −0.001 to 0.001")
