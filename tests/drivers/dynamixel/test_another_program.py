"""A second program on the bus, whatever it changes and when: no run or hold is a success, no motor stays driven.

Each case is a register of the table, written at a moment of a run or a hold, as the other program would. What it writes
is found in the registers, unless our next goal overwrites it before; then it is heard on the line.
"""

import math
from types import SimpleNamespace

import pytest

from core.motion.recording import RunHeader
from core.motion.trajectories import make_trajectory
from core.servo.catalogue import load_servo
from drivers.dynamixel.form import DYNAMIXEL
from drivers.emulators.serial_bus.registers import table_of
from drivers.feetech.form import FEETECH
from drivers.recorder import Phase
from drivers.recorder.cycle import Cycle
from drivers.recorder.link import Unlinked
from drivers.recorder.loop import HoldJob, Loop, RunJob
from drivers.recorder.process import WATCH_PERIOD, Service
from drivers.recorder.run import RunPlan
from drivers.recorder.storage import Immediately
from drivers.serial_bus.modes import GOAL_REGISTERS
from drivers.serial_bus.profile import members
from drivers.serial_bus.watch import HARMLESS, kept_registers
from drivers.simulated.servo import starting_bench
from tests.drivers.dynamixel.bench import connected, driven, emulation, settings

RATE = 200.0
SERVOS = ("mx106", "xl330", "xl320", "xm430_w350", "sts3215", "scs0009")
AFTER = 0.304
"""Time in a phase at which the other program writes [s]."""
AGAIN = 0.5 / RATE
"""Time until it writes again [s]: of one write, a goal may destroy every trace."""
PHASES = {"approach": Phase.APPROACH, "record": Phase.RUN, "hold": Phase.HOLD, "lowering": Phase.HOLD}


class Another(Unlinked):
    """Another program that says lines to the emulator at times after the beginning of a phase."""

    def __init__(self, clock, emulator, phase, lines):
        self._clock, self._emulator, self._phase = clock, emulator, phase
        self._lines = list(lines)
        self._begin = math.inf
        self.said = []
        clock.buses.append(self)

    def phase(self, phase):
        if phase is self._phase:
            self._begin = self._clock.now()

    def serve(self):
        """Say what is due; returns the time until the next line [s]."""
        while self._lines:
            left = self._begin + self._lines[0][0] - self._clock.now()
            if left > 0.0:
                return left
            self.said.append(self._lines.pop(0)[1])
            self._emulator.emulator.console.execute(self.said[-1])
        return math.inf


def changed(name, register, phase):
    """A content that a register does not have: as far from it as makes the servo do something else."""
    table, _ = table_of(load_servo(name), emulation(name).bus)
    if register == table.mode_register and table.name == "sts":
        return 1
    if register == table.mode_register:
        holds = phase in ("hold", "lowering")
        return next(value for mode, value in table.modes.items() if (mode == "position") is holds)
    if register == "goal_torque":
        return 7
    return {
        "torque_enable": 0,
        "goal_position": 999,
        "id": 9,
        "p_gain": 3,
        "status_return_level": 0 if table.protocol == "scs" else 1,
        "baud_rate": 34 if table.name == "mx1" else 2,
    }.get(register, 5)


def run_with(clock, emulator, name, phase, lines):
    """Perform a run or a hold in which the other program says lines; returns its result and what was said."""
    bench = starting_bench(load_servo(name))
    link = Another(clock, emulator, PHASES[phase], lines)
    if phase in ("hold", "lowering"):
        emulator.say("hand angle 10")
    servo = connected(emulator)
    try:
        cycle = Cycle(servo, link)
        loop = Loop(cycle, Immediately())
        if phase in ("approach", "record"):
            trajectory = make_trajectory("sin_time_square" if phase == "record" else "lift_and_drop", 0.6)
            header = RunHeader(trajectory=trajectory.name, bench=bench, settings=settings(name), rate=RATE)
            plan = RunPlan.sample(trajectory, RATE)
            result = loop.perform(RunJob(run=1, plan=plan, header=header, sink=None, limits=servo.limits))
        else:
            header = RunHeader(trajectory="hold", bench=bench, settings=settings(name), rate=RATE)
            holding = loop.hold(HoldJob(header=header, limits=servo.limits))
            torque = 0.05 * servo.limits.torque
            try:
                next(holding)
                for _ in range(round(RATE * (0.1 if phase == "lowering" else 0.6))):
                    holding.send(torque)
                holding.send(math.nan)
            except StopIteration as end:
                result = end.value
        # The recorder's process watches on, until its program closes it.
        service = Service(cycle, link, loop, SimpleNamespace())
        for _ in range(10):
            servo.clock.sleep(WATCH_PERIOD)
            service._watch()
        closing = clock.now()
    finally:
        servo.close()
    clock.wait_until(closing + 1.0)
    clock.buses.remove(link)
    return result, link.said


def phases(name):
    """The phases that a servo has: some cannot hold a torque."""
    held = (members(DYNAMIXEL) | members(FEETECH))[name].torque_mode
    return [phase for phase in PHASES if held or PHASES[phase] is not Phase.HOLD]


def cases(name):
    table, _ = table_of(load_servo(name), emulation(name).bus)
    position = (*kept_registers(table, eeprom=False), *kept_registers(table, eeprom=True), "goal_position")
    gains = (*table.gains.values(),)
    core = {"torque_enable", "goal_position", table.mode_register, table.gains["kp"], "id"}
    for register in position:
        for phase in phases(name):
            if phase in ("hold", "lowering") and (register == "goal_position" or register in gains):
                continue
            cheap = register in core and name in ("mx106", "xl330") and phase == "record"
            marks = [] if cheap else [pytest.mark.exhaustive("every register, series and phase")]
            yield pytest.param(name, register, phase, marks=marks)


@pytest.mark.parametrize(("name", "register", "phase"), [case for name in SERVOS for case in cases(name)])
def test_a_register_that_another_program_changes_ends_the_run_and_the_motor(clock, emulate, name, register, phase):
    emulator = emulate(emulation(name))
    line = f"set {register} {changed(name, register, phase)} unheard"
    result, said = run_with(clock, emulator, name, phase, [(AFTER, line), (AFTER + AGAIN, line)])
    assert said == [line, line]
    assert result.exit_status == "fail", result
    assert not driven(emulator)


@pytest.mark.parametrize(
    ("name", "phase", "gap"),
    [
        ("mx106", "record", 0.1),
        ("xl330", "hold", 0.6),
        *(
            pytest.param(name, phase, gap, marks=pytest.mark.exhaustive("every phase, shorter and longer"))
            for name in ("mx106", "xl330")
            for phase in PHASES
            for gap in (0.006, 0.1, 0.6)
        ),
    ],
)
def test_torque_off_and_then_on_again(clock, emulate, name, gap, phase):
    """The later the torque is switched on again, the more has ended by then."""
    emulator = emulate(emulation(name))
    lines = [(AFTER, "set torque_enable 0 unheard"), (AFTER + gap, "set torque_enable 1 unheard")]
    result, said = run_with(clock, emulator, name, phase, lines)
    assert len(said) == 2
    assert result.exit_status == "fail", result
    assert not driven(emulator)


def unnoticed(clock, emulate, name, phase, line, moments):
    """Share of the moments of a cycle at which a line that is said once ends nothing."""
    count = 0
    for step in range(moments):
        emulator = emulate(emulation(name))
        result, said = run_with(clock, emulator, name, phase, [(AFTER + step / RATE / moments, line)])
        assert said == [line]
        count += result.exit_status != "fail"
        assert not driven(emulator)
        emulator.close()
    return count / moments


@pytest.mark.parametrize(
    ("name", "phase", "moments"),
    [
        ("mx106", "record", 4),
        *(
            pytest.param(name, phase, 10, marks=pytest.mark.exhaustive("every series, more moments"))
            for name in SERVOS
            for phase in phases(name)
        ),
    ],
)
def test_a_goal_or_torque_off_is_noticed_at_every_moment_of_a_cycle(clock, emulate, name, phase, moments):
    held = phase in ("hold", "lowering")
    goal = GOAL_REGISTERS[(members(DYNAMIXEL) | members(FEETECH))[name].torque_mode] if held else "goal_position"
    for line in ("set torque_enable 0", f"set {goal} 999"):
        assert unnoticed(clock, emulate, name, phase, line, moments) == 0.0, line


@pytest.mark.exhaustive("moments all over a cycle")
@pytest.mark.parametrize(("name", "line"), [("mx106", "set torque_enable 0"), ("xl330", "set goal_position 999")])
def test_only_what_the_next_goal_overwrites_within_an_answers_way_is_not_read(clock, emulate, name, line):
    assert unnoticed(clock, emulate, name, "record", f"{line} unheard", 20) <= 0.0016 * RATE


def test_every_register_that_may_be_written_is_watched_or_known_to_be_harmless():
    for name in SERVOS:
        table, _ = table_of(load_servo(name), emulation(name).bus)
        watched = {*kept_registers(table, eeprom=False), *kept_registers(table, eeprom=True)}
        others = {register.name for register in table.registers.values() if register.access == "rw"} - watched
        assert others <= HARMLESS | {*GOAL_REGISTERS.values(), *table.reading.values(), "goal_velocity"}
