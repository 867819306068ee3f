"""Actuators: control law, motor and command path (seed 004, sections IV-A to IV-C).

An actuator is described by data only; the kernel's step computes it. The voltage law (eqs 12, 13) drives the motor
with duty cycle × supply voltage, the current law (eqs 14, 15) with a current. Eq. (14) states the current limit I_emf
due to the voltage once for both directions. Here each direction has its own, (±U − k_t·θ̇)/R: this is what a bridge can
do, and the published parameters were fitted with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from core.base.errors import ModelError
from core.base.guards import is_finite
from core.kernel.layout import NO_CURRENT_LIMIT, Law, Setup, Slot
from core.servo.bench import Bench
from core.servo.parameters import Parameter
from core.servo.settings import ServoSettings
from core.servo.terms import ANGLE_TERMS, COAST_TERMS, COMMAND_PATH, MOTOR_TERMS, MOUNTING_TERMS, SPEED_LOOP

LAWS = ("voltage", "current")


@dataclass(frozen=True)
class Command:
    """Kind of command that a servo takes."""

    kind: str
    """Name; recordings hold the command in the channel goal_KIND."""
    unit: str
    law: str
    """Law that turns it into a motor command, one of LAWS; "" for the servo's own."""
    words: str

    @property
    def channel(self) -> str:
        """Channel of a recording that holds the command."""
        return f"goal_{self.kind}"


COMMANDS: Mapping[str, Command] = {
    command.kind: command
    for command in (
        Command("position", "rad", "", "an angle"),
        Command("velocity", "rad/s", "", "a speed"),
        Command("duty_cycle", "1", "voltage", "a duty cycle"),
        Command("voltage", "V", "voltage", "a voltage"),
        Command("current", "A", "current", "a current"),
        Command("torque", "N·m", "current", "a torque"),
    )
}
"""Commands by kind. A voltage becomes a duty cycle of the supply, a torque a current of the nominal k_t."""
SLOW_DECAY, FAST_DECAY = "slow decay", "fast decay"
DRIVES = (SLOW_DECAY, FAST_DECAY)
DEFAULT_PERIOD = 1e-3
"""Control period of a servo with integral or derivative gain whose file states none [s]."""
PIECE = 1.0
"""Time after which the simulation of a run whose command follows no measurement restarts from the measured state [s].

Nothing returns such a motion to the measured one: near the upright pendulum, the least difference grows without end.
"""
_LEFT_OUT: Mapping[str, Any] = {"command": "position", "current_limit": 0.0}
"""Values that a model file leaves out, so that programs that do not know the field read the others."""
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-5, 0.1
"""Bounds of a control period that is known [s]; a shorter one would need millions of time steps."""


@dataclass(frozen=True, kw_only=True)
class ControlLaw:
    """Law by which the servo's firmware turns a position error into a motor command."""

    law: str
    """"voltage" (the output is a duty cycle) or "current" (the output is in A)."""
    drive: str = SLOW_DECAY
    """State of the H-bridge between two PWM pulses while the torque is on.

    With slow decay it shorts the motor, whose current goes on and brakes. With fast decay it opens, and the current
    dies out (voltage law only). What it does while the torque is off is another matter, see `release_braking`.
    """
    error_gain: float = 1.0
    """Output per rad of error and per unit of the servo's P gain."""
    integral_ratio: float = 0.0
    """Integral gain [1/s] per unit of the servo's I gain, relative to `error_gain`."""
    derivative_ratio: float = 0.0
    """Derivative gain [s] per unit of the servo's D gain, relative to `error_gain`."""
    output_limit: float
    """Largest duty cycle [1] or current [A] (I_heat of eq. 14)."""
    damping: float = 0.0
    """Velocity gain of the eRob law: amps = kp·e − damping·√kp·θ̇."""
    control_period: float = 0.0
    """Time between two actions of the law [s]; 0 if it is not known. See `period`."""
    current_limit: float = 0.0
    """Largest motor current [A], to which the firmware reduces the duty cycle; 0 for none.

    A voltage law with slow decay may have one, e.g. current-based position control.
    """
    command: str = "position"
    """One of COMMANDS. With any but an angle, the servo's gains have no effect, see `commanded_by`."""

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise ModelError(f"no control law {self.law!r}; there are {', '.join(LAWS)}")
        if self.command not in COMMANDS or COMMANDS[self.command].law not in ("", self.law):
            raise ModelError(f"a {self.law} law commanded by {self.command!r} does not exist")
        if self.drive not in DRIVES or (self.drive == FAST_DECAY and self.law != "voltage"):
            raise ModelError(f"a {self.law} law with a {self.drive!r} drive does not exist")
        for name in (field.name for field in fields(self) if field.type == "float"):
            value = getattr(self, name)
            if not is_finite(value) or value < 0:
                raise ModelError(f"control law: {name} = {value!r} must be a finite number of at least 0")
        if self.current_limit and (self.law, self.drive) != ("voltage", SLOW_DECAY):
            raise ModelError(
                f"a {self.law} law with a {self.drive!r} drive has no current_limit; the voltage law with "
                f"{SLOW_DECAY!r} can have one"
            )
        if self.control_period and not SHORTEST_PERIOD <= self.control_period <= LONGEST_PERIOD:
            raise ModelError(
                f"control law: control_period = {self.control_period:g} s must be {SHORTEST_PERIOD:g} to "
                f"{LONGEST_PERIOD:g} s, or 0 if it is not known"
            )

    @property
    def kernel_law(self) -> Law:
        """Compiled step that computes the law."""
        if self.law == "current":
            return Law.CURRENT
        if self.drive == FAST_DECAY:
            return Law.COAST
        return Law.LIMITED if self.current_limit else Law.VOLTAGE

    @property
    def control_unit(self) -> str:
        """Unit of the law's output."""
        return "A" if self.law == "current" else "V"

    @property
    def piece(self) -> float:
        """Time after which the simulation of a run restarts from the measured state [s]; 0 for never, see PIECE."""
        return PIECE if COMMANDS[self.command].law else 0.0

    def commanded_by(self, kind: str, motor: Mapping[str, tuple[float, float, float]], voltage: float) -> ControlLaw:
        """Return the law of the same servo for another command.

        Args:
            kind: One of COMMANDS.
            motor: Start value and bounds of k_t and R, see `ServoSpec.motor`.
            voltage: Nominal supply [V].

        Raises:
            ModelError: There is no such command.
        """
        if kind == "position":
            return self
        if kind not in COMMANDS:
            raise ModelError(f"no command {kind!r}; there are {', '.join(COMMANDS)}")
        law = COMMANDS[kind].law or self.law
        stall = voltage / motor["R"][0]
        limit = self.output_limit if law == self.law else stall if law == "current" else 1.0
        return replace(
            self,
            law=law,
            drive=self.drive if law == self.law else SLOW_DECAY,
            error_gain=1.0 / motor["kt"][0] if kind == "torque" else 1.0,
            integral_ratio=0.0,
            derivative_ratio=0.0,
            output_limit=limit,
            damping=0.0,
            current_limit=self.current_limit if law == self.law else 0.0,
            command=kind,
        )

    def period(self, settings: ServoSettings) -> float:
        """Return the time between two actions of the law [s], 0 for a law that is simulated as a continuous one.

        A proportional law is continuous unless its period is known. Integral and derivative gains act once a period,
        DEFAULT_PERIOD if it is not known.
        """
        if self.command != "position":
            return self.control_period
        sampled = settings.ki * self.integral_ratio > 0.0 or settings.kd * self.derivative_ratio > 0.0
        return self.control_period or (DEFAULT_PERIOD if sampled else 0.0)

    def fill(self, rows: np.ndarray) -> None:
        """Write the law into kernel rows (n, ROW), per unit of the servo's own gains."""
        rows[:, Slot.KP] = self.error_gain
        rows[:, Slot.KI] = self.error_gain * self.integral_ratio
        rows[:, Slot.KD] = self.error_gain * self.derivative_ratio
        rows[:, Slot.KV] = self.damping
        rows[:, Slot.OUTPUT_LIMIT] = self.output_limit
        rows[:, Slot.CURRENT_LIMIT] = self.current_limit or NO_CURRENT_LIMIT
        rows[:, Slot.CONTROL_PERIOD] = self.control_period or DEFAULT_PERIOD
        rows[:, Slot.ANGLE_IGNORED] = self.command != "position"
        rows[:, Slot.SPEED_FEEDBACK] = self.command == "velocity"

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a model file."""
        return {name: value for name, value in self.__dict__.items() if _LEFT_OUT.get(name) != value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ControlLaw:
        """Read the data of `to_json`.

        Raises:
            ModelError: The data do not describe a control law.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise ModelError(f"control law: {error}") from None


def setup_row(law: ControlLaw, bench: Bench, settings: ServoSettings, step: float) -> np.ndarray:
    """Return the part of a kernel row that depends on bench, settings and time step, (len(Setup),).

    Args:
        law: Control law.
        bench: Bench.
        settings: Gains and supply voltage.
        step: Time step [s].

    Raises:
        ModelError: The settings have a velocity gain, but the control law does not.
    """
    setup = np.zeros(len(Setup))
    setup[Setup.STEP] = step
    gains = (settings.kp, settings.ki, settings.kd) if law.command == "position" else (1.0, 1.0, 1.0)
    setup[[Setup.KP, Setup.KI, Setup.KD]] = gains
    setup[Setup.KP] /= settings.supply_voltage if law.command == "voltage" else 1.0
    if law.command == "position" and (law.damping or settings.damping):
        share = 1.0 if settings.damping is None else settings.damping / law.damping if law.damping else math.nan
        if math.isnan(share):
            raise ModelError("the recording has a velocity gain (damping), but the servo's control law has none")
        setup[Setup.KV] = share * math.sqrt(settings.kp)
    setup[Setup.INERTIA] = bench.inertia
    setup[Setup.GRAVITY_TORQUE] = bench.gravity_torque
    setup[Setup.ANGLE_OFFSET] = bench.angle_offset
    return setup


def motor_parameters(bounds: Mapping[str, tuple[float, float, float]], drive: str) -> list[Parameter]:
    """Return the motor parameters and the angle offset of the bench; bounds by name as (start, lower, upper)."""
    others = (*(COAST_TERMS if drive == FAST_DECAY else ()), *MOUNTING_TERMS)
    return [
        *(Parameter.of_term(name, bounds=bounds[name]) for name in MOTOR_TERMS),
        *(Parameter.of_term(name) for name in others),
    ]


def speed_loop_parameters(law: ControlLaw, no_load_speed: float) -> list[Parameter]:
    """Return the gains of a law that is commanded by a speed; none for another law."""
    if law.command != "velocity":
        return []
    scale, unit = law.output_limit / no_load_speed, "A·" if law.law == "current" else ""
    found = [Parameter.of_term(name, speed_scale=no_load_speed) for name in SPEED_LOOP]
    return [
        replace(p, value=scale * p.value, lower=scale * p.lower, upper=scale * p.upper, unit=unit + p.unit)
        for p in found
    ]


def command_path_parameters(terms: tuple[str, ...], speed_scale: float, command: str = "position") -> list[Parameter]:
    """Return the parameters of the named command path terms; those that need an angle only with such a command.

    Args:
        terms: Names of the terms.
        speed_scale: No-load speed [rad/s].
        command: One of COMMANDS.

    Raises:
        ModelError: There is no such term.
    """
    for name in terms:
        if name not in COMMAND_PATH:
            raise ModelError(f"no command path term {name!r}; there are {', '.join(COMMAND_PATH)}")
    left_out = () if command == "position" else ANGLE_TERMS
    return [Parameter.of_term(name, speed_scale=speed_scale) for name in terms if name not in left_out]
