"""One drive from cycle to cycle: commands, answers, and the reasons to release it.

The bus's thread calls `outputs` and `take` in every cycle. The servo's thread sets the wanted state and reads the
newest sample. Any problem releases the drive first and is kept in `trouble` for the next caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from drivers import timing
from drivers.errors import BusError, DriverError, ServoFault
from drivers.ethercat.cia402 import (
    CYCLIC_POSITION,
    CYCLIC_TORQUE,
    MODES,
    DriveState,
    PowerSwitch,
    drive_state,
    error_text,
)
from drivers.ethercat.law import PositionLaw
from drivers.ethercat.pdo import Inputs, Outputs
from drivers.reading import Reading
from drivers.servo import PositionGoal, TorqueGoal

DWELL = 0.004
"""Time in every state on the way up [s]."""
STUCK_LIMIT = 0.15
STUCK_SHARE = 0.8
"""An encoder that reports the same count for STUCK_LIMIT [s] under this share of the largest current is stuck, or the
arm is: both end the run."""
JUMP_SPEED = 6.0
JUMP_ROOM = 0.05
"""Tolerance of the plausibility check: a driven motor cannot move by more than JUMP_ROOM [rad] plus the way at
JUMP_SPEED times its no-load speed. A larger change was not measured."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Conversion between the drive's units and SI units."""

    counts_per_turn: int
    zero: int
    """Counts where the pendulum hangs down."""
    amps_per_permille: float
    torque_constant: float
    """[N·m/A]"""
    largest_current: float
    """[A]"""
    no_load_speed: float
    """[rad/s]"""

    @property
    def step(self) -> float:
        """Angle of one count [rad]."""
        return 2.0 * math.pi / self.counts_per_turn

    def permille(self, amps: float) -> int:
        """Return the target torque for a current [A], limited to the largest."""
        allowed = min(max(amps, -self.largest_current), self.largest_current)
        return min(max(round(allowed / self.amps_per_permille), -32768), 32767)

    def reading(self, inputs: Inputs) -> Reading:
        """Return inputs in SI units."""
        return Reading(
            position=(inputs.position - self.zero) * self.step,
            velocity=inputs.velocity * self.step,
            current=inputs.torque * self.amps_per_permille,
            supply_voltage=math.nan if inputs.supply is None else 1e-3 * inputs.supply,
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """Inputs of one cycle."""

    number: int
    moment: float
    """Middle between sending and receiving, in the machine's seconds."""
    inputs: Inputs
    state: DriveState | None
    reading: Reading


@dataclass(frozen=True, slots=True)
class Wanted:
    """State wanted by the servo's thread; replaced as a whole."""

    mode: int
    """Mode of operation, 0x6060."""
    on: bool = False
    goal: PositionGoal | TorqueGoal | None = None
    """Goal; None for no torque, whatever the mode."""


class CyclicDrive:
    """State of one drive. `outputs` and `take` belong to the bus's thread, everything else to the servo's."""

    def __init__(
        self,
        scale: Scale,
        law: PositionLaw,
        cycle: float,
        waited_at: Callable[[], float],
        harmless: tuple[int, ...] = (),
    ) -> None:
        """Create the state of a switched-off drive.

        Args:
            scale: Units of the drive.
            law: Position law for mode CST.
            cycle: Time between two frames [s].
            waited_at: Returns the time of the last wait on the servo's clock.
            harmless: Emergency codes after which the drive keeps running.
        """
        self.scale = scale
        self.law = law
        self.newest: Sample | None = None
        self.trouble: DriverError | None = None
        self.in_service = False
        """True once the drive is in OP, so that missing answers count."""
        self.lost = 0
        """Number of cycles without an answer so far."""
        self.last_error = 0
        """Code of the last emergency; 0 for none or a past error."""
        self._cycle = cycle
        self._waited_at = waited_at
        self._harmless = harmless
        self._wanted = Wanted(CYCLIC_TORQUE)
        self._heard = 0.0
        self._asked_at = 0
        self._switch = PowerSwitch(max(1, math.ceil(DWELL / cycle)))
        self._resets_asked = False
        self._lost_in_a_row = 0
        self._up = False
        self._sent_position = 0
        self._still_since = math.inf
        self._strong = STUCK_SHARE * scale.permille(scale.largest_current)

    # The servo's thread.

    def switch_on(self, mode: int, now: float) -> None:
        """Enable the drive in a mode of operation, without torque until the first `aim`."""
        self._heard = now
        self._wanted = Wanted(mode, on=True)
        self._asked_at = 0 if self.newest is None else self.newest.number

    def aim(self, goal: PositionGoal | TorqueGoal, now: float) -> None:
        """Follow a goal from the next cycle on."""
        self._heard = now
        if self._wanted.on:
            self._wanted = replace(self._wanted, goal=goal)

    def switch_off(self) -> None:
        """Release the motor: no torque in the next cycle, then power off."""
        self._wanted = replace(self._wanted, on=False, goal=None)
        self._asked_at = 0 if self.newest is None else self.newest.number

    def reset_fault(self) -> None:
        """Request that the switched-off drive leave its fault."""
        self._resets_asked = True

    def heard(self, now: float) -> None:
        """Note that the servo's thread is alive at this time."""
        self._heard = now

    @property
    def enabled(self) -> bool:
        """True if the drive, since the request, was seen ready to follow goals in the wanted mode."""
        sample = self._answer
        return sample is not None and self._follows(sample, self._wanted)

    @property
    def released(self) -> bool:
        """True if the drive, since the request, was seen without torque in the motor, and nothing switches it on."""
        sample = self._answer
        return sample is not None and not self._wanted.on and sample.state is not None and sample.state.released

    @property
    def answering(self) -> bool:
        """True if the last frame came back."""
        return self.newest is not None and not self._lost_in_a_row

    @property
    def _answer(self) -> Sample | None:
        """The newest sample if its frame left after the last request; one frame may have been on its way then."""
        sample = self.newest
        return sample if sample is not None and sample.number >= self._asked_at + 2 else None

    # The bus's thread.

    def outputs(self, now: float) -> Outputs:
        """Return the outputs of the cycle that begins now [s]."""
        wanted = self._wanted
        if wanted.on and now - max(self._heard, self._waited_at()) > timing.limits.ethercat_orphan:
            self.fail(
                DriverError(
                    f"the driven servo received no command for {1e3 * timing.limits.ethercat_orphan:.0f} ms, "
                    "it was released; "
                    "check the processor's load"
                )
            )
        if wanted.on and self.trouble is not None:
            # Also if a goal was given at the very moment of the failure.
            self.switch_off()
            wanted = self._wanted
        if wanted.on:
            self._switch.switch_on()
        else:
            self._switch.switch_off()
            self._up = False
            if self._resets_asked:
                self._resets_asked = False
                self._switch.reset_fault()
        sample = self.newest
        word = self._switch.control_word(None if sample is None else sample.state)
        if sample is None:
            return Outputs(word, 0, wanted.mode)
        return Outputs(word, self._torque(wanted, sample), wanted.mode, self._position(wanted, sample))

    def _follows(self, sample: Sample, wanted: Wanted) -> bool:
        return wanted.on and sample.state is DriveState.OPERATION_ENABLED and sample.inputs.mode in (None, wanted.mode)

    def _torque(self, wanted: Wanted, sample: Sample) -> int:
        goal = wanted.goal
        if goal is None or not self._up or wanted.mode != CYCLIC_TORQUE:
            return 0
        if isinstance(goal, TorqueGoal):
            return self.scale.permille(goal.torque / self.scale.torque_constant)
        reading = sample.reading
        return self.scale.permille(self.law.amps(goal.position, reading.position, reading.velocity))

    def _position(self, wanted: Wanted, sample: Sample) -> int:
        """Return the target position [counts]: the present one until the drive follows, then on towards the goal."""
        goal = wanted.goal
        if wanted.mode != CYCLIC_POSITION or not self._up:
            self._sent_position = sample.inputs.position
        elif isinstance(goal, PositionGoal):
            aim = round(goal.position / self.scale.step) + self.scale.zero
            reach = round(self.scale.no_load_speed * self._cycle / self.scale.step)
            self._sent_position += min(max(aim - self._sent_position, -reach), reach)
        return self._sent_position

    def take(self, inputs: Inputs | None, moment: float, sent: Outputs) -> None:
        """Process the answer of a cycle.

        Args:
            inputs: The answer; None if nothing came back.
            moment: Time of the cycle [s].
            sent: Outputs of the cycle.
        """
        if inputs is None or self._impossible(inputs, moment):
            self._miss("did not come back" if inputs is None else "had an impossible position in it")
            return
        self._lost_in_a_row = 0
        last = self.newest
        number = 1 if last is None else last.number + 1
        state = drive_state(inputs.status_word)
        sample = self.newest = Sample(number, moment, inputs, state, self.scale.reading(inputs))
        wanted = self._wanted
        if not wanted.on:
            return
        if not self._up:
            self._up = self._follows(sample, wanted)
            self._still_since = moment
            if state is not None and state.faulty:
                self.fail(ServoFault(f"the drive could not be switched on: {self._complaint(sample)}"))
            return
        self._judge(sample, last, wanted, sent)

    def _judge(self, sample: Sample, last: Sample | None, wanted: Wanted, sent: Outputs) -> None:
        if sample.state is not DriveState.OPERATION_ENABLED:
            self.fail(ServoFault(f"the drive switched itself off: {self._complaint(sample)}"))
        elif sample.inputs.mode not in (None, wanted.mode):
            mode = MODES.get(sample.inputs.mode, f"mode {sample.inputs.mode}")
            self.fail(
                ServoFault(f"the drive left the mode {MODES[wanted.mode]} for {mode}; look for another master on it")
            )
        elif last is None or sample.inputs.position != last.inputs.position or abs(sent.target_torque) < self._strong:
            self._still_since = sample.moment
        elif sample.moment - self._still_since > STUCK_LIMIT:
            amps = sent.target_torque * self.scale.amps_per_permille
            self.fail(
                ServoFault(
                    f"the encoder gives the same count for {1e3 * STUCK_LIMIT:.0f} ms under {amps:.1f} A; "
                    "check the encoder, the brake and what blocks the arm"
                )
            )

    def _impossible(self, inputs: Inputs, moment: float) -> bool:
        last = self.newest
        if last is None or not self._up:
            return False
        reach = JUMP_SPEED * self.scale.no_load_speed * (moment - last.moment) + JUMP_ROOM
        return abs(inputs.position - last.inputs.position) * self.scale.step > reach

    def _miss(self, what: str) -> None:
        self.lost += 1
        self._lost_in_a_row += 1
        if self.in_service and self._lost_in_a_row >= timing.limits.ethercat_lost_frames:
            total = self.lost + (0 if self.newest is None else self.newest.number)
            self.fail(
                BusError(
                    f"{self._lost_in_a_row} frames in a row {what}, {self.lost} of {total} so far; "
                    "check the cable and the drive's power supply"
                )
            )

    def emergency(self, code: int, register: int) -> None:
        """Handle an error that the drive reports; code 0 means that it is over."""
        self.last_error = code
        if code and code not in self._harmless and self._wanted.on:
            self.fail(
                ServoFault(f"the drive reports error {error_text(code)}, register 0x{register:02X}; see its manual")
            )

    @property
    def fault(self) -> str:
        """Name of the fault that the drive was last seen in; empty without one."""
        sample = self.newest
        if sample is None or sample.state is None or not sample.state.faulty:
            return ""
        code = sample.inputs.error_code or self.last_error
        return error_text(code) if code else f"status word 0x{sample.inputs.status_word:04X}"

    def complain(self) -> None:
        """Raise the reason why the drive was released, if there is one."""
        if self.trouble is not None:
            # A new exception each time: one raised twice collects the tracebacks of both.
            raise type(self.trouble)(str(self.trouble))

    def fail(self, trouble: DriverError) -> None:
        """Release the drive, and keep the reason if it is the first one."""
        if self.trouble is None:
            self.trouble = trouble
        self.switch_off()

    def _complaint(self, sample: Sample) -> str:
        state = "unknown state" if sample.state is None else sample.state.value
        code = sample.inputs.error_code or self.last_error
        error = f", error {error_text(code)}" if code else ""
        return f"{state} (status word 0x{sample.inputs.status_word:04X}){error}; see its manual, then acknowledge"
