"""Clock, encoder and lags of recordings: sampling intervals and gaps, counts, delay of motion and velocity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.base.json_fields import OrUnknown
from core.identification.coverage.findings import Finding, named_runs
from core.identification.coverage.signals import (
    AGREED,
    command_lag,
    lagged_correlation,
    signals_of,
    swapped_sign,
)
from core.motion.recording import Recording
from core.motion.refresh import rates_in_words
from core.servo.catalogue import load_servo

GAP_STEPS = 3.0
GAP_TIME = 0.015
"""A sampling interval is a gap if it is longer than GAP_STEPS usual ones and than GAP_TIME [s]."""

JITTER = 0.5
"""Jitter to report: 95th percentile of the deviation from the usual interval, as a share of it."""

LATE_VELOCITY = 0.01
"""Lag of a reported velocity to report [s]."""

COUNTS = 1.5
"""The observed encoder step differs if it is this multiple of the catalogue's, or less than the inverse."""

FINEST = 0.1
"""Steps finer than this share of the catalogue's are digits of a file, not counts of an encoder."""

SUPPLY_AGREES = 0.07
"""Share by which logged and stated supply voltage may differ."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Pause in the samples of a run: start [s since its first sample] and duration [s]."""

    begin: float
    duration: float


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Timing of one run."""

    run: str
    step: float
    """Median [s]."""
    jitter: float
    """95th percentile of |interval − median| [s]."""
    gaps: tuple[Gap, ...]
    command_lag: OrUnknown
    """Lag from goal to motion [s]: delay, control loop and load together, not only the delay; NaN if unknown."""
    agreement: float
    """Correlation of goal and motion at that lag, −1 to 1."""
    velocity_lag: OrUnknown
    """Lag of the reported velocity behind the position's derivative [s]; NaN without a reported velocity."""
    encoder_step: OrUnknown
    """Smallest observed change of the position [rad]; NaN if readings are not counts."""


def timing_of(recording: Recording) -> Timing:
    """Return the timing of one run."""
    steps = np.diff(recording.time)
    usual = float(np.median(steps))
    gaps = np.flatnonzero((steps > GAP_STEPS * usual) & (steps > GAP_TIME))
    since = recording.time - recording.time[0]
    lag, agreement = command_lag(recording)
    return Timing(
        run=recording.id,
        step=usual,
        jitter=float(np.percentile(np.abs(steps - usual), 95.0)),
        gaps=tuple(Gap(begin=float(since[i]), duration=float(steps[i])) for i in gaps),
        command_lag=lag,
        agreement=agreement,
        velocity_lag=_velocity_lag(recording),
        encoder_step=encoder_step(recording),
    )


def encoder_step(recording: Recording) -> float:
    """Return the count of which all changes of the position are multiples [rad]; NaN if there is none."""
    changes = np.abs(np.diff(recording.position))
    moved = changes[changes > 1e-7]
    if len(moved) < 20 or not (changes <= 1e-7).any():
        return math.nan
    count = float(np.median(np.sort(moved)[: max(5, len(moved) // 50)]))
    if count < FINEST * load_servo(recording.settings.servo).encoder_step:
        return math.nan
    near = np.abs(moved / count - np.round(moved / count))[moved < 20.0 * count]
    return count if len(near) and float(np.mean(near < 0.1)) > 0.9 else math.nan


def _velocity_lag(recording: Recording) -> float:
    reported = recording.channels.get("velocity")
    if reported is None or not np.isfinite(reported).all():
        return math.nan
    s = signals_of(recording)
    on_grid = np.interp(s.time, recording.time - recording.time[0], reported)
    lag, agreement = lagged_correlation(on_grid, s.velocity, s.step, 0.1)
    return lag if agreement > AGREED else math.nan


def timing_findings(recordings: Sequence[Recording], timings: Sequence[Timing]) -> list[Finding]:
    """Return problems with clock, sign, encoder and supply."""
    found = [_gap_finding(t) for t in timings if t.gaps]
    against = [run for run, timing in zip(recordings, timings, strict=True) if timing.agreement < -AGREED]
    swapped = [run.id for run in against if swapped_sign(run)]
    if swapped:
        verb = "moves" if len(swapped) == 1 else "move"
        found.append(
            Finding(
                kind="sign",
                severity="error",
                runs=tuple(swapped),
                text=f"{named_runs(swapped, len(recordings))} {verb} against the goal: position or goal has the "
                "wrong sign",
                remedy="invert the sign of position (or goal) where it is recorded or imported, or leave the runs out",
            )
        )
    found += _jitter_findings(timings)
    found += _refresh_findings(recordings)
    late = [t.velocity_lag for t in timings if t.velocity_lag > LATE_VELOCITY]
    if late:
        found.append(
            Finding(
                kind="velocity_lag",
                severity="note",
                runs=tuple(t.run for t in timings if t.velocity_lag > LATE_VELOCITY),
                text=f"the velocity channel is {1e3 * float(np.median(late)):.0f} ms late",
                remedy="fits use only the position; derive velocities from it too",
            )
        )
    return found + _encoder_findings(recordings, timings) + supply_findings(recordings)


def _gap_finding(timing: Timing) -> Finding:
    longest = max(timing.gaps, key=lambda gap: gap.duration)
    count = f"{len(timing.gaps)} gaps, the longest" if len(timing.gaps) > 1 else "a gap"
    return Finding(
        kind="gap",
        severity="warning",
        runs=(timing.run,),
        text=f"run {timing.run} has {count} of {1e3 * longest.duration:.0f} ms at {longest.begin:.2f} s, "
        f"where samples come every {1e3 * timing.step:.1f} ms",
        remedy="trim the run to the part before or after it, or record it again with less load on bus and computer",
    )


def _jitter_findings(timings: Sequence[Timing]) -> list[Finding]:
    uneven = [t for t in timings if t.jitter > JITTER * t.step]
    if not uneven:
        return []
    worst = max(uneven, key=lambda t: t.jitter / t.step)
    return [
        Finding(
            kind="jitter",
            severity="note",
            runs=tuple(t.run for t in uneven),
            text=f"the samples of {named_runs([t.run for t in uneven], len(timings))} are uneven: every "
            f"{1e3 * worst.step:.1f} ms ± {1e3 * worst.jitter:.1f} ms in {worst.run}",
            remedy="set the sample time of a fit to the usual interval; a shorter bus cycle makes the samples even",
        )
    ]


def _refresh_findings(recordings: Sequence[Recording]) -> list[Finding]:
    runs: dict[str, list[str]] = {}
    for run in recordings:
        for phrase in rates_in_words(run.time, run.position, run.goal, "command_time" in run.channels):
            runs.setdefault(phrase, []).append(run.id)
    return [
        Finding(
            kind="refresh",
            severity="note",
            runs=tuple(slow),
            text=f"{named_runs(slow, len(recordings))}: {text}",
            remedy=remedy,
        )
        for phrase, slow in runs.items()
        for text, _, remedy in [phrase.partition("; ")]
    ]


def _encoder_findings(recordings: Sequence[Recording], timings: Sequence[Timing]) -> list[Finding]:
    found: list[Finding] = []
    for servo in sorted({run.settings.servo for run in recordings}):
        known = load_servo(servo).encoder_step
        here = [t for run, t in zip(recordings, timings, strict=True) if run.settings.servo == servo]
        odd = [t for t in here if t.encoder_step > COUNTS * known or t.encoder_step < known / COUNTS]
        if odd:
            seen = float(np.median([t.encoder_step for t in odd]))
            found.append(
                Finding(
                    kind="encoder",
                    severity="note",
                    runs=tuple(t.run for t in odd),
                    text=f"positions change in steps of {1e3 * seen:.2f} mrad, {servo}'s encoder has "
                    f"{1e3 * known:.2f} mrad",
                    remedy="check the servo's name and how counts become radians",
                )
            )
    return found


def supply_findings(recordings: Sequence[Recording]) -> list[Finding]:
    """Return stated supply voltages that the servo does not accept, or that the log contradicts."""
    outside: dict[tuple[str, float], list[str]] = {}
    logged: dict[float, list[tuple[str, float]]] = {}
    for run in recordings:
        volts = run.settings.supply_voltage
        low, high = load_servo(run.settings.servo).supply_range
        if not low <= volts <= high:
            outside.setdefault((run.settings.servo, volts), []).append(run.id)
        channel = run.channels.get("supply_voltage")
        known = np.array([]) if channel is None else channel[np.isfinite(channel) & (channel > 0)]
        if len(known) and abs(float(np.median(known)) / volts - 1.0) > SUPPLY_AGREES:
            logged.setdefault(volts, []).append((run.id, float(np.median(known))))
    found: list[Finding] = []
    for (servo, volts), runs in outside.items():
        low, high = load_servo(servo).supply_range
        found.append(
            Finding(
                kind="header_supply_voltage",
                severity="warning",
                runs=tuple(runs),
                text=f"{named_runs(runs, len(recordings))}: {volts:g} V is stated, {servo} takes {low:g} … {high:g} V",
                remedy="measure the supply at the servo and correct the header",
            )
        )
    for volts, entries in logged.items():
        runs = [run for run, _ in entries]
        measured = float(np.median([value for _, value in entries]))
        found.append(
            Finding(
                kind="header_supply_voltage",
                severity="warning",
                runs=tuple(runs),
                text=f"{named_runs(runs, len(recordings))}: {volts:g} V is stated, {measured:.3g} V was logged",
                remedy="correct the header; fits use the log unless the supply voltage is set to nominal",
            )
        )
    return found
