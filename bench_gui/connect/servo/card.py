"""Card of the connected servo: identity, condition, gains, limits and unwritten changes."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QDoubleSpinBox, QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout

from bench_gui.connect.servo.draft import Draft, ServoNumber, entries_of
from bench_gui.connect.servo.write_dialog import WriteDialog
from bench_gui.controller import Controller
from bench_gui.state.servo_link import SIMULATED, ServoView
from bench_gui.state.setup import Gains
from bench_gui.theme import themes
from bench_gui.undo import change
from bench_gui.widgets.fields import (
    MARGIN,
    AngleBox,
    ElidedLabel,
    Section,
    angle,
    button,
    describe,
    label,
    number,
    restyle,
    vbox,
)
from bench_gui.widgets.page import SideBySide
from bench_gui.widgets.start_button import StartButton, held_by
from core.base.errors import ServoBenchError
from core.base.units import fixed, significant
from core.base.words import capitalised, counted
from core.servo.catalogue import load_servo
from drivers.recorder import Phase
from drivers.recorder.messages import Configured
from drivers.registry import ServoAddress, family
from drivers.servo import ServoState

FIRMWARE = "Firmware"
_FACTS = (
    (FIRMWARE, "Firmware; of a simulated servo, the model that moves it"),
    ("ID, serial", "Address on its bus, and serial number"),
    ("Resolution", "Smallest step of the position"),
    ("Supply", "Supply voltage now"),
    ("Temperature", "Temperature now"),
    ("Servo's angle", "Present angle as the servo reports and records it; the drawing shows the pendulum's angle"),
    ("Mode", "What the servo is doing"),
    ("Watchdog", "Time after which the servo stops when no command arrives"),
)
_MODES = {
    Phase.IDLE: "motor off, monitored",
    Phase.APPROACH: "position, moving to the start",
    Phase.RUN: "position, run",
    Phase.RETURN: "position, returning to 0",
    Phase.HOLD: "torque, holding",
}
FACT_WIDTH = 120
CLEAR_TIP = "Clear the servo's error, which restarts some servos; remove its cause first"
CENTRE_TIP = "Make the position at which the load hangs the centre of the servo's turn"
_UNCONNECTED = "Gains and limits are read from the servo once it is connected."


class ServoCard(QFrame):
    """Edits stay marked until `Write…` shows and, on confirmation, writes them; never while the servo moves."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._controller = controller
        self.draft: Draft | None = None
        """None until a servo has answered."""
        self.fields: dict[str, QDoubleSpinBox] = {}
        self.captions: dict[str, QLabel] = {}
        self._entries: list[ServoNumber] = []
        self._dialog: WriteDialog | None = None
        self._sent: Draft | None = None
        self._can_centre = False
        column = vbox(self, spacing=8, margins=(MARGIN, 10, MARGIN, 10))
        self.title: ElidedLabel = describe(ElidedLabel("–"), "Servo model", "Model that the servo reports")
        self.title.setProperty("role", "title")
        column.addWidget(self.title)
        left, right = QVBoxLayout(), QVBoxLayout()
        self._facts: dict[str, QLabel] = {}
        self._names: dict[str, QLabel] = {}
        left.addWidget(self._make_facts())
        self.gains, self.limits = Section("Gains"), Section("Limits")
        # Wrapping text would otherwise take space from the fields above it.
        self.limits.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.warnings: QLabel = label("", "warning")
        self.warnings.setWordWrap(True)
        self.warnings.setAccessibleName("Notes on this servo")
        self.warnings.hide()
        self.centre_button: QPushButton = button(
            "Centre…", CENTRE_TIP, lambda: controller.connecting.centring.begin(self.window())
        )
        self.centre_button.hide()
        self.error: QLabel = label("", "fault")
        self.error.setWordWrap(True)
        self.error.setAccessibleName("Error of this servo")
        self.clear_button: QPushButton = button("Clear the error", CLEAR_TIP, controller.servo.acknowledge)
        self._show_error(ServoView())
        left.addWidget(self.gains)
        left.addStretch(1)
        right.addWidget(self.limits)
        right.addWidget(self.error)
        right.addWidget(self.clear_button)
        right.addWidget(self.warnings)
        right.addWidget(self.centre_button)
        right.addStretch(1)
        column.addWidget(SideBySide(left, right, spacing=14), 1)
        column.addLayout(self._make_foot())
        controller.servo.connected.connect(lambda _: self._begin())
        controller.servo.configured.connect(self._configured)
        controller.servo.configure_failed.connect(self._configure_failed)
        controller.setup.changed.connect(self._show_draft)
        controller.angle_unit_changed.connect(self._change_unit)
        self._rebuild()
        themes.follow(self._paint)

    def _make_facts(self) -> Section:
        section = Section("Servo")
        for name, tip in _FACTS:
            value = ElidedLabel("–")
            describe(value, name, tip)
            value.setMinimumWidth(FACT_WIDTH)
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self._facts[name] = value
            caption = self._names[name] = section.row(name, value)
            caption.setProperty("role", "muted")
            caption.setToolTip(tip)
        return section

    def _make_foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        self.state = ElidedLabel()
        self.state.setAccessibleName("Unwritten changes")
        self.discard_button: QPushButton = button("Discard", "Discard the edits", self.discard)
        self.write_button = StartButton("Write…", "", self.ask_to_write, self, kind="")
        row.addWidget(self.state, 1)
        row.addWidget(self.discard_button)
        row.addWidget(self.write_button)
        return row

    # Actions of the user.

    def edit(self, entry: ServoNumber, value: float) -> None:
        """Request another value; it is written later."""
        draft = self.draft
        if draft is None:
            return
        servo = draft.spec.name
        change(
            self._controller.undo,
            f"servo's {entry.title.lower()}",
            lambda wanted: self._want(servo, entry, wanted),
            draft.value(entry),
            value,
            f"servo {entry.name}",
        )

    def discard(self) -> None:
        """Drop all edits."""
        if self.draft is not None:
            servo = self.draft.spec.name
            change(
                self._controller.undo,
                "discard edits of the servo",
                lambda edits: self._want_all(servo, edits),
                dict(self.draft.edits),
                {},
            )

    def ask_to_write(self) -> None:
        """Show the difference and ask for confirmation."""
        if held_by(self) or self.draft is None or self.refusal():
            return
        self._dialog = WriteDialog(self, self.draft.changes(self._entries), self._controller.angle_unit, self._write)
        self._dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._dialog.finished.connect(lambda _: setattr(self, "_dialog", None))
        self._dialog.open()

    @property
    def dialog(self) -> WriteDialog | None:
        """The open confirmation dialog."""
        return self._dialog

    def refusal(self) -> str:
        """Reason why nothing can be written now; empty if it can."""
        if occupied := self._occupied():
            return occupied
        return self.draft.problem() if self.draft is not None and self.draft.edits else "there are no changes"

    def _occupied(self) -> str:
        """Reason why the servo's registers must be left alone; empty if there is none."""
        controller = self._controller
        view = controller.servo.view
        if self.draft is None or view.refusal:
            return view.refusal or ServoView().refusal
        if view.phase is Phase.HOLD:
            return "the servo holds a torque; release it first"
        if view.state is ServoState.ENABLED or view.phase is not Phase.IDLE:
            return "the servo is moving; wait until it is released"
        if controller.servo.busy or controller.queue.active:
            return "the servo is busy; wait until it has finished"
        return ""

    # Updates.

    def show_servo(self, view: ServoView) -> None:
        """Show the state of the servo."""
        servo, unit = self._controller.servo, self._controller.angle_unit
        identity = servo.identity
        if identity is None and self.draft is not None:
            self.draft = None
            self._rebuild()
        elif self.draft is not None:
            limits = servo.limits or self.draft.limits
            known = self.draft.settings if self.draft.settings_known else None
            if servo.written != known or limits != self.draft.limits:
                # A run wrote its gains in the meantime.
                self.draft = self.draft.based_on(servo.written, self._controller.setup.settings, limits)
                self._show_draft()
        fine = unit.per_radian < 1.5
        step = identity.position_step * unit.per_radian if identity else float("nan")
        named = [text for text in (identity.id, identity.serial) if text] if identity else []
        mode = _MODES.get(view.phase, "–") if view.state in (ServoState.READY, ServoState.ENABLED) else "–"
        texts = {
            FIRMWARE: identity.firmware or "–" if identity else "–",
            "ID, serial": ", ".join(named) or "–",
            "Resolution": fixed(step, 5 if fine else 3, unit.symbol),
            "Supply": fixed(view.supply_voltage, 2, "V"),
            "Temperature": fixed(view.temperature, 1, "°C"),
            "Servo's angle": fixed(view.position * unit.per_radian, 3 if fine else 1, unit.symbol),
            "Mode": "fault, motor off" if view.state is ServoState.FAULT else mode,
            "Watchdog": (fixed(1e3 * identity.watchdog, 0, "ms") if identity.watchdog else "none") if identity else "–",
        }
        self._names[FIRMWARE].setText("Model" if servo.origin == SIMULATED else FIRMWARE)
        warnings = "\n".join(capitalised(text) + "." for text in identity.warnings) if identity else ""
        if self.warnings.text() != warnings:
            self.warnings.setText(warnings)
            self.warnings.setVisible(bool(warnings))
        answered = servo.title or "No servo connected"
        if self.title.text() != answered:
            self.title.setText(answered)
        for name, text in texts.items():
            if self._facts[name].text() != text:
                self._facts[name].setText(text)
        self.centre_button.setVisible(identity is not None and self._can_centre)
        self._show_error(view)
        self._enable()

    def _show_error(self, view: ServoView) -> None:
        """Show the error of a servo in FAULT, which it may have had before it was connected, and the way out."""
        error = capitalised(view.fault) + "." if view.state is ServoState.FAULT and not view.stopped else ""
        if self.error.text() != error:
            self.error.setText(error)
        self.error.setVisible(bool(error))
        self.clear_button.setVisible(bool(error))

    def _paint(self) -> None:
        theme = themes.current
        self.setStyleSheet(
            f'QLabel[role="edited"] {{ color: {theme.moving}; font-weight: 600; }}'
            f'QLabel[role="warning"] {{ color: {theme.moving}; }}'
        )

    def _begin(self) -> None:
        """Start from the values of a servo that answered."""
        servo, setup = self._controller.servo, self._controller.setup
        identity, limits = servo.identity, servo.limits
        if identity is None or limits is None:
            return
        centres = family(ServoAddress.parse(servo.address).family).can_centre
        self._can_centre = centres and "homing_offset" in identity.facts
        spec = load_servo(identity.model)
        self.draft = Draft(
            spec=spec,
            settings=servo.written or replace(setup.settings, servo=spec.name),
            settings_known=servo.written is not None,
            limits=limits,
        )
        self._rebuild()

    def _rebuild(self) -> None:
        self.gains.clear()
        self.limits.clear()
        self.fields, self.captions = {}, {}
        draft = self.draft
        self._entries = [] if draft is None else entries_of(draft.spec, self._controller.servo.ratings or draft.limits)
        if draft is None:
            text = label(_UNCONNECTED, "muted")
            text.setWordWrap(True)
            self.limits.wide(text)
        self.gains.setVisible(draft is not None)
        for entry in self._entries:
            self._add(entry)
        self._next_run: QLabel = label("", "muted")
        self._next_run.setWordWrap(True)
        self.gains.wide(self._next_run)
        self._show_draft()

    def _add(self, entry: ServoNumber) -> None:
        if entry.unit.startswith("rad"):
            box: QDoubleSpinBox = angle(
                entry.title, entry.tip, self._controller.angle_unit, 0.0, entry.lower, entry.upper, entry.unit[3:]
            )
            assert isinstance(box, AngleBox)
            box.radians_changed.connect(lambda value: self.edit(entry, value))
        else:
            box = number(
                entry.title, entry.tip, entry.unit, entry.lower, entry.lower, entry.upper, entry.decimals, entry.step
            )
            box.valueChanged.connect(lambda value: self.edit(entry, value))
        self.fields[entry.name] = box
        self.captions[entry.name] = (self.limits if entry.is_limit else self.gains).row(entry.short, box)

    def _want(self, servo: str, entry: ServoNumber, value: float) -> None:
        # Edits for one servo do not apply to another.
        if self.draft is not None and self.draft.spec.name == servo:
            self.draft = self.draft.edited(entry, value)
            self._show_draft()

    def _want_all(self, servo: str, edits: dict[str, float]) -> None:
        if self.draft is not None and self.draft.spec.name == servo:
            self.draft = replace(self.draft, edits=edits)
            self._show_draft()

    def _write(self) -> None:
        draft = self.draft
        if draft is None or self.refusal():
            return
        try:
            self._controller.servo.configure(*draft.wanted())
        except ServoBenchError as error:
            self._configure_failed(str(error))
            return
        self._sent = draft
        self._enable()

    def _configured(self, event: Configured) -> None:
        sent, self._sent = self._sent, None
        if self.draft is None or sent is None:
            return
        setup = self._controller.setup
        if sent.gain_edits():
            # Later runs keep the written values; otherwise they would write the old ones back.
            setup.set_gains(replace(setup.gains, **sent.gain_edits()))
        self.draft = self.draft.based_on(event.settings, setup.settings, event.limits)
        self._show_draft()
        self._controller.journal.say("info", "written to the servo and read back", task="Bench")

    def _configure_failed(self, reason: str) -> None:
        self._sent = None
        self._controller.journal.say("error", f"writing to the servo failed: {reason}", task="Bench")
        self._enable()

    # Display.

    def _change_unit(self) -> None:
        for box in self.fields.values():
            if isinstance(box, AngleBox):
                box.show_in(self._controller.angle_unit)
        self.show_servo(self._controller.servo.view)

    def _show_draft(self) -> None:
        draft = self.draft
        if draft is not None:
            for entry in self._entries:
                box, edited = self.fields[entry.name], entry.name in draft.edits
                if isinstance(box, AngleBox):
                    box.set_radians(draft.value(entry))
                else:
                    with QSignalBlocker(box):
                        box.setValue(draft.value(entry))
                self.captions[entry.name].setText(f"{entry.short} ●" if edited else entry.short)
                restyle(self.captions[entry.name], "role", "edited" if edited else "")
            self._show_next_run(draft)
        self._enable()

    def _show_next_run(self, draft: Draft) -> None:
        wanted, has = self._controller.setup.gains, Gains.of(draft.settings)
        different = [
            f"{name} {significant(getattr(wanted, name), 3)}"
            for name in ("kp", "ki", "kd")
            if getattr(wanted, name) != getattr(has, name) and name not in draft.edits
        ]
        self._next_run.setText(f"The next run writes {', '.join(different)}." if different else "")
        self._next_run.setVisible(bool(different))

    def _enable(self) -> None:
        count = len(self.draft.edits) if self.draft is not None else 0
        refusal = self.refusal()
        writing = self._sent is not None
        self.write_button.setEnabled(not refusal and not writing)
        self.write_button.setToolTip(capitalised(refusal) if refusal else "Show the differences, then write them")
        hinders = self._occupied() or ("write or discard the changes first" if count else "")
        self.centre_button.setEnabled(not hinders and not writing)
        self.centre_button.setToolTip(capitalised(hinders) or CENTRE_TIP)
        self.discard_button.setEnabled(count > 0 and not writing)
        text = f"● {counted(count, 'unwritten change')}" if count else ""
        if writing:
            text = "Writing…"
        elif count and refusal:
            text += f": {refusal}"
        if self.state.text() != text:
            self.state.setText(text)
        restyle(self.state, "role", "edited" if count else "muted")
        if self._dialog is not None:
            self._dialog.refuse(capitalised(refusal))
