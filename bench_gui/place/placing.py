"""Measurement of drive and backdrive torque by hand: the next extreme, the held torque, the session's points.

The servo holds a torque. Each rest of the pendulum is a candidate for the sought extreme, and the outermost becomes a
point of the session at once, so nothing is lost when the hold ends early. Points can be undone, motion
cannot.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum, auto

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.headless.place.pushes import UNKNOWN, Pushes, gentle_torques, statement
from bench_gui.headless.place.rests import (
    HOLD_NAME,
    READINGS,
    SAME_TORQUE,
    Falls,
    Rest,
    RestFinder,
    Target,
    placed_point,
)
from bench_gui.place.hand import PendulumHand
from bench_gui.place.hold_plan import HoldPlan
from bench_gui.place.placed_points import PlacedPoints
from bench_gui.state.library import Library
from bench_gui.state.models import ModelList
from bench_gui.state.servo_link import ServoLink
from bench_gui.state.setup import BenchSetup
from core.base.errors import ServoBenchError
from core.base.units import fixed
from core.motion.recording import RunHeader
from core.practice.placement import (
    REST_TIME,
    SIDES,
    PlacedPoint,
    redone,
)
from core.servo.bench import Bench
from drivers.recorder import Phase
from drivers.recorder.messages import HoldEnded
from drivers.servo import ServoState


class Stage(Enum):
    """Stage of the measurement."""

    IDLE = auto()
    """Nothing is held; the motor is off."""
    STARTING = auto()
    """The torque is rising, or the pendulum has not come to rest under it yet."""
    MEASURING = auto()
    """The user moves the pendulum and lets go."""
    ENDING = auto()
    """The torque returns to zero."""


class Placing(QObject):
    """Places points by hand, or with the mouse on a simulated servo."""

    changed = Signal()
    """The stage, the target or the instruction has changed."""
    plan_changed = Signal()
    """The torques, the repeats or the capture settings have changed."""
    problem = Signal(str)

    def __init__(
        self, servo: ServoLink, setup: BenchSetup, library: Library, model_list: ModelList, undo: QUndoStack
    ) -> None:
        super().__init__()
        self._servo, self._setup, self._library = servo, setup, library
        self.plan = HoldPlan(setup, model_list)
        self._placed = PlacedPoints(library, undo)
        self.points_changed = self._placed.changed
        self.hand = PendulumHand(servo, lambda: self.bench, lambda: self._gentle)
        self.backlash = False
        """True if backlash is measured, False if extremes are placed."""
        self.pushes: Pushes | None = None
        """The present or last measurement of backlash."""
        self.auto = True
        """True if rests are captured automatically, False if by the key."""
        self.steady_time = REST_TIME
        """[s]"""
        self.stage = Stage.IDLE
        self.target: Target | None = None
        """The sought extreme, or the first of the next hold."""
        self.newest: Rest | None = None
        """The last rest of the pendulum in this search."""
        self.note = ""
        """Result of the last rest or capture, as text for the user."""
        self._header: RunHeader | None = None
        self._finder = RestFinder(0.0, self.steady_time)
        self._captured = False
        self._falls: Falls | None = None
        self._return_to: Target | None = None
        self._aim()
        servo.rows.connect(self._take)
        servo.hold_ended.connect(self._ended)
        servo.connected.connect(self._connected)
        self.plan.changed.connect(self._replan)
        self._placed.problem.connect(self.problem)
        self._placed.changed.connect(self._points_changed)
        library.locked_changed.connect(self.changed)
        setup.changed.connect(self._suggest)
        model_list.current_changed.connect(self._suggest)

    # Queries.

    @property
    def active(self) -> bool:
        """True while a torque is held, or about to be."""
        return self.stage is not Stage.IDLE

    @property
    def bench(self) -> Bench:
        """The bench that is, or would be, measured."""
        return self._header.bench if self._header is not None and self.active else self._setup.bench

    @property
    def level(self) -> float:
        """Steadiness of the pendulum, 0 … 1."""
        return self._finder.level if self.active and (self.backlash or not self.hand.pulling) else 0.0

    @property
    def torque(self) -> float | None:
        """Torque of the present or next hold [N·m]; None if there is none to hold."""
        return 0.0 if self.backlash else self.target.torque if self.target is not None else None

    @property
    def obstacle(self) -> str:
        """Reason why no point can be placed now; empty if one can."""
        identity = self._servo.identity
        return (identity.no_torque if identity is not None else "") or self._library.obstacle

    @property
    def points(self) -> tuple[PlacedPoint, ...]:
        """Points of the open session."""
        return self._placed.points

    @property
    def best(self) -> PlacedPoint | None:
        """The outermost rest found in this search."""
        return self.placed(self.target) if self._captured else None

    def bracketed(self, target: Target | None) -> bool:
        """Return True if the pendulum was seen to rest at an extreme and to fall beyond it."""
        point = self.placed(target)
        return point is not None and point.fell is not None

    @property
    def complete(self) -> bool:
        """True if every extreme of the plan is placed."""
        plan = self.plan.targets
        return bool(plan) and all(self.placed(target) is not None for target in plan)

    @property
    def following(self) -> Target | None:
        """The extreme after the present target; None if it is the last."""
        if self._return_to is not None:
            return self._return_to
        plan = self.plan.targets
        begin = plan.index(self.target) + 1 if self.target in plan else 0
        return next((target for target in plan[begin:] if self.placed(target) is None), None)

    def known_range(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Lowest and highest rest, and the falls beyond, at the present torque and repeat [rad]; NaN if unknown."""
        nothing, target = (math.nan, math.nan), self.target
        if self.backlash:
            angles = [push.angle for push in self.pushes.done] if self.pushes is not None else []
            return (min(angles, default=math.nan), max(angles, default=math.nan)), nothing
        if target is None:
            return nothing, nothing
        low, high = (self.placed(Target(target.torque, target.repeat, side)) for side in SIDES)
        rests = tuple(math.nan if p is None else p.angle for p in (low, high))
        falls = tuple(math.nan if p is None or p.fell is None else p.fell for p in (low, high))
        return (rests[0], rests[1]), (falls[0], falls[1])

    # Requests.

    def set_backlash(self, backlash: bool) -> None:
        """Measure backlash from the next hold on, or place extremes."""
        if not self.active:
            self.backlash, self.note = backlash, ""
            self._replan()

    def set_auto(self, auto: bool) -> None:
        """Capture rests automatically, or only on request."""
        self.auto = auto
        self.plan_changed.emit()

    def set_steady_time(self, time: float) -> None:
        """Set how long the pendulum must stay still [s]."""
        self.steady_time = time
        self._finder = RestFinder(self._step, time)
        self.plan_changed.emit()

    def hold(self) -> None:
        """Hold the target's torque, 0 for backlash; points go into the open session, or into a new one."""
        identity = self._servo.identity
        if self.active:
            return
        if identity is None or self._servo.view.state is not ServoState.READY or self._servo.busy:
            self.problem.emit("the servo is not ready to hold a torque; connect it, or acknowledge its fault")
        elif identity.no_torque:
            self.problem.emit(identity.no_torque)
        elif self.torque is None:
            self.problem.emit("there is no torque to hold; enter some, e.g. 0.3, 0.6")
        else:
            header = RunHeader(
                trajectory=HOLD_NAME,
                bench=self._setup.bench,
                settings=replace(self._setup.settings, servo=identity.model),
                rate=self._setup.rate,
                provenance={"servo_address": self._servo.address},
            )
            self._header = signed = identity.signed(header)
            self._enter(Stage.STARTING)
            if self.backlash:
                self._begin(header)
            else:
                self._library.sink_for(signed, lambda _: self._begin(header), self._fail)

    def capture(self) -> None:
        """Take the pendulum's present rest as a candidate; refused while it moves."""
        if self.stage is not Stage.MEASURING:
            return
        rest = self._finder.now()
        if rest is None:
            wait = "Push it and hold it still" if self.backlash else "Let go and wait"
            self.note = f"Nothing was captured: the pendulum still moves. {wait} until the ring is full."
            self.changed.emit()
        elif self.backlash:
            self._take_push(rest)
        else:
            self._take_rest(rest)

    def next(self) -> None:
        """Accept this extreme and seek the next; after the last one the servo releases the torque."""
        following = self.following
        self._return_to = None
        if following is None:
            self.release()
        else:
            self.seek(following)

    def seek(self, target: Target) -> None:
        """Seek another extreme, now or with the next hold."""
        before, holding = self.target, self.stage in (Stage.STARTING, Stage.MEASURING)
        if holding and (reason := self._refusal(target.torque)):
            self.problem.emit(reason)
            return
        self.target = target
        self._begin_search()
        if not holding or (before is not None and before.torque == target.torque):
            self._finder.expect_move()
            self.changed.emit()
            return
        self._finder.restart()
        try:
            self._servo.set_torque(target.torque)
        except ServoBenchError as error:
            self.problem.emit(str(error))
        self._enter(Stage.STARTING)

    def again(self, target: Target) -> None:
        """Measure an extreme again; afterwards the search continues where it was."""
        if self.active and self.target is not None and self._return_to is None and target != self.target:
            self._return_to = self.target
        self.seek(target)

    def delete(self, target: Target) -> None:
        """Delete a point; can be undone."""
        point = self.placed(target)
        if point is not None:
            rest = tuple(other for other in self.points if other is not point)
            self._placed.replace(f"delete the {target.place} at {target.torque:g} N·m", rest)

    def release(self) -> None:
        """Lower the torque to zero and switch the motor off; the points stay."""
        if self.stage in (Stage.STARTING, Stage.MEASURING):
            self._enter(Stage.ENDING)
            self._servo.end_hold()

    # Internal.

    @property
    def _step(self) -> float:
        identity = self._servo.identity
        return identity.position_step if identity is not None else 0.0

    @property
    def _gentle(self) -> float:
        """Torque with which the hand pushes [N·m]; 0 unless it measures backlash."""
        pushes = self.pushes
        return (
            abs(pushes.present or pushes.planned[-1]) if self.backlash and self.active and pushes is not None else 0.0
        )

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self.changed.emit()

    def _fail(self, message: str) -> None:
        self._enter(Stage.IDLE)
        self.problem.emit(message)

    def _begin(self, header: RunHeader) -> None:
        torque = self.torque
        if self.stage is not Stage.STARTING or torque is None:
            return
        self._finder = RestFinder(self._step, self.steady_time)
        self._begin_search()
        reason = self._refusal(torque)
        if reason:
            self._fail(reason)
            return
        try:
            if self.backlash:
                sizes = gentle_torques(header.settings.servo) if self.hand.drawn else UNKNOWN
                self.pushes = Pushes(sizes, self.plan.repeats, self._step)
            self._servo.hold(torque, header)
        except ServoBenchError as error:
            self._fail(str(error))

    def _begin_search(self) -> None:
        self.newest, self.note, self._captured = None, "", False
        self._falls = Falls(self.target) if self.target is not None and not self.backlash else None

    def _refusal(self, torque: float) -> str:
        limits = self._servo.limits
        if limits is None or abs(torque) <= limits.torque:
            return ""
        return (
            f"a torque of {torque:g} N·m is beyond the servo's limit of {limits.torque:g} N·m; remove it from the list"
        )

    def _take(self, rows: np.ndarray) -> None:
        target = self.target
        if self.stage not in (Stage.STARTING, Stage.MEASURING):
            return
        for row in rows[rows["phase"] == Phase.HOLD]:
            if self.backlash:
                self._push(float(row["clock"]), float(row["position"]))
                continue
            if target is None or not abs(float(row["held_torque"]) - target.torque) <= SAME_TORQUE:
                self._finder.restart()
                continue
            rest = self._finder.feed(float(row["clock"]), float(row["position"]), not self.hand.pulling)
            if self.stage is Stage.STARTING and self._finder.settled:
                self._enter(Stage.MEASURING)
            if rest is not None:
                self.newest = rest
                fell = self._falls is not None and self._falls.note(rest, self._finder.steadiness.band)
                if self.auto:
                    self._take_rest(rest)
                else:
                    self.note = "It rests. Press the capture key to keep this angle."
                if fell:
                    self._take_fall()
                self.changed.emit()

    def _push(self, time: float, position: float) -> None:
        """Process a sample [s, rad] of a load to push; only a push of the drawn hand is captured automatically."""
        present = self.pushes.present if self.pushes is not None else None
        if present is None or self.stage is Stage.ENDING:
            return
        if self.stage is Stage.STARTING:
            self._enter(Stage.MEASURING)
        self._finder.feed(time, position, not self.hand.drawn or self.hand.way * present > 0.0)
        rest = self._finder.now()
        if rest is not None and self.hand.drawn and self.auto:
            self._take_push(rest)

    def _take_push(self, rest: Rest) -> None:
        pushes = self.pushes
        if pushes is None or pushes.present is None:
            return
        pushes.capture(rest.angle)
        self._finder.restart()
        self.note = f"Captured push {len(pushes.done)} of {len(pushes.planned)}."
        if pushes.found is not None:
            self.note += f" Backlash so far: {statement(pushes.found)}."
        if pushes.present is None:
            self.release()
        self.changed.emit()

    def _take_rest(self, rest: Rest) -> None:
        target, header = self.target, self._header
        if target is None or header is None:
            return
        self.newest = rest
        self.note = rest.refusal(target.torque, header.bench)
        if self.note:
            self.note = f"Not a point of the diagram: {self.note}."
            self.changed.emit()
            return
        readings = {name: getattr(self._servo.view, name) for name in READINGS}
        fell = self._falls.beyond(rest.angle) if self._falls is not None else None
        point = placed_point(target, rest, header, readings, fell)
        best = self.best
        if best is not None and target.outermost(best, point) is best:
            word = "lower" if target.place == "lowest" else "higher"
            self.note = f"It rests here too, but it rested {word} before: that point stays."
        else:
            self.note = f"Captured: the {target.place} so far."
            self._placed.replace(f"place the {target.place} at {target.torque:g} N·m", redone(self.points, point))
            self._captured = True
        self.changed.emit()

    def _take_fall(self) -> None:
        """Narrow the bracket of the best rest with the nearest fall beyond it."""
        best, target = self.best, self.target
        if best is None or target is None or self._falls is None:
            return
        fell = self._falls.beyond(best.angle)
        if fell != best.fell:
            narrower = replace(best, fell=fell)
            self._placed.replace(
                f"see it fall at {target.torque:g} N·m", tuple(narrower if p is best else p for p in self.points)
            )
        if fell is not None:
            width = abs(fell - best.angle)
            self.note = f"It fell: the {target.place} lies within {fixed(1e3 * width, 0)} mrad."

    def placed(self, target: Target | None) -> PlacedPoint | None:
        """Return the point of an extreme on this bench, None if it is not placed."""
        bench, servo = self.bench, self._setup.spec.name
        return next(
            (
                p
                for p in self.points
                if target is not None and target.matches(p) and (p.servo, p.bench) == (servo, bench)
            ),
            None,
        )

    def _points_changed(self) -> None:
        self._captured = self._captured and self.placed(self.target) is not None
        if not self.active:
            self._aim()
        self.changed.emit()

    def _aim(self) -> None:
        """Start with the first extreme that is not known yet."""
        plan = self.plan.targets
        self.target = next((t for t in plan if self.placed(t) is None), plan[0] if plan else None)

    def _replan(self) -> None:
        if not self.active:
            self._aim()
        self.plan_changed.emit()
        self.changed.emit()

    def _suggest(self) -> None:
        if not self.active:
            self.plan.suit()
        self._replan()

    def _connected(self, _: object) -> None:
        self.pushes = None
        # The program cannot detect a hand on a real pendulum: there the user confirms each rest.
        self.set_auto(self.hand.drawn)

    def _ended(self, event: HoldEnded) -> None:
        fell = event.exit_status == "fell"
        if fell and self._falls is not None:
            self._falls.note_last(self._finder.span)
            self._take_fall()
        said = "It moved." if self.backlash else self.note if fell else ""
        self._return_to = None
        self._begin_search()
        if fell:
            self.note = f"{said or 'It fell.'} It was fast, so the motor was switched off."
        self.stage = Stage.IDLE
        self._aim()
        if event.exit_status == "fail" and self._servo.view.state is not ServoState.FAULT:
            self.problem.emit(f"holding the torque ended early: {event.reason}")
        self.changed.emit()
