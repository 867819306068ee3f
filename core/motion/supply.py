"""Supply voltage of a recording: the measured one where it is the motor's, else the nominal one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.motion.recording import Recording
from core.servo.terms import Supply

ALTERNATING, ALTERNATING_SHARE, FEWEST_ALTERNATING = 0.03, 0.03, 10
"""Change of the supply voltage to and fro, as a share of the nominal one, that no battery or cable makes; the share of
driven samples with such a change and their number that show a supply read within the bridge's periods."""
MORE_AT_LARGE = 1.3
"""Ratio of the changes at large and at small duty cycles that noise does not have."""
WITHOUT_LOAD = 0.9
"""Quantile of the logged supply voltage of a run that stands for the voltage without load."""


def supply_of(recording: Recording, supply: Supply = "logged", *, sags: bool = False) -> Array:
    """Return the supply voltage at each sample [V], (n,).

    Args:
        recording: The recording.
        supply: "logged" takes the measured voltage where there is one and the nominal one elsewhere, and the median of
            one that alternates, see `supply_alternation`; "header" takes the nominal one.
        sags: True if the model computes the sag of the supply, which a voltage measured at the servo includes, see
            `core.servo.model.ServoModel.sags`. The ninth decile of what was logged then stands for the supply.

    Raises:
        ModelError: `supply` is neither.
    """
    if supply not in get_args(Supply):
        raise ModelError(f'supply {supply!r} must be "logged" or "header"')
    nominal = np.full(recording.samples, recording.settings.supply_voltage)
    logged = recording.channels.get("supply_voltage")
    if supply == "header" or logged is None:
        return nominal
    known = np.isfinite(logged) & (logged > 0)
    if known.any() and (sags or supply_alternation(recording)):
        logged = np.full_like(logged, np.quantile(logged[known], WITHOUT_LOAD if sags else 0.5))
    return np.where(known, logged, nominal)


def supply_alternation(recording: Recording) -> float:
    """Return by how much the logged supply voltage alternates from sample to sample [V]; 0 if it does not.

    Readings within the periods of a bridge go up and down again; a battery, a cable and a load change them in one
    direction for longer. Readings of 0 are none.
    """
    logged, change = recording.channels.get("supply_voltage", np.empty(0)), _changes(recording)
    back = np.minimum(np.abs(change[1:]), np.abs(change[:-1])) * (change[1:] * change[:-1] < 0.0)
    alternating = back > ALTERNATING * recording.settings.supply_voltage
    if not len(logged) or np.count_nonzero(alternating) < FEWEST_ALTERNATING or alternating.mean() < ALTERNATING_SHARE:
        return 0.0
    return float(np.median(back[alternating]))


def _changes(recording: Recording) -> Array:
    """Return the changes of the logged supply voltage between driven samples, one after the other [V]."""
    logged = recording.channels.get("supply_voltage", np.empty(0))
    known = np.isfinite(logged) & (logged > 0) & recording.torque_enable[: len(logged)].astype(bool)
    return np.diff(logged[known])


def is_unbuffered(recordings: Sequence[Recording]) -> bool:
    """Return True if logged supply voltages alternate with the bridge, more at a large duty cycle than at a small one.

    Noise of the reading is the same at all duty cycles; without a logged duty cycle the two are not separated.
    """
    small, large = list[float](), list[float]()
    for run in recordings:
        duty = run.channels.get("duty_cycle")
        if duty is None or not supply_alternation(run):
            continue
        logged = run.channels["supply_voltage"]
        known = np.isfinite(logged) & (logged > 0) & np.isfinite(duty) & run.torque_enable.astype(bool)
        sizes, change = np.abs(duty[known])[1:], np.abs(np.diff(logged[known]))
        half = float(np.median(sizes))
        small.append(float(change[sizes <= half].mean()))
        large.append(float(change[sizes > half].mean()) if (sizes > half).any() else 0.0)
    return bool(small) and sum(large) > MORE_AT_LARGE * sum(small)
