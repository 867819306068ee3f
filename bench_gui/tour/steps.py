"""Steps of the tour: one per task, in the order of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QWidget

from bench_gui.shell.tasks import BENCH, COMPARE, EXPORT, IDENTIFY, PLACE, RECORD

if TYPE_CHECKING:
    from bench_gui.main_window import MainWindow


def _always(window: MainWindow, what: Any) -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """One card of the tour."""

    title: str
    text: str
    """At most two sentences: the purpose, and what to do."""
    targets: Callable[[MainWindow], Sequence[QWidget]]
    """Widgets to look at; the first visible one is outlined."""
    happened: Callable[[MainWindow], Sequence[SignalInstance]]
    """Signals emitted when the user has done the step."""
    task: int | None = None
    """Task of the step; until it is shown, its button in the rail is outlined. None: any task."""
    counts: Callable[[MainWindow, Any], bool] = _always
    """Return whether the signal's argument shows that the step is done."""


def _recorded(window: MainWindow, result: Any) -> bool:
    return result.exit_status == "success"


def _holding(window: MainWindow, what: Any) -> bool:
    return window.controller.placing.active


STEPS = (
    Step(
        "Connect the servo",
        "This servo is simulated: nothing can break, and it behaves like the real one. Click Connect; the arrow "
        "beside it offers other servos.",
        lambda window: [window.status_bar.connect_button],
        lambda window: [window.controller.servo.connected],
    ),
    Step(
        "Describe the pendulum",
        "The simulation uses mass and length as entered, so weigh and measure a real pendulum carefully. Change a "
        "value and watch the drawing, or keep these.",
        lambda window: [window.bench.form],
        lambda window: [window.controller.setup.changed],
        BENCH,
    ),
    Step(
        "Record a motion",
        "Click Record to record the trajectory that is shown. Esc stops the servo at any time, on every page.",
        lambda window: [window.record.run_button],
        lambda window: [window.controller.queue.ended],
        RECORD,
        _recorded,
    ),
    Step(
        "Look at the session",
        "Every run is stored in a session, a folder you can zip and send. Eight recordings of a real XL330 are "
        "included: the arrow beside Open… lists the example.",
        lambda window: [window.session.head.open_button],
        lambda window: [window.controller.library.opened],
    ),
    Step(
        "Place by hand",
        "The servo holds a torque, and you find the two angles between which the pendulum rests: this measures "
        "friction without a fit. Click Hold and drag the mass with the mouse, or skip this step.",
        lambda window: [window.place.go_button, window.place.connect_button],
        lambda window: [window.controller.placing.changed],
        PLACE,
        _holding,
    ),
    Step(
        "Identify",
        "One click fits friction models M1 to M6 to the session's runs and judges them on held-out runs. It "
        "takes seconds, and you can keep working meanwhile.",
        lambda window: [window.identify.start_button],
        lambda window: [window.controller.fitting.finished],
        IDENTIFY,
    ),
    Step(
        "Compare",
        "Simulated motion is drawn over measured motion, with the error in mrad below. Choose models at the right, "
        "then look at the errors or the diagram.",
        lambda window: [window.compare.tabs, window.compare.arm_button],
        lambda window: [each.clicked for each in window.compare.tabs.buttons],
        COMPARE,
    ),
    Step(
        "Export",
        "Choose your simulator and see which files are written and what the format cannot represent. Then click "
        "Export: the folder is made for you.",
        lambda window: [window.export.export_button],
        lambda window: [window.controller.exporting.exported],
        EXPORT,
    ),
)
