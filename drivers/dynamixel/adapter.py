"""The serial adapter: which ports there are, and whether it delivers answers at once.

FTDI adapters collect bytes for 16 ms unless told otherwise: 25 cycles a second instead of 200.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import serial
from serial.tools.list_ports import comports

LATENCY_FILES = Path("/sys/bus/usb-serial/devices")
BEST_LATENCY = 1
"""[ms]"""


def serial_ports() -> list[tuple[str, str]]:
    """Path and description of each serial port of the machine; pseudo terminals and links are not among them."""
    found = sorted(comports(), key=lambda port: (port.vid is None, port.device))
    return [(port.device, port.description) for port in found if port.vid is not None or port.hwid != "n/a"]


def latency_file(path: str, folder: Path = LATENCY_FILES) -> Path | None:
    """The file that holds the adapter's latency timer [ms], or None when this port has none."""
    file = folder / os.path.basename(os.path.realpath(path)) / "latency_timer"
    return file if file.is_file() else None


def shorten_latency(path: str, device: serial.Serial, folder: Path = LATENCY_FILES) -> str:
    """Ask the adapter to deliver at once; returns a warning with its remedy when it still does not, else ""."""
    file = latency_file(path, folder)
    if file is None:
        return ""
    if _latency(file) != BEST_LATENCY:
        with suppress(OSError, ValueError, AttributeError, NotImplementedError):
            device.set_low_latency_mode(True)
    latency = _latency(file)
    if latency == BEST_LATENCY:
        return ""
    return (
        f"the adapter holds answers back for {latency} ms, so that few cycles fit into a second; "
        f"make it 1 ms: echo 1 | sudo tee {file}"
    )


def _latency(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
