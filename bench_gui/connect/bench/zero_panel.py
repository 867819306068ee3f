"""Zero measurement: with the motor off, sweep the joint by hand, then let the pendulum come to rest from both sides.

`core.practice.zeroing` decides what is measured and when it counts; this panel shows the steps beside the moving
pendulum.
"""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from bench_gui.controller import Controller
from bench_gui.state.servo_link import ServoView
from bench_gui.theme import themes
from bench_gui.widgets.fields import MARGIN, button, describe, hbox, label, restyle, vbox
from bench_gui.widgets.hand_pendulum import HandPendulum
from core.base.units import fixed
from core.base.words import capitalised
from core.practice.zeroing import Side, Stage, Zero, Zeroing, ZeroingError
from core.servo.bench import STANDARD_GRAVITY
from drivers.servo import ServoState
from drivers.simulated.servo import GRAVITY_SHARE, REST_LENGTH

SPRING = 6.0
"""Stiffness of the hand on a simulated pendulum, as a multiple of the gravity torque [1/rad]."""
DAMPING_RATIO = 0.7
SINKING = 0.5
"""Damping of a hand that lets the pendulum sink, as a multiple of the gravity torque [s/rad]: 1 rad/s at half of it."""
ARM = 0.6
"""The pull of the hand stops growing beyond this angle [rad]."""
PUSH_TO = 1.2
"""Target of the push buttons, as an angle from the lowest point [rad]."""
NO_RANGE = (math.nan, math.nan)


class ZeroPanel(QFrame):
    """Takes the place of the servo's card during a zero measurement; `pendulum` takes the place of the drawing."""

    ended = Signal()
    """The zero was applied or the measurement cancelled."""

    def __init__(self, controller: Controller) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._controller = controller
        self.active = False
        self.zeroing = Zeroing()
        self.zero: Zero | None = None
        self._pull: float | None = None
        """Angle to which a push button pulls the pendulum while it is held [rad]."""
        self.pendulum = HandPendulum()
        self.pendulum.pulled.connect(self._pull_to)
        self.pendulum.pushed.connect(self._push)
        self.pendulum.let_go.connect(self._sink)
        column = vbox(self, spacing=6, margins=(MARGIN, 10, MARGIN, 10))
        column.addWidget(label("Measure the zero", "title"))
        self._steps: list[QLabel] = []
        self.motor = self._step(column, "1  Motor off", "")
        self._add_sweep(column)
        self._add_hang(column)
        self.error = label("", "fault")
        self.error.setWordWrap(True)
        self.error.setAccessibleName("Problem with the measurement")
        column.addWidget(self.error)
        column.addStretch(1)
        column.addLayout(self._make_hand())
        self._add_buttons(column)
        controller.servo.rows.connect(self._take)

    def _step(self, column: QVBoxLayout, title: str, text: str) -> QLabel:
        heading = label(title)
        self._steps.append(heading)
        column.addWidget(heading)
        body = label(text, "muted")
        body.setWordWrap(True)
        column.addWidget(body)
        return body

    def _add_sweep(self, column: QVBoxLayout) -> None:
        self._step(column, "2  Sweep", "Move the pendulum by hand through its whole range, to both sides.")
        row = hbox(spacing=8)
        self.readings: dict[str, QLabel] = {}
        for name in ("Lowest", "Now", "Highest"):
            part = vbox(spacing=0)
            value = describe(label("–", "reading"), name, "As reported by the servo")
            part.addWidget(label(name, "muted"))
            part.addWidget(value)
            part.addStretch(1)
            row.addLayout(part)
            self.readings[name] = value
        row.addStretch(1)
        buttons = QVBoxLayout()
        self.sweep_button: QPushButton = button("Sweep done", "Continue with the rest position", self.end_sweep)
        self.mirror_button: QPushButton = button(
            "Reverse the drawing",
            "The drawing moves opposite to the real pendulum: reverse its direction",
            self._mirror,
            "small",
        )
        buttons.addWidget(self.sweep_button)
        buttons.addWidget(self.mirror_button)
        row.addLayout(buttons)
        column.addLayout(row)

    def _add_hang(self, column: QVBoxLayout) -> None:
        self.hint = self._step(column, "3  Hang", "")
        self.rests: QLabel = label("")
        self.rests.setAccessibleName("Rest positions")
        column.addWidget(self.rests)
        self.result: QLabel = label("", "reading")
        self.result.setWordWrap(True)
        self.result.setAccessibleName("Zero")
        column.addWidget(self.result)
        self.remark: QLabel = label("", "muted")
        self.remark.setWordWrap(True)
        column.addWidget(self.remark)

    def _make_hand(self) -> QHBoxLayout:
        row = QHBoxLayout()
        self.push_buttons: list[QPushButton] = []
        for text, way in (("◀  Push left", -1), ("Push right  ▶", 1)):
            made = button(text, "Push the simulated pendulum while the button is held", lambda: None, "small")
            made.setAccessibleName("Push left" if way < 0 else "Push right")
            made.pressed.connect(lambda way=way: self._push(way))
            made.released.connect(self._sink)
            row.addWidget(made)
            self.push_buttons.append(made)
        row.addStretch(1)
        return row

    def _add_buttons(self, column: QVBoxLayout) -> None:
        row = QHBoxLayout()
        self.cancel_button: QPushButton = button("Cancel", "Keep the previous zero", self.cancel)
        self.again_button: QPushButton = button("Start again", "Discard the measurement and start again", self.restart)
        self.apply_button: QPushButton = button("Apply", "Use this zero for all further runs", self.apply)
        row.addWidget(self.cancel_button)
        row.addWidget(self.again_button)
        row.addStretch(1)
        row.addWidget(self.apply_button)
        column.addLayout(row)

    # Actions of the user.

    def begin(self) -> None:
        """Start a measurement."""
        self.active = True
        self.restart()

    def restart(self) -> None:
        """Discard the measurement and start again."""
        identity = self._controller.servo.identity
        self.zeroing = Zeroing(identity.position_step if identity is not None else 0.0)
        self.zero = None
        self.error.setText("")
        self._show()

    def end_sweep(self) -> None:
        """Continue with the rests, or show at once why the sweep is not enough."""
        try:
            self.zeroing.end_sweep()
            self.error.setText("")
        except ZeroingError as error:
            self._say(error)
        self._show()

    def apply(self) -> None:
        """Use the zero for the bench; can be undone."""
        zero = self.zero
        if zero is None:
            return
        self._controller.setup.edit_bench("zero", angle_offset=zero.angle_offset)
        self._controller.message.emit(
            "info", f"zero applied: the servo reads {self._in_words(zero)} at the lowest point"
        )
        self.cancel()

    def cancel(self) -> None:
        """End without a change."""
        self._let_go()
        self.active = False
        self.ended.emit()

    def _mirror(self) -> None:
        self._controller.setup.edit_direction(-self._controller.setup.direction)
        self._show()

    # Updates.

    def show_servo(self, view: ServoView) -> None:
        """Show the state of the servo; it is measured only while its motor is off."""
        if not self.active:
            return
        off = self._is_off
        if not off and (self.zeroing.rests or math.isfinite(self.zeroing.position)):
            self.restart()
        why = {
            ServoState.DISCONNECTED: "Connect the servo first.",
            ServoState.FAULT: (
                "Press Ready again first: the servo was stopped."
                if view.stopped
                else "Acknowledge the servo's fault first."
            ),
        }.get(view.state, "The motor is on; wait until the servo is released.")
        self.motor.setText("Confirmed by the servo. You can move the pendulum by hand." if off else why)
        restyle(self.motor, "role", "muted" if off else "fault")
        self._steps[0].setText(f"1  Motor off{'  ✓' if off else ''}")
        there = off and self._controller.servo.hand is not None
        self.pendulum.set_hand(there)
        for made in self.push_buttons:
            made.setVisible(self._controller.servo.hand is not None)
            made.setEnabled(there)
        if self._pull is not None:
            self._pull_to(self._pull)
        setup, unit = self._controller.setup, self._controller.angle_unit
        self.pendulum.show_bench(setup.bench)
        self.pendulum.show_torque(setup.bench.external_torque(view.position))
        self.pendulum.show_angle(setup.bench_angle(view.position), unit, themes.current.ready)
        self._show()

    def _take(self, rows: np.ndarray) -> None:
        if self.active and self._is_off:
            count = len(self.zeroing.rests)
            self.zeroing.take(rows["clock"].astype(float), rows["position"].astype(float))
            if len(self.zeroing.rests) != count:
                self._judge()

    @property
    def _is_off(self) -> bool:
        """True if the servo confirmed that its motor is off, and nothing is about to switch it on."""
        servo = self._controller.servo
        return servo.view.state is ServoState.READY and not servo.busy

    def _judge(self) -> None:
        try:
            self.zero = self.zeroing.result()
            self.error.setText("")
        except ZeroingError as error:
            self.zero = None
            self._say(error)

    def _say(self, error: ZeroingError) -> None:
        text = str(error)
        self.error.setText(capitalised(text))

    # The hand on a simulated pendulum.

    def _push(self, way: int) -> None:
        self._pull = way * PUSH_TO
        self._pull_to(self._pull)

    def _sink(self) -> None:
        """Stop pulling and damp the motion, like a hand that lets the pendulum sink."""
        self._pull = None
        hand, position = self._controller.servo.hand, self._controller.servo.view.position
        if hand is not None and math.isfinite(position):
            hand.pull_to(position, 0.0, SINKING * self._weight)

    @property
    def _weight(self) -> float:
        """Gravity torque of the load on the simulated servo, which may differ from the form [N·m]."""
        setup = self._controller.setup
        return max(setup.bench.gravity_torque, GRAVITY_SHARE * setup.spec.stall_torque)

    def _pull_to(self, bench_angle: float) -> None:
        controller = self._controller
        hand, position = controller.servo.hand, controller.servo.view.position
        if hand is None or not math.isfinite(position):
            return
        away = math.remainder(controller.setup.servo_angle(bench_angle) - position, 2.0 * math.pi)
        stiffness = SPRING * self._weight
        # A typical load has about this inertia at the length of a starting bench.
        inertia = controller.setup.bench.inertia + self._weight * REST_LENGTH / STANDARD_GRAVITY
        damping = 2.0 * DAMPING_RATIO * math.sqrt(stiffness * inertia)
        hand.pull_to(position + min(max(away, -ARM), ARM), stiffness, damping)

    def _let_go(self) -> None:
        self._pull = None
        hand = self._controller.servo.hand
        if hand is not None:
            hand.let_go()

    # Display.

    def _show(self) -> None:
        zeroing, setup, unit = self.zeroing, self._controller.setup, self._controller.angle_unit
        digits = 3 if unit.per_radian < 1.5 else 1
        sweeping = zeroing.stage is Stage.SWEEP
        shown = {"Lowest": zeroing.lowest, "Now": zeroing.position, "Highest": zeroing.highest}
        for name, value in shown.items():
            self.readings[name].setText(fixed(value * unit.per_radian, digits, unit.symbol))
        self._steps[1].setText(f"2  Sweep{'' if sweeping else '  ✓'}")
        for place, step in enumerate(self._steps):
            now = (place == 1 and sweeping) or (place == 2 and not sweeping)
            restyle(step, "role", "title" if now else "")
        self.sweep_button.setEnabled(sweeping and self._is_off)
        unready = self._controller.servo.view.unready
        for part, now in ((self.sweep_button, sweeping), (self.apply_button, not sweeping)):
            restyle(part, "kind", "primary" if now and not unready else "")
        self.hint.setText(self._advice())
        self.rests.setVisible(not sweeping)
        self.rests.setText(
            "\n".join(
                f"From the {self._side(side)}: "
                + (", ".join(fixed(r.angle * unit.per_radian, digits) for r in zeroing.rests if r.side is side) or "–")
                + f" {unit.symbol}"
                for side in (Side.BELOW, Side.ABOVE)
            )
        )
        self.result.setVisible(self.zero is not None)
        self.remark.setVisible(self.zero is not None)
        if self.zero is not None:
            self.result.setText(f"Hanging down: {self._in_words(self.zero)}")
            self.remark.setText(self._remark(self.zero))
        self.apply_button.setEnabled(self.zero is not None)
        self.apply_button.setToolTip(
            "Use this zero for the bench" if self.zero is not None else "No zero has been measured yet"
        )
        seen = sorted((setup.bench_angle(zeroing.lowest), setup.bench_angle(zeroing.highest)))
        there = math.isfinite(zeroing.position)
        self.pendulum.show_ranges((seen[0], seen[1]) if there else NO_RANGE, NO_RANGE)
        self.pendulum.show_gauge(0.0 if sweeping else zeroing.steadiness)

    def _advice(self) -> str:
        zeroing = self.zeroing
        if zeroing.stage is Stage.SWEEP:
            return "Follows the sweep."
        if zeroing.held:
            return "It rests at the end of the swept range: let go, or sweep further to both sides."
        if zeroing.swung_past:
            return "It swung past its lowest point: let it sink slowly, or repeat from both sides."
        missing = zeroing.missing()
        if len(missing) == 2:
            return "Lift it a little to one side, let it sink slowly and let go; wait until the ring is full."
        if missing:
            return (
                f"Now let it sink from the {self._side(missing[0])}: friction keeps it from reaching the lowest point."
            )
        return "Repeat from both sides to narrow the interval, or apply it."

    def _side(self, side: Side) -> str:
        """Name of a side, as seen in the drawing."""
        return "left" if (side is Side.BELOW) == (self._controller.setup.direction > 0) else "right"

    def _in_words(self, zero: Zero) -> str:
        unit = self._controller.angle_unit
        digits = 4 if unit.per_radian < 1.5 else 2
        angle, uncertainty = zero.angle * unit.per_radian, zero.uncertainty * unit.per_radian
        return f"{fixed(angle, digits)} ± {fixed(uncertainty, digits, unit.symbol)}"

    def _remark(self, zero: Zero) -> str:
        unit = self._controller.angle_unit
        band = fixed(zero.band * unit.per_radian, 3 if unit.per_radian < 1.5 else 1, unit.symbol)
        text = f"Friction lets it rest up to {band} from its lowest point."
        if self.zeroing.jumped:
            text += " The servo's angle jumps by a full turn within the swept range; keep runs away from there."
        return text
