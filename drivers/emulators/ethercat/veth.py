"""The virtual cable: a pair of Ethernet interfaces, each of which receives what the other sends."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from pathlib import Path

from drivers.errors import BusError

LONGEST_NAME = 15
"""Longest name of an interface."""
PERMISSION_REMEDY = (
    "creating network interfaces and opening them raw needs root or CAP_NET_ADMIN and CAP_NET_RAW; "
    "start everything, the program and its emulators, in a network of its own: unshare -Urn COMMAND"
)

_NET_ADMIN, _NET_RAW = 12, 13
_TIMEOUT = 10.0


def exists(interface: str) -> bool:
    """Return True if this network interface exists here."""
    # Not /sys/class/net: after `unshare -n` that still shows the interfaces of the previous network.
    return interface in (name for _, name in socket.if_nameindex())


def may_administer() -> bool:
    """Return True if this process may create interfaces and open them raw."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            rights = int(value, 16)
            return bool(rights >> _NET_ADMIN & 1 and rights >> _NET_RAW & 1)
    return False


def make(interface: str, peer: str) -> bool:
    """Create both ends unless the first exists, and switch them on; return True if created. Raises BusError."""
    made = not exists(interface)
    if made:
        _check_names(interface, peer)
        if not may_administer():
            raise BusError(f"there is no network interface {interface!r} and creating it failed: {PERMISSION_REMEDY}")
        _ip("link", "add", peer, "type", "veth", "peer", "name", interface)
    try:
        for name in (interface, peer):
            if may_administer() and exists(name):
                _quieten(name)
                _ip("link", "set", name, "up")
    except (BusError, KeyboardInterrupt):
        if made:
            remove(interface)
        raise
    return made


def _check_names(interface: str, peer: str) -> None:
    for name in (interface, peer):
        if not 0 < len(name) <= LONGEST_NAME or "/" in name or any(c.isspace() for c in name):
            raise BusError(f"{name!r} is not a valid name of a network interface; give up to {LONGEST_NAME} letters")
    if exists(peer):
        raise BusError(f"there is an interface {peer!r} but no {interface!r}; remove it, or name another pair")


def remove(interface: str) -> None:
    """Remove an interface and with it the other end. Never raises."""
    with contextlib.suppress(BusError):
        _ip("link", "delete", interface)


def _quieten(interface: str) -> None:
    """Keep the kernel's own IPv6 messages off the cable."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/net/ipv6/conf", interface, "disable_ipv6").write_text("1", "ascii")


def _ip(*words: str) -> None:
    program = shutil.which("ip") or shutil.which("ip", path="/usr/sbin:/sbin")
    if program is None:
        raise BusError("virtual interfaces need the program `ip`; install iproute2")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    if done.returncode:
        text = done.stderr.strip() or f"exit status {done.returncode}"
        raise BusError(f"`ip {' '.join(words)}` failed: {text}; {PERMISSION_REMEDY}")
