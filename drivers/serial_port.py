"""Serial ports: the list of them, errors on opening one, other programs that use it, and its adapter's latency.

By default an FTDI adapter holds bytes back for 16 ms, which allows 25 cycles a second instead of 200.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from drivers.errors import BusError

if TYPE_CHECKING:
    import serial

try:
    from termios import error as TermiosError
except ImportError:  # no termios on this system; pyserial raises its own kind of OSError
    TermiosError = OSError

GONE = (OSError, TermiosError)
"""Exceptions of pyserial when the port is gone; the SDK lets them through and then considers itself busy for ever."""
LATENCY_FILES = Path("/sys/bus/usb-serial/devices")
BEST_LATENCY = 1
"""[ms]"""
_IN_MODIFY = 2
"""From <sys/inotify.h>; Python has no name for it."""
_EVENTS = 4096
"""Size of more events than can be waiting [bytes]: the system joins equal ones."""


def serial_ports() -> list[tuple[str, str]]:
    """Return path and description of each serial port of the machine, without pseudo terminals and links.

    The list is empty where pyserial is not installed.
    """
    try:
        from serial.tools.list_ports import comports
    except ModuleNotFoundError:
        return []
    found = sorted(comports(), key=lambda port: (port.vid is None, port.device))
    return [(port.device, port.description) for port in found if port.vid is not None or port.hwid != "n/a"]


class BaudRateRefused(BusError):
    """The adapter does not offer this baud rate."""


def not_open(path: str, baud: int, error: Exception) -> BusError:
    """Return the error to raise in place of an exception of pyserial."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error, TermiosError) and error.args:
        number = error.args[0]
    if number in (errno.EAGAIN, errno.EBUSY):
        return BusError(
            f"{path}: another program uses the port; close it (a terminal, a wizard, a second window) and try again"
        )
    if number in (errno.ENOENT, errno.ENXIO, errno.ENODEV) or not os.path.exists(path):
        there = ", ".join(name for name, _ in serial_ports()) or "none"
        return BusError(
            f"{path}: there is no such port; plug the adapter in, or choose one of the available ports: {there}"
        )
    if number in (errno.EACCES, errno.EPERM):
        return BusError(
            f"{path}: no permission to open the port; add yourself to its group, e.g. "
            "sudo usermod -aG dialout $USER, and log in again"
        )
    if number in (errno.ENOTTY, errno.EISDIR):
        return BusError(f"{path} is not a serial port; choose another one")
    if isinstance(error, ValueError) or number == errno.EINVAL:
        return BaudRateRefused(f"{path}: the adapter does not offer {baud} baud ({error}); choose another baud rate")
    return BusError(
        f"{path}: the port cannot be opened at {baud} baud ({error}); unplug the adapter and plug it in again"
    )


class PortWatch:
    """Notices that a program writes to a port.

    It notices nothing on other systems than Linux, nor if this user has no inotify instance left.
    """

    def __init__(self, path: str) -> None:
        self._file = -1
        if sys.platform.startswith("linux"):
            system = ctypes.CDLL(None)
            self._file = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
            system.inotify_add_watch(self._file, os.fsencode(path), _IN_MODIFY)

    @property
    def works(self) -> bool:
        """True if it can notice anything."""
        return self._file >= 0

    def written(self) -> bool:
        """Return True if any program, this one too, has written to it since the last call."""
        try:
            return bool(os.read(self._file, _EVENTS))
        except OSError:
            return False

    def close(self) -> None:
        """End the watch. Idempotent."""
        if self.works:
            os.close(self._file)
            self._file = -1


def latency_file(path: str, folder: Path = LATENCY_FILES) -> Path | None:
    """Return the file that holds the adapter's latency timer [ms], or None if the port has none."""
    file = folder / os.path.basename(os.path.realpath(path)) / "latency_timer"
    return file if file.is_file() else None


def shorten_latency(path: str, device: serial.Serial, folder: Path = LATENCY_FILES) -> str:
    """Set the adapter to its lowest latency; return a warning with its remedy if that fails, else ""."""
    file = latency_file(path, folder)
    if file is None:
        return ""
    if _latency(file) != BEST_LATENCY:
        with suppress(OSError, ValueError, AttributeError, NotImplementedError):
            device.set_low_latency_mode(True)
    latency = _latency(file)
    if latency == BEST_LATENCY:
        return ""
    return (
        f"the adapter delays answers by {latency} ms, so that few cycles fit into a second; "
        f"set it to 1 ms: echo 1 | sudo tee {file}"
    )


def _latency(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
