"""Texts about a run, shared by table, filter and dialogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.motion.recording import STATUS_WORDS

if TYPE_CHECKING:
    from sessions import Annotation, RunSummary


def number_of(run: RunSummary) -> str:
    """Return the number in the run's id, e.g. "0012"."""
    return run.id.split("_")[0]


def status_word(run: RunSummary) -> str:
    """Return the outcome of a run as a word."""
    return STATUS_WORDS.get(run.exit_status, run.exit_status)


def used_part(run: RunSummary, annotation: Annotation) -> tuple[float, float]:
    """Return begin and end of the used part of a run [s from its first sample]."""
    begin = 0.0 if annotation.trim_begin is None else annotation.trim_begin
    end = run.duration if annotation.trim_end is None else annotation.trim_end
    return begin, end


def judgement(run: RunSummary, annotation: Annotation) -> str:
    """Return the outcome and use of a run, e.g. "complete, 1.2–5.0 s"."""
    if annotation.excluded:
        return f"{status_word(run)}, excluded"
    if annotation.trimmed:
        begin, end = used_part(run, annotation)
        return f"{status_word(run)}, {begin:.2f}–{end:.2f} s"
    return status_word(run)


def story(run: RunSummary, annotation: Annotation) -> str:
    """Return the tool tip of a run, one line per fact."""
    lines = [f"{run.id}, imported from {run.source}" if run.source else run.id, f"trajectory: {run.trajectory}"]
    if run.reason:
        lines.append(f"{status_word(run)}: {run.reason}")
    if annotation.excluded:
        lines.append(f"excluded from fits: {annotation.reason or 'no reason given'}")
    if annotation.trimmed:
        begin, end = used_part(run, annotation)
        lines.append(f"used part: {begin:.2f} s to {end:.2f} s of {run.duration:.2f} s")
    if annotation.tags:
        lines.append(f"tags: {', '.join(annotation.tags)}")
    if annotation.note:
        lines.append(annotation.note)
    return "\n".join(lines)
