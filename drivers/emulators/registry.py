"""The buses that can be emulated, and an emulator's address.

It is written like a servo's address with the catalogue servo in place of the port, e.g. `dynamixel:xl330?id=3`. A new
emulator is one folder here with a `form.py` in it, named after the family it answers to. The package offers

    family() -> Family                                      the form of its emulators
    from_address(address: ServoAddress) -> EmulatorSource   raises AddressError
"""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from typing import Any

from drivers.emulators.process import EmulatorSource
from drivers.errors import AddressError
from drivers.family import Family
from drivers.registry import ServoAddress


def emulators() -> list[str]:
    """Return the names of the buses that can be emulated."""
    folders = (entry for entry in files(__name__.rpartition(".")[0]).iterdir() if entry.is_dir())
    return sorted(folder.name for folder in folders if (folder / "form.py").is_file())


def emulator_families() -> list[Family]:
    """Return the form of every kind of emulator."""
    return [emulator_family(name) for name in emulators()]


def emulator_family(text: str) -> Family:
    """Return the form of the emulator at an address, or of a bus; raises AddressError."""
    family: Family = _module(text).family()
    return family


def emulator_source(text: str) -> EmulatorSource:
    """Return the emulator at an address; raises AddressError."""
    source: EmulatorSource = _module(text).from_address(ServoAddress.parse(text))
    return source


def _module(text: str) -> Any:
    name = text.partition("?")[0].partition(":")[0]
    if name not in emulators():
        raise AddressError(f"there is no emulator of {name!r}; there are {', '.join(emulators())}")
    return import_module(f"{__package__}.{name}")
