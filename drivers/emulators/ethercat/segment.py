"""Description of an emulated EtherCAT segment, checked."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.errors import InputError
from core.servo.bench import Bench
from core.servo.model import ServoModel


@dataclass(frozen=True, kw_only=True)
class Segment:
    """eRob drives in a row at one end of a virtual cable, whose other end a master opens."""

    interface: str = "ecs0"
    """Network interface of the drives."""
    master_interface: str = "ecm0"
    """Network interface at the other end. Both are created if they do not exist, and then removed at the end."""
    servos: tuple[str, ...] = ("erob80_50",)
    """Catalogue names in the order of the cable."""
    strict: bool = True
    """True to demand what an eRob demands: DC mode, process data of an even length."""
    bench: Bench | None = None
    """Load of each drive; None for one that is easy to lift."""
    model: ServoModel | None = None
    """True model of the first drive; None for the catalogue's best."""
    drift: float = 0.0
    """Relative speed of the drives' crystals beyond the machine's clock, e.g. 20e-6."""
    sync_limit: int | None = None
    """Periods of SYNC0 without process data after which an enabled drive reports a lost master (fault 0xA000). 0
    disables this; None is the emulated drive's own value."""

    def __post_init__(self) -> None:
        if not self.servos:
            raise InputError("EtherCAT emulation: no drive; name at least one servo of the catalogue")
        if not -1e-3 <= self.drift <= 1e-3:
            raise InputError(f"EtherCAT emulation: a drift of {self.drift} is not possible; give −0.001 to 0.001")
