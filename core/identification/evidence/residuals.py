"""Unexplained error of a model, and the physics that it suggests.

There are two residuals. That of the position is simulated minus measured over a whole run. For that of the torque, the
shaft is put into its measured state at every sample, and the model moves it one step; the difference from the measured
acceleration is torque that the model lacks. It does not accumulate along a run, so it can be compared between speeds,
loads, directions and temperatures. Taken against the motion, it is friction that the model lacks. A hint needs an
effect that is large compared with the model's own friction, and significant with runs, not samples, as independent
(sandwich estimate by cluster, Liang and Zeger 1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.base.errors import IdentificationError, reading_json
from core.base.json_fields import OrUnknown, from_plain, plain_fields
from core.base.units import significant
from core.identification.coverage.findings import Finding
from core.identification.evidence.drift import drift_findings
from core.identification.evidence.torque import TorqueResidual, torque_residual
from core.identification.search.objective import available_threads
from core.motion.recording import Recording
from core.servo.model import ServoModel
from core.servo.terms import Supply

LARGE = 0.25
"""Smallest effect that is reported, as a share of the model's mean friction."""

SIGNIFICANT = 4.0
"""Smallest ratio of an effect to its standard error."""

CONCENTRATED = 2.0
"""Smallest ratio of the torque residual's mean square near reversals to that elsewhere."""

FEWEST_RUNS = 4
"""Smallest number of runs that can count as independent."""

FEWEST_SAMPLES = 50

SPEEDS = (0.04, 0.15, 0.3, 0.6)
"""Edges of the bins of |velocity|, as shares of the no-load speed."""

PARTS = 4
"""Number of bins of load, temperature and time, by quantiles."""


@dataclass(frozen=True, kw_only=True)
class ResidualBin:
    """Residuals of the samples of one bin."""

    factor: str
    """"speed", "load", "direction", "temperature", "trajectory", "kp", "time" or "phase"."""
    label: str
    samples: int
    position_mean: OrUnknown
    position_spread: OrUnknown
    """Spread of simulated minus measured position [rad]; `position_mean` is its mean."""
    friction_mean: OrUnknown
    friction_spread: OrUnknown
    """Spread of the friction that the model lacks, against the motion [N·m]; NaN where nothing moves."""
    significance: OrUnknown
    """Mean of the lacking friction over its standard error, with independent runs; NaN for fewer than two runs."""


@dataclass(frozen=True, kw_only=True)
class ResidualDiagnosis:
    """Unexplained error of a model on some recordings."""

    position_rms: float
    """Root mean square of the position residual [rad]."""
    torque_rms: float
    """Root mean square of the torque residual over moving samples [N·m]."""
    friction: float
    """Mean friction of the model in the same samples, the reference for effects [N·m]."""
    bins: tuple[ResidualBin, ...]
    hints: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data; null for unknown values."""
        return plain_fields(self)

    @classmethod
    @reading_json("a diagnosis of residuals", IdentificationError)
    def from_json(cls, data: Any) -> ResidualDiagnosis:
        """Read the data of `to_json`.

        Raises:
            IdentificationError: The data do not describe a diagnosis.
        """
        return from_plain(cls, data)


def diagnose_residuals(
    model: ServoModel,
    recordings: Sequence[Recording],
    *,
    dt: float | None = None,
    supply: Supply = "logged",
    threads: int | None = None,
) -> ResidualDiagnosis:
    """Bin the unexplained error of a model, and report what it suggests.

    Args:
        model: The model.
        recordings: The recordings.
        dt: Time between samples [s], see `Batch`.
        supply: Supply voltage, see `core.motion.supply.supply_of`.
        threads: Number of threads. None: all processors.

    Raises:
        IdentificationError: There are no recordings.
    """
    if not recordings:
        raise IdentificationError("no recordings to compare with; record or import some")
    with ThreadPoolExecutor(available_threads() if threads is None else threads) as pool:
        runs = list(pool.map(partial(torque_residual, model, dt=dt, supply=supply), recordings))
    table = _Table.of(model, recordings, runs)
    errors = np.concatenate([run.position_error for run in runs])
    moving = table.moving
    return ResidualDiagnosis(
        position_rms=float(np.sqrt(np.mean(errors**2))),
        torque_rms=float(np.sqrt(np.mean(table.lacking[moving] ** 2))) if moving.any() else 0.0,
        friction=table.level,
        bins=_bins(table),
        hints=(*_hints(model, table), *drift_findings(model, recordings, dt=dt, supply=supply, threads=threads)),
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """All samples of all runs, end to end, (n,) each."""

    run: NDArray[np.int64]
    time: Array
    error: Array
    lacking: Array
    velocity: Array
    external: Array
    temperature: Array
    enable: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    near_turn: NDArray[np.bool_]
    trajectory: tuple[str, ...]
    """Trajectory of each run."""
    kp: tuple[float, ...]
    no_load_speed: float
    level: float
    """Mean friction of the model in moving samples [N·m]."""

    @classmethod
    def of(cls, model: ServoModel, recordings: Sequence[Recording], runs: Sequence[TorqueResidual]) -> _Table:
        def every(name: str) -> Any:
            return np.concatenate([getattr(run, name) for run in runs])

        moving = every("moving")
        friction = every("friction")[moving]
        return cls(
            run=np.repeat(np.arange(len(runs)), [len(run.time) for run in runs]),
            time=every("time"),
            error=every("position_error"),
            lacking=every("lacking"),
            velocity=every("velocity"),
            external=every("external"),
            temperature=every("temperature"),
            enable=every("enable"),
            moving=moving,
            near_turn=every("near_turn"),
            trajectory=tuple(run.trajectory for run in recordings),
            kp=tuple(run.settings.kp for run in recordings),
            no_load_speed=model.spec.no_load_speed,
            level=float(friction.mean()) if len(friction) else 0.0,
        )


def _bins(table: _Table) -> tuple[ResidualBin, ...]:
    speed = table.velocity / table.no_load_speed
    masks: list[tuple[str, str, NDArray[np.bool_]]] = [
        ("direction", "positive", table.moving & (speed > 0)),
        ("direction", "negative", table.moving & (speed < 0)),
    ]
    edges = (*SPEEDS, math.inf)
    for sign, side in ((1.0, "+"), (-1.0, "−")):
        for low, high in pairwise(edges):
            label = (
                f"{side}{100 * low:.0f} … {100 * high:.0f} %" if high < math.inf else f"{side}over {100 * low:.0f} %"
            )
            masks.append(("speed", label, table.moving & (sign * speed >= low) & (sign * speed < high)))
    masks += _by_quantiles("load", np.abs(table.external), table.moving, "N·m")
    masks += _by_quantiles("temperature", table.temperature, table.moving & np.isfinite(table.temperature), "°C")
    masks += _by_quantiles("time", table.time, table.moving, "s")
    for name in sorted(set(table.trajectory)):
        chosen = np.array([t == name for t in table.trajectory])[table.run]
        masks.append(("trajectory", name, chosen))
    for kp in sorted(set(table.kp)):
        masks.append(("kp", f"{kp:g}", np.array([k == kp for k in table.kp])[table.run]))
    masks += [
        ("phase", "near reversals", table.moving & table.near_turn & table.enable),
        ("phase", "between", table.moving & ~table.near_turn & table.enable),
        ("phase", "released", table.moving & ~table.enable),
    ]
    return tuple(_bin(table, factor, label, mask) for factor, label, mask in masks if mask.any())


def _by_quantiles(
    factor: str, values: Array, where: NDArray[np.bool_], unit: str
) -> list[tuple[str, str, NDArray[np.bool_]]]:
    if not where.any():
        return []
    edges = np.unique(np.quantile(values[where], np.linspace(0.0, 1.0, PARTS + 1)))
    found: list[tuple[str, str, NDArray[np.bool_]]] = []
    for i, (low, high) in enumerate(pairwise(edges)):
        last = i == len(edges) - 2
        inside = where & (values >= low) & ((values <= high) if last else (values < high))
        found.append((factor, f"{low:.3g} … {high:.3g} {unit}", inside))
    return found


def _bin(table: _Table, factor: str, label: str, mask: NDArray[np.bool_]) -> ResidualBin:
    moving = mask & table.moving
    lacking = table.lacking[moving]
    significance = math.nan
    if len(lacking) and len(set(table.run[moving].tolist())) > 1:
        value, error = _regression(np.ones((len(lacking), 1)), lacking, table.run[moving])
        significance = float(value[0] / error[0]) if error[0] > 0 else math.nan
    return ResidualBin(
        factor=factor,
        label=label,
        samples=int(mask.sum()),
        position_mean=float(table.error[mask].mean()),
        position_spread=float(table.error[mask].std()),
        friction_mean=float(lacking.mean()) if len(lacking) else math.nan,
        friction_spread=float(lacking.std()) if len(lacking) else math.nan,
        significance=significance,
    )


def _regression(columns: Array, values: Array, clusters: NDArray[np.int64]) -> tuple[Array, Array]:
    """Solve least squares with standard errors for clusters of dependent samples.

    Args:
        columns: Regressors, (n, k).
        values: Values, (n,).
        clusters: Cluster of each sample, (n,).

    Returns:
        Coefficients and their standard errors, (k,) each.
    """
    inverse = np.linalg.pinv(columns.T @ columns)
    found = inverse @ (columns.T @ values)
    left = values - columns @ found
    names = np.unique(clusters)
    scores = np.array([columns[clusters == name].T @ left[clusters == name] for name in names])
    spread = inverse @ (scores.T @ scores) @ inverse * len(names) / max(len(names) - 1, 1)
    return found, np.sqrt(np.maximum(np.diag(spread), 0.0))


def _hints(model: ServoModel, table: _Table) -> list[Finding]:
    driven = table.moving & table.enable & ~table.near_turn
    released = table.moving & ~table.enable
    found: list[Finding] = []
    if driven.sum() >= FEWEST_SAMPLES and len(np.unique(table.run[driven])) >= FEWEST_RUNS:
        found += _driven_hints(model, table, driven)
    found += _turn_hint(model, table, driven)
    if released.sum() >= FEWEST_SAMPLES:
        found += _release_hint(model, table, released)
    return found


_HINTS = {
    "speed": (
        "friction that the model lacks increases with speed",
        "free or raise the viscous term, check the supply voltage",
    ),
    "load": ("friction that the model lacks increases with load", "fit a load-dependent model (M3 … M6)"),
    "direction": ("the error depends on the direction of motion", "a directional friction term or an angle offset"),
    "directional_speed": (
        "the error increases with speed in one direction: friction differs between the directions",
        "a directional viscous term",
    ),
    "temperature": (
        "the error follows the temperature",
        "let the servo warm up before recording, or record at one temperature",
    ),
}


_TOO_MUCH = {
    "speed": ("the model has too much friction at high speed", "lower the viscous term, check the supply voltage"),
    "load": ("the model has too much friction at high load", "check the load, and record other loads"),
}
"""The same for an effect of the other sign."""


def _driven_hints(model: ServoModel, table: _Table, where: NDArray[np.bool_]) -> list[Finding]:
    """Return hints from a regression of the lacking friction on speed, load, direction and temperature."""
    speed = np.abs(table.velocity[where])
    load = np.abs(table.external[where])
    side = np.sign(table.velocity[where])
    columns = {
        "level": np.ones(len(speed)),
        "speed": speed - speed.mean(),
        "load": load - load.mean(),
        "direction": side,
        "directional_speed": side * (speed - speed.mean()),
    }
    temperature = table.temperature[where]
    if np.isfinite(temperature).all() and float(np.ptp(temperature)) >= 2.0:
        columns["temperature"] = temperature - temperature.mean()
    matrix = np.stack(list(columns.values()), axis=1)
    values, errors = _regression(matrix, table.lacking[where], table.run[where])
    found: list[Finding] = []
    for place, name in enumerate(columns):
        if name not in _HINTS or not errors[place] > 0.0:
            continue
        spread = 2.0 * float(columns[name].std())
        effect, certainty = values[place] * spread, abs(values[place]) / errors[place]
        if abs(effect) > LARGE * table.level and certainty > SIGNIFICANT:
            text, remedy = _HINTS[name] if effect > 0.0 else _TOO_MUCH.get(name, _HINTS[name])
            if name == "load" and any(term.startswith("load_friction") for term in model.parameters):
                remedy = _TOO_MUCH["load"][1]
            found.append(
                Finding(
                    kind=f"residual_{name}",
                    severity="note",
                    text=f"{text} ({_signed(1e3 * effect)} mN·m over the recorded range; friction is "
                    f"{significant(1e3 * table.level, 2)})",
                    remedy=remedy,
                )
            )
    return found


def _turn_hint(model: ServoModel, table: _Table, driven: NDArray[np.bool_]) -> list[Finding]:
    near = table.moving & table.enable & table.near_turn
    if near.sum() < FEWEST_SAMPLES or driven.sum() < FEWEST_SAMPLES:
        return []
    here, elsewhere = (float(np.mean(table.lacking[mask] ** 2)) for mask in (near, driven))
    if here < CONCENTRATED**2 * elsewhere or math.sqrt(here) < 2.0 * LARGE * table.level:
        return []
    return [
        Finding(
            kind="residual_reversals",
            severity="note",
            text=f"the error is concentrated at reversals ({math.sqrt(here / elsewhere):.1f} times the usual torque)",
            remedy="look for backlash and a loose horn"
            if "friction_stribeck" in model.parameters
            else "backlash, or friction at low speed: fit a model with Stribeck friction (M2, M4 … M6), check the horn",
        )
    ]


def _release_hint(model: ServoModel, table: _Table, released: NDArray[np.bool_]) -> list[Finding]:
    speed = np.abs(table.velocity[released])
    lacking = table.lacking[released]
    values, errors = _regression(speed[:, None], lacking, table.run[released])
    effect = float(values[0] * speed.mean())
    certain = len(np.unique(table.run[released])) < 2 or abs(values[0]) > SIGNIFICANT * errors[0]
    if abs(effect) < LARGE * table.level or not certain:
        return []
    text = "brakes more" if effect > 0 else "brakes less"
    known = "release_braking" in model.parameters or model.control.law == "current"
    return [
        Finding(
            kind="residual_release",
            severity="note",
            text=f"after torque off the servo {text} than the model ({_signed(1e3 * effect)} mN·m at mean speed)",
            remedy="record more releases" if known else "fit the command path with release braking",
        )
    ]


def _signed(value: float) -> str:
    return f"{'+' if value > 0.0 else ''}{significant(value, 2)}"
