"""Unwritten changes of the servo: its own values, the edits, the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench_gui.state.setup import LARGEST_GAIN
from core.base.errors import InputError, ServoBenchError
from core.servo.catalogue import ServoSpec
from core.servo.settings import ServoSettings
from drivers.limits import Limits


@dataclass(frozen=True, kw_only=True)
class ServoNumber:
    """A number in the servo that can be changed."""

    name: str
    """Field of ServoSettings or Limits."""
    is_limit: bool
    title: str
    short: str
    """Caption for a narrow column."""
    tip: str
    unit: str = ""
    """"rad" and "rad/s" are shown in the user's unit."""
    lower: float
    upper: float
    decimals: int = 2
    step: float = 1.0


@dataclass(frozen=True)
class Change:
    """One row of the difference, in SI units; `now` is NaN if the servo does not report it."""

    entry: ServoNumber
    now: float
    new: float


@dataclass(frozen=True, kw_only=True)
class Draft:
    """Values of a servo, and the edits on top of them."""

    spec: ServoSpec
    settings: ServoSettings
    """Values in the servo; those it cannot report come from the next run."""
    settings_known: bool = True
    limits: Limits
    edits: Mapping[str, float] = field(default_factory=dict)

    def now(self, entry: ServoNumber) -> float:
        """Value in the servo; NaN if it does not report it."""
        if not entry.is_limit and not self.settings_known:
            return math.nan
        return self._base(entry)

    def value(self, entry: ServoNumber) -> float:
        """Value in the servo after the edits are written."""
        return self.edits.get(entry.name, self._base(entry))

    def edited(self, entry: ServoNumber, value: float) -> Draft:
        """Return the draft with another value; the servo's own value is not an edit."""
        edits = {name: edit for name, edit in self.edits.items() if name != entry.name}
        if value != self._base(entry):
            edits[entry.name] = value
        return replace(self, edits=edits)

    def based_on(self, settings: ServoSettings | None, fallback: ServoSettings, limits: Limits) -> Draft:
        """Return the same edits on top of other servo values; those that the servo already has are dropped."""
        based = replace(self, settings=settings or fallback, settings_known=settings is not None, limits=limits)
        entries = {entry.name: entry for entry in entries_of(self.spec, limits)}
        kept = {n: v for n, v in self.edits.items() if n in entries and v != based._base(entries[n])}
        return replace(based, edits=kept)

    def changes(self, entries: list[ServoNumber]) -> list[Change]:
        """Return the difference, in the order of the entries."""
        return [Change(entry, self.now(entry), self.edits[entry.name]) for entry in entries if entry.name in self.edits]

    def problem(self) -> str:
        """Reason why this cannot be written; empty if it can."""
        try:
            self.wanted()
        except ServoBenchError as error:
            return str(error)
        return ""

    def wanted(self) -> tuple[ServoSettings, Limits]:
        """Return the settings and limits after the edits.

        Raises:
            InputError: The limits contradict each other.
        """
        names = set(self.limits.__dict__)
        limits = {name: value for name, value in self.edits.items() if name in names}
        if limits.get("lowest_position", self.limits.lowest_position) >= limits.get(
            "highest_position", self.limits.highest_position
        ):
            raise InputError("the lowest angle must be below the highest")
        return replace(self.settings, **self.gain_edits()), replace(self.limits, **limits)

    def gain_edits(self) -> dict[str, float]:
        """Edits of gains only."""
        names = set(self.settings.__dict__)
        return {name: value for name, value in self.edits.items() if name in names}

    def _base(self, entry: ServoNumber) -> float:
        value = getattr(self.limits if entry.is_limit else self.settings, entry.name)
        return self.spec.control.damping if value is None else float(value)


def entries_of(spec: ServoSpec, ratings: Limits) -> list[ServoNumber]:
    """Return the changeable numbers of a servo: the gains of its control law, and limits within its ratings."""
    law = spec.control
    gains = [("kp", True, "Gain kp", "Proportional gain of the position law, in the servo's own units", 0.01)]
    gains += [("ki", bool(law.integral_ratio), "Gain ki", "Integral gain, in the servo's own units", 0.0)]
    gains += [("kd", bool(law.derivative_ratio), "Gain kd", "Derivative gain, in the servo's own units", 0.0)]
    gains += [("damping", bool(law.damping), "Damping", "Velocity gain of the current law: −damping·√kp·dθ/dt", 0.0)]
    found = [
        ServoNumber(name=name, is_limit=False, title=title, short=title, tip=tip, lower=lower, upper=LARGEST_GAIN)
        for name, there, title, tip, lower in gains
        if there
    ]
    low, high = ratings.lowest_position, ratings.highest_position
    beyond = "no goal position {} this; a driven servo that moves {} it is released"
    limits = (
        ("lowest_position", "Lowest angle", beyond.format("below", "below"), "rad", low, high),
        ("highest_position", "Highest angle", beyond.format("above", "above"), "rad", low, high),
        ("speed", "Speed", "a driven servo that moves faster is released", "rad/s", 0.01, ratings.speed),
        (
            "hold_speed",
            "Holding speed",
            "a servo that moves faster while holding a torque is released",
            "rad/s",
            0.01,
            ratings.speed,
        ),
        ("torque", "Torque", "no larger torque is commanded", "N·m", 0.001, ratings.torque),
        ("current", "Current", "a servo that draws more is released", "A", 0.001, ratings.current),
        ("temperature", "Temperature", "a servo hotter than this is released", "°C", 0.0, ratings.temperature),
    )
    found += [
        ServoNumber(
            name=name,
            is_limit=True,
            title=f"{title} limit",
            short=title,
            tip=f"Limit: {tip}",
            unit=unit,
            lower=lower,
            upper=upper,
            decimals=3 if unit == "N·m" else 2,
            step=0.1 if unit in ("N·m", "A") else 1.0,
        )
        for name, title, tip, unit, lower, upper in limits
        if math.isfinite(upper)
    ]
    return found
