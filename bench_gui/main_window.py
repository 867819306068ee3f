"""The window: the servo always in sight at the top, the order of work at the left, the runs at the foot."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMainWindow,
    QMessageBox,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from bench_gui import theme as themes
from bench_gui.compare.view import CompareView
from bench_gui.connect.servo_link import ServoView, simulated_servos
from bench_gui.connect.view import BenchView
from bench_gui.controller import Controller
from bench_gui.export.view import ExportView
from bench_gui.identify.messages import FitProgress, FitResult
from bench_gui.identify.view import IdentifyView
from bench_gui.record.view import RecordView
from bench_gui.session.panel import SessionPanel
from bench_gui.units import ANGLE_UNITS, duration, milliradians
from bench_gui.widgets.fields import button
from bench_gui.widgets.message_bar import MessageBar
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.rail import Rail
from bench_gui.widgets.status_bar import StatusBar
from bench_gui.widgets.status_line import StatusLine
from core.trajectories import PAPER_TRAJECTORIES, make_trajectory
from drivers.recorder import Phase, RunResult

BENCH, RECORD, IDENTIFY, COMPARE, EXPORT = range(5)
TASKS = [
    ("Bench", "bench", "Connect the servo, set up the pendulum"),
    ("Record", "record", "Record motion"),
    ("Identify", "identify", "Find the parameters of friction and motor"),
    ("Compare", "compare", "See simulated over measured motion"),
    ("Export", "export", "Hand a model to another program"),
]
SMALLEST = (1180, 640)
_PHASES = {Phase.APPROACH: "going to the start", Phase.RUN: "", Phase.RETURN: "going back"}


class EscapeStops(QObject):
    """Esc is the emergency stop, whatever has the focus: a dialog, a menu, a field."""

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__()
        self._stop = stop

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stop on Esc and let the key go its way."""
        if (
            event.type() is QEvent.Type.KeyPress
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and not event.isAutoRepeat()
        ):
            self._stop()
        return False


class MainWindow(QMainWindow):
    """Joins the tasks; holds no physics, no files, no protocol."""

    def __init__(self, controller: Controller, theme: str | None = None) -> None:
        """theme: "light" or "dark"; None follows the system."""
        super().__init__()
        self.controller = controller
        self._follow_system = theme is None
        self._postponed_theme = ""
        self.setWindowTitle("ServoBench")
        self.setMinimumSize(*SMALLEST)
        self.resize(1280, 720)
        self.status_bar = StatusBar(
            controller.setup.spec.title,
            simulated_servos(),
            connect=controller.servo.connect_servo,
            disconnect=controller.servo.disconnect_servo,
            choose=controller.connect_to,
            acknowledge=controller.servo.acknowledge,
            stop=controller.emergency_stop,
        )
        self.messages = MessageBar()
        self.rail = Rail(TASKS, self.show_task)
        self.bench = BenchView(controller)
        self.record = RecordView(controller)
        self.identify = IdentifyView(controller, *self._suppliers())
        self.compare = CompareView(controller, *self._suppliers())
        self.export = ExportView(controller)
        self.pages: list[TaskPage] = [self.bench, self.record, self.identify, self.compare, self.export]
        self.session = SessionPanel(controller)
        self.status_line = StatusLine(controller.queue.abort, controller.fitting.stop)
        self._assemble()
        self._build_menus()
        self._connect()
        self.apply_theme(theme or themes.system_theme())
        self.show_task(RECORD)
        self.stack.setFocus()
        self._escape = EscapeStops(controller.emergency_stop)
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self._escape)

    # Building.

    def _suppliers(self) -> tuple[QPushButton, QPushButton]:
        """The buttons of an empty state: record, or look at the example."""
        total = duration(sum(make_trajectory(name).duration for name in PAPER_TRAJECTORIES))
        record = button(
            f"Record four trajectories ({total})",
            "Connect if need be and record the paper's set",
            self.record_four,
            "primary",
        )
        example = button("Open the example", "Eight recordings of a real XL330", self.controller.library.open_example)
        return record, example

    def _assemble(self) -> None:
        self.stack = QStackedWidget()
        for page in self.pages:
            self.stack.addWidget(page)
        work = QWidget()
        row = QHBoxLayout(work)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(self.stack, 1)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(4)
        splitter.addWidget(work)
        splitter.addWidget(self.session)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([446, 164])
        self.session.setMinimumHeight(104)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.status_bar)
        column.addWidget(self.messages)
        column.addWidget(splitter, 1)
        column.addWidget(self.status_line)
        self.setCentralWidget(whole)

    def _build_menus(self) -> None:
        controller = self.controller
        file = self.menuBar().addMenu("&File")
        self._action(file, "&New session…", self.session.ask_new, "Ctrl+N")
        self._action(file, "&Open session…", self.session.ask_open, "Ctrl+O")
        self._action(file, "&Import recordings…", self.session.ask_import, "Ctrl+I")
        self._action(file, "Open the &example", controller.library.open_example)
        self._action(file, "Open &model file…", self.compare.ask_model)
        file.addSeparator()
        self._action(file, "&Quit", self.close, "Ctrl+Q")
        bench = self.menuBar().addMenu("&Bench")
        self._action(bench, "&Connect", controller.servo.connect_servo)
        self._action(bench, "&Disconnect", controller.servo.disconnect_servo)
        self._action(bench, "&Acknowledge fault", controller.servo.acknowledge)
        bench.addSeparator()
        self._action(bench, "Record &four trajectories", self.record_four)
        self._action(bench, "Emergency &stop\tEsc", controller.emergency_stop)
        view = self.menuBar().addMenu("&View")
        for number, (name, _, _) in enumerate(TASKS):
            self._action(view, f"&{name}", lambda number=number: self.show_task(number), f"Ctrl+{number + 1}")
        view.addSeparator()
        angles = QActionGroup(self)
        for unit in ANGLE_UNITS:
            action = self._action(view, f"Angles in {unit.name}", lambda unit=unit: controller.set_angle_unit(unit))
            action.setCheckable(True)
            action.setChecked(unit is controller.angle_unit)
            angles.addAction(action)
        view.addSeparator()
        self._theme_group = QActionGroup(self)
        for name in ("system", *themes.THEMES):
            text = "Colours of the system" if name == "system" else f"{name.capitalize()} colours"
            action = self._action(view, text, lambda name=name: self.choose_theme(name))
            action.setCheckable(True)
            action.setData(name)
            self._theme_group.addAction(action)
        help_menu = self.menuBar().addMenu("&Help")
        self._action(help_menu, "&About ServoBench", self.show_about)

    def _action(self, menu: QWidget, text: str, act: Callable[[], object], keys: str = "") -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda _=False: act())
        if keys:
            action.setShortcut(QKeySequence(keys))
        menu.addAction(action)
        return action

    def _connect(self) -> None:
        controller = self.controller
        controller.message.connect(self.messages.say)
        controller.servo.changed.connect(self._show_servo)
        controller.servo_chosen.connect(self._servo_chosen)
        controller.queue.ended.connect(self._note_run)
        controller.queue.changed.connect(self._show_recording)
        controller.fitting.changed.connect(self._show_fitting)
        controller.fitting.progressed.connect(self._show_fit)
        controller.fitting.finished.connect(self._note_fit)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_theme_changed)

    # What a person does.

    def show_task(self, number: int) -> None:
        """Bring a task into sight."""
        self.rail.show_task(number)
        self.stack.setCurrentIndex(number)
        self.pages[number].entered()

    def record_four(self) -> None:
        """Record the paper's set, connecting first if need be."""
        self.show_task(RECORD)
        self.controller.record_paper_set()

    def choose_theme(self, name: str) -> None:
        """Take on "light", "dark" or what the "system" prefers; once the servo is released if it is driven."""
        self._follow_system = name == "system"
        wanted = themes.system_theme() if self._follow_system else name
        if self.controller.servo.busy:
            # Repainting everything takes longer than the recorder waits for a sign of life.
            self._postponed_theme = wanted
            self.status_line.note.setText("The colours change when the run has ended")
        else:
            self.apply_theme(wanted)

    def apply_theme(self, name: str) -> None:
        """Take on one of the themes, plots included."""
        self._postponed_theme = ""
        app = QApplication.instance()
        theme = themes.load_theme(name)
        if isinstance(app, QApplication):
            themes.apply(app, theme)
        for part in (self.status_bar, self.messages, self.rail, self.session, *self.pages):
            part.set_theme(theme)
        chosen = "system" if self._follow_system else name
        for action in self._theme_group.actions():
            action.setChecked(action.data() == chosen)

    def show_about(self) -> None:
        """Say what this is."""
        from importlib.metadata import version

        QMessageBox.about(
            self,
            "About ServoBench",
            f"<b>ServoBench {version('servobench')}</b><br>Makes simulated servos behave like real ones: record, "
            "identify, compare, export.<br><br>Apache License 2.0",
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        """Release the servo and end everything before the window goes."""
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self._escape)
        self.hide()
        self.controller.close()
        event.accept()

    # What happens.

    def _show_servo(self, view: ServoView) -> None:
        controller = self.controller
        self.status_bar.show_view(view, controller.setup.rate, controller.servo.priority)
        self._show_recording()

    def _servo_chosen(self) -> None:
        self.status_bar.set_name(self.controller.setup.spec.title)
        self.status_bar.show_view(self.controller.servo.view, self.controller.setup.rate)

    def _show_recording(self) -> None:
        queue, view = self.controller.queue, self.controller.servo.view
        line = self.status_line
        if self._postponed_theme and not self.controller.servo.busy:
            self.apply_theme(self._postponed_theme)
        if queue.current is None:
            line.recording.hide()
            line.note.show()
            if view.connecting:
                line.note.setText("Connecting; the very first time the simulation is compiled, which takes a minute")
            elif line.note.text().startswith("Connecting"):
                line.note.setText("")
            return
        line.note.hide()
        place, total = queue.place
        which = f" {place} of {total}" if total > 1 else ""
        left = (view.length - view.done) / self.controller.setup.rate if view.length else 0.0
        doing = _PHASES.get(view.phase, "") or (f"{duration(left)} left" if view.phase is Phase.RUN else "")
        text = f"Recording{which}: {queue.current.title}" + (f", {doing}" if doing else "")
        share = view.done / view.length if view.length and view.phase is Phase.RUN else 0.0
        line.recording.show_progress(text, 1.0 if view.phase is Phase.RETURN else share)

    def _note_run(self, result: RunResult) -> None:
        if result.exit_status == "success":
            self.status_line.note.setText(f"Recorded {result.id}: {result.samples} samples")

    def _show_fitting(self) -> None:
        fitting = self.controller.fitting
        line = self.status_line.identification
        if not fitting.active:
            line.hide()
        elif fitting.stopping:
            line.show_progress("Stopping, the best is kept…", 1.0)
        elif fitting.latest is None:
            line.show_progress("Starting the identification…", 0.0)
        line.stop_button.setEnabled(fitting.active and not fitting.stopping)

    def _show_fit(self, progress: FitProgress) -> None:
        if self.controller.fitting.stopping or not progress.points:
            return
        best = milliradians(progress.points[-1][1])
        text = f"Identifying {progress.model.upper()}: {best} mrad, at most {duration(progress.remaining)} left"
        self.status_line.identification.show_progress(text, progress.done)

    def _note_fit(self, result: FitResult) -> None:
        count = len(result.models)
        stopped = ", stopped early" if result.stopped else ""
        self.status_line.note.setText(f"Identified {count} model{'s' if count != 1 else ''}{stopped}")

    def _system_theme_changed(self) -> None:
        if self._follow_system:
            self.choose_theme("system")
