"""Springs of compliant actuators: torque, stiffness and references of the paper's four, and of user-defined ones.

A compliant actuator has springs between one or two motors (angles θ1, θ2, here q1, q2) and a link (q). Three functions
describe it, as in section 3.1.3: `elastic_torque` (tauElastic), `references` (eqPres2Refs) and `parameters`
(InitParams). Subclass `CompliantActuator` and implement these three for your own actuator:

    @dataclass(frozen=True, kw_only=True)
    class Cubic(CompliantActuator):
        name: ClassVar[str] = "cubic"
        title: ClassVar[str] = "Cubic spring"
        motors: ClassVar[int] = 1
        stiffness: float = 20.0

        def parameters(self): ...
        def references(self, equilibrium, preset): ...
        def elastic_torque(self, q1, q2, q): ...

Signs: `link` is the springs' torque on the link, `motor_1` and `motor_2` are those on the motors, all positive
counter-clockwise. For two springs between bodies, −(motor_1 + motor_2) = link (eqs 3–6). Equations and defaults are
those of the toolbox (NMMI/ROS-Gazebo-compliant-actuators-plugin, 5987fec). Deflections are limited to ±max_deflection:
beyond it a spring's torque and `stiffness` stay at their values at the limit, as in the toolbox.

This module loads no compiler; `core.studies.compliant.compiled.elastic` is the twin for loops.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ModelError
from core.base.words import counted
from core.servo.parameters import Parameter, ParameterSet
from core.studies.compliant.kinds import PIVOT_REACH, Kind

CONSTANTS = 8
"""Largest number of parameters of an actuator, the fixed length in the compiled twin."""
_HALVINGS = 80
"""Bisections of an interval of some radians, down to rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ElasticTorque:
    """Torques of the springs at given angles; all have the broadcast shape of the angles."""

    link: Array
    """Torque on the link, τ_e,q [N·m]."""
    motor_1: Array
    """Torque on motor 1 [N·m]."""
    motor_2: Array
    """Torque on motor 2 [N·m], or force on an adjuster along a lever [N]; 0 if there is neither."""
    stiffness: Array
    """−∂link/∂q if no deflection is at its limit [N·m/rad]."""


@dataclass(frozen=True, kw_only=True)
class CompliantActuator(ABC):
    """Springs between motors and link; fields of subclasses are numbers in SI units, listed by `parameters`."""

    name: ClassVar[str]
    """Name in files and on the command line."""
    title: ClassVar[str]
    motors: ClassVar[int]
    """Number of motors with dynamics, 1 or 2. A stiffness adjuster without dynamics does not count."""
    kind: ClassVar[Kind] = Kind.OWN
    preset_name: ClassVar[str] = "Stiffness preset"
    preset_unit: ClassVar[str] = ""
    """Unit of the preset; empty for an actuator without preset."""
    soft_preset: ClassVar[float] = 0.0
    """Preset of the soft behaviour in sections 4.1 and 4.2, in `preset_unit`."""
    stiff_preset: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if self.motors not in (1, 2):
            raise ModelError(f"{self.title}: {counted(self.motors, 'motor')}; a compliant actuator has 1 or 2")
        parameters = self.parameters()
        if len(parameters) > CONSTANTS:
            raise ModelError(f"{self.title}: {counted(len(parameters), 'parameter')}; at most {CONSTANTS} are allowed")
        for parameter in parameters.values():
            if not (parameter.lower <= parameter.value <= parameter.upper):
                raise ModelError(
                    f"{self.title}: {parameter.name} = {parameter.value:g} {parameter.unit} must lie within "
                    f"{parameter.lower:g} … {parameter.upper:g}"
                )

    @abstractmethod
    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Return torques and stiffness at the angles of motors and link [rad], broadcast together (eqs 3–6)."""

    @abstractmethod
    def references(self, equilibrium: ArrayLike, preset: ArrayLike) -> tuple[Array, Array]:
        """Return motor positions (q1, q2) for an equilibrium [rad] and a preset [`preset_unit`], eqPres2Refs."""

    @abstractmethod
    def parameters(self) -> ParameterSet:
        """Return the parameters with symbols, units and bounds, named like the fields."""

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return the springs' energy [J], whose negative gradients are the torques; raise ModelError if undefined."""
        raise ModelError(f"{self.title} does not define the energy of its springs; implement its method stored_energy")

    def compiled_elastic(self) -> Callable[..., Any] | None:
        """Return the compiled twin (kind, constants, q1, q2, q) → (link, motor_1, motor_2, stiffness), or None.

        Without one, simulations run in Python, about a hundred times slower.
        """
        if self.kind is Kind.OWN:
            return None
        from core.studies.compliant.compiled import elastic

        return elastic

    def interpreted_elastic(
        self, _kind: int, _constants: Array, q1: float, q2: float, q: float
    ) -> tuple[float, float, float, float]:
        """Evaluate `elastic_torque` of one state with the signature of a compiled twin."""
        torque = self.elastic_torque(q1, q2, q)
        return float(torque.link), float(torque.motor_1), float(torque.motor_2), float(torque.stiffness)

    def preset_limits(self) -> tuple[float, float]:
        """Return the smallest and largest useful preset [`preset_unit`]."""
        return 0.0, 0.0

    def with_values(self, values: Mapping[str, float]) -> Self:
        """Return the actuator with changed parameters; raise InputError or ModelError for bad ones."""
        self.parameters().with_values(values)
        return replace(self, **{name: float(value) for name, value in values.items()})

    def equilibrium(self, q1: ArrayLike, q2: ArrayLike) -> Array:
        """Return the link angle with zero spring torque [rad], by bisection; link torque must fall with q."""
        first, second = np.broadcast_arrays(np.asarray(q1, dtype=np.float64), np.asarray(q2, dtype=np.float64))
        reach = np.abs(second - first) + 1.0
        low, high = first - reach, first + reach
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            beyond = self.elastic_torque(first, second, middle).link < 0.0
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return 0.5 * (low + high)


def constants(actuator: CompliantActuator) -> Array:
    """Return an actuator's parameters for the compiled twin, padded with zeros to shape (CONSTANTS,)."""
    values = [parameter.value for parameter in actuator.parameters().values()]
    return np.array(values + [0.0] * (CONSTANTS - len(values)))


@dataclass(frozen=True, kw_only=True)
class Sea(CompliantActuator):
    """Series elastic actuator: one motor, one linear spring (eq. 3; Walk-Man's, section 4.1).

    φ = q − q1;  τ = −k·φ;  stiffness k
    """

    name: ClassVar[str] = "sea"
    title: ClassVar[str] = "SEA"
    motors: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.SEA

    stiffness: float = 10.0
    """Stiffness k [N·m/rad]; section 4.1 uses 200 (soft) and 400 (stiff)."""
    max_deflection: float = 0.8
    """Deflection limit [rad]."""

    def parameters(self) -> ParameterSet:
        """Return k and the deflection limit."""
        return ParameterSet(
            [
                _parameter("stiffness", "k", "N·m/rad", self.stiffness, 0.01, 2000.0, "Stiffness of the spring"),
                _deflection_limit(self.max_deflection),
            ]
        )

    def references(self, equilibrium: ArrayLike, preset: ArrayLike) -> tuple[Array, Array]:
        """Return the equilibrium as q1; there is no second motor and no preset."""
        first, _ = _broadcast(equilibrium, preset)
        return first, np.zeros_like(first)

    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Evaluate eq. (3)."""
        first, _, link = _broadcast(q1, q2, q)
        torque = -self.stiffness * _limited(link - first, self.max_deflection)
        return ElasticTorque(
            link=torque,
            motor_1=-torque,
            motor_2=np.zeros_like(torque),
            stiffness=np.full_like(torque, self.stiffness),
        )

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return ½·k·φ², which beyond the limit grows with the constant torque [J]."""
        first, _, link = _broadcast(q1, q2, q)
        deflection = _limited(link - first, self.max_deflection)
        return 0.5 * self.stiffness * deflection**2 + self.stiffness * deflection * (link - first - deflection)


@dataclass(frozen=True, kw_only=True)
class AwasII(CompliantActuator):
    """AwAS-II: one motor, and a lever whose pivot an adjuster moves (eq. 4 and section 3.3).

    φ = q − q1;  G = 2·K_s·[(L/r_t)·σ/(L − σ)]²;  τ = −G·sin φ·cos φ;  stiffness G·(2·cos²φ − 1)

    σ is q2 [m], a kinematic input, because the adjuster's dynamics are neglected. `motor_2` is the force [N] on the
    adjuster, −∂V/∂σ of the stored energy, which the toolbox leaves out.
    """

    name: ClassVar[str] = "awas2"
    title: ClassVar[str] = "AwAS-II"
    motors: ClassVar[int] = 1
    kind: ClassVar[Kind] = Kind.AWAS2
    preset_name: ClassVar[str] = "Pivot position"
    preset_unit: ClassVar[str] = "m"
    soft_preset: ClassVar[float] = 0.005
    stiff_preset: ClassVar[float] = 0.04

    spring_stiffness: float = 10.0
    """K_s [N·m/rad]."""
    lever: float = 0.05
    """L [m]."""
    radius: float = 0.015
    """r_t [m]."""
    max_deflection: float = 0.3
    """Deflection limit [rad]."""

    def parameters(self) -> ParameterSet:
        """Return K_s, L, r_t and the deflection limit, below 45° where the stiffness vanishes."""
        return ParameterSet(
            [
                _parameter("spring_stiffness", "K_s", "N·m/rad", self.spring_stiffness, 0.01, 1000.0, "Of the springs"),
                _parameter("lever", "L", "m", self.lever, 0.005, 0.5, "Length of the lever"),
                _parameter("radius", "r_t", "m", self.radius, 0.001, 0.5, "Radius at which the springs pull"),
                replace(_deflection_limit(self.max_deflection), upper=0.25 * math.pi),
            ]
        )

    def preset_limits(self) -> tuple[float, float]:
        """Return the pivot's range, from zero stiffness to its end [m]."""
        return 0.0, PIVOT_REACH * self.lever

    def references(self, equilibrium: ArrayLike, preset: ArrayLike) -> tuple[Array, Array]:
        """Return the equilibrium as q1 and the pivot's position as q2."""
        first, second = _broadcast(equilibrium, preset)
        return first.copy(), second.copy()

    def _ratio(self, pivot: Array) -> Array:
        """Return (L/r_t)·σ/(L − σ) for σ within the pivot's range."""
        return self.lever / self.radius * pivot / (self.lever - pivot)

    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Evaluate eq. (4) with the quadratic lever law of the toolbox."""
        first, second, link = _broadcast(q1, q2, q)
        pivot = np.clip(second, *self.preset_limits())
        ratio = self._ratio(pivot)
        gain = 2.0 * self.spring_stiffness * ratio**2
        deflection = _limited(link - first, self.max_deflection)
        sine, cosine = np.sin(deflection), np.cos(deflection)
        torque = -gain * sine * cosine
        slope = 4.0 * self.spring_stiffness * ratio * self.lever**2 / (self.radius * (self.lever - pivot) ** 2)
        return ElasticTorque(
            link=torque,
            motor_1=-torque,
            motor_2=-slope * (0.5 * sine**2 + sine * cosine * (link - first - deflection)),
            stiffness=gain * (2.0 * cosine**2 - 1.0),
        )

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return ½·G·sin²φ, which beyond the limit grows with the constant torque [J]."""
        first, second, link = _broadcast(q1, q2, q)
        gain = 2.0 * self.spring_stiffness * self._ratio(np.clip(second, *self.preset_limits())) ** 2
        deflection = _limited(link - first, self.max_deflection)
        sine, cosine = np.sin(deflection), np.cos(deflection)
        return gain * (0.5 * sine**2 + sine * cosine * (link - first - deflection))


class _AntagonistPair(CompliantActuator):
    """Base of actuators with two motors that pull against each other (eqs 5 and 6)."""

    motors: ClassVar[int] = 2
    preset_unit: ClassVar[str] = "rad"

    def references(self, equilibrium: ArrayLike, preset: ArrayLike) -> tuple[Array, Array]:
        """Return q1, q2 = θ_eq ± θ_sr (section 2.3)."""
        middle, apart = _broadcast(equilibrium, preset)
        return middle + apart, middle - apart


@dataclass(frozen=True, kw_only=True)
class Bavs(_AntagonistPair):
    """Bidirectional antagonistic variable stiffness joint (eqs 5 and 6, and section 3.3).

    φ_i = q_i − q;  τ_1 = −k·(a·e^(−k_e·φ_1) − b·e^(k_e·φ_1)), τ_2 with a and b exchanged;  τ = τ_1 + τ_2
    """

    name: ClassVar[str] = "bavs"
    title: ClassVar[str] = "BAVS"
    kind: ClassVar[Kind] = Kind.BAVS
    soft_preset: ClassVar[float] = 0.001
    stiff_preset: ClassVar[float] = 0.22

    a: float = 1.21e-6
    b: float = 2.38e-6
    k: float = 1.6e5
    """Scale of the torque [N·m]."""
    k_e: float = 8.71
    """Rate of the exponentials [1/rad]."""
    max_deflection: float = 0.27
    """Deflection limit [rad]."""

    def parameters(self) -> ParameterSet:
        """Return a, b, k, k_e and the deflection limit."""
        return ParameterSet(
            [
                _parameter("a", "a", "", self.a, 0.0, 1e-4, "Share of the spring against the motor's direction"),
                _parameter("b", "b", "", self.b, 0.0, 1e-4, "Share of the spring in the motor's direction"),
                _parameter("k", "k", "N·m", self.k, 1.0, 1e7, "Scale of the torque"),
                _parameter("k_e", "k_e", "1/rad", self.k_e, 0.01, 50.0, "Rate of the exponentials"),
                replace(_deflection_limit(self.max_deflection), upper=1.0),
            ]
        )

    def preset_limits(self) -> tuple[float, float]:
        """Return 0 and the deflection limit [rad]."""
        return 0.0, self.max_deflection

    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Evaluate eqs (5) and (6)."""
        first, second, link = _broadcast(q1, q2, q)
        along_1 = np.exp(self.k_e * _limited(first - link, self.max_deflection))
        along_2 = np.exp(self.k_e * _limited(second - link, self.max_deflection))
        torque_1 = self.k * (self.b * along_1 - self.a / along_1)
        torque_2 = self.k * (self.a * along_2 - self.b / along_2)
        return ElasticTorque(
            link=torque_1 + torque_2,
            motor_1=-torque_1,
            motor_2=-torque_2,
            stiffness=self.k_e * self.k * (self.b * along_1 + self.a / along_1 + self.a * along_2 + self.b / along_2),
        )

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return Σ (k/k_e)·(a·e^(−k_e·φ) + b·e^(k_e·φ)), beyond the limit growing with constant torque [J]."""
        first, second, link = _broadcast(q1, q2, q)
        energy = np.zeros_like(link)
        for angle, ahead, behind in ((first, self.b, self.a), (second, self.a, self.b)):
            deflection = _limited(angle - link, self.max_deflection)
            along = np.exp(self.k_e * deflection)
            torque = self.k * (ahead * along - behind / along)
            energy += self.k / self.k_e * (ahead * along + behind / along) + torque * (angle - link - deflection)
        return energy


@dataclass(frozen=True, kw_only=True)
class QbMove(_AntagonistPair):
    """The qbMove Advanced (eqs 5 and 6, and sections 3.1.3 and 3.3).

    φ_i = q − q_i;  τ_i = −k_i·sinh(a_i·φ_i);  τ = τ_1 + τ_2;  stiffness Σ a_i·k_i·cosh(a_i·φ_i)

    Section 4.3 of the paper prints the identified k and a of its arm with swapped units: k is the number near 0.01 N·m
    and a the number of several 1/rad, as in the defaults.
    """

    name: ClassVar[str] = "qbmove"
    title: ClassVar[str] = "qbMove Advanced"
    kind: ClassVar[Kind] = Kind.QBMOVE
    soft_preset: ClassVar[float] = 0.2
    stiff_preset: ClassVar[float] = 0.6

    a1: float = 8.9992
    """Rate of the first spring [1/rad]."""
    k1: float = 0.0019
    """Scale of the first spring [N·m]."""
    a2: float = 8.9992
    k2: float = 0.0019
    max_deflection: float = 0.8
    """Deflection limit [rad]."""

    def parameters(self) -> ParameterSet:
        """Return a and k of both springs and the deflection limit."""
        return ParameterSet(
            [
                _parameter("a1", "a₁", "1/rad", self.a1, 0.1, 20.0, "Rate of the first spring"),
                _parameter("k1", "k₁", "N·m", self.k1, 1e-6, 1.0, "Scale of the first spring"),
                _parameter("a2", "a₂", "1/rad", self.a2, 0.1, 20.0, "Rate of the second spring"),
                _parameter("k2", "k₂", "N·m", self.k2, 1e-6, 1.0, "Scale of the second spring"),
                _deflection_limit(self.max_deflection),
            ]
        )

    def preset_limits(self) -> tuple[float, float]:
        """Return 0 and the deflection limit [rad]."""
        return 0.0, self.max_deflection

    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Evaluate eqs (5) and (6)."""
        first, second, link = _broadcast(q1, q2, q)
        turned_1 = self.a1 * _limited(link - first, self.max_deflection)
        turned_2 = self.a2 * _limited(link - second, self.max_deflection)
        torque_1, torque_2 = -self.k1 * np.sinh(turned_1), -self.k2 * np.sinh(turned_2)
        return ElasticTorque(
            link=torque_1 + torque_2,
            motor_1=-torque_1,
            motor_2=-torque_2,
            stiffness=self.a1 * self.k1 * np.cosh(turned_1) + self.a2 * self.k2 * np.cosh(turned_2),
        )

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return Σ (k/a)·(cosh(a·φ) − 1), which beyond the limit grows with the constant torque [J]."""
        first, second, link = _broadcast(q1, q2, q)
        energy = np.zeros_like(link)
        for angle, a, k in ((first, self.a1, self.k1), (second, self.a2, self.k2)):
            deflection = _limited(link - angle, self.max_deflection)
            torque = k * np.sinh(a * deflection)
            energy += k / a * (np.cosh(a * deflection) - 1.0) + torque * (link - angle - deflection)
        return energy


@dataclass(frozen=True, kw_only=True)
class Coupled(QbMove):
    """Agonistic-antagonistic actuator whose motors are coupled by a spring (section 2.3 and Fig. 2C).

    It has the springs of a `QbMove`. Between the motors, g(θ₁, θ₂) = −k_c·(θ₁ − θ₂) acts on motor 1 and its opposite on
    motor 2. The link does not feel it; it only makes a stiffness preset easier or harder for the motors to hold.
    """

    name: ClassVar[str] = "coupled"
    title: ClassVar[str] = "VSA with coupled motors"

    coupling: float = 1.0
    """k_c [N·m/rad]."""

    def parameters(self) -> ParameterSet:
        """Return the parameters of both springs, then the coupling's stiffness."""
        coupling = _parameter("coupling", "k_c", "N·m/rad", self.coupling, 0.0, 20.0, "Stiffness between the motors")
        return ParameterSet([*super().parameters().values(), coupling])

    def elastic_torque(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> ElasticTorque:
        """Evaluate eqs (5) and (6), with g added to (5)."""
        first, second, _ = _broadcast(q1, q2, q)
        free, between = super().elastic_torque(q1, q2, q), self.coupling * (first - second)
        return replace(free, motor_1=free.motor_1 - between, motor_2=free.motor_2 + between)

    def stored_energy(self, q1: ArrayLike, q2: ArrayLike, q: ArrayLike) -> Array:
        """Return the energy of both springs plus ½·k_c·(θ₁ − θ₂)² [J]."""
        first, second, _ = _broadcast(q1, q2, q)
        return super().stored_energy(q1, q2, q) + 0.5 * self.coupling * (first - second) ** 2


SEED_ACTUATORS: dict[str, type[CompliantActuator]] = {kind.name: kind for kind in (Sea, AwasII, Bavs, QbMove)}
"""Actuators simulated in the paper, by name."""
ACTUATORS: dict[str, type[CompliantActuator]] = {**SEED_ACTUATORS, Coupled.name: Coupled}
"""All actuators, by name."""


def _parameter(
    name: str, symbol: str, unit: str, value: float, lower: float, upper: float, description: str
) -> Parameter:
    return Parameter(
        name=name, symbol=symbol, unit=unit, value=value, lower=lower, upper=upper, description=description
    )


def _deflection_limit(value: float) -> Parameter:
    return _parameter("max_deflection", "φ_max", "rad", value, 0.01, 3.0, "Largest deflection")


def _broadcast(*angles: ArrayLike) -> tuple[Array, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(angle, dtype=np.float64) for angle in angles)))


def _limited(deflection: Array, limit: float) -> Array:
    return np.clip(deflection, -limit, limit)
