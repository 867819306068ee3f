"""Recordings of a compliant actuator, prepared for the simulation of many candidates: positions and their errors.

A run is simulated in operation mode 6 or 3 (section 3.2) from the link's first measured position, with the motors where
their controllers hold them against the springs. Phases with the torque off are simulated with unpowered motors.
Commands act from their own times, and positions are compared at the sample times: a read follows its command by a
moment in which the link moves on, at full speed by more than the noise. The loop over time is the compiled one of
`core.studies.compliant.joint`. It takes some milliseconds per candidate, so Python's threads suffice for candidates.

The identifiable numbers of the actuator form three groups: the springs (their own parameters), the link (the losses of
its joint), and the motors with their position controllers. All are positive and differ by orders of magnitude, so a
search moves their logarithms. Some numbers only act together: a BAVS depends only on k·a and k·b, an AwAS-II only on
K_s/r_t². Therefore k and r_t are held unless they are freed. The deflection limit of a spring is held too, because no
motion depends on it before it is reached.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from core.base.arrays import Array
from core.base.errors import IdentificationError, InputError, ModelError
from core.identification.search.objective import DIVERGED, available_threads
from core.motion.recording import Recording
from core.motion.simulation import held_commands, initial_velocity, on_grid
from core.servo.bench import Bench
from core.servo.parameters import Parameter, ParameterSet
from core.studies.compliant.elastic import constants
from core.studies.compliant.files import CompliantUnit
from core.studies.compliant.joint import CompliantJoint, JointKernel, initial_state, safe_substeps
from core.studies.compliant.modes import Mode

SPRINGS, LINK, MOTOR = "springs", "link", "motor"
GROUPS = (SPRINGS, LINK, MOTOR)
HELD = {"bavs": ("k",), "awas2": ("radius",)}
"""For each actuator, the held ones among spring numbers that only act together."""
ALWAYS_HELD = ("max_deflection",)
LEAST = 1e-6
"""Lower bound of numbers that may be 0, as a share of the upper bound; smaller values have no effect."""

_LINK = (
    ("link_damping", "d", "N·m·s/rad", 10.0, "Viscous friction of the link's joint"),
    ("link_friction", "F", "N·m", 5.0, "Dry friction of the link's joint"),
)
_MOTOR = (
    ("motor_inertia", "J", "kg·m²", 1.0, "Inertia of a motor at its output"),
    ("motor_damping", "D", "N·m·s/rad", 50.0, "Damping of a motor"),
    ("motor_friction", "τ_f", "N·m", 10.0, "Dry friction of a motor"),
    ("motor_kp", "k_p", "N·m/rad", 1e4, "Gain of a motor's position controller"),
    ("motor_kd", "k_d", "N·m·s/rad", 1e3, "Velocity gain of a motor's position controller"),
)


def unknowns(unit: CompliantUnit, groups: Sequence[str] = (SPRINGS, LINK), freed: Sequence[str] = ()) -> ParameterSet:
    """Return all numbers of a unit with their bounds; numbers outside the groups, and held ones, are frozen.

    `freed` names numbers that are not frozen regardless. Raises IdentificationError for unknown groups or names.
    """
    if not set(groups) <= set(GROUPS):
        raise IdentificationError(f"groups to identify are {', '.join(GROUPS)}, not {', '.join(groups)}")
    name = unit.actuator.name
    held = {*HELD.get(name, ()), *ALWAYS_HELD}
    found = [
        _positive(replace(p, frozen=SPRINGS not in groups or p.name in held))
        for p in unit.actuator.parameters().values()
    ]
    values = _values(unit)
    for group, numbers in ((LINK, _LINK), (MOTOR, _MOTOR)):
        for number, symbol, unit_text, upper, description in numbers:
            found.append(
                _positive(
                    Parameter(
                        name=number,
                        symbol=symbol,
                        unit=unit_text,
                        value=values[number],
                        lower=0.0,
                        upper=upper,
                        frozen=group not in groups,
                        description=description,
                    )
                )
            )
    known = {p.name for p in found}
    for wanted in freed:
        if wanted not in known:
            raise IdentificationError(f"no number {wanted!r} to free; available: {', '.join(sorted(known))}")
    return ParameterSet([replace(p, frozen=False) if p.name in freed else p for p in found])


def unit_with(unit: CompliantUnit, parameters: ParameterSet) -> CompliantUnit:
    """Return the unit with the values of `unknowns`."""
    of = parameters.numbers()
    own = unit.actuator.parameters()
    try:
        return CompliantUnit(
            actuator=unit.actuator.with_values({name: of[name] for name in own}),
            motor=replace(
                unit.motor, inertia=of["motor_inertia"], damping=of["motor_damping"], friction=of["motor_friction"]
            ),
            pid=replace(unit.pid, kp=of["motor_kp"], kd=of["motor_kd"]),
            link_damping=of["link_damping"],
            link_friction=of["link_friction"],
        )
    except (ModelError, InputError) as error:
        raise IdentificationError(f"compliant actuator: {error}") from None


def _values(unit: CompliantUnit) -> dict[str, float]:
    return {
        "link_damping": unit.link_damping,
        "link_friction": unit.link_friction,
        "motor_inertia": unit.motor.inertia,
        "motor_damping": unit.motor.damping,
        "motor_friction": unit.motor.friction,
        "motor_kp": unit.pid.kp,
        "motor_kd": unit.pid.kd,
    }


def _positive(parameter: Parameter) -> Parameter:
    """Return the parameter with positive bounds, and a free value within them."""
    lower = max(parameter.lower, LEAST * parameter.upper)
    if parameter.frozen:
        return parameter
    return replace(parameter, lower=lower, value=min(max(parameter.value, lower), parameter.upper))


MODES = (Mode.SPRING_EQ_PRES, Mode.PID_EQ_PRES)
"""Modes in which a goal is an equilibrium."""
ROW = 5e-4
"""Longest interval between two simulated positions [s]: linear interpolation is off by 0.01 mrad at 300 rad/s², and so
is a command that acts in the middle."""
COARSER = 4
"""Factor by which steps exceed `safe_step`, which also conserves energy; positions differ by some 0.01 mrad, because
the controllers are sampled once per step."""
FINER = 4
"""Factor of shorter steps that measures the discretisation error."""
_SETTLING = 16
"""Halving steps of the motors to the position at which they hold the springs, some 5 mrad away."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Run:
    id: str
    bench: Bench
    preset: float
    row: float
    """Interval between two simulated positions [s]."""
    commands: Array
    """Commands of the motors [rad], or of an adjuster in its own unit, shape (rows, 2)."""
    powered: Array
    """Share of the time with the torque on, shape (rows,)."""
    time: Array
    """Times of the samples since the first row [s], shape (n,)."""
    measured: Array
    """Measured positions [rad], shape (n,)."""
    velocity: float


class CompliantRuns:
    """Runs of one compliant actuator."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        unit: CompliantUnit,
        mode: Mode = Mode.PID_EQ_PRES,
        *,
        dt: float | None = None,
        threads: int | None = None,
    ) -> None:
        """Prepare runs.

        Args:
            recordings: Recordings of the actuator.
            unit: Unit whose springs set the steps of all candidates.
            mode: One of MODES.
            dt: Time step [s]. None: that of regular recordings.
            threads: Number of threads. None: all available.

        Raises:
            IdentificationError: No runs, runs of another actuator, or runs without a stiffness preset.
        """
        if not recordings:
            raise IdentificationError("no recordings to compare with; record some of a compliant actuator")
        if mode not in MODES:
            raise IdentificationError(
                f"a recording's goal is an equilibrium, which mode {int(mode)} does not use; use mode 6 or 3"
            )
        self._mode = mode
        self._runs = [_prepared(recording, unit, dt) for recording in recordings]
        self._parts = [_parts(unit, run, mode) for run in self._runs]
        self._threads = available_threads() if threads is None else max(1, threads)
        self.ids = tuple(run.id for run in self._runs)
        self.samples = np.array([len(run.measured) for run in self._runs])

    def positions(self, unit: CompliantUnit) -> list[Array]:
        """Return simulated link positions of each run, (n,) [rad]; not finite if unstable."""
        return [self._simulated(unit, run, parts) for run, parts in zip(self._runs, self._parts, strict=True)]

    def residuals(self, units: Sequence[CompliantUnit]) -> list[Array]:
        """Return simulated minus measured positions of each run, (samples, candidates) [rad], within ±DIVERGED."""
        motions = self._each(units, self.positions)
        found: list[Array] = []
        for place, run in enumerate(self._runs):
            off = np.column_stack([motion[place] for motion in motions]) - run.measured[:, None]
            found.append(np.clip(np.nan_to_num(off, nan=DIVERGED, posinf=DIVERGED), -DIVERGED, DIVERGED))
        return found

    def errors(self, unit: CompliantUnit) -> Array:
        """Return the mean absolute position error of each run, (n_runs,) [rad]."""
        return np.array([np.abs(residuals).mean() for residuals in self.residuals([unit])])

    def finer_for(self, unit: CompliantUnit) -> CompliantRuns:
        """Return the same runs with steps no longer than a unit's `safe_step`."""
        other = copy.copy(self)
        other._parts = [COARSER * _parts(unit, run, self._mode) for run in self._runs]
        return other

    def discretisation_error(self, unit: CompliantUnit) -> float:
        """Return the mean absolute difference from positions with steps a quarter as long [rad]."""
        fine = [self._simulated(unit, run, FINER * parts) for run, parts in zip(self._runs, self._parts, strict=True)]
        return float(np.mean([np.abs(a - b).mean() for a, b in zip(self.positions(unit), fine, strict=True)]))

    def _each(self, units: Sequence[CompliantUnit], work: Callable[[CompliantUnit], list[Array]]) -> list[list[Array]]:
        if self._threads == 1 or len(units) == 1:
            return [work(unit) for unit in units]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(work, units))

    def _simulated(self, unit: CompliantUnit, run: _Run, parts: int) -> Array:
        joint = unit.joint(run.bench)
        kernel = JointKernel(joint, self._mode)
        state = initial_state(joint, self._mode, run.commands[0], float(run.measured[0]), run.velocity)
        if self._mode.has_motors and run.powered[0]:
            _hold(joint, state, run.commands[0])
        rows = len(run.commands)
        found = kernel.advance(state, run.commands, np.zeros(rows), run.row / parts, parts, run.powered)
        return np.interp(run.time, run.row * np.arange(rows), found[:, 0])


def require_runs_of(recordings: Sequence[Recording], actuator: str) -> None:
    """Raise IdentificationError for runs of anything but the compliant actuator of this name."""
    for recording in recordings:
        own = recording.settings.actuator
        if own != actuator:
            made_by = f"the {recording.settings.servo}'s own motor" if own is None else f"a {own}"
            remedy = "use bench identify" if own is None else f"use --actuator {own}"
            raise IdentificationError(
                f"run {recording.id} is of {made_by}, not of a {actuator}; leave it out, or {remedy}"
            )


def _prepared(recording: Recording, unit: CompliantUnit, dt: float | None) -> _Run:
    preset = recording.settings.preset
    if preset is None and unit.actuator.preset_unit:
        raise IdentificationError(
            f"run {recording.id} has no stiffness preset, which a {unit.actuator.title} needs; leave it out"
        )
    try:
        known = unit.checked_preset(0.0 if preset is None else preset)
        unit.joint(recording.bench)
    except ModelError as error:
        raise IdentificationError(f"run {recording.id}: {error}") from None
    run, step = on_grid(recording, dt)
    steps = math.ceil(step / ROW)
    commands = held_commands(recording, run, step, steps)
    mean_goal = commands.goal + (1.0 - commands.lasts) * np.diff(commands.goal, append=commands.goal[-1])
    return _Run(
        id=recording.id,
        bench=recording.bench,
        preset=known,
        row=step / steps,
        commands=np.column_stack(unit.actuator.references(mean_goal, known)),
        powered=commands.enable,
        time=recording.time - recording.time[0],
        measured=recording.position.astype(np.float64),
        velocity=initial_velocity(recording),
    )


def _parts(unit: CompliantUnit, run: _Run, mode: Mode) -> int:
    return -(-safe_substeps(unit.joint(run.bench), mode, run.row, run.preset) // COARSER)


def _hold(joint: CompliantJoint, state: Array, commands: Array) -> None:
    """Move motors to where their controllers hold the springs' load at the link's position, friction relaxed."""
    actuator = joint.actuator
    compiled = actuator.compiled_elastic()
    numbers, kind = constants(actuator), int(actuator.kind)
    for _ in range(_SETTLING):
        q1, q2, q = float(state[1, 0]), float(state[2, 0]), float(state[0, 0])
        if compiled is None:
            torque = actuator.elastic_torque(q1, q2, q)
            loads = (float(torque.motor_1), float(torque.motor_2))
        else:
            loads = compiled(kind, numbers, q1, q2, q)[1:3]
        for place in range(actuator.motors):
            motor, pid = joint.motors[place], joint.pids[place]
            load = min(max(loads[place], -motor.max_torque), motor.max_torque)
            if pid.kp > 0.0:
                state[1 + place, 0] += 0.5 * (commands[place] + load / pid.kp - state[1 + place, 0])
    state[1 : 1 + actuator.motors, 2] = state[1 : 1 + actuator.motors, 0]
