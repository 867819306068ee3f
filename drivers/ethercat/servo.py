"""An EtherCAT drive as a servo: connect, configure, drive, release."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from core.servo.settings import ServoSettings
from drivers import timing
from drivers.errors import BusError, CommandError, DriverError, NoAnswer, ServoFault
from drivers.ethercat import nic
from drivers.ethercat.cia402 import CYCLIC_POSITION, CYCLIC_TORQUE, DriveState
from drivers.ethercat.dc import BusClock
from drivers.ethercat.drive import CyclicDrive, Sample
from drivers.ethercat.identity import Nameplate, choose, read_nameplate
from drivers.ethercat.law import PositionLaw
from drivers.ethercat.pdo import POSITION_OUTPUTS, TORQUE_OUTPUTS
from drivers.ethercat.profile import drives
from drivers.ethercat.settings import DriveSettings
from drivers.libraries import needed_by
from drivers.limits import Limits
from drivers.reading import Reading
from drivers.servo import PositionGoal, Servo, ServoIdentity, TorqueGoal

if TYPE_CHECKING:
    from drivers.ethercat.bus import Bus
    from drivers.ethercat.master import Master, SlaveInfo
FRESH = 0.5
"""Age of a sample, as a share of the cycle, beyond which the next one is waited for."""
LOCK_LIMIT = 1.0
MASTER_OFFLINE = "0xA"
"""Beginning of the error codes of a drive that was left by its master."""
LOOK_PERIOD = 0.01
"""[s]"""


class EthercatServo(Servo):
    """One drive. Position goals are followed by the law of `law` in mode CST, by the drive's own in mode CSP.

    The bus runs in a thread of its own (`bus`). `clock` counts in its cycles, so that a loop over this servo reads
    values that were measured a moment ago.
    """

    def __init__(self, settings: DriveSettings) -> None:
        spec, profile = drives()[settings.servo or next(iter(drives()))]
        super().__init__(Limits.for_spec(spec))
        self._wanted = settings
        self._cycle = settings.cycle or profile.cycle
        self._bus_clock = BusClock(self._cycle)
        self.clock = self._bus_clock
        self._applied: ServoSettings | None = None
        self._master: Master | None = None
        self._made_bus: Bus | None = None
        self._made_drive: CyclicDrive | None = None
        self._plate: Nameplate | None = None
        self._watchdog = 0.0
        self._emulated = False
        self._warnings: list[str] = []
        self._read_number = 0
        # Frames that were lost before the bus was restarted.
        self._lost_before = 0

    # Start.

    def _connect(self) -> None:
        self._emulated = nic.is_virtual_cable(self._wanted.interface)
        self._begin()
        if (named := self._drive().fault).startswith(MASTER_OFFLINE):
            # The last program ended or lost its cable: nothing is wrong with the drive or its load.
            self._leave_fault(self._drive())
            self._warnings.append(f"the drive had a fault, {named}, which was reset")
        plate = self._nameplate()
        rated = Limits.for_spec(plate.spec)
        scale = plate.scale
        torque = min(rated.torque, scale.torque_constant * scale.largest_current)
        self.ratings = self.limits = replace(rated, torque=torque)

    def _begin(self) -> None:
        """Bring a drive from a closed bus to OP, released."""
        nic.require(self._wanted.interface)
        with needed_by("EtherCAT drives"):
            from drivers.ethercat.master import OP, Master

        wanted = self._wanted
        master = self._master = Master(wanted.interface, wanted.slave)
        self._warnings = []
        slaves = master.open()
        master.take(lambda code, register: self._made_drive and self._made_drive.emergency(code, register))
        info = slaves[wanted.slave - 1]
        plate = self._plate = self._read_plate(master, info)
        settings = self._applied or ServoSettings(
            servo=plate.spec.name, kp=plate.spec.default_kp, supply_voltage=plate.spec.supply_voltage
        )
        self._applied = settings
        law = PositionLaw.of(plate.spec.control, settings)
        clock = self._bus_clock
        clock.cycle = self._cycle = wanted.cycle or plate.profile.cycle
        drive = self._made_drive = CyclicDrive(
            plate.scale, law, self._cycle, lambda: clock.waited_at, plate.profile.harmless_emergencies
        )
        self._read_number = 0
        self._start_bus(master, drive, plate)
        # Missing answers count only from OP on: before it, frames may be lost without harm.
        self._reach(OP)
        master.listen()
        drive.in_service = True
        self._bus_clock.wait_for(lambda: drive.newest is not None, timing.limits.ethercat_wait)
        self._release()

    def _read_plate(self, master: Master, info: SlaveInfo) -> Nameplate:
        spec, profile, warnings = choose(info.vendor, info.product, self._wanted.servo)
        said: dict[str, str | float] = {
            "device_name": info.name,
            "vendor_id": f"0x{info.vendor:08X}",
            "product_code": f"0x{info.product:08X}",
            "revision": f"0x{info.revision:08X}",
        }
        return read_nameplate(master, spec, profile, self._wanted.zero, warnings, said)

    def _start_bus(self, master: Master, drive: CyclicDrive, plate: Nameplate) -> None:
        from drivers.ethercat.bus import Bus

        cycle = self._cycle
        outputs, inputs = master.map_images(TORQUE_OUTPUTS if self._wanted.mode == "cst" else POSITION_OUTPUTS)
        master.tell_cycle(cycle)
        order = self._wanted.dc_order or plate.profile.dc_order
        pulses = order != "off"
        if pulses and not master.find_clocks():
            self._warnings.append("the drive has no distributed clock; its cycles are not in step with the bus")
            pulses = False
        # Drives differ in whether they accept SAFEOP with or without running pulses, hence the two places.
        if pulses and order == "preop":
            master.start_pulses(cycle)
        self._watchdog = master.watchdog(plate.profile.watchdog)
        if abs(self._watchdog - plate.profile.watchdog) > 0.1 * plate.profile.watchdog:
            self._warnings.append(
                f"the drive stays in OP for {1e3 * self._watchdog:g} ms without frames, "
                f"{1e3 * plate.profile.watchdog:g} ms were requested; it may run on for that long when the cable breaks"
            )
        master.to_safeop(outputs, inputs, cycle)
        if pulses and order == "safeop":
            master.start_pulses(cycle)
        bus = self._made_bus = Bus(master, drive, self._bus_clock, outputs, inputs, pulses=pulses)
        bus.start()
        lock = bus.lock
        if lock is not None and not self._bus_clock.wait_for(lambda: lock.locked, LOCK_LIMIT):
            self._warnings.append(
                f"frames are {1e6 * lock.error:.0f} µs out of step with the drive's clock; expect a noisy bus cycle"
            )

    def _reach(self, state: int) -> None:
        bus = self._bus()
        bus.request(state)
        deadline = timing.now() + timing.limits.ethercat_op
        while True:
            now = bus.look(timing.limits.ethercat_look)
            if now.state == state:
                return
            if now.code or timing.now() > deadline:
                raise BusError(
                    f"the drive stays in {now} instead of OP; try another dc option of the address or a longer cycle"
                )
            timing.sleep(LOOK_PERIOD)

    def _leave_fault(self, drive: CyclicDrive) -> None:
        """Reset a fault of a released drive. Raises ServoFault if it stays."""
        if not (named := drive.fault):
            return
        drive.reset_fault()

        def left() -> bool:
            newest = drive.newest
            return newest is not None and newest.state is DriveState.SWITCH_ON_DISABLED

        if not self._bus_clock.wait_for(left, timing.limits.ethercat_reset):
            raise ServoFault(f"the drive stays in its fault {named}; remove the cause, then switch it off and on")

    def _latched(self) -> str:
        named = self._drive().fault
        return named and f"the drive reports error {named}; see its manual, remove the cause, then acknowledge"

    def _identify(self) -> ServoIdentity:
        plate, wanted = self._nameplate(), self._wanted
        warnings = [*plate.warnings, *self._warnings]
        if wanted.mode == "csp":
            warnings.append("the position law is the drive's own; gains of the settings have no effect on it")
        return ServoIdentity(
            model=plate.spec.name,
            title=plate.spec.title,
            firmware=plate.firmware,
            serial=plate.serial,
            id=f"slave {wanted.slave} on {wanted.interface}",
            position_step=plate.scale.step,
            cycle=self._cycle,
            watchdog=self._watchdog,
            origin="emulated" if self._emulated else "real",
            facts=plate.facts | {"bus_cycle_s": self._cycle, "mode": wanted.mode},
            warnings=tuple(warnings),
        )

    # Use.

    def _configure(self, settings: ServoSettings) -> None:
        spec = self._nameplate().spec
        if settings.servo != spec.name:
            raise CommandError(
                f"the settings are for {settings.servo}, the drive is taken for {spec.name}; "
                f"add servo={settings.servo} to its address if that is correct"
            )
        self._drive().law = PositionLaw.of(spec.control, settings)
        self._applied = settings

    def _settings(self) -> ServoSettings | None:
        return self._applied if self._wanted.mode == "cst" else None

    def _enable(self, goal: PositionGoal | TorqueGoal) -> None:
        drive = self._drive()
        drive.complain()
        own_law = self._wanted.mode == "csp" and isinstance(goal, PositionGoal)
        drive.switch_on(CYCLIC_POSITION if own_law else CYCLIC_TORQUE, timing.now())
        deadline = timing.now() + timing.limits.ethercat_enable
        while not self._bus_clock.wait_for(lambda: drive.enabled or drive.trouble is not None, LOOK_PERIOD):
            drive.heard(timing.now())
            if timing.now() > deadline:
                drive.switch_off()
                raise ServoFault(
                    f"the drive was not ready within {1e3 * timing.limits.ethercat_enable:.0f} ms, its status word is "
                    f"{_status(drive.newest)}; check its supply and its brake"
                )
        drive.complain()

    def _command(self, goal: PositionGoal | TorqueGoal) -> None:
        drive = self._drive()
        drive.complain()
        drive.aim(goal, timing.now())

    def _confirm(self) -> None:
        self._drive().complain()

    def _read(self) -> Reading:
        drive = self._drive()
        drive.complain()
        now = timing.now()
        drive.heard(now)
        oldest, last = now - FRESH * self._cycle, self._read_number

        def come() -> bool:
            sample = drive.newest
            fresh = sample is not None and sample.number > last and sample.moment >= oldest
            return fresh or drive.trouble is not None

        came = self._bus_clock.wait_for(come, timing.limits.ethercat_wait)
        drive.complain()
        sample = drive.newest
        if not came or sample is None:
            raise NoAnswer(
                f"no frame came back for {1e3 * timing.limits.ethercat_wait:.0f} ms; "
                "check the cable and the drive's power"
            )
        self._read_number = sample.number
        self._bus_clock.use()
        return replace(sample.reading, moment=self._bus_clock.at(sample.moment))

    @property
    def repeats(self) -> int:
        """Number of frames that did not come back whole; the next one took their place."""
        return self._lost_before + (0 if self._made_drive is None else self._made_drive.lost)

    def _release(self) -> None:
        if self._made_bus is None:
            return  # closed by a failed acknowledgement, after a confirmed release
        drive, bus = self._drive(), self._bus()
        drive.switch_off()
        if not bus.alive:
            raise BusError("the bus's thread has ended; cut the drive's power supply")
        if self._bus_clock.wait_for(lambda: drive.released, timing.limits.ethercat_release):
            return
        # Without process data there is no status word, but a slave that reports this state cannot drive anything.
        where = "it does not answer"
        with suppress(BusError):
            state = bus.look(timing.limits.ethercat_wait - timing.limits.ethercat_release)
            if drive.released or state.without_process_data:
                return
            where = f"it is in {state}"
        raise BusError(
            f"the drive did not confirm that it is switched off, {where}; "
            f"its last status word was {_status(drive.newest)}"
        )

    def _acknowledge(self) -> None:
        if self._made_bus is not None and self._still_works(self._made_bus):
            return
        self._reboot()

    def _reboot(self) -> None:
        self._end()
        try:
            self._begin()
            self._leave_fault(self._drive())
        except DriverError as error:
            self._end()
            raise type(error)(f"restarting the drive failed: {error}") from None

    def _still_works(self, bus: Bus) -> bool:
        """Return True if the drive answers in OP and has no fault left. Raises ServoFault for a fault that stays."""
        from drivers.ethercat.master import OP

        drive = self._drive()
        if bus.look(timing.limits.ethercat_look).state != OP or not drive.answering:
            return False
        self._leave_fault(drive)
        bus.empty_mailbox()
        drive.trouble = None
        return True

    # End.

    def _close(self) -> None:
        self._end()

    def _end(self) -> None:
        bus, master, drive = self._made_bus, self._master, self._made_drive
        self._made_bus = self._master = self._made_drive = None
        self._lost_before += 0 if drive is None else drive.lost
        if bus is not None and drive is not None:
            drive.in_service = False
            drive.switch_off()
            if not bus.stop():
                return  # two threads must not use the library; the drive's watchdog does the rest
        if master is not None:
            with suppress(Exception):
                master.close()

    def _nameplate(self) -> Nameplate:
        if self._plate is None:
            raise BusError("the drive's identity was not read yet; connect the servo first")
        return self._plate

    def _drive(self) -> CyclicDrive:
        if self._made_drive is None:
            raise BusError("the bus is closed; disconnect the servo and connect it again")
        return self._made_drive

    def _bus(self) -> Bus:
        if self._made_bus is None:
            raise BusError("the bus is closed; disconnect the servo and connect it again")
        return self._made_bus


def _status(sample: Sample | None) -> str:
    return "unknown" if sample is None else f"0x{sample.inputs.status_word:04X}"
