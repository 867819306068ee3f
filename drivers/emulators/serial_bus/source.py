"""Serial servos on an emulated port, as a picklable description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from core.base.errors import InputError
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from drivers import timing
from drivers.emulators.mechanism import Mechanism
from drivers.emulators.serial_bus.device import Device
from drivers.emulators.serial_bus.registers import table_of
from drivers.emulators.serial_bus.wire import Timing, same_rate
from drivers.errors import BusError
from drivers.serial_bus.table import Protocol
from drivers.simulated.hand import SharedHand

if TYPE_CHECKING:
    from drivers.emulators.serial_bus.emulator import Language, SerialEmulator


@dataclass(frozen=True, kw_only=True)
class EmulatedServo:
    """One servo on the bus."""

    servo: str
    """Catalogue name."""
    id: int = 1
    baud: int | None = None
    """Baud rate [bit/s]; None for the bus's."""
    registers: Mapping[str, int] = field(default_factory=dict)
    """Values other than a new servo's, e.g. {"return_delay_time": 0}."""


@dataclass(frozen=True, kw_only=True)
class SerialEmulation(ABC):
    """Description of an emulated bus; the hand moves its first servo."""

    bus: ClassVar[str]
    """Name of the family, and of the section [bus.NAME] of its servo files."""
    series: ClassVar[Mapping[str, type[Device]]]
    """Control table to the class of servos with it."""
    servos: tuple[EmulatedServo, ...]
    """Servos on the bus."""
    baud: int = 1_000_000
    """Baud rate of the servos [bit/s]."""
    wire_time: bool = True
    """False for answers at once, without byte times, return delay and latency."""
    usb_latency: float = 0.001
    """Latency of the adapter [s]; factory setting 0.016."""
    link: str | None = None
    """Path of a symbolic link to the port, which stays the same when the port is unplugged and plugged in again."""
    model: ServoModel | None = None
    """True model of the first servo; None for the catalogue's best."""
    bench: Bench | None = None
    """Load of the first servo; None for one that it lifts with ease."""

    def __post_init__(self) -> None:
        if not self.servos:
            raise InputError(f"an emulated {self.bus} bus needs at least one servo")

    @classmethod
    @abstractmethod
    def languages(cls) -> dict[Protocol, Language]:
        """Return the protocols of its servos."""

    def options(self) -> dict[str, Any]:
        """Return further arguments of its servos' class."""
        return {}

    def open(self, hand: SharedHand) -> SerialEmulator:
        """Create the port and the servos; raises ServoBenchError."""
        try:
            from drivers.emulators.serial_bus.emulator import SerialEmulator
            from drivers.emulators.serial_bus.line import Line
        except ImportError:
            raise BusError("this system has no pseudo terminals to emulate a serial port on; use Linux") from None
        devices = [
            self._device(servo, SharedHand() if place else hand, place) for place, servo in enumerate(self.servos)
        ]
        self.check(devices)
        emulator = SerialEmulator(Line(self.link), Timing(self.wire_time, self.usb_latency), self.languages(), devices)
        # Loading the compiled kernel took a while; no answer should wait until the pendulums have caught up.
        emulator.serve(())
        return emulator

    def check(self, devices: list[Device]) -> None:
        """Raise InputError for two servos of one protocol with the same ID."""
        for protocol in {device.protocol for device in devices}:
            ids = [device.id for device in devices if device.protocol == protocol]
            if len(set(ids)) < len(ids):
                raise InputError(f"emulated {self.bus} bus: IDs {ids} must differ from each other")

    def _device(self, servo: EmulatedServo, hand: SharedHand, place: int) -> Device:
        spec = load_servo(servo.servo)
        table, entries = table_of(spec, self.bus)
        series = self.series.get(table.name)
        if series is None:
            raise InputError(f"no emulator for the control table {table.name!r}; there are {', '.join(self.series)}")
        rate = servo.baud or self.baud
        codes = [code for code, known in series.bauds.items() if same_rate(rate, known)]
        if not codes:
            raise InputError(f"{spec.title} cannot listen at {rate} bit/s; it can at {sorted(series.bauds.values())}")
        code = min(codes, key=lambda code: abs(series.bauds[code] - rate))
        first = place == 0
        mechanism = Mechanism(spec, hand, model=self.model if first else None, bench=self.bench if first else None)
        changed = {"id": servo.id, "baud_rate": code, **servo.registers}
        return series(spec, table, entries, mechanism, timing.now(), changed, **self.options())
