"""Motion over frequency: the spectrum of an error, and the response of a servo from goal to position.

Welch's averages over overlapping segments, so that one run of some seconds gives a curve and not a comb. scipy.signal
is imported where it is used: whoever only shows a response does not wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from core.arrays import Array

OVERLAP = 0.75
"""Segments are half a run long and overlap by this share: five of them, and a curve twice as fine as with quarters."""
EXCITED = 0.01
"""Share of the strongest frequency's power from which on a goal excites a frequency (−20 dB)."""
FEWEST = 6
"""Neighbouring frequencies that a goal must excite: one sine alone, through the window, spreads over four."""
COHERENT = 0.8
"""Coherence below which noise and friction explain more of the motion than a linear response does."""
NO_BAND = "The goal of this run excites no band of frequencies. Record a chirp or accelerated oscillations."
TOO_SHORT = "The motor is driven for too few samples in this run."


class _Segments(TypedDict):
    nperseg: int
    noverlap: int


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Position over goal at the excited frequencies; arrays (n,), NaN where the coherence is below COHERENT."""

    frequency: Array
    """[Hz]"""
    magnitude: Array
    """[dB]"""
    phase: Array
    """Unwrapped [°]."""


def amplitude_density(values: Sequence[Array], steps: Sequence[float]) -> tuple[Array, Array]:
    """Return frequencies [Hz] and the amplitude density [unit/√Hz] over several runs, both (m,).

    values: of each run, (n,), the same unit; steps: of their grids [s]. Frequencies are those of the coarsest run.
    """
    from scipy.signal import welch

    powers = [welch(v, 1.0 / step, **_segments(len(v))) for v, step in zip(values, steps, strict=True)]
    frequency = min((f for f, _ in powers), key=len)
    frequency = frequency[frequency <= min(f[-1] for f, _ in powers)]
    mean = np.mean([np.interp(frequency, f, power) for f, power in powers], axis=0)
    return frequency[1:], np.sqrt(mean[1:])


def excited(goal: Array, step: float) -> tuple[int, int]:
    """Return the band that a goal (n,) on a grid of `step` [s] excites: first place, and one past the last.

    The places are those of the averaged spectrum; both are 0 where there is no band.
    """
    from scipy.signal import welch

    _, power = welch(goal, 1.0 / step, **_segments(len(goal)))
    power[0] = 0.0
    peak = int(np.argmax(power))
    strong = power > EXCITED * power[peak]
    low = peak - int(np.argmin(strong[peak::-1])) + 1 if strong[peak] else 0
    high = peak + int(np.argmin(np.append(strong[peak:], False)))
    return (low, high) if high - low >= FEWEST else (0, 0)


def frequency_response(goal: Array, position: Array, step: float) -> FrequencyResponse | None:
    """Return the response of a position to its goal, both (n,) rad on a grid of `step` [s]; None without a band."""
    from scipy.signal import coherence, csd, welch

    low, high = excited(goal, step)
    if high == low:
        return None
    how, rate = _segments(len(goal)), 1.0 / step
    frequency, cross = csd(goal, position, rate, **how)
    _, power = welch(goal, rate, **how)
    _, coherent = coherence(goal, position, rate, **how)
    band = slice(low, high)
    response = cross[band] / power[band]
    known = coherent[band] >= COHERENT
    return FrequencyResponse(
        frequency=frequency[band],
        magnitude=np.where(known, 20.0 * np.log10(np.abs(response)), np.nan),
        phase=np.where(known, np.degrees(np.unwrap(np.angle(response))), np.nan),
    )


def driven_stretch(enable: NDArray[Any]) -> slice:
    """Return the longest stretch of samples (n,) in which the motor is on."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(enable, dtype=np.int8), [0]))))
    if not len(edges):
        return slice(0, 0)
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return slice(int(begins[longest]), int(ends[longest]))


def _segments(samples: int) -> _Segments:
    segment = max(2, samples // 2)
    return {"nperseg": segment, "noverlap": int(OVERLAP * segment)}
