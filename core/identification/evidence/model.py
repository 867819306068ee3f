"""Trust in an identified model: intervals, bounds, and the parameters that the runs leave open.

Data and text only; `sensitivity` computes the numbers. This module does not load the compiler, so results can be sent
to the window's process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import OrInfinite, from_plain, plain_fields
from core.base.units import significant
from core.identification.choice.rule import listed
from core.identification.evidence.grade import FROZEN, LEFT_OUT, Grade, grade_of
from core.servo.actuator import ControlLaw
from core.servo.terms import FRICTION, NEUTRAL, PUSHED_BY, physical_limits

NORMAL_95 = 1.959963984540054
"""Half width of a 95 % interval in standard errors."""

OPEN, SHORTED, PARTLY, UNKNOWN = "open", "shorted", "partly braking", "not determined"
"""Behaviour of a released motor: none, braking like a shorted winding, in between, or unknown."""

BRAKING_MARGIN = 0.05
"""Distance from 0 or 1 within which a 95 % interval of β means open or shorted."""
REPORTED_ANGLE, REPORTED_SUPPLY, REPORTED_DELAY = math.radians(0.3), 0.1, 0.004
"""Smallest offsets of a run that are reported [rad, V, s]."""
MOST_APART = 0.5
"""Largest share of the runs that can differ from the others."""

STRIBECK = FRICTION.keys() - NEUTRAL.keys()
"""Parameters without a neutral value: speed and exponent of the Stribeck curve."""

WIDEST_BRAKING = 0.5
"""Width beyond which a 95 % interval of β has no meaning."""


@dataclass(frozen=True, kw_only=True)
class ParameterEvidence:
    """One parameter of an identified model; SI units."""

    name: str
    symbol: str
    unit: str
    value: float
    initial: float
    """Start value of the search: the catalogue's, or that of the request's start."""
    lower: float
    upper: float
    frozen: bool
    at_bound: str
    """"lower", "upper" or empty."""
    standard_error: OrInfinite
    """Linearised standard error; infinite if these runs do not determine the value, NaN for a frozen one."""
    traded_with: tuple[str, ...] = ()
    """Symbols of the parameters that can compensate a change of this one; empty if it has no effect at all."""
    better_beyond: float | None = None
    """Value beyond its bound at which the runs fit better; None if there is none."""
    moved_with: tuple[str, ...] = ()
    """Symbols of the parameters that leave their own intervals with the value beyond; the intervals include that."""

    @property
    def grade(self) -> Grade:
        """Grade of the value, and the value as text."""
        if self.left_out:
            return Grade(word=LEFT_OUT, figure=LEFT_OUT, width="", text=LEFT_OUT)
        if self.frozen:
            figure, unit = significant(self.value), "" if self.unit == "1" else f" {self.unit}"
            return Grade(word=FROZEN, figure=figure, width="", text=f"{figure}{unit}, {FROZEN}")
        return grade_of(self.value, self.half_width, self.lower, self.upper, self.unit)

    @property
    def determined(self) -> bool:
        """True if the value can be quoted, see `grade`."""
        return self.grade.determined

    @property
    def narrowed(self) -> bool:
        """True if these runs narrow the value further than its catalogue bounds do."""
        return self.frozen or math.isfinite(self.standard_error)

    @property
    def left_out(self) -> bool:
        """True if the term is held at a value without effect that its search could not reach."""
        neutral = NEUTRAL.get(self.name)
        return self.frozen and neutral is not None and self.value == neutral and not self.lower <= neutral <= self.upper

    @property
    def half_width(self) -> float:
        """Half width of the approximate 95 % interval; infinite if it is not determined, NaN for a frozen parameter."""
        return NORMAL_95 * self.standard_error

    @property
    def bound_warning(self) -> str:
        """Warning about a value at a bound, with the remedy; empty for another one."""
        if self.left_out:
            return f"{self.symbol} is left out; {self.absence}"
        if not self.at_bound:
            return ""
        if self.at_limit:
            return f"{self.symbol} {self.least}; {self.absence}"
        unit = "" if self.unit == "1" else f" {self.unit}"
        return (
            f"{self.symbol} lies at its {self.at_bound} bound, {self.bound:.4g}{unit}{self._beyond}: "
            f"check {PUSHED_BY.get(self.name, 'the facts of the runs')}"
        )

    @property
    def _beyond(self) -> str:
        """Clause on a better value beyond the bound; empty if there is none."""
        if self.better_beyond is None:
            return ""
        moved = f", with other {listed(self.moved_with)}" if self.moved_with else ""
        return f"; {self.better_beyond:.3g} fits better{moved}, and the intervals include that"

    @property
    def least(self) -> str:
        """Text for a value at the end of its possible range, e.g. "is 0 s, its minimum"."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"is {self.bound:g}{unit}, its {'minimum' if self.at_bound == 'lower' else 'maximum'}"

    @property
    def absence(self) -> str:
        """Explanation of a value at the end of its possible range."""
        if self.traded_with:
            return f"these runs cannot separate it from {listed(self.traded_with)}"
        return "these runs show no such effect"

    @property
    def at_limit(self) -> bool:
        """True if it lies at a bound beyond which values have no meaning."""
        low, high, included = physical_limits(self.name)
        return bool(self.at_bound) and included and self.bound in (low, high)

    @property
    def bound(self) -> float:
        """Bound at which it lies."""
        return self.lower if self.at_bound == "lower" else self.upper

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for a standard error that is NaN or infinite."""
        grade = self.grade
        return {**plain_fields(self), "determined": grade.determined, "grade": grade.word, "text": grade.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ParameterEvidence:
        """Read the data of `to_json`."""
        read = from_plain(cls, data)
        return replace(read, standard_error=math.nan) if read.frozen else read


@dataclass(frozen=True)
class TorqueOff:
    """Behaviour of the motor while its torque is off."""

    mode: str
    """OPEN, SHORTED, PARTLY or UNKNOWN."""
    text: str
    """The same as text, with the reason or the remedy."""
    assumed: bool = False
    """True if it is an assumption of the model."""


@dataclass(frozen=True, kw_only=True)
class RunOffset:
    """Difference of one run from its header, see `offsets`; standard errors beside the values."""

    id: str
    angle: float
    """Angle by which the load hangs further counter-clockwise [rad]."""
    angle_error: float
    supply: float
    """Difference of the supply from the stated or measured voltage [V]."""
    supply_error: float
    delay: float = 0.0
    """Time by which commands took effect later than in most runs [s]."""
    delay_error: float = 0.0

    @property
    def text(self) -> str:
        """Significant differences, with the remedy; empty if there are none."""
        found: list[str] = []
        if abs(self.angle) > max(NORMAL_95 * self.angle_error, REPORTED_ANGLE):
            found.append(f"the zero is {math.degrees(self.angle):+.1f}° off (set it again)")
        if abs(self.supply) > max(NORMAL_95 * self.supply_error, REPORTED_SUPPLY):
            found.append(f"the supply was {self.supply:+.2g} V off (measure it)")
        if abs(self.delay) > max(NORMAL_95 * self.delay_error, REPORTED_DELAY):
            when = "later" if self.delay > 0.0 else "earlier"
            found.append(
                f"commands took effect {1e3 * abs(self.delay):.0f} ms {when} than usual (check its time stamps)"
            )
        return f"in run {self.id} {' and '.join(found)}" if found else ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Evidence from the training runs for a model."""

    parameters: tuple[ParameterEvidence, ...]
    conditions: tuple[str, ...]
    """Conditions that the runs lack, with the remedy."""
    noise: float
    """Standard deviation of the unexplained residual [rad]."""
    samples: int
    independent: float
    """Effective number of independent samples, as neighbouring samples are correlated."""
    search: str = ""
    """Reason why a better optimum may exist, with the remedy; empty for a search that confirmed its best."""

    elsewhere: str = ""
    """Conditions in which other equally good fits predict other motions, with the remedy; empty if there are none."""

    offsets: tuple[RunOffset, ...] = ()
    """Offsets of each run, if requested."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Doubts, each with its remedy; those about the whole model come first."""
        at_bound = [p for p in self.parameters if p.at_bound and p.name not in STRIBECK]
        bounds = [p.bound_warning for p in at_bound if not p.at_limit]
        whole = [text for text in (self.elsewhere, self.search) if text]
        return (
            *whole, *self.no_stribeck(), *self._open_warnings(), *bounds, *self._absent(), *self.conditions,
            *self._apart(),
        )  # fmt: skip

    def no_stribeck(self) -> list[str]:
        """Return a warning about an absent Stribeck effect: its speed or exponent is at a bound."""
        symbols = [p.symbol for p in self.parameters if p.name in STRIBECK and p.at_bound]
        if not symbols:
            return []
        lie = f"{listed(symbols)} lie{'s at its bound' if len(symbols) == 1 else ' at their bounds'}"
        return [
            f"{lie}, so these runs do not show the Stribeck effect: prefer a model without it (M1, M3), or record "
            "motions that start and stop slowly"
        ]

    def _absent(self) -> list[str]:
        """Return effects whose values are at the end of their possible range, combined by reason."""
        by_reason: dict[tuple[float, str], list[ParameterEvidence]] = {}
        for p in self.parameters:
            if p.at_limit:
                by_reason.setdefault((p.bound, p.absence), []).append(p)
        return [
            *(p.bound_warning for p in self.parameters if p.left_out and p.initial != p.value),
            *(
                found[0].bound_warning
                if len(found) == 1
                else f"{listed([p.symbol for p in found])} are {bound:g}, the end of their range; "
                f"{absence.replace('separate it', 'separate them')}"
                for (bound, absence), found in by_reason.items()
            ),
        ]

    def _apart(self) -> list[str]:
        """Return runs that differ from the others; if there are many, the model is the likely cause."""
        apart = [offset for offset in self.offsets if offset.text]
        if len(apart) <= MOST_APART * len(self.offsets):
            return [offset.text for offset in apart]
        return [
            f"{len(apart)} of {len(self.offsets)} runs fit the model better with another angle, supply or delay, so "
            "many that the model probably lacks physics: look at the residuals, and identify without offsets of runs"
        ]

    def about(self, name: str) -> str:
        """Return what to know about one parameter; empty if there are no doubts."""
        parameter = self.of(name)
        if parameter.bound_warning:
            return parameter.bound_warning
        return next((text for names, text in self.open_groups() if name in names), "")

    def torque_off(self, control: ControlLaw) -> TorqueOff:
        """Return the behaviour of a released motor, from β and its 95 % interval, or the model's assumption without β.

        Args:
            control: The model's control law; only a voltage law has a β.
        """
        if control.law == "current":
            return TorqueOff(
                OPEN, f"{OPEN}, as a current law drives no current while released; β changes nothing", True
            )
        known = next((p for p in self.parameters if p.name == "release_braking"), None)
        if known is None:
            text = f"assumed {OPEN} (β = 0): identify the term release_braking of the command path to check"
            return TorqueOff(OPEN, text, True)
        if known.frozen:
            mode = _braking(known.value, known.value)
            return TorqueOff(mode, f"{mode}, as β is held at {known.value:.3g}", True)
        low, high = max(known.value - known.half_width, 0.0), min(known.value + known.half_width, 1.0)
        if known.narrowed and high - low <= WIDEST_BRAKING:
            mode = _braking(low, high)
            return TorqueOff(mode, f"{mode}, as β = {known.value:.2g}, between {low:.2g} and {high:.2g} (95 %)")
        if known.traded_with:
            others = listed(known.traded_with)
            example = ", e.g. a measured R" if "R" in known.traded_with else ""
            text = f"{UNKNOWN}, as {others} can compensate β: freeze one that you know{example}"
            return TorqueOff(UNKNOWN, text)
        return TorqueOff(UNKNOWN, f"{UNKNOWN}: record a torque-off phase in which the load swings")

    def _open_warnings(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.open_groups())

    def open_groups(self) -> list[tuple[set[str], str]]:
        """Return the undetermined parameters, grouped by those that compensate each other, with the explanation."""
        undetermined = {
            p.symbol: p for p in self.parameters if not p.narrowed and not p.at_limit and p.better_beyond is None
        }
        found: list[tuple[set[str], str]] = []
        idle = [symbol for symbol, p in undetermined.items() if not p.traded_with]
        if idle:
            one = len(idle) == 1
            found.append(
                (
                    {undetermined[symbol].name for symbol in idle},
                    f"{listed(idle)} hardly change{'s' if one else ''} the motion in these runs: record runs that "
                    f"need {'it' if one else 'them'}, or freeze {'it' if one else 'them'}",
                )
            )
        order = [p.symbol for p in self.parameters]
        groups: list[set[str]] = []
        for symbol, p in undetermined.items():
            if p.traded_with:
                together = {symbol, *p.traded_with}
                overlapping = [group for group in groups if group & together]
                groups = [group for group in groups if group not in overlapping] + [together.union(*overlapping)]
        ordered = (sorted(group, key=order.index) for group in groups)
        for group in sorted(ordered, key=lambda g: order.index(g[0])):
            names = {undetermined[symbol].name for symbol in group if symbol in undetermined}
            found.append(
                (
                    names,
                    f"these runs determine only the combined effect of {listed(group)}: freeze one that you know, "
                    "or record other loads and gains",
                )
            )
        return found

    def of(self, name: str) -> ParameterEvidence:
        """Return the evidence for one parameter."""
        return next(parameter for parameter in self.parameters if parameter.name == name)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return plain_fields(self)

    @classmethod
    @reading_json("the evidence of a model", IdentificationError)
    def from_json(cls, data: Any) -> Evidence:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe evidence.
        """
        read = from_plain(cls, data)
        symbols = {parameter.symbol for parameter in read.parameters}
        strange = {symbol for parameter in read.parameters for symbol in parameter.traded_with} - symbols
        if strange:
            raise ValueError(f"a parameter is traded with {', '.join(sorted(strange))}, which do not exist")
        return read


def _braking(low: float, high: float) -> str:
    """Return the conclusion from an interval of β that is narrow enough."""
    if low <= BRAKING_MARGIN:
        return OPEN
    return SHORTED if high >= 1.0 - BRAKING_MARGIN else PARTLY
