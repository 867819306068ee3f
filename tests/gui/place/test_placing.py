"""Placing by hand in the window: the drawn pendulum under the mouse, the key, the points and where they are kept."""

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui.controller import Controller
from bench_gui.headless.place.pushes import statement
from bench_gui.headless.place.rests import Falls, RestFinder, Target
from bench_gui.place.guidance import guidance
from bench_gui.place.placing import Stage
from bench_gui.place.view import PlaceView
from bench_gui.state.servo_link import ServoLink, ServoView
from core.base.errors import InputError
from core.base.units import DEGREES, fixed
from core.practice.placement import (
    PlacedPoint,
    boundary_torque,
    expected_angles,
    points_from_json,
    points_to_json,
    suggest_torques,
)
from core.servo.catalogue import load_servo
from core.servo.parameters import Parameter, ParameterSet
from core.servo.shipped import load_model
from drivers.recorder.link import EMERGENCY
from drivers.recorder.messages import HoldEnded
from drivers.recorder.run import LIVE_DTYPE, Phase
from drivers.servo import ServoIdentity, ServoState
from sessions import Session
from tests.gui.conftest import dispose
from tests.gui.mouse import drag_pendulum, see
from tests.waiting import FAST, wait_until

TRUTH = load_model("mx106", "m6")
others = pytest.mark.exhaustive("one backlash shows the way of the mouse; `bench place` measures them all")
MOUSE = 0.01
"""A mouse places the pendulum this finely [rad]."""


class Hands:
    """A person at the page: sees the drawn pendulum, drags it, presses buttons and keys."""

    def __init__(self, qtbot, controller, window, page):
        self.qtbot, self.controller, self.window, self.page = qtbot, controller, window, page
        self.placing, self.pendulum = controller.placing, page.pendulum
        self.problems = []
        controller.journal.said.connect(lambda said: self.problems.append(said.text) if said.level == "error" else None)

    @property
    def angle(self):
        return self.controller.servo.view.position

    def click(self, widget):
        assert widget.isVisible(), widget.accessibleName()
        assert widget.isEnabled(), f"{widget.accessibleName()}: {widget.toolTip()}"
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def until(self, condition):
        wait_until(condition, lambda: self.qtbot.wait(5), self.told)

    def told(self):
        placing = self.placing
        return f"{placing.stage}, {placing.note}, {placing.points}, {self.problems}, {self.controller.servo.view}"

    def connect(self):
        self.click(self.page.connect_button)
        self.until(lambda: self.controller.servo.view.state is ServoState.READY and math.isfinite(self.angle))

    def hold(self):
        self.click(self.page.go_button)
        self.until(lambda: self.placing.stage is Stage.MEASURING)

    def drag_to(self, goal):
        """Drag the drawn mass to an angle, let go, and return where it was."""
        return drag_pendulum(self.qtbot, self.controller.servo, self.pendulum, lambda: self.angle, goal, MOUSE, 0.2)

    def swing_out(self):
        """Wait until the pendulum, its motor off, has come to rest: where it turns its speed is none too."""
        self.until(lambda: self.moved_in(1.0) < 0.01)

    def moved_in(self, seconds):
        """Return the way of the pendulum in so much of the servo's time [rad]."""
        angles = [self.angle]
        listening = self.controller.servo.rows.connect(lambda rows: angles.extend(rows["position"]))
        see(self.qtbot, self.controller.servo, seconds)
        self.controller.servo.rows.disconnect(listening)
        return max(angles) - min(angles)

    def rest(self):
        """Wait until the pendulum stays where it is."""
        self.until(lambda: self.placing.level >= 1.0 or bool(self.problems))
        assert not self.problems
        return self.angle


@pytest.fixture
def hands(qtbot, tmp_path, monkeypatch):
    """The page in a window of its own, at a simulated MX-106 that lives faster than the machine."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    controller = Controller(FAST)
    controller.servo.stop_lock = 0.0
    window = QWidget()
    row = QHBoxLayout(window)
    page = PlaceView(controller)
    row.addWidget(page, 1)
    row.addWidget(page.inspector)
    window.resize(1200, 620)
    window.show()
    page.entered()
    yield Hands(qtbot, controller, window, page)
    window.hide()
    controller.close()
    dispose(window, controller)


def test_a_point_of_each_side_is_placed_drawn_and_kept_and_the_hold_ends_gently(hands):
    """At 0.9 N·m the pendulum rests between both boundaries; released at 0.88 rad it is lowered: no limit trips."""
    faults, page, placing = [], hands.page, hands.placing
    hands.controller.servo.faulted.connect(faults.append)
    hands.connect()
    type_torques(page, "0.9")
    hands.hold()
    assert not page.go_button.isEnabled(), "there is nothing to go on with yet, but to skip"
    assert page.skip_button.text() == "Skip the lowest"
    hands.drag_to(0.88)
    hands.rest()
    hands.until(lambda: placing.best is not None)
    hands.click(page.go_button)
    assert placing.target == Target(0.9, 1, "backdrive")
    hands.drag_to(hands.angle + 0.05)
    hands.until(lambda: placing.best is not None)
    assert [(point.side, point.motor_torque) for point in placing.points] == [("drive", 0.9), ("backdrive", 0.9)]
    low, high = sorted(boundary_torque(TRUTH, 0.9, side) for side in ("drive", "backdrive"))
    reach = 2.0 * MOUSE * placing.bench.gravity_torque
    for point in placing.points:
        assert low - reach <= point.external_torque <= high + reach
        assert point.supply_voltage == pytest.approx(15.0, abs=1.0)
        x, y = page.diagram.markers[point.side].getData()
        assert (x[0], y[0]) == pytest.approx((0.9, point.external_torque))
    session = Session.open(hands.controller.library.path)
    hands.until(lambda: points_from_json(session.document("placed_points")) == placing.points)
    hands.click(page.release_button)
    hands.until(lambda: placing.stage is Stage.IDLE)
    hands.until(lambda: hands.controller.servo.view.state is ServoState.READY)
    assert not faults
    assert not hands.problems
    assert abs(hands.angle) < 0.3


def test_the_fall_that_ends_the_search_is_no_fault(hands):
    """Far above the highest rest it falls faster than a hand may guide it: the motor goes off, and nothing is red."""
    faults, placing, servo = [], hands.placing, hands.controller.servo
    servo.faulted.connect(faults.append)
    hands.connect()
    type_torques(hands.page, "0.5")
    hands.hold()
    hands.click(hands.page.skip_button)
    assert placing.target.side == "backdrive"
    hands.drag_to(1.2)
    hands.until(lambda: placing.stage is Stage.IDLE)
    hands.until(lambda: servo.view.state is ServoState.READY)
    assert (faults, hands.problems, servo.view.fault) == ([], [], "")
    assert placing.note.endswith("It was fast, so the motor was switched off.")
    assert hands.page.state.property("state") == "ready"
    hands.swing_out()
    hands.hold()  # nothing has to be acknowledged


@pytest.mark.parametrize("degrees", [1.0, pytest.param(2.0, marks=others), pytest.param(0.0, marks=others)])
def test_planted_backlash_is_measured_with_the_mouse(hands, tmp_path, degrees):
    """Within a tenth, and two fifths of an encoder step; each push begins on the side that is asked for."""
    placing, form, pendulum = hands.placing, hands.page.torque_form, hands.pendulum
    term = replace(Parameter.of_term("backlash"), value=math.radians(degrees))
    planted = replace(TRUTH, parameters=ParameterSet([*TRUTH.parameters.values(), term]))
    (tmp_path / "true.json").write_text(planted.to_json_text(), "utf-8")
    hands.controller.connecting.choose_servo(f"{FAST}&model={tmp_path / 'true.json'}")
    hands.connect()
    measure_backlash(hands)
    assert (form.torques.isVisible(), hands.page.points.isVisible(), hands.page.diagram.isVisible()) == (False,) * 3
    form.repeats.setValue(2)
    hands.hold()
    assert not form.measured.isEnabled()
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(pendulum, button, keys, pendulum.mass.toPoint())
    for count in range(8):
        way = (1, -1)[count % 2]
        assert ("larger" if way > 0 else "smaller") in hands.page.instruction.text()
        if count == 1:
            see(hands.qtbot, hands.controller.servo, 1.5)
            assert len(placing.pushes.done) == 1, "it still leans on the other side"
        QTest.mouseMove(pendulum, pendulum.point_at(0.4 * way, 1.1).toPoint())
        hands.until(lambda count=count: len(placing.pushes.done) > count or bool(hands.problems))
    QTest.mouseRelease(pendulum, button, keys, pendulum.mass.toPoint())
    hands.until(lambda: placing.stage is Stage.IDLE)
    found = placing.pushes.found
    assert math.degrees(found.backlash) == pytest.approx(degrees, rel=0.1, abs=0.03)
    assert f"Measured backlash: {statement(found)}" in hands.page.instruction.text()
    low, high = placing.known_range()[0]
    assert high - low == pytest.approx(found.backlash, abs=0.003)
    assert (hands.problems, hands.controller.servo.view.fault) == ([], "")
    assert hands.controller.library.session is None, "it needs no session"


def test_backlash_is_captured_by_the_key_and_a_stop_switches_the_motor_off(hands):
    placing = hands.placing
    hands.connect()
    measure_backlash(hands)
    placing.set_auto(False)
    hands.hold()
    assert "Then press Space" in hands.page.instruction.text()
    placing.capture()
    assert "Push it and hold it still" in placing.note, "nobody pushes"
    hands.pendulum.setFocus()
    QTest.keyPress(hands.pendulum, Qt.Key.Key_Right)
    hands.until(lambda: placing.level >= 1.0)
    assert 0.0 < hands.controller.servo.hand.torque < 0.1, "it must not turn the motor"
    hands.click(hands.page.capture_button)
    assert placing.note == "Captured push 1 of 4."
    hands.controller.recording.emergency_stop()
    hands.until(lambda: placing.stage is Stage.IDLE)
    assert hands.controller.servo.view.state is ServoState.FAULT
    assert placing.pushes.found is None


def test_a_real_servo_holds_no_torque_and_only_the_key_captures(qapp, tmp_path, monkeypatch):
    """A push each way, of unknown size; an end by speed is no fault and keeps what was found."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    identity, held = ServoIdentity(model="mx106", title="MX-106", position_step=0.0015), []
    monkeypatch.setattr(ServoLink, "identity", identity)
    monkeypatch.setattr(ServoLink, "hand", None)
    monkeypatch.setattr(ServoLink, "hold", lambda _, torque, __: held.append(torque))
    monkeypatch.setattr(ServoLink, "end_hold", lambda _: held.append("end"))
    controller = Controller("simulated:mx106")
    servo, placing = controller.servo, controller.placing
    monkeypatch.setattr(servo, "view", ServoView(state=ServoState.READY))
    placing.set_backlash(True)
    placing.hold()
    assert held == [0.0]
    for count, angle in enumerate((0.02, -0.01)):
        rows = np.zeros(300, LIVE_DTYPE)
        rows["clock"], rows["position"], rows["phase"] = 2.0 * count + 0.005 * np.arange(300), angle, Phase.HOLD
        servo.rows.emit(rows)
        assert len(placing.pushes.done) == count, "a hand may be moving it"
        placing.capture()
    assert held == [0.0, "end"]
    assert placing.pushes.found.backlash == pytest.approx(0.03)
    servo.hold_ended.emit(HoldEnded(exit_status="fell", reason=""))
    assert placing.note == "It moved. It was fast, so the motor was switched off."
    assert f"Measured backlash: {statement(placing.pushes.found)}" in guidance(placing, servo.view, "Space").text
    controller.close()


def measure_backlash(hands):
    measured = hands.page.torque_form.measured
    measured.setCurrentIndex(1)
    measured.activated.emit(1)


def blue(page):
    """Texts of the page's own blue buttons that can be pressed."""
    made = (page.go_button, page.capture_button, page.release_button)
    return [part.text() for part in made if part.property("kind") == "primary" and part.isEnabled()]


def type_torques(page, text):
    page.torque_form.torques.setText(text)
    page.torque_form.torques.editingFinished.emit()


def test_what_stood_still_in_the_hand_is_no_rest_however_late_it_is_read(hands):
    hands.connect()
    hands.hold()
    servo, placing = hands.controller.servo, hands.placing
    held = hands.rest() - 0.3
    hands.problems.clear()
    placing.hand.pull_to(held)
    # The window hangs while the pendulum is pulled out and stands there for much longer than a rest takes.
    begin = servo.recorder.latest()["clock"]
    wait_until(lambda: servo.recorder.latest()["clock"] > begin + 6.0)
    stood = servo.recorder.latest()["position"]
    placing.hand.let_go()
    assert placing.level == 0.0
    hands.until(lambda: len(placing.points) == 1)
    # It has swung back and rests where the torque leaves it.
    assert placing.points[0].angle > stood + 0.05
    assert placing.points[0].angle == pytest.approx(hands.angle, abs=0.004)


def test_the_arrow_keys_push_and_a_torque_beyond_the_limits_is_refused(hands):
    hands.connect()
    hands.pendulum.setFocus()
    begin = hands.angle
    QTest.keyPress(hands.pendulum, Qt.Key.Key_Right)
    hands.until(lambda: hands.angle > begin + 0.2)
    assert hands.placing.hand.pulling
    QTest.keyRelease(hands.pendulum, Qt.Key.Key_Right)
    assert not hands.placing.hand.pulling
    assert hands.controller.servo.hand.torque == 0.0
    for beyond in ("50", "-50"):
        type_torques(hands.page, beyond)
        hands.click(hands.page.go_button)
        hands.until(lambda: hands.placing.stage is Stage.IDLE)
        assert f"{beyond} N·m is beyond the servo's limit" in hands.problems.pop()
        assert hands.controller.servo.view.state is ServoState.READY
    # Disconnecting ends a hold. A pendulum that still swings would end it by its speed.
    hands.swing_out()
    type_torques(hands.page, "0.4")
    hands.hold()
    hands.controller.servo.disconnect_servo()
    assert hands.placing.stage is Stage.IDLE
    hands.until(lambda: hands.page.is_empty)


def test_the_key_captures_and_an_emergency_stop_keeps_the_points(hands):
    hands.connect()
    hands.hold()
    assert blue(hands.page) == [], "the hand moves the pendulum, and each rest is captured by itself"
    hands.click(hands.page.capture_form.auto)
    assert blue(hands.page) == ["Capture"]
    hands.drag_to(hands.rest() + 0.1)
    hands.rest()
    hands.until(lambda: "capture key" in hands.page.note.text())
    assert hands.placing.points == ()
    hands.window.activateWindow()
    hands.qtbot.waitActive(hands.window)
    QTest.keyClick(hands.pendulum, Qt.Key.Key_Space)
    hands.until(lambda: len(hands.placing.points) == 1)
    assert hands.placing.points[0].angle == pytest.approx(hands.angle, abs=0.004)
    hands.controller.recording.emergency_stop()
    hands.until(lambda: hands.placing.stage is Stage.IDLE)
    assert hands.controller.servo.view.state is ServoState.FAULT
    assert len(hands.placing.points) == 1
    assert hands.page.state.text() == "MOTOR OFF"
    assert hands.page.go_button.text() == "Ready again"
    hands.click(hands.page.go_button)
    hands.until(lambda: hands.controller.servo.view.state is ServoState.READY)
    # The next hold begins with what is still missing.
    assert hands.placing.target.side == "backdrive"


def test_another_key_is_learned_and_escape_is_none(hands):
    key = hands.page.capture_form.key
    hands.click(key)
    QTest.keyClick(key, Qt.Key.Key_Escape)
    assert hands.controller.settings.capture_key == "Space"
    hands.click(key)
    assert key.text() == "press a key…"
    QTest.keyClick(key, Qt.Key.Key_F9)
    assert hands.controller.settings.capture_key == "F9"
    assert key.text() == "F9"


def test_a_point_holds_what_was_read_on_the_bench_that_was_held(qapp, tmp_path, monkeypatch):
    """Edits while a torque is held are for the next hold."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(ServoLink, "identity", ServoIdentity(model="mx106", title="MX-106", position_step=0.0015))
    monkeypatch.setattr(ServoLink, "hold", lambda *_: None)
    controller = Controller("simulated:mx106")
    servo, placing = controller.servo, controller.placing
    readings = {"supply_voltage": 14.5, "current": 0.75, "temperature": 41.0}
    monkeypatch.setattr(servo, "view", ServoView(state=ServoState.READY, **readings))
    monkeypatch.setattr(controller.library, "sink_for", lambda _servo, then, _failed: then(None))
    held, target = controller.setup.bench, placing.target
    placing.hold()
    for begin, angle in ((0.0, 0.3), (2.0, 0.2)):
        rows = np.zeros(300, LIVE_DTYPE)
        rows["clock"], rows["position"] = begin + 0.005 * np.arange(300), angle
        rows["phase"], rows["held_torque"] = Phase.HOLD, target.torque
        servo.rows.emit(rows)
        controller.setup.set_bench(mass=2.0 * held.mass)
    (point,) = placing.points
    assert (point.angle, point.bench, point.servo) == (pytest.approx(0.2), held, "mx106")
    assert (point.motor_torque, point.repeat, point.side) == (target.torque, 1, "drive")
    assert {name: getattr(point, name) for name in readings} == readings
    controller.close()


def test_a_servo_that_cannot_hold_a_torque_is_named_before_it_is_driven(hands, monkeypatch):
    hands.controller.servo.connect_servo()
    hands.until(lambda: hands.controller.servo.view.state is ServoState.READY)
    identity = replace(hands.controller.servo.identity, no_torque="it cannot hold a torque")
    monkeypatch.setattr(ServoLink, "identity", identity)
    hands.placing.changed.emit()
    assert hands.page.instruction.text() == "Nothing can be placed: it cannot hold a torque."
    assert not hands.page.go_button.isEnabled()
    hands.placing.hold()
    assert hands.problems == ["It cannot hold a torque"]
    assert hands.controller.servo.view.state is ServoState.READY


def test_torques_are_typed_suggested_and_undone(hands):
    form, placing = hands.page.torque_form, hands.placing
    suggested = placing.plan.torques
    assert len(suggested) >= 3
    form.torques.setText("0.3:0.5:0.1")
    form.torques.editingFinished.emit()
    assert placing.plan.torques == (0.3, 0.4, 0.5)
    assert hands.page.table.rowCount() == 3
    form.torques.setText("none")
    form.torques.editingFinished.emit()
    assert "is not a torque" in form.hint.text()
    assert placing.plan.torques == (0.3, 0.4, 0.5)
    hands.controller.undo.undo()
    assert placing.plan.torques == suggested
    form.suggest_button.click()
    assert hands.placing.plan.suggested
    # What is suggested follows the bench until a person chooses.
    hands.controller.setup.set_bench(mass=2.0 * hands.controller.setup.bench.mass)
    assert placing.plan.torques != suggested
    form.repeats.setValue(2)
    assert hands.page.table.rowCount() == 2 * len(placing.plan.torques)
    capture = hands.page.capture_form
    capture.steady.setValue(1.7)
    hands.click(capture.auto)
    assert (placing.steady_time, placing.auto, placing.plan.repeats) == (1.7, False, 2)
    # What was chosen is back after a restart, unless it cannot be.
    placing.plan.restore({"torques": [0.25, 0.5], "repeats": 3})
    assert (placing.plan.torques, placing.plan.repeats, placing.plan.suggested) == ((0.25, 0.5), 3, False)
    for torques, repeats in (([math.inf], 1), ([0.3], 0), ([0.3], 1.5)):
        with pytest.raises(InputError, match="are not possible"):
            placing.plan.restore({"torques": torques, "repeats": repeats})
    assert placing.plan.state() == {"torques": [0.25, 0.5], "repeats": 3}


def point(hands, angle, side="drive", **changes):
    """A point at the first torque of the plan."""
    usual = {"motor_torque": hands.placing.plan.torques[0], "bench": hands.controller.setup.bench, "servo": "mx106"}
    return PlacedPoint(angle=angle, side=side, **{**usual, **changes})


def open_with(hands, folder, points):
    """Open a new session that holds these points."""
    session = Session.create(folder, folder.name)
    session.set_document("placed_points", points_to_json(points))
    hands.controller.library.open(session.path)
    hands.until(lambda: hands.placing.points == points)
    return session


def test_points_come_back_with_their_session_and_stay_with_it(hands, tmp_path):
    points = (point(hands, 0.07, fell=0.05), point(hands, 0.45, "backdrive", fell=0.48))
    session = open_with(hands, tmp_path / "placed", points)
    other = Session.create(tmp_path / "other", "other")
    table = hands.page.table
    assert not hands.page.is_empty
    assert hands.placing.target == Target(hands.placing.plan.torques[1], 1, "drive")
    assert table.data(table.index(0, 1)) == "0.0700"
    hands.placing.seek(Target(points[0].motor_torque, 1, "drive"))
    assert hands.placing.known_range() == ((0.07, 0.45), (0.05, 0.48))
    hands.controller.set_angle_unit(DEGREES)
    assert table.data(table.index(0, 1)) == f"{math.degrees(0.07):.2f}"
    assert table.headerData(1, Qt.Orientation.Horizontal) == "Lowest\n[°]"
    assert hands.placing.points == points
    hands.page.points.setCurrentIndex(table.index(0, 2))
    hands.click(hands.page.delete_button)
    hands.until(lambda: points_from_json(session.document("placed_points")) == points[:1])
    hands.controller.library.open(other.path)
    hands.until(lambda: hands.controller.library.path == other.path and hands.placing.points == ())
    hands.controller.undo.undo()
    assert hands.placing.points == ()
    assert "not open" in hands.problems[-1]
    assert other.document("placed_points") is None


def test_a_damaged_list_of_points_is_named_and_costs_nothing_else(hands, tmp_path):
    session = Session.create(tmp_path / "placed", "placed")
    session.set_document("placed_points", {"format": "something else"})
    hands.controller.library.open(session.path)
    hands.until(lambda: bool(hands.problems))
    assert "placed points cannot be read" in hands.problems[0]
    assert hands.controller.library.path == session.path


@pytest.mark.parametrize(
    ("runs", "said"), [(["0001"], "is not used, as it was fitted to a single run"), (["0001", "0002"], "expects that")]
)
def test_a_fit_that_finds_no_torque_empties_no_list(hands, runs, said):
    """As after one run whose fit took the losses of the motor for friction."""
    plan, model = hands.placing.plan, load_model("mx106", "m4")
    stuck = model.with_values({**model.values, "friction_base": 5.0})
    fitted = replace(stuck, provenance={"train": runs})
    assert suggest_torques(fitted, hands.controller.setup.bench).torques == ()
    hands.controller.model_list.set_identified([fitted], "m4")
    assert hands.controller.model_list.current.model == fitted
    usual = suggest_torques(load_servo("mx106"), hands.controller.setup.bench).torques
    assert plan.torques == usual != ()
    assert hands.page.torque_form.torques.text().startswith(f"{usual[0]:g}, ")
    assert f"{fitted.title} {said}" in hands.page.torque_form.hint.text()
    assert (plan.model is None) == (len(runs) == 1), "nor does it judge points"


def test_when_all_extremes_are_placed_the_next_step_is_to_use_them(hands, tmp_path):
    wanted = []
    hands.page.points_wanted.connect(lambda: wanted.append("points"))
    hands.page.task_wanted.connect(wanted.append)
    hands.connect()
    hands.placing.plan.set_torques((0.5,))
    points = (point(hands, 0.07, fell=0.05), point(hands, 0.45, "backdrive"))
    open_with(hands, tmp_path / "one", points[:1])
    assert hands.page.go_button.text() == "Hold 0.5 N·m"
    open_with(hands, tmp_path / "both", points)
    assert "All 2 extremes are placed. 1 without a fall seen beyond" in hands.page.instruction.text()
    assert hands.page.go_button.text() == "Use these points"
    hands.click(hands.page.go_button)
    assert wanted == ["points", "Identify"]


def test_a_point_that_disagrees_with_the_model_is_marked_before_a_fit(hands, tmp_path):
    """0.3 rad off, as of a person who stopped too early; one of another bench is drawn but neither counted nor
    listed."""
    bench, plan = hands.controller.setup.bench, hands.placing.plan
    other = replace(bench, mass=0.95 * bench.mass)
    low, high = expected_angles(TRUTH, bench, plan.torques[0])
    points = (
        point(hands, low + 0.3),
        point(hands, high, "backdrive", fell=high + 0.02),
        point(hands, expected_angles(TRUTH, other, plan.torques[1])[0], motor_torque=plan.torques[1], bench=other),
    )
    open_with(hands, tmp_path / "placed", points)
    table, diagram = hands.page.table, hands.page.diagram
    assert "σ from" in table.data(table.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    tip = table.data(table.index(0, 2), Qt.ItemDataRole.ToolTipRole)
    assert "Fell from 20 mrad further out" in tip
    assert table.data(table.index(0, 3)) == "n/a", "the lowest never fell"
    assert f"External torque {fixed(points[1].external_torque, 4, 'N·m')}" in tip
    assert f"Servo reads {high:.4f} rad" in tip
    assert hands.page.warning.text().startswith("1 point disagrees with ")
    assert table.data(table.index(1, 1)) == "–"
    assert hands.placing.target == plan.targets[2]
    at = [(p.motor_torque, p.external_torque) for p in points]
    for side, item in diagram.markers.items():
        expected = [where for where, p in zip(at, points, strict=True) if p.side == side]
        np.testing.assert_allclose(np.transpose(item.getData()), expected)
    assert (diagram.doubtful.getData()[0][0], diagram.doubtful.getData()[1][0]) == pytest.approx(at[0])
    ends = [bench.external_torque(angle) for angle in (high, high + 0.02)]
    np.testing.assert_allclose(diagram.brackets.getData(), [[plan.torques[0]] * 2, ends])
    diagram.show_search(Target(0.7, 1, "drive"), points[1], 0.35)
    assert [diagram.live.getData()[axis][0] for axis in (0, 1)] == [0.7, 0.35]
    assert [diagram.best.getData()[axis][0] for axis in (0, 1)] == pytest.approx(at[1])
    diagram.show_search(None, None, 0.35)
    assert len(diagram.live.getData()[0]) == len(diagram.best.getData()[0]) == 0


@pytest.mark.parametrize(
    ("stage", "view", "shown"),
    [
        (Stage.IDLE, {"state": ServoState.DISCONNECTED}, ("OFF", "Connect", -1, "")),
        (Stage.IDLE, {"state": ServoState.DISCONNECTED, "connecting": True}, ("OFF", "", -1, "")),
        (Stage.IDLE, {"state": ServoState.FAULT, "fault": EMERGENCY}, ("MOTOR OFF", "Ready again", -1, "")),
        (Stage.IDLE, {"state": ServoState.FAULT, "fault": "too hot"}, ("MOTOR OFF", "Acknowledge", -1, "")),
        (Stage.IDLE, {"state": ServoState.READY}, ("MOTOR OFF", "Hold 0.3 N·m", 0, "")),
        (Stage.STARTING, {}, ("HOLDING 0.3 N·m", "", 1, "")),
        (
            Stage.MEASURING,
            {"state": ServoState.ENABLED},
            ("HOLDING 0.3 N·m", "Next: the highest", 2, "Skip the lowest"),
        ),
        (Stage.ENDING, {}, ("RELEASING", "", -1, "")),
    ],
)
def test_every_step_says_what_to_do(hands, stage, view, shown):
    placing = hands.placing
    placing.plan.set_torques((0.3, 0.6))
    placing.stage = stage
    view = ServoView(**{"state": ServoState.ENABLED, **view})
    said = guidance(placing, view, "F9")
    assert (said.state, said.primary, said.step, said.skip) == shown
    if view.state is ServoState.READY:
        assert "another 3 s" in guidance(placing, replace(view, locked_for=2.5), "F9").text
    if stage is Stage.MEASURING:
        assert "down, towards hanging" in said.text
        placing.auto, placing.target = False, Target(0.3, 1, "backdrive")
        said = guidance(placing, view, "F9")
        assert ("up, away from hanging" in said.text, "Press F9 at each rest" in said.text) == (True, True)
        assert (said.primary, said.step, said.skip) == ("Next: 0.6 N·m", 3, "Skip the highest")
        placing.target = Target(0.6, 1, "backdrive")
        assert guidance(placing, view, "F9").primary == "Finish"
    placing.stage = Stage.IDLE


# What counts as a rest, without a servo.


def fed(finder, positions, begin=0.0, free=True):
    rests = [finder.feed(begin + 0.005 * (k + 1), position, free) for k, position in enumerate(positions)]
    return [rest for rest in rests if rest is not None]


def test_the_first_rest_is_where_the_hand_begins():
    finder = RestFinder(0.0015, 0.5)
    assert fed(finder, [0.2] * 150) == []
    assert finder.settled
    found = fed(finder, [*(0.2 + 0.001 * k for k in range(100)), *[0.3] * 150], 10.0)
    assert [rest.angle for rest in found] == pytest.approx([0.3])


@pytest.mark.parametrize("known", [True, False], ids=["a hand that is known of", "a hand at a real bench"])
def test_a_fall_is_seen_from_where_the_pendulum_was_let_go(known):
    """Rested at 0.20, taken down to 0.10, it came back to 0.16: the lowest lies between 0.10 and 0.16."""
    finder, falls = RestFinder(0.0015, 0.5), Falls(Target(0.4, 1, "drive"))
    fed(finder, [0.2] * 150)
    fed(finder, np.linspace(0.2, 0.1, 60), 0.75, free=not known)
    (rest,) = fed(finder, [*np.linspace(0.1, 0.16, 40), *[0.16] * 150], 1.05)
    assert falls.note(rest, finder.steadiness.band)
    assert falls.beyond(rest.angle) == pytest.approx(0.1)
    # Carried inwards by the hand and let go, it fell from nowhere.
    fed(finder, np.linspace(0.16, 0.3, 60), 2.0, free=not known)
    (rest,) = fed(finder, [0.3] * 150, 2.3)
    assert not falls.note(rest, finder.steadiness.band)
    assert falls.beyond(0.05) is None


def test_a_rest_in_the_hand_counts_only_once_it_was_let_go():
    finder = RestFinder(0.0015, 0.5)
    fed(finder, [0.2] * 150)
    assert fed(finder, [0.3] * 300, 10.0, free=False) == []
    # Let go, it slides back: only where it stays then counts.
    assert [r.angle for r in fed(finder, [*[0.3 - 0.004 * k for k in range(20)], *[0.22] * 150], 20.0)] == [0.22]
