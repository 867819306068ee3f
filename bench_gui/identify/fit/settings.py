"""What a person chose, and whether it can work: plain data without Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_gui.identify.fit.messages import DEFAULTS, SPLIT, FitFailed, Remedy
from core.errors import ServoBenchError
from core.identification.request import IdentificationRequest, search_template, tunable_parameters
from core.identification.runs.split import DEFAULT_RULE, SplitError, split_recordings
from core.parameters import ParameterSet
from core.placement import PlacedPoint
from core.terms import COMMAND_PATH_TERMS, FRICTION_MODELS

if TYPE_CHECKING:
    from sessions import RunSummary


COMMAND_PATH_TITLES = {"auto": "if it helps", "on": "identify", "off": "leave out"}
"""Choices for the command path, and the words a person reads for them."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """One click's worth as it stands; see `IdentificationRequest` for what each of them means."""

    models: tuple[str, ...] = FRICTION_MODELS
    command_path: str = "auto"
    """One of COMMAND_PATH_TITLES."""
    validation: str = DEFAULT_RULE
    trials: int | None = None
    repeats: int = 1
    seed: int = 0
    metric: str = "mae"
    contact: str = "rigid"
    quadratic_gate: str = "larger_torque"
    integrator: str = "leapfrog"
    substeps: int | None = None
    run_offsets: bool = False
    prior: float = 0.0
    """[rad], see `IdentificationRequest`."""
    dt: float | None = None
    supply: str = "logged"
    threads: int | None = None
    frozen: tuple[tuple[str, float], ...] = ()
    bounds: tuple[tuple[str, float, float], ...] = ()
    sample: int | None = None
    """Most runs to use; a smaller number is taken so that every condition keeps its share. None: all."""
    points: bool = False
    """Whether the points placed by hand join the runs."""
    start: tuple[tuple[str, float], ...] = ()
    start_title: str = ""
    """How a person knows the model the start is of."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The command path terms to identify, or to try."""
        return () if self.command_path == "off" else COMMAND_PATH_TERMS

    def parameters(self, servo: str) -> ParameterSet:
        """Everything these models of a servo let a search move, with the catalogue's values and bounds."""
        return tunable_parameters(servo, self.models, self.terms, self.contact)

    def request(self, servo: str, placed: Sequence[PlacedPoint] = ()) -> IdentificationRequest:
        """As the identification takes it; placed: every point there is. Raises ServoBenchError for what cannot be."""
        return IdentificationRequest(
            servo=servo,
            models=self.models,
            command_path=self.terms,
            command_path_if_better=self.command_path == "auto",
            trials=self.trials,
            repeats=self.repeats,
            seed=self.seed,
            validation=self.validation,
            metric=self.metric,
            contact=self.contact,
            quadratic_gate=self.quadratic_gate,
            integrator=self.integrator,
            substeps=self.substeps,
            run_offsets=self.run_offsets,
            prior=self.prior,
            dt=self.dt,
            supply=self.supply,
            threads=self.threads,
            frozen=self.frozen,
            bounds=self.bounds,
            start=self.start,
            points=tuple(point for point in placed if point.servo == servo) if self.points else (),
        )


def obstacle(settings: FitSettings, servo: str, runs: Sequence[RunSummary]) -> FitFailed | None:
    """Why these settings cannot work on these runs, and what would; None when they can."""
    try:
        request = settings.request(servo)
        for friction in request.models:
            search_template(request, friction)
        split_recordings(runs, settings.validation, settings.seed)
    except SplitError as error:
        return FitFailed(str(error), Remedy(SPLIT, rule=DEFAULT_RULE if len(runs) > 1 else "none"))
    except ServoBenchError as error:
        return FitFailed(str(error), Remedy(DEFAULTS))
    return None
