"""Flags, heartbeats and state shared by the recorder's process, its guardian and the program that holds both.

Every field is one aligned word with one writer, so each is read whole. A torque is a word with the bits of a float.
Times are nanoseconds of `time.perf_counter_ns`, which is one monotonic clock for all processes of a machine.
"""

from __future__ import annotations

import time
from multiprocessing.context import SpawnContext

import numpy as np

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
"""Each field has a cache line to itself, so that the two sides do not slow each other down."""


class Control:
    """The shared block. Picklable while a process starts; anonymous, so nothing can be left behind."""

    def __init__(self, context: SpawnContext) -> None:
        self._memory = context.RawArray("q", 8 * len(_FIELDS))

    def view(self) -> ControlView:
        """Map the block in this process."""
        return ControlView(self)

    @property
    def words(self) -> np.ndarray:
        """(8·fields,) the block as integers."""
        return np.frombuffer(self._memory, dtype=np.int64)


class ControlView:
    """Named access to the block."""

    def __init__(self, control: Control) -> None:
        self._words = control.words
        self._numbers = self._words.view(np.float64)

    def get(self, name: str) -> int:
        """Value of a field."""
        return int(self._words[_INDEX[name]])

    def set(self, name: str, value: int) -> None:
        """Store a field."""
        self._words[_INDEX[name]] = value

    def number(self, name: str) -> float:
        """Value of a field that holds a number."""
        return float(self._numbers[_INDEX[name]])

    def set_number(self, name: str, value: float) -> None:
        """Store a number in a field."""
        self._numbers[_INDEX[name]] = value

    def stamp(self, name: str) -> None:
        """Store the present moment in a field."""
        self._words[_INDEX[name]] = time.perf_counter_ns()

    def announce(self, name: str, seconds: float) -> None:
        """Store the moment `seconds` from now in a field."""
        self._words[_INDEX[name]] = time.perf_counter_ns() + int(1e9 * seconds)

    @property
    def may_be_driven(self) -> bool:
        """Whether the motor may be driven: neither the recorder nor, after its end, the guardian knows better."""
        return bool(self.get("driven")) and self.get("guard_confirmed_at") <= self.get("recorder_beat")

    def age(self, name: str) -> float:
        """Seconds since the moment in a field."""
        return 1e-9 * (time.perf_counter_ns() - int(self._words[_INDEX[name]]))
