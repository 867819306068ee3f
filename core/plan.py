"""A grid of conditions as a recording plan: masses × lengths × gains × trajectories × repetitions (seed 004, Table I).

Mass and length are changed by hand, everything else by the program, so the cells come in an order in which a person
changes one thing at a time and nothing twice: lengths one after the other, masses up and then down again. What is done
is never stored: it follows from the runs of the session, so that a plan goes on after lunch or after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from core.bench import STANDARD_GRAVITY, Bench
from core.catalogue import ServoSpec, load_servo
from core.errors import InputError
from core.finite import is_array, is_finite, is_object
from core.plain import plain_fields
from core.trajectories import PAPER_TRAJECTORIES, Trajectory, canonical_name, make_trajectory

FORMAT, FORMAT_VERSION = "servobench-plan", 1
RUN_OVERHEAD = 3.5
"""What a run takes beside its trajectory until one is measured: to the start, to rest, back to 0 rad [s]."""
MOST_RUNS = 10_000
MOST_REPETITIONS = 100
DURATION_TOLERANCE = 0.05
"""A run counts for a cell when it lasted as long as planned within this share."""
LARGEST = {"masses": 1e3, "lengths": 10.0, "kps": 1e6}
SOURCE = "seed 004, Table I"


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    length: float
    """[m]"""
    mass: float
    """[kg]"""
    kp: float
    trajectory: str
    repetition: int
    """From 1."""

    @property
    def condition(self) -> tuple[str, str, str, str]:
        """What makes runs repetitions of each other; numbers as a person reads them."""
        return _condition(self.mass, self.length, self.kp, self.trajectory)

    @property
    def place(self) -> tuple[float, float]:
        """What is changed by hand: length [m] and mass [kg]."""
        return self.length, self.mass

    def bench(self, bench: Bench) -> Bench:
        """The bench with this cell's load on it; a load measured as a whole does not hold for another one."""
        same = _same(self.mass, bench.mass) and _same(self.length, bench.length)
        measured = {} if same else {"measured_inertia": None, "measured_gravity_torque": None}
        return replace(bench, mass=self.mass, length=self.length, **measured)


@dataclass(frozen=True, kw_only=True)
class GridPlan:
    """Every combination of the axes, each recorded `repetitions` times. Raises InputError for what no bench can be."""

    masses: tuple[float, ...]
    """[kg]"""
    lengths: tuple[float, ...]
    """[m]"""
    kps: tuple[float, ...]
    """In the servo's own gain units."""
    trajectories: tuple[str, ...] = PAPER_TRAJECTORIES
    repetitions: int = 1
    duration: float = 6.0
    """Of each run [s]."""
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
        """Every run, in the order that needs the fewest changes by hand.

        At each place all gains and trajectories are recorded once before any is repeated, so that repetitions also
        tell what warmth and wear do.
        """
        found: list[Cell] = []
        for number, length in enumerate(self.lengths):
            for mass in self.masses if number % 2 == 0 else reversed(self.masses):
                for repetition in range(1, self.repetitions + 1):
                    for kp in self.kps:
                        found += [Cell(length, mass, kp, name, repetition) for name in self.trajectories]
        return tuple(found)

    def trajectory(self, cell: Cell) -> Trajectory:
        """What a cell's run is asked to do."""
        return make_trajectory(cell.trajectory, self.duration)

    @property
    def heaviest_torque(self) -> float:
        """Gravity torque of the largest mass at the largest length, the arm horizontal [N·m]."""
        return max(self.masses) * max(self.lengths) * STANDARD_GRAVITY

    def to_json(self) -> dict[str, Any]:
        """Plain data for a file."""
        about = {"format": FORMAT, "version": FORMAT_VERSION, "title": self.title, "source": self.source}
        return {**about, **plain_fields(self, tuple(about))}

    @classmethod
    def from_json(cls, data: Any) -> GridPlan:
        """Inverse of `to_json`; raises InputError naming what is wrong."""
        if not is_object(data) or data.get("format") != FORMAT:
            raise InputError(f"recording plan: this is no {FORMAT} file")
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
        """Read a file's contents; raises InputError."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"recording plan: not JSON ({error})") from None
        return cls.from_json(data)


@dataclass(frozen=True)
class PlanStatus:
    """What of a plan is done."""

    plan: GridPlan
    done: Mapping[Cell, str]
    """Recorded cells with the id of their run."""
    pending: tuple[Cell, ...]
    """What is missing, in order."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.pending

    def count(self, mass: float, length: float, kp: float) -> tuple[int, int]:
        """Recorded and planned runs of one field of the grid: every trajectory and repetition at these conditions."""
        wanted = [c for c in self.plan.cells() if (c.mass, c.length, c.kp) == (mass, length, kp)]
        return sum(cell in self.done for cell in wanted), len(wanted)

    def remaining(self, overhead: float = RUN_OVERHEAD) -> float:
        """Time the missing runs take, changes by hand not included [s]."""
        return len(self.pending) * (self.plan.duration + overhead)


def status(plan: GridPlan, runs: Iterable[Any], servo: str = "", excluded: Collection[str] = ()) -> PlanStatus:
    """Which cells the runs of a session fill: those that ended well, lasted long enough and are not excluded.

    runs: summaries of a session's runs, or whatever has their names. servo: only runs of this one count; empty counts
    all. excluded: ids of runs that are kept but not used.
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
    """What a person does between two places (length m, mass kg), in plain words; empty when nothing.

    previous: None when nobody knows what hangs.
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


def count_changes(cells: Sequence[Cell]) -> int:
    """How often a person has to change something between the first and the last of these runs."""
    return sum(a.place != b.place for a, b in pairwise(cells))


def dynamixel_plan() -> GridPlan:
    """The paper's grid for MX-64 and MX-106."""
    return GridPlan(
        masses=(0.5, 1.0, 1.5),
        lengths=(0.1, 0.15, 0.2),
        kps=(4.0, 8.0, 16.0, 32.0),
        title="Paper, Dynamixel",
        source=SOURCE,
    )


def erob_plan() -> GridPlan:
    """The paper's grid for the eRob80."""
    return GridPlan(
        masses=(3.1, 8.2, 12.7, 14.6, 19.6),
        lengths=(0.5,),
        kps=(10.0, 25.0, 50.0, 100.0),
        title="Paper, eRob80",
        source=SOURCE,
    )


def scaled_plan(spec: ServoSpec) -> GridPlan:
    """The paper's Dynamixel grid for a servo it does not name.

    Masses are scaled with the stall torque against the MX-106's, gains with the default gain, so that the load asks
    as much of the servo and the controller is as soft or stiff as there.
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
    """The grid to begin with: the paper's where it names the servo, else the one scaled to it."""
    if spec.name.startswith("erob80"):
        return erob_plan()
    return dynamixel_plan() if spec.name in ("mx64", "mx106") else scaled_plan(spec)


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
