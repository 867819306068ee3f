"""Persistent settings of the window. No content of the file can keep the window from starting.

The settings are one JSON file, replaced atomically after each change, not only on a clean exit; the previous one stays
beside it as `.backup`. Values are checked one by one: an invalid value is replaced by its default and reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from core.base.atomic import sweep, write_atomically
from core.base.errors import ServoBenchError
from core.base.sealed import EDITED, is_broken, sealed_text
from sessions.folders import home

NAME = "settings.json"
FORMAT = 1
SAVE_AFTER = 500
"""Time within which changes are saved together [ms]."""
LARGEST_FILE = 20_000_000
"""Largest accepted file, larger than ten thousand queued runs need [bytes]."""
TEXT_SIZE, TEXT_SIZES = 13, (12, 13, 14, 16, 18)
"""Size of the text, and the sizes to choose from [px]."""
MOST_RECENT = 10
"""Recently opened sessions that are remembered."""


def remember(recent: list[str], path: Path) -> list[str]:
    """Return the recently opened sessions with this one first and without deleted ones."""
    this = str(path.absolute())
    others = [other for other in recent if other != this and Path(other).exists()]
    return [this, *others][:MOST_RECENT]


def _one_of(*known: str) -> Callable[[Any], bool]:
    return lambda value: value in known


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def texts(value: Any) -> tuple[str, ...]:
    """Return a stored list of texts.

    Raises:
        TypeError: It is something else.
    """
    if not _texts(value):
        raise TypeError("not a list of texts")
    return tuple(value)


def _texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)


def _seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 60.0


@dataclass
class Values:
    """All settings with their defaults."""

    theme: str = "system"
    """Theme: system, light or dark."""
    text_size: int = TEXT_SIZE
    """Size of the text [px]; the whole window is scaled with it at the next start."""
    angle_unit: str = "radians"
    """Unit of angles: radians or degrees."""
    geometry: str = ""
    """Geometry of the window as saved by Qt, base64."""
    layout: str = ""
    """Layout of the docks as saved by Qt, base64."""
    folded: dict[str, str] = field(default_factory=dict)
    """Folded state of the session panel, "yes" or "no", by task."""
    recent: list[str] = field(default_factory=list)
    """Recently opened sessions, the newest first."""
    open_session: str = ""
    """Open session, which is opened again at the next start; empty for none."""
    task: str = "Record"
    """Last shown task."""
    capture_key: str = "Space"
    """Key or foot pedal that captures a placed point."""
    countdown: float = 3.0
    """Countdown before a real servo moves [s]."""
    tables: dict[str, str] = field(default_factory=dict)
    """Meaning of the columns of recently imported tables, in the format of `--columns`, by their column names."""
    parts: dict[str, Any] = field(default_factory=dict)
    """State of the window's parts; see `Settings.keep`."""


_FITS: dict[str, Callable[[Any], bool]] = {
    "theme": _one_of("system", "light", "dark"),
    "text_size": lambda value: value in TEXT_SIZES,
    "angle_unit": _one_of("radians", "degrees"),
    "recent": _texts,
    "countdown": _seconds,
    "folded": _texts_by_name,
    "tables": _texts_by_name,
    "parts": lambda value: isinstance(value, dict),
}
"""Validity check of each value; values without one must be texts."""


class Settings(QObject):
    """Current values, and their file."""

    changed = Signal(str)
    """Emitted with the name of a changed value."""
    noticed = Signal(str)
    """Emitted with what is added to `notice` after the start."""

    def __init__(self, submit: Callable[[Callable[[], object]], object] | None = None) -> None:
        """Load the settings; never raises, see `notice`.

        submit: calls a function in a thread that may wait for the disk; None: the current thread.
        """
        super().__init__()
        self._path = home() / NAME
        self._submit = submit
        self.notice = ""
        """Message about the file for the user; empty if there is no problem."""
        self._states: dict[str, Callable[[], Any]] = {}
        self.values, self.notice = load(self._path)
        self._writing = threading.Lock()
        self._states_taken = self._written = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_AFTER)
        self._timer.timeout.connect(self._save_later)

    def __getattr__(self, name: str) -> Any:
        """Return a value by its name."""
        return getattr(self.__dict__["values"], name)

    def set(self, name: str, value: Any) -> None:
        """Set a value, which is saved shortly afterwards."""
        if getattr(self.values, name) != value:
            setattr(self.values, name, value)
            self._save_soon()
            self.changed.emit(name)

    def keep(
        self, name: str, state: Callable[[], Any], restore: Callable[[Any], object], *changes: SignalInstance
    ) -> None:
        """Restore the last state of a part of the window, and save its state after each of these signals.

        Args:
            name: Name of the part.
            state: Returns the state as JSON data, also after the part was deleted.
            restore: Applies a state and raises if it is not valid, which adds a line to `notice`.
            changes: Signals of the part that report a change.
        """
        if name in self.values.parts:
            try:
                restore(self.values.parts[name])
            except (ServoBenchError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                problem = f"{name} could not be restored"
                self.notice = "; ".join(filter(None, (self.notice, problem)))
                self.noticed.emit(problem)
        self._states[name] = state
        for change in changes:
            change.connect(self._save_soon)

    def forget(self, *names: str) -> None:
        """Drop the stored state of parts."""
        self.values.parts = {name: state for name, state in self.values.parts.items() if name not in names}

    def save(self) -> None:
        """Write the file now; if the folder is not writable, the settings are lost at the exit."""
        self._timer.stop()
        self._write(*self._data())

    def _save_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _save_later(self) -> None:
        data = self._data()
        if self._submit is None:
            self._write(*data)
        else:
            self._submit(lambda: self._write(*data))

    def _data(self) -> tuple[int, dict[str, Any]]:
        """Return the settings, after the number of this state of them."""
        self._states_taken += 1
        self.values.parts = {**self.values.parts, **{name: state() for name, state in self._states.items()}}
        return self._states_taken, {"format": FORMAT, **self.values.__dict__}

    def _write(self, number: int, data: dict[str, Any]) -> None:
        """Write a state, unless a later one was written meanwhile in another thread."""
        with self._writing:
            if number > self._written:
                self._written = number
                _write(self._path, data)


def _write(path: Path, data: dict[str, Any]) -> None:
    text = sealed_text(data)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            os.replace(path, path.with_suffix(".backup"))
        write_atomically(path, text.encode())


def load(path: Path) -> tuple[Values, str]:
    """Read the file, or its backup, or use the defaults; also return a message for the user."""
    trouble = ""
    sweep(path.parent)
    for place in (path, path.with_suffix(".backup")):
        try:
            if place.stat().st_size > LARGEST_FILE:
                raise ValueError("too large")
            data = json.loads(place.read_text("utf-8"))
            if not isinstance(data, dict):
                raise ValueError("not settings")
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            trouble = f"{place.name} was damaged; the settings were reset to their defaults"
            continue
        values, wrong = _taken_over(data)
        if is_broken(data):
            return values, f"{place.name}: {EDITED}; valid values are used"
        if wrong:
            return values, f"invalid settings were reset: {', '.join(wrong)}"
        return values, f"{path.name} was damaged; the previous settings are used" if trouble else ""
    return Values(), trouble


def _taken_over(data: dict[str, Any]) -> tuple[Values, list[str]]:
    values, wrong = Values(), []
    for known in fields(Values):
        if known.name in data:
            if _FITS.get(known.name, _text)(data[known.name]):
                setattr(values, known.name, data[known.name])
            else:
                wrong.append(known.name)
    return values, wrong
