"""The servo catalogue: descriptions of servos as data. `core.servo.shipped` has the models that come with them.

A servo is a TOML file: a shipped one in `resources/servos`, or the user's own in `own_folder()`, where the file is
named after its servo. A broken file of the user affects that servo only: loading it raises the reason, and the others
work. Names are unique; a user's servo cannot take the name of a shipped one.

Later commands, worker processes, sessions and models find a user's servo by its name in that folder. A file given
elsewhere is therefore copied there first (`add_servo`), and so is the file that a model or a recording from another
machine carries (`adopt_servo`).
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import resources
from core.base.atomic import sweep, write_atomically
from core.base.errors import ModelError
from core.base.sealed import warn_once, with_seal_line, without_seal_line
from core.servo.servo_spec import LARGEST_RATING, SMALLEST_RATING, ServoSpec, parse_servo

__all__ = [
    "LARGEST_RATING",
    "SERVOS_VARIABLE",
    "SERVO_FILE",
    "SMALLEST_RATING",
    "ServoSpec",
    "add_servo",
    "adopt_servo",
    "broken_servos",
    "keep_servo_files",
    "load_servo",
    "new_servo_text",
    "own_folder",
    "own_servo",
    "parse_servo",
    "read_servo_file",
    "servo_provenance",
    "servos",
    "variants_on",
]

LOG = logging.getLogger(__name__)

SERVOS_VARIABLE = "SERVOBENCH_SERVOS"
"""Environment variable that sets the folder of the user's own servos."""
LARGEST_SERVO_FILE = 30_000
"""Largest servo file [bytes]. The longest shipped one has 3,000; models and runs carry the files of users' servos."""
SERVO_FILE = "servo_file"
"""Entry of a model file and of a recording's provenance that holds the file of a servo that is not shipped."""
SERVO_FILE_NAME = re.compile(r"(?:^|(?<=:))(?:[A-Za-z]:[\\/])?[^:?]+\.toml(?=$|[:?])")
"""A path that is the whole text or a part of an address; drive letters are allowed."""
TEMPLATE = "new_servo.toml"
TEMPLATE_NAME = "my_servo"


def _resources() -> Traversable:
    return files(resources)


def own_folder() -> Path:
    """Return the folder of the user's own servos; it may not exist."""
    if place := os.environ.get(SERVOS_VARIABLE):
        return Path(place)
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        data = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming") / "ServoBench"
    elif sys.platform == "darwin":
        data = home / "Library" / "Application Support" / "ServoBench"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "servobench"
    return data / "servos"


def servos() -> dict[str, ServoSpec]:
    """Return every servo by name, in alphabetical order: the shipped ones, then the user's."""
    return _shipped() | _own()[0]


def variants_on(spec: ServoSpec, voltage: float) -> list[ServoSpec]:
    """Return the variants of a servo that run on a supply which it does not run on itself.

    Args:
        spec: A servo.
        voltage: Supply voltage [V].
    """
    if spec.runs_on(voltage):
        return []
    return [other for other in servos().values() if other.is_variant_of(spec) and other.runs_on(voltage)]


def broken_servos() -> dict[str, str]:
    """Return the error of each unusable file of the user, by file name without `.toml`."""
    return _own()[1]


def load_servo(name: str) -> ServoSpec:
    """Return a servo by name or alias, in any case.

    Raises:
        ModelError: There is no such servo. The message suggests similar names.
    """
    wanted = str(name).lower()
    shipped = _shipped_names()
    if wanted in shipped:
        return shipped[wanted]
    own, broken = _own()
    for spec in own.values():
        if wanted in spec.names:
            return spec
    if wanted in broken:
        raise ModelError(broken[wanted])
    close = get_close_matches(wanted, [n for spec in servos().values() for n in spec.names], cutoff=0.5)
    hint = f"similar names: {', '.join(close)}" if close else "bench models lists them"
    raise ModelError(
        f"no servo {str(name)[:60]!r}; {hint}; "
        "for a servo of your own: bench models --new my.toml, then --servo my.toml"
    )


def read_servo_file(path: Path | str) -> ServoSpec:
    """Read and check a servo file of the user.

    Raises:
        ModelError: The file cannot be read, or it does not describe a servo.
    """
    place = Path(path)
    try:
        if not place.is_file():
            known = (
                "is not a file" if place.exists() else f"does not exist; bench models --new {place} writes a template"
            )
            raise ModelError(f"{place}: {known}")
        with place.open("rb") as file:
            content = file.read(LARGEST_SERVO_FILE + 1)
        if len(content) > LARGEST_SERVO_FILE:
            raise ModelError(f"{place}: too large for a servo file (over {LARGEST_SERVO_FILE // 1000} kB)")
        return own_servo(without_seal_line(content.decode("utf-8-sig"), place), str(place))
    except OSError as error:
        raise ModelError(f"{place}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise ModelError(f"{place}: not a text file") from None


def own_servo(text: str, source: str = "servo file") -> ServoSpec:
    """Parse a servo that is not shipped.

    Raises:
        ModelError: An entry is wrong, or a shipped servo has one of its names.
    """
    spec = parse_servo(text, source)
    for name in spec.names:
        if name in _shipped_names():
            known = _shipped_names()[name].name
            raise ModelError(f"{source}: {name!r} is already a name of the shipped servo {known}; choose another")
    return replace(spec, file=text)


def add_servo(spec: ServoSpec) -> None:
    """Write a servo to the user's folder, replacing an earlier version, and log it.

    Args:
        spec: A servo from `read_servo_file` or `own_servo`.

    Raises:
        ModelError: Another servo has one of its names, or the folder cannot be written.
    """
    own, broken = _own()
    for other in own.values():
        _require_distinct(spec, other, spec.name)
    earlier = own.get(spec.name)
    if earlier is not None and earlier.file == spec.file:
        return
    path = own_folder() / f"{spec.name}.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, with_seal_line(spec.file).encode())
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be written ({error.strerror or error}); set {SERVOS_VARIABLE} to a writable folder"
        ) from None
    replaced = earlier is not None or spec.name in broken
    LOG.warning("servo %s: %s %s", spec.name, "replaced the earlier version in" if replaced else "kept in", path)


def keep_servo_files(text: str, check: Callable[[ServoSpec], object] = lambda spec: None) -> str:
    """Return a servo's name or address, with a servo file (my.toml) replaced by the name of its servo.

    The file is added to the user's servos, so that later commands, other processes, sessions and models find the servo
    by name.

    Args:
        text: Name, address or servo file.
        check: Called with each servo before it is added; raises ModelError for one that is not usable.

    Raises:
        ModelError: The file is not a valid servo.
    """

    def kept(path: re.Match[str]) -> str:
        spec = read_servo_file(path[0])
        check(spec)
        add_servo(spec)
        return spec.name

    return SERVO_FILE_NAME.sub(kept, text)


def servo_provenance(name: str) -> dict[str, str]:
    """Return the provenance entry for a model or a recording: the file of a user's servo, empty for a shipped one."""
    own = _own()[0].get(name)
    return {SERVO_FILE: own.file} if own else {}


def adopt_servo(name: str, carrier: Mapping[str, Any]) -> None:
    """Add the servo file that a model or a recording carries to the user's folder, if the name is unknown.

    A known servo stays as it is. A servo that cannot be added is logged; no error is raised.
    """
    text = carrier.get(SERVO_FILE)
    if not isinstance(text, str):
        return
    try:
        load_servo(name)
    except ModelError:
        try:
            spec = own_servo(text, f"the file carried for servo {name[:60]!r}")
            if spec.name == name:
                add_servo(spec)
        except ModelError as error:
            # All runs of a session carry the same file, so the warning appears once.
            warn_once(str(error))


def new_servo_text(name: str = TEMPLATE_NAME) -> str:
    """Return the commented template of a servo file for a servo name."""
    text = (_resources() / TEMPLATE).read_text("utf-8")
    return text.replace(f'name = "{TEMPLATE_NAME}"', f'name = "{name}"')


@cache
def _shipped() -> dict[str, ServoSpec]:
    folder = _resources() / "servos"
    entries = sorted((e for e in folder.iterdir() if e.name.endswith(".toml")), key=lambda e: e.name)
    specs = [parse_servo(entry.read_text("utf-8"), entry.name) for entry in entries]
    return {spec.name: spec for spec in specs}


@cache
def _shipped_names() -> dict[str, ServoSpec]:
    return {name: spec for spec in _shipped().values() for name in spec.names}


def _own() -> tuple[dict[str, ServoSpec], dict[str, str]]:
    """Return the user's servos and the errors of broken files; files are read again when one has changed."""
    folder = own_folder()
    marks: list[tuple[Path, tuple[int, int, int] | None]] = []
    try:
        for path in sorted(folder.glob("*.toml")):
            about = path.stat() if path.exists() else None
            marks.append((path, None if about is None else (about.st_mtime_ns, about.st_size, about.st_ino)))
    except OSError:
        return {}, {}
    return _read_own(folder, tuple(marks))


@lru_cache(maxsize=4)
def _read_own(folder: Path, marks: tuple[tuple[Path, object], ...]) -> tuple[dict[str, ServoSpec], dict[str, str]]:
    sweep(folder)
    own: dict[str, ServoSpec] = {}
    broken: dict[str, str] = {}
    for path, _ in marks:
        try:
            spec = read_servo_file(path)
            if path.stem != spec.name:
                raise ModelError(f"{path}: name = {spec.name!r} must match the file name; rename one of the two")
            for other in own.values():
                _require_distinct(spec, other, str(path))
            own[spec.name] = spec
        except ModelError as error:
            broken[path.stem] = str(error)
    return own, broken


def _require_distinct(spec: ServoSpec, other: ServoSpec, source: str) -> None:
    shared = set(spec.names) & set(other.names)
    if spec.name != other.name and shared:
        raise ModelError(f"{source}: {shared.pop()!r} is already a name of your servo {other.name}; choose another")
