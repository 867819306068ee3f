"""Friction functions Φ of seed 001: Coulomb with viscous friction (19), Stribeck (21) and the rational one (33).

All are odd. For v > 0 they are F_C + D·v plus the part of stiction, (F_S − F_C)·s(v/v_S), with

    s = 0            Coulomb–viscous
    s = exp(−ξ^α)    Stribeck
    s = 1/(1 + ξ)    rational

The last line is (33): its coefficients (39)–(42) are γ = D, δ = v_S (as r + D = (F_S − F_C)/v_S by (38)),
α = D·v_S + F_C, β = F_S·v_S, and the division with remainder gives D·v + F_C + (F_S − F_C)·v_S/(v + v_S).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from core.base.arrays import Array
from core.base.errors import ModelError

EXPONENTIAL, HYPERBOLIC = 0.0, 1.0
"""Shapes s of stiction, as numbers for compiled code."""
Row = tuple[float, float, float, float, float, float]
"""Law for compiled code: shape, F_S, F_C, v_S, D, α."""


@dataclass(frozen=True, kw_only=True)
class CoulombViscous:
    """Friction without stiction, eq. (19).

    Raises:
        ModelError: A number is negative or not finite.
    """

    title: ClassVar[str] = "Coulomb–viscous"

    coulomb: float
    """Coulomb friction F [N·m]."""
    viscous: float
    """Viscous friction D [N·m·s/rad]."""

    def __post_init__(self) -> None:
        _require_not_negative(self, F=self.coulomb, D=self.viscous)

    @property
    def static(self) -> float:
        """Friction at rest: F [N·m]."""
        return self.coulomb

    @property
    def steepness(self) -> float:
        """Largest slope of the part of stiction, as a multiple of (F_S − F_C)/v_S; 0, as nothing falls."""
        return 0.0

    @property
    def descent(self) -> float:
        """Largest −Φ' over v > 0 [N·m·s/rad]: negative, as the function only rises."""
        return -self.viscous

    @property
    def row(self) -> Row:
        """Law for compiled code: a Stribeck function whose F_S is F_C."""
        return (EXPONENTIAL, self.coulomb, self.coulomb, 1.0, self.viscous, 1.0)

    def friction(self, velocity: ArrayLike) -> Array:
        """Return Φ [N·m] at velocities [rad/s]; 0 at 0, between its limits ∓F."""
        v = np.asarray(velocity, dtype=np.float64)
        return self.coulomb * np.sign(v) + self.viscous * v


@dataclass(frozen=True, kw_only=True)
class _Stiction(ABC):
    """Common parts of laws with stiction."""

    static: float
    """Friction at rest F_S [N·m]."""
    coulomb: float
    """Friction in motion F_C [N·m], at most F_S."""
    breakaway_speed: float
    """Stribeck velocity v_S [rad/s]."""
    viscous: float
    """Viscous friction D [N·m·s/rad]."""

    def __post_init__(self) -> None:
        _require_not_negative(self, F_S=self.static, F_C=self.coulomb, D=self.viscous)
        if self.coulomb > self.static:
            raise ModelError(
                f"friction at rest F_S = {self.static:g} N·m is below that in motion, F_C = {self.coulomb:g} N·m: "
                "raise F_S or lower F_C"
            )
        _require_positive(v_S=self.breakaway_speed)

    @property
    def stiction(self) -> float:
        """F_S − F_C [N·m]."""
        return self.static - self.coulomb

    @property
    def steepness(self) -> float:
        """Largest −s'(ξ): 1, at rest."""
        return 1.0

    @property
    def descent(self) -> float:
        """Largest −Φ' over v > 0 [N·m·s/rad], which (14) compares with 1/Z; r of eq. (38) where it is at rest."""
        falling = self.stiction * self.steepness / self.breakaway_speed if self.stiction > 0.0 else 0.0
        return falling - self.viscous

    @abstractmethod
    def _shape(self, ratio: Array) -> Array:
        """s(ξ) of ξ = v/v_S."""

    def friction(self, velocity: ArrayLike) -> Array:
        """Return Φ [N·m] at velocities [rad/s]; 0 at 0, between its limits ∓F_S."""
        v = np.asarray(velocity, dtype=np.float64)
        sliding = self.coulomb + self.stiction * self._shape(np.abs(v) / self.breakaway_speed)
        return sliding * np.sign(v) + self.viscous * v


@dataclass(frozen=True, kw_only=True)
class Stribeck(_Stiction):
    """Friction with stiction, eq. (21).

    Raises:
        ModelError: A number is negative or not finite, F_S < F_C, or α ≤ 0.
    """

    title: ClassVar[str] = "Stribeck"

    exponent: float = 1.0
    """Stribeck exponent α."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_positive(α=self.exponent)

    @property
    def steepness(self) -> float:
        """Largest −s'(ξ) of s = exp(−ξ^α).

        1 at rest for α = 1 (eq. 31); without bound at rest for α < 1; for α > 1 it is where s'' = 0, at
        ξ^α = k = (α − 1)/α: α·k^k·exp(−k).
        """
        if self.exponent <= 1.0:
            return 1.0 if self.exponent == 1.0 else math.inf
        k = 1.0 - 1.0 / self.exponent
        return self.exponent * k**k * math.exp(-k)

    @property
    def row(self) -> Row:
        """Law for compiled code."""
        return (EXPONENTIAL, self.static, self.coulomb, self.breakaway_speed, self.viscous, self.exponent)

    def _shape(self, ratio: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(-(ratio**self.exponent))


@dataclass(frozen=True, kw_only=True)
class Rational(_Stiction):
    """Friction with stiction as a quotient of polynomials, eqs (33)–(42).

    Raises:
        ModelError: A number is negative or not finite, or F_S < F_C.
    """

    title: ClassVar[str] = "rational"

    @property
    def row(self) -> Row:
        """Law for compiled code."""
        return (HYPERBOLIC, self.static, self.coulomb, self.breakaway_speed, self.viscous, 1.0)

    def _shape(self, ratio: Array) -> Array:
        return 1.0 / (1.0 + ratio)


FrictionLaw = CoulombViscous | Stribeck | Rational


def _require_not_negative(law: object, **values: float) -> None:
    if not all(math.isfinite(value) for value in astuple(law)):  # pyright: ignore[reportArgumentType]
        raise ModelError(f"friction needs finite numbers: {law}")
    for symbol, value in values.items():
        if value < 0.0:
            raise ModelError(f"friction with {symbol} = {value:g} would drive the motion; use 0 or more")


def _require_positive(**values: float) -> None:
    for symbol, value in values.items():
        if not (math.isfinite(value) and value > 0.0):
            raise ModelError(f"friction needs a positive {symbol}, not {value:g}")
