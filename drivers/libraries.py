"""Libraries of the buses, which extras of the package install: absent ones are named with the command that does."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from drivers.errors import DriverError

PACKAGES = {"dynamixel_sdk": "dynamixel-sdk", "serial": "pyserial", "pysoem": "pysoem"}
EXTRAS = {"dynamixel_sdk": "dynamixel", "serial": "dynamixel", "pysoem": "ethercat"}
"""Module to the package that holds it, and to the extra that installs it."""


def install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'servobench[{extra}]'"


@contextmanager
def needed_by(devices: str) -> Generator[None]:
    """Report a bus library that is not installed as one error with its remedy.

    Args:
        devices: The devices that need the library, in the plural, e.g. "Dynamixel servos".

    Raises:
        DriverError: An import in the block found no library. Other import errors pass unchanged.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        package, extra = PACKAGES[error.name], EXTRAS[error.name]
        raise DriverError(f"{devices} need {package}, which is not installed: {install(extra)}") from None
