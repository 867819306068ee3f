"""Computation of the Webots tab: the node closest to a model or to recordings, and its additional error.

Results contain only plain data, so that unpickling them does not load the compiler into the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench_gui.work.process import Share
from core.servo.model import ServoModel
from core.studies.webots.fields import ServoFields

if TYPE_CHECKING:
    from bench_gui.work.process import Line


@dataclass(frozen=True, kw_only=True)
class LossJob:
    """Fit to run: to a model, or to runs of a session."""

    title: str
    model: ServoModel | None = None
    session: Path | None = None
    runs: tuple[str, ...] = ()
    models: tuple[tuple[str, ServoModel], ...] = ()
    """Available models with their titles. Those of the recordings' servo are compared, or else the catalogue's."""


@dataclass(frozen=True, kw_only=True)
class LossModel:
    """Errors of a friction model or of the node [rad]."""

    name: str
    friction: str
    """One of "m1" to "m6"; empty for the node."""
    train_mae: float
    validation_mae: float | None
    """None if no runs are held out."""
    lost: float
    """Error of the node minus that of this model."""


@dataclass(frozen=True, kw_only=True)
class LossNumber:
    """Fitted field of the node with its 95 % interval."""

    name: str
    unit: str
    value: float
    interval: tuple[float, float]
    remark: str
    """Remark such as "not determined" or "at a bound"; may be empty."""


@dataclass(frozen=True, kw_only=True)
class LossView:
    """Result of a fit."""

    title: str
    kp: float
    node: ServoFields
    numbers: tuple[LossNumber, ...]
    models: tuple[LossModel, ...]
    """Compared models; the first entry is the node."""


def find_loss(job: LossJob, line: Line) -> LossView:
    """Fit a node and compare it with the friction models.

    Raises:
        ServoBenchError: The recordings cannot be read or do not allow a fit.
    """
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
