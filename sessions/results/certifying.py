"""Certainty of a finished identification: from its folder and the session's runs to a file beside its models."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import IdentificationError, StoppedEarly
from core.identification.defaults import DRAWS, PROFILED
from sessions.results.folder import CERTAINTY, OnProgress, Stops, read_file, working_on, write_file
from sessions.results.identification import load_identification

if TYPE_CHECKING:
    from core.identification.evidence.certainty import Bootstrap, Certainty, Profile
    from core.identification.evidence.profile import Optimum
    from core.identification.result import Identification, ModelResult
    from core.identification.search.prior import Prior
    from core.motion.recording import Recording
    from core.servo.model import ServoModel
    from sessions.store import Session

PROFILE_WEIGHT = 10
"""Number of draws that take as long as one profile."""


@dataclass(frozen=True, kw_only=True)
class CertaintyQuestion:
    """Request for the certainty of an identification stored in a folder."""

    session: Path
    folder: Path
    friction: str | None = None
    """Friction model; None for the recommended one."""
    profiled: tuple[str, ...] = (PROFILED,)
    """Names, "flagged" or "all", see `core.identification.evidence.certainty.parameters_named`."""
    draws: int = DRAWS
    """Draws of the bootstrap; 0 for none."""
    seed: int = 0
    threads: int | None = None


def run_certainty(
    question: CertaintyQuestion,
    *,
    on_progress: OnProgress = lambda share, text: None,
    should_stop: Callable[[], bool] = lambda: False,
    should_yield: Callable[[], bool] = lambda: False,
) -> Certainty:
    """Profile and bootstrap a model on the runs it was fitted to, and store the result beside it.

    Args:
        question: What to compute.
        on_progress: Called with the share done, 0 … 1, and a description.
        should_stop: Polled; once it returns True, the complete parts are stored, and those of an earlier certainty of
            the model that are missing now.
        should_yield: See `identify`.

    Raises:
        IdentificationError: if the result cannot be read, its runs are gone, or nothing was complete or requested.
        InputError: if a run or a name of a parameter is invalid.
    """
    from core.identification.evidence.certainty import parameters_named

    found = load_identification(question.folder)
    result = _result(found, question.friction)
    names = parameters_named(result.evidence, question.profiled)
    if not names and not question.draws:
        raise IdentificationError(
            "no linearised interval is flagged and no bootstrap was requested: name parameters (--profile kt,R)"
        )
    with working_on(question.folder):
        stops: Stops = {"should_stop": should_stop, "should_yield": should_yield}
        made = _computed(question, found, result, names, on_progress, stops)
        if made.stopped:
            with contextlib.suppress(IdentificationError):
                made = made.keeping(read_certainty(question.folder, result.model))
        write_file(question.folder, CERTAINTY, made.to_json())
    return made


def read_certainty(folder: Path | None, model: ServoModel) -> Certainty:
    """Read the stored certainty of a model.

    Raises:
        IdentificationError: if the folder has none for this model.
    """
    from core.identification.evidence.certainty import Certainty

    if folder is None or not (folder / CERTAINTY).is_file():
        raise IdentificationError(f"there is no {CERTAINTY} beside the result")
    try:
        kept = Certainty.from_json(read_file(folder, CERTAINTY))
    except (OSError, ValueError, RecursionError) as error:
        raise IdentificationError(f"{CERTAINTY} cannot be read ({error})") from None
    if not kept.made_of(model):
        raise IdentificationError(f"{CERTAINTY} belongs to another {kept.friction.upper()} or to another fit")
    return kept


def _result(found: Identification, friction: str | None) -> ModelResult:
    if friction is None:
        return found.recommended
    for result in found.results:
        if result.model.friction == friction:
            return result
    there = ", ".join(result.model.friction.upper() for result in found.results)
    raise IdentificationError(f"{friction.upper()} was not identified there; choose one of {there}")


def _computed(
    question: CertaintyQuestion,
    found: Identification,
    result: ModelResult,
    names: tuple[str, ...],
    on_progress: OnProgress,
    stops: Stops,
) -> Certainty:
    """Return the complete profiles and bootstrap draws; raises IdentificationError."""
    from core.identification.evidence.bootstrap import bootstrap
    from core.identification.evidence.certainty import certainty
    from core.identification.evidence.profile import Optimum
    from sessions.store import Session

    opened = Session.open(question.session)
    runs, recordings = _training_runs(opened, found)
    options: dict[str, Any] = {
        "dt": found.request.dt,
        "supply": found.request.supply,
        "threads": question.threads,
        "prior": _prior(found, result),
    }
    name = result.model.friction.upper()
    whole = max(1, PROFILE_WEIGHT * len(names) + question.draws)
    on_progress(0.0, f"{name}: polishing")
    optimum = Optimum.near(result.model, recordings, **options, should_yield=stops["should_yield"])

    def profiling(place: int, symbol: str) -> None:
        on_progress(PROFILE_WEIGHT * place / whole, f"{name}: profile of {symbol} ({place + 1} of {len(names)})")

    profiles = _profiles(optimum, result, names, profiling, stops)
    drawn: Bootstrap | None = None
    if question.draws and not stops["should_stop"]():
        before = PROFILE_WEIGHT * len(names)
        drawn = bootstrap(
            optimum.batch.model,
            recordings,
            question.draws,
            question.seed,
            **options,
            **stops,
            on_draw=lambda done: on_progress((before + done) / whole, f"{name}: draw {done} of {question.draws}"),
        )
    if not profiles and drawn is None:
        raise StoppedEarly("stopped before anything was complete, nothing was kept; start it again")
    complete = len(profiles) == len(names) and (drawn.draws if drawn else 0) == question.draws
    return certainty(
        result,
        runs,
        profiles,
        drawn,
        moved=optimum.moved,
        stopped=not complete,
        notes=_notes(_changed(opened, found), bool(found.request.points), result.model.provenance),
    )


def _training_runs(session: Session, found: Identification) -> tuple[list[str], list[Recording]]:
    """Read the runs of the fit; raises IdentificationError if one of them is gone."""
    if lost := session.missing(found.split.train):
        raise IdentificationError(f"{lost[0]}; the runs of the fit are needed: identify again")
    runs = [run.id for run in session.runs() if run.id in found.split.train]
    return runs, session.load_for_fit(runs)


def _changed(session: Session, found: Identification) -> bool:
    """Return True if the runs are no longer the data that the identification used."""
    used = [run.id for run in session.runs() if run.id in {*found.split.train, *found.split.validation}]
    return bool(found.request.data_hash) and session.data_hash(used) != found.request.data_hash


def _profiles(
    optimum: Optimum,
    result: ModelResult,
    names: tuple[str, ...],
    profiling: Callable[[int, str], None],
    stops: Stops,
) -> dict[str, Profile]:
    """Profile one parameter after the other until stopped.

    Args:
        optimum: The polished optimum.
        result: The model.
        names: Parameters to profile.
        profiling: Called with the place and symbol of each parameter.
        stops: Polled callbacks.
    """
    from core.identification.evidence.profile import profile

    found: dict[str, Profile] = {}
    for place, name in enumerate(names):
        profiling(place, result.model.parameters[name].symbol)
        profiled = profile(optimum, name, result.evidence.of(name).half_width, **stops)
        if profiled is None:
            break
        found[name] = profiled
    return found


def _prior(found: Identification, result: ModelResult) -> Prior:
    """Return the prior of the fit, about the start values of its search."""
    from core.identification.search.prior import Prior

    free = [p.name for p in result.model.parameters.free]
    began = result.model.parameters.with_values({name: result.evidence.of(name).initial for name in free})
    return Prior.about(result.model.with_parameters(began), found.request.prior, len(found.split.train))


def _notes(changed: bool, with_points: bool, origin: Mapping[str, Any]) -> list[str]:
    from sessions.selection import selection_damage, selection_text

    selection, damage = selection_text(origin), selection_damage(origin)
    notes = [f"identified from {selection}{f'; {damage}' if damage else ''}"] if selection else []
    if changed:
        notes.append("the runs have changed since the fit (trimmed, replaced or other settings): identify again")
    if with_points:
        notes.append(
            "the points placed by hand that the fit has used are left out here: intervals are those of the runs alone"
        )
    return notes
