"""The moving parts behind an emulated wire: what each command of the console does, and each number it says."""

import math

import pytest

from core.servo.catalogue import load_servo
from drivers.emulators.console import Console
from drivers.emulators.mechanism import Mechanism
from drivers.errors import CommandError
from drivers.servo import TorqueGoal
from drivers.simulated.hand import SharedHand
from tests.drivers.machine import machine_time


@pytest.fixture
def machine(monkeypatch):
    return machine_time(monkeypatch)


@pytest.fixture
def mechanism(machine):
    made = Mechanism(load_servo("xm430_w350"), SharedHand())
    console = Console()
    made.add_commands(console)
    made.say = console.execute

    def run(seconds):
        machine.sleep(seconds)
        made.advance()

    made.run = run
    return made


def test_every_command_changes_what_it_names(mechanism):
    plant, hand = mechanism.plant, mechanism.hand
    for line, load in (("load 0.4 0.15", (0.4, 0.15, 0.0)), ("load 0.3 0.2 0.1", (0.3, 0.2, 0.1))):
        mechanism.say(line)
        assert (plant.bench.mass, plant.bench.length, plant.bench.arm_mass) == load
    mechanism.say("temperature 41.5")
    mechanism.say("supply 11.5")
    assert (mechanism.temperature, mechanism.electrics[2]) == (41.5, 11.5)
    mechanism.say("temperature off")
    mechanism.say("supply off")
    assert (mechanism.temperature, mechanism.electrics[2]) == (plant.temperature, plant.electrics[2])
    mechanism.say("hand torque 0.7")
    assert hand.torque == 0.7
    mechanism.say("hand off")
    assert hand.torque == 0.0
    mechanism.run(3.0)
    mechanism.say("hand angle 30")
    mechanism.run(3.0)
    assert mechanism.position == pytest.approx(math.radians(30.0), abs=0.1)
    mechanism.say("stuck on")
    stuck = mechanism.position
    mechanism.say("hand off")
    mechanism.run(0.2)
    assert (mechanism.position, mechanism.velocity) == (stuck, 0.0)
    assert plant.position < stuck
    mechanism.say("stuck off")
    assert (mechanism.position, mechanism.velocity) == (plant.position, plant.velocity)


def test_the_state_is_what_the_motor_really_does(mechanism):
    for driven in (True, False):
        if driven:
            mechanism.drive(TorqueGoal(1.5))
        else:
            mechanism.release()
        mechanism.run(0.15 if driven else 0.01)
        mechanism.say("supply 9")
        said = {name: float(value) for name, value in (word.split("=") for word in mechanism.say("state").split())}
        current, duty_cycle, supply = mechanism.plant.electrics
        assert said == {
            "driven": driven,
            "position": pytest.approx(mechanism.position, abs=1e-6),
            "velocity": pytest.approx(mechanism.velocity, abs=1e-6),
            "current": pytest.approx(current, abs=1e-4),
            "duty_cycle": pytest.approx(duty_cycle, abs=1e-4),
            "supply": pytest.approx(supply, abs=1e-3),
            "temperature": pytest.approx(mechanism.temperature, abs=0.1),
        }
        assert abs(said["velocity"]) > 0.1
        assert (said["current"] > 0.1) == driven


@pytest.mark.parametrize(
    "line",
    [
        "temperature 201", "temperature -41", "supply 101", "supply -1", "load -1 1", "load 1 -1", "load 1 1 -1",
        "hand sideways 1", "hand torque nan", "stuck maybe", "load 1", "'",
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_refused(mechanism, line):
    before = mechanism.say("state")
    with pytest.raises(CommandError, match="console"):
        mechanism.say(line)
    assert mechanism.say("state").split()[0] == before.split()[0]
    assert (mechanism.temperature, mechanism.electrics[2]) == (
        mechanism.plant.temperature,
        mechanism.plant.electrics[2],
    )
