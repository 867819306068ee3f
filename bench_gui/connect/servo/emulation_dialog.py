"""Dialog that starts an emulated servo and injects faults."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QStandardPaths, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from bench_gui.connect.servo.connection import field_widget
from bench_gui.connect.servo.emulation import Emulation
from bench_gui.widgets.fields import MARGIN, Section, button, choice, describe, label, restyle, vbox
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.errors import ServoBenchError
from core.base.words import capitalised
from drivers.emulators.registry import emulator_families
from drivers.family import Family

USAGE_LENGTH = 22
USAGE_TIP = "Choose a command to insert it into the line beside"
WHAT = (
    "The emulator is a device on a bus, in its own process. The driver exchanges the same bytes with it as with "
    "hardware. It carries the load entered under Bench."
)

FAULTS = (
    ("Unplugged", "Unplug the adapter, and plug it in again", "unplug on", "unplug off"),
    ("Silent", "The servo obeys but does not answer", "mute on", "mute off"),
    ("Lose answers", "Lose the next 20 answers", "drop 20", ""),
    ("Hot", "The servo reports 95 °C", "temperature 95", "temperature off"),
    ("Low supply", "The servo reports a supply of 3 V", "supply 3", "supply off"),
    ("Stuck encoder", "The encoder always reports the same position", "stuck on", "stuck off"),
)
"""Title and tip of each common fault, and the console commands that start and end it; "": it ends on its own."""

ADAPTER = {"unplug on": "unplug", "unplug off": "plug"}
"""Console commands of an emulated serial adapter, which differ from the others."""


def kept_link() -> str:
    """Path of an emulated serial port that stays the same while the window is open."""
    places = QStandardPaths.StandardLocation.RuntimeLocation
    folder = QStandardPaths.writableLocation(places) or tempfile.gettempdir()
    return str(Path(folder) / f"servobench-servo-{os.getpid()}")


class EmulationDialog(QDialog):
    """Not modal; the emulator keeps running when the dialog is closed."""

    chosen = Signal(str)
    """Address of the emulated servo to connect to."""

    def __init__(self, parent: QWidget, emulation: Emulation) -> None:
        super().__init__(parent)
        self.setWindowTitle("Emulated servo")
        self.resize(760, 560)
        self._emulation = emulation
        self._families = {family.name: family for family in emulator_families()}
        column = vbox(self, margins=(MARGIN, MARGIN, MARGIN, MARGIN))
        what = label(WHAT, "muted")
        what.setWordWrap(True)
        column.addWidget(what)
        self.bus: QComboBox = choice("Bus", "Kind of servo", [(f.title, f.name) for f in self._families.values()])
        self.bus.activated.connect(lambda _: self._build())
        column.addWidget(self.bus)
        self._body = Section("")
        self._body.heading.hide()
        column.addWidget(self._body)
        self._read: dict[str, Callable[[], str]] = {}
        self.fields: dict[str, QWidget] = {}
        row = QHBoxLayout()
        self.state: QLabel = label("", "muted")
        self.state.setWordWrap(True)
        self.state.setAccessibleName("Emulator")
        self.start_button = StartButton("Start", "", self._toggle, self)
        self.use_button: QPushButton = button("Use", "Enter its address into the form", self._use)
        row.addWidget(self.state, 1)
        row.addWidget(self.use_button)
        row.addWidget(self.start_button)
        column.addLayout(row)
        self._add_console(column)
        self._listing = False
        emulation.started.connect(self._started)
        emulation.ended.connect(self._ended)
        emulation.answered.connect(self._answered)
        self._build()
        if emulation.running:
            self._ask_for_commands()
        self._enable()
        for made in self.findChildren(QPushButton):
            made.setAutoDefault(False)  # Enter belongs to the line of the console

    def _add_console(self, column: QVBoxLayout) -> None:
        self.log: QPlainTextEdit = describe(
            QPlainTextEdit(), "Console", "Commands sent to the emulator, and its answers"
        )
        self.log.setReadOnly(True)
        self.log.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.log.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        column.addWidget(self.log, 1)
        row = QHBoxLayout()
        row.addWidget(label("Faults", "muted"))
        self.faults: list[QPushButton] = [self._fault_button(*fault) for fault in FAULTS]
        for made in self.faults:
            row.addWidget(made)
        row.addStretch(1)
        column.addLayout(row)
        row = QHBoxLayout()
        self.usages: QComboBox = choice("Commands", USAGE_TIP, [])
        self.usages.setMinimumContentsLength(USAGE_LENGTH)
        self.usages.activated.connect(lambda _: self._take_usage())
        self.line: QLineEdit = describe(QLineEdit(), "Console line", "A command for the emulator; help lists all")
        self.line.setPlaceholderText("help")
        self.line.returnPressed.connect(self._say)
        row.addWidget(self.usages)
        row.addWidget(self.line, 1)
        column.addLayout(row)

    def done(self, result: int) -> None:
        """Close; the emulator keeps running."""
        for signal, slot in (
            (self._emulation.started, self._started),
            (self._emulation.ended, self._ended),
            (self._emulation.answered, self._answered),
        ):
            signal.disconnect(slot)
        super().done(result)

    @property
    def family(self) -> Family:
        """The chosen family."""
        return self._families[self.bus.currentData()]

    def _build(self) -> None:
        self._body.clear()
        self.fields, self._read = {}, {}
        for field in self.family.fields:
            default = kept_link() if field.name == "link" else field.default
            widget, read = field_widget(field, default, lambda: None)
            self.fields[field.name], self._read[field.name] = widget, read
            if isinstance(widget, QLineEdit):
                widget.setFixedWidth(max(widget.width(), widget.fontMetrics().horizontalAdvance(default) + 24))
            if isinstance(widget, QComboBox):
                widget.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
                widget.setFixedWidth(widget.sizeHint().width())
            self._body.row(field.title, widget)

    def _toggle(self) -> None:
        if self._emulation.running:
            self._emulation.stop()
            return
        if held_by(self):
            return
        self.log.clear()
        try:
            self._emulation.start(self.family.address({name: read() for name, read in self._read.items()}))
        except ServoBenchError as error:
            self._ended(str(error))
            return
        self.state.setText("Starting…")
        self._enable()

    def _started(self, address: str) -> None:
        self._ask_for_commands()
        self._enable()

    def _ended(self, reason: str) -> None:
        self._enable()
        self.state.setText(capitalised(reason))
        self.state.setProperty("role", "fault" if reason else "muted")
        self.state.style().polish(self.state)

    def _enable(self) -> None:
        running, addresses = self._emulation.running, self._emulation.addresses
        for widget in (self.bus, *self.fields.values()):
            widget.setEnabled(not running)
        text = "Stop" if running else "Start"
        self.start_button.setText(text)
        describe(self.start_button, text, "Stop the emulator" if running else "Start the emulator")
        self.use_button.setEnabled(bool(addresses))
        restyle(self.use_button, "kind", "primary" if running else "")
        restyle(self.start_button, "kind", "" if running else "primary")
        for widget in (self.usages, self.line, *self.faults):
            widget.setEnabled(bool(addresses))
        if not running:
            for made in self.faults:
                made.setChecked(False)
        if addresses:
            self.state.setText(f"Running at {', '.join(addresses)}")
            self.state.setProperty("role", "muted")
            self.state.style().polish(self.state)

    def _use(self) -> None:
        self.accept()
        self.chosen.emit(self._emulation.addresses[0])

    # The console.

    def _ask_for_commands(self) -> None:
        self._listing = True
        self._emulation.say("help")

    def _fault_button(self, title: str, tip: str, begin: str, end: str) -> QPushButton:
        made = button(title, tip, lambda: self._tell(end if end and not made.isChecked() else begin))
        made.setCheckable(bool(end))
        return made

    def _take_usage(self) -> None:
        self.line.setText(self.usages.currentData().partition(" ")[0] + " ")
        self.line.setFocus()

    def _say(self) -> None:
        text = self.line.text().strip() or "help"
        self.line.clear()
        self._tell(text)

    def _tell(self, text: str) -> None:
        if self.family.name != "ethercat":
            text = ADAPTER.get(text, text)
        self.log.appendPlainText(f"> {text}")
        self._emulation.say(text)

    def _answered(self, text: str) -> None:
        if self._listing:
            self._listing = False
            with QSignalBlocker(self.usages):
                self.usages.clear()
                for usage in (line.partition("  ")[0].strip() for line in text.splitlines()):
                    self.usages.addItem(usage, usage)
            return
        self.log.appendPlainText(text)
