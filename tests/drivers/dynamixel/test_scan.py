"""Looking for Dynamixels: found whatever protocol they speak and rate they listen at, said what was tried, stopped."""

import pytest

from drivers.dynamixel.form import DYNAMIXEL
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.errors import BusError
from drivers.registry import resolve
from drivers.scan import scan
from drivers.serial_bus.search import EACH_ID
from tests.drivers.dynamixel.bench import source_of

SERVOS = (
    EmulatedDynamixel(servo="xl330", id=1),
    EmulatedDynamixel(servo="mx106", id=1),
    EmulatedDynamixel(servo="xl320", id=200),
    EmulatedDynamixel(servo="xm430_w350", id=2, baud=57600),
)


@pytest.fixture
def crowd(emulate):
    return emulate(DynamixelEmulation(servos=SERVOS))


def test_everyone_at_two_rates_is_found_the_given_rate_first(crowd):
    port = source_of(crowd).port
    steps = []
    # Stopped at the third rate: protocol 1 asks each of 253 IDs.
    two = 2 * (1 + 253)
    found = scan("dynamixel", {"port": port, "baud": "1000000"}, steps.append, lambda: len(steps) >= two)
    assert [(servo.title, servo.address) for servo in found] == [
        ("Dynamixel XL330-M288", f"dynamixel:{port}:1:2:1000000"),
        ("Dynamixel XL-320", f"dynamixel:{port}:200:2:1000000"),
        ("Dynamixel MX-106", f"dynamixel:{port}:1:1:1000000"),
        ("Dynamixel XM430-W350", f"dynamixel:{port}:2:2:57600"),
    ]
    assert "model number 1020" in found[-1].detail
    assert steps[0].tried == f"{port}, 1000000 baud, protocol 2, all IDs"
    assert steps[0].answer == "ID 1 Dynamixel XL330-M288, ID 200 Dynamixel XL-320"
    assert len(steps) == two
    assert steps[1].answer == "no answer"
    assert steps[2].answer == "Dynamixel MX-106"
    assert steps[253].tried == f"{port}, 1000000 baud, protocol 1, ID 252"
    # Each attempt says its place among all, two rates of all there are by then.
    assert [step.number for step in steps] == list(range(1, two + 1))
    assert {step.total for step in steps} == {len(DYNAMIXEL.baud_rates) * two // 2}
    for servo in found:
        resolve(servo.address)


def test_an_unknown_model_is_found_too(crowd):
    crowd.say("set model_number 1060 id=2")
    steps = []
    values = {"port": source_of(crowd).port, "baud": "57600"}
    [found] = scan("dynamixel", values, steps.append, lambda: bool(steps))
    assert found.title == "unknown Dynamixel, model number 1060"
    assert "add a file" in found.detail


@pytest.mark.parametrize("after", [0.05, 254 * EACH_ID + 0.1])
def test_a_cancelled_scan_is_over_at_once(clock, crowd, after):
    """While it listens to all IDs, and while it asks one after the other."""
    cancelled = clock.now() + after
    steps = []
    values = {"port": source_of(crowd).port, "baud": "115200"}
    assert scan("dynamixel", values, steps.append, lambda: clock.now() >= cancelled) == []
    assert cancelled <= clock.now() < cancelled + 0.01
    assert len(steps) < 254


def test_a_port_that_is_missing_is_an_error():
    with pytest.raises(BusError, match="no such port"):
        scan("dynamixel", {"port": "/dev/nowhere"}, lambda step: None, lambda: False)
