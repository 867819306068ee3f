"""The bus: instruction packets in, timed status packets out; one thread, driven by `process.run`."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from drivers import timing
from drivers.emulators.console import Console, switch
from drivers.emulators.process import LONGEST_REST, Emulator
from drivers.emulators.serial_bus.device import FAULTS, Device, Reply
from drivers.emulators.serial_bus.faults import Faults, options
from drivers.emulators.serial_bus.line import Line
from drivers.emulators.serial_bus.packet import WRITING, Packet, Reader
from drivers.emulators.serial_bus.wire import Timing
from drivers.serial_bus.table import Protocol

PING_SLOT = 14
"""Byte times per ID, plus PING_PAUSE, that a servo waits before it answers a broadcast ping."""
PING_PAUSE = 0.001
"""[s]"""


@dataclass(frozen=True)
class Language:
    """A protocol as servos speak it."""

    reader: type[Reader]
    execute: Callable[[Packet, Sequence[Device], Collection[int], float], list[Reply]]
    """Let servos that hear a packet execute it; takes the IDs of servos that do not answer, and the time [s]."""
    write: Callable[[int, int, bytes], bytes]
    """Instruction packet that writes bytes at an address of an ID."""


class SerialEmulator(Emulator):
    """Servos on one half duplex line."""

    def __init__(
        self, line: Line, timing: Timing, languages: Mapping[Protocol, Language], devices: Sequence[Device]
    ) -> None:
        """Put servos on a line.

        Args:
            line: The port.
            timing: Times on the wire.
            languages: Protocols of the devices.
            devices: At least one; the console addresses the first unless given an ID.
        """
        super().__init__()
        self.line = line
        self.timing = timing
        self.devices = list(devices)
        self.faults = Faults()
        self.languages = languages
        protocols: set[Protocol] = {device.protocol for device in devices}
        # A servo with one protocol also reads the packets of the other, and ignores them.
        self._readers: dict[Protocol, Reader] = {protocol: languages[protocol].reader() for protocol in protocols}
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._free = 0.0
        """Time from which nothing is on the line [s]."""
        self._rate = 0.0
        self._packets = self._answers = self._unheard = 0
        self._add_commands()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Address of each servo."""
        return tuple(device.address(self.line.path) for device in self.devices)

    def files(self) -> Collection[int]:
        """Return the descriptor of the line's end; none while it is unplugged."""
        return [self.line.file] if self.line.plugged else []

    def serve(self, ready: Collection[int]) -> float:
        """Process the input, advance to the current time, and send what is due."""
        now = timing.now()
        if self.line.file in ready:
            self._hear(self.line.receive(), now)
        for device in self.devices:
            device.supervise(now)
        while self._due and self._due[0][0] <= timing.now():
            heapq.heappop(self._due)[2]()
        return min(LONGEST_REST, self._due[0][0] - timing.now()) if self._due else LONGEST_REST

    def close(self) -> None:
        """Leave the bus."""
        self._due.clear()
        self.line.unplug()

    # Traffic on the line.

    def _at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (when, next(self._order), what))

    def _hear(self, data: bytes, now: float) -> None:
        if not data:
            return
        self._rate = self.line.rate
        # Half duplex: input that arrives during other traffic on the line has to wait.
        arrived = max(now, self._free) + self.timing.duration(len(data), self._rate)
        if self.faults.echo:
            self._at(arrived, partial(self.line.send, data))
        self._free = arrived
        listening = [device for device in self.devices if device.hears(self._rate, now)]
        if not listening:
            self._unheard += len(data)
            for reader in self._readers.values():
                reader.reset()
            return
        for protocol, reader in self._readers.items():
            for packet in reader.feed(data, now):
                self._packets += packet.intact
                self._at(arrived, partial(self._execute, protocol, packet, listening, arrived))

    def _execute(self, protocol: Protocol, packet: Packet, listening: Sequence[Device], arrived: float) -> None:
        """Let the servos execute a packet. Their times start when the packet would have arrived on a real line."""
        now = timing.now()
        hearing = [device for device in listening if device.protocol == protocol and device.powered]
        if packet.instruction in WRITING and self.faults.is_lost():
            return
        for device in hearing:
            device.mechanism.advance()
        replies = self.languages[protocol].execute(packet, hearing, self.faults.muted, now)
        for reply in replies:
            self._transmit(reply, arrived)

    def _transmit(self, reply: Reply, asked: float) -> None:
        timing, rate = self.timing, self._rate
        self._answers += 1
        begin = max(self._free, asked)
        if timing.wire_time:
            if reply.delayed:
                begin += reply.device.return_delay
            slot = PING_SLOT * timing.duration(1, rate) + PING_PAUSE
            begin = max(begin, asked + reply.slot * slot)
        self._free = begin + timing.duration(len(reply.packet), rate)
        for delay, piece in self.faults.befall(reply.device.id, reply.packet):
            self._at(self._free + timing.latency + delay, partial(self.line.send, piece))

    # The console.

    def _add_commands(self) -> None:
        console = self.console
        self.faults.add_commands(console)
        several = [
            ("power-cycle", "power-cycle [id=ID]", "switch servos off and on (default: all)", self._power_cycle),
            ("power", "power on | off [id=ID]", "switch the supply of servos (default: all)", self._power),
        ]
        one = [
            ("fault", f"fault {' | '.join(FAULTS)} | clear [id=ID]", "cause an error in a servo", self._fault),
            ("alert", "alert on | off [id=ID]", "let a servo signal an error without a cause", self._alert),
            ("get", "get REGISTER [id=ID]", "print the content of a register", self._get),
            ("set", "set REGISTER VALUE [unheard] [id=ID]", "set a register as another controller", self._set),
        ]
        for name, usage, help, act in several:
            console.add(name, usage, help, partial(self._with_devices, act))
        for name, usage, help, act in one:
            console.add(name, usage, help, partial(self._with_device, act))
        console.add("unplug", "unplug", "pull the adapter out of the computer", self._unplug)
        console.add("plug", "plug", "plug it in again and print the new path", self._plug)
        console.add("bus", "bus", "print the traffic on the line so far", self._say_bus)
        self._add_mechanism_commands()

    def _add_mechanism_commands(self) -> None:
        """Add the commands of each servo's mechanism, chosen by "id="."""
        consoles = []
        for device in self.devices:
            inner = Console()
            device.mechanism.add_commands(inner)
            consoles.append(inner)

        def forward(name: str, words: list[str]) -> str:
            plain, id = options(words)
            device = self._device(id)
            command = next(c for c in consoles[self.devices.index(device)].commands if c.name == name)
            return command.act(plain) or "ok"

        for command in consoles[0].commands:
            if command.name != "help":
                self.console.add(command.name, f"{command.usage} [id=ID]", command.help, partial(forward, command.name))

    def _device(self, id: int | None) -> Device:
        if id is None:
            return self.devices[0]
        for device in self.devices:
            if device.id == id:
                return device
        raise ValueError(f"no servo with the ID {id}; there are {', '.join(str(d.id) for d in self.devices)}")

    def _with_device(self, act: Callable[[list[str], Device], str | None], words: list[str]) -> str | None:
        plain, id = options(words)
        return act(plain, self._device(id))

    def _with_devices(self, act: Callable[[list[str], Device], None], words: list[str]) -> None:
        plain, id = options(words)
        for device in self.devices if id is None else [self._device(id)]:
            act(plain, device)

    def _power_cycle(self, words: list[str], device: Device) -> None:
        now = timing.now()
        device.set_power(False, now)
        device.set_power(True, now)

    def _power(self, words: list[str], device: Device) -> None:
        device.set_power(switch(words[0]), timing.now())

    def _fault(self, words: list[str], device: Device) -> None:
        if words[0] == "clear":
            device.relent()
        else:
            device.force(words[0])

    def _alert(self, words: list[str], device: Device) -> None:
        device.alert = switch(words[0])

    def _get(self, words: list[str], device: Device) -> str:
        device.mechanism.advance()
        device.refresh()
        return str(device.registers[self._register(words[0], device)])

    def _set(self, words: list[str], device: Device) -> None:
        """Set a register without any checks; the client hears the packet of another controller that may write it."""
        id, register = device.id, device.registers.table[self._register(words[0], device)]
        device.put(register.name, int(words[1], 0))
        if register.access == "rw" and "unheard" not in words[2:]:
            write = self.languages[device.protocol].write
            self.line.send(write(id, register.address, register.encode(device.registers[register.name])))

    def _register(self, name: str, device: Device) -> str:
        if name not in device.registers:
            raise ValueError(f"unknown register {name!r}; there are {', '.join(device.registers.table.registers)}")
        return name

    def _unplug(self, words: list[str]) -> None:
        self.line.unplug()
        self._due.clear()
        for reader in self._readers.values():
            reader.reset()

    def _plug(self, words: list[str]) -> str:
        self.line.plug()
        return self.line.path

    def _say_bus(self, words: list[str]) -> str:
        broken = sum(reader.broken for reader in self._readers.values())
        trips = sum(device.watchdog_trips for device in self.devices)
        return (
            f"packets={self._packets} answers={self._answers} broken={broken} unheard_bytes={self._unheard} "
            f"watchdog_trips={trips} baud={self._rate:g}"
        )
