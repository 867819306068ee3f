"""The bristle between two surfaces, and the condition under which friction is a function of the joint's velocity.

Seed 001 hangs the friction function Φ on a spring K and a damper B (eqs 4, 8). With the step T they become one number,
Z = 1/(K·T + B) (12), and friction is the solution y of y = Φ(x − Z·y) (15) at the velocity x = v* that there would be
without friction (13). In v = x − Z·y, the velocity at which the surfaces slip, that is

    g(v) = v + Z·Φ(v) = x.

g jumps from −Z·F_S to Z·F_S at 0, which is where the bristle sticks. There is one solution for every x, and it goes
on from the sticking y = x/Z without a jump, if and only if g rises for all v > 0: the largest −Φ' is at most 1/Z. The
bound itself, which condition (14) leaves out, is allowed, since −Φ' reaches its largest value at one v at most.

With c the steepest −s' of the law (`FrictionLaw.steepness`), that condition reads

    c·(F_S − F_C)/v_S − D ≤ 1/Z,      for c = 1 also u = Z·(F_S − F_C)/(v_S·(1 + Z·D)) ≤ 1,

for c = 1 it is (49), and W0 in (27) then meets x/Z at x = Z·F_S. Condition (32) as the seed prints it, Z ≤ v_S/F_S, is
stricter: who keeps it is safe, but it refuses friction that is sound, such as F_S 2.5, F_C 0.2, v_S 0.04, D 4.5 with
K 5000, B 50, T 0.001, where u = 0.9664. It is for α = 1: c is 0.858 for α = 2, but 1.175 for α = 3, and for α < 1 there
is no Z that would do, because Φ falls from F_S with a vertical tangent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

import numpy as np

from core.arrays import Array
from core.contact.laws import CoulombViscous, FrictionLaw, Rational, Stribeck
from core.errors import ModelError

ROUNDING = 1e-9
"""By which −Φ' may exceed 1/Z, relatively: numbers on the very bound are sound."""
DIGITS = 4
"""Of the numbers in a remedy, rounded to the safe side."""


@dataclass(frozen=True, kw_only=True)
class Bristle:
    """Spring and damper of seed 001's Fig. 1, and the step they are for. Raises ModelError unless all are positive."""

    stiffness: float
    """K [N·m/rad]"""
    damping: float
    """B [N·m·s/rad]"""
    step: float
    """T [s]"""

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
        """Inertia [kg·m²] above which a joint that sticks comes to rest: (K·T² + 2·B·T)/4.

        Friction v/Z + K·e acts for a step on ω ← ω − T·f/M, e ← e + T·ω; both eigenvalues are inside the unit circle
        if and only if K·T² + 2·B·T < 4·M.
        """
        return (self.stiffness * self.step + 2.0 * self.damping) * self.step / 4.0

    @property
    def row(self) -> tuple[float, float, float]:
        """K, B, T for compiled code."""
        return (self.stiffness, self.damping, self.step)


@dataclass(frozen=True)
class Remedy:
    """One parameter to change; alone it makes friction sound, but for α = 1, which (14) still has to hold for."""

    symbol: str
    """Of the parameter, e.g. "B" or "F_S − F_C"."""
    raised: bool
    """Whether `value` is the least that will do, or else the most."""
    value: float
    """On the safe side, to four digits."""
    unit: str

    @property
    def text(self) -> str:
        """As a person reads it."""
        doing, bound = ("raise", "least") if self.raised else ("lower", "most")
        return f"{doing} {self.symbol} to at {bound} {self.value:g} {self.unit}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a law and a bristle go together."""

    descent: float
    """Largest −Φ' [N·m·s/rad]; infinite for Stribeck's function with α < 1."""
    allowed: float
    """1/Z [N·m·s/rad]"""
    remedies: tuple[Remedy, ...]
    """What would mend it, one of them; empty where nothing is to be mended."""

    @property
    def sound(self) -> bool:
        """Whether Φ_Z is one continuous, rising function."""
        return self.descent <= self.allowed * (1.0 + ROUNDING)

    @property
    def text(self) -> str:
        """In words, with the remedies."""
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
    """Raise ModelError, with what to change and to how much, where Φ_Z would jump or have several values."""
    verdict = examine(law, bristle)
    if not verdict.sound:
        raise ModelError(f"elastoplastic friction ({law.title}): {verdict.text}")


def transformed(law: FrictionLaw, bristle: Bristle, fastest: float, count: int = 400) -> tuple[Array, Array]:
    """Φ_Z over [−fastest, fastest] [rad/s] as a curve: v* (n,) [rad/s] and friction (n,) [N·m], n = 2·count.

    Drawn by the slip velocity v: x = v + Z·Φ(v), y = Φ(v) (eq. 15), so that nothing has to be solved, and what an
    unsound pair makes of it is seen as well: a curve that turns back. The two innermost points are ∓Z·F_S, between
    which the bristle sticks.
    """
    # Denser towards rest, where stiction is; the smallest step stands for +0.
    slip = fastest * np.linspace(0.0, 1.0, count) ** 3
    slip[0] = np.finfo(np.float64).tiny
    torque = law.friction(slip)
    torque[0] = law.static
    wished = slip + bristle.Z * torque
    return np.concatenate([-wished[::-1], wished]), np.concatenate([-torque[::-1], torque])


def _remedies(law: Stribeck | Rational, bristle: Bristle, allowed: float) -> tuple[Remedy, ...]:
    """Eq. (14) solved for each parameter."""
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
    """A positive number with DIGITS digits, rounded by math.ceil or math.floor."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - DIGITS)
    return float(f"{towards(value / unit) * unit:.{DIGITS}g}")
