"""Bench page: the pendulum, the connected servo and its load."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget

from bench_gui.actions import ActionSpec
from bench_gui.connect.bench.fitted_pendulum import BenchPendulum
from bench_gui.connect.bench.presets_bar import PresetsBar
from bench_gui.connect.bench.zero_panel import ZeroPanel
from bench_gui.connect.servo.card import ServoCard
from bench_gui.connect.servo.connection import ConnectionForm
from bench_gui.connect.servo.emulation_dialog import EmulationDialog
from bench_gui.connect.servo.own_servo_dialog import ServoDialog
from bench_gui.connect.servo.scan_dialog import ScanDialog
from bench_gui.controller import Controller
from bench_gui.state.servo_link import ServoView
from bench_gui.theme import themes
from bench_gui.widgets.bench_form import SetupForm
from bench_gui.widgets.fields import button, hbox, refusals, restyle
from bench_gui.widgets.page import TaskPage
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.errors import ServoBenchError
from drivers.registry import families
from drivers.servo import ServoState

WIDEST_CARD = 640
"""Maximum width of the cards; a wide window gives the rest to the pendulum [px]."""
LOCKED = "Disconnect the servo to choose another one"


class BenchView(TaskPage):
    """Connect and set up."""

    help_page = "connecting"

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self.pendulum = BenchPendulum()
        self.card = ServoCard(controller)
        self.zero = ZeroPanel(controller)
        self.scan_dialog: ScanDialog | None = None
        self.emulation_dialog: EmulationDialog | None = None
        self.servo_dialog: ServoDialog | None = None
        self._pictures, self._cards = QStackedWidget(), QStackedWidget()
        for picture in (self.pendulum, self.zero.pendulum):
            self._pictures.addWidget(picture)
        for card in (self.card, self.zero):
            self._cards.addWidget(card)
        row = hbox(spacing=10)
        row.addWidget(self._pictures, 4)
        row.addWidget(self._cards, 5)
        self._cards.setMaximumWidth(WIDEST_CARD)
        self.centre.addLayout(row, 1)
        self.connection = ConnectionForm(controller.servo.address)
        self.connection.edited.connect(self._choose)
        self.connection.scan_asked.connect(self.scan)
        self.connection.emulation_asked.connect(self.emulate)
        self.connection.new_asked.connect(self.new_servo)
        self.presets = PresetsBar(controller.setup, controller.connecting.presets)
        self.form = SetupForm(controller.setup, controller.angle_unit)
        self.zero_button: QPushButton = button(
            "Measure the zero…", "Sweep the pendulum by hand, then let it come to rest", self.measure_zero
        )
        self.form.wide(self.zero_button)
        for section in (self.connection, self.presets, self.form):
            self.settings.addWidget(section)
        self.settings.addStretch(1)
        self.connect_button = StartButton("Connect", "Connect to this servo", self._toggle, self.connection, kind="")
        actions = QHBoxLayout()
        actions.addWidget(self.connect_button, 2)
        actions.addWidget(self.connection.scan_button, 1)
        self.actions_column.addLayout(actions)
        self.record_button: QPushButton = button(
            "Record", "Continue with recordings of this servo", lambda: self.task_wanted.emit("Record")
        )
        self.actions_column.addWidget(self.record_button)
        self.zero.ended.connect(self._leave_zero)
        servo = controller.servo
        servo.refused = lambda: next(iter(refusals(self.connection)), "")
        servo.changed.connect(self._show_servo)
        servo.problem.connect(self.connection.show_failure)
        servo.connected.connect(lambda _: self.connection.show_failure(""))
        controller.setup.changed.connect(self._show_bench)
        controller.connecting.servo_chosen.connect(lambda: self.connection.show_address(servo.address))
        controller.angle_unit_changed.connect(self._change_unit)
        self._show_bench()
        themes.changed.connect(self._paint)

    def actions_offered(self) -> list[ActionSpec]:
        servo = self._controller.servo
        return [
            ActionSpec("&Scan for servos…", self.scan, enabled=lambda: servo.view.kind == "off"),
            ActionSpec("&Emulate a servo…", self.emulate),
            ActionSpec("&New servo…", self.new_servo),
            ActionSpec("&Write to the servo…", self.card.ask_to_write, enabled=lambda: not self.card.refusal()),
            ActionSpec(
                "&Discard edits of the servo",
                self.card.discard,
                enabled=lambda: self.card.draft is not None and bool(self.card.draft.edits),
            ),
            ActionSpec("Measure the &zero…", self.measure_zero, enabled=lambda: not self.zero.active),
        ]

    def entered(self) -> None:
        self._controller.connecting.presets.load()
        self._show_bench()
        self._show_servo(self._controller.servo.view)

    def choose_family(self, name: str) -> None:
        """Show the fields of a kind of servo."""
        self.connection.choose_family(name)

    def scan(self) -> None:
        """Scan for servos of the chosen kind, or of the first kind that supports a scan."""
        if self.scan_dialog is not None:
            self.scan_dialog.raise_()
            return
        if not self.connection.chosen.can_scan:
            self.connection.choose_family(next(family.name for family in families() if family.can_scan))
        family = self.connection.chosen
        self.scan_dialog = ScanDialog(
            self, self._controller.connecting.scanning, family.name, family.title, self.connection.values()
        )
        self.scan_dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.scan_dialog.taken.connect(self._take)
        self.scan_dialog.finished.connect(lambda _: setattr(self, "scan_dialog", None))
        self.scan_dialog.show()

    def emulate(self) -> None:
        """Start an emulated servo, or show the one that is running."""
        if self.emulation_dialog is not None:
            self.emulation_dialog.raise_()
            return
        self.emulation_dialog = EmulationDialog(self, self._controller.connecting.emulation)
        self.emulation_dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.emulation_dialog.chosen.connect(self._take)
        self.emulation_dialog.finished.connect(lambda _: setattr(self, "emulation_dialog", None))
        self.emulation_dialog.show()

    def new_servo(self) -> None:
        """Define a servo that is not in the catalogue."""
        if self.servo_dialog is not None:
            self.servo_dialog.raise_()
            return
        self.servo_dialog = ServoDialog(self)
        self.servo_dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.servo_dialog.added.connect(self._offer_new)
        self.servo_dialog.wanted.connect(self._use_new)
        self.servo_dialog.finished.connect(lambda _: setattr(self, "servo_dialog", None))
        self.servo_dialog.show()

    def measure_zero(self) -> None:
        """Show the steps of the zero measurement in the place of the card."""
        if held_by(self.form):
            return
        self._pictures.setCurrentWidget(self.zero.pendulum)
        self._cards.setCurrentWidget(self.zero)
        self.zero_button.setEnabled(False)
        self.zero.begin()
        self._show_servo(self._controller.servo.view)

    def _paint(self) -> None:
        self._show_servo(self._controller.servo.view)

    def _leave_zero(self) -> None:
        self._pictures.setCurrentWidget(self.pendulum)
        self._cards.setCurrentWidget(self.card)
        self.zero_button.setEnabled(True)
        self._show_servo(self._controller.servo.view)

    def _show_bench(self) -> None:
        self.pendulum.show_bench(self._controller.setup.bench)
        self._show_limits()

    def _show_limits(self) -> None:
        setup, limits = self._controller.setup, self._controller.servo.limits
        if limits is not None:
            low, high = sorted(setup.bench_angle(a) for a in (limits.lowest_position, limits.highest_position))
            self.pendulum.show_limits(low, high)

    def _show_servo(self, view: ServoView) -> None:
        if not self.isVisible():
            return
        controller = self._controller
        connected = view.state is not ServoState.DISCONNECTED or view.connecting
        self.connect_button.setText("Disconnect" if connected else "Connect")
        self.connect_button.setAccessibleName(self.connect_button.text())
        self.connect_button.setToolTip("Release the servo and disconnect" if connected else "Connect to this servo")
        self.record_button.setVisible(not view.unready)
        restyle(self.record_button, "kind", "" if self.zero.active else "primary")
        self.connection.lock(LOCKED if connected else "")
        self.card.show_servo(view)
        self.zero.show_servo(view)
        self._show_limits()
        colour = getattr(themes.current, view.kind)
        self.pendulum.show_angle(controller.setup.bench_angle(view.position), controller.angle_unit, colour)

    def _change_unit(self) -> None:
        self.form.show_in(self._controller.angle_unit)
        self._show_servo(self._controller.servo.view)

    def _address(self) -> str:
        """Address in the form; empty, with the reason shown, if it is not valid."""
        try:
            return self.connection.address()
        except ServoBenchError as error:
            self.connection.show_failure(str(error))
            return ""

    def _choose(self) -> None:
        address = self._address()
        if not address or address == self._controller.servo.address:
            return
        try:
            self._controller.connecting.choose_servo(address)
        except ServoBenchError as error:
            self.connection.show_failure(str(error))

    def _take(self, address: str) -> None:
        self.connection.show_address(address)
        self._choose()

    def _offer_new(self, name: str) -> None:
        """Choose a new servo for simulation; a connected servo stays connected."""
        self.connection.reload()
        free = self._controller.servo.view.state is ServoState.DISCONNECTED
        if free and self.connection.chosen.name == "simulated":
            self._take(f"simulated:{name}")

    def _use_new(self, name: str) -> None:
        if self._controller.servo.view.state is ServoState.DISCONNECTED:
            self._take(f"simulated:{name}")
        else:
            self._controller.message.emit("info", LOCKED)

    def _toggle(self) -> None:
        servo = self._controller.servo
        if servo.view.state is not ServoState.DISCONNECTED or servo.view.connecting:
            servo.disconnect_servo()
            return
        if held_by(self.connection):
            return
        self.connection.show_failure("")
        if self._address():
            self._choose()
            servo.connect_servo()
