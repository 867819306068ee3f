"""A recording: what the servo was asked and what it did, with everything needed to simulate it again.

This module also names the protocol by which the recorder hands samples to whoever stores them, so that
`drivers` and `sessions` need not know each other.
"""

from __future__ import annotations

import hashlib
import json
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.arrays import Array
from core.bench import Bench
from core.errors import InputError
from core.finite import is_array
from core.tabular import Tabular
from core.words import counted


@dataclass(frozen=True)
class Channel:
    """One column of a recording."""

    name: str
    unit: str
    description: str
    kind: str = "f8"


CHANNELS = (
    Channel("time", "s", "moment of the sample since the start of the run"),
    Channel("goal_position", "rad", "commanded position, held until the next sample"),
    Channel("torque_enable", "1", "whether the command drives the motor (1) or it is released (0)", "u1"),
    Channel("position", "rad", "measured position, 0 = hanging down, counter-clockwise positive"),
    Channel("velocity", "rad/s", "velocity as the servo reports it"),
    Channel("current", "A", "motor current as the servo reports it"),
    Channel("duty_cycle", "1", "signed share of the supply voltage on the motor"),
    Channel("supply_voltage", "V", "supply voltage at the servo"),
    Channel("temperature", "degC", "temperature of the servo"),
    Channel("read_duration", "s", "time the read of this sample took on the bus"),
    Channel("command_time", "s", "when this sample's goal was commanded, since the start of the run"),
    Channel("skipped_cycles", "1", "cycles missed since the previous sample", "u4"),
    Channel("bus_errors", "1", "failed transactions on the bus since the previous sample, repeated ones too", "u4"),
)
"""Every channel a run may hold; the first four are always there, NaN marks a value the servo did not give."""

REQUIRED_CHANNELS = ("time", "goal_position", "torque_enable", "position")

COUNT_CHANNELS = tuple(channel.name for channel in CHANNELS if channel.kind == "u4")
"""Counts since the previous sample, which are not interpolated."""

MOTOR_CHANNELS = ("current", "duty_cycle")
"""What a servo tells of its motor, which no fit compares."""

FIT_CHANNELS = ("time", "command_time", "goal_position", "torque_enable", "position", "velocity", "supply_voltage")
"""All an identification looks at; recordings need no other channel for it."""

STATUS_WORDS = {"success": "complete", "abort": "aborted", "fail": "failed", "crashed": "recovered"}
"""Word a person uses for each way a run can end, by its stored name."""

TRIM_TOLERANCE = 1e-9
"""What arithmetic may add to a time without moving it past a sample [s]."""

SAMPLE_DTYPE = np.dtype([(channel.name, channel.kind) for channel in CHANNELS])
"""One row of a run on its way from the recorder to a store."""

_NAMES: list[str] = [channel.name for channel in CHANNELS]
Sample = namedtuple("Sample", _NAMES)  # pyright: ignore[reportUntypedNamedTuple]
"""The same as a tuple, made by the names of the channels."""


@dataclass(frozen=True, kw_only=True)
class ServoSettings:
    """What was written into the servo before the run, in the servo's own gain units."""

    servo: str
    """Catalogue name, e.g. "mx106"."""
    kp: float
    ki: float = 0.0
    kd: float = 0.0
    supply_voltage: float
    """Nominal supply [V]; a recording's `supply_voltage` channel holds the measured one."""
    damping: float | None = None
    """Velocity gain of laws that have one (eRob: amps = kp·e − damping·√kp·θ̇); None: the catalogue's."""
    actuator: str | None = None
    """What moves the shaft in place of the servo's own motor: "webots", "sea", "awas2", "bavs", "qbmove"; None: nothing
    else. The gains above then do nothing."""
    preset: float | None = None
    """Stiffness preset of a compliant actuator, in its own unit (seed 003, section 2.3); None where there is none."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a file; absent values are left out."""
        return {name: value for name, value in self.__dict__.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ServoSettings:
        """Inverse of `to_json`."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"servo settings: {error}") from None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recording(Tabular):
    """One run, as measured. Arrays share their first axis (n,); times increase strictly."""

    id: str
    trajectory: str
    bench: Bench
    settings: ServoSettings
    channels: Mapping[str, NDArray[Any]]
    """Channel name to array (n,), see CHANNELS; only channels with data are present."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Who, when, with what: source file, creator, start time, exit status, uid, git revision."""
    unread: tuple[str, ...] = ()
    """Channels that the store has beside these."""

    def __post_init__(self) -> None:
        for name in REQUIRED_CHANNELS:
            if name not in self.channels:
                raise InputError(f"recording {self.id}: channel {name} is missing")
        n = len(self.channels["time"])
        if n < 2:
            raise InputError(f"recording {self.id}: {counted(n, 'sample')} only, at least 2 are needed")
        for name, values in self.channels.items():
            if values.shape != (n,):
                raise InputError(f"recording {self.id}: channel {name} has shape {values.shape}, not ({n},)")
        for name in REQUIRED_CHANNELS:
            if not np.all(np.isfinite(self.channels[name])):
                raise InputError(f"recording {self.id}: channel {name} holds values that are not finite")
        if not np.all(np.diff(self.time) > 0):
            raise InputError(f"recording {self.id}: times do not increase strictly")

    def heading(self) -> str:
        """Return run, servo, load and length."""
        load = f"{self.bench.mass:g} kg at {self.bench.length:g} m, kp {self.settings.kp:g}"
        return f"{self.id}, {self.settings.servo}, {load}, {self.samples} samples, {self.duration:.1f} s"

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return the channels, (n,) each."""
        return self.channels

    @property
    def time(self) -> Array:
        """(n,) s"""
        return self.channels["time"]

    @property
    def goal_position(self) -> Array:
        """(n,) rad, held until the next sample"""
        return self.channels["goal_position"]

    @property
    def command_time(self) -> Array:
        """When each sample's goal was commanded, (n,) s; the sample's own time where that is unknown."""
        known = self.channels.get("command_time")
        return self.time if known is None else np.where(np.isfinite(known), known, self.time)

    @property
    def torque_enable(self) -> NDArray[np.bool_]:
        """(n,)"""
        return self.channels["torque_enable"].astype(bool)

    @property
    def position(self) -> Array:
        """(n,) rad"""
        return self.channels["position"]

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.time)

    @property
    def duration(self) -> float:
        """First to last sample [s]."""
        return float(self.time[-1] - self.time[0])

    @property
    def content_sha256(self) -> str:
        """Hash of all a fit reads: the FIT_CHANNELS there are, trajectory, bench and settings; not id or provenance."""
        header = json.dumps([self.trajectory, self.bench.to_json(), self.settings.to_json()], sort_keys=True)
        digest = hashlib.sha256(header.encode())
        for name in FIT_CHANNELS:
            if name in self.channels:
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(self.channels[name], dtype=np.float64).data)
        return digest.hexdigest()

    def conditions(self) -> dict[str, str | float]:
        """What a split or a table may group runs by; actuator and preset only where there are such."""
        of_actuator = {
            name: value for name in ("actuator", "preset") if (value := getattr(self.settings, name)) is not None
        }
        return {
            "trajectory": self.trajectory,
            "mass": self.bench.mass,
            "length": self.bench.length,
            "arm_mass": self.bench.arm_mass,
            "kp": self.settings.kp,
            "ki": self.settings.ki,
            "kd": self.settings.kd,
            "supply_voltage": self.settings.supply_voltage,
            "servo": self.settings.servo,
            **of_actuator,
        }

    def trimmed(self, begin: float | None = None, end: float | None = None) -> Recording:
        """Return the samples from `begin` to `end`, in seconds from the first sample; None keeps that side.

        Times stay as they are, and the provenance notes the trim. What is left may begin in motion: where the servo
        did not report the velocity of the new first sample, it is measured from the positions around it. Raises
        InputError for a trim beyond the run or one that leaves fewer than 2 samples.
        """
        if begin is None and end is None:
            return self
        whole = f"recording {self.id}, which lasts {self.duration:g} s"
        for name, moment in (("begin", begin), ("end", end)):
            if moment is not None and not -TRIM_TOLERANCE <= moment <= self.duration + TRIM_TOLERANCE:
                raise InputError(f"{whole}: a trim cannot {name} at {moment:g} s; choose a time within the run")
        since = self.time - self.time[0]
        first = 0 if begin is None else int(np.searchsorted(since, begin - TRIM_TOLERANCE))
        last = len(since) if end is None else int(np.searchsorted(since, end + TRIM_TOLERANCE, side="right"))
        if last - first < 2:
            raise InputError(f"{whole}: the trim leaves {max(0, last - first)} of {self.samples} samples, choose more")
        channels = {name: values[first:last] for name, values in self.channels.items()}
        if first > 0:
            channels["velocity"] = self._velocity_from(first)[first:last]
        earlier = self.provenance.get("trims")
        trims = [*(earlier if is_array(earlier) else ()), {"begin": begin, "end": end}]
        return replace(self, channels=channels, provenance={**self.provenance, "trims": trims})

    def _velocity_from(self, sample: int) -> Array:
        """Velocity with a number at this sample, (n,) rad/s: the servo's, or a central difference of the position."""
        reported = self.channels.get("velocity")
        velocity = np.full(self.samples, np.nan) if reported is None else reported.astype(np.float64)
        if not np.isfinite(velocity[sample]):
            around = slice(sample - 1, sample + 2)
            velocity[sample] = np.gradient(self.position[around], self.time[around])[1]
        return velocity

    def resampled(self, dt: float) -> Recording:
        """Return the run on a regular grid of step dt [s] from its first to its last sample.

        Measurements are interpolated linearly; commands (goal, torque enable) are held, never smeared: each takes
        effect at the grid point nearest to its `command_time`, so that jitter of the times does not delay it by a step.
        """
        if not dt > 0:
            raise InputError(f"recording {self.id}: cannot resample with a step of {dt} s")
        t = self.time
        grid = float(t[0]) + dt * np.arange(int(np.floor((t[-1] - t[0]) / dt * (1 + 1e-12) + 1e-9)) + 1)

        def last_of(times: Array) -> NDArray[np.intp]:
            return np.clip(np.searchsorted(times, grid + 0.5 * dt, side="right") - 1, 0, len(t) - 1)

        commanded, sampled = last_of(self.command_time), last_of(t)
        channels: dict[str, NDArray[Any]] = {"time": grid}
        for name, values in self.channels.items():
            if name in ("goal_position", "torque_enable"):
                channels[name] = values[commanded]
            elif name in COUNT_CHANNELS:
                channels[name] = values[sampled]
            elif name not in ("time", "command_time"):
                channels[name] = np.interp(grid, t, values)
        return Recording(
            id=self.id,
            trajectory=self.trajectory,
            bench=self.bench,
            settings=self.settings,
            channels=channels,
            provenance=self.provenance,
        )


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    """What is known about a run before its first sample."""

    trajectory: str
    bench: Bench
    settings: ServoSettings
    rate: float
    """Nominal sampling rate [Hz]."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])


class SampleSink(Protocol):
    """Where a recorder puts samples; owned by the recorder's process."""

    def append(self, rows: NDArray[Any]) -> None:
        """Take rows of SAMPLE_DTYPE, shape (k,); may buffer for at most half a second."""
        ...

    def finish(self, exit_status: str, reason: str = "") -> str:
        """Seal the run and return its id. exit_status: "success", "abort", "fail" or "crashed"."""
        ...


class SinkDescription(Protocol):
    """A picklable description from which the recorder's process builds its sink."""

    def open(self, header: RunHeader) -> SampleSink:
        """Create the run's file and return the sink for its samples."""
        ...
