"""One window per home folder: a second start hands its session over to the open window."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path

from PySide6.QtCore import QDir, QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from drivers import timing
from sessions.folders import home

LARGEST_MESSAGE = 10_000
"""[bytes]"""


def _name() -> str:
    """Return the socket's path, in a folder that only this user can write to."""
    name = f"servobench-{hashlib.sha256(str(home().absolute()).encode()).hexdigest()[:16]}"
    return str(_own_folder() / name) if hasattr(os, "getuid") else name


def _own_folder() -> Path:
    """Return the user's runtime folder, or the first other one that belongs to this user alone."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    for place in filter(None, (runtime, f"{tempfile.gettempdir()}/servobench-{os.getuid()}")):
        with contextlib.suppress(OSError):
            os.makedirs(place, 0o700, exist_ok=True)
            found = os.lstat(place)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
                return Path(place)
    return home().absolute()


def hand_over(session: Path | None) -> bool:
    """Ask the open window to come to the front and open a session; return True if there was one."""
    socket = QLocalSocket()
    socket.connectToServer(_name())
    reached, answer = round(1e3 * timing.limits.window_reached), round(1e3 * timing.limits.window_answer)
    if not socket.waitForConnected(reached):
        return False
    wanted = str(session.absolute()) if session is not None else ""
    socket.write(json.dumps({"open": wanted}).encode() + b"\n")
    answered = socket.waitForBytesWritten(reached) and socket.waitForReadyRead(answer)
    socket.disconnectFromServer()
    return bool(answered)


def take_bell(session: Path | None) -> Doorbell | None:
    """Return the doorbell for this start's window; None if a window is open, which then gets the session.

    Of several starts at the same moment, one gets it.
    """
    turn = QLockFile(f"{Path(QDir.tempPath()) / _name()}.lock")
    turn.tryLock(round(1e3 * timing.limits.window_answer))
    try:
        return None if hand_over(session) else Doorbell()
    finally:
        turn.unlock()


class Doorbell(QObject):
    """Listens for later starts. Only programs of the same user can reach it."""

    rang = Signal(str)
    """Session to open; empty for none."""

    def __init__(self) -> None:
        super().__init__()
        self._server = QLocalServer(self)
        self._callers: list[QLocalSocket] = []
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)
        if not self._server.listen(_name()):
            # Left behind by a window that was killed.
            QLocalServer.removeServer(_name())
            self._server.listen(_name())

    def close(self) -> None:
        """Stop listening."""
        self._server.close()
        self._part(self._callers)

    def _greet(self) -> None:
        # No slot holds its own socket: its last reference would then be dropped while Qt is deleting it.
        while (socket := self._server.nextPendingConnection()) is not None:
            self._callers.append(socket)
            socket.readyRead.connect(self._hear)
            socket.disconnected.connect(self._tidy)
        self._hear()
        self._tidy()

    def _hear(self) -> None:
        for socket in [caller for caller in self._callers if caller.canReadLine()]:
            line = bytes(socket.readLine(LARGEST_MESSAGE).data())
            try:
                wanted = json.loads(line)["open"]
            except (ValueError, KeyError, TypeError):
                continue
            if isinstance(wanted, str):
                socket.write(b"ok\n")
                socket.flush()
                self.rang.emit(wanted)

    def _tidy(self) -> None:
        gone = QLocalSocket.LocalSocketState.UnconnectedState
        self._part([caller for caller in self._callers if caller.state() is gone])

    def _part(self, sockets: list[QLocalSocket]) -> None:
        self._callers = [caller for caller in self._callers if caller not in sockets]
        for socket in sockets:
            socket.deleteLater()
