"""The emulated segment on its network interface: frames in, through every slave, and back."""

from __future__ import annotations

import contextlib
import heapq
import socket
from collections.abc import Collection

from core.servo.catalogue import load_servo
from drivers import timing
from drivers.emulators.ethercat import veth
from drivers.emulators.ethercat.chip.states import AlState
from drivers.emulators.ethercat.commands import add_commands
from drivers.emulators.ethercat.datagrams import ETHERTYPE, NUMBER, circulate
from drivers.emulators.ethercat.faults import WireFaults
from drivers.emulators.ethercat.segment import Segment
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.emulators.process import LONGEST_REST, Emulator
from drivers.errors import BusError
from drivers.simulated.hand import SharedHand
from drivers.simulated.plant import TICK, Imperfections

CURRENT_WINDOW = 0.002
"""Time over which a drive filters the current that it reports [s]."""
LONGEST_FRAME = 1514
MOST_FRAMES = 32
"""Frames answered between two checks of the console."""


class EthercatEmulator(Emulator):
    """Slaves in a row behind one interface."""

    def __init__(self, segment: Segment, hand: SharedHand) -> None:
        """Create the interface and the slaves; raises BusError if the interface cannot be created or opened."""
        super().__init__()
        self._segment = segment
        now = timing.now_ns()
        self.slaves = [self._make_slave(number, hand if number == 1 else SharedHand(), now) for number in self._numbers]
        for number, slave in zip(self._numbers, self.slaves, strict=True):
            slave.connect(len(self.slaves) - number)
        self.faults = WireFaults()
        self._waiting: dict[bytes, bytearray] = {}
        """The last frame with each number that is not answered yet."""
        self._late: list[tuple[float, int, bytes]] = []
        self._sent = 0
        add_commands(self.console, self.slaves, self.faults)
        # The first tick of a plant compiles the simulation: no frame should wait for that.
        timing.sleep(2.0 * TICK)
        self._step(timing.now_ns())
        self._made = False
        self._claim = _claim(segment.interface)
        try:
            self._made = veth.make(segment.interface, segment.master_interface)
            self._socket = _open(segment.interface)
        except (BusError, KeyboardInterrupt):
            self._leave()
            raise

    @property
    def _numbers(self) -> range:
        return range(1, len(self._segment.servos) + 1)

    def _make_slave(self, number: int, hand: SharedHand, now: int) -> Slave:
        segment = self._segment
        mechanism = Mechanism(
            load_servo(segment.servos[number - 1]),
            hand,
            model=segment.model if number == 1 else None,
            bench=segment.bench,
            imperfections=Imperfections(encoder_step=0.0, current_window=CURRENT_WINDOW),
        )
        return Slave(
            mechanism,
            number=number,
            strict=segment.strict,
            drift=segment.drift,
            sync_limit=segment.sync_limit,
            now=now,
        )

    @property
    def addresses(self) -> tuple[str, ...]:
        """One servo address per slave, numbered from 1 in the order of the cable."""
        place = f"ethercat:{self._segment.master_interface}"
        names = self._segment.servos
        return tuple(f"{place}:{number}?servo={name}" for number, name in zip(self._numbers, names, strict=True))

    def files(self) -> Collection[int]:
        """Return the descriptor of the raw socket."""
        return (self._socket.fileno(),)

    def serve(self, ready: Collection[int]) -> float:
        """Answer the frames that came in and advance to the current time."""
        answered = 0
        while answered < MOST_FRAMES and self._listen():
            self._answer(self._waiting.pop(next(iter(self._waiting))))
            answered += 1
        if not answered or self.faults.unplugged:
            self._step(timing.now_ns())
        rest = self._send_late()
        return 0.0 if self._waiting else rest

    def _listen(self) -> bool:
        """Receive the frames that came in; return True if any waits for its answer."""
        with contextlib.suppress(OSError):  # no frame is left, or the interface went down and may come up again
            while True:
                frame, address = self._socket.recvfrom(LONGEST_FRAME)
                if address[2] != socket.PACKET_OUTGOING:
                    # A real segment is never late: the master would take a late answer for that to a later frame.
                    number = frame[NUMBER : NUMBER + 1]
                    self._waiting.pop(number, None)
                    self._waiting[number] = bytearray(frame)
        return bool(self._waiting)

    def _step(self, now: int) -> None:
        for slave in self.slaves:
            slave.step(now)

    def _answer(self, frame: bytearray) -> None:
        if self.faults.unplugged:
            return
        now = timing.now_ns()
        self._step(now)
        if not circulate(frame, [slave.esc for slave in self.slaves if not slave.muted], now):
            return
        late, answers = self.faults.apply(frame)
        for answer in answers:
            if late > 0.0:
                self._sent += 1
                heapq.heappush(self._late, (timing.now() + late, self._sent, answer))
            else:
                self._send(answer)

    def _send_late(self) -> float:
        """Send the delayed frames that are due; return the time until the next task [s]."""
        # In operation the plant keeps up with time, so that a frame waits for a tick at most.
        rest = TICK if any(slave.states.state == AlState.OP for slave in self.slaves) else LONGEST_REST
        while self._late:
            due = self._late[0][0] - timing.now()
            if due > 0.0:
                return min(due, rest)
            self._send(heapq.heappop(self._late)[2])
        return rest

    def _send(self, frame: bytes) -> None:
        # A frame without room or interface counts as lost.
        with contextlib.suppress(OSError):
            self._socket.send(frame)

    def close(self) -> None:
        """Close the socket and remove the interfaces this emulator made."""
        self._socket.close()
        self._leave()

    def _leave(self) -> None:
        if self._made:
            self._made = False
            veth.remove(self._segment.interface)
        self._claim.close()


def _claim(interface: str) -> socket.socket:
    """Bind a name that only one emulator per interface can bind: two of them would both answer every frame."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0servobench-ethercat-{interface}")
    except OSError:
        claim.close()
        raise BusError(f"another emulator is on {interface!r} already; end it, or name another interface") from None
    return claim


def _open(interface: str) -> socket.socket:
    try:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    except OSError as error:
        raise BusError(f"no raw socket for {interface!r}: {error}; {veth.PERMISSION_REMEDY}") from None
    try:
        opened.setblocking(False)
        opened.bind((interface, ETHERTYPE))
    except OSError as error:
        opened.close()
        raise BusError(f"cannot listen on {interface!r}: {error}; see `ip link` for its name and state") from None
    return opened
