"""Files of an export: safe names, protection of existing files, and the README of each folder.

A model's name is untrusted. `slug` turns it into a file name and `printable` into one line of text; nothing else of a
name reaches a path or a file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.base.atomic import write_atomically
from core.base.errors import ExportError
from core.servo.model import ServoModel

README = "README.md"
USE_TITLE, CHECK_TITLE = "## Use", "## Check"
NOT_CHECKED = (
    "Not checked: the motion of these files has not been compared with the model's. `bench export … --check`, *Check* "
    "in the window or `check_export` in Python does it and writes the result here."
)
LONGEST_SLUG = 60
LONGEST_TITLE = 120
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}
"""File names that Windows reserves."""
_MARK = "<!-- servobench export: {} -->"
_MARK_LINE = re.compile(r"^<!-- servobench export: ([a-z0-9_.-]+) -->$", re.MULTILINE)

CONVENTIONS = """\
- SI units and radians: rad, rad/s, N·m, kg·m², V, A.
- Angle 0 hangs down; counter-clockwise is positive, looking onto the output shaft. Torques that
  turn the shaft counter-clockwise are positive.
- Torque constant, armature and friction are values at the output shaft: they include the gearbox. The gear ratio
  between motor and joint is 1 in every engine.
"""


LICENCE = """\
The programs and example files are part of ServoBench, under the Apache License 2.0 (SPDX: Apache-2.0). The numbers
belong to the model. Models of the catalogue build on values that Rhoban/bam and others published under the same
licence.
"""


def slug(name: str) -> str:
    """Turn any text into a file name of a-z, 0-9, "_" and "-": never empty, hidden, reserved or over 60 characters."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    safe = re.sub(r"[^a-z0-9_]+", "-", plain)[:LONGEST_SLUG].strip("-_")
    return f"model-{safe}" if safe in _RESERVED else safe or "model"


def printable(text: str) -> str:
    """Return one line of printable text without markup characters, at most 120 characters long."""
    kept = "".join(c if c.isprintable() and c not in "<>&`|\\" else " " for c in text)
    line = " ".join(kept.split())
    if len(line) > LONGEST_TITLE:
        line = f"{line[: LONGEST_TITLE - 2].rpartition(' ')[0] or line[: LONGEST_TITLE - 2]} …"
    return line or "unnamed"


def write_files(
    folder: Path, contents: Mapping[str, str], model: ServoModel, target: str, readme: str, *, force: bool = False
) -> list[Path]:
    """Write files into a folder and describe them in its README.md.

    Each file is written completely or not at all. The README holds one section per model and target. A README from
    elsewhere keeps its text and gets the section at its end. The result of a check is kept if no file changes.

    Args:
        folder: Folder, created if missing.
        contents: Text of each file by name.
        model: The exported model.
        target: Name of the target.
        readme: Text of the README section.
        force: Replace existing files that differ.

    Returns:
        Paths of the files, README last.

    Raises:
        ExportError: An existing file would be lost (nothing is written then), or the folder cannot be written.
    """
    encoded = {name: _encoded(text) for name, text in contents.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not force:
            for name, data in encoded.items():
                require_kept(folder / name, data)
        unchanged = all((folder / name).exists() and (folder / name).read_bytes() == d for name, d in encoded.items())
        for name, data in encoded.items():
            write_atomically(folder / name, data)
        present = folder / README
        before = present.read_text("utf-8", errors="replace") if present.exists() else ""
        key = f"{slug(model.title)}.{target}"
        checked = _sections(before)[1].get(key, "").partition(CHECK_TITLE)[2].strip()
        if checked and unchanged and NOT_CHECKED in readme:
            readme = f"{readme.partition(CHECK_TITLE)[0]}{CHECK_TITLE}\n\n{checked}"
        write_atomically(present, _encoded(_with_section(before, key, readme)))
    except (OSError, ValueError) as error:
        raise ExportError(f"{folder}: cannot write the export: {error}") from None
    return [*(folder / name for name in contents), folder / README]


def move_files(
    aside: Path, folder: Path, model: ServoModel, target: str, files: Sequence[Path], *, force: bool = False
) -> list[Path]:
    """Copy an export from its own folder `aside` into another one; arguments and errors as in `write_files`."""
    contents = {file.name: file.read_text("utf-8") for file in files if file.name != README}
    (section,) = _sections((aside / README).read_text("utf-8"))[1].values()
    return write_files(folder, contents, model, target, section, force=force)


def require_kept(path: Path, data: bytes) -> None:
    """Raise ExportError if the file exists and its content is not `data`; raise OSError if it cannot be read."""
    if path.exists() and (path.stat().st_size != len(data) or path.read_bytes() != data):
        raise ExportError(
            f"{path} exists and differs from what would be written: choose another folder or --name, or replace "
            "existing files (--force)"
        )


def require_written(folder: Path, contents: Mapping[str, str]) -> None:
    """Raise ExportError unless each file in a folder holds exactly this text."""
    for name, text in contents.items():
        try:
            found = (folder / name).read_bytes()
        except OSError as error:
            raise ExportError(f"{folder / name}: cannot be read: {error}; export first") from None
        if found != _encoded(text):
            raise ExportError(f"{folder / name} differs from an export of this model with these options; export again")


def state_check(folder: Path, model: ServoModel, target: str, statement: str) -> None:
    """Write the result of a check into an export's README section, replacing an earlier one."""
    readme, key = folder / README, f"{slug(model.title)}.{target}"
    try:
        before = readme.read_text("utf-8", errors="replace")
        section = _sections(before)[1].get(key)
        if section is None:
            raise ExportError(f"{readme} has no section on an export of {printable(model.title)} to {target}")
        kept = section.partition(CHECK_TITLE)[0].rstrip()
        write_atomically(readme, _encoded(_with_section(before, key, f"{kept}\n\n{CHECK_TITLE}\n\n{statement}")))
    except OSError as error:
        raise ExportError(f"{readme}: cannot add the check: {error}") from None


def add_notes(folder: Path, model: ServoModel, target: str, notes: Sequence[str]) -> None:
    """Append notes that apply to every target to the README section of an export."""
    readme, key = folder / README, f"{slug(model.title)}.{target}"
    try:
        before = readme.read_text("utf-8", errors="replace")
        section = _sections(before)[1][key]
        title = USE_TITLE if f"\n{USE_TITLE}\n" in section else CHECK_TITLE
        known, _, rest = section.partition(title)
        listed = "".join(f"- {note}\n" for note in notes)
        write_atomically(readme, _encoded(_with_section(before, key, f"{known.rstrip()}\n{listed}\n{title}{rest}")))
    except (OSError, KeyError) as error:
        raise ExportError(f"{readme}: cannot add to the export: {error}") from None


def readme_section(
    model: ServoModel,
    what: str,
    files: Mapping[str, str],
    notes: Sequence[str],
    usage: str = "",
    check: str = NOT_CHECKED,
) -> str:
    """Return the README text of one export: its files and their meaning, notes, usage, and the state of its check."""
    source = model.provenance.get("source") or model.provenance.get("data_hash")
    origin = f" ({printable(str(source))})" if source else ""
    listed = "".join(f"- `{name}`: {meaning}\n" for name, meaning in files.items())
    known = "".join(f"- {note}\n" for note in notes)
    return (
        f"# {printable(model.title)}: {what}\n\n"
        f"Servo {printable(model.servo)}, friction {model.friction.upper()}{origin}; simulated with integrator "
        f"{model.integrator} at a time step of {model.step * 1e3:g} ms.\n\n"
        f"{listed}\n{LICENCE}\n## Notes\n\n{CONVENTIONS}{known}"
        + (f"\n{USE_TITLE}\n\n{usage.rstrip()}\n" if usage else "")
        + (f"\n{CHECK_TITLE}\n\n{check}\n" if check else "")
    )


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Split a README into the text before its first section and its sections by key."""
    marks = list(_MARK_LINE.finditer(text))
    parts: dict[str, str] = {}
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=False):
        parts[mark[1]] = text[mark.end() : end].strip("\n")
    return (text[: marks[0].start()] if marks else text), parts


def _with_section(before: str, key: str, section: str) -> str:
    head, parts = _sections(before)
    parts[key] = section.strip("\n")
    written = "\n\n".join(f"{_MARK.format(name)}\n{text}" for name, text in parts.items())
    return (head.rstrip("\n") + "\n\n" if head.strip() else "") + written + "\n"


def _encoded(text: str) -> bytes:
    """Encode as UTF-8; a lone surrogate becomes an escape that JSON reads back as the same character."""
    return text.encode("utf-8", errors="backslashreplace")
