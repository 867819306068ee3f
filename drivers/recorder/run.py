"""Data of a run in the recorder: the plan before it, rows during it, the result after it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.words import counted
from core.motion.recording import RECORDED_CHANNELS, SAMPLE_DTYPE, RunHeader
from core.motion.trajectories import Trajectory
from drivers.errors import CommandError
from drivers.limits import Limits
from drivers.reading import Reading

HIGHEST_RATE = 5000.0
"""[Hz]"""
NEARLY = 0.9
"""Smallest share of a rate that counts as reached."""
CYCLES_IN_WATCHDOG = 2.0
"""A servo's watchdog has to span more than one cycle, since one may be late."""


class Phase(IntEnum):
    """Current activity of the recorder; each live row holds the phase in which it was read."""

    STARTING = 0
    IDLE = 1
    """Released, watching."""
    APPROACH = 2
    """Moving slowly to a run's first goal and coming to rest there."""
    RUN = 3
    RETURN = 4
    """Waiting until the pendulum hangs, then moving slowly back to 0 rad."""
    CLOSED = 5
    HOLD = 6
    """Holding a motor torque while the user moves the pendulum."""


LIVE_DTYPE = np.dtype(
    [
        *((channel.name, channel.kind) for channel in RECORDED_CHANNELS),
        ("clock", "f8"),
        ("run", "u4"),
        ("phase", "u1"),
        ("held_torque", "f8"),
    ]
)
"""A row of the live ring: a sample, the moment on the servo's clock [s], the run's number, the phase, the torque held.

`time` and `command_time` are NaN outside the phase RUN, `held_torque` [N·m] outside HOLD."""


def check_rate(rate: float, watchdog: float = 0.0) -> None:
    """Check a cycle rate.

    Args:
        rate: Cycle rate [Hz].
        watchdog: Time after which the servo stops on a silent bus [s]; 0 for none.

    Raises:
        CommandError: for a rate that no loop can keep, or so low that the watchdog takes it for silence.
    """
    if not 0 < rate <= HIGHEST_RATE:
        raise CommandError(f"a rate of {rate} Hz is not possible; choose one up to {HIGHEST_RATE:g} Hz")
    if rate * watchdog < CYCLES_IN_WATCHDOG and watchdog:
        raise CommandError(
            f"at {rate:g} Hz the servo would stop on its own, since its watchdog waits {1e3 * watchdog:.0f} ms; "
            f"choose at least {CYCLES_IN_WATCHDOG / watchdog:.0f} Hz"
        )


@dataclass(frozen=True, eq=False)
class RunPlan:
    """A trajectory sampled at the cycle rate, as sent to the recorder's process."""

    name: str
    rate: float
    """[Hz]"""
    goal: NDArray[np.float64]
    """(n,) goals [rad], each held until the next cycle."""
    torque_enable: NDArray[np.bool_]
    """(n,)"""

    @classmethod
    def sample(cls, trajectory: Trajectory, rate: float) -> RunPlan:
        """Sample a trajectory at `rate` [Hz]; the run lasts its duration.

        Raises:
            CommandError: for fewer than 2 samples, or goals that are not finite.
        """
        check_rate(rate)
        count = round(trajectory.duration * rate)
        if count < 2:
            raise CommandError(
                f"trajectory {trajectory.name} of {trajectory.duration} s has {counted(count, 'sample')} at {rate} Hz; "
                "at least 2 are needed"
            )
        time = np.arange(count) / rate
        goal = np.ascontiguousarray(trajectory.goal(time), dtype=np.float64)
        if not np.all(np.isfinite(goal)):
            raise CommandError(f"trajectory {trajectory.name} holds goals that are not finite numbers")
        return cls(trajectory.name, rate, goal, np.ascontiguousarray(trajectory.torque_enable(time), dtype=bool))

    def check(self, limits: Limits) -> None:
        """Raise CommandError if a driven goal lies outside the angle limits: it would be clamped, not followed."""
        driven = self.goal[self.torque_enable]
        if len(driven) and (driven.min() < limits.lowest_position or driven.max() > limits.highest_position):
            raise CommandError(
                f"trajectory {self.name} goes from {driven.min():.3f} to {driven.max():.3f} rad, outside the limits "
                f"{limits.lowest_position:.3f} to {limits.highest_position:.3f} rad; reduce it or widen the limits"
            )

    def __len__(self) -> int:
        return len(self.goal)


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Result of a run."""

    run: int
    """Number of the run since the recorder was started, from 1."""
    exit_status: str
    """"success", "abort" or "fail", as passed to the sink."""
    reason: str = ""
    id: str = ""
    """Return value of the sink's `finish`; empty without a sink or if storing failed."""
    samples: int = 0
    skipped_cycles: int = 0
    """Cycles without a sample."""
    bus_errors: int = 0
    busy: bool = False
    """True if it ended only because the computer was too busy."""
    rate: float = 0.0
    """Sample rate that was asked for [Hz]."""

    @property
    def shortfall(self) -> str:
        """Say that the rate was not reached; empty if it nearly was."""
        reached = self.rate * self.samples / max(self.samples + self.skipped_cycles, 1)
        if reached >= NEARLY * self.rate:
            return ""
        return f"asked for {self.rate:.0f} Hz, got {reached:.0f}; bench doctor says whether the adapter delays answers"


@dataclass(frozen=True, kw_only=True)
class HeldSample:
    """One cycle of a held torque."""

    clock: float
    """Time on the servo's clock [s]."""
    reading: Reading
    torque: float
    """Commanded in this cycle [N·m]; during a ramp not yet the wanted one."""


@dataclass(frozen=True, kw_only=True)
class HoldResult:
    """Result of holding a torque."""

    exit_status: str
    """"success" if it was ended on purpose, "abort", "fail", or "fell" if the pendulum fell against the torque."""
    reason: str = ""


class MemorySink:
    """A sink that keeps its rows, for runs in this process; it is its own description."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[Any]] = []
        self.header: RunHeader | None = None
        self.exit_status = ""
        self.reason = ""

    def open(self, header: RunHeader) -> MemorySink:
        """Begin a run and drop the one before."""
        self._blocks = []
        self.header = header
        self.exit_status = self.reason = ""
        return self

    def append(self, rows: NDArray[Any]) -> None:
        """Keep rows of SAMPLE_DTYPE, shape (k,)."""
        self._blocks.append(rows.copy())

    def finish(self, exit_status: str, reason: str = "") -> str:
        """Note how the run ended."""
        self.exit_status, self.reason = exit_status, reason
        return ""

    @property
    def rows(self) -> NDArray[Any]:
        """Rows of the run so far, (n,) of SAMPLE_DTYPE."""
        return np.concatenate([np.empty(0, SAMPLE_DTYPE), *self._blocks])
