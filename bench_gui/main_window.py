"""Main window: servo state at the top, tasks in working order at the left, docks around the plot of the task."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QKeySequence,
    QMoveEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QMessageBox, QPushButton, QStackedWidget, QWidget

from bench_gui.actions import ActionSpec
from bench_gui.controller import Controller
from bench_gui.headless.palette import THEMES
from bench_gui.log.panel import LogPanel
from bench_gui.record.view import RecordView
from bench_gui.session.panel import SessionPanel
from bench_gui.shell.appearance import Appearance
from bench_gui.shell.closing import may_close
from bench_gui.shell.docks import WorkArea
from bench_gui.shell.escape import KeysEverywhere
from bench_gui.shell.helping import Helping
from bench_gui.shell.layout import SESSION_HEIGHT, Layout
from bench_gui.shell.menus import Menus
from bench_gui.shell.pages import Pages
from bench_gui.shell.rail import Rail
from bench_gui.shell.servo_activity import UnderWay, bring_into_sight
from bench_gui.shell.start_page import StartPage
from bench_gui.shell.tasks import (
    BENCH,
    COMPARE,
    EXPLORE,
    EXPORT,
    FLEET,
    IDENTIFY,
    PLACE,
    RECORD,
    TASKS,
    make_page,
    task_number,
)
from bench_gui.state.servo_link import simulated_servos
from bench_gui.theme import dress, themes
from bench_gui.widgets.activity_list import ActivityList
from bench_gui.widgets.fields import button, describe, hbox, vbox
from bench_gui.widgets.notices import Notices
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.status_bar import StatusBar
from bench_gui.widgets.status_line import StatusLine
from core.base.units import ANGLE_UNITS, duration
from core.motion.trajectories import PAPER_TRAJECTORIES, make_trajectory
from drivers.errors import MotorOn

if TYPE_CHECKING:
    from bench_gui.compare.view import CompareView
    from bench_gui.connect.view import BenchView
    from bench_gui.export.view import ExportView
    from bench_gui.fleet.view import FleetView
    from bench_gui.identify.view import IdentifyView
    from bench_gui.place.view import PlaceView
    from bench_gui.studies.view import ExploreView

SMALLEST = QSize(880, 470)
"""Minimum size, for a screen of 1920×1080 at 200 % with desktop panel and title bar."""
USUAL = QSize(1280, 720)
AFTER_PAINT = 30
"""Delay before hidden pages are made, so that the window appears first [ms]."""


class GuidedTour(Protocol):
    """Interface of the guided tour."""

    def begin(self) -> None:
        """Show the first step."""


class MainWindow(QMainWindow):
    """Window with all task pages; contains no physics, file or protocol code.

    A page is made when it is first needed; the others follow one by one once the window is visible.
    """

    def __init__(
        self,
        controller: Controller,
        make_tour: Callable[[MainWindow], GuidedTour],
        theme: str | None = None,
        task: int | None = RECORD,
    ) -> None:
        """Create the window.

        Args:
            controller: Controller of the window.
            theme: "light" or "dark"; None: the last choice of the user.
            make_tour: Creates the guided tour.
            task: Number of the first task; None: the start page.
        """
        super().__init__()
        self.controller = controller
        self._asks_before_closing = True
        self.alarm = ""
        """Warning to show after the window has closed; empty if there is none."""
        self._make_tour = make_tour
        self.tour: GuidedTour | None = None
        """Created at first use."""
        self._keys = KeysEverywhere(controller.escape)
        self.appearance = Appearance(controller.settings, theme, self._keys.paused)
        self._pages = Pages(self._make_page, lambda: not self._asks_before_closing, self._keys.paused)
        self.stack, self.completed = self._pages.stack, self._pages.completed
        self.setWindowTitle("ServoBench")
        self.setMinimumSize(SMALLEST)
        self.resize(USUAL)
        room = self.screen().availableSize()
        if SMALLEST.boundedTo(room) == SMALLEST and USUAL.boundedTo(room) != USUAL:
            self.setWindowState(Qt.WindowState.WindowMaximized)
        self.setAcceptDrops(True)
        self.status_bar = StatusBar(
            lambda: controller.connecting.title,
            simulated_servos,
            connect=controller.servo.connect_servo,
            disconnect=controller.servo.disconnect_servo,
            choose=controller.connecting.connect_to,
            acknowledge=controller.servo.acknowledge,
            stop=controller.recording.emergency_stop,
        )
        self.messages = Notices(self.stack, "" if task is None else TASKS[task][0])
        self.rail = Rail(TASKS, self.show_task)
        self.session = SessionPanel(controller)
        self.log = LogPanel(controller.journal)
        self.under_way = UnderWay(controller)
        self.status_line = StatusLine(
            controller.activities, lambda shown: self.activity_list.setVisible(shown), self.show_log
        )
        self.menus = Menus(self.menuBar(), self, self.status_line)
        self._assemble()
        self.help = Helping(self, self.work.docks, self._in_sight)
        self._build_menus()
        self._connect()
        self._keys.listen()
        themes.changed.connect(self._dress)
        self.appearance.apply()
        self._layout = Layout(self, self.work, controller.settings, controller.undo)
        self._layout.restore(controller.message.emit)
        self.show_start() if task is None else self.show_task(task)
        self.stack.setFocus()

    # Pages.

    @property
    def bench(self) -> BenchView:
        """Page for connecting and setting up."""
        return cast("BenchView", self.page(BENCH))

    @property
    def record(self) -> RecordView:
        """Page for recording."""
        return cast(RecordView, self.page(RECORD))

    @property
    def place(self) -> PlaceView:
        """Page for placing by hand."""
        return cast("PlaceView", self.page(PLACE))

    @property
    def identify(self) -> IdentifyView:
        """Page for identification."""
        return cast("IdentifyView", self.page(IDENTIFY))

    @property
    def compare(self) -> CompareView:
        """Page for comparison."""
        return cast("CompareView", self.page(COMPARE))

    @property
    def export(self) -> ExportView:
        """Page for export."""
        return cast("ExportView", self.page(EXPORT))

    @property
    def explore(self) -> ExploreView:
        """Page for exploring models."""
        return cast("ExploreView", self.page(EXPLORE))

    @property
    def fleet(self) -> FleetView:
        """Page for fleets."""
        return cast("FleetView", self.page(FLEET))

    @property
    def pages(self) -> list[TaskPage]:
        """All pages in the order of the rail."""
        return [self.page(number) for number in range(len(TASKS))]

    def page(self, number: int) -> TaskPage:
        """Return the page of a task."""
        return self._pages.page(number)

    def _make_page(self, number: int) -> TaskPage:
        page = make_page(number, self.controller, self._suppliers)
        self.under_way.seen_in(number, page)
        if number == PLACE:
            cast("PlaceView", page).points_wanted.connect(lambda: self.identify.form.set_option("points", True))
        page.task_wanted.connect(lambda name: self.show_task(task_number(name)))
        for spec in page.actions_offered():
            self.menus.add(f"&Tasks/&{TASKS[number][0]}", spec)
        return page

    # Construction.

    def _suppliers(self) -> tuple[QPushButton, QPushButton]:
        """Return the buttons of an empty state: record, or open the example."""
        total = duration(sum(make_trajectory(name).duration for name in PAPER_TRAJECTORIES))
        record = button(
            f"Record four runs ({total})",
            "Connect if needed, and record the paper's four trajectories",
            self.record_four,
            "primary",
        )
        self.controller.library.lock_with(record)
        example = button("Open the example", "Eight recordings of a real XL330", self.controller.library.open_example)
        return record, example

    def _assemble(self) -> None:
        self.work = WorkArea(self.stack)
        self.work.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.work.add("inspector", "Settings", self._pages.inspectors, Qt.DockWidgetArea.RightDockWidgetArea)
        below = Qt.DockWidgetArea.BottomDockWidgetArea
        session = self.work.add("session", "Session", self.session, below, self.session.head)
        log = self.work.add("log", "Log", self.log, below)
        self.work.tabifyDockWidget(session, log)
        log.hide()
        self.session.setMinimumHeight(104)
        self.work.resizeDocks([session], [SESSION_HEIGHT], Qt.Orientation.Vertical)
        self.start = StartPage(
            self.controller,
            self.show_task,
            lambda: self.bench,
            self.session.opening.ask_open,
            self.session.opening.ask_import,
            self.show_tour,
        )
        self.places = QStackedWidget()
        for place in (self.work, self.start):
            self.places.addWidget(place)
        middle = QWidget()
        row = hbox(middle, spacing=0)
        row.addWidget(self.rail)
        row.addWidget(self.places, 1)
        self.activity_list = ActivityList(middle, self.controller.activities, self.bring_into_sight)
        whole = QWidget()
        column = vbox(whole, spacing=0)
        column.addWidget(self.status_bar)
        column.addWidget(middle, 1)
        column.addWidget(self.status_line)
        self.setCentralWidget(whole)

    def _build_menus(self) -> None:
        controller, menus = self.controller, self.menus
        servo, library, opening = controller.servo, controller.library, self.session.opening
        for spec in (
            ActionSpec("&New session…", opening.ask_new, "Ctrl+N"),
            ActionSpec("&Open session…", opening.ask_open, "Ctrl+O"),
            ActionSpec("Open session &file…", opening.ask_open_file, tip="Open a session exported as one .h5 file"),
            ActionSpec("&Import recordings…", opening.ask_import, "Ctrl+I", enabled=lambda: not library.locked),
            ActionSpec(
                "Import a fol&der…",
                opening.ask_import_folder,
                tip="Import all recordings in a folder and its subfolders",
                enabled=lambda: not library.locked,
            ),
            ActionSpec("Open the &example", library.open_example),
            ActionSpec("Open the example of a &robot", lambda: library.open_example("example-so101")),
            ActionSpec("Open &model file…", lambda: self.compare.ask_model()),
            ActionSpec("&Start page", self.show_start, tip="Continue, open the example, or start another bench"),
        ):
            menus.add("&File", spec)
        menus.separate("&File")
        menus.add("&File", ActionSpec("&Quit", self.close, "Ctrl+Q"))
        for action, keys in (
            (controller.undo.createUndoAction(self, "Undo"), QKeySequence.StandardKey.Undo),
            (controller.undo.createRedoAction(self, "Redo"), QKeySequence.StandardKey.Redo),
        ):
            action.setShortcut(keys)
            menus.take("&Edit", action)
        menus.separate("&Edit")
        menus.add("&Edit", ActionSpec("&Find a command…", self.show_palette, "Ctrl+K"))
        menus.add("&Edit", ActionSpec("&Preferences…", self.show_preferences, "Ctrl+,", "Units, theme, keys, folders"))
        for spec in (
            ActionSpec("&Connect", servo.connect_servo, enabled=lambda: servo.view.kind == "off"),
            ActionSpec("&Disconnect", servo.disconnect_servo, enabled=lambda: servo.view.kind != "off"),
            ActionSpec(
                "&Ready again",
                servo.acknowledge,
                tip="Acknowledge a fault, or continue after a stop",
                enabled=lambda: servo.view.kind in ("fault", "stopped"),
            ),
            ActionSpec(
                "Record &four trajectories",
                self.record_four,
                enabled=lambda: not (controller.queue.active or library.locked),
            ),
            ActionSpec("Emergency &stop\tEsc", controller.recording.emergency_stop),
        ):
            menus.add("&Bench", spec)
        for number, (name, _, purpose) in enumerate(TASKS):
            menus.add("&View", ActionSpec(f"&{name}", partial(self.show_task, number), f"Ctrl+{number + 1}", purpose))
        menus.separate("&View")
        for toggle in self.work.toggles():
            toggle.setToolTip("Show or hide this panel")
            menus.take("&View/&Panels", toggle)
        menus.add(
            "&View", ActionSpec("&Reset layout", self.work.reset, tip="Move all panels back to their default places")
        )
        menus.add("&View", ActionSpec("Show the &log", self.show_log, "Ctrl+L", "Show all messages"))
        menus.separate("&View")
        self._units = menus.choices(
            "&View", [(f"Angles in {u.name}", u) for u in ANGLE_UNITS], controller.angle_unit, controller.set_angle_unit
        )
        menus.separate("&View")
        names = [("System theme", "system"), *((f"{n.capitalize()} theme", n) for n in THEMES)]
        self.appearance.actions = menus.choices("&View", names, None, self.appearance.choose)
        for spec in self.session.actions_offered():
            menus.add("&Session", spec)
        for name, _, _ in TASKS:
            menus.menu(f"&Tasks/&{name}")
        menus.add("&Help", ActionSpec("&Help on this page", self.help.show, "F1"))
        menus.add("&Help", ActionSpec("Guided &tour", self.show_tour, tip="Walk through the tasks step by step"))
        menus.add("&Help", ActionSpec("&About ServoBench", self.help.show_about))
        self.help_button = describe(button("?", "", self.help.show, "small"), "Help", "Help on this page (F1)")
        self.menuBar().setCornerWidget(self.help_button)

    def _connect(self) -> None:
        controller = self.controller
        journal = controller.journal
        journal.said.connect(lambda line: self.messages.say(line.level, line.text, line.cause, line.path, line.task))
        journal.settled.connect(self.messages.settle)
        self.menus.refused.connect(lambda text: self.messages.say("info", text))
        controller.servo.changed.connect(self._show_servo)
        controller.connecting.servo_chosen.connect(self._show_servo)
        controller.library.imported.connect(self._show_imported)
        journal.unseen_changed.connect(self._show_unseen)
        self.work.docks["log"].visibilityChanged.connect(self._look_at_log)
        if controller.settings.notice:
            controller.message.emit("warning", controller.settings.notice)
        # Pages restore their settings when they are made.
        controller.settings.noticed.connect(lambda text: controller.message.emit("warning", text))

    # Actions of the user.

    def show_task(self, number: int) -> None:
        """Show a task."""
        self.places.setCurrentWidget(self.work)
        self.messages.lie_over(self.stack, TASKS[number][0])
        self.controller.settings.set("task", TASKS[number][0])
        self.rail.show_task(number)
        page = self._pages.show(number)
        self.work.set_title("inspector", f"{TASKS[number][0]} settings")
        self._layout.show_task(TASKS[number][0])
        page.entered()
        self._show_servo()

    def bring_into_sight(self, widget: QWidget) -> None:
        """Show the page of a widget, and open the tabs or folds around it."""
        for page in self._pages.there:
            if page is widget or page.isAncestorOf(widget):
                self.show_task(self._pages.number(page))
        bring_into_sight(widget)

    def show_start(self) -> None:
        """Show the start page."""
        self.rail.show_task(None)
        self.places.setCurrentWidget(self.start)
        self.messages.lie_over(self.start)
        self._show_servo()

    def _in_sight(self) -> StartPage | TaskPage:
        return self.start if self.start.isVisible() else self._pages.current

    def record_four(self) -> None:
        """Record the paper's four trajectories; connect first if needed."""
        self.show_task(RECORD)
        self.controller.recording.record_paper_set()

    def show_palette(self) -> None:
        """Show the command palette."""
        from bench_gui.shell.command_palette import CommandPalette

        palette = CommandPalette(self.menus, self._in_sight())
        palette.exec()
        # Otherwise its parent would keep each palette until the window closes.
        palette.deleteLater()

    def show_preferences(self) -> None:
        """Show the preferences."""
        from bench_gui.shell.preferences import PreferencesDialog

        assert self.appearance.actions is not None
        dialog = PreferencesDialog(self._in_sight(), self.controller, self.menus, self._units, self.appearance.actions)
        dialog.exec()
        dialog.deleteLater()

    def show_tour(self) -> None:
        """Start the guided tour."""
        if self.tour is None:
            self.tour = self._make_tour(self)
        self.tour.begin()

    def show_log(self) -> None:
        """Show the log."""
        if self.start.isVisible():
            self.show_task(self.stack.currentIndex())
        dock = self.work.docks["log"]
        dock.show()
        dock.raise_()
        self.log.look()

    def come_forward(self, session: str) -> None:
        """Raise the window for a second start of ServoBench; session: session to open, or empty."""
        if not self._asks_before_closing:
            return  # a closing window would reappear empty
        if session:
            self.controller.library.open(Path(session))
        self.showNormal() if self.isMinimized() else self.show()
        self.raise_()
        self.activateWindow()

    def leave(self) -> None:
        """Close without asking, since the process is being terminated."""
        self._asks_before_closing = False
        self.close()

    def showEvent(self, event: QShowEvent) -> None:
        """Make the remaining pages once the window is visible."""
        super().showEvent(event)
        QTimer.singleShot(AFTER_PAINT, self, self._pages.make_next)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Save the size of the window."""
        super().resizeEvent(event)
        self._layout.keep()

    def moveEvent(self, event: QMoveEvent) -> None:
        """Save the position of the window."""
        super().moveEvent(event)
        self._layout.keep()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept recordings and sessions anywhere on the window."""
        if self.session.opening.can_take(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open or import the dropped paths."""
        event.acceptProposedAction()
        self.session.opening.take(event.mimeData())

    def closeEvent(self, event: QCloseEvent) -> None:
        """Release the servo and end all work before the window closes; ask once if that cancels work."""
        attended, self._asks_before_closing = self._asks_before_closing, False
        if attended and not may_close(self._in_sight(), self.controller.busy()):
            self._asks_before_closing = True
            event.ignore()
            return
        self._keys.listen(False)
        self._layout.keep()
        self.hide()
        self.help.close()
        try:
            self.controller.close()  # first, so that the servo is released without delay
        except MotorOn as error:
            self.alarm = str(error)
            if attended:
                QMessageBox.critical(self, "The motor may still be on", self.alarm)
        self._pages.close()
        event.accept()

    # Reactions.

    def _show_servo(self) -> None:
        servo, setup = self.controller.servo, self.controller.setup
        needed = self.places.currentWidget() is self.work and self.stack.currentIndex() in (BENCH, RECORD, PLACE)
        self.status_bar.show_view(servo.view, setup.rate, servo.priority, needed)
        if servo.view.kind != "fault":
            self.status_line.badge.rest()

    def _show_imported(self) -> None:
        """Continue with what recordings are imported for, unless the servo is in use."""
        if not (self.controller.queue.active or self.controller.placing.active):
            self.show_task(IDENTIFY)

    def _show_unseen(self) -> None:
        levels = [entry.level for entry in self.controller.journal.unseen]
        self.status_line.badge.show_count(levels.count("fault"), levels.count("error"))

    def _look_at_log(self, visible: bool) -> None:
        if visible and self.isVisible():
            self.log.look()

    def _dress(self) -> None:
        parts = (self.status_bar, self.messages, self.rail, self.session, self.log, self.status_line)
        for widget in (*parts, self.menuBar(), self.start, self.activity_list):
            dress(widget)
        self._pages.dress()
