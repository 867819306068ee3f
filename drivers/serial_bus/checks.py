"""Checks that this machine can reach serial servos: the libraries, the ports, the adapters' latency."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from drivers.finding import MachineCheck
from drivers.libraries import install
from drivers.serial_port import BEST_LATENCY, latency_file, serial_ports


def examine() -> list[MachineCheck]:
    """Check the libraries and every serial port."""
    libraries = [_library("dynamixel-sdk"), _library("pyserial")]
    return [*libraries, *_ports()] if libraries[1].status == "ok" else libraries


def _library(name: str) -> MachineCheck:
    try:
        return MachineCheck(name, "ok", version(name))
    except PackageNotFoundError:
        return MachineCheck(name, "note", "not installed; Dynamixel and Feetech need it", install("dynamixel"))


def _ports() -> list[MachineCheck]:
    ports = serial_ports()
    if not ports:
        return [
            MachineCheck(
                "serial ports",
                "note",
                "none found",
                "plug in the adapter of a servo; `bench emulate dynamixel` or `feetech` makes a port without hardware",
            )
        ]
    return [_port(path, title) for path, title in ports]


def _port(path: str, title: str) -> MachineCheck:
    subject = f"serial port {path}"
    if not os.access(path, os.R_OK | os.W_OK):
        return MachineCheck(
            subject,
            "note",
            f"{title}: no permission to use it",
            f"sudo usermod -aG {_group(path)} $USER, then log in again",
        )
    file = latency_file(path)
    latency = _number(file) if file is not None else None
    if latency is None or latency == BEST_LATENCY:
        return MachineCheck(subject, "ok", title if latency is None else f"{title}: answers are delivered at once")
    return MachineCheck(
        subject,
        "note",
        f"{title}: answers are delayed by {latency} ms, which leaves about {1000 // (2 * latency)} cycles a second",
        f"echo {BEST_LATENCY} | sudo tee {file}",
    )


def _group(path: str) -> str:
    """Return the group that owns a port."""
    try:
        return Path(path).group()
    except (OSError, KeyError):
        return "dialout"


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
