"""Faults of packets between servo and client, by name; set through the console."""

from __future__ import annotations

import random
from dataclasses import dataclass

from drivers.emulators.console import Console, number, switch, whole
from drivers.emulators.serial_bus.packet import BROADCAST

SPLIT_GAP = 0.01
"""Pause in the middle of a split packet [s]."""
LONGEST_GARBAGE = 8
FALSE_LENGTH = 200
"""Length claimed by a false header [bytes]."""


def options(words: list[str]) -> tuple[list[str], int | None]:
    """Split words into those without "id=" and the ID; raises ValueError."""
    plain = [word for word in words if not word.startswith("id=")]
    ids = [whole(word[3:], 0, BROADCAST) for word in words if word.startswith("id=")]
    if len(ids) > 1:
        raise ValueError("more than one id=")
    return plain, ids[0] if ids else None


def count(words: list[str]) -> int:
    """Return the optional last word COUNT; raises ValueError."""
    if len(words) > 1:
        raise ValueError(f"{' '.join(words[1:])!r} is too much")
    return whole(words[0], 0, 1_000_000_000) if words else 1


@dataclass
class _Pending:
    """A fault that affects the next packets."""

    left: int
    id: int | None
    """Affects only packets of this servo; None for any."""
    value: float = 0.0


class Faults:
    """Faults that wait for packets, and the console commands that set them."""

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}
        self._answered: dict[tuple[int, int], bytes] = {}
        """ID and length of status packets to the last one."""
        self._random = random.Random(0)
        self.echo = False
        """True if the adapter receives what it sends, as a half duplex line without an echo filter does."""
        self.muted: set[int] = set()
        """IDs of servos that do not answer."""

    def add_commands(self, console: Console) -> None:
        """Add the commands for faults of packets."""
        for name, help in (
            ("drop", "lose the next status packets"),
            ("corrupt", "flip a bit in the next status packets' check sums"),
            ("truncate", "send half of the next status packets"),
            ("split", f"pause for {SPLIT_GAP * 1e3:g} ms in the middle of the next status packets"),
            ("duplicate", "send the next status packets twice"),
            ("stale", "send the last status packet of the same length instead of the next ones"),
            ("deaf", "lose the next instruction packets that write"),
            ("garbage", "send noise in front of the next status packets"),
            ("fake-header", "send a header that claims too much in front of the next status packets"),
        ):
            console.add(name, f"{name} [COUNT] [id=ID]", help, lambda words, name=name: self._order(name, words))
        console.add("delay", "delay MS [COUNT] [id=ID]", "delay the next status packets", self._order_delay)
        console.add("echo", "echo on | off", "let the client hear what it sends", self._set_echo)
        console.add("mute", "mute on | off [id=ID]", "let servos obey without answering (default: all)", self._mute)

    def _order(self, name: str, words: list[str]) -> None:
        plain, id = options(words)
        self._pending[name] = _Pending(count(plain), id)

    def _order_delay(self, words: list[str]) -> None:
        plain, id = options(words)
        self._pending["delay"] = _Pending(count(plain[1:]), id, number(plain[0], 0.0, 60e3) * 1e-3)

    def _set_echo(self, words: list[str]) -> None:
        self.echo = switch(words[0])

    def _mute(self, words: list[str]) -> None:
        plain, id = options(words)
        ids = set(range(254)) if id is None else {id}
        self.muted = self.muted | ids if switch(plain[0]) else self.muted - ids

    def is_lost(self) -> bool:
        """Return True if an instruction packet that writes is lost."""
        return self._due("deaf", BROADCAST) is not None

    def befall(self, id: int, packet: bytes) -> list[tuple[float, bytes]]:
        """Return what arrives of a servo's status packet: delays [s] and bytes."""
        before = self._answered.get((id, len(packet)), packet)
        if self._due("stale", id):
            packet = before
        self._answered[id, len(packet)] = packet
        if not self._pending:
            return [(0.0, packet)]
        delay = pending.value if (pending := self._due("delay", id)) else 0.0
        if self._due("drop", id):
            return []
        if self._due("corrupt", id):
            packet = packet[:-1] + bytes((packet[-1] ^ 0x10,))
        if self._due("truncate", id):
            packet = packet[: len(packet) // 2]
        if self._due("duplicate", id):
            packet += packet
        if self._due("garbage", id):
            packet = self._noise() + packet
        if self._due("fake-header", id):
            packet = _false_header(packet) + packet
        if self._due("split", id):
            half = len(packet) // 2
            return [(delay, packet[:half]), (delay + SPLIT_GAP, packet[half:])]
        return [(delay, packet)]

    def _due(self, name: str, id: int) -> _Pending | None:
        pending = self._pending.get(name)
        if pending is None or (pending.id is not None and pending.id != id):
            return None
        pending.left -= 1
        if pending.left <= 0:
            del self._pending[name]
        return pending if pending.left >= 0 else None

    def _noise(self) -> bytes:
        # Without FF: noise that ends in FF would change the packet's header.
        return bytes(self._random.randrange(0xFF) for _ in range(self._random.randint(1, LONGEST_GARBAGE)))


def _false_header(packet: bytes) -> bytes:
    """Return the header of this packet with another length."""
    if packet.startswith(b"\xff\xff\xfd\x00"):
        return packet[:5] + FALSE_LENGTH.to_bytes(2, "little") + packet[7:9]
    return packet[:3] + bytes((FALSE_LENGTH,)) + packet[4:5]
