"""Recording plan: a grid of masses × lengths × gains × trajectories × repetitions (seed 004, Table I).

The user changes mass and length by hand, the program everything else. The order of the cells therefore changes one
thing by hand at a time: lengths one after the other, masses up and then down again. Progress is never stored; it
follows from the runs of the session, so a plan continues after a break or a crash.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_array, is_finite, is_object
from core.base.json_fields import plain_fields
from core.motion.trajectories import PAPER_TRAJECTORIES, Trajectory, canonical_name, make_trajectory
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec, load_servo

FORMAT, FORMAT_VERSION = "servobench-plan", 1
PLAN_DOCUMENT = "plan"
"""Name of the document in which a session keeps its plan."""
RUN_OVERHEAD = 3.5
"""Time that a run takes in addition to its trajectory [s], until one is measured: to the start, to rest, back to 0 rad.
"""
MOST_RUNS = 10_000
MOST_REPETITIONS = 100
DURATION_TOLERANCE = 0.05
"""A run counts for a cell if its duration differs from the planned one by at most this share."""
LARGEST = {"masses": 1e3, "lengths": 10.0, "kps": 1e6}
SOURCE = "Duclusaud et al., Table I"


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    length: float
    """Distance from shaft to load [m]."""
    mass: float
    """Load [kg]."""
    kp: float
    trajectory: str
    repetition: int
    """From 1."""

    @property
    def condition(self) -> tuple[str, str, str, str]:
        """Conditions that repetitions share, as displayed text."""
        return _condition(self.mass, self.length, self.kp, self.trajectory)

    @property
    def place(self) -> tuple[float, float]:
        """Values that are changed by hand: length [m] and mass [kg]."""
        return self.length, self.mass

    def bench(self, bench: Bench) -> Bench:
        """Return the bench with this cell's load; a load measured as a whole does not apply to another one."""
        same = _same(self.mass, bench.mass) and _same(self.length, bench.length)
        measured = {} if same else {"measured_inertia": None, "measured_gravity_torque": None}
        return replace(bench, mass=self.mass, length=self.length, **measured)


@dataclass(frozen=True, kw_only=True)
class GridPlan:
    """Every combination of the axes, each recorded `repetitions` times.

    Raises:
        InputError: A value is not possible, or a value is given twice.
    """

    masses: tuple[float, ...]
    """Loads [kg]."""
    lengths: tuple[float, ...]
    """Distances from shaft to load [m]."""
    kps: tuple[float, ...]
    """In the servo's own gain units."""
    trajectories: tuple[str, ...] = PAPER_TRAJECTORIES
    repetitions: int = 1
    duration: float = 6.0
    """Duration of each run [s]."""
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name, what in (("masses", "mass"), ("lengths", "length"), ("kps", "gain")):
            values = getattr(self, name)
            if not values:
                raise InputError(f"recording plan: no {what} is given; name at least one")
            for value in values:
                if not is_finite(value) or not 0.0 < value <= LARGEST[name]:
                    raise InputError(f"recording plan: a {what} of {value!r} is not possible; give a positive number")
            if len({f"{value:.6g}" for value in values}) < len(values):
                raise InputError(f"recording plan: a {what} is given twice; use repetitions to record it twice")
        if not self.trajectories:
            raise InputError("recording plan: no trajectory is chosen; choose at least one")
        if len(set(self.trajectories)) < len(self.trajectories):
            raise InputError("recording plan: a trajectory is given twice; use repetitions to record it twice")
        if type(self.repetitions) is not int or not 1 <= self.repetitions <= MOST_REPETITIONS:
            raise InputError(f"recording plan: {self.repetitions!r} repetitions; choose 1 to {MOST_REPETITIONS}")
        if len(self) > MOST_RUNS:
            raise InputError(f"recording plan: {len(self)} runs are more than {MOST_RUNS}; leave some values out")
        for name in self.trajectories:
            make_trajectory(name, self.duration)

    def __len__(self) -> int:
        return (
            len(self.masses) * len(self.lengths) * len(self.kps) * len(self.trajectories) * self.repetitions
        )  # fmt: skip

    def cells(self) -> tuple[Cell, ...]:
        """Return every run, in the order that needs the fewest changes by hand.

        At each place, all gains and trajectories are recorded once before any is repeated. Repetitions therefore also
        show the effects of warming and wear.
        """
        found: list[Cell] = []
        for number, length in enumerate(self.lengths):
            for mass in self.masses if number % 2 == 0 else reversed(self.masses):
                for repetition in range(1, self.repetitions + 1):
                    for kp in self.kps:
                        found += [Cell(length, mass, kp, name, repetition) for name in self.trajectories]
        return tuple(found)

    def trajectory(self, cell: Cell) -> Trajectory:
        """Return the trajectory of a cell's run."""
        return make_trajectory(cell.trajectory, self.duration)

    @property
    def heaviest(self) -> Bench:
        """Bench with the largest mass at the largest length."""
        return Bench(mass=max(self.masses), length=max(self.lengths))

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file."""
        about = {"format": FORMAT, "version": FORMAT_VERSION, "title": self.title, "source": self.source}
        return {**about, **plain_fields(self, tuple(about))}

    @classmethod
    def from_json(cls, data: Any) -> GridPlan:
        """Read the data of `to_json`.

        Raises:
            InputError: The data do not describe a plan; the message names the entry.
        """
        if not is_object(data) or data.get("format") != FORMAT:
            raise InputError(f"recording plan: this is not a {FORMAT} file")
        version = data.get("version")
        if not isinstance(version, int) or version > FORMAT_VERSION:
            raise InputError(f"recording plan: format version {version!r} is not known; update the program")
        try:
            lists = {name: _numbers(name, data[name]) for name in ("masses", "lengths", "kps")}
            names = data["trajectories"]
            duration = data["duration"]
            if not is_array(names) or not all(isinstance(name, str) for name in names):
                raise InputError("recording plan: trajectories must be a list of names")
            if not is_finite(duration):
                raise InputError(f"recording plan: a duration of {duration!r} is not a number")
            return cls(
                **lists,
                trajectories=tuple(canonical_name(name) for name in names),
                repetitions=data["repetitions"],
                duration=float(duration),
                title=str(data.get("title", "")),
                source=str(data.get("source", "")),
            )
        except KeyError as error:
            raise InputError(f"recording plan: entry {error.args[0]!r} is missing") from None

    @classmethod
    def from_json_text(cls, text: str) -> GridPlan:
        """Read the contents of a file.

        Raises:
            InputError: The text does not describe a plan.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"recording plan: not JSON ({error})") from None
        return cls.from_json(data)


@dataclass(frozen=True)
class PlanStatus:
    """Recorded and missing runs of a plan."""

    plan: GridPlan
    done: Mapping[Cell, str]
    """Recorded cells, with the id of their run."""
    pending: tuple[Cell, ...]
    """Missing cells, in order."""

    @property
    def complete(self) -> bool:
        """True if nothing is missing."""
        return not self.pending

    def count(self, mass: float, length: float, kp: float) -> tuple[int, int]:
        """Return the number of recorded and of planned runs at these conditions: all trajectories and repetitions."""
        wanted = [c for c in self.plan.cells() if (c.mass, c.length, c.kp) == (mass, length, kp)]
        return sum(cell in self.done for cell in wanted), len(wanted)

    def remaining(self, overhead: float = RUN_OVERHEAD) -> float:
        """Return the time that the missing runs take [s], without changes by hand."""
        return len(self.pending) * (self.plan.duration + overhead)


def status(plan: GridPlan, runs: Iterable[Any], servo: str = "", excluded: Collection[str] = ()) -> PlanStatus:
    """Return which cells the runs of a session fill.

    A run counts if it ended well, lasted long enough and is not excluded.

    Args:
        plan: The plan.
        runs: Summaries of the session's runs, or objects with the same attributes.
        servo: Count only runs of this servo; empty counts all.
        excluded: Ids of runs that are kept but not used.
    """
    shortest = (1.0 - DURATION_TOLERANCE) * plan.duration
    longest = (1.0 + DURATION_TOLERANCE) * plan.duration
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for run in runs:
        good = run.exit_status == "success" and run.id not in excluded and shortest <= run.duration <= longest
        if good and (not servo or run.servo == servo):
            key = _condition(run.mass, run.length, run.kp, canonical_name(run.trajectory))
            found.setdefault(key, []).append(run.id)
    done: dict[Cell, str] = {}
    pending: list[Cell] = []
    for cell in plan.cells():
        ids = found.get(cell.condition, [])
        if cell.repetition <= len(ids):
            done[cell] = ids[cell.repetition - 1]
        else:
            pending.append(cell)
    return PlanStatus(plan, done, tuple(pending))


def changes_by_hand(previous: tuple[float, float] | None, following: tuple[float, float]) -> str:
    """Return what the user has to change between two places (length [m], mass [kg]), as text; empty for nothing.

    Args:
        previous: The place before; None if the current load is unknown.
        following: The place after.
    """
    length, mass = following
    if previous is None:
        return f"Hang {mass:g} kg at {length:g} m"
    same_length, same_mass = _same(previous[0], length), _same(previous[1], mass)
    if same_length and same_mass:
        return ""
    if same_length:
        return f"Hang {mass:g} kg instead of {previous[1]:g} kg, still at {length:g} m"
    if same_mass:
        return f"Move the {mass:g} kg from {previous[0]:g} m to {length:g} m"
    return f"Hang {mass:g} kg at {length:g} m instead of {previous[1]:g} kg at {previous[0]:g} m"


def dynamixel_plan() -> GridPlan:
    """Return the paper's grid for MX-64 and MX-106."""
    return GridPlan(
        masses=(0.5, 1.0, 1.5),
        lengths=(0.1, 0.15, 0.2),
        kps=(4.0, 8.0, 16.0, 32.0),
        title="Paper, Dynamixel",
        source=SOURCE,
    )


def erob_plan() -> GridPlan:
    """Return the paper's grid for the eRob80."""
    return GridPlan(
        masses=(3.1, 8.2, 12.7, 14.6, 19.6),
        lengths=(0.5,),
        kps=(10.0, 25.0, 50.0, 100.0),
        title="Paper, eRob80",
        source=SOURCE,
    )


def scaled_plan(spec: ServoSpec) -> GridPlan:
    """Return the paper's Dynamixel grid, scaled to a servo that the paper does not name.

    Masses are scaled by the stall torque relative to the MX-106, gains by the default gain. The relative load and the
    stiffness of the controller are then those of the paper.
    """
    paper, model = dynamixel_plan(), load_servo("mx106")
    torque, gain = spec.stall_torque / model.stall_torque, spec.default_kp / model.default_kp
    return replace(
        paper,
        masses=tuple(float(f"{mass * torque:.2g}") for mass in paper.masses),
        kps=tuple(float(f"{kp * gain:.3g}") for kp in paper.kps),
        title=f"Scaled to {spec.title}",
        source=f"{SOURCE}, loads scaled by the stall torque, gains by the default gain",
    )


def suggested_plan(spec: ServoSpec) -> GridPlan:
    """Return the grid to start with: the paper's if it names the servo, else the scaled one."""
    if spec.name.startswith("erob80"):
        return erob_plan()
    return dynamixel_plan() if spec.name in ("mx64", "mx106") else scaled_plan(spec)


def plan_to_offer(kept: Any | None, servo: str) -> GridPlan:
    """Return the plan of a session, or the grid suggested for the servo.

    Args:
        kept: The session's PLAN_DOCUMENT; None if it has none, or if there is no session.
        servo: Catalogue name.

    Raises:
        InputError: The session's plan is damaged.
    """
    return suggested_plan(load_servo(servo)) if kept is None else GridPlan.from_json(kept)


def _condition(mass: float, length: float, kp: float, trajectory: str) -> tuple[str, str, str, str]:
    return f"{mass:.6g}", f"{length:.6g}", f"{kp:.6g}", trajectory


def _same(one: float, other: float) -> bool:
    return f"{one:.6g}" == f"{other:.6g}"


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    if not is_array(values):
        raise InputError(f"recording plan: {name} must be a list of numbers")
    wrong = [v for v in values if not is_finite(v)]
    if wrong:
        raise InputError(f"recording plan: {name}: {wrong[0]!r} is not a number")
    return tuple(float(value) for value in values)
