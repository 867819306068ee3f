"""Recording of several planned runs one after the other, or of a whole grid."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from core.base.errors import InputError
from core.base.interrupt import Interrupt
from core.motion.recording import RunHeader, SinkDescription, run_header
from core.motion.trajectories import Trajectory
from core.practice.plan import PLAN_DOCUMENT, Cell, GridPlan, PlanStatus, changes_by_hand, status
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.settings import ServoSettings
from drivers.recorder.inline import record_inline
from drivers.recorder.recorder import Recorder
from drivers.recorder.run import RunResult
from drivers.registry import ServoAddress, open_servo
from drivers.servo import ServoIdentity

LOG = logging.getLogger(__name__)
USUAL_RATE = 200.0
"""Default sample rate [Hz]."""
FAST_OPTION = ("clock", "virtual")
Show = Callable[[float, str], None]
"""Called with the completed share, 0 … 1, and a progress message."""
Ask = Callable[[str], bool]
"""Called with a change to make at the bench; returns True once it is done, False to stop."""


class RunStore(Protocol):
    """The session that runs are recorded into: `sessions.Session`, which this package does not know."""

    def require_servo(self, header: RunHeader) -> None:
        """Raise AnotherServoError if the session has runs of another kind of servo."""
        ...

    def sink(self) -> SinkDescription:
        """Return the place where the recorder stores a run."""
        ...

    def runs(self) -> Sequence[Any]:
        """Return summaries of the finished runs."""
        ...

    def annotations(self) -> Mapping[str, Any]:
        """Return the annotations by run id."""
        ...

    def set_document(self, name: str, data: Any) -> None:
        """Replace a document of the session."""
        ...


OpenStore = Callable[[], RunStore]
"""Opens the session, or creates it; called only after the servo has answered."""


@dataclass(frozen=True, kw_only=True)
class RecordingPlan:
    """Trajectories with one bench and one set of gains; None: the catalogue's value."""

    servo: str
    """Address of the servo, e.g. "simulated:mx106"."""
    trajectories: tuple[Trajectory, ...]
    bench: Bench
    kp: float | None = None
    ki: float = 0.0
    kd: float = 0.0
    supply_voltage: float | None = None
    damping: float | None = None
    rate: float | None = None
    """Sample rate [Hz]; None: USUAL_RATE, or the nearest rate at which the servo's samples are equidistant."""
    fast: bool = False
    """Run faster than real time, in this process; simulated servos only."""

    def settings(self, servo: str) -> ServoSettings:
        """Return the settings for a servo of the catalogue."""
        spec = load_servo(servo)
        return ServoSettings(
            servo=spec.name,
            kp=spec.default_kp if self.kp is None else self.kp,
            ki=self.ki,
            kd=self.kd,
            supply_voltage=self.supply_voltage or spec.supply_voltage,
            damping=self.damping,
        )


@dataclass(frozen=True)
class RecordedRun:
    """Outcome of one run."""

    id: str
    trajectory: str
    exit_status: str
    reason: str
    samples: int
    skipped_cycles: int
    bus_errors: int

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return dict(self.__dict__)


def record_plan(plan: RecordingPlan, open_store: OpenStore, show: Show) -> list[RecordedRun]:
    """Record every trajectory of a plan and return the outcome of each run.

    Recording stops at the first failed run and on an interrupt; recorded runs are kept.

    Raises:
        AnotherServoError: The session has runs of another kind of servo.
        ServoBenchError: The servo does not answer, or the session cannot be written.
    """
    address = _address(plan)
    runs = [_Run(trajectory, plan.bench, plan.kp) for trajectory in plan.trajectories]
    return _record(plan, address, runs, partial(_checked, open_store, plan, runs[:1]), show, _no_change)


def record_grid(
    grid: GridPlan, plan: RecordingPlan, open_store: OpenStore, show: Show, ask: Ask
) -> tuple[list[RecordedRun], PlanStatus]:
    """Record the missing runs of a grid and store the grid with the session.

    Recording stops as in `record_plan`, and if ask returns False.

    Args:
        grid: Conditions to record.
        plan: Servo, and bench and gains that the grid does not set.
        open_store: Opens or creates the session.
        show: Called with the completed share and a message.
        ask: Called before each manual change of the bench, never for a simulated servo.

    Returns:
        The outcome of each new run, and the status of the grid.

    Raises:
        AnotherServoError: The session has runs of another kind of servo.
        ServoBenchError: The servo does not answer, or the session cannot be written.
    """
    address = _address(plan)
    servo = identity_at(address)
    session = _checked(open_store, plan, _runs(plan, grid, grid.cells()[:1]), servo)
    missing = grid_status(session, grid, servo.model).pending
    session.set_document(PLAN_DOCUMENT, grid.to_json())
    results = _record(plan, address, _runs(plan, grid, missing), lambda _: session, show, ask)
    return results, grid_status(session, grid, servo.model)


def grid_status(session: RunStore, grid: GridPlan, servo: str = "") -> PlanStatus:
    """Return which conditions of a grid a session contains; excluded runs do not count."""
    excluded = {run for run, note in session.annotations().items() if note.excluded}
    return status(grid, session.runs(), servo, excluded)


def identity_at(address: ServoAddress) -> ServoIdentity:
    """Return the identity of the servo at an address, which is asked for it; raises DriverError."""
    with address.open() as servo:
        return servo.connect()


def _checked(open_store: OpenStore, plan: RecordingPlan, runs: Sequence[_Run], servo: ServoIdentity) -> RunStore:
    """Open or create the session for runs of a servo; raises AnotherServoError."""
    session = open_store()
    for run in runs:
        session.require_servo(servo.signed(_header(plan, servo, run)))
    return session


def _runs(plan: RecordingPlan, grid: GridPlan, cells: Sequence[Cell]) -> list[_Run]:
    return [_Run(grid.trajectory(cell), cell.bench(plan.bench), cell.kp) for cell in cells]


@dataclass(frozen=True)
class _Run:
    trajectory: Trajectory
    bench: Bench
    kp: float | None

    @property
    def place(self) -> tuple[float, float]:
        """Length [m] and mass [kg], which are changed by hand."""
        return self.bench.length, self.bench.mass


def _address(plan: RecordingPlan) -> ServoAddress:
    address = ServoAddress.parse(plan.servo)
    if not plan.fast:
        return address
    if address.family != "simulated":
        raise InputError("only a simulated servo can be recorded faster than real time")
    return replace(address, options=(*address.options, FAST_OPTION))


def _no_change(change: str) -> bool:
    """Answer for plans without a change of the bench."""
    return True


def _record(
    plan: RecordingPlan,
    address: ServoAddress,
    runs: Sequence[_Run],
    store: Callable[[ServoIdentity], RunStore],
    show: Show,
    ask: Ask,
) -> list[RecordedRun]:
    if not runs:
        return []
    if plan.fast:
        return _record_fast(plan, address, runs, store, show)
    by_hand = _no_change if address.family == "simulated" else ask
    return _record_live(plan, runs, store, show, by_hand)


def _warn(servo: ServoIdentity, runs: Sequence[_Run]) -> None:
    """Warn of what the servo says, and about the heaviest load if the servo cannot hold it."""
    for warning in servo.warnings:
        LOG.warning("%s", warning)
    heaviest = max((run.bench for run in runs), key=lambda bench: bench.gravity_torque)
    if weak := load_servo(servo.model).too_weak(heaviest):
        LOG.warning("%s", weak)


def _header(plan: RecordingPlan, servo: ServoIdentity, run: _Run) -> RunHeader:
    settings = plan.settings(servo.model)
    if run.kp is not None:
        settings = replace(settings, kp=run.kp)
    rate = plan.rate or servo.regular_rate(USUAL_RATE)
    return run_header(run.trajectory, run.bench, settings, rate, plan.servo)


def _recorded(trajectory: Trajectory, result: RunResult) -> RecordedRun:
    return RecordedRun(
        result.id,
        trajectory.name,
        result.exit_status,
        result.reason or result.shortfall,
        result.samples,
        result.skipped_cycles,
        result.bus_errors,
    )


def _record_fast(
    plan: RecordingPlan,
    address: ServoAddress,
    runs: Sequence[_Run],
    store: Callable[[ServoIdentity], RunStore],
    show: Show,
) -> list[RecordedRun]:
    recorded: list[RecordedRun] = []
    servo = open_servo(address.source())
    try:
        identity = servo.connect()
        session = store(identity)
        _warn(identity, runs)
        for number, run in enumerate(runs):
            show(number / len(runs), run.trajectory.title)
            header = _header(plan, identity, run)
            recorded.append(_recorded(run.trajectory, record_inline(servo, run.trajectory, header, session.sink())))
            if recorded[-1].exit_status != "success":
                break
    finally:
        servo.close()
    return recorded


def _record_live(
    plan: RecordingPlan, runs: Sequence[_Run], store: Callable[[ServoIdentity], RunStore], show: Show, ask: Ask
) -> list[RecordedRun]:
    recorded: list[RecordedRun] = []
    hung: tuple[float, float] | None = None
    with Recorder(plan.servo) as recorder, Interrupt() as interrupt:
        identity = recorder.start()
        session = store(identity)
        _warn(identity, runs)
        for number, run in enumerate(runs):
            change = changes_by_hand(hung, run.place)
            # The servo is released meanwhile, since the recorder expects heartbeats only during a run.
            if change and not ask(change):
                break
            hung = run.place
            recorder.record(run.trajectory, _header(plan, identity, run), session.sink())

            def look(state: Any, number: int = number, run: _Run = run) -> None:
                share = state.done / max(state.length, 1)
                show((number + share) / len(runs), f"{run.trajectory.title}: {state.phase.name.lower()}")
                if interrupt.news():
                    recorder.abort()

            recorded.append(_recorded(run.trajectory, recorder.wait(progress=look)))
            if interrupt.asked or recorded[-1].exit_status != "success":
                break
    return recorded
