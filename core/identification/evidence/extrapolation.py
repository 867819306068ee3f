"""Limits of a fitted model beyond its runs: at other loads and gains, and in saturation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.base.arrays import Array
from core.identification.coverage.excitation import excitation_of
from core.identification.coverage.findings import named_runs
from core.identification.search.objective import Batch
from core.motion.recording import LOAD_CHANNELS, Recording
from core.practice.reach import REACH, Lack, fitted_to, run_lacks
from core.servo.bench import Bench
from core.servo.model import ServoModel

AS_GOOD = 1.05
"""Ratio of training errors up to which another fit is as good as the best one."""
BEYOND = 2.0
"""Factor beyond the recorded loads and gains at which fits are compared."""
AWAY = np.pi
"""Mean distance beyond which motions have diverged and their distance has no meaning [rad]."""
LIFTED = 0.8
"""Heaviest load of the comparison, as a share of the stall torque."""
FEW = 4
"""Number of runs, each of another trajectory, whose commands are used for the comparison."""
MORE_SATURATED = 0.05
"""Difference by which the saturated share of a run may exceed that of the fit."""


def disagreement(model: ServoModel, others: Sequence[Array], recordings: Sequence[Recording], **options: Any) -> str:
    """Return where other equally good fits predict other motions than a model, with the remedy; empty if they agree.

    It reports the load or gain at which the motions differ most, if that exceeds the model's own error and a step of
    the encoder.

    Args:
        model: The model.
        others: Values of other fits to these recordings, (n_free,) each.
        recordings: The recordings.
        options: dt, supply and threads of `Batch`.
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
        f"{where}: record such runs before you rely on it"
    )


def _elsewhere(model: ServoModel, recordings: Sequence[Recording]) -> Iterator[tuple[str, list[Recording]]]:
    """Yield the commands of a few recordings at loads and gains beyond those of all, with a name for each."""
    few = list({recording.trajectory: recording for recording in recordings}.values())[:FEW]
    gains = [recording.settings.kp for recording in recordings]
    loads = [recording.bench.gravity_torque for recording in recordings if recording.bench.gravity_torque > 0.0]
    for gain in (min(gains) / BEYOND, max(gains) * BEYOND) if model.control.command == "position" else ():
        yield f"kp {gain:g}", [replace(run, settings=replace(run.settings, kp=gain)) for run in few]
    if not loads:
        return
    largest = max(recordings, key=lambda recording: recording.bench.gravity_torque).bench
    heaviest = min(max(loads) * BEYOND, max(LIFTED * model.spec.stall_torque, max(loads)))
    for load in (min(loads) / BEYOND, heaviest):
        share = load / max(loads)
        bench = _scaled(largest, share)
        yield f"a load of {load:.2g} N·m", [replace(_with_load(run, share), bench=bench) for run in few]


def _with_load(run: Recording, share: float) -> Recording:
    """Return the run of a joint with its load scaled; one of the bench as it is."""
    loads = {channel.name for channel in LOAD_CHANNELS}
    return replace(run, channels={name: share * x if name in loads else x for name, x in run.channels.items()})


def _scaled(bench: Bench, share: float) -> Bench:
    """Return the bench with all its masses scaled."""
    names = ("mass", "arm_mass", "measured_inertia", "measured_gravity_torque")
    known = {name: getattr(bench, name) for name in names if getattr(bench, name) is not None}
    return replace(bench, **{name: share * value for name, value in known.items()})


def _apart(model: ServoModel, matrix: Array, runs: Sequence[Recording], options: dict[str, Any]) -> float:
    """Return the largest mean distance of a candidate's motion from the first one's, over all runs [rad]."""

    def distances(_: int, motions: Array) -> Array:
        return np.abs(motions - motions[:, :1]).mean(axis=0)

    return float(np.mean(Batch(model, runs, **options).residuals(matrix, distances), axis=0).max())


def used_beyond(model: ServoModel, recordings: Sequence[Recording]) -> str:
    """Return where runs are beyond those of the fit: load, gain, speed, release, temperature, saturation; "" if not."""
    beyond: dict[str, list[tuple[str, Lack]]] = {}
    for run in recordings if REACH in model.provenance else ():
        for lack in run_lacks(model, run) or ():
            beyond.setdefault(lack.kind, []).append((run.id, lack))
    found: list[str] = []
    for kind, each in beyond.items():
        values = sorted((lack for _, lack in each), key=lambda lack: lack.value)
        ends = " to ".join(dict.fromkeys(lack.here for lack in (values[0], values[-1])))
        verb = {"released": "has" if len(each) == 1 else "have"}.get(kind, "is at" if len(each) == 1 else "are at")
        runs = named_runs([run for run, _ in each], len(recordings))
        found.append(f"{values[0].fitted}, and {runs} {verb} {ends}")
    reach = f"{fitted_to(model)} {'; '.join(found)}: it may err more there" if found else ""
    return "; ".join(filter(None, (reach, saturated_beyond(model, recordings))))


def saturated_share(recordings: Sequence[Recording]) -> float:
    """Return the largest share of a run's driven time with the servo's output at its limit."""
    return max(excitation_of(recording).saturated_share for recording in recordings)


def saturated_beyond(model: ServoModel, recordings: Sequence[Recording]) -> str:
    """Return a warning about runs that saturate the servo more than those of the fit; empty if none does."""
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
        f"{100 * known:.0f} % of any run of the fit: the behaviour at the limit is uncertain; fit to such "
        "runs too"
    )
