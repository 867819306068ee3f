"""The physical terms of a servo's model, one record each: bounds, texts and lists derive from these.

A new term needs a record here, a slot in a kernel's row, and its effect in `core.kernel.step` and in the stand-alone
programs. Start values, bounds, limits, verdicts of the coverage, costs of terms and the command line's choices follow
from the record. This module does not load numpy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from core.kernel.layout import NO_SLEW, Contact, Slot


@dataclass(frozen=True, kw_only=True)
class Term:
    """One number of a model, in SI units and radians.

    start, lower and upper are in units of T^torque_power · ω^speed_power, with the servo's stall torque T [N·m] and
    no-load speed ω [rad/s].
    """

    symbol: str
    unit: str
    description: str
    slots: tuple[Slot, ...]
    """Slots of a kernel's row that hold the value."""
    start: float = 0.0
    lower: float = 0.0
    upper: float = 0.0
    torque_power: int = 0
    speed_power: int = 0
    gear_power: int = 0
    """Exponent of the gear ratio N in the value, for the same motor behind another gear; see `of_variant`."""
    winding: bool = False
    """True if the value depends on the motor's winding, in which variants for another voltage differ."""
    frozen: bool = False
    """True for a number that no search moves."""
    scales: bool = False
    """True if the value multiplies the numbers in its slots, rather than replacing them."""
    positive: bool = False
    """True if 0 is not possible."""
    limits: tuple[float, float] = (0.0, math.inf)
    """Lowest and highest meaningful value."""
    neutral: float | None = None
    """Value at which the term has no effect; None if there is none."""
    title: str = ""
    """Name in the table of term costs, for a term that can be left out on its own."""
    evidence: str = ""
    """Rule of `core.identification.coverage.terms` for the evidence that recordings must contain; "" for none."""


MOTOR_TERMS: Mapping[str, Term] = {
    "kt": Term(
        symbol="k_t", unit="N·m/A", description="torque constant, motor and reducer",
        slots=(Slot.TORQUE_CONSTANT,), gear_power=1, winding=True, positive=True, evidence="motor",
    ),
    "R": Term(
        symbol="R", unit="Ω", description="motor resistance",
        slots=(Slot.RESISTANCE,), winding=True, positive=True, evidence="motor",
    ),
    "armature": Term(
        symbol="J_m", unit="kg·m²", description="apparent inertia of the rotor",
        slots=(Slot.ARMATURE,), gear_power=2, positive=True, evidence="inertia",
    ),
}  # fmt: skip
"""Motor terms; the servo file gives their start values and bounds."""

COAST_TERMS: Mapping[str, Term] = {
    "inductance": Term(
        symbol="L", unit="H", description="motor inductance",
        slots=(Slot.INDUCTANCE,), winding=True, start=1e-3, lower=1e-5, upper=0.1, positive=True,
    ),
    "pwm_period": Term(
        symbol="T", unit="s", description="period of the pulse width modulation",
        slots=(Slot.PWM_PERIOD,), start=1e-4, lower=1e-6, upper=1e-2, positive=True, frozen=True,
    ),
}  # fmt: skip
"""Motor terms of a drive with fast decay."""

MOUNTING_TERMS: Mapping[str, Term] = {
    "q_offset": Term(
        symbol="θ₀", unit="rad", description="mounting error of the angle",
        slots=(Slot.ANGLE_OFFSET,), lower=-0.2, upper=0.2, limits=(-math.pi, math.pi), evidence="offset",
    ),
}  # fmt: skip

COMMAND_PATH: Mapping[str, Term] = {
    "command_delay": Term(
        symbol="t_d", unit="s", description="delay from command to effect", title="delay of the command",
        slots=(Slot.DELAY,), start=0.01, upper=0.06, neutral=0.0, evidence="delay",
    ),
    "release_delay": Term(
        symbol="t_r", unit="s", description="delay from switching the torque to effect",
        title="delay of switching the torque",
        slots=(Slot.RELEASE_DELAY,), start=0.005, upper=0.06, neutral=0.0, evidence="braking",
    ),
    "error_gain_ratio": Term(
        symbol="ρ", unit="1", description="actual over nominal gain of the position error", title="gain ratio",
        slots=(Slot.KP, Slot.KI, Slot.KD), scales=True, start=1.0, lower=0.6, upper=1.6, positive=True, neutral=1.0,
        evidence="gain",
    ),
    # A limit of twice the no-load speed has no effect.
    "goal_slew": Term(
        symbol="ω_max", unit="rad/s", description="velocity limit of the goal", title="velocity limit of the goal",
        slots=(Slot.GOAL_SLEW,), start=1.0, lower=0.1, upper=2.0, speed_power=1, positive=True, neutral=NO_SLEW,
        evidence="slew",
    ),
    "dead_band": Term(
        symbol="ε", unit="rad", description="half width of the ignored position error", title="dead band",
        slots=(Slot.DEAD_BAND,), start=0.002, upper=0.03, neutral=0.0, evidence="dead_band",
    ),
    "output_offset": Term(
        symbol="d₀", unit="1", description="share of the largest output added in the direction of the error",
        title="offset of the output", slots=(Slot.OUTPUT_OFFSET,), start=0.005, upper=0.1, limits=(0.0, 1.0),
        neutral=0.0, evidence="dead_band",
    ),
    "output_limit_ratio": Term(
        symbol="λ", unit="1", description="actual over nominal limit of the output", title="limit of the output",
        slots=(Slot.OUTPUT_LIMIT,), scales=True, start=1.0, lower=0.5, upper=1.2, positive=True, neutral=1.0,
        evidence="sag",
    ),
    "pwm_lag": Term(
        symbol="τ_p", unit="s", description="first-order lag of duty cycle or current", title="lag of the duty cycle",
        slots=(Slot.PWM_LAG,), start=0.002, upper=0.05, neutral=0.0, evidence="delay",
    ),
    "control_period": Term(
        symbol="T_c", unit="s", description="time between two actions of the control law",
        slots=(Slot.CONTROL_PERIOD,), start=1e-3, lower=5e-4, upper=5e-3, positive=True,
    ),
    "supply_sag": Term(
        symbol="R_s", unit="Ω", description="resistance of supply and cable", title="sag of the supply",
        slots=(Slot.SUPPLY_SAG,), start=0.05, upper=6.0, neutral=0.0, evidence="sag",
    ),
    "pulse_sag": Term(
        symbol="R_p", unit="Ω", description="resistance of a supply that nothing buffers at the servo, "
        "in series with the motor while the bridge is on", title="sag of an unbuffered supply",
        slots=(Slot.PULSE_SAG,), start=0.05, upper=6.0, neutral=0.0, evidence="sag",
    ),
    "release_braking": Term(
        symbol="β", unit="1", description="torque off: 0 open circuit, 1 shorted motor",
        title="braking while released",
        slots=(Slot.RELEASE_BRAKING,), start=0.2, upper=1.0, limits=(0.0, 1.0), neutral=0.0, evidence="braking",
    ),
    "backlash": Term(
        symbol="b", unit="rad", description="backlash, way of the motor between its contacts with the load",
        title="backlash", slots=(Slot.BACKLASH,), start=math.radians(0.5), upper=math.radians(5.0), neutral=0.0,
        evidence="backlash",
    ),
    "load_memory": Term(
        symbol="t_λ", unit="s", description="time constant with which friction by the load follows the load",
        title="memory of the load", slots=(Slot.LOAD_MEMORY,), start=0.2, upper=2.0, neutral=0.0, evidence="memory",
    ),
}  # fmt: skip
"""Terms between a command and the load beside motor and friction; each is off unless requested."""

ANGLE_TERMS = ("error_gain_ratio", "goal_slew", "dead_band", "output_offset")
"""Command path terms that act on an angle; a servo that is commanded otherwise has none of them."""

SPEED_LOOP: Mapping[str, Term] = {
    "speed_gain": Term(
        symbol="k_p", unit="s/rad", description="output per speed error of the speed loop",
        slots=(Slot.KP,), start=10.0, lower=0.1, upper=1000.0, positive=True,
    ),
    "speed_integral": Term(
        symbol="k_i", unit="1/rad", description="output per angle error of the speed loop",
        slots=(Slot.KI,), start=10.0, upper=10_000.0, neutral=0.0,
    ),
}  # fmt: skip
"""Gains of a servo that is commanded by a speed, scaled by its output limit and no-load speed."""

_BY_NAME = ("control_period", "output_offset", "output_limit_ratio", "pulse_sag", "backlash", "load_memory")
COMMAND_PATH_TERMS = tuple(name for name in COMMAND_PATH if name not in _BY_NAME)
"""Command path terms of an identification unless others are requested.

The servo's file gives the control period and the limit of the output; without integral or derivative gain hardly a
recording shows the period. Only a logged supply that alternates with the bridge shows an unbuffered one, see `suited`.
Backlash about doubles the cost of a simulation. The others are CHOSEN_TERMS.
"""
CHOSEN_TERMS: Mapping[str, tuple[float, ...]] = {"output_offset": (0.02,), "load_memory": (0.1, 0.4)}
"""Terms that an identification with an automatic contact adds if the runs show them, with the values to start from."""
SAGS = frozenset({"supply_sag", "pulse_sag"})
"""Command path terms by which a model computes the sag of the supply from the motor's current."""

FRICTION: Mapping[str, Term] = {
    "friction_base": Term(
        symbol="K_c", unit="N·m", description="Coulomb friction",
        slots=(Slot.FRICTION_BASE,), gear_power=1, start=0.02, upper=0.3, torque_power=1, neutral=0.0,
        evidence="coulomb",
    ),
    "friction_viscous": Term(
        symbol="K_v", unit="N·m·s/rad", description="viscous friction",
        slots=(Slot.FRICTION_VISCOUS,), gear_power=2, start=0.02, upper=1.0, torque_power=1, speed_power=-1,
        neutral=0.0, evidence="viscous",
    ),
    "friction_stribeck": Term(
        symbol="K_c^s", unit="N·m", description="Stribeck–Coulomb friction, extra at rest",
        slots=(Slot.FRICTION_STRIBECK,), gear_power=1, start=0.01, upper=0.3, torque_power=1, neutral=0.0,
        evidence="stribeck",
    ),
    "dtheta_stribeck": Term(
        symbol="v_s", unit="rad/s", description="Stribeck velocity",
        slots=(Slot.STRIBECK_VELOCITY,), gear_power=-1, start=0.25, lower=0.001, upper=1.0, speed_power=1,
        positive=True, evidence="stribeck",
    ),
    "alpha": Term(
        symbol="α", unit="1", description="Stribeck exponent",
        slots=(Slot.STRIBECK_EXPONENT,), start=1.2, lower=0.2, upper=10.0, positive=True, evidence="stribeck",
    ),
    "load_friction_base": Term(
        symbol="K_l", unit="1", description="load-dependent friction",
        slots=(Slot.LOAD_MOTOR, Slot.LOAD_EXTERNAL), start=0.05, upper=1.0, neutral=0.0, evidence="load",
    ),
    "load_friction_stribeck": Term(
        symbol="K_l^s", unit="1", description="Stribeck load-dependent friction, extra at rest",
        slots=(Slot.LOAD_MOTOR_STRIBECK, Slot.LOAD_EXTERNAL_STRIBECK), start=0.05, upper=1.0, neutral=0.0,
        evidence="load",
    ),
    "load_friction_motor": Term(
        symbol="K_m", unit="1", description="motor load-dependent friction",
        slots=(Slot.LOAD_MOTOR,), start=0.05, upper=1.0, neutral=0.0, evidence="directional",
    ),
    "load_friction_external": Term(
        symbol="K_e", unit="1", description="external load-dependent friction",
        slots=(Slot.LOAD_EXTERNAL,), start=0.05, upper=1.0, neutral=0.0, evidence="directional",
    ),
    "load_friction_motor_stribeck": Term(
        symbol="K_m^s", unit="1", description="motor Stribeck load-dependent friction, extra at rest",
        slots=(Slot.LOAD_MOTOR_STRIBECK,), start=0.05, upper=1.0, neutral=0.0, evidence="directional",
    ),
    "load_friction_external_stribeck": Term(
        symbol="K_e^s", unit="1", description="external Stribeck load-dependent friction, extra at rest",
        slots=(Slot.LOAD_EXTERNAL_STRIBECK,), start=0.05, upper=1.2, neutral=0.0, evidence="directional",
    ),
    "load_friction_motor_quad": Term(
        symbol="K_m^q", unit="1/(N·m)", description="motor load-dependent quadratic friction",
        slots=(Slot.LOAD_MOTOR_QUAD,), gear_power=-1, start=0.01, upper=0.3, torque_power=-1, neutral=0.0,
        evidence="directional",
    ),
    "load_friction_external_quad": Term(
        symbol="K_e^q", unit="1/(N·m)", description="external load-dependent quadratic friction",
        slots=(Slot.LOAD_EXTERNAL_QUAD,), gear_power=-1, start=0.01, upper=0.3, torque_power=-1, neutral=0.0,
        evidence="directional",
    ),
}  # fmt: skip
"""Terms of the friction budgets M1–M6 (seed 004, eqs 3, 6–10), with the names of published parameter files.

Those without a neutral value, Stribeck's velocity and exponent, have no effect where there is no extra friction at
rest.
"""

BRISTLE: Mapping[str, Term] = {
    "bristle_stiffness": Term(
        symbol="K", unit="N·m/rad", description="stiffness of the contact before it slips",
        slots=(Slot.BRISTLE_STIFFNESS,), gear_power=2, start=20.0, lower=1.0, upper=1000.0, torque_power=1,
        positive=True,
    ),
    "bristle_damping": Term(
        symbol="B", unit="N·m·s/rad", description="damping of the contact before it slips",
        slots=(Slot.BRISTLE_DAMPING,), gear_power=2, start=0.5, lower=0.01, upper=20.0, torque_power=1, positive=True,
    ),
}  # fmt: skip
"""Terms that an elastoplastic contact adds."""

TERMS: Mapping[str, Term] = {
    **MOTOR_TERMS, **COAST_TERMS, **MOUNTING_TERMS, **FRICTION, **BRISTLE, **SPEED_LOOP, **COMMAND_PATH,
}  # fmt: skip
"""Every term by its name."""

_TORQUES = "the load, the supply voltage and kp of the runs, and law and drive in the servo file"
PUSHED_BY: Mapping[str, str] = {
    **dict.fromkeys(TERMS, _TORQUES),
    "armature": "the load, and law and drive in the servo file",
    "q_offset": "that 0 hangs down or is the robot file's zero, and that goals and positions have the same zero",
    **dict.fromkeys(("command_delay", "release_delay", "pwm_lag"), "at which time goals and positions are read"),
    "error_gain_ratio": "kp of the runs and error_gain in the servo file",
    "goal_slew": "the servo's own velocity profile, and at which time goals and positions are read",
    **dict.fromkeys(("dead_band", "output_offset"), "kp of the runs, and that goals and positions have the same zero"),
    "supply_sag": "the supply voltage of the runs at the servo",
    "release_braking": "at which time the torque is released in these runs",
    "backlash": "that horn and load sit tight on the shaft, and that positions are those of the output shaft",
}
"""Facts to check if a term lies at a bound of its search: these push it there if they are wrong."""

NEUTRAL: Mapping[str, float] = {name: term.neutral for name, term in TERMS.items() if term.neutral is not None}
"""Value of each term at which it has no effect."""

_BASE = ("friction_base", "friction_viscous")
_STRIBECK = ("friction_stribeck", "dtheta_stribeck", "alpha")
_DIRECTIONAL = (
    "load_friction_motor",
    "load_friction_external",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)

FRICTION_TERMS: Mapping[str, tuple[str, ...]] = {
    "m1": _BASE,
    "m2": (*_BASE, *_STRIBECK),
    "m3": (*_BASE, "load_friction_base"),
    "m4": (*_BASE, *_STRIBECK, "load_friction_base", "load_friction_stribeck"),
    "m5": (*_BASE, *_STRIBECK, *_DIRECTIONAL),
    "m6": (*_BASE, *_STRIBECK, *_DIRECTIONAL, "load_friction_motor_quad", "load_friction_external_quad"),
}
"""Terms of each friction model; the simplest model comes first."""

FRICTION_MODELS = tuple(FRICTION_TERMS)
RICHEST = FRICTION_MODELS[-1]
"""Model of which all others are special cases."""

FRICTION_TITLES = {
    "m1": "Coulomb–viscous",
    "m2": "Stribeck",
    "m3": "Load-dependent",
    "m4": "Stribeck load-dependent",
    "m5": "Directional",
    "m6": "Quadratic",
}

SPLIT = {
    "load_friction_base": ("load_friction_motor", "load_friction_external"),
    "load_friction_stribeck": ("load_friction_motor_stribeck", "load_friction_external_stribeck"),
}
"""Coefficient of M3 and M4, and the two coefficients that replace it in M5 and M6."""

Integrator = Literal["leapfrog", "algorithm1", "bam"]
Metric = Literal["mae", "rmse", "mae_velocity"]
QuadraticGate = Literal["larger_torque", "opposing"]
Supply = Literal["logged", "header"]
"""Choices of the options with these names in `core.identification.options`."""

CONTACTS = {
    "rigid": Contact.RIGID,
    "elastoplastic": Contact.STRIBECK,
    "elastoplastic_rational": Contact.RATIONAL,
}
CONTACT_TITLES = {
    "rigid": "Rigid",
    "elastoplastic": "Elastoplastic",
    "elastoplastic_rational": "Elastoplastic, rational",
}
YIELDING = "elastoplastic_rational"
"""Contact that an automatic one may be beside the rigid one: of those that yield, the one with the fastest step."""
AUTOMATIC = "automatic"
"""Contact of an identification that the runs choose, see `core.identification.choice.friction.friction_choice`."""


def path_of(friction: str, terms: Iterable[str]) -> tuple[str, ...]:
    """Return those command path terms that have an effect with a friction model: memory needs friction by the load."""
    loaded = any(name.startswith("load_friction") for name in FRICTION_TERMS[friction])
    return tuple(name for name in terms if name != "load_memory" or loaded)


def name_of(parameter: str) -> str:
    """Return what a parameter of a servo model is, in a few words."""
    return TERMS[parameter].description.partition(",")[0]


def physical_limits(name: str) -> tuple[float, float, bool]:
    """Return the lowest and highest meaningful value of a parameter, and True if the lowest itself is meaningful."""
    term = TERMS.get(name)
    return (0.0, math.inf, True) if term is None else (*term.limits, not term.positive)
