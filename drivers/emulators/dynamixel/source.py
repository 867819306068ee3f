"""Dynamixel servos on an emulated port, as a picklable description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.base.errors import InputError
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from drivers import timing
from drivers.emulators.dynamixel.device import Device
from drivers.emulators.dynamixel.joint_series import Mx1Device, Xl320Device
from drivers.emulators.dynamixel.registers import table_of
from drivers.emulators.dynamixel.wire import Timing, same_rate
from drivers.emulators.dynamixel.x_series import XDevice
from drivers.emulators.mechanism import Mechanism
from drivers.errors import BusError
from drivers.simulated.hand import SharedHand

if TYPE_CHECKING:
    from drivers.emulators.dynamixel.emulator import DynamixelEmulator

SERIES: dict[str, type[Device]] = {"x": XDevice, "mx1": Mx1Device, "xl320": Xl320Device}
"""Control table to the class of servos with it."""


@dataclass(frozen=True, kw_only=True)
class EmulatedDynamixel:
    """One servo on the bus."""

    servo: str = "xl330"
    """Catalogue name; MX servos have one for each protocol's firmware."""
    id: int = 1
    baud: int | None = None
    """Baud rate [bit/s]; None for the bus's."""
    registers: Mapping[str, int] = field(default_factory=dict)
    """Values other than a new servo's, e.g. {"return_delay_time": 0}."""


@dataclass(frozen=True, kw_only=True)
class DynamixelEmulation:
    """Description of an emulated bus."""

    servos: tuple[EmulatedDynamixel, ...] = (EmulatedDynamixel(),)
    """Servos on the bus; the hand moves the first one."""
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
            raise InputError("an emulated Dynamixel bus needs at least one servo")

    def open(self, hand: SharedHand) -> DynamixelEmulator:
        """Create the port and the servos; raises ServoBenchError."""
        try:
            from drivers.emulators.dynamixel.emulator import DynamixelEmulator
            from drivers.emulators.dynamixel.line import Line
        except ImportError:
            raise BusError("this system has no pseudo terminals to emulate a serial port on; use Linux") from None
        devices = [
            self._device(servo, hand if first else SharedHand(), first)
            for first, servo in zip([True] + [False] * len(self.servos), self.servos, strict=False)
        ]
        for protocol in (1, 2):
            ids = [device.id for device in devices if device.protocol == protocol]
            if len(set(ids)) < len(ids):
                raise InputError(f"emulated Dynamixel bus: IDs {ids} must differ from each other")
        emulator = DynamixelEmulator(Line(self.link), Timing(self.wire_time, self.usb_latency), devices)
        # Loading the compiled kernel took a while; no answer should wait until the pendulums have caught up.
        emulator.serve(())
        return emulator

    def _device(self, servo: EmulatedDynamixel, hand: SharedHand, first: bool) -> Device:
        spec = load_servo(servo.servo)
        table, entries = table_of(spec)
        series = SERIES.get(table.name)
        if series is None:
            raise InputError(f"no emulator for the control table {table.name!r}; there are {', '.join(SERIES)}")
        rate = servo.baud or self.baud
        codes = [code for code, known in series.bauds.items() if same_rate(rate, known)]
        if not codes:
            raise InputError(f"{spec.title} cannot listen at {rate} bit/s; it can at {sorted(series.bauds.values())}")
        code = min(codes, key=lambda code: abs(series.bauds[code] - rate))
        mechanism = Mechanism(spec, hand, model=self.model if first else None, bench=self.bench if first else None)
        changed = {"id": servo.id, "baud_rate": code, **servo.registers}
        return series(spec, table, entries, mechanism, timing.now(), changed)
