"""Selection of the runs of a session for a result, with the reason for each run that is left out.

`fit_runs` is the one rule by which the window and the command line choose runs for fits, comparisons and averages.
`selection_of` gives the reasons for the others. Simulated runs are never mixed with real ones unless named: an
error averaged over both describes neither.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.base.guards import is_object
from core.base.words import counted
from core.identification.runs.split import Divisible, equal_runs
from core.motion.recording import STATUS_WORDS
from sessions.annotations import Annotation
from sessions.errors import shown
from sessions.run_file.summary import RunSummary
from sessions.writing.locks import number_of

MOST_NAMED = 6
"""Runs of one kind that a sentence names; further ones are counted."""

MOST_DAMAGED = 3
"""Damaged runs whose file and damage a sentence names; further ones are counted."""

DAMAGED = "damaged"

MOST_REASON = 40
"""Longest reason in a sentence [characters]."""

OWN_REASONS = ("damaged", "excluded", "simulated")
"""Reasons that are counted separately; the others are ways in which a run did not end well."""

BLANK = Annotation()


@dataclass(frozen=True)
class LeftOut:
    """A run that could not be used, or was excluded."""

    run: str
    why: str
    """"damaged", "excluded", "simulated" (beside real runs), or the way it ended: "aborted", "failed", "recovered"."""
    reason: str = ""
    """Known cause, one line; may be empty."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The runs used for a result, and the other runs of the session."""

    runs: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    not_chosen: tuple[str, ...] = ()
    """Runs that were not chosen by id, tag, sample or servo."""
    equal: tuple[tuple[str, ...], ...] = ()
    """Groups of runs with the same content, each in the order of the runs."""
    simulated: tuple[str, ...] = ()
    """Runs of a simulated servo that are used together with real ones."""

    @property
    def complete(self) -> bool:
        """True if there is nothing to report: all runs are used, none are equal, none simulated beside real ones."""
        return not (self.left_out or self.not_chosen or self.equal or self.simulated)

    @property
    def reasons(self) -> list[str]:
        """Number of runs left out for each reason, such as ["2 not complete", "1 excluded"]."""
        kinds = Counter(out.why if out.why in OWN_REASONS else "not complete" for out in self.left_out)
        kinds["not chosen"] = len(self.not_chosen)
        return [f"{count} {why}" for why, count in kinds.items() if count]

    @property
    def brief(self) -> str:
        """Counts only, such as "7 of 9 runs (2 not complete)"."""
        return self._count + (f" ({', '.join(self.reasons)})" if self.reasons else "")

    @property
    def damaged(self) -> dict[str, str]:
        """Runs that cannot be read and are not excluded: id to the reason, one line that names the file."""
        return {out.run: out.reason for out in self.left_out if out.why == DAMAGED}

    @property
    def damage(self) -> str:
        """Sentence about `damaged`; empty if every run can be read."""
        return damage_text(self.damaged, self.total)

    @property
    def total(self) -> int:
        """Number of runs in the session."""
        return len(self.runs) + len(self.left_out) + len(self.not_chosen)

    @property
    def text(self) -> str:
        """One sentence, such as "9 of 12 runs: 0003 damaged, 0004 excluded (slipped), 0007 aborted"."""
        parts = [f"{number(out.run)} {out.why}{_brief(out)}" for out in self.left_out[:MOST_NAMED]]
        if len(self.left_out) > MOST_NAMED:
            parts.append(f"{len(self.left_out) - MOST_NAMED} more excluded, unfinished or damaged")
        if self.not_chosen:
            few = len(self.not_chosen) <= MOST_NAMED
            parts.append(f"{', '.join(map(number, self.not_chosen)) if few else len(self.not_chosen)} not chosen")
        repeats = [f"{number(run)} repeats {number(first)}" for first, *others in self.equal for run in others]
        more = f" and {len(repeats) - MOST_NAMED} more alike" if len(repeats) > MOST_NAMED else ""
        same = f"; {', '.join(repeats[:MOST_NAMED])}{more} byte for byte (kept together)" if repeats else ""
        mixed = f"; {len(self.simulated)} of them simulated" if self.simulated else ""
        return self._count + (f": {', '.join(parts)}" if parts else "") + same + mixed

    @property
    def _count(self) -> str:
        total = self.total
        used = f"{len(self.runs)} of " if total > len(self.runs) else "all " if total > 1 else ""
        return f"{used}{counted(total, 'run')}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data; of the runs that were not chosen, only the number."""
        return {
            "text": self.text,
            "brief": self.brief,
            "complete": self.complete,
            "damage": self.damage,
            "runs": list(self.runs),
            "left_out": [dict(out.__dict__) for out in self.left_out],
            "not_chosen": len(self.not_chosen),
            "equal": [list(runs) for runs in self.equal],
            "simulated": list(self.simulated),
        }


def fit_runs(
    runs: Sequence[RunSummary], noted: Mapping[str, Annotation], ids: Iterable[str] | None = None
) -> list[str]:
    """Return the ids of the runs that a fit uses.

    Args:
        runs: All runs of the session.
        noted: Annotations by run id.
        ids: Runs asked for; all but excluded ones are used. None for all runs that ended well and are not excluded: the
            real ones, or the simulated ones if there are no others.
    """
    if ids is not None:
        return [identity for identity in ids if not noted.get(identity, BLANK).excluded]
    usable = [run for run in runs if run.exit_status == "success" and not noted.get(run.id, BLANK).excluded]
    real = [run for run in usable if not run.simulated]
    return [run.id for run in real or usable]


def selection_of(
    used: Sequence[Divisible],
    runs: Sequence[RunSummary],
    damaged: Mapping[str, str],
    noted: Mapping[str, Annotation],
    asked: Container[str] | None = None,
) -> Selection:
    """Return what happened to every run of a session.

    Args:
        used: Recordings, or summaries of runs.
        runs: All runs that can be read.
        damaged: Runs that cannot be read: id to the reason.
        noted: Annotations by run id.
        asked: Ids of the runs that were asked for; None for all.
    """
    chosen = {run.id for run in used}
    joint_of = {run.id: run.joint for run in runs}
    made = [run.id for run in runs if run.id in chosen and run.simulated]
    only_real = bool(chosen) and not made
    left_out: list[LeftOut] = []
    not_chosen: list[str] = []
    # The order of the conditions is the precedence of the reasons: an exclusion by the user comes first.
    for identity, why in damaged.items():
        note = noted.get(identity, BLANK)
        if identity in chosen:
            continue
        if note.excluded:
            left_out.append(LeftOut(identity, "excluded", note.reason))
        elif asked is None or identity in asked:
            left_out.append(LeftOut(identity, DAMAGED, why))
        else:
            not_chosen.append(identity)
    for run in runs:
        note = noted.get(run.id, BLANK)
        if run.id in chosen:
            continue
        if note.excluded:
            left_out.append(LeftOut(run.id, "excluded", note.reason))
        elif run.exit_status != "success":
            left_out.append(LeftOut(run.id, STATUS_WORDS.get(run.exit_status, run.exit_status), run.reason))
        elif run.simulated and only_real:
            left_out.append(LeftOut(run.id, "simulated"))
        else:
            not_chosen.append(run.id)
    return Selection(
        runs=tuple(run.id for run in used),
        left_out=tuple(left_out),
        not_chosen=tuple(not_chosen),
        # The joints of one motion may have equal contents, and are no repetitions.
        equal=tuple(
            group
            for joint in dict.fromkeys(joint_of.values())
            for group in equal_runs([run for run in used if joint_of.get(run.id) == joint])
        ),
        simulated=tuple(made) if len(made) < len(chosen) else (),
    )


def damage_text(damaged: Mapping[str, str], total: int) -> str:
    """Return a sentence about runs that cannot be read and are left out; empty without any.

    Args:
        damaged: Runs that cannot be read: id to the reason, one line that names the file.
        total: Number of runs in the session.
    """
    if not damaged:
        return ""
    reasons = list(damaged.values())
    more = f"; and {len(reasons) - MOST_DAMAGED} more" if len(reasons) > MOST_DAMAGED else ""
    verb = "is" if len(reasons) == 1 else "are"
    return (
        f"{len(reasons)} of {counted(total, 'run')} cannot be read and {verb} left out: "
        f"{'; '.join(reasons[:MOST_DAMAGED])}{more}"
    )


def selection_damage(data: Mapping[str, Any]) -> str:
    """Return the damage of a `Selection.to_json` under "selection" in a provenance or a result; empty without any."""
    kept = data.get("selection")
    text = kept.get("damage") if is_object(kept) else None
    return text if isinstance(text, str) else ""


def selection_text(data: Mapping[str, Any]) -> str:
    """Return the sentence of a `Selection.to_json` under "selection" in a provenance or a result; empty without one."""
    kept = data.get("selection")
    text = kept.get("text") if is_object(kept) else None
    return text if isinstance(text, str) else ""


def selection_note(data: Mapping[str, Any]) -> str:
    """Return the `selection_text`, or an empty text if the selection is complete, see `Selection.complete`."""
    text = selection_text(data)
    return "" if text and data["selection"].get("complete") is True else text


def number(identity: str) -> str:
    """Return the number of a run as written in its id, e.g. "0012"; the whole id if it has none."""
    return identity.split("_")[0] if number_of(identity) is not None else identity


def _brief(out: LeftOut) -> str:
    """Return the user's reason for an exclusion, in brackets; empty for other reasons, which `to_json` contains."""
    reason = textwrap.shorten(shown(out.reason), MOST_REASON, placeholder=" …") if out.why == "excluded" else ""
    return f" ({reason})" if reason else ""


def data_hash(runs: Iterable[RunSummary], noted: Mapping[str, Annotation]) -> str:
    """Return the hash of the evidence in runs, see `Session.data_hash`. noted: annotations by run id."""
    contents = sorted(_evidence(run, noted.get(run.id, BLANK)) for run in runs)
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()


def _evidence(run: RunSummary, annotation: Annotation) -> str:
    """Return the hash of the part of a run that a fit uses."""
    begin = annotation.trim_begin or None
    end = annotation.trim_end if annotation.trim_end is not None and annotation.trim_end < run.duration else None
    if begin is None and end is None:
        return run.content_sha256
    part = json.dumps({"content": run.content_sha256, "trim": [begin, end]})
    return hashlib.sha256(part.encode()).hexdigest()
