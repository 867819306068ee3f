"""Feetech's firmware: variants, lock, turn, overload, late goals. Nothing of it passes for a run."""

import math
from dataclasses import replace

import pytest

from core.base.errors import ModelError
from core.servo.catalogue import load_servo, servos
from core.servo.model import build_model
from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from drivers.errors import AddressError, BusError, CommandError, DriverError, NoAnswer, ServoFault
from drivers.feetech.centre import centre, centring
from drivers.registry import resolve
from drivers.scan import answered, scan
from drivers.serial_bus.registers import NotKept
from drivers.servo import PositionGoal, ServoState, TorqueGoal
from tests.drivers.dynamixel.bench import connected, cycles, driven, emulation, settings, source_of, truth

NAME, SCS = "sts3215", "scs0009"
SERIES = pytest.mark.parametrize("name", [NAME, SCS])


def emulated(name=NAME, **registers):
    return FeetechEmulation(servos=(EmulatedFeetech(servo=name, registers=registers),))


def kept(emulator, register):
    """Content of a register after its power was off."""
    emulator.say("power-cycle")
    emulator.clock.sleep(0.5)
    return int(emulator.say(f"get {register}"))


# Which servo it is.


def test_servos_that_answer_alike_are_told_apart_by_the_person(sts):
    source = source_of(sts)
    alike = [spec.name for spec in servos().values() if 777 in spec.buses.get("feetech", {}).get("model_numbers", ())]
    assert len(alike) > 1
    with pytest.raises(
        DriverError, match=r"does not report its voltage and gear ratio \(its supply is 12.1 V"
    ) as raised:
        replace(source, servo="").open().connect()
    assert all(name in str(raised.value) for name in alike)
    for name in alike:
        with replace(source, servo=name).open() as servo:
            assert servo.connect().model == name
    with pytest.raises(DriverError, match="not as Feetech STS3250"):
        replace(source, servo="sts3250").open().connect()


def test_a_scan_lists_each_servo_that_it_may_be_as_one_that_answered(sts):
    found, answers = scanned(sts)
    assert len(found) > 1
    assert all(servo.by_label for servo in found)
    assert answers == 1


def scanned(emulator):
    """Servos that a scan up to the emulated one finds, and how many answered."""
    source, steps = source_of(emulator), []
    values = {"port": source.port, "id": str(source.id), "baud": str(source.baud)}
    found = scan("feetech", values, steps.append, lambda: len(steps) > source.id)
    return found, answered(found)


def test_a_servo_that_answers_as_no_other_needs_no_name(emulate):
    for name in ("sts3250", SCS):
        emulator = emulate(emulation(name))
        found, answers = scanned(emulator)
        assert [servo.by_label for servo in found] == [False]
        assert answers == 1
        with replace(source_of(emulator), servo="").open() as servo:
            assert servo.connect().model == name


@pytest.mark.parametrize("wrong", ["feetech:/dev/x", "feetech:/dev/x:300", "feetech:/dev/x:1:2:3",
                                   "feetech:/dev/x:1?kp=3", "feetech:/dev/x:1?servo=mx106"])  # fmt: skip
def test_an_address_that_is_none(wrong):
    with pytest.raises(AddressError):
        resolve(wrong)


# Its memory.


@SERIES
@pytest.mark.parametrize("drops", [False, True])
def test_gains_are_set_whatever_the_lock_does_to_them(emulate, name, drops):
    emulator = emulate(replace(emulated(name), drops_locked=drops))
    wanted = replace(settings(name), kp=21.0, kd=5.0)
    with connected(emulator) as servo:
        servo.configure(wanted)
        assert servo.settings() == wanted
        assert int(emulator.say("get p_gain")) == 21
        cycles(servo, PositionGoal(0.1), 20)
        assert int(emulator.say("get lock")) == 1
    assert kept(emulator, "p_gain") == (21 if drops else 15 if name == SCS else 32)


WRONG = pytest.mark.parametrize(
    ("name", "register"), [(NAME, "operating_mode"), (NAME, "return_delay_time"), (SCS, "return_delay_time")]
)


@WRONG
def test_connecting_changes_nothing_for_good(emulate, name, register):
    emulator = emulate(emulated(name, **{register: 2}))
    with connected(emulator) as servo:
        assert servo.identity.facts[f"{register} set to"] == 0.0
        assert int(emulator.say(f"get {register}")) == 0
    assert kept(emulator, register) == 2


@WRONG
def test_what_only_a_lasting_change_would_put_right_is_left_to_the_person(emulate, name, register):
    emulator = emulate(replace(emulated(name, **{register: 2}), drops_locked=True))
    with pytest.raises(NotKept, match=f"holds 2 in {register} after 0 was written"):
        connected(emulator)
    with source_of(emulator).registers() as registers:
        gain = registers.read_one("p_gain")
        assert registers.differing({register: 0, "p_gain": gain}) == {register: (2, 0)}
        registers.keep({register: 0})
    assert kept(emulator, register) == 0
    connected(emulator).close()


@SERIES
def test_a_silent_status_level_is_changed_too(emulate, name):
    emulator = emulate(emulated(name, status_return_level=0))
    connected(emulator).close()
    with source_of(emulator).registers() as registers:
        registers.keep({"p_gain": 9})
    assert kept(emulator, "p_gain") == 9


@pytest.mark.parametrize("bit", [4, 8, 16])
def test_another_unit_of_speed_or_angle_is_refused(emulate, bit):
    emulator = emulate(emulated(phase=12 ^ bit))
    with pytest.raises(DriverError, match="bench servo set phase=12"):
        connected(emulator)


@pytest.mark.parametrize("phase", [0, 1, 28, 255])
def test_a_phase_whose_bits_are_not_known_is_reported_and_no_more(emulate, phase):
    with connected(emulate(emulated(SCS, phase=phase))) as servo:
        assert servo.identity.facts["phase"] == phase
        assert not any("phase" in warning for warning in servo.identity.warnings)


@pytest.mark.parametrize("wanted", [{"torque_enable": 1}, {"goal_position": 5}, {"baud_rate": 1}, {"present_load": 1},
                                    {"nothing": 1}, {"p_gain": 256}, {"homing_offset": 2048},
                                    {"status_return_level": 0}, {"operating_mode": 2}, {"max_torque": 1001},
                                    {"min_position_limit": 4096},
                                    {"min_position_limit": 9, "max_position_limit": 9}])  # fmt: skip
def test_only_settings_can_be_set(sts, wanted):
    with source_of(sts).registers() as registers, pytest.raises(CommandError):
        registers.differing(wanted)
    assert not driven(sts)


@pytest.mark.parametrize("wanted", [{"homing_offset": 0}, {"operating_mode": 0}, {"max_position_limit": 1024},
                                    {"min_position_limit": 0, "max_position_limit": 0}])  # fmt: skip
def test_what_a_potentiometer_lacks_cannot_be_set(scs, wanted):
    """Both limits 0 would be the mode that drives a duty cycle."""
    with source_of(scs).registers() as registers, pytest.raises(CommandError):
        registers.differing(wanted)


@SERIES
def test_an_id_is_changed(emulate, name):
    sts = emulate(emulation(name))
    source = source_of(sts)
    with source.registers() as registers:
        registers.keep({"id": 7})
    assert kept(sts, "id") == 7
    with pytest.raises(NoAnswer), replace(source, id=1).registers():
        pass
    with replace(source, id=7).registers() as registers:
        assert registers.read_one("id") == 7


# Its turn.


@pytest.mark.parametrize("degrees", [-170.0, -60.0, 20.0, 130.0])
def test_centring_makes_where_it_hangs_the_centre(emulate, degrees):
    emulator = emulate(emulated(homing_offset=-1500))
    emulator.say(f"hand angle {degrees}")
    emulator.clock.sleep(3.0)
    with source_of(emulator).registers() as registers:
        shown = centring(registers)
        centre(registers, shown)
        assert registers.read_one("homing_offset") == pytest.approx(shown["homing_offset"][1], abs=1)
        assert registers.read_one("present_position") == pytest.approx(2048, abs=1)
    assert kept(emulator, "homing_offset") == pytest.approx(shown["homing_offset"][1], abs=1)
    assert not driven(emulator)


@pytest.mark.parametrize(("change", "named"), [("hand angle 20", "moved"), ("set homing_offset 1", "homing_offset")])
def test_what_is_no_longer_as_it_was_shown_is_not_centred(emulate, change, named):
    emulator = emulate(emulated())
    with source_of(emulator).registers() as registers:
        shown = centring(registers)
        emulator.say(change)
        emulator.clock.sleep(3.0)
        now = centring(registers)
        with pytest.raises(CommandError, match=named):
            centre(registers, shown)
        assert centring(registers) == now
    assert not driven(emulator)


def test_registers_of_another_servo_than_the_address_states_are_left_alone(emulate):
    source = source_of(emulate(emulated()))
    with pytest.raises(ModelError, match="not as Feetech SCS0009"), replace(source, servo="scs0009").registers():
        pass
    with replace(source, servo="sts3215_7v4").registers() as registers:
        assert registers.read_one("model_number") == 777


def test_a_load_that_hangs_near_the_end_of_the_turn_is_a_warning(emulate):
    for offset, warned in ((0, False), (1000, False), (1700, True), (-1700, True)):
        with connected(emulate(emulated(homing_offset=offset))) as servo:
            assert any("bench servo centre" in warning for warning in servo.identity.warnings) == warned


@pytest.mark.parametrize("degrees", [150.0, -150.0, 170.0, -170.0, 107.0, -107.0, 100.0, 0.0])
def test_a_load_that_hangs_near_the_end_of_a_potentiometer_is_not_driven(emulate, degrees):
    """Within 45° of its ends at ±150°."""
    emulator = emulate(emulation(SCS))
    emulator.say("load 0 0")
    emulator.say(f"hand angle {degrees}")
    emulator.clock.sleep(3.0)
    near, remedy = abs(degrees) > 105.0, "mount the load so that it hangs near position 512"
    with connected(emulator) as servo:
        assert any(remedy in warning for warning in servo.identity.warnings) == near
        servo.configure(settings(SCS))
        if near:
            with pytest.raises(DriverError, match=f"the end of (its|the) potentiometer.* {remedy}"):
                servo.command(PositionGoal(0.0))
            assert not driven(emulator)
        else:
            cycles(servo, PositionGoal(servo.read().position), 5)


@pytest.mark.parametrize("on", [1.0, -1.0])
@pytest.mark.parametrize("drive", [False, True])
def test_a_load_that_is_turned_to_the_end_of_a_potentiometer_is_a_fault(emulate, on, drive):
    """Its angle is not known beyond: the position stays at 0 or 1023."""
    emulator = emulate(emulation(SCS))
    emulator.say("load 0.01 0.05")
    with connected(emulator) as servo:
        servo.configure(settings(SCS))
        emulator.say(f"hand torque {0.5 * on}")

        def turn():
            for _ in range(1000):
                if drive:
                    servo.command(PositionGoal(0.5 * on))
                servo.read()
                emulator.clock.sleep(0.005)

        reason = f"the position is {1023 if on > 0 else 0}, at the end of the potentiometer, beyond which its angle"
        with pytest.raises(ServoFault, match=reason):
            turn()
        servo.fault("the end")
        assert not driven(emulator)
        emulator.say("hand off")
        emulator.say("hand angle 0")
        emulator.clock.sleep(2.0)
        servo.acknowledge()
        servo.read()


def test_a_potentiometer_is_not_centred(scs):
    with source_of(scs).registers() as registers, pytest.raises(CommandError, match="no homing offset"):
        centring(registers)


def test_a_potentiometer_has_its_own_units(scs):
    """1024 counts over 300°, 512 in the middle; the load's sign is that of positions."""
    with connected(scs) as servo:
        profile = servo.profile
        ends = [profile.from_counts(profile.table["present_position"], counts) for counts in profile.position_ends]
        assert ends == pytest.approx([math.radians(-150.0), math.radians(150.0) - profile.position_unit])
        servo.configure(settings(SCS))
        for goal in (0.4, -0.4):
            reading = cycles(servo, PositionGoal(goal), 100)
            assert reading.position == pytest.approx(goal, abs=0.15)
            assert reading.position == pytest.approx(truth(scs)["position"], abs=0.006)
            assert reading.duty_cycle == pytest.approx(truth(scs)["duty_cycle"], abs=0.01)
            assert goal * reading.duty_cycle > 0.0
            assert math.isnan(reading.current)


@pytest.mark.parametrize(("offset", "angle"), [(2000, -30.0), (-2000, 30.0)])
def test_a_load_that_swings_across_the_end_of_the_turn_is_a_fault(emulate, offset, angle):
    emulator = emulate(emulated(homing_offset=offset))
    with connected(emulator) as servo:
        emulator.say(f"hand angle {angle}")
        start = servo.read().position

        def swing():
            for _ in range(400):
                servo.read()
                emulator.clock.sleep(0.005)

        with pytest.raises(ServoFault, match="across the end of the turn"):
            swing()
        servo.fault("the turn")
        servo.acknowledge()
        assert abs(servo.read().position - start) > math.pi


@pytest.mark.parametrize("offset", [1700, -1700, 2000, -2000])
def test_a_load_that_hangs_near_the_end_of_the_turn_is_not_driven(emulate, offset):
    emulator = emulate(emulated(homing_offset=offset))
    with connected(emulator) as servo:
        servo.configure(settings(NAME))
        for goal in (PositionGoal(0.0), TorqueGoal(0.1)):
            with pytest.raises(DriverError, match="near the end of its turn"):
                servo.command(goal)
            assert not driven(emulator)


@pytest.mark.parametrize("on", [1.0, -1.0])
def test_no_torque_crosses_the_end_of_the_turn(emulate, on):
    """Angle limits within the turn hold it; a hand that pushes it on is stronger."""
    emulator = emulate(emulated(homing_offset=round(-1200 * on)))
    with connected(emulator) as servo:
        servo.configure(settings(NAME))
        emulator.say("load 0.01 0.05")

        def push():
            emulator.say(f"hand angle {100 * on}")
            cycles(servo, TorqueGoal(0.3 * on), 600)

        with pytest.raises(ServoFault, match="across the end of the turn"):
            push()
        servo.fault("the turn")
        assert not driven(emulator)


# Its torque.


def test_torque_has_the_sign_of_positions(sts):
    with connected(sts) as servo:
        servo.configure(settings(NAME))
        for sign in (1.0, -1.0, 1.0):
            reading = cycles(servo, TorqueGoal(0.4 * sign), 200)
            assert sign * reading.position > 0.05
            assert sign * reading.duty_cycle > 0.0
            assert sign * reading.current > 0.0
        # At rest, its position law has no output either.
        cycles(servo, TorqueGoal(0.0), 5)
        assert truth(sts)["duty_cycle"] == pytest.approx(0.0, abs=0.05)


@SERIES
def test_a_goal_that_arrives_after_the_release_does_not_drive_it(emulate, name):
    sts = emulate(emulation(name))
    for wait in (0.0, 0.0002, 0.0005):
        with connected(sts) as servo:
            servo.configure(settings(name))
            cycles(servo, PositionGoal(0.1), 5)
            sent, send = [], servo._bus.send

            def late(id, address, data, wait=wait, sent=sent, send=send, servo=servo):
                """The release's first packet, and right behind it a goal that an adapter kept back."""
                send(id, address, data)
                if not sent and address == 40:
                    sent.append(data)
                    servo.clock.sleep(wait)
                    send(id, 42, servo.profile.table["goal_position"].encode(600))

            servo._bus.send = late
            assert servo.release()
            assert sent
            sts.clock.sleep(0.01)
            assert not driven(sts)


@SERIES
def test_torque_that_is_on_after_power_up_is_switched_off(emulate, name):
    emulator = emulate(replace(emulated(name), starts_driven=True))
    assert driven(emulator)
    with connected(emulator) as servo:
        assert servo.state is ServoState.READY
        assert not driven(emulator)


@SERIES
@pytest.mark.parametrize("silent", [False, True])
def test_an_overload_is_a_fault_even_if_the_servo_reports_none(emulate, name, silent):
    emulator = emulate(emulated(name, unloading_condition=4 if silent else 36, protection_time=20))
    emulator.say("load 20 0.3")
    with connected(emulator) as servo:
        servo.configure(replace(settings(name), kp=32.0))
        reason = "an overload has cut the servo's output to 20 %" if silent else "the servo reports overload"

        def lift():
            for k in range(1000):
                cycles(servo, PositionGoal(min(1.2, 0.01 * k)), 1)

        with pytest.raises(ServoFault, match=reason):
            lift()
        begin = emulator.clock.now()
        servo.fault("overload")
        assert not driven(emulator)
        assert emulator.clock.now() - begin < 0.25
        emulator.say("load 0.1 0.1")
        emulator.clock.sleep(1.0)
        if name == SCS:
            # Only a goal ends its overload otherwise, and its output cannot be kept at 0 meanwhile.
            if not silent:
                with pytest.raises(ServoFault, match=r"still reports overload.* switch its power off and on"):
                    servo.acknowledge()
            emulator.say("power-cycle")
            emulator.clock.sleep(0.5)
        emulator.say("load 0.01 0.05")
        servo.acknowledge()
        cycles(servo, PositionGoal(-0.1), 20)
        assert driven(emulator)


@SERIES
@pytest.mark.parametrize("share", [100, 150, 200, 390])
def test_a_limited_output_is_not_taken_for_an_overload(emulate, name, share):
    emulator = emulate(emulated(name, max_torque=share))
    with connected(emulator) as servo:
        assert any("cuts its output off" in warning for warning in servo.identity.warnings)
        servo.configure(replace(settings(name), kp=32.0))
        for k in range(600):
            cycles(servo, PositionGoal(1.2 * math.sin(0.05 * k)), 1)


@pytest.mark.parametrize("ratio", [0.25, 0.4, 1.5, 2.5])
def test_another_gain_than_the_catalogue_has_is_not_taken_for_an_overload(emulate, ratio):
    """The gain of an SCS0009 is an estimate: a load that takes 15 % of its output has a far larger error or smaller."""
    model = build_model(SCS, "m1", command_path=("error_gain_ratio",)).with_values({"error_gain_ratio": ratio})
    emulator = emulate(replace(emulated(SCS, unloading_condition=4, protection_time=20), model=model))
    emulator.say("load 0.04 0.1")

    def lift(servo):
        for k in range(600):
            cycles(servo, PositionGoal(min(1.5, 0.01 * k)), 1)

    with connected(emulator) as servo:
        servo.configure(settings(SCS))
        lift(servo)
        assert servo.release()
        servo.configure(replace(settings(SCS), kp=60.0))
        emulator.say("load 20 0.3")
        emulator.clock.sleep(5.0)
        with pytest.raises(ServoFault, match="an overload has cut"):
            lift(servo)


@WRONG
def test_a_servo_that_lost_its_power_is_prepared_again_before_it_is_driven(emulate, name, register):
    emulator = emulate(emulated(name, **{register: 2}))
    with connected(emulator) as servo:
        servo.configure(replace(settings(name), kp=11.0))
        emulator.say("power-cycle")
        emulator.clock.sleep(0.5)
        with pytest.raises(ServoFault, match="restarted after it was connected"):
            servo.command(PositionGoal(0.1))
        servo.fault("restarted")
        servo.acknowledge()
        cycles(servo, PositionGoal(0.1), 20)
        assert [int(emulator.say(f"get {name}")) for name in ("p_gain", register)] == [11, 0]


def test_a_released_servo_is_left_with_its_whole_output(sts):
    with connected(sts) as servo:
        servo.configure(settings(NAME))
        cycles(servo, TorqueGoal(0.1), 20)
        assert int(sts.say("get torque_limit")) < 1000
    sts.clock.sleep(0.01)
    assert int(sts.say("get torque_limit")) == 1000


def test_a_servo_that_is_refused_is_not_left_driven(emulate):
    emulator = emulate(FeetechEmulation(starts_driven=True))
    assert driven(emulator)
    with pytest.raises(DriverError, match="does not report its voltage"):
        replace(source_of(emulator), servo="").open().connect()
    assert not driven(emulator)


@SERIES
def test_a_servo_without_any_output_is_refused(emulate, name):
    with pytest.raises(DriverError, match="max_torque is 0"):
        connected(emulate(emulated(name, max_torque=0)))


def test_limits_that_are_both_0_are_refused(emulate):
    """They are the SCS series' mode that drives a duty cycle."""
    emulator = emulate(emulated(SCS, min_position_limit=0, max_position_limit=0))
    with pytest.raises(DriverError, match=r"0 to 0, leave nothing; set .* with bench servo set"):
        connected(emulator)
    with source_of(emulator).registers() as registers:
        registers.keep({"min_position_limit": 20, "max_position_limit": 1003})
    connected(emulator).close()


@pytest.mark.parametrize("other", [NAME, SCS])
def test_an_id_that_is_taken_is_not_given_again(emulate, other):
    emulator = emulate(FeetechEmulation(servos=(EmulatedFeetech(), EmulatedFeetech(servo=other, id=2))))
    with source_of(emulator).registers() as registers, pytest.raises(CommandError, match="another servo has the ID 2"):
        registers.keep({"id": 2})


def test_a_centring_that_goes_wrong_leaves_no_torque_on(sts):
    """The servo takes any value but 0 for torque on, and its answer is lost."""

    def go_wrong():
        with source_of(sts).registers() as registers:
            registers.bus.send(1, 40, b"\x01")
            sts.clock.sleep(0.01)
            assert driven(sts)
            sts.say("mute on")
            registers.read_one("torque_enable", 0.0)

    with pytest.raises(NoAnswer):
        go_wrong()
    sts.clock.sleep(0.01)
    assert not driven(sts)


def test_a_servo_in_another_mode_is_not_centred(emulate):
    source = source_of(emulate(emulated(operating_mode=2)))
    with source.registers() as registers, pytest.raises(CommandError, match="operating_mode=0"):
        centring(registers)


def test_names_of_labels_are_names(sts):
    with replace(source_of(sts), servo="sts3215_c018").open() as servo:
        assert servo.connect().model == NAME
    assert resolve("feetech:/dev/x:1?servo=STS3215_C018").servo == NAME


@SERIES
def test_a_blip_of_its_supply_is_a_restart_and_not_another_program(emulate, monkeypatch, name):
    monkeypatch.setattr("drivers.emulators.serial_bus.device.BOOT_TIME", 0.02)
    emulator = emulate(emulated(name))
    with connected(emulator) as servo:
        servo.configure(settings(name))
        cycles(servo, PositionGoal(0.1), 5)
        emulator.say("power-cycle")
        emulator.clock.sleep(0.05)
        with pytest.raises(ServoFault, match="the servo restarted while it was driven"):
            cycles(servo, PositionGoal(0.1), 5)


@pytest.mark.parametrize("names", [(NAME, NAME), (SCS, SCS)])
def test_two_servos_with_one_id_are_named(emulate, names):
    emulator = emulate(FeetechEmulation(servos=tuple(EmulatedFeetech(servo=name) for name in names)))
    for _ in range(30):
        with pytest.raises(BusError, match="no two servos share the ID"):
            connected(emulator)


def test_a_scan_finds_both_series_on_one_bus(emulate):
    """By single pings, and a model number whose bytes the SCS series has in the other order."""
    emulator = emulate(FeetechEmulation(servos=(EmulatedFeetech(servo="sts3250"), EmulatedFeetech(servo=SCS, id=4))))
    port, steps = source_of(emulator).port, []
    found = scan("feetech", {"port": port}, steps.append, lambda: len(steps) >= 10)
    assert [(servo.title, servo.address) for servo in found] == [
        ("Feetech STS3250 12 V", f"feetech:{port}:1:1000000"),
        ("Feetech SCS0009", f"feetech:{port}:4:1000000"),
    ]
    assert found[1].detail.endswith("model number 1284")
    for servo in found:
        with resolve(servo.address).open() as driver:
            assert driver.connect().title == servo.title


@pytest.mark.parametrize(("name", "found"), [(NAME, r"\[1000\], or \[59395\]"), (SCS, r"\[59395\], or \[1000\]")])
def test_a_servo_that_is_not_in_the_catalogue_is_named_by_both_orders_of_its_number(emulate, name, found):
    with pytest.raises(DriverError, match=rf'model_numbers = {found} if its table is "scs"'):
        connected(emulate(emulated(name, model_number=1000)))


def test_a_load_beyond_the_ratings_of_the_stated_variant_is_said(sts):
    """A 12 V servo taken for the 7.4 V one."""
    with replace(source_of(sts), servo="sts3215_7v4").open() as servo:
        servo.connect()
        assert servo.limits.check(servo.read(), driven=False) is not None
        assert load_servo("sts3215_7v4").supply_range[1] < 12.0
