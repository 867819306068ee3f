"""Flags, heartbeats and state shared by the recorder's process, its guardian and the program.

Every field is one aligned word with one writer, so each read returns a whole value. A torque is a word with the bits of
a float. Times are nanoseconds of `time.perf_counter_ns`, one monotonic clock for all processes of a machine.
"""

from __future__ import annotations

from multiprocessing.context import SpawnContext

import numpy as np

from drivers import timing

_FIELDS = (
    # Written by the program.
    "beat",
    "stop_requests",
    "stop_requested_at",
    "abort_requests",
    "close_requested",
    "wanted_torque",
    "hold_ends",
    # Written by the recorder's process.
    "recorder_beat",
    "quiet_until",
    "servo_state",
    "driven",
    "phase",
    "run",
    "run_length",
    "run_done",
    "skipped_cycles",
    "bus_errors",
    "stop_released_at",
    "held_torque",
    # Written by the guardian.
    "guarding",
    "guarded_at",
    "guard_confirmed_at",
)
_INDEX = {name: 8 * place for place, name in enumerate(_FIELDS)}
"""Index of each field's word. Each field has its own cache line, so that the two sides do not slow each other down."""


class Control:
    """The shared block. Picklable while a process starts; anonymous, so that nothing can be left behind."""

    def __init__(self, context: SpawnContext) -> None:
        self._memory = context.RawArray("q", 8 * len(_FIELDS))

    def view(self) -> ControlView:
        """Map the block in this process."""
        return ControlView(self)

    @property
    def words(self) -> np.ndarray:
        """The block as integers, shape (8·fields,)."""
        return np.frombuffer(self._memory, dtype=np.int64)


class ControlView:
    """Access to the block by field name."""

    def __init__(self, control: Control) -> None:
        self._words = control.words
        self._numbers = self._words.view(np.float64)

    def get(self, name: str) -> int:
        """Return the value of a field."""
        return int(self._words[_INDEX[name]])

    def set(self, name: str, value: int) -> None:
        """Store the value of a field."""
        self._words[_INDEX[name]] = value

    def number(self, name: str) -> float:
        """Return the value of a field that holds a float."""
        return float(self._numbers[_INDEX[name]])

    def set_number(self, name: str, value: float) -> None:
        """Store a float in a field."""
        self._numbers[_INDEX[name]] = value

    def stamp(self, name: str) -> None:
        """Store the current time in a field."""
        self._words[_INDEX[name]] = timing.now_ns()

    def announce(self, name: str, seconds: float) -> None:
        """Store the time `seconds` from now in a field."""
        self._words[_INDEX[name]] = timing.now_ns() + int(1e9 * seconds)

    @property
    def may_be_driven(self) -> bool:
        """True if the motor may be driven: neither the recorder nor, after its end, the guardian confirmed it off."""
        return bool(self.get("driven")) and self.get("guard_confirmed_at") <= self.get("recorder_beat")

    def age(self, name: str) -> float:
        """Return the seconds since the time in a field."""
        return 1e-9 * (timing.now_ns() - int(self._words[_INDEX[name]]))
