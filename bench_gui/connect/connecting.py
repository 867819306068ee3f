"""Choice of servo and bench: chosen, scanned or emulated, and the messages when that fails."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.connect.bench.presets import Presets
from bench_gui.connect.servo.centring import Centring
from bench_gui.connect.servo.emulation import Emulation
from bench_gui.connect.servo.scanning import Scanning
from bench_gui.state.journal import SERVO, Journal
from bench_gui.state.servo_link import EMULATED, REAL, SIMULATED, ServoLink, servo_name
from bench_gui.state.setup import BenchSetup
from bench_gui.work.activity import Activities
from bench_gui.work.background import Background
from core.servo.catalogue import load_servo
from drivers.registry import ServoAddress, family
from drivers.servo import ServoIdentity

DEFAULT_SERVO = "simulated:mx106"
LOAD = "load"
"""Cause of the notice that another servo replaced the load."""


class Connecting(QObject):
    """One servo at a time. The bench follows the chosen servo, and the data of the connected one."""

    servo_chosen = Signal()

    def __init__(
        self,
        address: str,
        undo: QUndoStack,
        background: Background,
        activities: Activities,
        journal: Journal,
    ) -> None:
        """Prepare the choice of a servo.

        Args:
            address: Servo to start with.
            undo: Stack that receives edits of the bench.
            background: Thread for slow calls.
            activities: List of the work in progress.
            journal: Receives the messages.

        Raises:
            ServoBenchError: There is no such servo.
        """
        super().__init__()
        self._journal = journal
        self.setup = BenchSetup(load_servo(servo_name(address) or servo_name(DEFAULT_SERVO)), undo)
        self.presets = Presets(undo, lambda save: background.submit("presets", save))
        self.scanning = Scanning(background, activities)
        self.emulation = Emulation(self.setup, lambda process: background.submit("emulator", process.close))
        self.servo = ServoLink(
            address,
            lambda recorder: background.submit("servo", recorder.close),
            self.emulation.hand_at,
            self.emulation.emulates,
        )
        self.centring = Centring(self.servo, background, journal)
        self.lasting_address = address
        """Address of the last chosen servo that is not emulated; emulated ones end with the window."""
        self.presets.notice.connect(lambda text: journal.say("warning", text, task="Bench"))
        self.emulation.ended.connect(lambda reason: journal.add("error", reason) if reason else None)
        self._suited = self.setup.bench
        """Bench for which the present servo replaced the load."""
        self.setup.changed.connect(lambda: journal.settle(LOAD) if self.setup.bench != self._suited else None)
        self.servo.problem.connect(lambda text: journal.say("error", text, SERVO))
        self.servo.connected.connect(self._meet)

    @property
    def title(self) -> str:
        """Name of the servo, with the kind first unless it is real."""
        servo = self.servo
        address = ServoAddress.parse(servo.address)
        mark = "" if servo.origin == REAL else f"{servo.origin.upper()} "
        if servo.identity is not None:
            return mark + servo.identity.title.replace(f" ({SIMULATED})", "")
        if servo.origin == SIMULATED:
            return mark + self.setup.spec.title
        title = family(address.family).title
        return mark + title if servo.origin == EMULATED else f"{title} {':'.join(address.parts)}"

    def choose_servo(self, address: str) -> None:
        """Choose another servo and disconnect the present one.

        Raises:
            AddressError: The address is not valid; nothing has changed.
        """
        name = servo_name(address)
        self.servo.disconnect_servo()
        self.servo.address = address
        if self.servo.origin != EMULATED:
            self.lasting_address = address
        if name:
            self._suit(name)
        self.servo_chosen.emit()

    def connect_to(self, address: str) -> None:
        """Choose a servo and connect to it."""
        self.choose_servo(address)
        self.servo.connect_servo()

    def tick(self) -> None:
        """Process what arrived since the last call."""
        self.servo.tick()
        self.scanning.tick()
        self.emulation.tick()

    def _suit(self, name: str) -> None:
        """Adapt the bench to a servo, and say if that replaces the load."""
        before = self.setup.bench
        self.setup.suit(load_servo(name))
        self._suited = now = self.setup.bench
        if now != before:
            self._journal.say(
                "info",
                f"the load is now {now.mass:g} kg at {now.length:g} m, as usual for {self.setup.spec.title}; "
                f"Undo (Ctrl+Z) brings back {before.mass:g} kg at {before.length:g} m",
                LOAD,
            )

    def _meet(self, identity: ServoIdentity) -> None:
        self._suit(identity.model)
        self.setup.set_rate(identity.regular_rate(self.setup.rate))
