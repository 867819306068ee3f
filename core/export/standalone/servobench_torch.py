# SPDX-License-Identifier: Apache-2.0
"""Servos with identified friction (M1–M6) for batched simulators: PyTorch, N environments × J joints.

    servo = TorchServo(["shoulder.servo.json", "elbow.servo.json"], num_envs=4096, timestep=0.005, device="cuda")
    motor = servo.motor_torque(goal, position, velocity)                     # N·m, advances the servos by one step
    friction = servo.applied_friction(inertia, velocity, motor, external)    # N·m, once per step

Every tensor has shape (num_envs, num_joints), in SI units and radians. A servo is a JSON file of numbers. Joints of one
batch may be different servos with different laws. Gradients flow through any number of steps.

The order within a step is Algorithm 1 of Duclusaud et al., "Extended Friction Models for the Physics Simulation of
Servo Actuators", preceded by the command path: delay, velocity limit of the goal, dead band, integral and derivative
gains, lag of the output, sag of the supply voltage. Rigid friction is the torque that stops the joint, clipped to its
budget (lines 4–6). An elastoplastic contact is a bristle that bends and slips beyond the budget (Cisneros et al.); its
deflection is part of the state.

`motor_torque` combines `propose` and `accept`. Simulators that may evaluate a step twice call the two themselves.

Needs torch only. Copy this file next to the JSON files it reads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch  # pyright: ignore[reportMissingImports]

FORMAT = "servobench-servo"
VERSIONS = tuple(range(1, 9))
LAWS = ("voltage", "coast", "current")
NUMBERS = (
    "torque_constant", "resistance", "armature",
    "friction_base", "friction_viscous", "load_motor", "load_external",
    "friction_stribeck", "load_motor_stribeck", "load_external_stribeck", "load_motor_quad", "load_external_quad",
    "stribeck_velocity", "stribeck_exponent", "opposing_gate",
    "delay", "release_delay", "goal_slew", "dead_band", "pwm_lag", "supply_sag", "release_braking",
    "inductance", "pwm_period", "kp", "ki", "kd", "kv", "output_limit", "supply_voltage",
    "control_period", "angle_ignored", "speed_feedback", "current_limit", "output_offset", "pulse_sag",
    "load_memory",
)  # fmt: skip
"""Numbers that a servo file must hold besides its law; each is a tensor in `TorchServo.numbers`."""
CONTACTS = ("rigid", "elastoplastic", "elastoplastic_rational")
STEEPEST = 0.98
"""Largest fall of u·E(s) per unit of s in `_slip`; above 1 there would be several roots."""
BRISTLE_NUMBERS = ("bristle_stiffness", "bristle_damping")
"""Numbers that a file of version 2 adds besides its contact; tensors like the others."""
_LARGEST = 1.7976931348623157e308
"""Largest float; JSON integers may be larger."""
_POSITIVE = (
    "torque_constant", "resistance", "stribeck_velocity", "stribeck_exponent", "goal_slew", "inductance", "pwm_period",
    "supply_voltage", *BRISTLE_NUMBERS,
)  # fmt: skip
OFFSET_WIDTH = math.tau / 4096
"""Error over which the output offset grows from 0 to its value [rad]."""
NO_CURRENT_LIMIT = 1e9
"""Current limit that has no effect [A]."""
STAGGERED = 0.5
"""Lag of velocities behind positions, in steps, if an engine updates positions with the new velocity. It is the `lead`
of servos whose goals are held for a step."""
_ENDS = 1.0 - 1e-3
"""Share of a step after which a control law acts in the next one."""
UNSETTLED = -1.0
"""Load friction before a step that starts settled [N·m]. Each step before that one lowers it by 1."""
LONGEST_DELAY = 4096
"""Longest delay of a command, in steps."""

Envs = torch.Tensor | Sequence[int] | slice | None
"""Environments as indices or a mask; None for all."""


def read_servo(source: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """Read a servo from its JSON file or that file's content; raise ValueError if it is invalid."""
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
        raise ValueError(f"{name}: version {data.get('version')!r} is not 1 to 8; use the program exported with it")
    if data["version"] == 1:
        data |= {"contact": "rigid", **dict.fromkeys(BRISTLE_NUMBERS, 1.0)}
    if data["version"] < 3:
        data["control_period"] = 0.0
    if data["version"] < 4:
        data |= {"angle_ignored": 0.0, "speed_feedback": 0.0}
    if data["version"] < 5:
        data |= {"current_limit": NO_CURRENT_LIMIT, "output_offset": 0.0}
    if data["version"] < 6:
        data["pulse_sag"] = 0.0
    if data["version"] < 8:
        data["load_memory"] = 0.0
    if data["version"] > 6 and data.get("backlash"):
        raise ValueError(f"{name}: backlash, which this program does not compute: set it to 0 in the servo file")
    if data.get("law") not in LAWS:
        raise ValueError(f"{name}: no control law {data.get('law')!r}; available: {', '.join(LAWS)}")
    if data.get("contact") not in CONTACTS:
        raise ValueError(f"{name}: no contact {data.get('contact')!r}; available: {', '.join(CONTACTS)}")
    for number in (*NUMBERS, *BRISTLE_NUMBERS):
        value = data.get(number)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST:
            raise ValueError(f"{name}: {number} = {value!r} must be a finite number of at least 0")
        if number in _POSITIVE and value == 0.0:
            raise ValueError(f"{name}: {number} must be positive")
    zero = data.setdefault("joint_zero", 0.0)
    if not isinstance(zero, (int, float)) or not math.isfinite(zero):
        raise ValueError(f"{name}: joint_zero = {zero!r} is not an angle")
    if data["angle_ignored"]:
        data["joint_zero"] = 0.0
    return data


@dataclass
class _State:
    """State of the servos, each tensor of shape (num_envs, num_joints)."""

    slewed: torch.Tensor
    """Goal after its velocity limit [rad]."""
    output: torch.Tensor
    """Commanded duty cycle or current [1 or A]."""
    integral: torch.Tensor
    error: torch.Tensor
    """Position error of the last step [rad]."""
    bus_current: torch.Tensor
    """Current drawn from the supply [A]."""
    deflection: torch.Tensor
    """Deflection of an elastoplastic contact [rad]."""
    sliding: torch.Tensor
    """Fast-sliding friction of the last step [N·m]; with the excess at rest it determines the deflection."""
    at_rest: torch.Tensor
    held: torch.Tensor
    """Output of a law that acts once a period [1 or A]."""
    since: torch.Tensor
    """Time since it acted [s]; 0 before it has acted."""
    velocity: torch.Tensor
    """Velocity before the last step [rad/s]."""
    load_before: torch.Tensor
    """Friction by the load before the last step [N·m], see `TorchServo.remembered`; negative if it is unsettled."""
    load_friction: torch.Tensor
    """The same after it."""


class _Law(NamedTuple):
    """Results of a control law in one step; see `_State`."""

    control: torch.Tensor
    """Mean output [1 or A]."""
    damping: torch.Tensor
    """Its decrease with velocity."""
    slewed: torch.Tensor
    integral: torch.Tensor
    error: torch.Tensor
    held: torch.Tensor
    since: torch.Tensor


class TorchServo:
    """Batch of servos; state and numbers are tensors of shape (num_envs, num_joints)."""

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
        """Load the servos.

        Args:
            servos: One servo file, or its content, per joint.
            num_envs: Number of environments.
            timestep: Time step of the simulation [s].
            lead: Additional delay of commands, as a share of a time step.
            contacts: Contacts whose friction the caller takes from here.
            device: Device of the tensors.
            dtype: Type of the tensors.

        Raises:
            ValueError: A file is invalid, or a servo has another contact.
        """
        if not (math.isfinite(timestep) and timestep > 0.0) or num_envs < 1 or not servos:
            raise ValueError(f"{len(servos)} servos in {num_envs} environments at {timestep} s are not possible")
        data = [read_servo(servo) for servo in servos]
        other = {servo["contact"] for servo in data} - set(contacts)
        if other:
            raise ValueError(f"a servo's contact is {other.pop()}; only {', '.join(contacts)} is possible here")
        self.joint_zero = torch.tensor([servo["joint_zero"] for servo in data], device=device, dtype=dtype)
        """Joint angles at which the servos read 0 [rad], shape (num_joints,): `joint_zero` of their files, added to
        goals."""
        self.timestep = float(timestep)
        self.num_envs, self.num_joints = num_envs, len(data)
        self._lead = lead
        self.contacts = {servo["contact"] for servo in data}
        """Contacts of the joints."""
        self._laws = {law for law in LAWS if any(servo["law"] == law for servo in data)}
        # Tensors made in inference mode could not be written outside of it.
        with torch.inference_mode(False), torch.no_grad():
            self.nominal = {
                name: torch.tensor([servo[name] for servo in data], device=device, dtype=dtype).expand(num_envs, -1)
                for name in (*NUMBERS, *BRISTLE_NUMBERS)
            }
            self.numbers: dict[str, torch.Tensor] = {name: value.clone() for name, value in self.nominal.items()}
            """Numbers of the servos, each of shape (num_envs, num_joints); call `refresh` after writing to them."""
            is_law = {law: torch.tensor([servo["law"] == law for servo in data], device=device) for law in LAWS}
            self._is_coast, self._is_current = is_law["coast"], is_law["current"]
            is_contact = {c: torch.tensor([servo["contact"] == c for servo in data], device=device) for c in CONTACTS}
            self.is_rigid, self._is_rational = is_contact["rigid"], is_contact["elastoplastic_rational"]
            """True for joints with a rigid contact, shape (num_joints,)."""
            zeros = torch.zeros(num_envs, self.num_joints, device=device, dtype=dtype)
            # Engines whose velocities lag know no load in the first step.
            self._first = {"load_friction": 2.0 * UNSETTLED if lead else UNSETTLED}
            self._state = _State(*(torch.full_like(zeros, self._first.get(f.name, 0.0)) for f in fields(_State)))
            self._fresh = torch.ones(num_envs, 1, device=device, dtype=torch.bool)
            self._age = torch.zeros(num_envs, 1, device=device, dtype=torch.long)
            self.current = zeros.clone()
            """Motor current of the last step [A]."""
            self.duty_cycle = zeros.clone()
            """Duty cycle of the last step, negative for a motor driven backwards."""
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
        """Return this step's motor torque [N·m] (Algorithm 1, line 1) and advance by one step; see `propose`."""
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
        """`motor_torque` for an engine that updates positions with the new velocity and applies torques explicitly.

        Its velocities lag half a step behind its positions, so velocity-dependent torques use the velocity half a step
        later, or less where that would be unstable. The servos need a `lead` of `STAGGERED`.

        Args:
            goal: See `propose`.
            position: See `propose`.
            velocity: See `propose`.
            before: Velocity of the previous step [rad/s].
            inertia: Total inertia of the joint, armature included [kg·m²].
            enable: See `propose`.
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
        """Return this step's motor torque [N·m] without advancing the servos.

        All arguments are broadcast to (num_envs, num_joints).

        Args:
            goal: Goals [rad, or the unit of another command].
            position: Positions [rad].
            velocity: Velocities [rad/s].
            enable: 1 where the torque is on, 0 where it is off. None: on everywhere.
            supply_voltage: Supply voltage before the sag [V]. None: as in the file.
        """
        n, state = self.numbers, self._state
        goal = torch.as_tensor(goal).expand_as(position) + self.joint_zero
        on = self._driven if enable is None else torch.as_tensor(enable).to(position).expand_as(position)
        goal, on = self._delayed(goal, on)
        enabled = on > 1.0 - _ENDS  # not a rest of rounding
        law = self._continuous_law(goal, position, velocity)
        if self._actions:
            sampled, acts_once = self._sampled_law(goal, position, velocity), n["control_period"] > 0.0
            law = _Law(*(torch.where(acts_once, a, b) for a, b in zip(sampled, law, strict=True)))
        control = law.control
        zero = torch.zeros_like(control)
        output = torch.where(enabled, state.output + self._lag_share * (control - state.output), zero)
        acting = torch.where(enabled, state.output + self._acting_share * (control - state.output), zero)
        supply = n["supply_voltage"] if supply_voltage is None else torch.as_tensor(supply_voltage).expand_as(position)
        supply = torch.clamp(supply - n["supply_sag"] * state.bus_current, min=0.0)

        current, duty = self._current_and_duty(acting, on, supply, velocity)
        self._arrived = on, supply, law.damping, acting * on == torch.where(self._is_current, current, duty)
        self._pending = _State(
            slewed=torch.where(enabled, law.slewed, position),
            output=output,
            integral=torch.where(enabled, law.integral, zero),
            error=law.error,
            bus_current=torch.clamp(duty * current, min=0.0),
            deflection=self._bent(velocity),
            sliding=state.sliding,
            at_rest=state.at_rest,
            held=torch.where(enabled, law.held, zero),
            since=torch.where(enabled, law.since, zero),
            velocity=velocity,
            load_before=state.load_friction,
            load_friction=state.load_friction,
        )
        self.current, self.duty_cycle = current, duty
        return n["torque_constant"] * current

    def _continuous_law(self, goal: torch.Tensor, position: torch.Tensor, velocity: torch.Tensor) -> _Law:
        """Return what a law does that acts in every step."""
        n, h, state = self.numbers, self.timestep, self._state
        before = torch.where(self._fresh, position, state.slewed)
        # With a lead of half a step, quantities that grow with time act with their mean over the step.
        now, reach = 1.0 - self._lead, n["goal_slew"] * h
        slewed = before + _clip(goal - before, reach)
        seen, speed = (1.0 - n["angle_ignored"]) * position, n["speed_feedback"]
        error = torch.where((goal - before).abs() > reach, before + now * (slewed - before), slewed) - seen
        error = error - speed * velocity
        error = error - _clip(error, n["dead_band"])
        # A speed loop integrates the angle that the shaft has turned: correct the last step by its change of speed.
        old = state.integral - 0.5 * h * n["ki"] * speed * (velocity - state.velocity)
        integral = _clip(old + n["ki"] * error * h, n["output_limit"])
        summed = old + now * (integral - old)
        raw = n["kp"] * error + summed + n["kd"] * (error - state.error) / h - n["kv"] * velocity + _offset(n, error)
        control = _clip(raw, n["output_limit"])
        damping = torch.where(control == raw, n["kv"] + n["kp"] * speed, 0.0)
        return _Law(control, damping, slewed, integral, error, state.held, state.since)

    def _sampled_law(self, goal: torch.Tensor, position: torch.Tensor, velocity: torch.Tensor) -> _Law:
        """Return what a law does that acts once a period; between two actions its output is held."""
        n, h, state = self.numbers, self.timestep, self._state
        between, limit = torch.where(n["control_period"] > 0.0, n["control_period"], h), n["output_limit"]
        integral, error, held, acted = state.integral, state.error, state.held, state.since > 0.0
        start = position - self._lead * h * velocity
        slewed = torch.where(acted, state.slewed, start)
        due = torch.where(acted, torch.clamp(between - state.since, min=0.0), 0.0)
        since, at, total, damping = state.since + h, 0.0 * due, 0.0 * due, 0.0 * due
        for _ in range(self._actions):
            acts = due < _ENDS * h
            total = torch.where(acts, total + held * (due - at), total)
            at = torch.where(acts, due, at)
            reached = slewed + _clip(goal - slewed, n["goal_slew"] * between)
            seen = reached - (1.0 - n["angle_ignored"]) * (start + velocity * due) - n["speed_feedback"] * velocity
            seen = seen - _clip(seen, n["dead_band"])
            rise = torch.where(acted, seen - error, 0.0) / between
            summed = _clip(integral + n["ki"] * seen * between, limit)
            wanted = n["kp"] * seen + summed + n["kd"] * rise - n["kv"] * velocity + _offset(n, seen)
            output = _clip(wanted, limit)
            # The actions after the first one would see the velocity of this step change.
            slope = n["kd"] + n["kv"] + n["kp"] * n["speed_feedback"]
            late = torch.clamp(1.0 - between / h, min=0.0) * slope
            damping = torch.where(acts, torch.where(output == wanted, late, 0.0), damping)
            slewed, integral = torch.where(acts, reached, slewed), torch.where(acts, summed, integral)
            error, held = torch.where(acts, seen, error), torch.where(acts, output, held)
            since, acted = torch.where(acts, h - due, since), acted | acts
            due = torch.where(acts, due + between, due)
        return _Law((total + held * (h - at)) / h, damping, slewed, integral, error, held, since)

    def motor_damping(self) -> torch.Tensor:
        """Return the decrease of the last proposed motor torque with velocity [N·m·s/rad].

        It is the linear part: back-EMF and velocity gain. Simulators that integrate damping implicitly need it. It is 0
        for a drive/coast bridge.
        """
        n = self.numbers
        on, supply, falling, unlimited = self._arrived
        per_emf = n["torque_constant"] ** 2 / self._passed
        feedback = self._acting_share * falling * on * n["torque_constant"]
        held = ~unlimited & (self.duty_cycle.abs() < n["output_limit"] * on)
        released = (1.0 - on) * n["release_braking"] * n["torque_constant"] ** 2 / n["resistance"]
        dropped = torch.where(self._passed > n["resistance"], n["pulse_sag"] * self.current.abs(), 0.0)
        output = torch.where(unlimited, feedback, 0.0) * (supply - dropped) / self._passed
        voltage = per_emf * torch.where(held, 0.0, on) + released + output
        damping = torch.where(self._is_current, torch.where(unlimited, feedback, per_emf), voltage)
        return torch.where(self._is_coast, 0.0, damping)

    def accept(self) -> None:
        """Accept the last `propose` and advance the servos by one step."""
        if self._pending is None:
            return
        # Tensors are replaced, never overwritten: gradients over several steps need them.
        self._state, self._pending = self._pending, None
        self._fresh = torch.zeros_like(self._fresh)
        self._age = self._age + 1
        if len(self._history):
            self._head = (self._head + 1) % self._history.shape[1]

    def reset(self, env_ids: Envs = None) -> None:
        """Reset some environments: their next command counts as if it had always been there.

        A reset of all environments also cuts the gradients to earlier steps.
        """
        self._state = _State(
            *(_written(getattr(self._state, f.name), env_ids, self._first.get(f.name, 0.0)) for f in fields(_State))
        )
        self._fresh = _written(self._fresh, env_ids, True)
        self._age = _written(self._age, env_ids, 0)
        self._history = self._history.detach() if env_ids is None else self._history
        self._pending = None

    @property
    def deflection(self) -> torch.Tensor:
        """Deflection of elastoplastic contacts at the last `propose` [rad], 0 for rigid ones."""
        return (self._pending or self._state).deflection

    def dry_friction(
        self, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return dry friction at this load, eq. (10) [N·m]: while sliding fast, and the excess at rest.

        The formula is M6; M1–M5 have zeros in it. Torques in N·m.
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

    def remembered(self, motor_torque: torch.Tensor, external_torque: torch.Tensor) -> torch.Tensor | float:
        """Return how far friction by the load exceeds that of this load [N·m].

        Friction by the load follows the load with the time constant `load_memory`. Add the result to `static_friction`
        and to the sliding friction of `dry_friction`. With a `lead` it is the mean over the step, otherwise the value
        at its end. Call it after `propose`; within a step, the last call counts. Torques in N·m.
        """
        if not self._remembers:
            return 0.0
        n, state = self.numbers, self._pending or self._state
        load = (n["load_motor"] * motor_torque - n["load_external"] * external_torque).abs()
        before = torch.where(state.load_before < 0.0, load, state.load_before)
        after = before + self._memory_share * (load - before)
        state.load_friction = torch.where(state.load_before < UNSETTLED, state.load_before - UNSETTLED, after)
        return self._memory_missing * (before - load)

    def static_friction(
        self, velocity: torch.Tensor, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> torch.Tensor:
        """Return the friction budget without its viscous part, eq. (10) [N·m]; M1–M5 have zeros in it.

        The viscous part is `numbers["friction_viscous"]`·|velocity|. Velocity in rad/s, torques in N·m.
        """
        n = self.numbers
        stribeck = torch.exp(-((velocity.abs() / n["stribeck_velocity"]) ** n["stribeck_exponent"]))
        sliding, at_rest = self.dry_friction(motor_torque, external_torque)
        return sliding + stribeck * at_rest

    def friction_budget(
        self, velocity: torch.Tensor, motor_torque: torch.Tensor, external_torque: torch.Tensor
    ) -> torch.Tensor:
        """Return the friction budget τ_f^m, eq. (10) [N·m]: static plus viscous part."""
        static = self.static_friction(velocity, motor_torque, external_torque)
        return static + self.numbers["friction_viscous"] * velocity.abs()

    def applied_friction(
        self,
        inertia: torch.Tensor | float,
        velocity: torch.Tensor,
        motor_torque: torch.Tensor,
        external_torque: torch.Tensor,
    ) -> torch.Tensor:
        """Return the friction torque τ_f [N·m].

        For a rigid contact it is the torque that stops the joint within the step, clipped to the budget (lines 4–6).
        For an elastoplastic contact, see `bristle_friction`.

        Args:
            inertia: Total inertia of the joint, armature included [kg·m²].
            velocity: Velocities [rad/s].
            motor_torque: Motor torques [N·m].
            external_torque: Loads [N·m].
        """
        to_stop = inertia * velocity / self.timestep + motor_torque + external_torque
        excess = self.remembered(motor_torque, external_torque)
        friction = -_clip(to_stop, self.friction_budget(velocity, motor_torque, external_torque) + excess)
        if self.contacts == {"rigid"}:
            return friction
        sliding, at_rest = self.dry_friction(motor_torque, external_torque)
        dry = sliding + excess, at_rest
        bristle, _ = self.bristle_friction(inertia, velocity, motor_torque + external_torque, dry)
        return torch.where(self.is_rigid, friction, bristle)

    def bristle_friction(
        self,
        inertia: torch.Tensor | float,
        velocity: torch.Tensor,
        torque: torch.Tensor,
        dry: tuple[torch.Tensor, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the friction torque of elastoplastic contacts at the end of the step, and its slope.

        Meaningless for rigid contacts. See Cisneros et al., eqs 11–16, with inertia/Δt in series. Call it after
        `propose`, which updates the deflection from the velocity.

        Args:
            inertia: Total inertia of the joint, armature included [kg·m²].
            velocity: Velocities [rad/s].
            torque: Total torque on the joint without friction [N·m].
            dry: Result of `dry_friction`.

        Returns:
            Friction torque [N·m] and its decrease with velocity [N·m·s/rad].
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
        """Set a number to its nominal value times a random factor in [low, high], per joint and environment."""
        if name not in self.numbers or not 0.0 <= low <= high:
            raise ValueError(f"cannot scale {name!r} by {low} to {high}; available: {', '.join(self.numbers)}")
        chosen = slice(None) if env_ids is None else env_ids
        nominal = self.nominal[name][chosen]
        share = torch.rand(nominal.shape, generator=generator, device=nominal.device, dtype=nominal.dtype)
        self.numbers[name][chosen] = nominal * (low + (high - low) * share)
        self.refresh()

    def become(
        self, names: Sequence[str], specimens: Any, env_ids: Envs = None, generator: torch.Generator | None = None
    ) -> None:
        """Turn the servos of some environments into random specimens, one per joint; their state stays.

        Args:
            names: Names of the numbers.
            specimens: One specimen per row, whose numbers belong together, shape (specimens, names).
            env_ids: Environments.
            generator: Random generator.

        Raises:
            ValueError: No specimens, or a number that servos do not have.
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
        """Apply changes of `numbers`; a delay longer than any before discards commands in transit."""
        n, h = self.numbers, self.timestep
        with torch.inference_mode(False), torch.no_grad():
            lag = n["pwm_lag"].clone()
            one = torch.ones_like(lag)
            self._lag_share = torch.where(lag > 0.0, -torch.expm1(-h / lag), one)
            mean = torch.where(lag > 0.0, 1.0 - self._lag_share * lag / h, one)
            self._acting_share = mean if self._lead else self._lag_share
            memory = n["load_memory"]
            self._remembers = bool((memory > 0.0).any())
            self._memory_share = -torch.expm1(-h / memory)
            self._memory_missing = self._memory_share * memory / h if self._lead else 1.0 - self._memory_share
            periods = n["control_period"][n["control_period"] > 0.0]
            self._actions = math.ceil(h / float(periods.min()) - 1e-6) if len(periods) else 0
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
        """Torque per velocity of a bristle that takes up a step on its own [N·m·s/rad]."""
        return self.numbers["bristle_stiffness"] * self.timestep + self.numbers["bristle_damping"]

    def _bent(self, velocity: torch.Tensor) -> torch.Tensor:
        """Return the deflection after a step at the resulting velocity (Cisneros et al., eq. 18)."""
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
        """Return the friction torque [N·m] and the slip speed [rad/s], 0 while sticking.

        `free` is the velocity without this friction [rad/s], `mobility` its change per torque [rad/(s·N·m)].
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
        """Return the root s of s + u·E(s) = d, the slip velocity in units of the Stribeck velocity.

        E is exp(−s^α), solved by Halley steps from the root of its steepest tangent, or 1/(1 + s). Where u·E falls so
        steeply that there would be several roots, E is taken at a smaller slip, so that friction does not jump.
        """
        tiny = 1e-30
        alpha = torch.clamp(self.numbers["stribeck_exponent"], min=1.0)
        power = (alpha - 1.0) / alpha
        where = power ** (1.0 / alpha)
        height = torch.exp(-power)
        slope = torch.where(alpha > 1.0, alpha * power / torch.clamp(where, min=tiny) * height, 1.0)
        ratio = torch.clamp(u * torch.where(self._is_rational, 1.0, slope) / STEEPEST, min=1.0)
        u, d = u / ratio, d - (u - u / ratio)
        rational = torch.zeros_like(d)
        if "elastoplastic_rational" in self.contacts:
            half = 0.5 * (d - 1.0)
            root = torch.sqrt(torch.clamp(half * half + d - u, min=0.0))
            rational = torch.where(half > 0.0, half + root, (d - u) / torch.clamp(root - half, min=tiny))
        if "elastoplastic" not in self.contacts:
            return d - ratio * (d - rational) + (ratio - 1.0) * u
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
        s = torch.where(self._is_rational, rational, s)
        return d - ratio * (d - s) + (ratio - 1.0) * u

    def _delayed(self, goal: torch.Tensor, on: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return delayed goal and enable, interpolated linearly between commands."""
        if not len(self._history):
            return goal, on
        if torch.is_grad_enabled():
            self._history = self._history.clone()
        self._history[0, self._head] = goal
        self._history[1, self._head] = on
        # After a reset, the first command counts as all earlier ones.
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
        """Return each joint's motor current [A] and duty cycle by its own law, eqs (12)–(15)."""
        n = self.numbers
        resistance = n["resistance"]
        emf = n["torque_constant"] * velocity
        some_supply = torch.clamp(supply, min=1e-9)
        is_voltage = ~(self._is_coast | self._is_current)
        allowed = torch.where(is_voltage, _held_back(n, output, some_supply, emf), output)
        drawing = allowed * (allowed * supply - emf) > 0.0
        self._passed = resistance + torch.where(drawing, n["pulse_sag"] * allowed.abs(), 0.0)
        driven = (allowed * supply - emf) / self._passed
        if "coast" in self._laws:
            driven = torch.where(self._is_coast, _coast_current(n, output, some_supply, emf), driven)
        current = on * driven - (1.0 - on) * n["release_braking"] * emf / resistance
        duty = allowed * on
        if "current" in self._laws:
            # Eq. (14): the bridge may be unable to hold the current against the back-EMF.
            at_limit = resistance + torch.where(emf.abs() < supply, n["pulse_sag"], 0.0)
            held = torch.maximum(output * on, (-supply - emf) / at_limit)
            held = torch.minimum(held, (supply - emf) / at_limit)
            current = torch.where(self._is_current, held, current)
            # Within ±1 by the limits above; without a supply voltage only rounding errors would remain.
            share = torch.clamp(_duty_for(n, held, some_supply, emf), -1.0, 1.0) * (supply > 0.0)
            duty = torch.where(self._is_current, share, duty)
            self._passed = torch.where(self._is_current, at_limit, self._passed)
        return current, duty


def _written(value: torch.Tensor, env_ids: Envs, new: float) -> torch.Tensor:
    if env_ids is None:
        return torch.full_like(value, new)
    value = value.clone()
    value[env_ids] = new
    return value


def _offset(n: Mapping[str, torch.Tensor], error: torch.Tensor) -> torch.Tensor:
    """Return the output that is added in the direction of the error [duty cycle or A]."""
    return n["output_offset"] * n["output_limit"] * torch.clamp(error / OFFSET_WIDTH, -1.0, 1.0)


def _held_back(
    n: Mapping[str, torch.Tensor], duty: torch.Tensor, supply: torch.Tensor, emf: torch.Tensor
) -> torch.Tensor:
    """Return the duty cycle to which a current limit changes that of a voltage law, as far as the bridge can."""
    least, most = (_duty_for(n, side * n["current_limit"], supply, emf) for side in (-1.0, 1.0))
    return _clip(torch.minimum(torch.maximum(duty, least), most), n["output_limit"])


def _coast_current(
    n: Mapping[str, torch.Tensor], duty: torch.Tensor, supply: torch.Tensor, emf: torch.Tensor
) -> torch.Tensor:
    """Return the mean motor current [A] of a drive/coast bridge over one PWM period.

    With the switch on, the current rises towards (U − e)/R. With it off, it freewheels into the supply and falls
    towards −(U + e)/R, until it is zero or the next period starts. e is the back-EMF along the drive.
    """
    inductance, period = n["inductance"], n["pwm_period"]
    resistance = n["resistance"] + n["pulse_sag"] * duty.abs()
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


def _duty_for(
    n: Mapping[str, torch.Tensor], current: torch.Tensor, supply: torch.Tensor, emf: torch.Tensor
) -> torch.Tensor:
    """Return the duty cycle that drives a current [A]; emf, supply in V."""
    voltage = current * n["resistance"] + emf
    dropped = torch.where(voltage * current > 0.0, n["pulse_sag"] * current.abs(), 0.0)
    return voltage / torch.clamp(supply - dropped, min=1e-9)


def _clip(value: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    return torch.minimum(torch.maximum(value, -limit), limit)
