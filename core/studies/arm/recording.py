"""Recordings of an arm with two joints, commands and motion, read from CSV files.

Two sets of column names are known. ServoBench's: time, q1, q2, v1, v2, tau1, tau2, and goal1, goal2 for an arm under
position control. DFKI's double pendulum: time, pos_meas1 or pos1, vel_meas1 or vel1, tau_con1 or tau1, tau_meas1, and
the same with 2. Its tau_con is the whole command to the motor, friction compensation (tau_fric) included, so nothing is
added to it. Its tau_meas is the torque that the driver derives from its current.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.words import counted
from core.motion.smoothing import interpolated

LARGEST_TEXT = 256 << 20
"""Size limit of a CSV file, uncompressed [B]."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "position": ("q", "pos_meas", "pos"),
    "velocity": ("v", "vel_meas", "vel"),
    "torque": ("tau_con", "tau"),
    "measured_torque": ("tau_meas",),
    "goal": ("goal",),
}
"""Column names of each quantity without the joint number 1 or 2; the first one found is used."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmRecording:
    """Run of an arm. Rows are samples, columns are joints 1 and 2."""

    id: str
    time: Array
    """Time [s], strictly increasing from 0, shape (n,)."""
    position: Array
    """Angles of joint 1 from hanging down and joint 2 from link 1 [rad], shape (n, 2)."""
    velocity: Array | None = None
    """Measured velocities [rad/s], shape (n, 2)."""
    torque: Array | None = None
    """Commanded motor torques [N·m], held until the next sample, shape (n, 2)."""
    measured_torque: Array | None = None
    """Torques reported by the drivers [N·m], shape (n, 2)."""
    goal: Array | None = None
    """Commanded angles [rad], held until the next sample, shape (n, 2); None under torque control."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        n = len(self.time)
        if n < 2:
            raise InputError(f"recording {self.id}: {counted(n, 'sample')}: too few, at least 2 are required")
        if self.time.shape != (n,) or not np.all(np.isfinite(self.time)) or not np.all(np.diff(self.time) > 0):
            raise InputError(f"recording {self.id}: times must be finite and increase strictly")
        for name in COLUMNS:
            values = getattr(self, name)
            if values is None:
                continue
            if values.shape != (n, 2):
                raise InputError(f"recording {self.id}: {name} has shape {values.shape}, not ({n}, 2)")
            if not np.all(np.isfinite(values)):
                raise InputError(f"recording {self.id}: {name} holds values that are not finite")

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.time[-1] - self.time[0])

    def resampled(self, dt: float) -> ArmRecording:
        """Resample the run at a regular time step dt [s].

        Measurements are interpolated and commands averaged over each step. The mean of a held command moves the arm
        like the command itself, wherever in the step it changes. Raises InputError if the time step is not positive or
        longer than the run.
        """
        if not 0 < dt < self.duration:
            raise InputError(f"recording {self.id}: a time step of {dt} s is not possible in {self.duration:.3g} s")
        grid = self.time[0] + dt * np.arange(int(np.floor(self.duration / dt + 1e-9)) + 1)
        changed: dict[str, Array] = {"time": grid}
        for name in ("position", "velocity", "measured_torque"):
            values = getattr(self, name)
            if values is not None:
                changed[name] = interpolated(grid, self.time, values)
        for name in ("torque", "goal"):
            values = getattr(self, name)
            if values is not None:
                changed[name] = _held(self.time, values, grid, dt)
        return replace(self, **changed)


def _held(time: Array, values: Array, grid: Array, dt: float) -> Array:
    """Return the mean over each step of a command that is held between samples and after the last."""
    ends = np.append(grid, grid[-1] + dt)
    until = np.append(time, max(ends[-1], time[-1] + dt))
    area = np.vstack([np.zeros(2), np.cumsum(values * np.diff(until)[:, None], axis=0)])
    return np.diff(interpolated(ends, until, area), axis=0) / dt


def read_arm_csv(path: Path | str) -> ArmRecording:
    """Read a CSV file, gzipped or plain; see the module for its columns in s, rad, rad/s, N·m.

    Of samples with the same time, the last one counts. Raises InputError naming the file and the problem.
    """
    file = Path(path)
    heading, rows = _table(file)
    columns = {name.strip(): place for place, name in enumerate(heading)}
    if "time" not in columns:
        raise InputError(f"{file}: no column time; available: {_listed(heading)}")
    time = rows[:, columns["time"]]
    if np.any(np.diff(time) < 0):
        raise InputError(f"{file}: times decrease at sample {int(np.argmax(np.diff(time) < 0)) + 2}")
    kept = np.append(np.diff(time) > 0, True)
    found: dict[str, Array] = {}
    spelled: dict[str, str] = {}
    for quantity, spellings in COLUMNS.items():
        for spelling in spellings:
            pair = [f"{spelling}1", f"{spelling}2"]
            if all(name in columns for name in pair):
                found[quantity] = rows[kept][:, [columns[name] for name in pair]]
                spelled[quantity] = spelling
                break
    if "position" not in found:
        raise InputError(f"{file}: no positions of two joints (q1, q2 or pos1, pos2); available: {_listed(heading)}")
    if "torque" not in found and "goal" not in found:
        raise InputError(f"{file}: no commands (tau1, tau2 or goal1, goal2); available: {_listed(heading)}")
    name = file.name.removesuffix(".gz").removesuffix(".csv")
    try:
        return ArmRecording(
            id=name, time=time[kept] - time[kept][0], provenance={"source": file.name, "columns": spelled}, **found
        )
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _table(file: Path) -> tuple[Sequence[str], Array]:
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            content = stream.read(LARGEST_TEXT + 1)
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "neither a CSV file nor a gzipped one"
        raise InputError(f"{file}: cannot be read as a recording of an arm: {reason}") from None
    if len(content) > LARGEST_TEXT:
        raise InputError(f"{file}: too large for a recording of an arm")
    first, _, rest = text.partition("\n")
    heading = first.strip().split(",")
    if not rest.strip():
        raise InputError(f"{file}: no samples below the heading")
    try:
        rows = np.loadtxt(io.StringIO(rest), delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise InputError(f"{file}: {str(error)[:200]} (rows are counted below the heading)") from None
    if rows.shape[1] != len(heading):
        raise InputError(f"{file}: {len(heading)} columns in the heading, {rows.shape[1]} in the rows")
    return heading, rows


def _listed(heading: Sequence[str]) -> str:
    return repr(", ".join(heading)[:200])
