"""The port an emulator hangs on: a pseudo terminal that tells its client's baud rate and can be pulled out."""

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
"""Linux: terminal settings with rates as numbers, for rates that have no constant."""


class Line:
    """A pseudo terminal in raw mode. The path is that of the client's end, or of a symbolic link to it."""

    def __init__(self, link: str | None = None) -> None:
        """link: path of a symbolic link to keep at the client's end. Raises BusError when it cannot be made."""
        self._link = None if link is None else Path(link)
        self._master = self._slave = -1
        self._path = ""
        self.plug()

    @property
    def path(self) -> str:
        """What a client opens."""
        return self._path if self._link is None else str(self._link)

    @property
    def plugged(self) -> bool:
        """Whether the adapter is in the computer."""
        return self._master >= 0

    @property
    def file(self) -> int:
        """Descriptor of this end; −1 while it is unplugged."""
        return self._master

    @property
    def rate(self) -> float:
        """What the client has set its end to [bit/s]; 0 when that cannot be told."""
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
        """Appear, at a new path unless there is a link. Does nothing when it is plugged. Raises BusError."""
        if self.plugged:
            return
        try:
            # This process keeps the client's end open too: a client may come and go without ending the line.
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
        """Vanish as an adapter does that is pulled out. Idempotent."""
        if not self.plugged:
            return
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1
        if self._link is not None and self._link.is_symlink() and os.readlink(self._link) == self._path:
            self._link.unlink()

    def receive(self) -> bytes:
        """What has come in."""
        try:
            return os.read(self._master, LONGEST_READ)
        except OSError:
            return b""

    def send(self, data: bytes) -> None:
        """Send; what a client does not fetch is lost once the line is full."""
        try:
            os.write(self._master, data)
        except OSError:
            return
