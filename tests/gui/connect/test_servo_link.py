"""The window's hold on a servo: holding torques, the simulated hand, settings, and the lock after a stop."""

import math
import threading

import pytest

from bench_gui.state.servo_link import ServoLink, ServoView, servo_name
from core.base.errors import ServoBenchError
from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from drivers.errors import NotReady
from drivers.recorder.messages import HoldEnded
from drivers.recorder.run import Phase
from drivers.registry import FAMILIES
from drivers.servo import ServoState
from tests.waiting import FAST

SETTINGS = ServoSettings(servo="mx106", kp=16.0, supply_voltage=15.0)
HEADER = RunHeader(trajectory="hold", bench=Bench(mass=1.0, length=0.15), settings=SETTINGS, rate=200.0)
LONG = make_trajectory("sin_sin", 600.0)


class Link:
    """A link and what it told, with the window's timer in the test's hand."""

    def __init__(self, qtbot, address):
        self.qtbot = qtbot
        self.link = ServoLink(address, lambda recorder: recorder.close())
        self.link.stop_lock = 0.0
        self.told = {}
        for name in (
            "connected",
            "hold_ended",
            "configured",
            "configure_failed",
            "problem",
            "acknowledged",
            "announced",
            "finished",
        ):
            getattr(self.link, name).connect(lambda *values, name=name: self.told.setdefault(name, []).append(values))

    def until(self, condition):
        def live():
            self.link.tick()
            return condition()

        self.qtbot.waitUntil(live)

    def connect(self):
        self.link.connect_servo()
        self.until(lambda: self.link.view.state is ServoState.READY)
        return self.link


@pytest.fixture
def bench(qtbot):
    bench = Link(qtbot, FAST)
    yield bench
    bench.link.close()


def test_a_torque_is_held_shown_changed_and_taken_away(bench):
    link = bench.connect()
    assert math.isnan(link.view.held_torque)
    link.hold(0.5, HEADER)
    assert link.holding
    assert link.busy
    bench.until(lambda: link.view.held_torque == 0.5)
    assert (link.view.word, link.view.kind, link.view.phase) == ("HOLDING", "moving", Phase.HOLD)
    link.set_torque(0.8)
    bench.until(lambda: link.view.held_torque == 0.8)
    with pytest.raises(NotReady, match="being held"):
        link.record(LONG, HEADER, None)
    link.end_hold()
    bench.until(lambda: "hold_ended" in bench.told)
    assert [ended.exit_status for (ended,) in bench.told["hold_ended"]] == ["success"]
    bench.until(lambda: link.view.word == "READY" and math.isnan(link.view.held_torque))


def test_the_hand_pulls_the_simulated_pendulum_where_the_mouse_says(bench):
    assert bench.link.hand is None
    link = bench.connect()
    stiffness = 6.0 * HEADER.bench.gravity_torque
    link.hold(0.3, HEADER)
    bench.until(lambda: link.view.held_torque == 0.3)
    link.hand.pull_to(0.6, stiffness, 1.4 * math.sqrt(stiffness * 0.05))
    bench.until(lambda: link.view.position > 0.4 and link.view.velocity == 0.0)
    pull = stiffness * (0.6 - link.view.position)
    balance = pull + 0.3 + HEADER.bench.external_torque(link.view.position)
    assert abs(balance) < 0.6, "what is left is friction"


def test_a_hold_ends_once_whatever_ends_it_and_a_stop_locks_even_a_servo_connected_anew(bench):
    link = bench.connect()
    link.hold(0.3, HEADER)
    bench.until(lambda: link.view.held_torque == 0.3)
    link.disconnect_servo()
    assert bench.told["hold_ended"] == [(HoldEnded("abort", "the servo was disconnected"),)]
    assert link.view == ServoView()
    assert link.hand is None
    bench.told.clear()
    bench.connect()
    link.hold(0.3, HEADER)
    bench.until(lambda: link.view.held_torque == 0.3)
    link.stop_lock = 3600.0
    assert link.locked_for == 0.0
    link.emergency_stop()
    assert 3000.0 < link.locked_for <= 3600.0
    bench.until(lambda: link.view.state is ServoState.FAULT and "hold_ended" in bench.told)
    (ended,) = bench.told["hold_ended"]
    assert (ended[0].exit_status, ended[0].reason) == ("abort", "emergency stop")
    link.acknowledge()
    bench.until(lambda: link.view.state is ServoState.READY)
    refused = "cannot hold a torque yet: the emergency stop was pressed; wait another"
    with pytest.raises(NotReady, match=refused):
        link.hold(0.3, HEADER)
    link.disconnect_servo()
    bench.connect()
    for act, reason in (
        (lambda: link.hold(0.3, HEADER), refused),
        (lambda: link.record(LONG, HEADER, None), "cannot record yet"),
        (lambda: link.configure(SETTINGS, link.limits), "cannot change settings yet"),
    ):
        with pytest.raises(NotReady, match=reason):
            act()


def test_settings_are_written_and_read_back(bench):
    assert (bench.link.written, bench.link.limits, bench.link.ratings) == (None, None, None)
    link = bench.connect()
    assert link.written.kp == 16.0
    assert link.limits == link.ratings
    other = ServoSettings(servo="mx106", kp=7.0, supply_voltage=15.0)
    link.configure(other, link.limits)
    bench.until(lambda: "configured" in bench.told)
    assert link.written == other == bench.told["configured"][0][0].settings
    link.configure(ServoSettings(servo="mx106", kp=7.0, supply_voltage=15.0, damping=1.0), link.limits)
    bench.until(lambda: "configure_failed" in bench.told)
    assert "damping" in bench.told["configure_failed"][0][0]
    assert link.written is None


def test_what_cannot_be_connected_leaves_nothing_behind(qtbot):
    bench = Link(qtbot, "nothing:of/the:kind")
    others = set(threading.enumerate())
    bench.link.connect_servo()
    ((problem,),) = bench.told["problem"]
    assert "nothing" in problem
    assert (bench.link.recorder, bench.link.busy, bench.link.view) == (None, False, ServoView())
    assert set(threading.enumerate()) <= others
    bench.link.address = FAST
    assert bench.connect().identity is not None
    bench.link.close()
    assert set(threading.enumerate()) <= others, "not even a heartbeat"


def test_without_a_servo_everything_says_so(qtbot):
    link = Link(qtbot, "simulated:mx106").link
    for act in (
        lambda: link.record(LONG, HEADER, None),
        lambda: link.hold(0.1, HEADER),
        lambda: link.set_torque(0.1),
        lambda: link.configure(SETTINGS, None),
    ):
        with pytest.raises(ServoBenchError, match="connect"):
            act()
    link.end_hold()
    link.emergency_stop()
    assert link.locked_for == 0.0
    assert not link.holding


def test_a_servo_of_another_family_has_no_hand_and_a_silent_one_tells_why(qtbot, monkeypatch):
    monkeypatch.setitem(FAMILIES, "silent", "tests.drivers.silent_family")
    assert servo_name("silent:QUIET0") == ""
    assert servo_name("simulated:xl330") == "xl330"
    bench = Link(qtbot, "silent:QUIET0?patience=0")
    bench.link.connect_servo()
    assert bench.link.hand is None
    assert bench.link.view.word == "CONNECTING"
    bench.until(lambda: "problem" in bench.told)
    assert bench.told["announced"] == [("waiting for an answer",)]
    ((problem,),) = bench.told["problem"]
    assert problem.startswith("connecting the servo failed: No answer to the ping of ID 1 on QUIET0")
    assert bench.link.view.word == "OFF"
