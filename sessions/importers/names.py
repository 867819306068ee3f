"""Conditions in the names of files: read by a pattern, and the pattern guessed from names that share one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from core.base.errors import InputError
from core.base.numbers import parse_number
from core.motion.trajectories import canonical_name, trajectory_names
from core.servo.catalogue import servos
from sessions.errors import shown
from sessions.importers.bags import ENDINGS as BAGS
from sessions.importers.tables import OPENERS
from sessions.strict_json import is_name

FACTS = {
    **dict.fromkeys(("mass", "length", "arm_mass", "angle_offset"), "bench"),
    **dict.fromkeys(("kp", "ki", "kd", "supply_voltage", "damping"), "settings"),
    **dict.fromkeys(("servo", "trajectory"), "text"),
}
"""Facts of a run besides its samples, with the group of each."""

FIELD = re.compile(r"\{(\w*)\}")
_NUMBER = r"[-+]?\d*[.,]?\d+(?:e[-+]?\d+)?"

_KEYS = {
    **dict.fromkeys(("mass", "load", "m"), "mass"),
    **dict.fromkeys(("length", "len", "l"), "length"),
    **dict.fromkeys(("arm_mass", "armmass", "rod"), "arm_mass"),
    **dict.fromkeys(("vin", "voltage", "volt", "volts", "supply"), "supply_voltage"),
    **{name: name for name in ("kp", "ki", "kd", "damping")},
}
"""Word before a number in a file's name to the fact that it states."""
_LARGEST = {"mass": 100.0, "arm_mass": 100.0, "length": 5.0, "supply_voltage": 100.0}
"""Larger numbers are in another unit, such as grams or millimetres; a pattern reads SI units only."""
_UNITS = {"mass": "kg", "arm_mass": "kg", "length": "m", "supply_voltage": "V"}
_STATED = re.compile(
    rf"(?<![A-Za-z0-9])(?P<before>(?P<key>{'|'.join(sorted(_KEYS, key=len, reverse=True))})[=_-]?)"
    r"(?P<number>\d+(?:[.,]\d+)?)(?P<unit>kg|m|V)?(?![A-Za-z0-9]|[.,]\d)",
    re.IGNORECASE | re.ASCII,
)
_EDGES = re.compile(r"([\W_]*)(.*?)([\W_]*)", re.DOTALL)


def stem(path: Path) -> str:
    """Return a file's name without the endings of known formats."""
    found = path.name.removesuffix(".gz")
    return next((found[: -len(ending)] for ending in (*OPENERS, *BAGS) if found.lower().endswith(ending)), found)


def facts_from_name(stem: str, pattern: str) -> dict[str, float | str]:
    """Return the facts in a file's name.

    Raises:
        InputError: for a pattern with unknown fields, or a name that does not match it.
    """
    if not pattern:
        return {}
    parts = FIELD.split(pattern)
    fields = parts[1::2]
    for wrong in filter(None, fields):
        if wrong not in FACTS or fields.count(wrong) > 1:
            problem = "is given twice" if wrong in FACTS else f"is not one of {', '.join(FACTS)}"
            raise InputError(f"--from-name: {{{wrong}}} {problem}")
    texts = [re.escape(part) for part in parts[::2]]
    groups = [f"(?P<{fact}>{'.+?' if FACTS[fact] == 'text' else _NUMBER})" if fact else ".*?" for fact in fields]
    match = re.fullmatch("".join(a + b for a, b in zip(texts, [*groups, ""], strict=True)), stem)
    if match is None:
        examples = {"servo": "xl330", "trajectory": "sin_sin", "": "text"}
        example = FIELD.sub(lambda found: examples.get(found[1], "0.5"), pattern)
        raise InputError(
            f"the name {shown(stem)!r} does not fit --from-name {shown(pattern)!r}; expected is e.g. {example}"
        )
    return {fact: text if FACTS[fact] == "text" else parse_number(text) for fact, text in match.groupdict().items()}


def guess_pattern(stems: Sequence[str], given: Collection[str] = ()) -> str:
    """Return the pattern that all names share, as `--from-name` takes it; empty if they share none.

    A number after a word such as "kp" or "m" is a fact, and the text in front of the numbers is the trajectory. Text
    that differs without a known meaning becomes {}.

    Args:
        stems: Names of files without endings.
        given: Facts that are known otherwise, which names are not read for.
    """
    servo = servo_of(stems)[0]
    rest = [name[len(servo) :] for name in stems]
    found = [_stated(name) for name in rest]
    if len({tuple((match["before"], match["unit"]) for match in matches) for matches in found}) != 1 or not found[0]:
        return ""
    facts = [fact if (fact := _fact(match)) not in given else "" for match in found[0]]
    gaps = list(zip(*(_between(name, matches) for name, matches in zip(rest, found, strict=True)), strict=True))
    titles = [place for place, texts in enumerate(gaps) if all(is_name(_edges(text)[1]) for text in texts)]
    known = [place for place in titles if any(_is_motion(text) for text in gaps[place])]
    title = (known or titles or [-1])[0]
    pattern = servo
    for place, texts in enumerate(gaps):
        pattern += _pattern_of(texts, "trajectory" if place == title and "trajectory" not in given else "")
        if place < len(facts):
            pattern += f"{found[0][place]['before']}{{{facts[place]}}}{found[0][place]['unit'] or ''}"
    stated = [
        {fact: parse_number(match["number"]) for fact, match in zip(facts, matches, strict=True) if fact}
        for matches in found
    ]
    twice = len(set(filter(None, facts))) < len([*filter(None, facts)])
    return pattern if any(facts) and not twice and _reads(pattern, stems, stated) else ""


def servo_of(stems: Sequence[str]) -> tuple[str, str]:
    """Return the servo that all names begin with, as they write it and by its name; both empty if there is none."""
    names = {name: spec.name for spec in servos().values() for name in spec.names}
    begun = {
        next(
            (
                each[: len(name)]
                for name in sorted(names, key=len, reverse=True)
                if each.lower().startswith(name) and not each[len(name) :][:1].isalnum()
            ),
            "",
        )
        for each in stems
    }
    written = begun.pop() if len(begun) == 1 else ""
    return written, names.get(written.lower(), "")


def _stated(stem: str) -> list[re.Match[str]]:
    """Return the numbers in a name whose meaning is clear; a lone "m1" or "l2" may be anything."""
    found = [match for match in _STATED.finditer(stem) if _is_si(match)]
    clear = len(found) > 1 or any(
        len(match["key"]) > 1 or not match["number"].isdigit() or match["unit"] for match in found
    )
    return found if clear else []


def _fact(match: re.Match[str]) -> str:
    return _KEYS[match["key"].lower()]


def _is_si(match: re.Match[str]) -> bool:
    """Return True for a number in the SI unit of its fact."""
    fact = _fact(match)
    if len(match["key"]) == 1 and match["before"][-1] in "_-":
        return False
    if match.start() == 0 and len(match["key"]) > 3 and match["before"][-1].isalpha() and match["number"].isdigit():
        return match["unit"] is not None  # volt2 is the second file
    return match["unit"] in (None, _UNITS.get(fact)) and parse_number(match["number"]) <= _LARGEST.get(fact, 1e6)


def _between(stem: str, matches: Sequence[re.Match[str]]) -> list[str]:
    """Return the texts around the numbers of a name."""
    ends = [0, *(match.end() for match in matches)]
    return [stem[end:begin] for end, begin in zip(ends, [*(m.start() for m in matches), len(stem)], strict=True)]


def _is_motion(text: str) -> bool:
    return canonical_name(_edges(text)[1]) in trajectory_names()


def _pattern_of(texts: Sequence[str], fact: str) -> str:
    """Return the pattern of the texts at one place of the names."""
    if len(set(texts)) == 1 and not fact:
        return texts[0]
    edges = [_edges(text) for text in texts]
    before, after = ({edge[side] for edge in edges} for side in (0, 2))
    field = f"{{{fact}}}"
    return (before.pop() if len(before) == 1 else "") + field + (after.pop() if len(after) == 1 else "")


def _edges(text: str) -> tuple[str, str, str]:
    """Return the separators before a text, the text, and those after it."""
    match = _EDGES.fullmatch(text)
    assert match is not None
    return match[1], match[2], match[3]


def _reads(pattern: str, stems: Sequence[str], stated: Sequence[Mapping[str, float]]) -> bool:
    """Return True if a pattern reads what is stated in each name, and a trajectory's name if it has the field."""
    try:
        read = [facts_from_name(name, pattern) for name in stems]
    except InputError:
        return False
    named = all(is_name(facts.pop("trajectory", "x")) for facts in read)
    return named and read == list(stated)
