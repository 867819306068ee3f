"""The network interface: one owner at a time, no other master on its wire, and clear errors.

The owner is marked by a socket in the kernel's abstract name space. It belongs to the same network name space as the
interface, vanishes with its process however that ends, and shows a second process who came first.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Collection, Iterator

from drivers import timing
from drivers.errors import BusError

ETHERTYPE = 0x88A4
LISTEN = 0.03
ROUNDS = 3
"""Rounds of LISTEN [s] in each of which an active master sends several frames."""

_BROADCAST = b"\xff" * 6
_SENDER = b"\x02SERVO"
"""Locally administered address; slaves change a bit of it in frames that they send back."""
_STRANGE_INDEX = 0xFF
"""Index of datagrams; masters on this library number theirs below 16 and drop answers with any other number."""
_BROADCAST_WRITE = 8
_PROCESS_DATA = frozenset((11, 12))
"""Commands LWR and LRW."""
_WRITING = frozenset((2, 3, 5, 6, 8, 9, 13, 14)) | _PROCESS_DATA
"""Commands that write into slaves."""
_AL_CONTROL = 0x0120
_TO_INIT = 0x0011
"""Request INIT and acknowledge an error, in case the slave has one."""
_SOL_PACKET = 263
_PACKET_IGNORE_OUTGOING = 23
_GET_INTERFACE_FLAGS = 0x8913
_IS_UP = 1
"""From <linux/socket.h>, <linux/if_packet.h>, <linux/sockios.h> and <linux/if.h>; Python has no names for them."""
_ATTEMPTS = 3
_ANSWER = 0.008
"""Wait per attempt [s]."""


class Lock:
    """Ownership of an interface by one master."""

    def __init__(self, interface: str) -> None:
        """Take the ownership.

        Raises:
            BusError: naming the process that has it.
        """
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        name = f"\0servobench-ethercat-{interface}"
        try:
            self._socket.bind(name)
            self._socket.listen(1)
        except OSError as error:
            self._socket.close()
            if error.errno != errno.EADDRINUSE:
                raise BusError(f"locking network interface {interface} failed: {error}") from None
            raise BusError(
                f"network interface {interface} is in use by {_owner(name)}; disconnect the servo there first"
            ) from None

    def release(self) -> None:
        """Give the ownership back. Idempotent."""
        self._socket.close()


def _owner(name: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.settimeout(0.2)
        try:
            other.connect(name)
            pid, _, _ = struct.unpack("3i", other.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:
            return "another program"
    return "this program" if pid == os.getpid() else f"process {pid}"


def interfaces() -> list[str]:
    """Return the names of the network interfaces that can carry EtherCAT."""
    try:
        names = [name for _, name in socket.if_nameindex()]
    except OSError:
        return []
    return [name for name in names if name != "lo" and not os.path.isdir(f"/sys/class/net/{name}/wireless")]


def is_virtual_cable(interface: str) -> bool:
    """Return True for one end of a virtual cable, an emulator's; bridges, VLANs and bonds may lead to real drives."""
    try:
        asked = ["ip", "-details", "-json", "link", "show", "dev", interface]
        return b'"info_kind":"veth"' in subprocess.run(asked, capture_output=True, check=False).stdout
    except OSError:
        return False


def listen(interface: str) -> None:
    """Make sure that there is no other master on the wire.

    Raises:
        BusError: if there is one, or if the interface cannot be used.
    """
    with _open(interface) as raw:
        # Frames of a master that has just ended may still be on their way.
        if all(_hears(raw) for _ in range(ROUNDS)):
            raise BusError(
                f"another master is sending EtherCAT frames on network interface {interface}; "
                "end it first, two masters on one wire reset each other's drives"
            )


def _hears(raw: socket.socket) -> bool:
    deadline = timing.now() + LISTEN
    heard = False
    while (left := deadline - timing.now()) > 0.0:
        if select.select([raw], (), (), left)[0]:
            raw.recv(2048)
            heard = True
    return heard


class Listener:
    """Hears other masters on the wire of the one that is running, by the frames that its slaves send back."""

    def __init__(self, interface: str, slaves: int) -> None:
        """Begin to listen to a wire with a number of slaves.

        Raises:
            BusError: if the interface cannot be used.
        """
        self._raw = _open(interface)
        self._raw.setblocking(False)
        self._most = 3 * slaves
        """Highest working counter of a datagram, since a slave that is read and written counts 3."""

    def hears_another(self, ours: Collection[bytes]) -> bool:
        """Return True if a slave obeyed a frame since the last call that was not ours.

        Args:
            ours: Outputs of the frames that were sent lately; each frame of ours is one exchange of process data.
        """
        heard = False
        while frame := self._next():
            heard = heard or self._is_foreign(frame, ours)
        return heard

    def forget(self) -> None:
        """Ignore the frames since the last call."""
        while self._next():
            pass

    def close(self) -> None:
        """End listening. Idempotent."""
        self._raw.close()

    def _next(self) -> bytes:
        try:
            return self._raw.recv(2048)
        except OSError:
            return b""

    def _is_foreign(self, frame: bytes, ours: Collection[bytes]) -> bool:
        datagrams = list(_datagrams(frame))
        if datagrams and datagrams[0][0] in _PROCESS_DATA and any(outputs in datagrams[0][1] for outputs in ours):
            return False
        # A counter out of range is a damaged frame's.
        return any(command in _WRITING and 0 < counter <= self._most for command, _, counter in datagrams)


def _datagrams(frame: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Yield command, data and working counter of each whole datagram in a frame."""
    offset, more = 16, True
    while more and offset + 12 <= len(frame):
        flags = int.from_bytes(frame[offset + 6 : offset + 8], "little")
        begin, end = offset + 10, offset + 10 + (flags & 0x7FF)
        if end + 2 > len(frame):
            return
        yield frame[offset], frame[begin:end], int.from_bytes(frame[end : end + 2], "little")
        offset, more = end + 2, bool(flags & 0x8000)


def release_blindly(interface: str) -> None:
    """Make every slave on an interface leave OP, whatever its master. Takes less than 50 ms.

    Raises:
        BusError: if the interface cannot be used or no slave confirms it.
    """
    frame = all_to_init()
    with _open(interface) as raw:
        for _ in range(_ATTEMPTS):
            try:
                raw.send(frame)
            except OSError as error:
                raise BusError(f"sending on network interface {interface} failed: {error.strerror}") from None
            deadline = timing.now() + _ANSWER
            while (left := deadline - timing.now()) > 0.0 and select.select([raw], (), (), left)[0]:
                if _heeded(raw.recv(2048)):
                    return
    raise BusError(f"no drive on network interface {interface} confirmed the stop; cut its power supply")


def all_to_init() -> bytes:
    """Return the frame that requests INIT of every slave: one broadcast write to the AL control register."""
    datagram = struct.pack("<BBHHHHHH", _BROADCAST_WRITE, _STRANGE_INDEX, 0, _AL_CONTROL, 2, 0, _TO_INIT, 0)
    frame = _BROADCAST + _SENDER + struct.pack(">H", ETHERTYPE) + struct.pack("<H", len(datagram) | 0x1000) + datagram
    return frame.ljust(60, b"\0")


def _heeded(frame: bytes) -> bool:
    """Return True if a frame is ours and came back with a slave's working counter in it."""
    return (
        len(frame) >= 30
        and frame[16:18] == bytes((_BROADCAST_WRITE, _STRANGE_INDEX))
        and int.from_bytes(frame[28:30], "little") > 0
    )


def _open(interface: str) -> socket.socket:
    """Return a raw socket that receives the frames on an interface."""
    require(interface)
    try:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise BusError(refused(interface)) from None
    try:
        # Frames sent by this machine must not be received; nothing is received before `bind` names the protocol.
        raw.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        raw.bind((interface, ETHERTYPE))
    except OSError as error:
        raw.close()
        raise BusError(f"opening network interface {interface} failed: {error.strerror}; set it up first") from None
    return raw


def require(interface: str) -> None:
    """Raise BusError for an interface that does not exist or is down."""
    if not sys.platform.startswith("linux"):
        raise BusError("EtherCAT drives can be used on Linux only; this system has no raw network sockets for it")
    try:
        socket.if_nametoindex(interface)
    except OSError:
        known = ", ".join(interfaces()) or "none"
        raise BusError(f"no network interface {interface!r}; there are {known}; correct the address") from None
    if not _is_up(interface):
        raise BusError(f"network interface {interface} is switched off; run: ip link set {interface} up")


def _is_up(interface: str) -> bool:
    import fcntl  # not on every system

    request = struct.pack("16sH14x", interface.encode(), 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = fcntl.ioctl(any_socket, _GET_INTERFACE_FLAGS, request)
    return bool(struct.unpack("16xH14x", flags)[0] & _IS_UP)


def refused(interface: str) -> str:
    """Return the message for a missing permission to use an interface."""
    return (
        f"no right to send raw frames on network interface {interface}; run as root or give the program's Python "
        "the capability cap_net_raw"
    )
