"""One run simulated with facts of its header corrected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.actuator import setup_row
from core.bench import Bench
from core.identification.coverage.suspects import FACTS, Fact
from core.kernel.layout import bind
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.model import ServoModel
from core.recording import Recording, ServoSettings
from core.simulation import held_commands, initial_velocity, on_grid

Array = NDArray[np.float64]

FAR = 10.0
"""A simulation that diverges is so far off [rad]."""


@dataclass(frozen=True, kw_only=True)
class Correction:
    """What to change in one run's header: logarithms of factors, offsets in rad."""

    mass: float = 0.0
    kp: float = 0.0
    supply_voltage: float = 0.0
    angle_offset: float = 0.0
    slips: tuple[tuple[float, float], ...] = ()
    """Moments since the first sample [s], and by how much the load hangs elsewhere from then on [rad]."""

    @classmethod
    def of(cls, run: int, facts: Sequence[Fact], values: Array) -> Correction:
        """Of one run, by its place, for facts with these values."""
        here = [(fact, value) for fact, value in zip(facts, values.tolist(), strict=True) if run in fact.runs]
        sums = {name: sum(v for fact, v in here if fact.name == name and not fact.begin) for name in FACTS}
        return cls(**sums, slips=tuple((fact.begin, value) for fact, value in here if fact.begin))

    def bench(self, bench: Bench) -> Bench:
        """The bench with its facts corrected."""
        return replace(
            bench,
            measured_inertia=bench.inertia * math.exp(self.mass),
            measured_gravity_torque=bench.gravity_torque * math.exp(self.mass),
            angle_offset=bench.angle_offset + self.angle_offset,
        )

    def settings(self, settings: ServoSettings) -> ServoSettings:
        """The servo's settings with their facts corrected."""
        return replace(
            settings,
            kp=settings.kp * math.exp(self.kp),
            supply_voltage=settings.supply_voltage * math.exp(self.supply_voltage),
        )

    def recording(self, recording: Recording) -> Recording:
        """A recording with all of this corrected but the slips, the supply also where it was logged."""
        channels = dict(recording.channels)
        if "supply_voltage" in channels:
            channels["supply_voltage"] = channels["supply_voltage"] * math.exp(self.supply_voltage)
        return replace(
            recording, bench=self.bench(recording.bench), settings=self.settings(recording.settings), channels=channels
        )


AS_WRITTEN = Correction()


class CorrectedRun:
    """One recording, simulated with its header as it is written or corrected."""

    def __init__(self, model: ServoModel, recording: Recording, dt: float | None, supply: str) -> None:
        self._model, self._recording = model, recording
        run, self._step = on_grid(recording, dt)
        self._substeps = model.steps_between(self._step)
        self._measured = np.asarray(run.position, dtype=np.float64)
        self._start = initial_state(float(self._measured[0]), initial_velocity(run))
        self._commands = held_commands(recording, run, self._step, self._substeps, supply)
        self._nothing = np.zeros(len(self._commands.goal))
        self._kernel = rollout_kernel(model.control.kernel_law, model.kernel_contact, model.leapfrog)

    @property
    def samples(self) -> int:
        """On the grid."""
        return len(self._measured)

    def corrected(self, correction: Correction) -> Recording:
        """The recording with its header corrected but for slips.

        Its samples are its own: on a coarser grid, its commands would act later.
        """
        return self._recording if correction == AS_WRITTEN else correction.recording(self._recording)

    def alone(self, row: Array, correction: Correction = AS_WRITTEN) -> Array:
        """Simulated minus measured position of one candidate by its kernel row, (samples,) [rad], at most FAR."""
        run, n = self._recording, self._substeps
        bench, settings = correction.bench(run.bench), correction.settings(run.settings)
        end, out = self._start.copy(), np.empty((self.samples, len(OUTPUTS)))
        self._kernel(
            bind(row, setup_row(self._model.control, bench, settings, self._step / n)),
            end,
            self._commands.goal,
            self._commands.lasts,
            self._commands.enable,
            self._commands.supply * math.exp(correction.supply_voltage),
            sum((self._slipped(begin, offset) for begin, offset in correction.slips), self._nothing),
            self._nothing,
            self._nothing,
            0,
            self._step / n,
            n,
            out,
        )
        found = out[:, 0] - self._measured
        return np.clip(found if math.isfinite(end[0]) else np.nan_to_num(found, nan=FAR), -FAR, FAR)

    def _slipped(self, begin: float, offset: float) -> Array:
        """Torque of a load that hangs by `offset` [rad] elsewhere from `begin` [s] on, (steps,) N·m."""
        bench, n = self._recording.bench, self._substeps
        angle = np.repeat(self._measured, n) + bench.angle_offset
        since = np.arange(len(angle)) * (self._step / n)
        return np.where(since >= begin, -bench.gravity_torque * (np.sin(angle + offset) - np.sin(angle)), 0.0)
