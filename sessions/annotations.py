"""Annotations of runs: a note, tags, and whether the run, or which part of it, is fit for use.

Stored in the document "annotations", an object by run id. Unknown fields are kept as they are, so that those of a
newer version are not lost. A version whose fields change the meaning of known ones raises the version of the document,
which this version then refuses to read. One invalid entry makes the whole document damaged: a run that was excluded
must not come back unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from core.base.errors import InputError
from core.base.guards import is_object
from core.base.json_fields import plain
from sessions.errors import shown
from sessions.header import is_run_id

MAX_NOTE = 4000
"""Longest note or reason [characters]."""

MAX_TAG = 40
MAX_TAGS = 32
MAX_TIME = 1e6
"""Largest time accepted as one within a run [s]."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """Annotation of one run; raises InputError for an invalid value."""

    note: str = ""
    tags: tuple[str, ...] = ()
    """Short words without commas, each once, in the order given."""
    excluded: bool = False
    """True if fits and comparisons leave the run out."""
    reason: str = ""
    """Reason for the exclusion; may be empty."""
    trim_begin: float | None = None
    """Start of the part that is used [s from the first sample]; None for the beginning."""
    trim_end: float | None = None
    """End of the part that is used [s from the first sample]; None for the end."""

    def __post_init__(self) -> None:
        for name in ("note", "reason"):
            _checked_text(getattr(self, name), name)
        object.__setattr__(self, "tags", _checked_tags(self.tags))
        if type(self.excluded) is not bool:
            raise InputError(f"annotation: excluded is {_quoted(self.excluded)}, neither true nor false")
        for name in ("trim_begin", "trim_end"):
            object.__setattr__(self, name, _checked_time(getattr(self, name), name))
        if self.trim_begin is not None and self.trim_end is not None and not self.trim_begin < self.trim_end:
            raise InputError(
                f"annotation: a trim from {self.trim_begin:g} s to {self.trim_end:g} s leaves nothing; "
                "the beginning must lie before the end"
            )

    @property
    def trimmed(self) -> bool:
        """True if only a part of the run is used."""
        return self.trim_begin is not None or self.trim_end is not None

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a file, without empty fields."""
        empty = Annotation()
        given = (f.name for f in fields(self) if getattr(self, f.name) != getattr(empty, f.name))
        return {name: plain(getattr(self, name)) for name in given}

    @classmethod
    def from_json(cls, data: Any) -> Annotation:
        """Return an annotation; the inverse of `to_json`. Unknown fields are ignored.

        Raises:
            InputError: for an invalid value.
        """
        if not is_object(data):
            raise InputError(f"annotation: {_quoted(data)} is not an object")
        return cls(**{name: value for name, value in data.items() if name in _FIELDS})


_FIELDS = tuple(field.name for field in fields(Annotation))


def annotations_from(document: Any) -> dict[str, Annotation]:
    """Return the annotations in the document "annotations", by run id.

    Raises:
        InputError: for an invalid entry.
    """
    entries, problems = _entries(document)
    if problems:
        raise InputError(problems[0])
    return {identity: annotation for identity, (annotation, _) in entries.items() if annotation != Annotation()}


def revised(document: Any, ids: Iterable[str], change: Callable[[str, Annotation], Annotation]) -> dict[str, Any]:
    """Return the document "annotations" with the entries of some runs changed.

    Invalid entries are dropped. An entry that becomes empty is removed, unless it has unknown fields, which are always
    kept.

    Args:
        document: Content of the document; None for none.
        ids: Runs to change.
        change: Called with a run's id and its annotation; returns the new one.
    """
    entries, _ = _entries(document)
    for identity in ids:
        annotation, unknown = entries.get(identity, (Annotation(), {}))
        entries[identity] = change(identity, annotation), unknown
    written = {identity: {**annotation.to_json(), **unknown} for identity, (annotation, unknown) in entries.items()}
    return {identity: written[identity] for identity in sorted(written, key=_by_number) if written[identity]}


def chosen_only(document: Any, ids: Iterable[str]) -> dict[str, Any]:
    """Return the document "annotations" with the entries of these runs only."""
    return {identity: document[identity] for identity in ids if identity in document}


def _entries(document: Any) -> tuple[dict[str, tuple[Annotation, dict[str, Any]]], list[str]]:
    """Return annotation and unknown fields by run id, and one line for each invalid entry."""
    if not is_object(document):
        return {}, [] if document is None else ["it is not an object of run ids"]
    found: dict[str, tuple[Annotation, dict[str, Any]]] = {}
    problems: list[str] = []
    for identity, entry in document.items():
        try:
            if not is_run_id(identity):
                raise InputError("this is not a run id")
            annotation = Annotation.from_json(entry)
            found[identity] = annotation, {name: value for name, value in entry.items() if name not in _FIELDS}
        except InputError as error:
            problems.append(f"entry {shown(str(identity))[:60]}: {error}")
    return found, problems


def _by_number(identity: str) -> tuple[int, str]:
    return len(identity.partition("_")[0]), identity


def _checked_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_NOTE or not _is_proper(value):
        raise InputError(f"annotation: the {name} is {_quoted(value)}, not a text of at most {MAX_NOTE} characters")
    return value


def _checked_tags(value: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_TAGS:
        raise InputError(f"annotation: the tags are {_quoted(value)}, not a list of at most {MAX_TAGS} words")
    tags: dict[str, None] = {}
    for given in value:
        tag = " ".join(given.split()) if isinstance(given, str) else ""
        if not 0 < len(tag) <= MAX_TAG or "," in tag or not tag.isprintable():
            raise InputError(
                f"annotation: the tag {_quoted(given)} is not a word of 1 to {MAX_TAG} characters without commas"
            )
        tags[tag] = None
    return tuple(tags)


def _checked_time(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= MAX_TIME:
        raise InputError(f"annotation: {name} is {_quoted(value)}, not a time in seconds from the first sample")
    return float(value)


def _is_proper(text: str) -> bool:
    """Return True if a text can be written in UTF-8: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _quoted(value: Any) -> str:
    """Return a value of any origin as a short printable text."""
    if type(value) is int and abs(value) > 10**18:
        return "a huge number"
    text = repr(value) if isinstance(value, (str, int, float, bool)) or value is None else type(value).__name__
    return shown(text.encode("utf-8", "backslashreplace").decode())[:60]
