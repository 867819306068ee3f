"""Checks that this machine can reach EtherCAT drives: the library, the permissions, the interfaces."""

from __future__ import annotations

import socket
from importlib.metadata import PackageNotFoundError, version

from drivers.ethercat.nic import ETHERTYPE, interfaces
from drivers.finding import MachineCheck
from drivers.libraries import install


def examine() -> list[MachineCheck]:
    """Check the library, the permission to send raw frames, and the interfaces."""
    return [_library(), _rights(), _interfaces()]


def _library() -> MachineCheck:
    try:
        return MachineCheck("pysoem", "ok", version("pysoem"))
    except PackageNotFoundError:
        return MachineCheck("pysoem", "note", "not installed; EtherCAT drives cannot be used", install("ethercat"))


def _rights() -> MachineCheck:
    subject = "raw network sockets"
    if not hasattr(socket, "AF_PACKET"):
        return MachineCheck(subject, "note", "not offered by this system; EtherCAT drives need Linux")
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE)).close()
    except PermissionError:
        return MachineCheck(
            subject,
            "note",
            "not allowed; EtherCAT drives cannot be reached",
            "sudo setcap cap_net_raw,cap_net_admin+ep on a copy of the Python that runs ServoBench, or run it as root; "
            "for emulated drives: unshare -Urn bench",
        )
    except OSError as error:
        return MachineCheck(subject, "note", f"not usable: {error.strerror}", "run outside of the container or sandbox")
    return MachineCheck(subject, "ok", "allowed; EtherCAT drives can be reached")


def _interfaces() -> MachineCheck:
    found = interfaces()
    if found:
        return MachineCheck("network interfaces", "ok", f"{', '.join(found)}; a drive needs one of its own")
    return MachineCheck(
        "network interfaces", "note", "none for EtherCAT", "plug in an adapter; `bench emulate ethercat` makes its own"
    )
