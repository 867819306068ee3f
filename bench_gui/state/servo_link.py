"""Connection of the window to a servo: recorder process, heartbeat, live rows and stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from core.base.errors import ServoBenchError
from core.motion.recording import RunHeader, SinkDescription
from core.motion.trajectories import Trajectory
from core.servo.settings import ServoSettings
from drivers.errors import NotReady
from drivers.limits import Limits
from drivers.recorder import Phase, Recorder
from drivers.recorder.link import EMERGENCY
from drivers.recorder.messages import (
    Acknowledged,
    Announced,
    Configured,
    ConfigureFailed,
    Connected,
    ConnectFailed,
    Event,
    Faulted,
    HoldEnded,
    RunFinished,
)
from drivers.recorder.recorder import STOP_LOCK
from drivers.recorder.ring import RingReader
from drivers.registry import ServoAddress, resolve
from drivers.servo import ServoIdentity, ServoState
from drivers.simulated import SharedHand, SimulatedSource, form

SIMULATED, EMULATED, REAL = "simulated", "emulated", "real"
NUMBERS_PERIOD = 0.1
"""Update period of displayed numbers [s]; faster ones are unreadable."""


@dataclass(frozen=True, kw_only=True)
class ServoView:
    """Snapshot of the servo for display; unknown numbers are NaN."""

    state: ServoState = ServoState.DISCONNECTED
    phase: Phase = Phase.STARTING
    connecting: bool = False
    title: str = ""
    fault: str = ""
    done: int = 0
    length: int = 0
    skipped: int = 0
    """Missed cycles of the run."""
    bus_errors: int = 0
    position: float = math.nan
    velocity: float = math.nan
    current: float = math.nan
    duty_cycle: float = math.nan
    supply_voltage: float = math.nan
    temperature: float = math.nan
    held_torque: float = math.nan
    """Held torque [N·m]; NaN while none is held."""
    locked_for: float = 0.0
    """Time for which commands are still refused after an emergency stop [s]."""

    @property
    def stopped(self) -> bool:
        """True if the user stopped the servo: released and refusing commands, without a fault."""
        return self.state is ServoState.FAULT and self.fault == EMERGENCY

    @property
    def refusal(self) -> str:
        """Required action before the servo accepts commands; empty if it accepts them."""
        if self.state is ServoState.DISCONNECTED:
            return "connect the servo first"
        if self.state is ServoState.FAULT:
            return "press Ready again first" if self.stopped else "acknowledge the servo's fault first"
        return f"the emergency stop was pressed; wait {math.ceil(self.locked_for)} s" if self.locked_for > 0.0 else ""

    @property
    def word(self) -> str:
        """State as one large word."""
        if self.connecting:
            return "CONNECTING"
        if self.state is ServoState.DISCONNECTED:
            return "OFF"
        if self.state is ServoState.ENABLED:
            return "HOLDING" if self.phase is Phase.HOLD else "MOVING"
        return "STOPPED" if self.stopped else self.state.name

    @property
    def kind(self) -> str:
        """State for the style sheet: off, ready, moving, stopped or fault."""
        if self.stopped:
            return "stopped"
        return {
            ServoState.DISCONNECTED: "off",
            ServoState.READY: "ready",
            ServoState.ENABLED: "moving",
            ServoState.FAULT: "fault",
        }[self.state]

    @property
    def unready(self) -> bool:
        """True if Connect, Acknowledge or Ready again, at the top of the window, is the next step with this servo."""
        return self.kind in ("stopped", "fault") or (self.kind == "off" and not self.connecting)

    def essence(self) -> tuple[Any, ...]:
        """Values whose change is published immediately."""
        return (self.state, self.phase, self.connecting, self.title, self.fault, self.locked_for > 0.0)


def simulated_servos() -> list[tuple[str, str]]:
    """Return title and address of every simulated servo."""
    return [(spec.title, f"simulated:{name}") for name, spec in form.simulated_servos().items()]


def servo_name(address: str) -> str:
    """Return the catalogue name of a simulated servo's address, empty for other families.

    Raises:
        AddressError: The address is not valid.
    """
    source = ServoAddress.parse(address).source()
    return source.name if isinstance(source, SimulatedSource) else ""


class ServoLink(QObject):
    """Connects, records and stops; the window's timer calls `tick`, which also feeds the heartbeat."""

    changed = Signal(object)
    """Emitted with a ServoView."""
    connected = Signal(object)
    """Emitted with a ServoIdentity."""
    rows = Signal(object)
    """Emitted with live rows of LIVE_DTYPE, (k,)."""
    finished = Signal(object)
    """Emitted with a RunResult."""
    hold_ended = Signal(object)
    """Emitted once per hold with a HoldEnded, whatever ended it."""
    configured = Signal(object)
    """Emitted with a Configured."""
    configure_failed = Signal(str)
    faulted = Signal(str)
    """Emitted with the reason why the servo was released and refuses commands: a fault, or `EMERGENCY`."""
    announced = Signal(str)
    """Emitted with the reason why connecting takes long."""
    acknowledged = Signal()
    problem = Signal(str)

    def __init__(
        self,
        address: str,
        farewell: Callable[[Recorder], None],
        hand_at: Callable[[str], SharedHand | None] = lambda address: None,
        emulated: Callable[[str], bool] = lambda address: False,
    ) -> None:
        """Create the link.

        Args:
            address: Address of the servo to connect to.
            farewell: Closes a recorder without blocking the window.
            hand_at: Returns the hand on the pendulum of an emulated servo, None for a real one.
            emulated: Returns True if an address belongs to an emulated servo.
        """
        super().__init__()
        self.address = address
        self._farewell = farewell
        self._hand_at = hand_at
        self._emulated = emulated
        self.refused: Callable[[], str] = lambda: ""
        """Returns the first refused number of the form of the address; nothing connects until it is corrected."""
        self.held = ""
        """Reason why nothing may connect: the servo's bus is in use otherwise."""
        self._recorder: Recorder | None = None
        self._reader: RingReader | None = None
        self._connecting = False
        self._hand: SharedHand | None = None
        self._stopped_at = -math.inf
        self._stop_asked = self._acknowledging = False
        self.stop_lock = STOP_LOCK
        """Duration for which commands are refused after an emergency stop, even after reconnecting [s]."""
        self._reported: tuple[Any, ...] = ()
        self._numbers_at = 0.0
        self.view = ServoView()

    # Commands of the user.

    def connect_servo(self) -> None:
        """Start connecting; `connected` or `problem` is emitted later."""
        if self._recorder is not None:
            return
        if reason := self.held or self.refused():
            self.problem.emit(reason)
            return
        try:
            source, hand = resolve(self.address), self._hand_at(self.address)
            if isinstance(source, SimulatedSource):
                hand = SharedHand()
                source = replace(source, hand=hand)
            recorder = Recorder(source, stop_lock=self.stop_lock)
            recorder.launch()
        except ServoBenchError as error:
            self.problem.emit(str(error))
            return
        self._recorder, self._reader, self._connecting = recorder, recorder.reader(), True
        self._hand = hand
        self.tick()

    def disconnect_servo(self) -> None:
        """Release the servo and disconnect."""
        recorder, self._recorder, self._reader = self._recorder, None, None
        self._connecting, self._hand = False, None
        holding = recorder is not None and recorder.holding
        if recorder is not None:
            self._farewell(recorder)
        self._publish(ServoView())
        if holding:
            self.hold_ended.emit(HoldEnded("abort", "the servo was disconnected"))

    def emergency_stop(self) -> None:
        """Switch the motor off immediately."""
        if self._recorder is not None:
            self._recorder.emergency_stop()
            self._stopped_at = time.monotonic()
            self._stop_asked = True

    def abort(self) -> None:
        """End the run and keep its samples, or end the held torque."""
        if self._recorder is not None:
            self._recorder.abort()

    def acknowledge(self) -> None:
        """Acknowledge a fault or stop; `acknowledged` is emitted later, or `problem` if the fault persists."""
        recorder = self._recorder
        if recorder is None:
            return
        try:
            recorder.acknowledge()
            self._acknowledging = True
        except ServoBenchError as error:
            self.problem.emit(str(error))
            self.disconnect_servo()

    def record(self, trajectory: Trajectory, header: RunHeader, sink: SinkDescription) -> None:
        """Start a run; `finished` is emitted later. Raises ServoBenchError if the servo is not ready."""
        self._driver("record").record(trajectory, header, sink)

    def hold(self, torque: float, header: RunHeader) -> None:
        """Start to hold a motor torque [N·m]; `hold_ended` is emitted later. Raises ServoBenchError if not ready."""
        self._driver("hold a torque").hold(torque, header)

    def set_torque(self, torque: float) -> None:
        """Ramp to another held torque [N·m]; raise ServoBenchError if none is held."""
        if self._recorder is None:
            raise NotReady("no torque is being held; connect a servo and hold one first")
        self._recorder.set_torque(torque)

    def end_hold(self) -> None:
        """Ramp the held torque down and release; `hold_ended` is emitted later."""
        if self._recorder is not None:
            self._recorder.end_hold()

    def configure(self, settings: ServoSettings, limits: Limits) -> None:
        """Write settings and limits; `configured` or `configure_failed` is emitted later. Raises ServoBenchError."""
        self._driver("change settings").configure(settings, limits)

    # State.

    @property
    def released(self) -> bool:
        """True if the motor is certainly off; never for an emulator, which may report false states."""
        recorder = self._recorder
        return recorder is None or (not self._connecting and recorder.released and self.origin != EMULATED)

    @property
    def identity(self) -> ServoIdentity | None:
        """Identity of the connected servo, if any."""
        return self._recorder.identity if self._recorder is not None else None

    @property
    def origin(self) -> str:
        """One of SIMULATED, EMULATED and REAL."""
        if ServoAddress.parse(self.address).family == SIMULATED:
            return SIMULATED
        return EMULATED if self._emulated(self.address) else REAL

    @property
    def title(self) -> str:
        """Title of the connected servo, marked if it is emulated; empty before connecting."""
        title = self.identity.title if self.identity is not None else ""
        return f"{title} ({EMULATED})" if title and self.origin == EMULATED else title

    @property
    def recorder(self) -> Recorder | None:
        """Recorder of the connection, if any."""
        return self._recorder

    @property
    def stop_latency(self) -> float | None:
        """Time from the last emergency stop to the confirmed release [s]."""
        return self._recorder.stop_latency if self._recorder is not None else None

    @property
    def limits(self) -> Limits | None:
        """The connected servo's limits."""
        return self._recorder.limits if self._recorder is not None and self._recorder.identity else None

    @property
    def ratings(self) -> Limits | None:
        """Ratings of the connected servo's manufacturer; limits may be narrower, never wider."""
        return self._recorder.ratings if self._recorder is not None else None

    @property
    def written(self) -> ServoSettings | None:
        """Settings last read back from the connected servo; None if unknown."""
        return self._recorder.written if self._recorder is not None else None

    @property
    def hand(self) -> SharedHand | None:
        """The hand on a connected simulated or emulated servo's pendulum; None for a real servo."""
        return self._hand

    @property
    def locked_for(self) -> float:
        """Time for which commands are still refused after an emergency stop [s], or 0."""
        own = self._stopped_at + self.stop_lock - time.monotonic()
        return max(0.0, own, self._recorder.locked_for if self._recorder is not None else 0.0)

    @property
    def holding(self) -> bool:
        """True while a torque is held or ramped."""
        return self._recorder is not None and self._recorder.holding

    @property
    def priority(self) -> str:
        """Scheduling of the recorder's loop."""
        return self._recorder.status.priority if self._recorder is not None else ""

    @property
    def busy(self) -> bool:
        """True during a run or hold, and while settings are written."""
        return self._recorder is not None and self._recorder.busy

    # Timer.

    def tick(self) -> None:
        """Process events since the last call, and feed the heartbeat."""
        recorder = self._recorder
        if recorder is None:
            return
        recorder.beat()
        for event in recorder.poll():
            self._take(event)
        if self._recorder is None:
            return
        rows = self.take_rows()
        self._publish(self._look(recorder, rows[-1] if len(rows) else recorder.latest()))

    def take_rows(self) -> np.ndarray:
        """Emit the rows measured since the last call, also between two ticks."""
        rows = self._reader.read().rows if self._reader is not None else np.empty(0)
        if len(rows):
            self.rows.emit(rows)
        return rows

    def close(self) -> None:
        """Release the servo, end the recorder's process and wait for it."""
        recorder, self._recorder, self._reader, self._hand = self._recorder, None, None, None
        if recorder is not None:
            recorder.close()

    # Internals.

    def _driver(self, act: str) -> Recorder:
        """Return the recorder for a driving command; raise NotReady without one and after an emergency stop."""
        if self._recorder is None:
            raise NotReady(f"cannot {act} without a servo; connect one first")
        if self._recorder.state is ServoState.READY and (locked := self.locked_for) > 0.0:
            raise NotReady(f"cannot {act} yet: the emergency stop was pressed; wait another {locked:.1f} s")
        return self._recorder

    def _take(self, event: Event) -> None:
        if isinstance(event, Announced):
            self.announced.emit(event.text)
        elif isinstance(event, Connected):
            self._connecting = False
            self.connected.emit(event.identity)
        elif isinstance(event, ConnectFailed):
            self.disconnect_servo()
            self.problem.emit(f"connecting the servo failed: {event.reason}")
        elif isinstance(event, RunFinished):
            self.finished.emit(event.result)
        elif isinstance(event, HoldEnded):
            self.hold_ended.emit(event)
        elif isinstance(event, Configured):
            self.configured.emit(event)
        elif isinstance(event, ConfigureFailed):
            self.configure_failed.emit(event.reason)
        elif isinstance(event, Faulted):
            self._connecting = self._stop_asked = False
            if self._acknowledging:
                self._acknowledging = False
                self.problem.emit(f"{event.reason}. Acknowledging had no effect")
            else:
                self.faulted.emit(event.reason)
        elif isinstance(event, Acknowledged):
            self._acknowledging = self._stop_asked = False
            self.acknowledged.emit()

    def _look(self, recorder: Recorder, row: Any) -> ServoView:
        status = recorder.status
        numbers = (
            {}
            if row is None or self._connecting
            else {
                name: float(row[name])
                for name in ("position", "velocity", "current", "duty_cycle", "supply_voltage", "temperature")
            }
        )
        return ServoView(
            state=ServoState.DISCONNECTED if self._connecting else status.state,
            phase=status.phase,
            connecting=self._connecting,
            title=self.title,
            fault=self._fault(recorder) if status.state is ServoState.FAULT else "",
            done=status.done,
            length=status.length,
            skipped=status.skipped_cycles,
            bus_errors=status.bus_errors,
            held_torque=status.held_torque,
            locked_for=self.locked_for,
            **numbers,
        )

    def _fault(self, recorder: Recorder) -> str:
        """Return the reason of a fault; the recorder reports it shortly after the state."""
        return recorder.fault or (EMERGENCY if self._stop_asked and recorder.released else "")

    def _publish(self, view: ServoView) -> None:
        self.view = view
        now = time.monotonic()
        if view.essence() != self._reported or now - self._numbers_at >= NUMBERS_PERIOD:
            self._reported = view.essence()
            self._numbers_at = now
            self.changed.emit(view)
