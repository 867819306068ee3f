"""Errors on an arm as a table (Fig. 7 of seed 004) and as a sentence; plain data without Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench_gui.studies.arm.compute import CHOSEN, FITTED, OWN, PUBLISHED, ArmTrack, ArmView
from bench_gui.widgets.text_table import Cell, Column
from core.base.units import significant
from core.document.table import Table

ORIGINS = {
    FITTED: "Coulomb–viscous servo fitted to the joint's model on its test bench; others may be closer on the arm",
    PUBLISHED: "Model of the catalogue, identified from recordings of the servo",
    OWN: "The joint's own model; its error is the cost of the longer time step",
    CHOSEN: "The model chosen for the joint",
}
WORSE = "m1"
"""Model compared with the richer ones: in seed 004, section VI-B, its error is more than twice that of M6."""
MOST_TITLED = 4
"""Most models for which headings and legends mark published ones; with more, space is short."""
MOST_BETTER = 2
"""Number of models that the sentence compares with M1, the richest first."""


def columns_of(views: Sequence[ArmView]) -> tuple[Column, ...]:
    """Return the columns: path, gain, and one per model."""
    tracks = views[0].tracks if views else ()
    return (
        Column("Path", "Path of the tip; select a row to see its motion"),
        Column("Gain", "Gain of both joints; shoulder first if they differ"),
        *(
            Column(
                named(track, len(tracks)),
                f"{ORIGINS[track.origin]}. Error [mrad] / tip [mm]; the lowest error is green",
                True,
            )
            for track in tracks
        ),
    )


def named(track: ArmTrack, count: int) -> str:
    """Return the shortest clear title of a model among `count` models."""
    return track.friction.upper() if count > MOST_TITLED and track.origin == PUBLISHED else track.title


def rows_of(views: Sequence[ArmView]) -> list[list[Cell | str]]:
    """Return one row per case; the lowest error of each row is marked."""
    return [[view.path, view.gain, *(_cell(track, view) for track in view.tracks)] for view in views]


def table_panel(views: Sequence[ArmView]) -> Table:
    """Return all errors for export, one row per case and model."""
    headings = ("Path", "Gain", "Model", "Error [mrad]", "Shoulder [mrad]", "Elbow [mrad]", "Tip [mm]")
    return Table(
        headings,
        tuple(
            (view.path, view.gain, track.title, track.mae_mrad, *track.joints_mrad, track.tip_mm)
            for view in views
            for track in view.tracks
        ),
    )


def ratio_text(views: Sequence[ArmView]) -> str:
    """Return the ratio of M1's error to that of the richest models over all cases, in one sentence.

    The sentence is empty if M1 or the richer models are missing. The truth's own model is left out: its error is the
    cost of its time step and has nothing to do with friction.
    """
    tracks = views[0].tracks if views else ()
    worse = next((place for place, t in enumerate(tracks) if t.friction == WORSE and t.origin != OWN), None)
    others = [place for place, track in enumerate(tracks) if track.friction != WORSE and track.origin != OWN]
    richer = others[-MOST_BETTER:]
    if worse is None or not richer:
        return ""
    parts = []
    for place in reversed(richer):
        pairs = [(view.tracks[worse].mae_mrad, view.tracks[place].mae_mrad) for view in views]
        ratios = sorted(first / second for first, second in pairs if second > 0.0)
        if ratios:
            low, high = (significant(ratio, 2) for ratio in (ratios[0], ratios[-1]))
            parts.append(f"{low if low == high else f'{low} to {high}'} times that of {tracks[place].title}")
    return f"The error of {tracks[worse].title} is {', '.join(parts)}." if parts else ""


def _cell(track: ArmTrack, view: ArmView) -> Cell:
    known = [other.mae_mrad for other in view.tracks if math.isfinite(other.mae_mrad)]
    best = len(view.tracks) > 1 and track.mae_mrad == min(known, default=math.nan)
    shoulder, elbow = (significant(error, 3) for error in track.joints_mrad)
    return Cell(
        f"{significant(track.mae_mrad, 3)} / {significant(track.tip_mm, 2)}",
        f"{track.title}: shoulder {shoulder} mrad, elbow {elbow} mrad, tip {significant(track.tip_mm, 3)} mm",
        tone="good" if best else "",
        bold=best,
    )
