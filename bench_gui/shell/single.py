"""One window per home folder: a second start hands its session over to the window that is open."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from bench_gui.places import home

PATIENCE = 500
"""The open window gets this long to answer [ms]."""
LARGEST_MESSAGE = 10_000
"""[bytes]"""


def _name() -> str:
    who = f"{os.getuid() if hasattr(os, 'getuid') else ''}:{home().absolute()}"
    return f"servobench-{hashlib.sha256(who.encode()).hexdigest()[:16]}"


def hand_over(session: Path | None) -> bool:
    """Ask the window that is open to come forward, and to open a session; whether there was one."""
    socket = QLocalSocket()
    socket.connectToServer(_name())
    if not socket.waitForConnected(PATIENCE):
        return False
    wanted = str(session.absolute()) if session is not None else ""
    socket.write(json.dumps({"open": wanted}).encode() + b"\n")
    answered = socket.waitForBytesWritten(PATIENCE) and socket.waitForReadyRead(PATIENCE)
    socket.disconnectFromServer()
    return bool(answered)


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
        """Listen no more."""
        self._server.close()
        self._part(self._callers)

    def _greet(self) -> None:
        # No slot holds its own socket: the last of it would then be let go of while Qt is deleting it.
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
