"""The way into the window: what `bench` without a command runs."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication

from bench_gui import theme
from bench_gui.controller import Controller
from bench_gui.icons import window_icon
from bench_gui.main_window import MainWindow
from bench_gui.shell.single import take_bell
from bench_gui.shell.tasks import RECORD, task_number
from bench_gui.tour.tour import Tour
from bench_gui.work.memory import return_memory_early

DRAWN = 4096
"""Memory for parts of widgets once drawn [KiB]; Qt would take hours to fill its 10 MiB."""
PREPARE_AFTER = 300
"""Time after the window is whole before anything else starts [ms]."""


def run_window(session: Path | None, servo: str | None = None) -> int:
    """Show the window until it is closed and return the exit code.

    session: session to open; servo: address of the servo to connect to. None: those of last time, behind the start page
    for a session. Raises ServoBenchError for an address that names no servo.
    """
    app = make_application()
    doorbell = take_bell(session)
    if doorbell is None:
        print("ServoBench is open already; its window was brought to the front.")
        return 0
    controller = Controller(servo)
    settings = controller.settings
    window = make_window(controller, task=task_number(settings.task) if session else None)
    doorbell.rang.connect(window.come_forward)

    def begin() -> None:
        if session or settings.open_session:
            controller.library.open(session or Path(settings.open_session))
        QTimer.singleShot(PREPARE_AFTER, controller.prepare)

    window.completed.connect(begin, Qt.ConnectionType.SingleShotConnection)
    window.show()
    _leave_on_signals(window)
    _show_unexpected(controller)
    try:
        status = app.exec()
    finally:
        doorbell.close()
        controller.close()
    if window.alarm:
        print(window.alarm, file=sys.stderr)
    return status or bool(window.alarm)


def make_window(controller: Controller, theme: str | None = None, task: int | None = RECORD) -> MainWindow:
    """Return the window with its tour, as `MainWindow` takes the rest."""
    return MainWindow(controller, Tour, theme, task)


def make_application() -> QApplication:
    """The application with what both themes share; the one that is there already if there is one."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        if all(name in os.environ for name in ("XDG_CURRENT_DESKTOP", "DBUS_SESSION_BUS_ADDRESS")):
            # The desktop's own file dialogs; without a desktop Qt would complain.
            os.environ.setdefault("QT_QPA_PLATFORMTHEME", "xdgdesktopportal")
        return_memory_early()
        app = QApplication(["servobench"])
        QPixmapCache.setCacheLimit(DRAWN)
    app.setApplicationName("ServoBench")
    app.setOrganizationName("ServoBench")
    app.setDesktopFileName("servobench")
    app.setWindowIcon(window_icon())
    theme.prepare(app)
    return app


def _leave_on_signals(window: MainWindow) -> None:
    """Close the window properly on Ctrl+C and on termination; the heartbeat's timer lets the handler run.

    The handler runs amid whatever Python is doing; a window that closes while a page of it is being made never quits.
    """
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), lambda *_: QTimer.singleShot(0, window, window.leave))


def _show_unexpected(controller: Controller) -> None:
    """Errors nobody foresaw are told to the person and to the terminal; the window goes on, the servo stays safe."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace, file=sys.stderr)
        if isinstance(error, Exception):
            controller.message.emit("error", f"internal error: {kind.__name__}: {error}")

    sys.excepthook = hook
