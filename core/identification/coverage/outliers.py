"""Single readings that are impossible: spikes, freezes, steps of the position, runs that no fit can use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.identification.coverage.findings import Finding
from core.identification.coverage.signals import spans
from core.identification.runs.conditions import FEWEST_SAMPLES, UnusableRuns, check_runs
from core.motion.recording import Recording
from core.servo.catalogue import load_servo

COUNTS = 6.0
"""A spike or step is larger than this many encoder counts …"""

UNUSUAL = 4.0
"""… and than this multiple of the run's 99th percentile."""

FROZEN_TIME = 0.02
"""The same reading must have been repeated for this long [s] …"""

FROZEN_SPEED = 0.05
"""… at this share of the no-load speed before and after, given by the jump at its end."""

REACTION = 0.03
"""Time over which a step of the reading must not have been motion [s]."""


def outlier_findings(recordings: Sequence[Recording]) -> list[Finding]:
    """Return all findings of this kind, run by run."""
    found: list[Finding] = []
    for recording in recordings:
        try:
            check_runs([recording])
        except UnusableRuns as error:
            text, _, remedy = str(error).rpartition("; ")
            found.append(Finding(kind="unusable", severity="error", runs=(recording.id,), text=text, remedy=remedy))
        if recording.samples >= FEWEST_SAMPLES:
            found += _spikes(recording) + _freezes(recording) + _steps(recording)
    return found


def _spikes(recording: Recording) -> list[Finding]:
    places = spikes(recording)
    if not len(places):
        return []
    since = recording.time - recording.time[0]
    count = "a reading" if len(places) == 1 else f"{len(places)} readings, the first"
    return [
        Finding(
            kind="spike",
            severity="warning",
            runs=(recording.id,),
            text=f"run {recording.id} has {count} at {since[places[0]]:.2f} s, off its neighbours by "
            f"{_off(recording)[places - 1].max():.2g} rad",
            remedy="trim the run, or record it again; look for bus errors and a worn encoder",
        )
    ]


def spikes(recording: Recording) -> NDArray[np.int64]:
    """Return indices of single samples that lie off the line between their neighbours as no motion does."""
    off = _off(recording)
    usual = float(np.percentile(off, 99.0))
    limit = max(COUNTS * load_servo(recording.settings.servo).encoder_step, UNUSUAL * usual)
    x = recording.position
    before, after = x[1:-1] - x[:-2], x[2:] - x[1:-1]
    # There and back: the difference between both neighbours is small compared with the excursion.
    returns = (before * after < 0.0) & (np.minimum(np.abs(before), np.abs(after)) > 0.5 * off)
    # Next to a spike, the line between the neighbours is off as well.
    peak = (off >= np.append(off[1:], 0.0)) & (off >= np.append(0.0, off[:-1]))
    return np.flatnonzero((off > limit) & returns & peak) + 1


def _off(recording: Recording) -> Array:
    """Return the distance of each inner sample from the line between its neighbours [rad], (n − 2,)."""
    t, x = recording.time, recording.position
    share = (t[1:-1] - t[:-2]) / (t[2:] - t[:-2])
    return np.abs(x[1:-1] - (x[:-2] + share * (x[2:] - x[:-2])))


def _freezes(recording: Recording) -> list[Finding]:
    found = freezes(recording)
    if not found:
        return []
    longest = max(found, key=lambda span: span[1] - span[0])
    count = "stands still" if len(found) == 1 else f"stands still {len(found)} times, the longest"
    return [
        Finding(
            kind="freeze",
            severity="warning",
            runs=(recording.id,),
            text=f"the position of run {recording.id} {count} for {1e3 * (longest[1] - longest[0]):.0f} ms at "
            f"{longest[0]:.2f} s while the servo moves: the reading was not updated",
            remedy="trim the run to the part before or after it, or record it again; look for bus errors",
        )
    ]


def freezes(recording: Recording) -> list[tuple[float, float]]:
    """Return start and end [s since the first sample] of stretches in which the reading stood still during motion.

    Stiction stops a servo too, but it then starts again slowly. Here the next reading jumps by the missed motion.
    """
    t, x = recording.time - recording.time[0], recording.position
    spec = load_servo(recording.settings.servo)
    found: list[tuple[float, float]] = []
    for first, last in spans(np.diff(x) == 0.0):
        # Samples first … last hold the same reading; the next one is last + 1.
        length = float(t[last] - t[first])
        if length < FROZEN_TIME or first < 4 or last + 5 > len(x):
            continue
        jump = float(x[last + 1] - x[last])
        before = float(x[first] - x[first - 4]) / float(t[first] - t[first - 4])
        after = float(x[last + 5 - 1] - x[last + 1]) / float(t[last + 5 - 1] - t[last + 1])
        missed = 0.5 * (before + after) * (length + float(t[last + 1] - t[last]))
        fast = min(abs(before), abs(after)) > FROZEN_SPEED * spec.no_load_speed and before * after > 0.0
        large = abs(jump) > COUNTS * spec.encoder_step
        if fast and large and 0.5 * abs(missed) < abs(jump) < 2.0 * abs(missed) and jump * missed > 0.0:
            found.append((float(t[first]), float(t[last])))
    return found


def _steps(recording: Recording) -> list[Finding]:
    found = position_steps(recording)
    if not found:
        return []
    moment, size = max(found, key=lambda step: abs(step[1]))
    return [
        Finding(
            kind="step",
            severity="warning",
            runs=(recording.id,),
            text=f"the position of run {recording.id} steps by {size:+.2g} rad at {moment:.2f} s: a horn or an encoder "
            "that slipped, or a zero that was set",
            remedy="tighten the horn's screw, set the zero again and record the run again, or trim it",
        )
    ]


def position_steps(recording: Recording) -> list[tuple[float, float]]:
    """Return time [s] and size [rad] of steps in the reading that do not match the speed before and after."""
    t, x = recording.time - recording.time[0], recording.position
    spec = load_servo(recording.settings.servo)
    steps = np.diff(t)
    usual = float(np.median(steps))
    around = max(3, round(REACTION / usual))
    speed = np.diff(x) / steps
    accelerated = np.abs(np.diff(speed)) * usual
    limit = max(COUNTS * spec.encoder_step, UNUSUAL * float(np.percentile(accelerated, 99.0)))
    beside = np.abs(speed[1:-1] - 0.5 * (speed[:-2] + speed[2:])) * steps[1:-1]
    likely = np.flatnonzero(beside > 0.5 * limit) + 1
    frozen = freezes(recording) if len(likely) else []
    found: list[tuple[float, float]] = []
    for i in likely[(likely >= around) & (likely < len(speed) - around)].tolist():
        if steps[i] > 2.0 * usual or any(abs(t[i] - end) < 2.0 * usual for _, end in frozen):
            continue
        near = np.concatenate([speed[i - around : i], speed[i + 1 : i + 1 + around]])
        expected = float(np.median(near)) * steps[i]
        excess = float(x[i + 1] - x[i]) - expected
        spread = float(np.abs(near - np.median(near)).max()) * steps[i]
        if abs(excess) > limit and abs(excess) > UNUSUAL * spread:
            found.append((float(t[i + 1]), excess))
    return found
