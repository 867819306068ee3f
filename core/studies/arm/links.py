"""Links of a planar arm with two joints, and their parameter files.

Joint 1 is measured from hanging down, joint 2 from link 1, both counter-clockwise positive. Inertias are about the
link's own joint, as in the files of DFKI's double pendulum (`m1 … tl2`). Their mass matrix has I1 and I2 where inertias
about the centre of mass would need I + m·r², and only then do their identified numbers agree with the measured motion.

The motion depends on five combinations of these numbers (`base`). Files of identified arms hold one of the many sets
with the same five, not always a physically possible one. `as_bodies` returns a possible set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from core.base.errors import InputError
from core.base.guards import is_finite

Pair = tuple[float, float]

LARGEST_FILE = 1 << 20
"""Size limit of a parameter file [B]."""
LARGEST_NUMBER = 1e12
"""Largest number in a parameter file, SI units: larger ones are implausible, and squares may overflow."""

LEAST_OWN_INERTIA = 0.05
"""Smallest inertia about the centre of mass, as a share of the inertia about the joint; see `as_bodies`."""


@dataclass(frozen=True, kw_only=True)
class ArmBase:
    """The five combinations of two links' numbers that determine their motion."""

    inertia_1: float
    """I₁ + m₂·l₁² [kg·m²]."""
    inertia_2: float
    """I₂ [kg·m²]."""
    coupling: float
    """m₂·l₁·r₂ [kg·m²]."""
    gravity_1: float
    """g·(m₁·r₁ + m₂·l₁) [N·m]."""
    gravity_2: float
    """g·m₂·r₂ [N·m]."""


@dataclass(frozen=True, kw_only=True)
class ArmLinks:
    """Two links in a vertical plane; each pair holds link 1 and link 2."""

    masses: Pair
    """Masses [kg]."""
    lengths: Pair
    """Distances from joint to joint, and from the elbow to the tip [m]."""
    centres: Pair
    """Distances from the link's joint to its centre of mass, along the link [m]."""
    inertias: Pair
    """Inertias about the link's own joint [kg·m²]."""
    gravity: float = 9.81
    """Gravity [m/s²]."""
    armatures: Pair = (0.0, 0.0)
    """Inertias of the motors, reflected to the joints [kg·m²]."""
    angle_offsets: Pair = (0.0, 0.0)
    """Offsets added to the joint angles for gravity [rad]."""

    def __post_init__(self) -> None:
        numbers: dict[str, float | Pair] = asdict(self)
        for name, values in numbers.items():
            for value in values if isinstance(values, tuple) else (values,):
                if not is_finite(value) or abs(value) > LARGEST_NUMBER:
                    raise InputError(f"links of an arm: {name} = {values!r} must be numbers up to {LARGEST_NUMBER:g}")
        for name in ("masses", "lengths", "inertias"):
            if min(getattr(self, name)) <= 0:
                raise InputError(f"links of an arm: {name} = {getattr(self, name)} must be positive")
        for name in ("centres", "armatures"):
            if min(getattr(self, name)) < 0:
                raise InputError(f"links of an arm: {name} = {getattr(self, name)} must not be negative")
        base = self.base
        if base.inertia_1 * base.inertia_2 <= base.coupling**2:
            raise InputError(
                f"links of an arm: inertias {self.inertias} kg·m² about the joints are too small for these masses and "
                "centres, and the arm could not move; check that they are not about the centres of mass"
            )

    @property
    def base(self) -> ArmBase:
        """Combinations of the numbers that determine the motion."""
        (m1, m2), l1, (r1, r2) = self.masses, self.lengths[0], self.centres
        return ArmBase(
            inertia_1=self.inertias[0] + m2 * l1**2,
            inertia_2=self.inertias[1],
            coupling=m2 * l1 * r2,
            gravity_1=self.gravity * (m1 * r1 + m2 * l1),
            gravity_2=self.gravity * m2 * r2,
        )

    @property
    def inertias_about_centres(self) -> Pair:
        """Inertia about each link's centre of mass [kg·m²]; not positive if no body can have these numbers."""
        first, second = (
            inertia - mass * centre**2
            for inertia, mass, centre in zip(self.inertias, self.masses, self.centres, strict=True)
        )
        return first, second

    def as_bodies(self) -> ArmLinks:
        """Return links that move identically and are physically possible, with positive inertias about the centres.

        A mass on the elbow's axis can belong to either link. As much mass as needed moves from link 1 to link 2, which
        keeps `base` and the total mass. Raises InputError if no amount suffices.
        """
        if min(self.inertias_about_centres) > 0:
            return self
        (m1, m2), l1, (r1, r2), (i1, i2) = self.masses, self.lengths[0], self.centres, self.inertias
        moved = max((m2 * r2) ** 2 / ((1.0 - LEAST_OWN_INERTIA) * i2) - m2, 0.0)
        if m1 - moved > 0 and m1 * r1 - moved * l1 >= 0 and i1 - moved * l1**2 > 0:
            links = replace(
                self,
                masses=(m1 - moved, m2 + moved),
                centres=((m1 * r1 - moved * l1) / (m1 - moved), m2 * r2 / (m2 + moved)),
                inertias=(i1 - moved * l1**2, i2),
            )
            if min(links.inertias_about_centres) > 0:
                return links
        raise InputError(
            f"links of an arm: inertias {self.inertias} kg·m² about the joints are smaller than those of the masses "
            f"{self.masses} kg at their centres {self.centres} m; give physically possible links"
        )


@dataclass(frozen=True, kw_only=True)
class ArmParameters:
    """Content of a parameter file: links, and friction in its author's form."""

    links: ArmLinks
    viscous: Pair = (0.0, 0.0)
    """Viscous friction b [N·m·s/rad]."""
    coulomb: Pair = (0.0, 0.0)
    """Coulomb friction c_f·π/2 [N·m], because the file's friction is c_f·arctan(100·θ̇)."""
    torque_limits: Pair = (math.inf, math.inf)
    """Torque limits [N·m]; 0 marks a passive joint."""


def read_arm_parameters(path: Path | str) -> ArmParameters:
    """Read a file of lines "name: number" in the format of DFKI's double pendulum.

    Required: m1, m2, l1, l2, r1, r2, I1, I2 (kg, m, kg·m² about the joints). Optional: g, Ir and gr (inertia of the
    rotors and gear ratio), b1, b2, cf1, cf2, tl1, tl2.

    Raises:
        InputError: The file cannot be read or is invalid; the message names file and line.
    """
    numbers = _numbers(Path(path))

    def pair(name: str, default: float | None = None) -> Pair:
        missing = [key for key in (f"{name}1", f"{name}2") if key not in numbers and default is None]
        if missing:
            raise InputError(f"{path}: {missing[0]} is missing in the parameters of an arm")
        return numbers.get(f"{name}1", default or 0.0), numbers.get(f"{name}2", default or 0.0)

    rotor = numbers.get("gr", 1.0) ** 2 * numbers.get("Ir", 0.0)
    try:
        links = ArmLinks(
            masses=pair("m"),
            lengths=pair("l"),
            centres=pair("r"),
            inertias=pair("I"),
            gravity=numbers.get("g", 9.81),
            armatures=(rotor, rotor),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    coulomb = pair("cf", 0.0)
    viscous = pair("b", 0.0)
    if min(*coulomb, *viscous) < 0:
        raise InputError(f"{path}: friction b = {viscous}, cf = {coulomb} must not be negative")
    return ArmParameters(
        links=links,
        viscous=viscous,
        coulomb=(coulomb[0] * math.pi / 2, coulomb[1] * math.pi / 2),
        torque_limits=pair("tl", math.inf),
    )


_KNOWN = {f"{name}{joint}" for name in ("m", "l", "r", "I", "b", "cf", "tl") for joint in (1, 2)} | {"g", "gr", "Ir"}


def _numbers(path: Path) -> Mapping[str, float]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: too large for a parameter file of an arm")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise InputError(f"{path}: cannot be read as parameters of an arm: {reason}") from None
    numbers: dict[str, float] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        content = line.split("#", 1)[0].strip()
        if content in ("", "---"):
            continue
        name, colon, value = (part.strip() for part in content.partition(":"))
        if not colon or name not in _KNOWN:
            raise InputError(f'{path}, line {place}: expected "name: number" with one of {", ".join(sorted(_KNOWN))}')
        try:
            numbers[name] = float(value)
        except ValueError:
            raise InputError(f"{path}, line {place}: {name} = {value[:40]!r} is not a number") from None
        if not abs(numbers[name]) <= LARGEST_NUMBER:
            raise InputError(f"{path}, line {place}: {name} = {value[:40]!r} is not finite, or too large for an arm")
    return numbers
