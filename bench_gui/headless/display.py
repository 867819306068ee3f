"""Check that Qt can open a window; a separate process tries, since Qt aborts its process on failure."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from core.base.errors import ServoBenchError

LONGEST_START = 60.0
"""Time limit of the trial [s]; a Qt that has not opened by then hangs."""
WINDOW_PACKAGES = ("PySide6", "pyqtgraph")
INSTALL_WINDOW = "pip install 'servobench[gui]'"
_MISSING = re.compile(r"(lib[\w.+-]+?)\.so\.(\d+)[^\n]*?(?:cannot open shared object file|not found)")
_PLUGIN = re.compile(r"Cannot load library (\S+\.so)")
_REASON = re.compile(r"(could not[^\n]*|no Qt platform plugin[^\n.]*)", re.IGNORECASE)


class NoWindowError(ServoBenchError):
    """Qt cannot open a window; the message names what is missing."""


def require_qt() -> None:
    """Raise NoWindowError unless the packages of the window are installed."""
    if missing := [name for name in WINDOW_PACKAGES if find_spec(name) is None]:
        raise NoWindowError(
            f"the window needs {' and '.join(missing)}: {INSTALL_WINDOW}; "
            "every task of the window is also a command (bench --help)"
        )


class DisplayTrial:
    """Trial of opening Qt in a separate process, which starts at once.

    Example:
        >>> DisplayTrial().finish()  # raises NoWindowError if there is no display
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="servobench-display-")
        self._said = Path(self._folder.name) / "said"
        self._process = multiprocessing.get_context("spawn").Process(target=_open_qt, args=(self._said,), daemon=True)
        self._process.start()

    def finish(self) -> None:
        """Wait for the trial; raise NoWindowError if it failed, naming missing packages if they are known."""
        self._process.join(LONGEST_START)
        opened = self._process.exitcode == 0
        self._process.kill()
        said = self._said.read_text("utf-8", "replace") if self._said.exists() else ""
        self._folder.cleanup()
        if opened:
            return
        if packages := missing_packages(said + "".join(_dependencies(plugin) for plugin in _PLUGIN.findall(said))):
            raise NoWindowError(
                f"the window cannot open: libraries are missing; run: sudo apt-get install {' '.join(packages)}"
            )
        reason = next(iter(_REASON.findall(said)), "Qt does not start here")
        raise NoWindowError(
            f"the window cannot open: {reason}; start it from a desktop, or use the commands (bench --help)"
        )


def missing_packages(said: str) -> list[str]:
    """Return the Debian packages of missing libraries, from the messages of the loader and of `ldd`.

    A package is named after its library, see Debian Policy, section 8.1: libxcb-cursor.so.0 is in libxcb-cursor0, and
    libxkbcommon-x11.so.0 in libxkbcommon-x11-0.
    """
    found = dict.fromkeys(_MISSING.findall(said))
    return sorted(f"{name}{'-' if name[-1].isdigit() else ''}{version}".lower() for name, version in found)


def _dependencies(plugin: str) -> str:
    """Return the output of `ldd` for a plug-in; the loader itself names only the first missing library."""
    try:
        return subprocess.run(["ldd", plugin], capture_output=True, text=True, timeout=10.0).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _open_qt(said: Path) -> None:
    """Open Qt, with its messages redirected to a file; runs in the separate process."""
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
    os.environ["QT_DEBUG_PLUGINS"] = "1"
    import_module("PySide6.QtWidgets").QApplication([])
