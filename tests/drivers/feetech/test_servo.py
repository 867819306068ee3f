"""Feetech's firmware: variants, lock, turn, overload, late goals. Nothing of it passes for a run."""

import math
from dataclasses import replace

import pytest

from core.servo.catalogue import load_servo, servos
from drivers.emulators.feetech import EmulatedFeetech, FeetechEmulation
from drivers.errors import AddressError, BusError, CommandError, DriverError, NoAnswer, ServoFault
from drivers.feetech.centre import centre, centring
from drivers.registry import resolve
from drivers.scan import answered, scan
from drivers.serial_bus.registers import NotKept
from drivers.servo import PositionGoal, ServoState, TorqueGoal
from tests.drivers.dynamixel.bench import connected, cycles, driven, emulation, settings, source_of, truth

NAME = "sts3215"


def emulated(**registers):
    return FeetechEmulation(servos=(EmulatedFeetech(registers=registers),))


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
    emulator = emulate(emulation("sts3250"))
    found, answers = scanned(emulator)
    assert [servo.by_label for servo in found] == [False]
    assert answers == 1
    with replace(source_of(emulator), servo="").open() as servo:
        assert servo.connect().model == "sts3250"


@pytest.mark.parametrize("wrong", ["feetech:/dev/x", "feetech:/dev/x:300", "feetech:/dev/x:1:2:3",
                                   "feetech:/dev/x:1?kp=3", "feetech:/dev/x:1?servo=mx106"])  # fmt: skip
def test_an_address_that_is_none(wrong):
    with pytest.raises(AddressError):
        resolve(wrong)


# Its memory.


@pytest.mark.parametrize("drops", [False, True])
def test_gains_are_set_whatever_the_lock_does_to_them(emulate, drops):
    emulator = emulate(FeetechEmulation(drops_locked=drops))
    wanted = replace(settings(NAME), kp=21.0, kd=5.0)
    with connected(emulator) as servo:
        servo.configure(wanted)
        assert servo.settings() == wanted
        assert int(emulator.say("get p_gain")) == 21
        cycles(servo, PositionGoal(0.1), 20)
        assert int(emulator.say("get lock")) == 1
    assert kept(emulator, "p_gain") == (21 if drops else 32)


@pytest.mark.parametrize("name", ["operating_mode", "return_delay_time"])
def test_connecting_changes_nothing_for_good(emulate, name):
    emulator = emulate(emulated(**{name: 2}))
    with connected(emulator) as servo:
        assert servo.identity.facts[f"{name} set to"] == 0.0
        assert int(emulator.say(f"get {name}")) == 0
    assert kept(emulator, name) == 2


@pytest.mark.parametrize("name", ["operating_mode", "return_delay_time"])
def test_what_only_a_lasting_change_would_put_right_is_left_to_the_person(emulate, name):
    emulator = emulate(replace(emulated(**{name: 2}), drops_locked=True))
    with pytest.raises(NotKept, match=f"holds 2 in {name} after 0 was written"):
        connected(emulator)
    with source_of(emulator).registers() as registers:
        assert registers.differing({name: 0, "p_gain": 32}) == {name: (2, 0)}
        registers.keep({name: 0})
    assert kept(emulator, name) == 0
    connected(emulator).close()


def test_a_silent_status_level_is_changed_too(emulate):
    emulator = emulate(emulated(status_return_level=0))
    connected(emulator).close()
    with source_of(emulator).registers() as registers:
        registers.keep({"p_gain": 9})
    assert kept(emulator, "p_gain") == 9


@pytest.mark.parametrize("bit", [4, 8, 16])
def test_another_unit_of_speed_or_angle_is_refused(emulate, bit):
    emulator = emulate(emulated(phase=12 ^ bit))
    with pytest.raises(DriverError, match="bench servo set phase=12"):
        connected(emulator)


@pytest.mark.parametrize("wanted", [{"torque_enable": 1}, {"goal_position": 5}, {"baud_rate": 1}, {"present_load": 1},
                                    {"nothing": 1}, {"p_gain": 256}, {"homing_offset": 2048},
                                    {"status_return_level": 0}, {"operating_mode": 2}, {"max_torque": 1001},
                                    {"min_position_limit": 4096},
                                    {"min_position_limit": 9, "max_position_limit": 9}])  # fmt: skip
def test_only_settings_can_be_set(sts, wanted):
    with source_of(sts).registers() as registers, pytest.raises(CommandError):
        registers.differing(wanted)
    assert not driven(sts)


def test_an_id_is_changed(sts):
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
        centre(registers)
        assert registers.read_one("homing_offset") == pytest.approx(shown["homing_offset"][1], abs=1)
        assert registers.read_one("present_position") == pytest.approx(2048, abs=1)
    assert kept(emulator, "homing_offset") == pytest.approx(shown["homing_offset"][1], abs=1)
    assert not driven(emulator)


def test_a_load_that_hangs_near_the_end_of_the_turn_is_a_warning(emulate):
    for offset, warned in ((0, False), (1000, False), (1700, True), (-1700, True)):
        with connected(emulate(emulated(homing_offset=offset))) as servo:
            assert any("bench servo centre" in warning for warning in servo.identity.warnings) == warned


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


def test_a_goal_that_arrives_after_the_release_does_not_drive_it(sts):
    for wait in (0.0, 0.0002, 0.0005):
        with connected(sts) as servo:
            servo.configure(settings(NAME))
            cycles(servo, PositionGoal(0.1), 5)
            sent, send = [], servo._bus.send

            def late(id, address, data, wait=wait, sent=sent, send=send, servo=servo):
                """The release's first packet, and right behind it a goal that an adapter kept back."""
                send(id, address, data)
                if not sent and address == 40:
                    sent.append(data)
                    servo.clock.sleep(wait)
                    send(id, 42, (2100).to_bytes(2, "little"))

            servo._bus.send = late
            assert servo.release()
            assert sent
            sts.clock.sleep(0.01)
            assert not driven(sts)


def test_torque_that_is_on_after_power_up_is_switched_off(emulate):
    emulator = emulate(FeetechEmulation(starts_driven=True))
    assert driven(emulator)
    with connected(emulator) as servo:
        assert servo.state is ServoState.READY
        assert not driven(emulator)


@pytest.mark.parametrize("silent", [False, True])
def test_an_overload_is_a_fault_even_if_the_servo_reports_none(emulate, silent):
    emulator = emulate(emulated(unloading_condition=12 if silent else 44, protection_time=20))
    emulator.say("load 20 0.3")
    with connected(emulator) as servo:
        servo.configure(replace(settings(NAME), kp=32.0))
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
        servo.acknowledge()
        cycles(servo, PositionGoal(-0.1), 20)
        assert driven(emulator)


@pytest.mark.parametrize("share", [100, 150, 200, 390])
def test_a_limited_output_is_not_taken_for_an_overload(emulate, share):
    emulator = emulate(emulated(max_torque=share))
    with connected(emulator) as servo:
        assert any("cuts its output off" in warning for warning in servo.identity.warnings)
        servo.configure(replace(settings(NAME), kp=32.0))
        for k in range(600):
            cycles(servo, PositionGoal(1.2 * math.sin(0.05 * k)), 1)


def test_a_servo_that_lost_its_power_is_prepared_again_before_it_is_driven(emulate):
    emulator = emulate(emulated(operating_mode=2))
    with connected(emulator) as servo:
        servo.configure(replace(settings(NAME), kp=11.0))
        emulator.say("power-cycle")
        emulator.clock.sleep(0.5)
        with pytest.raises(ServoFault, match="restarted after it was connected"):
            servo.command(PositionGoal(0.1))
        servo.fault("restarted")
        servo.acknowledge()
        cycles(servo, PositionGoal(0.1), 20)
        assert [int(emulator.say(f"get {name}")) for name in ("p_gain", "operating_mode")] == [11, 0]


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


def test_a_servo_without_any_output_is_refused(emulate):
    with pytest.raises(DriverError, match="max_torque is 0"):
        connected(emulate(emulated(max_torque=0)))


def test_an_id_that_is_taken_is_not_given_again(emulate):
    emulator = emulate(FeetechEmulation(servos=(EmulatedFeetech(), EmulatedFeetech(id=2))))
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


def test_a_blip_of_its_supply_is_a_restart_and_not_another_program(emulate, monkeypatch):
    monkeypatch.setattr("drivers.emulators.serial_bus.device.BOOT_TIME", 0.02)
    emulator = emulate(FeetechEmulation())
    with connected(emulator) as servo:
        servo.configure(settings(NAME))
        cycles(servo, PositionGoal(0.1), 5)
        emulator.say("power-cycle")
        emulator.clock.sleep(0.05)
        with pytest.raises(ServoFault, match="the servo restarted while it was driven"):
            cycles(servo, PositionGoal(0.1), 5)


def test_two_servos_with_one_id_are_named(emulate):
    emulator = emulate(FeetechEmulation(servos=(EmulatedFeetech(), EmulatedFeetech())))
    for _ in range(30):
        with pytest.raises(BusError, match="no two servos share the ID"):
            connected(emulator)


def test_a_load_beyond_the_ratings_of_the_stated_variant_is_said(sts):
    """A 12 V servo taken for the 7.4 V one."""
    with replace(source_of(sts), servo="sts3215_7v4").open() as servo:
        servo.connect()
        assert servo.limits.check(servo.read(), driven=False) is not None
        assert load_servo("sts3215_7v4").supply_range[1] < 12.0
