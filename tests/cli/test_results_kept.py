"""What is kept beside a result and printed on its page: who asked for what, how it ended, which run is which."""

from __future__ import annotations

import math
import shlex
import shutil
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace as Of
from typing import Any

import numpy as np
import pytest

from bench_gui.cli import main
from bench_gui.headless.report import page
from bench_gui.headless.report.commands import identify_command
from bench_gui.headless.report.traces import SearchTrace
from core.base.errors import IdentificationError
from core.identification.evidence.certainty import Bootstrap, Profile, ProfilePoint, Spread
from core.identification.request import IdentificationRequest
from core.identification.search.prior import Prior
from core.identification.search.study import StorageError
from core.practice.placement import PlacedPoint, points_from_json, points_to_json
from core.servo.bench import Bench
from sessions import Annotation, Session
from sessions.folders import example_session
from sessions.results.certifying import CertaintyQuestion, read_certainty, run_certainty
from sessions.results.identification import load_identification
from sessions.results.identifying import Watch, load_again, run_identification
from sessions.results.record import ENDINGS, read_record

POINT = PlacedPoint(motor_torque=0.1, angle=0.4, side="drive", bench=Bench(mass=0.5, length=0.1), servo="xl330")
RUNS = ("0001_lift_and_drop_kp100", "0002_lift_and_drop_kp400", "0008_up_and_down_kp400")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = example_session(tmp_path_factory.mktemp("home"))
    Session.open(place).set_document("placed_points", points_to_json([POINT]))
    return place


@pytest.fixture(scope="module")
def identified(session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """M1 of three runs, with a prior."""
    folder = tmp_path_factory.mktemp("identified")
    words = ["--models", "m1", "--runs", ",".join(RUNS), "--no-command-path", "--trials", "64", "--validation", "none"]
    assert (
        main(["identify", str(session), *words, "--prior", "20", "--threads", "1", "--quiet", "-o", str(folder)]) == 0
    )
    return folder


class Reached(BaseException):
    """Ends a command where it begins to compute."""


@pytest.mark.parametrize("offsets", [False, True])
def test_the_command_on_the_page_asks_for_every_field_again(session, monkeypatch, tmp_path, offsets) -> None:
    """Its words make the very request, of which no field is what it is without being asked for.

    Offsets of runs exclude placed points and go with the polish only.
    """
    points = points_from_json(Session.open(session).document("placed_points"))
    request = IdentificationRequest(
        servo="xl330",
        models=("m1", "m4"),
        command_path=("command_delay", "supply_sag"),
        trials=77,
        repeats=2,
        seed=5,
        validation="kp=400",
        metric="rmse",
        polish=offsets,
        run_offsets=offsets,
        contact="elastoplastic",
        quadratic_gate="opposing",
        integrator="algorithm1",
        substeps=3,
        dt=0.004,
        supply="header",
        drive_from="duty_cycle",
        frozen=(("R", 3.2000000000000006),),
        bounds=(("kt", 0.2, 0.5),),
        start=(("kt", 0.30000000000000004), ("armature", 0.001)),
        prior=0.0125,
        points=() if offsets else points,
    )
    # How long it may take, and on what, is no part of the result; the usual command path is tried by the words alone,
    # and the command is that of the runs.
    others = ("servo", "threads", "data_hash", "command_path_if_better", "command")
    same = [f for f in fields(request) if f.name not in others]
    usual = {"polish", "points"} if offsets else {"run_offsets"}
    assert {f.name for f in same if getattr(request, f.name) == f.default} == usual
    asked: list[IdentificationRequest] = []

    def reached(recordings: Any, made: IdentificationRequest, *_: Any, **__: Any) -> None:
        asked.append(made)
        assert [recording.id for recording in recordings] == list(RUNS)
        raise Reached

    monkeypatch.setattr("sessions.results.identifying.run_identification", reached)
    with pytest.raises(Reached):
        main(shlex.split(identify_command(session, request, RUNS, str(tmp_path)))[1:])
    assert {f.name: getattr(asked[0], f.name) for f in same} == {f.name: getattr(request, f.name) for f in same}


def test_only_an_identification_that_finished_is_not_called_stopped(identified, tmp_path) -> None:
    folder = Path(shutil.copytree(identified, tmp_path / "result"))
    assert not load_identification(folder).stopped
    record = read_record(folder)
    for ending in ENDINGS:
        record.ended(ending)
        assert load_identification(folder).stopped is (ending != "finished")


@pytest.mark.parametrize(
    ("raised", "ending"),
    [(StorageError("the disk is full"), "stopped"), (IdentificationError("no"), "failed"), (Reached(), "")],
)
def test_a_continued_identification_that_breaks_off_is_on_record(
    session, identified, monkeypatch, tmp_path, raised, ending
) -> None:
    """While it runs it has no ending; what a full disk or a death cuts short can be continued again."""
    folder = Path(shutil.copytree(identified, tmp_path / "result"))
    record = read_record(folder)
    during: list[str] = []

    def broken(*_: Any, **__: Any) -> None:
        during.append(read_record(folder).ending)
        raise raised

    monkeypatch.setattr("sessions.results.identifying.identify", broken)
    recordings = Session.open(session).load_for_fit(record.runs)
    with pytest.raises(type(raised)):
        run_identification(recordings, record.request, folder, Watch(), resume=True)
    assert (record.ending, during, read_record(folder).ending) == ("finished", [""], ending)


def test_an_identification_is_not_continued_without_its_runs(session, identified, tmp_path) -> None:
    copy = Session.open(shutil.copytree(session, tmp_path / "copy"))
    record = read_record(identified)
    assert [run.id for run in load_again(record, copy)] == list(RUNS)
    copy.annotate(RUNS[1], Annotation(excluded=True))
    with pytest.raises(IdentificationError, match=rf"begun \({RUNS[1]} excluded\); begin a new one"):
        load_again(record, copy)
    (copy.path / "runs" / f"{RUNS[0]}.h5").unlink()
    with pytest.raises(IdentificationError, match=rf"begun \(.*run {RUNS[0]} is gone\); begin a new one"):
        load_again(record, copy)


def question(session: Path, folder: Path, **more: Any) -> CertaintyQuestion:
    return CertaintyQuestion(session=session, folder=folder, friction="m1", profiled=("kt", "R"), threads=1, **more)


def test_intervals_have_the_prior_of_the_fit(session, identified, monkeypatch) -> None:
    """Its weight, and where the search began, not where it ended."""
    asked: dict[str, Any] = {}

    def reached(*_: Any, **options: Any) -> None:
        asked.update(options)
        raise Reached

    monkeypatch.setattr("core.identification.evidence.profile.Optimum.near", reached)
    with pytest.raises(Reached):
        run_certainty(question(session, identified))
    evidence = load_identification(identified).results[0].evidence
    began = {p.name: p.initial for p in evidence.parameters if not p.frozen}
    assert isinstance(asked["prior"], Prior)
    assert (asked["prior"].weight, dict(asked["prior"].centre)) == (0.02, began)
    assert began != {p.name: p.value for p in evidence.parameters if not p.frozen}


@pytest.mark.parametrize(
    ("profiles", "draws", "asked", "stopped"),
    [(2, 3, 3, False), (2, 0, 0, False), (2, 2, 3, True), (2, None, 3, True), (1, 3, 3, True), (1, None, 3, True)],
)
@pytest.mark.parametrize("points", [(), (POINT,)])
def test_a_certainty_is_complete_with_all_profiles_and_draws(
    session, identified, monkeypatch, tmp_path, profiles, draws, asked, stopped, points
) -> None:
    """Two profiles and three draws are asked for; None: it was stopped before enough of them.

    Points placed by hand that the fit has used are no part of it, which is said.
    """
    folder = Path(shutil.copytree(identified, tmp_path / "result"))
    record = read_record(folder)
    replace(record, request=replace(record.request, points=points)).write()
    model = load_identification(folder).results[0].model
    left = iter(range(profiles))

    def profiled(_: Any, name: str, *__: Any, **___: Any) -> Profile | None:
        point = ProfilePoint(value=1.0, deviance=0.0)
        return None if next(left, None) is None else Profile(name=name, lower=0.5, upper=1.5, points=(point,))

    spread = Spread(name="kt", standard_error=0.1, lower=0.3, upper=0.7)
    drawn = Bootstrap(draws=draws, seed=0, spreads=(spread,)) if draws else None
    optimum = Of(batch=Of(model=model), moved=0.0)
    monkeypatch.setattr("core.identification.evidence.profile.Optimum.near", lambda *_, **__: optimum)
    monkeypatch.setattr("core.identification.evidence.profile.profile", profiled)
    monkeypatch.setattr("core.identification.evidence.bootstrap.bootstrap", lambda *_, **__: drawn)
    made = run_certainty(question(session, folder, draws=asked))
    assert (made.stopped, made.draws) == (stopped, draws or 0)
    assert sum(p.profile is not None for p in made.parameters) == profiles
    assert any("the points placed by hand" in note for note in made.notes) is bool(points)
    assert read_certainty(folder, model) == made


def test_a_stopped_certainty_keeps_what_an_earlier_one_has_more(session, identified, monkeypatch, tmp_path) -> None:
    """The second is stopped after other profiles and fewer draws; a third ends and replaces it."""
    folder = Path(shutil.copytree(identified, tmp_path / "result"))
    model = load_identification(folder).results[0].model
    complete: list[str] = []
    draws = 0

    def profiled(_: Any, name: str, *__: Any, **___: Any) -> Profile | None:
        point = ProfilePoint(value=float(draws), deviance=0.0)
        return Profile(name=name, lower=0.5, upper=1.5, points=(point,)) if name in complete else None

    def drawn(*_: Any, **__: Any) -> Bootstrap:
        spread = Spread(name="kt", standard_error=0.1, lower=0.3, upper=float(draws))
        return Bootstrap(draws=draws, seed=draws, spreads=(spread,))

    def made() -> tuple[bool, int, int, dict[str, float], list[float]]:
        found = run_certainty(question(session, folder, draws=9))
        assert read_certainty(folder, model) == found
        profiles = {p.name: p.profile.points[0].value for p in found.parameters if p.profile}
        return found.stopped, found.draws, found.seed, profiles, [p.spread.upper for p in found.parameters if p.spread]

    optimum = Of(batch=Of(model=model), moved=0.0)
    monkeypatch.setattr("core.identification.evidence.profile.Optimum.near", lambda *_, **__: optimum)
    monkeypatch.setattr("core.identification.evidence.profile.profile", profiled)
    monkeypatch.setattr("core.identification.evidence.bootstrap.bootstrap", drawn)
    complete, draws = ["kt", "R"], 5
    assert made() == (True, 5, 5, {"kt": 5.0, "R": 5.0}, [5.0])
    complete, draws = ["kt"], 3
    assert made() == (True, 5, 5, {"kt": 3.0, "R": 5.0}, [5.0])
    complete, draws = ["kt", "R"], 9
    assert made() == (False, 9, 9, {"kt": 9.0, "R": 9.0}, [9.0])


def test_nothing_complete_is_nothing_kept(session, identified, monkeypatch, tmp_path) -> None:
    folder = Path(shutil.copytree(identified, tmp_path / "result"))
    optimum = Of(batch=Of(model=None), moved=0.0)
    monkeypatch.setattr("core.identification.evidence.profile.Optimum.near", lambda *_, **__: optimum)
    monkeypatch.setattr("core.identification.evidence.profile.profile", lambda *_, **__: None)
    with pytest.raises(IdentificationError, match="nothing was kept"):
        run_certainty(question(session, folder, draws=0))
    assert not (folder / "certainty.json").exists()


@pytest.mark.parametrize(
    ("searched", "settled", "late"),
    # Within 1 % of 0.0100 at 950 evaluations and of 0.0120 at 700; the refined end counts only where all is search.
    [(5, 950, True), (3, 700, False), (1, 100, False)],
)
def test_a_search_has_settled_once_it_is_within_a_percent_of_its_own_end(searched, settled, late) -> None:
    trace = SearchTrace(
        friction="m4",
        repeat=1,
        evaluations=np.array([100.0, 700.0, 800.0, 950.0, 1000.0]),
        best=np.array([0.02, 0.0121, 0.0120, 0.01009, 0.0100]),
        searched=searched,
        total=1000,
        surrogate=0,
        descents=1,
    )
    assert (trace.name, trace.settled, trace.late) == ("M4, repeat 2", settled, late)


@pytest.mark.parametrize(
    ("errors", "shown"),
    [
        ((0.03, 0.01, 0.02), {"median": 2, "worst": 0, "best": 1}),
        ((0.03, 0.01, 0.02, 0.04, 0.05), {"median": 0, "worst": 4, "best": 1}),
        ((0.03, math.inf, 0.02), {"median": 0, "worst": 1, "best": 2}),
        ((0.03, 0.01), {"median": 1, "worst": 0}),
        ((0.03,), {"worst": 0}),
    ],
)
def test_the_runs_on_the_page_are_the_median_the_worst_and_the_best(monkeypatch, errors, shown) -> None:
    monkeypatch.setattr(page, "overlay", lambda run, *_: run.id)
    monkeypatch.setattr(page, "as_svg", lambda picture: f"picture of {picture}")
    result = Of(model=Of(friction="m1"))
    found = Of(results=(result,), recommended=result, split=Of(validation=("r0",)), request=Of(supply="logged"))
    runs = [Of(id=f"r{k}") for k in range(len(errors))]
    seen = Of(contents=Of(found=found, recordings=runs), errors={f"r{k}": error for k, error in enumerate(errors)})
    drawn = page._overlays(seen)  # type: ignore[arg-type]
    assert [each["name"] for each in drawn] == list(shown)
    for each, place in zip(drawn, shown.values(), strict=True):
        assert (each["recording"], each["error"]) == (runs[place], errors[place])
        assert (each["picture"], each["held_out"]) == (f"picture of r{place}", place == 0)
