"""Every serial servo of the catalogue from connecting to releasing, over its own control table."""

import math
import pickle
import re
from types import SimpleNamespace

import pytest

from core.servo.catalogue import load_servo
from core.servo.shipped import nominal_model
from drivers.dynamixel.form import DYNAMIXEL
from drivers.emulators.dynamixel import DynamixelEmulation, EmulatedDynamixel
from drivers.errors import CommandError, DriverError
from drivers.feetech.form import FEETECH
from drivers.limits import Limits
from drivers.serial_bus.identity import _warnings
from drivers.serial_bus.preparation import Prepared
from drivers.serial_bus.profile import SerialProfile, members
from drivers.servo import PositionGoal, Release, ServoState, TorqueGoal
from tests.drivers.dynamixel.bench import connected, cycles, driven, emulation, settings, source_of, truth

OF_EACH_SERIES_AND_TORQUE = ("xl330", "xm430_w350", "mx106", "xl320", "sts3215", "scs0009")
NAMES = tuple(
    name
    if name in OF_EACH_SERIES_AND_TORQUE
    else pytest.param(name, marks=pytest.mark.exhaustive("the other models of a series"))
    for name in (*members(DYNAMIXEL), *members(FEETECH))
)
HELD = 0.08
"""Held torque as a share of the stall torque."""


def profile_in(name: str) -> SerialProfile:
    return (members(DYNAMIXEL) | members(FEETECH))[name]


@pytest.fixture(params=NAMES)
def model(request, emulate):
    """Catalogue name and an emulator of it."""
    return request.param, emulate(emulation(request.param))


def test_it_says_who_it_is(model):
    name, emulator = model
    spec = load_servo(name)
    profile = profile_in(name)
    source = source_of(emulator)
    with pickle.loads(pickle.dumps(source)).open() as servo:
        identity = servo.connect()
        assert identity is servo.identity
        assert (identity.model, identity.title, identity.id) == (name, spec.title, "1")
        assert identity.position_step == pytest.approx(spec.encoder_step, rel=1e-3)
        assert identity.facts["model number"] == spec.model_number
        bus, motor = servo._bus, nominal_model(spec).values
        assert {
            "port": bus.path,
            "protocol": profile.protocol,
            "baud rate [1/s]": float(bus.baud),
            "position unit [rad]": profile.position_unit,
            "position centre [counts]": profile.position_centre,
            "velocity unit [rad/s]": profile.velocity_unit,
            "duty cycle unit": profile.duty_unit,
            "voltage unit [V]": profile.voltage_unit,
            "constant torque by": profile.torque_mode or "nothing",
            "kt [N·m/A]": motor["kt"],
            "R [Ω]": motor["R"],
        }.items() <= identity.facts.items()
        assert identity.facts.get("current unit [A]", math.nan) == pytest.approx(profile.current_unit, nan_ok=True)
        assert not any(" in the servo, which cuts its output" in warning for warning in identity.warnings)
        assert ("current unit [A]" in identity.facts) == (not math.isnan(profile.current_unit))
        assert (identity.watchdog > 0) == ("watchdog" in profile.table.units)
        assert (identity.watchdog > 0) != any("no bus watchdog" in warning for warning in identity.warnings)
        assert any("motor's model" in w for w in identity.warnings) == (
            profile.torque_mode in ("pwm", "wheel", "limited")
        )
        assert bool(identity.no_torque) == (not profile.torque_mode)
        assert (identity.no_torque in identity.warnings) == (not profile.torque_mode)
        assert servo.limits == servo.ratings == Limits.for_spec(spec)
        assert servo.state is ServoState.READY
        assert not driven(emulator)
        # A new servo waits half a millisecond before it answers; that was changed, once.
        assert emulator.say("get return_delay_time") == "0"
        assert emulator.say("get status_return_level") == str(profile.family.answers_all)
    with connected(emulator) as servo:
        assert "return_delay_time set to" not in servo.identity.facts


def test_gains_are_written_and_read_back(model):
    name, emulator = model
    with connected(emulator) as servo:
        gains = servo.profile.table.gains
        wanted = settings(name)
        servo.configure(wanted)
        assert servo.settings() == wanted
        other = type(wanted)(servo=name, kp=wanted.kp + 4, ki=3.0, kd=7.0, supply_voltage=wanted.supply_voltage)
        servo.configure(other)
        assert servo.settings() == other
        assert [int(emulator.say(f"get {gains[gain]}")) for gain in ("kp", "ki", "kd")] == [wanted.kp + 4, 3, 7]
        for wrong in (1e6, -1.0, math.nan):
            with pytest.raises((CommandError, DriverError)):
                servo.configure(type(wanted)(servo=name, kp=wrong, supply_voltage=12.0))
        # A torque in between makes the servo forget its gains; the next position has them again.
        servo.configure(other)
        if servo.profile.torque_mode:
            cycles(servo, TorqueGoal(0.0), 3)
        cycles(servo, PositionGoal(0.0), 3)
        assert servo.settings() == other
        assert servo.release()


def test_it_goes_where_it_is_told_without_a_jump(model):
    name, emulator = model
    with connected(emulator) as servo:
        servo.configure(settings(name))
        emulator.say("hand angle 25")
        emulator.clock.sleep(1.0)
        before = servo.read().position
        assert before == pytest.approx(math.radians(25.0), abs=0.2)
        emulator.say("hand off")
        # Switched on where it is, whatever goal it had before.
        servo.command(PositionGoal(before))
        reading = cycles(servo, PositionGoal(before), 20)
        assert driven(emulator)
        assert reading.position == pytest.approx(before, abs=0.15)
        reading = cycles(servo, PositionGoal(0.0), 100)
        true = truth(emulator)
        assert reading.position == pytest.approx(true["position"], abs=1.5 * servo.identity.position_step)
        assert abs(true["position"]) < 0.3
        assert reading.velocity == pytest.approx(true["velocity"], abs=0.4)
        assert reading.supply_voltage == pytest.approx(true["supply"], abs=0.15)
        assert reading.temperature == pytest.approx(true["temperature"], abs=1.1)
        assert reading.duty_cycle == pytest.approx(true["duty_cycle"], abs=0.05)
        if not math.isnan(reading.current):
            assert reading.current == pytest.approx(true["current"], abs=0.05)
        servo.command(Release())
        assert not driven(emulator)
        assert servo.state is ServoState.READY


def test_it_holds_a_torque_while_a_hand_moves_it(model):
    name, emulator = model
    spec = load_servo(name)
    kt = nominal_model(spec).values["kt"]
    torque = HELD * spec.stall_torque
    with connected(emulator) as servo:
        servo.configure(settings(name))
        emulator.say("hand angle 10")
        emulator.clock.sleep(0.5)
        if not servo.profile.torque_mode:
            with pytest.raises(CommandError, match=f"{spec.title} cannot hold a torque"):
                servo.command(TorqueGoal(torque))
            assert not driven(emulator)
            return
        for sign, angle in ((1.0, 15.0), (-1.0, 5.0)):
            emulator.say(f"hand angle {angle}")
            cycles(servo, TorqueGoal(sign * torque), 150)
            # The motor's torque is kt times its current, whatever the servo measures.
            found = []
            for _ in range(5):
                cycles(servo, TorqueGoal(sign * torque), 10)
                found.append(truth(emulator)["current"] * kt)
            assert servo.read().velocity == pytest.approx(truth(emulator)["velocity"], abs=0.4)
            assert sorted(found)[2] == pytest.approx(sign * torque, rel=0.15)
        assert driven(emulator)
        assert servo.release()
        emulator.say("hand off")
        assert not driven(emulator)


def test_factory_settings_of_other_programs_are_put_right(emulate):
    """Wheel mode, a slow profile, a cut output, silence: what somebody else may have left in the servo."""
    servos = (
        EmulatedDynamixel(servo="mx64", id=1, registers={"cw_angle_limit": 0, "ccw_angle_limit": 0}),
        EmulatedDynamixel(servo="xm430_w350", id=2, registers={"operating_mode": 1}),
        EmulatedDynamixel(servo="xl320", id=3, registers={"control_mode": 1}),
        # A change of the mode clears a profile; here there is none.
        EmulatedDynamixel(servo="xm430_w350", id=4),
    )
    left = (
        {"moving_speed": 10, "goal_acceleration": 1, "torque_limit": 100},
        {"profile_velocity": 3, "goal_pwm": 20},
        {"moving_speed": 5, "torque_limit": 10},
        {"profile_velocity": 3, "profile_acceleration": 1, "feedforward_1st_gain": 50, "feedforward_2nd_gain": 50},
    )
    emulator = emulate(DynamixelEmulation(servos=servos))
    for index, registers in enumerate(left):
        for register, value in {**registers, "status_return_level": 0}.items():
            emulator.say(f"set {register} {value} id={index + 1}")
        with connected(emulator, index) as servo:
            name = servo.spec.name
            servo.configure(settings(name))
            reading = cycles(servo, PositionGoal(0.5), 150)
            assert reading.position == pytest.approx(0.5, abs=0.2), name
            for register in registers.keys() - {"torque_limit", "goal_pwm"}:
                assert emulator.say(f"get {register} id={index + 1}") == "0", register


def test_narrow_limits_in_the_servo_become_its_ratings(emulate):
    limits = {"min_position_limit": 1024, "max_position_limit": 3072}
    servo = EmulatedDynamixel(servo="xm430_w350", registers=limits)
    emulator = emulate(DynamixelEmulation(servos=(servo,)))
    with connected(emulator) as servo:
        assert servo.ratings.highest_position == pytest.approx(math.pi / 2)
        assert servo.ratings.lowest_position == pytest.approx(-math.pi / 2)
        servo.configure(settings("xm430_w350"))
        with pytest.raises(CommandError, match="wider than the servo's rating"):
            servo.configure(settings("xm430_w350"), Limits())
        emulator.say("hand angle 120")
        emulator.clock.sleep(1.5)
        with pytest.raises(DriverError, match="beyond the position limits set in it; move the pendulum"):
            servo.command(PositionGoal(1.0))
        assert servo.release()


def test_a_servo_that_is_not_in_the_catalogue_is_refused_by_its_number(x_series):
    x_series.say("set model_number 1060")
    with pytest.raises(DriverError, match=r"ID 1: a Dynamixel with model number 1060 .*add a file"):
        connected(x_series)


@pytest.mark.parametrize(
    ("name", "cap", "value", "full"),
    [
        ("xm430_w350", "pwm_limit", 884, 885),
        ("mx106", "max_torque", 1022, 1023),
        ("xl320", "max_torque", 400, 1023),
        ("sts3215", "max_torque", 999, 1000),
        ("scs0009", "max_torque", 999, 1000),
    ],
)
def test_a_cut_output_is_a_warning(emulate, name, cap, value, full):
    emulator = emulate(emulation(name))
    emulator.say(f"set {cap} {value}")
    with connected(emulator) as servo:
        said = [warning for warning in servo.identity.warnings if "cuts its output off" in warning]
    assert [warning.split(" in the servo")[0] for warning in said] == [f"{cap} is set to {value} of {full}"]


def test_a_slow_bus_works_and_says_how_slow_it_is(emulate):
    """A new servo's 57600 baud through an adapter that was left as it comes."""
    emulator = emulate(emulation("xm430_w350", baud=57600, usb_latency=0.016))
    with connected(emulator) as servo:
        # 19 bytes of goal, 14 + 38 of a read, 10 bits each at 57600 baud, and the adapter's 16 ms.
        highest = 1.0 / (71 * 10 / 57600 + 0.016)
        assert servo.identity.facts["highest cycle rate [Hz]"] == pytest.approx(highest, rel=0.01)
        assert any("set a higher baud rate" in warning for warning in servo.identity.warnings)
        servo.configure(settings("xm430_w350"))
        reading = cycles(servo, PositionGoal(0.2), 40, period=0.01)
        assert reading.position == pytest.approx(truth(emulator)["position"], abs=0.05)
        assert servo.release()
        assert not driven(emulator)


@pytest.mark.parametrize(
    ("servo", "prepared", "rate", "latency", "complaints", "echoes", "told"),
    [
        ("mx106", (), 100.0, "", (), False, ()),
        ("mx106", (), 99.9, "", (), False, ("at 57600 baud .* at most 100 cycles .* e.g. 1000000",)),
        ("mx106", ("cut",), 200.0, "late", (), True, ("^late$", "^cut$", "echoes what is sent to it")),
        ("mx106", (), 200.0, "", ("heat", "load"), False, ("reports heat and load; acknowledge",)),
        ("xl330", (), 200.0, "", (), False, ("as accurate as the model",)),
        ("xl320", (), 200.0, "", (), False, ("as accurate as the model",)),
    ],
)
def test_each_cause_of_a_warning_gives_one_and_nothing_else_does(
    servo, prepared, rate, latency, complaints, echoes, told
):
    bus = SimpleNamespace(baud=57600, echoes=echoes)
    state = Prepared(position_limits=(0, 1), warnings=prepared)
    warnings = _warnings(profile_in(servo), bus, state, rate, latency, complaints)
    assert len(warnings) == len(told)
    for warning, pattern in zip(warnings, told, strict=True):
        assert re.search(pattern, warning)
