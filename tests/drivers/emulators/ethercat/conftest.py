"""A pysoem master beside the emulated segment, both in a network of their own."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from drivers.emulators.ethercat import EthercatEmulation
from drivers.emulators.process import EmulatorProcess
from tests.drivers.own_network import pytest_configure, pytest_runtest_logreport, pytest_runtest_protocol
from tests.waiting import wait_until

__all__ = ["pytest_configure", "pytest_runtest_logreport", "pytest_runtest_protocol"]

CYCLE = 2_000_000
"""Of SYNC0 [ns]."""
PATIENCE = 60_000_000
"""For a frame that comes back [µs]."""
SHORT = 50_000
"""For one that does not [µs]."""
LOST = -1
"""The working counter that pysoem returns for a frame that did not come back."""
TORQUE_OUTPUTS = (0x60400010, 0x60710010, 0x60600008, 0x00000008)
TORQUE_INPUTS = (0x60410010, 0x60640020, 0x606C0020, 0x60770010)


class Bench:
    """An emulator and an unmodified pysoem master that talks to it."""

    def __init__(self, emulator: EmulatorProcess) -> None:
        import pysoem

        self.pysoem = pysoem
        # No machine is so busy [µs]; what is answered is not waited for.
        for name in ("ret", "safe", "eeprom", "tx_mailbox", "rx_mailbox"):
            setattr(pysoem.settings.timeouts, name, SHORT if name == "ret" else PATIENCE)
        self.emulator = emulator
        self.say = emulator.say
        self.master = pysoem.Master()

    @property
    def slave(self):
        return self.master.slaves[0]

    def find(self, count: int = 1) -> None:
        """Bring the slaves to PREOP."""
        wait_until(lambda: self.master.config_init() == count)

    def collect_emergencies(self) -> list:
        """Let emergency messages of the first slave be appended to a list instead of being raised."""
        received = []
        self.slave.add_emergency_callback(received.append)
        return received

    def map(self, index: int, entries: Sequence[int], slave=None) -> None:
        """Write a PDO mapping."""
        slave = slave or self.slave
        slave.sdo_write(index, 0, b"\x00")
        for number, entry in enumerate(entries, 1):
            slave.sdo_write(index, number, struct.pack("<I", entry))
        slave.sdo_write(index, 0, bytes([len(entries)]))

    def map_torque(self, slave=None) -> None:
        """Controlword, torque and mode out; statusword, position, velocity and torque in."""
        self.map(0x1600, TORQUE_OUTPUTS, slave)
        self.map(0x1A00, TORQUE_INPUTS, slave)

    def configure(self, synchronous: bool = True) -> None:
        """Bring the slaves to SAFEOP with the torque mapping."""

        def set_up(position: int) -> None:
            slave = self.master.slaves[position]
            self.map_torque(slave)
            if synchronous:
                slave.dc_sync(True, CYCLE)

        self.master.config_dc()
        for slave in self.master.slaves:
            slave.config_func = set_up
        self.master.config_map()
        self.reach(self.pysoem.SAFEOP_STATE)

    def reach(self, state: int) -> None:
        """Wait until the slaves are in a state."""
        wait_until(lambda: self.master.state_check(state, SHORT) == state, told=self.states)

    def exchange(self, patience: int = PATIENCE) -> int:
        """One frame of process data; returns its working counter."""
        self.master.send_processdata()
        return self.master.receive_processdata(patience)

    def loses(self) -> bool:
        """Whether a frame does not come back."""
        return self.exchange(SHORT) == LOST

    def request(self, state: int) -> None:
        self.master.state = state
        self.master.write_state()

    def operate(self) -> None:
        """Bring the slaves from SAFEOP to OP."""
        self.exchange()
        self.request(self.pysoem.OP_STATE)
        self.reach(self.pysoem.OP_STATE)

    def states(self) -> list[tuple[int, int]]:
        """AL state with the error bit, and AL status code, of each slave."""
        self.master.read_state()
        return [(slave.state, slave.al_status) for slave in self.master.slaves]

    def command(self, controlword: int, torque: int = 0, slave=None) -> None:
        """Set the next torque outputs."""
        (slave or self.slave).output = struct.pack("<HhbB", controlword, torque, 10, 0)

    def inputs(self, slave=None) -> tuple[int, int, int, int]:
        """Statusword, position, velocity, torque."""
        return struct.unpack("<Hiih", (slave or self.slave).input)

    def cycle_until(self, done, controlword: int, torque: int = 0) -> None:
        """Exchange process data until `done()`."""

        def cycle() -> bool:
            self.command(controlword, torque)
            self.exchange()
            return done()

        wait_until(cycle, told=lambda: f"{self.inputs()}, {self.say('esc')}")

    def status_is(self, wanted: int):
        return lambda: self.inputs()[0] & 0x6F == wanted

    def enable(self) -> None:
        """Bring the first drive to operation enabled."""
        for controlword, wanted in ((0x06, 0x21), (0x07, 0x23), (0x0F, 0x27)):
            self.cycle_until(self.status_is(wanted), controlword)

    def esc(self, number: int = 1) -> dict[str, str]:
        """What the emulator says about a slave."""
        line = self.say(f"esc slave={number}")
        return dict(word.split("=", 1) for word in line.split())

    def truth(self) -> dict[str, float]:
        """Where the first pendulum really is."""
        return {name: float(value) for name, value in (word.split("=") for word in self.say("state").split())}


@contextmanager
def open_bench(**options) -> Iterator[Bench]:
    """A segment on a cable of its own with its master, which has not looked for slaves yet."""
    source = EthercatEmulation(interface="ecs1", master_interface="ecm1", **options)
    with EmulatorProcess(source) as emulator, _mastered(emulator, "ecm1") as bench:
        yield bench


@contextmanager
def _mastered(emulator: EmulatorProcess, interface: str = "ecm0") -> Iterator[Bench]:
    bench = Bench(emulator)
    bench.master.open(interface)
    try:
        yield bench
    finally:
        bench.master.close()


@pytest.fixture(scope="module")
def segment():
    """One drive, for all tests of a module."""
    with EmulatorProcess(EthercatEmulation(sync_limit=0)) as emulator:
        yield emulator


@pytest.fixture
def bench(segment):
    """That drive as after power-on, in PREOP."""
    segment.say("heal")
    segment.say("power-cycle")
    with _mastered(segment) as opened:
        opened.find()
        yield opened


@pytest.fixture
def running(bench):
    """In OP, the drive switched off; no pause of a busy machine ends that."""
    bench.slave.set_watchdog("processdata", 5000.0)
    bench.configure()
    bench.operate()
    bench.exchange()  # frames sent twice are answered before this one, and none of them meets a test's fault
    return bench
