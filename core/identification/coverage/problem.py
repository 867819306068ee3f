"""Least squares over a model's free parameters and header facts together.

A header fact that is wrong in a part of the runs pulls the model's parameters away until the other runs have errors as
well. A fact is therefore never assessed with the parameters held. Both are moved, by damped Gauss-Newton steps on the
position residuals with a pseudo-Huber loss: released swings that miss a stop by much must not dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from core.base.arrays import Array
from core.identification.coverage.doubts import FACTS, Fact
from core.identification.evidence.sensitivity import Differences
from core.identification.search.objective import Batch, available_threads
from core.identification.search.steps import Effort, descend, normal_equations, smooth_loss
from core.kernel.layout import Load, bind
from core.motion.recording import LOAD_CHANNELS, Recording
from core.motion.simulation import held_commands, on_grid, roll_out, starts_of
from core.servo.bench import Bench
from core.servo.model import ServoModel
from core.servo.parameters import Parameter
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model, shipped_models
from core.servo.terms import Supply

T = TypeVar("T")

FAR = 10.0
"""Residual of a simulation that diverges [rad]."""


@dataclass(frozen=True, kw_only=True)
class Correction:
    """Changes of one run's header: logarithms of factors, offsets in rad."""

    mass: float = 0.0
    kp: float = 0.0
    supply_voltage: float = 0.0
    angle_offset: float = 0.0
    slips: tuple[tuple[float, float], ...] = ()
    """Times since the first sample [s], and the angle by which the load hangs elsewhere from then on [rad]."""

    @classmethod
    def of(cls, run: int, facts: Sequence[Fact], values: Array) -> Correction:
        """Return the correction of one run, by its index, for facts with these values."""
        here = [(fact, value) for fact, value in zip(facts, values.tolist(), strict=True) if run in fact.runs]
        sums = {name: sum(v for fact, v in here if fact.name == name and not fact.begin) for name in FACTS}
        return cls(**sums, slips=tuple((fact.begin, value) for fact, value in here if fact.begin))

    def bench(self, bench: Bench) -> Bench:
        """Return the bench with corrected facts."""
        return replace(
            bench,
            measured_inertia=bench.inertia * math.exp(self.mass),
            measured_gravity_torque=bench.gravity_torque * math.exp(self.mass),
            angle_offset=bench.angle_offset + self.angle_offset,
        )

    def settings(self, settings: ServoSettings) -> ServoSettings:
        """Return the servo's settings with corrected facts."""
        return replace(
            settings,
            kp=settings.kp * math.exp(self.kp),
            supply_voltage=settings.supply_voltage * math.exp(self.supply_voltage),
        )

    def recording(self, recording: Recording) -> Recording:
        """Return the recording with everything corrected except slips, including a logged supply."""
        channels = dict(recording.channels)
        if "supply_voltage" in channels:
            channels["supply_voltage"] = channels["supply_voltage"] * math.exp(self.supply_voltage)
        for name in (channel.name for channel in LOAD_CHANNELS if recording.load is not None):
            channels[name] = channels[name] * math.exp(self.mass)
        return replace(
            recording, bench=self.bench(recording.bench), settings=self.settings(recording.settings), channels=channels
        )


AS_WRITTEN = Correction()


class CorrectedRun:
    """One recording, simulated with its header as stated or corrected."""

    def __init__(self, model: ServoModel, recording: Recording, dt: float | None, supply: Supply) -> None:
        recording = recording.commanded(model.control.command)
        self._model, self._recording = model, recording
        run, self._step = on_grid(recording, dt)
        self._substeps = model.steps_between(self._step, run.settings)
        self._measured = np.asarray(run.position, dtype=np.float64)
        self._starts = starts_of(model, run, self._step)
        self._commands = held_commands(recording, run, self._step, self._substeps, supply, sags=model.sags)
        self._nothing = np.zeros(len(self._commands.goal))

    @property
    def samples(self) -> int:
        """Number of samples on the grid."""
        return len(self._measured)

    def corrected(self, correction: Correction) -> Recording:
        """Return the recording with its header corrected, except for slips.

        It keeps its own samples: on a coarser grid, its commands would act later.
        """
        return self._recording if correction == AS_WRITTEN else correction.recording(self._recording)

    def alone(self, row: Array, correction: Correction = AS_WRITTEN) -> Array:
        """Return simulated minus measured position for one candidate's kernel row [rad], (samples,), at most FAR."""
        run, n = self._recording, self._substeps
        bench, settings = correction.bench(run.bench), correction.settings(run.settings)
        load = self._commands.load.copy()
        load[:, [Load.INERTIA, Load.GRAVITY_TORQUE, Load.TORQUE]] *= math.exp(correction.mass)
        out = roll_out(
            self._model,
            bind(row, self._model.setup(bench, settings, self._step / n)),
            replace(self._commands, supply=self._commands.supply * math.exp(correction.supply_voltage), load=load),
            n,
            self._step,
            self.samples,
            self._starts,
            sum((self._slipped(begin, offset) for begin, offset in correction.slips), self._nothing),
        )
        return np.clip(np.nan_to_num(out[:, 0] - self._measured, nan=FAR), -FAR, FAR)

    def _slipped(self, begin: float, offset: float) -> Array:
        """Return the torque of a load that hangs `offset` [rad] elsewhere from `begin` [s] on [N·m], (steps,)."""
        bench, load, n = self._recording.bench, self._commands.load, self._substeps
        angle, gravity = np.repeat(self._measured, n) + bench.angle_offset, bench.gravity_torque
        if len(load):
            angle, gravity = angle + load[:, Load.PHASE], load[:, Load.GRAVITY_TORQUE]
        since = np.arange(len(angle)) * (self._step / n)
        return np.where(since >= begin, -gravity * (np.sin(angle + offset) - np.sin(angle)), 0.0)


FACT_STEP = 3e-3
"""Difference by a fact: 0.3 %, or 3 mrad."""

FINE, WIDE = 1e-4, 5e-3
"""Differences by a parameter, as a share of the catalogue's bounds.

Stiction makes the motion a kinked function of the parameters; wide differences look across kinks on the way down.
"""

PUSHED = ("kt", "R", "error_gain_ratio")
MOVED = 2.0
"""Factor by which the parameters that a wrong supply or gain moves may leave their bounds."""

LARGEST_FACT = math.log(4.0)
"""Largest factor that is sought, as logarithm."""

BETWEEN = 4
BESIDE = 0.05
"""Scatter of additional starting points, as a share of the catalogue's bounds."""

EFFORT = Effort(steps=8, enough=2e-3, dampings=(1e-3, 1e-1, 1e1, 1e2, 1e3))


@dataclass(frozen=True, eq=False)
class Point:
    """End of a minimisation: scaled parameters, values of the facts, residuals of each run, and their cost."""

    scaled: Array
    values: Array
    residuals: tuple[Array, ...]
    cost: float


class Problem:
    """Residuals of recordings under a model, as a function of its parameters and of header facts.

    Parameters are scaled by the widths of the catalogue's bounds.
    """

    def __init__(
        self,
        model: ServoModel,
        recordings: Sequence[Recording],
        *,
        dt: float | None = None,
        supply: Supply = "logged",
        threads: int | None = None,
    ) -> None:
        wide = {p.name: _wide(p) for p in model.parameters.free}
        self.model = model.with_parameters(model.parameters.with_bounds(wide))
        self.recordings = tuple(recordings)
        self._threads = available_threads() if threads is None else max(1, threads)
        self._dt = dt
        self._supply: Supply = supply
        self._runs = tuple(CorrectedRun(self.model, recording, dt, supply) for recording in recordings)
        self._as_written: tuple[tuple[int, ...], Batch] | None = None
        """Indices of the runs that were last simulated with their headers as stated, and these runs."""
        values = self.model.parameters.vector()
        self._widths = Differences.at(self.model, values, FINE).widths
        self._low, self._high = (self.model.parameters.bounds() / self._widths[:, None]).T
        self.start = values / self._widths
        """Scaled parameters of the model."""
        self.floor = model.spec.encoder_step
        self.scale = self.floor
        """Residual at which the loss changes from squares to magnitudes [rad]."""

    def starts(self) -> tuple[Array, ...]:
        """Return scaled starting points: the model's values, the servo's known ones, and some around them."""
        model = self.model
        shipped = shipped_models(model.servo)
        known: Mapping[str, float] = {}
        if shipped:
            near = model.friction if model.friction in shipped else shipped[-1]
            known = load_model(model.servo, near).values
        values = np.array([known.get(p.name, p.value) for p in model.parameters.free]) / self._widths
        random = np.random.default_rng(0)
        between = [
            self.start + random.random(len(values)) * (values - self.start) + BESIDE * random.normal(size=len(values))
            for _ in range(BETWEEN)
        ]
        return (self.start, *(np.clip(start, self._low, self._high) for start in (values, *between)))

    def pushed(self, point: Point, slope: Array) -> NDArray[np.bool_]:
        """Return which parameters, (p,), lie at a bound that descending along `slope` (p,) would leave."""
        return ((point.scaled <= self._low) & (slope > 0)) | ((point.scaled >= self._high) & (slope < 0))

    def fitted(self, point: Point) -> ServoModel:
        """Return the model at a point's parameters."""
        return self.model.with_vector(point.scaled * self._widths)

    def at(self, scaled: Array, facts: Sequence[Fact] = (), values: Array | None = None) -> Point:
        """Return residuals and cost at given parameters and facts."""
        values = np.zeros(len(facts)) if values is None else values
        row = self._rows(scaled[None])[0]
        residuals = tuple(run.alone(row, Correction.of(i, facts, values)) for i, run in enumerate(self._runs))
        return Point(scaled, values, residuals, self._cost(residuals))

    def rescale(self, point: Point) -> Point:
        """Set the loss's scale to twice the median of a point's residuals, and return the point with its new cost."""
        every = np.abs(np.concatenate(point.residuals))
        self.scale = max(self.floor, 2.0 * float(np.median(every)))
        return replace(point, cost=self._cost(point.residuals))

    def minimise(
        self, point: Point, facts: Sequence[Fact] = (), steps: int = EFFORT.steps, difference: float = FINE
    ) -> Point:
        """Take damped steps from a point, which includes the first values of the facts."""
        count = len(point.scaled)

        def losses(candidates: Array) -> Array:
            scaled, values = np.split(candidates, [count], axis=1)
            return self._costs(scaled, facts, values)

        def equations(at: Array) -> tuple[Array, Array]:
            place = replace(point, scaled=at[:count], values=at[count:])
            found = self._linearised(
                place, facts, difference, lambda jacobian, residuals: normal_equations(jacobian, residuals, self.scale)
            )
            return np.sum([normal for normal, _ in found], axis=0), np.sum([slope for _, slope in found], axis=0)

        limits = np.full(len(facts), LARGEST_FACT)
        bounds = np.stack([np.append(self._low, -limits), np.append(self._high, limits)], axis=1)
        start = np.append(point.scaled, point.values)
        end, _ = descend(start, bounds, losses, equations, replace(EFFORT, steps=steps))
        return self.at(end[:count], facts, end[count:])

    def jacobian(self, point: Point, facts: Sequence[Fact] = (), difference: float = FINE) -> tuple[Array, ...]:
        """Return the Jacobian of each run's residuals by the scaled parameters, then the facts, (n, p + f)."""
        return tuple(self._linearised(point, facts, difference, lambda jacobian, _: jacobian))

    def by_fact(self, point: Point, run: int, fact: Fact, facts: Sequence[Fact] = ()) -> Array:
        """Return the derivative of one run's residuals by a further fact at 0, (n,)."""
        row = self._rows(point.scaled[None])[0]
        return self._by_fact(run, row, (*facts, fact), np.append(point.values, 0.0), len(facts))

    def _linearised(
        self, point: Point, facts: Sequence[Fact], difference: float, take: Callable[[Array, Array], T]
    ) -> list[T]:
        """Return the results of `take` for each run's Jacobian (n, p + f) and residuals (n,)."""
        differences = Differences.at(self.model, point.scaled * self._widths, difference)
        row = self._rows(point.scaled[None])[0]

        def of_run(i: int, found: Array) -> T:
            columns, residuals = differences.split(found)
            by_facts = [self._by_fact(i, row, facts, point.values, place) for place in range(len(facts))]
            return take(np.column_stack([columns, *by_facts]), residuals)

        found: dict[int, T] = {}
        corrections = [Correction.of(i, facts, point.values) for i in range(len(self._runs))]
        for correction in dict.fromkeys(corrections):
            places = tuple(i for i, other in enumerate(corrections) if other == correction)
            found |= self._together(places, differences.matrix, correction, of_run)
        return [found[i] for i in range(len(self._runs))]

    def _together(
        self, places: tuple[int, ...], matrix: Array, correction: Correction, take: Callable[[int, Array], T]
    ) -> dict[int, T]:
        """Return the results of `take` by run, for its index and its residuals (n, k) under candidates (k, p)."""
        if correction.slips:
            # The population kernel has no external torque.
            rows = self.model.rows(matrix)
            each = {i: np.stack([self._runs[i].alone(row, correction) for row in rows], axis=1) for i in places}
            return {i: take(i, residuals) for i, residuals in each.items()}
        batch = self._batch(places, correction)
        found = batch.residuals(matrix, lambda k, residuals: take(places[k], np.clip(residuals, -FAR, FAR)))
        return dict(zip(places, found, strict=True))

    def _batch(self, places: tuple[int, ...], correction: Correction) -> Batch:
        """Return runs, by index, with the same correction."""
        if correction == AS_WRITTEN and self._as_written is not None and self._as_written[0] == places:
            return self._as_written[1]
        corrected = [self._runs[i].corrected(correction) for i in places]
        batch = Batch(self.model, corrected, dt=self._dt, supply=self._supply, threads=self._threads)
        if correction == AS_WRITTEN:
            self._as_written = places, batch
        return batch

    def _by_fact(self, i: int, row: Array, facts: Sequence[Fact], values: Array, place: int) -> Array:
        """Return the derivative of one run's residuals by the fact at an index, (n,)."""
        if i not in facts[place].runs:
            return np.zeros(self._runs[i].samples)
        step = FACT_STEP * np.eye(len(facts))[place]
        above, below = (
            self._runs[i].alone(row, Correction.of(i, facts, moved)) for moved in (values + step, values - step)
        )
        return (above - below) / (2.0 * FACT_STEP)

    def _costs(self, scaled: Array, facts: Sequence[Fact], values: Array) -> Array:
        """Return the costs of candidates (k, p) with the facts' values (k, f), (k,)."""
        touched = {i for fact in facts for i in fact.runs}
        others = tuple(i for i in range(len(self._runs)) if i not in touched)
        rows = self._rows(scaled)

        def of(_: int, residuals: Array) -> Array:
            return self.scale * smooth_loss(residuals, self.scale).sum(axis=0)

        def of_touched(i: int) -> Array:
            corrections = (Correction.of(i, facts, value) for value in values)
            pairs = zip(rows, corrections, strict=True)
            return of(i, np.stack([self._runs[i].alone(row, correction) for row, correction in pairs], axis=1))

        found = [*self._together(others, scaled * self._widths, AS_WRITTEN, of).values()] if others else []
        return np.sum([*found, *self._spread(of_touched, sorted(touched))], axis=0)

    def _cost(self, residuals: Sequence[Array]) -> float:
        """Return ε·Σ(√(r² + ε²) − ε): half the squares of small residuals."""
        return self.scale * float(smooth_loss(np.concatenate(residuals), self.scale).sum())

    def _rows(self, scaled: Array) -> Array:
        """Return the kernel rows of candidates, (k, ROW)."""
        return self.model.rows(scaled * self._widths)

    def _spread(self, work: Callable[[int], T], places: Sequence[int]) -> list[T]:
        if self._threads == 1 or len(places) < 2:
            return [work(i) for i in places]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, places))


def _wide(parameter: Parameter) -> tuple[float, float]:
    """Return a parameter's bounds; wider where a wrong header would otherwise push its value against them."""
    low, high = parameter.lower, parameter.upper
    return (low / MOVED, high * MOVED) if parameter.name in PUSHED else (low, high)
