"""Placing by hand in the window: the drawn pendulum under the mouse, the key, the points and where they are kept."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHBoxLayout, QWidget

from bench_gui import theme as themes
from bench_gui.controller import Controller
from bench_gui.headless.place.rests import Falls, RestFinder, Target
from bench_gui.place.placing import Stage
from bench_gui.place.view import PlaceView
from bench_gui.state.servo_link import ServoLink, ServoView
from core.placement import PlacedPoint, boundary_torque, expected_angles, points_from_json, points_to_json
from core.shipped import load_model
from core.units import DEGREES
from drivers.recorder.run import LIVE_DTYPE, Phase
from drivers.servo import ServoState
from sessions import Session
from tests.gui.conftest import dispose
from tests.gui.mouse import drag_pendulum
from tests.waiting import FAST, wait_until

TRUTH = load_model("mx106", "m6")
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

    def rest(self):
        """Wait until the pendulum stays where it is."""
        self.until(lambda: self.placing.level >= 1.0 or bool(self.problems))
        assert not self.problems
        return self.angle

    def find(self, outwards):
        """Close in on the extreme of the present side, as a person would; outwards: −1 down, 1 up."""
        inside, outside, stride = self.rest(), math.nan, 0.06
        for _ in range(25):
            goal = inside + outwards * stride if math.isnan(outside) else 0.5 * (inside + outside)
            placed = self.drag_to(goal)
            rested = self.rest()
            if outwards * (placed - rested) <= 0.5 * MOUSE and outwards * (rested - inside) > 0.0:
                inside, stride = rested, 1.5 * stride
            else:
                # It slipped back, on a busy machine perhaps before it was let go.
                outside = placed
            if abs(outside - inside) < MOUSE:
                return
        raise AssertionError(f"no edge found between {inside} and {outside}")


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
    page.set_theme(themes.load_theme("light"))
    window.resize(1200, 620)
    window.show()
    page.entered()
    yield Hands(qtbot, controller, window, page)
    window.hide()
    controller.close()
    dispose(window, controller)


def test_both_extremes_with_the_mouse(hands):
    """Dragged by the mouse, the drawn pendulum sticks, slips and is driven as the true model says: the external
    torques at both extremes are its boundaries, within what a mouse places (20 mrad of angle)."""
    hands.connect()
    hands.hold()
    torque = hands.placing.target.torque
    assert not hands.page.go_button.isEnabled(), "there is nothing to go on with yet, but to skip"
    assert hands.page.skip_button.text() == "Skip the lowest"
    hands.find(outwards=-1.0)
    lowest = hands.placing.best
    assert hands.page.go_button.property("kind") == "primary"
    hands.click(hands.page.go_button)
    assert hands.page.go_button.property("kind") != "primary"
    assert hands.placing.target == Target(torque, 1, "backdrive")
    hands.find(outwards=1.0)
    highest = hands.placing.best
    tolerance = 2.0 * MOUSE * hands.placing.bench.gravity_torque
    assert lowest.external_torque == pytest.approx(boundary_torque(TRUTH, torque, "drive"), abs=tolerance)
    assert highest.external_torque == pytest.approx(boundary_torque(TRUTH, torque, "backdrive"), abs=tolerance)
    assert {point.side for point in hands.placing.points} == {"drive", "backdrive"}
    # Each is a bracket around the truth, as fine as the encoder allows.
    expected = expected_angles(TRUTH, hands.placing.bench, torque)
    for point, truth in zip((lowest, highest), expected, strict=True):
        assert point.fell is not None
        inner, outer = sorted((point.angle, point.fell))
        assert inner - 0.5 * MOUSE <= truth <= outer + 0.5 * MOUSE
        assert outer - inner < 4.0 * MOUSE
    assert hands.page.warning.text() == ""
    assert lowest.supply_voltage == pytest.approx(15.0, abs=1.0)
    # Both are drawn, and kept in the session.
    for side, point in (("drive", lowest), ("backdrive", highest)):
        x, y = hands.page.diagram.markers[side].getData()
        assert (x[0], y[0]) == pytest.approx((torque, point.external_torque))
    session = Session.open(hands.controller.library.path)
    hands.until(lambda: points_from_json(session.document("placed_points")) == hands.placing.points)
    assert not hands.problems


def test_a_hold_at_a_high_torque_ends_gently_and_ready(hands):
    """Placed at 0.88 rad with 0.9 N·m, the pendulum is lowered: no limit trips, no fault."""
    faults = []
    hands.controller.servo.faulted.connect(faults.append)
    hands.connect()
    hands.page.torque_form.torques.setText("0.9")
    hands.page.torque_form.torques.editingFinished.emit()
    hands.hold()
    hands.drag_to(0.88)
    hands.rest()
    hands.placing.seek(Target(0.9, 1, "backdrive"))
    hands.drag_to(hands.angle + 0.05)
    hands.until(lambda: hands.placing.best is not None)
    hands.click(hands.page.release_button)
    hands.until(lambda: hands.placing.stage is Stage.IDLE)
    hands.until(lambda: hands.controller.servo.view.state is ServoState.READY)
    assert not faults
    assert abs(hands.angle) < 0.3


def test_a_point_that_disagrees_with_the_model_is_marked_before_a_fit(hands, tmp_path):
    """0.3 rad off, as of a person who stopped too early."""
    bench, torque = hands.controller.setup.bench, hands.placing.plan.torques[0]
    low, high = expected_angles(TRUTH, bench, torque)
    points = (
        PlacedPoint(motor_torque=torque, angle=low + 0.3, side="drive", bench=bench, servo="mx106"),
        PlacedPoint(motor_torque=torque, angle=high, side="backdrive", bench=bench, servo="mx106", fell=high + 0.02),
    )
    session = Session.create(tmp_path / "placed", "placed")
    session.set_document("placed_points", points_to_json(points))
    hands.controller.library.open(session.path)
    hands.until(lambda: hands.placing.points == points)
    table = hands.page.table
    assert "σ from" in table.data(table.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    assert "mrad further out" in table.data(table.index(0, 2), Qt.ItemDataRole.ToolTipRole)
    assert hands.page.warning.text().startswith("1 point disagrees with ")
    assert len(hands.page.diagram.doubtful.getData()[0]) == 1
    assert len(hands.page.diagram.brackets.getData()[0]) == 2


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


def test_the_arrow_keys_push_the_pendulum(hands):
    hands.connect()
    hands.pendulum.setFocus()
    begin = hands.angle
    QTest.keyPress(hands.pendulum, Qt.Key.Key_Right)
    hands.until(lambda: hands.angle > begin + 0.2)
    assert hands.placing.hand.pulling
    QTest.keyRelease(hands.pendulum, Qt.Key.Key_Right)
    assert not hands.placing.hand.pulling
    assert hands.controller.servo.hand.torque == 0.0


def test_the_key_captures_where_nothing_is_captured_by_itself(hands):
    hands.connect()
    hands.click(hands.page.capture_form.auto)
    hands.hold()
    hands.drag_to(hands.rest() + 0.1)
    hands.rest()
    hands.until(lambda: "capture key" in hands.page.note.text())
    assert hands.placing.points == ()
    hands.window.activateWindow()
    hands.qtbot.waitActive(hands.window)
    QTest.keyClick(hands.pendulum, Qt.Key.Key_Space)
    hands.until(lambda: len(hands.placing.points) == 1)
    assert hands.placing.points[0].angle == pytest.approx(hands.angle, abs=0.004)


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


def test_a_point_belongs_to_the_bench_that_was_held(qapp, tmp_path, monkeypatch):
    """Edits while a torque is held are for the next hold."""
    monkeypatch.setenv("SERVOBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(ServoLink, "identity", SimpleNamespace(model="mx106", title="MX-106", position_step=0.0015))
    monkeypatch.setattr(ServoLink, "hold", lambda *_: None)
    controller = Controller("simulated:mx106")
    servo, placing = controller.servo, controller.placing
    monkeypatch.setattr(servo, "view", ServoView(state=ServoState.READY))
    monkeypatch.setattr(controller.library, "sink_for", lambda _servo, then, _failed: then(None))
    held = controller.setup.bench
    placing.hold()
    for begin, angle in ((0.0, 0.3), (2.0, 0.2)):
        rows = np.zeros(300, LIVE_DTYPE)
        rows["clock"], rows["position"] = begin + 0.005 * np.arange(300), angle
        rows["phase"], rows["held_torque"] = Phase.HOLD, placing.target.torque
        servo.rows.emit(rows)
        controller.setup.set_bench(mass=2.0 * held.mass)
    assert [(point.angle, point.bench) for point in placing.points] == [(pytest.approx(0.2), held)]
    controller.close()


def test_an_emergency_stop_ends_the_hold_and_keeps_the_points(hands):
    hands.connect()
    hands.hold()
    hands.drag_to(hands.rest() + 0.1)
    hands.until(lambda: len(hands.placing.points) == 1)
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


def test_disconnecting_ends_the_hold(hands):
    hands.connect()
    hands.hold()
    hands.controller.servo.disconnect_servo()
    assert hands.placing.stage is Stage.IDLE
    hands.until(lambda: hands.page.is_empty)


def test_a_torque_beyond_the_limits_is_refused(hands):
    hands.connect()
    hands.page.torque_form.torques.setText("50")
    hands.page.torque_form.torques.editingFinished.emit()
    hands.click(hands.page.go_button)
    hands.until(lambda: hands.placing.stage is Stage.IDLE)
    assert "beyond the servo's limit" in hands.problems[0]
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
    # What is suggested follows the bench until a person chooses.
    hands.controller.setup.set_bench(mass=2.0 * hands.controller.setup.bench.mass)
    assert placing.plan.torques != suggested
    form.repeats.setValue(2)
    assert hands.page.table.rowCount() == 2 * len(placing.plan.torques)


def test_points_come_back_with_their_session_and_stay_with_it(hands, tmp_path):
    bench = hands.controller.setup.bench
    torque = hands.placing.plan.torques[0]
    points = tuple(
        PlacedPoint(motor_torque=torque, angle=angle, side=side, bench=bench, servo="mx106")
        for angle, side in ((0.07, "drive"), (0.45, "backdrive"))
    )
    session = Session.create(tmp_path / "placed", "placed")
    session.set_document("placed_points", points_to_json(points))
    other = Session.create(tmp_path / "other", "other")
    hands.controller.library.open(session.path)
    hands.until(lambda: hands.placing.points == points)
    assert not hands.page.is_empty
    assert hands.placing.target == Target(hands.placing.plan.torques[1], 1, "drive")
    assert hands.page.table.data(hands.page.table.index(0, 1)) == "0.0700"
    hands.page.points.setCurrentIndex(hands.page.table.index(0, 2))
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


def test_points_of_another_bench_are_drawn_but_not_counted(hands, tmp_path):
    bench = replace(hands.controller.setup.bench, mass=0.5)
    session = Session.create(tmp_path / "placed", "placed")
    target = hands.placing.plan.targets[0]
    point = PlacedPoint(motor_torque=target.torque, angle=0.3, side="drive", bench=bench, servo="mx106")
    session.set_document("placed_points", points_to_json((point,)))
    hands.controller.library.open(session.path)
    hands.until(lambda: hands.placing.points == (point,))
    assert hands.placing.target == target
    assert len(hands.page.diagram.markers["drive"].getData()[0]) == 1


def test_angles_change_their_unit_on_the_screen_only(hands, tmp_path):
    session = Session.create(tmp_path / "placed", "placed")
    target = hands.placing.plan.targets[0]
    point = PlacedPoint(
        motor_torque=target.torque, angle=0.5, side="drive", bench=hands.controller.setup.bench, servo="mx106"
    )
    session.set_document("placed_points", points_to_json((point,)))
    hands.controller.library.open(session.path)
    hands.until(lambda: hands.placing.points == (point,))
    hands.controller.set_angle_unit(DEGREES)
    table = hands.page.table
    assert table.data(table.index(0, 1)) == f"{math.degrees(0.5):.2f} !"
    assert table.headerData(1, Qt.Orientation.Horizontal) == "Lowest\n[°]"
    assert hands.placing.points == (point,)


def test_every_widget_says_what_it_is(hands):
    from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QLineEdit

    for kind in (QAbstractButton, QAbstractSpinBox, QLineEdit):
        for widget in hands.window.findChildren(kind):
            if isinstance(widget.parent(), QAbstractSpinBox) or widget.objectName().startswith("qt_"):
                continue
            if type(widget).__name__ == "QTableCornerButton" or widget.parent() is hands.page.points:
                continue
            assert widget.accessibleName(), widget
            assert widget.toolTip(), widget.accessibleName()


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
