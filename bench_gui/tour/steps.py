"""What the tour shows: one step a task, in the order of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from bench_gui.shell.tasks import BENCH, COMPARE, EXPORT, IDENTIFY, PLACE, RECORD

if TYPE_CHECKING:
    from PySide6.QtCore import SignalInstance

    from bench_gui.main_window import MainWindow


def _always(window: MainWindow, what: Any) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """One card of the tour."""

    title: str
    text: str
    """At most two sentences: what it is for, and what to do."""
    targets: Callable[[MainWindow], Sequence[QWidget]]
    """What to look at; the first of them that is in sight is outlined."""
    happened: Callable[[MainWindow], Sequence[SignalInstance]]
    """Any of these is emitted when a person has done it."""
    task: int | None = None
    """Where it is done; until that task is in sight its button in the rail is outlined. None: everywhere."""
    counts: Callable[[MainWindow, Any], bool] = _always
    """Whether what the signal tells is what the step asks for."""


def _recorded(window: MainWindow, result: Any) -> bool:
    return result.exit_status == "success"


def _next_of(last: QWidget, before: QWidget) -> QWidget:
    """The button that ends a task, or while it is not possible the one that makes it so."""
    return last if last.isEnabled() else before


def _holding(window: MainWindow, what: Any) -> bool:
    return window.controller.placing.active


STEPS = (
    Step(
        "Connect the servo",
        "This one is simulated: nothing here can break, and it behaves like the real one. Click Connect; the arrow "
        "beside it offers other servos.",
        lambda window: [window.status_bar.connect_button],
        lambda window: [window.controller.servo.connected],
    ),
    Step(
        "Describe the pendulum",
        "Mass and length enter the simulation as they are, so weigh and measure a real one with care. Change a value "
        "and watch the drawing, or go on with these.",
        lambda window: [window.bench.form],
        lambda window: [window.controller.setup.changed],
        BENCH,
    ),
    Step(
        "Record a motion",
        "Click Record to record the trajectory that is drawn. Esc stops the servo at any time, wherever you are.",
        lambda window: [window.record.run_button],
        lambda window: [window.controller.queue.ended],
        RECORD,
        _recorded,
    ),
    Step(
        "Look at the session",
        "Every run is kept in a session, a folder you can zip and send. Eight recordings of a real XL330 come along: "
        "the arrow beside Open… has the example.",
        lambda window: [window.session.head.open_button],
        lambda window: [window.controller.library.opened],
    ),
    Step(
        "Place by hand",
        "The servo holds a torque, and you find with the mouse between which two angles the pendulum rests: friction "
        "without any fit. Click Hold and drag the mass, or leave it for later.",
        lambda window: [window.place.go_button, window.place.connect_button],
        lambda window: [window.controller.placing.changed],
        PLACE,
        _holding,
    ),
    Step(
        "Identify",
        "One click fits friction models M1 to M6 to the session's runs and judges them on runs they have not seen. It "
        "takes seconds, and the window stays free meanwhile.",
        lambda window: [window.identify.start_button],
        lambda window: [window.controller.fitting.finished],
        IDENTIFY,
    ),
    Step(
        "Compare",
        "Simulated motion lies over measured motion, in mrad of difference below it. Choose models at the right, then "
        "look at the errors or the diagram.",
        lambda window: [window.compare.tabs, window.compare.arm_button],
        lambda window: [each.clicked for each in window.compare.tabs.buttons],
        COMPARE,
    ),
    Step(
        "Export",
        "Choose your simulator and read what would be written, with what it cannot hold. Choose a folder, then Export.",
        lambda window: [_next_of(window.export.export_button, window.export.folder_button)],
        lambda window: [window.controller.exporting.exported],
        EXPORT,
    ),
)
