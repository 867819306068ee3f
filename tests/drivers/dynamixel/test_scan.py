"""Looking for Dynamixels: found whatever protocol they speak and rate they listen at, said what was tried, stopped."""

import threading
import time

import pytest

from drivers.dynamixel.bus import Bus
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.emulators.process import EmulatorProcess
from drivers.errors import BusError
from drivers.registry import resolve
from drivers.scan import scan
from tests.drivers.dynamixel.bench import NOISE, source_of

SERVOS = (
    EmulatedDynamixel(servo="xl330", id=1),
    EmulatedDynamixel(servo="mx106", id=1),
    EmulatedDynamixel(servo="xl320", id=200),
    EmulatedDynamixel(servo="xm430_w350", id=2, baud=57600),
)


@pytest.fixture(scope="module")
def crowd():
    with EmulatorProcess(DynamixelEmulation(servos=SERVOS)) as emulator:
        emulator.say("state")
        yield emulator


def test_everyone_at_the_given_rate_is_found(crowd):
    port = source_of(crowd).port
    steps = []
    # Stopped when the next rate would be tried: protocol 1 asks each of 253 IDs.
    found = scan(
        "dynamixel",
        {"port": port, "baud": "1000000"},
        steps.append,
        lambda: bool(steps) and steps[-1].tried.endswith("1000000 baud, protocol 1, ID 252"),
    )
    assert {servo.title: servo.address for servo in found} == {
        "Dynamixel XL330-M288": f"dynamixel:{port}:1:2:1000000",
        "Dynamixel XL-320": f"dynamixel:{port}:200:2:1000000",
        "Dynamixel MX-106": f"dynamixel:{port}:1:1:1000000",
    }
    assert steps[0].tried == f"{port}, 1000000 baud, protocol 2, all IDs"
    assert steps[0].answer == "ID 1 Dynamixel XL330-M288, ID 200 Dynamixel XL-320"
    assert len(steps) == 1 + 253
    assert steps[1].answer == "no answer"
    assert steps[2].answer == "Dynamixel MX-106"
    for servo in found:
        resolve(servo.address)


def test_a_servo_at_another_rate_is_found_as_well(crowd):
    port = source_of(crowd).port
    steps = []
    found = scan("dynamixel", {"port": port, "baud": "57600"}, steps.append, lambda: bool(steps))
    assert [servo.address for servo in found] == [f"dynamixel:{port}:2:2:57600"]
    assert "model number 1020" in found[0].detail


def test_an_unknown_model_is_found_too(crowd):
    port = source_of(crowd).port
    crowd.say("set model_number 1060 id=2")
    steps = []
    found = scan("dynamixel", {"port": port, "baud": "57600"}, steps.append, lambda: bool(steps))
    crowd.say("set model_number 1020 id=2")
    assert found[0].title == "unknown Dynamixel, model number 1060"
    assert "add a file" in found[0].detail


def test_a_cancelled_scan_is_over_at_once(crowd):
    port = source_of(crowd).port
    for after in (0.05, 1.2):
        cancelled = threading.Event()
        steps, ended = [], []

        def look(steps=steps, ended=ended, cancelled=cancelled):
            scan("dynamixel", {"port": port, "baud": "115200"}, steps.append, cancelled.is_set)
            ended.append(time.perf_counter())

        thread = threading.Thread(target=look)
        thread.start()
        time.sleep(after)
        begin = time.perf_counter()
        cancelled.set()
        thread.join(20.0)
        assert ended[0] - begin < NOISE * 0.1


def test_a_port_that_is_missing_or_somebody_elses_is_an_error(crowd):
    with pytest.raises(BusError, match="no such port"):
        scan("dynamixel", {"port": "/dev/nowhere"}, lambda step: None, lambda: False)
    port = source_of(crowd).port
    with Bus(port, 2, 1_000_000) as bus:
        bus.open()
        with pytest.raises(BusError, match="another program uses the port"):
            scan("dynamixel", {"port": port}, lambda step: None, lambda: False)
