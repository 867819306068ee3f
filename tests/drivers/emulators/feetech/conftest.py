from importlib.resources import files

import pytest

import resources
from core.servo.catalogue import SERVOS_VARIABLE, add_servo, own_servo
from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from tests.drivers.emulators.client import clients


@pytest.fixture
def connect(monkeypatch):
    """Make a bus of servos and return its client."""
    yield from clients(monkeypatch, FeetechEmulation, EmulatedFeetech)


@pytest.fixture
def scs0009(monkeypatch, tmp_path) -> str:
    """A servo file of a user: the numbers of an STS3215 but for the control table and the model number.

    Of the SCS0009 nothing else is known that the emulator's packets would show.
    """
    monkeypatch.setenv(SERVOS_VARIABLE, str(tmp_path))
    text = (files(resources) / "servos" / "sts3215_7v4.toml").read_text("utf-8")
    named = [line for line in text.splitlines() if not line.startswith(("aliases", "torque_mode"))]
    text = "\n".join(named).replace("sts3215_7v4", "my_scs0009").replace('"sts"', '"scs"').replace("777", "1284")
    add_servo(own_servo(text))
    return "my_scs0009"
