"""The EtherCAT master: all calls of the pysoem library, and protection against its known dangers.

- The library copies the output image without checking its length: it is compared before every copy.
- After a lost frame the input image keeps the old bytes: inputs count only with the expected working counter.
- A frame that came back in part is filled with the one before it, including its working counter. The bus time, which
  follows the inputs, therefore has to have advanced.
- Most calls hold the interpreter's lock while they wait: only those of a cycle and of the start release it.
- An emergency is raised by the next SDO call unless a callback takes it.

Only one thread at a time uses it. There are no SDO calls once cycles have begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pysoem

from drivers import timing
from drivers.errors import BusError, NoAnswer
from drivers.ethercat import nic
from drivers.ethercat.pdo import INPUTS, OPTIONAL_INPUTS, Image, ImageEntry

INIT, PREOP, SAFEOP, OP = pysoem.INIT_STATE, pysoem.PREOP_STATE, pysoem.SAFEOP_STATE, pysoem.OP_STATE
_NAMES = {0: "no reported state", INIT: "INIT", PREOP: "PREOP", pysoem.BOOT_STATE: "BOOT", SAFEOP: "SAFEOP", OP: "OP"}

SDO_ATTEMPTS = 3
SEARCHES = 2
"""Number of searches: on a busy machine the first frames may be late."""
KEPT_OUTPUTS = 8
"""Exchanges of process data whose frames may still be on their way; after fewer lost ones the drive is released."""
ONE_FRAME = 1400
"""Process data that fit into one frame [bytes]."""
_PROBLEMS = (pysoem.MailboxError, pysoem.PacketError, pysoem.WkcError)
_DOES_NOT_EXIST = (0x06020000, 0x06090011, 0x06040041, 0x06040042, 0x06010000, 0x06010001, 0x06010002)
"""Abort codes of an object that the drive does not have, or that it does not allow to map, read or write."""


@dataclass(frozen=True)
class AlState:
    """State of a slave's application layer."""

    state: int
    code: int = 0
    """AL status code; 0 without an error."""

    @property
    def base(self) -> int:
        """The state without the error bit."""
        return self.state & 0x0F

    @property
    def without_process_data(self) -> bool:
        """True if the slave reports a state in which frames do not command it."""
        return self.base in (INIT, PREOP)

    def __str__(self) -> str:
        name = _NAMES.get(self.base, f"state {self.base}")
        if not self.code:
            return name + (" with an error" if self.state & pysoem.STATE_ERROR else "")
        meaning = pysoem.al_status_code_to_string(self.code)
        return f"{name} with AL error 0x{self.code:04X} ({meaning})"


@dataclass(frozen=True)
class SlaveInfo:
    """Facts from a slave's EEPROM."""

    number: int
    """Position on the bus, from 1."""
    name: str
    vendor: int
    product: int
    revision: int


class Master:
    """The one master on an interface, with one of its slaves in use; the others stay in SAFEOP."""

    def __init__(self, interface: str, number: int) -> None:
        self.interface = interface
        self.number = number
        self._lock: nic.Lock | None = None
        self._master: Any = None
        self._slave: Any = None
        self._outputs = 0
        self._timeout = 1500
        self._expected = 0
        self._clocked = False
        self._stamp = -1
        self._listener: nic.Listener | None = None
        self._sent: deque[bytes] = deque(maxlen=KEPT_OUTPUTS)

    # Start.

    def open(self, searches: int = SEARCHES) -> list[SlaveInfo]:
        """Take the interface, bring every slave on it to PREOP, and return the slaves.

        Args:
            searches: Number of searches for slaves; each takes some 50 ms if there are none.

        Raises:
            BusError: if the interface cannot be used.
            NoAnswer: if there is no slave.
        """
        nic.require(self.interface)
        timing.require_real_limits(self.interface, lambda: nic.is_virtual_cable(self.interface))
        self._lock = nic.Lock(self.interface)
        nic.listen(self.interface)
        master = self._master = pysoem.Master()
        try:
            master.open(self.interface)
        except ConnectionError:
            self._master = None
            raise BusError(nic.refused(self.interface)) from None
        if not any(master.config_init(False, release_gil=True) > 0 for _ in range(searches)):
            raise NoAnswer(
                f"no drive answered on network interface {self.interface}; check its power, the cable and the interface"
            )
        return [
            SlaveInfo(number, slave.name, slave.man, slave.id, slave.rev)
            for number, slave in enumerate(master.slaves, 1)
        ]

    def take(self, on_emergency: Callable[[int, int], None]) -> None:
        """Use the slave; `on_emergency` is called with the code and the register of each error that it reports."""
        slaves = self._master.slaves
        if self.number > len(slaves):
            raise NoAnswer(
                f"there is no slave {self.number} on network interface {self.interface}, which has {len(slaves)}; "
                "correct the number or check the cable behind the last one"
            )
        self._slave = slaves[self.number - 1]
        self._slave.add_emergency_callback(lambda emergency: on_emergency(emergency.error_code, emergency.error_reg))
        state = self._slave.state_check(PREOP, 500_000)
        if state & 0x0F != PREOP:
            raise BusError(f"slave {self.number} stays in {self.al_state()} instead of PREOP; switch it off and on")

    def read(self, index: int, subindex: int = 0, size: int = 256) -> bytes | None:
        """Return an object's bytes; None if the drive has no such object.

        Raises:
            BusError: if the transfer fails.
        """
        return self._sdo(
            f"reading 0x{index:04X}:{subindex}",
            lambda: self._slave.sdo_read(index, subindex, size, release_gil=True),
        )

    def read_number(self, index: int, subindex: int = 0, *, signed: bool = False) -> int | None:
        """Return a whole number; None if the drive has no such object.

        Raises:
            BusError: if the transfer fails.
        """
        data = self.read(index, subindex, 8)
        return None if data is None else int.from_bytes(data, "little", signed=signed)

    def read_text(self, index: int) -> str:
        """Return a text; empty if the drive has no such object.

        Raises:
            BusError: if the transfer fails.
        """
        data = self.read(index)
        return "" if data is None else data.split(b"\0")[0].decode("ascii", "replace").strip()

    def _write(self, index: int, subindex: int, data: bytes) -> bool:
        """Write an object; return True if the drive has it. Raises BusError."""
        done = self._sdo(
            f"writing 0x{index:04X}:{subindex}",
            lambda: self._slave.sdo_write(index, subindex, data, release_gil=True) or b"",
        )
        return done is not None

    def _sdo(self, act: str, call: Callable[[], bytes]) -> bytes | None:
        problem: Exception | None = None
        for _ in range(SDO_ATTEMPTS):
            try:
                return call()
            except pysoem.SdoError as error:
                if error.abort_code in _DOES_NOT_EXIST:
                    return None
                raise BusError(
                    f"slave {self.number}: {act} was refused: {error.desc} (0x{error.abort_code:08X})"
                ) from None
            except _PROBLEMS as error:
                problem = error
        reason = getattr(problem, "desc", "") or getattr(problem, "message", "") or type(problem).__name__
        raise BusError(f"slave {self.number}: {act} failed: {reason}; check cable and power")

    def map_images(self, outputs: tuple[ImageEntry, ...]) -> tuple[Image, Image]:
        """Map the process data, without optional inputs that the drive does not have.

        Raises:
            BusError: if the drive refuses a required object.
        """
        if not self._map(0x1C12, 0x1600, outputs):
            raise BusError("the drive does not accept target torque and mode as cyclic data; it cannot be used here")
        inputs = INPUTS
        for entries in OPTIONAL_INPUTS:
            if self.read(entries[0].index) is not None and self._map(0x1C13, 0x1A00, inputs + entries):
                inputs += entries
        if not self._map(0x1C13, 0x1A00, inputs):
            raise BusError("the drive does not send position, velocity and torque as cyclic data; it cannot be used")
        return Image(outputs), Image(inputs)

    def _map(self, assign: int, mapping: int, entries: tuple[ImageEntry, ...]) -> bool:
        """Map one direction; return True if the drive accepts every entry.

        Args:
            assign: 0x1C12 or 0x1C13.
            mapping: Object that lists the entries, 0x1600 or 0x1A00.
            entries: Entries to map.
        """
        steps = [(assign, 0, b"\0"), (mapping, 0, b"\0")]
        steps += [(mapping, place, entry.mapping) for place, entry in enumerate(entries, 1)]
        steps += [(mapping, 0, bytes((len(entries),)))]
        steps += [(assign, 1, mapping.to_bytes(2, "little")), (assign, 0, b"\1")]
        # All steps, even after one that the drive refused, so that the assignment ends consistent.
        taken = [self._write(*step) for step in steps]
        return all(taken)

    def tell_cycle(self, cycle: float) -> None:
        """Write the period of targets [s] for the drive's own position law, if the drive has it.

        Raises:
            BusError: if the transfer fails.
        """
        power = -3 if round(1e4 * cycle) % 10 == 0 else -4
        self._write(0x60C2, 1, bytes((round(cycle / 10**power),)))
        self._write(0x60C2, 2, power.to_bytes(1, "little", signed=True))

    def watchdog(self, wanted: float) -> float:
        """Set how long the drive stays in OP without frames [s]; return the time it now has [s]."""
        try:
            self._slave.set_watchdog("processdata", 1e3 * wanted)
            return 1e-3 * self._slave.get_watchdog("processdata")
        except (*_PROBLEMS, ValueError, AttributeError) as error:
            raise BusError(f"slave {self.number}: setting its watchdog failed: {error}") from None

    def find_clocks(self) -> bool:
        """Measure the delays between the slaves' clocks; return True if there are clocks."""
        self._clocked = bool(self._master.config_dc())
        return self._clocked

    def start_pulses(self, cycle: float) -> None:
        """Switch SYNC0 on, one pulse per cycle [s]."""
        self._slave.dc_sync(True, round(1e9 * cycle))

    def to_safeop(self, outputs: Image, inputs: Image, cycle: float) -> None:
        """Put the process data of all slaves into one image and go to SAFEOP.

        Raises:
            BusError: if the slave does not reach SAFEOP with this mapping.
        """
        try:
            self._master.config_map()
        except pysoem.ConfigMapError as error:
            reasons = ", ".join(str(reason) for reason in error.error_list)
            raise BusError(f"slave {self.number}: its process data could not be mapped: {reasons}") from None
        state = self._slave.state_check(SAFEOP, round(1e6 * timing.limits.ethercat_safeop))
        if state & 0x0F != SAFEOP or self.al_state().code:
            raise BusError(
                f"slave {self.number} is in {self.al_state()} instead of SAFEOP; "
                "try another dc option of the address, or switch the drive off and on"
            )
        sizes = len(self._slave.output), len(self._slave.input)
        if sizes != (outputs.size, inputs.size):
            raise BusError(
                f"slave {self.number} has process data of {sizes[0]} and {sizes[1]} bytes instead of "
                f"{outputs.size} and {inputs.size}; it did not apply its mapping, switch it off and on"
            )
        self._outputs = outputs.size
        self._expected = self._master.expected_wkc
        # The kernel rounds the timeout up to its own resolution, 8 ms on a usual one.
        self._timeout = max(500, round(0.75e6 * cycle))

    # In cycles.

    def exchange(self, data: bytes) -> bytes | None:
        """Send the outputs and return the inputs; None if the frame did not come back whole from every slave."""
        if len(data) != self._outputs:
            raise BusError(f"slave {self.number}: outputs of {len(data)} bytes do not fit its {self._outputs}")
        self._slave.output = data
        self._sent.append(data)
        self._master.send_processdata(release_gil=True)
        counter = self._master.receive_processdata(self._timeout, release_gil=True)
        if counter != self._expected:
            return None
        if self._clocked:
            last, self._stamp = self._stamp, self._master.dc_time
            if self._stamp == last:
                return None
        return self._slave.input

    def listen(self) -> None:
        """Begin to listen for other masters. Raises BusError if the interface cannot be used."""
        slaves = self._master.slaves
        if sum(len(slave.output) + len(slave.input) for slave in slaves) <= ONE_FRAME:
            self._listener = nic.Listener(self.interface, len(slaves))

    def hears_another(self) -> bool:
        """Return True if a slave obeyed another master since the last call."""
        return self._listener is not None and self._listener.hears_another(self._sent)

    def forget_frames(self) -> None:
        """Take the frames since the last call for ours."""
        if self._listener is not None:
            self._listener.forget()

    def bus_time(self, cycle: float) -> float:
        """Return the time of the bus's first clock at the last frame, within a cycle [s]."""
        return 1e-9 * (self._stamp % round(1e9 * cycle))

    def request(self, state: int) -> None:
        """Request a state of the slave; this also acknowledges an error that it reports."""
        self._slave.state = state
        self._slave.write_state()

    def al_state(self) -> AlState:
        """Return the slave's present state; 0 if it does not answer."""
        return self.al_states()[self.number - 1]

    def al_states(self) -> list[AlState]:
        """Return the present state of every slave."""
        self._master.read_state()
        return [AlState(slave.state, slave.al_status) for slave in self._master.slaves]

    def fetch_emergency(self) -> bool:
        """Read the slave's mailbox once; an error goes to the callback. Return True if there was a message."""
        try:
            return self._slave.mbx_receive() > 0
        except (*_PROBLEMS, pysoem.Emergency):
            return True

    # End.

    def close(self) -> None:
        """Bring the slaves back to INIT and give the interface back. Idempotent; works on a dead wire."""
        master, self._master = self._master, None
        self._slave = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        if master is not None:
            for state in (SAFEOP, INIT):
                with suppress(Exception):
                    master.state = state
                    master.write_state()
            master.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None
