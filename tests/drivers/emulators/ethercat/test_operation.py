"""From INIT to a moving pendulum and back, with an unmodified pysoem as the master."""

from __future__ import annotations

import struct

import pytest

from core.shipped import load_model
from drivers import timing
from tests.drivers.emulators.ethercat.conftest import CYCLE, TORQUE_INPUTS, TORQUE_OUTPUTS, open_bench
from tests.waiting import wait_until

pytestmark = pytest.mark.own_network

KT = load_model("erob80_50", "m6").values["kt"]
"""Of the shipped M6 of the erob80_50 [N·m/A]."""


@pytest.mark.parametrize("count", [1, 2, 3])
def test_slaves_in_a_row_reach_op(count):
    with open_bench(servos=("erob80_50",) * count) as bench:
        assert bench.emulator.addresses == tuple(f"ethercat:ecm1:{n}?servo=erob80_50" for n in range(1, count + 1))
        bench.find(count)
        for slave in bench.master.slaves:
            assert (slave.man, slave.id, slave.name) == (0x5A65726F, 0x00029252, "ZeroErr Driver")
        bench.configure()
        assert bench.master.expected_wkc == 3 * count
        bench.operate()
        assert bench.exchange() == 3 * count
        assert bench.states() == [(8, 0)] * count
        serials = [slave.sdo_read(0x1018, 4) for slave in bench.master.slaves]
        assert serials == [struct.pack("<I", n) for n in range(1, count + 1)]


def test_default_process_data(bench):
    bench.master.config_dc()
    bench.slave.dc_sync(True, CYCLE)
    bench.master.config_map()
    assert (len(bench.slave.output), len(bench.slave.input)) == (10, 10)
    bench.reach(4)
    bench.exchange()
    assert struct.unpack_from("<H", bench.slave.input, 8)[0] == 0x1250


def test_torque_moves_the_pendulum(running):
    running.enable()
    start = running.inputs()[1]
    running.cycle_until(lambda: running.inputs()[1] > start + 20_000, 0x0F, 1000)
    # 1000 ‰ of the rated 6 A.
    _, _, velocity, torque = running.inputs()
    assert torque == pytest.approx(1000, abs=50)
    assert velocity > 0
    truth = running.truth()
    assert truth["driven"] == 1
    assert truth["current"] == pytest.approx(6.0, abs=0.3)
    rated_torque = struct.unpack("<I", running.slave.sdo_read(0x6076, 0))[0]
    assert rated_torque == pytest.approx(1000 * 6.0 * KT, abs=2)
    running.cycle_until(running.status_is(0x21), 0x06)
    assert running.truth()["driven"] == 0


def test_order_a_is_refused(bench):
    """config_map before dc_sync: SYNC0 was not made at PREOP → SAFEOP."""

    def set_up(position: int) -> None:
        bench.map_torque()

    bench.slave.config_func = set_up
    bench.master.config_map()
    bench.master.config_dc()
    bench.slave.dc_sync(True, CYCLE)
    bench.reach(4)
    assert bench.slave.sdo_read(0x1C32, 1) == b"\x01\x00"
    bench.exchange()
    bench.request(8)
    bench.exchange()
    assert bench.states() == [(0x14, 0x30)]


def test_order_b_is_accepted(running):
    assert running.slave.sdo_read(0x1C32, 1) == b"\x02\x00"
    assert running.slave.sdo_read(0x1C32, 2) == struct.pack("<I", CYCLE)
    assert running.esc()["synchronous"] == "1"


def test_order_c_is_accepted(bench):
    """manual_state_change, so that SAFEOP is entered after dc_sync."""
    bench.master.manual_state_change = 1
    bench.map_torque()
    bench.master.config_map()
    bench.master.config_dc()
    bench.slave.dc_sync(True, CYCLE)
    bench.request(4)
    bench.reach(4)
    bench.operate()
    assert bench.slave.sdo_read(0x1C32, 1) == b"\x02\x00"


def test_without_strictness_no_sync_is_needed():
    with open_bench(strict=False) as bench:
        bench.find()
        bench.configure(synchronous=False)
        bench.operate()
        assert bench.states() == [(8, 0)]


@pytest.mark.parametrize(
    ("index", "entries", "code"),
    [(0x1600, TORQUE_OUTPUTS[:3], 0x1D), (0x1A00, (*TORQUE_INPUTS, 0x60610008), 0x1E)],
)
def test_process_data_of_an_odd_length_is_refused(bench, index, entries, code):
    def set_up(position: int) -> None:
        bench.map(index, entries)
        bench.slave.dc_sync(True, CYCLE)

    bench.master.config_dc()
    bench.slave.config_func = set_up
    bench.master.config_map()
    bench.master.state_check(4, 50_000)
    assert bench.states() == [(0x12, code)]


def test_a_cycle_faster_than_the_drive_is_refused(bench):
    bench.master.config_dc()
    bench.slave.config_func = lambda position: bench.slave.dc_sync(True, 125_000)
    bench.master.config_map()
    bench.master.state_check(4, 50_000)
    assert bench.states() == [(0x12, 0x35)]


def test_state_by_state_and_back(running):
    for state in (4, 2, 1):
        running.request(state)
        running.reach(state)
    assert running.states() == [(1, 0)]


def test_an_error_stays_until_it_is_acknowledged(bench):
    bench.request(8)
    assert bench.states() == [(0x12, 0x11)]
    bench.request(4)
    assert bench.states() == [(0x12, 0x11)]
    bench.request(2 | 0x10)
    assert bench.states() == [(2, 0)]
    bench.request(3)
    assert bench.states() == [(0x12, 0x13)]
    bench.request(7 | 0x10)
    assert bench.states() == [(0x12, 0x12)]


def test_the_watchdog_ends_operation(running):
    running.enable()
    running.slave.set_watchdog("processdata", 1.0)
    assert running.esc()["watchdog_ms"] == f"{timing.limits.emulated_watchdogs:g}"
    running.say("unplug on")
    wait_until(lambda: running.esc()["al"] != "OP")
    running.say("unplug off")
    assert running.truth()["driven"] == 0
    assert running.states() == [(0x14, 0x1B)]
    # A master that looks at nothing but the working counter does not notice.
    assert running.exchange() == 3
    assert running.inputs()[0] & 0x4F == 0x08
    assert running.esc()["watchdog_expiries"] == "1"
    running.request(4 | 0x10)
    running.reach(4)
    running.operate()
    assert running.inputs()[0] & 0x4F == 0x08


def test_a_fault_is_reset_by_a_rising_edge(running):
    emergencies = running.collect_emergencies()
    running.enable()
    running.say("fault 0x2310")
    running.cycle_until(running.status_is(0x08), 0x0F)
    running.cycle_until(lambda: True, 0x0F)
    assert running.inputs()[0] & 0x08
    assert running.slave.sdo_read(0x603F, 0) == b"\x10\x23"
    assert [emergency.error_code for emergency in emergencies] == [0x2310]
    running.cycle_until(lambda: running.inputs()[0] & 0x4F == 0x40, 0x80)
    assert running.slave.sdo_read(0x603F, 0) == b"\x00\x00"
    running.enable()


def test_frames_are_counted_in_periods_of_sync0(running):
    def more() -> bool:
        for _ in range(10):
            running.exchange()
        return int(running.esc()["windows_more"]) > 5

    wait_until(more)


def test_losing_sync0_ends_operation(running):
    running.slave.dc_sync(False, CYCLE)
    running.exchange()
    assert running.states() == [(0x14, 0x2C)]


def test_a_quick_stop_brakes_and_switches_off(running):
    running.enable()
    running.cycle_until(lambda: running.inputs()[2] > 200_000, 0x0F, 1500)
    running.cycle_until(lambda: running.inputs()[0] & 0x4F == 0x40, 0x02)
    assert abs(running.inputs()[2]) < 200_000
    assert running.truth()["driven"] == 0
