"""The drive profile CiA 402 as far as this bench needs it: status words and the control words that follow.

    NOT_READY → SWITCH_ON_DISABLED → READY → SWITCHED_ON → OPERATION_ENABLED → (torque)
                      ↑ 0x80 (reset)                              │ any fault
                    FAULT ←───────────── FAULT_REACTION ←─────────┘

`PowerSwitch` sends one control word per cycle and takes no further step before the drive has confirmed the last one. On
the way down it does not wait: there, every control word removes the torque on its own.
"""

from __future__ import annotations

from enum import Enum

CYCLIC_POSITION = 8
CYCLIC_TORQUE = 10
MODES = {CYCLIC_POSITION: "cyclic synchronous position", CYCLIC_TORQUE: "cyclic synchronous torque"}
"""Values of 0x6060 and 0x6061."""

DISABLE_VOLTAGE = 0x00
SHUTDOWN = 0x06
SWITCH_ON = 0x07
ENABLE_OPERATION = 0x0F
FAULT_RESET = 0x80

STATUS_MASK = 0x6F
"""The other bits report warnings, limits and voltage; eRob drives set 7, 9 and 12 in every state."""


_ERRORS = {
    0x2: "current",
    0x3: "voltage",
    0x4: "temperature",
    0x5: "hardware of the drive",
    0x6: "software of the drive",
    0x7: "encoder, brake or another part",
    0x8: "communication or supervision",
    0xA: "master offline",
}
_KNOWN_ERRORS = {
    0x2310: "overcurrent",
    0x3210: "overvoltage",
    0x3220: "undervoltage",
    0x4210: "drive too hot",
    0x4310: "drive too hot",
    0x730F: "encoder battery low",
    0x7305: "encoder",
    0x8611: "following error",
    0xA000: "master offline: frames came too irregularly",
}


def error_text(code: int) -> str:
    """Return an error code of 0x603F or of an emergency as text: known ones by name, others by CiA 402's groups."""
    meaning = _KNOWN_ERRORS.get(code) or _ERRORS.get(code >> 12, "of the drive's own list")
    return f"0x{code:04X} ({meaning})"


class DriveState(Enum):
    """State of the drive's power stage."""

    NOT_READY = "not ready to switch on"
    SWITCH_ON_DISABLED = "switch on disabled"
    READY = "ready to switch on"
    SWITCHED_ON = "switched on"
    OPERATION_ENABLED = "operation enabled"
    QUICK_STOP = "quick stop active"
    FAULT_REACTION = "fault reaction active"
    FAULT = "fault"

    @property
    def released(self) -> bool:
        """True if there is no torque in the motor."""
        return self in _RELEASED

    @property
    def faulty(self) -> bool:
        """True if the drive reports a fault of its own."""
        return self in (DriveState.FAULT, DriveState.FAULT_REACTION)


_RELEASED = frozenset(
    (
        DriveState.NOT_READY,
        DriveState.SWITCH_ON_DISABLED,
        DriveState.READY,
        DriveState.SWITCHED_ON,
        DriveState.FAULT,
    )
)

_BY_STATUS = (
    (0x4F, 0x00, DriveState.NOT_READY),
    (0x4F, 0x40, DriveState.SWITCH_ON_DISABLED),
    (0x6F, 0x21, DriveState.READY),
    (0x6F, 0x23, DriveState.SWITCHED_ON),
    (0x6F, 0x27, DriveState.OPERATION_ENABLED),
    (0x6F, 0x07, DriveState.QUICK_STOP),
    (0x4F, 0x0F, DriveState.FAULT_REACTION),
    (0x4F, 0x08, DriveState.FAULT),
)

_UPWARDS = (
    (SHUTDOWN, DriveState.READY),
    (SWITCH_ON, DriveState.SWITCHED_ON),
    (ENABLE_OPERATION, DriveState.OPERATION_ENABLED),
)
"""Control word and the state it leads to."""
_DOWNWARDS = (SWITCH_ON, SHUTDOWN, DISABLE_VOLTAGE)


def drive_state(status_word: int) -> DriveState | None:
    """Return the state of a 0x6041 by CiA 402's table of states; None for a combination that it does not contain."""
    return next((state for mask, bits, state in _BY_STATUS if status_word & mask == bits), None)


class PowerSwitch:
    """Leads one drive from state to state. Starts switched off; `control_word` is called once per cycle.

    A status word shows the result of the previous cycle's control word, so each word is kept until it is confirmed.
    """

    def __init__(self, dwell: int) -> None:
        """Create a switch in the state off.

        Args:
            dwell: Cycles for which a drive is seen in each state on the way up before the next one.
        """
        self._dwell = dwell
        self._on = False
        self._step = len(_DOWNWARDS) - 1
        self._seen_for = 0
        self._resets = 0

    def switch_on(self) -> None:
        """Lead the drive to OPERATION_ENABLED from the next cycle on. This does not leave a fault."""
        if not self._on:
            self._on = True
            self._resets = 0
            self._step = self._seen_for = 0

    def switch_off(self) -> None:
        """Lead the drive to SWITCH_ON_DISABLED; the first cycle still enables it, for a torque of zero."""
        if self._on:
            self._on = False
            self._step = -1

    def reset_fault(self, times: int = 4) -> None:
        """Request that the switched-off drive leave FAULT, `times` times; each one is an edge of the reset bit."""
        self._resets = 2 * times

    def control_word(self, state: DriveState | None) -> int:
        """Return the control word of this cycle for a drive that was last seen in `state`."""
        return self._word_up(state) if self._on else self._word_down(state)

    def _word_up(self, state: DriveState | None) -> int:
        if state is None or state.faulty:
            return DISABLE_VOLTAGE
        self._seen_for = self._seen_for + 1 if state is _UPWARDS[self._step][1] else 0
        if self._seen_for > self._dwell and self._step < len(_UPWARDS) - 1:
            self._step += 1
            self._seen_for = 0
        return _UPWARDS[self._step][0]

    def _word_down(self, state: DriveState | None) -> int:
        if self._step < 0:
            self._step = 0
            return ENABLE_OPERATION if state is DriveState.OPERATION_ENABLED else SWITCH_ON
        word = _DOWNWARDS[self._step]
        self._step = min(self._step + 1, len(_DOWNWARDS) - 1)
        if word == DISABLE_VOLTAGE and self._resets:
            self._resets -= 1
            return FAULT_RESET if self._resets % 2 and state is DriveState.FAULT else DISABLE_VOLTAGE
        return word
