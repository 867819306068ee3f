"""Placement without the window: measure both extremes of each torque in turn and store them in a session.

A seeker moves the pendulum to the extremes: a `VirtualHand` on a simulated servo, the user at the terminal on a real
one. On the virtual clock a whole diagram takes seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from bench_gui.headless.place.rests import (
    DOCUMENT,
    HOLD_NAME,
    READINGS,
    SAME_TORQUE,
    Rest,
    RestFinder,
    Target,
    placed_point,
)
from bench_gui.headless.place.virtual_hand import VirtualHand
from core.base.errors import InputError, ServoBenchError
from core.motion.recording import RunHeader
from core.practice.placement import (
    REST_TIME,
    SIDES,
    PlacedPoint,
    boundary_torque,
    points_from_json,
    points_to_json,
    redone,
    suggest_torques,
)
from core.servo.bench import Bench
from core.servo.catalogue import load_servo
from core.servo.model import ServoModel
from core.servo.settings import ServoSettings
from core.servo.shipped import load_model, shipped_models
from drivers.recorder import InlineHold, Recorder
from drivers.recorder.messages import HoldEnded
from drivers.recorder.run import Phase
from drivers.registry import resolve
from drivers.servo import ServoIdentity
from drivers.simulated.hand import SharedHand
from drivers.simulated.source import SimulatedSource
from sessions import Session

LOOK_PERIOD = 0.01
"""Time between two samples of a servo in real time [s]."""
SETTLE_LIMIT = 30.0
"""Time limit for the pendulum to come to rest under a held torque [s]."""


@dataclass(frozen=True, kw_only=True)
class PlacementPlan:
    """Torques to hold on one bench; None: chosen for the bench."""

    servo: str
    """Address of the servo, e.g. "simulated:mx106"."""
    bench: Bench
    torques: tuple[float, ...] | None = None
    """Motor torques [N·m]."""
    repeats: int = 1
    steady_time: float = REST_TIME
    """Minimum duration of a rest [s]."""
    rate: float = 200.0
    """Sample rate [Hz]."""
    fast: bool = False
    """Run faster than real time, in this process; simulated servos only."""


@dataclass(frozen=True)
class Sample:
    """One sample of a servo that holds a torque."""

    time: float
    """Time of the servo's clock [s]."""
    position: float
    """Position of the servo [rad]."""
    torque: float
    """Currently held torque [N·m]."""
    readings: dict[str, float]


class Seeker(Protocol):
    """Moves the pendulum to an extreme: the user, or a virtual hand."""

    best: Rest | None
    """Outermost rest found so far."""

    @property
    def fell(self) -> float | None:
        """Nearest angle beyond it at which the pendulum did not stay [rad]; None if there was none."""
        ...

    def steady(self, torque: float) -> None:
        """Keep the pendulum from swinging while the servo builds up a torque [N·m]."""
        ...

    def seek(self, target: Target) -> None:
        """Release the pendulum and start with an extreme."""
        ...

    @property
    def done(self) -> bool:
        """True if the extreme was found or given up."""
        ...

    def look(self, time: float, position: float) -> None:
        """Process a sample [s, rad]."""
        ...


class Held(Protocol):
    """Servo that holds a torque."""

    def take(self, torque: float) -> list[Sample]:
        """Hold a torque [N·m] and return the samples since the last call; raise DriverError once holding has ended."""
        ...


def place_points(
    plan: PlacementPlan,
    session_path: str | Path,
    person: Callable[[float, float], Seeker],
    show: Callable[[str], None],
    missed: Callable[[str], None] | None = None,
) -> list[PlacedPoint]:
    """Place both extremes of every torque of a plan; each is stored as soon as it is found.

    Args:
        plan: Torques, servo and bench.
        session_path: Session, created if needed.
        person: Creates the seeker for a real servo, from its position step [rad] and the minimum rest [s].
        show: Called with progress messages.
        missed: Called with each extreme that was not placed, and why. None: `show`.

    Returns:
        The placed points.

    Raises:
        AnotherServoError: The session has runs or points of another kind of servo.
        ServoBenchError: The servo failed or no torque can be held; placed points are kept.
    """
    with held_servo(plan) as (identity, held, hand):
        identity.require_torque()
        torques = plan.torques if plan.torques is not None else _suggested(plan, identity.model)
        session = Session.open_or_create(session_path)
        header = identity.signed(_header(plan, identity.model))
        session.require_servo(header)
        seeker = (
            VirtualHand(hand, plan.bench, identity.position_step, plan.steady_time)
            if hand is not None
            else person(identity.position_step, plan.steady_time)
        )
        targets = [Target(t, r, side) for t in torques for r in range(1, plan.repeats + 1) for side in SIDES]
        placed: list[PlacedPoint] = []
        for target in targets:
            show(f"{target.torque:g} N·m: {target.place}")
            if not placed or placed[-1].motor_torque != target.torque:
                seeker.steady(target.torque)
            found = _find(held, seeker, target, plan, identity.position_step, header)
            if isinstance(found, str):
                (missed or show)(f"{target.torque:g} N·m: no {target.place}: {found}")
                continue
            placed.append(found)
            kept = redone(points_from_json(session.document(DOCUMENT)), found)
            session.set_document(DOCUMENT, points_to_json(kept))
        # Without the torque the pendulum sinks; the seeker keeps it from swinging.
        seeker.steady(0.0)
    return placed


def known_model(servo: str) -> ServoModel | None:
    """Return the richest shipped model of a servo, None if there is none."""
    variants = shipped_models(servo)
    return load_model(servo, variants[-1]) if variants else None


def summary(points: list[PlacedPoint], model: ServoModel | None) -> list[dict[str, Any]]:
    """Return one row per torque and repetition, with the boundaries of a model beside the measured ones; SI units."""
    lines: dict[tuple[float, int], dict[str, Any]] = {}
    for point in points:
        line = lines.setdefault(
            (point.motor_torque, point.repeat),
            {"motor_torque": point.motor_torque, "repeat": point.repeat}
            | dict.fromkeys(("lowest", "highest", "drive", "backdrive", "model_drive", "model_backdrive")),
        )
        line["lowest" if point.side == "drive" else "highest"] = point.angle
        line[point.side] = point.external_torque
        if model is not None:
            line[f"model_{point.side}"] = boundary_torque(model, point.motor_torque, point.side)
    return list(lines.values())


def _suggested(plan: PlacementPlan, servo: str) -> tuple[float, ...]:
    suggestion = suggest_torques(known_model(servo) or load_servo(servo), plan.bench)
    if not suggestion.torques:
        raise InputError(f"no torque suits this bench: {suggestion.reason}")
    return suggestion.torques


def _find(
    held: Held, seeker: Seeker, target: Target, plan: PlacementPlan, position_step: float, header: RunHeader
) -> PlacedPoint | str:
    """Find one extreme; return a reason if there is none."""
    _settle(held, target.torque, RestFinder(position_step, plan.steady_time))
    seeker.seek(target)
    sample = None
    while not seeker.done:
        for sample in held.take(target.torque):
            seeker.look(sample.time, sample.position)
    if seeker.best is None or sample is None:
        return "skipped"
    refusal = seeker.best.refusal(target.torque, plan.bench)
    return refusal or placed_point(target, seeker.best, header, sample.readings, seeker.fell)


def _settle(held: Held, torque: float, finder: RestFinder) -> None:
    """Wait until the torque is reached and the pendulum rests."""
    begin = math.nan
    while not finder.settled:
        for sample in held.take(torque):
            if math.isnan(begin):
                begin = sample.time
            if sample.time - begin > SETTLE_LIMIT:
                raise ServoBenchError(
                    f"the pendulum did not come to rest within {SETTLE_LIMIT:g} s at {torque:g} N·m; "
                    "hold a smaller torque or hang more mass on it"
                )
            if abs(sample.torque - torque) <= SAME_TORQUE:
                finder.feed(sample.time, sample.position, True)


@contextmanager
def held_servo(plan: PlacementPlan) -> Iterator[tuple[ServoIdentity, Held, SharedHand | None]]:
    """Yield the servo of a plan, ready to hold a torque, and the hand of a simulated one."""
    source: Any = resolve(plan.servo)
    hand = SharedHand() if isinstance(source, SimulatedSource) else None
    if hand is not None:
        source = replace(source, hand=hand, **({"clock": "virtual"} if plan.fast else {}))
    elif plan.fast:
        raise InputError("only a simulated servo can be measured faster than real time")
    if plan.fast:
        with source.open() as servo:
            identity = servo.connect()
            with InlineHold(servo, _header(plan, identity.model)) as hold:
                yield identity, _HeldHere(hold), hand
        return
    with Recorder(source) as recorder:
        identity = recorder.start()
        held = _HeldThere(recorder, _header(plan, identity.model))
        yield identity, held, hand
        held.end()


def _header(plan: PlacementPlan, servo: str) -> RunHeader:
    spec = load_servo(servo)
    settings = ServoSettings(servo=spec.name, kp=spec.default_kp, supply_voltage=spec.supply_voltage)
    origin = {"servo_address": plan.servo}
    return RunHeader(trajectory=HOLD_NAME, bench=plan.bench, settings=settings, rate=plan.rate, provenance=origin)


class _HeldHere:
    """Torque held by a simulated servo in this process."""

    def __init__(self, hold: InlineHold) -> None:
        self._hold = hold

    def take(self, torque: float) -> list[Sample]:
        seen = self._hold.step(torque)
        readings = {name: getattr(seen.reading, name) for name in READINGS}
        return [Sample(seen.clock, seen.reading.position, seen.torque, readings)]


class _HeldThere:
    """Torque held by a servo in the recorder's process."""

    def __init__(self, recorder: Recorder, header: RunHeader) -> None:
        self._recorder, self._header = recorder, header
        self._rows = recorder.reader()
        self._torque = math.nan

    def take(self, torque: float) -> list[Sample]:
        recorder = self._recorder
        if math.isnan(self._torque):
            recorder.hold(torque, self._header)
        elif torque != self._torque:
            recorder.set_torque(torque)
        self._torque = torque
        time.sleep(LOOK_PERIOD)
        self._listen()
        rows = self._rows.read().rows
        return [
            Sample(
                float(row["clock"]),
                float(row["position"]),
                float(row["held_torque"]),
                {name: float(row[name]) for name in READINGS},
            )
            for row in rows[rows["phase"] == Phase.HOLD]
        ]

    def end(self) -> None:
        """Ramp the torque down and wait until the servo is released."""
        if self._recorder.holding:
            self._recorder.end_hold()
        while self._recorder.holding:
            time.sleep(LOOK_PERIOD)
            self._listen()

    def _listen(self) -> None:
        self._recorder.beat()
        for event in self._recorder.poll():
            if isinstance(event, HoldEnded) and event.exit_status != "success":
                raise ServoBenchError(f"the servo stopped holding the torque: {event.reason}")
