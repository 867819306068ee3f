"""The EtherCAT state machine of a slave and the conditions of its changes of state (ETG.1000.6, ETG.1020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol

from drivers.emulators.ethercat.chip.esc import Esc
from drivers.emulators.ethercat.chip.sii import BufferPlan
from drivers.emulators.ethercat.chip.sync_manager import SyncManager

SHORTEST_CYCLE = 250_000
"""Shortest period of SYNC0 [ns]."""

_ERROR = 0x10
"""Error bit in AL status; in AL control the same bit acknowledges."""


class AlState(IntEnum):
    """States of a slave."""

    INIT = 1
    PREOP = 2
    BOOT = 3
    SAFEOP = 4
    OP = 8


class AlCode(IntEnum):
    """Reasons of a slave to refuse a state or to leave it."""

    NONE = 0x0000
    INVALID_CHANGE = 0x0011
    UNKNOWN_STATE = 0x0012
    NO_BOOT = 0x0013
    MAILBOX = 0x0016
    WATCHDOG = 0x001B
    OUTPUTS = 0x001D
    INPUTS = 0x001E
    SYNC_LOST = 0x002C
    CLOCK = 0x0030
    CYCLE = 0x0035


class Refusal(Exception):
    """The state cannot be entered."""

    def __init__(self, code: AlCode) -> None:
        super().__init__(code)
        self.code = code


class Lengths(Protocol):
    """Length of one direction of the process data."""

    @property
    def length(self) -> int:
        """Length [bytes]."""
        ...


class StateMachine:
    """State machine of one slave, driven by its AL control register."""

    def __init__(
        self, esc: Esc, buffers: Sequence[BufferPlan], outputs: Lengths, inputs: Lengths, strict: bool = True
    ) -> None:
        """Create the state machine in INIT.

        Args:
            esc: The slave's chip.
            buffers: Mailboxes and process data that the slave demands.
            outputs: Length of the outputs.
            inputs: Length of the inputs.
            strict: Demand what the real drive demands: DC and process data of even length.
        """
        self._esc = esc
        self._buffers = buffers
        self._pdos = (outputs, inputs)
        self._strict = strict
        self.state = AlState.INIT
        self.code = 0
        """Reason for the error bit."""
        self.error = False
        self.synchronous = False
        """True if SYNC0 was active when the slave last entered SAFEOP, so that it runs in DC mode."""
        self.on_change: Callable[[AlState, AlState], None] | None = None
        """Called with old and new state."""
        esc.on_al_control = self.request
        esc.on_sync_managers = self._settings_written
        for manager in esc.sync_managers[2:4]:
            manager.block(True)

    def request(self, control: int) -> None:
        """Handle the master's request for a state, or its acknowledgement of an error."""
        if control & _ERROR:
            self.error, self.code = False, 0
        wanted = control & 0x0F
        if self.error and wanted > self.state:
            return  # the error has to be acknowledged first
        try:
            target = AlState(wanted)
        except ValueError:
            self.fail(AlCode.UNKNOWN_STATE)
            return
        try:
            self._check(target)
        except Refusal as refusal:
            self.fail(refusal.code)
            return
        self._enter(target)

    def fail(self, code: int, state: AlState | None = None) -> None:
        """Set the error bit, and fall back to a state."""
        self.error, self.code = True, code
        self._enter(self.state if state is None else state)

    def _enter(self, state: AlState) -> None:
        old, self.state = self.state, state
        if old < AlState.SAFEOP <= state:
            self.synchronous = self._esc.clock.active
        if old != state:
            for manager in self._esc.sync_managers[2:4]:
                if manager.blocked != (state < AlState.SAFEOP):
                    manager.block(state < AlState.SAFEOP)
            if self.on_change is not None:
                self.on_change(old, state)
        self._esc.show_state(state | (_ERROR if self.error else 0), self.code)

    def _check(self, target: AlState) -> None:
        """Raise Refusal if the state cannot be entered."""
        if target == AlState.BOOT:
            raise Refusal(AlCode.NO_BOOT)
        if target <= self.state:
            return
        if (self.state, target) not in (
            (AlState.INIT, AlState.PREOP),
            (AlState.PREOP, AlState.SAFEOP),
            (AlState.SAFEOP, AlState.OP),
        ):
            raise Refusal(AlCode.INVALID_CHANGE)
        if not self._mailboxes_fit():
            raise Refusal(AlCode.MAILBOX)
        if target == AlState.PREOP:
            return
        self._check_process_data()
        if target == AlState.SAFEOP:
            if self._esc.clock.active and self._esc.clock.cycle < SHORTEST_CYCLE:
                raise Refusal(AlCode.CYCLE)
        elif self._strict and not self.synchronous:
            raise Refusal(AlCode.CLOCK)

    def _settings_written(self) -> None:
        """Fall back to PREOP if the sync managers no longer match the process data."""
        if self.state < AlState.SAFEOP:
            return
        try:
            self._check_process_data()
        except Refusal as refusal:
            self.fail(refusal.code, AlState.PREOP)

    def _check_process_data(self) -> None:
        for number, code in ((2, AlCode.OUTPUTS), (3, AlCode.INPUTS)):
            if not self._process_data_fits(number):
                raise Refusal(code)

    def _mailboxes_fit(self) -> bool:
        pairs = zip(self._esc.sync_managers, self._buffers[:2], strict=False)
        return all(
            manager.active
            and manager.start == plan.start
            and manager.length == plan.length
            and _same_kind(manager, plan)
            for manager, plan in pairs
        )

    def _process_data_fits(self, number: int) -> bool:
        manager, plan = self._esc.sync_managers[number], self._buffers[number]
        length = self._pdos[number - 2].length
        if not length:
            return not manager.active
        if self._strict and length % 2:
            return False
        inside = plan.start <= manager.start and manager.end <= len(self._esc.memory)
        return manager.active and manager.length == length and inside and _same_kind(manager, plan)


def _same_kind(manager: SyncManager, plan: BufferPlan) -> bool:
    """Return True if both agree on mailbox or buffer, and on the direction."""
    return manager.control & 0x0F == plan.control & 0x0F
