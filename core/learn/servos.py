"""Servos with a net on the bench, as differentiable time steps: an actuator net, and a model with a residual net.

A servo's `advance` is one time step from position and velocity, of which `state` is all else that it depends on.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import torch
from torch import nn

from core.export.servo_file import servo_numbers
from core.export.standalone.servobench_torch import TorchServo
from core.kernel.layout import Law
from core.learn.runs import Runs, delayed, delayed_goals
from core.servo.model import ServoModel

State = tuple[torch.Tensor, ...]
ACTUATOR_LAGS = (0.0, 0.01, 0.02, 0.03, 0.04)
"""Ages of the errors and velocities that an actuator net sees [s]; commands of bus servos arrive 20 to 30 ms late."""
RESIDUAL_LAGS = (0.0, 0.01, 0.02)
"""Ages of the velocities that a residual net sees [s]."""
SLOWEST = 1e-6
"""Speed below which friction is that of this speed [rad/s]: a Stribeck exponent below 1 has no derivative at rest."""
LARGEST_FACTOR = 2.0
"""Largest factor by which a residual net raises or lowers friction."""


Inputs = tuple[torch.Tensor, ...]
"""Inputs of a servo, each (windows, steps, runs), or (windows, runs) for one step."""


class Moved(NamedTuple):
    """Position [rad] and velocity [rad/s] after a step, (windows, runs), and the rest of the state."""

    position: torch.Tensor
    velocity: torch.Tensor
    state: State


class LearnedServo(nn.Module):
    """A servo with a net."""

    @abstractmethod
    def inputs(self, runs: Runs) -> Inputs:
        """Return the inputs of whole runs, each (1, steps, R), and prepare for these runs."""

    @abstractmethod
    def at_rest(self, position: torch.Tensor, velocity: torch.Tensor) -> State:
        """Return the state of a simulation's beginning."""

    @abstractmethod
    def advance(self, position: torch.Tensor, velocity: torch.Tensor, state: State, now: Inputs) -> Moved:
        """Simulate one time step."""

    @property
    def size(self) -> int:
        """Number of trained parameters."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)


def perceptron(inputs: int, hidden: Sequence[int]) -> nn.Sequential:
    """Return a perceptron with one output, which is 0 before training, and softsign units (Hwangbo et al., 2019)."""
    sizes = [inputs, *hidden]
    layers = [each for pair in zip(sizes, hidden) for each in (nn.Linear(*pair), nn.Softsign())]  # noqa: B905
    last = nn.Linear(sizes[-1], 1)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


class ActuatorNet(LearnedServo):
    """Net from histories of position error and velocity to the torque on the joint (Hwangbo et al., 2019).

    Errors are multiplied by the gain relative to `kp`, so that one net serves all gains. A released servo has a smaller
    net of its own, `released`, which sees the velocities. The step is that of physics engines: torque at its beginning,
    then velocity, then position with the new velocity.
    """

    def __init__(self, step: float, kp: float, error: float, speed: float, torque: float, inertia: float) -> None:
        """Start with no torque.

        Args:
            step: Time step [s].
            kp: Gain at which errors keep their size, as written into the servo.
            error: Scale of errors at this gain [rad].
            speed: Scale of velocities [rad/s].
            torque: Scale of torques [N·m].
            inertia: Scale of the armature [kg·m²].
        """
        super().__init__()
        self.step, self.kp, self.error, self.speed, self.torque = step, kp, error, speed, torque
        self.frames = tuple(round(lag / step) for lag in ACTUATOR_LAGS)
        """Ages of the inputs in time steps."""
        self.net = perceptron(2 * len(self.frames), (32, 32))
        self.released = perceptron(len(self.frames), (16,))
        self.log_armature = nn.Parameter(torch.tensor(math.log(inertia)))
        self.offset = nn.Parameter(torch.tensor(0.0))

    @property
    def armature(self) -> torch.Tensor:
        """Armature of the joint that belongs to the net [kg·m²]."""
        return self.log_armature.exp()

    def inputs(self, runs: Runs) -> Inputs:
        """Return the runs' inputs."""
        self._gain = runs.kp / (self.kp * self.error)
        self._inertia = runs.inertia + self.armature
        self._runs = runs
        later = torch.cat([runs.goal[1:], runs.goal[-1:]])
        return (runs.goal + (1.0 - runs.lasts) * (later - runs.goal))[None], runs.enable[None]

    def at_rest(self, position: torch.Tensor, velocity: torch.Tensor) -> State:
        """Return histories of no error and no motion."""
        return (torch.zeros_like(position),) * (2 * self.frames[-1])

    def advance(self, position: torch.Tensor, velocity: torch.Tensor, state: State, now: Inputs) -> Moved:
        """Simulate one time step."""
        runs, span = self._runs, self.frames[-1]
        goal, enable = now
        errors = (enable * (goal - position) * self._gain, *state[:span])
        speeds = (velocity / self.speed, *state[span:])
        past = torch.stack([speeds[i] for i in self.frames], dim=-1)
        seen = torch.cat([torch.stack([errors[i] for i in self.frames], dim=-1), past], dim=-1)
        torque = self.torque * (enable * self.net(seen)[..., 0] + (1.0 - enable) * self.released(past)[..., 0])
        load = -runs.gravity_torque * torch.sin(position + runs.angle_offset + self.offset)
        after = velocity + self.step * (torque + load) / (runs.inertia + self.armature)
        return Moved(position + self.step * after, after, (*errors[:-1], *speeds[:-1]))


class FrictionFactor(nn.Module):
    """Factor on friction, the same in both directions, between 1/LARGEST_FACTOR and LARGEST_FACTOR; 1 before training.

    Its inputs, (…, n), are scaled velocities, newest first, motor torque, load, and torque enable.
    """

    def __init__(self, directed: int) -> None:
        """Start with 1; directed: number of inputs before torque enable."""
        super().__init__()
        self.net = perceptron(directed + 1, (16, 16))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the factors, (…)."""
        mirrored = torch.cat([-inputs[..., :-1], inputs[..., -1:]], dim=-1)
        both = self.net(inputs) + self.net(mirrored)
        return torch.exp(math.log(LARGEST_FACTOR) * torch.tanh(both[..., 0]))


class _Resumed(TorchServo):
    """Servo without commands in transit, whose state can be kept and assigned to continue from there."""

    def refresh(self) -> None:
        super().refresh()
        self._history = torch.empty(0)

    def sagged(self, sag: torch.Tensor) -> torch.Tensor:
        """Return the share of the last motor torque that is left after a sag [Ω] by the current that it draws."""
        *_, unlimited = self._arrived
        drawing = unlimited & (self.duty_cycle * self.current > 0.0)
        return self._passed / (self._passed + sag * self.duty_cycle**2 * drawing)

    @property
    def state(self) -> State:
        """State of the command path."""
        return (*(getattr(self._state, each.name) for each in fields(self._state)), self._fresh)

    @state.setter
    def state(self, state: State) -> None:
        *rest, self._fresh = state
        self._state = type(self._state)(*rest)


class ResidualNet(LearnedServo):
    """Identified model whose friction a net scales, by the velocity's history, motor torque, load and torque enable.

    The factor is the same in both directions. It is 1 before training: the servo is then the model, with the kernel's
    leapfrog. `tests/core/learn` compares the two.
    """

    def __init__(self, model: ServoModel, step: float, speed: float, torque: float) -> None:
        """Start with the model.

        Args:
            model: Model with a rigid contact and position commands.
            step: Time step [s].
            speed: Scale of velocities [rad/s].
            torque: Scale of torques [N·m].
        """
        super().__init__()
        self.model, self.step, self.speed, self.torque = model, step, speed, torque
        self.frames = tuple(round(lag / step) for lag in RESIDUAL_LAGS)
        self.factor = FrictionFactor(len(self.frames) + 2)

    def inputs(self, runs: Runs) -> Inputs:
        """Return the runs' inputs, with the commands delayed."""
        servos = [servo_numbers(self.model, run.settings) for run in runs.recordings]
        self._servo = _Resumed(servos, 1, self.step, lead=0.5)
        # Commands are delayed here; a lead of half a step is for quantities that grow within the step.
        n = self._servo.numbers
        delay, release = (float(n[name].max()) / self.step for name in ("delay", "release_delay"))
        n["delay"][:] = n["release_delay"][:] = -0.5 * self.step
        # The program takes a goal that arrives within the step for one that was there before: limit goals here.
        self._reach = n["goal_slew"] * self.step
        n["goal_slew"] = torch.full_like(self._reach, math.inf)
        # A sag is solved with the current that causes it where that is linear in the voltage.
        linear = self.model.control.kernel_law in (Law.VOLTAGE, Law.LIMITED)
        self._sag = n["supply_sag"] if linear else torch.zeros_like(n["supply_sag"])
        n["supply_sag"] = n["supply_sag"] - self._sag
        self._servo.refresh()
        self._runs, self._offset = runs, runs.angle_offset + self.model.values.get("q_offset", 0.0)
        return (*delayed_goals(runs, delay), delayed(runs.enable, release)[None], runs.supply[None])

    def at_rest(self, position: torch.Tensor, velocity: torch.Tensor) -> State:
        """Return the state of the command path at rest, the position as goal, no friction, and no motion before."""
        self._servo.reset()
        zero = torch.zeros_like(position)
        return (*self._servo.state, position, zero, *(zero,) * self.frames[-1])

    def advance(self, position: torch.Tensor, velocity: torch.Tensor, state: State, now: Inputs) -> Moved:
        """Simulate one step of the leapfrog in `core.kernel.step`."""
        servo, runs, h, v = self._servo, self._runs, self.step, velocity
        count = len(servo.state)
        servo.state, (goal, friction, *past) = state[:count], state[count:]
        past = (v, *past)
        middle = position + 0.5 * h * v
        # The limited goal follows the old command, then the next one; the law uses its mean.
        old_goal, next_goal, next_share, enable, supply = now
        first = _clip(old_goal - goal, (1.0 - next_share) * self._reach)
        second = _clip(next_goal - goal - first, next_share * self._reach)
        ramps = first * first.abs() + second * second.abs()
        mean_goal = goal + first + next_share * second - 0.5 * ramps / self._reach
        motor = servo.motor_torque(mean_goal, middle, v, enable, supply)
        drag, viscous = servo.motor_damping(), servo.numbers["friction_viscous"]
        sagged = servo.sagged(self._sag)
        motor, drag = motor * sagged, drag * sagged
        load = -runs.gravity_torque * torch.sin(middle + self._offset)
        inertia = runs.inertia + servo.numbers["armature"] + 0.5 * h * (drag + viscous)
        gained = torch.where(v != 0.0, 0.5 * h * (motor + load - friction) / inertia, 0.0)
        speed = torch.clamp((v + gained).abs(), min=SLOWEST)
        budget = servo.static_friction(speed, motor - drag * gained, load) + viscous * v.abs()
        sides = (*(past[i] / self.speed for i in self.frames), motor / self.torque, load / self.torque)
        budget = budget * self.factor(torch.stack([*sides, enable.expand_as(load)], dim=-1))
        friction = mean_friction(inertia * v / h, motor + load, budget)
        after = v + h * (motor + load - friction) / inertia
        reached = middle + 0.5 * h * after
        goal = torch.where(enable > 0.0, goal + first + second, reached)
        return Moved(reached, after, (*servo.state, goal, friction, *past[:-1]))


def mean_friction(momentum: torch.Tensor, torque: torch.Tensor, budget: torch.Tensor) -> torch.Tensor:
    """Return the mean of dry friction over a step [N·m], see `core.kernel.step.mean_friction`."""
    forward = momentum >= 0.0
    against = torch.where(forward, -torque, torque)
    size = momentum.abs()
    turning = budget * (2.0 * size / torch.clamp(against + budget, min=1e-12) - 1.0)
    friction = torch.minimum(torch.maximum(size - against, turning), budget)
    return torch.where(forward, friction, -friction)


def _clip(value: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    return torch.minimum(torch.maximum(value, -limit), limit)
