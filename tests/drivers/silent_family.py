"""A family whose port stays silent, for tests of connecting and scanning: no hardware answers, and that takes time.

    monkeypatch.setitem(FAMILIES, "silent", "tests.drivers.silent_family")

Connecting to `silent:PORT` fails after `patience` seconds with a reason that names the step and the remedy. A scan
tries every baud rate and ID, each for `patience` seconds, and heeds a cancellation within 10 ms.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from core.base.announcements import announce
from drivers.errors import NoAnswer
from drivers.registry import AddressField, Family
from drivers.scan import ScanStep
from drivers.servo import Servo

BAUD_RATES = ("57600", "1000000")
IDS = range(20)
LOOK = 0.01
"""Between two looks whether a scan shall stop [s]."""
REMEDY = "check the power supply, the cable, the baud rate and the ID, or scan for servos"


def family() -> Family:
    return Family(
        name="silent",
        title="Silent servo",
        can_scan=True,
        fields=(
            AddressField(
                name="port",
                title="Port",
                tip="Serial port of the adapter",
                kind="text",
                choices=(("Quiet port", "QUIET0"),),
                default="QUIET0",
                part=True,
            ),
            AddressField(
                name="baud",
                title="Baud rate",
                tip="As set in the servo",
                kind="choice",
                choices=tuple((rate, rate) for rate in BAUD_RATES),
                default="57600",
                unit="baud",
            ),
            AddressField(
                name="id", title="ID", tip="Of the servo on its bus", kind="whole", default="1", lowest=0, highest=252
            ),
            AddressField(
                name="patience",
                title="Patience",
                tip="How long an answer is waited for",
                kind="number",
                default="0.2",
                unit="s",
                lowest=0.0,
                highest=60.0,
            ),
        ),
    )


@dataclass(frozen=True, kw_only=True)
class SilentSource:
    port: str
    baud: str = "57600"
    id: str = "1"
    patience: str = "0.2"

    def open(self) -> SilentServo:
        announce("waiting for an answer")
        return SilentServo(self)


def from_address(address):
    return SilentSource(port=address.parts[0], **dict(address.options))


class SilentServo(Servo):
    def __init__(self, source: SilentSource) -> None:
        super().__init__()
        self.source = source

    def _connect(self) -> None:
        source = self.source
        time.sleep(float(source.patience))  # as hardware is waited for
        raise NoAnswer(f"No answer to the ping of ID {source.id} on {source.port} at {source.baud} baud; {REMEDY}")

    def _close(self) -> None:
        pass

    def _never(self, *arguments: object):
        raise AssertionError("a servo that never answered was used")

    _identify = _configure = _enable = _command = _read = _release = _never


def scan(values, on_step, should_stop):
    patience = float(values.get("patience", "0.2"))
    for baud in BAUD_RATES:
        for number in IDS:
            for _ in range(round(patience / LOOK)):
                if should_stop():
                    return []
                time.sleep(LOOK)  # as hardware is waited for
            on_step(ScanStep(f"{values.get('port', 'QUIET0')}, {baud} baud, ID {number}", "no answer"))
    return []
