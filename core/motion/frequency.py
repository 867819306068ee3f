"""Spectrum of an error, and frequency response of a servo from goal to position.

Welch's method averages over overlapping segments, which gives a smooth curve from one run of some seconds. scipy.signal
is imported only where it is used: showing a response does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array

OVERLAP = 0.75
"""Overlap of the segments. They are half a run long, so there are five, with twice the resolution of quarters."""
EXCITED = 0.01
"""A goal excites a frequency with at least this share of the strongest frequency's power (−20 dB)."""
FEWEST = 6
"""Neighbouring frequencies that a goal must excite: the window spreads a single sine over four."""
COHERENT = 0.8
"""Coherence below which noise and friction explain more of the motion than a linear response."""
NO_BAND = "The goal of this run excites no band of frequencies. Record a chirp or accelerated oscillations."
NO_ANGLE = "This run was not commanded by an angle."
TOO_SHORT = "The motor is driven for too few samples in this run."


class _Segments(TypedDict):
    nperseg: int
    noverlap: int


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Ratio of position to goal at the excited frequencies; arrays (n,), NaN where the coherence is below COHERENT."""

    frequency: Array
    """Frequency [Hz]."""
    magnitude: Array
    """Gain [dB]."""
    phase: Array
    """Unwrapped phase [°]."""


def amplitude_density(values: Sequence[Array], steps: Sequence[float]) -> tuple[Array, Array]:
    """Return the amplitude density over several runs.

    Args:
        values: Values of each run, (n,), all in the same unit.
        steps: Time step of each run [s].

    Returns:
        Frequencies [Hz] and density [unit/√Hz], (m,) each. Frequencies are those of the coarsest run.
    """
    from scipy.signal import welch

    powers = [welch(v, 1.0 / step, **_segments(len(v))) for v, step in zip(values, steps, strict=True)]
    frequency = min((f for f, _ in powers), key=len)
    frequency = frequency[frequency <= min(f[-1] for f, _ in powers)]
    mean = np.mean([np.interp(frequency, f, power) for f, power in powers], axis=0)
    return frequency[1:], np.sqrt(mean[1:])


def excited(goal: Array, step: float) -> tuple[int, int]:
    """Return the band of the averaged spectrum that a goal excites.

    Args:
        goal: Goal, (n,).
        step: Time step [s].

    Returns:
        Index of the first frequency, and one past the last; 0 and 0 if there is no band.
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
    """Return the frequency response from goal to position.

    Args:
        goal: Goal [rad], (n,).
        position: Position [rad], (n,).
        step: Time step [s].

    Returns:
        The response, or None if the goal excites no band.
    """
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
    """Return the longest stretch of samples in which the motor is driven; enable is (n,)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(enable, dtype=np.int8), [0]))))
    if not len(edges):
        return slice(0, 0)
    begins, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - begins))
    return slice(int(begins[longest]), int(ends[longest]))


def _segments(samples: int) -> _Segments:
    segment = max(2, samples // 2)
    return {"nperseg": segment, "noverlap": int(OVERLAP * segment)}
