"""The window's hold on a servo: the recorder's process, its signs of life, its live rows, its stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from bench_gui.state.heartbeat import Heartbeat
from core.errors import ServoBenchError
from core.recording import RunHeader, ServoSettings, SinkDescription
from core.trajectories import Trajectory
from drivers.errors import NotReady
from drivers.limits import Limits
from drivers.recorder import Phase, Recorder
from drivers.recorder.link import EMERGENCY
from drivers.recorder.messages import (
    Acknowledged,
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
"""Numbers on the screen change this often [s]; faster ones cannot be read."""


@dataclass(frozen=True, kw_only=True)
class ServoView:
    """One look at the servo, for whoever shows it. Numbers are NaN while there are none."""

    state: ServoState = ServoState.DISCONNECTED
    phase: Phase = Phase.STARTING
    connecting: bool = False
    title: str = ""
    fault: str = ""
    done: int = 0
    length: int = 0
    skipped: int = 0
    """Cycles of the run without a sample."""
    bus_errors: int = 0
    position: float = math.nan
    velocity: float = math.nan
    current: float = math.nan
    duty_cycle: float = math.nan
    supply_voltage: float = math.nan
    temperature: float = math.nan
    held_torque: float = math.nan
    """N·m; NaN while none is held"""
    locked_for: float = 0.0
    """After an emergency stop commands are still refused for this long [s]."""

    @property
    def stopped(self) -> bool:
        """Whether the user stopped the servo: released and refusing commands, with nothing wrong."""
        return self.state is ServoState.FAULT and self.fault == EMERGENCY

    @property
    def refusal(self) -> str:
        """What has to be done before the servo takes commands; empty when it takes them."""
        if self.state is ServoState.DISCONNECTED:
            return "connect the servo first"
        if self.state is ServoState.FAULT:
            return "press Ready again first" if self.stopped else "acknowledge the servo's fault first"
        return f"the emergency stop was pressed; wait {math.ceil(self.locked_for)} s" if self.locked_for > 0.0 else ""

    @property
    def word(self) -> str:
        """The state as a person reads it from two metres."""
        if self.connecting:
            return "CONNECTING"
        if self.state is ServoState.DISCONNECTED:
            return "OFF"
        if self.state is ServoState.ENABLED:
            return "HOLDING" if self.phase is Phase.HOLD else "MOVING"
        return "STOPPED" if self.stopped else self.state.name

    @property
    def kind(self) -> str:
        """The state as the style sheet colours it: off, ready, moving, stopped, fault."""
        if self.stopped:
            return "stopped"
        return {
            ServoState.DISCONNECTED: "off",
            ServoState.READY: "ready",
            ServoState.ENABLED: "moving",
            ServoState.FAULT: "fault",
        }[self.state]

    def essence(self) -> tuple[Any, ...]:
        """What is told at once when it changes."""
        return (self.state, self.phase, self.connecting, self.title, self.fault, self.locked_for > 0.0)


def simulated_servos() -> list[tuple[str, str]]:
    """Title and address of every servo that can be simulated."""
    return [(spec.title, f"simulated:{name}") for name, spec in form.simulated_servos().items()]


def servo_name(address: str) -> str:
    """Catalogue name of a simulated servo's address, empty for another family's; raises AddressError."""
    source = ServoAddress.parse(address).source()
    return source.name if isinstance(source, SimulatedSource) else ""


class ServoLink(QObject):
    """Connects, records, stops. `tick` is called by the window's timer and is the program's heartbeat."""

    changed = Signal(object)
    """ServoView"""
    connected = Signal(object)
    """ServoIdentity"""
    rows = Signal(object)
    """Live rows of LIVE_DTYPE, (k,)"""
    finished = Signal(object)
    """RunResult"""
    hold_ended = Signal(object)
    """HoldEnded, once for every hold, whatever ended it"""
    configured = Signal(object)
    """Configured"""
    configure_failed = Signal(str)
    faulted = Signal(str)
    """Why the servo was released and refuses commands: a fault, or `EMERGENCY`."""
    acknowledged = Signal()
    problem = Signal(str)

    def __init__(
        self,
        address: str,
        farewell: Callable[[Recorder], None],
        hand_at: Callable[[str], SharedHand | None] = lambda address: None,
        emulated: Callable[[str], bool] = lambda address: False,
    ) -> None:
        """address: of the servo to connect to; farewell: closes a recorder without keeping the window waiting.

        hand_at: returns the hand on the pendulum of an emulated servo; None for a real one. emulated: returns whether
        an address is an emulated servo's.
        """
        super().__init__()
        self.address = address
        self._farewell = farewell
        self._hand_at = hand_at
        self._emulated = emulated
        self._recorder: Recorder | None = None
        self._reader: RingReader | None = None
        self._connecting = False
        self._hand: SharedHand | None = None
        self._stopped_at = -math.inf
        self._stop_asked = self._acknowledging = False
        self.stop_lock = STOP_LOCK
        """After an emergency stop commands are refused for this long [s], also by a servo connected meanwhile."""
        self._heartbeat: Heartbeat | None = None
        self._reported: tuple[Any, ...] = ()
        self._numbers_at = 0.0
        self.view = ServoView()

    # What a person asks for.

    def connect_servo(self) -> None:
        """Start connecting; `connected` or `problem` follows."""
        if self._recorder is not None:
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
        self._heartbeat = Heartbeat(recorder.beat)
        self._hand = hand
        self.tick()

    def disconnect_servo(self) -> None:
        """Release the servo and let it go."""
        recorder, self._recorder, self._reader = self._recorder, None, None
        self._connecting, self._hand = False, None
        holding = recorder is not None and recorder.holding
        self._end_heartbeat()
        if recorder is not None:
            self._farewell(recorder)
        self._publish(ServoView())
        if holding:
            self.hold_ended.emit(HoldEnded("abort", "the servo was disconnected"))

    def emergency_stop(self) -> None:
        """Switch the motor off now, whatever is going on."""
        if self._recorder is not None:
            self._recorder.emergency_stop()
            self._stopped_at = time.monotonic()
            self._stop_asked = True

    def abort(self) -> None:
        """End the run, keep its samples; or take away the held torque."""
        if self._recorder is not None:
            self._recorder.abort()

    def acknowledge(self) -> None:
        """A person has seen the fault or the stop; `acknowledged` follows, or `problem` when it is still there."""
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
        """Begin a run; `finished` follows. Raises ServoBenchError."""
        self._driver("record").record(trajectory, header, sink)

    def hold(self, torque: float, header: RunHeader) -> None:
        """Begin to hold a motor torque [N·m] on the header's bench; `hold_ended` follows. Raises ServoBenchError."""
        self._driver("hold a torque").hold(torque, header)

    def set_torque(self, torque: float) -> None:
        """Go over to another held torque [N·m], along a ramp. Raises ServoBenchError."""
        if self._recorder is None:
            raise NotReady("no torque is being held; connect a servo and begin to hold one first")
        self._recorder.set_torque(torque)

    def end_hold(self) -> None:
        """Take the held torque away along a ramp and release; `hold_ended` follows."""
        if self._recorder is not None:
            self._recorder.end_hold()

    def configure(self, settings: ServoSettings, limits: Limits) -> None:
        """Write settings and limits; `configured` or `configure_failed` follows. Raises ServoBenchError."""
        self._driver("change settings").configure(settings, limits)

    # What can be asked.

    @property
    def released(self) -> bool:
        """Whether the motor is off beyond doubt. An emulator may be told to lie, so it always leaves a doubt."""
        recorder = self._recorder
        return recorder is None or (not self._connecting and recorder.released and self.origin != EMULATED)

    @property
    def identity(self) -> ServoIdentity | None:
        """Who answered; None before."""
        return self._recorder.identity if self._recorder is not None else None

    @property
    def origin(self) -> str:
        """SIMULATED, EMULATED or REAL."""
        if ServoAddress.parse(self.address).family == SIMULATED:
            return SIMULATED
        return EMULATED if self._emulated(self.address) else REAL

    @property
    def title(self) -> str:
        """Title of the servo that answered, marked unless it is real; empty before."""
        title = self.identity.title if self.identity is not None else ""
        return f"{title} ({EMULATED})" if title and self.origin == EMULATED else title

    @property
    def recorder(self) -> Recorder | None:
        """What holds the servo; None while there is no connection."""
        return self._recorder

    @property
    def stop_latency(self) -> float | None:
        """From the last emergency stop to the confirmed release [s]."""
        return self._recorder.stop_latency if self._recorder is not None else None

    @property
    def limits(self) -> Limits | None:
        """The connected servo's limits."""
        return self._recorder.limits if self._recorder is not None and self._recorder.identity else None

    @property
    def ratings(self) -> Limits | None:
        """What the connected servo's makers allow: limits may be narrower, never wider."""
        return self._recorder.ratings if self._recorder is not None else None

    @property
    def written(self) -> ServoSettings | None:
        """Settings as last read back from the connected servo; None when they are not known."""
        return self._recorder.written if self._recorder is not None else None

    @property
    def hand(self) -> SharedHand | None:
        """The hand on a connected simulated or emulated servo's pendulum; None for a real servo."""
        return self._hand

    @property
    def locked_for(self) -> float:
        """How long commands are still refused after an emergency stop [s]; 0 when they are not."""
        own = self._stopped_at + self.stop_lock - time.monotonic()
        return max(0.0, own, self._recorder.locked_for if self._recorder is not None else 0.0)

    @property
    def holding(self) -> bool:
        """Whether a torque is held, or on its way there or back."""
        return self._recorder is not None and self._recorder.holding

    @property
    def priority(self) -> str:
        """How the recorder's loop is scheduled."""
        return self._recorder.status.priority if self._recorder is not None else ""

    @property
    def busy(self) -> bool:
        """Whether a run or a hold is on, or settings are being written."""
        return self._recorder is not None and self._recorder.busy

    # The timer.

    def tick(self) -> None:
        """Take what happened since the last call; the window is alive."""
        recorder = self._recorder
        if recorder is None or self._heartbeat is None:
            return
        self._heartbeat.answered()
        for event in recorder.poll():
            self._take(event)
        if self._recorder is None:
            return
        rows = self.take_rows()
        self._publish(self._look(recorder, rows[-1] if len(rows) else recorder.latest()))

    def take_rows(self) -> np.ndarray:
        """Hand out what was measured since the last call, also between two ticks."""
        rows = self._reader.read().rows if self._reader is not None else np.empty(0)
        if len(rows):
            self.rows.emit(rows)
        return rows

    def close(self) -> None:
        """Release the servo and end the recorder's process, waiting for it."""
        recorder, self._recorder, self._reader, self._hand = self._recorder, None, None, None
        self._end_heartbeat()
        if recorder is not None:
            recorder.close()

    # Behind the scenes.

    def _end_heartbeat(self) -> None:
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat is not None:
            heartbeat.close()

    def _driver(self, act: str) -> Recorder:
        """The recorder, for what may drive. Raises NotReady without one and after an emergency stop."""
        if self._recorder is None:
            raise NotReady(f"cannot {act} without a servo; connect one first")
        if self._recorder.state is ServoState.READY and (locked := self.locked_for) > 0.0:
            raise NotReady(f"cannot {act} yet: the emergency stop was pressed; wait another {locked:.1f} s")
        return self._recorder

    def _take(self, event: Event) -> None:
        if isinstance(event, Connected):
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
        """Why the state is FAULT; the recorder gives its reason a moment after the state."""
        return recorder.fault or (EMERGENCY if self._stop_asked and recorder.released else "")

    def _publish(self, view: ServoView) -> None:
        self.view = view
        now = time.monotonic()
        if view.essence() != self._reported or now - self._numbers_at >= NUMBERS_PERIOD:
            self._reported = view.essence()
            self._numbers_at = now
            self.changed.emit(view)
