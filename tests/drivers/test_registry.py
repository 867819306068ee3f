"""Addresses: text to servo, and every mistake in one clear line."""

import pickle

import pytest

from core.servo.shipped import load_model
from drivers.errors import AddressError
from drivers.registry import ServoAddress, open_servo, resolve
from drivers.servo import ServoState
from drivers.simulated import SimulatedServo, SimulatedSource


def test_the_simulated_servo_is_an_mx106_unless_told_otherwise():
    servo = open_servo("simulated")
    assert isinstance(servo, SimulatedServo)
    assert servo.spec.name == "mx106"
    assert servo.model == load_model("mx106", "m6")
    assert servo.state is ServoState.DISCONNECTED


def test_an_address_names_servo_and_options():
    source = resolve("simulated:xl330?model=m3&seed=7&clock=virtual&read_jitter=0.001&command_delay=0.002")
    assert isinstance(source, SimulatedSource)
    assert (source.name, source.seed, source.clock) == ("xl330", 7, "virtual")
    assert source.model == load_model("xl330", "m3")
    assert source.imperfections.read_jitter == 0.001
    assert source.imperfections.command_delay == 0.002


def test_a_model_file_can_be_the_truth(tmp_path):
    model = load_model("mx64", "m2")
    file = tmp_path / "model.json"
    file.write_text(model.to_json_text(), encoding="utf-8")
    assert resolve(f"simulated:mx64?model={file}").open().model == model


@pytest.mark.parametrize("text", ["simulated", "simulated:mx106", "simulated:mx106?clock=virtual&seed=3"])
def test_addresses_are_read_back_and_pickled(text):
    address = ServoAddress.parse(text)
    assert str(address) == text
    assert pickle.loads(pickle.dumps(address)) == address
    assert pickle.loads(pickle.dumps(resolve(text))).name == "mx106"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no family"),
        ("serial:COM3", "no family 'serial'"),
        ("simulated:mx9999", "no servo 'mx9999'"),
        ("simulated:mx106:2", "simulated:NAME"),
        ("simulated?haste=3", "unknown option 'haste'"),
        ("simulated?speed=0", "choose 0.1 to 20"),
        ("simulated?speed=nan", "is not a number"),
        ("simulated?seed=x", "is not a whole number"),
        ("simulated?seed", "name=value"),
        ("simulated?seed=1&seed=2", "twice"),
        ("simulated?model=m9", "m9"),
        ("simulated?model=missing.json", "cannot be read"),
        ("simulated?clock=sun", "unknown clock 'sun'"),
        ("simulated?read_jitter=-1", "read_jitter"),
        ("simulated?read_jitter=nan", "read_jitter"),
    ],
)
def test_a_wrong_address_is_refused_in_one_line(text, message):
    with pytest.raises(AddressError, match=message) as caught:
        open_servo(text)
    assert "\n" not in str(caught.value)
