"""The EtherCAT state machine of a slave and what it insists on before it changes state (ETG.1000.6, ETG.1020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol

from drivers.emulators.ethercat.esc import Esc
from drivers.emulators.ethercat.sii import BufferPlan
from drivers.emulators.ethercat.sync_manager import SyncManager

SHORTEST_CYCLE = 250_000
"""Of SYNC0 [ns]."""

_ERROR = 0x10
"""In AL status; in AL control the same bit acknowledges."""


class AlState(IntEnum):
    """Of a slave."""

    INIT = 1
    PREOP = 2
    BOOT = 3
    SAFEOP = 4
    OP = 8


class AlCode(IntEnum):
    """Why a slave refused a state or left it."""

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
    """A state cannot be entered."""

    def __init__(self, code: AlCode) -> None:
        super().__init__(code)
        self.code = code


class Lengths(Protocol):
    """What has to be known of one direction of the process data."""

    @property
    def length(self) -> int:
        """[bytes]"""
        ...


class StateMachine:
    """The one of one slave, driven by its AL control register."""

    def __init__(
        self, esc: Esc, buffers: Sequence[BufferPlan], outputs: Lengths, inputs: Lengths, strict: bool = True
    ) -> None:
        """buffers: mailboxes and process data as the slave wants them; strict: as the real drive, DC and even PDOs."""
        self._esc = esc
        self._buffers = buffers
        self._pdos = (outputs, inputs)
        self._strict = strict
        self.state = AlState.INIT
        self.code = 0
        """Why the error bit is set."""
        self.error = False
        self.synchronous = False
        """Whether SYNC0 was made when the slave last entered SAFEOP: it runs in DC mode then."""
        self.on_change: Callable[[AlState, AlState], None] | None = None
        """Told old and new state."""
        esc.on_al_control = self.request
        esc.on_sync_managers = self._settings_written
        for manager in esc.sync_managers[2:4]:
            manager.block(True)

    def request(self, control: int) -> None:
        """The master asks for a state, or acknowledges an error."""
        if control & _ERROR:
            self.error, self.code = False, 0
        wanted = control & 0x0F
        if self.error and wanted > self.state:
            return  # it has to be acknowledged first
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
        """Raise Refusal when the state cannot be entered."""
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
        """Process data are exchanged with the sync managers they were checked for, and no longer with others."""
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
    """Mailbox or buffer, and in which direction."""
    return manager.control & 0x0F == plan.control & 0x0F
