"""Checks of this machine and installation; each problem comes with a suggested fix."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
import threading
from importlib.metadata import Distribution, PackageNotFoundError, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench_gui.headless.display import INSTALL_WINDOW, DisplayTrial, NoWindowError, require_qt
from core.base.errors import ServoBenchError
from core.servo.catalogue import broken_servos, own_folder, servos
from drivers.finding import MachineCheck
from drivers.priority import raise_priority
from drivers.registry import FAMILIES, check_buses, family_module
from sessions.folders import HOME_VARIABLE, as_person_writes, home

PACKAGES = ("numpy", "scipy", "numba", "cmaes", "optuna", "h5py")
EXTRAS = {
    "PySide6-Essentials": ("gui", "opens the window"),
    "pyqtgraph": ("gui", "draws the plots of the window"),
    "mujoco": ("mujoco", "checks exports in MuJoCo"),
    "torch": ("learn", "trains learned servos"),
    "distributed": ("cluster", "runs fleets on several processes or machines"),
    "pyarrow": ("parquet", "reads recordings in Parquet files"),
}
"""Optional package → the extra that installs it, and its purpose."""
CACHE_VARIABLE = "NUMBA_CACHE_DIR"
SMALLEST_FREE_SPACE = 1e9
"""Free space below which the check fails [bytes]."""


def examine() -> list[MachineCheck]:
    """Run all checks, in the order in which problems should be fixed."""
    return [
        _installation(),
        _python(),
        *_packages(),
        _processors(),
        *_compiler(),
        _priority(),
        _display(),
        _space(),
        _home(),
        *_own_servos(),
        *_buses(),
    ]


def _buses() -> list[MachineCheck]:
    modules = (family_module(name) for name in FAMILIES)
    return [finding for module in modules if hasattr(module, "examine") for finding in module.examine()]


def _own_servos() -> list[MachineCheck]:
    subject = "own servos"
    known = [spec for spec in servos().values() if spec.file]
    names = ", ".join(spec.name for spec in known) or "none"
    findings = [MachineCheck(subject, "ok", f"{names}; kept in {as_person_writes(own_folder())}")]
    problems = list(broken_servos().values())
    for spec in known:
        try:
            check_buses(spec)
        except ServoBenchError as error:
            problems.append(str(error))
    remedy = "fix or remove the file; bench models --new my.toml writes a template"
    return findings + [MachineCheck(subject, "note", problem, remedy) for problem in problems]


def is_bundle() -> bool:
    """Return whether this is the bundle, which has its own Python and accepts no packages."""
    return bool(getattr(sys, "frozen", False))


def _installation() -> MachineCheck:
    subject = "servobench"
    try:
        this = Distribution.from_name("servobench")
    except PackageNotFoundError:
        return MachineCheck(subject, "error", "not installed", "run `make run` again, or pip install servobench")
    if is_bundle():
        return MachineCheck(subject, "ok", f"{this.version}, bundle in {Path(sys.executable).parent}")
    origin = json.loads(this.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return MachineCheck(subject, "ok", f"{this.version}, checkout in {unquote(urlsplit(origin['url']).path)}")
    return MachineCheck(subject, "ok", f"{this.version}, wheel in {this.locate_file('')}")


def _python() -> MachineCheck:
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return MachineCheck("Python", "ok", text)


def _packages() -> list[MachineCheck]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(MachineCheck(name, "ok", version(name)))
        except PackageNotFoundError:
            findings.append(
                MachineCheck(name, "error", "not installed", "run `make run` again, or pip install servobench")
            )
    for name, (extra, use) in EXTRAS.items():
        try:
            findings.append(MachineCheck(name, "ok", version(name)))
        except PackageNotFoundError:
            how = "not in the bundle; a wheel with" if is_bundle() else "pip install"
            findings.append(MachineCheck(name, "note", "not installed", f"{how} 'servobench[{extra}]' {use}"))
    return findings


def _processors() -> MachineCheck:
    from core.identification.search.objective import available_threads

    count = available_threads()
    return MachineCheck("processors", "ok", f"{count} for simulation and identification")


def _compiler() -> list[MachineCheck]:
    from core.identification.benchmark import time_compilation
    from core.kernel.compilation import cache_folder

    seconds = time_compilation()
    folder = cache_folder()
    if folder is None:
        text = f"ready after {seconds:.1f} s, compiled by every process: no writable folder for compiled code"
        return [MachineCheck("simulation kernel", "note", text, f"set {CACHE_VARIABLE} to a writable folder")]
    warm = "from the cache" if seconds < 0.5 else "compiled now, cached for the next start"
    return [
        MachineCheck("simulation kernel", "ok", f"ready after {seconds:.1f} s, {warm}"),
        MachineCheck("compiled code", "ok", f"kept in {as_person_writes(folder)}"),
    ]


def _priority() -> MachineCheck:
    subject = "real-time priority"
    if not hasattr(os, "sched_setscheduler"):
        return MachineCheck(subject, "note", "not available on this system; recording uses normal priority")
    if _real_time_allowed():
        return MachineCheck(subject, "ok", "allowed; recording uses it")
    return MachineCheck(
        subject,
        "note",
        "not allowed; recording misses a few more cycles on a busy machine",
        "add `@realtime - rtprio 60` to /etc/security/limits.d/realtime.conf and your user to the group realtime",
    )


def _real_time_allowed() -> bool:
    """Try to raise the priority of a new thread; the scheduler works by thread, so the caller keeps its priority."""
    allowed: list[bool] = []

    def attempt() -> None:
        allowed.append(raise_priority(1).startswith("SCHED_FIFO"))

    thread = threading.Thread(target=attempt, name="priority")
    thread.start()
    thread.join()
    return allowed == [True]


def _display() -> MachineCheck:
    named = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))
    if not named and platform.system() == "Linux":
        remedy = "start from a desktop to open the window"
        return MachineCheck("display", "note", "none; all commands work without it", remedy)
    try:
        require_qt()
    except NoWindowError:
        return MachineCheck("display", "note", "not tried; the window is not installed", INSTALL_WINDOW)
    try:
        DisplayTrial().finish()
    except NoWindowError as error:
        text, _, remedy = str(error).partition("; ")
        return MachineCheck("display", "error", text, remedy)
    return MachineCheck("display", "ok", "found; `bench` opens the window")


def _space() -> MachineCheck:
    free = shutil.disk_usage(os.getcwd()).free
    text = f"{free / 1e9:.1f} GB free here"
    if free < SMALLEST_FREE_SPACE:
        return MachineCheck(
            "disk", "error", text, "free some space: a session of 100 runs takes about 10 MB, studies more"
        )
    return MachineCheck("disk", "ok", text)


def _home() -> MachineCheck:
    """Check that sessions and settings can be stored."""
    folder = home()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        return MachineCheck(
            "sessions and settings",
            "note",
            f"{as_person_writes(folder)} is not writable ({error.strerror}); settings are not saved",
            f"set {HOME_VARIABLE} to a writable folder",
        )
    return MachineCheck("sessions and settings", "ok", f"kept in {as_person_writes(folder)}")
