"""Settings of an identification and their validation: plain data without Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from bench_gui.identify.fit.messages import DEFAULTS, SPLIT, FitFailed, FitResult, Remedy
from core.base.errors import ServoBenchError
from core.identification.options import IdentificationOptions, option, options_of
from core.identification.request import IdentificationRequest, search_template, tunable_parameters
from core.identification.runs.split import DEFAULT_RULE, SplitError, split_recordings
from core.practice.placement import PlacedPoint
from core.servo.parameters import ParameterSet
from core.servo.terms import AUTOMATIC, CHOSEN_TERMS, COMMAND_PATH_TERMS

if TYPE_CHECKING:
    from sessions import RunSummary

QUICK_MODELS = ("m1", "m4", "m6")
"""Friction models of a quick identification and of a quick cross-validation, without the command path."""


@dataclass(frozen=True, kw_only=True)
class FitSettings(IdentificationOptions):
    """Options of an identification, and options that exist only in the window."""

    command_path: Literal["auto", "on", "off"] = option(
        "auto",
        title="Command path",
        tip="Delay, gain ratio, velocity limit of the goal, dead band, PWM lag and braking when released; if it helps: "
        "the richest model is fitted without them and with them first, and held-out runs decide, or the training error "
        "if fewer than 5 are held out",
        choices={"auto": "if it helps", "on": "identify", "off": "leave out"},
    )
    points: bool = option(
        False,
        title="Use placed points",
        tip="Also fit the drive/backdrive points placed by hand: their mean error counts as much as that of the runs",
    )
    sample: int | None = option(
        None,
        title="Maximum runs",
        tip="If there are more runs, use a sample in which every condition keeps its share; long sessions then need "
        "little memory and time; all: no limit",
        section="Search",
        automatic="all",
        upper=1_000_000,
        step=100,
    )
    """Largest number of runs to use; a sample keeps the share of every condition. None: all."""
    start_title: str = ""
    """Title of the start model."""

    @classmethod
    def of(cls, result: FitResult, others: FitSettings) -> FitSettings:
        """Return the settings of a result; others: supplies settings that the result does not contain."""
        request = result.request
        tried = result.models[0].model.provenance.get("command_path_choice")
        # A search that was stopped while it tried the command path does not say that it only tried.
        chosen = "auto" if tried or (result.stopped and others.command_path == "auto") else "on"
        same = {name: getattr(request, name) for name in options_of(IdentificationOptions)}
        compared = result.models[0].model.provenance.get("contact_choice")
        if compared or (result.stopped and others.contact == AUTOMATIC):
            same["contact"] = AUTOMATIC
        path = {*request.command_path} - ({*CHOSEN_TERMS} if compared else set())
        if len(result.train) + result.held_out == 1:
            same["validation"] = others.validation
        return replace(
            others,
            **{**same, "threads": others.threads},
            command_path=chosen if path or chosen == "auto" else "off",
            points=bool(request.points),
            start_title="the start of that result" if request.start else "",
        )

    def changed_since(self, other: FitSettings) -> tuple[str, ...]:
        """Names of the options that differ, except those that do not affect the result."""
        ignored = ("threads", "start_title", "sample")
        named = [field.name for field in fields(self) if field.name not in ignored]
        return tuple(name for name in named if getattr(self, name) != getattr(other, name))

    @property
    def terms(self) -> tuple[str, ...]:
        """Command path terms to identify, or to try."""
        return () if self.command_path == "off" else COMMAND_PATH_TERMS

    def parameters(self, servo: str) -> ParameterSet:
        """All parameters that these models of a servo can identify, with the catalogue's values and bounds."""
        contact = "rigid" if self.contact == AUTOMATIC else self.contact
        return tunable_parameters(servo, self.models, self.terms, contact)

    def request(self, servo: str, placed: Sequence[PlacedPoint] = ()) -> IdentificationRequest:
        """Build the request.

        Args:
            servo: catalogue name.
            placed: all placed points.

        Raises:
            ServoBenchError: if the settings are invalid.
        """
        return IdentificationRequest(
            servo=servo,
            **{name: getattr(self, name) for name in options_of(IdentificationOptions)},
            command_path=self.terms,
            command_path_if_better=self.command_path == "auto",
            points=tuple(point for point in placed if point.servo == servo) if self.points else (),
        )


def obstacle(settings: FitSettings, servo: str, runs: Sequence[RunSummary]) -> FitFailed | None:
    """Return why these settings cannot work on these runs, with a remedy; None if they can."""
    try:
        _check_templates(settings.request(servo))
        split_recordings(runs, settings.validation, settings.seed)
    except SplitError as error:
        return FitFailed(str(error), Remedy(SPLIT, rule=DEFAULT_RULE if len(runs) > 1 else "none"))
    except ServoBenchError as error:
        return FitFailed(str(error), Remedy(DEFAULTS))
    return None


@lru_cache(maxsize=8)
def _check_templates(request: IdentificationRequest) -> None:
    """Raise a ServoBenchError for a model that cannot be searched for; cached, since every change of the runs asks."""
    for friction in request.models:
        search_template(request, friction)
