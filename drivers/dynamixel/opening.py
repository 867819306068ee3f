"""Why a serial port could not be opened, each reason with its remedy."""

from __future__ import annotations

import errno
import os

from serial import SerialException

from drivers.dynamixel.adapter import serial_ports
from drivers.errors import BusError

try:
    from termios import error as TermiosError
except ImportError:  # no termios on this system; pyserial raises its own
    TermiosError = SerialException

GONE = (OSError, TermiosError)
"""What pyserial raises when the port is gone; the SDK lets it through and then believes itself busy for ever."""


class BaudRateRefused(BusError):
    """The adapter does not offer this baud rate."""


def not_open(path: str, baud: int, error: Exception) -> BusError:
    """Return the error to raise for what pyserial raised."""
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
            f"{path}: there is no such port; plug the adapter in, or choose one of those there are: {there}"
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
