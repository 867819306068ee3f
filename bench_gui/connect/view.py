"""The bench: the pendulum as it hangs, the servo that answered, the load it moves."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from bench_gui.connect.bench_form import BenchForm
from bench_gui.connect.pendulum import PendulumView
from bench_gui.connect.servo_link import ServoView, simulated_servos
from bench_gui.controller import Controller
from bench_gui.theme import Theme
from bench_gui.units import fixed
from bench_gui.widgets.fields import Section, button, choice, label, restyle
from bench_gui.widgets.page import TaskPage
from drivers.servo import ServoState

_FACTS = (
    ("Answered", "Model that answered"),
    ("Firmware", "Firmware, for a simulated servo the model it moves by"),
    ("Resolution", "Smallest step of the position"),
    ("Supply", "Supply voltage now"),
    ("Temperature", "Temperature now"),
)


class BenchView(TaskPage):
    """Connect and set up."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self._controller = controller
        self._theme: Theme | None = None
        self.pendulum = PendulumView()
        self.centre.addWidget(self.pendulum, 1)
        servo = Section("Servo")
        self.servo: QComboBox = choice("Servo", "Which servo to connect to", list(simulated_servos()))  # type: ignore[arg-type]
        self.servo.activated.connect(self._choose)
        servo.wide(self.servo)
        self._facts: dict[str, QLabel] = {}
        for name, tip in _FACTS:
            value = label("–")
            value.setToolTip(tip)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._facts[name] = value
            servo.row(name, value).setProperty("role", "muted")
        self.settings.addWidget(servo)
        self.settings.addWidget(BenchForm(controller.setup, everything=True))
        self.settings.addStretch(1)
        self.connect_button: QPushButton = button("Connect", "Connect to this servo", self._toggle, "primary")
        self.actions_column.addWidget(self.connect_button)
        controller.setup.changed.connect(self._show_bench)
        controller.servo.changed.connect(self._show_servo)
        controller.angle_unit_changed.connect(lambda: self._show_servo(controller.servo.view))
        self._show_bench()

    def set_theme(self, theme: Theme) -> None:
        """Take over a theme's colours."""
        self._theme = theme
        self.pendulum.set_theme(theme)
        self._show_servo(self._controller.servo.view)

    def entered(self) -> None:
        """Show the newest numbers."""
        self._show_bench()
        self._show_servo(self._controller.servo.view)

    def _show_bench(self) -> None:
        self.pendulum.show_bench(self._controller.setup.bench)
        place = self.servo.findData(self._controller.servo.address)
        if place >= 0:
            self.servo.setCurrentIndex(place)

    def _show_servo(self, view: ServoView) -> None:
        theme = self._theme
        if theme is None or not self.isVisible():
            return
        controller = self._controller
        connected = view.state is not ServoState.DISCONNECTED or view.connecting
        self.connect_button.setText("Disconnect" if connected else "Connect")
        self.connect_button.setAccessibleName(self.connect_button.text())
        restyle(self.connect_button, "kind", "" if connected else "primary")
        identity = controller.servo.identity
        step = identity.position_step * controller.angle_unit.per_radian if identity else float("nan")
        self._facts["Answered"].setText(identity.title if identity else "–")
        self._facts["Firmware"].setText(identity.firmware if identity else "–")
        self._facts["Resolution"].setText(fixed(step, 4, controller.angle_unit.symbol))
        self._facts["Supply"].setText(fixed(view.supply_voltage, 2, "V"))
        self._facts["Temperature"].setText(fixed(view.temperature, 1, "°C"))
        colour = {"off": theme.off, "ready": theme.ready, "moving": theme.moving, "fault": theme.fault}[view.kind]
        self.pendulum.show_angle(view.position, controller.angle_unit, colour)

    def _choose(self) -> None:
        address = self.servo.currentData()
        if address and address != self._controller.servo.address:
            self._controller.choose_servo(address)

    def _toggle(self) -> None:
        servo = self._controller.servo
        if servo.view.state is ServoState.DISCONNECTED and not servo.view.connecting:
            servo.connect_servo()
        else:
            servo.disconnect_servo()
