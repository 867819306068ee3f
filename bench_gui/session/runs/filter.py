"""Filter line above the runs: parses a text into a test of runs, and reports invalid terms.

A text is a list of terms, and a run must match all of them. A word is searched in the texts of the table. A name with
a value compares one property (`kp=16`, `mass>0.5`, `run:3..9`, `tag:good`). A few words have a meaning of their own
(`excluded`). `-` before a term negates it; quotes keep words together and take them literally.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_gui.session.runs.wording import number_of, status_word
from core.base.numbers import parse_number
from core.motion.recording import STATUS_WORDS
from core.motion.trajectories import title_of

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary

Test = Callable[["RunSummary", "Annotation"], bool]

HINT = (
    "Show only runs that match every term:\n"
    "sin_sin            word in run, trajectory, servo, status, tags or note\n"
    "kp=16  mass>0.5  run:3..9     also length, duration, samples, ki, kd, supply, rate; != < <= > >=\n"
    "tag:good  status:aborted  note:coupling     also servo, trajectory, reason, source\n"
    "excluded  trimmed  tagged  noted  imported\n"
    '-excluded          negated;   "two words"   literal text\n'
    "Ctrl+A in the table selects the matching runs."
)


@dataclass(frozen=True)
class RunFilter:
    """Parsed filter line."""

    tests: tuple[Test, ...] = ()
    problems: tuple[str, ...] = ()
    """One line per invalid term, which is ignored."""

    def accepts(self, run: RunSummary, annotation: Annotation) -> bool:
        """Return whether a run matches every term."""
        return all(test(run, annotation) for test in self.tests)


@dataclass(frozen=True)
class _Number:
    value: Callable[[RunSummary], float]
    unit: str = ""


_NUMBERS = {
    "run": _Number(lambda run: float(number_of(run))),
    "kp": _Number(lambda run: run.kp),
    "ki": _Number(lambda run: run.ki),
    "kd": _Number(lambda run: run.kd),
    "mass": _Number(lambda run: run.mass, "kg"),
    "length": _Number(lambda run: run.length, "m"),
    "arm": _Number(lambda run: run.arm_mass, "kg"),
    "duration": _Number(lambda run: run.duration, "s"),
    "samples": _Number(lambda run: run.samples),
    "supply": _Number(lambda run: run.supply_voltage, "V"),
    "rate": _Number(lambda run: run.rate, "Hz"),
}
_NUMBERS["load"] = _NUMBERS["mass"]

_TEXTS: dict[str, Callable[[RunSummary, Annotation], str]] = {
    "id": lambda run, _: run.id,
    "trajectory": lambda run, _: f"{run.trajectory}\n{title_of(run.trajectory)}",
    "servo": lambda run, _: run.servo,
    "source": lambda run, _: run.source,
    "note": lambda _, annotation: annotation.note,
    "reason": lambda run, annotation: f"{annotation.reason}\n{run.reason}",
}

_QUESTIONS: dict[str, Test] = {
    "excluded": lambda _, annotation: annotation.excluded,
    "trimmed": lambda _, annotation: annotation.trimmed,
    "tagged": lambda _, annotation: bool(annotation.tags),
    "noted": lambda _, annotation: bool(annotation.note),
    "imported": lambda run, _: bool(run.source),
}

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: _same(a, b),
    ":": lambda a, b: _same(a, b),
    "!=": lambda a, b: not _same(a, b),
    "<": lambda a, b: a < b and not _same(a, b),
    "<=": lambda a, b: a < b or _same(a, b),
    ">": lambda a, b: a > b and not _same(a, b),
    ">=": lambda a, b: a > b or _same(a, b),
}

_TERM = re.compile(
    r"(?P<turned>-)?(?:(?P<name>[A-Za-z]+)\s*(?P<sign><=|>=|!=|[=<>:])\s*)?"
    r'(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]*))'
)
_FIGURE = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d{1,3})?"
_VALUE = re.compile(rf"(?P<low>{_FIGURE})(?:\.\.(?P<high>{_FIGURE}))?\s*(?P<unit>[A-Za-z]*)")


class _NotUnderstoodError(Exception):
    """Invalid term; the message gives the reason and an example."""


def parse_filter(text: str) -> RunFilter:
    """Parse a filter line; never raises, see `RunFilter.problems`."""
    tests: list[Test] = []
    problems: list[str] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found = _TERM.match(text, place)
        if found is None or found.end() == place:
            problems.append(f"{text[place:]!r} is not understood")
            break
        place = found.end()
        try:
            test = _test(found)
        except _NotUnderstoodError as error:
            problems.append(f"“{found[0].strip()}” {error}")
            continue
        tests.append(_not(test) if found["turned"] else test)
    return RunFilter(tuple(tests), tuple(problems))


def _test(found: re.Match[str]) -> Test:
    name, sign = (found["name"] or "").lower(), found["sign"] or ""
    quoted = found["quoted"] is not None
    value = (found["quoted"] if quoted else found["plain"]).strip()
    if not name:
        return _word(value, quoted)
    if not value:
        raise _NotUnderstoodError("needs a value")
    if name in _NUMBERS:
        return _comparison(name, sign, value)
    if sign not in ("=", ":", "!="):
        known = name in _TEXTS or name in ("tag", "status")
        raise _NotUnderstoodError(f"– {name} is not a number" if known else _unknown(name))
    test = _text_test(name, sign, value.casefold())
    return _not(test) if sign == "!=" else test


def _word(value: str, quoted: bool) -> Test:
    if not value:
        raise _NotUnderstoodError("needs a word")
    if not quoted:
        if value.lower() in _QUESTIONS:
            return _QUESTIONS[value.lower()]
        if re.search(r"[=<>]", value):
            raise _NotUnderstoodError(
                "needs a name before the sign, e.g. kp=16; use quotes to search for the text itself"
            )
    wanted = value.casefold()
    return lambda run, annotation: any(wanted in text.casefold() for text in _shown(run, annotation))


def _shown(run: RunSummary, annotation: Annotation) -> tuple[str, ...]:
    shown = (number_of(run), run.trajectory, title_of(run.trajectory), run.servo, status_word(run), annotation.note)
    return (*shown, *annotation.tags)


def _comparison(name: str, sign: str, value: str) -> Test:
    known = _NUMBERS[name]
    found = _VALUE.fullmatch(value)
    if found is None:
        raise _NotUnderstoodError(f"needs a number, e.g. {name}{sign}3")
    if found["unit"] and found["unit"] != known.unit:
        raise _NotUnderstoodError(f"is in another unit: {name} is in {known.unit}" if known.unit else "has no unit")
    low = parse_number(found["low"])
    if found["high"] is None:
        holds = _COMPARISONS[sign]
        return lambda run, _: holds(known.value(run), low)
    if sign not in ("=", ":", "!="):
        raise _NotUnderstoodError(f"– a range goes with {name}:, e.g. {name}:3..9")
    high = parse_number(found["high"])
    if high < low:
        raise _NotUnderstoodError("ends before it begins")

    def within(run: RunSummary, _: Annotation) -> bool:
        at = known.value(run)
        return _COMPARISONS[">="](at, low) and _COMPARISONS["<="](at, high)

    return _not(within) if sign == "!=" else within


def _text_test(name: str, sign: str, wanted: str) -> Test:
    if name == "tag":
        return lambda _, annotation: wanted in (tag.casefold() for tag in annotation.tags)
    if name == "status":
        words = {status for status, word in STATUS_WORDS.items() if wanted in (status, word)}
        if not words:
            raise _NotUnderstoodError(f"– a status is {', '.join(STATUS_WORDS.values())}")
        return lambda run, _: run.exit_status in words
    if name not in _TEXTS:
        raise _NotUnderstoodError(_unknown(name))
    text = _TEXTS[name]
    if sign == ":":
        return lambda run, annotation: wanted in text(run, annotation).casefold()
    return lambda run, annotation: wanted in text(run, annotation).casefold().split("\n")


def _unknown(name: str) -> str:
    return f"– a run has no {name}; it has {', '.join((*_NUMBERS, *_TEXTS, 'tag', 'status'))}"


def _not(test: Test) -> Test:
    return lambda run, annotation: not test(run, annotation)


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-12)
