"""Centring of a servo from the window, by the code of `bench servo centre`.

The recorder owns the bus, so the servo is disconnected first, which releases it. It is connected and prepared again
once the change is written or declined.
"""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from bench_gui.state.journal import Journal
from bench_gui.state.servo_link import ServoLink
from bench_gui.work.background import Background
from drivers.errors import CommandError
from drivers.feetech.centre import Changes, centre, centring
from drivers.registry import resolve
from drivers.serial_bus.source import SerialSource
from drivers.servo import ServoState

LANE = "servo"
"""Lane in which recorders are closed, so that a call in it finds the bus free."""


class Centring:
    """Reads, writes and connects again; nothing else connects meanwhile."""

    def __init__(self, servo: ServoLink, background: Background, journal: Journal) -> None:
        self._servo, self._background, self._journal = servo, background, journal
        self._address = ""
        self.dialog: QMessageBox | None = None
        """The question, once what centring changes was read."""

    def begin(self, window: QWidget) -> None:
        """Disconnect a released servo, read what centring changes, and ask in front of a window."""
        if self._servo.busy or self._servo.view.state is not ServoState.READY:
            return
        self._address, self._servo.held = self._servo.address, "the servo is being centred; wait a moment"
        self._servo.disconnect_servo()
        self._background.submit(
            LANE, _changes, self._address, done=lambda changes: self._ask(window, changes), failed=self._fail
        )

    def _ask(self, window: QWidget, changes: Changes) -> None:
        """Show what centring changes in the registers, and ask; everything but *Centre* declines."""
        rows = "\n".join(f"{name}: {now} → {new}" for name, (now, new) in changes.items())
        box = QMessageBox(QMessageBox.Icon.Question, "Centre the servo", "Make the present position the centre?")
        box.setParent(window, Qt.WindowType.Dialog)
        box.setInformativeText(
            f"{rows}\n\nThe load must hang still. The motor is off. The servo keeps this without power, "
            "and its angle is 0 here afterwards: measure the zero again."
        )
        agree = box.addButton("Centre", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.finished.connect(lambda _: self._answered(changes, box.clickedButton() is agree))
        self.dialog = box
        box.open()

    def _answered(self, shown: Changes, agreed: bool) -> None:
        """Make the present position the centre, if that is wanted, and connect again."""
        self.dialog = None
        if not agreed:
            self._end()
            return

        def done(_: None) -> None:
            self._journal.say("info", "the servo was centred, and read back", task="Bench")
            self._end()

        self._background.submit(LANE, _centre, self._address, shown, done=done, failed=self._fail)

    def _end(self) -> None:
        """Connect again, unless another servo was chosen or the window is closed."""
        self._servo.held = ""
        if self._servo.address == self._address and not self._background.closed:
            self._servo.connect_servo()

    def _fail(self, reason: str) -> None:
        self._servo.held = ""
        self._servo.problem.emit(f"centring the servo failed: {reason}")


def _source(address: str) -> SerialSource:
    source = resolve(address)
    if not isinstance(source, SerialSource):
        raise CommandError(f"{address}: only servos on a serial bus can be centred")
    return source


def _changes(address: str) -> Changes:
    with _source(address).registers() as registers:
        return centring(registers)


def _centre(address: str, shown: Changes) -> None:
    with _source(address).registers() as registers:
        centre(registers, shown)
