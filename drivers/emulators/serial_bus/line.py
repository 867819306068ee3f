"""The port of an emulator: a pseudo terminal that knows its client's baud rate and can be unplugged."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import sys
import termios
import tty
from pathlib import Path

from drivers.errors import BusError

LONGEST_READ = 4096
_SPEEDS = {getattr(termios, name): int(name[1:]) for name in dir(termios) if re.fullmatch(r"B\d+", name)}
_TCGETS2 = 0x802C542A
"""Linux: terminal settings with numeric rates, for rates that have no constant."""


class Line:
    """A pseudo terminal in raw mode. The path is that of the client's end, or of a symbolic link to it."""

    def __init__(self, link: str | None = None) -> None:
        """Create the pseudo terminal.

        Args:
            link: Path of a symbolic link to keep at the client's end; None for none.

        Raises:
            BusError: if it cannot be created.
        """
        self._link = None if link is None else Path(link)
        self._master = self._slave = -1
        self._path = ""
        self.plug()

    @property
    def path(self) -> str:
        """Path that a client opens."""
        return self._path if self._link is None else str(self._link)

    @property
    def plugged(self) -> bool:
        """True while the adapter is plugged in."""
        return self._master >= 0

    @property
    def file(self) -> int:
        """Descriptor of this end; −1 while it is unplugged."""
        return self._master

    @property
    def rate(self) -> float:
        """Baud rate set by the client [bit/s]; 0 if unknown."""
        try:
            speed = termios.tcgetattr(self._master)[5]
            if speed in _SPEEDS:
                return _SPEEDS[speed]
            if not sys.platform.startswith("linux"):
                return speed
            settings = fcntl.ioctl(self._master, _TCGETS2, bytes(44))
        except (OSError, termios.error):
            return 0
        return struct.unpack_from("I", settings, 40)[0]

    def plug(self) -> None:
        """Appear, at a new path unless there is a link; do nothing if plugged in already. Raises BusError."""
        if self.plugged:
            return
        try:
            # This process keeps the client's end open too, so that a client may come and go without ending the line.
            self._master, self._slave = os.openpty()
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            self._path = os.ttyname(self._slave)
            if self._link is not None:
                if self._link.is_symlink():
                    self._link.unlink()
                self._link.symlink_to(self._path)
        except OSError as error:
            self.unplug()
            raise BusError(f"the emulated port could not be made: {error}; choose another path for its link") from None

    def unplug(self) -> None:
        """Disappear like an adapter that is unplugged. Idempotent."""
        if not self.plugged:
            return
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1
        if self._link is not None and self._link.is_symlink() and os.readlink(self._link) == self._path:
            self._link.unlink()

    def receive(self) -> bytes:
        """Return the received bytes."""
        try:
            return os.read(self._master, LONGEST_READ)
        except OSError:
            return b""

    def send(self, data: bytes) -> None:
        """Send data; once the line is full, data that the client does not read are lost."""
        try:
            os.write(self._master, data)
        except OSError:
            return
