"""What can go wrong between the program and a servo. Every message names the act, the wrong value and the remedy."""

from __future__ import annotations

from core.errors import ServoBenchError


class DriverError(ServoBenchError):
    """Root of every error of a servo, its bus or its recorder."""


class AddressError(DriverError):
    """A servo's address cannot be understood, or names a family or a servo that does not exist."""


class NotReady(DriverError):
    """The servo's state does not allow what was asked of it."""


class CommandError(DriverError):
    """A command is not a number or lies outside what the limits allow."""


class NoAnswer(DriverError):
    """The servo stayed silent."""


class BusError(DriverError):
    """The bus itself failed: port gone, interface down, garbage on the wire."""


class ServoFault(DriverError):
    """The servo reports a fault of its own, such as overload or overheating."""


class MotorOn(DriverError):
    """Nobody could make sure that the motor is off."""


class RecorderDied(DriverError):
    """The recorder's process ended or stopped answering while the program still needed it."""
