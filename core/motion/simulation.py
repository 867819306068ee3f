"""Simulation of one servo: a whole trajectory, the commands of a recording, or one time step at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import ModelError
from core.kernel.layout import Load, Slot
from core.kernel.rollout import OUTPUTS, SINCE, STATE, history_steps, initial_state, rollout_kernel
from core.motion.recording import Recording, require_loads
from core.motion.smoothing import savitzky_golay
from core.motion.supply import supply_of
from core.motion.trajectories import Trajectory
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.terms import Integrator, Supply

NO_LOAD = np.empty((0, len(Load)))
"""Load of each time step on the bench."""
SMOOTHING = 0.05
"""Length of the parabolas that give the velocity from which a piece of a simulation starts [s]."""
FINEST_GRID = 0.005
"""Shortest time step for resampling an irregularly sampled recording; otherwise its median sampling interval [s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """A simulated motion; sample k is the state before time step k. All arrays are (n,)."""

    time: Array
    """Time [s]."""
    goal_position: Array
    """Commanded position [rad], or another command in its own unit."""
    position: Array
    """Position [rad]."""
    velocity: Array
    """Velocity [rad/s]."""
    motor_torque: Array
    """Motor torque [N·m]."""
    current: Array
    """Motor current [A]."""
    duty_cycle: Array
    supply_voltage: Array
    """Supply voltage at the servo, after the sag [V]."""
    control: Array
    """Output of the control law [V or A], before the motor and regardless of torque enable."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Commands:
    """Commands and supply of a servo, one value per time step; all arrays are (steps,)."""

    goal: Array
    """Command at the beginning of the time step [rad, or the unit of another command]."""
    lasts: Array
    """Share of the time step during which `goal` holds before the next one; 1 where it changes between time steps."""
    enable: Array
    """Share of the time step during which the motor is driven."""
    supply: Array
    """Supply voltage [V]."""
    load: Array = field(default_factory=lambda: NO_LOAD)
    """Load of a joint in a robot in the middle of the time step, (steps, len(Load)); NO_LOAD on the bench."""


def with_integration(
    model: ServoModel, integrator: Integrator | None = None, substeps: int | None = None
) -> ServoModel:
    """Return the model with another integrator or number of substeps; None keeps the model's own."""
    return replace(
        model,
        integrator=integrator or model.integrator,
        substeps=model.substeps if substeps is None else substeps,
    )


def _run(
    model: ServoModel,
    bench: Bench,
    settings: ServoSettings,
    dt: float,
    steps: int,
    time: Array,
    goal: Array,
    commands: Commands,
    starts: Sequence[Start],
) -> Motion:
    """Simulate with `steps` time steps per sample interval of `dt` [s]."""
    out = roll_out(model, model.bound_row(bench, settings, dt / steps), commands, steps, dt, len(time), starts)
    columns = {name: np.ascontiguousarray(out[:, i]) for i, name in enumerate(OUTPUTS)}
    return Motion(time=time, goal_position=goal, **columns)


Start = tuple[int, float, float]
"""Sample at which a simulation starts, or starts again, with position [rad] and velocity [rad/s]."""


def roll_out(
    model: ServoModel, row: Array, commands: Commands, steps: int, dt: float, samples: int, starts: Sequence[Start],
    hand: Array | None = None,
) -> Array:  # fmt: skip
    """Return the samples of a simulation, (samples, len(OUTPUTS)).

    Args:
        model: The model.
        row: Its kernel row on the bench, (ROW,).
        commands: Commands of each time step.
        steps: Time steps per sample.
        dt: Time between samples [s].
        samples: Number of samples.
        starts: Where the shaft is set to a state, after the sample is taken; the command path continues. The first is
            at sample 0.
        hand: External torque of each time step [N·m]. None: no torque.
    """
    kernel = rollout_kernel(*model.kernel_variant, moving=len(commands.load) > 0)
    out, nothing = np.empty((samples, len(OUTPUTS))), np.zeros(len(commands.goal))
    state = initial_state(*starts[0][1:], row)
    for (first, position, velocity), (last, _, _) in pairwise([*starts, (samples, 0.0, 0.0)]):
        reached = state[:2].copy()
        state[0], state[1], state[SINCE] = position, velocity, 0.0
        kernel(
            row, state, commands.goal, commands.lasts, commands.enable, commands.supply, commands.load,
            nothing if hand is None else hand, nothing, nothing, first * steps, dt / steps, steps,
            out[first:last],
        )  # fmt: skip
        out[first, :2] = reached
    return out


def smoothed_velocity(position: Array, step: float) -> Array:
    """Return the slopes of parabolas through a few samples [rad/s], (n,)."""
    length = min(2 * max(1, round(0.5 * SMOOTHING / step)) + 1, len(position) - 1 + len(position) % 2)
    return savitzky_golay(position, length, 2, derivative=1, step=step) if length > 2 else np.gradient(position, step)


def simulate_trajectory(
    model: ServoModel,
    trajectory: Trajectory,
    bench: Bench,
    settings: ServoSettings,
    dt: float,
    position: float = 0.0,
    velocity: float = 0.0,
    *,
    held: bool = True,
) -> Motion:
    """Simulate a trajectory, one sample every `dt` for the trajectory's duration.

    Args:
        model: The model.
        trajectory: Goal and torque enable over time.
        bench: The bench.
        settings: Gains and supply voltage.
        dt: Time between samples [s].
        position: Position at the start [rad].
        velocity: Velocity at the start [rad/s].
        held: Command a goal every `dt` and hold it, as a computer does. False: the goal changes continuously.

    Returns:
        The motion, with n = duration / dt samples, rounded up.

    Raises:
        ModelError: The time step is not possible.
    """
    if not (math.isfinite(dt) and dt > 0):
        raise ModelError(f"a time step of {dt} s is not possible")
    count = math.ceil(trajectory.duration / dt - 1e-9)
    time = np.arange(count, dtype=np.float64) * dt
    steps = model.steps_between(dt, settings)
    commanded = np.repeat(time, steps) if held else (np.arange(count * steps) + 0.5) * (dt / steps)
    commands = Commands(
        goal=trajectory.goal(commanded),
        lasts=np.ones(count * steps),
        enable=trajectory.torque_enable(commanded).astype(np.float64),
        supply=np.full(count * steps, settings.supply_voltage),
    )
    starts = [(0, position, velocity)]
    return _run(model, bench, settings, dt, steps, time, trajectory.goal(time), commands, starts)


def sampling_step(recording: Recording) -> float:
    """Return the time step of a recording's samples [s]; if they are irregular, the median, at least FINEST_GRID."""
    steps = np.diff(recording.time)
    middle = float(np.median(steps))
    if np.all(np.abs(steps - middle) < 1e-3 * middle):
        return recording.duration / (recording.samples - 1)
    return max(middle, FINEST_GRID)


def sampling_interval(recordings: Sequence[Recording], dt: float | None = None) -> float:
    """Return the median over recordings of the time between resampled samples [s]; `dt` as for `on_grid`."""
    return float(np.median([dt or sampling_step(recording) for recording in recordings]))


def on_grid(recording: Recording, dt: float | None = None) -> tuple[Recording, float]:
    """Return a recording on a regular grid, and its time step [s].

    A recording that is on this grid already is returned as it is.

    Args:
        recording: The recording.
        dt: Time step [s]. None: that of the recording, see `sampling_step`.

    Raises:
        InputError: The time step is not possible, or the load is not known.
    """
    require_loads(recording)
    own = sampling_step(recording)
    step = own if dt is None else dt
    regular = np.allclose(np.diff(recording.time), step, rtol=1e-3, atol=0.0)
    return (recording if regular else recording.resampled(step)), step


def held_commands(
    recording: Recording,
    run: Recording,
    step: float,
    steps: int,
    supply: Supply = "logged",
    *,
    sags: bool = False,
) -> Commands:
    """Return the commands of a recording, one value per time step.

    Each command takes effect at its own time. If it changes more than once during a time step, a single change with the
    same mean stands for all.

    Args:
        recording: The recording with its original command times.
        run: The same recording on a regular grid.
        step: Time between the samples of `run` [s].
        steps: Time steps between two samples.
        supply: Supply voltage, see `supply_of`.
        sags: As for `supply_of`, see `ServoModel.sags`.
    """
    h = step / steps
    moments: Array = (np.maximum.accumulate(recording.command_time) - run.time[0]) / h
    nearest: Array = np.round(moments)
    moments = np.where(np.abs(moments - nearest) < 1e-6, nearest, moments)[1:]
    count = run.samples * steps
    before = np.clip(np.floor(moments), -1, count).astype(np.int64)
    begun = np.searchsorted(moments, np.arange(count), side="right")
    within = (before >= 0) & (before < count) & (moments > before)

    def held(values: NDArray[np.generic]) -> tuple[Array, Array]:
        """Return values at the beginning of each time step, and their means over it."""
        numbers = np.asarray(values, dtype=np.float64)
        held = numbers[begun]
        mean = held.copy()
        changes: Array = np.diff(numbers) * (1.0 - (moments - before))
        np.add.at(mean, before[within], changes[within])
        return held, mean

    commanded, volts = recording.goal, supply_of(recording, supply, sags=sags)
    if recording.command.kind == "voltage":
        commanded = commanded * (recording.settings.supply_voltage / volts)
    goal, mean = held(commanded)
    rise = np.append(np.diff(goal), 0.0)
    lasts = np.ones(count)
    np.divide(mean - goal, rise, out=lasts, where=(rise != 0.0) & (mean != goal))
    return Commands(
        goal=goal,
        lasts=np.where((rise != 0.0) & (mean != goal), np.clip(1.0 - lasts, 0.0, 1.0), 1.0),
        enable=np.clip(np.round(held(recording.torque_enable)[1], 9), 0.0, 1.0),
        supply=np.repeat(np.interp(run.time, recording.time, volts), steps),
        load=_load_of_steps(recording, run, h, count),
    )


def _load_of_steps(recording: Recording, run: Recording, h: float, count: int) -> Array:
    """Return the load in the middle of each time step of length h [s], (count, len(Load)); NO_LOAD on the bench."""
    known = recording.load
    if known is None:
        return NO_LOAD
    middle = run.time[0] + (np.arange(count) + 0.5) * h
    load = np.empty((count, len(Load)))
    for k in Load:
        load[:, k] = np.interp(middle, recording.time, known[:, k])
    load[:, 1], load[:, 2] = np.hypot(load[:, 1], load[:, 2]), np.arctan2(load[:, 2], load[:, 1])
    return load


def initial_velocity(recording: Recording) -> float:
    """Return the velocity that the servo reported at the first sample [rad/s], 0 if it did not."""
    velocity = recording.channels.get("velocity")
    first = 0.0 if velocity is None else float(velocity[0])
    return first if math.isfinite(first) else 0.0


def simulate_recording(
    model: ServoModel,
    recording: Recording,
    dt: float | None = None,
    supply: Supply = "logged",
    *,
    whole: bool = False,
) -> Motion:
    """Simulate the commands of a recording from its first measured state.

    If the command follows no measurement, as a torque does, the simulation restarts every `ControlLaw.piece` from the
    measured state.

    Args:
        model: The model.
        recording: The recording.
        dt: Time between samples [s], see `on_grid`. None: that of the recording.
        supply: Supply voltage, see `supply_of`.
        whole: Never restart.

    Returns:
        The motion on the recording's grid. Its sample times are those of `on_grid`.

    Raises:
        InputError: The time step is not possible, or the run is not commanded as the model.
    """
    recording = recording.commanded(model.control.command)
    run, step = on_grid(recording, dt)
    steps = model.steps_between(step, run.settings)
    return _run(
        model,
        run.bench,
        run.settings,
        step,
        steps,
        run.time,
        np.ascontiguousarray(run.goal, dtype=np.float64),
        held_commands(recording, run, step, steps, supply, sags=model.sags),
        starts_of(model, run, step)[: 1 if whole else None],
    )


def starts_of(model: ServoModel, run: Recording, step: float) -> list[Start]:
    """Return the measured states at which the simulation of a run on a regular grid starts, see `ControlLaw.piece`."""
    first = (0, float(run.position[0]), initial_velocity(run))
    if not model.control.piece:
        return [first]
    position = np.asarray(run.position, dtype=np.float64)
    velocity = smoothed_velocity(position, step)
    others = range(piece_samples(model, step), run.samples, piece_samples(model, step))
    return [first, *((k, float(position[k]), float(velocity[k])) for k in others)]


def piece_samples(model: ServoModel, step: float) -> int:
    """Return the number of samples of a piece, with `step` [s] between them; 0 for a model that runs in one piece."""
    return max(1, round(model.control.piece / step)) if model.control.piece else 0


class Stepper:
    """Step-by-step simulation, for the simulated servo and the live digital twin."""

    def __init__(
        self,
        model: ServoModel,
        bench: Bench,
        settings: ServoSettings,
        dt: float,
        *,
        substeps: int = 1,
        position: float = 0.0,
        velocity: float = 0.0,
    ) -> None:
        """Start at rest at a position.

        Args:
            model: The model.
            bench: The bench.
            settings: Gains and supply voltage.
            dt: Time by which one call of `step` advances [s].
            substeps: Smallest number of time steps per call.
            position: Position at the start [rad].
            velocity: Velocity at the start [rad/s].
        """
        if not (math.isfinite(dt) and dt > 0 and substeps >= 1):
            raise ModelError(f"a time step of {dt} s in {substeps} parts is not possible")
        if model.leapfrog:
            substeps = max(substeps, model.steps_between(dt, settings))
        self._h = dt / substeps
        self._substeps = substeps
        self._row = model.bound_row(bench, settings, self._h)
        self._nominal_supply = settings.supply_voltage
        self._kernel = rollout_kernel(*model.kernel_variant)
        delay = float(self._row[[Slot.DELAY, Slot.RELEASE_DELAY]].max())
        self._past = history_steps(delay, self._h) + substeps
        # The past, the current step, and the one after it.
        self._inputs = np.zeros((6, self._past + substeps + 1))
        self._lasts = np.ones(self._past + substeps + 1)
        self._out = np.zeros((1, len(OUTPUTS)))
        self._state = np.zeros(STATE)
        self.reset(position, velocity)

    def reset(self, position: float = 0.0, velocity: float = 0.0) -> None:
        """Set position [rad] and velocity [rad/s], with the motor released and no pending command."""
        self._state[:] = initial_state(position, velocity, self._row)
        self._inputs[:] = 0.0
        self._inputs[0] = position
        self._inputs[2] = self._nominal_supply
        self._lasts[:] = 1.0
        self._out[:] = 0.0
        self._out[0, 5] = self._nominal_supply

    def step(
        self,
        goal: float,
        torque_enable: float = True,
        *,
        supply_voltage: float | None = None,
        hand_torque: float = 0.0,
        motor_torque: float | None = None,
        torque_share: float = 1.0,
        next_goal: float | None = None,
        next_share: float = 0.0,
    ) -> None:
        """Advance by `dt` with a held command.

        Args:
            goal: Goal position [rad].
            torque_enable: Share of the time during which the motor is driven.
            supply_voltage: Supply voltage [V]. None: the nominal one.
            hand_torque: External torque on the shaft [N·m].
            motor_torque: Torque that replaces the position law [N·m]. None: the position law.
            torque_share: Share of the time during which `motor_torque` acts.
            next_goal: Goal for the last `next_share` of the step and the beginning of the next one [rad].
            next_share: Share of the step during which `next_goal` holds.
        """
        n = self._substeps
        self._inputs[:, :-n] = self._inputs[:, n:]
        self._lasts[:-n] = self._lasts[n:]
        now, lasts = self._inputs[:, self._past :], self._lasts[self._past :]
        change = n * (1.0 - next_share)
        part = int(change)
        now[0, : part + 1] = goal
        now[0, part + 1 :] = goal if next_goal is None else next_goal
        lasts[:] = 1.0
        lasts[part] = change - part
        now[1] = torque_enable
        now[2] = self._nominal_supply if supply_voltage is None else supply_voltage
        now[3] = hand_torque
        now[4] = 0.0 if motor_torque is None else motor_torque
        now[5] = 0.0 if motor_torque is None else torque_share
        commands = self._inputs
        self._kernel(
            self._row,
            self._state,
            commands[0],
            self._lasts,
            commands[1],
            commands[2],
            NO_LOAD,
            commands[3],
            commands[4],
            commands[5],
            self._past,
            self._h,
            n,
            self._out,
        )

    @property
    def position(self) -> float:
        """Position [rad]."""
        return float(self._state[0])

    @property
    def velocity(self) -> float:
        """Velocity [rad/s]."""
        return float(self._state[1])

    @property
    def motor_torque(self) -> float:
        """Motor torque during the last step [N·m]."""
        return float(self._out[0, 2])

    @property
    def current(self) -> float:
        """Motor current during the last step [A]."""
        return float(self._out[0, 3])

    @property
    def duty_cycle(self) -> float:
        """Duty cycle during the last step."""
        return float(self._out[0, 4])

    @property
    def supply_voltage(self) -> float:
        """Supply voltage during the last step, after the sag [V]."""
        return float(self._out[0, 5])
