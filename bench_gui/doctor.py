"""What this machine can do: each finding with its remedy."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from drivers.finding import Finding
from drivers.registry import FAMILIES, family_module

PACKAGES = ("servobench", "numpy", "scipy", "numba", "cmaes", "optuna", "h5py", "PySide6-Essentials", "pyqtgraph")
OPTIONAL_PACKAGES = {"mujoco": "pip install 'servobench[mujoco]' lets exports be checked in MuJoCo"}
SMALLEST_FREE_SPACE = 1e9
"""[bytes]"""


def examine() -> list[Finding]:
    """Look at everything, in the order a person would mend it."""
    return [
        _python(),
        *_packages(),
        _processors(),
        _compiler(),
        _priority(),
        _display(),
        _space(),
        *_buses(),
    ]


def _buses() -> list[Finding]:
    modules = (family_module(name) for name in FAMILIES)
    return [finding for module in modules if hasattr(module, "examine") for finding in module.examine()]


def _python() -> Finding:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Finding("Python", "ok", text)


def _packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(Finding(name, "ok", version(name)))
        except PackageNotFoundError:
            findings.append(Finding(name, "error", "not installed", "run `make run` again, or pip install servobench"))
    for name, use in OPTIONAL_PACKAGES.items():
        try:
            findings.append(Finding(name, "ok", version(name)))
        except PackageNotFoundError:
            findings.append(Finding(name, "note", "not installed", use))
    return findings


def _processors() -> Finding:
    from core.identification.objective import available_threads

    count = available_threads()
    return Finding("processors", "ok", f"{count} for simulation and identification")


def _compiler() -> Finding:
    from core.benchmark import time_compilation

    seconds = time_compilation()
    warm = "from the cache" if seconds < 0.5 else "compiled now, cached for the next start"
    return Finding("simulation kernel", "ok", f"ready after {seconds:.1f} s, {warm}")


def _priority() -> Finding:
    subject = "real-time priority"
    if not hasattr(os, "sched_setscheduler"):
        return Finding(subject, "note", "not offered by this system; recording uses normal priority")
    attempt = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    if subprocess.run([sys.executable, "-c", attempt], capture_output=True).returncode == 0:
        return Finding(subject, "ok", "allowed; recording runs with it")
    return Finding(
        subject,
        "note",
        "not allowed; recording skips a few cycles more on a busy machine",
        "add `@realtime - rtprio 60` to /etc/security/limits.d/realtime.conf and your user to the group realtime",
    )


def _display() -> Finding:
    here = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or platform.system() != "Linux"
    if here:
        return Finding("display", "ok", "found; `bench` opens the window")
    return Finding("display", "note", "none; every task works headless", "start from a desktop to see the window")


def _space() -> Finding:
    free = shutil.disk_usage(os.getcwd()).free
    text = f"{free / 1e9:.1f} GB free here"
    if free < SMALLEST_FREE_SPACE:
        return Finding("disk", "error", text, "make room: a session of 100 runs takes about 10 MB, studies more")
    return Finding("disk", "ok", text)
