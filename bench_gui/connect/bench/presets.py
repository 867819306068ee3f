"""Named benches: those of the paper for the servo, and the user's own, in one file of the home folder.

The file is replaced as a whole. An unreadable file is moved aside and reported, and the list starts empty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoStack

from bench_gui.state.setup import BenchSetup, Gains, Hanging
from bench_gui.undo import change
from core.base.atomic import sweep, write_atomically
from core.base.errors import InputError, ServoBenchError
from core.base.sealed import is_edited, sealed_text
from core.motion.recording import DIRECTIONS
from core.practice.plan import suggested_plan
from core.servo.bench import Bench
from core.servo.catalogue import ServoSpec
from sessions.folders import home

NAME = "benches.json"
FORMAT, VERSION = "servobench-benches", 1
LARGEST_FILE = 4_000_000
"""[bytes]"""
LONGEST_NAME = 60


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A named bench. Fields it leaves out keep their present values."""

    name: str
    bench: Mapping[str, float | None] = field(default_factory=dict)
    """Fields of `core.servo.bench.Bench`."""
    direction: int | None = None
    servo: str = ""
    """Servo the gains belong to; they are ignored for any other servo."""
    gains: Gains | None = None

    @classmethod
    def of(cls, name: str, setup: BenchSetup) -> Preset:
        """Return a preset of the present bench."""
        return cls(
            name=name,
            bench=dict(setup.bench.__dict__),
            direction=setup.direction,
            servo=setup.spec.name,
            gains=setup.gains,
        )

    def applied(self, hanging: Hanging, servo: str) -> Hanging:
        """Return `hanging` with this preset applied.

        Raises:
            InputError: A value is not possible for a bench.
        """
        return Hanging(
            bench=replace(hanging.bench, **self.bench),
            gains=self.gains if self.gains is not None and self.servo == servo else hanging.gains,
            direction=hanging.direction if self.direction is None else self.direction,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file."""
        data: dict[str, Any] = {"name": self.name, "bench": dict(self.bench)}
        if self.direction is not None:
            data["direction"] = self.direction
        if self.gains is not None:
            data |= {"servo": self.servo, "gains": asdict(self.gains)}
        return data

    @classmethod
    def from_json(cls, data: Any) -> Preset:
        """Inverse of `to_json`.

        Raises:
            InputError: The data is not a valid preset.
        """
        try:
            gains = None if data.get("gains") is None else Gains.from_json(data["gains"])
            preset = cls(
                name=data["name"],
                bench=data["bench"],
                direction=data.get("direction"),
                servo=data.get("servo", ""),
                gains=gains,
            )
            Bench.from_json({"mass": 1.0, "length": 1.0, **preset.bench})
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"bench preset: {error!r}") from None
        if not isinstance(preset.name, str) or not isinstance(preset.servo, str):
            raise InputError("bench preset: the name is not a text")
        if preset.direction is not None and preset.direction not in list(DIRECTIONS):
            raise InputError(f"bench preset {preset.name}: the direction {preset.direction!r} is not possible")
        return preset


def paper_presets(spec: ServoSpec) -> list[Preset]:
    """Return the loads of seed 004, Table I, scaled for a servo that the paper does not cover."""
    plan = suggested_plan(spec)
    return [
        Preset(
            name=f"{plan.title}: {mass:g} kg at {length:g} m",
            bench={"mass": mass, "length": length, "measured_inertia": None, "measured_gravity_torque": None},
        )
        for length in plan.lengths
        for mass in plan.masses
    ]


class Presets(QObject):
    """The user's own presets. Every change can be undone and is saved at once."""

    changed = Signal()
    notice = Signal(str)
    """Message to the user about the file."""

    def __init__(self, undo: QUndoStack, submit: Callable[[Callable[[], object]], object]) -> None:
        """Create an empty list; `load` reads the file.

        Args:
            undo: Stack that receives every change.
            submit: Calls a function in a thread that may wait for the disk, and reports its exceptions.
        """
        super().__init__()
        self._undo = undo
        self._submit = submit
        self._path = home() / NAME
        self._own: dict[str, Preset] = {}
        self._loaded = False

    @property
    def own(self) -> Mapping[str, Preset]:
        """Presets by name, sorted by name."""
        return self._own

    def load(self) -> None:
        """Read the file, once."""
        if self._loaded:
            return
        self._loaded = True
        sweep(self._path.parent)
        try:
            self._own = _read(self._path)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError, ServoBenchError) as error:
            self.notice.emit(f"the saved benches could not be read ({error}); {_put_aside(self._path)}")
            return
        self.changed.emit()

    def save(self, preset: Preset) -> None:
        """Save a preset; one of the same name is replaced.

        Raises:
            InputError: The name is empty or too long.
        """
        name = _checked(preset.name)
        self._change(f"save bench {name}", {**self._own, name: replace(preset, name=name)})

    def rename(self, old: str, new: str) -> None:
        """Rename a preset.

        Raises:
            InputError: The name is empty, too long or taken.
        """
        new = _checked(new)
        if new == old:
            return
        if new in self._own:
            raise InputError(f"a bench named {new!r} exists; choose another name or delete that one first")
        others = {name: preset for name, preset in self._own.items() if name != old}
        self._change(f"rename bench {old}", {**others, new: replace(self._own[old], name=new)})

    def delete(self, name: str) -> None:
        """Delete a preset."""
        self._change(f"delete bench {name}", {n: preset for n, preset in self._own.items() if n != name})

    def _change(self, text: str, presets: dict[str, Preset]) -> None:
        change(self._undo, text, self._take, self._own, dict(sorted(presets.items())))

    def _take(self, presets: dict[str, Preset]) -> None:
        self._own = presets
        content = {"format": FORMAT, "version": VERSION, "benches": [p.to_json() for p in presets.values()]}
        data = sealed_text(content).encode()
        self._submit(lambda: _write(self._path, data))
        self.changed.emit()


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise InputError("a bench needs a name; type one")
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has {len(name)} characters; use at most {LONGEST_NAME}")
    return name


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)


def _read(path: Path) -> dict[str, Preset]:
    if path.stat().st_size > LARGEST_FILE:
        raise InputError("the file is too large")
    data = json.loads(path.read_text("utf-8"))
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("benches"), list):
        raise InputError(f"this is not a {FORMAT} file")
    if data.get("version") != VERSION:
        raise InputError(f"format version {data.get('version')!r} is unknown; update the program")
    presets = [Preset.from_json(entry) for entry in data["benches"]]
    is_edited(data, path)
    return {preset.name: preset for preset in sorted(presets, key=lambda preset: preset.name)}


def _put_aside(path: Path) -> str:
    aside = path.with_name(f"{path.stem}.damaged-{datetime.now():%Y%m%d-%H%M%S}.json")
    try:
        os.replace(path, aside)
    except OSError as error:
        return f"it could not be moved aside either ({error.strerror or error})"
    return f"it was kept as {aside.name}, and the list is now empty"
