"""Recordings: commands and measurements of one run, with everything needed to simulate it again.

This module also defines the protocol by which the recorder hands samples to a store, so that `drivers` and `sessions`
need not know each other.
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

from core.base.arrays import Array
from core.base.errors import InputError
from core.base.guards import is_array
from core.base.words import counted
from core.document.table import Tabular
from core.motion.trajectories import Trajectory
from core.servo.actuator import COMMANDS, Command
from core.servo.bench import Bench
from core.servo.catalogue import servo_provenance
from core.servo.settings import ServoSettings


@dataclass(frozen=True)
class Channel:
    """One column of a recording."""

    name: str
    unit: str
    description: str
    kind: str = "f8"


RECORDED_CHANNELS = (
    Channel("time", "s", "time of the sample since the start of the run"),
    Channel("goal_position", "rad", "commanded position, held until the next sample"),
    Channel("torque_enable", "1", "1 while the motor is driven, 0 while it is released", "u1"),
    Channel("position", "rad", "measured position, 0 = hanging down, counter-clockwise positive"),
    Channel("velocity", "rad/s", "velocity reported by the servo"),
    Channel("current", "A", "motor current reported by the servo"),
    Channel("duty_cycle", "1", "signed share of the supply voltage on the motor"),
    Channel("supply_voltage", "V", "supply voltage at the servo"),
    Channel("temperature", "degC", "temperature of the servo"),
    Channel("read_duration", "s", "duration of the bus read of this sample"),
    Channel("command_time", "s", "time at which this sample's goal was commanded, since the start of the run"),
    Channel("skipped_cycles", "1", "cycles missed since the previous sample", "u4"),
    Channel("bus_errors", "1", "failed bus transactions since the previous sample, including repeated ones", "u4"),
)
"""Channels that the recorder writes. The first four are always there; NaN is a value that the servo did not report."""

COMMAND_CHANNELS = tuple(
    Channel(each.channel, each.unit, f"{each.words.partition(' ')[2]} that is commanded, held until the next sample")
    for each in COMMANDS.values()
    if each.kind != "position"
)
"""Channels of which a run that is not commanded by an angle has one in place of goal_position."""

LOAD_CHANNELS = (
    Channel("load_inertia", "kg·m²", "inertia of all that turns with a joint of a robot"),
    Channel("load_sine", "N·m", "torque of gravity against the joint per sine of its angle"),
    Channel("load_cosine", "N·m", "torque of gravity against the joint per cosine of its angle"),
    Channel("load_torque", "N·m", "torque on the joint from the motion of the other joints"),
)
"""Channels of a joint in a robot whose other joints move, all or none of them; they take the place of the bench.

They are computed from the motion of the robot and are not stored."""

CHANNELS = (*RECORDED_CHANNELS, *COMMAND_CHANNELS)
"""Every channel that a stored run may hold."""

REQUIRED_CHANNELS = ("time", "goal_position", "torque_enable", "position")

COUNT_CHANNELS = tuple(channel.name for channel in CHANNELS if channel.kind == "u4")
"""Counts since the previous sample; they are not interpolated."""

MOTOR_CHANNELS = ("current", "duty_cycle")
"""Motor channels that a servo may report; a fit uses one only if it takes it for the command."""

FIT_CHANNELS = (
    "time", "command_time", "goal_position", "torque_enable", "position", "velocity", "supply_voltage",
    *(channel.name for channel in COMMAND_CHANNELS),
)  # fmt: skip
"""Stored channels that an identification uses."""

READ_CHANNELS = (*FIT_CHANNELS, *MOTOR_CHANNELS)
"""Channels that are read for an identification, which may take a measured one for the command."""

JOINT, MOTION = "joint", "motion"
"""Entries of the provenance of a joint's run: its name in the robot, and the motion that all joints made together."""

STATUS_WORDS = {"success": "complete", "abort": "aborted", "fail": "failed", "crashed": "recovered"}
"""Displayed word for each way a run can end, by its stored name."""

DIRECTIONS = {1: "counter-clockwise", -1: "clockwise"}
"""Direction in which the pendulum turns, as seen by the user, when the servo's angle increases."""

MEASURED, LONGEST_GAP = 0.5, 0.05
"""Smallest share of samples with a measured current or duty cycle, and the longest time without one [s], to simulate
from it."""

TRIM_TOLERANCE = 1e-9
"""Tolerance for rounding when a trim time is compared with a sample time [s]."""

SAMPLE_DTYPE = np.dtype([(channel.name, channel.kind) for channel in RECORDED_CHANNELS])
"""One row of a run on its way from the recorder to a store."""

_NAMES: list[str] = [channel.name for channel in RECORDED_CHANNELS]
Sample = namedtuple("Sample", _NAMES)  # pyright: ignore[reportUntypedNamedTuple]
"""The same row as a tuple with the names of the channels."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recording(Tabular):
    """One measured run. Arrays share their first axis (n,); times increase strictly.

    Example:
        >>> run = sb.example().load_all()[0]
        >>> run.position.shape == run.time.shape
        True
    """

    id: str
    trajectory: str
    bench: Bench
    settings: ServoSettings
    channels: Mapping[str, NDArray[Any]]
    """Arrays (n,) by channel name, see CHANNELS and LOAD_CHANNELS; only channels with data are present."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Origin of the run: source file, creator, start time, exit status, uid, git revision."""
    unread: tuple[str, ...] = ()
    """Channels that the store holds in addition to these."""

    def __post_init__(self) -> None:
        required = (self.command.channel, *(name for name in REQUIRED_CHANNELS if name != "goal_position"))
        for name in required:
            if name not in self.channels:
                raise InputError(f"recording {self.id}: channel {name} is missing")
        n = len(self.channels["time"])
        if n < 2:
            raise InputError(f"recording {self.id}: {counted(n, 'sample')} only, at least 2 are needed")
        for name, values in self.channels.items():
            if values.shape != (n,):
                raise InputError(f"recording {self.id}: channel {name} has shape {values.shape}, not ({n},)")
        for name in required:
            if not np.all(np.isfinite(self.channels[name])):
                raise InputError(f"recording {self.id}: channel {name} contains values that are not finite")
        if not np.all(np.diff(self.time) > 0):
            raise InputError(f"recording {self.id}: times do not increase strictly")

    def heading(self) -> str:
        """Return run, servo, bench, gain, sample count and duration."""
        law = f"kp {self.settings.kp:g}" if self.command.kind == "position" else f"commanded by {self.command.words}"
        about = f"{self.id}, {self.settings.servo}, {self.load_in_words}, {law}"
        return f"{about}, {self.samples} samples, {self.duration:.1f} s"

    @property
    def load_in_words(self) -> str:
        """Pendulum, or joint of a robot, in words."""
        return f"joint {self.joint} of a robot" if self.joint else f"{self.bench.mass:g} kg at {self.bench.length:g} m"

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return the channels, (n,) each."""
        return self.channels

    @property
    def time(self) -> Array:
        """Time since the start of the run [s], (n,)."""
        return self.channels["time"]

    @property
    def command(self) -> Command:
        """Command of the servo."""
        given = [command for command in COMMANDS.values() if command.channel in self.channels]
        if len(given) > 1:
            names = " and ".join(command.channel for command in given)
            raise InputError(f"recording {self.id}: it has {names}, but a servo follows only one of them")
        return given[0] if given else COMMANDS["position"]

    @property
    def goal(self) -> Array:
        """Command in its own unit, (n,), held until the next sample."""
        return self.channels[self.command.channel]

    @property
    def goal_position(self) -> Array:
        """Commanded position [rad], (n,), held until the next sample; NaN if the servo is commanded otherwise."""
        goal = self.channels.get("goal_position")
        return np.full(self.samples, np.nan) if goal is None else goal

    @property
    def command_time(self) -> Array:
        """Time at which each sample's goal was commanded [s], (n,); the sample's own time where it is unknown."""
        known = self.channels.get("command_time")
        return self.time if known is None else np.where(np.isfinite(known), known, self.time)

    @property
    def torque_enable(self) -> NDArray[np.bool_]:
        """True where the motor is driven, (n,)."""
        return self.channels["torque_enable"].astype(bool)

    @property
    def position(self) -> Array:
        """Measured position [rad], (n,)."""
        return self.channels["position"]

    @property
    def load(self) -> Array | None:
        """Load of a joint in a robot at each sample, in the order of LOAD_CHANNELS, (n, 4); None on the bench."""
        if LOAD_CHANNELS[0].name not in self.channels:
            return None
        return np.column_stack([self.channels[channel.name] for channel in LOAD_CHANNELS])

    @property
    def joint(self) -> str:
        """Joint of a robot that moved, by its name; empty for a pendulum."""
        return str(self.provenance.get(JOINT, ""))

    @property
    def external_torque(self) -> Array:
        """Torque of the load on the shaft at each sample [N·m], (n,), without what its inertia takes."""
        load = self.load
        if load is None:
            return -self.bench.gravity_torque * np.sin(self.position + self.bench.angle_offset)
        return load[:, 3] - load[:, 1] * np.sin(self.position) - load[:, 2] * np.cos(self.position)

    def commanded(self, kind: str) -> Recording:
        """Return the run as one that this kind of command drove, from the measured current or duty cycle if need be.

        A measured value stands for the time around its sample.

        Args:
            kind: One of `core.servo.actuator.COMMANDS`.

        Raises:
            InputError: The run has no such command, nor has it been measured.
        """
        if self.command.kind == kind:
            return self
        wanted = COMMANDS[kind]
        measured = self.channels.get(kind, np.array([])) if kind in MOTOR_CHANNELS else np.array([])
        known = np.isfinite(measured)
        if len(places := np.flatnonzero(known)) > 1:
            gaps = np.diff(self.time[places])
            wide = int(np.argmax(gaps))
            if gaps[wide] > max(LONGEST_GAP, 3.0 * float(np.median(np.diff(self.time)))):
                raise InputError(
                    f"recording {self.id}: no {kind.replace('_', ' ')} was measured for {gaps[wide]:.3g} s at "
                    f"{self.time[places[wide]] - self.time[0]:.4g} s; trim the run to the part before or after it, or "
                    "leave it out"
                )
        if known.sum() < max(2, MEASURED * self.samples):
            raise InputError(
                f"recording {self.id}: the model is commanded by {wanted.words}, this run by {self.command.words}"
                + (f", and no {kind.replace('_', ' ')} was measured" if kind in MOTOR_CHANNELS else "")
            )
        channels = {name: values for name, values in self.channels.items() if name != self.command.channel}
        since = np.concatenate([self.time[:1], 0.5 * (self.time[1:] + self.time[:-1])])
        filled = np.interp(self.time, self.time[known], measured[known])
        return replace(self, channels={**channels, wanted.channel: filled, "command_time": since})

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.time)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.time[-1] - self.time[0])

    @property
    def content_sha256(self) -> str:
        """Hash of everything a fit reads: channels, trajectory, bench and settings, but not id or provenance."""
        header = json.dumps([self.trajectory, self.bench.to_json(), self.settings.to_json()], sort_keys=True)
        digest = hashlib.sha256(header.encode())
        for name in (*FIT_CHANNELS, *(channel.name for channel in LOAD_CHANNELS)):
            if name in self.channels:
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(self.channels[name], dtype=np.float64).data)
        return digest.hexdigest()

    def conditions(self) -> dict[str, str | float]:
        """Return the conditions that a split or a table may group runs by; of an actuator or a robot only if set."""
        of_actuator = {
            name: value for name in ("actuator", "preset") if (value := getattr(self.settings, name)) is not None
        }
        of_robot = {name: str(self.provenance[name]) for name in (JOINT, MOTION) if name in self.provenance}
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
            **of_robot,
        }

    def trimmed(self, begin: float | None = None, end: float | None = None) -> Recording:
        """Return the samples from `begin` to `end`.

        Times do not change, and the provenance notes the trim. The rest may begin in motion: if the servo did not
        report the velocity of the new first sample, it is computed from the positions around it.

        Args:
            begin: Start of the kept part [s after the first sample]. None keeps the start of the run.
            end: End of the kept part [s after the first sample]. None keeps the end of the run.

        Raises:
            InputError: A time lies outside the run, or fewer than 2 samples are left.
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
        """Return velocities [rad/s], (n,), with a central difference at `sample` if none was reported there."""
        reported = self.channels.get("velocity")
        velocity = np.full(self.samples, np.nan) if reported is None else reported.astype(np.float64)
        if not np.isfinite(velocity[sample]):
            around = slice(sample - 1, sample + 2)
            velocity[sample] = np.gradient(self.position[around], self.time[around])[1]
        return velocity

    def resampled(self, dt: float) -> Recording:
        """Return the run on a regular grid from its first to its last sample.

        Measurements are interpolated linearly. Commands (goal, torque enable) are held: each takes effect at the grid
        point nearest to its `command_time`. Jitter of the times therefore does not delay it by a time step.

        Args:
            dt: Time between samples [s].

        Raises:
            InputError: The time step is not possible.
        """
        if not dt > 0:
            raise InputError(f"recording {self.id}: cannot resample with a time step of {dt} s")
        t = self.time
        grid = float(t[0]) + dt * np.arange(int(np.floor((t[-1] - t[0]) / dt * (1 + 1e-12) + 1e-9)) + 1)

        def last_of(times: Array) -> NDArray[np.intp]:
            return np.clip(np.searchsorted(times, grid + 0.5 * dt, side="right") - 1, 0, len(t) - 1)

        commanded, sampled = last_of(self.command_time), last_of(t)
        channels: dict[str, NDArray[Any]] = {"time": grid}
        for name, values in self.channels.items():
            if name in (self.command.channel, "torque_enable"):
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


def require_loads(*recordings: Recording) -> None:
    """Raise InputError for a run of a robot's joint without its load, which follows from the robot's file."""
    for run in recordings:
        if run.joint and run.load is None:
            what = f"recording {run.id} is of the joint {run.joint} of a robot, whose load depends on the other joints"
            raise InputError(f"{what}: use bench robot identify or bench robot evaluate, with the robot's file")


@dataclass(frozen=True, kw_only=True)
class RunHeader:
    """Facts about a run that are known before its first sample."""

    trajectory: str
    bench: Bench
    settings: ServoSettings
    rate: float
    """Nominal sampling rate [Hz]."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])


def run_header(
    trajectory: Trajectory, bench: Bench, settings: ServoSettings, rate: float, address: str, direction: int = 1
) -> RunHeader:
    """Return the header of a run; address: that of the servo, direction: one of DIRECTIONS."""
    return RunHeader(
        trajectory=trajectory.name,
        bench=bench,
        settings=settings,
        rate=rate,
        provenance={
            "servo_address": address,
            "positive_direction": DIRECTIONS[direction],
            "trajectory_parameters": trajectory.parameters.numbers(),
            "trajectory_duration": trajectory.duration,
            **servo_provenance(settings.servo),
        },
    )


class SampleSink(Protocol):
    """Destination of a recorder's samples, owned by the recorder's process."""

    def append(self, rows: NDArray[Any]) -> None:
        """Take rows of SAMPLE_DTYPE, (k,); they may be buffered for at most half a second."""
        ...

    def finish(self, exit_status: str, reason: str = "") -> str:
        """Seal the run and return its id. The exit status is "success", "abort", "fail" or "crashed"."""
        ...


class SinkDescription(Protocol):
    """Picklable description from which the recorder's process builds its sink."""

    def open(self, header: RunHeader) -> SampleSink:
        """Create the run's file and return the sink for its samples."""
        ...
