"""Computation of the Webots tab: the node closest to a model or to recordings, and its loss.

Answers hold nothing whose unpickling would load the compiler into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.work.process import Share
from core.model import ServoModel
from core.studies.webots.fields import ServoFields

if TYPE_CHECKING:
    from bench_gui.work.process import Line


@dataclass(frozen=True, kw_only=True)
class LossJob:
    """A model, or runs of a session."""

    title: str
    model: ServoModel | None = None
    session: Path | None = None
    runs: tuple[str, ...] = ()
    models: tuple[tuple[str, ServoModel], ...] = ()
    """At hand, by their titles; those of the recordings' servo are judged, the catalogue's if there are none"""


@dataclass(frozen=True, kw_only=True)
class LossModel:
    """A friction model beside the node; errors in rad, None where nothing is held out."""

    name: str
    friction: str
    """"m1" … "m6"; empty for the node itself"""
    train_mae: float
    validation_mae: float | None
    lost: float
    """By the node against it"""


@dataclass(frozen=True, kw_only=True)
class LossNumber:
    """One number of the node with its 95 % interval."""

    name: str
    unit: str
    value: float
    interval: tuple[float, float]
    remark: str
    """Not determined, or at a bound; may be empty"""


@dataclass(frozen=True, kw_only=True)
class LossView:
    """Result of a fit."""

    title: str
    kp: float
    node: ServoFields
    numbers: tuple[LossNumber, ...]
    models: tuple[LossModel, ...]
    """The node first."""


def find_loss(job: LossJob, line: Line) -> LossView:
    """Fit and compare; raises ServoBenchError."""
    from core.studies.webots.fields import seed_name
    from core.studies.webots.loss import loss_on_model, loss_on_recordings
    from sessions import Session

    def progress(done: float, text: str) -> None:
        line.tell(Share(done, text))

    if job.model is not None:
        found = loss_on_model(job.model, progress=progress)
    else:
        assert job.session is not None
        recordings = Session.open(job.session).load_for_fit(list(job.runs))
        servos = {recording.settings.servo for recording in recordings}
        models = {title: model for title, model in job.models if model.servo in servos} or None
        rule = "25%" if len(recordings) > 1 else "none"
        found = loss_on_recordings(recordings, models, validation=rule, progress=progress)
    node = LossModel(
        name="Webots Servo", friction="", train_mae=found.train_mae, validation_mae=found.validation_mae, lost=0.0
    )
    rows = (
        LossModel(
            name=row.name,
            friction=row.friction,
            train_mae=row.train_mae,
            validation_mae=row.validation_mae,
            lost=found.lost(row),
        )
        for row in found.rows
    )
    return LossView(
        title=found.title,
        kp=found.kp,
        node=found.fit.node,
        numbers=tuple(
            LossNumber(name=seed_name(n.name), unit=n.unit, value=n.value, interval=n.interval, remark=n.remark)
            for n in found.numbers
        ),
        models=(node, *rows),
    )
