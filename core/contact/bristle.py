"""Bristle between two surfaces, and the condition for friction to be a function of the joint's velocity.

Seed 001 puts the friction function Φ in series with a spring K and a damper B (eqs 4, 8). With the time step T they
become one number, Z = 1/(K·T + B) (12). Friction is the solution y of y = Φ(x − Z·y) (15) at x = v*, the velocity there
would be without friction (13). With v = x − Z·y, the velocity at which the surfaces slip, this is

    g(v) = v + Z·Φ(v) = x.

g jumps from −Z·F_S to Z·F_S at 0, where the bristle sticks. There is one solution for every x, continuous with the
sticking y = x/Z, if and only if g rises for all v > 0: the largest −Φ' is at most 1/Z. The bound itself, which
condition (14) leaves out, is allowed, since −Φ' reaches its largest value at no more than one v.

With c the steepest −s' of the law (`FrictionLaw.steepness`), the condition reads

    c·(F_S − F_C)/v_S − D ≤ 1/Z,      for c = 1 also u = Z·(F_S − F_C)/(v_S·(1 + Z·D)) ≤ 1.

For c = 1 it is (49), and W0 in (27) then meets x/Z at x = Z·F_S. Condition (32) as printed in the seed, Z ≤ v_S/F_S, is
sufficient but stricter. It rejects valid friction such as F_S 2.5, F_C 0.2, v_S 0.04, D 4.5 with K 5000, B 50, T 0.001,
where u = 0.9664. It is for α = 1: c is 0.858 for α = 2, but 1.175 for α = 3. For α < 1 no Z is possible, because Φ
falls from F_S with a vertical tangent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck

ROUNDING = 1e-9
"""Relative amount by which −Φ' may exceed 1/Z, so that numbers exactly at the bound are valid."""
DIGITS = 4
"""Digits of the numbers in a remedy, rounded to the safe side."""


@dataclass(frozen=True, kw_only=True)
class Bristle:
    """Spring and damper of seed 001's Fig. 1, with their time step.

    Raises:
        ModelError: A number is not positive.
    """

    stiffness: float
    """Stiffness K [N·m/rad]."""
    damping: float
    """Damping B [N·m·s/rad]."""
    step: float
    """Time step T [s]."""

    def __post_init__(self) -> None:
        for symbol, value in zip("KBT", astuple(self), strict=True):
            if not (math.isfinite(value) and value > 0.0):
                raise ModelError(f"a bristle needs a positive {symbol}, not {value:g}")

    @property
    def Z(self) -> float:
        """1/(K·T + B), eq. (12) [rad/s per N·m]."""
        return 1.0 / (self.stiffness * self.step + self.damping)

    @property
    def least_inertia(self) -> float:
        """Inertia [kg·m²] above which a sticking joint comes to rest: (K·T² + 2·B·T)/4.

        Friction v/Z + K·e acts for a step on ω ← ω − T·f/M, e ← e + T·ω. Both eigenvalues are inside the unit circle if
        and only if K·T² + 2·B·T < 4·M.
        """
        return (self.stiffness * self.step + 2.0 * self.damping) * self.step / 4.0

    @property
    def row(self) -> tuple[float, float, float]:
        """K, B, T for compiled code."""
        return (self.stiffness, self.damping, self.step)


@dataclass(frozen=True)
class Remedy:
    """One parameter to change, which alone makes friction valid. With α = 1, (14) still has to hold."""

    symbol: str
    """Symbol of the parameter, e.g. "B" or "F_S − F_C"."""
    raised: bool
    """True if `value` is the smallest that suffices, False if it is the largest."""
    value: float
    """Value on the safe side, with four digits."""
    unit: str

    @property
    def text(self) -> str:
        """Remedy as text."""
        doing, bound = ("raise", "least") if self.raised else ("lower", "most")
        return f"{doing} {self.symbol} to at {bound} {self.value:g} {self.unit}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of checking a law with a bristle."""

    descent: float
    """Largest −Φ' [N·m·s/rad]; infinite for Stribeck's function with α < 1."""
    allowed: float
    """Largest allowed −Φ', 1/Z [N·m·s/rad]."""
    remedies: tuple[Remedy, ...]
    """Changes of which any one suffices; empty if the pair is valid."""

    @property
    def sound(self) -> bool:
        """True if Φ_Z is a single continuous, rising function."""
        return self.descent <= self.allowed * (1.0 + ROUNDING)

    @property
    def text(self) -> str:
        """Result as text, with the remedies."""
        if self.sound:
            if self.descent <= 0.0:
                return "sound: friction never falls as speed rises"
            return f"sound: friction falls by at most {self.descent:.4g} N·m per rad/s, 1/Z = {self.allowed:.4g}"
        ways = ", or ".join(remedy.text for remedy in self.remedies)
        return (
            f"friction falls by up to {self.descent:.4g} N·m per rad/s, faster than the bristle can follow, "
            f"1/Z = K·T + B = {self.allowed:.4g}: it would jump between two values; {ways}"
        )


def examine(law: FrictionLaw, bristle: Bristle) -> Verdict:
    """Compare the steepest fall of Φ with 1/Z: eq. (14) with its bound, exact for each law."""
    allowed = 1.0 / bristle.Z
    verdict = Verdict(descent=law.descent, allowed=allowed, remedies=())
    if verdict.sound or isinstance(law, CoulombViscous):
        return verdict
    return replace(verdict, remedies=_remedies(law, bristle, allowed))


def require_sound(law: FrictionLaw, bristle: Bristle) -> None:
    """Raise an error unless friction is continuous and unique.

    Raises:
        ModelError: Φ_Z would jump or have several values. The message states what to change, and by how much.
    """
    verdict = examine(law, bristle)
    if not verdict.sound:
        raise ModelError(f"elastoplastic friction ({law.title}): {verdict.text}")


def transformed(law: FrictionLaw, bristle: Bristle, fastest: float, count: int = 400) -> tuple[Array, Array]:
    """Return Φ_Z over [−fastest, fastest] [rad/s] as a curve.

    The curve is parametrised by the slip velocity v: x = v + Z·Φ(v), y = Φ(v) (eq. 15). Nothing has to be solved, and
    an invalid pair is visible as a curve that turns back. The two innermost points are ∓Z·F_S, between which the
    bristle sticks.

    Returns:
        v* [rad/s] and friction [N·m], (n,) each, n = 2·count.
    """
    # Points are denser towards rest, where stiction acts; the smallest step stands for +0.
    slip = fastest * np.linspace(0.0, 1.0, count) ** 3
    slip[0] = np.finfo(np.float64).tiny
    torque = law.friction(slip)
    torque[0] = law.static
    wished = slip + bristle.Z * torque
    return np.concatenate([-wished[::-1], wished]), np.concatenate([-torque[::-1], torque])


def _remedies(law: Stribeck | Rational, bristle: Bristle, allowed: float) -> tuple[Remedy, ...]:
    """Return eq. (14) solved for each parameter."""
    if math.isinf(law.descent):
        return (Remedy("α", True, 1.0, ""), Remedy("F_S − F_C", False, 0.0, "N·m"))
    damping = law.descent - bristle.stiffness * bristle.step
    stiffness = (law.descent - bristle.damping) / bristle.step
    steepest = (allowed + law.viscous) / law.steepness
    return (
        Remedy("B", True, _rounded(damping, math.ceil), "N·m·s/rad"),
        Remedy("K", True, _rounded(stiffness, math.ceil), "N·m/rad"),
        Remedy("v_S", True, _rounded(law.stiction / steepest, math.ceil), "rad/s"),
        Remedy("F_S − F_C", False, _rounded(law.breakaway_speed * steepest, math.floor), "N·m"),
    )


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    """Return a positive number with DIGITS digits, rounded by math.ceil or math.floor."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    return float(f"{towards(value / unit) * unit:.{DIGITS}g}")
