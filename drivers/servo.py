"""The contract of every servo, whatever its bus.

    DISCONNECTED --connect--> READY --command--> ENABLED     (connect leads to FAULT if the servo has an error)
         ^                      ^ <----release------'
         |                      | acknowledge
         '------- close --------'------ FAULT <-- fault, from any state but DISCONNECTED

`Servo` enforces these rules once; a driver fills in the methods that begin with an underscore and inherits the
rest. Two of the rules carry the safety of the bench: a servo counts as ENABLED from before the first byte that may
drive it is sent, and `release` may be called in any state, any number of times, and never raises.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import ClassVar, Literal, Self

from core.motion.recording import RunHeader
from core.servo.bench import Bench
from core.servo.settings import ServoSettings
from drivers.clock import Clock, RealClock
from drivers.errors import CommandError, DriverError, NotReady, ServoFault
from drivers.limits import Limits
from drivers.reading import Reading

RELEASE_ATTEMPTS = 3
CUT_THE_SUPPLY = "CUT THE SUPPLY"
"""Begins every message about a motor that may still be on, so that it is read first and never truncated."""


Origin = Literal["real", "emulated", "simulated"]


class ServoState(IntEnum):
    """State of a servo between unplugged and driven."""

    DISCONNECTED = 0
    READY = 1
    """Connected and released."""
    ENABLED = 2
    """The motor is, or may be, driven."""
    FAULT = 3
    """Released after a fault; refuses commands until the user has acknowledged it."""


@dataclass(frozen=True, kw_only=True)
class ServoIdentity:
    """Identity and properties of the servo that answered."""

    model: str
    """Catalogue name, e.g. "mx106"."""
    title: str
    firmware: str = ""
    serial: str = ""
    id: str = ""
    """Address on its bus, as text."""
    position_step: float = 0.0
    """Resolution of the reported position [rad]; 0 if unknown."""
    cycle: float = 0.0
    """Cycle time of its bus [s]; a sample is taken in one of the cycles. 0 if the servo answers at any time."""
    watchdog: float = 0.0
    """The servo stops on its own after the bus has been silent for this long [s]; 0 if it has no such watchdog."""
    actuator: str | None = None
    """Actuator that moves the shaft in place of the servo's own motor, as `ServoSettings.actuator`; None for none."""
    preset: float | None = None
    """Preset of an actuator with adjustable stiffness, as `ServoSettings.preset`."""
    origin: Origin = "real"
    """"emulated" if it answered on an emulator's port or cable, "simulated" without any bus."""
    facts: Mapping[str, str | float] = field(default_factory=dict)
    """Other facts it reported: raw values and scaling factors, with units in the names; stored with every run."""
    warnings: tuple[str, ...] = ()
    """Problems that the user should know of or fix, each with its remedy."""
    no_torque: str = ""
    """Reason why it cannot hold a torque; empty if it can."""

    def require_torque(self) -> None:
        """Raise CommandError if the servo cannot hold a torque."""
        if self.no_torque:
            raise CommandError(self.no_torque)

    def signed(self, header: RunHeader) -> RunHeader:
        """Return a header with the servo's own report, so that no caller can record one actuator as another."""
        device = {
            "title": self.title,
            "firmware": self.firmware,
            "serial": self.serial,
            "id": self.id,
            "position_step": self.position_step,
            "origin": self.origin,
            **self.facts,
        }
        settings = replace(header.settings, actuator=self.actuator, preset=self.preset)
        return replace(header, settings=settings, provenance={**header.provenance, "device": device})

    def regular_rate(self, rate: float) -> float:
        """Return the rate nearest to `rate` [Hz] at which samples are evenly spaced."""
        return 1.0 / (self.cycle * max(1, round(1.0 / (rate * self.cycle)))) if self.cycle else rate


@dataclass(frozen=True, slots=True)
class PositionGoal:
    """Hold this position with the servo's position controller."""

    position: float
    """[rad]"""


@dataclass(frozen=True, slots=True)
class TorqueGoal:
    """Drive the motor with this torque, regardless of the position."""

    torque: float
    """[N·m]"""


@dataclass(frozen=True, slots=True)
class Release:
    """Switch the motor off."""


Command = PositionGoal | TorqueGoal | Release


class Servo(ABC):
    """One servo with one owner. Not thread-safe: the thread that connects a servo makes all further calls."""

    hazardous: ClassVar[bool] = True
    """True if the servo can move something real; such a servo is driven only from the recorder's own process."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock: Clock = RealClock()
        self.limits = Limits() if limits is None else limits
        self.ratings = self.limits
        """Bounds of `limits`, which may be narrower but never wider. A driver that learns its model later sets both."""
        self._state = ServoState.DISCONNECTED
        self._fault = ""
        self._kind: type[PositionGoal] | type[TorqueGoal] | None = None
        self._identity: ServoIdentity | None = None
        self._may_be_driven = False

    # Methods that a driver implements.

    @abstractmethod
    def _connect(self) -> None:
        """Open the bus and make sure that the servo answers and is released.

        Raises:
            BusError: if the bus cannot be opened.
            NoAnswer: if the servo does not answer.
        """

    @abstractmethod
    def _identify(self) -> ServoIdentity:
        """Read the servo's identity."""

    @abstractmethod
    def _configure(self, settings: ServoSettings) -> None:
        """Write gains and `self.limits` into the released servo and read them back."""

    @abstractmethod
    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        """Choose the mode for this kind of goal and switch the motor on without a jump."""

    @abstractmethod
    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        """Send a goal, already clamped, to the enabled servo."""

    @abstractmethod
    def _read(self) -> Reading:
        """Read one block; never return old data as new.

        Raises:
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            ServoFault: if the servo reports a fault.
        """

    @abstractmethod
    def _release(self) -> None:
        """Switch the motor off and make sure that it is off; raise if that cannot be confirmed."""

    @abstractmethod
    def _close(self) -> None:
        """Give the bus back. Called once, after a release."""

    def _settings(self) -> ServoSettings | None:
        """Read back the servo's settings; None if it cannot report them."""
        return None

    def _latched(self) -> str:
        """Return the error that the servo just connected has had since before; empty without one."""
        return ""

    def _reboot(self) -> None:
        """Restart the released servo; it comes back as after `connect`."""
        raise CommandError("this servo cannot be restarted by a command; switch its power off and on")

    def _acknowledge(self) -> None:  # noqa: B027 (most servos have nothing to clear)
        """Clear the servo's own fault, e.g. by a reboot; the motor stays off."""

    def _confirm(self) -> None:  # noqa: B027 (a simulated servo has no other master)
        """Raise ServoFault if another program or controller changed the driven servo."""

    def mount(self, bench: Bench) -> None:  # noqa: B027 (a real servo feels it)
        """Declare the load on the shaft. Only a simulated servo needs this."""

    # Methods for callers.

    @property
    def state(self) -> ServoState:
        """Current state of the servo."""
        return self._state

    @property
    def repeats(self) -> int:
        """Number of bus transactions that failed and were repeated successfully; reported nowhere else."""
        return 0

    @property
    def may_be_driven(self) -> bool:
        """True if the motor was switched on and has not been confirmed off since."""
        return self._may_be_driven

    @property
    def fault_reason(self) -> str:
        """Reason for the state FAULT; empty otherwise."""
        return self._fault

    def connect(self) -> ServoIdentity:
        """Open the bus, make sure that the servo is released, and return its identity.

        A servo with an error from before is in FAULT then, with `fault_reason`.

        Raises:
            BusError: if the bus cannot be opened.
            NoAnswer: if the servo does not answer.
            NotReady: if the servo is connected already.
        """
        self._require("connect", ServoState.DISCONNECTED)
        try:
            self._connect()
            self._identity = self._identify()
            self._fault = self._latched()
        except BaseException:
            self._close()
            raise
        self._state = ServoState.FAULT if self._fault else ServoState.READY
        return self._identity

    def confirm(self) -> None:
        """Make sure that nothing but this program changed the driven servo; does nothing to a released one.

        Raises:
            ServoFault: if another program or controller did.
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
        """
        if self._state is ServoState.ENABLED:
            self._confirm()

    @property
    def identity(self) -> ServoIdentity:
        """Identity reported when the servo was connected.

        Raises:
            NotReady: if the servo was never connected.
        """
        if self._identity is None:
            raise NotReady("the servo's identity is unknown until it is connected; connect it first")
        return self._identity

    def configure(self, settings: ServoSettings, limits: Limits | None = None) -> None:
        """Write gains and limits into the released servo.

        Args:
            settings: Gains to write.
            limits: Limits to write; None keeps the current ones.

        Raises:
            NotReady: if the servo is driven, in FAULT or not connected.
            CommandError: if the limits are wider than the servo's ratings.
        """
        self._require("configure", ServoState.READY)
        if limits is not None:
            limits.require_within(self.ratings)
            self.limits = limits
        self._configure(settings)

    def settings(self) -> ServoSettings | None:
        """Read back the gains of a connected servo; None if it cannot report them.

        Raises:
            NotReady: if the servo is not connected.
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
        """
        if self._state is ServoState.DISCONNECTED:
            self._require("read the settings of", ServoState.READY)
        return self._settings()

    def command(self, command: Command) -> None:
        """Send a command, clamped to the limits; the first goal enables the servo.

        A goal of the other kind releases the servo first, because only a released servo can change its mode.

        Raises:
            NotReady: in the states DISCONNECTED and FAULT.
            CommandError: if the goal is not a finite number, or a torque that the servo cannot hold.
            DriverError: if the bus fails or a release is not confirmed.
        """
        if isinstance(command, Release):
            self._require("release", ServoState.READY, ServoState.ENABLED)
            if not self.release():
                raise DriverError(self._fault)
            return
        self._require("command", ServoState.READY, ServoState.ENABLED)
        if isinstance(command, TorqueGoal):
            self.identity.require_torque()
        goal = self._clamped(command)
        if self._state is ServoState.ENABLED and type(goal) is not self._kind and not self.release():
            raise DriverError(self._fault)
        if self._state is ServoState.READY:
            self._state = ServoState.ENABLED
            self._may_be_driven = True
            self._kind = type(goal)
            self._enable(goal)
        self._command(goal)

    def read(self) -> Reading:
        """Read one block from a connected servo.

        Raises:
            NotReady: if the servo is not connected.
            NoAnswer: if the servo does not answer.
            BusError: if the bus fails.
            ServoFault: if the servo reports a fault.
        """
        if self._state is ServoState.DISCONNECTED:
            self._require("read", ServoState.READY)
        return self._read()

    def release(self) -> bool:
        """Switch the motor off. Safe in every state, any number of times; never raises.

        Returns:
            True if the servo confirmed it. If it did not after `RELEASE_ATTEMPTS` attempts, the state is FAULT.
        """
        if self._state is ServoState.DISCONNECTED:
            return True
        problem: Exception | None = None
        for _ in range(RELEASE_ATTEMPTS):
            try:
                self._release()
            except Exception as error:
                problem = error
                continue
            self._kind = None
            self._may_be_driven = False
            if self._state is ServoState.ENABLED:
                self._state = ServoState.READY
            return True
        self._state = ServoState.FAULT
        self._fault = f"{CUT_THE_SUPPLY}: motor-off not confirmed ({problem})"
        return False

    def fault(self, reason: str) -> None:
        """Release the servo and refuse commands until `acknowledge`. Never raises."""
        if self._state is ServoState.DISCONNECTED:
            return
        if self.release() or not self._fault:
            self._fault = reason
        self._state = ServoState.FAULT

    def acknowledge(self) -> None:
        """Return to READY after the user has seen the fault.

        Raises:
            DriverError: if the release is not confirmed or the servo still has a fault.
        """
        if self._state is not ServoState.FAULT:
            return
        if not self.release():
            raise DriverError(f"acknowledging the fault failed: {self._fault}")
        self._acknowledge()
        self._state = ServoState.READY
        self._fault = ""

    def reboot(self) -> None:
        """Restart the servo, which clears its errors; it is READY then.

        Raises:
            CommandError: if this servo cannot be restarted by a command.
            DriverError: if it does not come back, or still has an error.
        """
        self._require("restart", ServoState.READY, ServoState.FAULT)
        if not self.release():
            raise DriverError(f"restarting the servo failed: {self._fault}")
        self._reboot()
        self._fault = self._latched()
        self._state = ServoState.FAULT if self._fault else ServoState.READY
        if self._fault:
            raise ServoFault(f"after its restart {self._fault}")

    def close(self) -> None:
        """Release the servo and give its bus back. Idempotent; never leaves the servo driven if it still answers."""
        if self._state is ServoState.DISCONNECTED:
            return
        self.release()
        self._state = ServoState.DISCONNECTED
        self._kind = None
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _require(self, act: str, *allowed: ServoState) -> None:
        if self._state in allowed:
            return
        remedy = {
            ServoState.DISCONNECTED: "connect it first",
            ServoState.READY: "it is connected already",
            ServoState.ENABLED: "release it first",
            ServoState.FAULT: f"acknowledge the fault first: {self._fault}",
        }[self._state]
        raise NotReady(f"cannot {act} the servo in state {self._state.name}; {remedy}")

    def _clamped(self, command: PositionGoal | TorqueGoal) -> PositionGoal | TorqueGoal:
        if isinstance(command, PositionGoal):
            wanted = command.position
            allowed = self.limits.clamp_position(wanted)
        elif isinstance(command, TorqueGoal):
            wanted = command.torque
            allowed = self.limits.clamp_torque(wanted)
        else:
            raise CommandError(f"{command!r} is not a command; use PositionGoal, TorqueGoal or Release")
        if not math.isfinite(wanted):
            raise CommandError(f"a goal of {wanted} is not a number a servo can follow; send a finite one")
        return command if allowed == wanted else type(command)(allowed)
