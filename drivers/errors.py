"""Errors between the program and a servo. Every message names the action, the wrong value and the remedy."""

from __future__ import annotations

from core.base.errors import ServoBenchError


class DriverError(ServoBenchError):
    """Base class of every error of a servo, its bus or its recorder."""


class AddressError(DriverError):
    """A servo's address cannot be parsed, or it names a family or a servo that does not exist."""


class NotReady(DriverError):
    """The servo's state does not allow the requested action."""


class CommandError(DriverError):
    """A command is not a number or lies outside the limits."""


class NoAnswer(DriverError):
    """The servo did not answer."""


class BusError(DriverError):
    """The bus itself failed: port lost, interface down, garbage on the wire."""


class ServoFault(DriverError):
    """The servo reports a fault of its own, such as overload or overheating."""


class MotorOn(DriverError):
    """The motor could not be confirmed to be off."""


class RecorderDied(DriverError):
    """The recorder's process ended or stopped answering while the program still needed it."""
