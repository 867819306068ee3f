"""What happens on a real bus, one by one, with a servo of each series: no wrong data, a typed error, still usable.

Each row is one of what dynamixel-sdk was measured to report as success, as nonsense, or not at all.
"""

import gc
import itertools
import os
from collections import deque

import pytest

from drivers import timing
from drivers.errors import BusError, DriverError, NoAnswer, ServoFault
from drivers.serial_bus.bus import Bus
from drivers.serial_bus.preparation import WATCHDOG
from drivers.servo import RELEASE_ATTEMPTS, PositionGoal, Release, ServoState, TorqueGoal
from tests.drivers.dynamixel.bench import connected, cycles, driven, settings, source_of, truth


@pytest.mark.parametrize("fault", ["drop", "corrupt", "truncate", "split", "duplicate", "garbage", "fake-header"])
def test_a_single_disturbance_is_not_even_noticed(clock, emulator, servo, fault):
    """A packet lost, damaged, cut, split, doubled or behind garbage: the read is repeated within its time."""
    wanted = truth(emulator)["position"]
    before = servo.repeats
    for _ in range(5):
        emulator.say(fault)
        begin = clock.now()
        assert servo.read().position == pytest.approx(wanted, abs=0.02)
        assert clock.now() - begin <= timing.REAL.answer
    # But it is counted.
    assert servo.repeats - before == (0 if fault in ("duplicate", "garbage") else 5)


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        ("drop", NoAnswer, r"no answer to reading .* check the servo's power supply"),
        ("corrupt", BusError, r"the answer arrived damaged .* check the cable"),
    ],
)
def test_a_disturbance_that_lasts_is_an_error_within_its_time_and_nothing_else_is_broken(
    clock, emulator, servo, fault, kind, reason
):
    emulator.say(f"{fault} 1000")
    for _ in range(5):
        begin = clock.now()
        with pytest.raises(kind, match=reason):
            servo.read()
        assert clock.now() - begin <= timing.REAL.answer
    emulator.say(f"{fault} 0")
    servo.read()


@pytest.mark.parametrize("silent", [False, True], ids=["unplugged", "silent"])
def test_a_connection_that_breaks_at_any_answer_gives_its_port_back(emulator, silent):
    line = emulator.emulator.line
    send, fail = line.send, (lambda: None) if silent else line.unplug
    gc.collect()
    files = len(os.listdir("/proc/self/fd"))
    for broken in itertools.count(1, 9 if silent else 1):  # silence takes its time
        left = itertools.count(1 - broken)
        line.send = lambda data, left=left: send(data) if next(left) < 0 else fail()
        servo = source_of(emulator).open()
        servo.clock = emulator.clock
        try:
            servo.connect()
            break
        except (BusError, NoAnswer):
            assert servo.state is ServoState.DISCONNECTED
            line.plug()
            # Garbage of earlier tests may be collected meanwhile: fewer are fine, one more is a leak.
            assert len(os.listdir("/proc/self/fd")) <= files, f"after {broken} answers"
    assert broken > 20
    servo.close()


def test_late_answers_are_never_taken_for_others(clock, emulator, servo):
    """The SDK returns the old register's bytes as success; here every value belongs to what was asked."""
    registers = servo.registers
    known = {name: registers.read_one(name) for name in ("model_number", "id", "firmware_version", "torque_enable")}
    # Some of them later than an answer may be, some within the time.
    for milliseconds in (5, 10, 20, 40, 60):
        for name in known:
            emulator.say(f"delay {milliseconds} 1")
            for asked in (name, *known):
                try:
                    assert registers.read_one(asked) == known[asked], (milliseconds, name, asked)
                except NoAnswer:
                    continue
    clock.sleep(timing.REAL.serial_late)
    assert {name: registers.read_one(name) for name in known} == known


def test_late_samples_are_never_taken_for_new_ones(clock, emulator, servo):
    """Each answer held back by more than the patience: what is read is new or nothing."""
    servo.configure(settings(servo.spec.name))
    emulator.say("hand angle 40")
    clock.sleep(1.0)
    before = servo.read().position
    emulator.say("delay 30 3")
    emulator.say("hand off")
    fresh = []
    for _ in range(10):
        try:
            fresh.append((servo.read().position, truth(emulator)["position"]))
        except NoAnswer:
            continue
    assert before == pytest.approx(0.7, abs=0.2)
    assert len(fresh) >= 5
    # The truth is asked a moment later, while the pendulum falls.
    assert all(abs(read - true) < 0.05 for read, true in fresh)


def test_an_acknowledgement_that_comes_late_is_not_a_sample(emulator, servo):
    """The SDK takes a write's late status for the next read's answer in half of all cycles."""
    servo.registers.send({"torque_enable": 0})
    table = servo.profile.table
    kp = table.gains["kp"]
    for value in (10, 20, 30):
        emulator.say("delay 15 1")
        servo.registers.write(kp, value)
        assert servo.settings().kp == value
        servo.read()


def test_an_adapter_that_echoes_does_no_harm(emulator):
    """Protocol 1 cannot tell an instruction from an answer: the SDK reads 542 where 777 stands."""
    emulator.say("echo on")
    with connected(emulator) as servo:
        name = servo.spec.name
        servo.configure(settings(name))
        assert servo.settings().kp == settings(name).kp
        # As long as the echo of a request to read.
        for register in servo.profile.table.registers.values():
            if register.size == 2 and register.access == "rw":
                assert servo.registers.read_one(register.name) == int(emulator.say(f"get {register.name}"))
        assert servo.read().position == pytest.approx(truth(emulator)["position"], abs=0.02)
        reading = cycles(servo, PositionGoal(0.2), 60)
        assert reading.position == pytest.approx(truth(emulator)["position"], abs=0.02)
        assert driven(emulator)
        assert servo.release()
        assert not driven(emulator)
        if servo.profile.protocol == 1:
            assert any("local echo" in warning for warning in servo.identity.warnings)


def test_a_servo_that_obeys_without_answering_is_released(clock, emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say("mute on")
    begin = clock.now()
    assert not servo.release()
    assert clock.now() - begin <= RELEASE_ATTEMPTS * timing.REAL.answer
    # Nobody could confirm it, but it was said at once and done.
    assert servo.state is ServoState.FAULT
    assert "CUT THE SUPPLY" in servo.fault_reason
    assert not driven(emulator)
    emulator.say("mute off")
    # No answer of before can be taken for one of now any more.
    clock.sleep(timing.REAL.serial_late)
    servo.acknowledge()
    assert servo.state is ServoState.READY


@pytest.mark.parametrize("fault", ["overload", "overheating", "voltage"])
def test_a_servo_that_protects_itself_is_a_fault_until_it_was_restarted(emulator, servo, fault):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say(f"fault {fault}")
    with pytest.raises(ServoFault, match=r"the servo reports .*; look for .* then acknowledge"):
        cycles(servo, PositionGoal(0.1), 5)
    servo.fault("overload")
    assert not driven(emulator)
    emulator.say("fault clear")
    servo.acknowledge()
    assert servo.state is ServoState.READY
    assert servo.settings().kp == settings(servo.spec.name).kp
    reading = cycles(servo, PositionGoal(0.2), 100)
    assert reading.position == pytest.approx(truth(emulator)["position"], abs=0.02)
    assert driven(emulator)
    assert servo.release()


def test_a_fault_whose_cause_lasts_is_not_acknowledged(emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say("temperature 95")
    with pytest.raises(ServoFault, match="the servo reports overheating"):
        cycles(servo, PositionGoal(0.1), 100)
    servo.fault("overheating")
    assert not driven(emulator)
    with pytest.raises(ServoFault, match="still reports overheating; let it cool down"):
        servo.acknowledge()
    assert servo.state is ServoState.FAULT
    emulator.say("temperature off")
    servo.acknowledge()
    assert servo.state is ServoState.READY


def test_a_fault_that_was_there_before_is_told_and_acknowledged(emulator):
    emulator.say("fault overload")
    with connected(emulator) as servo:
        assert any("the servo reports overload" in warning for warning in servo.identity.warnings)
        with pytest.raises(ServoFault, match="overload"):
            servo.read()
        servo.fault("overload")
        emulator.say("fault clear")
        servo.acknowledge()
        servo.read()


def test_a_servo_that_restarts_while_it_is_driven_is_a_fault(clock, emulator, servo):
    """A dip of the supply: torque off, gains forgotten, and it answers as if nothing had happened."""
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.3), 60)
    emulator.say("power-cycle")
    clock.sleep(1.0)
    with pytest.raises(ServoFault, match="restarted while it was driven; check that its power supply"):
        servo.read()
    servo.fault("restarted")
    assert not driven(emulator)
    servo.acknowledge()
    assert servo.settings().kp == settings(servo.spec.name).kp
    servo.read()


def test_a_refused_write_says_why(x_series):
    with connected(x_series) as servo:
        registers = servo.registers
        servo.command(PositionGoal(0.0))
        with pytest.raises(DriverError, match="was refused: the register cannot be written now"):
            registers.bus.write(1, 11, b"\x00")
        servo.command(Release())
        with pytest.raises(DriverError, match="was refused: the value"):
            registers.bus.write(1, 36, (5000).to_bytes(2, "little"))


@pytest.mark.parametrize(("silence", "stops"), [(0.9 * WATCHDOG, False), (1.1 * WATCHDOG, True)])
def test_the_watchdog_stops_a_servo_nobody_talks_to_and_that_is_a_fault(clock, x_series, silence, stops):
    with connected(x_series) as servo:
        assert servo.identity.watchdog == WATCHDOG == 0.1
        servo.configure(settings("xm430_w350"))
        cycles(servo, PositionGoal(0.2), 40)
        clock.sleep(silence)
        assert (x_series.say("get bus_watchdog") == "-1") is stops
        if stops:
            with pytest.raises(ServoFault, match="stopped on its own since it received nothing for 100 ms"):
                cycles(servo, PositionGoal(0.2), 2)
            servo.fault("watchdog")
            assert not driven(x_series)
            servo.acknowledge()
        assert cycles(servo, PositionGoal(0.2), 60).position == pytest.approx(0.2, abs=0.05)
        assert servo.release()
        servo.read()
        assert x_series.say("get bus_watchdog") == "0"


def test_unplugging_is_a_bus_error_and_plugging_in_again_is_enough(clock, x_series):
    with connected(x_series) as servo:
        servo.configure(settings("xm430_w350"))
        cycles(servo, TorqueGoal(0.1), 5)
        x_series.say("unplug")
        begin = clock.now()
        with pytest.raises(BusError, match="plug the adapter in again, then acknowledge"):
            servo.read()
        assert not servo.release()
        assert clock.now() - begin <= timing.REAL.answer
        with pytest.raises(BusError, match="not open"):
            servo.read()
        with pytest.raises(DriverError, match="there is no such port"):
            servo.acknowledge()
        x_series.say("plug")
        servo.acknowledge()
        assert servo.state is ServoState.READY
        assert not driven(x_series)
        assert servo.settings().kp == settings("xm430_w350").kp
        servo.read()


def test_a_bus_on_which_nobody_takes_anything_does_not_hold_the_program(clock, x_series):
    """An adapter that hangs: writes must end, and what could not be sent must not arrive later."""
    with connected(x_series) as servo:
        servo.configure(settings("xm430_w350"))
        x_series.stopped = True
        begin = clock.now()
        with pytest.raises(BusError, match="the adapter did not take the data"):
            deque((servo.registers.send({"led": 1}) for _ in range(100_000)), maxlen=0)
        assert clock.now() - begin == pytest.approx(timing.REAL.serial_write, abs=1e-4)
        x_series.stopped = False
        assert servo.release()
        assert x_series.say("get led") == "0"
        servo.read()


def test_a_blind_release_works_beside_the_owner(clock, emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    assert driven(emulator)
    begin = clock.now()
    source_of(emulator).release_blindly()
    assert clock.now() - begin < timing.REAL.serial_blind_answer
    clock.sleep(0.002)
    assert not driven(emulator)


def test_a_blind_release_of_a_silent_servo_works_too_and_is_not_called_confirmed(clock, emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say("mute on")
    with pytest.raises(NoAnswer, match=r"did not confirm that its motor is off|no answer"):
        source_of(emulator).release_blindly()
    clock.sleep(0.002)
    assert not driven(emulator)
    emulator.say("mute off")
    if servo.profile.table.name == "x":
        # The XL-320's torque switch is the moving threshold here, locked while the servo was driven.
        assert emulator.say("get moving_threshold") == "10"


def test_a_blind_release_that_is_lost_is_not_called_confirmed(clock, emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say("deaf 2")
    with pytest.raises(DriverError, match="did not confirm that its motor is off"):
        source_of(emulator).release_blindly()
    assert driven(emulator)
    source_of(emulator).release_blindly()
    clock.sleep(0.002)
    assert not driven(emulator)


def test_a_release_that_is_lost_is_tried_again_until_it_is_confirmed(emulator, servo):
    servo.configure(settings(servo.spec.name))
    cycles(servo, PositionGoal(0.1), 5)
    emulator.say(f"deaf {RELEASE_ATTEMPTS * (1 if servo.profile.protocol == 2 else 2)}")
    assert not servo.release()
    assert servo.state is ServoState.FAULT
    assert servo.may_be_driven
    assert servo.release()
    assert not servo.may_be_driven
    assert not driven(emulator)


def test_what_a_blind_release_sends(emulator, monkeypatch):
    """Twice, since packets get lost; to a silent servo in protocol 2 where either series has its torque switch."""
    sent = []
    send = Bus.send
    monkeypatch.setattr(Bus, "send", lambda bus, *packet: (sent.append(packet), send(bus, *packet)))
    x, xl320, mx, sts = ((1, address, b"\x00") for address in (64, 24, 24, 40))
    source = source_of(emulator)
    source.release_blindly()
    known = {"xm430_w350": x, "xl320": xl320, "mx106": mx, "sts3215": sts, "scs0009": sts}[
        emulator.emulator.devices[0].spec.name
    ]
    assert sent == [known] * 2
    sent.clear()
    emulator.say("power off")
    with pytest.raises(NoAnswer):
        source.release_blindly()
    assert sent == ([xl320] * 2 + [x] * 2 if source.protocol == 2 else [known] * 2)


def test_the_servo_at_another_baud_rate_or_id_stays_silent(x_series):
    port = source_of(x_series).port
    with Bus(port, 2, 57600) as bus:
        bus.open()
        with pytest.raises(NoAnswer, match="no answer to pinging ID 1 at 57600 baud"):
            bus.ping(1)
    with Bus(port, 2, 1_000_000) as bus:
        bus.open()
        with pytest.raises(NoAnswer, match="ID 3"):
            bus.ping(3)
