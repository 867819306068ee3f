"""Parsing of motor torques typed in the window or on the command line."""

from __future__ import annotations

import math

from core.base.numbers import number_parts, parse_number

MOST_TORQUES = 60


def torques_from(text: str) -> tuple[float, ...] | str:
    """Parse torques [N·m], e.g. "0.3, 0.6" or from:to:step "0.3:0.9:0.1"; return an error message if that fails."""
    found: list[float] = []
    try:
        parts = number_parts(text)
    except ValueError as error:
        return str(error)
    for part in parts:
        try:
            numbers = [parse_number(piece) for piece in part.split(":")]
        except ValueError:
            return f"{part} is not a torque; write e.g. 0.3, 0.6 or 0.3:0.9:0.1"
        if len(numbers) not in (1, 3):
            return f"{part} is not a torque; write e.g. 0.3, 0.6 or, from:to:step, 0.3:0.9:0.1"
        if len(numbers) == 1:
            found += numbers
            continue
        first, last, step = numbers
        if step == 0.0 or (last - first) / step < 0.0 or (last - first) / step > MOST_TORQUES:
            return f"{part}: a step of {step:g} does not lead from {first:g} to {last:g} N·m"
        found += [round(first + k * step, 9) for k in range(math.floor((last - first) / step + 1e-9) + 1)]
    if any(value == 0.0 for value in found):
        return "0 N·m has no drive direction; remove it"
    if len(found) > MOST_TORQUES:
        return f"{len(found)} torques are too many to place by hand; give at most {MOST_TORQUES}"
    return tuple(dict.fromkeys(found))
