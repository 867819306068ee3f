"""What the window remembers from one day to the next. Nothing in the file can keep the window from starting.

One JSON file, replaced as a whole and saved when something changes, not only on a clean exit; the one before stays
beside it as `.backup`. Each value is taken over by itself: one that does not fit is left at its default and named.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from bench_gui.headless.places import home
from core.atomic import write_atomically
from core.errors import ServoBenchError
from core.sealed import EDITED, is_broken, sealed_text

NAME = "settings.json"
FORMAT = 1
SAVE_AFTER = 500
"""Changes closer together than this are saved at once [ms]."""
LARGEST_FILE = 20_000_000
"""More than ten thousand queued runs take [bytes]."""


def _one_of(*known: str) -> Callable[[Any], bool]:
    return lambda value: value in known


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for pair in value.items() for item in pair)


def _seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 60.0


@dataclass
class Values:
    """Everything that is remembered, with its default."""

    theme: str = "system"
    """system, light or dark"""
    angle_unit: str = "radians"
    """radians or degrees"""
    geometry: str = ""
    """Of the window, as Qt saves it, base64."""
    layout: str = ""
    """Of the docks, as Qt saves it, base64."""
    folded: dict[str, str] = field(default_factory=dict)
    """"yes" or "no" by the task in sight when a person folded or unfolded the session."""
    recent: list[str] = field(default_factory=list)
    """Sessions opened last, the newest first."""
    open_session: str = ""
    """Session that is open, and opened again at the next start; empty for none."""
    task: str = "Record"
    """Task that was in sight last."""
    capture_key: str = "Space"
    """Key or foot pedal that captures a placed point."""
    countdown: float = 3.0
    """Before a servo that can move something real begins to move [s]."""
    tables: dict[str, str] = field(default_factory=dict)
    """Meaning of the columns of tables imported last, as `--columns` takes it, by the names of all their columns."""
    parts: dict[str, Any] = field(default_factory=dict)
    """State of the window's parts, each as its part describes it; see `Settings.keep`."""


_FITS: dict[str, Callable[[Any], bool]] = {
    "theme": _one_of("system", "light", "dark"),
    "angle_unit": _one_of("radians", "degrees"),
    "recent": _texts,
    "countdown": _seconds,
    "folded": _texts_by_name,
    "tables": _texts_by_name,
    "parts": lambda value: isinstance(value, dict),
}
"""What a value has to be to be taken over; a text where nothing is said."""


class Settings(QObject):
    """The values in the program, and their file."""

    changed = Signal(str)
    """Name of a value that is another now."""

    def __init__(self, submit: Callable[[Callable[[], object]], object] | None = None) -> None:
        """submit: calls a function in a thread that may wait for the disk; None: here. Never raises; see `notice`."""
        super().__init__()
        self._path = home() / NAME
        self._submit = submit
        self.notice = ""
        """What a person should know about the file; empty when all is well."""
        self._states: dict[str, Callable[[], Any]] = {}
        self.values, self.notice = _load(self._path)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SAVE_AFTER)
        self._timer.timeout.connect(self._save_later)

    def __getattr__(self, name: str) -> Any:
        """A value by its name."""
        return getattr(self.__dict__["values"], name)

    def set(self, name: str, value: Any) -> None:
        """Remember a value; saved a moment later."""
        if getattr(self.values, name) != value:
            setattr(self.values, name, value)
            self._save_soon()
            self.changed.emit(name)

    def keep(
        self, name: str, state: Callable[[], Any], restore: Callable[[Any], object], *changes: SignalInstance
    ) -> None:
        """Bring a part of the window back to its last state, and save it soon after each of these signals.

        state: returns the part's state as JSON data, and its last one once the part is gone. restore: takes it and
        raises for what does not fit, which leaves the part as it is and adds a line to `notice`.
        """
        if name in self.values.parts:
            try:
                restore(self.values.parts[name])
            except (ServoBenchError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                self.notice = "; ".join(filter(None, (self.notice, f"{name} could not be restored")))
        self._states[name] = state
        for change in changes:
            change.connect(self._save_soon)

    def forget(self, *names: str) -> None:
        """Leave parts as they are when they are kept."""
        self.values.parts = {name: state for name, state in self.values.parts.items() if name not in names}

    def save(self) -> None:
        """Write the file now; a folder that cannot be written costs the memory, nothing else."""
        self._timer.stop()
        _write(self._path, self._data())

    def _save_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _save_later(self) -> None:
        path, data = self._path, self._data()
        if self._submit is None:
            _write(path, data)
        else:
            self._submit(lambda: _write(path, data))

    def _data(self) -> dict[str, Any]:
        self.values.parts = {**self.values.parts, **{name: state() for name, state in self._states.items()}}
        return {"format": FORMAT, **self.values.__dict__}


def _write(path: Path, data: dict[str, Any]) -> None:
    text = sealed_text(data)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            os.replace(path, path.with_suffix(".backup"))
        write_atomically(path, text.encode())


def _load(path: Path) -> tuple[Values, str]:
    """Read the file, else its backup, else take the defaults; returns what a person should know."""
    trouble = ""
    for place in (path, path.with_suffix(".backup")):
        try:
            if place.stat().st_size > LARGEST_FILE:
                raise ValueError("too large")
            data = json.loads(place.read_text("utf-8"))
            if not isinstance(data, dict):
                raise ValueError("no settings")
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError):
            trouble = f"{place.name} was damaged; the settings were set back to their defaults"
            continue
        values, wrong = _taken_over(data)
        if is_broken(data):
            return values, f"{place.name}: {EDITED}; what fits is used"
        if wrong:
            return values, f"settings that do not fit were set back: {', '.join(wrong)}"
        return values, f"{path.name} was damaged; the settings of the time before were taken" if trouble else ""
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
