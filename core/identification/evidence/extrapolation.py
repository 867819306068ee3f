"""Doubts about a fitted model where its runs do not reach: at other loads and gains, and in saturation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.arrays import Array
from core.bench import Bench
from core.finite import is_array
from core.identification.coverage.excitation import excitation_of
from core.identification.coverage.findings import named_runs
from core.identification.search.objective import Batch
from core.model import ServoModel
from core.plan import suggested_plan
from core.recording import Recording
from core.shipped import load_model, shipped_models
from core.words import counted

AS_GOOD = 1.05
"""Training error over the best one's, up to which another fit may be the true one just as well."""
BEYOND = 2.0
"""How far beyond the recorded loads and gains fits are compared."""
AWAY = np.pi
"""Mean distance of motions that have run away from each other [rad]: how far they are apart then means nothing."""
LIFTED = 0.8
"""Heaviest load they are compared at, as a share of the stall torque."""
FEW = 4
"""Runs, each of another trajectory, whose commands they are compared on."""
MORE_SATURATED = 0.05
"""How much larger the saturated share of a run may be than that of the fit."""


def disagreement(model: ServoModel, others: Sequence[Array], recordings: Sequence[Recording], **options: Any) -> str:
    """Where other fits that are as good predict other motions than a model does, with the remedy; empty where none do.

    others: vectors (n_free,) of other fits to these recordings; options: dt, supply and threads of `Batch`. Told is the
    load or gain at which they are farthest apart, if that is more than the model's own error and a step of the encoder.
    """
    own = model.parameters.vector()
    matrix = np.array([own, *(vector for vector in others if not np.array_equal(vector, own))])
    errors = Batch(model, recordings, **options).scores(matrix).combined("mae")
    matrix = matrix[errors <= AS_GOOD * errors[0]]
    if len(matrix) < 2:
        return ""
    found = [(_apart(model, matrix, runs, options), where) for where, runs in _elsewhere(model, recordings)]
    apart, where = max((pair for pair in found if pair[0] < AWAY), default=(0.0, ""))
    if not apart > max(errors[0], model.spec.encoder_step):
        return ""
    return (
        f"other fits of these runs, as good within {100 * (AS_GOOD - 1):.0f} %, move {1e3 * apart:.2g} mrad apart at "
        f"{where}: record that too before you rely on it there"
    )


def _elsewhere(model: ServoModel, recordings: Sequence[Recording]) -> Iterator[tuple[str, list[Recording]]]:
    """Recordings with the commands of a few, at loads and gains beyond those of all, and what these are called."""
    few = list({recording.trajectory: recording for recording in recordings}.values())[:FEW]
    gains = [recording.settings.kp for recording in recordings]
    loads = [recording.bench.gravity_torque for recording in recordings if recording.bench.gravity_torque > 0.0]
    for gain in (min(gains) / BEYOND, max(gains) * BEYOND):
        yield f"kp {gain:g}", [replace(run, settings=replace(run.settings, kp=gain)) for run in few]
    if not loads:
        return
    largest = max(recordings, key=lambda recording: recording.bench.gravity_torque).bench
    heaviest = min(max(loads) * BEYOND, max(LIFTED * model.spec.stall_torque, max(loads)))
    for load in (min(loads) / BEYOND, heaviest):
        bench = _scaled(largest, load / max(loads))
        yield f"a load of {load:.2g} N·m", [replace(run, bench=bench) for run in few]


def _scaled(bench: Bench, share: float) -> Bench:
    """The bench with this share of all its masses."""
    names = ("mass", "arm_mass", "measured_inertia", "measured_gravity_torque")
    known = {name: getattr(bench, name) for name in names if getattr(bench, name) is not None}
    return replace(bench, **{name: share * value for name, value in known.items()})


def _apart(model: ServoModel, matrix: Array, runs: Sequence[Recording], options: dict[str, Any]) -> float:
    """Largest mean distance of a candidate's motion from the first one's, over all runs [rad]."""

    def distances(_: int, motions: Array) -> Array:
        return np.abs(motions - motions[:, :1]).mean(axis=0)

    return float(np.mean(Batch(model, runs, **options).residuals(matrix, distances), axis=0).max())


REACH = "reach"
"""Provenance entry of a fitted model with `reach_of` the runs it was fitted to."""
WITHIN = 1.25
"""Speeds, loads and gains beyond those of the fit by at most this factor count as known."""


def reach_of(recordings: Sequence[Recording]) -> dict[str, Any]:
    """Return how far runs reach, as plain data: speed [rad/s], load [N·m], kp, and whether any ran with torque off."""
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
    """Return why a model cannot predict a motion, empty where it was fitted to motions of that kind.

    speed: `peak_speed` of the motion [rad/s]; released: whether the torque is off in a part of it. A shipped model
    reaches as far as its servo's suggested plan.
    """
    title = model.friction.upper()
    reach: Any = model.provenance.get(REACH) or _shipped_reach(model)
    try:
        load, (lightest, heaviest), (softest, stiffest) = bench.gravity_torque, reach["load"], reach["kp"]
        fastest, known_released = float(reach["speed"]), bool(reach["released"])
    except (TypeError, KeyError, ValueError):
        return f"{title} does not say which motions it was fitted to"
    if not lightest / WITHIN <= load <= heaviest * WITHIN:
        lacks = f"at {lightest:.2g} to {heaviest:.2g} N·m, and the load here is {load:.2g} N·m"
    elif not softest / WITHIN <= kp <= stiffest * WITHIN:
        lacks = f"at kp {softest:g} to {stiffest:g}, and here it is kp {kp:g}"
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
    """Reach of a shipped model; None for any other."""
    shipped = model.friction in shipped_models(model.servo) and load_model(model.servo, model.friction)
    if not shipped or dict(shipped.values) != dict(model.values):
        return None
    plan = suggested_plan(model.spec)
    loads = [Bench(mass=mass, length=length).gravity_torque for mass in plan.masses for length in plan.lengths]
    return {"speed": math.inf, "load": [0.0, max(loads)], "kp": [min(plan.kps), max(plan.kps)], "released": True}


def saturated_share(recordings: Sequence[Recording]) -> float:
    """Largest share of a run's driven time with the servo's output at its limit."""
    return max(excitation_of(recording).saturated_share for recording in recordings)


def saturated_beyond(model: ServoModel, recordings: Sequence[Recording]) -> str:
    """Warning about runs that saturate the servo more than those a model was fitted to; empty where none does."""
    known = model.provenance.get("saturated_share")
    if known is None:
        return ""
    shares = {recording.id: excitation_of(recording).saturated_share for recording in recordings}
    beyond = [run for run, share in shares.items() if share > known + MORE_SATURATED]
    if not beyond:
        return ""
    most = max(shares.values())
    return (
        f"the output is at its limit for up to {100 * most:.0f} % of {named_runs(beyond)}, for at most "
        f"{100 * known:.0f} % of any run of the fit: what the servo does at its limit is little known; fit to such "
        "runs too"
    )
