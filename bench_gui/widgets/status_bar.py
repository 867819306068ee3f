"""Status bar, always visible: state of the servo, connect and stop buttons."""

from __future__ import annotations

import math
from collections.abc import Callable
from textwrap import shorten

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QLabel, QMenu, QPushButton, QToolButton

from bench_gui.icons import ThemeIcon
from bench_gui.state.servo_link import ServoView
from bench_gui.widgets.fields import ElidedLabel, button, describe, hbox, label, restyle, tool
from core.base.units import fixed
from core.base.words import capitalised, counted
from drivers.servo import ServoState

FAULT_WIDTH = 360
"""Smallest width for the reason of a fault [px]."""
FAULT_TIP = "Acknowledge the fault and clear it"
FAULT_LENGTH = 150
"""Shown length of a reason [characters]; the tooltip and the log contain all of it."""


class StatusBar(QFrame):
    """Its colour is the servo's state: grey not connected, blue ready, amber moving, teal stopped, red fault."""

    def __init__(
        self,
        name: Callable[[], str],
        choices: Callable[[], list[tuple[str, str]]],
        *,
        connect: Callable[[], object],
        disconnect: Callable[[], object],
        choose: Callable[[str], object],
        acknowledge: Callable[[], object],
        stop: Callable[[], object],
    ) -> None:
        """Create the bar.

        Args:
            name: returns the servo's title.
            choices: returns title and address of each servo that can be connected.
            connect: connects the chosen servo.
            disconnect: disconnects it.
            choose: called with the address of another servo.
            acknowledge: clears a fault.
            stop: switches the motor off.
        """
        super().__init__()
        self.setObjectName("statusBar")
        self.setFixedHeight(52)
        self._name = name
        self._connect, self._disconnect = connect, disconnect
        self._connected = False
        row = hbox(self, spacing=10, margins=(14, 4, 10, 4))
        self.state = QLabel("OFF")
        self.state.setObjectName("stateWord")
        self.state.setFixedHeight(32)
        describe(self.state, "State of the servo", "Current state of the servo")
        self.servo = ElidedLabel()
        self.servo.setObjectName("servoName")
        self.numbers = label("", "muted")
        describe(self.numbers, "Supply and temperature", "Supply voltage and temperature of the servo")
        self.connect_button: QToolButton = tool("Connect", "", "")
        self.connect_button.clicked.connect(self._toggle)
        self.connect_button.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.connect_button.setMinimumHeight(30)
        self.menu = QMenu(self)
        self.menu.setAccessibleName("Servos to connect")
        self._choices, self._choose = choices, choose
        self.menu.aboutToShow.connect(self._fill_menu)
        self._fill_menu()
        self.connect_button.setMenu(self.menu)
        self.acknowledge_button: QPushButton = button("Acknowledge", FAULT_TIP, acknowledge)
        self.fault = label("")
        self.fault.setWordWrap(True)
        self.fault.setMinimumWidth(FAULT_WIDTH)
        describe(self.fault, "Why commands are refused", "Why commands are refused, and for how long")
        self.cycles = label("", "muted")
        describe(self.cycles, "Sampling", "Rate of the recorder, and cycles skipped in this run")
        self.stop_button: QPushButton = button(
            " STOP   Esc", "Switch the motor off at once. Esc does the same from everywhere", stop, "stop"
        )
        self.stop_button.setAccessibleName("Emergency stop")
        ThemeIcon(self.stop_button, "stop", "on_stop", 18)
        self.stop_button.setMinimumHeight(36)
        # First in the row, so that it fits on every screen.
        for widget in (self.stop_button, self.state, self.servo, self.numbers, self.connect_button):
            row.addWidget(widget)
        row.addWidget(self.acknowledge_button)
        row.addWidget(self.fault, 100)
        row.addStretch(1)
        row.addWidget(self.cycles)
        self.show_view(ServoView(), 0.0)

    def show_view(self, view: ServoView, rate: float, priority: str = "", needed: bool = False) -> None:
        """Show the servo's state; rate: sampling rate of its runs [Hz], needed: the page can do nothing without it."""
        restyle(self, "state", view.kind)
        restyle(self.state, "state", view.kind)
        self.state.setText(view.word)
        self.servo.setText(self._name())
        numbers = [
            fixed(value, digits, unit)
            for value, digits, unit in ((view.supply_voltage, 1, "V"), (view.temperature, 0, "°C"))
            if math.isfinite(value)
        ]
        self.numbers.setText("  ·  ".join(numbers))
        self._connected = view.state is not ServoState.DISCONNECTED or view.connecting
        next_step = needed and view.unready
        restyle(self.connect_button, "kind", "primary" if next_step and not self._connected else "")
        restyle(self.acknowledge_button, "kind", "primary" if next_step else "")
        text = "Disconnect" if self._connected else "Connect"
        tip = (
            "Switch the motor off and disconnect the servo"
            if self._connected
            else "Connect to this servo; the arrow offers others"
        )
        self.connect_button.setText(text)
        describe(self.connect_button, text, tip)
        self._show_refusal(view)
        if self._connected and view.state is not ServoState.FAULT:
            skipped = f"  ·  {view.skipped} skipped" if view.length else ""
            errors = f", {counted(view.bus_errors, 'bus error')}" if view.bus_errors else ""
            self.cycles.setText(f"{rate:.0f} Hz{skipped}{errors}")
            self.cycles.setToolTip(
                f"Rate of the recorder, cycles without a sample in this run, and lost answers. {priority}"
            )
        else:
            self.cycles.setText("")

    def _show_refusal(self, view: ServoView) -> None:
        """Show why commands are refused, in the place of the numbers."""
        refusing = view.state is ServoState.FAULT
        locked = f"locked for another {math.ceil(view.locked_for)} s" if view.locked_for > 0.0 else ""
        text = capitalised(view.fault)
        if view.stopped or not refusing:
            text = capitalised("; ".join(filter(None, ("the motor is off" if refusing else "", locked))))
        self.fault.setText(shorten(text, FAULT_LENGTH, placeholder=" …"))
        self.fault.setToolTip(text)
        restyle(self.fault, "role", "fault" if refusing and not view.stopped else "muted")
        self.fault.setVisible(bool(text))
        self.numbers.setVisible(not refusing)
        self.acknowledge_button.setVisible(refusing)
        if refusing:
            name = "Ready again" if view.stopped else "Acknowledge"
            tip = "Allow commands to the servo again" if view.stopped else FAULT_TIP
            self.acknowledge_button.setText(name)
            describe(self.acknowledge_button, name, tip)

    def _fill_menu(self) -> None:
        self.menu.clear()
        for title, address in self._choices():
            action = QAction(f"{title} (simulated)", self.menu)
            action.triggered.connect(lambda _=False, address=address: self._choose(address))
            self.menu.addAction(action)

    def _toggle(self) -> None:
        if self._connected:
            self._disconnect()
        else:
            self._connect()
