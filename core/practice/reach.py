"""Reach of a fitted model: the speeds, loads and gains of its runs, beyond which it predicts nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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


def reach_of(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return the reach of runs as plain data: speed [rad/s], load [N·m], kp, and whether torque was off in any."""
    loads = [recording.bench.gravity_torque for recording in recordings]
    gains = [recording.settings.kp for recording in recordings]
    return {
        "speed": max(peak_speed(recording.time, recording.position) for recording in recordings),
        "load": [min(loads), max(loads)],
        "kp": [min(gains), max(gains)],
        "released": any(not recording.torque_enable.all() for recording in recordings),
    }


def peak_speed(time: Array, position: Array) -> float:
    """Return the speed that a motion exceeds in one sample of a hundred [rad/s]; time (n,) s, position (n,) rad."""
    return float(np.percentile(np.abs(np.gradient(position, time)), 99.0)) if len(time) > 1 else 0.0


def beyond_reach(model: ServoModel, bench: Bench, kp: float, speed: float, released: bool) -> str:
    """Return why a model cannot predict a motion; empty if it was fitted to motions of that kind.

    Args:
        model: The model. A shipped model has the reach of its servo's suggested plan.
        bench: Bench of the motion.
        kp: Gain of the motion.
        speed: `peak_speed` of the motion [rad/s].
        released: True if torque is off in a part of it.
    """
    title = model.friction.upper()
    reach: Any = model.provenance.get(REACH) or _shipped_reach(model)
    try:
        load, (lightest, heaviest), (softest, stiffest) = bench.gravity_torque, reach["load"], reach["kp"]
        fastest, known_released = float(reach["speed"]), bool(reach["released"])
    except (TypeError, KeyError, ValueError):
        return f"{title} does not say which motions it was fitted to"
    if not lightest / WITHIN <= load <= heaviest * WITHIN:
        known = " to ".join(dict.fromkeys(f"{each:.2g}" for each in (lightest, heaviest)))
        lacks = f"at {known} N·m, and the load here is {load:.2g} N·m"
    elif not softest / WITHIN <= kp <= stiffest * WITHIN:
        known = " to ".join(dict.fromkeys(f"{each:g}" for each in (softest, stiffest)))
        lacks = f"at kp {known}, and here it is kp {kp:g}"
    elif speed > fastest * WITHIN:
        lacks = f"at up to {fastest:.2g} rad/s, and this motion reaches {speed:.2g} rad/s"
    elif released and not known_released:
        lacks = "without a release"
    else:
        return ""
    train = model.provenance.get("train")
    runs = counted(len(train), "run") if is_array(train) else "runs"
    return f"{title} was fitted to {runs} {lacks}; it cannot predict this motion"


def _shipped_reach(model: ServoModel) -> dict[str, Any] | None:
    """Return the reach of a shipped model; None for any other."""
    shipped = model.friction in shipped_models(model.servo) and load_model(model.servo, model.friction)
    if not shipped or dict(shipped.values) != dict(model.values):
        return None
    plan = suggested_plan(model.spec)
    loads = [Bench(mass=mass, length=length).gravity_torque for mass in plan.masses for length in plan.lengths]
    return {"speed": math.inf, "load": [0.0, max(loads)], "kp": [min(plan.kps), max(plan.kps)], "released": True}
