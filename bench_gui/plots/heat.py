"""Colours of a heat map: a perceptually uniform scale from dark blue to yellow, for both themes and paper."""

from __future__ import annotations

CIVIDIS = ("#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838")
"""Nuñez, Anderton, Renslow 2018 (PLOS ONE 13(7): e0199239): lightness rises evenly for every type of colour vision."""
DARK_INK, LIGHT_INK = "#000000", "#ffffff"


def heat_colour(share: float) -> str:
    """Return the colour at a share of 0 … 1 of the scale."""
    place = min(max(share, 0.0), 1.0) * (len(CIVIDIS) - 1)
    i = min(int(place), len(CIVIDIS) - 2)
    low, high = _parts(CIVIDIS[i]), _parts(CIVIDIS[i + 1])
    mixed = (round(a + (place - i) * (b - a)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def heat_colours(count: int) -> list[str]:
    """Return the scale in a number of steps."""
    return [heat_colour(i / (count - 1)) for i in range(count)]


def ink_on(colour: str) -> str:
    """Return black or white, whichever is more readable on a colour."""
    luminance = _luminance(colour) + 0.05
    return LIGHT_INK if 1.05 / luminance > luminance / 0.05 else DARK_INK


def _luminance(colour: str) -> float:
    linear = [_linear(part / 255) for part in _parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
