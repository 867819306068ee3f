"""Identity of a drive, and the catalogue's numbers corrected by its own answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

from core.servo.catalogue import ServoSpec
from core.servo.shipped import nominal_model
from drivers.errors import NoAnswer, ServoFault
from drivers.ethercat.cia402 import CYCLIC_TORQUE, MODES
from drivers.ethercat.drive import Scale
from drivers.ethercat.profile import Profile, drives, fitting


class Objects(Protocol):
    """Readable objects of a drive."""

    def read_number(self, index: int, subindex: int = 0, *, signed: bool = False) -> int | None:
        """Return a whole number; None if the drive has no such object."""
        ...

    def read_text(self, index: int) -> str:
        """Return a text; empty if the drive has no such object."""
        ...


@dataclass(frozen=True, kw_only=True)
class Nameplate:
    """Everything that is read once, before the first cycle."""

    spec: ServoSpec
    profile: Profile
    scale: Scale
    firmware: str
    serial: str
    facts: dict[str, str | float]
    warnings: tuple[str, ...]


def choose(vendor: int, product: int, wanted: str) -> tuple[ServoSpec, Profile, list[str]]:
    """Return the catalogue's servo and profile for a drive with this identity, and warnings about the choice.

    Args:
        vendor: Vendor id.
        product: Product code.
        wanted: Name of a servo; empty for the first one that fits.

    Raises:
        NoAnswer: if none fits.
    """
    names = fitting(vendor, product)
    known = drives()
    who = f"vendor 0x{vendor:08X}, product 0x{product:08X}"
    if wanted:
        odd = [] if wanted in names else [f"the drive ({who}) does not report itself as {wanted}; check the address"]
        return *known[wanted], odd
    if not names:
        options = ", ".join(f"servo={name}" for name in known)
        raise NoAnswer(f"the drive ({who}) is not in the catalogue; name its servo in the address: {options}")
    others = [f"servo={name}" for name in names[1:]]
    doubt = [f"taken for {names[0]}, but others report the same identity; if it is not, add {' or '.join(others)}"]
    return *known[names[0]], doubt if others else []


def read_nameplate(
    objects: Objects, spec: ServoSpec, profile: Profile, zero: int, warnings: list[str], info: dict[str, str | float]
) -> Nameplate:
    """Read the identity and scale of a drive.

    Args:
        objects: The drive's objects.
        spec: Its catalogue entry.
        profile: Its table in the catalogue.
        zero: Encoder counts where the pendulum hangs down.
        warnings: Warnings so far.
        info: Facts from its EEPROM.

    Raises:
        ServoFault: if the drive does not report a required value.
    """
    warnings = list(warnings)
    numbers = {
        "rated_current_mA": objects.read_number(0x6075),
        "rated_torque_mNm": objects.read_number(0x6076),
        "max_torque_permille": objects.read_number(0x6072),
        "encoder_increments": objects.read_number(0x608F, 1),
        "encoder_revolutions": objects.read_number(0x608F, 2),
        "serial_number": objects.read_number(0x1018, 4),
        "supported_modes": objects.read_number(0x6502),
    }
    torque_constant = nominal_model(spec).values["kt"]
    counts = _counts(numbers["encoder_increments"], numbers["encoder_revolutions"], spec, warnings)
    amps = _amps(numbers, profile, torque_constant)
    largest = _largest_current(numbers["max_torque_permille"], amps, spec, warnings)
    modes = numbers["supported_modes"]
    if modes is not None and not modes >> (CYCLIC_TORQUE - 1) & 1:
        warnings.append(
            f"the drive does not list {MODES[CYCLIC_TORQUE]} among its modes (0x6502 = 0x{modes:X}); "
            "if it refuses to be enabled, mode=csp in its address may help for positions"
        )
    scale = Scale(
        counts_per_turn=counts,
        zero=zero,
        amps_per_permille=amps,
        torque_constant=torque_constant,
        largest_current=largest,
        no_load_speed=spec.no_load_speed,
    )
    # A multi-turn encoder may have counted whole turns, but the zero refers to one turn.
    scale, turns = within_a_turn(scale, objects.read_number(0x6064, signed=True) or 0)
    if turns:
        warnings.append(f"its encoder has counted {turns} whole turns, which are ignored; 0 is where it hangs down")
    facts = info | {name: float(value) for name, value in numbers.items() if value is not None}
    facts |= {
        "manufacturer_device_name": objects.read_text(0x1008),
        "counts_per_turn": float(counts),
        "zero_counts": float(scale.zero),
        "current_A_per_permille": amps,
        "torque_constant_Nm_per_A": torque_constant,
        "largest_current_A": largest,
        "torque_reference": profile.torque_reference,
    }
    return Nameplate(
        spec=spec,
        profile=profile,
        scale=scale,
        firmware=objects.read_text(0x100A),
        serial="" if numbers["serial_number"] is None else str(numbers["serial_number"]),
        facts=facts,
        warnings=tuple(warnings),
    )


def _largest_current(permille: int | None, amps: float, spec: ServoSpec, warnings: list[str]) -> float:
    """Return the lower of the servo's largest current [A] and the drive's own limit; `amps` is one permille [A]."""
    if permille is None or not 0.0 < permille * amps < spec.max_current:
        return spec.max_current
    warnings.append(
        f"the drive limits its torque to {permille} ‰ (0x6072), {permille * amps:.2f} A instead of the "
        f"{spec.max_current:g} A of {spec.name}; the model's current limit is not reached"
    )
    return permille * amps


def within_a_turn(scale: Scale, counts: int) -> tuple[Scale, int]:
    """Shift the zero by whole turns so that the counts are within half a turn of it; return the number of turns."""
    turns = math.floor((counts - scale.zero) / scale.counts_per_turn + 0.5)
    return (replace(scale, zero=scale.zero + turns * scale.counts_per_turn), turns) if turns else (scale, 0)


def _counts(increments: int | None, revolutions: int | None, spec: ServoSpec, warnings: list[str]) -> int:
    counts = round(increments / revolutions) if increments and revolutions else 0
    if counts < 1:
        warnings.append(
            f"the drive does not report its encoder's resolution (0x608F); {spec.encoder_counts_per_turn} counts "
            "a turn are assumed, turn the output once by hand and compare"
        )
        return spec.encoder_counts_per_turn
    if counts != spec.encoder_counts_per_turn:
        warnings.append(
            f"the drive reports {counts} counts a turn (0x608F), the catalogue {spec.encoder_counts_per_turn}; "
            "the drive's are used, turn the output once by hand and compare"
        )
    return counts


def _amps(numbers: dict[str, int | None], profile: Profile, torque_constant: float) -> float:
    """Return the current of one per mille of torque [A]."""
    if profile.torque_reference == "rated_torque":
        rated = numbers["rated_torque_mNm"]
        if rated:
            return 1e-6 * rated / torque_constant
        raise ServoFault("the drive does not report its rated torque (0x6076), without which none can be commanded")
    rated = numbers["rated_current_mA"]
    if rated:
        return 1e-6 * rated
    if profile.rated_current:
        return 1e-3 * profile.rated_current
    raise ServoFault(
        "the drive does not report its rated current (0x6075), without which no torque can be commanded; "
        "write it as rated_current into [bus.ethercat] of the servo's file"
    )
