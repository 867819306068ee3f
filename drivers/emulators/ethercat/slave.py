"""One slave: its chip, its state machine, its mailbox and objects, its drive and its mechanism."""

from __future__ import annotations

from dataclasses import replace

from drivers import timing
from drivers.emulators.ethercat.chip.esc import Esc
from drivers.emulators.ethercat.chip.sii import make_image
from drivers.emulators.ethercat.chip.states import AlCode, AlState, StateMachine
from drivers.emulators.ethercat.coe import objects
from drivers.emulators.ethercat.coe.dictionary import ObjectDictionary, ObjectEntry
from drivers.emulators.ethercat.coe.information import INFORMATION, SdoInformation
from drivers.emulators.ethercat.coe.mailbox import Mailbox, Protocol
from drivers.emulators.ethercat.coe.mapping import PdoMapping, ProcessImage
from drivers.emulators.ethercat.coe.sdo import REQUEST, SdoServer, emergency
from drivers.emulators.ethercat.drive import EmulatedDrive
from drivers.emulators.mechanism import Mechanism

SYNC_LIMIT = 100
"""Default periods of SYNC0 without process data after which an enabled drive reports a lost master."""


class Slave:
    """One eRob on the segment. Its mechanism and its EEPROM survive a loss of power, everything else is reset."""

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        number: int = 1,
        strict: bool = True,
        drift: float = 0.0,
        sync_limit: int | None = None,
        now: int = 0,
    ) -> None:
        """Create a slave that is switched on.

        Args:
            mechanism: Its moving parts.
            number: Its position, which is also its serial number.
            strict: See `Segment`.
            drift: See `Segment`.
            sync_limit: See `Segment`.
            now: The current time [ns].
        """
        self.mechanism = mechanism
        self._drift = drift
        self._sync_limit = sync_limit
        self.muted = False
        """True if it passes frames on without processing them."""
        self._serial = number
        self._strict = strict
        self._followers = 0
        identity = replace(objects.IDENTITY, serial=number)
        self.eeprom = make_image(identity, objects.BUFFERS, objects.OUTPUTS, objects.INPUTS, objects.COE_DETAILS)
        self.power_on(now)

    def power_on(self, now: int) -> None:
        """Reset as after a loss of power, at the time `now` [ns]."""
        self.esc = Esc(self.eeprom, now, self._drift)
        self.esc.connect(self._followers)
        self._outputs = PdoMapping(objects.OUTPUTS.index, 0x1C12, "rx", objects.OUTPUTS.entries, self._find)
        self._inputs = PdoMapping(objects.INPUTS.index, 0x1C13, "tx", objects.INPUTS.entries, self._find)
        self.states = StateMachine(self.esc, objects.BUFFERS, self._outputs, self._inputs, self._strict)
        self.dictionary = ObjectDictionary(
            [
                *objects.communication_objects(self._serial),
                *objects.drive_objects(self.mechanism.spec, self.mechanism.truth.values["kt"]),
                *self._outputs.entries,
                *self._inputs.entries,
            ],
            writable_now=lambda: self.states.state == AlState.PREOP,
        )
        for index in (0x1C32, 0x1C33):
            self.dictionary[index, 1].measure = lambda: 2 if self.states.synchronous else 1
            self.dictionary[index, 2].measure = lambda: self.esc.clock.cycle
        self.drive = EmulatedDrive(self.dictionary, self.mechanism)
        self.drive.on_fault = self.send_emergency
        self._sdo = SdoServer(self.dictionary, lambda: self.mailbox.room)
        self._information = SdoInformation(self.dictionary, lambda: self.mailbox.room)
        self.mailbox = Mailbox(self.esc.sync_managers[0], self.esc.sync_managers[1], self._answer)
        self.mailbox.close()
        self.states.on_change = self._changed
        self.esc.sync_managers[2].on_written = self._received
        self._images: tuple[ProcessImage, ProcessImage] | None = None

    def _find(self, index: int, sub: int) -> ObjectEntry:
        return self.dictionary.find(index, sub)

    def _answer(self, message: bytes) -> list[bytes]:
        """Answer a CoE message of a service that this slave offers; others need no answer."""
        service = message[1] >> 4
        if service == REQUEST:
            return self._sdo.answer(message)
        return self._information.answer(message) if service == INFORMATION else []

    def connect(self, followers: int) -> None:
        """Set the number of slaves behind it."""
        self._followers = followers
        self.esc.connect(followers)

    # Before every frame, and while none comes.

    def step(self, now: int) -> None:
        """Advance to the time `now` [ns]: watchdog, SYNC0, drive, inputs."""
        if self.states.state == AlState.OP:
            self._watch(now)
        self.drive.step()
        if self._images is not None:
            manager = self.esc.sync_managers[3]
            self._images[1].encode(self.esc.memory, manager.start)

    def _watch(self, now: int) -> None:
        limit = self.esc.watchdog_time
        if limit and now - self.esc.fed_at > limit:
            self.esc.show_watchdog(expired=True)
            self.states.fail(AlCode.WATCHDOG, AlState.SAFEOP)
        elif self.states.synchronous and not self.esc.clock.active:
            self.states.fail(AlCode.SYNC_LOST, AlState.SAFEOP)
        else:
            limit = SYNC_LIMIT * timing.limits.emulated_watchdogs if self._sync_limit is None else self._sync_limit
            if limit and self.esc.clock.missed(now) > limit:
                self.drive.lose_master()

    def _received(self) -> None:
        """Handle process data written by the master."""
        now = self.esc.arrival
        self.esc.show_watchdog(expired=False)
        self.esc.clock.count(now)
        if self.states.state == AlState.OP and self._images is not None:
            self._images[0].decode(self.esc.memory, self.esc.sync_managers[2].start)
            self.drive.act()

    def _changed(self, old: AlState, new: AlState) -> None:
        if old == AlState.INIT:
            self._sdo.reset()
            self.mailbox.open()
        elif new == AlState.INIT:
            self.mailbox.close()
        if new < AlState.SAFEOP:
            self._images = None
        elif old < AlState.SAFEOP:
            self._images = self._outputs.image(), self._inputs.image()
        if new == AlState.OP:
            self.esc.fed_at = self.esc.arrival
            self.esc.clock.forget_windows()
            self.drive.operational = True
        elif old == AlState.OP:
            self.drive.leave_operation()

    def send_emergency(self, code: int, register: int = 1) -> None:
        """Queue an emergency message, if there is a mailbox to fetch it from."""
        if self.states.state != AlState.INIT:
            self.mailbox.send(Protocol.COE, emergency(code, register))
