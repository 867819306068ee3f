"""Entry point of the window, run by `bench` without a command."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication

from bench_gui import theme
from bench_gui.controller import Controller
from bench_gui.icons import window_icon
from bench_gui.main_window import MainWindow
from bench_gui.settings import NAME, TEXT_SIZE, load
from bench_gui.shell.single import take_bell
from bench_gui.shell.tasks import RECORD, task_number
from bench_gui.tour.tour import Tour
from bench_gui.work.memory import return_memory_early
from sessions.folders import home

DRAWN = 12
"""Size of Qt's pixmap cache [B per pixel of the screen]: the two axes of each plot, whose grids cover it, and a third.

An axis that does not find its room there is drawn again for every frame.
"""
SMALLEST_SCREEN = QSize(1920, 1080)
PREPARE_AFTER = 300
"""Delay between the complete window and further work [ms]."""


def run_window(session: Path | None, servo: str | None = None) -> int:
    """Show the window until it is closed and return the exit code.

    Args:
        session: Session to open; None: the last one, behind the start page.
        servo: Address of the servo to select; None: the last one.

    Raises:
        ServoBenchError: The address is not that of a servo.
    """
    _scale_with_text()
    app = make_application()
    doorbell = take_bell(session)
    if doorbell is None:
        print("ServoBench is open already; its window was brought to the front.")
        return 0
    # Nearly all that is made at the start is kept: a collection would stop the window for 100 ms and free nothing.
    gc.disable()
    controller: Controller | None = None
    try:
        controller = Controller(servo)
        settings = controller.settings
        window = make_window(controller, task=task_number(settings.task) if session else None)
        doorbell.rang.connect(window.come_forward)
        window.completed.connect(partial(_begin, controller, session), Qt.ConnectionType.SingleShotConnection)
        window.show()
        _leave_on_signals(window)
        _show_unexpected(controller)
        status = app.exec()
    finally:
        gc.enable()
        doorbell.close()
        if controller is not None:
            controller.close()
    if window.alarm:
        print(window.alarm, file=sys.stderr)
    return status or bool(window.alarm)


def _begin(controller: Controller, session: Path | None) -> None:
    """Open the session once the window is complete, and prepare what the first comparison needs."""
    gc.freeze()
    gc.enable()
    if session or controller.settings.open_session:
        controller.library.open(session or Path(controller.settings.open_session))
    QTimer.singleShot(PREPARE_AFTER, controller.prepare)


def make_window(controller: Controller, theme: str | None = None, task: int | None = RECORD) -> MainWindow:
    """Return the window with its tour; arguments as for `MainWindow`."""
    return MainWindow(controller, Tour, theme, task)


def make_application() -> QApplication:
    """Return the application, created if needed, with the settings shared by both themes."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        if all(name in os.environ for name in ("XDG_CURRENT_DESKTOP", "DBUS_SESSION_BUS_ADDRESS")):
            # Use the desktop's own file dialogs; without a desktop Qt would print warnings.
            os.environ.setdefault("QT_QPA_PLATFORMTHEME", "xdgdesktopportal")
        return_memory_early()
        app = QApplication(["servobench"])
        screen = app.primaryScreen()
        size = (screen.size() * screen.devicePixelRatio()).expandedTo(SMALLEST_SCREEN)
        QPixmapCache.setCacheLimit(DRAWN * size.width() * size.height() // 1024)
    app.setApplicationName("ServoBench")
    app.setOrganizationName("ServoBench")
    app.setDesktopFileName("servobench")
    app.setWindowIcon(window_icon())
    theme.prepare(app)
    return app


def _scale_with_text() -> None:
    """Scale the whole window to the chosen text size: text alone would not fit into its fields. Qt reads it once."""
    size = load(home() / NAME)[0].text_size
    if size != TEXT_SIZE:
        with suppress(ValueError):
            scale = float(os.environ.get("QT_SCALE_FACTOR") or 1.0)
            os.environ["QT_SCALE_FACTOR"] = f"{scale * size / TEXT_SIZE:.4f}"


def _leave_on_signals(window: MainWindow) -> None:
    """Close the window properly on Ctrl+C and on termination; the heartbeat's timer lets Python run the handler.

    The handler may interrupt any code, and a window that closes while one of its pages is being made never quits.
    Therefore the handler only schedules the closing.
    """
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), lambda *_: QTimer.singleShot(0, window, window.leave))


def _show_unexpected(controller: Controller) -> None:
    """Report unexpected errors in the window and on the terminal; the window continues and the servo stays safe."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        traceback.print_exception(kind, error, trace, file=sys.stderr)
        if isinstance(error, Exception):
            controller.message.emit("error", f"internal error: {kind.__name__}: {error}")

    sys.excepthook = hook
