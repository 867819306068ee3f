"""The Webots Servo by its manual, seed 002, 3.42–3.42.7: fields, units, position, velocity and force control.

Expectations are the manual's formulas, or Newton's law for the joint with the forces that the manual names.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from core.base.errors import ModelError
from core.studies.webots.chain import single
from core.studies.webots.fields import LINEAR, UNITS, ServoFields
from core.studies.webots.servo import POSITION, VELOCITY
from tests.core.studies.webots.manual import STEP, STRONG, WEIGHTLESS, Table, passed, refused, servo_of

CASES = Table()
case = CASES.case


@pytest.mark.parametrize("check", CASES)
def test_manual(check):
    check()


# 3.42, the node and its fields.


@case("3.42 defaults of the fields")
def _():
    assert ServoFields() == ServoFields(
        type="rotational", max_velocity=10, max_force=10, control_p=10, acceleration=-1, position=0,
        min_position=0, max_position=0, min_stop=0, max_stop=0, spring_constant=0, damping_constant=0,
    )  # fmt: skip


def _range_case(name: str, seed: str, wrong: tuple[float, ...], right: tuple[float, ...]) -> None:
    @case(f"3.42 range of {seed}")
    def _():
        for value in (*wrong, math.nan, math.inf):
            refused(ModelError, seed, lambda value=value: ServoFields(**{name: value}))
        for value in right:
            assert getattr(ServoFields(**{name: value}), name) == value


for _name, _seed, _wrong, _right in (
    ("max_velocity", "maxVelocity", (0.0, -1.0), (1e-9, 1e9)),
    ("max_force", "maxForce", (-1e-9,), (0.0, 1e9)),
    ("control_p", "controlP", (0.0, -1.0), (1e-9, 1e9)),
    ("acceleration", "acceleration", (0.0, -2.0), (-1.0, 1e-9, 1e9)),
    ("min_position", "minPosition", (1e-9,), (-1e9, 0.0)),
    ("max_position", "maxPosition", (-1e-9,), (0.0, 1e9)),
    ("min_stop", "minStop", (1e-6, -3.2), (-math.pi, 0.0)),
    ("max_stop", "maxStop", (-1e-6, 3.2), (0.0, math.pi)),
    ("spring_constant", "springConstant", (-1e-9,), (0.0, 1e9)),
    ("damping_constant", "dampingConstant", (-1e-9,), (0.0, 1e9)),
):
    _range_case(_name, _seed, _wrong, _right)


@case("3.42.1 rotational or linear, nothing else")
def _():
    assert {ServoFields(type=kind).type for kind in UNITS} == {"rotational", "linear"}
    refused(ModelError, "neither rotational nor linear", lambda: ServoFields(type="screw"))


@case("3.42.1 passive or active")
def _():
    """The same push turns a passive joint and not an active one."""
    away = [passed(single(ServoFields(max_force=force), WEIGHTLESS), 10, force=1.0)[-1, 0] for force in (0.0, 10.0)]
    assert away[0] == pytest.approx(sum(k * STEP**2 / 0.02 for k in range(1, 11)))
    assert away[1] == 0.0


@case("3.42.3 units of rotational servos")
def _():
    assert ServoFields().units == {"position": "rad", "velocity": "rad/s", "acceleration": "rad/s²", "force": "N·m"}


@case("3.42.3 units of linear servos, and nothing but the units")
def _():
    """A slide of 0.02 kg moves as a shaft of 0.02 kg·m²."""
    fields = ServoFields(max_velocity=2.0, max_force=0.3, acceleration=9.0, spring_constant=0.1, damping_constant=0.05)
    slide = replace(fields, type=LINEAR)
    assert slide.units == {"position": "m", "velocity": "m/s", "acceleration": "m/s²", "force": "N"}
    motions = []
    for each in (fields, slide):
        servo, chain = servo_of(each)
        servo.set_position(1.0)
        motions.append(passed(chain, 100))
    np.testing.assert_array_equal(*motions)


# 3.42.4


@case("3.42.4 position is from the initial transformation, and targets are from its zero")
def _():
    servo, chain = servo_of(replace(STRONG, position=1.5708))
    assert servo.position == 1.5708
    servo.set_position(0.5)
    assert passed(chain, 400)[-1, 0] == pytest.approx(0.5, abs=1e-9)


# 3.42.5


@case("3.42.5 a = (Vc − Vp)/ts is limited to A, speeding up and slowing down")
def _():
    servo, chain = servo_of(replace(STRONG, acceleration=30.0, max_velocity=2.0))
    servo.set_position(1.0)
    rows = passed(chain, 400)
    previous = 0.0
    position = 0.0
    for after in rows:
        wanted = min(max(10.0 * (1.0 - position), -2.0), 2.0)
        change = (wanted - previous) / STEP
        change = math.copysign(30.0, change) if abs(change) > 30.0 else change
        previous += change * STEP
        position += previous * STEP
        assert after[2] == pytest.approx(previous, abs=1e-9)
    assert np.abs(np.diff(rows[:, 2])).max() <= 30.0 * STEP * (1.0 + 1e-9)


# 3.42.6


@case("3.42.6 an infinite target moves on and on at the wanted velocity")
def _():
    servo, chain = servo_of()
    servo.set_position(math.inf)
    servo.set_velocity(6.28)
    rows = passed(chain, 1250)
    assert rows[-1, 0] == pytest.approx(6.28 * 10.0, rel=1e-9)  # ten seconds, one turn each
    assert servo.mode == VELOCITY


@case("3.42.6 velocity control takes the acceleration into account")
def _():
    servo, chain = servo_of()
    servo.set_position(math.inf)
    servo.set_acceleration(5.0)
    servo.set_velocity(2.0)
    np.testing.assert_allclose(passed(chain, 100)[:, 1], np.minimum(5.0 * STEP * np.arange(1, 101), 2.0), rtol=1e-9)


# 3.42.7 and Table 3.6


@case("3.42.7 set_position restores position control")
def _():
    servo, chain = servo_of()
    servo.set_force(0.04)
    passed(chain, 50)
    servo.set_position(0.2)
    assert passed(chain, 400)[-1, 0] == pytest.approx(0.2, abs=1e-9)
    assert (servo.mode, servo.applied_force) == (POSITION, 0.0)


@case("Table 3.6 set_velocity and set_acceleration are ignored in force control")
def _():
    motions = []
    for told in (False, True):
        servo, chain = servo_of()
        servo.set_force(0.5)
        if told:
            servo.set_velocity(0.001)
            servo.set_acceleration(0.001)
        rows = [passed(chain, 50)]
        servo.set_position(0.0)
        motions.append(np.vstack([*rows, passed(chain, 50)]))
    np.testing.assert_array_equal(*motions)


def asked(**words):
    """A function that asks a servo for these, in this order: position, velocity, acceleration, motor_force, force."""

    def ask(servo):
        for word, value in words.items():
            getattr(servo, f"set_{word}")(value)

    return ask


INF = math.inf


@pytest.mark.parametrize(
    ("fields", "ask", "begin", "velocity", "motor"),
    [
        ({"control_p": 7.0}, asked(position=0.3), (0.1, 0.0), 7.0 * 0.2, 0.02 * 1.4 / STEP),
        ({"control_p": 7.0}, asked(position=-0.3), (0.1, 0.0), -7.0 * 0.4, -0.02 * 2.8 / STEP),
        ({"max_velocity": 2.0}, asked(position=5.0), (0.0, 0.0), 2.0, 0.02 * 2.0 / STEP),
        ({"max_velocity": 2.0}, asked(position=-5.0), (0.0, 0.0), -2.0, -0.02 * 2.0 / STEP),
        ({"acceleration": 30.0}, asked(position=5.0), (0.0, 0.0), 30.0 * STEP, 0.6),
        ({"acceleration": 30.0}, asked(acceleration=-1, position=5.0), (0.0, 0.0), 10.0, 0.02 * 10.0 / STEP),
        ({"max_force": 0.01}, asked(position=1.0), (0.0, 0.0), 0.01 / 0.02 * STEP, 0.01),
        ({"max_force": 0.01}, asked(position=-1.0), (0.0, 0.0), -0.01 / 0.02 * STEP, -0.01),
        ({"max_force": 3.0}, asked(motor_force=0.01, position=1.0), (0.0, 0.0), 0.01 / 0.02 * STEP, 0.01),
        ({}, asked(force=1.0, position=INF, velocity=-3.0), (0.0, 0.0), -3.0, -0.02 * 3.0 / STEP),
        ({}, asked(position=INF, velocity=3.0, force=0.0), (0.0, 1.0), 1.0, 0.0),
        ({}, asked(position=1.0, force=0.04), (0.0, 0.0), 0.04 / 0.02 * STEP, 0.0),
        ({}, asked(force=-5.0, motor_force=0.04), (0.0, 0.0), -0.04 / 0.02 * STEP, 0.0),
        ({"spring_constant": 0.3}, asked(force=0.0), (0.5, 0.0), -0.3 * 0.5 / 0.02 * STEP, 0.0),
        ({"spring_constant": 0.3}, asked(force=0.0), (-0.5, 0.0), 0.3 * 0.5 / 0.02 * STEP, 0.0),
        ({"damping_constant": 0.04}, asked(motor_force=0.0), (0.0, 2.0), 2.0 / (1.0 + 0.04 / 0.02 * STEP), 0.0),
        ({"damping_constant": 0.2}, asked(position=INF, velocity=3.0), (0.0, 3.0), 3.0, 0.2 * 3.0),
    ],
)
def test_a_step_is_the_manuals(fields, ask, begin, velocity, motor):
    """3.42.5–3.42.10: J·(v' − v)/h is motor or force control, −K·x of before the step and −B·v' of after it."""
    servo, chain = servo_of(replace(STRONG, **fields))
    servo.position, servo.velocity = begin
    ask(servo)
    (row,) = passed(chain, 1)
    assert row == pytest.approx([begin[0] + STEP * velocity, velocity, row[2], motor], rel=1e-9, abs=1e-12)
