"""Settings of placing: motor torques, repeats, and the capture of rests."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QUndoStack
from PySide6.QtWidgets import QCheckBox, QToolButton

from bench_gui.headless.place.torques import torques_from
from bench_gui.place.placing import Placing
from bench_gui.settings import Settings
from bench_gui.undo import change
from bench_gui.widgets.fields import (
    FIELD_WIDTH,
    ListEdit,
    Section,
    button,
    choice,
    describe,
    label,
    number,
    restyle,
    whole,
)
from core.base.units import typeset
from core.base.words import capitalised

_ALONE = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


class KeyButton(QToolButton):
    """Shows a key; after a click it takes over the next key pressed."""

    chosen = Signal(str)

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._listening = False
        self.setProperty("kind", "small")
        self.setFixedWidth(FIELD_WIDTH)
        describe(
            self, "Capture key", "Key that captures a rest; a foot pedal works like a key. Click, then press the key"
        )
        self.clicked.connect(self._listen)
        self._show()

    @property
    def listening(self) -> bool:
        """True while the next key is taken over."""
        return self._listening

    def show_key(self, key: str) -> None:
        """Show another key."""
        self._key = key
        self._show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take over the pressed key while listening; Esc stays the emergency stop and cannot be chosen."""
        if not self._listening:
            super().keyPressEvent(event)
            return
        if event.key() in _ALONE:
            return
        self._listening = False
        if event.key() != Qt.Key.Key_Escape:
            self._key = QKeySequence(event.keyCombination()).toString()
            self.chosen.emit(self._key)
        self._show()

    def _listen(self) -> None:
        self._listening = True
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._show()

    def _show(self) -> None:
        self.setText("press a key…" if self._listening else self._key)


class TorqueForm(Section):
    """Quantity to measure, motor torques to hold, and the number of repeats."""

    def __init__(self, placing: Placing, undo: QUndoStack) -> None:
        super().__init__("Motor torques [N·m]")
        self._placing, self._undo = placing, undo
        self.measured = choice(
            "Measure",
            "Drive and backdrive torques, or the way of the load between its contacts with the gears",
            [("Torques", False), ("Backlash", True)],
        )
        self.measured.setFixedWidth(FIELD_WIDTH)
        self.measured.activated.connect(lambda _: placing.set_backlash(self.measured.currentData()))
        self.row("Measure", self.measured)
        self.torques = describe(
            ListEdit(),
            "Motor torques",
            "Motor torques to hold in turn [N·m], e.g. 0.3, 0.6 or from:to:step 0.3:0.9:0.1",
        )
        self.torques.editingFinished.connect(self._edit_torques)
        self.wide(self.torques)
        self.hint = label("", "muted")
        self.hint.setWordWrap(True)
        self.wide(self.hint)
        self.suggest_button = button("Suggest", "Use torques that suit the bench and its model", self._suggest, "small")
        caption = self.row("Torques for this bench", self.suggest_button)
        self._of_torques = (self.torques, caption, self.suggest_button)
        self.repeats = whole("Repeats", "Number of measurements of each extreme", placing.plan.repeats, 1, 20)
        self.repeats.valueChanged.connect(self._edit_repeats)
        self.row("Repeats", self.repeats)
        placing.plan_changed.connect(self._show)
        placing.changed.connect(lambda: self.measured.setEnabled(not placing.active))
        self._show()

    def _edit_torques(self) -> None:
        placing, found = self._placing, torques_from(self.torques.text())
        self.torques.refuse(found if isinstance(found, str) else "")
        if isinstance(found, str):
            self._hint(found, "fault")
        elif found != placing.plan.torques:
            change(self._undo, "motor torques", placing.plan.set_torques, self._chosen, found)
        else:
            self._show()

    def _suggest(self) -> None:
        change(self._undo, "motor torques", self._placing.plan.set_torques, self._chosen, ())

    def _edit_repeats(self, repeats: int) -> None:
        placing = self._placing
        change(self._undo, "repeats", placing.plan.set_repeats, placing.plan.repeats, repeats, "place repeats")

    @property
    def _chosen(self) -> tuple[float, ...]:
        """The user's torques; empty for the suggested ones."""
        return () if self._placing.plan.suggested else self._placing.plan.torques

    def _show(self) -> None:
        placing = self._placing
        self.measured.setCurrentIndex(self.measured.findData(placing.backlash))
        self.heading.setText("BACKLASH" if placing.backlash else "MOTOR TORQUES [N·m]")
        for part in self._of_torques:
            part.setVisible(not placing.backlash)
        self.torques.setText(", ".join(typeset(f"{torque:g}") for torque in placing.plan.torques))
        self.torques.refuse("")
        suggested = placing.plan.suggested and not placing.backlash
        self._hint(placing.plan.suggestion().reason if suggested else "", "muted")
        with QSignalBlocker(self.repeats):
            self.repeats.setValue(placing.plan.repeats)

    def _hint(self, text: str, role: str) -> None:
        self.hint.setText(capitalised(text))
        self.hint.setVisible(bool(text))
        restyle(self.hint, "role", role)


class CaptureForm(Section):
    """Conditions under which a rest is captured."""

    def __init__(self, placing: Placing, settings: Settings) -> None:
        super().__init__("Capture")
        self._placing, self._settings = placing, settings
        self.auto: QCheckBox = describe(
            QCheckBox("Capture when steady"),
            "Capture when steady",
            "Capture each rest automatically. With a real servo, the program cannot detect a hand on the pendulum",
        )
        self.auto.clicked.connect(placing.set_auto)
        self.wide(self.auto)
        self.steady = number(
            "Steady time", "Time the pendulum must stay still", "s", placing.steady_time, 0.2, 10.0, 1, 0.1
        )
        self.steady.valueChanged.connect(placing.set_steady_time)
        self.row("Steady for", self.steady)
        self.key = KeyButton(settings.capture_key)
        self.key.chosen.connect(self._choose_key)
        self.row("Capture key", self.key)
        placing.plan_changed.connect(self._show)
        settings.changed.connect(self._show_key)
        self._show()

    def _choose_key(self, key: str) -> None:
        self._settings.set("capture_key", key)

    def _show_key(self, _: str) -> None:
        self.key.show_key(self._settings.capture_key)

    def _show(self) -> None:
        self.auto.setChecked(self._placing.auto)
        with QSignalBlocker(self.steady):
            self.steady.setValue(self._placing.steady_time)
