"""A slave's controller chip: registers and memory as the master sees them, and the rules of access."""

from __future__ import annotations

from collections.abc import Callable

from drivers import timing
from drivers.emulators.ethercat.chip import registers as r
from drivers.emulators.ethercat.chip.clock import DistributedClock
from drivers.emulators.ethercat.chip.fmmu import Fmmu
from drivers.emulators.ethercat.chip.sii import SiiInterface
from drivers.emulators.ethercat.chip.sync_manager import WATCHED, SyncManager

_WRITABLE = r.writable()
_ALIAS_WORD = 4
"""Word of the SII that holds the alias."""
_USE_ALIAS = 0x01
"""Bit in the fourth byte of DL control."""

TICK = 40
"""Period of the clock that the watchdogs' divider divides [ns]."""
DEFAULT_DIVIDER = 0x09C2
"""Initial divider of the watchdogs: 100 µs."""
DEFAULT_WATCHDOG = 1000
"""Initial watchdog time in units of the divider: 100 ms."""


class Esc:
    """The chip of one slave, as after power-on. Everything that the master reads or writes goes through it."""

    def __init__(self, eeprom: bytearray, now: int = 0, drift: float = 0.0) -> None:
        """Create the chip.

        Args:
            eeprom: Its SII, kept over a loss of power.
            now: Time of power-on [ns].
            drift: Relative speed of its crystal beyond the machine's.
        """
        self.memory = bytearray(r.END)
        self.arrival = now
        """Arrival time of the present frame [ns]."""
        self.sync_managers = tuple(SyncManager(self.memory, n) for n in range(r.SYNC_MANAGERS))
        self.sii = SiiInterface(self.memory, eeprom)
        self.clock = DistributedClock(self.memory, now, drift)
        self.on_al_control: Callable[[int], None] | None = None
        """Called with the value that the master wrote to AL control."""
        self.on_sync_managers: Callable[[], None] | None = None
        """Called when the master wrote to the settings of sync managers."""
        self.fed_at = now
        """Time of the last write to a watched sync manager [ns]."""
        self._fmmus: tuple[Fmmu, ...] = ()
        self._guards: tuple[SyncManager, ...] = ()
        """The sync managers that are switched on."""
        self._hooks: tuple[tuple[int, int, Callable[[], None]], ...] = (
            (r.AL_CONTROL, r.AL_CONTROL + 2, self._control_written),
            (r.ERROR_COUNTERS, r.ERROR_COUNTERS + 0x14, lambda: self._clear(r.ERROR_COUNTERS, 0x14)),
            (r.WATCHDOG_COUNTERS, r.WATCHDOG_COUNTERS + 2, lambda: self._clear(r.WATCHDOG_COUNTERS, 2)),
            (r.SII_CONTROL, r.SII_CONTROL + 2, self.sii.execute),
            (r.FMMU, r.FMMU + r.FMMUS * r.FMMU_SIZE, self._load_fmmus),
            (r.SYNC_MANAGER, r.SYNC_MANAGER + r.SYNC_MANAGERS * r.SYNC_MANAGER_SIZE, self._load_sync_managers),
            (r.RECEIVE_TIME, r.RECEIVE_TIME + 4, self._latch),
            (r.SYSTEM_TIME, r.SYSTEM_TIME + 8, self._compare_time),
            (r.TIME_OFFSET, r.TIME_OFFSET + 8, self.clock.load),
            (r.CYCLIC_UNIT, r.SYNC1_CYCLE + 4, self._activate),
        )
        self._describe()

    def connect(self, followers: int) -> None:
        """Set the number of slaves behind it, which opens its second port and determines the way of a frame."""
        self.clock.followers = followers
        open_port, closed = 0x2, 0x1
        ports = open_port | (open_port if followers else closed) << 2 | closed << 4 | closed << 6
        self._put(r.DL_STATUS, 0x11 | (0x20 if followers else 0) | ports << 8, 2)

    def _describe(self) -> None:
        self._put(r.TYPE, 0x11, 1)
        self._put(r.BUILD, 2, 2)
        self._put(r.FMMU_COUNT, r.FMMUS, 1)
        self._put(r.SYNC_MANAGER_COUNT, r.SYNC_MANAGERS, 1)
        self._put(r.RAM_SIZE, (r.END - r.RAM) // 1024, 1)
        self._put(r.PORTS, 0x0F, 1)  # two of them with Ethernet's wires
        self._put(r.FEATURES, 0x000C, 2)  # a distributed clock of 64 bits
        self._put(r.PDI_CONTROL, 0x05, 1)
        self._put(r.AL_STATUS, 1, 2)
        self._put(r.EVENT_MASK, 4, 2)
        self._put(r.WATCHDOG_DIVIDER, DEFAULT_DIVIDER, 2)
        self._put(r.PDI_WATCHDOG, DEFAULT_WATCHDOG, 2)
        self._put(r.PROCESS_WATCHDOG, DEFAULT_WATCHDOG, 2)
        self._put(r.WATCHDOG_STATUS, 1, 1)
        self._put(r.STATION_ALIAS, self.sii.word(_ALIAS_WORD), 2)
        self.connect(0)

    # Access by datagrams.

    def is_called(self, address: int) -> bool:
        """Return True if this is its station address, or its alias if the master allowed that."""
        memory = self.memory
        if address == memory[r.STATION_ADDRESS] | memory[r.STATION_ADDRESS + 1] << 8:
            return True
        return bool(memory[r.DL_CONTROL + 3] & _USE_ALIAS) and address == self.get(r.STATION_ALIAS, 2)

    def read(self, address: int, length: int) -> bytes | None:
        """Return memory; None if there is none or its sync manager refuses."""
        end = address + length
        if address >= r.RAM:
            return self._read_ram(address, end)
        if end > r.RAM:
            return None
        if address < r.SYSTEM_TIME + 8 and end > r.SYSTEM_TIME:
            self.clock.show(self.arrival)
        return bytes(self.memory[address:end])

    def write(self, address: int, data: bytes) -> bool:
        """Write memory; return False if nothing of it may be written."""
        end = address + len(data)
        if address >= r.RAM:
            return self._write_ram(address, end, data)
        if end > r.RAM or not any(_WRITABLE[address:end]):
            return False
        memory = self.memory
        for place, byte in enumerate(data, address):
            if _WRITABLE[place]:
                memory[place] = byte
        for start, stop, act in self._hooks:
            if address < stop and start < end:
                act()
        return True

    def logical(self, address: int, data: bytearray, reads: bool, writes: bool) -> int:
        """Exchange logical memory in place; return the contribution to the working counter."""
        length = len(data)
        given = bytes(data)
        read = written = False
        for fmmu in self._fmmus:
            first, last = fmmu.overlap(address, length)
            if first >= last:
                continue
            if not fmmu.whole_bytes:
                if reads and fmmu.reads:
                    read |= self._read_bits(fmmu, address, data)
                if writes and fmmu.writes:
                    written |= self._write_bits(fmmu, address, given)
                continue
            place = fmmu.physical + address + first - fmmu.logical
            if reads and fmmu.reads:
                found = self.read(place, last - first)
                if found is not None:
                    data[first:last] = found
                    read = True
            if writes and fmmu.writes:
                written |= self.write(place, given[first:last])
        # ETG.1000.4: a combined command counts 1 for a read and 2 for a write.
        return int(read) + int(written) * (2 if reads else 1)

    def _read_bits(self, fmmu: Fmmu, address: int, data: bytearray) -> bool:
        done = False
        for index, bit, place, home in fmmu.bits(address, len(data)):
            found = self.read(place, 1)
            if found is not None:
                data[index] = data[index] & ~(1 << bit) | (found[0] >> home & 1) << bit
                done = True
        return done

    def _write_bits(self, fmmu: Fmmu, address: int, data: bytes) -> bool:
        done = False
        for index, bit, place, home in fmmu.bits(address, len(data)):
            if place >= len(self.memory):
                break
            value = self.memory[place] & ~(1 << home) | (data[index] >> bit & 1) << home
            done |= self.write(place, bytes([value]))
        return done

    def _read_ram(self, address: int, end: int) -> bytes | None:
        if end > r.END:
            return None
        for guard in self._guards:
            if guard.touches(address, end):
                if not guard.admits(address, end, write=False):
                    return None
                found = bytes(self.memory[address:end])
                guard.accessed(end, write=False)
                return found
        return bytes(self.memory[address:end])

    def _write_ram(self, address: int, end: int, data: bytes) -> bool:
        if end > r.END:
            return False
        for guard in self._guards:
            if guard.touches(address, end):
                if not guard.admits(address, end, write=True):
                    return False
                self.memory[address:end] = data
                if guard.control & WATCHED:
                    self.fed_at = self.arrival
                guard.accessed(end, write=True)
                return True
        self.memory[address:end] = data
        return True

    # The slave's own side.

    def get(self, address: int, length: int) -> int:
        """Read a register from the slave's side."""
        return int.from_bytes(self.memory[address : address + length], "little")

    def show_state(self, status: int, code: int) -> None:
        """Set AL status and its code."""
        self._put(r.AL_STATUS, status, 2)
        self._put(r.AL_STATUS_CODE, code, 2)

    @property
    def watchdog_time(self) -> int:
        """Longest silence of the process data [ns]; 0 if the watchdog is off or no sync manager is watched."""
        if not any(guard.control & WATCHED and not guard.blocked for guard in self._guards):
            return 0
        set_to = (self.get(r.WATCHDOG_DIVIDER, 2) + 2) * TICK * self.get(r.PROCESS_WATCHDOG, 2)
        return round(set_to * timing.limits.emulated_watchdogs)

    @property
    def watchdog_count(self) -> int:
        """Number of expiries, up to 255."""
        return self.memory[r.WATCHDOG_COUNTERS]

    def show_watchdog(self, expired: bool) -> None:
        """Set the watchdog's status and count an expiry."""
        if expired and self.memory[r.WATCHDOG_STATUS]:
            self.memory[r.WATCHDOG_COUNTERS] = min(255, self.memory[r.WATCHDOG_COUNTERS] + 1)
        self.memory[r.WATCHDOG_STATUS] = int(not expired)

    def _put(self, address: int, value: int, length: int) -> None:
        self.memory[address : address + length] = value.to_bytes(length, "little")

    # Effects of writing a register.

    def _control_written(self) -> None:
        if self.on_al_control is not None:
            self.on_al_control(self.get(r.AL_CONTROL, 2))

    def _clear(self, address: int, length: int) -> None:
        self._put(address, 0, length)

    def _load_fmmus(self) -> None:
        places = range(r.FMMU, r.FMMU + r.FMMUS * r.FMMU_SIZE, r.FMMU_SIZE)
        self._fmmus = tuple(f for f in (Fmmu.load(self.memory, place) for place in places) if f is not None)

    def _load_sync_managers(self) -> None:
        for manager in self.sync_managers:
            manager.load()
        self._guards = tuple(manager for manager in self.sync_managers if manager.active)
        if self.on_sync_managers is not None:
            self.on_sync_managers()

    def _latch(self) -> None:
        self.clock.latch(self.arrival)

    def _compare_time(self) -> None:
        self.clock.compare(self.arrival)

    def _activate(self) -> None:
        self.clock.activate(self.arrival)
