"""Reach of a fitted model: the speeds, loads and gains of its runs, beyond which it predicts nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from core.base.arrays import Array
from core.base.guards import is_array
from core.base.words import counted
from core.motion.recording import Recording
from core.practice.plan import suggested_plan
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.shipped import load_model, shipped_models

REACH = "reach"
"""Provenance entry of a fitted model that holds `reach_of` its runs."""
WITHIN = 1.25
"""Factor by which speeds, loads and gains may exceed those of the fit."""
WARMER = 10.0
"""Difference by which temperatures may exceed those of the fit [°C]."""


def reach_of(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return the reach of runs as plain data.

    Speed [rad/s], load [N·m], kp, whether torque was off in any, and the temperature [°C] if it was logged.
    """
    loads = [recording.bench.gravity_torque for recording in recordings]
    gains = [recording.settings.kp for recording in recordings]
    warm = [temperature for recording in recordings if math.isfinite(temperature := _temperature(recording))]
    return {
        "speed": max(peak_speed(recording.time, recording.position) for recording in recordings),
        "load": [min(loads), max(loads)],
        "kp": [min(gains), max(gains)],
        "released": any(not recording.torque_enable.all() for recording in recordings),
        **({"temperature": [min(warm), max(warm)]} if warm else {}),
    }


def _temperature(recording: Recording) -> float:
    """Return the median temperature that the servo logged [°C]; NaN if it logged none."""
    logged = recording.channels.get("temperature", np.empty(0))
    known = logged[np.isfinite(logged)]
    return float(np.median(known)) if len(known) else math.nan


def peak_speed(time: Array, position: Array) -> float:
    """Return the speed that a motion exceeds in one sample of a hundred [rad/s]; time (n,) s, position (n,) rad."""
    return float(np.percentile(np.abs(np.gradient(position, time)), 99.0)) if len(time) > 1 else 0.0


class Lack(NamedTuple):
    """Quantity of a motion that is beyond a model's reach."""

    kind: str
    fitted: str
    """Words for the runs of the fit, e.g. "at kp 8 to 16"."""
    value: float
    here: str
    """The motion's value with its unit."""


def beyond_reach(model: ServoModel, bench: Bench, kp: float, speed: float, released: bool) -> str:
    """Return why a model cannot predict a motion; empty if it was fitted to motions of that kind.

    Args:
        model: The model. A shipped model has the reach of its servo's suggested plan.
        bench: Bench of the motion.
        kp: Gain of the motion.
        speed: `peak_speed` of the motion [rad/s].
        released: True if torque is off in a part of it.
    """
    found = lacks(model, bench.gravity_torque, kp, speed, released)
    if found is None:
        return f"{model.friction.upper()} does not say which motions it was fitted to"
    if not found:
        return ""
    here = "" if found[0].kind == "released" else f", and this motion is at {found[0].here}"
    return f"{fitted_to(model)} {found[0].fitted}{here}; it cannot predict this motion"


def run_lacks(model: ServoModel, recording: Recording) -> list[Lack] | None:
    """Return `lacks` of a recording's motion."""
    speed, released = peak_speed(recording.time, recording.position), not recording.torque_enable.all()
    load, kp = recording.bench.gravity_torque, recording.settings.kp
    return lacks(model, load, kp, speed, released, _temperature(recording))


def fitted_to(model: ServoModel) -> str:
    """Return the beginning of a sentence on the runs of a fit, e.g. "M4 was fitted to 8 runs"."""
    train = model.provenance.get("train")
    runs = counted(len(train), "run") if is_array(train) else "runs"
    return f"{model.friction.upper()} was fitted to {runs}"


def lacks(
    model: ServoModel, load: float, kp: float, speed: float, released: bool, temperature: float = math.nan
) -> list[Lack] | None:
    """Return in what a motion is beyond the runs of a model's fit; None if these are not known.

    Args:
        model: The model. A shipped model has the reach of its servo's suggested plan.
        load: Gravity torque of the horizontal arm [N·m].
        kp: Gain.
        speed: `peak_speed` [rad/s].
        released: True if torque is off in a part of the motion.
        temperature: Temperature [°C]; NaN if it is not known.
    """
    reach: Any = model.provenance.get(REACH) or _shipped_reach(model)
    try:
        (lightest, heaviest), (softest, stiffest) = reach["load"], reach["kp"]
        coldest, warmest = reach.get("temperature", (-math.inf, math.inf))
        fastest, known_released = float(reach["speed"]), bool(reach["released"])
    except (AttributeError, TypeError, KeyError, ValueError):
        return None

    def words(low: float, high: float, digits: str) -> str:
        return " to ".join(dict.fromkeys(format(each, digits) for each in (low, high)))

    found: list[Lack] = []
    if not lightest / WITHIN <= load <= heaviest * WITHIN:
        found.append(Lack("load", f"at {words(lightest, heaviest, '.2g')} N·m", load, f"{load:.2g} N·m"))
    if not softest / WITHIN <= kp <= stiffest * WITHIN:
        found.append(Lack("kp", f"at kp {words(softest, stiffest, 'g')}", kp, f"kp {kp:g}"))
    if speed > fastest * WITHIN:
        found.append(Lack("speed", f"at up to {fastest:.2g} rad/s", speed, f"{speed:.2g} rad/s"))
    if temperature < coldest - WARMER or temperature > warmest + WARMER:
        here = f"{temperature:.0f} °C"
        found.append(Lack("temperature", f"at {words(coldest, warmest, '.0f')} °C", temperature, here))
    if released and not known_released:
        found.append(Lack("released", "without a release", 1.0, "a release"))
    return found


def _shipped_reach(model: ServoModel) -> dict[str, Any] | None:
    """Return the reach of a shipped model; None for any other."""
    shipped = model.friction in shipped_models(model.servo) and load_model(model.servo, model.friction)
    if not shipped or dict(shipped.values) != dict(model.values):
        return None
    plan = suggested_plan(model.spec)
    loads = [Bench(mass=mass, length=length).gravity_torque for mass in plan.masses for length in plan.lengths]
    return {"speed": math.inf, "load": [0.0, max(loads)], "kp": [min(plan.kps), max(plan.kps)], "released": True}
