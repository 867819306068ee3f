"""Simulation of one servo: a whole trajectory, a recording's commands, or step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.bench import Bench
from core.errors import ModelError
from core.kernel.layout import Slot
from core.kernel.rollout import OUTPUTS, STATE, history_steps, initial_state, rollout_kernel
from core.model import ServoModel
from core.recording import Recording, ServoSettings
from core.trajectories import Trajectory

Array = NDArray[np.float64]

IRREGULAR_STEP = 0.005
"""Grid on which irregularly sampled recordings are simulated [s]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """A simulated run; sample k is the state before step k. All arrays (n,)."""

    time: Array
    """[s]"""
    goal_position: Array
    """[rad]"""
    position: Array
    """[rad]"""
    velocity: Array
    """[rad/s]"""
    motor_torque: Array
    """[N·m]"""
    current: Array
    """[A]"""
    duty_cycle: Array
    supply_voltage: Array
    """[V]"""
    control: Array
    """What the control law asked for, before the motor and whether or not torque was on [V or A]."""


def with_integration(model: ServoModel, integrator: str | None = None, substeps: int | None = None) -> ServoModel:
    """Return the model to be simulated with another integrator or number of substeps; None keeps its own."""
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
    time: Array,
    goal: Array,
    enable: Array,
    supply: Array,
    position: float,
    velocity: float,
) -> Motion:
    n = model.substeps
    h = dt / n
    steps = len(time) * n
    out = np.empty((len(time), len(OUTPUTS)))
    nothing = np.zeros(steps)
    rollout_kernel(model.control.kernel_law, model.kernel_contact)(
        model.bound_row(bench, settings, h),
        initial_state(position, velocity),
        np.repeat(goal, n),
        np.repeat(enable, n),
        np.repeat(supply, n),
        nothing,
        nothing,
        nothing,
        0,
        h,
        n,
        out,
    )
    columns = {name: np.ascontiguousarray(out[:, i]) for i, name in enumerate(OUTPUTS)}
    return Motion(time=time, goal_position=goal, **columns)


def simulate_trajectory(
    model: ServoModel,
    trajectory: Trajectory,
    bench: Bench,
    settings: ServoSettings,
    dt: float,
    position: float = 0.0,
    velocity: float = 0.0,
) -> Motion:
    """Simulate a trajectory from rest at `position` [rad], one sample every dt [s] while t < duration."""
    if not (math.isfinite(dt) and dt > 0):
        raise ModelError(f"a step of {dt} s is not possible")
    count = math.ceil(trajectory.duration / dt - 1e-9)
    time = np.arange(count, dtype=np.float64) * dt
    supply = np.full(count, settings.supply_voltage)
    enable = trajectory.torque_enable(time).astype(np.float64)
    return _run(
        model, bench, settings, dt, time, trajectory.goal(time), enable, supply, position, velocity
    )  # fmt: skip


def sampling_step(recording: Recording) -> float:
    """Step of a regularly sampled recording; IRREGULAR_STEP for any other [s]."""
    steps = np.diff(recording.time)
    middle = float(np.median(steps))
    if np.all(np.abs(steps - middle) < 1e-3 * middle):
        return recording.duration / (recording.samples - 1)
    return IRREGULAR_STEP


def on_grid(recording: Recording, dt: float | None = None) -> tuple[Recording, float]:
    """Return the recording on a regular grid and its step [s]; a grid it already has is kept as it is."""
    own = sampling_step(recording)
    step = own if dt is None else dt
    regular = np.allclose(np.diff(recording.time), step, rtol=1e-3, atol=0.0)
    return (recording if regular else recording.resampled(step)), step


def supply_of(recording: Recording, supply: str = "logged") -> Array:
    """Supply voltage at each sample, (n,) V: "logged" where the recording has it, else or for "header" the nominal."""
    if supply not in ("logged", "header"):
        raise ModelError(f'supply {supply!r} must be "logged" or "header"')
    nominal = np.full(recording.samples, recording.settings.supply_voltage)
    logged = recording.channels.get("supply_voltage")
    if supply == "header" or logged is None:
        return nominal
    return np.where(np.isfinite(logged) & (logged > 0), logged, nominal)


def initial_velocity(recording: Recording) -> float:
    """Velocity at the first sample as the servo reported it, 0 where it did not [rad/s]."""
    velocity = recording.channels.get("velocity")
    first = 0.0 if velocity is None else float(velocity[0])
    return first if math.isfinite(first) else 0.0


def simulate_recording(
    model: ServoModel, recording: Recording, dt: float | None = None, supply: str = "logged"
) -> Motion:
    """Simulate a recording's commands from its first measured state, on its grid (see `on_grid`)."""
    run, step = on_grid(recording, dt)
    return _run(
        model,
        run.bench,
        run.settings,
        step,
        run.time,
        np.ascontiguousarray(run.goal_position, dtype=np.float64),
        run.torque_enable.astype(np.float64),
        supply_of(run, supply),
        float(run.position[0]),
        initial_velocity(run),
    )


class Stepper:
    """Simulation step by step, for the simulated servo and the live digital twin."""

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
        """dt: time one step advances [s], in `substeps` parts; starts at rest at `position` [rad]."""
        if not (math.isfinite(dt) and dt > 0 and substeps >= 1):
            raise ModelError(f"a step of {dt} s in {substeps} parts is not possible")
        self._h = dt / substeps
        self._substeps = substeps
        self._row = model.bound_row(bench, settings, self._h)
        self._nominal_supply = settings.supply_voltage
        self._kernel = rollout_kernel(model.control.kernel_law, model.kernel_contact)
        delay = float(self._row[[Slot.DELAY, Slot.RELEASE_DELAY]].max())
        self._past = history_steps(delay, self._h) + substeps
        self._inputs = np.zeros((6, self._past + substeps))
        self._out = np.zeros((1, len(OUTPUTS)))
        self._state = np.zeros(STATE)
        self.reset(position, velocity)

    def reset(self, position: float = 0.0, velocity: float = 0.0) -> None:
        """Go to a state [rad, rad/s] with the motor released and no command on its way."""
        self._state[:] = initial_state(position, velocity)
        self._inputs[:] = 0.0
        self._inputs[0] = position
        self._inputs[2] = self._nominal_supply
        self._out[:] = 0.0
        self._out[0, 5] = self._nominal_supply

    def step(
        self,
        goal: float,
        torque_enable: bool = True,
        *,
        supply_voltage: float | None = None,
        hand_torque: float = 0.0,
        motor_torque: float | None = None,
    ) -> None:
        """Advance by dt with a held command.

        goal [rad]; supply_voltage [V], None for the nominal one; hand_torque on the shaft [N·m]; motor_torque [N·m]
        replaces the position law.
        """
        n = self._substeps
        self._inputs[:, :-n] = self._inputs[:, n:]
        now = self._inputs[:, -n:]
        now[0] = goal
        now[1] = torque_enable
        now[2] = self._nominal_supply if supply_voltage is None else supply_voltage
        now[3] = hand_torque
        now[4] = 0.0 if motor_torque is None else motor_torque
        now[5] = motor_torque is not None
        commands = self._inputs
        self._kernel(
            self._row,
            self._state,
            commands[0],
            commands[1],
            commands[2],
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
        """[rad]"""
        return float(self._state[0])

    @property
    def velocity(self) -> float:
        """[rad/s]"""
        return float(self._state[1])

    @property
    def motor_torque(self) -> float:
        """During the last step [N·m]"""
        return float(self._out[0, 2])

    @property
    def current(self) -> float:
        """During the last step [A]"""
        return float(self._out[0, 3])

    @property
    def duty_cycle(self) -> float:
        """During the last step"""
        return float(self._out[0, 4])

    @property
    def supply_voltage(self) -> float:
        """During the last step, after the sag [V]"""
        return float(self._out[0, 5])
