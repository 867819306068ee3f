"""The drive behind the objects: CiA 402's state machine and modes of operation on a moving mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

from drivers import timing
from drivers.emulators.ethercat.coe.dictionary import ObjectDictionary
from drivers.emulators.ethercat.coe.objects import CYCLIC_POSITION, CYCLIC_TORQUE, rated_current
from drivers.emulators.mechanism import Mechanism
from drivers.servo import PositionGoal, TorqueGoal
from drivers.simulated.plant import PlantGoal

POSITION_GAIN = 1000.0
"""Stiffness of the position law, similar to a drive's: 1 A per milliradian of error [A/rad]."""
SLOW = 0.02
"""Velocity below which a quick stop is over [rad/s]."""
LONGEST_STOP = 1.0
"""Time after which a quick stop is over [s]."""

_FAULT_BIT = 0x0008
_VOLTAGE = 0x0010
_NO_QUICK_STOP = 0x0020
_WARNING = 0x0080
_LIMITED = 0x0800
_ALWAYS = 0x1200
"""Remote, and bit 12: set in every published statusword of this drive."""
_RESET = 0x0080
_HALT = 0x0100


class DriveState(IntEnum):
    """States with their bits of the statusword."""

    SWITCH_ON_DISABLED = 0x0040
    READY_TO_SWITCH_ON = 0x0001 | _NO_QUICK_STOP
    SWITCHED_ON = 0x0003 | _NO_QUICK_STOP
    OPERATION_ENABLED = 0x0007 | _NO_QUICK_STOP
    QUICK_STOP_ACTIVE = 0x0007
    FAULT = _FAULT_BIT


class DriveFault(IntEnum):
    """Error codes of object 0x603F."""

    OVERVOLTAGE = 0x3210
    UNDERVOLTAGE = 0x3220
    TOO_HOT = 0x4310
    OFFLINE = 0xA000
    """The master was silent, lost the rhythm of SYNC0 or left OP while the drive was enabled."""


_GENERIC, _VOLTAGE_ERROR, _HEAT_ERROR, _COMMUNICATION = 0x01, 0x04, 0x08, 0x10
"""Bits of object 0x1001."""


class EmulatedDrive:
    """One drive, as after power-on: switched off, its targets at the present position.

    Call `step` before every frame and `act` after one that wrote process data: targets take effect when their frame
    arrives, not at SYNC0. Object 0x6072 limits torque targets; the output of the position law is limited only by the
    servo's largest current.
    """

    def __init__(self, objects: ObjectDictionary, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.state = DriveState.SWITCH_ON_DISABLED
        self.operational = False
        """True while the slave is in OP; the drive cannot be enabled otherwise."""
        self.warning = False
        """True if the statusword warns."""
        self.on_fault: Callable[[int, int], None] | None = None
        """Called with code and error register of a new fault."""
        spec = mechanism.spec
        self._spec = spec
        self._counts = spec.encoder_counts_per_turn / (2.0 * math.pi)
        self._rated = rated_current(spec)
        self._kt = mechanism.truth.values["kt"]
        self._limited = False
        self._last_control = 0
        self._held = 0.0
        self._stop_begin = self._stop_velocity = 0.0
        self._control = objects[0x6040, 0]
        self._mode = objects[0x6060, 0]
        self._mode_display = objects[0x6061, 0]
        self._position = objects[0x607A, 0]
        self._position_offset = objects[0x60B0, 0]
        self._position_limits = objects[0x607D, 1], objects[0x607D, 2]
        self._torque = objects[0x6071, 0]
        self._torque_offset = objects[0x60B2, 0]
        self._torque_limits = objects[0x6072, 0], objects[0x60E1, 0], objects[0x60E0, 0]
        self._deceleration = objects[0x6085, 0]
        self._error = objects[0x603F, 0]
        self._register = objects[0x1001, 0]
        self._measure(objects)
        mechanism.release()
        mechanism.configure(replace(mechanism.truth.default_settings(), kp=POSITION_GAIN))
        self._position.value = self._actual_position()

    def _measure(self, objects: ObjectDictionary) -> None:
        mechanism = self.mechanism
        objects[0x6041, 0].measure = lambda: self.statusword
        objects[0x6064, 0].measure = self._actual_position
        objects[0x606C, 0].measure = lambda: round(mechanism.velocity * self._counts)
        for index in (0x6077, 0x6078):
            objects[index, 0].measure = lambda: round(1000.0 * mechanism.electrics[0] / self._rated)
        objects[0x6079, 0].measure = lambda: round(1000.0 * mechanism.electrics[2])

    def _actual_position(self) -> int:
        return round(self.mechanism.position * self._counts)

    @property
    def statusword(self) -> int:
        """Object 0x6041."""
        word = _ALWAYS | self.state
        if self.state != DriveState.FAULT:
            word |= _VOLTAGE
        if self.warning:
            word |= _WARNING
        if self._limited:
            word |= _LIMITED
        return word

    def step(self) -> None:
        """Advance to the current time and apply the objects."""
        self.mechanism.advance()
        reason = self._cause()
        if reason is not None:
            self.fail(*reason)
        self.act()

    def act(self) -> None:
        """Obey the controlword and drive the motor according to the objects."""
        self._obey(self._control.number)
        if self._mode.number in (CYCLIC_POSITION, CYCLIC_TORQUE):
            self._mode_display.value = self._mode.number
        goal = self._goal()
        if goal is not None:
            self.mechanism.drive(goal)
        elif self.mechanism.driven:
            self.mechanism.release()

    # The state machine.

    def fail(self, code: int, register: int = _GENERIC) -> None:
        """Enter the fault state with an error code; an earlier fault keeps its own."""
        if self.state == DriveState.FAULT:
            return
        self.state = DriveState.FAULT
        self._error.value, self._register.value = code, register
        self.mechanism.release()
        if self.on_fault is not None:
            self.on_fault(code, register)

    def leave_operation(self) -> None:
        """Handle the end of OP; forget the commands, so that the drive does not act on them when it is back."""
        self.operational = False
        self._control.value = self._torque.value = 0
        self.lose_master()

    def lose_master(self) -> None:
        """Handle the loss of the master, which is a fault if the drive is enabled."""
        if self.state in (DriveState.OPERATION_ENABLED, DriveState.QUICK_STOP_ACTIVE):
            self.fail(DriveFault.OFFLINE, _COMMUNICATION)

    def _cause(self) -> tuple[int, int] | None:
        """Return the reason why operation is impossible now: code and error register, or None."""
        if self.mechanism.temperature > self._spec.max_temperature:
            return DriveFault.TOO_HOT, _HEAT_ERROR
        supply = self.mechanism.electrics[2]
        lowest, highest = self._spec.supply_range
        if supply < lowest:
            return DriveFault.UNDERVOLTAGE, _VOLTAGE_ERROR
        if supply > highest:
            return DriveFault.OVERVOLTAGE, _VOLTAGE_ERROR
        return None

    def _obey(self, word: int) -> None:
        """Obey the controlword; a rising bit 7 resets a fault."""
        rising = word & ~self._last_control
        self._last_control = word
        state = self.state
        if state == DriveState.FAULT:
            if rising & _RESET and self._cause() is None:
                self.state = DriveState.SWITCH_ON_DISABLED
                self._error.value = self._register.value = 0
        # CiA 402 transitions: bit 1 off disables the voltage, bit 2 off is a quick stop.
        elif not word & 0x02:
            self.state = DriveState.SWITCH_ON_DISABLED
        elif not word & 0x04:
            if state == DriveState.OPERATION_ENABLED:
                self._begin_stop()
            elif state != DriveState.QUICK_STOP_ACTIVE:
                self.state = DriveState.SWITCH_ON_DISABLED
        elif state == DriveState.QUICK_STOP_ACTIVE:
            return
        elif not word & 0x01:
            self.state = DriveState.READY_TO_SWITCH_ON
        elif state == DriveState.SWITCH_ON_DISABLED:
            return
        elif not word & 0x08 or state == DriveState.READY_TO_SWITCH_ON:
            self.state = DriveState.SWITCHED_ON
        elif self.operational and state != DriveState.OPERATION_ENABLED:
            self.state = DriveState.OPERATION_ENABLED
            self._held = self.mechanism.position

    # Motion.

    def _goal(self) -> PlantGoal | None:
        """Return the goal of the motor; None to release it."""
        self._limited = False
        if self.state == DriveState.QUICK_STOP_ACTIVE:
            return self._stopping()
        if self.state != DriveState.OPERATION_ENABLED:
            return None
        halted = self._control.number & _HALT
        if not halted:
            self._held = self.mechanism.position
        if self._mode_display.value == CYCLIC_TORQUE:
            return TorqueGoal(0.0 if halted else self._kt * self._target_current())
        return PositionGoal(self._held if halted else self._target_position())

    def _target_position(self) -> float:
        wanted = self._position.number + self._position_offset.number
        low, high = (limit.number for limit in self._position_limits)
        if low < high:
            wanted = self._within(wanted, low, high)
        return wanted / self._counts

    def _target_current(self) -> float:
        """Return the target current [A]."""
        largest, negative, positive = (limit.number for limit in self._torque_limits)
        # 0 in 0x60E0 or 0x60E1 means no limit: the vendor's example writes it and drives on.
        low, high = -min(largest, negative or largest), min(largest, positive or largest)
        return self._within(self._torque.number + self._torque_offset.number, low, high) * self._rated / 1000.0

    def _within(self, value: int, low: int, high: int) -> int:
        allowed = min(max(value, low), high)
        self._limited = self._limited or allowed != value
        return allowed

    def _begin_stop(self) -> None:
        self.state = DriveState.QUICK_STOP_ACTIVE
        self._stop_begin = timing.now()
        self._held, self._stop_velocity = self.mechanism.position, self.mechanism.velocity

    def _stopping(self) -> PlantGoal | None:
        """Follow a ramp of velocity down to rest, then switch off."""
        since = timing.now() - self._stop_begin
        speed, deceleration = abs(self._stop_velocity), self._deceleration.number / self._counts
        duration = speed / deceleration
        at_rest = since >= duration and abs(self.mechanism.velocity) < SLOW
        if at_rest or since > LONGEST_STOP + duration:
            self.state = DriveState.SWITCH_ON_DISABLED
            return None
        ramp = min(since, duration)
        way = speed * ramp - 0.5 * deceleration * ramp**2
        return PositionGoal(self._held + math.copysign(way, self._stop_velocity))
