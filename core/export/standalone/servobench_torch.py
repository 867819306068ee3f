# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) for batched simulators: PyTorch, N environments × J joints.

    servo = TorchServo(["shoulder.servo.json", "elbow.servo.json"], num_envs=4096, timestep=0.005, device="cuda")
    motor = servo.motor_torque(goal, position, velocity)                     # N·m, advances the servos by one step
    friction = servo.applied_friction(inertia, velocity, motor, external)    # N·m, once a step

Every tensor is (num_envs, num_joints), SI units and radians. A servo is a JSON file of numbers; joints of one batch may
be different servos with different laws. Gradients flow through any number of steps.

The order within a step is that of seed paper "Extended friction models for the physics simulation of servo actuators",
Algorithm 1, with the path of the command in front: delay, velocity limit of the goal, dead band, integral and
derivative gains, lag of the output, sag of the supply. Friction is what stops the joint within its budget (lines 4–6)
or, where the contact is elastoplastic, what bends a bristle that slips at more (Cisneros et al.); its deflection is
state.

`motor_torque` is `propose` and `accept` in one: a simulator that may ask twice before it steps calls the two itself.

Needs torch only. This file is free to be copied beside the JSON files it reads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch  # pyright: ignore[reportMissingImports]

FORMAT = "servobench-servo"
VERSIONS = (1, 2)
LAWS = ("voltage", "coast", "current")
NUMBERS = (
    "torque_constant", "resistance", "armature",
    "friction_base", "friction_viscous", "load_motor", "load_external",
    "friction_stribeck", "load_motor_stribeck", "load_external_stribeck", "load_motor_quad", "load_external_quad",
    "stribeck_velocity", "stribeck_exponent", "opposing_gate",
    "delay", "release_delay", "goal_slew", "dead_band", "pwm_lag", "supply_sag", "release_braking",
    "inductance", "pwm_period", "kp", "ki", "kd", "kv", "output_limit", "supply_voltage",
)  # fmt: skip
"""What a servo file must hold besides its law; each is a tensor in `TorchServo.numbers`."""
CONTACTS = ("rigid", "elastoplastic", "elastoplastic_rational")
BRISTLE_NUMBERS = ("bristle_stiffness", "bristle_damping")
"""What a file of version 2 holds, too, besides its contact; tensors like the others."""
_LARGEST = 1.7976931348623157e308
"""Of a float; a file's integers may be longer."""
_POSITIVE = (
    "torque_constant", "resistance", "stribeck_velocity", "stribeck_exponent", "goal_slew", "inductance", "pwm_period",
    "supply_voltage", *BRISTLE_NUMBERS,
)  # fmt: skip
STAGGERED = 0.5
"""Steps by which velocities stand before positions where an engine moves positions with the new velocity: the lead of a
servo whose goals are held for a step."""
LONGEST_DELAY = 4096
"""A command is never kept for more steps than this."""

Envs = torch.Tensor | Sequence[int] | slice | None
"""Which environments: indices or a mask, None for all."""


def read_servo(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of a servo from its JSON file or the mapping it holds; raises ValueError naming what is wrong."""
    if isinstance(source, Mapping):
        name, data = "servo", dict(source)
    else:
        name = str(source)
        try:
            data = json.loads(Path(source).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{name}: cannot be read as a servo: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{name}: not a servo file ({FORMAT})")
    if data.get("version") not in VERSIONS:
        raise ValueError(f"{name}: version {data.get('version')!r} is not 1 or 2; take the program exported with it")
    if data["version"] == 1:
        data |= {"contact": "rigid", **dict.fromkeys(BRISTLE_NUMBERS, 1.0)}
    if data.get("law") not in LAWS:
        raise ValueError(f"{name}: no control law {data.get('law')!r}; there are {', '.join(LAWS)}")
    if data.get("contact") not in CONTACTS:
        raise ValueError(f"{name}: no contact {data.get('contact')!r}; there are {', '.join(CONTACTS)}")
    for number in (*NUMBERS, *BRISTLE_NUMBERS):
        value = data.get(number)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST:
            raise ValueError(f"{name}: {number} = {value!r} must be a finite number of at least 0")
        if number in _POSITIVE and value == 0.0:
            raise ValueError(f"{name}: {number} must be positive")
    zero = data.setdefault("joint_zero", 0.0)
    if not isinstance(zero, (int, float)) or not math.isfinite(zero):
        raise ValueError(f"{name}: joint_zero = {zero!r} is no angle")
    return data


@dataclass
class _State:
    """What a servo remembers, (num_envs, num_joints) each."""

    slewed: torch.Tensor
    """Goal behind its velocity limit [rad]."""
    output: torch.Tensor
    """Duty cycle or current asked for [1 or A]."""
    integral: torch.Tensor
    error: torch.Tensor
    """Of the last step [rad]."""
    bus_current: torch.Tensor
    """[A]"""
    deflection: torch.Tensor
    """Of an elastoplastic contact [rad]."""
    sliding: torch.Tensor
    """Friction of the last step while sliding fast [N·m]; with what it is more at rest it tells the deflection."""
    at_rest: torch.Tensor


class TorchServo:
    """A batch of servos; state and numbers are tensors of (num_envs, num_joints)."""

    def __init__(
        self,
        servos: Sequence[str | Path | Mapping[str, Any]],
        num_envs: int,
        timestep: float,
        *,
        lead: float = 0.0,
        contacts: Sequence[str] = ("rigid",),
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """servos: one file (or its contents) a joint; timestep: of the simulation [s]; lead: share of a step by which
        commands act later, on top of the servos' own delay; contacts: those whose friction the caller has from here.
        Raises ValueError.
        """
        if not (math.isfinite(timestep) and timestep > 0.0) or num_envs < 1 or not servos:
            raise ValueError(f"{len(servos)} servos in {num_envs} environments at {timestep} s are not possible")
        data = [read_servo(servo) for servo in servos]
        other = {servo["contact"] for servo in data} - set(contacts)
        if other:
            raise ValueError(f"a servo's contact is {other.pop()}; only {', '.join(contacts)} is possible here")
        self.joint_zero = torch.tensor([servo["joint_zero"] for servo in data], device=device, dtype=dtype)
        """Angles of the joints where the servos read 0 [rad], (num_joints,), `joint_zero` of their files: added to
        goals."""
        self.timestep = float(timestep)
        self.num_envs, self.num_joints = num_envs, len(data)
        self._lead = lead
        self.contacts = {servo["contact"] for servo in data}
        """Which there are among the joints."""
        self._laws = {law for law in LAWS if any(servo["law"] == law for servo in data)}
        # Made outside of inference mode, or they could not be written to outside of it.
        with torch.inference_mode(False), torch.no_grad():
            self.nominal = {
                name: torch.tensor([servo[name] for servo in data], device=device, dtype=dtype).expand(num_envs, -1)
                for name in (*NUMBERS, *BRISTLE_NUMBERS)
            }
            self.numbers: dict[str, torch.Tensor] = {name: value.clone() for name, value in self.nominal.items()}
            """The servos' numbers, (num_envs, num_joints) each; after writing to them call `refresh`."""
            is_law = {law: torch.tensor([servo["law"] == law for servo in data], device=device) for law in LAWS}
            self._is_coast, self._is_current = is_law["coast"], is_law["current"]
            is_contact = {c: torch.tensor([servo["contact"] == c for servo in data], device=device) for c in CONTACTS}
            self.is_rigid, self._is_rational = is_contact["rigid"], is_contact["elastoplastic_rational"]
            """Which joints have a rigid contact, (num_joints,)."""
            zeros = torch.zeros(num_envs, self.num_joints, device=device, dtype=dtype)
            self._state = _State(*(zeros.clone() for _ in fields(_State)))
            self._fresh = torch.ones(num_envs, 1, device=device, dtype=torch.bool)
            self._age = torch.zeros(num_envs, 1, device=device, dtype=torch.long)
            self.current = zeros.clone()
            """Motor current of the last step [A]."""
            self.duty_cycle = zeros.clone()
            """Of the last step, negative for a motor driven backwards."""
            self._driven = torch.ones_like(zeros)
        self._history = torch.empty(0)
        self._head = 0
        self._pending: _State | None = None
        self.refresh()

    def motor_torque(
        self,
        goal: torch.Tensor,
        position: torch.Tensor,
        velocity: torch.Tensor,
        enable: torch.Tensor | None = None,
        supply_voltage: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Motor torque [N·m] of this step, Algorithm 1 line 1; advances the servos by one step. See `propose`."""
        torque = self.propose(goal, position, velocity, enable, supply_voltage)
        self.accept()
        return torque

    def staggered_torque(
        self,
        goal: torch.Tensor,
        position: torch.Tensor,
        velocity: torch.Tensor,
        before: torch.Tensor,
        inertia: torch.Tensor | float,
        enable: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`motor_torque` for an engine that moves positions with the new velocity and takes torques as they are; its
        servos have a `lead` of `STAGGERED`.

        Velocities stand half a step before the positions there. What falls with the velocity is therefore taken half a
        step on, less where that would not be stable. before: velocity of the step before [rad/s]; inertia [kg·m²]: of
        everything that turns with the joint, armature included.
        """
        torque, falling = self.propose(goal, position, velocity, enable), self.motor_damping()
        stiffness = falling * self.timestep / inertia
        share = torch.clamp(0.5 / stiffness - 0.25, 0.0, STAGGERED)
        self.accept()
        return torque - falling * share * (velocity - before)

    def propose(
        self,
        goal: torch.Tensor,
        position: torch.Tensor,
        velocity: torch.Tensor,
        enable: torch.Tensor | None = None,
        supply_voltage: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Motor torque [N·m] of this step, without advancing the servos.

        goal, position [rad]; velocity [rad/s]; enable: 1 where the torque is on, None for everywhere; supply_voltage
        [V] before the sag, None for the file's. All (num_envs, num_joints) or broadcast to it.
        """
        n, h, state = self.numbers, self.timestep, self._state
        goal = torch.as_tensor(goal).expand_as(position) + self.joint_zero
        on = self._driven if enable is None else torch.as_tensor(enable).to(position).expand_as(position)
        goal, on = self._delayed(goal, on)
        before = torch.where(self._fresh, position, state.slewed)
        enabled = on > 0.0

        # With a lead of half a step, what grows with time acts with its mean over the step.
        now, reach = 1.0 - self._lead, n["goal_slew"] * h
        slewed = before + _clip(goal - before, reach)
        error = torch.where((goal - before).abs() > reach, before + now * (slewed - before), slewed) - position
        error = error - _clip(error, n["dead_band"])
        integral = _clip(state.integral + n["ki"] * error * h, n["output_limit"])
        summed = state.integral + now * (integral - state.integral)
        raw = n["kp"] * error + summed + n["kd"] * (error - state.error) / h - n["kv"] * velocity
        control = _clip(raw, n["output_limit"])
        zero = torch.zeros_like(control)
        output = torch.where(enabled, state.output + self._lag_share * (control - state.output), zero)
        acting = torch.where(enabled, state.output + self._acting_share * (control - state.output), zero)
        supply = n["supply_voltage"] if supply_voltage is None else torch.as_tensor(supply_voltage).expand_as(position)
        supply = torch.clamp(supply - n["supply_sag"] * state.bus_current, min=0.0)

        current, duty = self._current_and_duty(acting, on, supply, velocity)
        self._arrived = on, supply, control == raw, acting * on == current
        self._pending = _State(
            slewed=torch.where(enabled, slewed, position),
            output=output,
            integral=torch.where(enabled, integral, zero),
            error=error,
            bus_current=torch.clamp(duty * current, min=0.0),
            deflection=self._bent(velocity),
            sliding=state.sliding,
            at_rest=state.at_rest,
        )
        self.current, self.duty_cycle = current, duty
        return n["torque_constant"] * current

    def motor_damping(self) -> torch.Tensor:
        """How much the motor torque of the last `propose` falls with the velocity [N·m·s/rad], as far as it does so
        linearly: back-EMF and velocity gain. For simulators that integrate damping implicitly; 0 for a drive/coast
        bridge.
        """
        n = self.numbers
        on, supply, unclipped, unlimited = self._arrived
        resistance = n["resistance"]
        per_emf = n["torque_constant"] ** 2 / resistance
        feedback = torch.where(unclipped, self._acting_share * n["kv"] * on, 0.0) * n["torque_constant"]
        voltage = per_emf * (on + (1.0 - on) * n["release_braking"]) + feedback * supply / resistance
        damping = torch.where(self._is_current, torch.where(unlimited, feedback, per_emf), voltage)
        return torch.where(self._is_coast, 0.0, damping)

    def accept(self) -> None:
        """Take the last `propose` as what happened: the servos are one step further."""
        if self._pending is None:
            return
        # Nothing that a gradient over several steps needs is written over.
        self._state, self._pending = self._pending, None
        self._fresh = torch.zeros_like(self._fresh)
        self._age = self._age + 1
        if len(self._history):
            self._head = (self._head + 1) % self._history.shape[1]

    def reset(self, env_ids: Envs = None) -> None:
        """Forget the past of some environments: their next command counts as if it had been there for ever.

        A reset of all of them also ends the gradients' way into the past.
        """
        self._state = _State(*(_written(getattr(self._state, field.name), env_ids, 0.0) for field in fields(_State)))
        self._fresh = _written(self._fresh, env_ids, True)
        self._age = _written(self._age, env_ids, 0)
        self._history = self._history.detach() if env_ids is None else self._history
        self._pending = None

    @property
    def deflection(self) -> torch.Tensor:
        """Of the elastoplastic contacts, at the last `propose`, (num_envs, num_joints) [rad]; 0 where one is rigid."""
        return (self._pending or self._state).deflection

    def dry_friction(
        self, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Friction of M6 at this load, eq. (10): while sliding fast, and what it is more at rest [N·m]; M1–M5 by their
        zeros. motor_torque and external_torque [N·m].
        """
        n = self.numbers
        motor, external = motor_torque.abs(), external_torque.abs()
        zero = torch.zeros_like(motor)
        quadratic = torch.where(
            motor > external,
            n["load_external_quad"] * external_torque**2,
            torch.where(external > motor, n["load_motor_quad"] * motor_torque**2, zero),
        )
        same_sense = motor_torque * external_torque >= 0.0
        quadratic = torch.where(same_sense, quadratic * (1.0 - n["opposing_gate"]), quadratic)
        load = (n["load_motor"] * motor_torque - n["load_external"] * external_torque).abs()
        at_rest = (n["load_motor_stribeck"] * motor_torque - n["load_external_stribeck"] * external_torque).abs()
        return n["friction_base"] + load, n["friction_stribeck"] + at_rest + quadratic

    def static_friction(
        self, velocity: torch.Tensor, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> torch.Tensor:
        """Friction budget of M6, eq. (10), without its viscous part [N·m]; M1–M5 by their zeros.

        velocity [rad/s], motor_torque and external_torque [N·m]. The viscous part is
        `numbers["friction_viscous"]`·|velocity|.
        """
        n = self.numbers
        stribeck = torch.exp(-((velocity.abs() / n["stribeck_velocity"]) ** n["stribeck_exponent"]))
        sliding, at_rest = self.dry_friction(motor_torque, external_torque)
        return sliding + stribeck * at_rest

    def friction_budget(
        self, velocity: torch.Tensor, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> torch.Tensor:
        """Friction budget τ_f^m [N·m], eq. (10): the static part and the viscous one."""
        static = self.static_friction(velocity, motor_torque, external_torque)
        return static + self.numbers["friction_viscous"] * velocity.abs()

    def applied_friction(
        self,
        inertia: torch.Tensor | float,
        velocity: torch.Tensor,
        motor_torque: torch.Tensor,
        external_torque: torch.Tensor,
    ) -> torch.Tensor:
        """Friction torque τ_f [N·m]: what stops the joint within the step, clipped to the budget (lines 4–6), or that
        of an elastoplastic contact, see `bristle_friction`.

        inertia [kg·m²]: of everything that turns with the joint, armature included.
        """
        to_stop = inertia * velocity / self.timestep + motor_torque + external_torque
        friction = -_clip(to_stop, self.friction_budget(velocity, motor_torque, external_torque))
        if self.contacts == {"rigid"}:
            return friction
        dry = self.dry_friction(motor_torque, external_torque)
        bristle, _ = self.bristle_friction(inertia, velocity, motor_torque + external_torque, dry)
        return torch.where(self.is_rigid, friction, bristle)

    def bristle_friction(
        self,
        inertia: torch.Tensor | float,
        velocity: torch.Tensor,
        torque: torch.Tensor,
        dry: tuple[torch.Tensor, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Friction torque [N·m] of elastoplastic contacts at the end of the step, and how much it falls with the
        velocity there [N·m·s/rad]; meaningless for rigid ones (Cisneros et al., eqs 11–16, with inertia/Δt in series).

        inertia [kg·m²]: see `applied_friction`; torque: all that turns the joint but friction [N·m]; dry: of
        `dry_friction`. To be called after `propose`, which has the deflection follow the velocity.
        """
        sliding, at_rest = dry
        state = self._pending or self._state
        state.sliding, state.at_rest = sliding, at_rest
        mobility = self.timestep / inertia
        friction, slip = self._bristle(sliding, at_rest, self.deflection, velocity + mobility * torque, mobility)
        viscous, stiff = self.numbers["friction_viscous"], self._stiff
        return friction, torch.where(slip > 0.0, stiff * viscous / (stiff + viscous), stiff)

    def randomize(
        self, name: str, low: float, high: float, env_ids: Envs = None, generator: torch.Generator | None = None
    ) -> None:
        """Set a number of some environments to its nominal value times a factor in [low, high], one a joint."""
        if name not in self.numbers or not 0.0 <= low <= high:
            raise ValueError(f"cannot scale {name!r} by {low} to {high}; there are {', '.join(self.numbers)}")
        chosen = slice(None) if env_ids is None else env_ids
        nominal = self.nominal[name][chosen]
        share = torch.rand(nominal.shape, generator=generator, device=nominal.device, dtype=nominal.dtype)
        self.numbers[name][chosen] = nominal * (low + (high - low) * share)
        self.refresh()

    def become(
        self, names: Sequence[str], specimens: Any, env_ids: Envs = None, generator: torch.Generator | None = None
    ) -> None:
        """Make the servos of some environments other specimens, each joint its own, all as likely; their past stays.

        names: of numbers; specimens: (specimens, names), one a row, whose numbers belong together. Raises ValueError.
        """
        unknown = [name for name in names if name not in self.numbers]
        if unknown or not len(specimens):
            raise ValueError(f"{len(specimens)} specimens with {', '.join(unknown) or 'nothing'} that no servo has")
        chosen = slice(None) if env_ids is None else env_ids
        like = self.nominal["kp"]
        table = torch.as_tensor(specimens, device=like.device, dtype=like.dtype)
        rows = torch.randint(len(table), like[chosen].shape, generator=generator, device=like.device)
        for place, name in enumerate(names):
            self.numbers[name][chosen] = table[rows, place]
        self.refresh()

    def refresh(self) -> None:
        """Take over what was written to `numbers`; a delay longer than any before forgets commands on their way."""
        n, h = self.numbers, self.timestep
        with torch.inference_mode(False), torch.no_grad():
            lag = n["pwm_lag"].clone()
            one = torch.ones_like(lag)
            self._lag_share = torch.where(lag > 0.0, -torch.expm1(-h / lag), one)
            mean = torch.where(lag > 0.0, 1.0 - self._lag_share * lag / h, one)
            self._acting_share = mean if self._lead else self._lag_share
            delays = torch.stack((n["delay"], n["release_delay"])) / h + self._lead
            whole = torch.ceil(delays)
            self._newer_share = whole - delays
            self._steps = whole.long()
            longest = int(self._steps.max())
            if longest > LONGEST_DELAY:
                raise ValueError(f"a delay of {longest * h:g} s is too long at a step of {h:g} s")
            if longest and longest + 1 > (self._history.shape[1] if len(self._history) else 0):
                self._history = torch.zeros(
                    2, longest + 1, self.num_envs, self.num_joints, device=lag.device, dtype=lag.dtype
                )
                self._head = 0
                self._age.zero_()

    @property
    def _stiff(self) -> torch.Tensor:
        """Torque per velocity of a bristle that takes a step up alone [N·m·s/rad]."""
        return self.numbers["bristle_stiffness"] * self.timestep + self.numbers["bristle_damping"]

    def _bent(self, velocity: torch.Tensor) -> torch.Tensor:
        """Deflection now: the last one, after a step at the velocity that became of it (Cisneros et al., eq. 18)."""
        state = self._state
        if self.contacts == {"rigid"}:
            return state.deflection
        friction, _ = self._bristle(state.sliding, state.at_rest, state.deflection, velocity, 0.0)
        bent = (self.numbers["bristle_damping"] * state.deflection - self.timestep * friction) / self._stiff
        return torch.where(self._fresh | self.is_rigid, torch.zeros_like(bent), bent)

    def _bristle(
        self,
        sliding: torch.Tensor,
        at_rest: torch.Tensor,
        deflection: torch.Tensor,
        free: torch.Tensor,
        mobility: torch.Tensor | float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Friction torque [N·m] and the size of the slip velocity [rad/s], 0 where it sticks.

        free: velocity without this friction [rad/s]; mobility: its change per torque [rad/(s·N·m)].
        """
        n, stiff = self.numbers, self._stiff
        z = 1.0 / stiff + mobility
        wished = free + n["bristle_stiffness"] * deflection / stiff
        size = wished.abs()
        scale = z / (n["stribeck_velocity"] * (1.0 + z * n["friction_viscous"]))
        u = scale * at_rest
        slip = n["stribeck_velocity"] * self._slip(u, torch.maximum(scale * (size / z - sliding), u))
        slip = torch.where(size > z * (sliding + at_rest), slip, torch.zeros_like(slip))
        return torch.sign(wished) * (slip - size) / z, slip

    def _slip(self, u: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        """Root s of s + u·E(s) = d, the slip velocity in Stribeck velocities: E is exp(−s^α), by Halley's steps from
        the root of its steepest tangent, or 1/(1 + s)."""
        tiny = 1e-30
        rational = torch.zeros_like(d)
        if "elastoplastic_rational" in self.contacts:
            half = 0.5 * (d - 1.0)
            root = torch.sqrt(torch.clamp(half * half + d - u, min=0.0))
            rational = torch.where(half > 0.0, half + root, (d - u) / torch.clamp(root - half, min=tiny))
        if "elastoplastic" not in self.contacts:
            return rational
        alpha = torch.clamp(self.numbers["stribeck_exponent"], min=1.0)
        power = (alpha - 1.0) / alpha
        where = power ** (1.0 / alpha)
        height = torch.exp(-power)
        slope = torch.where(alpha > 1.0, alpha * power / torch.clamp(where, min=tiny) * height, 1.0)
        s = (d - u * (height + slope * where)) / torch.clamp(1.0 - u * slope, min=1e-3)
        s = torch.minimum(torch.maximum(s, d - u), d)
        for _ in range(4):
            s = torch.clamp(s, min=1e-12)
            power = s**alpha
            fallen = u * torch.exp(-power)
            # Value, slope times s and curvature times s².
            f = s + fallen - d
            bend = alpha * power * fallen
            first, second = s - bend, bend * (alpha * power - (alpha - 1.0))
            square = first * first
            below = torch.clamp(torch.maximum(2.0 * square - f * second, square), min=tiny)
            s = torch.minimum(torch.maximum(s - 2.0 * f * s * first / below, d - u), d)
        return torch.where(self._is_rational, rational, s)

    def _delayed(self, goal: torch.Tensor, on: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Goal and enable as they arrive now: linear between the two commands the delay falls between."""
        if not len(self._history):
            return goal, on
        if torch.is_grad_enabled():
            self._history = self._history.clone()
        self._history[0, self._head] = goal
        self._history[1, self._head] = on
        # Before the first command after a reset there is only that one.
        older = torch.minimum(self._steps, self._age)
        newer = torch.minimum(torch.clamp(self._steps - 1, min=0), self._age)
        length = self._history.shape[1]
        slots = torch.stack((older, newer), dim=1)
        first, second = self._history.gather(1, (self._head - slots) % length).unbind(1)
        goal, on = first + self._newer_share * (second - first)
        return goal, on

    def _current_and_duty(
        self, output: torch.Tensor, on: torch.Tensor, supply: torch.Tensor, velocity: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Motor current [A] and duty cycle of each joint by its own law, eqs. (12)–(15)."""
        n = self.numbers
        resistance = n["resistance"]
        emf = n["torque_constant"] * velocity
        some_supply = torch.clamp(supply, min=1e-9)
        driven = (output * supply - emf) / resistance
        if "coast" in self._laws:
            driven = torch.where(self._is_coast, self._coast_current(output, some_supply, emf), driven)
        current = on * driven - (1.0 - on) * n["release_braking"] * emf / resistance
        duty = output * on
        if "current" in self._laws:
            # A bridge that cannot hold the current against the back-EMF is eq. (14).
            held = torch.maximum(output * on, (-supply - emf) / resistance)
            held = torch.minimum(held, (supply - emf) / resistance)
            current = torch.where(self._is_current, held, current)
            # Within ±1 by the limits above; without a supply only rounding would be left of it.
            share = torch.clamp((held * resistance + emf) / some_supply, -1.0, 1.0) * (supply > 0.0)
            duty = torch.where(self._is_current, share, duty)
        return current, duty

    def _coast_current(self, duty: torch.Tensor, supply: torch.Tensor, emf: torch.Tensor) -> torch.Tensor:
        """Mean motor current [A] of a drive/coast bridge over one period of its pulse width modulation.

        The switch on, the current rises towards (U − e)/R; off, it freewheels into the supply and falls towards
        −(U + e)/R until it dies out, or does not before the next period. e is the back-EMF along the drive.
        """
        n = self.numbers
        resistance, inductance, period = n["resistance"], n["inductance"], n["pwm_period"]
        direction = torch.where(duty >= 0.0, torch.ones_like(duty), -torch.ones_like(duty))
        share = torch.clamp(duty.abs(), max=1.0)
        emf_along = direction * emf
        rising, falling = (supply - emf_along) / resistance, (supply + emf_along) / resistance
        electric_time = inductance / resistance
        on_time = share * period
        peak = -rising * torch.expm1(-on_time / electric_time)
        tiny = torch.finfo(duty.dtype).tiny
        fall_time = electric_time * torch.log1p(torch.clamp(peak / torch.clamp(falling, min=tiny), min=0.0))
        interrupted = (rising * on_time - falling * fall_time) / period
        continuous = ((2.0 * share - 1.0) * supply - emf_along) / resistance
        current = torch.where(on_time + fall_time < period, interrupted, continuous)
        current = torch.where(falling <= 0.0, continuous, current)
        return direction * torch.where(rising <= 0.0, rising, current)


def _written(value: torch.Tensor, env_ids: Envs, new: float) -> torch.Tensor:
    if env_ids is None:
        return torch.full_like(value, new)
    value = value.clone()
    value[env_ids] = new
    return value


def _clip(value: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    return torch.minimum(torch.maximum(value, -limit), limit)
