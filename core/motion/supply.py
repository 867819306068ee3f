"""Supply voltage of a recording: the measured one where it is the motor's, else the nominal one."""

from __future__ import annotations

from typing import get_args

import numpy as np

from core.base.arrays import Array
from core.base.errors import ModelError
from core.motion.recording import Recording
from core.servo.terms import Supply

ALTERNATING, ALTERNATING_SHARE, FEWEST_ALTERNATING = 0.05, 0.05, 10
"""Change of the supply voltage from sample to sample, as a share of the nominal one, that no battery or cable makes;
the share of driven samples with such a change and their number that show a supply read within the bridge's periods."""


def supply_of(recording: Recording, supply: Supply = "logged") -> Array:
    """Return the supply voltage at each sample [V], (n,).

    Args:
        recording: The recording.
        supply: "logged" takes the measured voltage where there is one and the nominal one elsewhere, and the median of
            one that alternates, see `supply_alternation`; "header" takes the nominal one.

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
    if supply_alternation(recording):
        logged = np.full_like(logged, np.median(logged[known]))
    return np.where(known, logged, nominal)


def supply_alternation(recording: Recording) -> float:
    """Return by how much the logged supply voltage alternates from sample to sample [V]; 0 if it does not.

    A servo that reads it within the periods of its bridge logs a voltage that the motor does not see. A battery, a
    cable and a load change it more slowly.
    """
    logged = recording.channels.get("supply_voltage", np.empty(0))
    change = np.abs(np.diff(logged))[np.asarray(recording.torque_enable[1 : len(logged)], dtype=bool)]
    change = change[np.isfinite(change)]
    alternating = change > ALTERNATING * recording.settings.supply_voltage
    few = np.count_nonzero(alternating) < FEWEST_ALTERNATING or np.mean(alternating) < ALTERNATING_SHARE
    return 0.0 if few else float(np.percentile(change, 90.0))
