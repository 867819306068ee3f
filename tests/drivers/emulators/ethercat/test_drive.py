"""CiA 402 with the drive's objects at hand: what each controlword and target does to the motor."""

from __future__ import annotations

import math

import pytest

from core.servo.catalogue import load_servo
from core.servo.shipped import load_model
from drivers.emulators.ethercat.drive import DriveState
from drivers.emulators.ethercat.slave import Slave
from drivers.emulators.mechanism import Mechanism
from drivers.servo import PositionGoal, TorqueGoal
from drivers.simulated.hand import SharedHand
from tests.drivers.machine import Machine, machine_time

TURN = 524288
KT = load_model("erob80_50", "m6").values["kt"]
RATED = 6.0
"""[A]"""


class Panel:
    """A drive whose objects are set by hand and whose goals are looked at."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.mechanism = Mechanism(load_servo("erob80_50"), SharedHand())
        slave = Slave(self.mechanism)
        self.objects, self.drive = slave.dictionary, slave.drive
        self.drive.operational = True
        self.faults = []
        self.drive.on_fault = lambda code, register: self.faults.append((code, register))

    def set(self, index: int, value: int, sub: int = 0) -> None:
        self.objects[index, sub].value = value

    def step(self) -> None:
        """Let a millisecond pass."""
        self.machine.sleep(1e-3)
        self.drive.step()

    def control(self, *words: int) -> DriveState:
        """Send controlwords one after the other; returns the state after them."""
        for word in words:
            self.set(0x6040, word)
            self.step()
        return self.drive.state

    def enable(self, mode: int) -> None:
        self.set(0x6060, mode)
        assert self.control(0x06, 0x07, 0x0F) == DriveState.OPERATION_ENABLED

    @property
    def goal(self):
        return self.mechanism.plant.goal


@pytest.fixture
def panel(monkeypatch):
    return Panel(machine_time(monkeypatch))


OFF, READY, ON = DriveState.SWITCH_ON_DISABLED, DriveState.READY_TO_SWITCH_ON, DriveState.SWITCHED_ON
ENABLED, STOPPING = DriveState.OPERATION_ENABLED, DriveState.QUICK_STOP_ACTIVE


@pytest.mark.parametrize(
    ("words", "state", "statusword"),
    [
        ((), OFF, 0x1250),
        ((0x07,), OFF, 0x1250),
        ((0x0F,), OFF, 0x1250),
        ((0x06,), READY, 0x1231),
        ((0x06, 0x00), OFF, 0x1250),
        ((0x06, 0x02), OFF, 0x1250),
        ((0x06, 0x07), ON, 0x1233),
        ((0x06, 0x0F), ON, 0x1233),
        ((0x06, 0x07, 0x06), READY, 0x1231),
        ((0x06, 0x07, 0x0F), ENABLED, 0x1237),
        ((0x06, 0x07, 0x0F, 0x07), ON, 0x1233),
        ((0x06, 0x07, 0x0F, 0x06), READY, 0x1231),
        ((0x06, 0x07, 0x0F, 0x00), OFF, 0x1250),
        ((0x06, 0x07, 0x0F, 0x0D), OFF, 0x1250),
        ((0x06, 0x07, 0x0F, 0x80), OFF, 0x1250),
    ],
)
def test_controlwords_and_statuswords(panel, words, state, statusword):
    assert panel.control(*words) == state
    assert panel.mechanism.driven == (state == ENABLED)
    assert panel.drive.statusword == statusword
    panel.drive.warning = True
    assert panel.drive.statusword == statusword | 0x80


def test_enabling_needs_op_and_leaving_it_while_enabled_is_a_fault(panel):
    panel.drive.operational = False
    assert panel.control(0x06, 0x07, 0x0F) == ON
    panel.drive.leave_operation()
    assert panel.faults == []
    panel.drive.operational = True
    panel.control(0x06, 0x07)
    panel.enable(10)
    panel.set(0x6071, 500)
    panel.drive.leave_operation()
    assert panel.faults == [(0xA000, 0x10)]
    assert not panel.mechanism.driven
    panel.drive.fail(0x2310)
    assert panel.objects[0x603F, 0].value == 0xA000
    # What was told in OP is forgotten.
    assert (panel.objects[0x6040, 0].number, panel.objects[0x6071, 0].number) == (0, 0)


def test_torque_follows_its_definition(panel):
    """Torque = k_t · per mille / 1000 · rated current; the offset is added."""
    panel.enable(10)
    panel.set(0x6071, 500)
    panel.set(0x60B2, -100)
    panel.drive.act()
    assert panel.goal == TorqueGoal(pytest.approx(KT * 0.4 * RATED, rel=1e-6))


@pytest.mark.parametrize(
    ("limits", "wanted", "allowed"),
    [
        ({0x6072: 300}, 500, 300),
        ({0x6072: 300}, -500, -300),
        ({0x60E0: 200}, 500, 200),
        ({0x60E0: 200}, -500, -500),
        ({0x60E1: 100}, -500, -100),
        ({0x60E0: 0, 0x60E1: 0}, 500, 500),
        ({0x6072: 0}, 500, 0),
        ({}, 32767, 2000),
    ],
)
def test_torque_limits(panel, limits, wanted, allowed):
    panel.enable(10)
    for index, value in limits.items():
        panel.set(index, value)
    panel.set(0x6071, wanted)
    panel.drive.act()
    assert panel.goal == TorqueGoal(pytest.approx(KT * allowed / 1000 * RATED, rel=1e-6))
    assert bool(panel.drive.statusword & 0x0800) == (wanted != allowed)


def test_halt_takes_the_torque_away(panel):
    panel.enable(10)
    panel.set(0x6071, 500)
    panel.control(0x10F)
    assert panel.goal == TorqueGoal(0.0)
    panel.control(0x0F)
    assert panel.goal.torque > 0.0


def test_position_targets_are_counts_of_the_output(panel):
    panel.enable(8)
    assert panel.goal == PositionGoal(pytest.approx(panel.mechanism.position, abs=2 * math.pi / TURN))
    panel.set(0x607A, TURN // 4)
    panel.set(0x60B0, TURN // 8)
    panel.drive.act()
    assert panel.goal == PositionGoal(pytest.approx(2 * math.pi * 3 / 8))
    panel.set(0x607D, -1000, 1)
    panel.set(0x607D, 1000, 2)
    panel.drive.act()
    assert panel.goal == PositionGoal(pytest.approx(2 * math.pi * 1000 / TURN))
    assert panel.drive.statusword & 0x0800


def run(panel: Panel, done) -> bool:
    """Let the drive work until `done()`, at most ten seconds of its time."""
    for _ in range(10_000):
        if done():
            return True
        panel.step()
    return False


def test_an_unknown_mode_changes_nothing(panel):
    panel.enable(10)
    panel.set(0x6060, 3)
    panel.drive.act()
    assert panel.objects[0x6061, 0].value == 10
    panel.set(0x6060, 0)
    panel.drive.act()
    assert isinstance(panel.goal, TorqueGoal)
    panel.set(0x6060, 8)
    panel.drive.act()
    assert panel.objects[0x6061, 0].value == 8


def test_a_fault_is_reset_by_bit_7_rising(panel):
    panel.control(0x80)
    panel.drive.fail(0x2310)
    assert panel.control(0x80) == DriveState.FAULT
    assert panel.control(0x00) == DriveState.FAULT
    assert panel.control(0x0F) == DriveState.FAULT
    assert panel.control(0x8F) == OFF
    assert panel.objects[0x603F, 0].value == 0


def test_a_quick_stop_ends_at_rest(panel):
    panel.enable(10)
    panel.set(0x6071, 1500)
    assert run(panel, lambda: panel.mechanism.velocity > 1.0)
    assert panel.control(0x02) == STOPPING
    assert isinstance(panel.goal, PositionGoal)
    assert panel.control(0x0F) == STOPPING
    assert run(panel, lambda: panel.drive.state == OFF)
    assert not panel.mechanism.driven
