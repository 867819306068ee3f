"""Least squares over a model's free parameters and header facts together.

A header fact that is wrong in a part of the runs pulls the model's parameters away from the truth until the other runs
err as well. So a fact is never judged with the parameters held: both are moved, by Levenberg-Marquardt steps on the
position residuals with a pseudo-Huber loss (released swings that miss a stop by much must not decide).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.actuator import setup_row
from core.catalogue import load_model, load_servo, shipped_models
from core.identification.objective import available_threads
from core.identification.request import tunable_parameters
from core.kernel.layout import bind
from core.kernel.rollout import OUTPUTS, initial_state, rollout_kernel
from core.model import ServoModel
from core.parameters import Parameter
from core.recording import Recording
from core.simulation import initial_velocity, on_grid, supply_of

Array = NDArray[np.float64]

FACTS = ("mass", "kp", "supply_voltage", "angle_offset")
"""What a header may have wrong; the first three as the logarithm of a factor, the offset in rad."""

FACT_STEP = 3e-3
"""Of the differences by a fact: 0.3 %, or 3 mrad."""

FINE, WIDE = 1e-4, 5e-3
"""Of the differences by a parameter, as a share of the catalogue's bounds: stiction makes the motion's answer kink,
which wide ones look over on the way down."""

PUSHED = ("kt", "R", "error_gain_ratio")
MOVED = 2.0
"""What a wrong supply or gain moves may leave its bounds by this factor."""

LARGEST_FACT = math.log(4.0)
"""No factor beyond this is looked for."""

DAMPINGS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0)
"""Of the normal equations' diagonal; the one whose step leaves the smallest cost is taken."""

BETWEEN = 4
BESIDE = 0.05
"""So many more places to begin at, scattered by this share of the catalogue's bounds."""

FAR = 10.0
"""A simulation that diverges is so far off [rad]."""

STEPS = 8
CONVERGED = 2e-3
"""A step that takes away a smaller share of the cost is the last."""


@dataclass(frozen=True)
class Fact:
    """One header fact of some runs, by their place; `begin` [s] since a run's first sample for one that changes."""

    name: str
    runs: tuple[int, ...]
    begin: float = 0.0


@dataclass(frozen=True, eq=False)
class Point:
    """Where a minimisation ended: scaled parameters, the facts' values, the residuals run by run and their cost."""

    scaled: Array
    values: Array
    residuals: tuple[Array, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class _Run:
    """A recording laid out for the kernel."""

    recording: Recording
    step: float
    goal: Array
    enable: Array
    supply: Array
    start: Array
    measured: Array
    position: Array
    """Measured position of every step, (steps,) rad."""

    @classmethod
    def of(cls, recording: Recording, substeps: int, dt: float | None, supply: str) -> _Run:
        run, step = on_grid(recording, dt)
        measured = np.asarray(run.position, dtype=np.float64)
        return cls(
            recording=run,
            step=step,
            goal=np.repeat(np.asarray(run.goal_position, dtype=np.float64), substeps),
            enable=np.repeat(run.torque_enable.astype(np.float64), substeps),
            supply=np.repeat(supply_of(run, supply), substeps),
            start=initial_state(float(measured[0]), initial_velocity(run)),
            measured=measured,
            position=np.repeat(measured, substeps),
        )


class Problem:
    """The residuals of recordings under a model, as a function of its parameters and of header facts."""

    def __init__(
        self,
        model: ServoModel,
        recordings: Sequence[Recording],
        *,
        dt: float | None = None,
        supply: str = "logged",
        threads: int | None = None,
    ) -> None:
        self._threads = available_threads() if threads is None else max(1, threads)
        self.model = model
        self.recordings = tuple(recordings)
        self._runs = tuple(_Run.of(recording, model.substeps, dt, supply) for recording in recordings)
        self._nothing = np.zeros(max(len(run.goal) for run in self._runs))
        self._kernel = rollout_kernel(model.control.kernel_law)
        catalogue = tunable_parameters(model.servo)
        free = model.parameters.free
        known = [catalogue.get(p.name, p) for p in free]
        self._widths = np.array([max(p.upper - p.lower, 1e-12) for p in known])
        bounds = np.array([_wide(p) for p in free]) / self._widths[:, None]
        self._low, self._high = bounds[:, 0], bounds[:, 1]
        self.floor = load_servo(model.servo).encoder_step
        self.scale = self.floor
        """Where the loss turns from squares to magnitudes [rad]."""

    def starts(self) -> tuple[Array, ...]:
        """Where to begin, scaled: the model's values, those the servo is known by, and some between and beside them."""
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
        """Which parameters, (p,), lie at a bound that descending along `slope` (p,) would leave."""
        return ((point.scaled <= self._low) & (slope > 0)) | ((point.scaled >= self._high) & (slope < 0))

    @cached_property
    def start(self) -> Array:
        """The model's own parameters, scaled by the width of the catalogue's bounds."""
        return np.clip(self.model.parameters.vector() / self._widths, self._low, self._high)

    def fitted(self, point: Point) -> ServoModel:
        """The model at a point's parameters."""
        return self.model.with_parameters(self.model.parameters.with_vector(point.scaled * self._widths))

    def at(self, scaled: Array, facts: Sequence[Fact] = (), values: Array | None = None) -> Point:
        """Residuals and cost at given parameters and facts."""
        values = np.zeros(len(facts)) if values is None else values
        row = self.model.rows((scaled * self._widths)[None])[0]
        residuals = tuple(self._residuals(i, row[None], facts, values)[0] for i in range(len(self._runs)))
        return Point(scaled, values, residuals, self._cost(residuals))

    def rescale(self, point: Point) -> Point:
        """Set the loss's scale by a point's residuals, twice their median, and return the point with its new cost."""
        every = np.abs(np.concatenate(point.residuals))
        self.scale = max(self.floor, 2.0 * float(np.median(every)))
        return replace(point, cost=self._cost(point.residuals))

    def minimise(self, point: Point, facts: Sequence[Fact] = (), steps: int = STEPS, difference: float = FINE) -> Point:
        """Levenberg-Marquardt from a point, whose values are the facts' first ones."""
        for _ in range(steps):
            jacobian = self.jacobian(point, facts, difference)
            residual = np.concatenate(point.residuals)
            weights = 1.0 / np.sqrt(1.0 + (residual / self.scale) ** 2)
            normal = jacobian.T @ (weights[:, None] * jacobian)
            slope = jacobian.T @ (weights * residual)
            diagonal = np.diag(normal) + 1e-12 * max(float(np.diag(normal).max()), 1e-300)
            tried = []
            for damping in DAMPINGS:
                step = self._step(normal, slope, damping * diagonal, point)
                moved = np.concatenate([point.scaled, point.values]) - step
                count = len(point.scaled)
                scaled = np.clip(moved[:count], self._low, self._high)
                values = np.clip(moved[count:], -LARGEST_FACT, LARGEST_FACT)
                tried.append(self.at(scaled, facts, values))
            best = min(tried, key=lambda p: p.cost)
            if not best.cost < point.cost:
                break
            gained = (point.cost - best.cost) / point.cost
            point = best
            if gained < CONVERGED:
                break
        return point

    def _step(self, normal: Array, slope: Array, damping: Array, point: Point) -> Array:
        """Solve for a step; parameters at a bound that would leave it are held."""
        held = np.zeros(len(slope), dtype=bool)
        count = len(point.scaled)
        step = np.zeros(len(slope))
        for _ in range(3):
            free = ~held
            step[:] = 0.0
            system = normal[np.ix_(free, free)] + np.diag(damping[free])
            step[free] = np.linalg.lstsq(system, slope[free], rcond=1e-12)[0]
            beyond = np.zeros(len(slope), dtype=bool)
            beyond[:count] = self.pushed(point, step[:count])
            if not (beyond & ~held).any():
                break
            held |= beyond
        return step

    def jacobian(self, point: Point, facts: Sequence[Fact] = (), difference: float = FINE) -> Array:
        """Of all residuals by the scaled parameters, then the facts, (n, p + f)."""
        count = len(point.scaled)
        below = np.maximum(point.scaled - difference, self._low)
        above = np.minimum(point.scaled + difference, self._high)
        above = np.where(above > below, above, below + difference)
        matrix = np.repeat(point.scaled[None], 1 + 2 * count, axis=0)
        for place in range(count):
            matrix[2 * place, place], matrix[2 * place + 1, place] = below[place], above[place]
        rows = self.model.rows(matrix * self._widths)

        def block(i: int) -> Array:
            moved = self._residuals(i, rows[:-1], facts, point.values)
            columns = (moved[1::2] - moved[0::2]) / (above - below)[:, None]
            return np.vstack([columns, self._by_facts(i, rows[-1], facts, point.values)]).T

        if self._threads == 1:
            blocks = [block(i) for i in range(len(self._runs))]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                blocks = list(pool.map(block, range(len(self._runs))))
        return np.concatenate(blocks)

    def by_fact(self, point: Point, fact: Fact, facts: Sequence[Fact] = ()) -> Array:
        """Derivative of all residuals by one more fact at 0, (n,)."""
        row = self.model.rows((point.scaled * self._widths)[None])[0]
        blocks = []
        for i, residual in enumerate(point.residuals):
            if i not in fact.runs:
                blocks.append(np.zeros(len(residual)))
                continue
            blocks.append(self._by_facts(i, row, (*facts, fact), np.append(point.values, 0.0))[-1])
        return np.concatenate(blocks)

    def _by_facts(self, i: int, row: Array, facts: Sequence[Fact], values: Array) -> Array:
        samples = len(self._runs[i].measured)
        columns = np.zeros((len(facts), samples))
        for place, fact in enumerate(facts):
            if i not in fact.runs:
                continue
            low, high = values.copy(), values.copy()
            low[place] -= FACT_STEP
            high[place] += FACT_STEP
            columns[place] = (
                self._residuals(i, row[None], facts, high)[0] - self._residuals(i, row[None], facts, low)[0]
            )
        return columns / (2.0 * FACT_STEP)

    def _residuals(self, i: int, rows: Array, facts: Sequence[Fact], values: Array) -> Array:
        """Simulated minus measured position of one run for candidates' rows (m, ROW), (m, n) rad."""
        run = self._runs[i]
        bench, settings = run.recording.bench, run.recording.settings
        factors: dict[str, float] = dict.fromkeys(FACTS, 0.0)
        n = self.model.substeps
        hand = self._nothing[: len(run.goal)]
        for fact, value in zip(facts, values.tolist(), strict=True):
            if i not in fact.runs:
                continue
            if fact.begin > 0.0:
                hand = hand + _slipped(run, n, fact.begin, value)
            else:
                factors[fact.name] += value
        if any(factors.values()):
            settings = replace(settings, kp=settings.kp * math.exp(factors["kp"]))
            bench = replace(
                bench,
                measured_inertia=bench.inertia * math.exp(factors["mass"]),
                measured_gravity_torque=bench.gravity_torque * math.exp(factors["mass"]),
                angle_offset=bench.angle_offset + factors["angle_offset"],
            )
        volts = run.supply * math.exp(factors["supply_voltage"])
        setup = setup_row(self.model.control, bench, settings, run.step / n)
        nothing = self._nothing[: len(run.goal)]
        out = np.empty((len(run.measured), len(OUTPUTS)))
        found = np.empty((len(rows), len(run.measured)))
        for place, row in enumerate(rows):
            start = run.start.copy()
            self._kernel(
                bind(row, setup), start, run.goal, run.enable, volts, hand, nothing, nothing, 0, run.step / n, n, out
            )
            found[place] = out[:, 0]
            if not math.isfinite(start[0]):
                found[place] = np.nan_to_num(found[place], nan=FAR)
        return np.clip(found - run.measured, -FAR, FAR)

    def _cost(self, residuals: Sequence[Array]) -> float:
        """Σ c²·(√(1 + (r/c)²) − 1) with the scale c."""
        every = np.concatenate(residuals)
        return float((np.sqrt(1.0 + (every / self.scale) ** 2) - 1.0).sum() * self.scale**2)


def _wide(parameter: Parameter) -> tuple[float, float]:
    """Bounds, where a wrong header pushes a value out of them moved so far that it can show itself."""
    low, high = parameter.lower, parameter.upper
    return (low / MOVED, high * MOVED) if parameter.name in PUSHED else (low, high)


def _slipped(run: _Run, substeps: int, begin: float, offset: float) -> Array:
    """Torque of a load that hangs by `offset` [rad] elsewhere from `begin` [s] on, (steps,) N·m."""
    bench = run.recording.bench
    angle = run.position + bench.angle_offset
    since = np.arange(len(angle)) * (run.step / substeps)
    return np.where(since >= begin, -bench.gravity_torque * (np.sin(angle + offset) - np.sin(angle)), 0.0)
