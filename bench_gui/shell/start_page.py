"""Start page: continue the last session, open the example, set up a new bench, or choose a servo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from bench_gui.connect.connecting import DEFAULT_SERVO
from bench_gui.controller import Controller
from bench_gui.shell.tasks import BENCH, IDENTIFY, RECORD, task_number
from bench_gui.state.servo_link import SIMULATED
from bench_gui.widgets.fields import ElidedLabel, Section, button, describe, label, restyle
from core.base.units import milliradians
from core.base.words import counted
from drivers.registry import Family, families

if TYPE_CHECKING:
    from bench_gui.connect.view import BenchView
    from bench_gui.identify.fit.messages import FitResult

WIDEST = 940
"""Maximum width of the content; a wider window adds margins [px]."""
SERVO_TIPS = {SIMULATED: "Connect a simulated servo and record with it; no hardware needed"}
FAMILY_TIP = "Set up the connection to a {}; nothing is opened before you click Connect"
LOCKED = "Disconnect the servo to choose another one"


class StartPage(QWidget):
    """Shown until the user chooses a task; File, Start page shows it again."""

    help_page = "index"

    def __init__(
        self,
        controller: Controller,
        show_task: Callable[[int], object],
        bench: Callable[[], BenchView],
        open_session: Callable[[], object],
        import_recordings: Callable[[], object],
        tour: Callable[[], object],
    ) -> None:
        """Build the page.

        Args:
            controller: The program.
            show_task: Opens the page of a task.
            bench: Returns the Bench page.
            open_session: Asks for a session.
            import_recordings: Asks for recordings of another program.
            tour: Starts the guided tour.
        """
        super().__init__()
        self._controller, self._show_task, self._bench = controller, show_task, bench
        self.continue_button = button("Continue", "Continue this session", self._continue, "primary")
        self.example_button = button("Open the example", "Open the example on the Identify page", self._open_example)
        self.new_button = button(
            "Set up",
            "Start with the servo's typical load, an empty queue and no session; saved sessions are kept",
            self._begin_anew,
        )
        self.import_button = button("Import recordings…", "Import CSV files and others", import_recordings, "flat")
        for made in (self.continue_button, self.example_button, self.new_button):
            made.setAutoDefault(True)
        self.name: ElidedLabel = describe(ElidedLabel(), "Last session", "")
        self.name.mode = Qt.TextElideMode.ElideMiddle  # a session's name begins with its date and ends with its servo
        self.facts: QLabel = describe(label("", "muted"), "Runs and last result", "Error of the recommended model")
        self._last = _card(self.name, self.facts, self.continue_button)
        middle = QWidget()
        middle.setMaximumWidth(WIDEST)
        column = QVBoxLayout(middle)
        column.setSpacing(14)
        column.addStretch(2)
        headline = label("Turn recordings of a servo on a pendulum into a model for your simulator", "empty")
        headline.setWordWrap(True)
        column.addWidget(headline)
        column.addLayout(self._cards())
        column.addSpacing(8)
        column.addWidget(self._servos())
        column.addSpacing(8)
        column.addLayout(
            _row(
                button("Open session…", "Choose the folder of a session", open_session, "flat"),
                self.import_button,
                button("Guided tour", "Learn the workflow step by step", tour, "flat"),
            )
        )
        column.addStretch(3)
        row = QHBoxLayout(self)
        row.addStretch(1)
        row.addWidget(middle, 100)
        row.addStretch(1)
        library, fitting = controller.library, controller.fitting
        for signal in (library.runs_changed, fitting.changed, fitting.recalled, controller.servo.changed):
            signal.connect(self._show)
        self._show()

    def _cards(self) -> QHBoxLayout:
        example = _card(
            label("Example: a real XL330"),
            label("Eight recordings of a Dynamixel XL330-M288", "muted"),
            self.example_button,
        )
        new = _card(label("New bench"), label("Set up the servo and its pendulum", "muted"), self.new_button)
        cards = QHBoxLayout()
        cards.setSpacing(14)
        for card in (self._last, example, new):
            cards.addWidget(card, 1)
        return cards

    def _servos(self) -> Section:
        section = Section("Or start with a servo")
        self.servo_buttons: dict[str, QPushButton] = {
            family.name: button(
                family.title,
                SERVO_TIPS.get(family.name, FAMILY_TIP.format(family.title)),
                lambda family=family: self._choose(family),
            )
            for family in families()
        }
        self.servo_buttons["emulated"] = button(
            "Emulated servo…", "Start an emulated servo on its bus, to try a connection without hardware", self._emulate
        )
        self.servo_buttons["scan"] = button("Scan…", "Search a bus for servos and show every attempt", self._scan)
        self._tips = {name: made.toolTip() for name, made in self.servo_buttons.items()}
        buttons = QWidget()
        buttons.setLayout(_row(*self.servo_buttons.values()))
        section.wide(buttons)
        return section

    def showEvent(self, event: QShowEvent) -> None:
        """Update the choices; Enter takes the first one."""
        super().showEvent(event)
        self._show()
        (self.continue_button if self._last.isVisibleTo(self) else self.example_button).setFocus()

    # Actions of the user.

    def _continue(self) -> None:
        library, session = self._controller.library, self._session
        if library.path is None and not library.loading and session is not None:
            library.open(session)
        self._show_task(task_number(self._controller.settings.task))

    def _open_example(self) -> None:
        self._controller.library.open_example()
        self._show_task(IDENTIFY)

    def _begin_anew(self) -> None:
        self._controller.begin_anew()
        self._show_task(BENCH)

    def _choose(self, family: Family) -> None:
        if family.name != SIMULATED:
            self._show_task(BENCH)
            self._bench().choose_family(family.name)
            return
        if self._controller.servo.origin != SIMULATED:
            self._controller.connecting.choose_servo(DEFAULT_SERVO)
        self._controller.servo.connect_servo()
        self._show_task(RECORD)

    def _emulate(self) -> None:
        self._show_task(BENCH)
        self._bench().emulate()

    def _scan(self) -> None:
        self._show_task(BENCH)
        self._bench().scan()

    # State.

    @property
    def _session(self) -> Path | None:
        """The session to continue: the open one, the one being opened, or the last one."""
        settings = self._controller.settings
        known = self._controller.library.path or settings.open_session or next(iter(settings.recent), None)
        return Path(known) if known else None

    def _show(self) -> None:
        session, library, result = self._session, self._controller.library, self._controller.fitting.result
        self._last.setVisible(session is not None)
        if session is not None:
            self.name.setText(f"Continue “{library.title or session.stem}”")
            self.name.setToolTip(str(session))
            facts = [library.main_servo(), counted(len(library.runs), "run")] if library.path is not None else []
            if result is not None:
                facts += _answers(result)
            self.facts.setText("Opening…" if library.loading else ", ".join(filter(None, facts)))
        restyle(self.example_button, "kind", "" if session is not None else "primary")
        connected = self._controller.servo.recorder is not None
        for name, made in self.servo_buttons.items():
            made.setEnabled(not connected)
            made.setToolTip(LOCKED if connected else self._tips[name])


def _answers(result: FitResult) -> list[str]:
    """The recommended model with its error, on held-out runs if there are any."""
    best = [row for row in result.models if row.model.friction == result.recommended]
    errors = [row.train_mae if row.validation_mae is None else row.validation_mae for row in best]
    return [f"{result.recommended.upper()} {milliradians(error)} mrad" for error in errors]


def _card(title: QLabel, *parts: QWidget) -> QFrame:
    card = QFrame()
    card.setProperty("role", "card")
    column = QVBoxLayout(card)
    column.setContentsMargins(16, 14, 16, 14)
    title.setProperty("role", "title")
    for part in (title, *parts):
        column.addWidget(part)
    column.setAlignment(parts[-1], Qt.AlignmentFlag.AlignLeft)
    return card


def _row(*parts: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        row.addWidget(part)
    row.addStretch(1)
    return row
