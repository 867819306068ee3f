"""Evidence in recordings for each term of a model: a verdict in words for every free parameter.

The verdicts use the motion only, so they are available before a fit. After one, `judge` states with numbers which
parameters the runs have determined.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.base.words import counted
from core.identification.coverage.excitation import SMALL_ERROR, Excitation
from core.identification.coverage.grid import ConditionGrid
from core.identification.runs.advice import BENCH, Advice
from core.identification.runs.conditions import SLOW, VARIED
from core.servo.actuator import COMMANDS
from core.servo.parameters import ParameterSet
from core.servo.terms import TERMS

FEW_EVENTS = 6
"""Number of breakaways, stops or reversals that suffice for a mean."""

SOME = 0.02
"""Share of the driven time, or of the time in motion, that suffices."""

SCALE = frozenset({"kt", "R", "error_gain_ratio"})
SCALED = frozenset({"output_offset", "output_limit_ratio", "pulse_sag"})
"""Parameters that compensate each other, and terms that follow them.

With R times c² and the others times c, every motion is the same as long as the output stays below a known limit. The
output offset is a share of the limit, so a free limit scales it.
"""


@dataclass(frozen=True, kw_only=True)
class TermVerdict:
    """Evidence of the runs for one parameter."""

    name: str
    symbol: str
    verdict: str
    """The runs contain the evidence for the term ("good"), hardly ("weak"), or not at all ("none")."""
    text: str
    """Evidence in the runs, and what to record if it is not enough."""


@dataclass(frozen=True)
class _Seen:
    excitation: Excitation
    grid: ConditionGrid
    unstated: str
    command: str
    free: frozenset[str]
    """Names of the free parameters."""
    advice: Advice

    @property
    def varied(self) -> bool:
        """Return True if the loads differ."""
        return len(self.grid.loads) > 1 if self.advice is BENCH else self._span >= VARIED

    @property
    def loads(self) -> str:
        """Loads in words."""
        if self.advice is BENCH:
            return counted(len(self.grid.loads), "load")
        return f"loads over {100 * self._span:.0f} % of the stall torque"

    @property
    def _span(self) -> float:
        """Span of the load on a joint as a share of the stall torque."""
        e = self.excitation
        largest = max(abs(e.load_low), abs(e.load_high))
        return e.load_share * (e.load_high - e.load_low) / largest if largest else 0.0


def term_verdicts(
    parameters: ParameterSet,
    excitation: Excitation,
    grid: ConditionGrid,
    unstated: str = "",
    command: str = "position",
    advice: Advice = BENCH,
) -> tuple[TermVerdict, ...]:
    """Return a verdict for each free parameter that has a rule.

    Args:
        parameters: The parameters.
        excitation: Motion of all runs.
        grid: Conditions of the runs.
        unstated: See `unstated_releases`.
        command: What drives the servo in the simulation, one of `core.servo.actuator.COMMANDS`.
        advice: Words of the remedies, those of the bench or of a joint.
    """
    seen = _Seen(excitation, grid, unstated, command, frozenset(p.name for p in parameters.free), advice)
    open_scale = _open_scale(seen)
    found: list[TermVerdict] = []
    for parameter in parameters.free:
        term = TERMS.get(parameter.name)
        if term is not None and term.evidence:
            rule = _resistance if parameter.name == "R" else _RULES[term.evidence]
            verdict, text = rule(seen)
            if verdict == "good" and open_scale and parameter.name in SCALE | SCALED:
                verdict, text = "weak", open_scale
            found.append(TermVerdict(name=parameter.name, symbol=parameter.symbol, verdict=verdict, text=text))
    return tuple(found)


def _graded(value: float, good: float, some: float) -> str:
    return "good" if value >= good else "weak" if value >= some else "none"


def _open_scale(seen: _Seen) -> str:
    """Return why the runs do not fix the scale that the terms of SCALE and SCALED share; empty if it is fixed."""
    if not seen.free >= SCALE:
        return ""
    saturated = f"output at its limit {100 * seen.excitation.saturated_share:.1f} % of the time"
    if "output_limit_ratio" in seen.free:
        return (
            f"{saturated}, which is free as well, so k_t and R compensate it: log the duty cycle, or hold a measured R"
        )
    if seen.excitation.saturated_share >= SOME:
        return ""
    return (
        f"{saturated}: below it, k_t and R compensate the gain ratio; "
        f"record steps or {seen.advice.fast} with a high gain, or hold R at a measured value"
    )


def _resistance(seen: _Seen) -> tuple[str, str]:
    if COMMANDS[seen.command].law != "current":
        return _motor(seen)
    return "none", (
        f"the servo is driven by {COMMANDS[seen.command].words}, at whatever voltage that takes: freeze a measured R"
    )


def _motor(seen: _Seen) -> tuple[str, str]:
    e, grid = seen.excitation, seen.grid
    if COMMANDS[seen.command].law == "current":
        text = f"gravity needs up to {100 * e.load_share:.0f} % of the stall torque"
        verdict = _graded(e.load_share, 0.1, 0.02)
        return verdict, text if verdict == "good" else f"{text}: record {seen.advice.heavier}, whose torque is known"
    if seen.command != "position":
        fast = e.speed_share >= SLOW
        verdict = "good" if fast and seen.varied else "weak" if fast or seen.varied else "none"
        text = f"up to {100 * e.speed_share:.0f} % of the no-load speed, {seen.loads}"
        return verdict, text if verdict == "good" else f"{text}: record faster motion, and another load"
    fast = e.speed_share >= SLOW
    varied = len(grid.gains) > 1 or seen.varied
    verdict = "good" if fast and varied and e.saturated_share >= SOME else "weak" if fast or varied else "none"
    text = (
        f"up to {100 * e.speed_share:.0f} % of the no-load speed, {counted(len(grid.gains), 'gain')}, "
        f"{seen.loads}, output at its limit {100 * e.saturated_share:.1f} % of the time"
    )
    return verdict, text if verdict == "good" else f"{text}: record {seen.advice.fast} at another gain and load"


def _inertia(seen: _Seen) -> tuple[str, str]:
    e = seen.excitation
    if e.speed_share < SLOW:
        return "none", f"up to {100 * e.speed_share:.0f} % of the no-load speed only: record {seen.advice.fast}"
    if not seen.varied:
        return "weak", f"{seen.loads}: it adds to the load's inertia; record {seen.advice.loads}"
    return "good", f"fast motion with {seen.loads}"


def _offset(seen: _Seen) -> tuple[str, str]:
    e = seen.excitation
    both = e.load_low < -0.3 * e.load_high and e.load_high > 0.0 if e.load_high > -e.load_low else (
        e.load_high > 0.3 * -e.load_low
    )  # fmt: skip
    if both:
        return "good", "gravity pulls both ways"
    return "weak", f"gravity pulls one way only: record {seen.advice.both_sides}"


def _coulomb(seen: _Seen) -> tuple[str, str]:
    count = seen.excitation.reversals + seen.excitation.breakaways
    verdict = _graded(count, FEW_EVENTS, 1)
    text = f"{counted(seen.excitation.reversals, 'reversal')}, {counted(seen.excitation.breakaways, 'breakaway')}"
    return verdict, text if verdict == "good" else f"{text}: record {seen.advice.turning}"


def _viscous(seen: _Seen) -> tuple[str, str]:
    share = seen.excitation.speed_share
    verdict = _graded(share, 0.3, SLOW)
    text = f"up to {100 * share:.0f} % of the no-load speed"
    return verdict, text if verdict == "good" else f"{text}: record {seen.advice.fast} with a high gain"


def _stribeck(seen: _Seen) -> tuple[str, str]:
    e = seen.excitation
    verdict = "good" if e.breakaways >= FEW_EVENTS and e.slow_share >= 0.1 else (
        "weak" if e.breakaways >= 1 or e.slow_share >= 0.1 else "none"
    )  # fmt: skip
    text = f"{counted(e.breakaways, 'breakaway')}, {100 * e.slow_share:.0f} % of the motion slow"
    return (
        verdict,
        text if verdict == "good" else f"{text}: record slow motion after rest, such as {seen.advice.slow}",
    )


def _load(seen: _Seen) -> tuple[str, str]:
    share = seen.excitation.load_share
    if not seen.varied:
        return "none", (
            f"{seen.loads}: load-dependent friction and k_t cannot be distinguished; record {seen.advice.loads}"
        )
    if share < 0.1:
        text = f"gravity needs at most {100 * share:.0f} % of the stall torque"
        return "weak", f"{text}: record {seen.advice.heavier}"
    return "good", f"{seen.loads}, up to {100 * share:.0f} % of the stall torque"


def _directional(seen: _Seen) -> tuple[str, str]:
    verdict, text = _load(seen)
    if verdict == "good" and seen.excitation.reversals < FEW_EVENTS:
        return "weak", f"{counted(seen.excitation.reversals, 'reversal')} under load: record {seen.advice.turning}"
    return verdict, text


def _delay(seen: _Seen) -> tuple[str, str]:
    share = seen.excitation.goal_speed_share
    verdict = _graded(share, 0.2, 0.05)
    if seen.command != "position":
        text = f"the command changes by up to {100 * share:.0f} % of its range per second"
        return verdict, text if verdict == "good" else f"{text}: record faster changes"
    text = f"goals up to {100 * share:.0f} % of the no-load speed"
    return verdict, text if verdict == "good" else f"{text}: record steps or {seen.advice.fast}"


def _gain(seen: _Seen) -> tuple[str, str]:
    saturated, gains = seen.excitation.saturated_share, len(seen.grid.gains)
    return "good", f"output at its limit {100 * saturated:.1f} % of the time, {counted(gains, 'gain')}"


def _slew(seen: _Seen) -> tuple[str, str]:
    e = seen.excitation
    verdict = _graded(max(e.goal_speed_share, 0.0), 1.0, 0.5)
    text = f"goals up to {100 * e.goal_speed_share:.0f} % of the no-load speed"
    return verdict, text if verdict == "good" else f"{text}, a velocity limit has hardly any effect: record steps"


def _dead_band(seen: _Seen) -> tuple[str, str]:
    count = seen.excitation.resting_errors
    verdict = _graded(count, FEW_EVENTS, 1)
    text = f"{counted(count, 'stop')} with errors below {1e3 * SMALL_ERROR:.0f} mrad"
    return verdict, text if verdict == "good" else f"{text}: record steps with a high gain"


def _sag(seen: _Seen) -> tuple[str, str]:
    saturated = seen.excitation.saturated_share
    verdict = _graded(saturated, SOME, 0.002)
    text = f"output at its limit {100 * saturated:.1f} % of the time"
    return verdict, text if verdict == "good" else f"{text}: record fast motion below a heavy load, log the supply"


def _braking(seen: _Seen) -> tuple[str, str]:
    count = seen.excitation.releases
    verdict = _graded(count, 2, 1)
    text = f"{counted(count, 'release')} with motion after it"
    if seen.unstated and not count:
        return verdict, seen.unstated
    return verdict, text if verdict == "good" else f"{text}: record {seen.advice.release}"


def _backlash(seen: _Seen) -> tuple[str, str]:
    count = seen.excitation.handovers
    verdict = _graded(count, 2 * FEW_EVENTS, 1)
    text = f"the torque through the gears changes its direction {counted(count, 'time')}"
    if verdict == "good":
        return verdict, text
    return verdict, f"{text}: record {seen.advice.handover}"


def _memory(seen: _Seen) -> tuple[str, str]:
    """Friction by the load shows its memory where the load comes and goes."""
    return min(_load(seen), _backlash(seen), key=lambda found: ("none", "weak", "good").index(found[0]))


_RULES: dict[str, Callable[[_Seen], tuple[str, str]]] = {
    "motor": _motor,
    "inertia": _inertia,
    "offset": _offset,
    "coulomb": _coulomb,
    "viscous": _viscous,
    "stribeck": _stribeck,
    "load": _load,
    "directional": _directional,
    "delay": _delay,
    "gain": _gain,
    "slew": _slew,
    "dead_band": _dead_band,
    "sag": _sag,
    "braking": _braking,
    "backlash": _backlash,
    "memory": _memory,
}
"""Rules by the evidence that a term needs, see `core.servo.terms.Term.evidence`."""
